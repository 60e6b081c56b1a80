//! The queues behind the filters of a lane.

use super::condition::Came;
use super::{Plan, bits_for};
use crate::engine::shell::text_module;
use crate::rtl::memory::attributes;
use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::Module;
use crate::rtl::{Name, Value};
use askama::Template;

/// Pairs at least that can wait behind each filter while the others give theirs, beside those under way.
const PLACES: u32 = 64;
/// Clocks of a pair from the sequencer to the lane, at most, and until the sequencer knows of the queues that it is in.
const UNDER_WAY: u32 = 4 + 6;
/// The fewest bits of a queue that belong into block memory.
const BLOCK_BITS: u32 = 2048;

#[derive(Template)]
#[template(path = "filter_queues.v", escape = "none")]
struct Queues {
    attributes: String,
    filters: u32,
    /// Bits of a word: what is carried and the half.
    width: u32,
    depth: u32,
    addr_bits: u32,
    count_bits: u32,
    /// The most words in a queue with which pairs still come.
    limit: u32,
    lane_bits: u32,
    /// Bits of the number of pairs in all queues, and of those that come in a clock.
    total_bits: u32,
    pushed_bits: u32,
}

/// A pair that leaves the queues, and what they say besides.
pub(super) struct Pair {
    pub valid: Value,
    pub half: Value,
    /// The filter that it is of.
    pub lane: Value,
    pub data: Option<Value>,
    /// A group's last pair has left, and the half that its sums are in.
    pub ends: Value,
    pub shown_half: Value,
    /// No pair waits.
    pub none: Value,
    pub room: Value,
}

fn name(plan: &Plan) -> String {
    format!("{}_filter_queues", plan.config.layout.kernel)
}

pub(super) fn module(plan: &Plan) -> Module {
    let filters = plan.filters();
    let width = 1 + plan.filtered.bits();
    // What is under way when a queue is found nearly full has a place in it.
    let reserve = plan.filtered.latency + UNDER_WAY;
    let depth = (PLACES + reserve).next_power_of_two().max(128);
    let block = if width * depth >= BLOCK_BITS { ", ram_style = \"block\" *) " } else { " *) " };
    let template = Queues {
        attributes: attributes(width, depth, false).replace(" *) ", block),
        filters,
        width,
        depth,
        addr_bits: bits_for(depth - 1),
        count_bits: bits_for(depth),
        limit: depth - reserve,
        lane_bits: plan.lane_bits(),
        total_bits: bits_for(filters * depth),
        pushed_bits: bits_for(filters),
    };
    let mut ports = vec![(In, "clk", 1), (In, "rst", 1), (In, "push", filters), (In, "half", 1), (In, "last", 1)];
    if width > 1 {
        ports.extend([(In, "data", filters * (width - 1)), (Out, "pair_data", width - 1)]);
    }
    ports.extend([(Out, "room", 1), (Out, "pair", 1), (Out, "pair_half", 1)]);
    ports.extend([(Out, "lane", plan.lane_bits()), (Out, "ends", 1), (Out, "shown_half", 1), (Out, "none", 1)]);
    text_module(name(plan), "Queues behind the filters of a lane, of which one gives a pair a clock.", ports, template)
}

pub(super) fn instance(lane: &mut Module, plan: &Plan, came: &Came) -> Pair {
    lane.comment("The queues behind the filters.");
    let mut connections: Vec<(Name, Value)> = ["clk", "rst"].map(|name| (name.into(), lane.signal(name))).into();
    let given = [("push", &came.push), ("half", &came.half), ("last", &came.last)];
    connections.extend(given.map(|(port, value)| (port.into(), value.clone())));
    let mut out = |port: &str, width: u32| {
        let net = lane.net(format!("queue_{port}"), width);
        connections.push((port.into(), net.clone()));
        net
    };
    let [valid, half, ends, shown_half, none, room] =
        ["pair", "pair_half", "ends", "shown_half", "none", "room"].map(|port| out(port, 1));
    let number = out("lane", plan.lane_bits());
    let bits = plan.filtered.bits();
    let data = (bits > 0).then(|| out("pair_data", bits));
    connections.extend(came.data.clone().map(|data| ("data".into(), data)));
    lane.instance(name(plan), "queues", connections);
    Pair { valid, half, lane: number, data, ends, shown_half, none, room }
}
