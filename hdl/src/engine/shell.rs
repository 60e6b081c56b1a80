//! The shell: everything of an engine but its lanes.
//!
//! | block | what it does | text |
//! |---|---|---|
//! | `fifo` | lets the input run ahead, and keeps whole results for a slow reader | `templates/fifo.v` |
//! | `decode` | packets to records | `templates/decode.v` |
//! | `group` | what each lane group has for itself: the next four | `shell/group.rs` |
//! | `ram` | j memory; segment list | `templates/ram.v` |
//! | `list` | where segment lists lie, and which loads must wait for them | `templates/list.v` |
//! | `sequence` | segment list to pairs, one a clock | `templates/sequence.v` |
//! | `collect` | results to packets | `templates/collect.v` |
//! | `reply` | results of all groups and answers to one stream; counters | `templates/reply.v` |
//!
//! The queues are our own: those of rust-hdl 0.46 fix their widths in const generics while ours follow the kernel, their
//! Verilog does not pass `-Wall`, and the crate, frozen in 2023, would bring about a hundred others for sixty lines.

mod blocks;
mod group;
mod results;

use super::design::add_port;
use super::shape::{Shape, bits_for, slice};
use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::{Dir, Item, Module};
use blocks::{INPUT_QUEUE, decode, fifo, list, ram, sequence};
use group::{Joined, TO_CHOSEN, group};
use results::{GROUPS_UNDER_WAY, collect, meta_bits, reply};

/// The shell and its blocks, the shell last. Two queues of equal size are one module.
pub(super) fn modules(s: &Shape, lane_latency: u32) -> Vec<Module> {
    let list_width = 2 * s.addr_bits + 1;
    let mut all = vec![
        fifo(s, s.stream_bits + 1, INPUT_QUEUE),
        fifo(s, meta_bits(s), GROUPS_UNDER_WAY),
        fifo(s, s.stream_bits + 1, s.queue_depth),
        ram(s, s.j.bits, s.jmem_records, s.addr_bits),
        ram(s, list_width, s.ring, s.ring_bits),
        ram(s, list_width + 1, s.ring, s.ring_bits),
        decode(s),
        list(s),
        sequence(s, lane_latency),
        collect(s),
        group(s),
        reply(s),
    ];
    all.push(shell(s, lane_latency));
    all
}

/// Clock, reset and the two streams.
pub(super) fn stream_ports(module: &mut Module, stream_bits: u32) {
    for port in [
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "s_tdata", stream_bits),
        (In, "s_tvalid", 1),
        (Out, "s_tready", 1),
        (In, "s_tlast", 1),
        (Out, "m_tdata", stream_bits),
        (Out, "m_tvalid", 1),
        (In, "m_tready", 1),
        (Out, "m_tlast", 1),
    ] {
        add_port(module, port);
    }
}

/// The ports of the shell towards the lanes. What differs between lane groups stands side by side, group 0 lowest.
pub(super) fn lane_bus(s: &Shape) -> Vec<(Dir, String, u32)> {
    let mut bus = vec![
        (Out, "l_i_we", s.all_lanes()),
        (Out, "l_i_bank", 1),
        (Out, "l_i_rec", 32 * s.i.words),
        (Out, "l_j_rec", s.groups * 32 * s.j.words),
    ];
    if s.has_params {
        bus.push((Out, "l_param", 32 * s.params.words));
    }
    bus.extend([
        (Out, "l_valid", s.groups),
        (Out, "l_first", s.groups),
        (Out, "l_last", s.groups),
        (Out, "l_bank", s.groups),
        (Out, "l_active", s.all_lanes()),
        (In, "l_r_data", s.all_lanes() * 32 * s.result_words),
        (In, "l_r_flags", 5 * s.all_lanes()),
        (In, "l_r_done", s.groups),
    ]);
    bus.into_iter().map(|(dir, name, width)| (dir, name.to_string(), width)).collect()
}

