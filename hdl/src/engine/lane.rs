//! The lane: one or two banks of i registers, the pipeline, and an accumulator for each output.
//!
//! It has neither reset nor clock enable. Its content is replaced by `first`, and `valid` and `active` decide
//! whether a pair counts. Sums are kept from a group's last pair to the next group's, of which no two come in neighbouring
//! clocks.

mod bins;
mod enter;
mod filtered;
mod folded;
mod results;
mod select;
mod sliced;

pub(super) use sliced::{at_bits, words_of_adders};

use super::Config;
use super::shape::bits_for;
use crate::hash::{FastMap, FastSet};
use crate::rtl::chains::{CHAIN, Chains, GUARD};
use crate::rtl::delay;
use crate::rtl::fold::{SLOTS, START};
use crate::rtl::names::Names;
use crate::rtl::netlist::{Dir, Module, Netlist};
use crate::rtl::term::{self, TermPorts, TermShape};
use crate::rtl::{Name, Value, cat, net};
use crate::{Format, Reduce};
use enter::{enter, entered};
use results::{all_flags, finish, results, wrap_of};
use select::selections;

/// The longest pipeline whose sideband, the signals that travel beside a pair, is kept in registers; beyond it, in memory.
const LONG: u32 = 7;

/// The lane of `config` around `pipeline`, and modules that it needs besides, the lane last.
pub(super) fn modules(config: &Config, pipeline: &Netlist) -> Vec<Module> {
    let inner = pipeline.module(&pipeline.top).expect("a netlist has its top module");
    if let Some(fold) = &inner.fold {
        return folded::modules(config, pipeline, fold);
    }
    if let Some(condition) = &inner.filtered {
        return filtered::modules(config, pipeline, condition);
    }
    let mut modules = enter::modules(config, &ports_of(inner));
    if config.pipeline_latency > LONG {
        let stored = delay::module(3, config.pipeline_latency - 2, delay::Read::Registered);
        modules.push(Module { name: format!("{}_{}", config.layout.kernel, stored.name), ..stored });
    }
    modules.extend(bins::modules(config));
    modules.push(module(config, pipeline));
    modules
}

/// The names of a module's ports.
fn ports_of(module: &Module) -> FastSet<&str> {
    module.ports.iter().map(|p| p.name.as_str()).collect()
}

/// Whether an output of the record is a sum in memory.
fn sums_in_memory(config: &Config, output: u32) -> bool {
    config.layout.in_memory(output)
}

fn module(config: &Config, pipeline: &Netlist) -> Module {
    let layout = &config.layout;
    let delay = config.pipeline_latency;
    let in_memory = !layout.bins.is_empty();
    let registers: Vec<(usize, &(String, Format, Reduce))> =
        layout.outputs.iter().enumerate().filter(|(k, _)| !layout.in_memory(*k as u32)).collect();
    let inner = pipeline.module(&pipeline.top).expect("a netlist has its top module");
    let chains = &inner.chains;
    let split = registers.iter().any(|(_, o)| o.2 == Reduce::Sum && is_split(o.1, chains));
    let mut lane = Module { name: format!("{}_lane", layout.kernel), ..Module::default() };
    lane.latency = delay + if in_memory { bins::BEHIND } else { 1 + split as u32 } + config.spread() as u32;
    lane.doc = vec![
        format!("A lane of {}: i registers, pipeline, accumulators.", layout.kernel),
        format!("`r_done` follows `c_last` by {} cycles.", lane.latency),
    ];
    ports(&mut lane, config);
    enter(&mut lane, config, &ports_of(inner));
    let beside = sideband(&mut lane, &layout.kernel, delay, split);
    pins(&mut lane, config, pipeline);
    let raised = sticky_flags(&mut lane, &beside, split && !in_memory, inner.wraps);
    let mut totals = Vec::new();
    let terms = terms(inner);
    let selected = selections(&mut lane, layout, &beside);
    for (k, (port, format, reduce)) in &registers {
        let output = Output { port, format: *format, low: chains.low(*format) };
        let total = match (reduce, terms.get(port.as_str())) {
            (Reduce::Ranked(_), _) => selected[k].clone(),
            (Reduce::Sum, Some(term)) => sum_of_terms(&mut lane, &output, term.shape, &beside),
            (Reduce::Sum, None) => sum(&mut lane, &output, &beside),
            _ => extreme(&mut lane, &output, *reduce, &beside),
        };
        let late = split && *reduce != Reduce::Sum && !in_memory;
        let total = if late { lane.reg(format!("late_{port}"), total) } else { total };
        totals.push((total, *format, *reduce));
    }
    if in_memory {
        let named = registers.iter().zip(&totals);
        let named: Vec<(String, Value, Format, bool)> =
            named.map(|((_, o), t)| (o.0.clone(), t.0.clone(), o.1, o.2 != Reduce::Sum)).collect();
        let wraps = totals.iter().filter(|t| t.2 == Reduce::Sum).map(|t| wrap_of(&t.0, t.1)).collect();
        bins::finish(&mut lane, config, &beside, bins::Others { totals: &named, wraps, raised: &raised });
    } else {
        results(&mut lane, &totals, &raised, &beside.done);
    }
    lane
}

