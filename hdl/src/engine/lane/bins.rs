//! Sums in memory: an output of which each pair changes one element, named by an index.
//!
//! A sum is read, added to, and written back. A pair comes in each clock, and its sum is written three clocks later, so the sums of the
//! two pairs before are taken from where they are on their way. A bit for each element says whether any pair of this group has been
//! added to it: what is not touched counts as 0. So the first pair of a group clears all elements, whatever the memory holds. The
//! last pair hands these bits over, and the next group has the other half of the memory. A second copy of the memory serves the
//! collector, which reads the record word by word; no group ends before the record of the one before has been sent.

use super::{Beside, all_flags, sums_in_memory};
use crate::Format;
use crate::engine::shape::bits_for;
use crate::engine::shell::text_module;
use crate::engine::{Bins, Config};
use crate::rtl::memory::Ram;
use crate::rtl::netlist::{Dir, Item, Module};
use crate::rtl::{Value, cat, net, or_all};

/// Clocks from a group's last pair until its result can be read.
pub(super) const BEHIND: u32 = 5;

/// The modules that lanes with sums in memory need.
pub(super) fn modules(config: &Config) -> Vec<Module> {
    let mut modules: Vec<Module> = Vec::new();
    for bins in &config.layout.bins {
        let (name, depth) = (memory_name(config, bins), 2u32 << bins.address_bits());
        let ports = Ram::ports(bins.sum_bits, bits_for(depth - 1)).into();
        let made = text_module(name, "Sums of two groups of targets.", ports, Ram::new(bins.sum_bits, depth, true));
        if !modules.iter().any(|m| m.name == made.name) {
            modules.push(made);
        }
    }
    if !modules.is_empty() {
        modules.push(turn(config));
    }
    modules
}

fn memory_name(config: &Config, bins: &Bins) -> String {
    format!("{}_bins_{}x{}", config.layout.kernel, bins.sum_bits, 2u32 << bins.address_bits())
}

/// The bit that says which half of the memory a group has. Any start is as good as another, but there must be one.
fn turn(config: &Config) -> Module {
    let mut m = Module { name: format!("{}_bins_turn", config.layout.kernel), ..Module::default() };
    m.doc.push("The half of the memory that a group's sums stand in.".into());
    m.port(Dir::In, "clk", 1);
    m.port(Dir::In, "turn", 1);
    m.port(Dir::Out, "half", 1);
    let text =
        "    reg own;\n    initial own = 1'b0;\n    always @(posedge clk) own <= own ^ turn;\n    assign half = own;";
    m.items.push(Item::Text(text.into()));
    m
}

/// The bit of `bits` that an address names, by a tree of choices.
pub(super) fn bit_at(lane: &mut Module, what: &str, bits: &Value, address: &Value) -> Value {
    let mut level = bits.zext(1 << address.width());
    for k in (0..address.width()).rev() {
        let half = level.width() / 2;
        let chosen = address.bit(k).mux(&level.top(half), &level.low(half));
        level = lane.wire(format!("{what}_{k}"), chosen);
    }
    level
}

/// Sums in memory while they are built.
struct Memory<'a> {
    config: &'a Config,
    bins: &'a Bins,
}

/// Words that the collector reads of them.
pub(super) struct Read {
    /// Whether the word that was asked for a clock ago is of these sums, and that word.
    here: Value,
    word: Value,
    /// Whether a sum of the finished group has left its format.
    wrap: Option<Value>,
}

