//! Scaling by a variable power of two, shared by floats and logs.

use crate::Flags;
use crate::circuit::{Circuit, Sig};
use crate::number::real::exp2;
use crate::op::Inst;
use crate::op::ctext::{CText, CVar, I32};
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::shift::any;
use crate::op::pieces::monotone::Ends;
use crate::op::semantics::Real;
use crate::rtl::cat;

/// The largest amount that a float or log is shifted by in the text of a kernel, and in C: beyond it every value of every
/// format that C holds leaves the range.
pub const MOST_PLACES: i32 = 4096;

/// Whether a variable amount can make the result larger, and whether it can make it smaller.
pub fn directions(inst: &Inst) -> (bool, bool) {
    let signed = inst.args[1].is_signed() && !inst.is_nonneg(1);
    (inst.attrs.d > 0 || signed, inst.attrs.d < 0 || signed)
}

/// The arguments of the least and of the greatest magnitude that a variable scaling can give.
pub fn extremes(inst: &Inst) -> Ends {
    let (low, high) = inst.magnitudes(0);
    let (amounts, mask) = (inst.bounds(1), inst.args[1].mask());
    let (down, up) = if inst.attrs.d > 0 { (amounts.low, amounts.high) } else { (amounts.high, amounts.low) };
    let [least, greatest] = [(low, down), (high, up)].map(|(x, amount)| vec![x, amount as u64 & mask]);
    Ends { least, greatest, zero: inst.bounds(0).zero }
}

/// The variable amount of a use with its sign. Beyond 2^20 every amount has the same effect as 2^20.
pub fn amount(inst: &Inst, bits: u64) -> i64 {
    inst.args[1].to_int(bits).clamp(-(1 << 20), 1 << 20) as i64 * inst.attrs.d as i64
}

/// The same in C, bounded, since it is a 64-bit integer and ldexp takes an int.
pub fn c_amount(inst: &Inst, name: &str) -> String {
    let sign = if inst.attrs.d < 0 { "-" } else { "" };
    let most = MOST_PLACES;
    match inst.args[1].is_signed() {
        true => format!("{sign}(int)(({name}) > {most} ? {most} : ({name}) < -{most} ? -{most} : ({name}))"),
        false => format!("{sign}(int)((uint64_t)({name}) > {most} ? {most} : ({name}))"),
    }
}

/// C: the amount with its sign, cut down to `reach` either way.
pub fn c_amount_of(inst: &Inst, c: &mut CText, amount: &CVar, reach: i64) -> String {
    let n = c.int(inst.args[1], amount);
    let most = n.kind.number(reach as i128);
    let above = if inst.bounds(1).high > reach as i128 { format!("{n} > {most} ? {most} : ") } else { String::new() };
    let below = match inst.bounds(1).low < -reach as i128 {
        true => format!("{n} < {0} ? {0} : ", n.kind.number(-reach as i128)),
        false => String::new(),
    };
    let n = c.set(I32, format!("{above}{below}{n}"));
    if inst.attrs.d < 0 { format!("-{n}") } else { n.text }
}

/// x * 2^n, in four steps since 2^n alone may leave f64's range.
pub fn times_power(x: Real, n: i128) -> (Real, Flags) {
    // Any f64 leaves the range within 2^2200.
    let n = n.clamp(-2200, 2200) as i32;
    let quarter = exp2(n / 4);
    Real::number(x.f64() * exp2(n - 3 * (n / 4)) * quarter * quarter * quarter)
}

/// A variable amount cut down to what can matter.
pub struct Amount {
    /// Two's complement if `signed`, else unsigned.
    pub low: Sig,
    pub signed: bool,
    pub huge: Option<Huge>,
}

/// The properties of an amount beyond its low bits.
pub struct Huge {
    /// Whether the amount's magnitude exceeds the low bits.
    pub huge: Sig,
    sign: Option<Sig>,
}

impl Amount {
    /// Keeps `limit` bits and the sign.
    pub fn new(inst: &Inst, c: &mut Circuit, amount: Sig, limit: u32) -> Amount {
        // A sign bit that is known to be clear is read like any other.
        let signed = inst.args[1].is_signed() && !inst.is_nonneg(1);
        let width = c.width(amount);
        let magnitude = width - signed as u32;
        if magnitude <= limit {
            return Amount { low: amount, signed, huge: None };
        }
        let sign = signed.then(|| field(c, "sign_n", amount, width - 1, width - 1));
        let huge = any(c, amount, magnitude - 1, limit, sign);
        let mut low = field(c, "low_n", amount, limit - 1, 0);
        if let Some(s) = sign {
            low = c.logic("low_n", c.cat(&[s, low]));
        }
        Amount { low, signed, huge: Some(Huge { huge, sign }) }
    }
}

/// Replaces the exponent by one far out of range, in the direction of a huge amount.
pub fn beyond(inst: &Inst, c: &mut Circuit, exp: Sig, huge: &Huge) -> Sig {
    let (exp, far) = (c.x(exp), c.x(huge.huge));
    let (up, down) = directions(inst);
    let bits = exp.width();
    if !(up && down) {
        // The top bit is the sign where the exponent can fall, and else the first bit beyond the format.
        return c.logic("exp", cat([exp.msb() | far, exp.low(bits - 1)]));
    }
    let sign = c.x(huge.sign.expect("only a signed amount goes both ways"));
    let [falls, rises] = if inst.attrs.d > 0 { [sign.clone(), !sign] } else { [!&sign, sign] };
    let top = far.mux(&falls, &exp.msb());
    c.logic("exp", cat([top, far.mux(&rises, &exp.bit(bits - 2)), exp.low(bits - 2)]))
}
