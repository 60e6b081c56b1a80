//! From numbers to bit patterns of any format, rounded to nearest even.

use hdl::Format;
use hdl::number::real::exp2;

/// The pattern of the value nearest to `x`, and whether `x` was in range. Out of range gives the nearest end; what lies
/// below a float's smallest normal value gives 0 and counts as in range.
pub fn encode(format: Format, x: f64) -> (u64, bool) {
    match format {
        Format::Float { width, mant } => float(format, width as u32, mant as u32, x),
        Format::Log { .. } => log(format, x),
        _ => {
            let scaled = (x * exp2(format.frac().unwrap_or(0) as i32)).round_ties_even();
            let (low, high) = (format.to_int(format.min_bits()), format.to_int(format.max_bits()));
            // The ends are compared as integers: 2^63 - 1 is no f64.
            if scaled.is_nan() || scaled < low as f64 {
                (format.min_bits(), false)
            } else if scaled as i128 > high {
                (format.max_bits(), false)
            } else {
                (scaled as i128 as u64 & format.mask(), true)
            }
        }
    }
}

fn log(format: Format, x: f64) -> (u64, bool) {
    let sign = (x < 0.0) as u64 * (1 << (format.width() - 1));
    let exact = hdl::number::exact::Exact::from_float(x);
    match exact.map(|x| hdl::number::exact::to_bits(format, &x)) {
        Some(Ok((bits, _))) => (bits, true),
        _ => (sign | format.max_bits(), false),
    }
}

fn float(format: Format, width: u32, mant: u32, x: f64) -> (u64, bool) {
    let sign = (x.is_sign_negative() as u64) << (width - 1);
    let bits = x.abs().to_bits();
    if bits < f64::MIN_POSITIVE.to_bits() {
        // Subnormal numbers of f64 lie below the smallest normal value of every format.
        return (0, true);
    }
    // Rounding the fraction may carry into the exponent, which is as it should be.
    let drop = 52 - mant;
    let half = (1u64 << drop) >> 1;
    let odd = bits >> drop & 1;
    let rounded = if drop == 0 { bits } else { (bits + half - 1 + odd) >> drop };
    let field = (rounded >> mant) as i64 - 1023 + format.bias() as i64;
    if field >= (1 << format.exp()) - 1 || !x.is_finite() {
        return (sign | format.max_bits(), false);
    }
    if field <= 0 {
        return (0, true);
    }
    (sign | (field as u64) << mant | rounded & ((1 << mant) - 1), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(name: &str) -> Format {
        name.parse().expect("a format")
    }

    #[test]
    fn single_precision_rounds_as_the_machine_does() {
        let f = format("float32.23");
        for x in [1.0, -1.5, 0.1, 1.0 + 2f64.powi(-24), 1.0 + 3.0 * 2f64.powi(-24), 3.4e38, 1.2e-38, 2.0 - 1e-12, 0.0] {
            assert_eq!(encode(f, x), ((x as f32).to_bits() as u64, true), "{x}");
        }
        assert_eq!(encode(f, -1e39), (f.min_bits(), false));
        assert_eq!(encode(f, 1e-39), (0, true));
        assert_eq!(encode(format("float64.52"), 0.1), (0.1f64.to_bits(), true));
    }

    #[test]
    fn logs_round_their_logarithm() {
        let f = format("log17.8");
        let one = 3 << 14;
        for (x, bits) in [(1.0, one), (0.0, 0), (-2.0, 1 << 16 | (one + 256)), (0.25, one - 512), (1e-30, 0)] {
            assert_eq!(encode(f, x), (bits, true), "{x}");
        }
        // 1.001 is nearer to 1 than to 2^(1/256), and 1.002 is not.
        assert_eq!((encode(f, 1.001).0, encode(f, 1.002).0), (one, one + 1));
        assert_eq!((encode(f, 1e30), encode(f, -1e30)), ((f.max_bits(), false), (f.min_bits(), false)));
    }

    #[test]
    fn ints_and_fixeds_round_to_even_and_saturate() {
        assert_eq!(encode(format("int8"), -2.5), (0xfe, true));
        assert_eq!(encode(format("int8"), 127.6), (127, false));
        assert_eq!(encode(format("uint8"), -1.0), (0, false));
        assert_eq!(encode(format("fixed8.4"), 1.53125), (0x18, true));
        assert_eq!(encode(format("int64"), 9.3e18), (i64::MAX as u64, false));
        assert_eq!(encode(format("int64"), -2f64.powi(63)), (1 << 63, true));
    }
}
