//! Logarithms against double-double arithmetic, whose digits are tested on their own.

use crate::exp::{NARROW, check};
use crate::func::is_faithful;
use hdl::number::real::elementary;
use hdl::number::real::{Dd, exp2};
use hdl::op::Attrs;
use hdl::op::Inst;
use hdl::op::Operator;
use hdl::op::table::ln::*;
use hdl::{Flags, Format};
use testkit::Random;

fn reference(x: f64) -> Option<Dd> {
    (x > 0.0).then(|| elementary::log(Dd::from(x)))
}

#[test]
fn every_logarithm_of_narrow_formats_is_faithful() {
    for format in NARROW {
        check(&Log, format, 1, reference);
    }
    for format in
        ["fixed16.8", "ufixed16.8", "fixed12.11", "ufixed8.8", "fixed8.0", "fixed16.16", "ufixed2.1", "ufixed1.0"]
    {
        check(&Log, format, 1, reference);
    }
}

#[test]
fn logarithms_of_wide_formats_are_faithful_where_they_are_sampled() {
    for format in ["float25.16", "float29.20", "float32.23", "float35.23"] {
        let width = format.parse::<Format>().unwrap().width();
        check(&Log, format, (1 << (width - 17)) - 1, reference);
    }
    for format in ["fixed32.16", "fixed32.31", "ufixed32.24", "fixed24.4"] {
        check(&Log, format, 40_009, reference);
    }
}

/// Fractions of the octaves below and above 1, where the logarithm vanishes.
#[test]
fn logarithms_of_float32_23_near_1_are_faithful() {
    let format: Format = "float32.23".parse().unwrap();
    let inst = Inst::new(&Log, &[format], Attrs::default()).unwrap();
    let near = 0x3f7f_0000u64..0x3f81_0000;
    for x in (0x3f00_0000u64..0x4000_0000).step_by(61).chain(near) {
        let (y, flags) = Log.bits(&inst, &[x]);
        assert!(is_faithful(format, y, flags, reference(format.to_f64(x)).unwrap(), None), "{x:#x}");
    }
}

/// Arguments of all exponents, near 1 and at the ends of the format.
fn argument(format: Format, random: &mut Random) -> u64 {
    let m = format.mant();
    let (one, all) = ((format.bias() as u64) << m, (1u64 << m) - 1);
    match random.below(6) {
        // Any positive number.
        0 | 1 => ((1 + random.below((1 << format.exp()) - 2)) << m) | random.bits() & all,
        // 1 and what is 2^-k away, for every k.
        2 | 3 => {
            let away = random.bits() & all;
            let away = away >> random.below(m as u64);
            if random.chance(0.5) { one + away } else { one - 1 - away }
        }
        // The fields around 1, where the exponent and the fraction cancel.
        4 => one - (2 << m) + random.below(4 << m),
        // The least and the greatest numbers.
        _ if random.chance(0.5) => (1 << m) + random.below(100),
        _ => format.max_bits() - random.below(100),
    }
}

/// The greatest distance of results from their values, in places of the value.
fn worst(op: &'static dyn Operator, binary: bool, format: Format, count: usize) -> f64 {
    let inst = Inst::new(op, &[format], Attrs::default()).unwrap();
    let (declared, bounds) = (op.flags(&inst), op.bounds(&inst));
    let mut random = Random::new(7);
    let mut worst = 0.0f64;
    for _ in 0..count {
        let x = argument(format, &mut random);
        let number = Dd::from(format.to_f64(x));
        let value = if binary { elementary::binary_log(number) } else { elementary::log(number) };
        let (y, flags) = op.bits(&inst, &[x]);
        assert!(is_faithful(format, y, flags, value, None), "{} of {x:#x} in {format}: {value:?}", op.name());
        assert!(declared.contains(flags) && bounds.contain(format, y), "{} of {x:#x} in {format}", op.name());
        if flags.is_empty() && value.hi != 0.0 {
            let place = exp2(hdl::number::real::log2(value.hi.abs()) - format.mant() as i32);
            worst = worst.max(((value - Dd::from(format.to_f64(y))).hi / place).abs());
        }
    }
    assert!(worst < op.accuracy(&inst).ulps, "{} {format}: {worst}", op.name());
    println!(
        "{} {format}: {worst:.4} of {:.4} ulp, {:?}",
        op.name(),
        op.accuracy(&inst).ulps,
        op.table(&inst).unwrap()
    );
    worst
}

#[test]
fn logarithms_of_long_significands_are_faithful() {
    for name in ["float28.24", "float40.30", "float48.39", "float56.52", "float64.52"] {
        let format: Format = name.parse().unwrap();
        for (op, binary) in [(&Log as &dyn Operator, false), (&Log2, true)] {
            worst(op, binary, format, 4_000);
            let inst = Inst::new(op, &[format], Attrs::default()).unwrap();
            let one = (format.bias() as u64) << format.mant();
            assert_eq!(op.bits(&inst, &[one]), (0, Flags::NONE), "of 1 in {name}");
            assert_eq!(op.bits(&inst, &[0]), (0, Flags::INVALID), "of 0 in {name}");
            assert_eq!(op.bits(&inst, &[one | 1 << (format.width() - 1)]), (0, Flags::INVALID), "of -1 in {name}");
        }
        let inst = Inst::new(&Log2, &[format], Attrs::default()).unwrap();
        for octave in (1 - format.bias())..=format.bias() {
            let x = ((format.bias() + octave) as u64) << format.mant();
            let y = format.to_f64(Log2.bits(&inst, &[x]).0);
            assert_eq!(y, octave as f64, "log2 of 2^{octave} in {name}");
        }
    }
}

#[test]
#[ignore = "proof: many results"]
fn many_logarithms_keep_to_the_stated_accuracy() {
    for name in ["float28.24", "float36.28", "float48.39", "float48.36", "float60.52", "float64.52"] {
        worst(&Log, false, name.parse().unwrap(), 200_000);
        worst(&Log2, true, name.parse().unwrap(), 200_000);
    }
}
