//! The blocks that each lane group has for itself: a copy of the j memory, segment lists, a sequencer and a collector.

use super::blocks::{list, sequence};
use super::results::collect;
use super::{instance, names_of};
use crate::engine::design::add_port;
use crate::engine::hand;
use crate::engine::shape::Shape;
use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::Module;
use crate::rtl::{Value, cat};

/// How what comes out of all lane groups becomes one signal of the shell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Joined {
    /// High if it is high in every group.
    Every,
    /// That of the group that the current run names.
    Chosen,
    /// Side by side, group 0 lowest.
    Beside,
}

/// The outputs of a lane group.
pub(super) fn outputs(s: &Shape) -> Vec<(&'static str, u32, Joined)> {
    use Joined::*;
    let mut outputs = vec![
        ("run_fits", 1, Chosen),
        ("bank_free", 1, Chosen),
        ("lanes_free", 1, Every),
        ("drained", 1, Every),
        ("load_apart", 1, Every),
        ("load_scanned", 1, Every),
        ("load_clear", 1, Every),
        ("quiet", 1, Every),
        ("count_valid", 1, Beside),
        ("count_lanes", s.n_bits, Beside),
        ("l_j_rec", 32 * s.j.words, Beside),
        ("l_valid", 1, Beside),
        ("l_first", 1, Beside),
        ("l_last", 1, Beside),
        ("l_bank", 1, Beside),
        ("l_active", s.lanes, Beside),
        ("q_data", s.stream_bits, Beside),
        ("q_valid", 1, Beside),
        ("q_last", 1, Beside),
    ];
    if s.ii > 1 {
        outputs.push(("l_start", 1, Beside));
    }
    outputs.extend(s.at_bits.map(|bits| ("l_r_at", bits, Beside)));
    if s.spread {
        outputs.extend([("l_i_we", s.lanes, Beside), ("l_i_bank", 1, Beside), ("l_i_rec", 32 * s.i.words, Beside)]);
    } else {
        outputs.push(("group_bank", 1, Chosen));
    }
    outputs
}

/// The signals that go to one group alone: to the one that the current run names.
pub(super) const TO_CHOSEN: [&str; 5] = ["run_begin", "segment_we", "run_taken", "group_push", "i_we"];

/// The inputs of which each group gets a part of its own of the shell's signal.
pub(super) fn own_inputs(s: &Shape) -> Vec<(&'static str, u32)> {
    let results = s.units() * s.result_bits();
    let mut own = vec![("l_r_data", results), ("l_r_flags", 5 * s.lanes), ("l_r_done", 1), ("q_ready", 1)];
    if s.filters > 0 {
        own.extend([("l_room", 1), ("l_idle", 1)]);
    }
    own
}

/// The inputs of a group that pass registers of its own, a clock after they left the decoder; none where lanes are few.
fn handed(s: &Shape, inputs: &[(String, u32)]) -> Vec<(String, u32)> {
    let own = own_inputs(s);
    let handed = |name: &str| s.spread && name != "clk" && !own.iter().any(|o| o.0 == name);
    inputs.iter().filter(|i| handed(&i.0)).cloned().collect()
}

/// Bits of what comes to a group through registers of its own.
pub(super) fn handed_bits(s: &Shape) -> u32 {
    handed(s, &inputs_and_nets(s).0).iter().map(|h| h.1).sum()
}

