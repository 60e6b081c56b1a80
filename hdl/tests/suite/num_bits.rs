//! `bits` of the int and fixed operators against exact rationals: exhaustive for narrow formats, random and corners for
//! wide ones.

use hdl::Flags;
use hdl::Format;
use hdl::Rounding;
use hdl::op::*;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use testkit::Random;

/// All int and fixed formats of at most `width` bits.
fn narrow(width: u32) -> Vec<Format> {
    let mut all = Vec::new();
    for w in 1..=width {
        for signed in [false, true] {
            all.push(Format::int(w, signed).unwrap());
            all.extend((0..=w).map(|f| Format::fixed(w, f, signed).unwrap()));
        }
    }
    all
}

fn wide() -> Vec<Format> {
    ["int64", "uint64", "int33", "uint17", "fixed64.64", "fixed64.0", "fixed64.32", "ufixed64.64", "ufixed64.63"]
        .iter()
        .chain(&["fixed32.31", "ufixed47.11", "fixed63.62", "fixed31.31", "ufixed64.1", "fixed64.63", "int32"])
        .map(|n| n.parse().unwrap())
        .collect()
}

/// The real number that a pattern stands for, by its bits' weights.
fn value(format: Format, bits: u64) -> BigRational {
    let mut sum = BigInt::zero();
    for k in (0..format.width()).filter(|k| bits >> k & 1 == 1) {
        let weight = BigInt::one() << k;
        sum += if format.is_signed() && k == format.width() - 1 { -weight } else { weight };
    }
    BigRational::new(sum, BigInt::one() << format.frac().unwrap())
}

/// The integer nearest to `x`, the even one of two.
fn nearest(x: &BigRational) -> BigInt {
    let half = BigRational::new(1.into(), 2.into());
    let up = (x + &half).floor();
    let tie = &up - x == half;
    let up = up.to_integer();
    if tie && (&up % 2u32) != BigInt::zero() { up - 1 } else { up }
}

/// `x` in units of the format's last place, rounded.
fn scaled(format: Format, rounding: Rounding, x: &BigRational) -> BigInt {
    let x = x * BigRational::from(BigInt::one() << format.frac().unwrap());
    if rounding.truncates() { x.trunc().to_integer() } else { nearest(&x) }
}

/// The pattern of an integer number of last places, wrapped.
fn wrapped(format: Format, n: &BigInt) -> u64 {
    let modulus = BigInt::one() << format.width();
    let m = ((n % &modulus) + &modulus) % &modulus;
    m.to_u64().unwrap()
}

fn saturated(format: Format, n: &BigInt) -> (u64, Flags) {
    let one = BigInt::one();
    let (low, high) = match format.is_signed() {
        true => (-(&one << (format.width() - 1)), (&one << (format.width() - 1)) - 1),
        false => (BigInt::zero(), (&one << format.width()) - 1),
    };
    let inside = n.clone().clamp(low, high);
    (wrapped(format, &inside), Flags::SATURATION.when(&inside != n))
}

/// The expected result of an operator on two values of one format, or one value; `None` where it does not take the format.
fn expected(name: &str, inst: &Inst, args: &[u64]) -> Option<(u64, Flags)> {
    let format = inst.args[0];
    let a = value(format, args[0]);
    let b = args.get(1).map(|b| value(format, *b)).unwrap_or_else(BigRational::zero);
    let rounding = inst.attrs.round;
    let wrap = |x: BigRational| (wrapped(format, &scaled(format, rounding, &x)), Flags::NONE);
    let flag = |x: bool| (x as u64, Flags::NONE);
    let bitwise = |f: &dyn Fn(bool, bool) -> bool| {
        let bit = |k: u32| f(args[0] >> k & 1 == 1, args.get(1).is_some_and(|b| b >> k & 1 == 1));
        ((0..format.width()).map(|k| (bit(k) as u64) << k).sum(), Flags::NONE)
    };
    let divided = |f: &dyn Fn() -> BigRational| if b.is_zero() { (0, Flags::INVALID) } else { wrap(f()) };
    let n = BigRational::from(BigInt::from(2)).pow(inst.attrs.n);
    Some(match name {
        "add" => wrap(a + b),
        "sub" => wrap(a - b),
        "mul" | "xmul" => wrap(a * b),
        "div" => divided(&|| (&a / &b).trunc()),
        "rem" => divided(&|| &a - &b * (&a / &b).trunc()),
        "xdiv" => divided(&|| &a / &b),
        "neg" => wrap(-a),
        "abs" => wrap(a.abs()),
        "and" => bitwise(&|x, y| x && y),
        "or" => bitwise(&|x, y| x || y),
        "xor" => bitwise(&|x, y| x != y),
        "not" => bitwise(&|x, _| !x),
        "lt" => flag(a < b),
        "le" => flag(a <= b),
        "eq" => flag(a == b),
        "ne" => flag(a != b),
        "nz" => flag(!a.is_zero()),
        "isz" => flag(a.is_zero()),
        "min" => wrap(a.min(b)),
        "max" => wrap(a.max(b)),
        "shl" => wrap(a * n),
        "shr" => {
            let unit = BigRational::from(BigInt::one() << format.frac().unwrap());
            (wrapped(format, &(a / n * unit).floor().to_integer()), Flags::NONE)
        }
        "icast" => (wrapped(inst.result, &a.to_integer()), Flags::NONE),
        "xcast" => saturated(inst.result, &scaled(inst.result, rounding, &a)),
        _ => return None,
    })
}

