//! P2M, P2L, L2P and M2P: one cell and particles near or far from it, with a vector of particles at a time.
//!
//! Positions are relative to the cell's centre in units of its edge. Potentials are in units of charge over edge.

use super::harmonics::Harmonics;
use super::terms::count;
use crate::arith::lanes::Real;
use crate::arith::vector::{Vector, vectorised};

/// The kind of harmonics: regular ones within the cell (P2M, L2P), irregular ones outside it (P2L, M2P).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HarmonicKind {
    Regular,
    Irregular,
}

/// The harmonics of a kind up to an order.
pub struct Harmonic<'a, T> {
    pub harmonics: &'a Harmonics<T>,
    pub kind: HarmonicKind,
}

vectorised! {
    /// P2M and P2L: adds to `sums` what charges `q` at `x` give to each term.
    pub fn moments<T>(harmonic: &Harmonic<T>, x: [&[T]; 3], q: &[T], sums: &mut [T], scratch: &mut Vec<T>) = moments_in
}

vectorised! {
    /// L2P and M2P: adds potential and gradient at `x` to `out`. `factors` are those of each term for these.
    pub fn values<T>(harmonic: &Harmonic<T>, x: [&[T]; 3], factors: &[[T; 4]], out: &mut [[T; 4]], scratch: &mut Vec<T>) = values_in
}

vectorised! {
    /// The same for the second derivatives.
    pub fn hessians<T>(harmonic: &Harmonic<T>, x: [&[T]; 3], factors: &[[T; 6]], out: &mut [[T; 6]], scratch: &mut Vec<T>) = hessians_in
}

/// A number of vectors with any values, in the memory `room`: leaves are too small to ask for memory for each.
#[inline(always)]
unsafe fn vectors<V: Vector>(room: &mut Vec<V::Item>, count: usize) -> &mut [V] {
    let wanted = (count + 1) * V::LANES;
    if room.len() < wanted {
        room.resize(wanted, V::Item::default());
    }
    // SAFETY: a vector is its lanes, and has no value that is not one.
    let (_, vectors, _) = unsafe { room.align_to_mut::<V>() };
    &mut vectors[..count]
}

/// A vector of the numbers from `first` on; beyond the end there is `fill`.
#[inline(always)]
unsafe fn part<V: Vector>(from: &[V::Item], first: usize, fill: V::Item) -> V {
    // SAFETY: as for the caller.
    unsafe {
        if from.len() - first >= V::LANES {
            return V::load(&from[first..]);
        }
        let mut filled = [fill; 16];
        filled[..from.len() - first].copy_from_slice(&from[first..]);
        V::load(&filled)
    }
}

#[inline(always)]
unsafe fn harmonics<V: Vector>(harmonic: &Harmonic<V::Item>, x: &[&[V::Item]; 3], first: usize, out: &mut [V]) {
    // SAFETY: as for the caller.
    unsafe {
        // Irregular harmonics have no value at 0.
        let fill = V::Item::ONE;
        // No closure: it would not have the instructions of the vector.
        let x = [part::<V>(x[0], first, fill), part::<V>(x[1], first, fill), part::<V>(x[2], first, fill)];
        match harmonic.kind {
            HarmonicKind::Regular => harmonic.harmonics.regular(x, V::splat(V::Item::ONE), out),
            HarmonicKind::Irregular => harmonic.harmonics.irregular(x, out),
        }
    }
}

#[inline(always)]
unsafe fn moments_in<V: Vector>(
    harmonic: &Harmonic<V::Item>,
    x: [&[V::Item]; 3],
    q: &[V::Item],
    sums: &mut [V::Item],
    scratch: &mut Vec<V::Item>,
) {
    // SAFETY: as for the caller.
    unsafe {
        let zero = V::splat(V::Item::default());
        let terms = count(harmonic.harmonics.order);
        let (at, total) = vectors::<V>(scratch, 2 * terms).split_at_mut(terms);
        total.fill(zero);
        for first in (0..q.len()).step_by(V::LANES) {
            let charge = part::<V>(q, first, V::Item::default());
            harmonics::<V>(harmonic, &x, first, at);
            for (total, at) in total.iter_mut().zip(&*at) {
                *total = charge.mul_add(*at, *total);
            }
        }
        for (sum, total) in sums.iter_mut().zip(&*total) {
            *sum += total.sum();
        }
    }
}

#[inline(always)]
unsafe fn values_in<V: Vector>(
    harmonic: &Harmonic<V::Item>,
    x: [&[V::Item]; 3],
    factors: &[[V::Item; 4]],
    out: &mut [[V::Item; 4]],
    scratch: &mut Vec<V::Item>,
) {
    // SAFETY: as for the caller.
    unsafe { sums_in::<V, 4>(harmonic, x, factors, out, scratch) }
}

#[inline(always)]
unsafe fn hessians_in<V: Vector>(
    harmonic: &Harmonic<V::Item>,
    x: [&[V::Item]; 3],
    factors: &[[V::Item; 6]],
    out: &mut [[V::Item; 6]],
    scratch: &mut Vec<V::Item>,
) {
    // SAFETY: as for the caller.
    unsafe { sums_in::<V, 6>(harmonic, x, factors, out, scratch) }
}

/// Adds N sums of harmonics at each point.
#[inline(always)]
unsafe fn sums_in<V: Vector, const N: usize>(
    harmonic: &Harmonic<V::Item>,
    x: [&[V::Item]; 3],
    factors: &[[V::Item; N]],
    out: &mut [[V::Item; N]],
    scratch: &mut Vec<V::Item>,
) {
    // SAFETY: as for the caller.
    unsafe {
        let zero = V::splat(V::Item::default());
        let at = vectors::<V>(scratch, count(harmonic.harmonics.order));
        for (first, out) in (0..).step_by(V::LANES).zip(out.chunks_mut(V::LANES)) {
            harmonics::<V>(harmonic, &x, first, at);
            let mut sums = [zero; N];
            for (factors, at) in factors.iter().zip(&*at) {
                for a in 0..N {
                    sums[a] = V::splat(factors[a]).mul_add(*at, sums[a]);
                }
            }
            let mut lanes = [[V::Item::default(); 16]; N];
            for (lanes, sum) in lanes.iter_mut().zip(sums) {
                sum.store(lanes);
            }
            for (i, out) in out.iter_mut().enumerate() {
                (0..N).for_each(|a| out[a] += lanes[a][i]);
            }
        }
    }
}
