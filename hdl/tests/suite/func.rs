//! Functions against their expressions in double-double, whose digits are tested on their own.

use hdl::Flags;
use hdl::Format;
use hdl::number::exact::Exact;
use hdl::number::exact::to_bits;
use hdl::number::real::Dd;
use hdl::number::real::Expr;
use hdl::number::real::Smooth;
use hdl::number::real::{Node, exp2};
use hdl::op::Attrs;
use hdl::op::Inst;
use hdl::op::Operator;
use hdl::op::table::func::*;
use std::sync::Arc;

/// An expression in reverse Polish notation: `x`, numbers, names, `+ - * / pow min max`.
pub fn expr(text: &str) -> Expr {
    let mut e = Expr::default();
    let mut stack = Vec::new();
    for word in text.split_whitespace() {
        let node = if let Some(call) = hdl::number::real::expr::CALLS.iter().find(|c| c.0 == word) {
            Node::Call(call.1, stack.pop().unwrap())
        } else if ["+", "-", "*", "/", "pow", "min", "max"].contains(&word) {
            let (b, a) = (stack.pop().unwrap(), stack.pop().unwrap());
            match word {
                "+" => Node::Add(a, b),
                "-" => Node::Sub(a, b),
                "*" => Node::Mul(a, b),
                "/" => Node::Div(a, b),
                "min" => Node::Min(a, b),
                "max" => Node::Max(a, b),
                _ => Node::Pow(a, b),
            }
        } else if word == "x" {
            Node::X
        } else {
            Node::Number(hdl::number::exact::parse_decimal(word).unwrap())
        };
        stack.push(e.push(node));
    }
    assert_eq!(stack.len(), 1, "{text}");
    e
}

fn number(text: &str) -> Exact {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |t| (-1, t));
    hdl::number::exact::parse_decimal(digits).unwrap() * Exact::from(num_bigint::BigInt::from(sign))
}

pub fn function(text: &str, lo: &str, hi: &str) -> Arc<Function> {
    Function::new(expr(text), number(lo), number(hi))
}

/// One that is not shared.
pub fn new_function(text: &str, lo: &str, hi: &str) -> Function {
    Function::unshared(expr(text), number(lo), number(hi))
}

/// The table of a use.
fn of(inst: &Inst) -> &Prepared {
    prepared(inst.result, inst.attrs.function.as_ref().unwrap()).unwrap()
}

pub fn inst(format: &str, function: &Arc<Function>) -> Inst {
    let format: Format = format.parse().unwrap();
    Inst::new(&Func, &[format], Attrs { function: Some(function.clone()), ..Attrs::default() }).unwrap()
}

/// Whether y is one of the two numbers around the value, and the value itself where that is a number. `floor` is the
/// exponent below which a place is that of 2^floor.
pub fn is_faithful(format: Format, y: u64, flags: Flags, value: Dd, floor: Option<i32>) -> bool {
    if let Some(frac) = format.frac() {
        let off = (value.scale(frac as i32) - Dd::from(format.to_int(y) as f64)).hi;
        let end = y == format.max_bits() || y == format.min_bits();
        return if flags.contains(Flags::SATURATION) { end } else { off.abs() < 1.0 };
    }
    let m = format.mant() as i32;
    let got = Dd::from(format.to_f64(y));
    if flags.contains(Flags::OVERFLOW) {
        return value.abs().hi >= got.abs().hi;
    }
    let smallest = 1 - format.bias();
    if flags.contains(Flags::UNDERFLOW) {
        return y == 0 && value.abs().hi < exp2(smallest) && value.hi != 0.0;
    }
    let size = value.abs().hi;
    let octave = if size == 0.0 { smallest } else { hdl::number::real::log2(size).max(floor.unwrap_or(smallest)) };
    let off = (got - value).hi.abs();
    off < exp2(octave - m)
}

