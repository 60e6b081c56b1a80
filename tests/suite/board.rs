//! `pairforge board-sim`: whole boards at their pins, driven by the backend `board:PORT` through a pseudo-terminal.
#![cfg(unix)]

use crate::common::simulated::Simulated;
use crate::common::{Ended, Place, has_verilator, told_soon};
use hdl::board::{BOARDS, Board, board, top};
use hdl::circuit::target::Clock;
use hdl::engine::Config;
use hdl::rtl::netlist::Netlist;
use hdl::serial::frame::{Frame, FrameType};
use std::process::Command;

const KERNEL: &str = "int32 a[2] ipin; int40 b jpin; uint9 c jpin; int64 s fout; int40 m fout;
s += a[0] * (int32)c + (int32)b - a[1]; m max= b;";

/// A folder with the kernel, some targets and sources, and in `d` the kernel's design for a board of 48 MHz, where a bit of
/// 3 Mbaud takes 16 clocks.
fn place() -> Place {
    let place = Place::new();
    place.write("kernel.pg2", KERNEL);
    let value = |k: u64, m: u64, bits: u32| (k + 1).wrapping_mul(m).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits);
    let line = |k: u64, of: [(u64, u32); 2]| format!("{},{}\n", value(k, of[0].0, of[0].1), value(k, of[1].0, of[1].1));
    place.write("i.csv", (0..30).map(|k| line(k, [(3, 32), (5, 32)])).fold("a[0],a[1]\n".to_string(), |a, b| a + &b));
    place.write("j.csv", (0..100).map(|k| line(k, [(7, 40), (11, 9)])).fold("b,c\n".to_string(), |a, b| a + &b));
    place.run("build kernel.pg2 -o d --pipelines 2 --jmem 96 --freq 48 --target ecp5").expect(0);
    place
}

fn run_on(place: &Place, backend: &str, out: &str) -> Ended {
    place.run(&format!("run kernel.pg2 --i i.csv --j j.csv --raw --backend {backend} -o {out} --json {out}.json"))
}

#[test]
fn a_simulated_board_gives_the_bits_of_the_emulator_and_counts_its_clocks() {
    if !has_verilator() {
        return;
    }
    let place = place();
    run_on(&place, "emulator", "wanted.csv").expect(0);
    for board in testkit::some(BOARDS.iter(), 2) {
        let words = format!("{} d --baud 3000000", board.name);
        let simulated = Simulated::start(&place, "sim", &words);
        run_on(&place, &format!("board:{}@3000000", simulated.port), "found.csv").expect(0);
        assert_eq!(place.text("found.csv"), place.text("wanted.csv"), "{}", board.name);
        let saw = simulated.end(&place, "sim");
        std::fs::remove_file(place.path("sim.port")).unwrap();
        let number = |key: &str| saw[key].as_f64().unwrap_or_else(|| panic!("{key} in {saw}"));
        let (cycles, mhz) = (number("cycles"), number("clock_mhz"));
        assert!((number("seconds") - cycles / (mhz * 1e6)).abs() < 1e-9, "{saw}");
        // 100 records of 3 words and 30 of 2 go in, 30 of 4 come out; no byte takes less than its ten bits.
        assert!(number("bytes_in") > 1440.0 && number("bytes_out") > 480.0, "{saw}");
        assert!(cycles >= 10.0 * number("bytes_in") * mhz / 3.0 && cycles > number("idle_cycles"), "{saw}");
        assert!(mhz <= 48.0 && number("injected") == 0.0 && saw["board"] == board.name, "{saw}");
    }
}

#[test]
fn a_host_at_another_baud_rate_is_not_understood() {
    if !has_verilator() {
        return;
    }
    let place = place();
    for baud in [1_000_000, 2_000_000] {
        let simulated = Simulated::start(&place, "sim", "ulx3s d");
        let err = run_on(&place, &format!("board:{}@{baud}", simulated.port), "found.csv").expect(3).err;
        assert!(err.contains(&format!("at {baud} baud")) && err.contains("give the board's baud rate"), "{err}");
        let saw = simulated.end(&place, "sim");
        assert_eq!(saw["baud"], 3_000_000);
        let note = place.text("sim.err");
        assert!(note.contains(&format!("to {baud} baud; the board's end runs at 3000000")), "{note}");
        std::fs::remove_file(place.path("sim.port")).unwrap();
    }
}

