//! Real values and distances through the meanings of operators: what the exact result of inexact arguments is.

use super::state::{Cause, State, compound, down, times, up};
use super::steps::step;
use hdl::number::real::{Call, Expr, Interval, Smooth, exp2};
use hdl::op::Inst;
use hdl::op::accuracy::{Meaning, last_place};

/// Some last places of f64, by which the functions of its library may be off.
const SLACK: f64 = 1e-15;

/// Facts of an exact result: a state without the operator's own rounding. The cause has no node yet.
pub struct Exact {
    pub state: State,
    pub cause: Option<Cause>,
}

pub fn exact(real: Interval, least: f64, relative: f64, absolute: f64) -> Exact {
    let least = if real == Interval::ZERO { f64::INFINITY } else { least };
    Exact { state: State { relative, absolute, ..State::exact(real, least) }, cause: None }
}

pub fn lost(real: Interval, least: f64, cause: Cause) -> Exact {
    Exact { cause: Some(cause), ..exact(real, least, 0.0, f64::INFINITY) }
}

/// The exact result of the meaning of an operator on arguments with their distances; `same` where both are one value.
/// Comparisons, choices, entries of tables and bits are made elsewhere.
pub fn apply(meaning: Meaning, inst: &Inst, args: &[State], same: bool) -> Exact {
    let a = &args[0];
    match meaning {
        Meaning::Sum => sum(a, &args[1], false, same),
        Meaning::Difference if same => exact(Interval::ZERO, 0.0, 0.0, 0.0),
        Meaning::Difference => sum(a, &args[1], true, false),
        Meaning::Product => product(a, &args[1], same),
        Meaning::Quotient => quotient(a, &args[1]),
        Meaning::SumOfSquares => {
            let squares = args.iter().map(|x| product(x, x, true).state);
            let all =
                squares.reduce(|a, b| sum(&a, &b, false, false).state).unwrap_or(State::exact(Interval::ZERO, 0.0));
            Exact { state: all, cause: None }
        }
        Meaning::Negative => exact(-a.real, a.least, a.relative, a.absolute),
        Meaning::Magnitude => exact(Interval::new(a.real.least(), a.real.most()), a.least, a.relative, a.absolute),
        Meaning::Min | Meaning::Max => extreme(meaning == Meaning::Min, a, &args[1]),
        Meaning::Scaled(n) => scaled(a, Interval::point(1.0), n),
        Meaning::ScaledBy(sign) => {
            let n = args[1].real;
            let (lo, hi) = if sign > 0 { (n.lo, n.hi) } else { (-n.hi, -n.lo) };
            let power = |n: f64| exp2(n.clamp(-1074.0, 1024.0) as i32);
            let factor = Interval { lo: power(lo), hi: power(hi) };
            let by = State::exact(factor, power(lo));
            product(a, &by, false)
        }
        Meaning::Power(n, d) => power(a, n, d),
        Meaning::Exp => {
            let real = Interval::new(a.real.lo.exp() * (1.0 - SLACK), a.real.hi.exp() * (1.0 + SLACK));
            exact(real, real.lo, up(a.error().exp_m1()), 0.0)
        }
        Meaning::Log => log(a),
        Meaning::Real(call) => real_function(call, a),
        Meaning::Angle => angle(a, &args[1]),
        Meaning::Sin | Meaning::Cos => {
            let call = if meaning == Meaning::Sin { Call::Sin } else { Call::Cos };
            let real = turned(a.real, |x| Expr::of(call).range(x));
            exact(real, real.least(), 0.0, a.error())
        }
        Meaning::Function => function(a, inst),
        Meaning::Whole(_) | Meaning::Zeros | Meaning::Field(..) | Meaning::Pattern | Meaning::OfPattern => {
            step(meaning, inst, a)
        }
        _ => exact(a.real, a.least, a.relative, a.absolute),
    }
}

/// Sine and cosine, or their slopes; of arguments beyond those that have results they are what any argument gives.
pub fn turned(x: Interval, of: impl Fn(Interval) -> Interval) -> Interval {
    let all = Interval::new(-1.0, 1.0);
    let is_near = x.most() <= (1u64 << 20) as f64;
    let found = if is_near { of(x) } else { all };
    Interval::new(found.lo.max(-1.0), found.hi.min(1.0))
}

