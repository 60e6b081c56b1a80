//! The greatest distance over all inputs: by branch and bound over boxes of the variables, the worst box first.

use super::backward::backward;
use super::forward::{Case, can_differ, forward};
use super::model::Model;
use super::state::{Cause, State, up};
use hdl::Flags;
use hdl::number::real::Interval;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Ratio of the proven bound to what a point attains at which the search ends.
const NEAR: f64 = 1.02;

/// Proven facts of a value over all inputs.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Where real values lie.
    pub real: Interval,
    /// The greatest distance; infinite where there is none.
    pub absolute: f64,
    /// The greatest distance as a part of the real magnitude; infinite where there is none.
    pub relative: f64,
    /// A node and the reason for which the distance has no bound, or only the span of a format.
    pub cause: Option<(usize, Cause)>,
}

/// A box with its bounds.
struct Part {
    ranges: Vec<Interval>,
    /// The comparison that differs, if one does.
    comparison: Option<usize>,
    absolute: f64,
    relative: f64,
    slopes: Vec<f64>,
    depth: u32,
    cause: Option<(usize, Cause)>,
}

impl PartialEq for Part {
    fn eq(&self, other: &Part) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Part {}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Part) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Part {
    fn cmp(&self, other: &Part) -> Ordering {
        self.absolute.total_cmp(&other.absolute)
    }
}

/// The case of a comparison that differs in a box: its arguments are as near to each other as their distances allow. `None`
/// where it cannot differ.
pub fn differing(model: &Model, base: &Case, states: &[State], comparison: usize) -> Option<Case> {
    let u = model.source(comparison)?;
    let [a, b] = [u.args[0], u.args[1]];
    let (x, y) = (&states[a], &states[b]);
    if x.real.lo.is_nan() || !can_differ(x, y) {
        return None;
    }
    let reach = up(x.error() + y.error());
    let near = |of: Interval| Interval::new(of.lo - reach, of.hi + reach).outward();
    Some(Case { differs: true, narrowed: vec![(a, near(y.real), 0.0), (b, near(x.real), 0.0)], ..base.clone() })
}

/// The bounds of value `root` in a box.
fn part(model: &Model, root: usize, ranges: Vec<Interval>, comparison: Option<usize>, depth: u32) -> Option<Part> {
    let mut case = Case { ranges, ..Case::default() };
    let mut states = forward(model, &case);
    if let Some(comparison) = comparison {
        case = differing(model, &case, &states, comparison)?;
        states = forward(model, &case);
    }
    let state = &states[root];
    let slopes = backward(model, &states, root);
    let absolute = state.error().min(slopes.error);
    let least = state.real.least();
    let relative = if absolute == 0.0 { 0.0 } else { state.as_relative().min(up(absolute / least)) };
    let relative = if relative.is_nan() { f64::INFINITY } else { relative };
    Some(Part {
        ranges: case.ranges,
        comparison,
        absolute,
        relative,
        slopes: slopes.variables,
        depth,
        cause: state.cause,
    })
}

/// Halves of a box, or none where no variable has more than one value.
fn halves(model: &Model, part: &Part) -> Vec<Vec<Interval>> {
    let spread = |x: Interval, least: f64| match (x.lo < 0.0 && x.hi > 0.0, x.contains(0.0)) {
        (true, _) => 4000.0,
        (_, true) => 2000.0 - least.max(1e-300).log2(),
        _ => (x.most() / x.least()).log2(),
    };
    // What has no bound yet mostly has a variable on both sides of 0.
    let weight = |j: usize| {
        let (x, k) = (part.ranges[j], model.variables[j]);
        let width = x.hi - x.lo;
        let by_slope = part.slopes[j].min(1e200) * width.min(1e100);
        let by_spread = spread(x, model.values[k].least);
        match (width > 0.0 && part.slopes[j] > 0.0, part.depth % 3 == 2) {
            (false, _) => -1.0,
            _ if !part.absolute.is_finite() || part.cause.is_some() => by_spread.max(1e-300),
            (_, true) if by_spread > 2.0 => 1e250 * by_spread,
            _ => by_slope,
        }
    };
    let best = (0..part.ranges.len()).max_by(|a, b| weight(*a).total_cmp(&weight(*b)));
    let Some(j) = best.filter(|j| weight(*j) >= 0.0) else { return Vec::new() };
    let (x, least) = (part.ranges[j], model.values[model.variables[j]].least);
    let mut pieces = Vec::new();
    if x.lo < 0.0 && x.hi > 0.0 && least > 0.0 {
        pieces.extend((x.lo <= -least).then(|| Interval::new(x.lo, -least)));
        pieces.push(Interval::ZERO);
        pieces.extend((x.hi >= least).then(|| Interval::new(least, x.hi)));
    } else if x.contains(0.0) && x.most() > least && least > 0.0 {
        pieces.push(Interval::ZERO);
        pieces.push(if x.hi > 0.0 { Interval::new(least, x.hi) } else { Interval::new(x.lo, -least) });
    } else {
        let middle = if x.most() > 4.0 * x.least() && !x.contains(0.0) {
            (x.most().sqrt() * x.least().sqrt()).copysign(x.lo)
        } else {
            0.5 * x.lo + 0.5 * x.hi
        };
        if x.lo < middle && middle < x.hi {
            pieces.extend([Interval::new(x.lo, middle), Interval::new(middle, x.hi)]);
        }
    }
    let with = |piece| {
        let mut ranges = part.ranges.clone();
        ranges[j] = piece;
        ranges
    };
    pieces.into_iter().map(with).collect()
}

