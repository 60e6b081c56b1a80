//! The pairs that pass the filters of a lane, in a queue of sources: see `templates/filter_pairs.v`.

use super::condition::Came;
use super::{Plan, bits_for};
use crate::engine::shell::{plain_queue, text_module};
use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::{Module, range};
use crate::rtl::{Name, Value, cat};
use askama::Template;

/// Clocks of a pair from the sequencer to the lane, at most, and until the sequencer knows that there is no room.
const UNDER_WAY: u32 = 4 + 6;
/// Clocks in which the lane finds that there is none, and in which a source is read when its word has gone.
const KNOWN: u32 = 6;
/// Sources at least that can wait: as many words as block memories have at their widest.
const RING: u32 = 512;

#[derive(Template)]
#[template(path = "filter_pairs.v", escape = "none")]
struct Pairs {
    filters: u32,
    lane_bits: u32,
    /// Sources, and the bits of a number of one.
    ring: u32,
    number_bits: u32,
    /// The most sources that wait with which others still come.
    limit: u32,
    /// The queue's module, and the ranges of its words and of what a word says of its source besides.
    queue: String,
    word: String,
    tag: String,
}

/// A pair that leaves the queue, and what it says besides.
pub(super) struct Pair {
    pub valid: Value,
    /// The filter that it is of, and the number of its source.
    pub lane: Value,
    pub number: Value,
    /// The place of its group's targets, and above it the half of its sums.
    pub tag: Value,
    /// A group's last pair leaves, or has left.
    pub ends: Value,
    /// No pair waits.
    pub none: Value,
    pub room: Value,
}

fn name(plan: &Plan) -> String {
    format!("{}_filter_pairs", plan.config.layout.kernel)
}

/// Sources that have a place. What is under way when there is no more room has one.
pub(super) fn ring(plan: &Plan) -> u32 {
    (2 * reserve(plan)).next_power_of_two().max(RING)
}

fn reserve(plan: &Plan) -> u32 {
    plan.filtered.latency() + UNDER_WAY + KNOWN
}

/// Bits of a source's number.
pub(super) fn number_bits(plan: &Plan) -> u32 {
    bits_for(ring(plan) - 1)
}

fn queue(plan: &Plan) -> Module {
    let width = number_bits(plan) + plan.tag_bits() + 1 + plan.filters();
    plain_queue(&plan.config.layout.kernel, width, ring(plan))
}

pub(super) fn modules(plan: &Plan) -> [Module; 2] {
    let (filters, number_bits, tag) = (plan.filters(), number_bits(plan), plan.tag_bits());
    let queue = queue(plan);
    let template = Pairs {
        filters,
        lane_bits: plan.lane_bits(),
        ring: ring(plan),
        number_bits,
        limit: ring(plan) - reserve(plan),
        queue: queue.name.clone(),
        word: range(number_bits + tag + 1 + filters).trim_end().to_string(),
        tag: range(tag).trim_end().to_string(),
    };
    let ports = vec![
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "source", 1),
        (Out, "source_number", number_bits),
        (In, "passes", filters),
        (In, "last", 1),
        (In, "came_number", number_bits),
        (In, "came_tag", tag),
        (Out, "pair", 1),
        (Out, "pair_lane", plan.lane_bits()),
        (Out, "pair_number", number_bits),
        (Out, "pair_tag", tag),
        (Out, "ends", 1),
        (Out, "none", 1),
        (Out, "room", 1),
    ];
    let doc = "What the filters of a lane say of each source, and the pairs of it that pass, one a clock.";
    let pairs = text_module(name(plan), doc, ports, template);
    [queue, pairs]
}

/// The nets of a pair, which is known before what comes to the queue is.
pub(super) fn declare(lane: &mut Module, plan: &Plan) -> Pair {
    let mut net = |port: &str, width: u32| lane.net(format!("queue_{port}"), width);
    Pair {
        valid: net("pair", 1),
        lane: net("pair_lane", plan.lane_bits()),
        number: net("pair_number", number_bits(plan)),
        tag: net("pair_tag", plan.tag_bits()),
        ends: net("ends", 1),
        none: net("none", 1),
        room: net("room", 1),
    }
}

/// Adds the queue; `source` says whether a source comes to the filters, and has this number.
pub(super) fn instance(lane: &mut Module, plan: &Plan, came: &Came, (source, number): (Value, Value)) -> Pair {
    lane.comment("Pairs that pass wait for the pipeline.");
    let pair = declare(lane, plan);
    let mut connections: Vec<(Name, Value)> = ["clk", "rst"].map(|name| (name.into(), lane.signal(name))).into();
    let tag = cat([Some(came.half.clone()), came.slot.clone()].into_iter().flatten());
    let all = [
        ("source", &source),
        ("source_number", &number),
        ("passes", &came.push),
        ("last", &came.last),
        ("came_number", &came.number),
        ("came_tag", &tag),
        ("pair", &pair.valid),
        ("pair_lane", &pair.lane),
        ("pair_number", &pair.number),
        ("pair_tag", &pair.tag),
        ("ends", &pair.ends),
        ("none", &pair.none),
        ("room", &pair.room),
    ];
    connections.extend(all.map(|(port, value)| (port.into(), value.clone())));
    lane.instance(name(plan), "pairs", connections);
    pair
}
