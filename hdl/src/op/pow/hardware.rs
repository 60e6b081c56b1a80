//! The circuit of a power: the steps of [`Prepared`] as memories, multipliers and adders.

use super::{Method, Prepared, method, square};
use crate::Flags;
use crate::circuit::{Circuit, Sig};
use crate::op::fmul::Fmul;
use crate::op::{Inst, Operator};
use crate::target::Cost;

/// The widest word of one memory.
const ROM_WIDTH: u32 = 64;

pub fn circuit(inst: &Inst, flags: Flags, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
    let width = inst.result.width();
    match method(inst) {
        Method::Same => (x, None),
        Method::Square => Fmul.circuit(&square(inst), c, &[x, x]),
        // The argument is masked away, so that the port is not left unread.
        Method::One(one) => (c.wire("one", width, format!("({{0}} & {width}'d0) | {width}'d{one}"), &[x]), None),
        Method::Table(p) => table(p, inst, flags, c, x),
    }
}

fn table(p: &Prepared, inst: &Inst, flags: Flags, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
    let (live, sign, invalid) = signs(p, inst, c, x);
    let (columns, octave) = memories(p, c, x);
    let (carry, fraction) = if p.degree == 0 { direct(p, c, x, columns[0]) } else { polynomial(p, c, x, &columns) };
    let exponent = exponent(p, c, x, octave);
    let range = Range::of(p);
    let (most, least) = ((1 << p.format.exp()) - 2, 1);
    let over = flags.contains(Flags::OVERFLOW).then(|| {
        let test = |limit: i32| format!("$signed({{0}}) > {}", range.signed(limit));
        beyond(c, "over", [test(most), test(most - 1)], exponent, carry, live)
    });
    let under = flags.contains(Flags::UNDERFLOW).then(|| {
        let test = |limit: i32| format!("$signed({{0}}) < {}", range.signed(limit));
        beyond(c, "under", [test(least), test(least - 1)], exponent, carry, live)
    });
    let keep = match under {
        Some(under) => c.comb("keep", 1, Cost::Logic(2), "{0} & ~{1}", &[live, under]),
        None => live,
    };
    let magnitude = join(p, c, exponent, carry, fraction);
    let q = select(p, c, magnitude, keep, over, sign);
    let raised: Vec<Sig> = [over, under, invalid].into_iter().flatten().collect();
    let f = match raised.len() {
        0 => None,
        1 => Some(raised[0]),
        // The last argument of a concatenation is its bit 0.
        n => {
            let list: Vec<String> = (0..n).rev().map(|k| format!("{{{k}}}")).collect();
            Some(c.wire("flags", n as u32, format!("{{{}}}", list.join(", ")), &raised))
        }
    };
    (q, f)
}

/// Whether the argument has a power at all, the result's sign if it can be set, and `invalid` if it can be raised.
fn signs(p: &Prepared, inst: &Inst, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>, Option<Sig>) {
    let (top, e) = (p.format.width() - 1, p.format.exp());
    let live = c.comb("nonzero", 1, Cost::Logic(e), format!("|{{0}}[{}:{}]", top - 1, p.mant), &[x]);
    let negative = c.wire("negative", 1, format!("{{0}}[{top}]"), &[x]);
    if inst.is_nonneg(0) || (p.d == 1 && p.n % 2 == 0) {
        (live, None, None)
    } else if p.d == 1 {
        (live, Some(negative), None)
    } else {
        let invalid = c.comb("invalid", 1, Cost::Logic(2), "{0} & {1}", &[live, negative]);
        let live = c.comb("live", 1, Cost::Logic(2), "{0} & ~{1}", &[live, negative]);
        (live, None, Some(invalid))
    }
}

