//! The circuit of a power: the steps of [`Prepared`] as memories, multipliers and adders.

use super::{Method, Prepared, method, square};
use crate::Flags;
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig};
use crate::op::float::fmul::Fmul;
use crate::op::pieces::float_parts::nonzero;
use crate::op::pieces::float_parts::text::{arg, constant_if};
use crate::op::{Inst, Operator};

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
    // A table alone, whose results stay in range, needs no mask: the power of 1 has the fraction of 0, and what is added
    // to the exponent is left out.
    let clean = p.degree == 0 && invalid.is_none() && !flags.intersects(Flags::OVERFLOW | Flags::UNDERFLOW);
    let keep = live.filter(|_| clean);
    let (columns, octave) = memories(p, c, x, keep);
    if clean {
        let early = early_carry(p, c, x);
        let exponent = exponent(p, c, x, octave, early, keep);
        let magnitude = join(p, c, exponent, None, columns[0]);
        let text = if sign.is_some() { "{{1}, {0}}" } else { "{1'd0, {0}}" };
        let args: Vec<Sig> = [magnitude].into_iter().chain(sign).collect();
        return (c.wire("result", p.format.width(), text, &args), None);
    }
    let live = live.unwrap_or_else(|| c.wire("live", 1, "1'd1", &[]));
    let (exponent, carry, magnitude) = if p.degree == 0 {
        let early = early_carry(p, c, x);
        let exponent = exponent(p, c, x, octave, early, None);
        (exponent, None, join(p, c, exponent, None, columns[0]))
    } else {
        let exponent = exponent(p, c, x, octave, None, None);
        let (carry, magnitude) = polynomial(p, c, x, &columns, exponent);
        (exponent, Some(carry), magnitude)
    };
    let range = Range::of(p);
    let (most, least) = ((1 << p.format.exp()) - 2, 1);
    let over = flags.contains(Flags::OVERFLOW).then(|| {
        let test = |carry: i32| format!("$signed({{0}}) > {}", range.signed(most - carry));
        choose(c, "over", |carry| format!("{} & {{1}}", test(carry)), &[exponent, live], carry)
    });
    let less = |carry: i32| format!("$signed({{0}}) < {}", range.signed(least - carry));
    let (under, keep) = if flags.contains(Flags::UNDERFLOW) {
        let under = choose(c, "under", |carry| format!("{} & {{1}}", less(carry)), &[exponent, live], carry);
        let keep = choose(c, "keep", |carry| format!("~({}) & {{1}}", less(carry)), &[exponent, live], carry);
        (Some(under), keep)
    } else {
        (None, live)
    };
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

/// Whether the argument has a power at all (`None`: always), the result's sign if it can be set, and `invalid` if it can
/// be raised.
fn signs(p: &Prepared, inst: &Inst, c: &mut Circuit, x: Sig) -> (Option<Sig>, Option<Sig>, Option<Sig>) {
    let top = p.format.width() - 1;
    let field = c.wire("field", p.format.exp(), format!("{{0}}[{}:{}]", top - 1, p.mant), &[x]);
    let live = nonzero(c, inst, 0, field);
    let negative = c.wire("negative", 1, format!("{{0}}[{top}]"), &[x]);
    if inst.is_nonneg(0) || (p.d == 1 && p.n % 2 == 0) {
        (live, None, None)
    } else if p.d == 1 {
        (live, Some(negative), None)
    } else {
        let live = live.unwrap_or_else(|| c.wire("live", 1, "1'd1", &[]));
        let invalid = c.comb("invalid", 1, Cost::Logic(2), "{0} & {1}", &[live, negative]);
        let live = c.comb("live", 1, Cost::Logic(2), "{0} & ~{1}", &[live, negative]);
        (Some(live), None, Some(invalid))
    }
}

