//! The bits of the float operators against exact rational arithmetic.

use hdl::Rounding;
use hdl::op::{Attrs, Inst, operator};
use hdl::{Flags, Format};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use testkit::Random;

fn format(name: &str) -> Format {
    name.parse().expect("a format of the test")
}

fn pow2(n: i64) -> BigRational {
    let p = BigRational::from_integer(BigInt::one() << n.unsigned_abs());
    if n < 0 { p.recip() } else { p }
}

/// The exact value of a pattern.
fn value(f: Format, bits: u64) -> BigRational {
    if !f.is_float() {
        return BigRational::from_integer(f.to_int(bits).into()) * pow2(-(f.frac().unwrap() as i64));
    }
    let field = (bits >> f.mant()) % (1 << f.exp());
    if field == 0 {
        return BigRational::zero();
    }
    let fraction = BigRational::new((bits % (1 << f.mant())).into(), BigInt::one() << f.mant());
    let magnitude = (BigRational::one() + fraction) * pow2(field as i64 - f.bias() as i64);
    if bits >> (f.width() - 1) == 1 { -magnitude } else { magnitude }
}

/// The nearest integer, ties to even.
fn nearest(x: &BigRational) -> BigInt {
    let low = x.floor().to_integer();
    let twice = (x - BigRational::from_integer(low.clone())) * BigInt::from(2);
    let odd = &low % BigInt::from(2) != BigInt::zero();
    if twice > BigRational::one() || twice == BigRational::one() && odd { low + 1 } else { low }
}

/// The integer that `x` is rounded to.
fn integer(x: &BigRational, rounding: Rounding) -> BigInt {
    if rounding == Rounding::Truncate { x.trunc().to_integer() } else { nearest(x) }
}

/// RULES N2 and N5: the value of a format that `x` is rounded to.
fn to_format(f: Format, rounding: Rounding, x: &BigRational, above: Flags) -> (u64, Flags) {
    let nearest = |x: &BigRational| integer(x, rounding);
    if !f.is_float() {
        let n = nearest(&(x * pow2(f.frac().unwrap() as i64)));
        let (least, greatest) = (BigInt::from(f.to_int(f.min_bits())), BigInt::from(f.to_int(f.max_bits())));
        return if n < least {
            (f.min_bits(), Flags::SATURATION)
        } else if n > greatest {
            (f.max_bits(), Flags::SATURATION)
        } else {
            (i128::try_from(n).unwrap() as u64 & f.mask(), Flags::NONE)
        };
    }
    if x.is_zero() {
        return (0, Flags::NONE);
    }
    // The exponent of the leading bit: from the lengths, then put right by at most one.
    let m = x.abs();
    let mut e = m.numer().bits() as i64 - m.denom().bits() as i64;
    if m < pow2(e) {
        e -= 1;
    }
    assert!(m >= pow2(e) && m < pow2(e + 1));
    let rounded = BigRational::from_integer(nearest(&(m * pow2(f.mant() as i64 - e)))) * pow2(e - f.mant() as i64);
    let largest = value(f, f.max_bits());
    let sign = if x.is_negative() { 1u64 << (f.width() - 1) } else { 0 };
    if rounded > largest {
        return (f.max_bits() | sign, above);
    }
    if rounded < pow2(1 - f.bias() as i64) {
        return (0, Flags::UNDERFLOW);
    }
    let e = if rounded >= pow2(e + 1) { e + 1 } else { e };
    let fraction = ((rounded / pow2(e) - BigRational::one()) * pow2(f.mant() as i64)).to_integer();
    let field = (e + f.bias() as i64) as u64;
    (sign | field << f.mant() | u64::try_from(fraction).unwrap(), Flags::NONE)
}