#[test]
fn a_bad_line_changes_no_bit() {
    if !has_verilator() {
        return;
    }
    let place = place();
    run_on(&place, "emulator", "wanted.csv").expect(0);
    let faults = [
        "--fault flip:2e-5 --fault drop:2e-4 --fault double:2e-4 --fault cut:1e-4",
        "--fault flip:5e-5",
        "--fault drop:5e-4",
        "--fault double:5e-4",
        "--fault cut:2e-4",
    ];
    for (k, fault) in testkit::some(faults.iter().enumerate(), 2) {
        // A seed may spare so short a run; the first that does not is as good as any.
        let injected = (0..5).any(|seed| {
            let simulated = Simulated::start(&place, "sim", &format!("ulx3s d {fault} --seed {}", 10 * k + seed));
            run_on(&place, &format!("board:{}", simulated.port), "found.csv").expect(0);
            assert_eq!(place.text("found.csv"), place.text("wanted.csv"), "{fault}, seed {}", 10 * k + seed);
            let saw = simulated.end(&place, "sim");
            std::fs::remove_file(place.path("sim.port")).unwrap();
            saw["injected"].as_u64().expect("a number") > 0
        });
        assert!(injected, "{fault} did nothing");
    }
}

#[test]
fn a_board_that_stands_still_or_is_pulled_out_ends_the_run_with_an_error() {
    if !has_verilator() {
        return;
    }
    let place = place();
    for (fault, told) in [("stall:900", "no longer answers"), ("pull:900", "is gone"), ("stall:0", "no board answers")]
    {
        let simulated = Simulated::start(&place, "sim", &format!("ulx3s d --fault {fault}"));
        let run = || run_on(&place, &format!("board:{}", simulated.port), "out.csv");
        told_soon(&place, run, &[told, &simulated.port]);
        simulated.end(&place, "sim");
        std::fs::remove_file(place.path("sim.port")).unwrap();
    }
}

#[test]
fn an_fmm_runs_on_simulated_boards() {
    if !has_verilator() {
        return;
    }
    let place = Place::new();
    place.run("gen m2l --order 1 -o m2l_p1.pg2").expect(0);
    place.run("build p2p_paper -o p2p --pipelines 2 --jmem 1024 --freq 48 --target ecp5").expect(0);
    place.run("build m2l_p1.pg2 -o m2l --pipelines 1 --jmem 1024 --freq 48 --target ecp5 --split").expect(0);
    let fmm = "fmm --n 80 --leaf 4 --order 1 --p2p p2p_paper --m2l m2l_p1.pg2 --json";
    place.run(&format!("{fmm} wanted.json -o wanted.csv --backend emulator")).expect(0);
    let boards = ["p2p", "m2l"].map(|name| Simulated::start(&place, name, &format!("ulx3s {name}")));
    let backend = format!("board:{},{}", boards[0].port, boards[1].port);
    place.run(&format!("{fmm} found.json -o found.csv --backend {backend}")).expect(0);
    assert_eq!(place.text("found.csv"), place.text("wanted.csv"));
    let pairs = |file: &str| place.json(file)["pairs"].clone();
    assert!(pairs("found.json") == pairs("wanted.json") && pairs("found.json")["m2l"].as_u64() > Some(0));
    for (name, simulated) in ["p2p", "m2l"].into_iter().zip(boards) {
        assert!(simulated.end(&place, name)["cycles"].as_u64() > Some(0));
    }
}

