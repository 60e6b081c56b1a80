//! The filters of a lane: for each of them registers of its target, and the test.

use super::super::enter::entered;
use super::targets::Targets;
use super::{Plan, delayed, elements, i_registers, unused};
use crate::hash::FastSet;
use crate::rtl::netlist::{Dir, Module, Port};
use crate::rtl::{Name, Value, cat};

/// The results of all filters in a clock.
pub(super) struct Came {
    /// The filters whose pair passes, and those that have one at all.
    pub push: Value,
    pub take: Value,
    /// Flags of all filters, side by side.
    pub flags: Value,
    /// Whether the source is the first of its group of targets or the last one.
    pub first: Value,
    pub last: Value,
    /// Its number, and the place of its group's targets.
    pub number: Value,
    pub slot: Option<Value>,
    /// The half of the sums that it is for.
    pub half: Value,
}

/// A port that begins with `i_` is a target's.
fn is_targets(port: &Port) -> bool {
    port.dir == Dir::In && port.name.starts_with("i_")
}

/// The ports of the test that all filters have the same on.
fn shared(test: &Module) -> impl Iterator<Item = &Port> {
    test.ports.iter().filter(|p| p.dir == Dir::In && p.name != *"clk" && !is_targets(p))
}

/// The module of a filter.
pub(super) fn module(plan: &Plan) -> Module {
    let (layout, test) = (&plan.config.layout, plan.test());
    let mut m = Module { name: format!("{}_filter_lane", layout.kernel), latency: test.latency, ..Module::default() };
    m.doc.push("A filter: the registers of its target, and the test.".into());
    for name in ["clk", "i_we", "i_bank", "c_bank"] {
        m.port(Dir::In, name, 1);
    }
    let mut connections: Vec<(Name, Value)> = Vec::new();
    let targets: Vec<&Port> = test.ports.iter().filter(|p| is_targets(p)).collect();
    for port in &targets {
        m.port(Dir::In, format!("new_{}", port.name), port.width);
    }
    for port in shared(test) {
        m.port(Dir::In, port.name.clone(), port.width);
        connections.push((port.name.clone(), m.signal(&port.name)));
    }
    m.port(Dir::Out, "passes", 1);
    m.port(Dir::Out, "flags", 5);
    for port in &targets {
        let new = m.signal(&format!("new_{}", port.name));
        connections.push((port.name.clone(), i_registers(&mut m, &port.name, &new, plan.config.i_banks)));
    }
    let clocked = test.ports.iter().any(|p| p.name == *"clk");
    if clocked {
        connections.push(("clk".into(), m.signal("clk")));
    }
    connections.push(((&plan.filtered.pass).into(), m.signal("passes")));
    connections.push(("flags".into(), m.signal("flags")));
    let idle: &[&str] = if targets.is_empty() { &["clk", "i_we", "i_bank", "c_bank"] } else { &[] };
    let idle = idle.iter().filter(|name| **name != "clk" || !clocked).map(|name| m.signal(name));
    let idle = unused(idle.collect::<Vec<_>>());
    m.wire("unused", idle);
    m.instance(&test.name, "test", connections);
    m
}

/// The inputs of the filters: the elements of targets that are written, with their clock, those of sources, and parameters.
struct Given {
    i_we: Value,
    i_bank: Value,
    c_bank: Value,
    /// By the names of the test's ports.
    values: Vec<(Name, Value)>,
}

impl Given {
    /// The elements as they come to the lane.
    fn whole(lane: &Module, plan: &Plan, targets: &Targets) -> Given {
        let (elements, _) = elements(lane, plan);
        let all = targets.elements(lane).into_iter().chain(elements);
        Given {
            i_we: lane.signal("i_we"),
            i_bank: lane.signal("i_bank"),
            c_bank: entered(lane, "c_bank"),
            values: all.map(|(port, value)| (port.into(), value)).collect(),
        }
    }

