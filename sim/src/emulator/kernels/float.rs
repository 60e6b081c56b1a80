//! Kernels of the float operators: native arithmetic, then one rounding to the format.

use super::{Variants, variants};
use crate::emulator::frame::{Class, Frame, Instr, LANES};
use hdl::Flags;
use hdl::op::Inst;
use hdl::op::facts::Fast;

/// The kernel of a float operator or a cast from or to a float.
pub fn find(fast: Fast, inst: &Inst, from: Class, to: Class) -> Option<Variants> {
    use Class::{F32, F64, I32, I64};
    Some(match (fast, from, to) {
        (Fast::Add, F32, F32) => variants!(n32::add),
        (Fast::Sub, F32, F32) => variants!(n32::sub),
        (Fast::Mul, F32, F32) => variants!(n32::mul),
        (Fast::Neg, F32, F32) => variants!(n32::neg),
        (Fast::Abs, F32, F32) => variants!(n32::abs),
        (Fast::Add, F64, F64) => variants!(n64::add),
        (Fast::Sub, F64, F64) => variants!(n64::sub),
        (Fast::Mul, F64, F64) => variants!(n64::mul),
        (Fast::Neg, F64, F64) => variants!(n64::neg),
        (Fast::Abs, F64, F64) => variants!(n64::abs),
        (Fast::Div, F32, F32) => variants!(div::<f32>),
        (Fast::Div, F64, F64) => variants!(div::<f64>),
        (Fast::Scale(_), F32, F32) => variants!(n32::scale),
        (Fast::Scale(_), F64, F64) => variants!(n64::scale),
        // Amounts of up to 32 bits; a uint32 amount above i32's range is held as a negative number.
        (Fast::ScaleBy(_), F32, F32) if narrow_amount(inst) => variants!(n32::scale_by),
        (Fast::ScaleBy(_), F64, F64) if narrow_amount(inst) => variants!(n64::scale_by),
        (Fast::Cast, F32, F32) => variants!(cast::<f32, f32>),
        (Fast::Cast, F32, F64) => variants!(cast::<f32, f64>),
        (Fast::Cast, F64, F32) => variants!(cast::<f64, f32>),
        (Fast::Cast, F64, F64) => variants!(cast::<f64, f64>),
        (Fast::Cast, I32, F32) if inst.args[0].is_signed() => variants!(narrow_from_int),
        (Fast::Cast, I32, F64) if inst.args[0].is_signed() => variants!(from_int::<i32, f64>),
        (Fast::Cast, I32, F32) => variants!(from_int::<u32, f32>),
        (Fast::Cast, I32, F64) => variants!(from_int::<u32, f64>),
        (Fast::Cast, I64, F32) if inst.args[0].is_signed() => variants!(from_int::<i64, f32>),
        (Fast::Cast, I64, F64) if inst.args[0].is_signed() => variants!(from_int::<i64, f64>),
        (Fast::Cast, I64, F32) => variants!(from_int::<u64, f32>),
        (Fast::Cast, I64, F64) => variants!(from_int::<u64, f64>),
        (Fast::Cast, F32, I32) => variants!(to_int::<f32, i32>),
        (Fast::Cast, F64, I32) => variants!(to_int::<f64, i32>),
        (Fast::Cast, F32, I64) if inst.result.is_signed() => variants!(to_int::<f32, i64>),
        (Fast::Cast, F64, I64) if inst.result.is_signed() => variants!(to_int::<f64, i64>),
        _ => return None,
    })
}

fn narrow_amount(inst: &Inst) -> bool {
    let amount = inst.args[1];
    amount.width() < 32 || (amount.width() == 32 && amount.is_signed())
}

