//! Operators by their rules alone (N3 to N6): exact results, rounded once.

use super::Use;
use super::value::{canonical, decode, encode, integer, logarithm, of_logarithm, places, round, two_to, wrapped};
use hdl::{Flags, Format};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

type Made = (u64, Flags);

/// A shift of a float or log by more than this leaves any format.
const FAR: i64 = 5000;

/// Bits and flags of an operator; `None` of the functions that tables make, which the rules bound and do not fix.
pub fn apply(of: &Use, args: &[u64]) -> Option<Made> {
    let made = match of.name {
        "add" | "sub" | "mul" | "neg" | "abs" | "xmul" | "xdiv" | "div" | "rem" => arithmetic(of, args),
        "and" | "or" | "xor" | "not" => quiet(bitwise(of, args)),
        "shl" | "shr" | "shlv" | "shrv" => quiet(shift(of, args)),
        "lt" | "le" | "eq" | "ne" | "nz" | "isz" => quiet(truth(of, args) as u64),
        "min" | "max" => quiet(chosen(of, args)),
        "xfloor" | "xceil" | "xtrunc" | "xround" => encode(of.result, &whole(of, args), false, Flags::SATURATION),
        "ffloor" | "fceil" | "ftrunc" | "fround" => encode(of.result, &whole(of, args), false, Flags::OVERFLOW),
        "popcount" => quiet(digits(of, args).matches('1').count() as u64),
        "clz" => quiet(digits(of, args).find('1').unwrap_or(of.args[0].width() as usize) as u64),
        "field" => {
            let all = digits(of, args);
            let part = &all[all.len() - 1 - of.n as usize..all.len() - of.d as usize];
            quiet(u64::from_str_radix(part, 2).expect("binary digits"))
        }
        "carry" | "borrow" => quiet(carry(of, args)),
        "total" => (args[0], Flags::WRAP.when(args[1] != 0)),
        "bits" => quiet(args[0]),
        "frombits" => pattern(of.result, args[0]),
        "icast" => quiet(wrapped(of.result, &integer(of.args[0], args[0]))),
        "xcast" | "tofix" | "tofloat" | "fcast" => {
            encode(of.result, &decode(of.args[0], args[0]), of.truncates, Flags::SATURATION)
        }
        "fadd" | "fsub" | "fmul" | "fdiv" | "sumsq" | "fneg" | "fabs" | "fscale" | "fscalev" => float(of, args),
        "place" => {
            let limits: Vec<u32> = [of.n, of.d].into_iter().filter(|n| *n > 0).map(|n| n as u32).collect();
            match place(&limits, &of.args, args) {
                Some(at) => quiet(1 << (of.result.width() - 1) | at as u64),
                None => (0, Flags::INVALID),
            }
        }
        "lmul" | "ldiv" | "lneg" | "labs" | "lscale" | "lscalev" | "lpow" | "lcast" => log(of, args),
        "ladd" | "lsub" | "tolog" | "fromlog" | "pow" | "exp" | "log" | "sin" | "cos" | "func" => return None,
        other => panic!("the interpreter has no rule for `{other}`"),
    };
    Some(made)
}

/// The number of an element by rows, if all indices are inside (L16, L17).
pub(super) fn place(limits: &[u32], formats: &[Format], args: &[u64]) -> Option<usize> {
    let index = |((limit, format), bits): ((&u32, &Format), &u64)| {
        let index = integer(*format, *bits).to_u32()?;
        (index < *limit).then_some((*limit, index))
    };
    let indices: Option<Vec<(u32, u32)>> = limits.iter().zip(formats).zip(args).map(index).collect();
    Some(indices?.into_iter().fold(0, |at, (limit, index)| at * limit as usize + index as usize))
}

fn quiet(bits: u64) -> Made {
    (bits, Flags::NONE)
}