fn sum(a: &State, b: &State, minus: bool, same: bool) -> Exact {
    let other = if minus { -b.real } else { b.real };
    let real = a.real + other;
    let nonneg = |x: Interval| x.lo >= 0.0;
    let alike = same || nonneg(a.real) && nonneg(other) || nonneg(-a.real) && nonneg(-other);
    let least = if alike { a.least.min(b.least) } else { real.least() };
    if alike {
        return exact(real, least, a.relative.max(b.relative), up(a.absolute + b.absolute));
    }
    if a.is_exact() && b.is_exact() {
        return exact(real, least, 0.0, 0.0);
    }
    exact(real, least, 0.0, up(a.error() + b.error()))
}

fn product(a: &State, b: &State, same: bool) -> Exact {
    let real = if same { a.real.square() } else { a.real * b.real };
    let (x, y) = (a.real.most(), b.real.most());
    let (from_a, from_b) =
        (times(times(y, 1.0 + b.relative), a.absolute), times(times(x, 1.0 + a.relative), b.absolute));
    let absolute = up(from_a + from_b + times(a.absolute, b.absolute));
    exact(real, down(a.least * b.least), compound(a.relative, b.relative), absolute)
}

fn quotient(a: &State, b: &State) -> Exact {
    let (low, high) = (b.least.max(b.real.least()), b.real.most());
    let real = if b.real.least() > 0.0 {
        a.real / b.real
    } else if low > 0.0 && low.is_finite() {
        let far = up(a.real.most() / low);
        match (a.real.lo >= 0.0, b.real.lo >= 0.0) {
            (true, true) => Interval::new(0.0, far),
            _ => Interval::new(-far, far),
        }
    } else {
        Interval::WHOLE
    };
    let least = down(a.least / high);
    if a.is_exact() && b.is_exact() {
        return exact(real, least, 0.0, 0.0);
    }
    let part = if b.keeps_sign() { b.relative } else { b.as_relative() };
    if part >= 1.0 || part.is_nan() {
        return lost(real, least, Cause::Zero);
    }
    let relative = up(up(a.relative + part) / down(1.0 - part));
    let absolute = if a.absolute == 0.0 { 0.0 } else { up(a.absolute / down(low * (1.0 - part))) };
    exact(real, least, relative, absolute)
}

fn extreme(least: bool, a: &State, b: &State) -> Exact {
    let of = |x: f64, y: f64| if least { x.min(y) } else { x.max(y) };
    let real = Interval::new(of(a.real.lo, b.real.lo), of(a.real.hi, b.real.hi));
    let (least, relative) = (a.least.min(b.least), a.relative.max(b.relative));
    // What keeps its sign is chosen alike, or by as much as the two are apart.
    if relative < 1.0 {
        return exact(real, least, relative, a.absolute.max(b.absolute));
    }
    exact(real, least, 0.0, a.error().max(b.error()))
}

fn scaled(a: &State, by: Interval, n: i32) -> Exact {
    let factor = exp2(n.clamp(-1022, 1023));
    exact((a.real * by).scaled(factor), down(a.least * factor), a.relative, times(a.absolute, factor))
}

/// |x|^(n/d) rounded outwards.
fn real_power(x: f64, n: i32, d: i32) -> (f64, f64) {
    if x == 0.0 && n < 0 {
        return (f64::INFINITY, f64::INFINITY);
    }
    let base = if d == 2 { x.sqrt() } else { x };
    let y = base.powi(n);
    let slack = (n.unsigned_abs() as f64 + 2.0) * SLACK;
    (down(y * (1.0 - slack)), if y == f64::INFINITY { y } else { up(y * (1.0 + slack)) })
}

