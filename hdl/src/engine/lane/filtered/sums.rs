//! Sums and extremes in memory, one for each filter and half: what the pipeline behind filters adds to.
//!
//! As for sums that an index names ([`super::super::bins`]), what a pair adds to is read, changed and written back, and what the two
//! pairs before have changed is taken from where it is on its way. Here the place is known ahead, so that it is read before the
//! pair's value is there. The upper part of a long sum does the same a clock later.

use super::condition::Came;
use super::{Plan, Retired, bits_for, terms};
use crate::engine::lane::bins::bit_at;
use crate::engine::lane::{ordered, term_nets};
use crate::engine::shell::text_module;
use crate::rtl::chains::GUARD;
use crate::rtl::memory::Ram;
use crate::rtl::netlist::Module;
use crate::rtl::{Value, cat, net, or_all};
use crate::{Format, Reduce};

/// Signals of a change: the place that is read and written, and where the value before is.
#[derive(Clone)]
struct Step {
    read_at: Value,
    /// A clock later: whether any pair of this group has come to the place, and whether the pair but one before did.
    seen: Value,
    second: Value,
    /// Another clock later: whether the pair before did, whether there is a pair, and its place.
    before: Value,
    hit: Value,
    place: Value,
}

/// Sums in memory while they are built.
pub(super) struct Sums<'a> {
    plan: &'a Plan<'a>,
    /// The places that pairs have come to.
    touched: Value,
    steps: Vec<Step>,
    /// Whether the pair whose values leave the pipeline is its place's first.
    fresh: Value,
    /// The place that the collector asks for.
    asked: Value,
    asked_word: Value,
}

/// A word for the collector, and when a pair has changed its sums, whose these are and whether one is beyond its format.
pub(super) struct Read {
    pub word: Value,
    pub beyond: Option<(Value, Value, Value)>,
}

/// A part of an output that one memory holds: the bits of it and how many of them the collector reads.
struct Part<'a> {
    name: &'a str,
    port: &'a str,
    bits: u32,
    shown: u32,
}

/// A changed part: its bits that the collector reads, its new value a clock later, and the carry out of it.
struct Changed {
    shown: Value,
    new: Value,
    over: Option<Value>,
}

/// The bits of an output's lower part, and of all with guard bits.
fn cut(plan: &Plan, format: Format, reduce: Reduce) -> (u32, u32) {
    match reduce {
        Reduce::Sum => (plan.inner().chains.low(format), format.width() + GUARD),
        _ => (format.width(), format.width()),
    }
}

/// The parts of an output: bits that are changed, and those of them that are shown.
fn parts(plan: &Plan, format: Format, reduce: Reduce) -> Vec<(u32, u32)> {
    let (low, all) = cut(plan, format, reduce);
    if low == all { vec![(all, format.width())] } else { vec![(low, low), (all - low, format.width() - low)] }
}

fn memory_name(plan: &Plan, bits: u32) -> String {
    format!("{}_filter_sums_{bits}x{}", plan.config.layout.kernel, 1u32 << plan.place_bits())
}

impl<'a> Sums<'a> {
    /// The memories that [`Sums::build`] needs.
    pub fn modules(plan: &Plan) -> Vec<Module> {
        let outputs = &plan.config.layout.outputs;
        let widths = outputs.iter().flat_map(|o| parts(plan, o.1, o.2)).flat_map(|(bits, shown)| [bits, shown]);
        let memory = |bits: u32| {
            let ports = Ram::ports(bits, plan.place_bits()).into();
            let body = Ram::new(bits, 1 << plan.place_bits(), true);
            text_module(memory_name(plan, bits), "What pairs of each filter add to.", ports, body)
        };
        widths.map(memory).collect()
    }