/// The whole number that a function of N3 makes of its argument.
fn whole(of: &Use, args: &[u64]) -> BigRational {
    let x = decode(of.args[0], args[0]);
    let half = BigRational::new(1.into(), 2.into());
    match &of.name[1..] {
        "floor" => x.floor(),
        "ceil" => x.ceil(),
        "trunc" => x.trunc(),
        _ if x.is_negative() => (x - half).ceil(),
        _ => (x + half).floor(),
    }
}

/// The binary digits of an int, all of them.
fn digits(of: &Use, args: &[u64]) -> String {
    format!("{:0width$b}", args[0], width = of.args[0].width() as usize)
}

/// The multiple of 2^W by which a sum or difference is beside what its format keeps.
fn carry(of: &Use, args: &[u64]) -> u64 {
    let [a, b] = [0, 1].map(|k| integer(of.args[k], args[k]));
    let exact = if of.name == "carry" { a + b } else { a - b };
    let kept = integer(of.args[0], wrapped(of.args[0], &exact));
    wrapped(of.result, &((exact - kept) / (BigInt::one() << of.args[0].width())))
}

/// The value of a pattern: zero where a float's exponent field is 0, and with `invalid` where it is the greatest.
fn pattern(format: Format, bits: u64) -> Made {
    let Format::Float { width, mant } = format else { return quiet(bits) };
    let digits = format!("{bits:0width$b}", width = width as usize);
    let field = &digits[1..digits.len() - mant as usize];
    if field.contains('0') { quiet(canonical(format, bits)) } else { (0, Flags::INVALID) }
}

/// Ints and fixeds: results wrap without a flag, and a zero divisor gives 0 and `invalid`.
fn arithmetic(of: &Use, args: &[u64]) -> Made {
    let n: Vec<BigInt> = of.args.iter().zip(args).map(|(f, bits)| integer(*f, *bits)).collect();
    let unit = two_to(places(of.result));
    let divides = matches!(of.name, "div" | "rem" | "xdiv");
    if divides && n[1].is_zero() {
        return (0, Flags::INVALID);
    }
    let rational = |n: &BigInt| BigRational::from_integer(n.clone());
    let exact = match of.name {
        "add" => &n[0] + &n[1],
        "sub" => &n[0] - &n[1],
        "mul" => &n[0] * &n[1],
        "neg" => -&n[0],
        "abs" => n[0].abs(),
        "xmul" => round(&(rational(&n[0]) * rational(&n[1]) / unit), of.truncates),
        "xdiv" => round(&(rational(&n[0]) / rational(&n[1]) * unit), of.truncates),
        // Both of BigInt's cut off toward zero, as the rules do.
        "div" => &n[0] / &n[1],
        _ => &n[0] % &n[1],
    };
    quiet(wrapped(of.result, &exact))
}

fn bitwise(of: &Use, args: &[u64]) -> u64 {
    let bits = match of.name {
        "and" => args[0] & args[1],
        "or" => args[0] | args[1],
        "xor" => args[0] ^ args[1],
        _ => !args[0],
    };
    wrapped(of.result, &BigInt::from(bits))
}

/// Shifts of ints and fixeds; by too much, or by less than nothing, all bits leave.
fn shift(of: &Use, args: &[u64]) -> u64 {
    let n = integer(of.args[0], args[0]);
    let width = match of.args[0] {
        Format::Int { width, .. } | Format::Fixed { width, .. } => width as u64,
        other => panic!("{other} is shifted as no float"),
    };
    let amount = match of.name {
        "shl" | "shr" => u64::try_from(of.n).ok(),
        _ => integer(of.args[1], args[1]).to_u64(),
    };
    let amount = amount.filter(|amount| *amount < width);
    let sign = if n.is_negative() { -BigInt::one() } else { BigInt::zero() };
    let shifted = match (of.name, amount) {
        ("shl" | "shlv", amount) => amount.map_or(BigInt::zero(), |a| n << a),
        // Downwards: the floor of a quotient by a power of two.
        (_, Some(a)) => (BigRational::from_integer(n) * two_to(-(a as i64))).floor().to_integer(),
        (_, None) => sign,
    };
    wrapped(of.result, &shifted)
}