fn power(a: &State, n: i32, d: i32) -> Exact {
    if n == 0 {
        return exact(Interval::ONE, 1.0, 0.0, 0.0);
    }
    if a.real == Interval::ZERO && a.absolute == 0.0 {
        return exact(Interval::ZERO, 0.0, 0.0, 0.0);
    }
    let (least, most) = (a.least.max(a.real.least()), a.real.most());
    let (near, far) = (real_power(least.min(most), n, d), real_power(most, n, d));
    let (low, high) = if n > 0 { (near.0, far.1) } else { (far.0, near.1) };
    let zero = a.real.contains(0.0);
    let negative = a.real.lo < 0.0 && d == 1;
    let positive = a.real.hi > 0.0;
    let real = match (negative && n % 2 != 0, positive) {
        (false, _) => Interval::new(if zero { 0.0 } else { low }, high),
        (true, false) => Interval::new(-high, if zero { 0.0 } else { -low }),
        (true, true) => Interval::new(-high, high),
    };
    if a.is_exact() {
        return exact(real, low, 0.0, 0.0);
    }
    let part = if a.keeps_sign() { a.relative } else { a.as_relative() };
    if part < 1.0 {
        let grown = |by: f64| real_power(by, n, d);
        let relative = up(grown(1.0 + part).1 - 1.0).max(up(1.0 - grown(1.0 - part).0));
        let relative = relative.max(up(grown(1.0 - part).1 - 1.0)).max(up(1.0 - grown(1.0 + part).0));
        return exact(real, low, relative, 0.0);
    }
    match n {
        1.. => {
            // |y^n - x^n| <= (|x| + e)^n - |x|^n, and the root of a distance for roots.
            let (x, e) = if d == 2 { (most.sqrt(), up(a.error().sqrt())) } else { (most, a.error()) };
            let far = up((x + e).powi(n) * (1.0 + 32.0 * SLACK));
            exact(real, low, 0.0, (far - down(x.powi(n) * (1.0 - 32.0 * SLACK))).max(0.0))
        }
        _ => lost(real, low, if d == 2 && a.computed().lo < 0.0 { Cause::Negative } else { Cause::Zero }),
    }
}

fn log(a: &State) -> Exact {
    if a.real == Interval::ZERO && a.absolute == 0.0 {
        return exact(Interval::ZERO, 0.0, 0.0, 0.0);
    }
    let (least, most) = (a.least.max(a.real.least()), a.real.most());
    let ends = Interval::new(least.min(most), most);
    let inside = Interval::new(ends.lo.ln() - SLACK * ends.lo.ln().abs(), ends.hi.ln() + SLACK * ends.hi.ln().abs());
    // The logarithm of 0 and below is 0, by rule.
    let real = if a.real.lo <= 0.0 { inside.hull(Interval::ZERO) } else { inside };
    if a.is_exact() {
        return exact(real, real.least(), 0.0, 0.0);
    }
    let part = if a.keeps_sign() { a.relative } else { a.as_relative() };
    if part < 1.0 { exact(real, real.least(), 0.0, up(-(-part).ln_1p())) } else { lost(real, 0.0, Cause::Zero) }
}

/// A function of one argument by its enclosures.
fn real_function(call: Call, a: &State) -> Exact {
    if call == Call::Log2 {
        let mut natural = log(a);
        let scale = std::f64::consts::LOG2_E * (1.0 + 4.0 * SLACK);
        let wide =
            |x: f64| (x * std::f64::consts::LOG2_E - SLACK * x.abs(), x * std::f64::consts::LOG2_E + SLACK * x.abs());
        let state = &mut natural.state;
        state.real = Interval::new(wide(state.real.lo).0, wide(state.real.hi).1);
        state.limit = state.real;
        state.least = down(state.least * std::f64::consts::LOG2_E);
        state.absolute = times(scale, state.absolute);
        return natural;
    }
    let function = Expr::of(call);
    // What lies outside has no result.
    let inside = |x: Interval| match call {
        Call::Asin | Call::Acos => Interval::new(x.lo.clamp(-1.0, 1.0), x.hi.clamp(-1.0, 1.0)),
        _ => x,
    };
    let own = function.range(inside(a.real));
    let real = if inside(a.real) == a.real { own } else { own.hull(Interval::ZERO) };
    // Those that are 0 at 0 and concave beyond grow by no larger a part than their arguments.
    let is_concave = matches!(call, Call::Tanh | Call::Erf | Call::Cbrt | Call::Atan);
    let near = |x: f64| function.range(Interval::point(x)).least();
    let least = if is_concave && a.least.is_finite() { near(a.least) } else { real.least() };
    if a.is_exact() {
        return exact(real, least, 0.0, 0.0);
    }
    if call == Call::Exp2 {
        return exact(real, real.lo, up((a.error() * std::f64::consts::LN_2 * (1.0 + SLACK)).exp_m1()), 0.0);
    }
    let slope = function.coefficients(inside(a.computed().hull(a.real)), 1)[1].most();
    let all = up(real.hi - real.lo);
    if call == Call::Cbrt {
        // The roots of two numbers are at most twice the root of half their distance apart.
        let apart = up(2.0 * (a.absolute / 2.0).cbrt() * (1.0 + SLACK));
        return exact(
            real,
            least,
            a.relative,
            if a.absolute > 0.0 { apart.min(times(slope, a.absolute)) } else { 0.0 },
        );
    }
    if is_concave {
        return exact(real, least, a.relative, times(slope, a.absolute).min(2.0));
    }
    let far = times(slope, up(a.error()));
    // A result never leaves its range, but where an argument outside makes it 0.
    exact(
        real,
        least,
        0.0,
        if inside(a.computed()) == a.computed() { far.min(all.max(far.min(4.0))) } else { far.min(4.0) },
    )
}

