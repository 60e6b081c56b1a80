//! States of all values over a box of inputs, from arguments to results.

use super::meaning::{Exact, apply, ends};
use super::model::{self, Model, Source, Use, is_own_meaning};
use super::state::{Cause, State, compound, times, up};
use super::steps::{can_leave, entry};
use hdl::number::real::{Call, Interval};
use hdl::op::accuracy::{Meaning, last_place, range};
use hdl::op::{Inst, int};
use hdl::{Flags, Format};

/// A box of inputs, and what is assumed of comparisons.
#[derive(Clone, Default)]
pub struct Case {
    /// The range of each variable, in the order of the model's.
    pub ranges: Vec<Interval>,
    /// Whether real and computed outcomes of comparisons may differ.
    pub differs: bool,
    /// Values that lie within narrower ranges, with their least magnitude other than 0: since a comparison of them differs, or
    /// as other boxes have shown.
    pub narrowed: Vec<(usize, Interval, f64)>,
    /// Whether each bound is to have one part, relative or absolute, as the claims of another prover need it.
    pub single: bool,
}

/// The state of every value.
pub fn forward(model: &Model, case: &Case) -> Vec<State> {
    let mut states: Vec<State> = Vec::with_capacity(model.values.len());
    let mut variables = model.variables.iter().zip(&case.ranges).peekable();
    for (k, value) in model.values.iter().enumerate() {
        let mut state = if value.twin < k {
            states[value.twin]
        } else if let Some((_, range)) = variables.next_if(|(v, _)| **v == k) {
            let least = if *range == Interval::ZERO { f64::INFINITY } else { value.least.max(range.least()) };
            State { flags: own_flags(model, k), ..State::exact(*range, least) }
        } else if value.is_exact {
            exact(model, &states, k, case)
        } else {
            match &value.source {
                Source::Pin => State::exact(value.range, value.least),
                Source::Const(real) => constant(value.range, *real, value.format),
                Source::Use(u) => used(model, &states, k, u, case),
            }
        };
        for (_, narrow, least) in case.narrowed.iter().filter(|(n, _, _)| model.values[*n].twin == value.twin) {
            state.real = state.real.meet(*narrow);
            state.least = state.least.max(state.real.least()).max(*least);
        }
        states.push(state);
    }
    states
}

/// A value that is computed exactly: within what its format and its arguments allow.
fn exact(model: &Model, states: &[State], k: usize, case: &Case) -> State {
    let value = &model.values[k];
    let flags = own_flags(model, k);
    let all = State { flags, ..State::exact(value.range, value.least) };
    let Some(u) = model.source(k).filter(|u| u.args.iter().all(|a| states[*a].is_exact())) else { return all };
    let state = used(model, states, k, u, case);
    let real = value.range.meet(state.real);
    State { flags, ..State::exact(real, value.least.max(real.least())) }
}

fn own_flags(model: &Model, k: usize) -> Flags {
    model.source(k).map_or(Flags::NONE, |u| u.flags)
}

/// A literal, which its format has rounded.
fn constant(value: Interval, real: f64, format: Format) -> State {
    // The real number itself is held as the f64 nearest to it.
    let exact = if format.mant() >= 50 || format.is_log() { f64::EPSILON } else { 0.0 };
    let away = (value.hi - real).abs().max((value.lo - real).abs());
    let relative = if real == 0.0 { 0.0 } else { up(away / real.abs()) + exact };
    State { relative, own: up(away), ..State::exact(Interval::point(real), real.abs()) }
}

