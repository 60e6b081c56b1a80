//! The inner loop of direct summation: some targets against lines of sources, in the widest vectors of the machine.

use super::LANES;
use crate::arith::lanes::Real;
use crate::arith::vector::{Vector, vectorised};

/// Sources in whole lines of [`LANES`], in units of powers of two.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a, T> {
    pub x: [&'a [T]; 3],
    pub q: &'a [T],
    /// The square of the softening length, and that of the distance below which a pair is left out.
    pub eps2: T,
    pub least: T,
}

/// A target with its sums.
#[derive(Clone, Copy)]
pub(super) struct Target<T> {
    pub at: [T; 3],
    pub sums: Sums<T>,
}

/// Sums over all sources but those that were left out, lane by lane, and how many these are.
#[derive(Clone, Copy)]
pub(super) struct Sums<T> {
    pub lanes: [[T; LANES]; 4],
    pub close: usize,
}

impl<T: Real> Target<T> {
    pub fn new(at: [T; 3]) -> Target<T> {
        Target { at, sums: Sums { lanes: [[T::default(); LANES]; 4], close: 0 } }
    }
}

vectorised! {
    /// Adds sources to the sums of targets. Each has the sums that it has alone, to the bit.
    pub(super) fn add_lines<T>(lines: Lines<T>, targets: &mut [Target<T>]) = add_in
}

#[inline(always)]
unsafe fn add_in<V: Vector>(lines: Lines<V::Item>, targets: &mut [Target<V::Item>]) {
    // So many targets at a time that their sums stay in registers.
    let mut left = targets;
    if V::REGISTERS >= 32 {
        let (groups, rest) = left.as_chunks_mut::<4>();
        for group in groups {
            // SAFETY: as for this function.
            unsafe { add_to::<V, 4>(lines, group) };
        }
        left = rest;
    }
    for target in left.as_chunks_mut::<1>().0 {
        // SAFETY: as for this function.
        unsafe { add_to::<V, 1>(lines, target) };
    }
}

#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "a closure would not have the instructions of the vector")]
unsafe fn add_to<V: Vector, const N: usize>(lines: Lines<V::Item>, targets: &mut [Target<V::Item>; N]) {
    let Lines { x: [x, y, z], q, eps2, least } = lines;
    // Cut once, so that no place is checked in the loop.
    let (x, y, z) = (&x[..q.len()], &y[..q.len()], &z[..q.len()]);
    // SAFETY: as for this function.
    unsafe {
        let (eps2, least) = (V::splat(eps2), V::splat(least));
        let mut at = [[eps2; 3]; N];
        let mut total = [[eps2; 4]; N];
        for k in 0..N {
            for a in 0..3 {
                at[k][a] = V::splat(targets[k].at[a]);
            }
            for a in 0..4 {
                total[k][a] = V::load(&targets[k].sums.lanes[a]);
            }
        }
        let mut close = [0; N];
        for first in (0..q.len() / V::LANES).map(|line| line * V::LANES) {
            let places = first..first + V::LANES;
            let place = [V::load(&x[places.clone()]), V::load(&y[places.clone()]), V::load(&z[places.clone()])];
            let charge = V::load(&q[places]);
            for k in 0..N {
                let [dx, dy, dz] = [place[0].sub(at[k][0]), place[1].sub(at[k][1]), place[2].sub(at[k][2])];
                // Rounded as by `square`, so that both find the same pairs close.
                let r2 = dx.mul(dx).add(dy.mul(dy)).add(dz.mul(dz));
                let (inverse, left_out) = r2.add(eps2).inverse_root().where_from(r2, least);
                close[k] += left_out as usize;
                let potential = charge.mul(inverse);
                let slope = potential.mul(inverse.mul(inverse));
                let [phi, gx, gy, gz] = total[k];
                total[k] = [phi.add(potential), slope.mul_add(dx, gx), slope.mul_add(dy, gy), slope.mul_add(dz, gz)];
            }
        }
        for k in 0..N {
            for a in 0..4 {
                total[k][a].store(&mut targets[k].sums.lanes[a]);
            }
            targets[k].sums.close += close[k];
        }
    }
}