/// The outputs of a pipeline that leave it as terms, by their names.
fn terms(inner: &Module) -> FastMap<&str, &TermPorts> {
    inner.terms.iter().map(|t| (t.output.as_str(), t)).collect()
}

/// An output of the pipeline.
struct Output<'a> {
    port: &'a str,
    format: Format,
    /// Bits of the lower part of its sum with guard bits.
    low: u32,
}

/// The sideband signals that arrive at the accumulators with a pair.
struct Beside {
    /// Whether the pair counts, and whether it is a group's first or last one.
    take: Value,
    first: Value,
    last: Value,
    /// `first`, a clock earlier.
    begins: Value,
    /// `last`, a clock later, and when all sums of the group are there.
    last_1: Value,
    done: Value,
}

/// Whether a sum runs in two parts.
fn is_split(format: Format, chains: &Chains) -> bool {
    chains.low(format) < format.width() + GUARD
}

fn ports(lane: &mut Module, config: &Config) {
    let layout = &config.layout;
    lane.port(Dir::In, "clk", 1);
    lane.port(Dir::In, "i_we", 1);
    lane.port(Dir::In, "i_bank", 1);
    lane.port(Dir::In, "i_rec", 32 * layout.i_words());
    lane.port(Dir::In, "j_rec", 32 * layout.j_words());
    if layout.register_words() > 0 {
        lane.port(Dir::In, "param", 32 * layout.register_words());
    }
    for table in &layout.tables {
        lane.port(Dir::In, &table.port, table.port_bits());
    }
    for name in ["c_valid", "c_first", "c_last", "c_bank", "c_active"] {
        lane.port(Dir::In, name, 1);
    }
    if config.ii > 1 {
        lane.port(Dir::In, "c_start", 1);
    }
    let by_word = match config.layout.bins.is_empty() {
        true => at_bits(config),
        false => Some(bits_for(config.layout.result_words() - 1)),
    };
    match by_word {
        Some(bits) => {
            lane.port(Dir::In, "r_at", bits);
            lane.port(Dir::Out, "r_data", 32);
        }
        None => {
            lane.port(Dir::Out, "r_data", 32 * layout.result_words());
        }
    }
    lane.port(Dir::Out, "r_flags", 5);
    lane.port(Dir::Out, "r_done", 1);
}

