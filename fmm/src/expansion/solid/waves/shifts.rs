//! Factors by which exponentials move.

use super::modes::Modes;
use crate::arith::lanes::Real;

/// Real and imaginary parts, by exponential.
pub type Factors<T> = [Vec<T>; 2];

/// Moves between a child's axis and its parent's, and between parents.
pub struct Shifts<T> {
    /// From a child to its parent across: the second bit of the place says that it is on the upper side along the first axis,
    /// the first bit along the second axis.
    pub in_parent: [Factors<T>; 4],
    /// From a parent to one beside it, two planes of children higher: by the offsets across along the first axis, then the second, -1 to 1.
    pub beside: [Factors<T>; 9],
    /// One plane higher.
    pub plane: Vec<T>,
}

impl<T: Real> Shifts<T> {
    pub fn new(modes: &Modes<T>) -> Shifts<T> {
        let of = |across: [f64; 2], up: f64| -> Factors<T> {
            let both = modes.places.iter().map(|[lambda, angle]| {
                let (sin, cos) = (lambda * (across[0] * angle.cos() + across[1] * angle.sin())).sin_cos();
                [cos, sin].map(|x| (-lambda * up).exp() * x)
            });
            let both: Vec<[f64; 2]> = both.collect();
            [0, 1].map(|part| {
                let mut column: Vec<T> = both.iter().map(|x| T::of(x[part])).collect();
                column.resize(modes.exponentials, T::default());
                column
            })
        };
        let half = |upper: usize| if upper == 1 { -0.5 } else { 0.5 };
        Shifts {
            in_parent: std::array::from_fn(|k| of([half(k >> 1), half(k & 1)], 0.0)),
            beside: std::array::from_fn(|k| of([k / 3, k % 3].map(|x| 2.0 * (x as f64 - 1.0)), 2.0)),
            plane: {
                let [real, _] = of([0.0; 2], 1.0);
                real
            },
        }
    }
}
