//! What each lane group has for itself: a copy of the j memory, segment lists, a sequencer and a collector.

use super::blocks::{list, sequence};
use super::results::collect;
use super::{instance, join, names_of};
use crate::engine::design::add_port;
use crate::engine::shape::Shape;
use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::{Item, Module};

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

/// What comes out of a lane group.
pub(super) fn outputs(s: &Shape) -> Vec<(&'static str, u32, Joined)> {
    use Joined::*;
    vec![
        ("run_fits", 1, Chosen),
        ("bank_free", 1, Chosen),
        ("group_bank", 1, Chosen),
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
    ]
}

/// What goes to one group alone: to the one that the current run names.
pub(super) const TO_CHOSEN: [&str; 4] = ["run_begin", "segment_we", "run_taken", "group_push"];

/// What comes to each group from a part of its own of the shell's signal.
pub(super) fn own_inputs(s: &Shape) -> [(&'static str, u32); 4] {
    [("l_r_data", s.lanes * 32 * s.result_words), ("l_r_flags", 5 * s.lanes), ("l_r_done", 1), ("q_ready", 1)]
}

/// The module of a lane group: its blocks, and wires between them that have the names of the ports they join.
pub(super) fn group(s: &Shape) -> Module {
    let mut group = Module { name: format!("{}_group", s.prefix), ..Module::default() };
    group.doc = vec!["A lane group's j memory, segment lists, sequencer and results.".into()];
    let (list, sequence, collect) = (list(s), sequence(s, 1), collect(s));
    let outer = outputs(s);
    let mut inputs = vec![("clk".to_string(), 1), ("rst".into(), 1)];
    inputs.extend([("load_we".into(), 1), ("load_addr".into(), s.addr_bits), ("load_data".into(), s.j.bits)]);
    inputs.extend([("segment_count".into(), s.addr_bits + 1), ("segment_one".into(), 1)]);
    inputs.extend(own_inputs(s).map(|(name, width)| (name.to_string(), width)));
    let mut nets =
        vec![("scan_word", 2 * s.addr_bits + 1), ("walk_word", 2 * s.addr_bits + 2), ("pair_word", s.j.bits)];
    nets.push(("collected", 1));
    let from_lanes = [("r_data", "l_r_data"), ("r_flags", "l_r_flags"), ("r_done", "l_r_done"), ("quiet", "collected")];
    let blocks = [&list, &sequence, &collect];
    let driven = |name: &str| blocks.iter().any(|b| b.ports.iter().any(|p| p.dir == Out && p.name == name));
    for port in blocks.iter().flat_map(|b| &b.ports) {
        let known = inputs.iter().any(|i| i.0 == port.name)
            || nets.iter().any(|n| n.0 == port.name)
            || from_lanes.iter().any(|f| f.0 == port.name);
        if port.dir == In && !driven(&port.name) && !known {
            inputs.push((port.name.clone(), port.width));
        }
        if port.dir == Out && !outer.iter().any(|o| o.0 == port.name) {
            nets.push((&port.name, port.width));
        }
    }
    nets.retain(|n| n.0 != "quiet");
    inputs.iter().for_each(|(name, width)| add_port(&mut group, (In, name.clone(), *width)));
    outer.iter().for_each(|(name, width, _)| add_port(&mut group, (Out, *name, *width)));
    group.items.extend(nets.into_iter().map(|(name, width)| Item::Net { name: name.into(), width }));
    let load = [("we", "load_we"), ("waddr", "load_addr"), ("wdata", "load_data")];
    let fetch = [("re", "pair_read"), ("raddr", "pair_addr"), ("rdata", "pair_word")];
    let memory = format!("{}_ram_{}x{}", s.prefix, s.j.bits, s.jmem_records);
    group.items.push(instance(&memory, "j_memory", None, [join(&load), join(&fetch)].concat()));
    // Whether a segment has one source is known when it is written, and wanted soon after it is read for its pairs.
    let entry = 2 * s.addr_bits + 1;
    for (name, addr, word, width, data) in [
        ("list_for_pairs", "walk_addr", "walk_word", entry + 1, "{segment_one, segment_first, segment_count}"),
        ("list_for_loads", "scan_addr", "scan_word", entry, "{segment_first, segment_count}"),
    ] {
        let ring = format!("{}_ram_{width}x{}", s.prefix, s.ring);
        let write = [("we", "segment_we"), ("waddr", "segment_at"), ("wdata", data), ("re", "1'b1")];
        group.items.push(instance(
            &ring,
            name,
            None,
            [join(&write), join(&[("raddr", addr), ("rdata", word)])].concat(),
        ));
    }
    group.items.push(instance(&list.name, "list", Some("rst"), names_of(&list, &[])));
    group.items.push(instance(&sequence.name, "sequencer", Some("rst"), names_of(&sequence, &[])));
    group.items.push(instance(&collect.name, "collector", Some("rst"), names_of(&collect, &from_lanes)));
    group.items.push(Item::Assign { name: "quiet".into(), expr: "collected & drained & lanes_free".into() });
    group.items.push(Item::Assign { name: "l_j_rec".into(), expr: s.j.unpack("l_word") });
    group
}
