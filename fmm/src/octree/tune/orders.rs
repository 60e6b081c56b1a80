//! The choice of the next order, or part of one, to try for a wanted error.

use crate::expansion::basis::Basis;
use crate::octree::FmmOptions;

/// Below this, a higher order no longer helps. At high orders the error is that of the corners of cells, where it falls slowest:
/// by 1.3 an order for theta 0.5.
const NO_GAIN: f64 = 1.08;

/// An error that a wanted one exceeds by no more than this is near enough: a lower order hardly has the wanted error too.
const ENOUGH: f64 = 1.25;

/// Steps between two orders of solid harmonics: offsets beyond which M2L takes the order below, in units of
/// [`FmmOptions::lower_beyond`](crate::octree::FmmOptions::lower_beyond) from near2 on. The last step takes it nowhere. Errors fall about
/// evenly: at low orders the offsets next to the nearest matter too, at high ones the nearest alone.
const LOW: [f64; PARTS - 1] = [0.0, 1.0];
const HIGH: [f64; PARTS - 1] = [-0.5, -0.25];
const PARTS: usize = 3;

/// The first high order: from here on, the nearest offsets have nearly all of the error.
const FIRST_HIGH: usize = 12;

/// Orders and the errors that nearly no 1000 targets exceed, for uniform particles and theta 0.5: the mean of those with charges of
/// both signs and of one. Between them they fall geometrically.
const USUAL: [(usize, f64); 6] = [(1, 5e-2), (3, 4.8e-3), (6, 1.5e-4), (13, 8e-7), (20, 1.4e-8), (30, 1.9e-10)];

/// The same of the Cartesian expansion, and of Chebyshev polynomials.
const OF_CARTESIAN: [(usize, f64); 6] = [(1, 5e-2), (2, 1.2e-2), (4, 1.3e-3), (6, 3e-4), (10, 3e-5), (20, 8e-7)];
const OF_CHEBYSHEV: [(usize, f64); 5] = [(1, 6e-2), (3, 8e-3), (6, 3e-4), (8, 3e-5), (10, 3e-6)];

/// By which power of itself the usual error of an order falls if theta falls to a half.
const OF_THETA: f64 = 0.74;

/// The usual error of an order of any expansion.
pub fn usual_of(options: &FmmOptions) -> f64 {
    let of_half = match options.basis {
        Basis::Solid | Basis::Softened => between(&USUAL, options.order as f64),
        Basis::Cartesian => between(&OF_CARTESIAN, options.order as f64),
        Basis::Chebyshev => between(&OF_CHEBYSHEV, options.order as f64),
    };
    of_half.powf((0.5 / options.theta).powf(OF_THETA))
}

/// The steps of accuracy that an expansion has: orders, or parts of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    parts: usize,
    /// The first order without parts.
    whole_from: usize,
    near2: u64,
    highest: usize,
}

/// A step and the error that it gave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tried {
    pub step: usize,
    pub error: f64,
}

/// The usual error of an order, or of one between two.
fn usual(order: f64) -> f64 {
    between(&USUAL, order)
}

fn between(table: &[(usize, f64)], order: f64) -> f64 {
    let above = table.iter().position(|(p, _)| *p as f64 >= order).unwrap_or(table.len() - 1).max(1);
    let [(low, first), (high, last)] = [table[above - 1], table[above]];
    let part = (order - low as f64) / (high - low) as f64;
    first * (last / first).powf(part)
}

/// The order to begin with.
pub(super) fn guess(wanted: f64, most: usize) -> usize {
    (1..most).find(|order| usual(*order as f64) <= wanted).unwrap_or(most)
}

impl Steps {
    pub fn new(basis: Basis, highest: usize, near2: u64) -> Steps {
        let has_parts = matches!(basis, Basis::Solid | Basis::Softened);
        Steps { parts: if has_parts { PARTS } else { 1 }, whole_from: usize::MAX, near2, highest }
    }

    /// The same without parts of orders.
    pub fn whole(self) -> Steps {
        Steps { parts: 1, ..self }
    }

    /// The same without parts of an order and those above it, if there is one.
    pub fn whole_from(self, order: Option<usize>) -> Steps {
        Steps { whole_from: order.unwrap_or(usize::MAX), ..self }
    }

