//! Direct summation in f64 on the input as it is: the reference of every error (RULES H10).
//!
//! Pairs at distances whose powers f64 does not hold, and whole sums where charges or the softening length lie that far
//! apart, are done in wide arithmetic, so that the reference never shares a fault of the format with what it measures.

mod derivatives;

use crate::arith::lanes::fastest;
use crate::arith::scale::{exponent, ldexp};
use crate::arith::wide::{self, WideForce};
use crate::data::Force;
use crate::data::particles::{Columns, Particles};
use crate::data::problem::{Geometry, Sources};
use crate::parallel::prelude::*;

/// Sources worked on together.
const LANES: usize = 8;

/// The least distance in units of the largest coordinate, the least charge in units of the largest, and the inverse of the
/// greatest softening length, for which every product in an f64 sum stays far inside the range of f64.
pub const LEAST: f64 = 1e-60;
const LEAST_SQUARE: f64 = LEAST * LEAST;

/// A problem to sum directly.
#[derive(Clone, Copy)]
pub struct Direct<'a> {
    pub geometry: Geometry<'a>,
    pub sources: Sources<'a>,
    /// Softening length.
    pub eps: f64,
    /// Whether second derivatives are wanted too.
    pub hessian: bool,
}

impl<'a> Direct<'a> {
    /// Particles that are sources and targets.
    pub fn of(particles: &'a Particles, eps: f64) -> Direct<'a> {
        let geometry = particles.columns().into();
        Direct { geometry, sources: particles.q[..].into(), eps, hessian: false }
    }

    /// The coordinates of the targets.
    pub fn targets(&self) -> Columns<'a> {
        self.geometry.targets.unwrap_or(self.geometry.sources)
    }

    /// Potential, gradient and second derivatives, which are 0 where they are not wanted, at some targets, in the user's
    /// units. Infinite only where the true value is beyond the range of f64.
    pub fn at(&self, targets: &[usize]) -> Vec<[f64; 10]> {
        if self.hessian || self.sources.dipoles.is_some() {
            return derivatives::all(self, targets);
        }
        let with_zeros = |f: Force| std::array::from_fn(|a| if a < 4 { f[a] } else { 0.0 });
        Scaled::new(self).at_all(targets).into_iter().map(with_zeros).collect()
    }

    /// The power of two of the largest coordinate.
    fn shift(&self) -> i32 {
        let columns = self.geometry.sources.into_iter().chain(self.geometry.targets.into_iter().flatten());
        exponent(columns.flat_map(|c| c.iter()).fold(0.0, |a: f64, x| a.max(x.abs())))
    }
}

fn position(columns: &Columns, k: usize) -> [f64; 3] {
    columns.map(|c| c[k])
}

/// The input in units of powers of two, its largest coordinate and charge at most 1.
struct Scaled<'a> {
    direct: &'a Direct<'a>,
    /// The charges as they were given.
    charges: &'a [f64],
    x: [Vec<f64>; 3],
    q: Vec<f64>,
    shift: i32,
    charge: i32,
    eps: f64,
    /// Whether f64 holds all charges and the softening length in these units.
    holds: bool,
}

/// Potential and gradient at the particles `targets`, in the user's units. Infinite only where the true value is beyond
/// the range of f64.
pub fn reference(particles: &Particles, targets: &[usize], eps: f64) -> Vec<Force> {
    Scaled::new(&Direct::of(particles, eps)).at_all(targets)
}