/// Every step-th argument of the format, and two hundred of the interval, which may be short. Gives the use.
fn check(format: &str, text: &str, (lo, hi): (&str, &str), step: u64) -> Inst {
    let f = function(text, lo, hi);
    let inst = inst(format, &f);
    let p = of(&inst);
    let format = p.format;
    let declared = Func.flags(&inst);
    let mut inside = 0;
    let (start, end) = p.domain.ends;
    let spread = (0..=200).map(|k| {
        let at = Exact::from_float(start + (end - start) * (k as f64 / 200.0)).unwrap();
        p.domain.clamp(to_bits(format, &at).unwrap().0).0
    });
    for x in (0..=format.mask()).step_by(step as usize).chain(spread) {
        let fields = (1u64 << format.exp()) - 1;
        let field = x >> format.mant() & fields;
        let valid = !format.is_float() || x == 0 || field != 0 && field != fields;
        if valid {
            let (y, flags) = Func.bits(&inst, &[x]);
            assert!(declared.contains(flags), "{text} on {format} raises the undeclared {flags:?} at {x:#x}");
            let (at, outside) = p.domain.clamp(x);
            inside += !outside as u64;
            assert_eq!(flags.contains(Flags::INVALID), outside);
            let value = f.evaluator.value(Dd::from(format.to_f64(at))).unwrap().value;
            let good = is_faithful(format, y, flags, value, p.floor);
            let shown = (format.to_f64(at), format.to_f64(y));
            assert!(good, "{text} on {format} at {x:#x}: {shown:?} {flags:?}, not {value:?}");
            assert!(p.bounds.contain(format, y), "{text} on {format}: {y:#x} outside {:?}", p.bounds);
        }
    }
    assert!(inside > 100, "{inside} arguments of {text} inside");
    inst
}

#[test]
fn where_a_function_is_0_the_result_is_0_without_a_flag() {
    for format in ["float9.4", "float18.9", "float25.16", "float32.23", "fixed16.10", "ufixed16.14"] {
        let format: Format = format.parse().unwrap();
        for (text, (lo, hi), zeros) in [
            ("1 x -", ("0", "1"), vec!["1"]),
            ("1 x -", ("0.5", "2"), vec!["1"]),
            ("x sin", ("0", "1"), vec!["0"]),
            ("x", ("0", "1"), vec!["0"]),
            ("x sqrt", ("0", "2"), vec!["0"]),
            ("x 1 x - *", ("0", "1"), vec!["0", "1"]),
            ("x 0.75 -", ("0.5", "1.5"), vec!["0.75"]),
            ("x log", ("0.5", "2"), vec!["1"]),
            ("x exp 1 -", ("0", "1"), vec!["0"]),
            ("x x *", ("0", "1"), vec!["0"]),
            ("x 0.5 - x 0.5 - *", ("0", "1"), vec!["0.5"]),
            ("1 x - 1 x - * 1 x - *", ("0", "1"), vec!["1"]),
            ("0 1 x - max", ("0", "1.75"), vec!["1", "1.25", "1.5", "1.75"]),
        ] {
            if !format.is_signed() && text == "1 x -" && hi == "2" {
                continue;
            }
            let f = function(text, lo, hi);
            let p = prepared(format, &f).unwrap_or_else(|e| panic!("{text} on {format}: {e:?}"));
            for zero in zeros {
                let x = hdl::number::exact::parse(format, zero).unwrap();
                assert_eq!(p.eval(x), (0, Flags::NONE), "{text} on {format} at {zero}");
            }
            for (end, outside) in [(p.domain.lo, false), (p.domain.hi, false)] {
                assert_eq!(p.eval(end).1.contains(Flags::INVALID), outside, "{text} on {format}");
            }
        }
    }
    // What a use cannot raise it does not declare.
    let float: Format = "float18.9".parse().unwrap();
    assert_eq!(prepared(float, &function("1 x -", "0", "1")).unwrap().flags, Flags::NONE);
}