fn truth(of: &Use, args: &[u64]) -> bool {
    let value = |k: usize| decode(of.args[k], args[k]);
    match of.name {
        "lt" => value(0) < value(1),
        "le" => value(0) <= value(1),
        "eq" => value(0) == value(1),
        "ne" => value(0) != value(1),
        "nz" => !value(0).is_zero(),
        _ => value(0).is_zero(),
    }
}

fn chosen(of: &Use, args: &[u64]) -> u64 {
    let first_is_less = decode(of.args[0], args[0]) < decode(of.args[1], args[1]);
    canonical(of.result, args[(first_is_less == (of.name == "max")) as usize])
}

/// Floats: the exact result, rounded as N2.
fn float(of: &Use, args: &[u64]) -> Made {
    let x: Vec<BigRational> = of.args.iter().zip(args).map(|(f, bits)| decode(*f, *bits)).collect();
    let scaled = |n: i64| &x[0] * two_to(n.clamp(-FAR, FAR));
    let exact = match of.name {
        "fadd" => &x[0] + &x[1],
        "fsub" => &x[0] - &x[1],
        "fmul" => &x[0] * &x[1],
        "fdiv" if x[1].is_zero() => return (0, Flags::INVALID),
        "fdiv" => &x[0] / &x[1],
        "sumsq" => x.iter().map(|x| x * x).sum(),
        "fneg" => -&x[0],
        "fabs" => x[0].abs(),
        "fscale" => scaled(of.n as i64),
        _ => scaled(amount(of, args)),
    };
    encode(of.result, &exact, of.truncates, Flags::OVERFLOW)
}

/// The run-time amount of a shift upwards, or one that is as good; `>>` has a direction of -1.
fn amount(of: &Use, args: &[u64]) -> i64 {
    let far = BigInt::from(FAR);
    of.d.signum() as i64 * integer(of.args[1], args[1]).clamp(-&far, far).to_i64().expect("it was clamped")
}

/// Logs whose logarithms are exact.
fn log(of: &Use, args: &[u64]) -> Made {
    let part = |k: usize| logarithm(of.args[k], args[k]);
    let frac = |format: Format| match format {
        Format::Log { frac, .. } => frac as i64,
        _ => 0,
    };
    let unit = |n: i64| BigInt::from(n) << frac(of.result);
    let exact = |negative: bool, log: BigInt| of_logarithm(of.result, negative, &log, Flags::OVERFLOW);
    match of.name {
        "ldiv" if part(1).is_none() => (0, Flags::INVALID),
        "lmul" | "ldiv" => match (part(0), part(1)) {
            (Some((a, x)), Some((b, y))) => exact(a != b, BigInt::from(if of.name == "lmul" { x + y } else { x - y })),
            _ => quiet(0),
        },
        "lpow" if of.n == 0 => exact(false, BigInt::zero()),
        _ => match part(0) {
            None => quiet(0),
            Some((negative, x)) => match of.name {
                "lneg" => exact(!negative, x.into()),
                "labs" => exact(false, x.into()),
                "lscale" => exact(negative, BigInt::from(x) + unit(of.n as i64)),
                "lscalev" => exact(negative, BigInt::from(x) + unit(amount(of, args))),
                "lpow" if negative && of.d == 2 => (0, Flags::INVALID),
                "lpow" => {
                    let whole = BigRational::new(BigInt::from(x) * of.n, of.d.into());
                    exact(negative && of.n % 2 != 0, log_round(&whole, of.truncates))
                }
                _ => {
                    let whole = BigRational::from_integer(x.into()) * two_to(frac(of.result) - frac(of.args[0]));
                    of_logarithm(of.result, negative, &log_round(&whole, of.truncates), Flags::SATURATION)
                }
            },
        },
    }
}

/// A logarithm rounded: to nearest, or the magnitude cut off, which rounds its logarithm down.
fn log_round(x: &BigRational, truncates: bool) -> BigInt {
    if truncates { x.floor().to_integer() } else { round(x, false) }
}
