//! The Verilog of an engine: lanes, shell and top around a pipeline.

use super::shape::{self, Shape};
use super::{Config, lane, shell};
use crate::rtl::netlist::{Dir, Item, Module, Netlist};

/// An engine as Verilog.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Design {
    /// All modules; the top one is the whole engine.
    pub netlist: Netlist,
    /// Name of the engine's module: the shell and N lanes.
    pub top: String,
    /// Name of the shell's module: streams, j memory, sequencer, results.
    pub shell: String,
    /// Name of the lane's module: i registers, pipeline, accumulators.
    pub lane: String,
    /// Cycles from `c_last` at a lane to `r_done`; no path from an input of a lane to an output is shorter.
    pub lane_latency: u32,
}

/// Builds the engine of `config` around `pipeline`, whose top module has the ports that the layout names, `clk`
/// and `flags`. The configuration has passed [`Config::verify`].
pub fn design(config: &Config, pipeline: &Netlist) -> Design {
    debug_assert_eq!(config.verify(), Ok(()));
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
    Design { netlist, top: names.0, shell: names.1, lane: names.2, lane_latency }
}

/// The whole engine: the shell and its lanes.
fn engine(shape: &Shape) -> Module {
    let mut top = Module { name: format!("{}_engine", shape.prefix), ..Module::default() };
    let of = if shape.groups > 1 { format!(" in {} groups", shape.groups) } else { String::new() };
    top.doc = vec![format!("{} lanes of {}{of}, fed from one stream.", shape.all_lanes(), shape.prefix)];
    shell::stream_ports(&mut top, shape.stream_bits);
    let mut shell_connections: Vec<(String, String)> =
        top.ports.iter().map(|p| (p.name.clone(), p.name.clone())).collect();
    for (_, name, width) in shell::lane_bus(shape) {
        top.items.push(Item::Net { name: name.clone(), width });
        shell_connections.push((name.clone(), name));
    }
    if shape.lanes > 1 {
        // The lanes of a group finish together; its first one speaks for all.
        let all = shape.all_lanes();
        top.items.push(Item::Net { name: "done".into(), width: all });
        let (first, others): (Vec<u32>, Vec<u32>) = (0..all).rev().partition(|k| k % shape.lanes == 0);
        let bits = |lanes: Vec<u32>| lanes.iter().map(|k| format!("done[{k}]")).collect::<Vec<_>>().join(", ");
        top.items.push(Item::Wire { name: "unused".into(), width: 1, expr: format!("&{{1'b0, {}}}", bits(others)) });
        top.items.push(Item::Assign { name: "l_r_done".into(), expr: format!("{{{}}}", bits(first)) });
    }
    top.items.push(Item::Instance {
        module: format!("{}_shell", shape.prefix),
        name: "shell".into(),
        connections: shell_connections,
    });
    for k in 0..shape.all_lanes() {
        top.items.push(lane_instance(shape, k));
    }
    top
}

/// Lane `k` of all; lanes of one group are neighbours.
fn lane_instance(shape: &Shape, k: u32) -> Item {
    let group = k / shape.lanes;
    let slice = |name: &str, width: u32, k: u32, of: u32| match of {
        1 => name.to_string(),
        _ => shape::slice(name, width * k, width),
    };
    let bit = |name: &str| slice(name, 1, k, shape.all_lanes());
    let of_group = |name: &str, width: u32| slice(name, width, group, shape.groups);
    let mut connections = vec![
        ("clk".to_string(), "clk".to_string()),
        ("i_we".into(), bit("l_i_we")),
        ("i_bank".into(), "l_i_bank".into()),
        ("i_rec".into(), "l_i_rec".into()),
        ("j_rec".into(), of_group("l_j_rec", 32 * shape.j.words)),
    ];
    if shape.has_params {
        connections.push(("param".into(), "l_param".into()));
    }
    for (port, net) in [("c_valid", "l_valid"), ("c_first", "l_first"), ("c_last", "l_last"), ("c_bank", "l_bank")] {
        connections.push((port.into(), of_group(net, 1)));
    }
    let of_lane = |name: &str, width: u32| slice(name, width, k, shape.all_lanes());
    connections.push(("c_active".into(), bit("l_active")));
    connections.push(("r_data".into(), of_lane("l_r_data", 32 * shape.result_words)));
    connections.push(("r_flags".into(), of_lane("l_r_flags", 5)));
    connections.push(("r_done".into(), if shape.lanes == 1 { of_group("l_r_done", 1) } else { bit("done") }));
    Item::Instance { module: format!("{}_lane", shape.prefix), name: format!("lane_{k}"), connections }
}

/// Adds a port to `module` from its three parts.
pub(super) fn add_port(module: &mut Module, (dir, name, width): (Dir, impl Into<String>, u32)) {
    module.port(dir, name, width);
}