    pub fn new(lane: &mut Module, plan: &'a Plan<'a>, came: &Came, retired: &Retired) -> Sums<'a> {
        lane.comment("The places of sums: those that pairs have come to, and that of the pair on its way.");
        let Retired { ahead, place, .. } = retired;
        let count = 1u32 << plan.place_bits();
        let touched = lane.hold("touched", count);
        let each = |of: &dyn Fn(u32) -> Value| cat((0..count).rev().map(of));
        let here = lane.wire("touches", each(&|k| place.is_number(k as i128) & ahead));
        let upper = |k: u32| if k >> plan.lane_bits() == 1 { came.half.clone() } else { !&came.half };
        let begins = lane.wire("begins", each(&|k| upper(k) & &came.first));
        lane.load("touched", (&touched & !&begins) | here);
        let seen = bit_at(lane, "sees", &touched, place);
        // Whether a sum is in two parts.
        let late = plan.config.layout.outputs.iter().any(|o| parts(plan, o.1, o.2).len() > 1);
        let mut reg = |name: &str, value: Value| lane.reg(name, value);
        let (hit_1, place_1, seen_1) =
            (reg("hit_1", ahead.clone()), reg("place_1", place.clone()), reg("seen_1", seen));
        let (hit, place_2) = (reg("hit_2", hit_1), reg("place_2", place_1.clone()));
        let second = reg("second_before", &hit & place.is(&place_2));
        let before = reg("one_before", &seen_1 & &hit & place_1.is(&place_2));
        let extremes = plan.config.layout.outputs.iter().any(|o| o.2 != Reduce::Sum);
        let seen_2 = (late || extremes).then(|| reg("seen_2", seen_1.clone()));
        let step = Step { read_at: place.clone(), seen: seen_1, second, before, hit, place: place_2 };
        let at = lane.signal("r_at");
        let at = if plan.config.spread() { lane.reg("asked", at) } else { at };
        let words = at.width() - plan.lane_bits();
        let asked = cat([lane.signal("shown_half"), at.top(plan.lane_bits())]);
        let asked = lane.wire("asked_place", asked);
        let asked_word = lane.reg("asked_word", at.low(words));
        let mut steps = vec![step];
        let seen = seen_2.unwrap_or_else(|| Value::flag(true));
        steps.extend(late.then(|| later(lane, &steps[0], place_1, &seen)));
        Sums { plan, touched, steps, fresh: !seen, asked, asked_word }
    }

    /// Whether there is a pair whose values leave the pipeline, and the place of its sums.
    pub fn now(&self) -> (Value, Value) {
        (self.steps[0].hit.clone(), self.steps[0].place.clone())
    }

    /// Reads a part, changes it as `to` says and writes it back.
    fn change(&self, lane: &mut Module, part: &Part, step: &Step, to: &dyn Fn(&Value) -> Value) -> Changed {
        let Part { name, port, bits, shown } = *part;
        let word = lane.net(format!("word_{name}_{port}"), bits);
        let new = lane.hold(format!("new_{name}_{port}"), bits);
        let chosen = step.second.mux(&new, &word) & step.seen.repeat(bits);
        let read = lane.reg(format!("read_{name}_{port}"), chosen);
        let old = lane.wire(format!("old_{name}_{port}"), step.before.mux(&new, &read));
        let sum = lane.wire(format!("sum_{name}_{port}"), to(&old));
        lane.load(format!("new_{name}_{port}"), sum.low(bits));
        let out = lane.net(format!("shown_{name}_{port}"), shown);
        let copies = [("running", bits, &step.read_at, &word), ("shown", shown, &self.asked, &out)];
        for (copy, width, raddr, rdata) in copies {
            let all = [
                ("clk", lane.signal("clk")),
                ("we", step.hit.clone()),
                ("waddr", step.place.clone()),
                ("wdata", sum.low(width)),
                ("re", Value::flag(true)),
                ("raddr", raddr.clone()),
                ("rdata", rdata.clone()),
            ];
            lane.instance(memory_name(self.plan, width), format!("{copy}_{name}_of_{port}"), all);
        }
        Changed { shown: out, new, over: (sum.width() > bits).then(|| sum.msb()) }
    }

    /// A sum: what the collector reads of it, and its highest part.
    fn sum(&self, lane: &mut Module, port: &str, format: Format) -> (Value, Value) {
        let (low, all) = cut(self.plan, format, Reduce::Sum);
        let shape = terms(self.plan.inner()).get(port).map(|t| t.shape);
        let (value, carry) = match shape {
            None => (net(format!("value_{port}"), format.width()), None),
            Some(shape) => {
                let round = net(&term_nets(port)[2], shape.widths()[2]);
                (round.clone(), Some(round.bit(0)))
            }
        };
        let term = |low: u32, high: u32| match shape {
            None => value.extend(all, format.is_signed()).bits(low, high - low),
            Some(shape) => {
                let [window, select, round] = [0, 1, 2].map(|k| net(&term_nets(port)[k], shape.widths()[k]));
                shape.bits([&window, &select, &round], low, high)
            }
        };
        lane.comment(format!("{port}: exact sums with {GUARD} guard bits."));
        let first = lane.wire(format!("term_{port}"), term(0, low));
        let whole = low == all;
        let wide = if whole { low } else { low + 1 };
        let carry = carry.map(|c| c.zext(wide));
        let to = |old: &Value| [first.zext(wide)].into_iter().chain(carry.clone()).fold(old.zext(wide), |a, b| a + b);
        let part = Part { name: "low", port, bits: low, shown: low.min(format.width()) };
        let lower = self.change(lane, &part, &self.steps[0], &to);
        let Some(over) = lower.over else { return (lower.shown, lower.new) };
        let over = lane.reg(format!("carry_{port}"), over);
        let high = all - low;
        let own = lane.reg(format!("high_term_{port}"), term(low, format.width()));
        let to = |old: &Value| old + own.extend(high, format.is_signed()) + over.zext(high);
        let part = Part { name: "high", port, bits: high, shown: format.width() - low };
        let upper = self.change(lane, &part, &self.steps[1], &to);
        (cat([upper.shown, lower.shown]), upper.new)
    }

    /// A maximum or minimum, as the collector reads it.
    fn extreme(&self, lane: &mut Module, port: &str, format: Format, reduce: Reduce) -> Value {
        lane.comment(format!("{port}: {reduce}"));
        let value = net(format!("value_{port}"), format.width());
        let (key, fresh) = (lane.wire(format!("key_{port}"), ordered(format, &value)), self.fresh.clone());
        let to = |old: &Value| {
            let best = ordered(format, old);
            let better = if reduce == Reduce::Max { best.lt(&key) } else { key.lt(&best) };
            (&fresh | better).mux(&value, old)
        };
        let part = Part { name: "best", port, bits: format.width(), shown: format.width() };
        // The pair before may be the place's first one, whose value is not in memory: it is on its way then.
        self.change(lane, &part, &self.steps[0], &to).shown
    }

    pub fn build(&self, lane: &mut Module) -> Read {
        let outputs = &self.plan.config.layout.outputs;
        let mut beyond: Vec<(Value, u32)> = Vec::new();
        let shown_seen = bit_at(lane, "shows", &self.touched, &self.asked);
        let shown_seen = lane.reg("shown_seen", shown_seen);
        let (mut ways, mut at) = (Vec::new(), 0);
        for (port, format, reduce) in outputs {
            let width = format.width();
            let value = match reduce {
                Reduce::Sum => {
                    let (shown, new) = self.sum(lane, port, *format);
                    let signed = format.is_signed();
                    let top = new.top(GUARD + signed as u32);
                    let is_beyond = if signed { top.any() & !top.all() } else { top.any() };
                    let parts = parts(self.plan, *format, *reduce).len() as u32;
                    beyond.push((lane.wire(format!("beyond_{port}"), is_beyond), parts));
                    shown & shown_seen.repeat(width)
                }
                _ => {
                    let shown = self.extreme(lane, port, *format, *reduce);
                    shown_seen.mux(&shown, &Value::constant(width, reduce.identity(*format) as i128))
                }
            };
            let padded = lane.wire(format!("record_{port}"), value).zext(32 * format.words());
            for w in 0..format.words() {
                let here = self.asked_word.is_number(at as i128);
                ways.push(here.repeat(32) & padded.bits(32 * w, 32));
                at += 1;
            }
        }
        debug_assert!(at == 0 || bits_for(at - 1) == self.asked_word.width());
        let beyond = self.beyond(lane, beyond);
        Read { word: or_all(ways).unwrap_or_else(|| Value::zeros(32)), beyond }
    }

    /// Whether a sum of the pair that was changed last is beyond its format, once all of them are there.
    fn beyond(&self, lane: &mut Module, each: Vec<(Value, u32)>) -> Option<(Value, Value, Value)> {
        let last = self.steps.len() as u32;
        let early = or_all(each.iter().filter(|b| b.1 < last).map(|b| b.0.clone()));
        let early = early.map(|early| lane.reg("early_beyond", early));
        let all = or_all(each.iter().filter(|b| b.1 == last).map(|b| b.0.clone()).chain(early))?;
        let step = self.steps.last().expect("there is a step");
        let (hit, place) = (lane.reg("changed", step.hit.clone()), lane.reg("changed_place", step.place.clone()));
        Some((hit, place, lane.wire("some_beyond", all)))
    }
}

/// The same a clock later, for upper parts.
fn later(lane: &mut Module, step: &Step, read_at: Value, seen: &Value) -> Step {
    let mut reg = |name: &str, value: &Value| lane.reg(format!("late_{name}"), value.clone());
    Step {
        read_at,
        seen: seen.clone(),
        second: reg("second_before", &step.second),
        before: reg("one_before", &step.before),
        hit: reg("hit", &step.hit),
        place: reg("place", &step.place),
    }
}
