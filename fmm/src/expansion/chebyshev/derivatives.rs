//! Dipoles and second derivatives in Chebyshev polynomials, of a function whose second derivatives are known.
//!
//! A dipole p at y gives p.(d/dy) of what a charge gives: to M_b the sum of p.(d/dy) T_b(y), and at a far target -p.(d/dx) K(x, y). The
//! second derivatives of a local expansion are those of its polynomials.

use super::Chebyshev;
use crate::arith::lanes::Real;
use crate::arith::vector::Vectors;
use crate::expansion::{Derivatives, PAIRS, Points, SecondDerivatives};

/// The polynomials up to an order at a point in units of the cell's edge, and their first and second derivatives there.
fn polynomials(x: f64, order: usize) -> [Vec<f64>; 3] {
    let t = 2.0 * x;
    let mut all = [vec![1.0; order + 1], vec![0.0; order + 1], vec![0.0; order + 1]];
    for n in 1..=order {
        let before = |k: usize| if n >= 2 { all[k][n - 2] } else { 0.0 };
        // T_n = 2 t T_(n-1) - T_(n-2), derived once and twice; T_1 = t.
        let factor = if n == 1 { 1.0 } else { 2.0 };
        let [zero, one, two] = [all[0][n - 1], all[1][n - 1], all[2][n - 1]];
        let next = [
            factor * t * zero - before(0),
            factor * (zero + t * one) - before(1),
            factor * (2.0 * one + t * two) - before(2),
        ];
        (0..3).for_each(|k| all[k][n] = next[k]);
    }
    // By the edge, of which t has half.
    all[1].iter_mut().for_each(|x| *x *= 2.0);
    all[2].iter_mut().for_each(|x| *x *= 4.0);
    all
}

/// A point of some.
fn at<T: Real>(points: &Points<T>, k: usize) -> [f64; 3] {
    points.x.map(|column| column[k].f64())
}

impl<T: Vectors> Derivatives<T> for Chebyshev<T> {
    fn p2m_dipoles(&self, points: Points<T>, dipoles: [&[T]; 3], m: &mut [T], _: &mut Vec<T>) {
        let mut sums = vec![0.0; m.len()];
        for k in 0..dipoles[0].len() {
            let p = dipoles.map(|column| column[k].f64());
            if p == [0.0; 3] {
                continue;
            }
            let t = at(&points, k).map(|x| polynomials(x, self.order));
            for (sum, n) in sums.iter_mut().zip(self.terms()) {
                let slope =
                    |along: usize| -> f64 { (0..3).map(|a| t[a][(a == along) as usize][n[a] as usize]).product() };
                *sum += (0..3).map(|a| p[a] * slope(a)).sum::<f64>();
            }
        }
        m.iter_mut().zip(sums).for_each(|(m, sum)| *m += T::of(sum));
    }

    fn p2l_dipoles(&self, level: u32, points: Points<T>, dipoles: [&[T]; 3], l: &mut [T], _: &mut Vec<T>) {
        let (edge, of) = (2f64.powi(-(level as i32)), self.level(level));
        if of.order.order == 0 {
            return;
        }
        let nodes = of.order.places();
        let mut values = vec![0.0; nodes.len()];
        let (mut differences, mut out) = (vec![[0.0; 3]; nodes.len()], vec![[0.0; 4]; nodes.len()]);
        for k in 0..dipoles[0].len() {
            // Moments are in units of the edge.
            let (x, p) = (at(&points, k), dipoles.map(|column| column[k].f64() * edge));
            if p == [0.0; 3] {
                continue;
            }
            for (d, node) in differences.iter_mut().zip(&nodes) {
                *d = std::array::from_fn(|a| (node[a] - x[a]) * edge);
            }
            of.kernel.values(&differences, &mut out);
            for (value, out) in values.iter_mut().zip(&out) {
                *value -= (0..3).map(|a| p[a] * out[a + 1]).sum::<f64>();
            }
        }
        of.order.add_series(values, 1.0 / self.unit(level), l);
    }

    fn l2p_hessian(&self, l: &[T], points: Points<T>, out: &mut [SecondDerivatives<T>], _: &mut Vec<T>) {
        for (k, out) in out.iter_mut().enumerate() {
            let t = at(&points, k).map(|x| polynomials(x, self.order));
            let mut sums = [0.0; 6];
            for (l, n) in l.iter().zip(self.terms()) {
                for (sum, [a, b]) in sums.iter_mut().zip(PAIRS) {
                    let derived = |axis: usize| (axis == a) as usize + (axis == b) as usize;
                    *sum += l.f64() * (0..3).map(|axis| t[axis][derived(axis)][n[axis] as usize]).product::<f64>();
                }
            }
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out += T::of(sum));
        }
    }

    fn m2p_hessian(&self, level: u32, m: &[T], points: Points<T>, out: &mut [SecondDerivatives<T>], _: &mut Vec<T>) {
        let (edge, of) = (2f64.powi(-(level as i32)), self.level(level));
        if of.order.order == 0 {
            return;
        }
        let (nodes, charges) = (of.order.places(), of.order.charges(m));
        let unit = self.unit(level);
        let mut differences = vec![[0.0; 3]; nodes.len()];
        for (k, out) in out.iter_mut().enumerate() {
            let x = at(&points, k);
            for (d, node) in differences.iter_mut().zip(&nodes) {
                *d = std::array::from_fn(|a| (x[a] - node[a]) * edge);
            }
            let seconds = of.kernel.seconds(&differences).expect("the run was refused without them");
            for (a, out) in out.iter_mut().enumerate() {
                let sum: f64 = seconds.iter().zip(&charges).map(|(s, q)| s[a] * q).sum();
                *out += T::of(sum * edge * edge / unit);
            }
        }
    }
}
