//! Functions against identities and known digits, and enclosures against values.

use hdl::number::real::*;

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

/// Next to a zero at 0, where a formula has lost all of its digits, the expansion has them.
#[test]
fn differences_that_vanish_at_0_keep_their_digits() {
    let x = || Expr { nodes: vec![Node::X] };
    let with = |mut e: Expr, parts: &[Node]| {
        e.nodes.extend_from_slice(parts);
        e
    };
    let one = || Node::Number(hdl::number::exact::parse_decimal("1").unwrap());
    // exp(x) - 1, 1 - cos(x), x - sin(x), and their leading two terms.
    let cases: [(Expr, i32, f64, f64); 3] = [
        (with(x(), &[Node::Call(Call::Exp, 0), one(), Node::Sub(1, 2)]), 1, 1.0, 0.5),
        (with(x(), &[Node::Call(Call::Cos, 0), one(), Node::Sub(2, 1)]), 2, 0.5, 0.0),
        (with(x(), &[Node::Call(Call::Sin, 0), Node::Sub(0, 1)]), 3, 1.0 / 6.0, 0.0),
    ];
    for (e, order, first, second) in cases {
        let f = Evaluator::new(&e);
        assert!(f.value(Dd::ZERO).unwrap().is_zero(), "{e}");
        for k in [20, 30, 60, 100, 250] {
            for x in [exp2(-k) * 1.25, -exp2(-k) * 1.75] {
                let want = x.powi(order) * (first + second * x);
                let got = f.value(Dd::from(x)).unwrap();
                assert!((got.value.hi - want).abs() <= want.abs() * exp2(-36), "{e} at {x:e}: {got:?}, not {want:e}");
                assert!(got.error <= want.abs() * exp2(-38), "{e} at {x:e}: {got:?}");
                let ends = Interval::new(x.abs() * 0.75, x.abs() * 1.5);
                let ends = if x > 0.0 { ends } else { -ends };
                let c = f.coefficients(ends, 3);
                let range = f.refined(ends, &c);
                assert!(!range.contains(0.0) && range.contains(want), "{e} at {x:e}: {range:?}");
                // Coefficient 1 is the slope.
                let slope = x.powi(order - 1) * (order as f64 * first + (order + 1) as f64 * second * x);
                assert!(c[1].contains(slope) && c[1].most() < 8.0 * slope.abs(), "{e} at {x:e}: {:?}", c[1]);
            }
        }
    }
}

include!("real/known.rs");
