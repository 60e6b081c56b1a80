//! Logarithms against double-double arithmetic, whose digits are tested on their own.

use crate::exp::check;
use crate::func::is_faithful;
use hdl::Format;
use hdl::number::real::Dd;
use hdl::number::real::elementary;
use hdl::op::Attrs;
use hdl::op::Inst;
use hdl::op::Operator;
use hdl::op::table::ln::*;

fn reference(x: f64) -> Option<Dd> {
    (x > 0.0).then(|| elementary::log(Dd::from(x)))
}

#[test]
fn every_logarithm_of_narrow_formats_is_faithful() {
    for format in [
        "float4.1",
        "float5.2",
        "float5.1",
        "float6.2",
        "float8.4",
        "float12.6",
        "float13.1",
        "float18.9",
        "float16.10",
    ] {
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
