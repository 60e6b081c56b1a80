//! All images of the root cell that are not near it, as one operator from its multipole to its local expansion (RULES H16).
//!
//! The field of the images of a unit charge at the centre, about the centre, is
//! `sum of S_nm R_nm(x)`, and along three axes `2 pi / 3 |x|^2` more for the uniform background. S_nm is the sum of the
//! irregular harmonics I_nm over all lattice points that are not near. With the theta function of the lattice and its
//! transformation t -> 1/t, a sum over a lattice of d axes becomes one that falls like exp(-pi n^2) (Epstein, Math. Ann. 56,
//! 1903; for harmonics Nijboer and De Wette, Physica 23, 1957): for a harmonic polynomial Y of even degree m,
//! `sum of Y(n) / |n|^2s = pi^s / Gamma(s) * sum of Y(n) (T(s, pi n^2) + (-1)^(m/2) T(m + d/2 - s, pi n^2))`,
//! with T(a, x) the integral of t^(a-1) exp(-x t) from 1 to infinity, and for m = 0 further `-1/s - 1/(d/2 - s)` in the
//! brackets. Sums that do not converge get their continuation in s, which is the convention of Ewald sums. Lengths are in units
//! of the period.

use crate::arith::lanes::Real;
use crate::expansion::basis::{Basis, Index, indices_of, raised};
use crate::expansion::solid::harmonics::{irregular_at, regular_at};
use crate::expansion::solid::matrices::{Translation, local_slopes, weights};
use crate::expansion::solid::terms::{Term, count, terms};
use crate::tree::lists::is_near;
use std::collections::HashMap;
use std::f64::consts::PI;

/// Lattice points up to this along each axis: exp(-pi n^2) is below 1e-49 beyond it.
const MOST: i64 = 6;

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// The sums S_nm up to a degree, for the images along some axes that are not near.
pub fn sums(degree: usize, axes: [bool; 3], near2: u64) -> Vec<f64> {
    let lattice = Lattice { axes: (0..3).filter(|a| axes[*a]).collect(), near2 };
    match lattice.axes.len() {
        3 => lattice.space(degree),
        2 => lattice.plane(degree),
        _ => lattice.line(degree),
    }
}

/// Adds to the local expansion `l` of the root what its multipole `m` gives by `sums` up to twice the order.
pub fn act<T: Real>(basis: Basis, order: usize, sums: &[f64], m: &[T], l: &mut [T]) {
    if basis == Basis::Solid {
        let weights = weights(2 * order);
        return Translation::of_sums(sums, &weights).apply(order, &weights, m, l);
    }
    let derivatives = derivatives(sums, order);
    let indices: Vec<Index> = (0..=order).flat_map(indices_of).collect();
    let place: HashMap<Index, usize> = indices.iter().copied().zip(0..).collect();
    for (l, k) in l.iter_mut().zip(&indices) {
        let product = |(n, m): (&Index, &T)| {
            let both = place.get(&[n[0] + k[0], n[1] + k[1], n[2] + k[2]]);
            both.map_or(0.0, |at| derivatives[*at] * m.f64())
        };
        *l += T::of(indices.iter().zip(m).map(product).sum());
    }
}

/// The matrix in solid harmonics that takes the multipole of the root to what far images give to its local expansion, column after column,
/// from `sums` up to twice the order.
pub fn matrix(order: usize, sums: &[f64]) -> Vec<f64> {
    let (weights, all) = (weights(2 * order), terms(order));
    let translation = Translation::of_sums(sums, &weights);
    let weights = &weights;
    let column = |b: &Term| all.iter().map(|a| translation.entry(*a, *b, weights)).collect::<Vec<f64>>();
    all.iter().flat_map(column).collect()
}

/// The derivatives at 0 of the sum of `sums` times regular harmonics, up to `order`, in the order of the Cartesian terms.
#[allow(clippy::needless_range_loop, reason = "the same place of several arrays")]
fn derivatives(sums: &[f64], order: usize) -> Vec<f64> {
    let mut all: HashMap<Index, Vec<f64>> = HashMap::from([([0; 3], sums[..count(order)].to_vec())]);
    let slopes = local_slopes(order, &weights(order));
    for degree in 0..order {
        for n in indices_of(degree) {
            for axis in 0..3 {
                let mut slope = vec![0.0; count(order)];
                slopes[axis].iter().for_each(|p| slope[p.dst as usize] += p.coefficient * all[&n][p.src as usize]);
                all.entry(raised(n, axis)).or_insert(slope);
            }
        }
    }
    (0..=order).flat_map(indices_of).map(|n| all[&n][0]).collect()
}

struct Lattice {
    /// The periodic axes.
    axes: Vec<usize>,
    near2: u64,
}

