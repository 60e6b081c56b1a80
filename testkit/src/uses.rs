//! Uses of operators for tests, made up by asking each operator what it takes: formats, attributes, roundings, known signs and
//! bounds; and valid arguments for them.

pub mod rows;

pub use rows::{exhaustive, rows};

use crate::Random;
use hdl::number::exact::parse_decimal;
use hdl::number::real::{Call, Expr, Node};
use hdl::op::table::func::Function;
use hdl::op::table::lookup::Lookup;
use hdl::op::{Attrs, Inst, Operator};
use hdl::{Bounds, Format, Rounding};
use std::collections::HashSet;
use std::sync::Arc;

/// Every width at which words, halves and signs meet; points at both ends; floats of few and many bits on either side of the
/// point; logs from the smallest to the largest.
const FORMATS: &str = "int1 uint1 int2 uint2 int8 uint8 int31 uint31 int32 uint32 int33 uint33 int63 uint63 int64 uint64 \
    fixed1.0 fixed1.1 fixed2.1 fixed8.0 fixed8.3 fixed8.8 fixed31.30 fixed32.32 fixed33.16 fixed63.1 fixed64.0 fixed64.30 \
    fixed64.64 ufixed1.1 ufixed2.2 ufixed8.0 ufixed8.5 ufixed31.16 ufixed32.0 ufixed33.33 ufixed63.31 ufixed64.64 \
    float4.1 float5.1 float6.3 float8.3 float12.6 float13.1 float18.9 float22.15 float25.16 float32.23 float33.24 \
    float35.23 float40.30 float64.52 log5.1 log6.2 log9.4 log14.2 log17.8 log20.10 log24.12";

/// Second arguments of another format than the first.
const SECOND: &str = "int1 uint1 int2 uint3 int8 uint8 int33 uint64 int64";

/// The formats that operators with tables are tried on: fitting a table for a wide one takes seconds.
const NARROW: &str = "fixed8.8 fixed8.3 ufixed8.5 fixed12.6 fixed1.1 float4.1 float5.1 float6.3 float8.3 float12.6 float13.1 \
    float18.9 log5.1 log9.4";

/// The most plain uses of one operator.
const MOST: usize = 240;

/// Rows on which two uses must differ to be two.
const PROBES: usize = 40;

fn formats(names: &str) -> Vec<Format> {
    names.split_whitespace().map(|n| n.parse().expect("a format")).collect()
}

/// All uses of an operator that are made up here, plain ones first; none means that it takes nothing that is known here.
pub fn uses(op: &dyn Operator) -> Vec<Inst> {
    let mut random = Random::new(1);
    let mut plain = plain_uses(op);
    // What is left has every kind of argument list, since these stand side by side.
    while plain.len() > MOST {
        let mut k = 0;
        plain.retain(|_| {
            k += 1;
            k % 3 != 0
        });
    }
    let known = |(k, inst): (usize, &Inst)| [narrowed(inst, &mut random), one_known(inst, k, &mut random)];
    let known: Vec<Inst> = plain.iter().enumerate().flat_map(known).collect();
    let twice: Vec<Inst> = plain.iter().filter_map(of_one_value).collect();
    plain.extend(known);
    plain.extend(twice);
    plain
}

/// Uses of an operator with tables on other formats than [`uses`] tries: one for each that it takes.
pub fn uses_on(op: &dyn Operator, names: &str) -> Vec<Inst> {
    let root = Attrs { n: 1, d: 2, ..Attrs::default() };
    let steep = Attrs { function: Some(half_circle()), ..Attrs::default() };
    let attrs = [Attrs::default(), root, steep];
    let one = |f: Format| attrs.iter().find_map(|a| Inst::new(op, &[f], a.clone()).ok());
    if has_table(op) { formats(names).into_iter().filter_map(one).collect() } else { Vec::new() }
}

/// The same use of one value alone, where all its values are tried: what an operator states must be exact there.
fn of_one_value(inst: &Inst) -> Option<Inst> {
    let alike = inst.args.len() > 1 && inst.args.iter().all(|f| *f == inst.args[0]);
    (alike && exhaustive(inst)).then(|| Inst { same: true, ..inst.clone() })
}