/// The expected result of an operator.
fn expected(name: &str, inst: &Inst, args: &[u64]) -> (u64, Flags) {
    let v: Vec<BigRational> = inst.args.iter().zip(args).map(|(f, b)| value(*f, *b)).collect();
    let to = inst.result;
    let rounding = inst.attrs.round;
    let round = |x: BigRational| to_format(to, rounding, &x, Flags::OVERFLOW);
    match name {
        "fadd" => round(&v[0] + &v[1]),
        "fsub" => round(&v[0] - &v[1]),
        "fmul" => round(&v[0] * &v[1]),
        "fdiv" if v[1].is_zero() => (0, Flags::INVALID),
        "fdiv" => round(&v[0] / &v[1]),
        "sumsq" => round(v.iter().map(|x| x * x).sum()),
        "fneg" => round(-&v[0]),
        "fabs" => round(v[0].abs()),
        "fscale" => round(&v[0] * pow2(inst.attrs.n as i64)),
        "fscalev" => {
            let amount = inst.args[1].to_int(args[1]).clamp(-5000, 5000) as i64;
            round(&v[0] * pow2(amount * inst.attrs.d as i64))
        }
        "tofloat" | "tofix" | "fcast" => to_format(to, rounding, &v[0], Flags::SATURATION),
        _ => unreachable!("{name}"),
    }
}

fn instance(name: &str, args: &[Format], attrs: Attrs) -> Inst {
    Inst::new(operator(name).expect("registered"), args, attrs).expect("fits")
}

/// Both ways of rounding.
fn check(name: &str, inst: &Inst, args: &[u64]) {
    check_one(name, inst, args);
    let attrs = Attrs { round: Rounding::Truncate, ..inst.attrs.clone() };
    if operator(name).expect("registered").rounds() {
        check_one(name, &Inst { attrs, ..inst.clone() }, args);
    }
}

fn check_one(name: &str, inst: &Inst, args: &[u64]) {
    let op = operator(name).expect("registered");
    let (got, want) = (op.bits(inst, args), expected(name, inst, args));
    assert_eq!(got, want, "{name} {inst:?} of {args:x?}");
    assert!(op.flags(inst).contains(got.1), "{name} {inst:?} raises an undeclared flag");
}

/// A valid pattern: any bits, or a float whose exponent is near the middle or near an end.
fn pattern(random: &mut Random, f: Format) -> u64 {
    let mut bits = random.bits() & f.mask();
    if !f.is_float() {
        return bits >> (random.bits() % f.width() as u64);
    }
    let top = (1u64 << f.exp()) - 2;
    let field = match random.bits() % 4 {
        0 => 1 + random.bits() % top,
        1 => 1 + (top / 2 + random.bits() % 8) % top,
        2 => 1 + random.bits() % top.min(3),
        _ => top - random.bits() % top.min(3),
    };
    if random.bits().is_multiple_of(3) {
        // Runs of equal bits make ties and carries likely.
        bits = bits.rotate_left(3) ^ (u64::MAX << (random.bits() % 64));
    }
    let mant = bits & ((1 << f.mant()) - 1);
    let sign = random.bits() % 2;
    sign << (f.width() - 1) | field << f.mant() | mant
}

/// Every valid pattern of a small format.
fn all(f: Format) -> Vec<u64> {
    assert!(f.width() <= 12);
    let valid = |b: &u64| {
        let field = b >> f.mant() & ((1 << f.exp()) - 1);
        !f.is_float() || *b == 0 || field != 0 && field != (1 << f.exp()) - 1
    };
    (0..1 << f.width()).filter(valid).collect()
}

/// Values where things happen: 0, the ends, one and its neighbours, powers of two.
fn corners(f: Format) -> Vec<u64> {
    let mut list = vec![0, 1, f.max_bits(), f.max_bits().wrapping_sub(1), f.min_bits()];
    if f.is_float() {
        let (one, ulp) = ((f.bias() as u64) << f.mant(), 1u64 << f.mant());
        let magnitudes = [one, one + 1, one - 1, one + ulp / 2, one + ulp, one + ulp - 1, ulp, ulp + 1, 2 * ulp - 1];
        list = vec![0, f.max_bits(), f.max_bits() - 1, f.max_bits() - ulp / 2];
        list.extend(magnitudes);
        list.retain(|b| (1..=(1 << f.exp()) - 2).contains(&(b >> f.mant())) || *b == 0);
        let negative: Vec<u64> = list.iter().filter(|b| **b != 0).map(|b| b | 1 << (f.width() - 1)).collect();
        list.extend(negative);
    }
    list.iter().map(|b| b & f.mask()).collect()
}

