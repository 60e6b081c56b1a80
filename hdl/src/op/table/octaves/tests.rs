//! Functions by octaves against double-double arithmetic, whose digits are tested on their own.

use super::*;
use crate::number::real::{Expr, Smooth};
use crate::op::table::exp::tests::check;

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
            faithful(op, format, 1);
        }
    }
}

#[test]
fn results_of_wide_formats_are_faithful_where_they_are_sampled() {
    for op in ALL {
        for format in ["float25.16", "float32.23"] {
            let width = format.parse::<Format>().unwrap().width();
            faithful(op, format, (1 << (width - 17)) - 1);
        }
    }
}
