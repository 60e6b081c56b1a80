//! `sumsq`: the sum of the squares of two to four floats, exact but for one rounding (RULES N2).

use crate::circuit::{Circuit, Sig, X};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::{CText, CType, CVar, I32, U32};
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::pack::{Range, Rounded, finish};
use crate::op::pieces::float_parts::shift::{Fill, any, bits_of, shift_right};
use crate::op::pieces::float_parts::{Value, max_field, nonzero, round, unpack};
use crate::op::pieces::parts::counted;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::{Bounds, Flags, Format};
use num_bigint::BigUint;
use num_traits::ToPrimitive;

pub struct Sumsq;

impl Operator for Sumsq {
    fn name(&self) -> &'static str {
        "sumsq"
    }

    fn summary(&self) -> &'static str {
        "sum of the squares of two to four floats, rounded once"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        match args {
            [first, ..] if (2..=4).contains(&args.len()) && first.is_float() && args.iter().all(|a| a == first) => {
                Ok(*first)
            }
            _ => Err("`sumsq` takes two to four floats of one format".into()),
        }
    }

    fn rounds(&self) -> bool {
        true
    }

    fn flags(&self, inst: &Inst) -> Flags {
        sum(inst, &ends(inst).1).1 | sum(inst, &[least(inst)]).1
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let zero = (0..inst.args.len()).all(|k| inst.bounds(k).zero);
        let of = |args: &[u64]| sum(inst, args).0;
        Bounds::floats(inst.result, of(&[least(inst)]), of(&ends(inst).1), zero)
    }

    fn nonneg(&self, _: &Inst) -> bool {
        true
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        sum(inst, args)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        Real::number(args.iter().map(|x| x.f64() * x.f64()).sum())
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::rounded(Meaning::SumOfSquares, inst)
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("({})", args.iter().map(|x| format!("{x} * {x}")).collect::<Vec<_>>().join(" + "))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (format, m) = (inst.result, inst.result.mant());
        // The largest square has this many bits, and two more for the carries. Below its last place there is one place at
        // least: what falls below that is only known to be there or not, which leaves both the sum's rounding and the next
        // alignment as they would be with all of it.
        let bits = 2 * m + 4;
        let kind = CType::unsigned(bits + 1);
        let below = kind.bits - bits;
        let ordered = ordered(inst, c, args);
        let mut last: Option<(CVar, CVar)> = None;
        for (k, (x, exp)) in ordered.iter().enumerate() {
            let s = floats::significand(c, format, x);
            let square = c.set(kind, format!("({kind}){s} * {s} << {below}"));
            let square = match inst.bounds.iter().all(|b| !b.zero) && !inst.bounds.is_empty() {
                true => square,
                false => c.set(kind, format!("{x} != 0 ? {square} : 0")),
            };
            let sum = match last {
                None => square,
                Some((sum, before)) => {
                    let places = c.set(U32, format!("2 * ({exp} - {before})"));
                    let moved = c.set(kind, format!("pf_shr{0}({sum}, {places})", kind.bits));
                    let lost = format!("pf_shl{0}({moved}, {places}) != {sum}", kind.bits);
                    c.set(kind, format!("{square} + ({moved} | ({lost}))"))
                }
            };
            last = Some((sum, ordered[k].1.clone()));
        }
        let (sum, exp) = last.expect("there are at least two");
        let zero = (0..inst.args.len()).all(|k| inst.bounds(k).zero);
        let value = floats::Value {
            bits: kind.bits,
            least: 2 * m + below,
            sticky: true,
            exp: format!("2 * {exp}"),
            offset: -(format.bias() as i64) - (2 * m + below) as i64,
            sign: None,
            live: zero.then(|| c.test(format!("{sum} != 0"))),
            magnitude: sum,
        };
        floats::round(c, format, inst.truncates(), value, self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let format = inst.result;
        let (w, m) = (format.width(), format.mant());
        let exps: Vec<Sig> = args.iter().map(|a| field(c, "exp", *a, w - 2, m)).collect();
        let most = exps[1..].iter().fold(exps[0], |most, exp| {
            let less = c.logic("less", c.x(most).lt(&c.x(*exp)));
            c.logic("most", c.x(less).mux(&c.x(*exp), &c.x(most)))
        });
        let window = window(m, args.len() as u32);
        let mut rows = Vec::new();
        for (k, exp) in exps.iter().enumerate() {
            let some = nonzero(c, inst, k, *exp);
            let hidden = some.map_or(X::flag(true), |s| c.x(s));
            let root = c.logic("root", cat([hidden, c.x(args[k]).low(m)]));
            let square = c.mul("square", root, root, false);
            let distance = c.logic("distance", c.x(most) - c.x(*exp));
            rows.push(aligned(c, square, distance, window));
        }
        // What falls below the window is less than the last place of the rest, so that no cut sum needs it.
        let stickies: Vec<Sig> = rows.iter().filter_map(|r| r.1).filter(|_| !inst.truncates()).collect();
        let sticky = gather(c, &stickies);
        let total = rows[1..]
            .iter()
            .fold(rows[0].0, |sum, (row, _)| c.logic("sum", c.x(sum).zext(window + 2) + c.x(*row).zext(window + 2)));

        // The largest square is at least 1 and less than 4, so that the sum of four begins at 8 or at most three places below.
        let total = c.logic("total", c.cat(&[total, sticky]));
        let width = window + 3;
        let mut value = total;
        let mut digits = Vec::new();
        for places in [2, 1] {
            let bits = c.x(value);
            let digit = counted(c, "digit", bits.top(places).any(), places);
            value = c.logic("norm", c.x(digit).mux(&bits, &bits.low(width - places).shl(places)));
            digits.push(digit);
        }
        let unmoved = c.logic("unmoved", c.cat(&digits));
        let top = field(c, "nonzero", value, width - 1, width - 1);
        let fraction = field(c, "fraction", value, width - 2, width - 1 - m);
        let bias = format.bias() as i64;
        let range = Range { low: 2 - bias, high: 2 * max_field(format) - bias + 4 };
        let bits = range.bits(format);
        // Less the count is plus its complement and 1.
        let double = c.x(most).shl(1).zext(bits);
        let exp = c.logic("exp", double + X::constant(bits, (4 - bias) as i128));
        let less = cat([X::ones(bits - 2), c.x(unmoved)]);
        let packed = if inst.truncates() {
            let exp = c.logic("exp", c.x(exp) + less);
            c.logic("cut", c.cat(&[exp, fraction]))
        } else {
            let tail = field(c, "tail", value, width - 1 - m, width - 2 - m);
            let below = any(c, value, width - 3 - m, 0, None);
            let up = c.logic("up", c.x(tail).bit(0) & (c.x(tail).bit(1) | c.x(below)));
            let ups = cat([less, c.x(up).zext(m)]);
            c.logic("rounded", c.cat(&[exp, fraction]) + ups)
        };
        finish(self, inst, c, &Rounded { format, range, packed, sign: None, nonzero: Some(top) })
    }
}

