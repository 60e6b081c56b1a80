//! Powers against exact integer arithmetic, which shares nothing with the tables.

use hdl::Flags;
use hdl::Format;
use hdl::op::Attrs;
use hdl::op::Inst;
use hdl::op::Operator;
use hdl::op::operator;
use hdl::op::table::pow::*;
use num_bigint::BigUint;
use num_traits::One;
use std::cmp::Ordering;

/// A positive number `significand * 2^exponent`.
#[derive(Clone, Copy, Debug)]
struct Number {
    significand: u64,
    exponent: i64,
}

/// The order of `y` and x^(n/d), exactly: y^d against x^n, or y^d x^|n| against 1.
fn compare(y: Number, x: Number, n: i32, d: i32) -> Ordering {
    let bits = |v: u64| (64 - v.leading_zeros()) as i32;
    let (m, falling) = (n.unsigned_abs(), n < 0);
    let (ly, lx) = (d * bits(y.significand), m as i32 * bits(x.significand));
    let (ye, xe) = (d as i64 * y.exponent, m as i64 * x.exponent);
    if if falling { ly + lx } else { ly.max(lx) } <= 128 {
        let yp = (y.significand as u128).pow(d as u32);
        let xp = (x.significand as u128).pow(m);
        let align = |v: u128, e: i64| {
            let zeros = v.leading_zeros();
            (e - zeros as i64, v << zeros)
        };
        if falling { align(yp * xp, ye + xe).cmp(&align(1, 0)) } else { align(yp, ye).cmp(&align(xp, xe)) }
    } else {
        let yp = BigUint::from(y.significand).pow(d as u32);
        let xp = BigUint::from(x.significand).pow(m);
        let (a, ae, b, be) = if falling { (yp * xp, ye + xe, BigUint::one(), 0) } else { (yp, ye, xp, xe) };
        if ae > be { (a << (ae - be) as u64).cmp(&b) } else { a.cmp(&(b << (be - ae) as u64)) }
    }
}

/// Whether y is the power itself or one of the two numbers of `mant` fraction bits around it: the power lies strictly
/// between y's neighbours. A representable power must then be met.
fn is_faithful(y: Number, x: Number, n: i32, d: i32, mant: u32) -> bool {
    let below = if y.significand == 1 << mant {
        Number { significand: (2 << mant) - 1, exponent: y.exponent - 1 }
    } else {
        Number { significand: y.significand - 1, ..y }
    };
    let above = Number { significand: y.significand + 1, ..y };
    compare(below, x, n, d) == Ordering::Less && compare(above, x, n, d) == Ordering::Greater
}

/// The number that a pattern's exponent field and fraction stand for; the field may lie outside the format.
fn number(format: Format, field: i64, fraction: u64) -> Number {
    let mant = format.mant();
    Number { significand: fraction | 1 << mant, exponent: field - format.bias() as i64 - mant as i64 }
}

fn positive(format: Format, x: u64) -> Number {
    number(format, (x >> format.mant()) as i64, x & ((1 << format.mant()) - 1))
}

fn inst(format: Format, n: i32, d: i32) -> Inst {
    Inst::new(&Pow, &[format], Attrs { n, d, ..Attrs::default() }).unwrap()
}

fn float(name: &str) -> Format {
    name.parse().unwrap()
}

/// Checks one positive argument, whatever its result; returns the flags.
fn check_one(inst: &Inst, x: u64) -> Flags {
    let (format, (n, d)) = (inst.result, (inst.attrs.n, inst.attrs.d));
    let (y, flags) = Pow.bits(inst, &[x]);
    let mant = format.mant();
    let arg = positive(format, x);
    // Beyond the range the rounded result is one of two neighbours too: the power need only lie beyond the
    // last number for an overflow, and below the least one for an underflow.
    let good = if flags == Flags::OVERFLOW {
        y == format.max_bits() && compare(positive(format, y), arg, n, d) == Ordering::Less
    } else if flags == Flags::UNDERFLOW {
        y == 0 && compare(number(format, 1, 0), arg, n, d) == Ordering::Greater
    } else {
        flags.is_empty() && is_faithful(positive(format, y), arg, n, d, mant)
    };
    assert!(good, "{format}: {x:#x}^({n}/{d}) gave {y:#x} {flags:?}");
    assert!(Pow.flags(inst).contains(flags), "{format} {n}/{d} raises the undeclared {flags:?}");
    flags
}