/// The state of the result of an operator.
fn used(model: &Model, states: &[State], k: usize, u: &Use, case: &Case) -> State {
    let args: Vec<State> = u.args.iter().map(|a| states[*a]).collect();
    let cause = args.iter().find_map(|a| a.cause);
    let mut state = match u.accuracy.meaning {
        Meaning::Bits => bits(model, k, u, &args),
        Meaning::Less | Meaning::LessOrEqual | Meaning::Equal | Meaning::Unequal => compared(u, &args, case),
        Meaning::Choice => {
            let chosen = choice(model, states, u, &args);
            State { cause: chosen.cause.or(cause), ..chosen }
        }
        Meaning::Entry => {
            let exact = entry(&u.inst, &args, model.values[k].range);
            result(model, k, u, exact, &args)
        }
        meaning => {
            let same = u.args.len() > 1 && u.args.iter().all(|a| model.values[*a].twin == model.values[u.args[0]].twin);
            let args: Vec<State> = args.iter().map(|a| open(*a, meaning)).collect();
            let exact = apply(meaning, &u.inst, &args, same);
            // Computed values before they are rounded are the meaning of computed arguments.
            let of_computed: Vec<State> = args.iter().map(|a| State::exact(a.computed(), a.computed_least())).collect();
            let computed = apply(meaning, &u.inst, &of_computed, same).state.real;
            let end = if ends_alike(meaning, model.values[k].format) { args[0].end } else { f64::INFINITY };
            let state = State { limit: computed, end, ..exact.state };
            result(model, k, u, Exact { state, ..exact }, &args)
        }
    };
    let lost = state.absolute.is_nan() || state.relative.is_nan();
    if lost {
        (state.relative, state.absolute) = (0.0, f64::INFINITY);
    }
    // What is bounded in spite of it needs no cause.
    let format = model.values[k].format;
    let is_lost =
        !state.error().is_finite() || format.is_integral() && state.error() >= span(format).hi - span(format).lo;
    state.cause = if is_lost { cause.or(state.cause) } else { None };
    if state.real == Interval::ZERO && state.absolute == 0.0 {
        // 0 times anything.
        state.relative = 0.0;
    }
    if case.single {
        state = single(state, format);
    }
    state.limit = state.limit.meet(model.values[k].range);
    // Where the exact result does not depend on what was lost, nothing is.
    if state.is_exact() {
        state.cause = None;
    }
    state
}

/// The same bound in one part, with some room for the arithmetic of whoever proves it.
fn single(state: State, format: Format) -> State {
    let room = |x: f64| x * (1.0 + 1e-9);
    let is_relative = state.real.least() > 0.0 && !format.is_integral();
    let (relative, absolute) = match (state.relative > 0.0 && state.absolute > 0.0, is_relative) {
        (false, _) => (state.relative, state.absolute),
        (true, true) => (state.as_relative(), 0.0),
        (true, false) => (0.0, state.error()),
    };
    State { relative: room(relative), absolute: room(absolute), ..state }
}

/// Whether an operation on a value with an end has one: those that change nothing but the sign, and saturating casts.
fn ends_alike(meaning: Meaning, result: Format) -> bool {
    matches!(meaning, Meaning::Negative | Meaning::Magnitude) || meaning == Meaning::Same && result.is_integral()
}

/// An argument for an operation to which values beyond its end matter.
fn open(a: State, meaning: Meaning) -> State {
    let keeps = matches!(meaning, Meaning::Negative | Meaning::Magnitude | Meaning::Same);
    if a.end.is_finite() && !keeps {
        State { relative: 0.0, absolute: f64::INFINITY, end: f64::INFINITY, ..a }
    } else {
        a
    }
}

/// The exact result, rounded to the format and within it.
fn result(model: &Model, k: usize, u: &Use, exact: Exact, args: &[State]) -> State {
    let mut state = exact.state;
    let cause = exact.cause.map(|cause| (k, cause));
    state.flags = domain(u, args);
    if model.values[k].format.is_integral() {
        integral(model, k, u, &mut state, args);
    } else {
        floating(model, k, u, &mut state, args);
    }
    state.flags = Flags(state.flags.0 & u.flags.0);
    state.cause = cause.or(state.cause);
    state
}