/// The tables read at the argument's index: columns 0 to degree as stored (see [`Tables::column_bits`]), and the
/// exponents less their minimum if they differ. Columns share words as far as these reach, the ones that are needed
/// first in one word.
///
/// [`Tables::column_bits`]: super::Tables::column_bits
fn memories(p: &Prepared, c: &mut Circuit, x: Sig) -> (Vec<Sig>, Option<Sig>) {
    let index_text = format!("{{0}}[{}:{}]", p.low_bits + p.index_bits - 1, p.low_bits);
    let index = c.wire("index", p.index_bits, index_text, &[x]);
    let bits = p.tables.column_bits(p.mant);
    let least = *p.octaves.iter().min().expect("a table has at least one piece");
    let one = 1u64 << (p.mant + p.guard);
    let mut fields: Vec<(String, u32, Vec<u64>)> = Vec::new();
    for i in (0..=p.degree).rev() {
        let stored = |v: &u32| match (i, p.degree) {
            (0, 0) => *v as u64 & (one - 1),
            (0, _) => *v as u64 - one,
            _ => *v as u64,
        };
        fields.push((format!("c{i}"), bits[i], p.columns[i].iter().map(stored).collect()));
    }
    if p.octave.is_none() {
        let column = p.octaves.iter().map(|o| (o - least) as u64).collect();
        fields.push(("octave".into(), p.tables.octave_bits(), column));
    }
    let mut signals = Vec::new();
    let mut rest = fields.as_slice();
    while !rest.is_empty() {
        let mut used = 0;
        let count = rest
            .iter()
            .take_while(|f| {
                used += f.1;
                used <= ROM_WIDTH
            })
            .count();
        signals.extend(memory(c, index, &rest[..count]));
        rest = &rest[count..];
    }
    let octave = p.octave.is_none().then(|| signals.pop().expect("the exponents are the last field"));
    signals.reverse();
    (signals, octave)
}

/// One memory of some fields, the first in the lowest bits, and a signal for each field.
fn memory(c: &mut Circuit, index: Sig, fields: &[(String, u32, Vec<u64>)]) -> Vec<Sig> {
    let width: u32 = fields.iter().map(|f| f.1).sum();
    let words = (0..fields[0].2.len()).map(|k| fields.iter().rev().fold(0, |word, f| word << f.1 | f.2[k])).collect();
    let rom = c.rom("row", width, index, words);
    if fields.len() == 1 {
        return vec![rom];
    }
    let mut low = 0;
    let mut signals = Vec::new();
    for (name, bits, _) in fields {
        signals.push(c.wire(name, *bits, format!("{{0}}[{}:{low}]", low + bits - 1), &[rom]));
        low += bits;
    }
    signals
}

/// The carry and fraction from a table of all fractions.
fn direct(p: &Prepared, c: &mut Circuit, x: Sig, fraction: Sig) -> (Option<Sig>, Sig) {
    let carries: Vec<usize> = (0..p.columns[0].len()).filter(|k| p.columns[0][*k] >> (p.mant + 1) == 1).collect();
    assert!(carries.len() <= 1, "only the power of a power of two may carry");
    let carry = carries.first().map(|index| {
        let text = format!("{{0}}[{}:0] == {}'d{index}", p.index_bits - 1, p.index_bits);
        c.comb("carry", 1, Cost::Compare(p.index_bits), text, &[x])
    });
    (carry, fraction)
}

/// `{pad'd0, {k}}`: argument `k` of `from` bits, zero-extended to `to` bits.
fn extended(k: usize, from: u32, to: u32) -> String {
    if from == to { format!("{{{k}}}") } else { format!("{{{}'d0, {{{k}}}}}", to - from) }
}

/// Horner's rule, then the carry and fraction of the sum.
fn polynomial(p: &Prepared, c: &mut Circuit, x: Sig, columns: &[Sig]) -> (Option<Sig>, Sig) {
    let inverted = if p.flip { "~" } else { "" };
    let cost = if p.flip { Cost::Logic(1) } else { Cost::Wire };
    let u = c.comb("u", p.low_bits, cost, format!("{inverted}{{0}}[{}:0]", p.low_bits - 1), &[x]);
    let most_u = (1u64 << p.low_bits) - 1;
    // The greatest sum of each index so far.
    let mut most: Vec<u64> = p.columns[p.degree].iter().map(|v| *v as u64).collect();
    let mut sum = columns[p.degree];
    for i in (0..p.degree).rev() {
        for (m, coef) in most.iter_mut().zip(&p.columns[i]) {
            *m = *coef as u64 + if p.subtract[i] { 0 } else { (*m * most_u) >> p.shift[i] };
        }
        let width = if i == 0 {
            // The leading 1 of column 0 is left out, and two values from an octave above may still come.
            p.mant + p.guard + 1 + p.tables.wide as u32
        } else {
            let greatest = most.iter().max().expect("a table has at least one piece");
            64 - greatest.leading_zeros()
        };
        let product = c.mul("product", sum, u, false);
        let low = p.shift[i];
        assert!(low < c.width(product), "a product that is cut off whole needs no multiplier");
        let part = width.min(c.width(product) - low);
        let cut = c.wire("cut", part, format!("{{0}}[{}:{low}]", low + part - 1), &[product]);
        let sign = if p.subtract[i] { '-' } else { '+' };
        let text = format!("{} {sign} {}", extended(0, c.width(columns[i]), width), extended(1, part, width));
        sum = c.comb("sum", width, Cost::Add(width), text, &[columns[i], cut]);
    }
    normalise(p, c, sum)
}

