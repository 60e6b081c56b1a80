//! The order of M2L by offset: far cells need a lower one than near cells for the same error.
//!
//! Where a multipole expansion of points up to `a` from the centre is evaluated at distance R, its terms fall by a/R a
//! degree. In a cell a is half the diagonal, and R is the distance to the nearest point of the target cell; so the corners
//! of cells decide. An offset gets the order q from which `(a/R)^(q+1)` is at most what the nearest offset has at the
//! highest order, and one more. So the gradient of uniform particles had errors at most 1.02 times those of the highest
//! order for all (orders 3 to 20, charges of one and of both signs); without the one more, up to 1.6 times.

use crate::tree::lists::is_near;

/// Below this order f32 saves nothing.
const LEAST_MIXED: usize = 6;

/// The rounding error of f32 in sums of products, relative to their root mean square.
const ROUNDED: f64 = 1e-6;

/// The part of the truncation error that rounding in f32 may add.
const SHARE: f64 = 0.1;

/// Orders by offset.
#[derive(Clone, Copy, Debug)]
pub struct Orders {
    order: usize,
    /// By how much the logarithm of the nearest offset's terms falls a degree; infinite for the highest order everywhere.
    least: f64,
    /// Offsets whose [`rank`] is above this take the order below.
    lower_beyond: f64,
}

impl Orders {
    /// For a highest `order` and cells that are near below `near2`.
    pub fn new(order: usize, near2: u64) -> Orders {
        let far = (near2 as f64).sqrt().ceil() as i64;
        if far > 32 {
            return Orders {
                order,
                least: falling((near2 as f64).sqrt() - 0.75f64.sqrt()),
                lower_beyond: f64::INFINITY,
            };
        }
        let range = || 0..=far;
        let all = range().flat_map(|x| range().flat_map(move |y| range().map(move |z| [x, y, z])));
        let least = all.filter(|d| !is_near(*d, near2)).map(|d| falling(nearest(d))).fold(f64::INFINITY, f64::min);
        Orders { order, least, lower_beyond: f64::INFINITY }
    }

    /// A part of an order more than the order below: offsets whose [`rank`] is above `lower_beyond` take the latter.
    pub fn lower_beyond(self, lower_beyond: Option<f64>) -> Orders {
        Orders { lower_beyond: lower_beyond.unwrap_or(f64::INFINITY), ..self }
    }

    /// Whether some offsets take the order below.
    pub fn has_part(&self) -> bool {
        self.lower_beyond < f64::INFINITY
    }

    /// The highest order for all.
    pub fn full(order: usize) -> Orders {
        Orders { order, least: f64::INFINITY, lower_beyond: f64::INFINITY }
    }

    /// Degrees by offset up to which products of two terms are computed in f64, if those of higher degrees may be in f32.
    ///
    /// The rounding error of f32 is a part of the products outside a square of degrees, that is, of the truncation error of an expansion
    /// of the square's order. It must stay far below the truncation error of this order. The field of a smooth density is
    /// larger than all others, but in low degrees; it needs about half of the order.
    pub fn split(&self, near2: u64) -> Option<Orders> {
        // At smaller angles than 1/2 fewer offsets are as near as the nearest.
        let fall = if near2 > 4 { 1.6 * self.least } else { self.least };
        let smooth = self.order.saturating_sub(7).div_ceil(2);
        let random = self.order.saturating_sub(((SHARE / ROUNDED).ln() / fall) as usize);
        let split = smooth.max(random).max(1);
        (self.order >= LEAST_MIXED && split < self.order).then_some(Orders {
            order: split,
            lower_beyond: f64::INFINITY,
            ..*self
        })
    }

    /// The highest of these orders.
    pub fn highest(&self) -> usize {
        self.order
    }

    /// The order at a far offset.
    pub fn at(&self, offset: [i64; 3]) -> usize {
        let is_lower = rank(offset) > self.lower_beyond;
        let order = (self.order - is_lower as usize).max(1);
        let needed = (order + 1) as f64 * self.least / falling(nearest(offset));
        (needed.ceil() as usize).saturating_add(1).clamp(1, order)
    }
}

/// The square of an offset's length, less a quarter where its longest component (the first of equal ones) is along y, and a half
/// where it is along z. So the nearest offsets, which have nearly all of the error at high orders, fall into three parts.
fn rank(offset: [i64; 3]) -> f64 {
    let [x, y, z] = offset.map(|x| x.unsigned_abs());
    let part = if x >= y.max(z) {
        0.0
    } else if y >= z {
        0.25
    } else {
        0.5
    };
    [x, y, z].map(|x| (x * x) as f64).iter().sum::<f64>() - part
}

/// The distance from a cell's centre to the nearest point of a cell at an offset from it whose coordinates all lie half an
/// edge or more from the centre's.
fn nearest(offset: [i64; 3]) -> f64 {
    offset.iter().map(|x| (x.abs() as f64 - 0.5).max(0.5).powi(2)).sum::<f64>().sqrt()
}

/// By how much the logarithm of the terms falls a degree, at a distance from the centre of a cell.
fn falling(distance: f64) -> f64 {
    (distance / 0.75f64.sqrt()).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_cells_need_the_highest_order_and_far_ones_less() {
        for order in 1..=30 {
            for near2 in [4, 9, 16, 2500, 1 << 40] {
                let orders = Orders::new(order, near2);
                let edge = (near2 as f64).sqrt() as i64;
                let at: Vec<usize> = (2..30).map(|k| orders.at([k * edge / 2, 0, 0])).collect();
                assert!(at[0] == order || near2 > 4, "{order} {near2}");
                assert!(at.windows(2).all(|w| w[0] >= w[1]), "{at:?}");
                assert!(order < 6 || near2 > 16 || at[27] < order, "{at:?}");
            }
        }
    }

    #[test]
    fn offsets_that_are_as_near_have_the_same_order() {
        let orders = Orders::new(12, 4);
        let at = |offset| orders.at(offset);
        assert_eq!([[2, 0, 0], [0, -2, 1], [1, 1, -2]].map(at), [12; 3]);
        assert_eq!([[2, 2, 0], [2, 2, 2], [3, 0, 1], [3, -3, 3]].map(at), [11, 9, 9, 7]);
        assert_eq!(Orders::full(12).at([9, 9, 9]), 12);
        let part = orders.lower_beyond(Some(5.0));
        assert_eq!([[2, 0, 0], [0, -2, 1], [1, 1, -2], [2, 2, 0]].map(|d| part.at(d)), [12, 12, 11, 10]);
        let below = Orders::new(11, 4);
        assert_eq!(part.at([3, -3, 3]), below.at([3, -3, 3]));
        assert_eq!(Orders::new(1, 4).lower_beyond(Some(4.0)).at([3, 3, 3]), 1);
    }

    #[test]
    fn the_nearest_offsets_take_the_lower_order_axis_by_axis() {
        let orders = Orders::new(12, 4);
        for (beyond, lower) in [(4.0, [0, 0, 0]), (3.75, [1, 0, 0]), (3.5, [1, 1, 0]), (3.25, [1, 1, 1])] {
            let part = orders.lower_beyond(Some(beyond));
            for sign in [-2, 2] {
                let at = [[sign, 0, 0], [0, sign, 0], [0, 0, sign]].map(|d| 12 - part.at(d));
                assert_eq!(at, lower, "{beyond}");
            }
            assert_eq!([[2, 1, 0], [0, -1, 2]].map(|d| part.at(d)), [11, 11], "{beyond}");
        }
    }
}
