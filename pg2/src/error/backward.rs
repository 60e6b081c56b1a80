//! The distance of one value by the mean value theorem: the sum, over all roundings before it, of the rounding times the greatest
//! slope of the value with respect to it. Slopes are enclosed over all that values can be while some part of each rounding
//! has been made, so no term of second order is left out.

use super::meaning::turned;
use super::model::{Model, Use};
use super::state::{State, times, up};
use hdl::number::real::{Call, Expr, Interval, Smooth, exp2};
use hdl::op::accuracy::Meaning;

/// Slopes of a value, and its distance.
pub struct Slopes {
    pub error: f64,
    /// With respect to each variable of the model: a measure of where ranges are worth dividing.
    pub variables: Vec<f64>,
}

/// The distance of value `root` for the states of a box.
pub fn backward(model: &Model, states: &[State], root: usize) -> Slopes {
    let mut slopes = vec![Interval::ZERO; root + 1];
    slopes[root] = Interval::ONE;
    let mut error = 0.0;
    let mut variables = vec![0.0; model.variables.len()];
    let mut at = model.variables.len();
    for k in (0..=root).rev() {
        let twin = model.values[k].twin;
        while at > 0 && model.variables[at - 1] > k {
            at -= 1;
        }
        if slopes[k] == Interval::ZERO {
            continue;
        }
        if twin < k {
            slopes[twin] = slopes[twin] + slopes[k];
            continue;
        }
        if at > 0 && model.variables[at - 1] == k {
            variables[at - 1] = slopes[k].most();
        }
        if model.values[k].is_exact {
            continue;
        }
        error = up(error + times(slopes[k].most(), states[k].own));
        let Some(u) = model.source(k) else { continue };
        for (arg, slope) in u.args.iter().zip(partial(model, states, u)) {
            let is_constant = states[*arg].is_exact() && !model.values[*arg].is_exact;
            if !is_constant {
                slopes[*arg] = slopes[*arg] + slopes[k] * slope;
            }
        }
    }
    Slopes { error: if error.is_nan() { f64::INFINITY } else { error }, variables }
}

/// Where a value lies, real, computed, or with a part of the roundings.
fn between(state: &State) -> Interval {
    state.real.hull(state.computed())
}

/// The slopes of a use with respect to its arguments.
fn partial(model: &Model, states: &[State], u: &Use) -> Vec<Interval> {
    let x = |j: usize| between(&states[u.args[j]]);
    let (one, part) = (Interval::ONE, Interval::new(0.0, 1.0));
    match u.accuracy.meaning {
        Meaning::Sum => vec![one, one],
        Meaning::Difference => vec![one, -one],
        Meaning::Product => vec![x(1), x(0)],
        Meaning::Quotient => {
            let inverse = one / x(1);
            vec![inverse, -(x(0) * inverse * inverse)]
        }
        Meaning::Negative => vec![-one],
        Meaning::Magnitude if x(0).lo >= 0.0 => vec![one],
        Meaning::Magnitude if x(0).hi <= 0.0 => vec![-one],
        Meaning::Magnitude => vec![Interval::new(-1.0, 1.0)],
        Meaning::Min | Meaning::Max => {
            let (first, second) = (x(0).hi <= x(1).lo, x(1).hi <= x(0).lo);
            match (first, second, u.accuracy.meaning == Meaning::Min) {
                (true, _, true) | (_, true, false) => vec![one, Interval::ZERO],
                (_, true, true) | (true, _, false) => vec![Interval::ZERO, one],
                _ => vec![part, part],
            }
        }
        Meaning::SumOfSquares => (0..u.args.len()).map(|j| x(j).scaled(2.0)).collect(),
        Meaning::Choice => {
            let c = &states[u.args[0]];
            let known = c.is_exact() && c.real.lo == c.real.hi;
            match (known, c.real.lo == 1.0) {
                (true, true) => vec![Interval::ZERO, one, Interval::ZERO],
                (true, false) => vec![Interval::ZERO, Interval::ZERO, one],
                _ => vec![Interval::ZERO, part, part],
            }
        }
        Meaning::Scaled(n) => vec![Interval::point(exp2(n.clamp(-1022, 1023)))],
        Meaning::ScaledBy(sign) => {
            let n = x(1);
            let power = |n: f64| exp2(n.clamp(-1074.0, 1024.0) as i32);
            let (lo, hi) = if sign > 0 { (n.lo, n.hi) } else { (-n.hi, -n.lo) };
            vec![Interval { lo: power(lo), hi: power(hi) }, Interval::ZERO]
        }
        Meaning::Power(n, d) => vec![power(x(0), n, d)],
        Meaning::Exp => vec![Interval::new(x(0).lo.exp(), x(0).hi.exp()).outward().outward()],
        Meaning::Log => vec![one / x(0)],
        Meaning::Sin => vec![turned(x(0), |x| Expr::of(Call::Sin).coefficients(x, 1)[1])],
        Meaning::Cos => vec![turned(x(0), |x| Expr::of(Call::Cos).coefficients(x, 1)[1])],
        Meaning::Real(call) => vec![Expr::of(call).coefficients(x(0), 1)[1]],
        Meaning::Angle => {
            let square = x(0).square() + x(1).square();
            vec![x(1) / square, -(x(0) / square)]
        }
        Meaning::Function => {
            let ends = super::meaning::ends(&u.inst);
            let inside = Interval::new(x(0).lo.clamp(ends.lo, ends.hi), x(0).hi.clamp(ends.lo, ends.hi));
            let slope = u.inst.attrs.function.as_ref().map_or(Interval::WHOLE, |f| f.expr.coefficients(inside, 1)[1]);
            let outside = x(0).lo < ends.lo || x(0).hi > ends.hi;
            vec![if outside { slope.hull(Interval::ZERO) } else { slope }]
        }
        // A saturating cast may bring nothing farther apart.
        Meaning::Same if model.values[u.args[0]].format.is_integral() || !u.inst.result.is_integral() => vec![one],
        Meaning::Same => vec![part.hull(one)],
        // Their distance is their own.
        Meaning::Whole(_)
        | Meaning::Zeros
        | Meaning::Field(..)
        | Meaning::Pattern
        | Meaning::OfPattern
        | Meaning::Entry
        | Meaning::Bits
        | Meaning::Less
        | Meaning::LessOrEqual
        | Meaning::Equal
        | Meaning::Unequal => {
            vec![Interval::ZERO; u.args.len()]
        }
    }
}

/// The slope of x^(n/d): n/d x^(n/d - 1).
fn power(x: Interval, n: i32, d: i32) -> Interval {
    let by = n as f64 / d as f64;
    if n == 0 {
        return Interval::ZERO;
    }
    if d == 1 && n > 0 {
        // x^(n-1) by products, which keep signs.
        let mut product = Interval::point(by);
        for _ in 0..(n - 1) / 2 {
            product = product * x.square();
        }
        return if n % 2 == 0 { product * x } else { product };
    }
    if x.lo <= 0.0 && (d == 2 || x.hi >= 0.0) {
        return Interval::WHOLE;
    }
    let slope = |x: f64| by * if d == 2 { x.sqrt().powi(n - 2) } else { x.powi(n - 1) };
    let (a, b) = (slope(x.lo), slope(x.hi));
    let slack = (n.unsigned_abs() as f64 + 4.0) * 1e-15;
    let wide = |x: f64, side: f64| x + side * slack * x.abs();
    Interval::new(wide(a.min(b), -1.0), wide(a.max(b), 1.0))
}