/// The carry and the fraction of a sum without its leading 1, that is from 0 to 1, or to 3 if it is wide.
fn normalise(p: &Prepared, c: &mut Circuit, sum: Sig) -> (Option<Sig>, Sig) {
    let (m, guard) = (p.mant, p.guard);
    let sum = c.wire("rounded", c.width(sum) - guard, format!("{{0}}[{}:{guard}]", c.width(sum) - 1), &[sum]);
    let plain = format!("{{0}}[{}:0]", m - 1);
    if !p.tables.wide {
        // The sum carries only when it becomes the next power of two itself, whose fraction is 0.
        let carry = c.wire("carry", 1, format!("{{0}}[{m}]"), &[sum]);
        return (Some(carry), c.wire("fraction", m, plain, &[sum]));
    }
    let carry = c.comb("carry", 1, Cost::Logic(2), format!("|{{0}}[{}:{m}]", m + 1), &[sum]);
    let text = format!("{{1}} ? {{~{{0}}[{m}], {{0}}[{}:1]}} : {plain}", m - 1);
    (Some(carry), c.comb("fraction", m, Cost::Mux(2), text, &[sum, carry]))
}

/// The signed numbers that the exponent field can become before range is considered.
struct Range {
    bits: u32,
}

impl Range {
    fn of(p: &Prepared) -> Range {
        let e = p.format.exp();
        let ends = [quotient(p, 0), quotient(p, (1 << e) - 1)].map(|q| p.n * q + p.format.bias());
        let (low, high) = (ends[0].min(ends[1]) - 32, ends[0].max(ends[1]) + 32);
        let mut bits = e + 2;
        while low < -(1 << (bits - 1)) || high >= 1 << (bits - 1) {
            bits += 1;
        }
        // Multiples of the field are formed in this width.
        let shift = 32 - p.n.unsigned_abs().leading_zeros();
        Range { bits: bits.max(e + shift + 1) }
    }

    /// A signed literal of that width.
    fn signed(&self, value: i32) -> String {
        format!("{}'sd{value}", self.bits)
    }

    /// An unsigned literal of the same bits as the signed value.
    fn pattern(&self, value: i32) -> String {
        format!("{}'d{}", self.bits, value as i64 & ((1i64 << self.bits) - 1))
    }
}

/// The integer part of exponent / d for an exponent field.
fn quotient(p: &Prepared, field: i32) -> i32 {
    if p.d == 2 { ((field + 1) >> 1) - (p.format.bias() + 1) / 2 } else { field - p.format.bias() }
}

