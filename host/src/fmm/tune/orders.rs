//! Which order to try next for a wanted error.

/// Below this, a higher order no longer helps. At high orders the error is that of the corners of cells, where it falls slowest:
/// by 1.3 an order for theta 0.5.
const NO_GAIN: f64 = 1.08;

/// By how much an error falls from one order to the next at least, nearly always.
const LEAST_GAIN: f64 = 1.15;

/// Orders and the errors that nearly no 1000 targets exceed, for uniform particles and theta 0.5: the mean of those with charges of
/// both signs and of one. Between them they fall geometrically.
const USUAL: [(usize, f64); 6] = [(1, 5e-2), (3, 4.8e-3), (6, 1.5e-4), (13, 8e-7), (20, 1.4e-8), (30, 1.9e-10)];

/// An order and the error that it gave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tried {
    pub order: usize,
    pub error: f64,
}

/// The usual error of an order.
fn usual(order: usize) -> f64 {
    let above = USUAL.iter().position(|(p, _)| *p >= order).unwrap_or(USUAL.len() - 1).max(1);
    let [(low, first), (high, last)] = [USUAL[above - 1], USUAL[above]];
    let part = (order as f64 - low as f64) / (high - low) as f64;
    first * (last / first).powf(part)
}

/// The order to begin with.
pub(super) fn guess(wanted: f64, most: usize) -> usize {
    (1..most).find(|order| usual(*order) <= wanted).unwrap_or(most)
}

/// The next order to try, unless the lowest order with the wanted error is known: the one below has a larger error.
pub(super) fn next(tried: &[Tried], wanted: f64, most: usize) -> Option<usize> {
    let good = tried.iter().filter(|t| t.error <= wanted).min_by_key(|t| t.order);
    let bad = tried.iter().filter(|t| t.error > wanted).max_by_key(|t| t.order);
    // What an order should give by what another one gave.
    let predicted = |by: &Tried, order: usize| by.error * (usual(order) / usual(by.order));
    match (good, bad) {
        (Some(good), bad) => {
            let floor = bad.map_or(1, |b| b.order + 1);
            if good.order <= floor || good.error * LEAST_GAIN > wanted {
                return None;
            }
            let order = (floor..good.order).find(|order| predicted(good, *order) <= wanted);
            Some(order.unwrap_or(good.order - 1))
        }
        (None, Some(bad)) if gained(tried) >= NO_GAIN && bad.order < most => {
            // Errors that fall more slowly than usual go on so.
            let slow = (gained(tried).ln() / usual_gain(tried).ln()).min(1.0);
            let falls = |order: usize| bad.error * (usual(order) / usual(bad.order)).powf(slow) <= wanted;
            Some((bad.order + 1..most).find(|order| falls(*order)).unwrap_or(most))
        }
        _ => None,
    }
}

/// By how much the error fell from one order to the next in the last step, and by how much it usually falls there.
fn gained(tried: &[Tried]) -> f64 {
    let [.., before, last] = tried else { return usual_gain(tried) };
    (before.error / last.error).powf(1.0 / (last.order as f64 - before.order as f64))
}

fn usual_gain(tried: &[Tried]) -> f64 {
    let [.., before, last] = tried else { return usual(1) / usual(2) };
    (usual(before.order) / usual(last.order)).powf(1.0 / (last.order as f64 - before.order as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 30;

    /// Orders tried for an error that falls by `gain` an order from `first` down to `floor`.
    fn orders(first: f64, gain: f64, floor: f64, wanted: f64) -> (Vec<usize>, f64) {
        let mut tried: Vec<Tried> = Vec::new();
        let mut order = guess(wanted, MOST);
        loop {
            let error = (first * gain.powi(-(order as i32))).max(floor);
            tried.push(Tried { order, error });
            match next(&tried, wanted, MOST) {
                Some(next) => order = next,
                None => break,
            }
        }
        let good = tried.iter().filter(|t| t.error <= wanted).min_by_key(|t| t.order);
        (tried.iter().map(|t| t.order).collect(), good.map_or(f64::INFINITY, |t| t.error))
    }

    #[test]
    fn few_orders_are_tried_and_the_lowest_is_found() {
        for gain in [1.5, 1.7, 2.0, 2.5, 4.0] {
            for first in [1e-3, 1e-2, 1e-1] {
                for wanted in [1e-2, 1e-4, 1e-6, 1e-9] {
                    let (orders, error) = orders(first, gain, 1e-15, wanted);
                    if orders.contains(&MOST) {
                        continue;
                    }
                    assert!(error <= wanted && orders.len() <= 6, "{gain} {first} {wanted} {orders:?} {error}");
                    assert!(error * gain > wanted || orders.contains(&1), "{gain} {first} {wanted} {orders:?} {error}");
                }
            }
        }
        // Formats that limit the error end the search.
        let (orders, error) = orders(1e-2, 2.0, 1e-5, 1e-6);
        assert!(orders.len() <= 4 && error == f64::INFINITY, "{orders:?}");
    }

    #[test]
    fn the_first_order_is_that_of_usual_errors() {
        assert_eq!([1e-1, 4.8e-3, 1.5e-4, 8e-7, 1e-12].map(|wanted| guess(wanted, MOST)), [1, 3, 6, 13, MOST]);
        assert!((1..MOST).all(|order| usual(order) > 1.3 * usual(order + 1)));
    }
}