/// The reduced exponents, without 0 and 1.
fn exponents() -> impl Iterator<Item = (i32, i32)> {
    let whole = (-16..=16).filter(|n| !(0..=1).contains(n)).map(|n| (n, 1));
    whole.chain((-15..=15).step_by(2).map(|n| (n, 2)))
}

/// Every positive pattern.
fn check_all(format: Format, n: i32, d: i32) {
    let inst = inst(format, n, d);
    let mut seen = Flags::NONE;
    for x in 1 << format.mant()..=format.max_bits() {
        seen |= check_one(&inst, x);
    }
    let declared = Pow.flags(&inst);
    let range = Flags(declared.0 & !Flags::INVALID.0);
    // A multiplication declares underflow even where no number is below 1.
    let range = if (n, d) == (2, 1) { Flags(seen.0 & range.0) } else { range };
    assert_eq!(seen, range, "{format} {n}/{d} declares flags that it never raises");
}

/// All fractions of the two octaves around 1, every `step`-th.
fn check_octaves(format: Format, n: i32, d: i32, step: usize) {
    let inst = inst(format, n, d);
    let one = (format.bias() as u64) << format.mant();
    for x in (one - (1 << format.mant())..one + (1 << format.mant())).step_by(step) {
        check_one(&inst, x);
    }
}

#[test]
fn every_input_of_narrow_formats_is_faithful_for_every_exponent() {
    for name in ["float4.1", "float5.2", "float5.1", "float6.2", "float8.4", "float9.5", "float12.6", "float13.1"] {
        for (n, d) in exponents() {
            check_all(float(name), n, d);
        }
    }
}

#[test]
fn every_input_of_float18_9_is_faithful_for_common_exponents() {
    for (n, d) in [(-1, 2), (-1, 1), (1, 2), (-3, 2), (-5, 2), (2, 1), (-2, 1), (3, 2), (3, 1)] {
        check_all(float("float18.9"), n, d);
    }
}

#[test]
fn two_octaves_are_faithful_for_every_width_and_exponent() {
    for mant in 1..=23 {
        let format = Format::float(mant + 9, mant).unwrap();
        for (n, d) in exponents() {
            check_octaves(format, n, d, if mant > 10 { (1 << (mant - 10)) - 1 } else { 1 });
        }
    }
}

#[test]
fn all_fractions_of_wide_formats_are_faithful_for_common_exponents() {
    for (name, step) in [("float25.16", 1), ("float29.20", 7)] {
        for (n, d) in [(-1, 2), (-1, 1), (1, 2), (-3, 2), (2, 1), (-2, 1), (3, 1)] {
            check_octaves(float(name), n, d, step);
        }
    }
}

/// The widest format, whose other powers are among the proofs in depth.
#[test]
fn all_fractions_of_float32_23_rsqrt_are_faithful() {
    check_octaves(float("float32.23"), -1, 2, 1);
}

#[test]
#[ignore = "a proof in depth"]
fn all_fractions_of_float32_23_of_other_powers_are_faithful() {
    for (n, d) in [(1, 2), (-1, 1), (-3, 2)] {
        check_octaves(float("float32.23"), n, d, 1);
    }
}

