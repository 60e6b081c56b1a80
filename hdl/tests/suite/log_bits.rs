//! The bits of the log operators against powers of two of 320 bits, which are made from series.

use hdl::Rounding;
use hdl::number::exact;
use hdl::op::{Attrs, Inst, operator};
use hdl::{Flags, Format};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::OnceLock;
use testkit::Random;

/// Fraction bits of the reference.
const P: u32 = 320;

fn format(name: &str) -> Format {
    name.parse().expect("a format of the test")
}

/// 2^(n / 2^bits) as an integer of 2^-P.
fn exp2(n: i64, bits: u32) -> BigInt {
    // The same fractions are asked for again and again.
    thread_local!(static ROOTS: RefCell<HashMap<(i64, u32), BigInt>> = RefCell::default());
    let (whole, rest) = (n >> bits, n & ((1 << bits) - 1));
    ROOTS.with_borrow_mut(|roots| {
        let root = roots.entry((rest, bits)).or_insert_with(|| fraction(rest, bits));
        if whole >= 0 { &*root << whole as u64 } else { &*root >> whole.unsigned_abs() }
    })
}

/// The same below 1: the exponential series of n / 2^bits times ln 2, which is the sum of 1 / (k 2^k).
fn fraction(n: i64, bits: u32) -> BigInt {
    static LN2: OnceLock<BigInt> = OnceLock::new();
    let one = BigInt::one() << P;
    let ln2 = LN2.get_or_init(|| (1..=P).map(|k| (&one >> k) / k).sum());
    let x: BigInt = (ln2 * n) >> bits;
    let (mut sum, mut term) = (BigInt::zero(), one.clone());
    for k in 1.. {
        sum += &term;
        term = ((&term * &x) >> P) / k;
        if term.is_zero() {
            break;
        }
    }
    sum
}

/// Sign and logarithm of a pattern in last places, by the layout that the documentation gives.
fn fields(f: Format, bits: u64) -> Option<(bool, i64)> {
    let w = f.width();
    let low = (bits % (1 << (w - 2))) as i64 - (1 << (w - 3));
    (bits >> (w - 2) & 1 == 1).then(|| (bits >> (w - 1) == 1, low))
}

fn pattern(f: Format, negative: bool, log: i64, above: Flags) -> (u64, Flags) {
    let (w, bias) = (f.width(), 1i64 << (f.width() - 3));
    let sign = (negative as u64) << (w - 1) | 1 << (w - 2);
    match log {
        _ if log < -bias => (0, Flags::UNDERFLOW),
        _ if log >= bias => (sign | ((1 << (w - 2)) - 1), above),
        _ => (sign | (log + bias) as u64, Flags::NONE),
    }
}

/// The pattern nearest to x * 2^-P: its logarithm lies within half a last place.
fn nearest(f: Format, x: &BigInt, above: Flags) -> (u64, Flags) {
    if x.is_zero() {
        return (0, Flags::NONE);
    }
    let frac = f.log_frac();
    let m = x.abs();
    // From f64, then put right: the boundaries are odd multiples of half a last place.
    let top = m.bits() as i64 - 1;
    let near = (&m >> (top - 52).max(0) as u64).to_f64().unwrap() / 2f64.powi(top.min(52) as i32);
    let guess = ((near.log2() + (top - P as i64) as f64) * (1i64 << frac) as f64).round() as i64;
    let log = (guess - 1..=guess + 1).find(|l| exp2(2 * l - 1, frac + 1) <= m && m < exp2(2 * l + 1, frac + 1));
    pattern(f, x.is_negative(), log.expect("the guess is close"), above)
}

/// The pattern of the greatest magnitude that is not above x * 2^-P. What is a pattern's value but for the reference's last
/// bits is that pattern.
fn below(f: Format, x: &BigInt, above: Flags) -> (u64, Flags) {
    if x.is_zero() {
        return (0, Flags::NONE);
    }
    let m: BigInt = x.abs() + (x.abs() >> (P - 30)) + 1024;
    let (near, _) = nearest(f, &m, above);
    let frac = f.log_frac();
    // The magnitude's own logarithm, also where the nearest pattern has been bounded.
    let top = m.bits() as i64 - 1 - P as i64;
    let guess = match fields(f, near) {
        Some((_, l)) if (l >> frac) - top < 2 && (l >> frac) - top > -2 => l,
        _ => top << frac,
    };
    let mut log = guess;
    while exp2(log, frac) > m {
        log -= 1;
    }
    while exp2(log + 1, frac) <= m {
        log += 1;
    }
    pattern(f, x.is_negative(), log, above)
}

