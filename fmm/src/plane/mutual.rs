//! P2P of `log` where points are sources and targets: each pair of points is computed once (section 4 of the paper). Both directions share
//! the logarithm, so that this is faster than directed pairs. It is not for `harmonic`.
//!
//! A box takes those of its near boxes that come later. What its points give to theirs is written apart for each of these boxes, and each
//! box then adds what earlier ones have left for it, in their order. So sums do not depend on the number of threads.

use super::Plan;
use super::lists::Flat;
use super::native::is_wide;
use super::near::Sources;
use super::points::Setting;
use crate::arith::lanes::Real;
use crate::arith::vector::{Elementary, vectorised};
use std::ops::Range;

/// For each box and each later one near it where what the former gives to the latter stands.
pub(super) struct Left {
    /// For each box the first place of what it leaves, in points, and behind the last box the number of all.
    pub start: Vec<usize>,
    /// For each entry of the near lists of a later box its place behind that.
    offset: Vec<u32>,
}

/// Places for each point beyond which they take more memory than they are worth.
const MOST: usize = 32;

impl Left {
    /// `None` where too much would be left.
    pub fn new(plan: &Plan) -> Option<Left> {
        let (near, points) = (&plan.lists.near, &plan.mesh.sources);
        let mut left = Left { start: vec![0], offset: Vec::with_capacity(near.boxes.len()) };
        for k in 0..near.len() {
            let mut length = 0;
            for b in near.of(k) {
                left.offset.push(length as u32);
                length += if is_later(plan, k, *b) { points.range(*b as usize).len() } else { 0 };
            }
            left.start.push(left.start[k] + length);
        }
        (left.start[near.len()] <= MOST * points.len()).then_some(left)
    }

    /// The places of what box `k` leaves for a later box `b` of so many points.
    pub fn between(&self, near: &Flat, k: usize, b: usize, points: usize) -> Range<usize> {
        let entry = near.of(k).binary_search(&(b as u32)).expect("a box is near those that are near it");
        let first = self.offset[near.start[k] + entry] as usize;
        first..first + points
    }
}

/// Whether box `k` computes the pairs with box `b`, for both.
pub(super) fn is_later(plan: &Plan, k: usize, b: u32) -> bool {
    b as usize > k && !is_wide(plan, k, b)
}

vectorised! {
    /// Adds the field of the sources in `ranges` to the sums of a block of points with strengths, and to `left` the field of the block's
    /// points at the sources: its columns are those of the sums.
    pub(super) fn add_mutual<T>(
        sources: Sources<T>,
        ranges: &[Range<usize>],
        setting: Setting,
        own: [&[T]; 3],
        sums: [&mut [T]; 3],
        left: [&mut [T]; 3],
    ) = add_in
}

#[inline(always)]
unsafe fn add_in<V: Elementary>(
    sources: Sources<V::Item>,
    ranges: &[Range<usize>],
    setting: Setting,
    own: [&[V::Item]; 3],
    mut sums: [&mut [V::Item]; 3],
    mut left: [&mut [V::Item]; 3],
) {
    let mut first = 0;
    let most = if V::REGISTERS >= 32 { 3 } else { 1 };
    while first < own[0].len() {
        let vectors = (own[0].len() - first).div_ceil(V::LANES).min(most);
        let own = own.map(|column| &column[first..]);
        let sums = sums.each_mut().map(|column| &mut column[first..]);
        let left = left.each_mut().map(|column| &mut column[..]);
        // SAFETY: as for this function.
        unsafe {
            match vectors {
                3 if const { V::REGISTERS >= 32 } => block::<V, 3>(sources, ranges, setting, own, sums, left),
                2 if const { V::REGISTERS >= 32 } => block::<V, 2>(sources, ranges, setting, own, sums, left),
                _ => block::<V, 1>(sources, ranges, setting, own, sums, left),
            }
        }
        first += vectors * V::LANES;
    }
}

#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "a closure would not have the instructions of the vector")]
unsafe fn block<V: Elementary, const N: usize>(
    sources: Sources<V::Item>,
    ranges: &[Range<usize>],
    setting: Setting,
    own: [&[V::Item]; 3],
    [first, second, potential]: [&mut [V::Item]; 3],
    mut left: [&mut [V::Item]; 3],
) {
    // SAFETY: as for this function.
    unsafe {
        let zero = V::splat(V::Item::default());
        let (mut at, mut sum) = ([[zero; 3]; N], [[zero; 3]; N]);
        for k in 0..N {
            for (at, column) in at[k].iter_mut().zip(own) {
                *at = V::load(&column[k * V::LANES..]);
            }
        }
        let (half, log_unit) = (V::splat(V::Item::of(0.5)), V::splat(V::Item::of(setting.log_unit)));
        let least = V::splat(V::Item::of(f64::MIN_POSITIVE));
        let mut place = 0;
        for range in ranges {
            for j in range.clone() {
                let (x, y, q) = (V::splat(sources.x[j]), V::splat(sources.y[j]), V::splat(sources.re[j]));
                let mut back = [zero; 3];
                for k in 0..N {
                    let d = [x.sub(at[k][0]), y.sub(at[k][1])];
                    let square = d[0].mul_add(d[0], d[1].mul(d[1]));
                    let inverse = square.inverse_or_zero();
                    let s = [d[0].mul(inverse), d[1].mul(inverse)];
                    for a in 0..2 {
                        sum[k][a] = q.mul_add(s[a], sum[k][a]);
                        back[a] = at[k][2].mul_add(s[a], back[a]);
                    }
                    let (log, _) = square.ln().mul_add(half, log_unit).where_from(square, least);
                    sum[k][2] = q.mul_add(log, sum[k][2]);
                    back[2] = at[k][2].mul_add(log, back[2]);
                }
                for (left, back) in left.iter_mut().zip(back) {
                    left[place] += back.sum();
                }
                place += 1;
            }
        }
        // The derivative of log |d| with respect to the target is -d / |d|^2, and with respect to the source the opposite of that.
        for k in 0..N {
            let to = k * V::LANES;
            V::load(&first[to..]).sub(sum[k][0]).store(&mut first[to..]);
            V::load(&second[to..]).sub(sum[k][1]).store(&mut second[to..]);
            V::load(&potential[to..]).add(sum[k][2]).store(&mut potential[to..]);
        }
    }
}

/// Cuts what a box leaves into its columns, beginning with zeros.
pub(super) fn columns(left: &mut [f64]) -> [&mut [f64]; 3] {
    left.fill(0.0);
    let points = left.len() / 3;
    let (a, rest) = left.split_at_mut(points);
    let (b, c) = rest.split_at_mut(points);
    [a, b, c]
}
