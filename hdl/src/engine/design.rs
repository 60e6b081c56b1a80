//! The Verilog of an engine: lanes, shell and top around a pipeline.

use super::shape::Shape;
use super::{Config, Layout, lane, shell};
use crate::rtl::netlist::{Dir, Module, Netlist};
use crate::rtl::{Name, Value, cat};

/// An engine as Verilog.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Design {
    /// All modules; the top one is the whole engine.
    pub netlist: Netlist,
    /// Name of the engine's module: the shell and N lanes.
    pub top: String,
    /// Name of the shell's module: streams, j memory, sequencer, results.
    pub shell: String,
    /// Name of a lane group's module: j memory, lists, sequencer, collector.
    pub group: String,
    /// Name of the lane's module: i registers, pipeline, accumulators.
    pub lane: String,
    /// Cycles from `c_last` at a lane to `r_done`; no path from an input of a lane to an output is shorter, but for that of words that
    /// are asked for ([`Slices`](super::Slices)).
    pub lane_latency: u32,
}

/// Builds the engine of `config` around `pipeline`, whose top module has the ports that the layout names, `clk`
/// and `flags`. The configuration has passed [`Config::verify`].
pub fn design(config: &Config, pipeline: &Netlist) -> Design {
    debug_assert_eq!(config.verify(), Ok(()));
    // Which sums stand in memory is the pipeline's to say.
    let top_module = pipeline.module(&pipeline.top);
    let bins = top_module.map_or(Vec::new(), |m| m.bins.clone());
    let config = &Config { layout: Layout { bins, ..config.layout.clone() }, ..config.clone() };
    let shape = Shape::new(config);
    let mut lane_modules = lane::modules(config, pipeline);
    let lane = lane_modules.pop().expect("the lane comes last");
    let lane_latency = lane.latency;
    let mut netlist = Netlist { modules: pipeline.modules.clone(), ..Netlist::default() };
    let top = engine(&shape);
    let names = (top.name.clone(), format!("{}_shell", shape.prefix), lane.name.clone());
    lane_modules.into_iter().for_each(|m| netlist.add(m));
    netlist.add(lane);
    for module in shell::modules(&shape, lane_latency) {
        netlist.add(module);
    }
    netlist.add(top);
    netlist.top = names.0.clone();
    let group = format!("{}_group", shape.prefix);
    Design { netlist, top: names.0, shell: names.1, group, lane: names.2, lane_latency }
}

/// The whole engine: the shell and its lanes.
fn engine(shape: &Shape) -> Module {
    let mut top = Module { name: format!("{}_engine", shape.prefix), ..Module::default() };
    let of = if shape.groups > 1 { format!(" in {} groups", shape.groups) } else { String::new() };
    let behind = if shape.filters > 0 { format!(", each with {} filters", shape.filters) } else { String::new() };
    let lanes = shape.groups * shape.units();
    top.doc = vec![format!("{lanes} lanes of {}{behind}{of}, fed from one stream.", shape.prefix)];
    shell::stream_ports(&mut top, shape.stream_bits);
    let mut connections: Vec<(Name, Value)> = top.ports.iter().map(|p| (p.name.clone(), top.signal(&p.name))).collect();
    for (_, name, width) in shell::lane_bus(shape) {
        let name = Name::from(name);
        connections.push((name.clone(), top.net(name, width)));
    }
    if shape.filters > 0 {
        join_filters(&mut top, shape);
    } else if shape.lanes > 1 {
        // The lanes of a group finish together; its first one speaks for all.
        let all = shape.all_lanes();
        let done = top.net("done", all);
        let (first, others): (Vec<u32>, Vec<u32>) = (0..all).rev().partition(|k| k % shape.lanes == 0);
        let bits = |lanes: Vec<u32>| cat(lanes.into_iter().map(|k| done.bit(k)));
        top.wire("unused", cat([Value::flag(false), bits(others)]).all());
        top.assign("l_r_done", bits(first));
    }
    top.instance(format!("{}_shell", shape.prefix), "shell", connections);
    for k in 0..shape.groups * shape.units() {
        lane_instance(&mut top, shape, k);
    }
    top
}

/// Joins what says of each pipeline with filters whether there is room in its queues, whether it is idle, and when it has finished a
/// group of targets: those of a lane group finish one after the other.
fn join_filters(top: &mut Module, shape: &Shape) {
    let (all, units) = (shape.groups * shape.units(), shape.units());
    let [done, room, idle] = ["done", "room", "idle"].map(|name| top.net(name, all));
    let each = |of: &dyn Fn(u32) -> Value| cat((0..shape.groups).rev().map(of));
    let every = |value: &Value| each(&|group| value.bits(units * group, units).all());
    top.assign("l_room", every(&room));
    top.assign("l_idle", every(&idle));
    if units == 1 {
        return top.assign("l_r_done", done);
    }
    let seen = top.hold("seen", all);
    let now = top.wire("finished", &seen | &done);
    let finished = top.wire("group_finished", every(&now));
    let ends = cat((0..all).rev().map(|k| finished.bit(k / units)));
    let reset = top.signal("l_reset").repeat(all);
    top.load("seen", now & !ends & !reset);
    top.assign("l_r_done", finished);
}

/// Adds lane `k` of those with a pipeline each; lanes of one group are neighbours.
fn lane_instance(top: &mut Module, shape: &Shape, k: u32) {
    let group = k / shape.units();
    let targets = shape.filters.max(1);
    let part = |name: &str, width: u32, k: u32| top.signal(name).bits(width * k, width);
    let all = |name: &str| top.signal(name);
    let mut connections = vec![
        ("clk", all("clk")),
        ("i_we", part("l_i_we", targets, k)),
        ("i_bank", part("l_i_bank", 1, group)),
        ("i_rec", part("l_i_rec", 32 * shape.i.words, group)),
        ("j_rec", part("l_j_rec", 32 * shape.j.words, group)),
    ];
    if shape.has_registers {
        connections.push(("param", all("l_param")));
    }
    let tables: Vec<(&str, Value)> =
        shape.tables.iter().map(|t| (t.port.as_str(), all(&format!("l_{}", t.port)))).collect();
    connections.extend(tables);
    for (port, net) in [("c_valid", "l_valid"), ("c_first", "l_first"), ("c_last", "l_last"), ("c_bank", "l_bank")] {
        connections.push((port, part(net, 1, group)));
    }
    if shape.ii > 1 {
        connections.push(("c_start", part("l_start", 1, group)));
    }
    connections.push(("c_active", part("l_active", targets, k)));
    if shape.filters > 0 {
        connections.extend([("rst", all("l_reset")), ("room", part("room", 1, k)), ("idle", part("idle", 1, k))]);
        connections.push(("passed", part("l_passed", 1, k)));
    }
    if let Some(bits) = shape.at_bits {
        connections.push(("r_at", part("l_r_at", bits, group)));
    }
    connections.push(("r_data", part("l_r_data", shape.result_bits(), k)));
    connections.push(("r_flags", part("l_r_flags", 5 * targets, k)));
    let alone = shape.lanes == 1 && shape.filters == 0;
    connections.push(("r_done", if alone { part("l_r_done", 1, group) } else { part("done", 1, k) }));
    top.instance(format!("{}_lane", shape.prefix), format!("lane_{k}"), connections);
}

/// Adds a port to `module` from its three parts.
pub(super) fn add_port(module: &mut Module, (dir, name, width): (Dir, impl Into<Name>, u32)) {
    module.port(dir, name, width);
}
