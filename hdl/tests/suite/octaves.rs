//! Functions by octaves against double-double arithmetic, whose digits are tested on their own.

use crate::exp::{NARROW, check};
use hdl::Format;
use hdl::number::real::*;
use hdl::op::table::octaves::*;
use hdl::op::{Attrs, Inst, Operator};
use testkit::Random;

const ALL: [&Octaves; 7] = [&TANH, &ERF, &ERFC, &CBRT, &ASIN, &ACOS, &ATAN];

fn faithful(op: &'static Octaves, format: &str, step: u64) {
    let expr = Expr::of(op.call);
    let folds = matches!(op.call, Call::Asin | Call::Acos);
    check(op, format, step, |x| {
        if op.call == Call::Erfc && x > 26.6 {
            // Below the range of f64.
            return Some(Dd::from(f64::MIN_POSITIVE / 2.0));
        }
        // Beyond, f64 has no exponential of its square.
        let x = if matches!(op.call, Call::Tanh | Call::Erf | Call::Erfc) { x.clamp(-30.0, 30.0) } else { x };
        if folds && x.abs() > 1.0 { None } else { expr.value(Dd::from(x)).map(|v| v.value) }
    });
}

#[test]
fn every_result_of_narrow_formats_is_faithful() {
    for op in ALL {
        for format in NARROW {
            faithful(op, format, 1);
        }
    }
}

#[test]
fn results_of_wide_formats_are_faithful_where_they_are_sampled() {
    for op in testkit::some(ALL, 3) {
        for format in ["float25.16", "float32.23"] {
            let width = format.parse::<Format>().unwrap().width();
            faithful(op, format, (1 << (width - 17)) - 1);
        }
    }
}

/// The greatest distance of results from their values, in places.
fn worst(op: &'static Octaves, format: Format, count: usize) -> f64 {
    let expr = Evaluator::new(&Expr::of(op.call));
    let p = prepared(format, op.call);
    let mut random = Random::new(8);
    let one = (format.bias() as u64) << format.mant();
    let mut worst = 0.0f64;
    for _ in 0..count {
        // Octaves from 2^-14 to 2^4, and some of all.
        let octave = if random.chance(0.9) { random.below(18) } else { random.below(format.bias() as u64) };
        let magnitude = (one + (4 << format.mant())).saturating_sub(octave << format.mant()).max(1 << format.mant());
        let x = magnitude & !((1 << format.mant()) - 1)
            | random.bits() & ((1 << format.mant()) - 1)
            | (random.bits() & 1) << (format.width() - 1);
        let (y, flags) = p.eval(x);
        if flags.is_empty() {
            let value = expr.value(Dd::from(format.to_f64(x))).expect("it is defined").value;
            let octave = hdl::number::real::log2(value.hi.abs().max(hdl::number::real::exp2(1 - format.bias())));
            let off = (value - Dd::from(format.to_f64(y))).hi.abs();
            worst = worst.max(off / hdl::number::real::exp2(octave - format.mant() as i32));
        }
    }
    worst
}

#[test]
#[ignore = "proof: many results"]
fn many_results_keep_to_the_stated_accuracy() {
    for op in ALL {
        for name in ["float18.9", "float25.16", "float29.20", "float32.23", "float35.23"] {
            let format: Format = name.parse().unwrap();
            let inst = Inst::new(op, &[format], Attrs::default()).unwrap();
            let (worst, stated, table) =
                (worst(op, format, 200_000), op.accuracy(&inst).ulps, op.table(&inst).unwrap());
            println!(
                "{} {name}: {worst:.3} ulp of {stated:.3}; {} pieces of degree {}, {} bits",
                op.name(),
                table.pieces,
                table.degree,
                table.bits
            );
            assert!(worst <= stated, "{} {name}: {worst} of {stated}", op.name());
        }
    }
}