/// The module of a lane group: its blocks, and wires between them that have the names of the ports they join.
pub(super) fn group(s: &Shape) -> Module {
    let mut group = Module { name: format!("{}_group", s.prefix), ..Module::default() };
    group.doc = vec!["A lane group's j memory, segment lists, sequencer and results.".into()];
    let (list, sequence, collect) = (list(s), sequence(s, 1), collect(s));
    let (inputs, nets) = inputs_and_nets(s);
    inputs.iter().for_each(|(name, width)| add_port(&mut group, (In, name.clone(), *width)));
    outputs(s).iter().for_each(|(name, width, _)| add_port(&mut group, (Out, *name, *width)));
    let handed = hand_on(&mut group, s, &handed(s, &inputs));
    let here = |group: &Module, name: &str| {
        handed.iter().find(|h| h.0 == name).map_or_else(|| group.signal(name), |h| h.1.clone())
    };
    for (name, width) in nets {
        group.net(name, width);
    }
    let memory = format!("{}_ram_{}x{}", s.prefix, s.j.bits, s.jmem_records);
    let joined = ["load_we", "load_addr", "load_data", "pair_read", "pair_addr", "pair_word"];
    let joined = joined.map(|name| here(&group, name));
    ram(&mut group, &memory, "j_memory", joined);
    // Whether a segment has one source is known when it is written, and wanted soon after it is read for its pairs.
    let [one, first, count] = ["segment_one", "segment_first", "segment_count"].map(|name| here(&group, name));
    for (name, addr, word, data) in [
        ("list_for_pairs", "walk_addr", "walk_word", vec![one, first.clone(), count.clone()]),
        ("list_for_loads", "scan_addr", "scan_word", vec![first, count]),
    ] {
        let data = cat(data);
        let ring = format!("{}_ram_{}x{}", s.prefix, data.width(), s.ring);
        let [we, at, addr, word] = ["segment_we", "segment_at", addr, word].map(|name| here(&group, name));
        ram(&mut group, &ring, name, [we, at, data, Value::flag(true), addr, word]);
    }
    let reset = here(&group, "rst");
    let from_lanes = FROM_LANES.map(|(port, name)| (port, group.signal(name)));
    let handed: Vec<(&str, Value)> = handed.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let handed_and_lanes: Vec<_> = handed.iter().cloned().chain(from_lanes).collect();
    for (block, name, given) in
        [(&list, "list", &handed), (&sequence, "sequencer", &handed), (&collect, "collector", &handed_and_lanes)]
    {
        let connections = names_of(&group, block, given);
        instance(&mut group, &block.name, name, Some(&reset), connections);
    }
    let [collected, drained, free] = ["collected", "drained", "lanes_free"].map(|name| group.signal(name));
    group.assign("quiet", collected & drained & free);
    group.assign("l_j_rec", s.j.unpack(&group.signal("l_word")));
    if s.spread {
        let value = |name: &str| handed.iter().find(|h| h.0 == name).expect("it comes to each group").1.clone();
        group.assign("l_i_we", value("i_we"));
        group.assign("l_i_bank", group.signal("group_bank"));
        group.assign("l_i_rec", s.i.unpack(&value("i_word")));
    }
    group
}

/// Adds the registers that what is `handed` comes through, and gives what comes out of them.
fn hand_on(group: &mut Module, s: &Shape, handed: &[(String, u32)]) -> Vec<(String, Value)> {
    if handed.is_empty() {
        return Vec::new();
    }
    group.comment("What comes from the decoder comes through registers of the group's own.");
    let d = cat(handed.iter().rev().map(|(name, _)| group.signal(name)));
    let held = hand::instance(group, &s.prefix, "hand", "handed", d);
    let mut at = 0;
    let mut parts = Vec::new();
    for (name, width) in handed {
        parts.push((name.clone(), group.wire(format!("here_{name}"), held.bits(at, *width))));
        at += width;
    }
    parts
}

/// The collector's ports that have other names in the group.
const FROM_LANES: [(&str, &str); 4] =
    [("r_data", "l_r_data"), ("r_flags", "l_r_flags"), ("r_done", "l_r_done"), ("quiet", "collected")];

/// Name and width of each of some signals.
type Signals = Vec<(String, u32)>;

/// The inputs of a group, and the wires between its blocks.
fn inputs_and_nets(s: &Shape) -> (Signals, Signals) {
    let (list, sequence, collect) = (list(s), sequence(s, 1), collect(s));
    let outer = outputs(s);
    let mut inputs = vec![("clk".to_string(), 1), ("rst".into(), 1)];
    inputs.extend([("load_we".into(), 1), ("load_addr".into(), s.addr_bits), ("load_data".into(), s.j.bits)]);
    inputs.extend([("segment_count".into(), s.addr_bits + 1), ("segment_one".into(), 1)]);
    inputs.extend(own_inputs(s).into_iter().map(|(name, width)| (name.to_string(), width)));
    if s.spread {
        inputs.extend([("i_we".into(), s.lanes), ("i_word".into(), s.i.bits)]);
    }
    let mut nets: Vec<(String, u32)> = vec![
        ("scan_word".into(), 2 * s.addr_bits + 1),
        ("walk_word".into(), 2 * s.addr_bits + 2),
        ("pair_word".into(), s.j.bits),
        ("collected".into(), 1),
    ];
    let blocks = [&list, &sequence, &collect];
    let driven = |name: &str| blocks.iter().any(|b| b.ports.iter().any(|p| p.dir == Out && p.name == name));
    for port in blocks.iter().flat_map(|b| &b.ports) {
        let known = inputs.iter().any(|i| port.name == i.0)
            || nets.iter().any(|n| port.name == n.0)
            || FROM_LANES.iter().any(|f| port.name == f.0);
        if port.dir == In && !driven(&port.name) && !known {
            inputs.push((port.name.to_string(), port.width));
        }
        if port.dir == Out && !outer.iter().any(|o| port.name == o.0) {
            nets.push((port.name.to_string(), port.width));
        }
    }
    nets.retain(|n| n.0 != "quiet");
    (inputs, nets)
}

/// Adds a memory; `joined` is what its ports are joined to, in their order.
fn ram(group: &mut Module, memory: &str, name: &str, joined: [Value; 6]) {
    let ports = ["we", "waddr", "wdata", "re", "raddr", "rdata"].map(String::from);
    instance(group, memory, name, None, ports.into_iter().zip(joined));
}
