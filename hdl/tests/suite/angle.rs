//! Angles against double-double arithmetic.

use crate::func::is_faithful;
use hdl::Format;
use hdl::number::real::elementary;
use hdl::number::real::*;
use hdl::op::table::angle::*;
use hdl::op::{Attrs, Inst, Operator};
use testkit::Random;

/// Of numbers that are far apart 0: it is added to what is not small.
fn quotient(a: f64, b: f64) -> Dd {
    if (a / b).abs() < 1e-40 {
        return Dd::ZERO;
    }
    let k = hdl::number::real::log2(b.abs()) / 2;
    // Scaled, so that no part leaves the range of f64.
    Dd::from(a * exp2(-k)) / Dd::from(b * exp2(-k))
}

/// The angle for y of 0 and more.
fn reference(y: f64, x: f64) -> Dd {
    let right = Dd::PI.scale(-1);
    match (y, x) {
        (0.0, _) => {
            if x < 0.0 {
                Dd::PI
            } else {
                Dd::ZERO
            }
        }
        // A quotient of which double-doubles lose the lower half is its own tangent.
        _ if x > 0.0 && y / x < 1e-40 => Dd::from((y / x).max(f64::MIN_POSITIVE / 1e9)),
        _ if x.abs() >= y => {
            let near = elementary::atan(quotient(y, x.abs()));
            if x < 0.0 { Dd::PI - near } else { near }
        }
        _ => right - elementary::atan(quotient(x, y)),
    }
}

fn check(format: &str, pairs: impl Iterator<Item = (u64, u64)>) {
    let format: Format = format.parse().unwrap();
    let inst = Inst::new(&Atan2, &[format; 2], Attrs::default()).unwrap();
    let (declared, bounds) = (Atan2.flags(&inst), Atan2.bounds(&inst));
    let valid = |x: u64| {
        let field = x >> format.mant() & ((1 << format.exp()) - 1);
        x == 0 || field != 0 && field != (1 << format.exp()) - 1
    };
    for (y, x) in pairs.filter(|(y, x)| valid(*y) && valid(*x)) {
        let (got, flags) = Atan2.bits(&inst, &[y, x]);
        let (b, a) = (format.to_f64(y), format.to_f64(x));
        let value = if b < 0.0 { -reference(-b, a) } else { reference(b, a) };
        assert!(
            is_faithful(format, got, flags, value, None),
            "{format}: atan2({b:e}, {a:e}) = {:e} {flags:?}, not {value:?}",
            format.to_f64(got)
        );
        assert!(declared.contains(flags) && bounds.contain(format, got), "{format}: {b:e} {a:e}");
    }
}

#[test]
fn every_angle_of_narrow_formats_is_faithful() {
    for format in ["float4.1", "float5.2", "float6.2", "float8.4", "float9.5"] {
        let n = 1u64 << format.parse::<Format>().unwrap().width();
        check(format, (0..n * n).map(|k| (k / n, k % n)));
    }
}

#[test]
fn angles_of_wide_formats_are_faithful_where_they_are_sampled() {
    for format in ["float13.1", "float18.9", "float25.16", "float32.23"] {
        let f: Format = format.parse().unwrap();
        let mut random = Random::new(5);
        let one = (f.bias() as u64) << f.mant();
        let near = move |random: &mut Random| {
            let any = random.bits() & f.mask();
            let around = one.wrapping_add(any & ((2 << f.mant()) - 1)).wrapping_sub(random.below(8) << f.mant())
                & (f.mask() >> 1);
            if random.chance(0.5) { any } else { around | (random.bits() & 1) << (f.width() - 1) }
        };
        check(format, (0..60_000).map(|_| (near(&mut random), near(&mut random))));
    }
}
