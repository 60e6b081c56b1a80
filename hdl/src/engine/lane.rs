//! The lane: one or two banks of i registers, the pipeline, and an accumulator for each output.
//!
//! It has neither reset nor clock enable. What stands in it is replaced by `first`, and `valid` and `active` decide
//! whether a pair counts. Sums are kept from a group's last pair to the next group's, of which no two come in neighbouring
//! clocks.

use super::Config;
use super::shape::slice;
use crate::rtl::delay;
use crate::rtl::names::Names;
use crate::rtl::net;
use crate::rtl::netlist::{Dir, Item, Module, Netlist};
use crate::rtl::term::{self, TermPorts, TermShape};
use crate::{Format, Reduce};

/// Bits above an output's own in which a sum is exact for 2^32 sources.
const GUARD: u32 = 32;
/// What travels beside a pair does so in memory where the pipeline is longer than this.
const LONG: u32 = 7;
/// The longest addition in one clock; longer sums take two, the upper half one clock later.
const CHAIN: u32 = 64;

/// The lane of `config` around `pipeline`, and modules that it needs besides, the lane last.
pub(super) fn modules(config: &Config, pipeline: &Netlist) -> Vec<Module> {
    let mut modules = Vec::new();
    if config.pipeline_latency > LONG {
        modules.push(delay::module(3, config.pipeline_latency - 2, delay::Read::Registered));
    }
    modules.push(module(config, pipeline));
    modules
}

fn module(config: &Config, pipeline: &Netlist) -> Module {
    let layout = &config.layout;
    let delay = config.pipeline_latency;
    let split = layout.outputs.iter().any(|o| is_split(o.1, o.2));
    let mut lane = Module { name: format!("{}_lane", layout.kernel), ..Module::default() };
    lane.latency = delay + 1 + split as u32;
    lane.doc = vec![
        format!("A lane of {}: i registers, pipeline, accumulators.", layout.kernel),
        format!("`r_done` follows `c_last` by {} cycles.", lane.latency),
    ];
    ports(&mut lane, config);
    sideband(&mut lane, delay, split);
    pins(&mut lane, config, pipeline);
    sticky_flags(&mut lane, split);
    let mut data = Vec::new();
    let inner = pipeline.module(&pipeline.top).expect("a netlist has its top module");
    for (port, format, reduce) in &layout.outputs {
        match (reduce, inner.term(port)) {
            (Reduce::Sum, Some(term)) => sum_of_terms(&mut lane, port, *format, term.shape),
            (Reduce::Sum, None) => sum(&mut lane, port, *format),
            _ => extreme(&mut lane, port, *format, *reduce),
        }
        let late = split && *reduce != Reduce::Sum;
        let name = if late { format!("late_{port}") } else { format!("total_{port}") };
        if late {
            let (width, next) = (total_width(*format, *reduce), format!("total_{port}"));
            lane.items.push(Item::Reg { name: name.clone(), width, next });
        }
        data.push((name, *format, *reduce));
    }
    results(&mut lane, config, &data, if split { "last_2" } else { "last_1" });
    lane
}

fn is_split(format: Format, reduce: Reduce) -> bool {
    reduce == Reduce::Sum && format.width() + GUARD > CHAIN
}

fn total_width(format: Format, reduce: Reduce) -> u32 {
    format.width() + if reduce == Reduce::Sum { GUARD } else { 0 }
}

fn ports(lane: &mut Module, config: &Config) {
    let layout = &config.layout;
    lane.port(Dir::In, "clk", 1);
    lane.port(Dir::In, "i_we", 1);
    lane.port(Dir::In, "i_bank", 1);
    lane.port(Dir::In, "i_rec", 32 * layout.i_words());
    lane.port(Dir::In, "j_rec", 32 * layout.j_words());
    if layout.param_words() > 0 {
        lane.port(Dir::In, "param", 32 * layout.param_words());
    }
    for name in ["c_valid", "c_first", "c_last", "c_bank", "c_active"] {
        lane.port(Dir::In, name, 1);
    }
    lane.port(Dir::Out, "r_data", 32 * layout.result_words());
    lane.port(Dir::Out, "r_flags", 5);
    lane.port(Dir::Out, "r_done", 1);
}

