//! Functions that are made by tables: their bits are given, and keep what the rules promise of them (N3, N5, N6, N9).

use super::Use;
use super::value::{decode, exponent, greatest, logarithm, places, to_f64, two_to};
use hdl::{Flags, Format};
use num_rational::BigRational;
use num_traits::{One, Pow, Signed, Zero};

/// Whether given bits and flags keep the promise; the error says what is wrong.
pub fn check(of: &Use, args: &[u64], (bits, flags): (u64, Flags)) -> Result<(), String> {
    match of.name {
        // A fitted function is the kernel's own; the tests of its tables compare it with double-double values.
        "func" => Ok(()),
        "ladd" | "lsub" | "tolog" | "fromlog" => logs(of, args, (bits, flags)),
        "pow" => power(of, args, (bits, flags)),
        _ => elementary(of, args, (bits, flags)),
    }
}

fn ensure(good: bool, what: &str) -> Result<(), String> {
    if good { Ok(()) } else { Err(what.to_string()) }
}

/// The distance to the next number of a format at `x`, and the least number above 0.
fn step(format: Format, x: &BigRational) -> BigRational {
    match format {
        Format::Float { width, mant } => {
            let least = 1 - ((1i64 << (width - 2 - mant)) - 1);
            let e = if x.is_zero() { least } else { exponent(x).max(least) };
            two_to(e - mant as i64)
        }
        _ => two_to(-places(format)),
    }
}

/// x^(n/d): exact where it can be, else one of the two neighbours. Compared by its d-th power, which is a fraction.
fn power(of: &Use, args: &[u64], (bits, flags): (u64, Flags)) -> Result<(), String> {
    let x = decode(of.args[0], args[0]);
    let y = decode(of.result, bits);
    if of.n == 0 {
        return ensure(y.is_one() && flags.is_empty(), "the power 0 is 1");
    }
    if x.is_zero() {
        return ensure(y.is_zero() && flags.is_empty(), "a power of 0 is 0");
    }
    if x.is_negative() && of.d == 2 {
        return ensure(bits == 0 && flags == Flags::INVALID, "a root of a negative number is 0 and invalid");
    }
    let wanted: BigRational = x.abs().pow(of.n);
    let of_d = |y: &BigRational| -> BigRational { y.abs().pow(of.d) };
    let most = decode(of.result, greatest(of.result));
    let least = match of.result {
        Format::Float { width, mant } => two_to(1 - ((1i64 << (width - 2 - mant)) - 1)),
        _ => return Err("powers are floats".into()),
    };
    if flags == Flags::OVERFLOW {
        return ensure(y.abs() == most && wanted > of_d(&most), "it does not overflow");
    }
    if flags == Flags::UNDERFLOW {
        return ensure(bits == 0 && wanted < of_d(&least), "it does not underflow");
    }
    ensure(flags.is_empty(), "a flag that a power does not have")?;
    ensure(y.is_negative() == (x.is_negative() && of.n % 2 != 0), "the sign is wrong")?;
    if of_d(&y) == wanted {
        return Ok(());
    }
    let step = step(of.result, &y);
    // Below a power of two the numbers are nearer to each other.
    let down = if (&y.abs() / two_to(exponent(&y))).is_one() { &step / two_to(1) } else { step.clone() };
    let between = of_d(&(y.abs() - down)) < wanted && wanted < of_d(&(y.abs() + step));
    ensure(between, "it is none of the two neighbours")
}

/// e^x, ln x, sine and cosine, by f64: far more digits than the formats of these functions have.
fn elementary(of: &Use, args: &[u64], (bits, flags): (u64, Flags)) -> Result<(), String> {
    let x = to_f64(&decode(of.args[0], args[0]));
    let y = decode(of.result, bits);
    let nothing = bits == 0 && flags == Flags::INVALID;
    let far = matches!(of.args[0], Format::Float { .. }) && x.abs() >= 2f64.powi(20);
    let wanted = match of.name {
        "exp" => x.exp(),
        "log" if x <= 0.0 => return ensure(nothing, "there is no such logarithm"),
        "log" => x.ln(),
        _ if far => return ensure(nothing, "too many turns"),
        "sin" => x.sin(),
        _ => x.cos(),
    };
    // Large arguments of sine and cosine cost f64 some of its own digits.
    let doubt = 1e-14 * wanted.abs().max(if matches!(of.name, "sin" | "cos") { 1e-2 } else { 0.0 }) + 1e-300;
    let (most, unit) = (to_f64(&decode(of.result, greatest(of.result))), to_f64(&step(of.result, &y)));
    let is_float = matches!(of.result, Format::Float { .. });
    if flags.intersects(Flags::OVERFLOW) || flags.intersects(Flags::SATURATION) {
        let end = bits == greatest(of.result) || (!is_float && bits == super::value::least(of.result));
        let signless = bits == 0 && wanted < 0.0;
        return ensure(
            (end && wanted.abs() + doubt >= most - unit) || signless || (end && wanted < 0.0),
            "it stays in range",
        );
    }
    if flags == Flags::UNDERFLOW {
        return ensure(bits == 0 && is_float && wanted.abs() < unit * 2f64.powi(54), "it does not underflow");
    }
    ensure(flags.is_empty(), "a flag that the function does not have")?;
    ensure((to_f64(&y) - wanted).abs() < unit + doubt, "it is off by more than a last place")
}

