//! The admissible results of an operator whose real result is known to lie between two numbers: the direction of its rounding and
//! the limits of its format decide.

use hdl::op::{Inst, Operator};
use hdl::{Format, Rounding};

/// Ways from a real number to a pattern of a float or log.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Rounded(Rounding),
    /// Toward lesser, and toward greater values.
    Down,
    Up,
}

/// All lists of one reading of each argument.
pub fn combined(args: &[Format], row: &[u64], readings: impl Fn(Format, u64) -> Vec<u64>) -> Vec<Vec<u64>> {
    let mut lists: Vec<Vec<u64>> = vec![Vec::new()];
    for (f, bits) in args.iter().zip(row) {
        let readings = readings(*f, *bits);
        lists = lists.iter().flat_map(|l| readings.iter().map(|w| [&l[..], &[*w]].concat())).collect();
    }
    lists
}

/// Whether a use has an int or fixed that is exactly known: doubles hold all arguments but logs.
pub fn is_exact(op: &dyn Operator, inst: &Inst) -> bool {
    inst.result.is_integral() && !inst.args.iter().any(|f| f.is_log()) && op.table(inst).is_none()
}

/// Whether a result can be that of a real result between `low` and `high`.
pub fn agrees(op: &dyn Operator, inst: &Inst, bits: u64, low: f64, high: f64) -> bool {
    let f = inst.result;
    let faithful = op.table(inst).is_some();
    if f.is_integral() {
        // Ends of 64 bits are no doubles.
        let x = f.to_int(bits);
        let slack = (faithful as i128) + (x.abs() >> 52);
        let scaled = |y: f64| y * 2f64.powi(f.frac().unwrap_or(0) as i32);
        return scaled(low) as i128 - slack <= x && x <= scaled(high) as i128 + slack;
    }
    let (down, up) = match faithful {
        true => (Way::Down, Way::Up),
        false => (Way::Rounded(inst.attrs.round), Way::Rounded(inst.attrs.round)),
    };
    let key = |bits| hdl::number::reduce::order_key(f, bits);
    key(pattern(f, down, low, -1.0)) <= key(bits) && key(bits) <= key(pattern(f, up, high, 1.0))
}

/// The pattern of a number in a float or log; beyond the range the outermost one, and below it 0. `side` is -1 or 1: that of
/// the logarithm's own rounding.
fn pattern(f: Format, way: Way, x: f64, side: f64) -> u64 {
    let sign = if x < 0.0 { 1u64 << (f.width() - 1) } else { 0 };
    let way = match way {
        Way::Rounded(Rounding::Nearest) => f64::round_ties_even,
        Way::Rounded(Rounding::Truncate) => f64::floor,
        Way::Down if x < 0.0 => f64::ceil,
        Way::Up if x >= 0.0 => f64::ceil,
        _ => f64::floor,
    };
    let size = x.abs();
    if size == 0.0 {
        return 0;
    }
    if f.is_log() {
        let log = size.log2();
        let log = log + side * x.signum() * log.abs() * f64::EPSILON;
        let log = way(log * 2f64.powi(f.log_frac() as i32)) + f.bias() as f64;
        let most = (2 * f.bias() - 1) as f64;
        return if log < 0.0 { 0 } else { sign | 1 << (f.width() - 2) | log.min(most) as u64 };
    }
    // The octave by the exponent field, so that no rounding of a logarithm matters; a subnormal lies below every format.
    let octave = ((size.to_bits() >> 52) as i32 - 1023).max(-1022);
    let places = f.mant() as i32 - octave;
    // Two steps, since 2^places alone may leave f64's range.
    let whole = way(size * 2f64.powi(places / 2) * 2f64.powi(places - places / 2)) as u128;
    let carry = (whole >> (f.mant() + 1) != 0) as i32;
    let field = octave + carry + f.bias();
    if field > (1 << f.exp()) - 2 || !size.is_finite() {
        return f.max_bits() | sign;
    }
    if field < 1 || whole >> f.mant() == 0 {
        return 0;
    }
    sign | (field as u64) << f.mant() | (whole as u64) & ((1 << f.mant()) - 1)
}