fn reg(lane: &mut Module, name: impl Into<String>, width: u32, next: impl Into<String>) {
    lane.items.push(Item::Reg { name: name.into(), width, next: next.into() });
}

fn wire(lane: &mut Module, name: impl Into<String>, width: u32, expr: impl Into<String>) {
    lane.items.push(Item::Wire { name: name.into(), width, expr: expr.into() });
}

fn comment(lane: &mut Module, text: &str) {
    lane.items.push(Item::Comment(text.into()));
}

/// Delays what travels with a pair, `delay` cycles to the accumulators: `take`, `first` and, later, `last`.
fn sideband(lane: &mut Module, delay: u32, split: bool) {
    comment(lane, "What travels beside the pair.");
    wire(lane, "beside_0", 3, "{c_last, c_first, c_valid & c_active}");
    let mut from = "beside_0".to_string();
    // A register behind the memory gives it its clock before it clears the sums.
    let stored = if delay > LONG { delay - 2 } else { 0 };
    if stored > 0 {
        let connections = [("clk", "clk"), ("d", "beside_0"), ("q", "stored")];
        lane.items.push(Item::Net { name: "stored".into(), width: 3 });
        lane.items.push(Item::Instance {
            module: delay::name(3, stored, delay::Read::Registered),
            name: "beside".into(),
            connections: connections.map(|(port, net)| (port.to_string(), net.to_string())).to_vec(),
        });
        from = "stored".into();
    }
    for k in stored + 1..=delay {
        let name = format!("beside_{k}");
        if k == delay {
            wire(lane, "begins", 1, slice(&from, 1, 1));
            // Lanes without sums have nothing to clear.
            wire(lane, "unused_begins", 1, "&{1'b0, begins}");
        }
        reg(lane, &name, 3, from);
        from = name;
    }
    for (bit, name) in ["take", "first", "last"].iter().enumerate() {
        wire(lane, *name, 1, slice(&from, bit as u32, 1));
    }
    reg(lane, "last_1", 1, "last");
    if split {
        reg(lane, "last_2", 1, "last_1");
    }
}

/// The registers of one i element. A single bank feeds the pipeline itself: the shell loads it when the last pair of the
/// group before has been sent, and the pair is in the pipeline by then.
fn i_registers(lane: &mut Module, port: &str, width: u32, source: &str, banks: u32) {
    if banks == 1 {
        reg(lane, format!("now_{port}"), width, format!("i_we ? {source} : now_{port}"));
        return;
    }
    reg(lane, format!("bank0_{port}"), width, format!("(i_we & ~i_bank) ? {source} : bank0_{port}"));
    reg(lane, format!("bank1_{port}"), width, format!("(i_we & i_bank) ? {source} : bank1_{port}"));
    reg(lane, format!("now_{port}"), width, format!("c_bank ? bank1_{port} : bank0_{port}"));
}