/// `add`, `sub`, `mul`, `neg`, `abs` on a native type: the same text for f32 and f64.
macro_rules! native {
    ($module:ident, $float:ty, $bits:ty, $int:ty, $mant:expr) => {
        mod $module {
            use super::*;

            const SIGN: $bits = 1 << (<$bits>::BITS - 1);

            /// One operation on all lanes: `op` in native arithmetic, then rounded; `nonzero` says whether the exact
            /// result differs from 0.
            #[inline(always)]
            unsafe fn each(
                i: &Instr,
                f: &mut Frame,
                op: impl Fn($float, $float) -> $float,
                nonzero: impl Fn($float, $float, $float) -> bool,
            ) {
                let (a, b, q) = unsafe {
                    (f.lanes::<$float>(i.args[0]), f.lanes::<$float>(i.args[1]), f.lanes_mut::<$float>(i.dst))
                };
                let drop = i.to.drop;
                let (min, max) = (i.to.min as $bits, i.to.max as $bits);
                let mask: $bits = (1 << drop) - 1;
                let half = mask >> 1;
                let (mut over, mut under): ($bits, $bits) = (0, 0);
                for l in 0..LANES {
                    let x = op(a[l], b[l]);
                    let magnitude = x.to_bits() & !SIGN;
                    let sign = x.to_bits() & SIGN;
                    let r = (magnitude + half + ((magnitude >> drop) & 1)) & !mask;
                    let big = r > max;
                    let tiny = magnitude < min;
                    over |= big as $bits;
                    under |= (tiny & nonzero(a[l], b[l], x)) as $bits;
                    let r = if big { max } else { r };
                    let r = if tiny { 0 } else { r | sign };
                    q[l] = <$float>::from_bits(r);
                }
                f.flags |= Flags::OVERFLOW.when(over != 0) | Flags::UNDERFLOW.when(under != 0);
            }

            #[inline(always)]
            pub unsafe fn add(i: &Instr, f: &mut Frame) {
                unsafe { each(i, f, |a, b| a + b, |_, _, x| x != 0.0) }
            }

            #[inline(always)]
            pub unsafe fn sub(i: &Instr, f: &mut Frame) {
                unsafe { each(i, f, |a, b| a - b, |_, _, x| x != 0.0) }
            }

            #[inline(always)]
            pub unsafe fn mul(i: &Instr, f: &mut Frame) {
                unsafe { each(i, f, |a, b| a * b, |a, b, _| (a != 0.0) & (b != 0.0)) }
            }

            /// Multiplies by a power of two in the exponent field. Amounts beyond any exponent's range do as the ends.
            #[inline(always)]
            unsafe fn scaled(i: &Instr, f: &mut Frame, amount: impl Fn(usize) -> $int) {
                let (a, q) = unsafe { (f.lanes::<$float>(i.args[0]), f.lanes_mut::<$float>(i.dst)) };
                let least = (i.format.to_f64(1 << i.format.mant()) as $float).to_bits() as $int >> $mant;
                let most = (i.format.to_f64(i.format.max_bits()) as $float).to_bits();
                let greatest = most as $int >> $mant;
                let (mut over, mut under): ($bits, $bits) = (0, 0);
                for l in 0..LANES {
                    let bits = a[l].to_bits();
                    let exponent = ((bits & !SIGN) >> $mant) as $int + amount(l);
                    let zero = bits == 0;
                    let big = (exponent > greatest) & !zero;
                    let tiny = exponent < least;
                    over |= big as $bits;
                    under |= (tiny & !zero) as $bits;
                    let fraction = bits & (SIGN | ((1 << $mant) - 1));
                    let r = fraction | ((exponent as $bits) << $mant);
                    let r = if big { most | (bits & SIGN) } else { r };
                    q[l] = <$float>::from_bits(if tiny | zero { 0 } else { r });
                }
                f.flags |= Flags::OVERFLOW.when(over != 0) | Flags::UNDERFLOW.when(under != 0);
            }

            #[inline(always)]
            pub unsafe fn scale(i: &Instr, f: &mut Frame) {
                let n = i.n.clamp(-5000, 5000) as $int;
                unsafe { scaled(i, f, |_| n) }
            }

            #[inline(always)]
            pub unsafe fn scale_by(i: &Instr, f: &mut Frame) {
                let amount = unsafe { f.lanes::<i32>(i.args[1]) };
                let sign = i.n as $int;
                unsafe { scaled(i, f, |l| amount[l].clamp(-5000, 5000) as $int * sign) }
            }

            /// Zero has no sign.
            #[inline(always)]
            pub unsafe fn neg(i: &Instr, f: &mut Frame) {
                let (a, q) = unsafe { (f.lanes::<$float>(i.args[0]), f.lanes_mut::<$float>(i.dst)) };
                for l in 0..LANES {
                    q[l] = 0.0 - a[l];
                }
            }

            #[inline(always)]
            pub unsafe fn abs(i: &Instr, f: &mut Frame) {
                let (a, q) = unsafe { (f.lanes::<$float>(i.args[0]), f.lanes_mut::<$float>(i.dst)) };
                for l in 0..LANES {
                    q[l] = a[l].abs();
                }
            }
        }
    };
}

native!(n32, f32, u32, i32, 23);
native!(n64, f64, u64, i64, 52);

/// A native float that a kernel computes in f64 and stores.
pub trait Native: Copy {
    fn wide(self) -> f64;
    fn narrow(x: f64) -> Self;
}

