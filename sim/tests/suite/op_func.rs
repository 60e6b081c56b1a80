//! The Verilog of functions against their bits, many uses in one build.

use crate::common::built;
use hdl::circuit::target::Clock;
use hdl::number::exact::{Exact, parse_decimal, to_bits};
use hdl::number::real::{Call, Expr, Node};
use hdl::op::table::func::Function;
use hdl::op::{Attrs, Inst, Operator, hardware, operator};
use hdl::{Bounds, Format};
use sim::bench::MultiBench;
use std::sync::Arc;
use testkit::Random;

const SEED: u64 = 0x66756e63;

/// Arguments of a use in a usual run, and in a proof in depth.
const CYCLES: usize = 1000;
const MANY_CYCLES: usize = 8192;

fn op(name: &str) -> &'static dyn Operator {
    operator(name).expect("it is registered")
}

fn number(text: &str) -> Exact {
    let digits = parse_decimal(text.trim_start_matches('-')).expect("a number");
    if text.starts_with('-') { -digits } else { digits }
}

/// A call on the argument, or its reciprocal where no call is given.
fn function(call: Option<Call>, (lo, hi): (&str, &str)) -> Arc<Function> {
    let mut e = Expr::default();
    let x = e.push(Node::X);
    match call {
        Some(call) => e.push(Node::Call(call, x)),
        None => {
            let one = e.push(Node::Number(number("1")));
            e.push(Node::Div(one, x))
        }
    };
    Function::new(e, number(lo), number(hi))
}

/// Uses of each function on many formats, or, unless `all`, on some of these.
fn uses(all: bool) -> Vec<(&'static dyn Operator, Inst)> {
    let mut list = Vec::new();
    // The tables of most uses take Verilator long. Here each function meets a part of the formats.
    let taken = |format: usize, function: usize, of: usize| all || (format + function).is_multiple_of(of);
    let mut add = |name: &str, format: &str, function: Option<Arc<Function>>, bounds: bool| {
        let format: Format = format.parse().expect("a format");
        let attrs = Attrs { function, ..Attrs::default() };
        let arguments = if name == "atan2" { 2 } else { 1 };
        let inst = Inst::new(op(name), &vec![format; arguments], attrs).expect("a function");
        list.push((op(name), inst.clone()));
        if bounds && format.is_float() {
            // Positive numbers around 1 alone, which leaves out much of the circuit.
            let (one, mant) = (format.bias() as i128, format.mant());
            let reach = (one / 4).max(1);
            let bounds = Bounds { low: (one - reach).max(1) << mant, high: (one + reach) << mant, zero: false };
            let nonneg = (1 << arguments) - 1;
            list.push((op(name), Inst { nonneg, bounds: vec![bounds; arguments], ..inst }));
        }
    };
    let functions = ["exp", "log", "sin", "cos", "exp2", "log2"];
    let floats = ["float18.9", "float25.16", "float32.23", "float5.2", "float13.1", "float12.6", "float35.23"];
    let fixeds = ["fixed16.8", "ufixed16.10", "fixed32.20", "fixed12.11", "ufixed2.1"];
    for (formats, float) in [(&floats[..], true), (&fixeds, false)] {
        for (k, format) in formats.iter().enumerate() {
            for (n, name) in functions.iter().enumerate().filter(|(n, _)| taken(k, *n, 6)) {
                add(name, format, None, float && (all || (k + n) % 2 == 0));
            }
        }
    }
    let octaves = ["tanh", "erf", "erfc", "cbrt", "asin", "acos", "atan", "atan2"];
    let floats =
        ["float12.6", "float18.9", "float13.1", "float25.16", "float5.2", "float32.23", "float8.4", "float35.23"];
    for (k, format) in floats.iter().enumerate() {
        for (n, name) in octaves.iter().enumerate().filter(|(n, _)| taken(k, *n, 8)) {
            add(name, format, None, all || (k + n) % 16 == 0);
        }
    }
    // Tables of thousands of entries take Verilator long: each function in two formats, each format with half of the functions.
    for (k, (call, ends)) in [
        (None, ("0.125", "8")),
        (Some(Call::Erfc), ("0", "3")),
        (Some(Call::Sin), ("-1.5", "3")),
        (Some(Call::Tanh), ("-4", "4")),
        (Some(Call::Exp), ("-9", "-0.5")),
        (Some(Call::Neg), ("1", "1.75")),
        (Some(Call::Sqrt), ("0", "6")),
    ]
    .into_iter()
    .enumerate()
    {
        let formats = [["float18.9", "float32.23"], ["float12.6", "float25.16"]][k % 2];
        for format in formats.into_iter().take(if all { 2 } else { 1 }) {
            add("func", format, Some(function(call, ends)), all && format == formats[0]);
        }
    }
    let fixed = [(Some(Call::Erfc), ("0", "3")), (Some(Call::Sin), ("-1.5", "3")), (None, ("0.125", "2"))];
    for (n, (call, ends)) in fixed.into_iter().enumerate() {
        for (k, format) in ["fixed16.12", "fixed24.20", "ufixed12.10"].into_iter().enumerate() {
            if taken(k, n, 3) && !(format.starts_with('u') && ends.0.starts_with('-')) {
                add("func", format, Some(function(call, ends)), false);
            }
        }
    }
    list
}