/// The registers in front of the pipeline, and the pipeline. What comes from the j memory comes from registers already.
fn pins(lane: &mut Module, config: &Config, pipeline: &Netlist) {
    let layout = &config.layout;
    let inner = pipeline.module(&pipeline.top).expect("a netlist has its top module");
    let mut connections = Vec::new();
    let mut idle = Vec::new();
    comment(lane, "The target of this lane, and the pair that enters the pipeline.");
    for (record, elements) in [("i_rec", &layout.i), ("j_rec", &layout.j), ("param", &layout.params)] {
        let mut at = 0;
        for (port, format) in elements {
            let (width, words) = (format.width(), format.words());
            let source = slice(record, at, width);
            let known = inner.ports.iter().any(|p| p.name == *port);
            let name = match (known, record) {
                (false, _) => None,
                (_, "i_rec") => {
                    i_registers(lane, port, width, &source, config.i_banks);
                    Some(format!("now_{port}"))
                }
                _ => Some(source.clone()),
            };
            match name {
                Some(name) => connections.push((port.clone(), name)),
                None => idle.push(source),
            }
            if width < 32 * words {
                idle.push(slice(record, at + width, 32 * words - width));
            }
            at += 32 * words;
        }
        if elements.is_empty() && record != "param" {
            idle.push(record.to_string());
        }
    }
    if !layout.i.iter().any(|(port, _)| inner.ports.iter().any(|p| p.name == *port)) {
        idle.extend(["i_we", "i_bank", "c_bank"].map(String::from));
    } else if config.i_banks == 1 {
        idle.extend(["i_bank", "c_bank"].map(String::from));
    }
    if inner.ports.iter().any(|p| p.name == "clk") {
        connections.push(("clk".into(), "clk".into()));
    }
    for (port, format, _) in &layout.outputs {
        let mut value = |name: String, port: &str, width: u32| {
            lane.items.push(Item::Net { name: name.clone(), width });
            connections.push((port.to_string(), name));
        };
        match inner.term(port) {
            None => value(format!("value_{port}"), port, format.width()),
            Some(TermPorts { shape, ports, .. }) => {
                let ends = term_nets(port).into_iter().zip(ports).zip(shape.widths());
                ends.for_each(|((name, port), width)| value(name, port, width));
            }
        }
    }
    lane.items.push(Item::Net { name: "flags".into(), width: 5 });
    connections.push(("flags".into(), "flags".into()));
    // The pipeline leaves the wrap flag to the accumulators.
    idle.push("flags[4]".into());
    wire(lane, "unused", 1, format!("&{{1'b0, {}}}", idle.join(", ")));
    lane.items.push(Item::Instance { module: inner.name.clone(), name: "pipeline".into(), connections });
}

/// The nets of a term. A name of the lane is a prefix and a port of the pipeline, and no prefix ends in the beginning of a
/// port, such as `o_`: so no two names are equal, however the pins are called.
fn term_nets(port: &str) -> [String; 3] {
    term::PORTS.map(|end| format!("value_{end}_{port}"))
}

/// The flags that any pair of the run raised.
fn sticky_flags(lane: &mut Module, split: bool) {
    comment(lane, "Flags stick until `first`.");
    reg(lane, "raised", 4, "(first ? 4'd0 : raised) | (take ? flags[3:0] : 4'd0)".to_string());
    if split {
        reg(lane, "late_raised", 4, "raised");
    }
}

/// `value` of an output extended by `more` bits.
fn extended(port: &str, format: Format, more: u32) -> String {
    let top =
        if format.width() == 1 { format!("value_{port}") } else { format!("value_{port}[{}]", format.width() - 1) };
    match format.is_signed() {
        true => format!("{{{{{more}{{{top}}}}}, value_{port}}}"),
        false => format!("{{{more}'d0, value_{port}}}"),
    }
}

/// A part of a sum: `bits` bits that fit one carry chain.
struct Part<'a> {
    /// What its names end with.
    port: &'a str,
    bits: u32,
    /// What is added to it in each clock.
    terms: &'a [String],
    /// High one clock before a group's first pair is added, and while its last one is.
    clear: &'a str,
    last: &'a str,
}

/// A register that adds up, and one that keeps the sum of a finished group: `name`. The first is cleared while the last pair
/// of the group before is added, so that nothing stands between it and the adder. Gives the carry's name.
fn part_of_sum(lane: &mut Module, name: &str, part: &Part) -> String {
    let Part { port, bits, terms, clear, last } = part;
    let (running, sum) = (format!("running_{name}_{port}"), format!("sum_{name}_{port}"));
    let wide: Vec<String> = [&running].into_iter().chain(*terms).map(|t| format!("{{1'b0, {t}}}")).collect();
    wire(lane, &sum, bits + 1, wide.join(" + "));
    let low = slice(&sum, 0, *bits);
    reg(lane, &running, *bits, format!("{clear} ? {bits}'d0 : {low}"));
    let kept = format!("{name}_{port}");
    reg(lane, &kept, *bits, format!("{last} ? {low} : {kept}"));
    format!("{sum}[{bits}]")
}

