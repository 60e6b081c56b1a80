//! Which order to try next for a wanted error.

/// Errors below this part of the wanted one are those of an order that is higher than it need be.
const WASTE: f64 = 1.0 / 2.2;

/// By how much an error falls from one order to the next, at least and at most.
const GAIN: [f64; 2] = [1.6, 2.3];

/// Below this, a higher order no longer helps. At high orders the error is that of the corners of cells, where it falls slowest:
/// by 1.3 an order for theta 0.5.
const NO_GAIN: f64 = 1.08;

/// Orders and the gradient errors that they give for uniform particles with charges of both signs, theta 0.5.
const SOLID_ERRORS: [(usize, f64); 6] =
    [(3, 1.4e-3), (4, 5.3e-4), (5, 2.2e-4), (8, 1.6e-5), (12, 8.8e-7), (14, 2.1e-7)];

/// An order and the error that it gave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tried {
    pub order: usize,
    pub error: f64,
}

/// The order to begin with.
pub(super) fn guess(wanted: f64, most: usize) -> usize {
    let [(_, first), .., (last_order, last)] = SOLID_ERRORS;
    if wanted >= first {
        return 2;
    }
    if let Some((order, _)) = SOLID_ERRORS.iter().find(|(_, e)| *e <= wanted) {
        return (*order).min(most);
    }
    (last_order + ((last / wanted).ln() / 2f64.ln()).ceil() as usize).min(most)
}

/// The next order to try, unless what was tried is enough.
pub(super) fn next(tried: &[Tried], wanted: f64, most: usize) -> Option<usize> {
    let good = tried.iter().filter(|t| t.error <= wanted).min_by_key(|t| t.order);
    let bad = tried.iter().filter(|t| t.error > wanted).max_by_key(|t| t.order);
    let steps = |ratio: f64, gain: f64| ratio.max(1.0).ln() / gain.ln();
    let order = match (good, bad) {
        (Some(good), bad) => {
            let floor = bad.map_or(1, |b| b.order + 1);
            if good.order <= floor || good.error >= WASTE * wanted {
                return None;
            }
            // As far down as the slowest fall allows, and between what was tried.
            let down = steps(wanted / good.error.max(1e-300), GAIN[1]).floor().max(1.0) as usize;
            good.order.saturating_sub(down).max(floor)
        }
        (None, Some(bad)) => {
            let gain = gained(tried);
            if gain < NO_GAIN || bad.order == most {
                return None;
            }
            let up = steps(bad.error / wanted, gain).ceil().max(1.0) as usize;
            (bad.order + up).min(most)
        }
        (None, None) => return None,
    };
    Some(order).filter(|order| tried.iter().all(|t| t.order != *order))
}

/// By how much the error fell from one order to the next in the last step, as far as that is known.
fn gained(tried: &[Tried]) -> f64 {
    let [.., before, last] = tried else { return GAIN[1] };
    let orders = last.order as f64 - before.order as f64;
    (before.error / last.error).powf(1.0 / orders).min(GAIN[1])
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
    fn few_orders_are_tried_and_the_error_is_kept() {
        for gain in [1.5, 1.7, 2.0, 2.3] {
            for first in [1e-3, 1e-2, 1e-1] {
                for wanted in [1e-2, 1e-4, 1e-6] {
                    let (orders, error) = orders(first, gain, 1e-15, wanted);
                    if orders.contains(&MOST) {
                        continue;
                    }
                    assert!(error <= wanted && orders.len() <= 7, "{gain} {first} {wanted} {orders:?} {error}");
                    assert!(error > 0.3 * wanted || orders.contains(&1), "{gain} {first} {wanted} {orders:?} {error}");
                }
            }
        }
        // Formats that limit the error end the search.
        let (orders, error) = orders(1e-2, 2.0, 1e-5, 1e-6);
        assert!(orders.len() <= 4 && error == f64::INFINITY, "{orders:?}");
    }
}
