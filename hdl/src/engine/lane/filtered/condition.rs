//! The filters of a lane: i registers and the condition's pipeline, for each of them.

use super::{Plan, delayed, elements, i_registers, unused};
use crate::rtl::netlist::{Dir, Module};
use crate::rtl::{Name, Value, cat};

/// The pairs that leave the filters in a clock.
pub(super) struct Came {
    /// The filters whose pair passes, and those that have one at all.
    pub push: Value,
    pub take: Value,
    /// Carried values, side by side, those of the first filter lowest; `None` if nothing is carried.
    pub data: Option<Value>,
    /// Flags of all filters, side by side.
    pub flags: Value,
    /// Whether the source is the first of its group of targets or the last one.
    pub first: Value,
    pub last: Value,
    /// The half of the sums that it is for.
    pub half: Value,
}

/// The module of a filter.
pub(super) fn module(plan: &Plan) -> Module {
    let (layout, inner) = (&plan.config.layout, plan.conditions());
    let mut m = Module { name: format!("{}_filter_lane", layout.kernel), latency: inner.latency, ..Module::default() };
    m.doc.push("A filter: the registers of its target, and the condition.".into());
    for name in ["clk", "i_we", "i_bank", "c_bank"] {
        m.port(Dir::In, name, 1);
    }
    m.port(Dir::In, "i_rec", 32 * layout.i_words());
    let shared: Vec<(&str, u32)> = shared(plan).collect();
    for (port, width) in &shared {
        m.port(Dir::In, *port, *width);
    }
    m.port(Dir::Out, "passes", 1);
    let carried = plan.filtered.bits();
    if carried > 0 {
        m.port(Dir::Out, "data", carried);
    }
    m.port(Dir::Out, "flags", 5);
    let mut connections: Vec<(Name, Value)> = shared.iter().map(|(port, _)| ((*port).into(), m.signal(port))).collect();
    let (targets, mut idle) = targets(&mut m, plan);
    connections.extend(targets);
    if plan.condition.contains("clk") {
        connections.push(("clk".into(), m.signal("clk")));
    }
    connections.push(((&plan.filtered.pass).into(), m.signal("passes")));
    let mut values = Vec::new();
    for carried in &plan.filtered.carried {
        let value = m.net(format!("value_{}", carried.from), carried.width);
        connections.push(((&carried.from).into(), value.clone()));
        values.push(value);
    }
    connections.push(("flags".into(), m.signal("flags")));
    // What the rest's circuit has turned out not to read.
    for port in inner.ports.iter().filter(|p| p.dir == Dir::Out) {
        if !connections.iter().any(|c| c.0 == port.name) {
            let value = m.net(format!("value_{}", port.name), port.width);
            connections.push((port.name.clone(), value.clone()));
            idle.push(value);
        }
    }
    m.wire("unused", unused(idle));
    m.instance(&inner.name, "condition", connections);
    if !values.is_empty() {
        values.reverse();
        m.assign("data", cat(values));
    }
    m
}

/// The ports of the condition that all filters have the same on: name and width.
fn shared<'a>(plan: &'a Plan) -> impl Iterator<Item = (&'a str, u32)> {
    let layout = &plan.config.layout;
    let elements = layout.j.iter().chain(&layout.params).map(|(port, format)| (port.as_str(), format.width()));
    let tables = layout.tables.iter().map(|t| (t.port.as_str(), t.port_bits()));
    elements.chain(tables).filter(|(port, _)| plan.condition.contains(port))
}

/// The registers of the target's elements that the condition reads, and what of the record nothing reads.
fn targets(m: &mut Module, plan: &Plan) -> (Vec<(Name, Value)>, Vec<Value>) {
    let layout = &plan.config.layout;
    let record = m.signal("i_rec");
    let (mut connections, mut idle) = (Vec::new(), Vec::new());
    let mut at = 0;
    for (port, format) in &layout.i {
        let (width, words) = (format.width(), format.words());
        let source = record.bits(at, width);
        match plan.condition.contains(port.as_str()) {
            true => connections.push((port.into(), i_registers(m, port, &source, plan.config.i_banks))),
            false => idle.push(source),
        }
        if width < 32 * words {
            idle.push(record.bits(at + width, 32 * words - width));
        }
        at += 32 * words;
    }
    if layout.i.is_empty() {
        idle.push(record);
    }
    let without: &[&str] = match connections.is_empty() {
        true => &["clk", "i_we", "i_bank", "c_bank"],
        false if plan.config.i_banks == 1 => &["i_bank", "c_bank"],
        false => &[],
    };
    let clocked = plan.condition.contains("clk");
    idle.extend(without.iter().filter(|name| **name != "clk" || !clocked).map(|name| m.signal(name)));
    (connections, idle)
}

/// Adds the filters, and what travels beside the pairs in them.
pub(super) fn filters(lane: &mut Module, plan: &Plan) -> Came {
    let filters = plan.filters();
    lane.comment("What travels beside a source.");
    let [last, first, valid, active] =
        ["c_last", "c_first", "c_valid", "c_active"].map(|name| super::enter::entered(lane, name));
    let begin = lane.wire("source", cat([last, first, valid, active]));
    let came = delayed(lane, plan, "source_beside", begin, plan.filtered.latency);
    let [last, first, valid] = [filters + 2, filters + 1, filters].map(|bit| came.bit(bit));
    let take = lane.wire("take", came.low(filters) & valid.repeat(filters));
    let (elements, idle) = elements(lane, plan);
    lane.wire("unused", unused(idle));
    let pass = lane.net("passes", filters);
    let bits = plan.filtered.bits();
    let data = (bits > 0).then(|| lane.net("data", filters * bits));
    let flags = lane.net("filter_flags", 5 * filters);
    let bank = super::enter::entered(lane, "c_bank");
    for k in 0..filters {
        let mut connections: Vec<(Name, Value)> =
            ["clk", "i_bank", "i_rec"].map(|name| (name.into(), lane.signal(name))).into();
        connections.extend([("i_we".into(), lane.signal("i_we").bit(k)), ("c_bank".into(), bank.clone())]);
        for (port, _) in shared(plan) {
            let value = elements.iter().find(|e| e.0 == port).expect("it comes to the lane").1.clone();
            connections.push((port.into(), value));
        }
        connections.push(("passes".into(), pass.bit(k)));
        connections.extend(data.as_ref().map(|data| ("data".into(), data.bits(bits * k, bits))));
        connections.push(("flags".into(), flags.bits(5 * k, 5)));
        lane.instance(format!("{}_filter_lane", plan.config.layout.kernel), format!("filter_{k}"), connections);
    }
    let push = lane.wire("push", &take & &pass);
    let half = lane.hold("half", 1);
    let next = &half ^ &last;
    let rst = lane.signal("rst");
    lane.load("half", next & !rst);
    Came { push, take, data, flags, first, last, half }
}
