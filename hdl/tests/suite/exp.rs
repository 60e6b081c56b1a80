//! Exponentials against double-double arithmetic, whose digits are tested on their own.

use crate::func::is_faithful;
use hdl::Flags;
use hdl::Format;
use hdl::number::real::elementary;
use hdl::number::real::{Dd, exp2};
use hdl::op::Attrs;
use hdl::op::Inst;
use hdl::op::Operator;
use hdl::op::table::exp::*;
use hdl::op::table::ln::Log;
use hdl::op::table::sin_cos::{Cos, Sin};
use testkit::Random;

pub fn check(op: &'static dyn Operator, format: &str, step: u64, reference: impl Fn(f64) -> Option<Dd>) {
    let format: Format = format.parse().unwrap();
    let inst = Inst::new(op, &[format], Attrs::default()).unwrap();
    let (declared, bounds) = (op.flags(&inst), op.bounds(&inst));
    let mut seen = Flags::NONE;
    let mut x = 0;
    while x <= format.mask() {
        let fields = (1u64 << format.exp()) - 1;
        let field = x >> format.mant() & fields;
        if !format.is_float() || x == 0 || field != 0 && field != fields {
            let (y, flags) = op.bits(&inst, &[x]);
            seen |= flags;
            let shown = (format.to_f64(x), format.to_f64(y));
            match reference(shown.0) {
                None => assert_eq!((y, flags), (0, Flags::INVALID), "{} on {format} at {shown:?}", op.name()),
                Some(value) => {
                    let exact = (value - Dd::from(shown.1)).hi == 0.0;
                    let representable = value.hi == value.hi.round() && value.lo == 0.0 && value.hi.abs() <= 1.0;
                    assert!(
                        is_faithful(format, y, flags, value, None) && (exact || !representable || !flags.is_empty()),
                        "{} on {format} at {x:#x}: {shown:?} {flags:?}, not {value:?}",
                        op.name()
                    );
                }
            }
            assert!(bounds.contain(format, y), "{} on {format}: {y:#x} outside {bounds:?}", op.name());
        }
        x += step;
    }
    assert!(declared.contains(seen), "{} on {format} declares {declared:?} and raises {seen:?}", op.name());
}

fn reference(x: f64) -> Option<Dd> {
    // Beyond f64's own range any number beyond the format's will do.
    Some(elementary::exp(Dd::from(x.clamp(-700.0, 700.0))))
}

/// Floats of which every argument is tried.
pub const NARROW: [&str; 9] =
    ["float4.1", "float5.2", "float5.1", "float6.2", "float8.4", "float12.6", "float13.1", "float18.9", "float16.10"];

#[test]
fn every_exponential_of_narrow_formats_is_faithful() {
    for format in [
        "float4.1",
        "float5.2",
        "float5.1",
        "float6.2",
        "float8.4",
        "float12.6",
        "float12.1",
        "float18.9",
        "float16.10",
    ] {
        check(&Exp, format, 1, reference);
    }
    for format in
        ["fixed16.8", "ufixed16.8", "fixed12.11", "ufixed8.8", "fixed8.0", "fixed16.16", "ufixed2.1", "fixed3.1"]
    {
        check(&Exp, format, 1, reference);
    }
}

#[test]
fn exponentials_of_wide_formats_are_faithful_where_they_are_sampled() {
    for format in ["float25.16", "float29.20", "float32.23", "float34.23"] {
        let width = format.parse::<Format>().unwrap().width();
        check(&Exp, format, (1 << (width - 18)) - 1, reference);
    }
    for format in ["fixed32.16", "fixed32.31", "ufixed32.24", "fixed24.4"] {
        check(&Exp, format, 20_011, reference);
    }
}

/// Numbers of all sizes up to about 500, and of both signs.
pub fn spread(format: Format, random: &mut Random) -> u64 {
    let one = (format.bias() as u64) << format.mant();
    let octaves = 12.min(format.bias() as u64);
    let magnitude = (one + (random.below(octaves + 8) << format.mant())).saturating_sub(octaves << format.mant());
    magnitude & !((1 << format.mant()) - 1)
        | random.bits() & ((1 << format.mant()) - 1)
        | (random.bits() & 1) << (format.width() - 1)
}

#[test]
fn exponentials_of_long_significands_are_faithful() {
    let mut random = Random::new(3);
    for name in ["float34.24", "float40.30", "float48.36", "float64.52"] {
        let format: Format = name.parse().unwrap();
        for (op, binary) in [(&Exp as &dyn Operator, false), (&Exp2, true)] {
            let inst = Inst::new(op, &[format], Attrs::default()).unwrap();
            let mut worst = 0.0f64;
            for _ in 0..20_000 {
                let x = spread(format, &mut random);
                let number = format.to_f64(x);
                let value =
                    if binary { elementary::power_of_two(Dd::from(number)) } else { elementary::exp(Dd::from(number)) };
                let (y, flags) = op.bits(&inst, &[x]);
                assert!(is_faithful(format, y, flags, value, None), "{} of {name}: {number:e}: {value:?}", op.name());
                if flags.is_empty() {
                    let place = exp2(hdl::number::real::log2(value.hi) - format.mant() as i32);
                    worst = worst.max(((value - Dd::from(format.to_f64(y))).hi / place).abs());
                }
            }
            println!("{} {name}: {worst:.3} ulp, {} bits", op.name(), op.table(&inst).unwrap().bits);
            assert!(worst < op.accuracy(&inst).ulps, "{} {name}: {worst}", op.name());
        }
        let inst = Inst::new(&Exp2, &[format], Attrs::default()).unwrap();
        let one = (format.bias() as u64) << format.mant();
        assert_eq!(Exp2.bits(&inst, &[one]).0, one + (1 << format.mant()), "2^1 in {name}");
    }
}

/// Every eleventh fraction of the octaves below and above 1.
#[test]
fn exponentials_of_two_octaves_of_float32_23_are_faithful() {
    let format: Format = "float32.23".parse().unwrap();
    let inst = Inst::new(&Exp, &[format], Attrs::default()).unwrap();
    for x in (0x3f00_0000u64..0x4000_0000).step_by(11) {
        let (y, flags) = Exp.bits(&inst, &[x]);
        assert!(is_faithful(format, y, flags, reference(format.to_f64(x)).unwrap(), None), "{x:#x}");
    }
}

#[test]
fn every_circuit_can_be_built() {
    for name in [
        "float4.1",
        "float5.2",
        "float13.1",
        "float18.9",
        "float25.16",
        "float35.23",
        "fixed16.8",
        "ufixed32.24",
        "fixed2.1",
    ] {
        for op in [&Exp as &dyn Operator, &Log, &Sin, &Cos] {
            let inst = Inst::new(op, &[name.parse().unwrap()], Attrs::default()).unwrap();
            let p = hdl::op::hardware(op, &inst, hdl::circuit::target::Clock::default_clock());
            let flags = p.module.ports.iter().find(|p| p.name == "f").map_or(0, |p| p.width);
            assert_eq!(flags, op.flags(&inst).iter().count() as u32, "{name}");
        }
    }
}