#[test]
fn every_argument_of_narrow_floats_gives_a_faithful_result() {
    check_narrow(&["float18.9", "float12.6"]);
}

#[test]
#[ignore = "a proof in depth"]
fn every_argument_of_floats_with_few_exponents_gives_a_faithful_result() {
    check_narrow(&["float16.10"]);
}

fn check_narrow(formats: &[&str]) {
    for (text, lo, hi) in [
        ("x exp", "-4", "4"),
        ("1 x /", "0.1", "100"),
        ("x sin", "0", "1.5"),
        ("x erfc x /", "0.25", "4"),
        ("x x * neg exp", "-3", "3"),
        ("1 x - 4 pow 4 x * 1 + *", "0", "1"),
        ("x tanh", "-8", "8"),
        ("x 1 max sqrt", "0", "4"),
        ("x log", "1e-3", "1e3"),
    ] {
        for format in formats {
            check(format, text, (lo, hi), 1);
        }
    }
}

#[test]
fn wide_floats_are_faithful_where_they_are_sampled() {
    for (text, lo, hi) in [
        ("x neg exp", "0", "20"),
        ("1 x /", "0.5", "8"),
        ("x erfc", "0", "4"),
        ("x x * neg exp 2 x * * x erfc x / +", "0.25", "3"),
        ("x sin", "0", "1.5"),
        ("1 x 2 / - 4 pow 2 x * 1 + *", "0", "2"),
    ] {
        for (format, step) in [("float25.16", 2_039), ("float32.23", 200_003)] {
            let inst = check(format, text, (lo, hi), step);
            let p = of(&inst);
            let t = &p.table;
            println!(
                "{format} {text}: floor {:?} degree {} top {} rows {} bits {} place {} h {} bound {:.3}",
                p.floor,
                t.degree,
                t.top,
                t.rows.len(),
                t.total_bits(),
                t.place_bits(),
                t.span().bits(),
                t.bound
            );
        }
    }
}

/// A simple zero, on an argument or between two, costs bits but no exactness.
#[test]
fn results_around_simple_zeros_are_faithful() {
    for (text, lo, hi) in [("x sin", "0", "7"), ("x log", "0.5", "2"), ("x cos", "0", "7"), ("x x * 2 -", "1", "1.75")]
    {
        for (format, step) in [("float18.9", 1), ("float25.16", 401), ("float32.23", 20_011)] {
            let inst = check(format, text, (lo, hi), step);
            let p = of(&inst);
            assert_eq!(p.floor, None, "{text} on {format}");
            println!(
                "{format} {text}: degree {} rows {} bits {}",
                p.table.degree,
                p.table.rows.len(),
                p.table.total_bits()
            );
        }
    }
}

/// Zeros of every order, at 0, at other numbers and between two, and whether some format has no table with their digits.
const ZEROS: &[(&str, &str, &str, bool)] = &[
    ("x exp 1 -", "-1", "1", false),
    ("1 x + log", "0", "1", false),
    ("x x sin -", "-2", "2", false),
    ("x 0.3 - 3 pow", "0", "1", true),
    ("x 0.75 - x 0.75 - *", "0", "1", true),
    ("1 x 2 / - 4 pow", "0", "2", true),
    ("1 x + sqrt 1 -", "-0.5", "1", false),
    ("x 0.5 pow", "0", "2", false),
    ("1 x cos -", "0", "3", false),
    ("x x * exp 1 -", "0", "1", false),
    ("x tanh x -", "0", "1", false),
    ("x x * x *", "-1", "1", false),
    ("x abs 1.5 pow", "0", "1", false),
    ("x cos x exp * 1 - x -", "0", "1", false),
    ("x log x log *", "0.5", "2", true),
    ("1 x sin -", "0", "3", true),
];

#[test]
fn results_next_to_zeros_keep_the_promise() {
    check_zeros(&ZEROS[..8], &[("float18.9", 61)]);
    check_zeros(&ZEROS[..6], &[("float32.23", 3_000_017)]);
}