impl<'a> Scaled<'a> {
    fn new(direct: &'a Direct<'a>) -> Scaled<'a> {
        let (shift, eps, charges) = (direct.shift(), direct.eps, direct.sources.charges.unwrap_or_default());
        let charge = exponent(charges.iter().fold(0.0, |a: f64, q| a.max(q.abs())));
        let q: Vec<f64> = charges.iter().map(|q| ldexp(*q, -charge)).collect();
        let is_held = |(scaled, q): (&f64, &f64)| scaled.abs() >= LEAST || *q == 0.0;
        let holds = ldexp(eps, -shift) <= 1.0 / LEAST && q.iter().zip(charges).all(is_held);
        let x = direct.geometry.sources.map(|c| c.iter().map(|x| ldexp(*x, -shift)).collect::<Vec<f64>>());
        Scaled { direct, charges, x, q, shift, charge, eps, holds }
    }

    fn at_all(&self, targets: &[usize]) -> Vec<Force> {
        targets.par_iter().map(|k| self.at(*k)).collect()
    }

    /// Potential and gradient at target `k`.
    fn at(&self, k: usize) -> Force {
        let x = [&self.x[0][..], &self.x[1], &self.x[2]];
        let position = position(&self.direct.targets(), k);
        let at = position.map(|x| ldexp(x, -self.shift));
        let mut sums = Sums { force: [0.0; 4], close: usize::MAX };
        if self.holds {
            target(at, x, &self.q, ldexp(self.eps, -self.shift).powi(2), &mut sums);
        }
        let mut total = WideForce::default();
        total[0].add(sums.force[0], self.charge - self.shift);
        (1..4).for_each(|a| total[a].add(sums.force[a], self.charge - 2 * self.shift));
        // A target that is a source meets itself once; what else was left out is done pair after pair.
        if sums.close > self.direct.geometry.targets.is_none() as usize {
            let source = |j: usize| self::position(&self.direct.geometry.sources, j);
            for j in (0..self.q.len()).filter(|j| !self.holds || square(at, x, *j) < LEAST_SQUARE) {
                wide::act(position, source(j), self.charges[j], self.eps, &mut total);
            }
        }
        total.map(|t| t.to_f64())
    }
}

/// The square of the distance between a target and a source.
#[inline(always)]
fn square(at: [f64; 3], x: [&[f64]; 3], j: usize) -> f64 {
    let [dx, dy, dz] = [0, 1, 2].map(|a| x[a][j] - at[a]);
    dx * dx + dy * dy + dz * dz
}

/// Sums over all sources but those closer than [`LEAST`], and how many these are.
struct Sums {
    force: Force,
    close: usize,
}

fastest! {
    fn target(at: [f64; 3], x: [&[f64]; 3], q: &[f64], eps2: f64, out: &mut Sums) = target_body
}

#[inline(always)]
fn target_body<const FMA: bool>(at: [f64; 3], x: [&[f64]; 3], q: &[f64], eps2: f64, out: &mut Sums) {
    let mut sums = [[0.0; LANES]; 4];
    let mut close = [0.0; LANES];
    let whole = q.len() / LANES * LANES;
    for first in (0..whole).step_by(LANES) {
        let part = |of: &[f64]| -> [f64; LANES] { of[first..first + LANES].try_into().expect("eight values") };
        block(at, x.map(part), part(q), eps2, &mut sums, &mut close);
    }
    for j in whole..q.len() {
        let (mut one, mut charge) = ([[0.0; LANES]; 3], [0.0; LANES]);
        (0..3).for_each(|a| one[a] = [x[a][j]; LANES]);
        charge[0] = q[j];
        let mut seen = [0.0; LANES];
        block(at, one, charge, eps2, &mut sums, &mut seen);
        close[0] += seen[0];
    }
    *out = Sums { force: sums.map(|s| s.iter().sum()), close: close.iter().sum::<f64>() as usize };
}

/// Adds eight sources.
#[inline(always)]
fn block(
    at: [f64; 3],
    x: [[f64; LANES]; 3],
    q: [f64; LANES],
    eps2: f64,
    sums: &mut [[f64; LANES]; 4],
    close: &mut [f64; LANES],
) {
    for i in 0..LANES {
        let (dx, dy, dz) = (x[0][i] - at[0], x[1][i] - at[1], x[2][i] - at[2]);
        let r2 = dx * dx + dy * dy + dz * dz;
        let is_close = r2 < LEAST_SQUARE;
        let inverse = if is_close { 0.0 } else { 1.0 / (r2 + eps2).sqrt() };
        close[i] += if is_close { 1.0 } else { 0.0 };
        let potential = q[i] * inverse;
        let slope = potential * (inverse * inverse);
        sums[0][i] += potential;
        sums[1][i] += slope * dx;
        sums[2][i] += slope * dy;
        sums[3][i] += slope * dz;
    }
}
