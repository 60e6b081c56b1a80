//! The lane around a pipeline whose sums are added up in slices.
//!
//! Each adder has a register that takes a term and moves on by a slice a clock, and a memory with a place for each of its slices.
//! A slice is read, added with the carry of the one below, and written back a clock later. What a group's last pair leaves goes into
//! a second memory instead, in the order of the record, from which the collector reads words. `r_at` says which: the adder above the
//! word. No result of the next group comes before the collector has read all of this one.

use super::folded::{Begun, Held, begin, sideband_modules};
use super::{Beside, all_flags, enter, ports_of};
use crate::Format;
use crate::engine::Config;
use crate::engine::shape::bits_for;
use crate::engine::shell::text_module;
use crate::engine::slices::{SLICE, Slices};
use crate::rtl::fold::{Fold, SLOTS};
use crate::rtl::memory::Ram;
use crate::rtl::netlist::{Module, Netlist};
use crate::rtl::{Value, cat, net, or_all};

/// Clocks from the last slot of a pair's window until its result can be read.
const BEHIND: u32 = 3;

/// The lane of `config` around `pipeline`, and modules that it needs besides, the lane last.
pub(super) fn modules(config: &Config, pipeline: &Netlist, fold: &Fold, slices: Slices) -> Vec<Module> {
    let inner = pipeline.module(&pipeline.top).expect("a netlist has its top module");
    let mut modules = enter::modules(config, &ports_of(inner));
    modules.extend(sideband_modules(config, fold));
    let plan = Plan::new(config, slices);
    modules.extend(plan.memories().map(|(width, depth)| plan.memory(width, depth)));
    modules.push(module(config, pipeline, fold, &plan));
    modules
}

/// The schedule of the adders: the operation of each in each slot.
struct Plan<'a> {
    config: &'a Config,
    slices: Slices,
    /// The outputs of each adder: format, and the slot of the term.
    adders: Vec<Vec<(Format, u32)>>,
}

impl Plan<'_> {
    fn new(config: &Config, slices: Slices) -> Plan<'_> {
        let mut adders = vec![Vec::new(); slices.adders as usize];
        for (k, output) in config.layout.outputs.iter().enumerate() {
            let (adder, slot) = slices.place(k as u32);
            adders[adder as usize].push((output.1, slot));
        }
        Plan { config, slices, adders }
    }

    /// Places for the slices of an adder, and one more at least for what it adds up for nobody.
    fn depth(&self) -> u32 {
        let slices = self.slices.sums * self.slices.each;
        (slices + 1).next_power_of_two().min(self.clocks())
    }

    /// Places for all clocks of a pair.
    fn clocks(&self) -> u32 {
        self.config.ii.next_power_of_two()
    }

    /// Places for the words of an adder's results.
    fn words(&self) -> u32 {
        let words = |outputs: &Vec<(Format, u32)>| outputs.iter().map(|o| o.0.words()).sum::<u32>();
        self.adders.iter().map(words).max().unwrap_or(1).next_power_of_two().max(2)
    }

    /// Widths and depths of the memories: of the totals, and of half of each word of results.
    fn memories(&self) -> impl Iterator<Item = (u32, u32)> {
        let (totals, results) = ((SLICE, self.depth()), (SLICE, self.words()));
        [Some(totals), Some(results).filter(|r| *r != totals)].into_iter().flatten()
    }

    fn name(&self, width: u32, depth: u32) -> String {
        format!("{}_slices_{width}x{depth}", self.config.layout.kernel)
    }

    fn memory(&self, width: u32, depth: u32) -> Module {
        let ports = Ram::ports(width, bits_for(depth - 1)).into();
        text_module(self.name(width, depth), "Slices of sums.", ports, Ram::new(width, depth, false))
    }

    /// Adds a memory; gives what is read.
    fn place(&self, lane: &mut Module, name: &str, depth: u32, write: [Value; 3], raddr: Value) -> Value {
        let [we, waddr, wdata] = write;
        let rdata = lane.net(name, wdata.width());
        let module = self.name(wdata.width(), depth);
        let all = [
            ("clk", lane.signal("clk")),
            ("we", we),
            ("waddr", waddr),
            ("wdata", wdata),
            ("re", Value::flag(true)),
            ("raddr", raddr),
            ("rdata", rdata.clone()),
        ];
        lane.instance(module, format!("{name}_memory"), all);
        rdata
    }

    /// The slots of an adder's steps that `chosen` names by the output's format and the slice.
    fn steps(&self, adder: usize, chosen: impl Fn(Format, u32) -> bool) -> Vec<u32> {
        let each = self.slices.each;
        let of = |(format, slot): &(Format, u32)| {
            let (format, slot) = (*format, *slot);
            (0..each).filter(|k| chosen(format, *k)).map(|k| slot + k).collect::<Vec<_>>()
        };
        self.adders[adder].iter().flat_map(of).collect()
    }
}