#[test]
#[ignore = "a proof in depth"]
fn results_next_to_more_zeros_keep_the_promise_in_all_formats() {
    check_zeros(ZEROS, &[("float18.9", 7), ("float25.16", 4_001), ("float32.23", 300_007)]);
}

fn check_zeros(functions: &[(&str, &str, &str, bool)], formats: &[(&str, u64)]) {
    for (text, lo, hi, floored) in functions {
        for (format, step) in formats {
            let inst = check(format, text, (lo, hi), *step);
            let floor = of(&inst).floor;
            assert!(floor.is_none() || *floored, "{text} on {format}: {floor:?}");
            check_beside_zeros(&inst);
        }
    }
}

/// Arguments near the places where a function is least, more and more of them: errors, and their mean.
fn check_beside_zeros(inst: &Inst) {
    let (p, function, format) = (of(inst), inst.attrs.function.as_ref().unwrap(), inst.result);
    let value = |x: u64| function.evaluator.value(Dd::from(format.to_f64(x))).unwrap().value;
    let (mut sum, mut count) = (0.0, 0);
    for zero in [0.0, 0.3, 0.75, 1.0, std::f64::consts::FRAC_PI_2, 2.0] {
        for k in 0..400 {
            let distance = exp2(-(k / 8) - 2) * (1.0 + (k % 8) as f64 / 8.1);
            let at = Exact::from_float(zero + if k % 2 == 0 { distance } else { -distance }).unwrap();
            let x = p.domain.clamp(to_bits(format, &at).unwrap().0).0;
            let ((y, flags), value) = (p.eval(x), value(x));
            assert!(is_faithful(format, y, flags, value, p.floor), "{} at {at}: {value:?}", function.text);
            let Some(floor) = p.floor.filter(|floor| value.abs().hi < exp2(*floor)) else { continue };
            sum += (Dd::from(format.to_f64(y)) - value).hi / exp2(floor - format.mant() as i32);
            count += 1;
        }
    }
    if count > 100 {
        let mean = sum / count as f64;
        assert!(mean.abs() < 0.25, "{} on {format}: results are off by {mean} places on average", function.text);
    }
}

#[test]
fn functions_of_one_value_have_tables_and_circuits() {
    let formats =
        "float4.1 float9.4 float18.9 float25.16 float32.23 float35.23 fixed1.1 fixed8.3 fixed32.31 ufixed12.3";
    for format in formats.split(' ') {
        for (text, lo, hi) in [
            ("x x -", "0", "0.4"),
            ("x x -", "-0.4", "0.4"),
            ("x 1 - 0 max", "0.1", "1"),
            ("1e18 x * erfc x /", "0.1", "0.4"),
            ("1e-300", "0.1", "0.4"),
            ("0.25", "0", "0.4"),
            ("0.25 neg", "0", "0.4"),
            ("1e30", "0.1", "0.4"),
            ("1e30 neg", "0.1", "0.4"),
            ("x 10 pow", "0.001", "100"),
            ("1e6 x *", "0", "0.4"),
            ("x", "0.25", "0.250001"),
        ] {
            let (format, f) = (format.parse::<Format>().unwrap(), function(text, lo, hi));
            let Ok(p) = prepared(format, &f) else { continue };
            let inst = inst(&format.to_string(), &f);
            let module = hdl::op::hardware(&Func, &inst, hdl::circuit::target::Clock::default_clock()).module;
            assert!(module.ports.iter().any(|p| p.name == "q"));
            for x in [p.domain.lo, p.domain.hi] {
                let ((y, flags), value) = (p.eval(x), f.evaluator.value(Dd::from(format.to_f64(x))).unwrap().value);
                assert!(is_faithful(format, y, flags, value, p.floor), "{text} on {format} at {x:#x}: {y:#x}");
                assert!(Func.flags(&inst).contains(flags) && p.bounds.contain(format, y), "{text} on {format}");
            }
        }
    }
}