    /// The same behind the modules that narrow them.
    fn narrowed(self, lane: &mut Module, plan: &Plan) -> Given {
        let Some(narrowed) = &plan.filtered.narrowed else { return self };
        lane.comment("The bits of targets and sources that the test takes.");
        let mut values: Vec<(Name, Value)> =
            self.values.iter().filter(|(port, _)| port.starts_with("p_")).cloned().collect();
        for (name, prefix) in [(&narrowed.targets, "i"), (&narrowed.sources, "j")] {
            let inner = plan.pipeline.module(name).expect("it is in the netlist").clone();
            let mut connections: Vec<(Name, Value)> = Vec::new();
            let mut flags = Vec::new();
            for port in &inner.ports {
                let value = match (port.dir, &*port.name) {
                    (Dir::In, "clk") => lane.signal("clk"),
                    (Dir::In, _) => self.values.iter().find(|v| v.0 == port.name).expect("it comes").1.clone(),
                    (Dir::Out, "flags") => {
                        let net = lane.net(format!("narrow_{prefix}_flags"), port.width);
                        flags.push(net.clone());
                        net
                    }
                    (Dir::Out, own) => {
                        let own = own.strip_prefix("o_").expect("an output");
                        let net = lane.net(format!("narrow_{prefix}_{own}"), port.width);
                        values.push((format!("{prefix}_{own}").into(), net.clone()));
                        net
                    }
                };
                connections.push((port.name.clone(), value));
            }
            lane.wire(format!("unused_narrow_{prefix}"), unused(flags));
            lane.instance(&inner.name, format!("narrow_{prefix}"), connections);
        }
        let mut late = |name: &str, value: Value| {
            (1..=narrowed.latency).fold(value, |value, k| lane.reg(format!("narrow_{name}_{k}"), value))
        };
        let [i_we, i_bank, c_bank] = [("i_we", self.i_we), ("i_bank", self.i_bank), ("c_bank", self.c_bank)]
            .map(|(name, value)| late(name, value));
        Given { i_we, i_bank, c_bank, values }
    }
}

/// Adds the filters, and what travels beside the pairs in them; `number` is that of the source that comes.
pub(super) fn filters(lane: &mut Module, plan: &Plan, targets: &Targets, number: Value) -> Came {
    let filters = plan.filters();
    let test = plan.test();
    let given = Given::whole(lane, plan, targets).narrowed(lane, plan);
    lane.comment("What travels beside a source.");
    let [last, first, valid, active] = ["c_last", "c_first", "c_valid", "c_active"].map(|name| entered(lane, name));
    let slot = targets.slot.clone();
    let beside = [Some(number), slot].into_iter().flatten().chain([last, first, valid, active]);
    let begin = lane.wire("source", cat(beside));
    let came = delayed(lane, plan, "source_beside", begin, plan.filtered.latency());
    let [last, first, valid] = [filters + 2, filters + 1, filters].map(|bit| came.bit(bit));
    let take = lane.wire("take", came.low(filters) & valid.repeat(filters));
    let pass = lane.net("passes", filters);
    let flags = lane.net("filter_flags", 5 * filters);
    let known: FastSet<&str> = given.values.iter().map(|v| &*v.0).collect();
    debug_assert!(shared(test).all(|p| known.contains(&*p.name)));
    let of = |port: &Port| given.values.iter().find(|v| v.0 == port.name).expect("it comes to the lane").1.clone();
    for k in 0..filters {
        let mut connections: Vec<(Name, Value)> = vec![("clk".into(), lane.signal("clk"))];
        connections.push(("i_we".into(), given.i_we.bit(k)));
        connections.extend([("i_bank".into(), given.i_bank.clone()), ("c_bank".into(), given.c_bank.clone())]);
        let own = test.ports.iter().filter(|p| is_targets(p));
        connections.extend(own.map(|port| (format!("new_{}", port.name).into(), of(port))));
        connections.extend(shared(test).map(|port| (port.name.clone(), of(port))));
        connections.extend([("passes".into(), pass.bit(k)), ("flags".into(), flags.bits(5 * k, 5))]);
        lane.instance(format!("{}_filter_lane", plan.config.layout.kernel), format!("filter_{k}"), connections);
    }
    let push = lane.wire("push", &take & &pass);
    let half = lane.hold("half", 1);
    let next = &half ^ &last;
    let rst = lane.signal("rst");
    lane.load("half", next & !rst);
    let (slot_bits, number_bits) = (plan.slot_bits(), super::pairs::number_bits(plan));
    let slot = (slot_bits > 0).then(|| came.bits(filters + 3, slot_bits));
    let number = came.bits(filters + 3 + slot_bits, number_bits);
    Came { push, take, flags, first, last, number, slot, half }
}