/// Uses of which no more is known than the formats say. Attributes that change nothing make no new use.
pub fn plain_uses(op: &dyn Operator) -> Vec<Inst> {
    let all = formats(if has_table(op) { NARROW } else { FORMATS });
    let mut list = Vec::new();
    for f in &all {
        for args in argument_lists(*f) {
            let mut seen = HashSet::new();
            let mut probes = Vec::new();
            for attrs in attributes(*f, &all) {
                for round in [Rounding::Nearest, Rounding::Truncate] {
                    let Ok(inst) = Inst::new(op, &args, Attrs { round, ..attrs.clone() }) else { continue };
                    if probes.is_empty() {
                        let rows = rows(&inst, PROBES, &mut Random::new(3));
                        probes = rows.iter().step_by((rows.len() / PROBES).max(1)).cloned().collect();
                    }
                    let behaviour: Vec<(u64, u8)> =
                        probes.iter().map(|r| op.bits(&inst, r)).map(|(b, f)| (b, f.0)).collect();
                    if inst.attrs.round == round && seen.insert((inst.result, behaviour)) {
                        list.push(inst);
                    }
                }
            }
        }
    }
    list
}

/// Whether any use of small formats has a table.
fn has_table(op: &dyn Operator) -> bool {
    let small = formats("fixed8.3 float6.3 log6.2");
    small.iter().any(|f| {
        let uses = attributes(*f, &small).into_iter().filter_map(|attrs| Inst::new(op, &[*f], attrs).ok());
        uses.into_iter().any(|inst| op.table(&inst).is_some())
    })
}

fn argument_lists(f: Format) -> Vec<Vec<Format>> {
    let uint1 = hdl::number::format::UINT1;
    let mut lists = vec![vec![f], vec![f; 2], vec![f; 3], vec![f; 4], vec![uint1, f, f]];
    lists.extend(formats(SECOND).into_iter().map(|second| vec![f, second]));
    let mut seen = HashSet::new();
    lists.retain(|l| seen.insert(l.clone()));
    lists
}

/// Attributes to try on a format: none, numbers, formats to cast to, functions, tables.
fn attributes(f: Format, all: &[Format]) -> Vec<Attrs> {
    let width = f.width() as i32;
    let mut list = vec![Attrs::default()];
    for n in [0, 1, 2, 3, -1, -2, -3, 5, -16, 45, -70, width / 2, width - 1] {
        list.extend([0, 1, 2, -1].map(|d| Attrs { n, d, ..Attrs::default() }));
    }
    list.extend(all.iter().map(|to| Attrs { to: Some(*to), ..Attrs::default() }));
    list.extend(functions().map(|function| Attrs { function: Some(function), ..Attrs::default() }));
    list.extend(tables().map(|table| Attrs { lookup: Some(Arc::new(table)), ..Attrs::default() }));
    list
}

/// Vectors and matrices whose lengths are powers of two and others, one of a single entry.
fn tables() -> [Lookup; 6] {
    let shapes = [("int8", 5, None), ("ufixed33.33", 8, None), ("uint1", 1, None), ("int31", 300, None)];
    let matrices = [("float12.6", 3, Some(4)), ("log9.4", 4, Some(3))];
    let [a, b, c, d] = shapes;
    let [e, f] = matrices;
    [a, b, c, d, e, f].map(|(format, rows, columns)| {
        let format: Format = format.parse().expect("a format");
        let mut random = Random::new(rows as u64);
        let least = if format.is_log() { 1 << (format.width() - 2) } else { 1 << format.mant() };
        let numbers = [0, format.max_bits(), format.min_bits(), least];
        let word = |k: u32| match format.is_sign_magnitude() {
            true => numbers[k as usize % numbers.len()],
            false => random.bits() & format.mask(),
        };
        let words = (0..rows * columns.unwrap_or(1)).map(word).collect();
        Lookup { format, rows, columns, words, reals: Vec::new(), loaded: None }
    })
}

/// 1/x, and x - x^3, which has a zero, both signs and a turn.
fn functions() -> [Arc<Function>; 2] {
    let number = |text| parse_decimal(text).expect("a number");
    let mut inverse = Expr::default();
    let (x, one) = (inverse.push(Node::X), inverse.push(Node::Number(number("1"))));
    inverse.push(Node::Div(one, x));
    let mut cubic = Expr::default();
    let x = cubic.push(Node::X);
    let square = cubic.push(Node::Mul(x, x));
    let cube = cubic.push(Node::Mul(square, x));
    cubic.push(Node::Sub(x, cube));
    [Function::new(inverse, number("1"), number("1.5")), Function::new(cubic, number("0.25"), number("1.25"))]
}

/// sqrt(1 - x^2), which is steep at both ends.
fn half_circle() -> Arc<Function> {
    let number = |text| parse_decimal(text).expect("a number");
    let mut e = Expr::default();
    let (x, one) = (e.push(Node::X), e.push(Node::Number(number("1"))));
    let square = e.push(Node::Mul(x, x));
    let rest = e.push(Node::Sub(one, square));
    e.push(Node::Call(Call::Sqrt, rest));
    Function::new(e, number("0") - number("1"), number("1"))
}