#[test]
fn fixeds_are_faithful() {
    for (format, text, lo, hi, step) in [
        ("fixed16.12", "x exp", "-4", "2", 1),
        ("ufixed16.14", "x sqrt 1 +", "0.5", "3", 1),
        ("fixed12.8", "x sin", "-7", "7", 1),
        ("fixed32.24", "x neg exp", "0", "100", 50_021),
        ("fixed32.30", "x cos", "-1.5", "1.5", 50_021),
        ("ufixed8.8", "x 4 *", "0", "0.9", 1),
    ] {
        check(format, text, (lo, hi), step);
    }
}

#[test]
fn what_cannot_be_fitted_is_told() {
    let float: Format = "float32.23".parse().unwrap();
    let failure = |text: &str, lo: &str, hi: &str| match prepared(float, &function(text, lo, hi)) {
        Ok(p) => panic!("{text} has a table of {} bits", p.table.total_bits()),
        Err(failure) => failure.clone(),
    };
    assert_eq!(failure("x", "2", "1"), Failure::Interval);
    assert_eq!(failure("x", "1", "1.00000000001"), Failure::Interval);
    assert_eq!(failure("1 x /", "0", "1"), Failure::Undefined(0.0));
    assert!(matches!(failure("1 x 1 - /", "0.5", "1.75"), Failure::Undefined(x) if x == 1.0));
    assert!(matches!(failure("x log", "-1", "1"), Failure::Undefined(_)));
    let Failure::Large { at, .. } = failure("x 0.3 - abs", "0.25", "1") else { panic!("a kink has no polynomial") };
    assert!((at - 0.3).abs() < 1e-4, "{at}");
}

#[test]
fn every_circuit_can_be_built() {
    for (text, lo, hi) in [("x exp", "-4", "4"), ("1 x /", "0.1", "20"), ("x sin", "-1", "1.5"), ("x 4 *", "0.25", "1")]
    {
        for format in ["float18.9", "float25.16", "fixed16.10", "float10.5"] {
            let inst = inst(format, &function(text, lo, hi));
            let p = hdl::op::hardware(&Func, &inst, hdl::circuit::target::Clock::default_clock());
            let flags = p.module.ports.iter().find(|p| p.name == "f").map_or(0, |p| p.width);
            assert_eq!(flags, Func.flags(&inst).iter().count() as u32);
        }
    }
}

/// Steep at one end, at the other one, and at both.
#[test]
fn fixeds_are_faithful_where_a_function_is_steep_at_an_end() {
    for (format, text, lo, hi, step) in [
        ("ufixed32.31", "1 x x * - sqrt", "0", "1", 200_003),
        ("fixed32.30", "1 x x * - sqrt", "-1", "1", 200_003),
        ("fixed32.24", "x sqrt", "0", "100", 200_003),
        ("fixed28.24", "x 1 + cbrt", "-1", "0.7", 10_007),
    ] {
        let inst = check(format, text, (lo, hi), step);
        let (p, function) = (of(&inst), inst.attrs.function.as_ref().expect("a function"));
        assert!(p.lines.ends.is_some(), "{text} on {format}");
        // Next to the ends, closer and closer.
        let ends = [p.domain.lo, p.domain.hi].map(|end| p.format.to_int(end));
        for k in 0..(ends[1] - ends[0]).ilog2() * 8 {
            let away = (1i128 << (k / 8)) * (8 + (k % 8) as i128) / 8;
            for x in [ends[0] + away - 1, ends[1] - away + 1] {
                let x = x.clamp(ends[0], ends[1]) as u64 & p.format.mask();
                let ((y, flags), value) = (p.eval(x), function.evaluator.value(Dd::from(p.format.to_f64(x))).unwrap());
                assert!(is_faithful(p.format, y, flags, value.value, None), "{text} on {format} at {x:#x}");
            }
        }
        println!("{format} {text}: {:?}", Func.table(&inst));
    }
}
