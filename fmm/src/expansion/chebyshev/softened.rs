//! Softened 1/r as functions that a black-box expansion expands: itself, and what softening changes.

use super::kept::Kept;
use super::{Function, Symmetry};
use crate::arith::lanes::{fastest, madd};
use std::sync::Arc;

/// `1 / sqrt(r^2 + eps^2)`, with the softening length in boxes.
pub struct Softened {
    pub eps: f64,
    /// Levels of the tree that it is expanded on.
    pub levels: usize,
    /// Tables of what softening changes.
    pub kept: Arc<Kept>,
}

impl Softened {
    pub fn new(eps: f64, levels: usize) -> Softened {
        Softened { eps, levels, kept: Arc::default() }
    }
}

/// `1 / sqrt(r^2 + eps^2) - 1 / r`.
pub struct Change {
    pub eps: f64,
}

fn square(d: &[f64; 3]) -> f64 {
    d.iter().map(|x| x * x).sum()
}

/// Second derivatives of 1 / sqrt(r^2 + eps^2).
fn seconds(eps: f64, d: &[f64; 3]) -> [f64; 6] {
    let inverse = 1.0 / (square(d) + eps * eps).sqrt();
    let (square, cube) = (inverse * inverse, inverse * (inverse * inverse));
    crate::expansion::PAIRS.map(|[a, b]| cube * (3.0 * square * d[a] * d[b] - if a == b { 1.0 } else { 0.0 }))
}

/// Both as sums over columns.
struct Columns<'a> {
    eps2: f64,
    /// Whether 1/r is taken from softened 1/r.
    is_change: bool,
    d: &'a [Vec<f64>; 3],
}

impl Columns<'_> {
    /// The potential of a charge, and its gradient over the distance.
    #[inline(always)]
    fn at<const FMA: bool>(&self, d: [f64; 3]) -> [f64; 2] {
        let r2 = madd::<f64, FMA>(d[0], d[0], madd::<f64, FMA>(d[1], d[1], d[2] * d[2]));
        let s2 = r2 + self.eps2;
        let s = s2.sqrt();
        if !self.is_change {
            let inverse = 1.0 / s;
            return [inverse, -inverse * (inverse * inverse)];
        }
        let r = r2.sqrt();
        let both = 1.0 / (r * s);
        let change = -self.eps2 * both / (r + s);
        [change, -change * (both * both * (madd::<f64, FMA>(r, s, r2) + s2))]
    }
}

fastest! {
    fn sum_columns(of: &Columns, charges: &[f64], sums: &mut [f64; 4]) = sum_columns_body
}

fastest! {
    fn add_columns(of: &Columns, charge: f64, to: &mut [f64]) = add_columns_body
}

/// Sums side by side.
const LANES: usize = 8;

#[inline(always)]
fn sum_columns_body<const FMA: bool>(of: &Columns, charges: &[f64], sums: &mut [f64; 4]) {
    let mut all = [[0.0; LANES]; 4];
    let [x, y, z] = of.d;
    let count = charges.len() / LANES * LANES;
    for k in (0..count).step_by(LANES) {
        let (x, y, z, q) = (&x[k..k + LANES], &y[k..k + LANES], &z[k..k + LANES], &charges[k..k + LANES]);
        for i in 0..LANES {
            let [potential, slope] = of.at::<FMA>([x[i], y[i], z[i]]);
            let slope = slope * q[i];
            all[0][i] = madd::<f64, FMA>(potential, q[i], all[0][i]);
            all[1][i] = madd::<f64, FMA>(slope, x[i], all[1][i]);
            all[2][i] = madd::<f64, FMA>(slope, y[i], all[2][i]);
            all[3][i] = madd::<f64, FMA>(slope, z[i], all[3][i]);
        }
    }
    for k in count..charges.len() {
        let d = [x[k], y[k], z[k]];
        let [potential, slope] = of.at::<FMA>(d);
        all[0][0] += potential * charges[k];
        (0..3).for_each(|a| all[a + 1][0] += slope * charges[k] * d[a]);
    }
    for (sum, all) in sums.iter_mut().zip(&all) {
        *sum = all.iter().sum();
    }
}

#[inline(always)]
fn add_columns_body<const FMA: bool>(of: &Columns, charge: f64, to: &mut [f64]) {
    let [x, y, z] = of.d;
    for (to, ((x, y), z)) in to.iter_mut().zip(x.iter().zip(y).zip(z)) {
        *to = madd::<f64, FMA>(charge, of.at::<FMA>([*x, *y, *z])[0], *to);
    }
}

fn sum_of(of: &Columns, charges: &[f64]) -> [f64; 4] {
    let mut sums = [0.0; 4];
    sum_columns(of, charges, &mut sums);
    sums
}

