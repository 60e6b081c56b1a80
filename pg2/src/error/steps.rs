//! Real values and distances through functions with steps: whole numbers, bits of ints, patterns, and entries of tables. They have no
//! slope by which a distance grows: what can be said follows from the steps that lie between the real value and the computed one.

use super::meaning::{Exact, exact, lost};
use super::state::{Cause, State, times, up};
use hdl::Format;
use hdl::number::real::{Interval, exp2};
use hdl::op::accuracy::Meaning;
use hdl::op::semantics::Real;
use hdl::op::{Inst, Way};

/// Distances of indices up to which the entries between them are looked at.
const NEAR: f64 = 32.0;

/// A state whose distance is all the operator's own: what steps say of it, and no slope.
fn stepped(real: Interval, least: f64, absolute: f64) -> Exact {
    let mut all = exact(real, least, 0.0, absolute);
    all.state.own = absolute;
    all
}

/// A state of which nothing is known but where it lies.
fn unknown(real: Interval, least: f64, cause: Cause) -> Exact {
    let mut all = lost(real, least, cause);
    all.state.own = f64::INFINITY;
    all
}

/// The greatest distance of a number in one interval from one in another.
fn apart(a: Interval, b: Interval) -> f64 {
    (a.hi - b.lo).max(b.hi - a.lo).max(0.0)
}

/// The exact result of a function with steps of an argument with its distance.
pub fn step(meaning: Meaning, inst: &Inst, a: &State) -> Exact {
    match meaning {
        Meaning::Whole(way) => whole(way, a),
        Meaning::Zeros => {
            let image = |x: Interval| zeros(x, inst.args[0].width());
            stepped(image(a.real), 1.0, if a.is_exact() { 0.0 } else { apart(image(a.real), image(a.computed())) })
        }
        Meaning::Field(high, low) => field(high, low, a),
        Meaning::Pattern => pattern(inst.args[0], a),
        _ => of_pattern(inst.result, a),
    }
}

fn whole(way: Way, a: &State) -> Exact {
    let image = |x: Interval| Interval::new(way.of_f64(x.lo), way.of_f64(x.hi));
    let real = image(a.real);
    if a.is_exact() {
        return exact(real, 1.0, 0.0, 0.0);
    }
    // Steps that lie within the distance, and one more where it reaches over the next one.
    let steps = a.error().floor() + 1.0;
    stepped(real, 1.0, steps.min(apart(real, image(a.computed()))))
}

/// Zeros above the highest 1: fewer of larger numbers, none of negative ones.
fn zeros(x: Interval, width: u32) -> Interval {
    let of = |x: f64| match x {
        x if x < 0.0 => 0.0,
        x if x < 1.0 => width as f64,
        x => (width as f64 - 1.0 - (x as u128).ilog2() as f64).max(0.0),
    };
    let most = of(x.lo.floor().max(0.0));
    if x.hi < 0.0 { Interval::ZERO } else { Interval::new(of(x.hi.ceil()).min(of(x.lo.floor())), most) }
}

fn field(high: u32, low: u32, a: &State) -> Exact {
    let size = exp2((high - low + 1) as i32);
    let all = Interval::new(0.0, size - 1.0);
    // The bits above the field are the same from one end of an interval to the other, or it takes all values.
    let image = |x: Interval| {
        let [from, to] = [x.lo, x.hi].map(|x| (x * exp2(-(low as i32))).floor());
        let period = (from / size).floor();
        (period == (to / size).floor()).then(|| Interval::new(from - period * size, to - period * size))
    };
    let real = image(a.real).unwrap_or(all);
    if a.is_exact() {
        return exact(real, 1.0, 0.0, 0.0);
    }
    let steps = (a.error() * exp2(-(low as i32))).floor() + 1.0;
    match (image(a.real.hull(a.computed())), image(a.computed())) {
        (Some(_), Some(computed)) => stepped(real, 1.0, steps.min(apart(real, computed))),
        _ => unknown(real, 1.0, Cause::Bits),
    }
}

/// The sign that all numbers of an interval have, or that they may have either.
fn sign(x: Interval) -> Option<bool> {
    if x.lo >= 0.0 {
        Some(false)
    } else if x.hi < 0.0 {
        Some(true)
    } else {
        None
    }
}

fn pattern(format: Format, a: &State) -> Exact {
    let size = exp2(format.width() as i32);
    let all = Interval::new(0.0, size - 1.0);
    let Some(negative) = sign(a.real.hull(a.computed())) else {
        return if a.is_exact() { exact(all, 1.0, 0.0, 0.0) } else { unknown(all, 1.0, Cause::Bits) };
    };
    if let Some(frac) = format.frac() {
        let factor = exp2(frac as i32);
        let moved = if negative { size } else { 0.0 };
        let real = Interval::new(a.real.lo * factor + moved, a.real.hi * factor + moved).outward();
        return stepped(real.meet(all), 1.0, up(a.error() * factor));
    }
    // By the octaves' steps a pattern grows with the magnitude at most as 2^(M + 1) times its logarithm.
    let of = |x: f64| Real::number(x).0.nearest(format) as f64;
    let (one, other) = if negative { (a.real.hi, a.real.lo) } else { (a.real.lo, a.real.hi) };
    let real = Interval::new(of(one) - 1.0, of(other) + 1.0).meet(all);
    match a.keeps_sign() {
        _ if a.is_exact() => exact(real, 1.0, 0.0, 0.0),
        // The pattern of the real number is that of the nearest one.
        true => stepped(real, 1.0, up(exp2(format.mant() as i32 + 1) * -(-a.relative).ln_1p()) + 1.0),
        false => unknown(real, 1.0, Cause::Bits),
    }
}

