//! The matrices of the operators, entry by entry, in f64.

use super::harmonics::{irregular_at, regular_at};
use super::terms::{Term, count, product, terms};
use crate::arith::lanes::Real;
use crate::expansion::sparse::Product;

/// M2L at one offset: entries of the matrix that takes multipoles to a local expansion.
pub struct Translation {
    /// The operators of all terms up to twice the order, applied to 1/r at the offset.
    derivatives: Vec<f64>,
}

impl Translation {
    /// From a source's centre to a target's at `offset` from it, in units of the cell, for terms up to `order`.
    pub fn new(order: usize, offset: [f64; 3], weights: &[f64]) -> Translation {
        Translation::of_sums(&irregular_at(2 * order, offset), weights)
    }

    /// From many sources at once, given the sums of the irregular harmonics at their offsets.
    pub fn of_sums(irregular: &[f64], weights: &[f64]) -> Translation {
        let all = irregular.iter().zip(weights).enumerate();
        // Terms of degree n stand at n^2 and after it.
        let signed = |(k, (i, w)): (usize, (&f64, &f64))| if k.isqrt().is_multiple_of(2) { i / w } else { -i / w };
        Translation { derivatives: all.map(signed).collect() }
    }

    /// The derivatives of 1/r that all entries are made of, by the places of their terms.
    pub fn into_derivatives(self) -> Vec<f64> {
        self.derivatives
    }

    /// The share of the source's term `b` in the target's term `a`.
    pub fn entry(&self, a: Term, b: Term, weights: &[f64]) -> f64 {
        self.of(&Share::new(a, b, weights))
    }

    #[inline(always)]
    pub fn of(&self, share: &Share) -> f64 {
        let [one, other] = share.terms.map(|(place, factor)| factor * self.derivatives[place as usize]);
        share.scale * (one + other)
    }

    /// Adds to `l` what the multipoles `m` give up to `order`, entry by entry.
    pub fn apply<T: Real>(&self, order: usize, weights: &[f64], m: &[T], l: &mut [T]) {
        let all = terms(order);
        for (l, a) in l.iter_mut().zip(&all) {
            let sum: f64 = all.iter().zip(m).map(|(b, m)| self.entry(*a, *b, weights) * m.f64()).sum();
            *l += T::of(sum);
        }
    }
}

/// The formula of an entry, the same at all offsets.
pub struct Share {
    /// Derivatives by their places, and their factors.
    terms: [(u32, f64); 2],
    scale: f64,
}

impl Share {
    /// Of the source's term `b` in the target's term `a`.
    #[inline(always)]
    pub fn new(a: Term, b: Term, weights: &[f64]) -> Share {
        let scale = weights[a.place()] * weights[b.place()];
        let terms = product(a, b).map(|(t, factor)| (t.place() as u32, factor));
        Share { terms, scale: if b.n.is_multiple_of(2) { scale } else { -scale } }
    }
}

/// [`Term::weight`] of all terms up to `order`.
pub fn weights(order: usize) -> Vec<f64> {
    terms(order).into_iter().map(Term::weight).collect()
}

/// M2M from the child in each octant and L2L to it, in units of each cell.
pub struct ShiftsOfOctants {
    terms: Vec<Term>,
    /// The matrices of the last octant.
    up: Vec<f64>,
    down: Vec<f64>,
}

