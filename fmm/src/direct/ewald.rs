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
//!
//! All parts are functions of y - x for a target x and a source y. A dipole p takes their derivative along p, the gradient and the
//! second derivatives those with respect to x.

mod radial;
mod special;
mod waves;

use crate::arith::scale::{exponent, ldexp};
use crate::arith::wide::{self, Carried, WideValues};
use crate::data::Force;
use crate::data::particles::Particles;
use crate::data::periodic::Periodic;
use crate::direct::summation::Direct;
use crate::parallel::prelude::*;
use radial::{Radial, Source, act};
use std::f64::consts::PI;
use waves::{FREE, Sums, Waves};

/// Both sums end where their terms have fallen to exp(-36).
const CUT: f64 = 36.0;

/// The square of the distance in units of L below which a pair is computed in wide arithmetic.
const LEAST_SQUARE: f64 = 1e-120;

/// How often each of potential, gradient and second derivatives is divided by a length.
const LENGTHS: [i32; 10] = [1, 2, 2, 2, 3, 3, 3, 3, 3, 3];

/// Potential and gradient at the particles `targets`, in the user's units. `eps` softens the pairs of
/// particles in the box and in its 26 neighbours. Infinite only where the true value is beyond the range of f64.
pub fn reference(particles: &Particles, targets: &[usize], eps: f64, periodic: &Periodic) -> Vec<Force> {
    let all = reference_of(&Direct::of(particles, eps), targets, periodic);
    all.into_iter().map(|v| [v[0], v[1], v[2], v[3]]).collect()
}

/// The same for any sources and targets: potential, gradient and second derivatives, which are 0 where they are not wanted.
pub fn reference_of(direct: &Direct, targets: &[usize], periodic: &Periodic) -> Vec<[f64; 10]> {
    let alpha = best_alpha(direct.geometry.sources[0].len(), targets.len(), periodic.count());
    with_alpha(direct, targets, periodic, alpha)
}

/// The same for an `alpha` in units of 1/L, at least 2.
pub fn with_alpha(direct: &Direct, targets: &[usize], periodic: &Periodic, alpha: f64) -> Vec<[f64; 10]> {
    let ewald = Ewald::new(direct, periodic, alpha);
    let waves = Waves::new(periodic.axes, alpha, CUT);
    let parts = ewald.x.each_ref().map(|x| x.iter().map(|x| x * ewald.inverse).collect::<Vec<f64>>());
    let mut sums = vec![waves.sums(&parts, &ewald.q)];
    if direct.sources.dipoles.is_some() {
        let moments = ewald.p.each_ref().map(|p| p.iter().map(|p| p * ewald.inverse).collect::<Vec<f64>>());
        sums.extend(moments.iter().map(|p| waves.sums(&parts, p)));
    }
    let is_plain = !direct.hessian && direct.sources.dipoles.is_none();
    let at = |i: &usize| match is_plain {
        true => ewald.at::<false>(ewald.place(*i), &waves, &sums),
        false => ewald.at::<true>(ewald.place(*i), &waves, &sums),
    };
    targets.par_iter().map(at).collect()
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

/// Charges and dipoles in a periodic box.
struct Ewald<'a> {
    direct: &'a Direct<'a>,
    periodic: &'a Periodic,
    /// Sources, in the box, times a power of two that makes the period about 1; charges and moments of at most about 1.
    x: [Vec<f64>; 3],
    q: Vec<f64>,
    p: [Vec<f64>; 3],
    /// The origin subtracted from coordinates.
    origin: [f64; 3],
    shift: i32,
    charge: i32,
    /// The period in these units, and its inverse.
    length: f64,
    inverse: f64,
    eps: f64,
    radial: Radial,
    /// Images on either side whose pairs may be near.
    most: i32,
    total: f64,
}