impl Memory<'_> {
    fn name(&self, what: &str) -> String {
        format!("{what}_{}", self.bins.at)
    }

    fn place(&self, lane: &mut Module, copy: &str, write: [Value; 3], raddr: Value, rdata: Value) {
        let [we, waddr, wdata] = write;
        let all = [
            ("clk", lane.signal("clk")),
            ("we", we),
            ("waddr", waddr),
            ("wdata", wdata),
            ("re", Value::flag(true)),
            ("raddr", raddr),
            ("rdata", rdata),
        ];
        lane.instance(memory_name(self.config, self.bins), self.name(copy), all);
    }

    /// Whether a total is beyond the format of the output.
    fn beyond(&self, total: &Value) -> Option<Value> {
        let (format, bits) = (self.bins.format, self.bins.sum_bits);
        if bits <= format.width() {
            return None;
        }
        let signed = format.is_signed();
        let top = total.top(bits - format.width() + signed as u32);
        Some(if signed { top.any() & !top.all() } else { top.any() })
    }

    /// The element of the output that a word is of, and whether it is its high word.
    fn asked(&self, lane: &mut Module, at: &Value, first_word: u32) -> (Value, Value, Value) {
        let (words, bits) = (self.bins.format.words(), self.bins.address_bits());
        let place_bits = bits + words - 1;
        let first = Value::constant(place_bits, (first_word & ((1 << place_bits) - 1)) as i128);
        let place = at.low(place_bits);
        let place = if first_word == 0 { place } else { place - first };
        let place = lane.wire(self.name("asked"), place);
        let number = |n: u32| Value::constant(at.width() + 1, n as i128);
        let (wide, end) = (at.zext(at.width() + 1), first_word + words * self.bins.count);
        let mut here = wide.lt(&number(end));
        if first_word > 0 {
            here = here & !wide.lt(&number(first_word));
        }
        let high = if words == 2 { place.bit(0) } else { Value::flag(false) };
        (place.top(bits), here, high)
    }

    /// Adds up what pairs bring, and reads what is asked for.
    fn build(&self, lane: &mut Module, beside: &Beside, at: &Value, first_word: u32) -> Read {
        let Bins { count, sum_bits, format, .. } = *self.bins;
        let bits = self.bins.address_bits();
        lane.comment(format!("{}: {count} sums of {sum_bits} bits in memory.", self.bins.at));
        let half = lane.net(self.name("half"), 1);
        let turn = [("clk", lane.signal("clk")), ("turn", beside.last.clone()), ("half", half.clone())];
        lane.instance(format!("{}_bins_turn", self.config.layout.kernel), self.name("turn"), turn);
        let place = net(format!("value_{}", self.bins.at), bits + 1);
        let value = net(format!("value_{}", self.bins.value), format.width());
        let hit = lane.wire(self.name("hit"), &beside.take & place.msb());
        let place = lane.wire(self.name("place"), place.low(bits));
        let (seen, shadow) = self.touched(lane, beside, (&hit, &place));
        // The pair on its way: read in the first clock, chosen in the second, added and written in the third.
        let mut reg = |what: &str, value: Value| lane.reg(self.name(what), value);
        let (hit_1, place_1, half_1) = (reg("hit_1", hit), reg("place_1", place.clone()), reg("half_1", half.clone()));
        let (seen_1, value_1) = (reg("seen_1", seen), reg("value_1", value));
        let (hit_2, place_2, half_2) = (reg("hit_2", hit_1), reg("place_2", place_1.clone()), reg("half_2", half_1));
        let value_2 = reg("value_2", value_1);
        // Of the two pairs before this one that have not been written when it is read.
        let second = reg("second_before", &hit_2 & place.is(&place_2));
        let before = reg("before", &seen_1 & &hit_2 & place_1.is(&place_2));
        let sum_3 = lane.hold(self.name("sum_3"), sum_bits);
        let word = lane.net(self.name("word"), sum_bits);
        let chosen = second.mux(&sum_3, &word) & seen_1.repeat(sum_bits);
        let old_2 = lane.reg(self.name("old_2"), chosen);
        let old = lane.wire(self.name("old"), before.mux(&sum_3, &old_2));
        let width = format.width();
        let term = if sum_bits > width { value_2.extend(sum_bits, format.is_signed()) } else { value_2.low(sum_bits) };
        if sum_bits < width {
            // Copies of the sign, or zeros.
            lane.wire(self.name("unused_value"), super::unused([value_2.top(width - sum_bits)]));
        }
        let sum = lane.wire(self.name("sum"), &old + term);
        lane.load(self.name("sum_3"), sum.clone());
        let write = [hit_2.clone(), cat([half_2, place_2]), sum];
        self.place(lane, "running", write.clone(), cat([half.clone(), place]), word);
        let wrap = self.wrap(lane, beside, (&old, &hit_2));
        let done_half = self.name("done_half");
        let own = net(&done_half, 1);
        let done_half = lane.reg(done_half, beside.last.mux(&half, &own));
        let (element, here, high) = self.asked(lane, at, first_word);
        let found = lane.net(self.name("found"), sum_bits);
        self.place(lane, "finished", write, cat([done_half, element.clone()]), found.clone());
        let touched = bit_at(lane, &self.name("counts"), &shadow, &element);
        let touched = lane.reg(self.name("counts"), touched);
        let (here, high) = (lane.reg(self.name("here"), here), lane.reg(self.name("high"), high));
        let word = self.word(lane, &(found & touched.repeat(sum_bits)), &high);
        Read { here, word, wrap }
    }

    /// The word of a sum: of two the low one first.
    fn word(&self, lane: &mut Module, sum: &Value, high: &Value) -> Value {
        let Bins { sum_bits, format, .. } = *self.bins;
        let width = format.width();
        let sum = lane.wire(self.name("result"), sum.clone());
        let own = if sum_bits < width { sum.extend(width, format.is_signed()) } else { sum.low(width) };
        if sum_bits > width {
            lane.wire(self.name("unused_result"), super::unused([sum.top(sum_bits - width)]));
        }
        match format.words() {
            1 => {
                lane.wire(self.name("unused_high"), super::unused([high.clone()]));
                own.zext(32)
            }
            _ => high.mux(&own.bits(32, width - 32).zext(32), &own.low(32)),
        }
    }

    /// The elements that this group has touched, as the pair finds them and as the finished group has left them.
    fn touched(&self, lane: &mut Module, beside: &Beside, (hit, place): (&Value, &Value)) -> (Value, Value) {
        let (count, bits) = (self.bins.count, place.width());
        let low_bits = bits / 2;
        let decoded = |part: Value| cat((0..1u32 << part.width()).rev().map(|k| part.is_number(k as i128)));
        let low = lane.wire(self.name("low_is"), decoded(place.low(low_bits)));
        let high = decoded(place.top(bits - low_bits));
        let high = lane.wire(self.name("high_is"), &high & hit.repeat(high.width()));
        let here = |k: u32| high.bit(k >> low_bits) & low.bit(k & ((1 << low_bits) - 1));
        let all = lane.hold(self.name("touched"), count);
        let here = lane.wire(self.name("touches"), cat((0..count).rev().map(here)));
        let kept = &all & (!&beside.first).repeat(count);
        lane.load(self.name("touched"), kept | here);
        let used = (count - 1) >> low_bits;
        if used + 1 < 1 << (bits - low_bits) {
            lane.wire(self.name("unused_is"), super::unused([high.top(high.width() - used - 1)]));
        }
        let seen = bit_at(lane, &self.name("sees"), &all, place);
        let seen = lane.wire(self.name("seen"), seen & !&beside.first);
        let name = self.name("finished_touched");
        let own = net(&name, count);
        (seen, lane.reg(name, beside.last_1.mux(&all, &own)))
    }

    /// Whether a sum of the finished group is beyond its format: the number of such sums is counted as they come and go.
    fn wrap(&self, lane: &mut Module, beside: &Beside, (old, hit): (&Value, &Value)) -> Option<Value> {
        let sum_3 = net(self.name("sum_3"), self.bins.sum_bits);
        let (before, after) = (self.beyond(old)?, self.beyond(&sum_3)?);
        let before = lane.reg(self.name("before_beyond"), before & hit);
        let hit_3 = lane.reg(self.name("hit_3"), hit.clone());
        let after = after & hit_3;
        let mut first = beside.first.clone();
        let mut last = beside.last_1.clone();
        for k in 1..=3 {
            first = lane.reg(self.name(&format!("first_{k}")), first);
            last = lane.reg(self.name(&format!("last_{}", k + 1)), last);
        }
        let bits = self.bins.address_bits() + 1;
        let number = lane.hold(self.name("beyond"), bits);
        let kept = first.mux(&Value::zeros(bits), &number);
        lane.load(self.name("beyond"), kept + after.zext(bits) - before.zext(bits));
        let name = self.name("some_beyond");
        let own = net(&name, 1);
        Some(lane.reg(name, last.mux(&number.any(), &own)))
    }
}