/// One or the other.
fn of_rounding(f: Format, x: &BigInt, above: Flags, round: Rounding) -> (u64, Flags) {
    if round == Rounding::Nearest { nearest(f, x, above) } else { below(f, x, above) }
}

/// The value of a pattern in 2^-P.
fn value(f: Format, bits: u64) -> BigInt {
    fields(f, bits).map_or(BigInt::zero(), |(s, l)| if s { -exp2(l, f.log_frac()) } else { exp2(l, f.log_frac()) })
}

fn instance(name: &str, args: &[Format], attrs: Attrs) -> Inst {
    Inst::new(operator(name).expect("registered"), args, attrs).expect("fits")
}

fn check(name: &str, inst: &Inst, args: &[u64], want: (u64, Flags)) {
    let op = operator(name).expect("registered");
    let got = op.bits(inst, args);
    assert_eq!(got, want, "{name} {inst:?} of {args:x?}");
    assert!(op.flags(inst).contains(got.1), "{name} {inst:?} raises an undeclared flag");
    assert!(op.bounds(inst).contain(inst.result, got.0), "{name} {inst:?} of {args:x?} leaves its bounds");
}

/// Every canonical pattern.
fn all(f: Format) -> Vec<u64> {
    (0..1u64 << f.width()).filter(|b| *b == 0 || fields(f, *b).is_some()).collect()
}

fn check_pair(f: Format, a: u64, b: u64, values: (&BigInt, &BigInt)) {
    let of = |name| instance(name, &[f, f], Attrs::default());
    let (x, y) = (fields(f, a), fields(f, b));
    let product = |sign: i64| match (x, y) {
        (Some((s, l)), Some((t, m))) => pattern(f, s != t, l + sign * m, Flags::OVERFLOW),
        _ => (0, Flags::NONE),
    };
    check("lmul", &of("lmul"), &[a, b], product(1));
    check("ldiv", &of("ldiv"), &[a, b], if y.is_none() { (0, Flags::INVALID) } else { product(-1) });
    // Equal magnitudes are equal to the bit, so that their difference is 0 exactly.
    for round in [Rounding::Nearest, Rounding::Truncate] {
        let of = |name| instance(name, &[f, f], Attrs { round, ..Attrs::default() });
        check("ladd", &of("ladd"), &[a, b], of_rounding(f, &(values.0 + values.1), Flags::OVERFLOW, round));
        check("lsub", &of("lsub"), &[a, b], of_rounding(f, &(values.0 - values.1), Flags::OVERFLOW, round));
    }
}

#[test]
fn every_pair_of_small_logs_is_right() {
    for name in ["log5.1", "log6.2", "log8.2", "log8.3"] {
        let f = format(name);
        let patterns = all(f);
        let values: Vec<BigInt> = patterns.iter().map(|b| value(f, *b)).collect();
        for (a, x) in patterns.iter().zip(&values) {
            for (b, y) in patterns.iter().zip(&values) {
                check_pair(f, *a, *b, (x, y));
            }
        }
    }
}

#[test]
fn random_pairs_of_larger_logs_are_right() {
    let mut random = Random::new(5);
    for name in ["log14.4", "log17.8", "log20.10", "log22.12"] {
        let f = format(name);
        for k in 0..250 {
            let a = exact::check_raw(f, random.bits() & f.mask()).unwrap();
            // Most second arguments lie close enough to the first one to count.
            let low = random.bits() % (1 << (f.log_frac() + 4).min(f.width() - 3));
            let near = a ^ low ^ ((k % 2) << (f.width() - 1));
            let b = exact::check_raw(f, if k % 5 == 0 { random.bits() & f.mask() } else { near }).unwrap();
            check_pair(f, a, b, (&value(f, a), &value(f, b)));
        }
    }
}

/// The logarithm n/d times as large: to the nearest last place, half of one to the even one, or down.
fn power(log: i64, n: i64, d: i64, rounding: Rounding) -> i64 {
    let x = BigRational::new((n * log).into(), d.into());
    let low = x.floor().to_integer().to_i64().unwrap();
    let up = !x.is_integer() && rounding == Rounding::Nearest && low % 2 != 0;
    low + up as i64
}

