//! Ewald sums in f64 with periodic boundaries along one, two or three axes: the reference of every error of a periodic run
//! (RULES H16).
//!
//! With 1/r split at `alpha` into erfc(alpha r)/r and erf(alpha r)/r, the first part is summed over near images and the second
//! over wave vectors ([`waves`]). What is left are the waves without a component along a periodic axis (Tornberg, Adv. Comput.
//! Math. 42, 2016; de Leeuw and Perram, Mol. Phys. 37, 1979, for two axes; Porto, J. Phys. A 33, 2000, for one), lengths in
//! units of L and Q the sum of the charges:
//! - three axes: `-pi Q / alpha^2`, for the uniform background;
//! - two axes, z along the third: `-2 sqrt(pi) (exp(-alpha^2 z^2) / alpha + sqrt(pi) z erf(alpha z))` for each charge;
//! - one axis, rho from it: `-(2 ln rho + E_1(alpha^2 rho^2))` for each charge.
//!
//! The result does not depend on `alpha`, which is chosen for speed.

mod special;
mod waves;

use crate::arith::scale::{exponent, ldexp};
use crate::arith::wide::{self, WideForce};
use crate::data::Force;
use crate::data::particles::Particles;
use crate::data::periodic::Periodic;
use rayon::prelude::*;
use special::{END, EULER, Fit, logarithm, smooth};
use std::f64::consts::PI;
use waves::{FREE, Sums, Waves};

/// Both sums end where their terms have fallen to exp(-36).
const CUT: f64 = 36.0;

/// The square of the distance in units of L below which a pair is computed in wide arithmetic.
const LEAST_SQUARE: f64 = 1e-120;

/// Potential and gradient at the particles `targets`, in the user's units. `eps` softens all pairs of a particle and the 27
/// nearest images of another. Infinite only where the true value is beyond the range of f64.
pub fn reference(particles: &Particles, targets: &[usize], eps: f64, periodic: &Periodic) -> Vec<Force> {
    let alpha = best_alpha(particles.len(), targets.len(), periodic.count());
    with_alpha(particles, targets, eps, periodic, alpha)
}

/// The same for an `alpha` in units of 1/L, at least 2.
fn with_alpha(particles: &Particles, targets: &[usize], eps: f64, periodic: &Periodic, alpha: f64) -> Vec<Force> {
    let ewald = Ewald::new(particles, eps, periodic, alpha);
    let waves = Waves::new(periodic.axes, alpha, CUT);
    let parts = ewald.x.each_ref().map(|x| x.iter().map(|x| x * ewald.inverse).collect::<Vec<f64>>());
    let sums = waves.sums(&parts, &ewald.q);
    targets.par_iter().map(|i| ewald.at(*i, &waves, &sums)).collect()
}

/// The `alpha` for which both sums together take the least time, by what a pair and a wave cost.
fn best_alpha(n: usize, targets: usize, axes: usize) -> f64 {
    let (n, targets) = (n as f64, targets as f64);
    let cost = |alpha: &f64| {
        let (reach, free) = (2.0 * CUT.sqrt() / alpha, 3 - axes as i32);
        // Images of a source in reach of a target, and pairs of wave vectors; nanoseconds.
        let near = 0.52 * reach.powi(axes as i32) * reach.min(1.0).powi(free);
        let waves = 2.1 * (CUT.sqrt() * alpha / PI).powi(3) * FREE.powi(free);
        targets * n * (10.0 + 25.0 * near) + waves * (0.3 * n + 8.0 * targets)
    };
    let all = (4..=60).map(|k| 0.5 * k as f64);
    all.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(4.0)
}