#[test]
fn wrong_boards_folders_and_faults_are_told() {
    let place = place();
    let told = |words: &str, code: i32, part: &str| {
        let err = place.run(&format!("board-sim {words}")).expect(code).err;
        assert!(err.contains(part), "{words}: {err}");
    };
    told("toaster d", 2, "there is no board `toaster`; the boards are ulx3s");
    told("ulx3s nowhere", 1, "nowhere: is no folder; make it with `pairforge synth FILE --board ulx3s -o DIR`");
    told("ulx3s d --fault burn:1", 2, "there is no fault `burn`; a fault is one of flip:RATE");
    told("ulx3s d --fault drop:2", 2, "is no rate");
    told("ulx3s d --baud 30000000", 1, "need a clock of at least 6 times that");
    told("ulx3s d --json nowhere/s.json", 1, "does not exist");
    std::fs::create_dir(place.path("e")).unwrap();
    told("ulx3s e", 1, "e/manifest.json: cannot be read");
    place.write("e/manifest.json", "{}");
    told("ulx3s e", 1, "e/manifest.json: is not what this program writes");
    place.write("e/synth.json", r#"{"kernel": "k", "pipelines": 1, "board": "icebreaker", "clock_mhz": 20}"#);
    told("ulx3s e", 1, "e/synth.json: is for the board icebreaker, not ulx3s");
    place.write("e/synth.json", r#"{"kernel": "k", "pipelines": 1, "board": null, "clock_mhz": null}"#);
    told("ulx3s e", 1, "e/synth.json: is of no board");
}

/// A folder's Verilog is compiled and run, so it must be what this program writes.
#[test]
fn verilog_that_could_do_more_than_be_simulated_is_refused() {
    let place = place();
    let whole = place.text("d/kernel_engine.v");
    for planted in [
        "initial $c(\"system(\\\"touch planted\\\");\");",
        "`include \"/etc/passwd\"",
        "initial $system(\"touch planted\");",
    ] {
        let text = whole.replacen("endmodule", &format!("{planted}\nendmodule"), 1);
        place.write("d/kernel_engine.v", text);
        for words in ["board-sim ulx3s d", "board-sim colorlight-i9 d --ethernet --words"] {
            let err = place.run(words).expect(1).err;
            assert!(err.contains("kernel_engine.v: line ") && err.contains("no design of this program has"), "{err}");
        }
        assert!(!place.path("planted").exists());
    }
}

/// The kernel on a board with the clock of a simulation.
fn netlist(board: &'static Board) -> Netlist {
    let built = pg2::compile_to_netlist("kernel", KERNEL, Clock::default_clock()).expect("the kernel compiles");
    let config = Config {
        layout: built.layout(),
        pipelines: 1,
        groups: 1,
        i_banks: 2,
        jmem_records: 32,
        stream_bits: 32,
        segments: 16,
        pipeline_latency: built.schedule.depth,
        ii: 1,
        ident: None,
        filters: 0,
    };
    let mut design = top::design(board, &config, &built.netlist, 1, 25.0).expect("it can be built").netlist;
    design.verify().expect("the design is whole");
    design.modules.retain(|m| m.name != top::clock_name("kernel"));
    design.add(top::simulated_clock("kernel", board));
    design
}

#[test]
fn tops_lint_without_a_word() {
    let place = Place::new();
    for board in BOARDS.iter() {
        let design = netlist(board);
        place.write("top.v", format!("/* verilator lint_off DECLFILENAME */\n{}", design.verilog().unwrap()));
        let mut verilator = Command::new("verilator");
        verilator.args(["--lint-only", "-Wall", "--top-module", &design.top]).arg(place.path("top.v"));
        let mut icarus = Command::new("iverilog");
        icarus.args(["-Wall", "-g2005", "-t", "null", "-s", &design.top]).arg(place.path("top.v"));
        for mut command in [verilator, icarus] {
            if let Some((good, said)) = testkit::run(&mut command) {
                assert!(good && said.trim().is_empty(), "{}: {said}", board.name);
            }
        }
    }
}

/// In Icarus every register without an initial value starts unknown, as it may in silicon. From the first clock on the
/// line must rest, and from the start of a session on nothing that matters may be unknown.
#[test]
fn power_on_leaves_nothing_unknown() {
    let design = netlist(board("ulx3s").expect("it exists"));
    let frame =
        Frame { kind: FrameType::Start, session: 9, seq: 0, ack: 0, taken: 0, payload: vec![1, 2, 3, 4] }.encode();
    let bytes: String = frame.iter().map(|b| format!("        send(8'h{b:02x});\n")).collect();
    let bench = format!(
        "module bench;
    reg clk = 0, rx = 1;
    always #5 clk = !clk;
    wire tx, busy, alive, failed, wifi;
    {} dut (.clk_in(clk), .uart_rx(rx), .uart_tx(tx), .led_busy(busy), .led_alive(alive), .led_error(failed), .wifi_gpio0(wifi));
    integer clocks = 0, edges = 0, k;
    always @(posedge clk) begin
        clocks <= clocks + 1;
        if (clocks > 2 && tx !== 1'b0 && tx !== 1'b1) begin $display(\"line unknown at %0d\", clocks); $finish; end
        if (clocks > 2 && clocks < 1000 && tx !== 1'b1) begin $display(\"line wakes at %0d\", clocks); $finish; end
        if (clocks > 1200 && (^{{busy, failed, alive, wifi}} === 1'bx || ^{{dut.to_valid, dut.to_ready,
            dut.from_valid, dut.from_ready, dut.engine_rst}} === 1'bx)) begin
            $display(\"unknown at %0d\", clocks); $finish;
        end
    end
    always @(negedge tx) if (clocks > 2) edges = edges + 1;
    task send(input [7:0] b);
        begin
            rx = 0; #83; for (k = 0; k < 8; k = k + 1) begin rx = b[k]; #83; end rx = 1; #83;
        end
    endtask
    initial begin
        #15000;
{bytes}        #90000;
        if (edges < 78 || dut.engine_rst !== 1'b0) $display(\"no session: %0d edges\", edges);
        else $display(\"well\");
        $finish;
    end
endmodule
",
        design.top
    );
    let place = Place::new();
    place.write("top.v", design.verilog().unwrap() + &bench);
    let mut build = Command::new("iverilog");
    build.args(["-g2005", "-s", "bench", "-o"]).arg(place.path("top.vvp")).arg(place.path("top.v"));
    let Some((good, said)) = testkit::run(&mut build) else { return };
    assert!(good, "{said}");
    let mut run = Command::new("vvp");
    run.arg("-n").arg(place.path("top.vvp"));
    let Some((_, said)) = testkit::run(&mut run) else { return };
    assert_eq!(said.lines().next(), Some("well"), "{said}");
}