#[test]
fn powers_and_signs_and_scales_are_right() {
    for name in ["log5.1", "log8.3", "log9.4"] {
        let f = format(name);
        for a in all(f) {
            let x = fields(f, a);
            for (n, d) in (-16..=16).flat_map(|n| [(n, 1), (n, 2)]) {
                for round in [Rounding::Nearest, Rounding::Truncate] {
                    let inst = instance("lpow", &[f], Attrs { n, d, round, ..Attrs::default() });
                    let half = d == 2 && n % 2 != 0;
                    let want = match x {
                        _ if n == 0 => pattern(f, false, 0, Flags::NONE),
                        None => (0, Flags::NONE),
                        Some((true, _)) if half => (0, Flags::INVALID),
                        Some((s, l)) => {
                            let odd = if half { n } else { n / d } % 2 != 0;
                            pattern(f, s && odd, power(l, n as i64, d as i64, round), Flags::OVERFLOW)
                        }
                    };
                    check("lpow", &inst, &[a], want);
                }
            }
            let signed = |s: bool| x.map_or((0, Flags::NONE), |(t, l)| pattern(f, s && !t, l, Flags::NONE));
            check("lneg", &instance("lneg", &[f], Attrs::default()), &[a], signed(true));
            check("labs", &instance("labs", &[f], Attrs::default()), &[a], signed(false));
            let scaled =
                |n: i64| x.map_or((0, Flags::NONE), |(s, l)| pattern(f, s, l + (n << f.log_frac()), Flags::OVERFLOW));
            for n in [0, 1, -1, 2, -3, 7, -8, 45, -4096] {
                check("lscale", &instance("lscale", &[f], Attrs { n, ..Attrs::default() }), &[a], scaled(n as i64));
            }
            for amount in ["int1", "uint1", "int4", "uint5", "int13", "int64", "uint64"].map(format) {
                for b in [0, 1, 2, 5, amount.min_bits(), amount.max_bits(), amount.mask()].map(|b| b & amount.mask()) {
                    for d in [1, -1] {
                        let inst = instance("lscalev", &[f, amount], Attrs { d, ..Attrs::default() });
                        let n = amount.to_int(b).clamp(-5000, 5000) as i64 * d as i64;
                        check("lscalev", &inst, &[a, b], scaled(n));
                    }
                }
            }
        }
    }
}

/// x * 2^-P in a float format, to nearest; what is rounded is no tie, since it is irrational or exact.
fn nearest_float(f: Format, x: &BigInt) -> (u64, Flags) {
    match exact::to_bits(f, &BigRational::new(x.clone(), BigInt::one() << P)) {
        Ok((0, _)) if !x.is_zero() => (0, Flags::UNDERFLOW),
        Ok((bits, _)) => (bits, Flags::NONE),
        Err(_) => (f.max_bits() | if x.is_negative() { 1 << (f.width() - 1) } else { 0 }, Flags::SATURATION),
    }
}

/// The same cut off toward zero.
fn cut_float(f: Format, x: &BigInt) -> (u64, Flags) {
    if x.is_zero() {
        return (0, Flags::NONE);
    }
    let m: BigInt = x.abs() + (x.abs() >> (P - 30)) + 1024;
    let (top, mant) = (m.bits() as i64 - 1, f.mant() as i64);
    let fraction = (&m >> (top - mant) as u64).to_u64().unwrap() & ((1 << mant) - 1);
    let field = top - P as i64 + f.bias() as i64;
    let sign = if x.is_negative() { 1 << (f.width() - 1) } else { 0 };
    match field {
        ..1 => (0, Flags::UNDERFLOW),
        _ if field >= (1 << f.exp()) - 1 => (f.max_bits() | sign, Flags::SATURATION),
        _ => ((field as u64) << mant | fraction | sign, Flags::NONE),
    }
}