/// Bits to which squares are aligned so that the rounding is right although what falls below is only known to be there
/// or not. Of two squares nothing more is needed, since only one can lose bits. With each further one: where several
/// lose bits, all of them together must be less than the last place of those that do not.
fn window(m: u32, squares: u32) -> u32 {
    2 * m + 2 + (squares - 2) * (2 * m + 4)
}

/// A square that starts at the window's top, moved to the right by twice the distance, and whether a bit fell out.
fn aligned(c: &mut Circuit, square: Sig, distance: Sig, window: u32) -> (Sig, Option<Sig>) {
    let e = c.width(distance);
    let near = (bits_of(window) - 1).min(e);
    let low = field(c, "low", distance, near - 1, 0);
    let amount = c.logic("amount", c.x(low).shl(1));
    let shifted = shift_right(c, square, amount, window, Fill::Zeros);
    if near == e {
        return (shifted.value, shifted.sticky);
    }
    let far = any(c, distance, e - 1, near, None);
    let far = c.x(far);
    let value = c.logic("near", c.x(shifted.value) & (!&far).repeat(window));
    // The top bits of a square are clear for 0 alone.
    let width = c.width(square);
    let top = field(c, "top", square, width - 1, width - 2);
    let some = c.x(top).any();
    let sticky = match shifted.sticky {
        Some(sticky) => far.mux(&some, &c.x(sticky)),
        None => far & some,
    };
    (value, Some(c.logic("sticky", sticky)))
}

/// Whether any of the signals is set.
fn gather(c: &mut Circuit, signals: &[Sig]) -> Sig {
    match signals {
        [] => c.logic("sticky", X::flag(false)),
        [one] => *one,
        _ => c.logic("sticky", c.or(signals)),
    }
}

/// The greatest magnitudes of the arguments, behind the least ones.
fn ends(inst: &Inst) -> (Vec<u64>, Vec<u64>) {
    (0..inst.args.len()).map(|k| inst.magnitudes(k)).unzip()
}

/// The least magnitude among all arguments.
fn least(inst: &Inst) -> u64 {
    ends(inst).0.into_iter().min().expect("there are at least two")
}

/// The rounded sum of the squares of any number of patterns.
fn sum(inst: &Inst, args: &[u64]) -> (u64, Flags) {
    let format = inst.result;
    let parts: Vec<_> = args.iter().filter_map(|a| unpack(format, *a)).collect();
    let Some(base) = parts.iter().map(|p| p.exp).min() else { return (0, Flags::NONE) };
    let square = |sig: u64, exp: i32| BigUint::from(sig as u128 * sig as u128) << (2 * (exp - base)) as u32;
    let total: BigUint = parts.iter().map(|p| square(p.sig, p.exp)).sum();
    let drop = total.bits().saturating_sub(120);
    let kept = &total >> drop;
    let sticky = drop > 0 && (&kept << drop) != total;
    let mag = kept.to_u128().expect("120 bits");
    let value = Value { negative: false, mag, exp: 2 * base as i64 + drop as i64, sticky };
    round(format, inst.attrs.round, value, Flags::OVERFLOW)
}

/// C: the magnitudes of the arguments and their exponent fields, the smallest first.
fn ordered(inst: &Inst, c: &mut CText, args: &[CVar]) -> Vec<(CVar, CVar)> {
    let mut list: Vec<CVar> = (0..args.len()).map(|k| floats::magnitude(inst, c, k, &args[k])).collect();
    for end in (1..list.len()).rev() {
        for k in 0..end {
            let (a, b) = (list[k].clone(), list[k + 1].clone());
            list[k] = c.set(a.kind, format!("{a} < {b} ? {a} : {b}"));
            list[k + 1] = c.set(a.kind, format!("{a} < {b} ? {b} : {a}"));
        }
    }
    let m = inst.result.mant();
    list.into_iter().map(|x| (x.clone(), c.set(I32, format!("{x} >> {m}")))).collect()
}
