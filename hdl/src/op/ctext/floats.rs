//! Pieces of C text for floats: taking patterns apart, rounding exact values, and bounding results.

use super::{CText, CType, CVar, I32};
use crate::op::Inst;
use crate::{Bounds, Flags, Format};

/// The exponent field of a pattern, as an `int32_t`.
pub fn field(c: &mut CText, format: Format, nonneg: bool, x: &CVar) -> CVar {
    let shifted = format!("{x} >> {}", format.mant());
    match nonneg {
        true => c.set(I32, shifted),
        false => c.set(I32, format!("({shifted}) & {}", x.kind.number((1 << format.exp()) - 1))),
    }
}

/// The significand of a number other than 0, with its hidden bit.
pub fn significand(c: &mut CText, format: Format, x: &CVar) -> CVar {
    let (kind, m) = (CType::unsigned(format.mant() + 1), format.mant());
    c.set(kind, format!("({x} & {}) | {}", x.kind.number((1 << m) - 1), x.kind.number(1 << m)))
}

/// The sign bit in its place, or nothing where argument `k` is never negative.
pub fn sign(inst: &Inst, c: &mut CText, k: usize, x: &CVar) -> Option<CVar> {
    (!inst.is_nonneg(k)).then(|| c.set(x.kind, format!("{x} & {}", sign_bit(inst.args[k]))))
}

/// The sign bit of a format as a constant.
pub fn sign_bit(format: Format) -> String {
    CType::of(format).number(1 << (format.width() - 1))
}

/// The sign of argument `k` moved to its place in the result's format.
pub fn moved_sign(inst: &Inst, c: &mut CText, k: usize, x: &CVar) -> Option<CVar> {
    if inst.never_negative(k) {
        return None;
    }
    let (from, to, kind) = (inst.args[k].width(), inst.result.width(), CType::of(inst.result));
    let bit = sign_bit(inst.result);
    Some(match from >= to {
        true => c.set(kind, format!("(({kind})({x} >> {})) & {bit}", from - to)),
        false => c.set(kind, format!("(({kind}){x} << {}) & {bit}", to - from)),
    })
}

/// The sign of a product or quotient; `None`: it is never negative.
pub fn sign_of_product(inst: &Inst, c: &mut CText, args: &[CVar]) -> Option<CVar> {
    let bit = sign_bit(inst.result);
    match (inst.same, inst.is_nonneg(0), inst.is_nonneg(1)) {
        (true, ..) | (_, true, true) => None,
        (_, true, false) => Some(c.set(args[1].kind, format!("{} & {bit}", args[1]))),
        (_, false, true) => Some(c.set(args[0].kind, format!("{} & {bit}", args[0]))),
        _ => Some(c.set(args[0].kind, format!("({} ^ {}) & {bit}", args[0], args[1]))),
    }
}

/// The magnitude of argument `k`: its pattern without the sign.
pub fn magnitude(inst: &Inst, c: &mut CText, k: usize, x: &CVar) -> CVar {
    match inst.is_nonneg(k) {
        true => x.clone(),
        false => c.set(x.kind, format!("{x} & {}", x.kind.number((inst.args[k].mask() >> 1) as i128))),
    }
}

/// A test of whether none of these arguments is 0; `None`: none can be.
pub fn none_zero(inst: &Inst, c: &mut CText, args: &[CVar], of: &[usize]) -> Option<CVar> {
    let can: Vec<String> = of.iter().filter(|k| inst.bounds(**k).zero).map(|k| format!("{} != 0", args[*k])).collect();
    (!can.is_empty()).then(|| c.test(can.join(" & ")))
}

/// A number (-1)^sign * magnitude * 2^e that is to be rounded to a float.
pub struct Value {
    pub magnitude: CVar,
    /// The magnitude is below 2^`bits`, and at least 2^`least` unless it is 0.
    pub bits: u32,
    pub least: u32,
    /// Whether the lowest bit is set where the exact value is no integer, and stands for what is below it. There are then
    /// two bits at least below those that are kept.
    pub sticky: bool,
    /// The biased exponent of a magnitude of 1: an expression of an `int32_t`, and what is added to it.
    pub exp: String,
    pub offset: i64,
    pub sign: Option<CVar>,
    /// Whether the result is other than 0; `None`: it always is.
    pub live: Option<CVar>,
}

/// Rounds a value to a format, to nearest even or toward zero, and bounds it. `flags` are those that can be raised.
pub fn round(c: &mut CText, format: Format, cut: bool, v: Value, flags: Flags) -> CVar {
    let m = format.mant();
    let exact = v.bits <= m + 1 && !v.sticky;
    let wide = CType::unsigned(m + 2).max(v.magnitude.kind);
    let mut n = Normal { x: c.set(wide, &v.magnitude), bits: v.bits, least: v.least, exp: v.exp, offset: v.offset };
    n.compress(c, m);
    n.normalise(c);
    n.compress(c, m);
    let (kind, top) = (n.x.kind, n.bits - 1);
    let (fraction, hidden) = if top <= m {
        (c.set(kind, format!("{} << {}", n.x, m - top)), true)
    } else if exact || cut {
        (c.set(kind, format!("{} >> {}", n.x, top - m)), true)
    } else {
        let drop = top - m;
        // Room for the carry: the leading bit goes where it is the type's own first one.
        let hidden = n.bits < kind.bits;
        let x = if hidden { n.x } else { c.set(kind, format!("{} & {}", n.x, kind.number((1 << top) - 1))) };
        let half = kind.number((1 << (drop - 1)) - 1);
        (c.set(kind, format!("({x} + {half} + (({x} >> {drop}) & 1)) >> {drop}")), hidden)
    };
    // The biased exponent of the leading bit; a hidden bit that is still there adds one to it.
    let offset = n.offset + top as i64 - hidden as i64;
    let packed = packed_type(format, flags);
    let packed = c.set(packed, format!("({packed})({} + {offset}) * {} + ({packed}){fraction}", n.exp, 1u64 << m));
    bound(c, format, &packed, v.sign, v.live, flags)
}