#[test]
fn casts_are_right() {
    let logs = ["log5.1", "log7.3", "log8.2", "log11.6", "log14.4", "log17.8"].map(format);
    let floats = ["float5.2", "float7.3", "float8.4", "float10.4", "float14.3"].map(format);
    for f in logs {
        let step = if f.width() > 12 { 37 } else { 1 };
        for bits in all(f).into_iter().step_by(step) {
            for to in logs {
                for round in [Rounding::Nearest, Rounding::Truncate] {
                    let inst = instance("lcast", &[f], Attrs { to: Some(to), round, ..Attrs::default() });
                    let (from, frac) = (f.log_frac() as i64, to.log_frac() as i64);
                    let want = fields(f, bits).map_or((0, Flags::NONE), |(s, l)| {
                        let x = BigRational::new(BigInt::from(l) << frac as u64, BigInt::one() << from as u64);
                        let (low, twice) = (x.floor(), (&x - x.floor()) * BigInt::from(2));
                        let odd = (low.to_integer() % 2u8) != BigInt::zero();
                        let up = twice > BigRational::one() || twice == BigRational::one() && odd;
                        let log = low.to_integer().to_i64().unwrap() + (up && round == Rounding::Nearest) as i64;
                        pattern(to, s, log, Flags::SATURATION)
                    });
                    check("lcast", &inst, &[bits], want);
                }
            }
            for to in floats.into_iter().filter(|g| g.mant() <= f.log_frac() + 2) {
                for round in [Rounding::Nearest, Rounding::Truncate] {
                    let inst = instance("fromlog", &[f], Attrs { to: Some(to), round, ..Attrs::default() });
                    let of = if round == Rounding::Nearest { nearest_float } else { cut_float };
                    check("fromlog", &inst, &[bits], of(to, &value(f, bits)));
                }
            }
        }
        for from in floats.into_iter().filter(|g| g.mant() <= f.log_frac() + 2) {
            for bits in (0..1u64 << from.width()).filter_map(|b| exact::check_raw(from, b).ok()) {
                let x = exact::from_bits(from, bits) * BigRational::from(BigInt::one() << P);
                // Below 2^-220 the reference has too few places, and every format here has ended long before.
                for round in [Rounding::Nearest, Rounding::Truncate] {
                    let inst = instance("tolog", &[from], Attrs { to: Some(f), round, ..Attrs::default() });
                    let want = match x.to_integer() {
                        m if m.bits() < 100 && !x.is_zero() => (0, Flags::UNDERFLOW),
                        m => of_rounding(f, &m, Flags::SATURATION, round),
                    };
                    check("tolog", &inst, &[bits], want);
                }
            }
        }
    }
}

#[test]
fn decimals_are_read_to_the_nearest_and_print_the_shortest_that_reads_back() {
    let mut random = Random::new(6);
    for name in ["log5.1", "log9.4", "log17.8", "log22.12"] {
        let f = format(name);
        for _ in 0..300 {
            let bits = exact::check_raw(f, random.bits() & f.mask()).unwrap();
            let text = exact::print(f, bits);
            assert_eq!(exact::parse(f, &text), Ok(bits), "{name} {text}");
            // No decimal of one digit less reads back.
            let digits = |t: &str| t.split('e').next().unwrap().replace(['.', '-'], "").trim_matches('0').len();
            let x = f.to_f64(bits);
            if digits(&text) > 1 {
                let shorter = format!("{:.*e}", digits(&text) - 2, x);
                assert_ne!(exact::parse(f, &shorter), Ok(bits), "{name} {text} {shorter}");
            }
            // Any decimal goes to the nearest pattern.
            let x =
                exact::parse_decimal(&text).unwrap() * BigRational::new((random.bits() % 100 + 1).into(), 37.into());
            let want = nearest(f, &(x.clone() * BigRational::from(BigInt::one() << P)).to_integer(), Flags::OVERFLOW);
            match exact::to_bits(f, &x) {
                Ok((got, _)) => assert_eq!(got, want.0, "{name} {x}"),
                Err(_) => assert_eq!(want.1, Flags::OVERFLOW, "{name} {x}"),
            }
        }
    }
    let f = format("log17.8");
    for (text, bits) in [("1", 3 << 14), ("0", 0), ("-2", 7 << 14 | 1 << 8), ("0.5", (3 << 14) - 256), ("1e-30", 0)] {
        assert_eq!(exact::parse(f, text), Ok(bits), "{text}");
    }
    assert!(exact::parse(f, "1e30").is_err());
    assert_eq!((exact::print(f, 3 << 14), exact::print(f, 0)), ("1".into(), "0".into()));
}
