//! Functions against identities and known digits, and enclosures against values.

use super::*;

/// (function, argument, 32 digits after the leading one, as high and low part).
fn close(got: Dd, hi: f64, lo: f64, bits: i32) {
    let off = ((got - Dd { hi, lo }).hi / hi).abs();
    assert!(off < exp2(-bits), "{got:?} is off {hi} by {off:e}");
}

#[test]
fn functions_have_the_digits_of_a_reference() {
    KNOWN.iter().for_each(|(name, x, hi, lo)| {
        let x = Dd::from(*x);
        let call = expr::CALLS.iter().find(|c| c.0 == *name).expect("a function").1;
        let mut e = Expr::default();
        let a = e.push(Node::X);
        e.push(Node::Call(call, a));
        let got = e.value(x).expect("it is defined");
        close(got.value, *hi, *lo, 86);
        let off = (got.value - Dd { hi: *hi, lo: *lo }).hi.abs();
        assert!(off <= got.error + hi.abs() * exp2(-104), "{name}({x:?}): off by {off:e}, bound {:e}", got.error);
        let range = e.range(Interval::new(x.hi, x.hi.next_up()));
        assert!(range.contains(*hi), "{name}: {range:?} without {hi}");
    });
}

/// Taylor coefficients over an interval contain difference quotients, for every function.
#[test]
fn coefficients_enclose_divided_differences() {
    for (name, call) in expr::CALLS {
        let mut e = Expr::default();
        let a = e.push(Node::X);
        e.push(Node::Call(*call, a));
        for start in [0.25, 0.5, 1.25, 2.0] {
            let width = 1.0 / 16.0;
            for n in 1..=jet::MAX_ORDER {
                // A divided difference is f^(n) / n! somewhere between its points.
                let points: Vec<Dd> = (0..=n).map(|k| Dd::from(start + width * k as f64 / n as f64)).collect();
                let mut d: Vec<Dd> = points.iter().map(|p| e.value(*p).expect("a value").value).collect();
                for order in 1..=n {
                    for k in (order..=n).rev() {
                        d[k] = (d[k] - d[k - 1]) / (points[k] - points[k - order]);
                    }
                }
                let bound = e.coefficients(Interval::new(start, start + width), n)[n];
                assert!(bound.lo <= d[n].hi && d[n].hi <= bound.hi, "{name} {start} {n}: {bound:?} without {:?}", d[n]);
            }
        }
    }
}

include!("known.rs");
