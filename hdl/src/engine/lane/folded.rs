//! The lane around a pipeline that takes a pair every K clocks: sums of one format share adders.
//!
//! A shared sum's running totals stand in a ring that moves on with each term, so that the total that a term belongs to is at its
//! end when the term comes. What a group's last pair leaves there is kept for the result, a register for each output. Plain outputs
//! come in the last of the K clocks in which terms come, and have their accumulators for themselves.

use super::enter::{self, enter};
use super::select::selections;
use super::sliced;
use super::{Beside, GUARD, LONG, Output, beside, extreme, finish, pins, ports, ports_of, sticky_flags, sum, unused};
use crate::engine::Config;
use crate::rtl::delay;
use crate::rtl::expr::Test;
use crate::rtl::fold::{Fold, SharedSum};
use crate::rtl::netlist::{Module, Netlist};
use crate::rtl::{Value, cat, net, or_all};
use crate::{Format, Reduce};

/// The most windows that what travels with a pair has registers for.
const FEW_WINDOWS: u32 = 12;

/// The lane of `config` around `pipeline`, which is folded, and modules that it needs besides, the lane last.
pub(super) fn modules(config: &Config, pipeline: &Netlist, fold: &Fold) -> Vec<Module> {
    let inner = pipeline.module(&pipeline.top).expect("a netlist has its top module");
    if let (true, Some(slices)) = (fold.sliced, config.slices()) {
        return sliced::modules(config, pipeline, fold, slices);
    }
    let mut modules = enter::modules(config, &ports_of(inner));
    modules.extend(sideband_modules(config, fold));
    modules.extend(super::bins::modules(config));
    modules.push(module(config, pipeline, fold));
    modules
}

/// Windows of K clocks before that of the sums, and clocks that what travels with a pair is in memory for on its way there: a few
/// windows have registers that move on every K clocks.
fn way(config: &Config, fold: &Fold) -> (u32, u32) {
    let delay = config.pipeline_latency - fold.ii;
    let windows = (delay + 1) / fold.ii;
    (windows, if windows > FEW_WINDOWS && delay > LONG { delay - 1 } else { 0 })
}

/// The modules that [`sideband`] needs.
pub(super) fn sideband_modules(config: &Config, fold: &Fold) -> Option<Module> {
    let (_, stored) = way(config, fold);
    let stored = (stored > 0).then(|| delay::module(3, stored, delay::Read::Registered))?;
    Some(Module { name: format!("{}_{}", config.layout.kernel, stored.name), ..stored })
}

/// The sideband held beside the terms of a pair for K clocks.
pub(super) struct Held {
    pub take: Value,
    pub first: Value,
    pub last: Value,
}

/// A lane as far as the terms of its sums.
pub(super) struct Begun {
    pub lane: Module,
    pub held: Held,
    pub beside: Beside,
    /// The flags that were raised.
    pub raised: Value,
}

/// Begins a lane whose sums are as `sums` says, and whose result is there so many clocks behind the last slot of a pair.
pub(super) fn begin(config: &Config, pipeline: &Netlist, fold: &Fold, sums: &str, behind: u32) -> Begun {
    let kernel = &config.layout.kernel;
    let mut lane = Module { name: format!("{kernel}_lane"), ..Module::default() };
    lane.latency = config.pipeline_latency + behind + config.spread() as u32;
    lane.doc = vec![
        format!("A lane of {kernel}: i registers, pipeline, {sums}; a pair every {} clocks.", fold.ii),
        format!("`r_done` follows `c_last` by {} cycles.", lane.latency),
    ];
    ports(&mut lane, config);
    let inner = pipeline.module(&pipeline.top).expect("a netlist has its top module");
    enter(&mut lane, config, &ports_of(inner));
    pins(&mut lane, config, pipeline);
    let (held, beside) = sideband(&mut lane, config, fold);
    let raised = sticky_flags(&mut lane, &beside, false, inner.wraps);
    Begun { lane, held, beside, raised }
}