/// The shell: its blocks and the wires between them, which have the names of the ports they join.
fn shell(s: &Shape, lane_latency: u32) -> Module {
    let mut shell = Module { name: format!("{}_shell", s.prefix), ..Module::default() };
    shell.doc = vec!["Streams, j memories, sequencers and results.".into()];
    stream_ports(&mut shell, s.stream_bits);
    for port in lane_bus(s) {
        add_port(&mut shell, port);
    }
    let (decode, group, reply) = (decode(s), group(s), reply(s));
    // The lanes' parameters are padded; a single group's i registers are written by the decoder itself.
    let renamed: &[(&str, &str)] = if s.groups > 1 { &[] } else { &[("i_we", "l_i_we")] };
    let named = |name: &str| renamed.iter().find(|r| r.0 == name).map_or(name.to_string(), |r| r.1.to_string());
    let input = format!("{}_fifo_{}x{INPUT_QUEUE}", s.prefix, s.stream_bits + 1);
    shell.items.push(Item::Net { name: "w_beat".into(), width: s.stream_bits + 1 });
    shell.items.push(Item::Net { name: "w_valid".into(), width: 1 });
    for port in [&decode, &reply].iter().flat_map(|b| &b.ports).filter(|p| p.dir == Out) {
        let (name, outer) = (named(&port.name), |name: &str| shell.ports.iter().any(|p| p.name == name));
        if !outer(&name) {
            shell.items.push(Item::Net { name, width: port.width });
        }
    }
    shell.items.extend(reset(lane_latency));
    shell.items.extend(join_groups(s));
    let beat_in = [("wdata", "{s_tlast, s_tdata}"), ("push", "s_tvalid"), ("ready", "s_tready")];
    let beat_out = [("rdata", "w_beat"), ("valid", "w_valid"), ("pop", "w_pop")];
    shell.items.push(instance(&input, "input_queue", Some("reset"), [join(&beat_in), join(&beat_out)].concat()));
    let data = slice("w_beat", 0, s.stream_bits);
    let last = format!("w_beat[{}]", s.stream_bits);
    let view = [("w_data", data.as_str()), ("w_last", last.as_str())];
    shell.items.push(instance(
        &decode.name,
        "decoder",
        Some("reset"),
        names_of(&decode, &[&view[..], renamed].concat()),
    ));
    for k in 0..s.groups {
        shell.items.push(group_instance(s, &group, k));
    }
    shell.items.push(instance(&reply.name, "replier", Some("reset"), names_of(&reply, &[])));
    shell.items.push(Item::Assign { name: "l_i_bank".into(), expr: "group_bank".into() });
    shell.items.push(Item::Assign { name: "l_i_rec".into(), expr: s.i.unpack("i_word") });
    if s.groups > 1 {
        let of_group = |k: u32| format!("i_we & {{{}{{chosen[{k}]}}}}", s.lanes);
        let all: Vec<String> = (0..s.groups).rev().map(of_group).collect();
        shell.items.push(Item::Assign { name: "l_i_we".into(), expr: format!("{{{}}}", all.join(", ")) });
    }
    if s.has_params {
        shell.items.push(Item::Assign { name: "l_param".into(), expr: s.params.unpack("param") });
    } else {
        shell.items.push(Item::Wire { name: "unused".into(), width: 1, expr: "&{1'b0, drained}".into() });
    }
    shell
}

/// The reset of all blocks. The lanes have none: what they held before must have left them, or a `last` of an earlier
/// life would be taken for the end of the first group.
fn reset(lane_latency: u32) -> [Item; 3] {
    // Three cycles lie between the sequencer and the lanes' inputs.
    let top = bits_for(lane_latency + 3);
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

/// The signals that come out of the lane groups, as the other blocks see them.
fn join_groups(s: &Shape) -> Vec<Item> {
    let mut items = Vec::new();
    for (name, width, joined) in group::outputs(s) {
        if name.starts_with("l_") {
            continue;
        }
        if s.groups == 1 || joined == Joined::Beside {
            items.push(Item::Net { name: name.into(), width: s.groups * width });
            continue;
        }
        items.push(Item::Net { name: format!("all_{name}"), width: s.groups });
        let expr = if joined == Joined::Every { format!("&all_{name}") } else { format!("|(all_{name} & chosen)") };
        items.push(Item::Wire { name: name.into(), width: 1, expr });
    }
    items
}

/// Lane group `k`, joined to what is its own of the shell's signals.
fn group_instance(s: &Shape, group: &Module, k: u32) -> Item {
    if s.groups == 1 {
        return instance(&group.name, "group", Some("reset"), names_of(group, &[]));
    }
    let own = group::own_inputs(s);
    let outputs = group::outputs(s);
    let mut connections = names_of(group, &[]);
    for (port, net) in &mut connections {
        let of_output = outputs.iter().find(|o| o.0 == port);
        if let Some((_, width)) = own.iter().find(|o| o.0 == port) {
            *net = part(port, *width, k);
        } else if let Some((_, width, joined)) = of_output {
            let bus = if *joined == Joined::Beside { port.clone() } else { format!("all_{port}") };
            *net = part(&bus, *width, k);
        } else if TO_CHOSEN.contains(&port.as_str()) {
            *net = format!("{port} & chosen[{k}]");
        }
    }
    instance(&group.name, &format!("group_{k}"), Some("reset"), connections)
}

/// Part `k` of a bus of parts of `width` bits.
fn part(bus: &str, width: u32, k: u32) -> String {
    slice(bus, width * k, width)
}

/// An instance on the engine's clock.
fn instance(module: &str, name: &str, reset: Option<&str>, connections: Vec<(String, String)>) -> Item {
    let mut all = vec![("clk".to_string(), "clk".to_string())];
    all.extend(reset.map(|net| ("rst".into(), net.into())));
    all.extend(connections);
    Item::Instance { module: module.into(), name: name.into(), connections: all }
}

/// Connections of a module's ports to signals of their names, but for the renamed ones.
fn names_of(module: &Module, renamed: &[(&str, &str)]) -> Vec<(String, String)> {
    let to = |p: &str| renamed.iter().find(|r| r.0 == p).map_or(p.to_string(), |r| r.1.to_string());
    let outer = module.ports.iter().filter(|p| p.name != "clk" && p.name != "rst");
    outer.map(|p| (p.name.clone(), to(&p.name))).collect()
}

fn join(connections: &[(&str, &str)]) -> Vec<(String, String)> {
    connections.iter().map(|(port, net)| (port.to_string(), net.to_string())).collect()
}
