//! Dipoles and second derivatives in solid harmonics.
//!
//! A derivative of a sum of harmonics is a sum of harmonics of one degree less (regular) or more (irregular): the slopes of
//! [`matrices`](super::matrices). A dipole p at y gives p.(d/dy) of the harmonics that a charge gives, which is a sum by the
//! same slopes transposed. Second derivatives are slopes of slopes.

use super::harmonics::Harmonics;
use super::points::{self, Harmonic, HarmonicKind};
use super::{Solid, matrices, terms};
use crate::arith::lanes::Real;
use crate::arith::vector::Vectors;
use crate::expansion::sparse::{Product, rounded};
use crate::expansion::{Derivatives, PAIRS, Points, SecondDerivatives};

/// Tables for second derivatives of multipoles.
pub struct Upper<T> {
    /// Up to two orders more than the expansion.
    harmonics: Harmonics<T>,
    /// Slopes of sums up to one order more.
    slopes: [Vec<Product<T>>; 3],
}

impl<T: Real> Upper<T> {
    fn new(order: usize) -> Upper<T> {
        let slopes = matrices::multipole_slopes(order + 1, &matrices::weights(order + 2));
        Upper { harmonics: Harmonics::new(order + 2), slopes: slopes.map(|s| rounded(&s)) }
    }
}

/// A derivative of a sum: `count` terms.
fn slope<T: Real>(slopes: &[Product<T>], of: &[T], count: usize) -> Vec<T> {
    let mut out = vec![T::default(); count];
    slopes.iter().for_each(|p| out[p.dst as usize] += p.coefficient * of[p.src as usize]);
    out
}

/// For each of `count` terms its factors in the second derivatives, given the first ones.
fn factors<T: Real>(first: &[Vec<T>; 3], slopes: &[Vec<Product<T>>; 3], count: usize) -> Vec<SecondDerivatives<T>> {
    let mut factors = vec![SecondDerivatives::default(); count];
    for (pair, [a, b]) in PAIRS.into_iter().enumerate() {
        let second = slope(&slopes[b], &first[a], count);
        factors.iter_mut().zip(second).for_each(|(f, x)| f[pair] = x);
    }
    factors
}

impl<T: Vectors> Solid<T> {
    /// Adds what dipoles give to each term of an expansion, whose derivatives are `slopes`.
    fn dipoles(
        &self,
        harmonic: &Harmonic<T>,
        slopes: &[Vec<Product<T>>; 3],
        points: Points<T>,
        dipoles: [&[T]; 3],
        terms: &mut [T],
        scratch: &mut Vec<T>,
    ) {
        let mut sums = vec![T::default(); terms::count(harmonic.harmonics.order)];
        for (slopes, p) in slopes.iter().zip(dipoles) {
            sums.fill(T::default());
            points::moments(self.isa, harmonic, points.x, p, &mut sums, scratch);
            slopes.iter().for_each(|s| terms[s.src as usize] += s.coefficient * sums[s.dst as usize]);
        }
    }
}

impl<T: Vectors> Derivatives<T> for Solid<T> {
    fn p2m_dipoles(&self, points: Points<T>, dipoles: [&[T]; 3], m: &mut [T], scratch: &mut Vec<T>) {
        let harmonic = Harmonic { harmonics: &self.harmonics[0], kind: HarmonicKind::Regular };
        self.dipoles(&harmonic, &self.local_slopes, points, dipoles, m, scratch);
    }

    fn p2l_dipoles(&self, _: u32, points: Points<T>, dipoles: [&[T]; 3], l: &mut [T], scratch: &mut Vec<T>) {
        let harmonic = Harmonic { harmonics: &self.harmonics[1], kind: HarmonicKind::Irregular };
        self.dipoles(&harmonic, &self.multipole_slopes, points, dipoles, l, scratch);
    }

    fn l2p_hessian(&self, l: &[T], points: Points<T>, out: &mut [SecondDerivatives<T>], scratch: &mut Vec<T>) {
        let slopes = &self.local_slopes;
        let first = slopes.each_ref().map(|s| slope(s, l, l.len()));
        let harmonic = Harmonic { harmonics: &self.harmonics[0], kind: HarmonicKind::Regular };
        points::hessians(self.isa, &harmonic, points.x, &factors(&first, slopes, l.len()), out, scratch);
    }

    fn m2p_hessian(&self, _: u32, m: &[T], points: Points<T>, out: &mut [SecondDerivatives<T>], scratch: &mut Vec<T>) {
        let upper = self.upper.get_or_init(|| Upper::new(self.order));
        let first = self.multipole_slopes.each_ref().map(|s| slope(s, m, terms::count(self.order + 1)));
        let harmonic = Harmonic { harmonics: &upper.harmonics, kind: HarmonicKind::Irregular };
        let factors = factors(&first, &upper.slopes, terms::count(self.order + 2));
        points::hessians(self.isa, &harmonic, points.x, &factors, out, scratch);
    }
}