/// `n * q + octave + bias` as a signed number of [`Range::bits`].
fn exponent(p: &Prepared, c: &mut Circuit, x: Sig, octave: Option<Sig>) -> Sig {
    let (e, bias, range) = (p.format.exp(), p.format.bias(), Range::of(p));
    let field = c.wire("field", e, format!("{{0}}[{}:{}]", p.format.width() - 2, p.mant), &[x]);
    let scaled = if p.d == 2 {
        let text = format!("{{1'd0, {{0}}[{}:1]}} + {{{}'d0, {{0}}[0]}}", e - 1, e - 1);
        c.comb("halved", e, Cost::Add(e), text, &[field])
    } else {
        field
    };
    let least = p.octaves.iter().min().expect("a table has at least one piece");
    let zero = if p.d == 2 { (bias + 1) / 2 } else { bias };
    let mut constant = Some(bias - p.n * zero + least);
    let mut sum = None;
    for (shift, negative) in signed_digits(p.n) {
        let pad = range.bits - e - shift;
        let tail = if shift > 0 { format!(", {shift}'d0") } else { String::new() };
        let term = format!("{{{pad}'d0, {{0}}{tail}}}");
        let sign = if negative { '-' } else { '+' };
        let (text, args) = match sum {
            None => {
                let start = constant.take().expect("it is added once");
                (format!("{} {sign} {term}", range.pattern(start)), vec![scaled])
            }
            Some(sum) => (format!("{{1}} {sign} {term}"), vec![scaled, sum]),
        };
        sum = Some(c.comb("exponent", range.bits, Cost::Add(range.bits), text, &args));
    }
    let sum = sum.expect("n is not 0");
    match octave {
        Some(octave) => {
            let text = format!("{{0}} + {}", extended(1, c.width(octave), range.bits));
            c.comb("exponent", range.bits, Cost::Add(range.bits), text, &[sum, octave])
        }
        None => sum,
    }
}

/// `n` as a sum of signed powers of two, no two of them adjacent: (exponent, whether it is subtracted).
fn signed_digits(n: i32) -> Vec<(u32, bool)> {
    let (mut rest, mut shift, mut digits) = (n, 0, Vec::new());
    while rest != 0 {
        if rest & 1 == 1 {
            let digit = if rest & 3 == 3 { -1 } else { 1 };
            digits.push((shift, digit < 0));
            rest -= digit;
        }
        rest >>= 1;
        shift += 1;
    }
    digits
}

/// Whether a live result is beyond the range: both answers are ready before the carry that chooses.
fn beyond(c: &mut Circuit, name: &str, tests: [String; 2], exponent: Sig, carry: Option<Sig>, live: Sig) -> Sig {
    let cost = Cost::Compare(c.width(exponent));
    let [plain, carried] = tests;
    let plain = c.comb(&format!("{name}_plain"), 1, cost, plain, &[exponent]);
    match carry {
        Some(carry) => {
            let carried = c.comb(&format!("{name}_carried"), 1, cost, carried, &[exponent]);
            c.comb(name, 1, Cost::Logic(4), "{0} & ({1} ? {2} : {3})", &[live, carry, carried, plain])
        }
        None => c.comb(name, 1, Cost::Logic(2), "{0} & {1}", &[live, plain]),
    }
}

/// Exponent field and fraction, without care for the range.
fn join(p: &Prepared, c: &mut Circuit, exponent: Sig, carry: Option<Sig>, fraction: Sig) -> Sig {
    let e = p.format.exp();
    let low = c.wire("power", e, format!("{{0}}[{}:0]", e - 1), &[exponent]);
    let field = match carry {
        Some(carry) => {
            let text = format!("{{0}} + {{{}'d0, {{1}}}}", e - 1);
            c.comb("power", e, Cost::Add(e), text, &[low, carry])
        }
        None => low,
    };
    c.wire("magnitude", e + p.mant, "{{0}, {1}}", &[field, fraction])
}

/// The result: the magnitude and sign where kept, the greatest magnitude on overflow, else 0.
fn select(p: &Prepared, c: &mut Circuit, magnitude: Sig, keep: Sig, over: Option<Sig>, sign: Option<Sig>) -> Sig {
    let width = p.format.width();
    let kept = format!("({{0}} & {{{}{{{{1}}}}}})", width - 1);
    let most = format!("{}'d{}", width - 1, p.format.max_bits());
    let mut args = vec![magnitude, keep];
    let value = match over {
        Some(over) => {
            args.push(over);
            format!("({{2}} ? {most} : {kept})")
        }
        None => kept,
    };
    let top = match sign {
        Some(sign) => {
            args.push(sign);
            format!("{{1}} & {{{}}}", args.len() - 1)
        }
        None => "1'd0".into(),
    };
    c.comb("result", width, Cost::Logic(4), format!("{{{top}, {value}}}"), &args)
}