const BINARY: [&str; 4] = ["fadd", "fsub", "fmul", "fdiv"];

#[test]
fn every_pair_of_tiny_floats_is_right() {
    for name in ["float4.1", "float5.1", "float5.2", "float6.2", "float7.3"] {
        let f = format(name);
        for op in BINARY {
            let inst = instance(op, &[f, f], Attrs::default());
            for &a in &all(f) {
                for &b in &all(f) {
                    check(op, &inst, &[a, b]);
                }
            }
        }
    }
}

#[test]
fn corners_and_random_pairs_of_larger_floats_are_right() {
    let mut random = Random::new(1);
    for (name, count) in [
        ("float18.9", 1000),
        ("float25.16", 1000),
        ("float32.23", 1000),
        ("float64.52", 300),
        ("float55.52", 1000),
        ("float13.1", 1000),
    ] {
        let f = format(name);
        for op in BINARY {
            let inst = instance(op, &[f, f], Attrs::default());
            for &a in &corners(f) {
                for &b in &corners(f) {
                    check(op, &inst, &[a, b]);
                }
            }
            for _ in 0..count {
                check(op, &inst, &[pattern(&mut random, f), pattern(&mut random, f)]);
            }
        }
    }
}

/// One large square and small ones: near it, at its last places, and far below.
#[test]
fn sums_of_squares_are_rounded_once() {
    let mut random = Random::new(4);
    for name in ["float4.1", "float6.2", "float18.9", "float32.23", "float64.52"] {
        let f = format(name);
        for n in 2..=4 {
            let inst = instance("sumsq", &vec![f; n], Attrs::default());
            for _ in 0..1500 {
                let mut args: Vec<u64> = (0..n).map(|_| pattern(&mut random, f)).collect();
                let top = (1u64 << f.exp()) - 2;
                let field = 1 + (top / 2 + random.bits() % 4) % top;
                for a in &mut args {
                    let down = random.bits() % (4 * f.mant() as u64 + 8);
                    if down > 2 * f.mant() as u64 + 4 {
                        continue;
                    }
                    let fraction = *a & ((1 << f.mant()) - 1);
                    *a = if field > down { (field - down) << f.mant() | fraction } else { 0 };
                }
                check("sumsq", &inst, &args);
            }
        }
    }
}

#[test]
fn signs_and_scales_are_right() {
    let mut random = Random::new(2);
    for name in ["float4.1", "float6.2", "float18.9", "float64.52"] {
        let f = format(name);
        let mut values = corners(f);
        values.extend((0..50).map(|_| pattern(&mut random, f)));
        for &a in &values {
            for op in ["fneg", "fabs"] {
                check(op, &instance(op, &[f], Attrs::default()), &[a]);
            }
            for n in [0, 1, -1, 2, -3, 45, -45, 255, -255, 2046, -2046, 4000, -4000] {
                check("fscale", &instance("fscale", &[f], Attrs { n, ..Attrs::default() }), &[a]);
            }
            for amount in ["int1", "uint1", "uint6", "int8", "int13", "int64", "uint64"].map(format) {
                for b in corners(amount).into_iter().chain([pattern(&mut random, amount)]) {
                    for d in [1, -1] {
                        let inst = instance("fscalev", &[f, amount], Attrs { d, ..Attrs::default() });
                        check("fscalev", &inst, &[a, b]);
                    }
                }
            }
        }
    }
}

#[test]
fn every_small_cast_is_right() {
    let floats = ["float4.1", "float5.2", "float7.3", "float8.2", "float9.6"].map(format);
    let others = ["int1", "uint1", "int3", "uint4", "int8", "uint9", "fixed8.8", "fixed8.3", "ufixed8.8", "ufixed7.2"];
    for f in floats {
        for to in floats {
            let inst = instance("fcast", &[f], Attrs { to: Some(to), ..Attrs::default() });
            all(f).iter().for_each(|a| check("fcast", &inst, &[*a]));
        }
        for g in others.map(format) {
            let inst = instance("tofix", &[f], Attrs { to: Some(g), ..Attrs::default() });
            all(f).iter().for_each(|a| check("tofix", &inst, &[*a]));
            let inst = instance("tofloat", &[g], Attrs { to: Some(f), ..Attrs::default() });
            all(g).iter().for_each(|a| check("tofloat", &inst, &[*a]));
        }
    }
}

