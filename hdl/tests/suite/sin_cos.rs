//! Sines and cosines against double-double arithmetic, whose digits are tested on their own.

use crate::func::is_faithful;
use hdl::Flags;
use hdl::Format;
use hdl::number::real::Dd;
use hdl::number::real::elementary::sin_cos;
use hdl::number::real::exp2;
use hdl::op::Attrs;
use hdl::op::Inst;
use hdl::op::Operator;
use hdl::op::table::sin_cos::*;

/// Both functions at every argument of `arguments` that is a pattern of the format.
fn check(name: &str, arguments: impl Iterator<Item = u64> + Clone) {
    let format: Format = name.parse().unwrap();
    for (op, cosine) in [(&Sin as &dyn Operator, false), (&Cos, true)] {
        let inst = Inst::new(op, &[format], Attrs::default()).unwrap();
        let (declared, bounds) = (op.flags(&inst), op.bounds(&inst));
        let mut seen = Flags::NONE;
        for x in arguments.clone() {
            let fields = (1u64 << format.exp()) - 1;
            let field = x >> format.mant() & fields;
            if format.is_float() && x != 0 && (field == 0 || field == fields) {
                continue;
            }
            let (y, flags) = op.bits(&inst, &[x]);
            seen |= flags;
            let shown = (format.to_f64(x), format.to_f64(y));
            assert!(bounds.contain(format, y), "{} on {name}: {shown:?} outside {bounds:?}", op.name());
            if format.is_float() && shown.0.abs() >= exp2(LIMIT) {
                assert_eq!((y, flags), (0, Flags::INVALID), "{} on {name} at {shown:?}", op.name());
                continue;
            }
            let both = sin_cos(Dd::from(shown.0));
            let value = if cosine { both.1 } else { both.0 };
            let exact = shown.0 != 0.0 || shown.1 == cosine as u8 as f64 || !flags.is_empty();
            assert!(
                is_faithful(format, y, flags, value, None) && exact,
                "{} on {name} at {x:#x}: {shown:?} {flags:?}, not {value:?}",
                op.name()
            );
        }
        assert!(declared.contains(seen), "{} on {name} declares {declared:?} and raises {seen:?}", op.name());
    }
}

fn all(name: &str) -> impl Iterator<Item = u64> + Clone {
    0..=name.parse::<Format>().unwrap().mask()
}

#[test]
fn every_argument_of_narrow_formats_is_faithful() {
    for name in ["float4.1", "float5.2", "float6.1", "float8.4", "float12.6", "float13.1", "float18.9", "float16.10"] {
        check(name, all(name));
    }
    for name in
        ["fixed16.8", "ufixed16.10", "fixed12.11", "ufixed8.8", "fixed8.0", "fixed16.16", "ufixed2.1", "fixed3.1"]
    {
        check(name, all(name));
    }
}

#[test]
fn wide_formats_are_faithful_where_they_are_sampled() {
    for name in ["float25.16", "float29.20", "float32.23", "float35.23"] {
        let format: Format = name.parse().unwrap();
        check(name, (0..=format.mask()).step_by((1 << (format.width() - 16)) - 1));
        // Between 2^-14 and 2^21 alone, where something happens.
        let (low, high) = ((format.bias() - 14) as u64, (format.bias() + 21) as u64);
        check(name, (low << format.mant()..high << format.mant()).step_by((1 << (format.mant() - 10)) - 1));
    }
    for name in ["fixed32.16", "fixed32.31", "ufixed32.24", "fixed24.0"] {
        check(name, all(name).step_by(80_021));
    }
}

/// The floats nearest to multiples of pi / 2 are where a reduction fails.
#[test]
fn results_next_to_zeros_are_faithful() {
    for name in ["float18.9", "float25.16", "float29.20", "float32.23", "float35.23"] {
        let format: Format = name.parse().unwrap();
        let near = |k: u32| {
            let angle = k as f64 * std::f64::consts::FRAC_PI_2;
            let field = (hdl::number::real::log2(angle) + format.bias()) as u64;
            let fraction = (angle / exp2(hdl::number::real::log2(angle)) - 1.0) * exp2(format.mant() as i32);
            let at = (field << format.mant()) + fraction as u64;
            (at - 1)..(at + 3)
        };
        check(name, (1..667_000).step_by(83).flat_map(near));
    }
}