/// The tables read at the argument's index: columns 0 to degree as stored (see [`Tables::column_bits`]), and the
/// exponents less their minimum if they differ. Columns share words as far as these reach, the ones that are needed
/// first in one word. Where `keep` is given and clear, the argument is 0 and the power of 1 is read.
///
/// [`Tables::column_bits`]: super::Tables::column_bits
fn memories(p: &Prepared, c: &mut Circuit, x: Sig, keep: Option<Sig>) -> (Vec<Sig>, Option<Sig>) {
    let top = p.low_bits + p.index_bits - 1;
    let index = match keep {
        // The root of 0 reads that of an even power of two: the bias is odd, so its exponent field is.
        Some(keep) if p.d == 2 && p.index_bits > 1 => {
            let text = format!("{{{{0}}[{top}] | ~{{1}}, {{0}}[{}:{}]}}", top - 1, p.low_bits);
            c.comb("index", p.index_bits, Cost::Logic(2), text, &[x, keep])
        }
        Some(keep) if p.d == 2 => c.comb("index", 1, Cost::Logic(2), format!("{{0}}[{top}] | ~{{1}}"), &[x, keep]),
        _ => c.wire("index", p.index_bits, format!("{{0}}[{top}:{}]", p.low_bits), &[x]),
    };
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

/// The carry into the exponent where a table of all fractions has one: it depends on the argument alone.
fn early_carry(p: &Prepared, c: &mut Circuit, x: Sig) -> Option<Sig> {
    let carries: Vec<usize> = (0..p.columns[0].len()).filter(|k| p.columns[0][*k] >> (p.mant + 1) == 1).collect();
    assert!(carries.len() <= 1, "only the power of a power of two may carry");
    carries.first().map(|index| {
        let text = format!("{{0}}[{}:0] == {}'d{index}", p.index_bits - 1, p.index_bits);
        c.comb("carry", 1, Cost::Compare(p.index_bits), text, &[x])
    })
}

/// `{pad'd0, {k}}`: argument `k` of `from` bits, zero-extended to `to` bits.
fn extended(k: usize, from: u32, to: u32) -> String {
    if from == to { format!("{{{k}}}") } else { format!("{{{}'d0, {{{k}}}}}", to - from) }
}

/// Horner's rule down to the product that is added to column 0; then the carry and the magnitude.
fn polynomial(p: &Prepared, c: &mut Circuit, x: Sig, columns: &[Sig], exponent: Sig) -> (Carry, Sig) {
    let inverted = if p.flip { "~" } else { "" };
    let cost = if p.flip { Cost::Logic(1) } else { Cost::Wire };
    let u = c.comb("u", p.low_bits, cost, format!("{inverted}{{0}}[{}:0]", p.low_bits - 1), &[x]);
    let most_u = (1u64 << p.low_bits) - 1;
    // The greatest sum of each index so far.
    let mut most: Vec<u64> = p.columns[p.degree].iter().map(|v| *v as u64).collect();
    let mut sum = columns[p.degree];
    for i in (1..p.degree).rev() {
        for (m, coef) in most.iter_mut().zip(&p.columns[i]) {
            *m = *coef as u64 + if p.subtract[i] { 0 } else { (*m * most_u) >> p.shift[i] };
        }
        let width = 64 - most.iter().max().expect("a table has at least one piece").leading_zeros();
        let cut = cut_product(c, sum, u, p.shift[i], width);
        let sign = if p.subtract[i] { '-' } else { '+' };
        let text = format!("{} {sign} {}", extended(0, c.width(columns[i]), width), extended(1, c.width(cut), width));
        sum = c.comb("sum", width, Cost::Add(width), text, &[columns[i], cut]);
    }
    assert!(!p.subtract[0], "a power rises towards the end of a piece");
    let one = p.mant + p.guard;
    let cut = cut_product(c, sum, u, p.shift[0], one + 1);
    if p.tables.wide || c.width(columns[0]) > one {
        normalised(p, c, columns[0], cut, exponent)
    } else {
        appended(p, c, columns[0], cut, exponent)
    }
}

/// The product of two signals without its lowest `shift` bits, at most `width` bits of it.
fn cut_product(c: &mut Circuit, a: Sig, b: Sig, shift: u32, width: u32) -> Sig {
    let product = c.mul("product", a, b, false);
    assert!(shift < c.width(product), "a product that is cut off whole needs no multiplier");
    let width = width.min(c.width(product) - shift);
    c.wire("cut", width, format!("{{0}}[{}:{shift}]", shift + width - 1), &[product])
}

/// The exponent and the sum side by side in one adder: the sum carries only when it becomes the next power of two
/// itself, whose fraction is 0.
fn appended(p: &Prepared, c: &mut Circuit, column: Sig, cut: Sig, exponent: Sig) -> (Carry, Sig) {
    let (e, one) = (p.format.exp(), p.mant + p.guard);
    let low = low_exponent(p, c, exponent);
    let pad = match one - c.width(column) {
        0 => String::new(),
        n => format!("{n}'d0, "),
    };
    let text = format!("{{{{0}}, {pad}{{1}}}} + {}", extended(2, c.width(cut), e + one));
    let sum = c.comb("sum", e + one, Cost::Add(e + one), text, &[low, column, cut]);
    let carry = Carry {
        bit: c.wire("carried", 1, format!("{{0}}[{one}]"), &[sum]),
        inverted: Some(c.wire("odd", 1, "{0}[0]", &[low])),
    };
    (carry, c.wire("magnitude", e + p.mant, format!("{{0}}[{}:{}]", e + one - 1, p.guard), &[sum]))
}

/// The sum, without its leading 1 from 0 to 3, shifted down where it has left its octave.
fn normalised(p: &Prepared, c: &mut Circuit, column: Sig, cut: Sig, exponent: Sig) -> (Carry, Sig) {
    let (m, guard) = (p.mant, p.guard);
    let width = m + guard + 2;
    let text = format!("{} + {}", extended(0, c.width(column), width), extended(1, c.width(cut), width));
    let sum = c.comb("sum", width, Cost::Add(width), text, &[column, cut]);
    let carry = c.comb("carry", 1, Cost::Logic(2), format!("|{{0}}[{}:{}]", width - 1, width - 2), &[sum]);
    let sum = c.wire("rounded", m + 1, format!("{{0}}[{}:{guard}]", m + guard), &[sum]);
    let text = format!("{{1}} ? {{~{{0}}[{m}], {{0}}[{}:1]}} : {{0}}[{}:0]", m - 1, m - 1);
    let fraction = c.comb("fraction", m, Cost::Mux(2), text, &[sum, carry]);
    (Carry { bit: carry, inverted: None }, join(p, c, exponent, Some(carry), fraction))
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

/// `n * q + octave + bias + carry` as a signed number of [`Range::bits`]; of a number in range only the low bits may be
/// right. It is 0 where `keep` is given and clear.
fn exponent(p: &Prepared, c: &mut Circuit, x: Sig, octave: Option<Sig>, carry: Option<Sig>, keep: Option<Sig>) -> Sig {
    let (e, bias, range) = (p.format.exp(), p.format.bias(), Range::of(p));
    let field = c.wire("field", e, format!("{{0}}[{}:{}]", p.format.width() - 2, p.mant), &[x]);
    if p.n.abs() == 1 && octave.is_none() {
        return unit_exponent(p, c, field, carry, keep);
    }
    assert!(carry.is_none(), "tables with several octaves hold every power below the next octave");
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
    let mut sum = sum.expect("n is not 0");
    if let Some(octave) = octave {
        let text = format!("{{0}} + {}", extended(1, c.width(octave), range.bits));
        sum = c.comb("exponent", range.bits, Cost::Add(range.bits), text, &[sum, octave]);
    }
    match keep {
        Some(keep) => {
            let text = format!("{{0}} & {{{}{{{{1}}}}}}", range.bits);
            c.comb("kept", range.bits, Cost::Logic(2), text, &[sum, keep])
        }
        None => sum,
    }
}

/// The exponent for n of 1 or -1 in one adder: the lowest bit of the field and the carry enter one place below it.
fn unit_exponent(p: &Prepared, c: &mut Circuit, field: Sig, carry: Option<Sig>, keep: Option<Sig>) -> Sig {
    let (e, bias, range) = (p.format.exp(), p.format.bias(), Range::of(p));
    let zero = if p.d == 2 { (bias + 1) / 2 } else { bias };
    let constant = bias - p.n * zero + p.octaves[0];
    let bits = range.bits + 1;
    let (mut args, mut kept, mut carried) = (vec![field], None, "1'd0".to_string());
    if let Some(carry) = carry {
        args.push(carry);
        carried = arg(args.len() - 1);
    }
    if let Some(keep) = keep {
        args.push(keep);
        kept = Some(arg(args.len() - 1));
    }
    let start = |value: i32| constant_if(range.bits, value as i64, kept.as_deref());
    let one = kept.clone().unwrap_or_else(|| "1'd1".into());
    let text = match (p.n, p.d) {
        // K + h + field[0]
        (1, _) => format!("{{{}, {one}}} + {{{}'d0, {{0}}}}", start(constant), bits - e),
        // K - h - field[0] + carry, where the carry comes with a set field[0] only.
        (_, 2) => {
            let half = format!("{{{}'d0, {{0}}[{}:1], {{0}}[0] & ~{carried}}}", bits - e, e - 1);
            format!("{{{}, 1'd0}} - {half}", start(constant))
        }
        // K - field + carry
        _ => {
            let (start, below) = match carry {
                Some(_) => (start(constant + 1), format!("~{carried}")),
                None => (start(constant), carried.clone()),
            };
            format!("{{{start}, {carried}}} - {{{}'d0, {{0}}, {below}}}", bits - 1 - e)
        }
    };
    let sum = c.comb("sum", bits, Cost::Add(bits), text, &args);
    c.wire("exponent", bits - 1, format!("{{0}}[{}:1]", bits - 1), &[sum])
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

/// A carry out of the significand that comes late: `bit`, or its inverse where `inverted` is set.
#[derive(Clone, Copy)]
struct Carry {
    bit: Sig,
    inverted: Option<Sig>,
}

/// A condition that depends on the carry: it is ready for carries of 0 and 1 before the carry chooses.
fn choose(c: &mut Circuit, name: &str, test: impl Fn(i32) -> String, args: &[Sig], carry: Option<Carry>) -> Sig {
    let cost = Cost::Compare(c.width(args[0]) + 1);
    let mut early = |carry: i32| c.comb(&format!("{name}_{carry}"), 1, cost, test(carry), args);
    let Some(carry) = carry else { return early(0) };
    let (mut clear, mut set) = (early(0), early(1));
    if let Some(inverted) = carry.inverted {
        let swap = |first: Sig, second: Sig, c: &mut Circuit| {
            c.comb(&format!("{name}_if"), 1, Cost::Mux(2), "{0} ? {1} : {2}", &[inverted, first, second])
        };
        (clear, set) = (swap(set, clear, c), swap(clear, set, c));
    }
    c.comb(name, 1, Cost::Mux(2), "{0} ? {1} : {2}", &[carry.bit, set, clear])
}

/// Exponent field and fraction, without care for the range.
fn join(p: &Prepared, c: &mut Circuit, exponent: Sig, carry: Option<Sig>, fraction: Sig) -> Sig {
    let e = p.format.exp();
    let low = low_exponent(p, c, exponent);
    let field = match carry {
        Some(carry) => {
            let text = format!("{{0}} + {{{}'d0, {{1}}}}", e - 1);
            c.comb("power", e, Cost::Add(e), text, &[low, carry])
        }
        None => low,
    };
    c.wire("magnitude", e + p.mant, "{{0}, {1}}", &[field, fraction])
}

/// The exponent field, if the exponent is in range.
fn low_exponent(p: &Prepared, c: &mut Circuit, exponent: Sig) -> Sig {
    c.wire("power", p.format.exp(), format!("{{0}}[{}:0]", p.format.exp() - 1), &[exponent])
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