#[test]
fn corners_and_random_values_of_larger_casts_are_right() {
    let mut random = Random::new(3);
    let floats = ["float5.2", "float18.9", "float25.16", "float32.23", "float64.52", "float55.52"].map(format);
    let others = ["int32", "uint32", "int64", "uint64", "fixed64.64", "ufixed64.64", "fixed64.30", "fixed32.31"];
    for f in floats {
        for to in floats {
            let inst = instance("fcast", &[f], Attrs { to: Some(to), ..Attrs::default() });
            corners(f).iter().for_each(|a| check("fcast", &inst, &[*a]));
            (0..200).for_each(|_| check("fcast", &inst, &[pattern(&mut random, f)]));
        }
        for g in others.map(format) {
            let inst = instance("tofix", &[f], Attrs { to: Some(g), ..Attrs::default() });
            corners(f).iter().for_each(|a| check("tofix", &inst, &[*a]));
            (0..200).for_each(|_| check("tofix", &inst, &[pattern(&mut random, f)]));
            let inst = instance("tofloat", &[g], Attrs { to: Some(f), ..Attrs::default() });
            corners(g).iter().for_each(|a| check("tofloat", &inst, &[*a]));
            (0..400).for_each(|_| check("tofloat", &inst, &[pattern(&mut random, g)]));
        }
    }
}

#[test]
fn normal_results_are_those_of_the_machine() {
    let mut random = Random::new(4);
    let (single, double) = (format("float32.23"), format("float64.52"));
    for (k, op) in BINARY.iter().enumerate() {
        let (s, d) = (instance(op, &[single; 2], Attrs::default()), instance(op, &[double; 2], Attrs::default()));
        let mut compared = 0;
        for _ in 0..20_000 {
            let (a, b) = (pattern(&mut random, single), pattern(&mut random, single));
            let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            let r = [x + y, x - y, x * y, x / y][k];
            if r.is_normal() {
                assert_eq!(operator(op).unwrap().bits(&s, &[a, b]), (r.to_bits() as u64, Flags::NONE), "{x} {op} {y}");
                compared += 1;
            }
            let (a, b) = (pattern(&mut random, double), pattern(&mut random, double));
            let (x, y) = (f64::from_bits(a), f64::from_bits(b));
            let r = [x + y, x - y, x * y, x / y][k];
            if r.is_normal() {
                assert_eq!(operator(op).unwrap().bits(&d, &[a, b]), (r.to_bits(), Flags::NONE), "{x} {op} {y}");
                compared += 1;
            }
        }
        assert!(compared > 10_000, "{op}: only {compared} results were normal");
    }
}

#[test]
fn a_value_that_rounds_up_to_the_smallest_normal_is_normal() {
    let f = format("float7.3");
    let smallest = 1u64 << 3;
    let inst = instance("fdiv", &[f, f], Attrs::default());
    // 1.000b / 1.001b * 2^-2 = 0.888.. * 2^-2 underflows; 1.875 / 1.875 * 2^-2 is exactly the smallest normal.
    let op = operator("fdiv").unwrap();
    assert_eq!(op.bits(&inst, &[smallest, 3 << 3 | 1]), (0, Flags::UNDERFLOW));
    assert_eq!(op.bits(&inst, &[smallest | 7, 3 << 3 | 7]), (smallest, Flags::NONE));
    // fixed8.8: 63/256 has six significant bits and rounds to 64/256 = 2^-2, the smallest normal of float7.3.
    let cast = instance("tofloat", &[format("fixed8.8")], Attrs { to: Some(f), ..Attrs::default() });
    assert_eq!(operator("tofloat").unwrap().bits(&cast, &[63]), (smallest, Flags::NONE));
    assert_eq!(operator("tofloat").unwrap().bits(&cast, &[60]), (0, Flags::UNDERFLOW));
}