impl ShiftsOfOctants {
    pub fn new(order: usize, weights: &[f64]) -> ShiftsOfOctants {
        let (terms, size) = (terms(order), count(order));
        let shift = shift(order, [0.25; 3], weights);
        // Of the child's terms on the parent's: a child's degree k shrinks by 2^-k.
        let half: Vec<f64> = terms.iter().map(|term| 0.5f64.powi(term.n as i32)).collect();
        let of = |entry: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            (0..size).flat_map(|row| (0..size).map(move |column| entry(row, column))).collect()
        };
        let up = of(&|row, column| half[column] * shift[row * size + column]);
        let down = of(&|row, column| 0.5 * half[row] * shift[column * size + row]);
        ShiftsOfOctants { terms, up, down }
    }

    /// M2M and L2L, row by row. Mirroring changes the signs of odd terms.
    pub fn of(&self, octant: usize) -> [Vec<f64>; 2] {
        let size = self.terms.len();
        let signs: [f64; 8] =
            std::array::from_fn(|odd| if (odd & !octant).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 });
        let classes: Vec<usize> = self.terms.iter().map(|term| term.class()).collect();
        [&self.up, &self.down].map(|last| {
            let of_row = |(row, class): (&[f64], &usize)| -> Vec<f64> {
                row.iter().zip(&classes).map(|(x, other)| signs[class ^ other] * x).collect()
            };
            last.chunks_exact(size).zip(&classes).flat_map(of_row).collect()
        })
    }
}

/// R_a(x + b) is the sum of `matrix[a][k]` R_k(x): M2M as it stands, and L2L transposed. Rows of `count(order)`.
pub fn shift(order: usize, b: [f64; 3], weights: &[f64]) -> Vec<f64> {
    let all = terms(order);
    let at = regular_at(order, b);
    let mut matrix = vec![0.0; all.len() * all.len()];
    for k in &all {
        for j in all.iter().take(count(order - k.n)) {
            let factor = weights[k.place()] * weights[j.place()] * at[j.place()];
            for (a, c) in product(*k, *j) {
                matrix[a.place() * all.len() + k.place()] += factor * c / weights[a.place()];
            }
        }
    }
    matrix
}

/// The operators of degree 1: d/dx, d/dy, d/dz.
const AXES: [Term; 3] =
    [Term { n: 1, m: 1, sine: false }, Term { n: 1, m: 1, sine: true }, Term { n: 1, m: 0, sine: false }];

/// The derivatives along x, y and z of a sum of regular harmonics as such sums of one degree less.
pub fn local_slopes(order: usize, weights: &[f64]) -> [Vec<Product<f64>>; 3] {
    AXES.map(|axis| {
        let of = |k: Term| {
            product(k, axis).map(|(t, c)| Product {
                dst: k.place() as u32,
                src: t.place() as u32,
                coefficient: c * weights[k.place()] / weights[t.place()],
            })
        };
        terms(order - 1).into_iter().flat_map(of).filter(|e| e.coefficient != 0.0).collect()
    })
}

/// The derivatives along x, y and z of a sum of irregular harmonics as such sums of one degree more.
pub fn multipole_slopes(order: usize, weights: &[f64]) -> [Vec<Product<f64>>; 3] {
    AXES.map(|axis| {
        let of = |k: Term| {
            product(k, axis).map(|(t, c)| Product {
                dst: t.place() as u32,
                src: k.place() as u32,
                coefficient: -c * weights[k.place()] / weights[t.place()],
            })
        };
        terms(order).into_iter().flat_map(of).filter(|e| e.coefficient != 0.0).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_of_mirrored_octants_are_those_of_their_places() {
        for order in [1, 4, 7] {
            let (weights, size) = (weights(2 * order), count(order));
            let octants = ShiftsOfOctants::new(order, &weights);
            for octant in 0..8 {
                let place = [4, 2, 1].map(|bit| if octant & bit == 0 { -0.25 } else { 0.25 });
                let shift = shift(order, place, &weights);
                let half = |k: usize| 0.5f64.powi(terms(order)[k].n as i32);
                let [up, down] = octants.of(octant);
                for (row, column) in (0..size).flat_map(|row| (0..size).map(move |column| (row, column))) {
                    assert_eq!(up[row * size + column], half(column) * shift[row * size + column], "{order} {octant}");
                    let turned = 0.5 * half(row) * shift[column * size + row];
                    assert_eq!(down[row * size + column], turned, "{order} {octant}");
                }
            }
        }
    }
}