/// The most boxes that all inputs are divided into from the start.
const MOST_STARTS: usize = 27;

/// All inputs as boxes in which exact differences are 0 or of one sign: what divides by them, or leaves out what is 0, is of
/// another kind in each.
pub fn starts(model: &Model) -> Vec<Vec<Interval>> {
    let all: Vec<Interval> = model.variables.iter().map(|v| model.values[*v].range).collect();
    let mut boxes = vec![all];
    for (j, v) in model.variables.iter().enumerate() {
        let (value, range) = (&model.values[*v], model.values[*v].range);
        let is_difference = model.source(*v).is_some() && value.format.is_integral() && value.format.width() > 1;
        if !is_difference || range.lo >= 0.0 || range.hi <= 0.0 || 3 * boxes.len() > MOST_STARTS {
            continue;
        }
        let pieces = [Interval::new(range.lo, -value.least), Interval::ZERO, Interval::new(value.least, range.hi)];
        let divided = boxes.iter().flat_map(|ranges| {
            pieces.map(|piece| {
                let mut ranges = ranges.clone();
                ranges[j] = piece;
                ranges
            })
        });
        boxes = divided.collect();
    }
    boxes
}

/// Facts of all values by one evaluation of each start.
pub struct Swept {
    pub bounds: Vec<Bound>,
    /// The flags that each value can raise.
    pub flags: Vec<Flags>,
}

/// The bounds of all values by forward analysis of the starts and of each comparison that can differ in them; `work` is about
/// the most evaluations of values that it takes.
pub fn sweep(model: &Model, work: usize) -> Swept {
    let count = model.values.len();
    let mut boxes = starts(model);
    if boxes.len() * (1 + model.comparisons.len()) * count > work {
        boxes = vec![model.variables.iter().map(|v| model.values[*v].range).collect()];
    }
    let mut all: Option<Swept> = None;
    let mut add = |states: &[State]| {
        let one = |s: &State| {
            let relative = if s.is_exact() { 0.0 } else { s.as_relative() };
            Bound { real: s.real, absolute: s.error(), relative, cause: s.cause }
        };
        let all = all.get_or_insert_with(|| Swept {
            bounds: states.iter().map(one).collect(),
            flags: vec![Flags::NONE; states.len()],
        });
        for ((bound, flags), s) in all.bounds.iter_mut().zip(&mut all.flags).zip(states) {
            let new = one(s);
            *flags |= s.flags;
            bound.real = bound.real.hull(new.real);
            bound.relative = bound.relative.max(new.relative);
            if new.absolute >= bound.absolute {
                (bound.absolute, bound.cause) = (new.absolute, new.cause.or(bound.cause));
            }
        }
    };
    for ranges in boxes {
        let base = Case { ranges, ..Case::default() };
        let states = forward(model, &base);
        add(&states);
        let differ = model.comparisons.iter().filter_map(|c| differing(model, &base, &states, *c));
        differ.for_each(|case| add(&forward(model, &case)));
    }
    all.unwrap_or(Swept { bounds: Vec::new(), flags: Vec::new() })
}

/// The bound of value `root` with so many evaluations of boxes.
pub fn bound(model: &Model, root: usize, mut budget: usize) -> Bound {
    let all: Vec<Interval> = model.variables.iter().map(|v| model.values[*v].range).collect();
    let whole = forward(model, &Case { ranges: all, ..Case::default() });
    let real = whole[root].real;
    let mut heap = BinaryHeap::new();
    let comparisons = model.comparisons.iter().filter(|c| **c < root).map(|c| Some(*c));
    let comparisons: Vec<Option<usize>> = std::iter::once(None).chain(comparisons).collect();
    for ranges in starts(model) {
        heap.extend(comparisons.iter().filter_map(|c| part(model, root, ranges.clone(), *c, 0)));
    }
    let (mut attained, mut done) = (0.0f64, Vec::new());
    while let Some(top) = heap.pop() {
        let is_final = budget == 0 || top.absolute <= attained * NEAR || top.absolute == 0.0;
        let parts = if is_final { Vec::new() } else { halves(model, &top) };
        if parts.is_empty() {
            let is_last = is_final;
            done.push(top);
            if is_last {
                break;
            }
            continue;
        }
        if top.depth.is_multiple_of(4) {
            let points: Vec<Interval> = top.ranges.iter().map(|x| Interval::point(middle(*x))).collect();
            let at = part(model, root, points, top.comparison, 0);
            attained = attained.max(at.map_or(0.0, |p| p.absolute));
            budget = budget.saturating_sub(1);
        }
        budget = budget.saturating_sub(parts.len());
        let found = parts.into_iter().filter_map(|ranges| part(model, root, ranges, top.comparison, top.depth + 1));
        // A part is no worse than the whole.
        heap.extend(found.map(|p| Part {
            absolute: p.absolute.min(top.absolute),
            relative: p.relative.min(top.relative),
            ..p
        }));
    }
    done.extend(heap);
    let absolute = done.iter().map(|p| p.absolute).fold(0.0, f64::max);
    let relative = done.iter().map(|p| p.relative).fold(0.0, f64::max);
    let cause = done.iter().filter(|p| p.absolute == absolute).find_map(|p| p.cause);
    Bound { real, absolute, relative, cause }
}

fn middle(x: Interval) -> f64 {
    if x.lo.is_finite() && x.hi.is_finite() { 0.5 * x.lo + 0.5 * x.hi } else { x.lo.clamp(-f64::MAX, f64::MAX) }
}
