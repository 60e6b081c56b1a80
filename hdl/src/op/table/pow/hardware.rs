//! The circuit of a power: the steps of [`Prepared`] as memories, multipliers and adders.

use super::{Method, Prepared, method, square};
use crate::Flags;
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig, X};
use crate::op::float::fmul::Fmul;
use crate::op::pieces::float_parts::logic::constant_if;
use crate::op::pieces::float_parts::nonzero;
use crate::op::table::poly::hardware as poly;
use crate::op::{Inst, Operator};
use crate::rtl::cat;
use crate::rtl::expr::Test;

pub fn circuit(inst: &Inst, flags: Flags, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
    let width = inst.result.width();
    match method(inst) {
        Method::Same => (x, None),
        Method::Square => Fmul.circuit(&square(inst), c, &[x, x]),
        // The argument is masked away, so that the port is not left unread.
        Method::One(one) => {
            let value = (c.x(x) & X::zeros(width)) | X::constant(width, one as i128);
            (c.logic_at("one", value, Cost::Wire, "what is masked away is never made"), None)
        }
        Method::Table(p) => table(p, inst, flags, c, x),
        Method::Wide(p) => p.circuit(inst, flags, c, x),
    }
}

fn table(p: &Prepared, inst: &Inst, flags: Flags, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
    let (live, sign, invalid) = signs((p.n, p.d), inst, c, x);
    // A table alone, whose results stay in range, needs no mask: the power of 1 has the fraction of 0, and what is added
    // to the exponent is left out.
    let clean = p.table.degree == 0 && invalid.is_none() && !flags.intersects(Flags::OVERFLOW | Flags::UNDERFLOW);
    let keep = live.filter(|_| clean);
    let (columns, octave) = memories(p, c, x, keep);
    if clean {
        let early = early_carry(p, c, x);
        let exponent = exponent(p, c, x, octave, early, keep);
        let magnitude = join(p, c, exponent, None, columns[0]);
        let sign = sign.map_or(X::flag(false), |s| c.x(s));
        return (c.logic("result", cat([sign, c.x(magnitude)])), None);
    }
    let live = live.unwrap_or_else(|| c.logic("live", X::flag(true)));
    let (exponent, carry, magnitude) = if p.table.degree == 0 {
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
    let (value, some) = (c.x(exponent), c.x(live));
    let over = flags.contains(Flags::OVERFLOW).then(|| {
        let more = |carry: i32| value.compare(Test::Gt, true, &range.number(most - carry)) & &some;
        choose(c, "over", more, range.bits, carry)
    });
    let less = |carry: i32| value.compare(Test::Lt, true, &range.number(least - carry));
    let (under, keep) = if flags.contains(Flags::UNDERFLOW) {
        let under = choose(c, "under", |carry| less(carry) & &some, range.bits, carry);
        let keep = choose(c, "keep", |carry| !less(carry) & &some, range.bits, carry);
        (Some(under), keep)
    } else {
        (None, live)
    };
    let q = select(p, c, magnitude, keep, over, sign);
    // The last part of a concatenation is its bit 0.
    let raised: Vec<Sig> = [invalid, under, over].into_iter().flatten().collect();
    let f = match raised[..] {
        [] => None,
        [one] => Some(one),
        _ => Some(c.logic("flags", c.cat(&raised))),
    };
    (q, f)
}

/// Whether the argument has a power at all (`None`: always), the result's sign if it can be set, and `invalid` if it can
/// be raised.
pub fn signs((n, d): (i32, i32), inst: &Inst, c: &mut Circuit, x: Sig) -> (Option<Sig>, Option<Sig>, Option<Sig>) {
    let top = inst.result.width() - 1;
    let field = c.logic("field", c.x(x).slice(top - 1, inst.result.mant()));
    let live = nonzero(c, inst, 0, field);
    let negative = c.logic("negative", c.x(x).bit(top));
    if inst.is_nonneg(0) || (d == 1 && n % 2 == 0) {
        (live, None, None)
    } else if d == 1 {
        (live, Some(negative), None)
    } else {
        let live = live.unwrap_or_else(|| c.logic("live", X::flag(true)));
        let invalid = c.logic("invalid", c.x(live) & c.x(negative));
        let live = c.logic("live", c.x(live) & !c.x(negative));
        (Some(live), None, Some(invalid))
    }
}

/// The columns of the table at the argument's index, and the exponents less their minimum if they differ. Where `keep` is
/// given and clear, the argument is 0 and the power of 1 is read.
fn memories(p: &Prepared, c: &mut Circuit, x: Sig, keep: Option<Sig>) -> (Vec<Sig>, Option<Sig>) {
    let (low, bits) = (p.table.place_bits(), index_bits(p));
    let index = c.x(x).slice(low + bits - 1, low);
    let index = match keep {
        // The root of 0 reads that of an even power of two: the bias is odd, so its exponent field is.
        Some(keep) if p.d == 2 => c.logic("index", cat([index.msb() | !c.x(keep), index.low(bits - 1)])),
        _ => c.logic("index", index),
    };
    let row = poly::columns(&p.table, c, "row", Some(index));
    (row.columns, row.offset)
}

/// Bits of the table's address: for d = 2 the lowest bit of the exponent field chooses the octave.
fn index_bits(p: &Prepared) -> u32 {
    p.table.bits - p.table.place_bits() + (p.d == 2) as u32
}

/// The carry into the exponent where a table of all fractions has one: it depends on the argument alone.
fn early_carry(p: &Prepared, c: &mut Circuit, x: Sig) -> Option<Sig> {
    let column = &p.table.columns[0];
    let carries: Vec<usize> = (0..column.len()).filter(|k| column[*k] == 2 * p.table.leading).collect();
    assert!(carries.len() <= 1, "only the power of a power of two may carry");
    carries.first().map(|index| {
        let (why, bits) = ("a comparison of that many bits", index_bits(p));
        let test = c.x(x).low(bits).is_number(*index as i128);
        c.logic_at("carry", test, Cost::Compare(bits), why)
    })
}

/// Horner's rule down to the product that is added to column 0; then the carry and the magnitude.
fn polynomial(p: &Prepared, c: &mut Circuit, x: Sig, columns: &[Sig], exponent: Sig) -> (Carry, Sig) {
    let place = c.x(x).low(p.table.place_bits());
    let u = match p.table.flip {
        true => c.logic_at("u", !place, Cost::Logic(1), "a multiplier takes no inverters in"),
        false => c.logic("u", place),
    };
    assert!(!p.table.subtract[0], "a power rises towards the end of a piece");
    let one = p.table.leading.ilog2();
    let cut = poly::last_product(&p.table, c, columns, u, one + 1);
    if p.wide || c.width(columns[0]) > one {
        normalised(p, c, columns[0], cut, exponent)
    } else {
        appended(p, c, columns[0], cut, exponent)
    }
}

/// The exponent and the sum side by side in one adder: the sum carries only when it becomes the next power of two
/// itself, whose fraction is 0.
fn appended(p: &Prepared, c: &mut Circuit, column: Sig, cut: Sig, exponent: Sig) -> (Carry, Sig) {
    let (e, one) = (p.format.exp(), p.table.leading.ilog2());
    let low = low_exponent(p, c, exponent);
    let value = cat([c.x(low), c.x(column).zext(one)]);
    let sum = c.logic("sum", value + c.x(cut).zext(e + one));
    let carry = Carry { bit: c.logic("carried", c.x(sum).bit(one)), inverted: Some(c.logic("odd", c.x(low).bit(0))) };
    (carry, c.logic("magnitude", c.x(sum).slice(e + one - 1, p.guard)))
}

/// The sum, without its leading 1 from 0 to 3, shifted down where it has left its octave.
fn normalised(p: &Prepared, c: &mut Circuit, column: Sig, cut: Sig, exponent: Sig) -> (Carry, Sig) {
    let (m, guard) = (p.format.mant(), p.guard);
    let width = m + guard + 2;
    let sum = c.logic("sum", c.x(column).zext(width) + c.x(cut).zext(width));
    let carry = c.logic("carry", c.x(sum).top(2).any());
    let sum = c.logic("rounded", c.x(sum).slice(m + guard, guard));
    let bits = c.x(sum);
    let upper = cat([!bits.bit(m), bits.bits(1, m - 1)]);
    let fraction = c.logic("fraction", c.x(carry).mux(&upper, &bits.low(m)));
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

    /// A number of that width.
    fn number(&self, value: i32) -> X {
        X::constant(self.bits, value as i128)
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
    let field = c.logic("field", c.x(x).slice(p.format.width() - 2, p.format.mant()));
    if p.n.abs() == 1 && octave.is_none() {
        return unit_exponent(p, c, field, carry, keep);
    }
    assert!(carry.is_none(), "tables with several octaves hold every power below the next octave");
    let scaled = if p.d == 2 {
        let bits = c.x(field);
        c.logic("halved", bits.slice(e - 1, 1).zext(e) + bits.bit(0).zext(e))
    } else {
        field
    };
    let (least, _) = p.octaves();
    let zero = if p.d == 2 { (bias + 1) / 2 } else { bias };
    let mut constant = Some(bias - p.n * zero + least);
    let mut sum = None;
    for (shift, negative) in signed_digits(p.n) {
        let term = c.x(scaled).shl(shift).zext(range.bits);
        let so_far = match sum {
            None => range.number(constant.take().expect("it is added once")),
            Some(sum) => c.x(sum),
        };
        sum = Some(c.logic("exponent", if negative { so_far - term } else { so_far + term }));
    }
    let mut sum = sum.expect("n is not 0");
    if let Some(octave) = octave {
        sum = c.logic("exponent", c.x(sum) + c.x(octave).zext(range.bits));
    }
    match keep {
        Some(keep) => c.logic("kept", c.x(sum) & c.x(keep).repeat(range.bits)),
        None => sum,
    }
}

/// The exponent for n of 1 or -1 in one adder: the lowest bit of the field and the carry enter one place below it.
fn unit_exponent(p: &Prepared, c: &mut Circuit, field: Sig, carry: Option<Sig>, keep: Option<Sig>) -> Sig {
    let (e, bias, range) = (p.format.exp(), p.format.bias(), Range::of(p));
    let zero = if p.d == 2 { (bias + 1) / 2 } else { bias };
    let constant = bias - p.n * zero + p.octaves().0;
    let bits = range.bits + 1;
    let field = c.x(field);
    let carried = carry.map_or(X::flag(false), |s| c.x(s));
    let keep = keep.map(|s| c.x(s));
    let start = |value: i32| constant_if(range.bits, value as i64, keep.as_ref());
    let one = keep.clone().unwrap_or(X::flag(true));
    let sum = match (p.n, p.d) {
        // K + h + field[0]
        (1, _) => cat([start(constant), one]) + field.zext(bits),
        // K - h - field[0] + carry, where the carry comes with a set field[0] only.
        (_, 2) => {
            let half = cat([field.slice(e - 1, 1), field.bit(0) & !carried]);
            start(constant).shl(1) - half.zext(bits)
        }
        // K - field + carry
        _ => {
            let (start, below) = match carry {
                Some(_) => (start(constant + 1), !&carried),
                None => (start(constant), carried.clone()),
            };
            cat([start, carried]) - cat([field, below]).zext(bits)
        }
    };
    let sum = c.logic("sum", sum);
    c.logic("exponent", c.x(sum).slice(bits - 1, 1))
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

/// A condition over a number of so many bits that depends on the carry: it is ready for carries of 0 and 1 before the
/// carry chooses.
fn choose(c: &mut Circuit, name: &str, test: impl Fn(i32) -> X, bits: u32, carry: Option<Carry>) -> Sig {
    let why = "the condition beside the comparison is one bit of it";
    let mut early = |carry: i32| c.logic_at(&format!("{name}_{carry}"), test(carry), Cost::Compare(bits + 1), why);
    let Some(carry) = carry else { return early(0) };
    let (mut clear, mut set) = (early(0), early(1));
    if let Some(inverted) = carry.inverted {
        let swap = |first: Sig, second: Sig, c: &mut Circuit| {
            c.logic(&format!("{name}_if"), c.x(inverted).mux(&c.x(first), &c.x(second)))
        };
        (clear, set) = (swap(set, clear, c), swap(clear, set, c));
    }
    c.logic(name, c.x(carry.bit).mux(&c.x(set), &c.x(clear)))
}

/// Exponent field and fraction, without care for the range.
fn join(p: &Prepared, c: &mut Circuit, exponent: Sig, carry: Option<Sig>, fraction: Sig) -> Sig {
    let e = p.format.exp();
    let low = low_exponent(p, c, exponent);
    let field = match carry {
        Some(carry) => c.logic("power", c.x(low) + c.x(carry).zext(e)),
        None => low,
    };
    c.logic("magnitude", c.cat(&[field, fraction]))
}

/// The exponent field, if the exponent is in range.
fn low_exponent(p: &Prepared, c: &mut Circuit, exponent: Sig) -> Sig {
    c.logic("power", c.x(exponent).low(p.format.exp()))
}

/// The result: the magnitude and sign where kept, the greatest magnitude on overflow, else 0.
fn select(p: &Prepared, c: &mut Circuit, magnitude: Sig, keep: Sig, over: Option<Sig>, sign: Option<Sig>) -> Sig {
    let width = p.format.width();
    let keep = c.x(keep);
    let mut value = c.x(magnitude) & keep.repeat(width - 1);
    if let Some(over) = over {
        value = c.x(over).mux(&X::constant(width - 1, p.format.max_bits() as i128), &value);
    }
    let top = sign.map_or(X::flag(false), |s| &keep & c.x(s));
    c.logic("result", cat([top, value]))
}