impl Lattice {
    /// Lattice points but 0, and whether they are near. Opposite points give the same, so that one of them is left out.
    fn points(&self) -> impl Iterator<Item = ([i64; 3], bool)> + '_ {
        // Near points are all looked at.
        let most = MOST.max((self.near2 as f64).sqrt() as i64 + 1);
        let edge = 2 * most + 1;
        let all = (0..edge.pow(self.axes.len() as u32)).map(move |mut k| {
            let mut point = [0; 3];
            for a in &self.axes {
                point[*a] = k % edge - most;
                k /= edge;
            }
            point
        });
        all.filter(|n| *n > [0; 3]).map(|n| (n, is_near(n, self.near2)))
    }

    /// Three axes.
    fn space(&self, degree: usize) -> Vec<f64> {
        let mut sums = vec![0.0; count(degree)];
        for (n, is_near) in self.points() {
            let x = n.map(|x| x as f64);
            let r2: f64 = x.iter().map(|x| x * x).sum();
            let regular = regular_at(degree, x);
            for l in (0..=degree).step_by(2) {
                let s = l as f64 + 0.5;
                let weight =
                    2.0 * Theta { s, other: 1.0, sign: if l % 4 == 0 { 1.0 } else { -1.0 } }.weight(PI * r2, is_near);
                (l * l..(l + 1) * (l + 1)).for_each(|k| sums[k] += weight * regular[k]);
            }
        }
        // pi^s / Gamma(s) is 1 for s = 1/2.
        sums[0] -= 2.0 + 1.0;
        sums
    }

    /// Two axes: the harmonics on a circle about 0 are sums of cosines, for each of which the plane has its own lattice sum.
    fn plane(&self, degree: usize) -> Vec<f64> {
        let (a, b) = (self.axes[0], self.axes[1]);
        let mut sums = vec![0.0; count(degree)];
        // More points than twice the degree show every cosine.
        let points = 2 * degree + 8;
        let on_circle: Vec<Vec<f64>> = (0..points)
            .map(|k| {
                let (sin, cos) = (2.0 * PI * k as f64 / points as f64).sin_cos();
                let mut x = [0.0; 3];
                (x[a], x[b]) = (cos, sin);
                irregular_at(degree, x)
            })
            .collect();
        for l in (0..=degree).step_by(2) {
            // By the lattice's symmetry, all others are 0.
            for m in (0..=l).step_by(4) {
                let cosine = |k: usize| (2.0 * PI * ((k * m) % points) as f64 / points as f64).cos();
                let both = if m == 0 { 1.0 } else { 2.0 } / points as f64;
                let sum = both * self.cosines(l, m);
                for k in l * l..(l + 1) * (l + 1) {
                    sums[k] += sum * on_circle.iter().enumerate().map(|(p, i)| i[k] * cosine(p)).sum::<f64>();
                }
            }
        }
        sums
    }

    /// The sum of cos(m phi) / |n|^(l+1) over a plane.
    fn cosines(&self, l: usize, m: usize) -> f64 {
        let (a, b) = (self.axes[0], self.axes[1]);
        let s = 0.5 * (l + m + 1) as f64;
        // (-1)^(m/2) is 1.
        let (theta, mut sum) = (Theta { s, other: (m + 1) as f64 - s, sign: 1.0 }, 0.0);
        for (n, is_near) in self.points() {
            let (x, y) = (n[a] as f64, n[b] as f64);
            // The real part of (x + iy)^m.
            let power = (0..m).fold((1.0, 0.0), |(re, im), _| (re * x - im * y, re * y + im * x)).0;
            sum += 2.0 * power * theta.weight(PI * (x * x + y * y), is_near);
        }
        if m == 0 {
            sum += PI.powf(s) / gamma(s) * (1.0 / (s - 1.0) - 1.0 / s);
        }
        sum
    }

    /// One axis: the zeta function of degree + 1.
    fn line(&self, degree: usize) -> Vec<f64> {
        let axis = self.axes.first().copied().unwrap_or(0);
        let mut x = [0.0; 3];
        x[axis] = 1.0;
        let mut sums = irregular_at(degree, x);
        let first = (1..).find(|n| !is_near([*n, 0, 0], self.near2)).unwrap_or(1);
        for l in 0..=degree {
            let sum = match l {
                0 => 2.0 * (EULER - 2f64.ln()) - 2.0 * (1..first).map(|n| 1.0 / n as f64).sum::<f64>(),
                l if l % 2 == 0 => 2.0 * zeta((l + 1) as f64, first as f64),
                _ => 0.0,
            };
            (l * l..(l + 1) * (l + 1)).for_each(|k| sums[k] *= sum);
        }
        sums
    }
}

/// The factors of a harmonic polynomial at lattice points.
struct Theta {
    s: f64,
    other: f64,
    sign: f64,
}

impl Theta {
    /// For a point n with `x = pi n^2`. Of a near point, what it would give alone is taken out.
    fn weight(&self, x: f64, is_near: bool) -> f64 {
        let own = if is_near { -head(self.s, x) } else { tail(self.s, x) };
        PI.powf(self.s) / gamma(self.s) * (own + self.sign * tail(self.other, x))
    }
}

/// The gamma function at half an odd number, above 0.
fn gamma(a: f64) -> f64 {
    (0..(a - 0.5).round() as usize).fold(PI.sqrt(), |product, k| product * (k as f64 + 0.5))
}