/// The bits of slice `k` of a number of so many bits.
fn own_bits(width: u32, k: u32) -> u32 {
    let bits = width.saturating_sub(k * SLICE).min(SLICE);
    ((1u64 << bits) - 1) as u32
}

/// The bits of slice `k` of a total that are all equal, or all 0, unless it wrapped.
fn guard_bits(format: Format, k: u32) -> u32 {
    let all = (1u32 << SLICE) - 1;
    all & !own_bits(format.width() - format.is_signed() as u32, k)
}

fn module(config: &Config, pipeline: &Netlist, fold: &Fold, plan: &Plan) -> Module {
    let Begun { mut lane, held, beside, raised } = begin(config, pipeline, fold, "sums in slices", BEHIND);
    let mut read = Vec::new();
    let mut wraps = Vec::new();
    let at = lane.signal("r_at");
    let at = if config.spread() { lane.reg("asked", at) } else { at };
    for (k, sum) in fold.sums.iter().enumerate() {
        let adder = Adder { plan, k, port: &sum.port };
        let (words, wrapped) = adder.write(&mut lane, &held, &at);
        read.push(words);
        wraps.push(wrapped);
    }
    finish(&mut lane, plan, (read, at), (wraps, raised), beside);
    lane
}

/// The word that was asked for, the flags, and when they are there.
fn finish(
    lane: &mut Module,
    plan: &Plan,
    (read, at): (Vec<Value>, Value),
    (wraps, raised): (Vec<Value>, Value),
    beside: Beside,
) {
    let word_bits = bits_for(plan.words() - 1);
    let word = if read.len() == 1 {
        read[0].clone()
    } else {
        let adder = lane.reg("asked_adder", at.bits(word_bits, at.width() - word_bits));
        let of = |(k, word): (usize, &Value)| adder.is_number(k as i128).repeat(word.width()) & word;
        or_all(read.iter().enumerate().map(of)).expect("there is an adder")
    };
    lane.comment("The word at `r_at`, from `r_done` on.");
    let wrap = lane.wire("wrap", or_all(wraps).expect("there is an adder"));
    lane.assign("r_data", word);
    lane.assign("r_flags", all_flags(wrap, &raised));
    let done = lane.reg("last_3", beside.done);
    lane.assign("r_done", done);
}

/// An adder and its memories.
struct Adder<'a> {
    plan: &'a Plan<'a>,
    k: usize,
    port: &'a str,
}