/// Both ways of rounding.
fn check(name: &str, inst: &Inst, args: &[u64]) {
    check_one(name, inst, args);
    if operator(name).unwrap().rounds() {
        let attrs = Attrs { round: Rounding::Truncate, ..inst.attrs.clone() };
        check_one(name, &Inst { attrs, ..inst.clone() }, args);
    }
}

fn check_one(name: &str, inst: &Inst, args: &[u64]) {
    let op = operator(name).unwrap();
    let got = op.bits(inst, args);
    assert_eq!(Some(got), expected(name, inst, args), "{} of {args:x?}", module_name(op, inst));
    assert!(op.flags(inst).contains(got.1), "{} raises a flag that it does not declare", module_name(op, inst));
}

/// The uses of a unary or binary operator on one format, for every shift amount of interest.
fn uses(name: &str, format: Format) -> Vec<Inst> {
    let op = operator(name).unwrap();
    let amounts = match name {
        "shl" | "shr" => (0..format.width() as i32).collect(),
        _ => vec![0],
    };
    let attrs = amounts.into_iter().map(|n| Attrs { n, ..Attrs::default() });
    let one = attrs.clone().filter_map(|at| Inst::new(op, &[format], at).ok());
    one.chain(attrs.filter_map(|at| Inst::new(op, &[format, format], at).ok())).collect()
}

const NAMES: [&str; 22] = [
    "add", "sub", "mul", "xmul", "div", "rem", "xdiv", "neg", "abs", "and", "or", "xor", "not", "lt", "le", "eq", "ne",
    "nz", "isz", "min", "max", "shl",
];

/// Patterns of interest: the ends, around zero and one, around the middle, and pseudo-random ones.
fn samples(format: Format, count: u64) -> Vec<u64> {
    let mut random = Random::new(1);
    let one = 1u64 << format.frac().unwrap().min(63);
    let half = one >> 1;
    let ends =
        [0, 1, 2, 3, !0, !1, one, one + 1, one - 1, half, half + 1, half.wrapping_sub(1), 1 << 63, 1 << 62, 1 << 31];
    let ends = ends.into_iter().chain([
        format.max_bits(),
        format.min_bits(),
        format.max_bits().wrapping_sub(1),
        format.mask() >> 1,
    ]);
    let any = (0..count).map(|k| {
        let x = random.bits();
        // Short numbers as well as long ones.
        if k % 2 == 0 { x } else { x >> (x & 63) }
    });
    ends.chain(any).map(|b| b & format.mask()).collect()
}

#[test]
fn narrow_formats_are_right_exhaustively() {
    let mut checked = 0;
    for format in narrow(5) {
        for name in NAMES.iter().chain(&["shr"]) {
            for inst in uses(name, format) {
                let second = if inst.args.len() == 2 { format.mask() } else { 0 };
                for a in 0..=format.mask() {
                    for b in 0..=second {
                        check(name, &inst, &[a, b][..inst.args.len()]);
                        checked += 1;
                    }
                }
            }
        }
    }
    assert!(checked > 200_000, "{checked}");
}