impl Native for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self as f64
    }
    #[inline(always)]
    fn narrow(x: f64) -> f32 {
        x as f32
    }
}

impl Native for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn narrow(x: f64) -> f64 {
        x
    }
}

/// A format's rounding in f64's bits, whatever its own class.
#[derive(Clone, Copy)]
struct Wide {
    drop: u32,
    min: u64,
    max: u64,
}

impl Wide {
    #[inline(always)]
    fn of(format: hdl::Format) -> Wide {
        let min = format.to_f64(1 << format.mant()).to_bits();
        Wide { drop: 52 - format.mant(), min, max: format.to_f64(format.max_bits()).to_bits() }
    }

    /// Rounds `x`; gives the value and whether it was above or below the range (0 is neither).
    #[inline(always)]
    fn round(self, x: f64) -> (f64, bool, bool) {
        const SIGN: u64 = 1 << 63;
        let magnitude = x.to_bits() & !SIGN;
        let sign = x.to_bits() & SIGN;
        let mask = (1u64 << self.drop) - 1;
        let r = (magnitude + (mask >> 1) + ((magnitude >> self.drop) & 1)) & !mask;
        let big = r > self.max;
        let tiny = r < self.min;
        let r = if big { self.max } else { r };
        let r = if tiny { 0 } else { r | sign };
        (f64::from_bits(r), big, tiny)
    }
}

/// Rounds what `op` gives for each lane in f64 (exact, or correctly rounded with a margin) to the result's
/// format. `nonzero` says whether the exact result differs from 0; above the range raises `above`.
#[inline(always)]
unsafe fn through_f64<A: Copy, T: Native>(
    i: &Instr,
    f: &mut Frame,
    above: Flags,
    op: impl Fn(usize, A) -> f64,
    nonzero: impl Fn(usize, A) -> bool,
) {
    let (a, q) = unsafe { (f.lanes::<A>(i.args[0]), f.lanes_mut::<T>(i.dst)) };
    let to = Wide::of(i.format);
    let (mut over, mut under) = (0u64, 0u64);
    for l in 0..LANES {
        let (r, big, tiny) = to.round(op(l, a[l]));
        over |= big as u64;
        under |= (tiny & nonzero(l, a[l])) as u64;
        q[l] = T::narrow(r);
    }
    f.flags |= above.when(over != 0) | Flags::UNDERFLOW.when(under != 0);
}

#[inline(always)]
unsafe fn div<T: Native + 'static>(i: &Instr, f: &mut Frame) {
    let b = unsafe { f.lanes::<T>(i.args[1]) };
    let invalid = b.iter().fold(0u32, |a, x| a | (x.wide() == 0.0) as u32);
    f.flags |= Flags::INVALID.when(invalid != 0);
    let quotient = |l: usize, a: T| if b[l].wide() == 0.0 { 0.0 } else { a.wide() / b[l].wide() };
    let nonzero = |l: usize, a: T| (a.wide() != 0.0) & (b[l].wide() != 0.0);
    unsafe { through_f64::<T, T>(i, f, Flags::OVERFLOW, quotient, nonzero) }
}

/// 2^n for |n| <= 1022.
#[inline(always)]
fn power_of_two(n: i64) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

#[inline(always)]
unsafe fn cast<A: Native + 'static, T: Native>(i: &Instr, f: &mut Frame) {
    unsafe { through_f64::<A, T>(i, f, Flags::SATURATION, |_, a| a.wide(), |_, a| a.wide() != 0.0) }
}

/// An integer type that a slot holds.
pub trait Integer: Copy + 'static {
    /// An f64 that rounds to 25 bits or fewer as the integer itself does: exact, or with everything below the 53rd
    /// bit folded into a sticky bit.
    fn sticky(self) -> f64;
    fn is_zero(self) -> bool;
    fn from_f64(x: f64) -> Self;
}