impl Adder<'_> {
    fn name(&self, what: &str) -> String {
        format!("{what}_{}", self.port)
    }

    /// High in some slots, `late` clocks behind them.
    fn when(&self, lane: &mut Module, what: &str, slots: &[u32], late: u32) -> Value {
        let all = lane.signal(SLOTS);
        let ii = all.width();
        // Slots come round: so a later clock is a later slot.
        let slots: Vec<u32> = slots.iter().map(|s| (s + late) % ii).collect();
        let any = or_all(slots.iter().map(|s| all.bit(*s)));
        lane.wire(self.name(what), any.unwrap_or_else(|| Value::flag(false)))
    }

    /// The adder; gives the word of results that is read, and whether a sum of the group that is done wrapped.
    fn write(&self, lane: &mut Module, held: &Held, at: &Value) -> (Value, Value) {
        let Slices { each, width, signed, .. } = self.plan.slices;
        let outputs = self.plan.adders[self.k].len();
        lane.comment(format!("{outputs} sums take turns: exact, in {each} slices of {SLICE} bits."));
        let loads = self.plan.steps(self.k, |_, k| k == 0);
        let load = self.when(lane, "loads", &loads, 0);
        let term = lane.signal(&format!("value_{}", self.port));
        let name = self.name("term");
        let own = net(&name, width);
        let sign = if signed { own.msb() } else { Value::flag(false) };
        let further = cat([sign.repeat(SLICE), own.top(width - SLICE)]);
        let taken = held.take.repeat(width) & term;
        let own = lane.reg(name, load.mux(&taken, &further));
        // What is said of the pair stands until its last slice.
        let mut kept = |what: &str, value: &Value| {
            let name = self.name(what);
            lane.reg(name.clone(), load.mux(value, &net(&name, 1)))
        };
        let (first, last) = (kept("first", &held.first), kept("last", &held.last));
        let step = self.steps(lane);
        let begins = self.when(lane, "begins", &loads, 1);
        let sum = self.sum(lane, (&own.low(SLICE), &first, &begins), &step);
        let last = lane.reg(self.name("last_of"), last);
        let words = self.results(lane, &sum, &last, at);
        (words, self.wrapped(lane, &sum, &last))
    }

    /// The place of the slice that is read in this clock. Where there are fewer places than clocks, it stays at the last one, which no
    /// slice has.
    fn steps(&self, lane: &mut Module) -> Value {
        let bits = bits_for(self.plan.depth() - 1);
        let slots = lane.signal(SLOTS);
        let ii = slots.width();
        let before = slots.bit((self.plan.slices.offset(self.k as u32) + ii - 1) % ii);
        let name = self.name("step");
        let own = net(&name, bits);
        let more = match self.plan.depth() < self.plan.clocks() {
            true => &own + (!own.all()).zext(bits),
            false => &own + Value::constant(bits, 1),
        };
        lane.reg(name, before.mux(&Value::zeros(bits), &more))
    }

    /// Adds a slice to its place; gives the sum a clock later.
    fn sum(&self, lane: &mut Module, (slice, first, begins): (&Value, &Value, &Value), step: &Value) -> Value {
        let name = self.name("sum");
        let sum = net(&name, SLICE);
        let depth = self.plan.depth();
        let step_1 = lane.reg(self.name("step_1"), step.clone());
        let step_2 = lane.reg(self.name("step_2"), step_1);
        let write = [Value::flag(true), step_2, sum];
        lane.hold(name.clone(), SLICE);
        let old = self.plan.place(lane, &self.name("total"), depth, write, step.clone());
        let old = (!first).repeat(SLICE) & old;
        let carry = self.name("carry");
        let into = &net(&carry, 1) & !begins;
        lane.hold(carry.clone(), 1);
        let wide = |v: &Value| v.zext(SLICE + 1);
        let all = lane.wire(self.name("added"), wide(&old) + wide(slice) + wide(&into));
        lane.load(carry, all.msb());
        lane.load(name.clone(), all.low(SLICE));
        net(&name, SLICE)
    }

    /// Writes what the last pair leaves, without guard bits, and reads what is asked for.
    fn results(&self, lane: &mut Module, sum: &Value, last: &Value, at: &Value) -> Value {
        let words = |format: Format, k: u32| k / 2 < format.words();
        let low = self.plan.steps(self.k, |format, k| words(format, k) && k % 2 == 0);
        let high = self.plan.steps(self.k, |format, k| words(format, k) && k % 2 == 1);
        let (low, high) = (self.when(lane, "low_half", &low, 2), self.when(lane, "high_half", &high, 2));
        // Bits above an output's own are 0.
        let each = self.plan.slices.each;
        let outputs = &self.plan.adders[self.k];
        let full = (1u32 << SLICE) - 1;
        let mut masks: Vec<u32> = outputs
            .iter()
            .flat_map(|o| (0..each).filter(|k| words(o.0, *k)).map(|k| own_bits(o.0.width(), k)))
            .collect();
        masks.sort_unstable();
        masks.dedup();
        let data = match masks[..] {
            [mask] if mask == full => sum.clone(),
            _ => {
                let mut kept = Value::zeros(SLICE);
                for mask in masks.into_iter().filter(|m| *m != 0) {
                    let slots = self.plan.steps(self.k, |f, k| words(f, k) && own_bits(f.width(), k) == mask);
                    let when = self.when(lane, &format!("keeps_{mask:x}"), &slots, 2);
                    kept = kept | (when.repeat(SLICE) & Value::constant(SLICE, mask as i128));
                }
                let kept = lane.wire(self.name("own_bits"), kept);
                sum & &kept
            }
        };
        let depth = self.plan.words();
        let bits = bits_for(depth - 1);
        let name = self.name("word_at");
        let own = net(&name, bits);
        let more = &own + high.zext(bits);
        let begins = self.when(lane, "first_slice", &[outputs[0].1], 1);
        let word_at = lane.reg(name, begins.mux(&Value::zeros(bits), &more));
        let at = at.low(bits);
        let mut half = |what: &str, when: &Value| {
            let we = lane.wire(self.name(&format!("writes_{what}")), last & when);
            self.plan.place(lane, &self.name(what), depth, [we, word_at.clone(), data.clone()], at.clone())
        };
        let (low, high) = (half("low", &low), half("high", &high));
        cat([high, low])
    }

    /// Whether a total of the group that is done has left its format: its upper bits differ.
    fn wrapped(&self, lane: &mut Module, sum: &Value, last: &Value) -> Value {
        let each = self.plan.slices.each;
        let outputs = &self.plan.adders[self.k];
        let mut masks: Vec<u32> = outputs.iter().flat_map(|o| (0..each).map(|k| guard_bits(o.0, k))).collect();
        masks.sort_unstable();
        masks.dedup();
        let (mut some, mut not_all) = (Value::flag(false), Value::flag(false));
        for mask in masks.into_iter().filter(|m| *m != 0) {
            let slots = self.plan.steps(self.k, |f, k| guard_bits(f, k) == mask);
            let when = self.when(lane, &format!("guards_{mask:x}"), &slots, 2);
            let guards = sum.top(mask.count_ones());
            some = some | (&when & guards.any());
            not_all = not_all | (&when & !guards.all());
        }
        let begins = self.plan.steps(self.k, |_, k| k == 0);
        let begins = self.when(lane, "begins_sum", &begins, 2);
        let mut gathered = |what: &str, now: Value| {
            let name = self.name(what);
            let own = lane.hold(name.clone(), 1);
            let all = lane.wire(self.name(&format!("all_{what}")), (&own & !&begins) | now);
            lane.load(name, all.clone());
            all
        };
        let (some, not_all) = (gathered("some_high", some), gathered("some_low", not_all));
        let signed = self.plan.steps(self.k, |f, k| k == each - 1 && f.is_signed());
        let unsigned = self.plan.steps(self.k, |f, k| k == each - 1 && !f.is_signed());
        let (signed, unsigned) = (self.when(lane, "ends", &signed, 2), self.when(lane, "ends_unsigned", &unsigned, 2));
        let wraps = last & ((signed & not_all | unsigned) & some);
        let name = self.name("some_wrapped");
        let own = net(&name, 1);
        let anew = last & self.when(lane, "begins_group", &[outputs[0].1], 2);
        let seen = lane.wire(self.name("wrapped"), wraps);
        lane.reg(name, (own & !anew) | seen)
    }
}

/// The port of the word that is asked for.
pub(in crate::engine) fn at_bits(config: &Config) -> Option<u32> {
    let slices = config.slices()?;
    let adders = if slices.adders > 1 { bits_for(slices.adders - 1) } else { 0 };
    Some(adders + bits_for(Plan::new(config, slices).words() - 1))
}

/// Words of each adder's results.
pub(in crate::engine) fn words_of_adders(config: &Config) -> Vec<u32> {
    let Some(slices) = config.slices() else { return Vec::new() };
    let plan = Plan::new(config, slices);
    plan.adders.iter().map(|outputs| outputs.iter().map(|o| o.0.words()).sum()).collect()
}