/// The sideband of a pair: last, first and whether it counts, from the high bit on, behind `stored` cycles in memory.
fn beside(lane: &mut Module, kernel: &str, stored: u32) -> Value {
    lane.comment("What travels beside the pair.");
    let [last, first, valid, active] = ["c_last", "c_first", "c_valid", "c_active"].map(|name| entered(lane, name));
    let begin = lane.wire("beside_0", cat([last, first, valid & active]));
    if stored == 0 {
        return begin;
    }
    let q = lane.net("stored", 3);
    let connections = [("clk", lane.signal("clk")), ("d", begin), ("q", q.clone())];
    let memory = delay::name(3, stored, delay::Read::Registered);
    lane.instance(format!("{kernel}_{memory}"), "beside", connections);
    q
}

/// Delays what travels with a pair, `delay` cycles to the accumulators: `take`, `first` and, later, `last`.
fn sideband(lane: &mut Module, kernel: &str, delay: u32, split: bool) -> Beside {
    // A register behind the memory gives it its clock before it clears the sums.
    let stored = if delay > LONG { delay - 2 } else { 0 };
    let mut from = beside(lane, kernel, stored);
    for k in stored + 1..=delay {
        if k == delay {
            let begins = lane.wire("begins", from.bit(1));
            // Lanes without sums have nothing to clear.
            lane.wire("unused_begins", unused([begins]));
        }
        from = lane.reg(format!("beside_{k}"), from);
    }
    let [take, first, last] =
        [(0, "take"), (1, "first"), (2, "last")].map(|(bit, name)| lane.wire(name, from.bit(bit)));
    let last_1 = lane.reg("last_1", last.clone());
    let done = if split { lane.reg("last_2", last_1.clone()) } else { last_1.clone() };
    Beside { take, first, last, begins: lane.signal("begins"), last_1, done }
}

/// Reads what nothing else reads, so that linters do not ask about it.
fn unused(values: impl IntoIterator<Item = Value>) -> Value {
    cat([Value::flag(false)].into_iter().chain(values)).all()
}

/// The registers of one i element, and what the pipeline reads of them. A single bank feeds the pipeline itself: the shell loads
/// it when the last pair of the group before has been sent, and the pair is in the pipeline by then.
fn i_registers(lane: &mut Module, port: &str, source: &Value, banks: u32) -> Value {
    let [we, bank] = ["i_we", "i_bank"].map(|name| lane.signal(name));
    let mut kept = |name: String, when: Value| {
        let own = net(&name, source.width());
        lane.reg(name, when.mux(source, &own))
    };
    if banks == 1 {
        return kept(format!("now_{port}"), we);
    }
    let bank_0 = kept(format!("bank0_{port}"), &we & !&bank);
    let bank_1 = kept(format!("bank1_{port}"), &we & &bank);
    let chosen = entered(lane, "c_bank").mux(&bank_1, &bank_0);
    lane.reg(format!("now_{port}"), chosen)
}

/// The elements of a record that are known by their ports, each with its bits, and the bits that nothing reads.
fn of_record(
    lane: &Module,
    (record, elements): (&str, &[(String, Format)]),
    known: impl Fn(&str) -> bool,
) -> (Vec<(String, Value)>, Vec<Value>) {
    let (mut read, mut unread) = (Vec::new(), Vec::new());
    if elements.is_empty() {
        unread.extend((record != "param").then(|| lane.signal(record)));
        return (read, unread);
    }
    let bits = lane.signal(record);
    let mut at = 0;
    for (port, format) in elements {
        let (width, words) = (format.width(), format.words());
        let own = bits.bits(at, width);
        match known(port) {
            true => read.push((port.clone(), own)),
            false => unread.push(own),
        }
        if width < 32 * words {
            unread.push(bits.bits(at + width, 32 * words - width));
        }
        at += 32 * words;
    }
    (read, unread)
}

