//! Real-arithmetic semantics of kernels, without the rounding of floats and logs (RULES N10): values, and operators over lanes of them.

use super::{Inst, MOST_ARGS, Operator};
use crate::number::exact::{Exact, to_bits};
use crate::number::real::exp2;
use crate::{Flags, Format, Rounding};

/// A value of the real-arithmetic semantics. Its format decides the representation: the pattern of an int or fixed, for a float or log
/// an f64, which is finite and not minus zero.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Real(u64);

/// IEEE double.
pub const DOUBLE: Format = Format::Float { width: 64, mant: 52 };

/// The format whose patterns the bits of a [`Real`] are: of an int or fixed its own, of a float or log IEEE double.
pub fn held(format: Format) -> Format {
    if format.is_integral() { format } else { DOUBLE }
}

impl Real {
    /// From a pattern of the format that [`held`] names.
    pub fn of_bits(bits: u64) -> Real {
        Real(bits)
    }

    /// A number of a float or log. Beyond the range of f64 it is the outermost one, as N2 has it.
    pub fn number(x: f64) -> (Real, Flags) {
        if x.is_finite() {
            // Minus zero becomes zero.
            return (Real((x + 0.0).to_bits()), Flags::NONE);
        }
        if x.is_nan() { (Real(0), Flags::INVALID) } else { (Real(f64::MAX.copysign(x).to_bits()), Flags::OVERFLOW) }
    }

    /// The same with `invalid` where the argument has no result and 0 stands for it.
    pub fn defined(x: Option<f64>) -> (Real, Flags) {
        x.map_or((Real(0), Flags::INVALID), Real::number)
    }

    /// The truth value of a condition, as `uint1`.
    pub fn truth(condition: bool) -> (Real, Flags) {
        (Real(condition as u64), Flags::NONE)
    }

    /// The value of a pattern of any format.
    pub fn read(format: Format, bits: u64) -> Real {
        if format.is_integral() { Real(bits) } else { Real(format.to_f64(bits).to_bits()) }
    }

    /// A number cast to a format: to an int or fixed it is rounded and saturates (RULES N5).
    pub fn cast(format: Format, rounding: Rounding, x: f64) -> (Real, Flags) {
        let Some(frac) = format.frac() else { return Real::number(x) };
        if x.is_nan() {
            return (Real(0), Flags::INVALID);
        }
        let scaled = x * exp2(frac as i32);
        let whole = if rounding.truncates() { scaled.trunc() } else { scaled.round_ties_even() } as i128;
        let inside = whole.clamp(format.to_int(format.min_bits()), format.to_int(format.max_bits()));
        (Real(inside as u64 & format.mask()), Flags::SATURATION.when(inside != whole))
    }

    /// The pattern of [`held`].
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The number of a float or log.
    pub fn f64(self) -> f64 {
        f64::from_bits(self.0)
    }

    /// The number that it stands for; of more than 53 bits the nearest one.
    pub fn value(self, format: Format) -> f64 {
        if format.is_integral() { format.to_f64(self.0) } else { self.f64() }
    }

    /// The nearest pattern of the format itself, or its outermost one.
    pub fn nearest(self, format: Format) -> u64 {
        if format.is_integral() {
            return self.0;
        }
        let x = self.f64();
        let exact = Exact::from_float(x).unwrap_or_default();
        to_bits(format, &exact)
            .map_or_else(|_| if x < 0.0 { format.min_bits() } else { format.max_bits() }, |(bits, _)| bits)
    }
}

/// A quotient; none by 0.
pub fn quotient(a: Real, b: Real) -> (Real, Flags) {
    Real::defined((b.f64() != 0.0).then(|| a.f64() / b.f64()))
}

/// x^(n/d), reduced (RULES N6).
pub fn power(x: f64, n: i32, d: i32) -> (Real, Flags) {
    match (n, d) {
        (0, _) => Real::number(1.0),
        _ if x == 0.0 => Real::number(0.0),
        (_, 1) => Real::number(x.powi(n)),
        _ => Real::defined((x > 0.0).then(|| x.sqrt().powi(n))),
    }
}

/// The real-arithmetic semantics of an operator that states none: its bits for the nearest arguments.
pub fn rounded<O: Operator + ?Sized>(op: &O, inst: &Inst, args: &[Real]) -> (Real, Flags) {
    let patterns: Vec<u64> = args.iter().zip(&inst.args).map(|(a, format)| a.nearest(*format)).collect();
    let (bits, flags) = op.bits(inst, &patterns);
    (Real::read(inst.result, bits), flags)
}