/// The k-th argument of a use, within its bounds: corners, numbers of all sizes, and many around 1.
fn argument(inst: &Inst, k: usize, random: &mut Random) -> u64 {
    let format = inst.args[0];
    let any = random.bits() & format.mask();
    let corners = [0, format.max_bits(), format.min_bits(), 1, format.mask()];
    if !format.is_float() {
        let near = any >> (k as u32 % format.width());
        return if k < corners.len() { corners[k] } else { near };
    }
    let (mant, least) = (format.mant(), 1u64 << format.mant());
    let one = (format.bias() as u64) << mant;
    let (low, high) = inst.magnitudes(0);
    let around = (one + (any & (2 * least - 1))).saturating_sub(least);
    let tiny = one - (random.below(16) << mant).min(one) + (any & 3);
    // Next to multiples of pi / 2 sines and cosines are small.
    let turns = (1 + (random.below(600_000) >> (k % 20))) as f64;
    let angle = Exact::from_float(turns * std::f64::consts::FRAC_PI_2).expect("a finite number");
    let angle = to_bits(format, &angle).map_or(around, |found| found.0);
    let magnitude = [any & (format.mask() >> 1), around, tiny, angle][k % 4].clamp(low, high);
    let sign = if inst.is_nonneg(0) || random.chance(0.5) { 0 } else { 1u64 << (format.width() - 1) };
    if k == 0 && inst.bounds(0).zero { 0 } else { magnitude | sign }
}

/// Rows of arguments; of two, each meets the corners of the other.
fn row_of(inst: &Inst, cycles: usize, random: &mut Random) -> Vec<Vec<u64>> {
    let row = |k: usize, random: &mut Random| {
        (0..inst.args.len()).map(|n| argument(inst, if n == 0 { k } else { k / 5 }, random)).collect()
    };
    (0..cycles).map(|k| row(k, random)).collect()
}

#[test]
fn verilog_of_functions_equals_their_bits() {
    equal_their_bits(&uses(false), CYCLES);
}

#[test]
#[ignore = "a proof in depth"]
fn verilog_of_functions_on_many_formats_equals_their_bits() {
    equal_their_bits(&uses(true), MANY_CYCLES);
}

fn equal_their_bits(uses: &[(&'static dyn Operator, Inst)], cycles: usize) {
    let made: Vec<_> = uses.iter().map(|(op, inst)| hardware(*op, inst, Clock::default_clock())).collect();
    // Uses that differ in bounds alone have one name.
    let modules = made.iter().map(|m| m.module.clone()).collect();
    let Some(mut bench) = built(MultiBench::build(modules)) else { return };
    println!("seed {SEED:#x}");
    let mut random = Random::new(SEED);
    let inputs: Vec<Vec<Vec<u64>>> = uses.iter().map(|(_, inst)| row_of(inst, cycles, &mut random)).collect();
    let outputs = bench.run_all(&inputs);
    for (k, (op, inst)) in uses.iter().enumerate() {
        let declared = op.flags(inst);
        for (x, y) in inputs[k].iter().zip(&outputs[k]) {
            let (bits, flags) = op.bits(inst, x);
            assert!(declared.contains(flags), "{} {} {:#x}: {flags:?}", op.name(), inst.result, x[0]);
            assert!(op.bounds(inst).contain(inst.result, bits), "{} {} {:#x}", op.name(), inst.result, x[0]);
            let mut expected = vec![bits];
            if !declared.is_empty() {
                expected.push(declared.iter().enumerate().map(|(b, f)| (flags.contains(f) as u64) << b).sum());
            }
            let function = inst.attrs.function.as_ref().map_or("", |f| &f.text);
            assert_eq!(*y, expected, "{} {function} {} {:#x}, bounds {:?}", op.name(), inst.result, x[0], inst.bounds);
        }
        if made[k].latency > 0 {
            // Of most arguments outside its interval a function has one value; a change is what can be timed.
            let mut rows: Vec<(&Vec<u64>, &Vec<u64>)> = Vec::new();
            for (x, y) in inputs[k].iter().zip(&outputs[k]) {
                if rows.len() < 16 && rows.last().is_none_or(|last| last.1 != y) {
                    rows.push((x, y));
                }
            }
            // Within bounds there may be a single result: in a narrow format, or on one side of the interval.
            if rows.len() < 2 {
                let function = inst.attrs.function.as_ref().map_or("", |f| &f.text);
                assert!(!inst.bounds.is_empty(), "{} {function} {} never changes", op.name(), inst.result);
                continue;
            }
            let rows: Vec<Vec<u64>> = rows.iter().map(|row| row.0.clone()).collect();
            let function = inst.attrs.function.as_ref().map_or("", |f| &f.text);
            let what = format!("{} {function} {}", op.name(), inst.result);
            assert_eq!(bench.measured_latency(k, &rows), Ok(made[k].latency), "{what}");
        }
    }
}