/// The registers in front of the pipeline, and the pipeline. Signals from the j memory come from registers already, either of
/// the lane's own or of its group.
fn pins(lane: &mut Module, config: &Config, pipeline: &Netlist) {
    let layout = &config.layout;
    let inner = pipeline.module(&pipeline.top).expect("a netlist has its top module");
    let ports = ports_of(inner);
    let known = |port: &String| ports.contains(port.as_str());
    let mut connections: Vec<(Name, Value)> = Vec::new();
    let mut idle = Vec::new();
    lane.comment("The target of this lane, and the pair that enters the pipeline.");
    for (record, elements) in [("i_rec", &layout.i), ("j_rec", &layout.j), ("param", &layout.params)] {
        let (read, unread) = of_record(lane, (record, elements), |port| ports.contains(port));
        idle.extend(unread);
        for (port, source) in read {
            let value = match record {
                "i_rec" => i_registers(lane, &port, &source, config.i_banks),
                _ if config.spread() => net(format!("entered_{port}"), source.width()),
                _ => source,
            };
            connections.push((port.into(), value));
        }
    }
    for table in &layout.tables {
        match known(&table.port) {
            true => connections.push(((&table.port).into(), entered(lane, &table.port))),
            false => idle.push(lane.signal(&table.port)),
        }
    }
    let without: &[&str] = match layout.i.iter().any(|(port, _)| known(port)) {
        false => &["i_we", "i_bank", "c_bank"],
        true if config.i_banks == 1 => &["i_bank", "c_bank"],
        true => &[],
    };
    idle.extend(without.iter().map(|name| lane.signal(name)));
    if inner.ports.iter().any(|p| p.name == "clk") {
        connections.push(("clk".into(), lane.signal("clk")));
    }
    if let Some(fold) = &inner.fold {
        connections.push((START.into(), entered(lane, "c_start")));
        connections.push((SLOTS.into(), lane.net(SLOTS, fold.ii)));
        for sum in &fold.sums {
            let width = inner.ports.iter().find(|p| p.name == sum.port).expect("a sum has a port").width;
            connections.push(((&sum.port).into(), lane.net(format!("value_{}", sum.port), width)));
        }
    }
    let shared = |port: &str| inner.fold.as_ref().is_some_and(|f| f.sum_of(port).is_some());
    let terms = terms(inner);
    for (port, format, _) in layout.pipeline_outputs().iter().filter(|o| !shared(&o.0)) {
        match terms.get(port.as_str()) {
            None => connections.push((port.into(), lane.net(format!("value_{port}"), format.width()))),
            Some(TermPorts { shape, ports, .. }) => {
                let ends = term_nets(port).into_iter().zip(ports).zip(shape.widths());
                connections.extend(ends.map(|((name, port), width)| (port.into(), lane.net(name, width))));
            }
        }
    }
    let flags = lane.net("flags", 5);
    connections.push(("flags".into(), flags.clone()));
    // What one pair adds to an output can leave its format; else the wrap flag is the accumulators' alone.
    idle.extend((!inner.wraps).then(|| flags.bit(4)));
    lane.wire("unused", unused(idle));
    lane.instance(&inner.name, "pipeline", connections);
}

/// The nets of a term. A name of the lane is a prefix and a port of the pipeline, and no prefix ends in the beginning of a
/// port, such as `o_`: so no two names are equal, however the pins are called.
fn term_nets(port: &str) -> [String; 3] {
    term::PORTS.map(|end| format!("value_{end}_{port}"))
}

/// The flags that any pair of the run raised, when the sums are there.
fn sticky_flags(lane: &mut Module, beside: &Beside, split: bool, wraps: bool) -> Value {
    lane.comment("Flags stick until `first`.");
    let bits = 4 + wraps as u32;
    let none = Value::zeros(bits);
    let own = net("raised", bits);
    let now = lane.signal("flags").low(bits);
    let raised = lane.reg("raised", beside.first.mux(&none, &own) | beside.take.mux(&now, &none));
    if split { lane.reg("late_raised", raised) } else { raised }
}