/// The flag of arguments without a result.
fn domain(u: &Use, args: &[State]) -> Flags {
    let computed = args.first().map_or(Interval::WHOLE, State::computed);
    let invalid = match u.accuracy.meaning {
        Meaning::Quotient => args[1].computed().contains(0.0),
        Meaning::Power(_, 2) => computed.lo < 0.0,
        Meaning::Log | Meaning::Real(Call::Log2) => computed.lo <= 0.0,
        Meaning::Real(Call::Asin | Call::Acos) => computed.most() > 1.0,
        Meaning::Entry => can_leave(&u.inst, args),
        Meaning::OfPattern => true,
        Meaning::Sin | Meaning::Cos => computed.most() >= (1u64 << 20) as f64,
        Meaning::Function => {
            let ends = ends(&u.inst);
            // The ends themselves are rounded to the format.
            let place = last_place(u.inst.args[0], ends.most());
            computed.lo < ends.lo + if ends.lo == 0.0 { 0.0 } else { place } && computed.lo != ends.lo
                || computed.hi > ends.hi - place && computed.hi != ends.hi
        }
        _ => false,
    };
    Flags::INVALID.when(invalid)
}

/// A result in a float or log: rounded, and within its range or not.
fn floating(model: &Model, k: usize, u: &Use, state: &mut State, args: &[State]) {
    let (value, accuracy) = (&model.values[k], &u.accuracy);
    let format = value.format;
    let (least, most) = range(format);
    let before = *state;
    // Rounding moves them by no more than this.
    let moved = accuracy.absolute(format, before.limit.most()) + least;
    state.limit = Interval::new(before.limit.lo - moved, before.limit.hi + moved);
    // What computed values are by the ranges of formats alone.
    let all = |s: &State| s.computed().most().min(value.range.most());
    let part = accuracy.relative(format);
    let places = accuracy.absolute(format, all(&before));
    let own = if accuracy.floor.is_none() && part > 0.0 { places.min(times(part, all(&before))) } else { places };
    state.own = up(state.own + own);
    if part > 0.0 {
        state.relative = compound(state.relative, part);
        state.absolute = times(state.absolute, 1.0 + part);
        if let Some(floor) = accuracy.floor {
            state.absolute = up(state.absolute + accuracy.absolute(format, floor));
        }
    }
    let can = |flag: Flags| u.flags.intersects(flag);
    if before.computed_least() < least && can(Flags::UNDERFLOW) && !adds_up(u.accuracy.meaning, args) {
        state.flags |= Flags::UNDERFLOW;
        // What lies below the least number becomes 0, or that number.
        state.absolute = up(state.absolute + least);
        state.own = up(state.own + least);
    }
    if state.computed().most() > most && can(Flags(Flags::OVERFLOW.0 | Flags::SATURATION.0)) {
        let is_cast = accuracy.meaning == Meaning::Same;
        state.flags |= if is_cast { Flags::SATURATION } else { Flags::OVERFLOW };
        state.own = f64::INFINITY;
        if state.relative < 1.0 && state.absolute.is_finite() {
            state.end = most;
        } else {
            (state.relative, state.absolute) = (0.0, f64::INFINITY);
        }
        state.cause = Some((k, if is_cast { Cause::Saturation } else { Cause::Overflow }));
    }
}

/// Whether numbers of one sign are added, which is never less than the lesser of them.
fn adds_up(meaning: Meaning, args: &[State]) -> bool {
    let sign = |x: &State| {
        let x = x.computed();
        if x.lo >= 0.0 {
            1
        } else if x.hi <= 0.0 {
            -1
        } else {
            0
        }
    };
    match meaning {
        Meaning::Sum => sign(&args[0]) != 0 && sign(&args[0]) == sign(&args[1]),
        Meaning::Difference => sign(&args[0]) != 0 && sign(&args[0]) == -sign(&args[1]),
        _ => false,
    }
}