fn module(config: &Config, pipeline: &Netlist, fold: &Fold) -> Module {
    let layout = &config.layout;
    let in_memory = !layout.bins.is_empty();
    let behind = if in_memory { super::bins::BEHIND } else { 2 };
    let Begun { mut lane, held, beside, raised } = begin(config, pipeline, fold, "accumulators", behind);
    let chains = pipeline.module(&pipeline.top).map(|inner| inner.chains).unwrap_or_default();
    let mut kept: Vec<(String, Value)> = Vec::new();
    let mut wraps = Vec::new();
    for sum in &fold.sums {
        let format = layout.outputs.iter().find(|o| o.0 == sum.uses[0].0).expect("the layout has every output").1;
        let shared = Shared { sum, format, ii: fold.ii, low: chains.low(format) };
        let (values, wrap) = shared.add_up(&mut lane, &held);
        kept.extend(values);
        wraps.push(wrap);
    }
    let mut values = Vec::new();
    let selected = selections(&mut lane, layout, &beside);
    let mut named = Vec::new();
    let registers = layout.outputs.iter().enumerate().filter(|(k, _)| !layout.in_memory(*k as u32));
    for (k, (port, format, reduce)) in registers {
        if let Some((_, value)) = kept.iter().find(|k| k.0 == *port) {
            values.push((value.clone(), *format));
            named.push((port.clone(), value.clone(), *format, false));
            continue;
        }
        let output = Output { port, format: *format, low: chains.low(*format) };
        let total = match reduce {
            Reduce::Ranked(_) => selected[&k].clone(),
            Reduce::Sum => sum(&mut lane, &output, &beside),
            _ => extreme(&mut lane, &output, *reduce, &beside),
        };
        let value = total.low(format.width());
        if *reduce == Reduce::Sum {
            wraps.push(wrapped(&total, *format));
        }
        values.push((value.clone(), *format));
        named.push((port.clone(), value, *format, *reduce != Reduce::Sum));
    }
    if in_memory {
        let others = super::bins::Others { totals: &named, wraps, raised: &raised };
        super::bins::finish(&mut lane, config, &beside, others);
    } else {
        finish(&mut lane, &values, wraps, &raised, &beside.done);
    }
    lane
}

/// Whether a total with its guard bits has left its format.
fn wrapped(total: &Value, format: Format) -> Value {
    let sign = if format.is_signed() { total.bit(format.width() - 1) } else { Value::flag(false) };
    total.top(GUARD).compare(Test::Ne, false, &sign.repeat(GUARD))
}

/// Takes what travels with a pair to the clock before its first term, and holds it while terms come.
fn sideband(lane: &mut Module, config: &Config, fold: &Fold) -> (Held, Beside) {
    let ((windows, stored), ii) = (way(config, fold), fold.ii);
    let slots = lane.signal("slots");
    let mut from = beside(lane, &config.layout.kernel, stored);
    if stored > 0 {
        from = lane.reg("beside_1", from);
    } else {
        for k in 1..=windows {
            let name = format!("beside_{k}");
            from = lane.reg(name.clone(), slots.bit(0).mux(&from, &net(&name, 3)));
        }
    }
    let held = lane.reg("held", slots.msb().mux(&from, &net("held", 3)));
    let of = |bit: u32| held.bit(bit);
    // Plain outputs come in the last slot.
    let end = slots.msb();
    let mut in_end = |bit: u32, name: &str| lane.wire(name, of(bit) & &end);
    let (take, first, last) = (in_end(0, "take"), in_end(1, "first"), in_end(2, "last"));
    let begins = lane.wire("begins", of(1) & slots.bit(ii - 2));
    // Lanes without sums of their own have nothing to clear, and no sum needs every slot.
    lane.wire("unused_slots", unused([begins.clone(), slots]));
    let last_1 = lane.reg("last_1", last.clone());
    let done = lane.reg("last_2", last_1.clone());
    (Held { take: of(0), first: of(1), last: of(2) }, Beside { take, first, last, begins, last_1, done })
}

/// Sums that share an adder.
struct Shared<'a> {
    sum: &'a SharedSum,
    format: Format,
    ii: u32,
    /// Bits of the lower part of the sum with guard bits.
    low: u32,
}