/// A part of a sum: bits that fit one carry chain.
struct SumPart<'a> {
    /// The affix of its names.
    name: &'a str,
    port: &'a str,
    /// The terms added to it in each clock, all of its width.
    terms: &'a [Value],
    /// High one clock before a group's first pair is added, and while its last one is.
    clear: &'a Value,
    last: &'a Value,
}

/// A register that adds up, and one that keeps the sum of a finished group. The first is cleared while the last pair of the group
/// before is added, so that nothing stands between it and the adder. Gives the kept sum, and the carry.
fn part_of_sum(lane: &mut Module, part: &SumPart) -> (Value, Value) {
    let SumPart { name, port, terms, clear, last } = part;
    let bits = terms[0].width();
    let running = lane.hold(format!("running_{name}_{port}"), bits);
    let wide = [&running].into_iter().chain(*terms).map(|t| t.zext(bits + 1));
    let sum = wide.reduce(|a, b| a + b).expect("there is a term");
    let sum = lane.wire(format!("sum_{name}_{port}"), sum);
    let low = sum.low(bits);
    lane.load(format!("running_{name}_{port}"), clear.mux(&Value::zeros(bits), &low));
    let kept = format!("{name}_{port}");
    let own = net(&kept, bits);
    (lane.reg(kept, last.mux(&low, &own)), sum.msb())
}

/// A sum, guard bits included, of terms of which `term` gives the bits `low` to `high - 1`, and of the bit `carry`. Longer sums
/// run in two parts, the upper one a clock behind with the carry of the lower one.
fn add_up(
    lane: &mut Module,
    output: &Output,
    beside: &Beside,
    term: &dyn Fn(u32, u32) -> Value,
    carry: Option<Value>,
) -> Value {
    let Output { port, format, low } = *output;
    let width = format.width() + GUARD;
    let first = lane.wire(format!("term_{port}"), term(0, low));
    let terms: Vec<Value> = [first].into_iter().chain(carry.map(|c| c.zext(low))).collect();
    let name = if low == width { "total" } else { "low" };
    let part = SumPart { name, port, terms: &terms, clear: &beside.begins, last: &beside.last };
    let (sum, over) = part_of_sum(lane, &part);
    if low == width {
        lane.wire(format!("unused_{port}"), unused([over]));
        return sum;
    }
    let carry = lane.reg(format!("carry_{port}"), over);
    // Above the output's own bits there are copies of the highest one.
    let high = width - low;
    let own = lane.reg(format!("high_term_{port}"), term(low, format.width()));
    let terms = [own.extend(high, format.is_signed()), carry.zext(high)];
    let part = SumPart { name: "high", port, terms: &terms, clear: &beside.first, last: &beside.last_1 };
    let (upper, over) = part_of_sum(lane, &part);
    lane.wire(format!("unused_{port}"), unused([over]));
    lane.wire(format!("total_{port}"), cat([upper, sum]))
}

/// An exact sum of the pipeline's output.
fn sum(lane: &mut Module, output: &Output, beside: &Beside) -> Value {
    let Output { port, format, low } = *output;
    lane.comment(format!("{port}: exact sum with {GUARD} guard bits."));
    // The upper part of a split sum extends the value by itself.
    let value = net(format!("value_{port}"), format.width());
    let value = match low < format.width() + GUARD {
        true => value,
        false => value.extend(format.width() + GUARD, format.is_signed()),
    };
    let now = beside.take.mux(&value, &Value::zeros(value.width()));
    let now = lane.wire(format!("value_now_{port}"), now);
    add_up(lane, output, beside, &|low, high| now.bits(low, high - low), None)
}

/// A sum of terms that are still to be put together: rounding and negation are its carry.
fn sum_of_terms(lane: &mut Module, output: &Output, shape: TermShape, beside: &Beside) -> Value {
    let port = output.port;
    lane.comment(format!(
        "{port}: exact sum with {GUARD} guard bits; the carry rounds and negates what is placed here."
    ));
    let (names, widths) = (term_nets(port), shape.widths());
    let [window, select, round] = [0, 1, 2].map(|k| net(&names[k], widths[k]));
    let mut taken = |name: String, value: Value| lane.wire(name, &value & beside.take.repeat(value.width()));
    let select = taken(format!("select_{port}"), select);
    let round = taken(format!("round_{port}"), round);
    let term = |low, high| shape.bits([&window, &select, &round], low, high);
    add_up(lane, output, beside, &term, Some(round.bit(0)))
}