macro_rules! narrow_integer {
    ($t:ty) => {
        impl Integer for $t {
            #[inline(always)]
            fn sticky(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn is_zero(self) -> bool {
                self == 0
            }
            #[inline(always)]
            fn from_f64(x: f64) -> $t {
                // SAFETY: callers clamp to the range of a 64-bit integer first.
                unsafe { x.to_int_unchecked::<i64>() as $t }
            }
        }
    };
}
narrow_integer!(i32);
narrow_integer!(u32);

macro_rules! wide_integer {
    ($t:ty, $small:expr) => {
        impl Integer for $t {
            #[inline(always)]
            fn sticky(self) -> f64 {
                // Rounding to odd at bit 12 keeps 52 bits, far more than any result has, and f64 holds it exactly;
                // below 2^52 the integer is exact as it is.
                let folded = (self & !0xfff) | (((self & 0xfff != 0) as $t) << 12);
                (if $small(self) { self } else { folded }) as f64
            }
            #[inline(always)]
            fn is_zero(self) -> bool {
                self == 0
            }
            #[inline(always)]
            fn from_f64(x: f64) -> $t {
                // SAFETY: callers clamp to the range of a 64-bit integer first.
                unsafe { x.to_int_unchecked::<i64>() as $t }
            }
        }
    };
}
wide_integer!(i64, |x: i64| (x.wrapping_add(1 << 52) as u64) < 1 << 53);
wide_integer!(u64, |x: u64| x < 1 << 52);

#[inline(always)]
unsafe fn from_int<A: Integer, T: Native>(i: &Instr, f: &mut Frame) {
    let factor = power_of_two(-(i.from.frac().unwrap_or(0) as i64));
    unsafe { through_f64::<A, T>(i, f, Flags::SATURATION, |_, a| a.sticky() * factor, |_, a| !a.is_zero()) }
}

/// From a signed 32-bit integer to a narrow float, in 32 bits throughout: what lies below the 16th bit of a large
/// magnitude is folded into one sticky bit, which makes the conversion exact and leaves the rounding to the format.
#[inline(always)]
unsafe fn narrow_from_int(i: &Instr, f: &mut Frame) {
    let (a, q) = unsafe { (f.lanes::<i32>(i.args[0]), f.lanes_mut::<f32>(i.dst)) };
    let factor = power_of_two(-(i.from.frac().unwrap_or(0) as i64)) as f32;
    let drop = i.to.drop;
    let (min, max) = (i.to.min as u32, i.to.max as u32);
    let mask: u32 = (1 << drop) - 1;
    let (mut over, mut under) = (0u32, 0u32);
    for l in 0..LANES {
        let size = a[l].unsigned_abs();
        let folded = (size & !0x1ff) | (((size & 0x1ff) != 0) as u32) << 9;
        let exact = if size < 1 << 24 { size } else { folded };
        // At most 2^31, so that the signed conversion, which every instruction set has, serves after one halving.
        let half = (exact >> 1) as i32 as f32 * 2.0 + (exact & 1) as i32 as f32;
        let magnitude = (half * factor).to_bits();
        let r = (magnitude + (mask >> 1) + ((magnitude >> drop) & 1)) & !mask;
        let big = r > max;
        let tiny = magnitude < min;
        over |= big as u32;
        under |= (tiny & (size != 0)) as u32;
        let r = if big { max } else { r };
        let r = if tiny { 0 } else { r | (a[l] as u32 & 1 << 31) };
        q[l] = f32::from_bits(r);
    }
    f.flags |= Flags::SATURATION.when(over != 0) | Flags::UNDERFLOW.when(under != 0);
}

/// To a signed integer of at most 64 bits, or an unsigned one of at most 32.
#[inline(always)]
unsafe fn to_int<A: Native + 'static, T: Integer>(i: &Instr, f: &mut Frame) {
    let (a, q) = unsafe { (f.lanes::<A>(i.args[0]), f.lanes_mut::<T>(i.dst)) };
    let factor = power_of_two(i.format.frac().unwrap_or(0) as i64);
    let min = i.format.to_int(i.format.min_bits()) as f64;
    let top = i.format.to_int(i.format.max_bits());
    // 2^63 - 1 is no f64: compare with 2^63 there, and write the integer itself.
    let limit = (top + 1) as f64;
    let top = top as i64;
    let mut out = 0u64;
    for l in 0..LANES {
        let x = (a[l].wide() * factor).round_ties_even();
        let (high, low) = (x >= limit, x < min);
        out |= (high | low) as u64;
        let inside = if high | low { 0.0 } else { x };
        let value = T::from_f64(inside);
        let value = if high { int_of::<T>(top) } else { value };
        q[l] = if low { T::from_f64(min) } else { value };
    }
    f.flags |= Flags::SATURATION.when(out != 0);
}

/// An i64 as a slot's integer type.
#[inline(always)]
fn int_of<T: Integer>(x: i64) -> T {
    // SAFETY: T is i32, u32, i64 or u64; the low bytes of a little-endian i64 are the truncated integer.
    unsafe { std::mem::transmute_copy::<i64, T>(&x) }
}