/// The rest of the record: the outputs that are no sums in memory, with their totals; and the flags that pairs raised.
pub(super) struct Others<'a> {
    /// The port of each, its total and its format, and whether the total is replaced by the next group's first pair.
    pub totals: &'a [(String, Value, Format, bool)],
    pub wraps: Vec<Value>,
    pub raised: &'a Value,
}

/// The sums in memory, and the record word by word.
pub(super) fn finish(lane: &mut Module, config: &Config, beside: &Beside, others: Others) {
    let at = lane.signal("r_at");
    let at = if config.spread() { lane.reg("asked", at) } else { at };
    let mut first_words = Vec::new();
    let mut words = 0;
    for output in &config.layout.outputs {
        first_words.push(words);
        words += output.1.words();
    }
    let mut reads = Vec::new();
    for bins in &config.layout.bins {
        let memory = Memory { config, bins };
        reads.push(memory.build(lane, beside, &at, first_words[bins.first as usize]));
    }
    lane.comment("The record, word by word; what the next group replaces is kept.");
    let mut ways = Vec::new();
    for (k, output) in config.layout.outputs.iter().enumerate().filter(|(k, _)| !sums_in_memory(config, *k as u32)) {
        let (port, total, format, passes) =
            others.totals.iter().find(|t| t.0 == output.0).expect("every other output has a total");
        let own = total.low(format.width());
        let kept = if *passes {
            let name = format!("record_{port}");
            let before = net(&name, format.width());
            lane.reg(name, beside.last_1.mux(&own, &before))
        } else {
            lane.wire(format!("record_{port}"), own)
        };
        let padded = kept.zext(32 * format.words());
        for w in 0..format.words() {
            let here = at.is_number((first_words[k] + w) as i128);
            ways.push(here.repeat(32) & padded.bits(32 * w, 32));
        }
    }
    let mut parts: Vec<Value> = reads.iter().map(|r| &r.word & r.here.repeat(32)).collect();
    if let Some(other) = or_all(ways) {
        parts.push(lane.reg("word_of_others", other));
    }
    let mut done = beside.last_1.clone();
    let mut kept_wrap = None;
    for k in 2..=BEHIND {
        done = lane.reg(format!("bins_last_{k}"), done);
        if k == 2 {
            // Sums in registers are complete here.
            let now = or_all(others.wraps.clone()).unwrap_or_else(|| Value::flag(false));
            kept_wrap = Some(lane.reg("record_wrap", done.mux(&now, &net("record_wrap", 1))));
        }
    }
    lane.wire("unused_done", super::unused([beside.done.clone()]));
    let before = net("record_flags", others.raised.width());
    let raised = lane.reg("record_flags", beside.last_1.mux(others.raised, &before));
    let wraps = reads.iter().filter_map(|r| r.wrap.clone()).chain(kept_wrap);
    let wrap = lane.wire("wrap", or_all(wraps).unwrap_or_else(|| Value::flag(false)));
    lane.assign("r_data", or_all(parts).unwrap_or_else(|| Value::zeros(32)));
    lane.assign("r_flags", all_flags(wrap, &raised));
    lane.assign("r_done", done);
}
