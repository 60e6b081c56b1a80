//! Powers of long significands against double-double arithmetic.

use crate::exp::spread;
use crate::func::is_faithful;
use hdl::number::real::*;
use hdl::op::table::pow::*;
use hdl::op::{Attrs, Inst, Operator};
use hdl::{Flags, Format};
use testkit::Random;

#[test]
fn powers_of_long_significands_are_faithful() {
    let mut random = Random::new(4);
    for name in ["float34.24", "float40.30", "float48.36", "float64.52"] {
        let format: Format = name.parse().unwrap();
        for (n, d) in [(1, 2), (-1, 2), (-1, 1), (3, 2), (-3, 2), (3, 1), (16, 1), (-16, 1)] {
            let p = wide(format, n, d);
            let inst = Inst::new(&Pow, &[format], Attrs { n, d, ..Attrs::default() }).unwrap();
            let mut worst = 0.0f64;
            for _ in 0..4_000 {
                let x = spread(format, &mut random);
                let number = Dd::from(format.to_f64(x));
                let (y, flags) = p.eval(x);
                if d == 2 && number.hi < 0.0 {
                    assert_eq!((y, flags), (0, Flags::INVALID));
                    continue;
                }
                let base = if d == 2 { number.sqrt() } else { number };
                let product = (0..n.unsigned_abs()).fold(Dd::ONE, |p, _| p * base);
                let value = if n < 0 { Dd::ONE / product } else { product };
                assert!(is_faithful(format, y, flags, value, None), "{name} {n}/{d}: {number:?}: {value:?}");
                if flags.is_empty() {
                    let place = exp2(hdl::number::real::log2(value.hi.abs()) - format.mant() as i32);
                    worst = worst.max(((value - Dd::from(format.to_f64(y))).hi / place).abs());
                }
            }
            println!("{name} {n}/{d}: {worst:.3} ulp, {} bits", p.table.total_bits());
            assert!(worst < Pow.accuracy(&inst).ulps, "{name} {n}/{d}: {worst}");
        }
        // The root of a square is exact.
        for k in (1..1u64 << (format.mant() / 2)).step_by(997) {
            let x = hdl::number::exact::parse(format, &(k * k).to_string()).unwrap();
            let root = hdl::number::exact::parse(format, &k.to_string()).unwrap();
            assert_eq!(wide(format, 1, 2).eval(x), (root, Flags::NONE), "{name}: {k}");
        }
    }
}