/// Sums of logs and casts from and to them: the nearest, or the next one toward zero.
fn logs(of: &Use, args: &[u64], (bits, flags): (u64, Flags)) -> Result<(), String> {
    let real = |format: Format, bits: u64| match format {
        Format::Log { frac, .. } => logarithm(format, bits).map_or(0.0, |(negative, log)| {
            let magnitude = (log as f64 / (1u64 << frac) as f64).exp2();
            if negative { -magnitude } else { magnitude }
        }),
        _ => to_f64(&decode(format, bits)),
    };
    let x: Vec<f64> = of.args.iter().zip(args).map(|(f, bits)| real(*f, *bits)).collect();
    let wanted = match of.name {
        "ladd" if args[0] ^ args[1] == sign_bit(of.args[0]) => 0.0,
        "lsub" if args[0] == args[1] => 0.0,
        "ladd" => x[0] + x[1],
        "lsub" => x[0] - x[1],
        _ => x[0],
    };
    if wanted == 0.0 {
        return ensure(bits == 0 && flags.is_empty(), "it is 0");
    }
    let Format::Log { width, frac } = of.result else {
        return of_log(of, wanted, real(of.result, bits), (bits, flags));
    };
    let unit = (1u64 << frac) as f64;
    let exact = wanted.abs().log2() * unit;
    // The difference of near logs cancels; f64 keeps half of its digits there, and a table has far fewer.
    let doubt = 1e-6;
    let (low, high) = if of.truncates { (-doubt, 1.0 + doubt) } else { (-0.5 - doubt, 0.5 + doubt) };
    let offset = (1u64 << (width - 3)) as f64;
    let above = if of.name == "tolog" { Flags::SATURATION } else { Flags::OVERFLOW };
    if flags == above {
        return ensure(exact + high >= offset, "it stays in range");
    }
    if flags == Flags::UNDERFLOW {
        return ensure(bits == 0 && exact + low <= -offset, "it does not underflow");
    }
    ensure(flags.is_empty(), "a flag that a log does not have")?;
    let (negative, log) = logarithm(of.result, bits).ok_or("it is not 0")?;
    ensure(negative == (wanted < 0.0), "the sign is wrong")?;
    let off = exact - log as f64;
    ensure(low <= off && off <= high, "it is not the nearest logarithm")
}

fn sign_bit(format: Format) -> u64 {
    match format {
        Format::Log { width, .. } => 1 << (width - 1),
        _ => 0,
    }
}

/// A log as a float of few digits.
fn of_log(of: &Use, wanted: f64, got: f64, (bits, flags): (u64, Flags)) -> Result<(), String> {
    let most = to_f64(&decode(of.result, greatest(of.result)));
    let unit = to_f64(&step(of.result, &decode(of.result, bits)));
    if flags == Flags::SATURATION {
        return ensure(got.abs() == most && wanted.abs() > most, "it stays in range");
    }
    if flags == Flags::UNDERFLOW {
        let least = unit * (1u64 << of.result.mant()) as f64;
        return ensure(bits == 0 && wanted.abs() < least, "it does not underflow");
    }
    ensure(flags.is_empty(), "a flag that the cast does not have")?;
    let off = (wanted.abs() - got.abs()) / unit;
    let (low, high) = if of.truncates { (-1e-9, 1.0 + 1e-9) } else { (-0.5 - 1e-9, 0.5 + 1e-9) };
    ensure(low <= off && off <= high && got * wanted > 0.0, "it is not the nearest number")
}