/// A sum of `width` bits, guard bits included, of terms of which `text` gives the bits `low` to `high - 1`, and of the bit
/// `carry`. Longer sums run in two parts, the upper one a clock behind with the carry of the lower one.
fn add_up(lane: &mut Module, port: &str, format: Format, text: &dyn Fn(u32, u32) -> String, carry: Option<String>) {
    let width = format.width() + GUARD;
    let up = |bits: u32, name: &str| format!("{{{}'d0, {name}}}", bits - 1);
    let low = if is_split(format, Reduce::Sum) { width / 2 - 8 } else { width };
    wire(lane, format!("term_{port}"), low, text(0, low));
    let terms: Vec<String> = [format!("term_{port}")].into_iter().chain(carry.map(|c| up(low, &c))).collect();
    if low == width {
        let part = Part { port, bits: width, terms: &terms, clear: "begins", last: "last" };
        let over = part_of_sum(lane, "total", &part);
        wire(lane, format!("unused_{port}"), 1, format!("&{{1'b0, {over}}}"));
        return;
    }
    let part = Part { port, bits: low, terms: &terms, clear: "begins", last: "last" };
    let over = part_of_sum(lane, "low", &part);
    reg(lane, format!("carry_{port}"), 1, over);
    // Above the output's own bits there are copies of the highest one.
    let (high, own) = (width - low, format.width() - low);
    reg(lane, format!("high_term_{port}"), own, text(low, format.width()));
    let sign = if format.is_signed() { format!("high_term_{port}[{}]", own - 1) } else { "1'b0".into() };
    let terms = [format!("{{{{{}{{{sign}}}}}, high_term_{port}}}", high - own), up(high, &format!("carry_{port}"))];
    let part = Part { port, bits: high, terms: &terms, clear: "first", last: "last_1" };
    let over = part_of_sum(lane, "high", &part);
    wire(lane, format!("unused_{port}"), 1, format!("&{{1'b0, {over}}}"));
    wire(lane, format!("total_{port}"), width, format!("{{high_{port}, low_{port}}}"));
}

/// An exact sum of the pipeline's output.
fn sum(lane: &mut Module, port: &str, format: Format) {
    comment(lane, &format!("{port}: exact sum with {GUARD} guard bits."));
    // The upper part of a split sum extends the value by itself.
    let (width, value) = match is_split(format, Reduce::Sum) {
        true => (format.width(), format!("value_{port}")),
        false => (format.width() + GUARD, extended(port, format, GUARD)),
    };
    wire(lane, format!("value_now_{port}"), width, format!("take ? {value} : {width}'d0"));
    add_up(lane, port, format, &|low, high| slice(&format!("value_now_{port}"), low, high - low), None);
}

/// A sum of terms that are still to be put together: rounding and negation are its carry.
fn sum_of_terms(lane: &mut Module, port: &str, format: Format, shape: TermShape) {
    comment(
        lane,
        &format!("{port}: exact sum with {GUARD} guard bits; the carry rounds and negates what is placed here."),
    );
    let [_, select, _] = shape.widths();
    let [window, value_select, value_round] = term_nets(port);
    wire(lane, format!("select_{port}"), select, format!("{value_select} & {{{select}{{take}}}}"));
    wire(lane, format!("round_{port}"), 2, format!("{value_round} & {{2{{take}}}}"));
    let names = [window, format!("select_{port}"), format!("round_{port}")];
    let [window, select, round] = [0, 1, 2].map(|k| net(&names[k], shape.widths()[k]));
    let text = |low, high| shape.bits([&window, &select, &round], low, high).to_string();
    add_up(lane, port, format, &text, Some(format!("{}[0]", names[2])));
}

/// A maximum or minimum; patterns are compared by keys that order as unsigned numbers.
fn extreme(lane: &mut Module, port: &str, format: Format, reduce: Reduce) {
    let width = format.width();
    comment(lane, &format!("{port}: {reduce}"));
    let key = |name: &str| match format {
        _ if !format.is_signed() => name.to_string(),
        _ if width == 1 => format!("~{name}"),
        Format::Float { .. } | Format::Log { .. } => {
            let (top, rest) = (format!("{name}[{}]", width - 1), slice(name, 0, width - 1));
            format!("{{~{top}, {rest} ^ {{{}{{{top}}}}}}}", width - 1)
        }
        _ => format!("{{~{name}[{}], {}}}", width - 1, slice(name, 0, width - 1)),
    };
    wire(lane, format!("key_{port}"), width, key(&format!("value_{port}")));
    wire(lane, format!("best_key_{port}"), width, key(&format!("total_{port}")));
    let better = match reduce {
        Reduce::Max => format!("best_key_{port} < key_{port}"),
        _ => format!("key_{port} < best_key_{port}"),
    };
    wire(lane, format!("better_{port}"), 1, format!("take & (first | ({better}))"));
    let identity = format!("{width}'h{:x}", reduce.identity(format));
    let kept = format!("first ? {identity} : total_{port}");
    reg(lane, format!("total_{port}"), width, format!("better_{port} ? value_{port} : ({kept})"));
}