/// Bits that order a format's patterns as unsigned numbers.
fn ordered(format: Format, value: &Value) -> Value {
    if !format.is_signed() {
        return value.clone();
    }
    let (top, rest) = (value.msb(), value.low(value.width() - 1));
    match format.is_sign_magnitude() {
        true => cat([!&top, &rest ^ top.repeat(rest.width())]),
        false => cat([!top, rest]),
    }
}

/// A maximum or minimum; patterns are compared by keys that order as unsigned numbers.
fn extreme(lane: &mut Module, output: &Output, reduce: Reduce, beside: &Beside) -> Value {
    let Output { port, format, .. } = *output;
    let width = format.width();
    lane.comment(format!("{port}: {reduce}"));
    let key = |value: &Value| ordered(format, value);
    let total = lane.hold(format!("total_{port}"), width);
    let value = net(format!("value_{port}"), width);
    let own = lane.wire(format!("key_{port}"), key(&value));
    let best = lane.wire(format!("best_key_{port}"), key(&total));
    let better = if reduce == Reduce::Max { best.lt(&own) } else { own.lt(&best) };
    let better = lane.wire(format!("better_{port}"), &beside.take & (&beside.first | better));
    let identity = Value::constant(width, reduce.identity(format) as i128);
    let kept = beside.first.mux(&identity, &total);
    lane.load(format!("total_{port}"), better.mux(&value, &kept));
    total
}

/// A pipeline with its terms put together, so that each output has its plain port: what tests and tools compare.
pub(super) fn plain(layout: &super::Layout, pipeline: &Netlist) -> Netlist {
    let inner = pipeline.module(&pipeline.top).expect("a netlist has its top module");
    if inner.terms.is_empty() {
        return pipeline.clone();
    }
    let mut m = Module { name: format!("{}_plain", inner.name), latency: inner.latency, ..Module::default() };
    m.ports = inner.ports.iter().filter(|p| p.dir == Dir::In).cloned().collect();
    let mut connections: Vec<(Name, Value)> = m.ports.iter().map(|p| (p.name.clone(), m.signal(&p.name))).collect();
    let mut names = Names::default();
    let outputs = super::Layout { bins: inner.bins.clone(), ..layout.clone() }.pipeline_outputs();
    let taken = m.ports.iter().map(|p| &*p.name).chain(outputs.iter().map(|o| o.0.as_str()));
    taken.for_each(|name| names.reserve(name));
    names.reserve("flags");
    names.reserve("pipeline");
    let mut values = Vec::new();
    for (port, format, _) in &outputs {
        m.port(Dir::Out, port, format.width());
        let Some(TermPorts { shape, ports, .. }) = inner.term(port) else {
            connections.push((port.into(), m.signal(port)));
            continue;
        };
        let mut end = |port: &String, width: u32| {
            let net = m.net(names.unique(port), width);
            connections.push((port.into(), net.clone()));
            net
        };
        let widths = shape.widths();
        let [window, select, round] = [0, 1, 2].map(|k| end(&ports[k], widths[k]));
        values.push((port, shape.value([&window, &select, &round], format.width())));
    }
    m.port(Dir::Out, "flags", 5);
    connections.push(("flags".into(), m.signal("flags")));
    m.instance(&inner.name, "pipeline", connections);
    values.into_iter().for_each(|(port, value)| m.assign(port, value));
    let mut netlist = Netlist { top: m.name.clone(), modules: pipeline.modules.clone() };
    netlist.add(m);
    netlist
}