fn of_pattern(format: Format, a: &State) -> Exact {
    let top = exp2(format.width() as i32 - 1);
    let both = a.real.hull(a.computed());
    if let Some(frac) = format.frac() {
        let (place, signed) = (exp2(-(frac as i32)), format.is_signed());
        let moved = if both.lo >= top && signed { 2.0 * top } else { 0.0 };
        if signed && both.hi >= top && both.lo < top {
            let all = super::forward::span(format);
            return if a.is_exact() { exact(all, place, 0.0, 0.0) } else { unknown(all, place, Cause::Bits) };
        }
        let real = Interval::new((a.real.lo - moved) * place, (a.real.hi - moved) * place).outward();
        return stepped(real, place, up(a.error() * place));
    }
    let (least, most) = hdl::op::accuracy::range(format);
    if a.is_exact() {
        let low = if a.real.hi < top { 0.0 } else { -most };
        return exact(Interval::new(low, most), least, 0.0, 0.0);
    }
    // A pattern more is a last place more, of a number of this sign that is not 0.
    let (first, last) = (exp2(format.mant() as i32), format.max_bits() as f64);
    if both.lo < first || both.hi > last {
        return unknown(Interval::new(-most, most), least, Cause::Bits);
    }
    let value = |x: f64| format.to_f64(x as u64);
    let real = Interval::new(value(a.real.lo.floor()), value(a.real.hi.ceil().min(last)));
    let relative = up((a.error().ceil() * exp2(-(format.mant() as i32)).ln_1p()).exp_m1());
    let mut all = exact(real, least, relative, 0.0);
    all.state.own = times(relative, real.most());
    all
}

/// Whether an index can be outside of a table.
pub fn can_leave(inst: &Inst, args: &[State]) -> bool {
    let leaves = |x: Interval, limit: u32| x.lo < 0.0 || x.hi > limit as f64 - 1.0;
    let limits = inst.attrs.lookup.as_ref().map_or(Vec::new(), |table| table.limits());
    args.iter().zip(limits).any(|(a, n)| leaves(a.real.hull(a.computed()), n))
}

/// The entry of a table at indices with their distances; `range` is that of all entries where they are known only at run time.
pub fn entry(inst: &Inst, args: &[State], range: Interval) -> Exact {
    let Some(table) = inst.attrs.lookup.as_ref() else { return unknown(Interval::WHOLE, 0.0, Cause::Bits) };
    let entries = table.numbers();
    let least = entries.iter().filter(|x| **x != 0.0).fold(f64::INFINITY, |a, x| a.min(x.abs()));
    let all_exact = args.iter().all(State::is_exact);
    let hull = |of: &mut dyn Iterator<Item = f64>, outside: bool| {
        let zero = outside.then_some(0.0);
        of.chain(zero).map(Interval::point).reduce(Interval::hull).unwrap_or(Interval::ZERO)
    };
    if entries.is_empty() {
        return if all_exact { exact(range, 0.0, 0.0, 0.0) } else { stepped(range, 0.0, range.hi - range.lo) };
    }
    let whole = hull(&mut entries.iter().copied(), can_leave(inst, args));
    let [a] = args else {
        return if all_exact { exact(whole, least, 0.0, 0.0) } else { stepped(whole, least, whole.hi - whole.lo) };
    };
    let last = entries.len() as i64;
    // The places of an interval, with one before the first entry and one behind the last one.
    let places =
        |x: Interval| x.lo.floor().clamp(-1.0, last as f64) as i64..=x.hi.ceil().clamp(-1.0, last as f64) as i64;
    let at = |k: i64| usize::try_from(k).ok().and_then(|k| entries.get(k)).copied().unwrap_or(0.0);
    let real = hull(&mut places(a.real).map(at), false);
    if a.is_exact() {
        return exact(real, least, 0.0, 0.0);
    }
    if a.error() > NEAR {
        return stepped(real, least, apart(real, hull(&mut places(a.computed()).map(at), false)));
    }
    let (near, computed) = (a.error().floor() as i64, places(a.computed()));
    let farthest = |i: i64| {
        let from = (i - near).max(*computed.start())..=(i + near).min(*computed.end());
        from.map(|j| (at(i) - at(j)).abs()).fold(0.0, f64::max)
    };
    stepped(real, least, places(a.real).map(farthest).fold(0.0, f64::max))
}