/// Charges in a periodic box.
struct Ewald<'a> {
    periodic: &'a Periodic,
    /// Positions in the box, times a power of two that makes the period about 1; charges of at most 1.
    x: [Vec<f64>; 3],
    q: Vec<f64>,
    shift: i32,
    charge: i32,
    /// The period in these units, and its inverse.
    length: f64,
    inverse: f64,
    eps: f64,
    alpha: f64,
    /// Images on either side whose pairs may be near.
    most: i32,
    fits: (&'static [Fit; 2], &'static Fit),
    total: f64,
}

impl<'a> Ewald<'a> {
    fn new(particles: &Particles, eps: f64, periodic: &'a Periodic, alpha: f64) -> Ewald<'a> {
        let shift = exponent(periodic.length);
        let columns = [&particles.x, &particles.y, &particles.z];
        let x = [0, 1, 2].map(|a| {
            let largest = columns[a].iter().fold(0.0, |l: f64, x| l.max(x.abs()));
            // Exact, since all particles lie within a period of each other; not needed where coordinates are small.
            let is_far = !periodic.axes[a] && largest > 4.0 * periodic.length;
            let origin = columns[a].first().filter(|_| is_far).copied().unwrap_or(0.0);
            columns[a].iter().map(|x| ldexp(periodic.wrap(a, *x) - origin, -shift)).collect::<Vec<f64>>()
        });
        let charge = exponent(particles.q.iter().fold(0.0, |a: f64, q| a.max(q.abs())));
        let q: Vec<f64> = particles.q.iter().map(|q| ldexp(*q, -charge)).collect();
        let length = ldexp(periodic.length, -shift);
        Ewald {
            periodic,
            total: q.iter().sum(),
            x,
            q,
            shift,
            charge,
            length,
            inverse: 1.0 / length,
            eps: ldexp(eps, -shift) / length,
            alpha,
            most: (CUT.sqrt() / alpha + 0.5).floor() as i32,
            fits: (smooth(), logarithm()),
        }
    }

    /// Potential and gradient at particle `i`.
    fn at(&self, i: usize, waves: &Waves, sums: &Sums) -> Force {
        let place = [0, 1, 2].map(|a| self.x[a][i]);
        let mut sum = waves.at(sums, place.map(|x| x * self.inverse));
        let mut total = WideForce::default();
        for j in 0..self.q.len() {
            self.pair(place, j, &mut sum, &mut total);
        }
        if self.periodic.count() == 3 {
            sum[0] -= PI / (self.alpha * self.alpha) * self.total;
        }
        total[0].add(sum[0] * self.inverse, -self.shift);
        (1..4).for_each(|a| total[a].add(sum[a] * self.inverse * self.inverse, -2 * self.shift));
        total.map(|t| t.scaled(self.charge).to_f64())
    }

    /// Adds near images of particle `j`, and its waves without a periodic component.
    fn pair(&self, at: [f64; 3], j: usize, sum: &mut Force, total: &mut WideForce) {
        let cut = CUT.sqrt() / self.alpha;
        let nearest = [0, 1, 2].map(|a| self.nearest(a, at[a], self.x[a][j]));
        self.flat(at, j, sum);
        let most = [0, 1, 2].map(|a| if self.periodic.axes[a] { self.most } else { 0 });
        let image = |a: usize, m: i32| self.x[a][j] + (nearest[a] + m) as f64 * self.length;
        let along = |a: usize, m: i32| (image(a, m) - at[a]) * self.inverse;
        for mx in -most[0]..=most[0] {
            let dx = along(0, mx);
            if dx.abs() > cut {
                continue;
            }
            for my in -most[1]..=most[1] {
                let dy = along(1, my);
                if dx * dx + dy * dy > cut * cut {
                    continue;
                }
                for mz in -most[2]..=most[2] {
                    let d = [dx, dy, along(2, mz)];
                    let r2: f64 = d.iter().map(|d| d * d).sum();
                    if r2 <= cut * cut {
                        self.near(d, r2, self.q[j], sum);
                    }
                    if r2 < LEAST_SQUARE {
                        let source = [image(0, mx), image(1, my), image(2, mz)];
                        wide::act(at, source, self.q[j], self.eps * self.length, total);
                    }
                }
            }
        }
        if self.eps > 0.0 {
            self.soften(at, j, nearest, sum);
        }
    }

    /// The multiple of the period that brings a source at `x` next to `at`.
    #[inline(always)]
    fn nearest(&self, axis: usize, at: f64, x: f64) -> i32 {
        let (d, half) = (x - at, 0.5 * self.length);
        if !self.periodic.axes[axis] { 0 } else { (d < -half) as i32 - (d >= half) as i32 }
    }

    /// `erfc(alpha r) / r` as `1/r - alpha S(alpha^2 r^2)`; without 1/r where r is next to nothing.
    #[inline(always)]
    fn near(&self, d: [f64; 3], r2: f64, q: f64, sum: &mut Force) {
        let a2 = self.alpha * self.alpha;
        let [value, slope] = self.fits.0.each_ref().map(|fit| fit.at((a2 * r2).min(CUT)));
        let inverse = if r2 < LEAST_SQUARE { 0.0 } else { 1.0 / r2.sqrt() };
        sum[0] += q * (inverse - self.alpha * value);
        let slope = q * (inverse * inverse * inverse + 2.0 * a2 * self.alpha * slope);
        (0..3).for_each(|a| sum[a + 1] += slope * d[a]);
    }

    /// Waves without a component along a periodic axis.
    #[inline(always)]
    fn flat(&self, at: [f64; 3], j: usize, sum: &mut Force) {
        let (alpha, q) = (self.alpha, self.q[j]);
        let mut free = (0..3).filter(|a| !self.periodic.axes[*a]);
        let along = |a: usize| (self.x[a][j] - at[a]) * self.inverse;
        let (Some(a), b) = (free.next(), free.next()) else { return };
        let d = [along(a), b.map_or(0.0, along)];
        let x = alpha * alpha * (d[0] * d[0] + d[1] * d[1]);
        let Some(b) = b else {
            let (smooth, rest) = if x < END { (self.fits.0[0].at(x), (-x).exp()) } else { (1.0 / x.sqrt(), 0.0) };
            sum[0] -= q * 2.0 * PI.sqrt() / alpha * (rest + PI.sqrt() * x * smooth);
            sum[a + 1] += q * 2.0 * PI * alpha * d[0] * smooth;
            return;
        };
        let ein = if x < END { self.fits.1.at(x) } else { x.ln() + EULER };
        sum[0] -= q * (ein - EULER - 2.0 * alpha.ln());
        let slope = if x > 0.0 { -2.0 * alpha * alpha * (-x).exp_m1() / x } else { 2.0 * alpha * alpha };
        sum[a + 1] += q * slope * d[0];
        sum[b + 1] += q * slope * d[1];
    }

    /// Adds what softening changes for the images next to the nearest one.
    fn soften(&self, at: [f64; 3], j: usize, nearest: [i32; 3], sum: &mut Force) {
        let most = [0, 1, 2].map(|a| self.periodic.axes[a] as i32);
        let along = |a: usize, m: i32| (self.x[a][j] + (nearest[a] + m) as f64 * self.length - at[a]) * self.inverse;
        for m in (0..27i32).map(|k| [k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1]) {
            if (0..3).any(|a| m[a].abs() > most[a]) {
                continue;
            }
            let d = [0, 1, 2].map(|a| along(a, m[a]));
            let r2: f64 = d.iter().map(|d| d * d).sum();
            if r2 >= LEAST_SQUARE {
                let [hard, soft] = [r2, r2 + self.eps * self.eps].map(|r2| 1.0 / r2.sqrt());
                sum[0] += self.q[j] * (soft - hard);
                let slope = self.q[j] * (soft.powi(3) - hard.powi(3));
                (0..3).for_each(|a| sum[a + 1] += slope * d[a]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