impl Function for Softened {
    fn sum(&self, d: &[Vec<f64>; 3], charges: &[f64]) -> [f64; 4] {
        sum_of(&Columns { eps2: self.eps * self.eps, is_change: false, d }, charges)
    }

    fn add_potentials(&self, d: &[Vec<f64>; 3], charge: f64, to: &mut [f64]) {
        add_columns(&Columns { eps2: self.eps * self.eps, is_change: false, d }, charge, to);
    }

    fn values(&self, d: &[[f64; 3]], out: &mut [[f64; 4]]) {
        for (d, out) in d.iter().zip(out) {
            let inverse = 1.0 / (square(d) + self.eps * self.eps).sqrt();
            let cube = inverse * (inverse * inverse);
            *out = [inverse, -d[0] * cube, -d[1] * cube, -d[2] * cube];
        }
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Full
    }

    fn halving(&self) -> Option<f64> {
        (self.eps == 0.0).then_some(2.0)
    }

    fn seconds(&self, d: &[[f64; 3]]) -> Option<Vec<[f64; 6]>> {
        Some(d.iter().map(|d| seconds(self.eps, d)).collect())
    }

    fn softened(&self) -> Option<&Softened> {
        Some(self)
    }
}

impl Function for Change {
    fn sum(&self, d: &[Vec<f64>; 3], charges: &[f64]) -> [f64; 4] {
        sum_of(&Columns { eps2: self.eps * self.eps, is_change: true, d }, charges)
    }

    fn add_potentials(&self, d: &[Vec<f64>; 3], charge: f64, to: &mut [f64]) {
        add_columns(&Columns { eps2: self.eps * self.eps, is_change: true, d }, charge, to);
    }

    fn values(&self, d: &[[f64; 3]], out: &mut [[f64; 4]]) {
        let eps2 = self.eps * self.eps;
        for (d, out) in d.iter().zip(out) {
            // With s^2 = r^2 + eps^2, no difference of nearly equal numbers: 1/s - 1/r = -eps^2 / (r s (r + s)), and
            // 1/s^3 - 1/r^3 is that times 1/r^2 + 1/(r s) + 1/s^2.
            let r2 = square(d);
            let (r, s) = (r2.sqrt(), (r2 + eps2).sqrt());
            let both = 1.0 / (r * s);
            let change = -eps2 * both / (r + s);
            let cubes = change * (both * both * (r2 + r * s + r2 + eps2));
            *out = [change, -d[0] * cubes, -d[1] * cubes, -d[2] * cubes];
        }
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Full
    }

    fn seconds(&self, d: &[[f64; 3]]) -> Option<Vec<[f64; 6]>> {
        let one = |d: &[f64; 3]| {
            let [soft, hard] = [self.eps, 0.0].map(|eps| seconds(eps, d));
            std::array::from_fn(|k| soft[k] - hard[k])
        };
        Some(d.iter().map(one).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softened_1_over_r_is_1_over_r_and_what_softening_changes() {
        let d: [Vec<f64>; 3] = [0.3, 0.7, 1.1].map(|s| (1..20).map(|k| (k as f64 * s).sin() * 2.0 + 2.5 * s).collect());
        let charges: Vec<f64> = (1..20).map(|k| (k as f64).cos()).collect();
        for eps in [1e-9, 1e-3, 0.2, 3.0] {
            let [hard, soft] = [0.0, eps].map(|eps| Softened::new(eps, 1));
            let all: [&dyn Function; 3] = [&hard, &soft, &Change { eps }];
            let sums = all.map(|f| f.sum(&d, &charges));
            let by_values = all.map(|f| super::super::sum_of_values(|d, out| f.values(d, out), &d, &charges));
            for a in 0..4 {
                assert!((sums[0][a] + sums[2][a] - sums[1][a]).abs() < 1e-13, "{eps} {a} {sums:?}");
                for k in 0..3 {
                    assert!((sums[k][a] - by_values[k][a]).abs() < 1e-13, "{eps} {a} {sums:?} {by_values:?}");
                }
            }
            let mut potentials = vec![1.0; charges.len()];
            all[2].add_potentials(&d, 2.0, &mut potentials);
            let sum: f64 = potentials.iter().zip(&charges).map(|(p, q)| 0.5 * (p - 1.0) * q).sum();
            assert!((sum - sums[2][0]).abs() < 1e-13, "{eps}");
            // Small changes keep their digits.
            let of_one = all[2].sum(&[vec![2.0], vec![0.0], vec![0.0]], &[1.0])[0];
            let series = -eps * eps / 16.0;
            assert!((of_one / series - 1.0).abs() < 0.3 * eps * eps + 1e-15 || eps > 1.0, "{eps} {of_one:e}");
        }
    }
}
