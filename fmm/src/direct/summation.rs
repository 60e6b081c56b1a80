//! Direct summation in f64 on the input as it is: the reference of every error (RULES H10).
//!
//! Pairs at distances whose powers f64 does not hold, and whole sums where charges or the softening length lie that far
//! apart, are done in wide arithmetic, so that the reference never shares a fault of the format with what it measures.

mod derivatives;
mod lines;

use crate::arith::scale::{exponent, ldexp};
use crate::arith::vector::Isa;
use crate::arith::wide::{self, WideForce};
use crate::data::Force;
use crate::data::particles::{Columns, Particles};
use crate::data::problem::{Geometry, Sources};
use crate::parallel::prelude::*;
use lines::{Lines, Sums, Target, add_lines};

/// Sources in a line, of which columns have whole ones: as many as the longest vector.
const LANES: usize = 8;

/// Sources that stay in the first cache while some targets meet them, and targets that do: one alone would wait for memory.
const SOURCES: usize = 64 * LANES;
const TARGETS: usize = 16;

/// The least distance in units of the largest coordinate, the least charge in units of the largest, and the inverse of the
/// greatest softening length, for which every product in an f64 sum stays far inside the range of f64.
pub const LEAST: f64 = 1e-60;
const LEAST_SQUARE: f64 = LEAST * LEAST;

/// A coordinate far from all particles, in units of the largest coordinate.
const FAR: f64 = 4.0;

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

/// The input in units of powers of two, its largest coordinate and charge at most 1. Columns end with sources of no charge that are far
/// from all targets, up to whole lines.
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
        let mut q: Vec<f64> = charges.iter().map(|q| ldexp(*q, -charge)).collect();
        let is_held = |(scaled, q): (&f64, &f64)| scaled.abs() >= LEAST || *q == 0.0;
        let holds = ldexp(eps, -shift) <= 1.0 / LEAST && q.iter().zip(charges).all(is_held);
        let mut x = direct.geometry.sources.map(|c| c.iter().map(|x| ldexp(*x, -shift)).collect::<Vec<f64>>());
        let whole = q.len().next_multiple_of(LANES);
        q.resize(whole, 0.0);
        x.iter_mut().for_each(|column| column.resize(whole, FAR));
        Scaled { direct, charges, x, q, shift, charge, eps, holds }
    }

    fn at_all(&self, targets: &[usize]) -> Vec<Force> {
        // Fewer at a time where there would be none left for some threads.
        let together = targets.len().div_ceil(4 * rayon::current_num_threads()).clamp(1, TARGETS);
        targets.par_chunks(together).map(|some| self.at_some(some)).collect::<Vec<_>>().concat()
    }

    /// Potential and gradient at some targets. Each has the sum that it has alone, to the bit.
    fn at_some(&self, targets: &[usize]) -> Vec<Force> {
        let scaled = |k: &usize| position(&self.direct.targets(), *k).map(|x| ldexp(x, -self.shift));
        let mut all: Vec<Target<f64>> = targets.iter().map(|k| Target::new(scaled(k))).collect();
        let eps2 = ldexp(self.eps, -self.shift).powi(2);
        for first in (0..self.q.len()).step_by(SOURCES).take_while(|_| self.holds) {
            let some = first..(first + SOURCES).min(self.q.len());
            let x = self.x.each_ref().map(|column| &column[some.clone()]);
            let lines = Lines { x, q: &self.q[some], eps2, least: LEAST_SQUARE };
            add_lines::<f64>(Isa::best(), lines, &mut all);
        }
        targets.iter().zip(&all).map(|(k, target)| self.total(*k, target.at, &target.sums)).collect()
    }

    /// The whole of target `k`, in the user's units.
    fn total(&self, k: usize, at: [f64; 3], sums: &Sums<f64>) -> Force {
        let x = self.x.each_ref().map(|column| &column[..]);
        let mut total = WideForce::default();
        let force = sums.lanes.map(|lanes| lanes.iter().sum::<f64>());
        total[0].add(force[0], self.charge - self.shift);
        (1..4).for_each(|a| total[a].add(force[a], self.charge - 2 * self.shift));
        // A target that is a source meets itself once; what else was left out is done pair after pair.
        let close = if self.holds { sums.close } else { usize::MAX };
        if close > self.direct.geometry.targets.is_none() as usize {
            let position = position(&self.direct.targets(), k);
            let source = |j: usize| self::position(&self.direct.geometry.sources, j);
            for j in (0..self.charges.len()).filter(|j| !self.holds || square(at, x, *j) < LEAST_SQUARE) {
                wide::act(position, source(j), self.charges[j], self.eps, &mut total);
            }
        }
        total.map(|t| t.to_f64())
    }
}

/// The square of the distance between a target and a source.
fn square(at: [f64; 3], x: [&[f64]; 3], j: usize) -> f64 {
    let [dx, dy, dz] = [0, 1, 2].map(|a| x[a][j] - at[a]);
    dx * dx + dy * dy + dz * dz
}