/// Evaluates a use lane by lane: by its `bits` where only ints and fixeds are around, else by its `real`.
pub fn lanes<O: Operator + ?Sized>(op: &O, inst: &Inst, args: &[&[Real]], out: &mut [Real], flags: &mut [Flags]) {
    if inst.args.iter().chain([&inst.result]).all(|f| f.is_integral()) {
        each(args, out, flags, |args| {
            let mut patterns = [0; MOST_ARGS];
            patterns.iter_mut().zip(args).for_each(|(p, a)| *p = a.0);
            let (bits, flags) = op.bits(inst, &patterns[..args.len()]);
            (Real(bits), flags)
        });
    } else {
        each(args, out, flags, |args| op.real(inst, args));
    }
}

/// One loop for each number of arguments, so that it is a constant within.
fn each(args: &[&[Real]], out: &mut [Real], flags: &mut [Flags], one: impl Fn(&[Real]) -> (Real, Flags)) {
    fn over<const N: usize>(
        args: &[&[Real]],
        out: &mut [Real],
        flags: &mut [Flags],
        one: impl Fn(&[Real]) -> (Real, Flags),
    ) {
        let n = out.len();
        let args: [&[Real]; N] = std::array::from_fn(|k| &args[k][..n]);
        for (lane, (out, flags)) in out.iter_mut().zip(&mut flags[..n]).enumerate() {
            (*out, *flags) = one(&args.map(|a| a[lane]));
        }
    }
    match args.len() {
        1 => over::<1>(args, out, flags, one),
        2 => over::<2>(args, out, flags, one),
        3 => over::<3>(args, out, flags, one),
        n => {
            assert_eq!(n, MOST_ARGS, "an operator has 1 to {MOST_ARGS} arguments");
            over::<MOST_ARGS>(args, out, flags, one)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cast(format: &str, rounding: Rounding, x: f64) -> (i128, Flags) {
        let format: Format = format.parse().unwrap();
        let (real, flags) = Real::cast(format, rounding, x);
        (format.to_int(real.bits()), flags)
    }

    #[test]
    fn a_cast_rounds_and_saturates() {
        use Rounding::*;
        let (none, saturated) = (Flags::NONE, Flags::SATURATION);
        for (format, rounding, x, want) in [
            ("int8", Nearest, 2.5, (2, none)),
            ("int8", Nearest, 3.5, (4, none)),
            ("int8", Nearest, -3.5, (-4, none)),
            ("int8", Truncate, -3.9, (-3, none)),
            ("int8", Nearest, 127.5, (127, saturated)),
            ("int8", Nearest, 127.25, (127, none)),
            ("int8", Nearest, -1e300, (-128, saturated)),
            ("uint8", Nearest, -0.5, (0, none)),
            ("uint8", Nearest, -0.75, (0, saturated)),
            ("uint64", Nearest, 18446744073709549568.0, (18446744073709549568, none)),
            ("uint64", Nearest, 18446744073709551616.0, (u64::MAX as i128, saturated)),
            ("int64", Nearest, -9223372036854775808.0, (i64::MIN as i128, none)),
            ("int64", Nearest, 9223372036854775808.0, (i64::MAX as i128, saturated)),
            ("fixed8.8", Nearest, 0.4999, (127, saturated)),
            ("fixed8.8", Nearest, -0.25, (-64, none)),
            ("ufixed64.64", Nearest, 0.5, (1 << 63, none)),
            ("fixed64.64", Nearest, 1e308, (i64::MAX as i128, saturated)),
            ("fixed16.4", Nearest, f64::NAN, (0, Flags::INVALID)),
        ] {
            assert_eq!(cast(format, rounding, x), want, "{x} to {format}, {rounding:?}");
        }
    }

    #[test]
    fn numbers_are_finite_and_have_one_zero() {
        assert_eq!(Real::number(-0.0), (Real(0), Flags::NONE));
        assert_eq!(Real::number(f64::NEG_INFINITY), (Real(f64::MIN.to_bits()), Flags::OVERFLOW));
        assert_eq!(Real::number(f64::NAN), (Real(0), Flags::INVALID));
    }

    #[test]
    fn the_nearest_pattern_of_a_number_ends_with_the_format() {
        let format: Format = "float18.9".parse().unwrap();
        for (x, bits) in [(1.0, 0xfe00), (1.0009, 0xfe00), (1e300, format.max_bits()), (-1e300, format.min_bits())] {
            let (real, _) = Real::number(x);
            assert_eq!(real.nearest(format), bits, "{x}");
        }
    }
}