/// A result in an int or fixed: rounded, saturated by casts, wrapped by others.
fn integral(model: &Model, k: usize, u: &Use, state: &mut State, args: &[State]) {
    let (value, accuracy) = (&model.values[k], &u.accuracy);
    let format = value.format;
    let place = last_place(format, 0.0);
    let span = span(format);
    let exact = args.iter().all(State::is_exact);
    // Two roundings of unequal numbers can be a place apart, where the other semantics rounds too (RULES N10).
    let ulps = if value.is_mixed || !exact { accuracy.ulps.max(1.0) } else { accuracy.ulps };
    let rounds = accuracy.ulps > 0.0 && !(format.is_int() && exact && accuracy.meaning != Meaning::Same);
    let rounding = if rounds { ulps * place } else { 0.0 };
    state.own = up(state.own + rounding);
    if rounds && value.is_mixed {
        // Where the other semantics rounds, its values are those of the format.
        state.real = Interval::new(state.real.lo - place, state.real.hi + place);
        state.least = state.least.min(place);
    }
    let computed = state.computed();
    state.limit = Interval::WHOLE;
    state.absolute = up(state.absolute + rounding);
    let outside = computed.lo < span.lo - 0.5 * place || computed.hi > span.hi + 0.5 * place;
    let saturates = u.flags.contains(Flags::SATURATION) && outside;
    let clamps = matches!(accuracy.meaning, Meaning::Same) && u.op != int::ICAST
        || !matches!(accuracy.meaning, Meaning::Sum | Meaning::Difference | Meaning::Product | Meaning::Quotient)
            && u.flags.contains(Flags::SATURATION);
    if saturates {
        state.flags |= Flags::SATURATION;
    }
    if clamps {
        // A saturating cast brings nothing farther apart than it was.
        let inside = |x: f64| x.clamp(span.lo, span.hi);
        state.real = Interval::new(inside(state.real.lo), inside(state.real.hi));
        state.least = state.least.max(state.real.least());
        // An end beyond the span is out of sight.
        if state.end.is_finite() {
            let seen = state.end * (1.0 - state.relative) - state.absolute;
            if seen > span.hi && seen > -span.lo && u.accuracy.meaning == Meaning::Same {
                state.end = f64::INFINITY;
                state.cause = None;
            } else {
                (state.relative, state.absolute, state.end) = (0.0, span.hi - span.lo, f64::INFINITY);
            }
        }
    } else if outside || state.real.lo < span.lo || state.real.hi > span.hi {
        state.real = if exact { value.range.hull(Interval::ZERO) } else { span };
        state.least = place;
        if !exact {
            (state.relative, state.absolute, state.own) = (0.0, span.hi - span.lo, span.hi - span.lo);
            state.cause = Some((k, Cause::Wrap));
        }
    }
    if state.absolute + times(state.relative, state.real.most()) > span.hi - span.lo {
        (state.relative, state.absolute) = (0.0, span.hi - span.lo);
    }
}

/// Every value of an int or fixed.
pub fn span(format: Format) -> Interval {
    Interval::new(format.to_f64(format.min_bits()), format.to_f64(format.max_bits()))
}

/// A use that is nothing but its bits: exact for exact arguments.
fn bits(model: &Model, k: usize, u: &Use, args: &[State]) -> State {
    let value = &model.values[k];
    let span = span(value.format);
    let known = State { flags: domain_of_bits(u, args), ..State::exact(value.range.meet(span), value.least) };
    if let Some(outcome) = truth(u, args) {
        return State::exact(outcome, 1.0);
    }
    if args.iter().all(State::is_exact) && is_own_meaning(u.op, &u.inst) {
        return known;
    }
    if value.format.width() == 1 {
        return State { absolute: 1.0, own: 1.0, flags: known.flags, ..State::exact(Interval::new(0.0, 1.0), 1.0) };
    }
    // By the formats of the arguments alone: real values need not keep to what is known of the computed ones.
    let any = Inst { nonneg: 0, bounds: Vec::new(), same: false, ..u.inst.clone() };
    let all = model::numbers(value.format, u.op.bounds(&any), !value.format.is_signed()).0;
    let absolute = if value.format.is_integral() { all.hi - all.lo } else { f64::INFINITY };
    let known = State { flags: known.flags, ..State::exact(all.meet(span), value.least) };
    State { absolute, own: absolute, cause: Some((k, Cause::Bits)), ..known }
}

