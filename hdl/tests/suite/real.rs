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
            if start > 1.0 && matches!(call, Call::Asin | Call::Acos) {
                continue;
            }
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

/// A piece that is not taken need not have a value, and a piece on which the choice is known has that one's slopes.
#[test]
fn pieces_are_chosen_by_conditions() {
    let zero = || Node::Number(hdl::number::exact::parse_decimal("0").unwrap());
    let one = || Node::Number(hdl::number::exact::parse_decimal("1").unwrap());
    // x == 0 ? 1 : sin(x) / x
    let mut sinc = Expr::default();
    let (x, nothing, whole) = (sinc.push(Node::X), sinc.push(zero()), sinc.push(one()));
    let (a, b) = (sinc.push(Node::AtMost(x, nothing)), sinc.push(Node::AtMost(nothing, x)));
    let equal = sinc.push(Node::Min(a, b));
    let sine = sinc.push(Node::Call(Call::Sin, x));
    let ratio = sinc.push(Node::Div(sine, x));
    sinc.push(Node::Select(equal, whole, ratio));
    assert_eq!(sinc.value(Dd::ZERO).unwrap().value, Dd::ONE);
    assert!((sinc.value(Dd::from(0.5)).unwrap().value.hi - 0.5f64.sin() / 0.5).abs() < 1e-15);
    assert!(sinc.coefficients(Interval::new(0.5, 0.75), 2)[2].is_finite());
    assert!(!sinc.coefficients(Interval::new(-0.25, 0.75), 2)[1].is_finite());
    // x < 1 ? x : 2
    let mut jump = Expr::default();
    let (x, whole) = (jump.push(Node::X), jump.push(one()));
    let two = jump.push(Node::Add(whole, whole));
    let less = jump.push(Node::Less(x, whole));
    jump.push(Node::Select(less, x, two));
    for (at, value) in [(0.5, 0.5), (1.0f64.next_down(), 1.0f64.next_down()), (1.0, 2.0), (3.0, 2.0)] {
        assert_eq!(jump.value(Dd::from(at)).unwrap().value.hi, value);
    }
    let both = jump.range(Interval::new(0.5, 1.5));
    assert!(both.contains(0.5) && both.contains(2.0) && both.most() < 2.001, "{both:?}");
    assert_eq!(jump.coefficients(Interval::new(0.5, 0.75), 1)[1], Interval::ONE);
    assert_eq!(jump.c_text("y"), "(((y) < 1.0) ? (y) : (1.0 + 1.0))");
}

include!("real/known.rs");