/// The integral of t^(a-1) exp(-x t) from 0 to 1, for a above 0.
fn head(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0 / a, 0.0);
    for k in 1.. {
        sum += term;
        term *= x / (a + k as f64);
        if term < 1e-18 * sum {
            break;
        }
    }
    (-x).exp() * sum
}

/// The same integral from 1 to infinity, for x of at least pi and any a that is 1 or half an odd number.
fn tail(a: f64, x: f64) -> f64 {
    if a > x + 1.0 {
        return gamma(a) / x.powf(a) - head(a, x);
    }
    // The continued fraction of the incomplete gamma function, from its end.
    let mut fraction = 0.0;
    for k in (1..=120).rev() {
        let k = k as f64;
        fraction = k * (k - a) / (x + 2.0 * k + 1.0 - a - fraction);
    }
    (-x).exp() / (x + 1.0 - a - fraction)
}

/// The sum of n^-s from `first` on, by Euler and Maclaurin, for s of at least 3.
fn zeta(s: f64, first: f64) -> f64 {
    let terms: f64 = (0..30).rev().map(|k| (first + k as f64).powf(-s)).sum();
    let a = first + 30.0;
    let rest = a / (s - 1.0) + 0.5 + s / (12.0 * a) - s * (s + 1.0) * (s + 2.0) / (720.0 * a.powi(3))
        + s * (s + 1.0) * (s + 2.0) * (s + 3.0) * (s + 4.0) / (30240.0 * a.powi(5));
    terms + a.powf(-s) * rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: u64 = 4;

    #[test]
    fn sums_of_degree_0_are_the_constants_of_their_lattices() {
        // Less the near points: 6, 12 and 8 of them at distances 1, sqrt 2 and sqrt 3.
        let [two, three] = [2.0, 3.0].map(f64::sqrt);
        let at = |axes| sums(0, axes, NEAR)[0];
        assert!((at([true; 3]) + 2.837_297_479_480_619 + 6.0 + 12.0 / two + 8.0 / three).abs() < 1e-13);
        assert!((at([true, false, true]) + 3.900_264_920_001_956 + 4.0 + 4.0 / two).abs() < 1e-13);
        assert!((at([false, true, false]) - 2.0 * (EULER - 2f64.ln()) + 2.0).abs() < 1e-13);
    }

    #[test]
    fn high_degrees_are_plain_sums() {
        let degree = 40;
        for (axes, all_near2) in [
            ([true; 3], &[4, 9, 23][..]),
            ([true, true, false], &[4]),
            ([false, true, true], &[23]),
            ([true, false, true], &[9]),
            ([false, false, true], &[4]),
        ] {
            for near2 in all_near2.iter().copied() {
                let found = sums(degree, axes, near2);
                let mut plain = vec![0.0; count(degree)];
                for n in (0..25 * 25 * 25i64).map(|k| [k / 625 - 12, k / 25 % 25 - 12, k % 25 - 12]) {
                    if !is_near(n, near2) && (0..3).all(|a| axes[a] || n[a] == 0) {
                        let at = irregular_at(degree, n.map(|x| x as f64));
                        plain.iter_mut().zip(at).for_each(|(p, i)| *p += i);
                    }
                }
                // What points beyond 12 give.
                for l in 3..=degree {
                    let rest = 40.0 * 12f64.powi(axes.iter().filter(|a| **a).count() as i32 - l as i32 - 1);
                    for k in l * l..(l + 1) * (l + 1) {
                        let error = (found[k] - plain[k]).abs();
                        assert!(error < rest + 1e-15, "{axes:?} {near2} {l}: {} {}", found[k], plain[k]);
                    }
                }
            }
        }
    }

    #[test]
    fn the_plane_has_its_epstein_zeta_function() {
        // 4 zeta(3/2) beta(3/2), with nothing near but 0, times the harmonic z^2 - (x^2 + y^2)/2 on the plane.
        let found = sums(2, [true, true, false], 1)[4];
        assert!((found + 0.5 * 9.033_621_683_100_95).abs() < 1e-12, "{found}");
    }

    #[test]
    fn derivatives_are_those_of_the_harmonics() {
        // The potential of one lattice point, whose derivatives are known.
        let x = [0.4, -1.7, 2.2];
        let found = derivatives(&irregular_at(3, x), 3);
        let r2: f64 = x.iter().map(|x| x * x).sum();
        let r = r2.sqrt();
        // Of 1/|x - y| with respect to y at 0: value, y_y, y_x y_z, y_z y_z y_z.
        let wanted = [
            (0, 1.0 / r),
            (2, x[1] / r.powi(3)),
            (6, 3.0 * x[0] * x[2] / r.powi(5)),
            (19, (15.0 * x[2].powi(3) / r2 - 9.0 * x[2]) / r.powi(5)),
        ];
        for (k, wanted) in wanted {
            assert!((found[k] - wanted).abs() < 1e-14, "{k}: {} {wanted}", found[k]);
        }
    }
}
