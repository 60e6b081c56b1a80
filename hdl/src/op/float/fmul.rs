//! `fmul`: correctly rounded float multiplication (RULES N2).

use crate::circuit::{Circuit, Sig, X};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::{CText, CType, CVar};
use crate::op::ctext::{double, single};
use crate::op::facts::{Fast, Fold};
use crate::op::pieces::float_parts::logic::{constant_if, field};
use crate::op::pieces::float_parts::pack::{Range, Rounded, finish, sign_of_product};
use crate::op::pieces::float_parts::shift::any;
use crate::op::pieces::float_parts::{Value, max_field, nonzero, round, same_floats, unpack};
use crate::op::pieces::fold;
use crate::op::pieces::monotone::Ends;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::{Flags, Format};

pub struct Fmul;

impl Operator for Fmul {
    fn name(&self) -> &'static str {
        "fmul"
    }

    fn summary(&self) -> &'static str {
        "float multiplication"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        same_floats("fmul", args)
    }

    fn rounds(&self) -> bool {
        true
    }

    fn ends(&self, inst: &Inst) -> Option<Ends> {
        Ends::of_two(inst, false)
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.same || inst.none_negative()
    }

    fn commutes(&self) -> bool {
        true
    }

    fn fold(&self, _: &Inst, constants: &[Option<u64>]) -> Option<Fold> {
        fold::product(constants)
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Mul)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let format = inst.result;
        let (Some(a), Some(b)) = (unpack(format, args[0]), unpack(format, args[1])) else {
            return (0, Flags::NONE);
        };
        let value = Value {
            negative: a.negative != b.negative,
            mag: a.sig as u128 * b.sig as u128,
            exp: (a.exp + b.exp) as i64,
            sticky: false,
        };
        round(format, inst.attrs.round, value, Flags::OVERFLOW)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        Real::number(args[0].f64() * args[1].f64())
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::rounded(Meaning::Product, inst)
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("({} * {})", args[0], args[1])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (format, flags, m) = (inst.result, self.flags(inst), inst.result.mant());
        let narrow = single::product(inst, c, args, flags).or_else(|| double::product(inst, c, args, flags));
        if let Some(product) = narrow {
            return product;
        }
        let parts = |c: &mut CText, k: usize| {
            (floats::field(c, format, inst.is_nonneg(k), &args[k]), floats::significand(c, format, &args[k]))
        };
        let (ea, sa) = parts(c, 0);
        let (eb, sb) = if inst.same { (ea.clone(), sa.clone()) } else { parts(c, 1) };
        let kind = CType::unsigned(2 * m + 2);
        let value = floats::Value {
            magnitude: c.set(kind, format!("({kind}){sa} * {sb}")),
            bits: 2 * m + 2,
            least: 2 * m,
            sticky: false,
            exp: format!("{ea} + {eb}"),
            offset: -(format.bias() as i64) - 2 * m as i64,
            sign: floats::sign_of_product(inst, c, args),
            live: floats::none_zero(inst, c, args, if inst.same { &[0] } else { &[0, 1] }),
        };
        floats::round(c, format, inst.truncates(), value, flags)
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (format, flags) = (inst.result, self.flags(inst));
        let (w, e, m) = (format.width(), format.exp(), format.mant());
        let exps = [field(c, "exp_a", args[0], w - 2, m), field(c, "exp_b", args[1], w - 2, m)];
        let square = inst.same;
        let some = [nonzero(c, inst, 0, exps[0]), if square { None } else { nonzero(c, inst, 1, exps[1]) }];
        let live = match some {
            [Some(a), Some(b)] => Some(c.logic("nonzero", c.x(a) & c.x(b))),
            [a, b] => a.or(b),
        };
        // A product that stays in range needs no mask for zeros: a zero without hidden bit makes its fraction 0, and
        // what is added to exponents is left out. Otherwise the mask of the range check serves zeros too.
        let in_range = flags.is_empty();
        let range = Range { low: 2 - format.bias() as i64, high: 2 * max_field(format) - format.bias() as i64 + 1 };
        let range = if in_range { Range { low: 1, high: max_field(format) } } else { range };
        let bits = range.bits(format);

        let significand = |c: &mut Circuit, k: usize| {
            let hidden = some[k].filter(|_| in_range).map_or(X::flag(true), |s| c.x(s));
            c.logic("significand", cat([hidden, c.x(args[k]).low(m)]))
        };
        let x = significand(c, 0);
        let y = if square { x } else { significand(c, 1) };
        let table = square && tabulated(c, m);
        let (two, fraction, up) = if table {
            tabulated_square(c, args[0], m, inst.truncates())
        } else {
            let product = c.mul("product", x, y, false);
            let cut = inst.truncates();
            // The lowest bits of a square are 0 if the lower half of them is 0 in its root.
            let below = match (m / 2, square) {
                (0, _) => None,
                _ if cut => None,
                (half, true) => Some(any(c, x, half - 1, 0, None)),
                (_, false) => Some(any(c, product, m - 2, 0, None)),
            };
            round_product(c, product, m, below, cut)
        };
        let keep = live.filter(|_| in_range).map(|s| c.x(s));
        let (two, up) = (c.x(two), c.x(up));
        // Minus the bias is 1 less a power of two. Of a product from 2 on the exponent is one more.
        let (exp, offset) = if square {
            let double = cat([c.x(exps[0]).low(e.min(bits - 1)), two]).zext(bits);
            (double, constant_if(bits, -format.bias() as i64, keep.as_ref()))
        } else {
            let sum = c.logic("exp", c.x(exps[0]).zext(bits) + c.x(exps[1]).zext(bits));
            let sum = c.x(sum);
            let one = keep.as_ref().map_or(!&two, |k| !&two & k);
            let power = constant_if(bits - e + 1, -1, keep.as_ref());
            let offset = if e > 2 { cat([power, X::zeros(e - 3), two, one]) } else { one.repeat(bits) };
            (keep.map_or(sum.clone(), |k| sum & k.repeat(bits)), offset)
        };
        let packed = if table || inst.truncates() {
            let exp = c.logic("exp", exp + offset);
            c.logic("rounded", c.cat(&[exp, fraction]))
        } else {
            c.logic("rounded", cat([exp, c.x(fraction)]) + cat([offset, up.zext(m)]))
        };

        let sign = if square { None } else { sign_of_product(inst, c, args) };
        let sign = match (sign, live) {
            (Some(s), Some(live)) if in_range => Some(c.logic("signed", c.x(s) & c.x(live))),
            _ => sign,
        };
        let nonzero = live.filter(|_| !in_range);
        finish(self, inst, c, &Rounded { format, range, packed, sign, nonzero })
    }
}