/// The type of an exponent field and a fraction that may be out of range by as much again as the range is.
pub fn packed_type(format: Format, flags: Flags) -> CType {
    let plain = CType::of(format);
    // A number cast from another format can be as far away as the widest of them is.
    if flags.is_empty() { plain } else { CType::signed((format.exp() + 3).max(13) + format.mant()) }
}

/// Bounds a magnitude's pattern, of the type [`packed_type`], raises the flags and adds the sign.
pub fn bound(
    c: &mut CText,
    format: Format,
    packed: &CVar,
    sign: Option<CVar>,
    live: Option<CVar>,
    flags: Flags,
) -> CVar {
    let (kind, number) = (CType::of(format), |n: u64| packed.kind.number(n as i128));
    let and_live = |test: &CVar| live.as_ref().map_or(test.to_string(), |l| format!("{l} & {test}"));
    let mut value = packed.clone();
    let above = Flags(flags.0 & (Flags::OVERFLOW | Flags::SATURATION).0);
    if !above.is_empty() {
        let most = number(format.max_bits());
        let test = c.test(format!("{packed} > {most}"));
        c.raise(above, and_live(&test));
        value = c.set(packed.kind, format!("{test} ? {most} : {packed}"));
    }
    let mut keep = live.clone();
    if flags.contains(Flags::UNDERFLOW) {
        let below = c.test(format!("{packed} < {}", number(1 << format.mant())));
        c.raise(Flags::UNDERFLOW, and_live(&below));
        let inside = format!("!{below}");
        keep = Some(c.test(live.map_or(inside.clone(), |l| format!("{l} & {inside}"))));
    }
    let signed = match sign {
        Some(s) => format!("({kind}){value} | {s}"),
        None => format!("({kind}){value}"),
    };
    match keep {
        Some(keep) => c.set(kind, format!("{keep} ? ({signed}) : 0")),
        None => c.set(kind, signed),
    }
}

/// A magnitude on the way to its place; as [`Value`].
struct Normal {
    x: CVar,
    bits: u32,
    least: u32,
    exp: String,
    offset: i64,
}

impl Normal {
    /// Goes to a narrower type where that keeps what rounding to `m` bits needs: two more, and a lowest one for all others.
    fn compress(&mut self, c: &mut CText, m: u32) {
        for bits in [32, 64] {
            // One spare bit where the leading one is not in its place yet.
            let room = bits - (self.bits != self.least + 1) as u32;
            if self.x.kind.bits <= bits || m + 2 > bits {
                continue;
            }
            let (kind, x, drop) = (CType::unsigned(bits), self.x.clone(), self.bits.saturating_sub(room));
            if drop == 0 {
                self.x = c.set(kind, x);
                return;
            }
            if self.least + 1 < m + 3 + drop {
                continue;
            }
            let rest = x.kind.number((1i128 << drop) - 1);
            self.x = c.set(kind, format!("({kind})({x} >> {drop}) | (({x} & {rest}) != 0)"));
            (self.bits, self.least, self.offset) = (room, self.least - drop, self.offset + drop as i64);
            return;
        }
    }

    /// Moves the leading bit to the same place always.
    fn normalise(&mut self, c: &mut CText) {
        let (x, kind) = (self.x.clone(), self.x.kind);
        match self.bits - self.least {
            0 | 1 => {}
            2 => {
                let two = c.set(I32, format!("{x} >> {}", self.bits - 1));
                self.x = c.set(kind, format!("{two} != 0 ? {x} : {x} << 1"));
                self.exp = format!("{} + {two}", self.exp);
                self.offset -= 1;
            }
            _ => {
                let zeros = c.set(I32, format!("pf_clz{}({x})", kind.bits));
                self.x = c.set(kind, format!("pf_shl{}({x}, (uint32_t){zeros})", kind.bits));
                self.exp = format!("{} - {zeros}", self.exp);
                self.bits = kind.bits;
            }
        }
        self.least = self.bits - 1;
    }
}

/// Of a magnitude within bounds of an int or fixed: how many bits it has, and where the leading one of the least is.
pub fn bits_of(b: Bounds) -> (u32, u32) {
    let most = b.high.max(-b.low).max(1) as u128;
    let least = if b.low > 0 {
        b.low
    } else if b.high < 0 {
        -b.high
    } else {
        1
    } as u128;
    (128 - most.leading_zeros(), least.ilog2())
}