/// The same use with more known of its arguments.
fn narrowed(inst: &Inst, random: &mut Random) -> Inst {
    let mut new = inst.clone();
    let all: Vec<Bounds> = inst.args.iter().map(|f| some_bounds(*f, random)).collect();
    new.same = inst.args.len() > 1 && inst.args.iter().all(|f| *f == inst.args[0]) && random.once_in(4);
    new.bounds = if new.same { vec![all[0]; all.len()] } else { all };
    if random.once_in(4) {
        new.bounds.clear();
    }
    let signs = if random.once_in(2) { u64::MAX } else { random.bits() };
    for (k, f) in inst.args.iter().enumerate() {
        let k_sign = if new.same { signs & 1 } else { signs >> k & 1 };
        // A sign is known only where the bounds leave such a number.
        let possible = f.is_sign_magnitude() || new.bounds(k).high >= 0;
        new.nonneg |= ((k_sign == 1 && f.is_signed() && possible) as u32) << k;
    }
    new
}

/// The same use with an argument, mostly the last one, known to be an end of its format, 0 or 1: operators have short forms for
/// these. Of a single argument more is known in another way.
fn one_known(inst: &Inst, turn: usize, random: &mut Random) -> Inst {
    if inst.args.len() < 2 {
        return narrowed(inst, random);
    }
    let k = if turn % 4 == 3 { 0 } else { inst.args.len() - 1 };
    let f = inst.args[k];
    let value = [f.max_bits(), f.min_bits(), f.max_bits(), 0, f.max_bits(), 1][turn % 6];
    let value = rows::valid(f, value);
    let mut bounds: Vec<Bounds> = inst.args.iter().map(|f| Bounds::of(*f)).collect();
    bounds[k] = Bounds::exactly(f, value);
    let positive = f.is_signed() && value >> (f.width() - 1) == 0;
    Inst { bounds, nonneg: (positive as u32) << k, ..inst.clone() }
}

/// Bounds that a value may have: all, one value, between two values, or few next to a corner.
fn some_bounds(f: Format, random: &mut Random) -> Bounds {
    let corners = rows::corners(f);
    let corner = random.pick(&corners);
    let other = if random.once_in(2) { random.pick(&corners) } else { rows::valid(f, random.bits()) };
    let (one, two) = (Bounds::exactly(f, corner), Bounds::exactly(f, other));
    match random.below(6) {
        0 => Bounds::of(f),
        1 => one,
        2 => {
            let all = Bounds::of(f);
            let high = (one.low + random.below(9) as i128).min(all.high);
            if f.is_sign_magnitude() { Bounds { high, ..one } } else { Bounds::ints(one.low, high) }
        }
        _ if f.is_sign_magnitude() => Bounds { zero: random.once_in(2) || one.zero, ..one.or(two) },
        _ => Bounds::ints(one.low.min(two.low), one.high.max(two.high)),
    }
}

/// A use in words: operator, source, formats, attributes, and what is known.
pub fn describe(op: &dyn Operator, inst: &Inst) -> String {
    let args: Vec<String> = inst.args.iter().map(|f| f.to_string()).collect();
    let mut text = format!("`{}` ({}): {} -> {}", op.name(), hdl::op::source(op), args.join(", "), inst.result);
    let Attrs { n, d, round, function, .. } = inst.attrs.clone();
    if (n, d) != (0, 0) {
        text += &format!(", n = {n}, d = {d}");
    }
    if round == Rounding::Truncate {
        text += ", toward zero";
    }
    if let Some(table) = &inst.attrs.lookup {
        text += &format!(", {}", table.text());
    }
    if let Some(function) = function {
        text += &format!(", {}", function.text);
    }
    for k in 0..inst.args.len() {
        let name = (b'a' + k as u8) as char;
        if inst.is_nonneg(k) {
            text += &format!(", {name} >= 0");
        }
        if let Some(Bounds { low, high, zero }) = inst.bounds.get(k) {
            text += &format!(", {name} in {low:#x}..={high:#x}{}", if *zero { " or 0" } else { "" });
        }
    }
    text + if inst.same { ", all the same" } else { "" }
}

/// Values with the numbers that they stand for.
pub fn shown(formats: &[Format], patterns: &[u64]) -> String {
    let one = |(f, b): (&Format, &u64)| format!("{b:#x} ({:e})", f.to_f64(*b));
    formats.iter().zip(patterns).map(one).collect::<Vec<_>>().join(", ")
}