/// Whether squares of significands come from a table: no multiplier is to be spent, and it fits one memory.
fn tabulated(c: &Circuit, m: u32) -> bool {
    let clock = c.clock();
    clock.blocks == Some(0) && m < 16 && (m + 1) << m <= clock.target.memory_bits
}

/// The square of the significand of `x` from a table, as [`round_product`] gives it; it is rounded already.
fn tabulated_square(c: &mut Circuit, x: Sig, m: u32, cut: bool) -> (Sig, Sig, Sig) {
    let row = |fraction: u64| {
        let root = fraction | 1 << m;
        let square = root * root;
        let drop = m + (square >> (2 * m + 1)) as u32;
        let (kept, rest, half) = (square >> drop, square & ((1 << drop) - 1), 1u64 << (drop - 1));
        let rounded = kept + (!cut && (rest > half || rest == half && kept & 1 == 1)) as u64;
        // Rounding reaches 2 only from below it.
        let two = drop > m || rounded >> (m + 1) == 1;
        (two as u64) << m | rounded & ((1 << m) - 1)
    };
    let address = field(c, "address", x, m - 1, 0);
    let square = c.rom("square", m + 1, address, (0..1 << m).map(row).collect());
    let up = c.logic("up", X::flag(false));
    (field(c, "two", square, m, m), field(c, "fraction", square, m - 1, 0), up)
}

/// Of a product of significands of `m` + 1 bits, 1 <= product < 4: whether it is 2 or more, its fraction, and
/// whether to round that up, where `below` says if any bit below the last two is set; never if it is to be cut off.
fn round_product(c: &mut Circuit, product: Sig, m: u32, below: Option<Sig>, cut: bool) -> (Sig, Sig, Sig) {
    let width = 2 * m + 2;
    let two = field(c, "two", product, width - 1, width - 1);
    let (bits, at_least) = (c.x(product), c.x(two));
    let fraction = c.logic("fraction", at_least.mux(&bits.slice(2 * m, m + 1), &bits.slice(2 * m - 1, m)));
    if cut {
        return (two, fraction, c.logic("up", X::flag(false)));
    }
    // The last place, the round bit and the first bit below, of the one alignment and the other.
    let near = field(c, "near", product, m + 1, m - 1);
    let below = below.unwrap_or_else(|| c.logic("any", X::flag(false)));
    let (near, below) = (c.x(near), c.x(below));
    let upper = near.bit(1) & (&below | near.bit(0) | near.bit(2));
    let up = c.logic("up", at_least.mux(&upper, &(near.bit(0) & (below | near.bit(1)))));
    (two, fraction, up)
}