/// The angle of a point: a turn of both coordinates by a part of them turns it by as much.
fn angle(y: &State, x: &State) -> Exact {
    let pi = std::f64::consts::PI * (1.0 + SLACK);
    let real = match (x.real.lo > 0.0, y.real.lo >= 0.0, y.real.hi <= 0.0) {
        (true, true, _) => Interval::new(0.0, pi / 2.0),
        (true, _, true) => Interval::new(-pi / 2.0, 0.0),
        (true, ..) => Interval::new(-pi / 2.0, pi / 2.0),
        (_, true, _) => Interval::new(0.0, pi),
        _ => Interval::new(-pi, pi),
    };
    if x.is_exact() && y.is_exact() {
        return exact(real, 0.0, 0.0, 0.0);
    }
    // Between quadrants an angle jumps unless x is positive, or y keeps its sign.
    let keeps = x.real.lo > 0.0 && x.computed().lo > 0.0 || y.real.lo > 0.0 && y.computed().lo > 0.0;
    let distance = up((x.real.least().powi(2) + y.real.least().powi(2)).sqrt() * (1.0 - 4.0 * SLACK));
    let moved = up(x.error() + y.error());
    if !keeps || distance <= moved {
        return exact(real, 0.0, 0.0, 2.0 * pi);
    }
    exact(real, 0.0, 0.0, up(moved / down(distance - moved)).min(2.0 * pi))
}

fn function(a: &State, inst: &Inst) -> Exact {
    let Some(function) = inst.attrs.function.as_ref() else { return lost(Interval::WHOLE, 0.0, Cause::Bits) };
    let ends = ends(inst);
    let all = a.computed().hull(a.real);
    // What lies outside counts as the end.
    let inside = |x: Interval| Interval::new(x.lo.clamp(ends.lo, ends.hi), x.hi.clamp(ends.lo, ends.hi));
    let real = function.expr.range(inside(a.real));
    // The ends are numbers of the argument's format, up to a place away from those of the interval.
    let beyond = all.lo < ends.lo || all.hi > ends.hi;
    let away = if beyond { last_place(inst.args[0], ends.most()) } else { 0.0 };
    if a.is_exact() && !beyond {
        return exact(real, 0.0, 0.0, 0.0);
    }
    let slope = function.expr.coefficients(inside(all), 1)[1].most();
    let absolute = times(slope, up(a.error() + away)).min(up(real.hi - real.lo));
    let mut all = exact(real, 0.0, 0.0, absolute);
    all.state.own = times(slope, away);
    all
}

/// The interval of a function, as f64s that hold its ends.
pub fn ends(inst: &Inst) -> Interval {
    use hdl::number::exact::to_bits;
    use hdl::op::semantics::DOUBLE;
    let end = |x| to_bits(DOUBLE, x).map_or(0.0, |(bits, _)| f64::from_bits(bits));
    inst.attrs.function.as_ref().map_or(Interval::WHOLE, |f| Interval::new(end(&f.lo), end(&f.hi)))
}
