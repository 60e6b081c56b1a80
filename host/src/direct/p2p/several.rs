//! P2P for several sets of charges at once: distances and their inverse roots are computed once for up to four sets.
//!
//! What a set gives has the bits of [`super::sums`]: each of its sums is done in the same order.

use super::sources::{LANES, Line, Sources};
use super::sums::{Squares, Sums, add_pairs, inverse_distance, scales};
use crate::arith::vector::{Vector, vectorised};
use std::ops::Range;

/// The charges of one set.
pub(super) type Charges<'a, T> = &'a [Line<T>];

vectorised! {
    /// Sums at each of `targets` for each set of charges, one set behind the other, over all sources but those too close, and
    /// counts these.
    pub(super) fn several_sums<T>(
        sources: &Sources<T>,
        charges: &[Charges<T>],
        squares: Squares<T>,
        targets: &[[T; 3]],
        sums: &mut [&mut [Sums<T>]],
    ) = several_in
}

#[inline(always)]
unsafe fn several_in<V: Vector>(
    sources: &Sources<V::Item>,
    charges: &[Charges<V::Item>],
    squares: Squares<V::Item>,
    targets: &[[V::Item; 3]],
    sums: &mut [&mut [Sums<V::Item>]],
) {
    // So many sets at a time that their sums stay in registers.
    let most = if V::REGISTERS >= 32 { 4 } else { 2 };
    for (charges, sums) in charges.chunks(most).zip(sums.chunks_mut(most)) {
        // SAFETY: as for this function.
        unsafe {
            match *charges {
                [a] => all_targets::<V, 1>(sources, [a], squares, targets, sums),
                [a, b] => all_targets::<V, 2>(sources, [a, b], squares, targets, sums),
                [a, b, c] => all_targets::<V, 3>(sources, [a, b, c], squares, targets, sums),
                [a, b, c, d] => all_targets::<V, 4>(sources, [a, b, c, d], squares, targets, sums),
                _ => unreachable!("there are at most four in a chunk"),
            }
        }
    }
}

/// [`several_sums`] for K sets.
#[inline(always)]
unsafe fn all_targets<V: Vector, const K: usize>(
    sources: &Sources<V::Item>,
    charges: [Charges<V::Item>; K],
    squares: Squares<V::Item>,
    targets: &[[V::Item; 3]],
    sums: &mut [&mut [Sums<V::Item>]],
) {
    // SAFETY: as for the caller.
    unsafe {
        let done = if K <= 2 && V::REGISTERS >= 32 { 2 * (targets.len() / 2) } else { 0 };
        for first in (0..done).step_by(2) {
            let at = [targets[first], targets[first + 1]];
            let found = sums_at::<V, 2, K>(sources, charges, squares, at);
            (0..K).for_each(|s| sums[s][first..first + 2].copy_from_slice(&found[s]));
        }
        for (first, at) in targets.iter().enumerate().skip(done) {
            let found = sums_at::<V, 1, K>(sources, charges, squares, [*at]);
            (0..K).for_each(|s| sums[s][first] = found[s][0]);
        }
    }
}

/// Sums at N targets for K sets.
#[inline(always)]
unsafe fn sums_at<V: Vector, const N: usize, const K: usize>(
    sources: &Sources<V::Item>,
    charges: [Charges<V::Item>; K],
    squares: Squares<V::Item>,
    at: [[V::Item; 3]; N],
) -> [[Sums<V::Item>; N]; K] {
    let guarded = &sources.guarded;
    // SAFETY: as for the caller.
    unsafe {
        let zero = V::splat(V::Item::default());
        let mut group = Group::<V, N, K> {
            at: [[zero; 3]; N],
            total: [[[zero; 4]; N]; K],
            eps: V::splat(squares.eps),
            least: V::splat(squares.least),
        };
        for (splat, at) in group.at.iter_mut().zip(at) {
            *splat = [V::splat(at[0]), V::splat(at[1]), V::splat(at[2])];
        }
        group.add::<false>(sources, &charges, 0..guarded.start);
        let close = group.add::<true>(sources, &charges, guarded.clone());
        group.add::<false>(sources, &charges, guarded.end..sources.columns[0].len());
        let scale = scales::<V>();
        std::array::from_fn(|s| {
            std::array::from_fn(|k| {
                let total = &group.total[s][k];
                Sums { force: std::array::from_fn(|a| total[a].sum() * scale[a]), close: close[k] }
            })
        })
    }
}

/// Targets and their sums for each set, lane by lane.
struct Group<V, const N: usize, const K: usize> {
    at: [[V; 3]; N],
    total: [[[V; 4]; N]; K],
    eps: V,
    least: V,
}

impl<V: Vector, const N: usize, const K: usize> Group<V, N, K> {
    /// Adds lines. Where they are `GUARDED`, sources too close are left out, and counted.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "the same place of several arrays")]
    unsafe fn add<const GUARDED: bool>(
        &mut self,
        sources: &Sources<V::Item>,
        charges: &[Charges<V::Item>; K],
        lines: Range<usize>,
    ) -> [u32; N] {
        let mut close = [0; N];
        let [x, y, z, _] = &sources.columns;
        for line in lines {
            let places = [&x[line].0, &y[line].0, &z[line].0];
            for first in (0..LANES).step_by(V::LANES) {
                // SAFETY: as for the caller.
                unsafe {
                    let x = [V::load(&places[0][first..]), V::load(&places[1][first..]), V::load(&places[2][first..])];
                    for k in 0..N {
                        let at = &self.at[k];
                        let d = [x[0].sub(at[0]), x[1].sub(at[1]), x[2].sub(at[2])];
                        let (inverse, near) = inverse_distance::<V, GUARDED>(d, self.eps, self.least);
                        close[k] += near;
                        for s in 0..K {
                            let q = V::load(&charges[s][line].0[first..]);
                            add_pairs(&mut self.total[s][k], d, q, inverse);
                        }
                    }
                }
            }
        }
        close
    }
}