/// The outcome of logic on conditions, where it is known.
fn truth(u: &Use, args: &[State]) -> Option<Interval> {
    if args.iter().any(|a| a.real.lo < 0.0 || a.real.hi > 1.0) || u.inst.result.width() != 1 {
        return None;
    }
    let (f, t) = (Interval::ZERO, Interval::ONE);
    let is = |x: Interval| args.iter().any(|a| a.is_exact() && a.real == x);
    let all = |x: Interval| args.iter().all(|a| a.is_exact() && a.real == x);
    match u.op {
        op if op == int::AND && is(f) || op == int::OR && all(f) || op == int::NOT && is(t) => Some(f),
        op if op == int::AND && all(t) || op == int::OR && is(t) || op == int::NOT && is(f) => Some(t),
        _ => None,
    }
}

/// The flags that a use which is nothing but its bits can raise: all that the operator states, but where a divisor is never 0.
fn domain_of_bits(u: &Use, args: &[State]) -> Flags {
    let divides = u.op == int::DIV || u.op == int::REM;
    if divides && !args[1].computed().contains(0.0) { Flags::NONE } else { u.flags }
}

/// The outcome of a comparison: known, or 0 or 1, and of inexact arguments not always the same.
fn compared(u: &Use, args: &[State], case: &Case) -> State {
    let (a, b) = (&args[0], &args[1]);
    let known = |a: Interval, b: Interval| match u.accuracy.meaning {
        Meaning::Less if a.hi < b.lo => Some(true),
        Meaning::Less if a.lo >= b.hi => Some(false),
        Meaning::LessOrEqual if a.hi <= b.lo => Some(true),
        Meaning::LessOrEqual if a.lo > b.hi => Some(false),
        Meaning::Equal if a.hi < b.lo || b.hi < a.lo => Some(false),
        Meaning::Unequal if a.hi < b.lo || b.hi < a.lo => Some(true),
        // One number each.
        Meaning::Equal | Meaning::Unequal if a == b && a.lo == a.hi => Some(u.accuracy.meaning == Meaning::Equal),
        _ => None,
    };
    let (real, computed) = (known(a.real, b.real), known(a.computed(), b.computed()));
    if let (Some(x), Some(y)) = (real, computed)
        && x == y
    {
        let outcome = if x { 1.0 } else { 0.0 };
        return State::exact(Interval::point(outcome), if x { 1.0 } else { f64::INFINITY });
    }
    let any = State::exact(Interval::new(0.0, 1.0), 1.0);
    if case.differs && can_differ(a, b) { State { absolute: 1.0, own: 1.0, ..any } } else { any }
}

/// Whether computed values can compare otherwise than the real ones.
pub fn can_differ(a: &State, b: &State) -> bool {
    let zero = |x: &State| x.is_exact() && x.real == Interval::ZERO;
    let kept = a.is_exact() && b.is_exact() || a.keeps_sign() && zero(b) || b.keeps_sign() && zero(a);
    !kept && (a.real - b.real).least() <= up(a.error() + b.error())
}

/// One of two values: where the condition is that of the real values, the distance is that of the arm.
fn choice(model: &Model, states: &[State], u: &Use, args: &[State]) -> State {
    let condition = &args[0];
    let arm = |j: usize| {
        let mut state = args[j + 1];
        let implied = |of: &dyn Fn(usize) -> Interval| model.implied(u.args[0], j == 0, u.args[j + 1], of);
        let real = implied(&|k| states[k].real);
        if real.lo <= state.real.hi && real.hi >= state.real.lo {
            state.real = state.real.meet(real);
            state.least = state.least.max(state.real.least());
        }
        state.limit = state.limit.meet(implied(&|k| states[k].computed()));
        State { own: 0.0, flags: Flags::NONE, ..state }
    };
    let (yes, no) = (arm(0), arm(1));
    if condition.is_exact() && condition.real.lo == condition.real.hi {
        return if condition.real.lo == 1.0 { yes } else { no };
    }
    let both = yes.or(no);
    if condition.is_exact() {
        return both;
    }
    // The other arm was taken: as far off as it is, and as the two are apart.
    let apart = up((args[1].real - args[2].real).most());
    let other = args[1].error().max(args[2].error());
    let own = up(apart + up(args[1].error() + args[2].error()));
    State { absolute: up(both.absolute + other + apart), own, limit: Interval::WHOLE, ..both }
}