impl Shared<'_> {
    fn name(&self, what: &str) -> String {
        format!("{what}_{}", self.sum.port)
    }

    /// The running totals: as many registers as there are sums, which move on when `moves` is high. Gives the one that comes out,
    /// and the one that went in last.
    fn ring(&self, lane: &mut Module, what: &str, bits: u32) -> Vec<Value> {
        (0..self.sum.uses.len()).map(|k| lane.hold(self.name(&format!("{what}_{k}")), bits)).collect()
    }

    fn turn(&self, lane: &mut Module, what: &str, ring: &[Value], moves: &Value, next: Value) {
        let mut from = next;
        for (k, own) in ring.iter().enumerate() {
            lane.load(self.name(&format!("{what}_{k}")), moves.mux(&from, own));
            from = own.clone();
        }
    }

    /// The adder in one or two parts, the upper one a clock behind, and what is kept; gives the outputs with their results, and
    /// whether one of them wrapped.
    fn add_up(&self, lane: &mut Module, held: &Held) -> (Vec<(String, Value)>, Value) {
        lane.comment(format!("{} sums take turns: exact, with {GUARD} guard bits.", self.sum.uses.len()));
        let slots = lane.signal("slots");
        let width = self.format.width() + GUARD;
        let low = self.low;
        let value = lane.signal(&format!("value_{}", self.sum.port));
        let own = held.take.mux(&value, &Value::zeros(value.width()));
        let own = lane.wire(self.name("value_now"), own);
        let term = if low < width { own.low(low) } else { own.extend(width, self.format.is_signed()) };
        let used = or_all(self.sum.uses.iter().map(|u| slots.bit(u.1))).expect("a sum has a use");
        let moves = lane.wire(self.name("moves"), used);
        let ring = self.ring(lane, "low", low);
        let old = held.first.mux(&Value::zeros(low), ring.last().expect("a ring has a register"));
        let sum = lane.wire(self.name("sum_low"), old.zext(low + 1) + term.zext(low + 1));
        self.turn(lane, "low", &ring, &moves, sum.low(low));
        let newest = ring[0].clone();
        // A clock later the lower part stands in the ring's first register.
        let moved = lane.reg(self.name("moved"), moves);
        let total = if low < width {
            let carry = lane.reg(self.name("carry"), sum.msb());
            let upper = self.upper(lane, held, own.bits(low, self.format.width() - low), (carry, &moved), width - low);
            cat([upper, newest])
        } else {
            lane.wire(self.name("unused"), unused([sum.msb()]));
            newest
        };
        let total = lane.wire(self.name("total"), total);
        let mut kept = Vec::new();
        for (output, slot) in &self.sum.uses {
            let now = lane.reg(format!("keep_{output}"), &held.last & slots.bit(*slot));
            let name = format!("kept_{output}");
            let own = net(&name, self.format.width());
            kept.push((output.clone(), lane.reg(name, now.mux(&total.low(self.format.width()), &own))));
        }
        (kept, self.wrap(lane, held, total, &moved))
    }

    /// The sum of the upper parts, a clock behind the lower ones.
    fn upper(&self, lane: &mut Module, held: &Held, own: Value, (carry, moved): (Value, &Value), bits: u32) -> Value {
        let own = lane.reg(self.name("high_term"), own);
        let first = lane.reg(self.name("first"), held.first.clone());
        let ring = self.ring(lane, "high", bits);
        let old = first.mux(&Value::zeros(bits), ring.last().expect("a ring has a register"));
        let sum = old + own.extend(bits, self.format.is_signed()) + carry.zext(bits);
        let sum = lane.wire(self.name("sum_high"), sum);
        self.turn(lane, "high", &ring, moved, sum.clone());
        sum
    }

    /// Whether a total of the group that is done has wrapped: seen a clock after the totals, gathered until all are there.
    fn wrap(&self, lane: &mut Module, held: &Held, total: Value, moved: &Value) -> Value {
        let last = lane.reg(self.name("last"), held.last.clone());
        let counts = lane.reg(self.name("counts"), last & moved);
        // Of a signed sum the guard bits and the sign are equal, of an unsigned one the guard bits are 0.
        let signed = self.format.is_signed();
        let top = lane.reg(self.name("top"), total.top(GUARD + signed as u32));
        let left = if signed { top.any() & !top.all() } else { top.any() };
        let wrapped = lane.wire(self.name("wrapped"), counts & left);
        let own = net(self.name("some_wrapped"), 1);
        let begins = lane.signal("slots").bit(1 % self.ii);
        let seen = lane.reg(self.name("some_wrapped"), (&own | &wrapped) & !begins);
        seen | wrapped
    }
}