    /// The step that is a whole order.
    pub fn of_order(&self, order: usize) -> usize {
        let with_parts = order.min(self.whole_from.saturating_sub(1));
        with_parts * self.parts + (order - with_parts)
    }

    /// The last step that may be a part of an order.
    fn last_part(&self) -> usize {
        self.whole_from.saturating_sub(1).saturating_mul(self.parts)
    }

    /// A step in orders.
    fn place(&self, step: usize) -> f64 {
        let with_parts = step.min(self.last_part());
        with_parts as f64 / self.parts as f64 + (step - with_parts) as f64
    }

    /// The step of an order or more above a step.
    fn above(&self, step: usize, orders: usize) -> usize {
        let order = self.order(step).0 + orders;
        // The same part of it, where it has parts.
        let missing = self.of_order(self.order(step).0) - step;
        if order < self.whole_from { self.of_order(order) - missing } else { self.of_order(order) }
    }

    pub fn least(&self) -> usize {
        self.parts
    }

    pub fn most(&self) -> usize {
        self.of_order(self.highest)
    }

    /// The order of a step, and beyond which offset M2L takes the order below.
    pub fn order(&self, step: usize) -> (usize, Option<f64>) {
        if step > self.last_part() {
            return (self.whole_from - 1 + step - self.last_part(), None);
        }
        let order = step.div_ceil(self.parts);
        let missing = order * self.parts - step;
        let beyond = if order < FIRST_HIGH { LOW } else { HIGH };
        (order, (missing > 0).then(|| self.near2 as f64 + beyond[self.parts - 1 - missing]))
    }

    fn usual(&self, step: usize) -> f64 {
        usual(self.place(step))
    }

    /// The next step to try, unless the lowest one with the wanted error is known, or one with nearly that error.
    pub fn next(&self, tried: &[Tried], wanted: f64) -> Option<usize> {
        let good = tried.iter().filter(|t| t.error <= wanted).min_by_key(|t| t.step);
        let bad = tried.iter().filter(|t| t.error > wanted).max_by_key(|t| t.step);
        match (good, bad) {
            (Some(good), bad) => {
                let floor = bad.map_or(self.least(), |b| b.step + 1);
                if good.step <= floor || good.error * ENOUGH > wanted {
                    return None;
                }
                // What a step should give by what others gave.
                let usual = |step: usize| (self.usual(step) / self.usual(good.step)).ln();
                let part = bad.map_or(1.0, |b| (b.error / good.error).ln() / usual(b.step));
                let has = |step: &usize| good.error * (part * usual(*step)).exp() <= wanted;
                Some((floor..good.step).find(has).unwrap_or(good.step - 1))
            }
            (None, Some(bad)) if bad.step < self.most() => {
                let apart = match tried {
                    [.., before, last] => (self.place(before.step) - self.place(last.step)).abs(),
                    _ => 0.0,
                };
                // Of steps that are near each other, chance may make one look no better.
                let is_sure = apart >= 2.0;
                if self.gained(tried) < NO_GAIN {
                    return (!is_sure).then(|| self.above(bad.step, 2).min(self.most()));
                }
                // Errors that fall more slowly than usual go on so.
                let slow = (self.gained(tried).ln() / self.usual_gain(tried).ln()).min(1.0);
                let slow = if is_sure { slow } else { slow.max(0.5) };
                let has = |step: &usize| {
                    bad.error * (self.usual(*step) / self.usual(bad.step)).powf(slow) * ENOUGH.sqrt() <= wanted
                };
                Some((bad.step + 1..self.most()).find(has).unwrap_or(self.most()))
            }
            _ => None,
        }
    }

    /// By how much the error fell from one order to the next in the last step, and by how much it usually falls there.
    fn gained(&self, tried: &[Tried]) -> f64 {
        let [.., before, last] = tried else { return self.usual_gain(tried) };
        self.an_order(before.error / last.error, before, last)
    }

    fn usual_gain(&self, tried: &[Tried]) -> f64 {
        let [.., before, last] = tried else { return usual(1.0) / usual(2.0) };
        self.an_order(self.usual(before.step) / self.usual(last.step), before, last)
    }

