//! `fmul`: correctly rounded float multiplication (RULES N2).

use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig};
use crate::op::meaning::Real;
use crate::op::pieces::float_parts::pack::{Range, Rounded, finish, sign_of_product};
use crate::op::pieces::float_parts::shift::any;
use crate::op::pieces::float_parts::text::{arg, cat, constant_if, field, repeat, slice, zeros};
use crate::op::pieces::float_parts::{Value, max_field, nonzero, round, same_floats, unpack};
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

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

    fn flags(&self, inst: &Inst) -> Flags {
        // The largest and the smallest magnitudes decide, since rounding is monotone.
        let ((la, ha), (lb, hb)) = (inst.magnitudes(0), inst.magnitudes(1));
        self.bits(inst, &[la, lb]).1 | self.bits(inst, &[ha, hb]).1
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let ((la, ha), (lb, hb)) = (inst.magnitudes(0), inst.magnitudes(1));
        let zero = inst.bounds(0).zero || inst.bounds(1).zero;
        Bounds::floats(inst.result, self.bits(inst, &[la, lb]).0, self.bits(inst, &[ha, hb]).0, zero)
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

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("({} * {})", args[0], args[1])
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (format, flags) = (inst.result, self.flags(inst));
        let (w, e, m) = (format.width(), format.exp(), format.mant());
        let exps = [field(c, "exp_a", args[0], w - 2, m), field(c, "exp_b", args[1], w - 2, m)];
        let square = inst.same;
        let some = [nonzero(c, inst, 0, exps[0]), if square { None } else { nonzero(c, inst, 1, exps[1]) }];
        let live = match some {
            [Some(a), Some(b)] => Some(c.comb("nonzero", 1, Cost::Logic(2), "{0} & {1}", &[a, b])),
            [a, b] => a.or(b),
        };
        // A product that stays in range needs no mask for zeros: a zero without hidden bit makes its fraction 0, and
        // what is added to exponents is left out. Otherwise the mask of the range check serves zeros too.
        let in_range = flags.is_empty();
        let range = Range { low: 2 - format.bias() as i64, high: 2 * max_field(format) - format.bias() as i64 + 1 };
        let range = if in_range { Range { low: 1, high: max_field(format) } } else { range };
        let bits = range.bits(format);

        let significand = |c: &mut Circuit, k: usize| {
            let hidden = some[k].filter(|_| in_range);
            let text = cat(&[hidden.map_or("1'b1".into(), |_| arg(1)), slice(0, w, m as i64 - 1, 0)]);
            let args: Vec<Sig> = [args[k]].into_iter().chain(hidden).collect();
            c.wire("significand", m + 1, text, &args)
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
        let mut inputs = vec![fraction, two, up];
        let keep = live.filter(|_| in_range).map(|s| {
            inputs.push(s);
            arg(inputs.len() - 1)
        });
        // Minus the bias is 1 less a power of two. Of a product from 2 on the exponent is one more.
        let (exp, offset) = if square {
            inputs.push(exps[0]);
            let shifted = slice(inputs.len() - 1, e, (bits as i64 - 2).min(e as i64 - 1), 0);
            let double = cat(&[zeros((bits - e).saturating_sub(1)), shifted, arg(1)]);
            (double, constant_if(bits, -format.bias() as i64, keep.as_deref()))
        } else {
            let text = format!("{} + {}", cat(&[zeros(bits - e), arg(0)]), cat(&[zeros(bits - e), arg(1)]));
            let sum = c.comb("exp", bits, Cost::Add(bits), text, &exps);
            inputs.push(sum);
            let sum = arg(inputs.len() - 1);
            let one = format!("~{}", arg(1));
            let one = keep.as_ref().map_or(one.clone(), |k| format!("{one} & {k}"));
            let power = constant_if(bits - e + 1, -1, keep.as_deref());
            let offset =
                if e > 2 { cat(&[power, zeros(e - 3), arg(1), one]) } else { repeat(bits, &format!("({one})")) };
            (keep.as_ref().map_or(sum.clone(), |k| format!("({sum} & {})", repeat(bits, k))), offset)
        };
        let packed = if table || inst.truncates() {
            let exp = c.comb("exp", bits, Cost::Add(bits), format!("{exp} + {offset}"), &inputs);
            c.wire("rounded", bits + m, "{{0}, {1}}", &[exp, fraction])
        } else {
            let text = format!("{} + {}", cat(&[exp, arg(0)]), cat(&[offset, zeros(m - 1), arg(2)]));
            c.comb("rounded", bits + m, Cost::Add(bits + m), text, &inputs)
        };

        let sign = if square { None } else { sign_of_product(inst, c, args) };
        let sign = match (sign, live) {
            (Some(s), Some(live)) if in_range => Some(c.comb("signed", 1, Cost::Logic(3), "{0} & {1}", &[s, live])),
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
    let up = c.wire("up", 1, "1'b0", &[]);
    (field(c, "two", square, m, m), field(c, "fraction", square, m - 1, 0), up)
}

/// Of a product of significands of `m` + 1 bits, 1 <= product < 4: whether it is 2 or more, its fraction, and
/// whether to round that up, where `below` says if any bit below the last two is set; never if it is to be cut off.
fn round_product(c: &mut Circuit, product: Sig, m: u32, below: Option<Sig>, cut: bool) -> (Sig, Sig, Sig) {
    let width = 2 * m + 2;
    let two = field(c, "two", product, width - 1, width - 1);
    let part = |hi: u32, lo: u32| slice(0, width, hi as i64, lo as i64);
    let chosen = format!("{{1}} ? {} : {}", part(2 * m, m + 1), part(2 * m - 1, m));
    let fraction = c.comb("fraction", m, Cost::Mux(2), chosen, &[product, two]);
    if cut {
        return (two, fraction, c.wire("up", 1, "1'b0", &[]));
    }
    // The last place, the round bit and the first bit below, of the one alignment and the other.
    let near = field(c, "near", product, m + 1, m - 1);
    let text = "{1} ? {0}[1] & ({2} | {0}[0] | {0}[2]) : {0}[0] & ({2} | {0}[1])";
    let below = below.unwrap_or_else(|| c.wire("any", 1, "1'b0", &[]));
    let up = c.comb("up", 1, Cost::Logic(5), text, &[near, two, below]);
    (two, fraction, up)
}
