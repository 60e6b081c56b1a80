//! The pins of a simulated board: a line that comes back as it went out, at its baud rate, and power-on.

use hdl::board::{self, BOARDS, top};
use hdl::rtl::netlist::Dir::{In, Out};
use hdl::rtl::netlist::{Item, Module, Netlist};
use sim::board::{BoardSim, Design, Line};
use sim::cache::Cache;
use std::collections::VecDeque;

fn module(name: &str, ports: &[(hdl::rtl::netlist::Dir, &str, u32)], text: &str) -> Netlist {
    let mut m = Module { name: name.into(), ..Module::default() };
    ports.iter().for_each(|(dir, name, width)| drop(m.port(*dir, *name, *width)));
    m.items.push(Item::Text(text.into()));
    Netlist::new([m])
}

/// An engine that takes nothing and says nothing.
fn idle_engine() -> Netlist {
    let ports = [
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "s_tdata", 32),
        (In, "s_tvalid", 1),
        (Out, "s_tready", 1),
        (In, "s_tlast", 1),
        (Out, "m_tdata", 32),
        (Out, "m_tvalid", 1),
        (In, "m_tready", 1),
        (Out, "m_tlast", 1),
    ];
    let text = "    assign s_tready = 1'b0;
    assign m_tdata = 32'd0;
    assign m_tvalid = 1'b0;
    assign m_tlast = 1'b0;";
    module("echo_engine", &ports, text)
}

/// A link that sends the line back as it came, out of reset.
fn echo_link() -> Netlist {
    let ports = [
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "uart_rx", 1),
        (Out, "uart_tx", 1),
        (Out, "engine_rst", 1),
        (Out, "lost", 1),
        (Out, "s_tdata", 32),
        (Out, "s_tvalid", 1),
        (In, "s_tready", 1),
        (Out, "s_tlast", 1),
        (In, "m_tdata", 32),
        (In, "m_tvalid", 1),
        (Out, "m_tready", 1),
        (In, "m_tlast", 1),
    ];
    let text = "    reg line;
    always @(posedge clk) line <= rst | uart_rx;
    assign uart_tx = line;
    assign engine_rst = rst;
    assign lost = 1'b0;
    assign s_tdata = 32'd0;
    assign s_tvalid = 1'b0;
    assign s_tlast = 1'b0;
    assign m_tready = 1'b0;";
    module("echo_link", &ports, text)
}

/// The same with the clock of a simulation.
fn simulated(parts: &top::Parts, engine: &Netlist) -> Netlist {
    let mut netlist = top::around(parts);
    netlist.modules.extend(engine.modules.iter().cloned());
    netlist.add(top::simulated_clock(parts.kernel, parts.board));
    netlist
}

fn echo(board: &'static board::Board) -> (Netlist, Netlist) {
    let (clock, mhz) = board.pll.source(board.oscillator_mhz, 48.0).unwrap();
    let (engine, link) = (idle_engine(), echo_link());
    let parts =
        top::Parts { board, kernel: "echo", engine: &engine.top, engines: 1, stream_bits: 32, link: &link, clock, mhz };
    (top::top(&parts, &engine), simulated(&parts, &engine))
}

fn simulate(clocks_per_bit: f64, flip: f64) -> Option<BoardSim> {
    let board = board::board("ulx3s").unwrap();
    let (_, netlist) = echo(board);
    netlist.verify().unwrap();
    let design = Design { verilog: &netlist.verilog().unwrap(), top: &netlist.top, active_low: board.leds.active_low };
    crate::common::built(BoardSim::build(&design, &Line { clocks_per_bit, flip, seed: 5 }, &Cache::standard()))
}

#[test]
fn every_board_has_a_whole_top_whose_ports_its_constraints_name() {
    for board in BOARDS.iter() {
        let (netlist, _) = echo(board);
        netlist.verify().unwrap();
        for port in &netlist.module(&netlist.top).unwrap().ports {
            let words = board.constraints.split(|c: char| !c.is_alphanumeric() && c != '_');
            assert!(words.into_iter().any(|w| port.name == w), "{}: no pin for {}", board.name, port.name);
        }
    }
}

#[test]
fn bytes_come_back_at_the_baud_rate() {
    let Some(mut sim) = simulate(8.68, 0.0) else { return };
    let mut input: VecDeque<u8> = VecDeque::new();
    let mut output = Vec::new();
    // Past the power-on reset.
    sim.run(2000, &mut input, &mut output);
    let bytes: Vec<u8> = (0..=255).collect();
    input.extend(&bytes);
    let start = sim.seen().clock;
    while output.len() < bytes.len() && sim.seen().clock < start + 100_000 {
        sim.run(1, &mut input, &mut output);
    }
    assert_eq!(output, bytes);
    let wanted = 2560.0 * 8.68;
    let took = (sim.seen().clock - start) as f64;
    assert!((took - wanted).abs() < 20.0, "{took} clocks for {wanted}");
    sim.run(1000, &mut input, &mut output);
    let seen = sim.seen();
    assert!(seen.clock - seen.worked > 900 && output.len() == 256);
    assert_eq!((seen.bytes_in, seen.bytes_out, seen.idle), (256, 256, 0));
    assert!(((seen.last - seen.first) as f64 - wanted).abs() < 20.0, "{seen:?}");
}

#[test]
fn flipped_bits_damage_what_comes_back() {
    let Some(mut sim) = simulate(8.0, 1e-3) else { return };
    let mut output = Vec::new();
    sim.run(2000, &mut VecDeque::new(), &mut output);
    let mut input: VecDeque<u8> = std::iter::repeat_n(0x5a, 2000).collect();
    sim.run(2000 * 80 + 1000, &mut input, &mut output);
    let wrong = output.iter().filter(|b| **b != 0x5a).count();
    // 20 bits a byte there and back: one byte in fifty is hit, and a lost start bit costs more.
    assert!(wrong > 10 && output.len() > 1500, "{wrong} of {}", output.len());
}
