//! The targets of a lane's filters in memory, for the pipeline, which meets one of them in a clock.
//!
//! Pairs wait while the next group of targets passes the filters, and the one behind it is loaded. So there are four places for groups,
//! two for each bank of the filters' registers. A bank changes its place when the sequencer leaves it. Before the sequencer leaves
//! a bank twice, the pairs of the group that it left first are gone: none ends before the record of the one before has been sent, or,
//! if sums are held, before all pairs have left.

use super::super::enter::entered;
use super::Plan;
use crate::engine::shell::text_module;
use crate::rtl::memory::Ram;
use crate::rtl::netlist::Module;
use crate::rtl::{Value, cat, or_all};

/// Bits of a group's place.
pub(super) const SLOT_BITS: u32 = 2;

pub(super) struct Targets {
    /// Port of an element, and its first bit and width in the record.
    places: Vec<(String, u32, u32)>,
    /// The place of the group that the source that comes is for; `None` where the pipeline reads nothing of targets.
    pub slot: Option<Value>,
    /// The place of the group that is written.
    written: Option<Value>,
}

/// Port, first bit and width of the elements of targets.
fn places(plan: &Plan) -> Vec<(String, u32, u32)> {
    let mut at = 0;
    let place = |(port, format): &(String, crate::Format)| {
        let place = (port.clone(), at, format.width());
        at += 32 * format.words();
        place
    };
    plan.config.layout.i.iter().map(place).collect()
}

/// Those that the pipeline reads.
fn own(plan: &Plan) -> Vec<(String, u32, u32)> {
    places(plan).into_iter().filter(|p| plan.own.contains(p.0.as_str())).collect()
}

/// Bits of the targets that the pipeline reads.
pub(super) fn bits(plan: &Plan) -> u32 {
    own(plan).iter().map(|p| p.2).sum()
}

fn address_bits(plan: &Plan) -> u32 {
    SLOT_BITS + plan.lane_bits()
}

fn memory(plan: &Plan) -> Option<(String, u32)> {
    let bits = bits(plan);
    (bits > 0)
        .then(|| (format!("{}_filter_ram_{bits}x{}", plan.config.layout.kernel, 1u32 << address_bits(plan)), bits))
}

pub(super) fn module(plan: &Plan) -> Option<Module> {
    let (name, bits) = memory(plan)?;
    let ports = Ram::ports(bits, address_bits(plan)).into();
    let body = Ram::new(bits, 1 << address_bits(plan), false);
    Some(text_module(name, "A memory with one write port and one read port.", ports, body))
}

impl Targets {
    /// Adds what says which place is whose.
    pub fn new(lane: &mut Module, plan: &Plan) -> Targets {
        let places = places(plan);
        if memory(plan).is_none() {
            return Targets { places, slot: None, written: None };
        }
        lane.comment("The places of groups of targets, two for each bank.");
        let bank = entered(lane, "c_bank");
        let before = lane.reg("bank_before", bank.clone());
        let rst = lane.signal("rst");
        let mut phase = |name: &str, left: Value| {
            let phase = lane.hold(name, 1);
            let next = lane.wire(format!("{name}_next"), &phase ^ left);
            lane.load(name, &next & !&rst);
            (phase, next)
        };
        let low = phase("places_0", !&before & &bank);
        let high = phase("places_1", &before & !&bank);
        let slot = lane.reg("slot", cat([bank.mux(&high.0, &low.0), bank.clone()]));
        let written = lane.signal("i_bank");
        let written = lane.wire("slot_written", cat([written.mux(&high.1, &low.1), written.clone()]));
        Targets { places, slot: Some(slot), written: Some(written) }
    }

    /// The elements that are written.
    pub fn elements(&self, lane: &Module) -> Vec<(String, Value)> {
        let record = lane.signal("i_rec");
        self.places.iter().map(|(port, at, width)| (port.clone(), record.bits(*at, *width))).collect()
    }

    /// The memory: the elements of the target in `place`, a clock after it is named.
    pub fn memory(&self, lane: &mut Module, plan: &Plan, place: Value) -> Vec<(String, Value)> {
        let (Some((name, bits)), Some(written)) = (memory(plan), &self.written) else { return Vec::new() };
        lane.comment("The targets that pairs are of.");
        let we = lane.signal("i_we");
        let numbers = (0..plan.filters()).map(|k| {
            let number = Value::constant(plan.lane_bits(), k as i128);
            number & we.bit(k).repeat(plan.lane_bits())
        });
        let number = lane.wire("number_written", or_all(numbers).expect("there are filters"));
        let record = lane.signal("i_rec");
        let own = own(plan);
        let data = cat(own.iter().rev().map(|(_, at, width)| record.bits(*at, *width)));
        let word = lane.net("target_word", bits);
        let connections = [
            ("clk", lane.signal("clk")),
            ("we", we.any()),
            ("waddr", cat([written.clone(), number])),
            ("wdata", data),
            ("re", Value::flag(true)),
            ("raddr", place),
            ("rdata", word.clone()),
        ];
        lane.instance(name, "targets", connections);
        let mut at = 0;
        own.into_iter()
            .map(|(port, _, width)| {
                at += width;
                (port, word.bits(at - width, width))
            })
            .collect()
    }

    /// The bits of the record that nothing reads.
    pub fn idle(&self, lane: &Module, plan: &Plan) -> Vec<Value> {
        let record = lane.signal("i_rec");
        let known = plan.ports();
        let mut used = vec![false; record.width() as usize];
        for (_, at, width) in self.places.iter().filter(|p| known.contains(p.0.as_str())) {
            used[*at as usize..(at + width) as usize].fill(true);
        }
        let mut at = 0;
        let runs = used.chunk_by(|a, b| a == b).filter_map(|run| {
            let (first, count) = (at, run.len() as u32);
            at += count;
            (!run[0]).then(|| record.bits(first, count))
        });
        runs.collect()
    }
}
