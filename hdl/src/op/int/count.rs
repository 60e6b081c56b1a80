//! `popcount` and `clz`: the ones of an int, and the zeros above its first one (RULES N3).

use crate::circuit::{Circuit, Sig, X};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CType, CVar};
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::{Bounds, Flags, Format};

pub struct Popcount;
pub struct Clz;

impl Operator for Popcount {
    fn name(&self) -> &'static str {
        "popcount"
    }

    fn summary(&self) -> &'static str {
        "bits of an int that are 1"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        counted(self.name(), args)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        most(inst, self)
    }

    fn nonneg(&self, _: &Inst) -> bool {
        true
    }

    fn bits(&self, _: &Inst, args: &[u64]) -> (u64, Flags) {
        (args[0].count_ones() as u64, Flags::NONE)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let f = inst.result;
        format!("(({})__popcll((uint64_t){} & {:#x}ULL))", parts::c_type(f), args[0], f.mask())
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let kind = CType::of(inst.result);
        let of = |byte: u64| kind.number((byte * 0x0101_0101_0101_0101) as i128);
        let x = &args[0];
        let pairs = c.set(kind, format!("{x} - ({x} >> 1 & {})", of(0x55)));
        let fours = c.set(kind, format!("({pairs} & {}) + ({pairs} >> 2 & {})", of(0x33), of(0x33)));
        let bytes = c.set(kind, format!("{fours} + ({fours} >> 4) & {}", of(0x0f)));
        c.set(kind, format!("{bytes} * {} >> {}", of(1), kind.bits - 8))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let mut counts: Vec<Sig> = (0..inst.result.width())
            .step_by(3)
            .map(|low| {
                let bits = c.x(args[0]).bits(low, 3.min(inst.result.width() - low));
                three(c, bits)
            })
            .collect();
        while counts.len() > 1 {
            counts = counts.chunks(2).map(|pair| sum(c, pair)).collect();
        }
        (fitted(c, counts[0], inst.result.width()), None)
    }
}

impl Operator for Clz {
    fn name(&self) -> &'static str {
        "clz"
    }

    fn summary(&self) -> &'static str {
        "zeros of an int above its highest 1; all bits of 0"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        counted(self.name(), args)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        most(inst, self)
    }

    fn nonneg(&self, _: &Inst) -> bool {
        true
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        ((args[0].leading_zeros() - (64 - inst.result.width())) as u64, Flags::NONE)
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Zeros)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let f = inst.result;
        format!("(({})(__clzll((uint64_t){} & {:#x}ULL) - {}))", parts::c_type(f), args[0], f.mask(), 64 - f.width())
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let kind = CType::of(inst.result);
        c.set(kind, format!("pf_clz{}({}) - {}", kind.bits, args[0], kind.bits - inst.result.width()))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let width = inst.result.width();
        // Ones below the last bit, so that halves are halves.
        let all = width.next_power_of_two();
        let padded = c.logic("padded", cat([c.x(args[0]), X::ones(all - width)]));
        let count = zeros(c, padded, all, 0);
        (fitted(c, count, width), None)
    }
}

/// An int that holds the number of its bits.
fn counted(name: &str, args: &[Format]) -> Result<Format, String> {
    match args {
        [a] if a.is_int() && a.width() as i128 <= Bounds::of(*a).high => Ok(*a),
        _ => Err(format!("`{name}` takes an int that holds the number of its own bits")),
    }
}

/// The number of bits is the most that can be counted; of one value it is that one's.
fn most(inst: &Inst, op: &dyn Operator) -> Bounds {
    let a = inst.bounds(0);
    if a.low == a.high {
        let only = op.bits(inst, &[a.low as u64 & inst.result.mask()]).0 as i128;
        return Bounds::ints(only, only);
    }
    Bounds::ints(0, inst.result.width() as i128)
}

/// The number of ones of up to three bits.
fn three(c: &mut Circuit, bits: X) -> Sig {
    match bits.width() {
        1 => c.logic("ones", bits),
        2 => c.logic("ones", cat([bits.bit(0) & bits.bit(1), bits.bit(0) ^ bits.bit(1)])),
        _ => {
            let [x, y, z] = [0, 1, 2].map(|k| bits.bit(k));
            c.logic("ones", cat([&x & &y | &z & (&x | &y), &x ^ &y ^ &z]))
        }
    }
}

/// The sum of one or two counts.
fn sum(c: &mut Circuit, counts: &[Sig]) -> Sig {
    let [a, b] = counts else { return counts[0] };
    let bits = c.width(*a).max(c.width(*b)) + 1;
    c.logic("ones", c.x(*a).zext(bits) + c.x(*b).zext(bits))
}

/// A count in the bits of the result; those above it are 0 already.
fn fitted(c: &mut Circuit, count: Sig, width: u32) -> Sig {
    let bits = c.width(count);
    if bits > width {
        parts::unused_bits(c, count, bits as i64 - 1, width);
        return parts::slice(c, "count", count, width - 1, 0);
    }
    parts::extend(c, "count", count, width, false)
}

/// The zeros above the first 1 of the `n` bits from `low` on, a power of two: that power alone where there is none.
fn zeros(c: &mut Circuit, x: Sig, n: u32, low: u32) -> Sig {
    if n == 1 {
        return c.logic("zeros", !c.x(x).bit(low));
    }
    let half = n / 2;
    let (upper, lower) = (zeros(c, x, half, low + half), zeros(c, x, half, low));
    let (u, l) = (c.x(upper), c.x(lower));
    let rest = half.ilog2();
    let (none_above, none_below) = (u.msb(), l.msb());
    let both = &none_above & &none_below;
    let mut parts = vec![both, &none_above & !&none_below];
    if rest > 0 {
        parts.push(none_above.mux(&l.low(rest), &u.low(rest)));
    }
    c.logic("zeros", cat(parts))
}