#[test]
fn narrow_casts_are_right_exhaustively_for_all_pairs_of_formats() {
    let formats = narrow(6);
    for from in &formats {
        for to in &formats {
            let name = if from.is_int() && to.is_int() { "icast" } else { "xcast" };
            let attrs = Attrs { to: Some(*to), ..Attrs::default() };
            let inst = Inst::new(operator(name).unwrap(), &[*from], attrs).unwrap();
            let (mut raised, mut values) = (Flags::NONE, 0);
            for a in 0..=from.mask() {
                check(name, &inst, &[a]);
                raised |= operator(name).unwrap().bits(&inst, &[a]).1;
                values += 1;
            }
            assert!(values > 1);
            assert_eq!(
                raised,
                operator(name).unwrap().flags(&inst),
                "{from} to {to} declares just the flags it raises"
            );
        }
    }
}

#[test]
fn wide_formats_are_right_at_corners_and_at_random() {
    for format in wide() {
        let samples = samples(format, 14);
        for name in NAMES.iter().chain(&["shr"]) {
            for inst in uses(name, format) {
                for a in &samples {
                    for b in &samples[..if inst.args.len() == 2 { samples.len() } else { 1 }] {
                        check(name, &inst, &[*a, *b][..inst.args.len()]);
                    }
                }
            }
        }
    }
}

#[test]
fn wide_casts_are_right_at_corners_and_at_random() {
    let formats: Vec<Format> = wide().into_iter().chain(narrow(2)).collect();
    for from in &formats {
        for to in &formats {
            let name = if from.is_int() && to.is_int() { "icast" } else { "xcast" };
            let attrs = Attrs { to: Some(*to), ..Attrs::default() };
            let inst = Inst::new(operator(name).unwrap(), &[*from], attrs).unwrap();
            for a in samples(*from, 40) {
                check(name, &inst, &[a]);
            }
        }
    }
}

#[test]
fn variable_shifts_are_right_for_every_amount() {
    let amounts: Vec<Format> = ["uint1", "int1", "uint3", "int4", "uint7", "int8", "int64", "uint64"]
        .iter()
        .map(|n| n.parse().unwrap())
        .collect();
    for format in narrow(5).into_iter().chain(wide()) {
        for amount in &amounts {
            for name in ["shlv", "shrv"] {
                let op = operator(name).unwrap();
                let inst = Inst::new(op, &[format, *amount], Attrs::default()).unwrap();
                let patterns = if format.width() < 6 { (0..=format.mask()).collect() } else { samples(format, 8) };
                for a in patterns {
                    for n in (0..=amount.mask().min(255)).chain([amount.mask(), amount.max_bits(), amount.min_bits()]) {
                        let places = amount.to_int(n);
                        let inside = 0 <= places && places < format.width() as i128;
                        let constant = if name == "shlv" { "shl" } else { "shr" };
                        let want = if inside {
                            let attrs = Attrs { n: places as i32, ..Attrs::default() };
                            let fixed = Inst::new(operator(constant).unwrap(), &[format], attrs).unwrap();
                            operator(constant).unwrap().bits(&fixed, &[a])
                        } else if name == "shrv" && value(format, a).is_negative() {
                            (format.mask(), Flags::NONE)
                        } else {
                            (0, Flags::NONE)
                        };
                        assert_eq!(op.bits(&inst, &[a, n]), want, "{} of {a:x}, {n:x}", module_name(op, &inst));
                    }
                }
            }
        }
    }
}

#[test]
fn comparisons_and_selections_order_floats_by_value() {
    let format: Format = "float6.2".parse().unwrap();
    let valid: Vec<u64> = (0..64).filter(|b| *b == 0 || !matches!(b >> 2 & 7, 0 | 7)).collect();
    assert_eq!(valid.len(), 49);
    for &a in &valid {
        for &b in &valid {
            let (x, y) = (format.to_f64(a), format.to_f64(b));
            let of = |name: &str| {
                let op = operator(name).unwrap();
                op.bits(&Inst::new(op, &[format, format], Attrs::default()).unwrap(), &[a, b]).0
            };
            assert_eq!(of("lt"), (x < y) as u64);
            assert_eq!(of("le"), (x <= y) as u64);
            assert_eq!(of("eq"), (x == y) as u64);
            assert_eq!(of("ne"), (x != y) as u64);
            assert_eq!(format.to_f64(of("min")), x.min(y));
            assert_eq!(format.to_f64(of("max")), x.max(y));
        }
    }
}