#[test]
fn zeros_signs_and_trivial_exponents() {
    let f = float("float18.9");
    let bits = |n, d, x| Pow.bits(&inst(f, n, d), &[x]);
    let (one, two, four) = (127 << 9, 128 << 9, 129 << 9);
    let minus = 1 << 17;
    for (n, d) in exponents() {
        assert_eq!(bits(n, d, 0), (0, Flags::NONE), "0^({n}/{d})");
        assert_eq!(bits(n, d, one), (one, Flags::NONE), "1^({n}/{d})");
        let odd = if n % 2 != 0 { minus } else { 0 };
        let expected = if d == 2 { (0, Flags::INVALID) } else { (one | odd, Flags::NONE) };
        assert_eq!(bits(n, d, one | minus), expected, "(-1)^({n}/{d})");
    }
    assert_eq!(bits(0, 1, 0), (one, Flags::NONE));
    assert_eq!(bits(0, 2, two | minus), (one, Flags::NONE));
    assert_eq!(bits(2, 2, two | minus), (two | minus, Flags::NONE));
    assert_eq!(bits(4, 2, two), (four, Flags::NONE));
    assert_eq!(bits(-1, 2, four), (126 << 9, Flags::NONE));
    assert_eq!(bits(3, 1, f.max_bits() | minus), (f.max_bits() | minus, Flags::OVERFLOW));
    assert_eq!(bits(3, 1, 1 << 9 | minus), (0, Flags::UNDERFLOW));
}

#[test]
fn arguments_outside_the_rules_are_refused() {
    let result =
        |name: &str, n, d| operator("pow").unwrap().result(&[float(name)], &Attrs { n, d, ..Attrs::default() });
    assert!(result("float18.9", 32, 2).is_ok());
    assert!(result("float18.9", 17, 2).unwrap_err().contains("|n| at most 16"));
    assert!(result("float18.9", 1, 3).unwrap_err().contains("d is 1 or 2"));
    assert!(result("float64.52", 1, 2).is_ok());
    assert!(Pow.result(&["int32".parse().unwrap()], &Attrs { n: 1, d: 2, ..Attrs::default() }).is_err());
}

#[test]
fn the_bounds_hold_for_every_piece() {
    for (mant, n, d) in [(16, -1, 2), (20, -3, 2), (23, -1, 2), (23, 16, 1), (23, -15, 2)] {
        let t = Prepared::new(Format::float(mant + 9, mant).unwrap(), n, d).table;
        assert!(t.bound > 0.0 && t.bound < 0.5, "{mant} {n}/{d}: {}", t.bound);
    }
}

/// The tables are bits of every result, so they must not differ between machines or releases unnoticed: FNV-1a over
/// all numbers of them.
#[test]
fn the_tables_are_the_same_everywhere() {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut take = |v: u64| hash = (hash ^ v).wrapping_mul(0x100_0000_01b3);
    for mant in [4, 9, 12, 16, 20, 23] {
        for (n, d) in exponents() {
            let p = Prepared::new(Format::float(mant + 9, mant).unwrap(), n, d);
            let t = &p.table;
            t.columns.iter().flatten().for_each(|v| take(*v as u64));
            t.quantum.iter().for_each(|q| take(p.octave_of(*q) as u64));
            (0..3).for_each(|i| take(t.shift.get(i).copied().unwrap_or(0) as u64));
            take((mant - t.place_bits() + (d == 2) as u32) as u64 | (p.guard as u64) << 8);
        }
    }
    assert_eq!(hash, 0x45a2_762e_23b7_a3dc, "the bits of powers have changed: {hash:#x}");
}

#[test]
fn the_c_of_common_powers() {
    let c = |n, d| Pow.c_expr(&inst(float("float32.23"), n, d), &["x"]);
    assert_eq!(c(-1, 2), "(x > 0 ? (rsqrt(x)) : 0)");
    assert_eq!(c(-2, 1), "(x != 0 ? 1 / (x * x) : 0)");
    assert_eq!(c(3, 2), "(x > 0 ? (sqrt(x) * sqrt(x) * sqrt(x)) : 0)");
}

#[test]
fn every_circuit_can_be_built() {
    for name in ["float4.1", "float5.2", "float13.1", "float18.9", "float20.10", "float25.16", "float35.23"] {
        for (n, d) in exponents().chain([(0, 1), (1, 1)]) {
            for nonneg in 0..2 {
                let inst = Inst { nonneg, ..inst(float(name), n, d) };
                let p = hdl::op::hardware(&Pow, &inst, hdl::circuit::target::Clock::default_clock());
                let flags = p.module.ports.iter().find(|p| p.name == "f").map_or(0, |p| p.width);
                assert_eq!(flags, Pow.flags(&inst).iter().count() as u32);
            }
        }
    }
}