    fn an_order(&self, gain: f64, before: &Tried, last: &Tried) -> f64 {
        gain.powf(1.0 / (self.place(last.step) - self.place(before.step)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 30;

    /// Steps tried for an error that falls by `gain` an order from `first` down to `floor`, and the best error.
    fn steps(steps: &Steps, first: f64, gain: f64, floor: f64, wanted: f64) -> (Vec<usize>, f64) {
        let mut tried: Vec<Tried> = Vec::new();
        let mut next = Some(steps.of_order(guess(wanted, MOST)));
        while let Some(step) = next {
            let error = (first * gain.powf(-steps.place(step))).max(floor);
            tried.push(Tried { step, error });
            next = steps.next(&tried, wanted);
        }
        let good = tried.iter().filter(|t| t.error <= wanted).min_by_key(|t| t.step);
        (tried.iter().map(|t| t.step).collect(), good.map_or(f64::INFINITY, |t| t.error))
    }

    #[test]
    fn few_steps_are_tried_and_the_lowest_is_found() {
        let solid = Steps::new(Basis::Solid, MOST, 4);
        let part = 1.0 / PARTS as f64;
        let cases = [(solid, part), (solid.whole_from(Some(13)), 1.0), (Steps::new(Basis::Cartesian, MOST, 4), 1.0)];
        for (all, part) in cases {
            for gain in [1.5, 1.7, 2.0, 2.5, 4.0] {
                for first in [1e-3, 1e-2, 1e-1] {
                    for wanted in [1e-2, 1e-4, 1e-6, 1e-9] {
                        let (tried, error) = steps(&all, first, gain, 1e-15, wanted);
                        if tried.contains(&all.most()) {
                            continue;
                        }
                        let what = format!("{gain} {first} {wanted} {tried:?} {error}");
                        assert!(error <= wanted && tried.len() <= 6, "{what}");
                        let step = gain.powf(part).max(ENOUGH);
                        assert!(error * step * 1.001 > wanted || tried.contains(&all.least()), "{what}");
                    }
                }
            }
            // Formats that limit the error end the search.
            let (tried, error) = steps(&all, 1e-2, 2.0, 1e-5, 1e-6);
            assert!(tried.len() <= 5 && error == f64::INFINITY, "{tried:?}");
        }
    }

    #[test]
    fn steps_that_are_alike_by_chance_do_not_end_the_search() {
        let all = Steps::new(Basis::Solid, MOST, 4);
        let tried = |steps: [usize; 2]| steps.map(|step| Tried { step, error: 1.2e-8 });
        assert_eq!(all.next(&tried([64, 65]), 1e-8), Some(71));
        assert_eq!(all.next(&tried([65, 64]), 1e-8), Some(71));
        assert_eq!(all.next(&tried([60, 66]), 1e-8), None);
    }

    #[test]
    fn steps_are_parts_of_orders() {
        let all = Steps::new(Basis::Solid, MOST, 4);
        let orders = |order: usize| [3, 2, 1, 0].map(|back| all.order(3 * order - 3 + back));
        assert_eq!(orders(3), [(3, None), (3, Some(5.0)), (3, Some(4.0)), (2, None)]);
        assert_eq!(orders(12), [(12, None), (12, Some(3.75)), (12, Some(3.5)), (11, None)]);
        assert_eq!(Steps::new(Basis::Cartesian, MOST, 4).order(7), (7, None));
        // From some order on there are none.
        let whole = all.whole_from(Some(12));
        assert_eq!(
            [31, 32, 33, 34, 35].map(|step| whole.order(step)),
            [(11, Some(4.0)), (11, Some(5.0)), (11, None), (12, None), (13, None)]
        );
        assert!((1..=MOST).all(|order| whole.order(whole.of_order(order)) == (order, None)));
        assert_eq!([whole.above(30, 2), whole.above(28, 1), whole.above(32, 2)], [34, 31, 35]);
        assert!((1..=whole.most()).all(|step| whole.place(step) <= whole.order(step).0 as f64));
        assert_eq!(all.order(all.of_order(12)), (12, None));
    }

    #[test]
    fn the_first_order_is_that_of_usual_errors() {
        assert_eq!([1e-1, 4.8e-3, 1.5e-4, 8e-7, 1e-12].map(|wanted| guess(wanted, MOST)), [1, 3, 6, 13, MOST]);
        assert!((1..MOST).all(|order| usual(order as f64) > 1.3 * usual(order as f64 + 1.0)));
    }
}
