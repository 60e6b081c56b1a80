//! The shell: everything of an engine but its lanes.
//!
//! | block | what it does | text |
//! |---|---|---|
//! | `fifo` | lets the input run ahead, and keeps whole results for a slow reader | `templates/fifo.v` |
//! | `decode` | packets to records | `templates/decode.v` |
//! | `ram` | j memory; segment list | `templates/ram.v` |
//! | `sequence` | segment list to pairs, one a clock | `templates/sequence.v` |
//! | `collect` | results and answers to packets; counters | `templates/collect.v` |
//!
//! The queues are our own: those of rust-hdl 0.46 fix their widths in const generics while ours follow the kernel, their
//! Verilog does not pass `-Wall`, and the crate, frozen in 2023, would bring about a hundred others for sixty lines.

mod blocks;

use super::design::add_port;
use super::shape::{Shape, bits_for};
use crate::netlist::Dir::{In, Out};
use crate::netlist::{Dir, Item, Module};
use blocks::{GROUPS_UNDER_WAY, INPUT_QUEUE, collect, decode, fifo, meta_bits, ram, sequence};

/// The shell and its blocks, the shell last.
pub(super) fn modules(s: &Shape, lane_latency: u32) -> Vec<Module> {
    let list_width = 2 * s.addr_bits + 1;
    let mut all = vec![
        fifo(s, s.stream_bits + 1, INPUT_QUEUE),
        fifo(s, meta_bits(s), GROUPS_UNDER_WAY),
        fifo(s, s.stream_bits + 2, s.queue_depth),
        ram(s, s.j.bits, s.jmem_records, s.addr_bits),
        ram(s, list_width, s.ring, s.ring_bits),
        decode(s),
        sequence(s, lane_latency),
        collect(s),
    ];
    all.push(shell(s, lane_latency));
    all
}

/// Clock, reset and the two streams.
pub(super) fn stream_ports(module: &mut Module, s: &Shape) {
    for port in [
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "s_tdata", s.stream_bits),
        (In, "s_tvalid", 1),
        (Out, "s_tready", 1),
        (In, "s_tlast", 1),
        (Out, "m_tdata", s.stream_bits),
        (Out, "m_tvalid", 1),
        (In, "m_tready", 1),
        (Out, "m_tlast", 1),
    ] {
        add_port(module, port);
    }
}

/// The ports of the shell towards the lanes.
pub(super) fn lane_bus(s: &Shape) -> Vec<(Dir, String, u32)> {
    let mut bus = vec![
        (Out, "l_i_we", s.lanes),
        (Out, "l_i_bank", 1),
        (Out, "l_i_rec", 32 * s.i.words),
        (Out, "l_j_rec", 32 * s.j.words),
    ];
    if s.has_params {
        bus.push((Out, "l_param", 32 * s.params.words));
    }
    bus.extend([
        (Out, "l_valid", 1),
        (Out, "l_first", 1),
        (Out, "l_last", 1),
        (Out, "l_bank", 1),
        (Out, "l_active", s.lanes),
        (In, "l_r_data", s.lanes * 32 * s.result_words),
        (In, "l_r_flags", 5 * s.lanes),
        (In, "l_r_done", 1),
    ]);
    bus.into_iter().map(|(dir, name, width)| (dir, name.to_string(), width)).collect()
}