impl<'a> Ewald<'a> {
    fn new(direct: &'a Direct, periodic: &'a Periodic, alpha: f64) -> Ewald<'a> {
        let shift = exponent(periodic.length);
        let columns = direct.geometry.sources;
        let origin = [0, 1, 2].map(|a| {
            let largest = columns[a].iter().fold(0.0, |l: f64, x| l.max(x.abs()));
            // Exact, since all particles lie within a period of each other; not needed where coordinates are small.
            let is_far = !periodic.axes[a] && largest > 4.0 * periodic.length;
            columns[a].first().filter(|_| is_far).copied().unwrap_or(0.0)
        });
        let scaled = |a: usize| move |x: &f64| ldexp(periodic.wrap(a, *x) - origin[a], -shift);
        let x = [0, 1, 2].map(|a| columns[a].iter().map(scaled(a)).collect::<Vec<f64>>());
        let largest = |column: &[f64]| column.iter().fold(0.0, |a: f64, q| a.max(q.abs()));
        let (charges, dipoles) = (direct.sources.charges.unwrap_or_default(), direct.sources.dipoles);
        let of_charges = Some(largest(charges)).filter(|q| *q > 0.0).map(exponent);
        let of_moments = dipoles.into_iter().flatten().map(largest).fold(0.0, f64::max);
        let of_moments = Some(of_moments).filter(|p| *p > 0.0).map(|p| exponent(p) - shift);
        let charge = of_charges.max(of_moments).unwrap_or(0);
        let column = |from: &[f64], e: i32| match from.is_empty() {
            true => vec![0.0; x[0].len()],
            false => from.iter().map(|q| ldexp(*q, -e)).collect::<Vec<f64>>(),
        };
        let q = column(charges, charge);
        let p = dipoles.unwrap_or([&[]; 3]).map(|p| column(p, charge + shift));
        let length = ldexp(periodic.length, -shift);
        Ewald {
            direct,
            periodic,
            total: q.iter().sum(),
            x,
            q,
            p,
            origin,
            shift,
            charge,
            length,
            inverse: 1.0 / length,
            eps: ldexp(direct.eps, -shift) / length,
            radial: Radial::new(alpha),
            most: (CUT.sqrt() / alpha + 0.5).floor() as i32,
        }
    }

    /// A target, in the units of the sources.
    fn place(&self, i: usize) -> [f64; 3] {
        let targets = self.direct.targets();
        [0, 1, 2].map(|a| ldexp(self.periodic.wrap(a, targets[a][i]) - self.origin[a], -self.shift))
    }

    /// Potential and gradient, and with `ALL` what dipoles give and the second derivatives too.
    fn at<const ALL: bool>(&self, place: [f64; 3], waves: &Waves, sums: &[Sums]) -> [f64; 10] {
        let mut sum = waves.at::<ALL>(sums, place.map(|x| x * self.inverse));
        let mut total = WideValues::default();
        for j in 0..self.q.len() {
            self.pair::<ALL>(place, j, &mut sum, &mut total);
        }
        if self.periodic.count() == 3 {
            sum[0] -= self.radial.background() * self.total;
        }
        std::array::from_fn(|k| {
            let mut all = total[k];
            all.add(sum[k] * self.inverse.powi(LENGTHS[k]), 0);
            all.scaled(self.charge - LENGTHS[k] * self.shift).to_f64()
        })
    }

    /// The charge and moment of source `j`, lengths in units of L.
    #[inline(always)]
    fn source<const ALL: bool>(&self, j: usize) -> Source {
        let p = if ALL { [0, 1, 2].map(|a| self.p[a][j] * self.inverse) } else { [0.0; 3] };
        Source { q: self.q[j], p }
    }

    /// Adds near images of source `j`, and its waves without a periodic component.
    fn pair<const ALL: bool>(&self, at: [f64; 3], j: usize, sum: &mut [f64; 10], total: &mut WideValues) {
        let cut = self.radial.reach();
        let source = self.source::<ALL>(j);
        let nearest = [0, 1, 2].map(|a| self.nearest(a, at[a], self.x[a][j]));
        self.flat::<ALL>(at, j, &source, sum);
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
                        act::<ALL>(d, [true; 3], &self.radial.near::<ALL>(r2), &source, sum);
                    }
                    if r2 < LEAST_SQUARE {
                        let at_image = [image(0, mx), image(1, my), image(2, mz)];
                        let dipole = self.p.each_ref().map(|p| p[j]);
                        let carried = Carried { charge: self.q[j], dipole, exponent: 0 };
                        wide::act_all(at, at_image, &carried, self.eps * self.length, total);
                    }
                }
            }
        }
        if self.eps > 0.0 {
            self.soften::<ALL>(at, j, sum);
        }
    }

    /// The multiple of the period that brings a source at `x` next to `at`.
    #[inline(always)]
    fn nearest(&self, axis: usize, at: f64, x: f64) -> i32 {
        let (d, half) = (x - at, 0.5 * self.length);
        if !self.periodic.axes[axis] { 0 } else { (d < -half) as i32 - (d >= half) as i32 }
    }

    /// Waves without a component along a periodic axis.
    #[inline(always)]
    fn flat<const ALL: bool>(&self, at: [f64; 3], j: usize, source: &Source, sum: &mut [f64; 10]) {
        let free = self.periodic.axes.map(|is_periodic| !is_periodic);
        if free == [false; 3] {
            return;
        }
        let d = [0, 1, 2].map(|a| if free[a] { (self.x[a][j] - at[a]) * self.inverse } else { 0.0 });
        let r2: f64 = d.iter().map(|d| d * d).sum();
        let values =
            if self.periodic.count() == 2 { self.radial.sheet::<ALL>(r2) } else { self.radial.line::<ALL>(r2) };
        act::<ALL>(d, free, &values, source, sum);
    }

    /// Adds what softening changes in the box and its neighbours.
    fn soften<const ALL: bool>(&self, at: [f64; 3], j: usize, sum: &mut [f64; 10]) {
        let most = [0, 1, 2].map(|a| self.periodic.axes[a] as i32);
        let along = |a: usize, m: i32| (self.x[a][j] + m as f64 * self.length - at[a]) * self.inverse;
        for m in (0..27i32).map(|k| [k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1]) {
            if (0..3).any(|a| m[a].abs() > most[a]) {
                continue;
            }
            let d = [0, 1, 2].map(|a| along(a, m[a]));
            let r2: f64 = d.iter().map(|d| d * d).sum();
            if r2 >= LEAST_SQUARE {
                let [hard, soft] = [r2, r2 + self.eps * self.eps].map(radial::inverse);
                let change = std::array::from_fn(|k| soft[k] - hard[k]);
                act::<ALL>(d, [true; 3], &change, &self.source::<ALL>(j), sum);
            }
        }
    }
}