/// The finished record and flags.
fn results(lane: &mut Module, config: &Config, data: &[(String, Format, Reduce)], done: &str) {
    let mut parts = Vec::new();
    let mut wraps = Vec::new();
    for (total, format, reduce) in data {
        let width = format.width();
        let padding = 32 * format.words() - width;
        // A one-bit register has no bit to select; totals of sums are wider.
        let value = if total_width(*format, *reduce) == 1 { total.clone() } else { slice(total, 0, width) };
        parts.push(if padding > 0 { format!("{padding}'d0, {value}") } else { value });
        if *reduce == Reduce::Sum {
            let guard = slice(total, width, GUARD);
            let sign = match format.is_signed() {
                true => format!("{{{GUARD}{{{total}[{}]}}}}", width - 1),
                false => format!("{GUARD}'d0"),
            };
            wraps.push(format!("({guard} != {sign})"));
        }
    }
    parts.reverse();
    if parts.is_empty() {
        parts.push("32'd0".into());
    }
    let wrap = if wraps.is_empty() { "1'b0".to_string() } else { wraps.join(" | ") };
    let raised = if config.layout.outputs.iter().any(|o| is_split(o.1, o.2)) { "late_raised" } else { "raised" };
    comment(lane, "The result, good while `r_done` is high.");
    wire(lane, "wrap", 1, wrap);
    lane.items.push(Item::Assign { name: "r_data".into(), expr: format!("{{{}}}", parts.join(", ")) });
    lane.items.push(Item::Assign { name: "r_flags".into(), expr: format!("{{wrap, {raised}}}") });
    lane.items.push(Item::Assign { name: "r_done".into(), expr: done.into() });
}

/// A pipeline with its terms put together, so that each output has its plain port: what tests and tools compare.
pub(super) fn plain(layout: &super::Layout, pipeline: &Netlist) -> Netlist {
    let inner = pipeline.module(&pipeline.top).expect("a netlist has its top module");
    if inner.terms.is_empty() {
        return pipeline.clone();
    }
    let mut m = Module { name: format!("{}_plain", inner.name), latency: inner.latency, ..Module::default() };
    m.ports = inner.ports.iter().filter(|p| p.dir == Dir::In).cloned().collect();
    let mut connections: Vec<(String, String)> = m.ports.iter().map(|p| (p.name.clone(), p.name.clone())).collect();
    let mut names = Names::default();
    let taken = m.ports.iter().map(|p| &p.name).chain(layout.outputs.iter().map(|o| &o.0));
    taken.for_each(|name| names.reserve(name));
    names.reserve("flags");
    names.reserve("pipeline");
    for (port, format, _) in &layout.outputs {
        m.port(Dir::Out, port, format.width());
        let Some(TermPorts { shape, ports, .. }) = inner.term(port) else {
            connections.push((port.clone(), port.clone()));
            continue;
        };
        let names = ports.each_ref().map(|p| names.unique(p));
        for ((name, port), width) in names.iter().zip(ports).zip(shape.widths()) {
            m.items.push(Item::Net { name: name.clone(), width });
            connections.push((port.clone(), name.clone()));
        }
        let [window, select, round] = [0, 1, 2].map(|k| net(&names[k], shape.widths()[k]));
        let expr = shape.value([&window, &select, &round], format.width()).to_string();
        m.items.push(Item::Assign { name: port.clone(), expr });
    }
    m.port(Dir::Out, "flags", 5);
    connections.push(("flags".into(), "flags".into()));
    m.items.push(Item::Instance { module: inner.name.clone(), name: "pipeline".into(), connections });
    let mut netlist = Netlist { top: m.name.clone(), modules: pipeline.modules.clone() };
    netlist.add(m);
    netlist
}