/// The shell: its blocks and the wires between them, which have the names of the ports they join.
fn shell(s: &Shape, lane_latency: u32) -> Module {
    let mut shell = Module { name: format!("{}_shell", s.prefix), ..Module::default() };
    shell.doc = vec!["Streams, j memory, sequencer and results.".into()];
    stream_ports(&mut shell, s);
    for port in lane_bus(s) {
        add_port(&mut shell, port);
    }
    let list = format!("{}_ram_{}x{}", s.prefix, 2 * s.addr_bits + 1, s.ring);
    let memory = format!("{}_ram_{}x{}", s.prefix, s.j.bits, s.jmem_records);
    let input = format!("{}_fifo_{}x{INPUT_QUEUE}", s.prefix, s.stream_bits + 1);
    let read_list = |addr: &str, word: &str| -> Vec<(String, String)> {
        join(&[("we", "segment_we"), ("waddr", "segment_at"), ("wdata", "segment_word"), ("re", "1'b1")])
            .into_iter()
            .chain(join(&[("raddr", addr), ("rdata", word)]))
            .collect()
    };
    let pass = |module: &Module, renamed: &[(&str, &str)]| -> Vec<(String, String)> {
        let to = |p: &str| renamed.iter().find(|r| r.0 == p).map_or(p.to_string(), |r| r.1.to_string());
        let outer = module.ports.iter().filter(|p| p.name != "clk" && p.name != "rst");
        outer.map(|p| (p.name.clone(), to(&p.name))).collect()
    };
    let (decode, sequence, collect) = (decode(s), sequence(s, 1), collect(s));
    let mut wires: Vec<(String, u32)> = vec![
        ("w_beat".into(), s.stream_bits + 1),
        ("scan_word".into(), 2 * s.addr_bits + 1),
        ("walk_word".into(), 2 * s.addr_bits + 1),
        ("pair_word".into(), s.j.bits),
        ("w_valid".into(), 1),
    ];
    for block in [&decode, &sequence, &collect] {
        let ours =
            |name: &str| ["param", "i_we", "i_bank"].contains(&name) || shell.ports.iter().any(|p| p.name == name);
        wires.extend(block.ports.iter().filter(|p| p.dir == Out && !ours(&p.name)).map(|p| (p.name.clone(), p.width)));
    }
    if s.has_params {
        wires.push(("param_word".into(), s.params.bits));
    }
    for (name, width) in wires {
        shell.items.push(Item::Net { name, width });
    }
    shell.items.extend(reset(lane_latency));
    let mut add = |module: &str, name: &str, reset: bool, mut connections: Vec<(String, String)>| {
        connections.insert(0, ("clk".into(), "clk".into()));
        if reset {
            connections.insert(1, ("rst".into(), "reset".into()));
        }
        shell.items.push(Item::Instance { module: module.into(), name: name.into(), connections });
    };
    let beat_in = [("wdata", "{s_tlast, s_tdata}"), ("push", "s_tvalid"), ("ready", "s_tready")];
    let beat_out = [("rdata", "w_beat"), ("valid", "w_valid"), ("pop", "w_pop")];
    add(&input, "input_queue", true, join(&beat_in).into_iter().chain(join(&beat_out)).collect());
    let data =
        if s.stream_bits == 32 { "w_beat[31:0]".to_string() } else { format!("w_beat[{}:0]", s.stream_bits - 1) };
    let last = format!("w_beat[{}]", s.stream_bits);
    let targets = [("i_we", "l_i_we"), ("i_bank", "l_i_bank"), ("param", "param_word")];
    let view = [("w_data", data.as_str()), ("w_last", last.as_str())];
    add(&decode.name, "decoder", true, pass(&decode, &[&targets[..], &view[..]].concat()));
    let load = [("we", "load_we"), ("waddr", "load_addr"), ("wdata", "load_data")];
    let fetch = [("re", "pair_read"), ("raddr", "pair_addr"), ("rdata", "pair_word")];
    add(&memory, "j_memory", false, join(&load).into_iter().chain(join(&fetch)).collect());
    add(&list, "list_for_pairs", false, read_list("walk_addr", "walk_word"));
    add(&list, "list_for_loads", false, read_list("scan_addr", "scan_word"));
    add(&sequence.name, "sequencer", true, pass(&sequence, &[]));
    let lanes_quiet = "drained & (bank_full == 2'd0)";
    let from_lanes =
        [("r_data", "l_r_data"), ("r_flags", "l_r_flags"), ("r_done", "l_r_done"), ("lanes_quiet", lanes_quiet)];
    add(&collect.name, "collector", true, pass(&collect, &from_lanes));
    shell.items.push(Item::Assign { name: "l_i_rec".into(), expr: s.i.unpack("i_word") });
    shell.items.push(Item::Assign { name: "l_j_rec".into(), expr: s.j.unpack("l_word") });
    if s.has_params {
        shell.items.push(Item::Assign { name: "l_param".into(), expr: s.params.unpack("param_word") });
    }
    shell
}

/// The reset of all blocks. The lanes have none: what they held before must have left them, or a `last` of an earlier
/// life would be taken for the end of the first group.
fn reset(lane_latency: u32) -> [Item; 3] {
    // Two cycles lie between the sequencer and the lanes' inputs.
    let top = bits_for(lane_latency + 2);
    [
        Item::Comment("Reset lasts until nothing old is left in the lanes.".into()),
        Item::Reg {
            name: "flushed".into(),
            width: top + 1,
            next: format!("rst ? {}'d0 : flushed + {{{top}'d0, ~flushed[{top}]}}", top + 1),
        },
        Item::Reg { name: "reset".into(), width: 1, next: format!("rst | ~flushed[{top}]") },
    ]
}

fn join(connections: &[(&str, &str)]) -> Vec<(String, String)> {
    connections.iter().map(|(port, net)| (port.to_string(), net.to_string())).collect()
}
