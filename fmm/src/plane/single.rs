//! P2P of `harmonic` in f32, for boxes whose points are far enough apart.
//!
//! Coordinates are relative to the middle of the target box, in its unit, and each is the sum of two numbers of f32. So a difference is as
//! exact as f32 holds it, down to distances of 2^-22 units. Closer pairs are left out and counted: where they are not those of the
//! targets with themselves alone, the box is for f64.

use super::near::Sources;
use super::points::{Block, Place};
use crate::arith::lanes::Real;
use crate::arith::vector::{Elementary, vectorised};
use std::ops::Range;

/// The square of the shortest distance, in units of the target box.
const LEAST: f64 = 1.0 / (1u64 << 44) as f64;

/// Columns of points as the target box sees them.
#[derive(Default)]
pub(super) struct Columns<T> {
    /// Coordinates, and what rounding took from them.
    x: [Vec<T>; 2],
    y: [Vec<T>; 2],
    re: Vec<T>,
    /// Empty where all strengths are real.
    im: Vec<T>,
}

/// The scratch memory of a thread.
#[derive(Default)]
pub(super) struct Single<T> {
    sources: Columns<T>,
    targets: Columns<T>,
    sums: [Vec<T>; 2],
}

vectorised! {
    /// Adds the field of the sources in `ranges` to the sums of a block of points placed about the target box, in its units; counts
    /// the pairs that are left out.
    pub(super) fn near_single<T>(
        sources: Sources<f64>,
        ranges: &[Range<usize>],
        place: &Place,
        block: &mut Block,
        single: &mut Single<T>,
        close: &mut u64,
    ) = near_in
}

#[inline(always)]
unsafe fn near_in<V: Elementary>(
    sources: Sources<f64>,
    ranges: &[Range<usize>],
    place: &Place,
    block: &mut Block,
    single: &mut Single<V::Item>,
    close: &mut u64,
) {
    let Single { sources: s, targets, sums } = single;
    s.clear();
    let factor = 1.0 / place.unit;
    for range in ranges {
        let of = |axis: usize| move |x: f64| (x - place.centre[axis]) * factor;
        split(&mut s.x, &sources.x[range.clone()], of(0));
        split(&mut s.y, &sources.y[range.clone()], of(1));
        s.re.extend(sources.re[range.clone()].iter().map(|q| V::Item::of(*q)));
        let im = sources.im.get(range.clone()).unwrap_or_default();
        s.im.extend(im.iter().map(|q| V::Item::of(*q)));
    }
    targets.clear();
    split(&mut targets.x, &block.x, |x| x);
    split(&mut targets.y, &block.y, |y| y);
    for column in sums.iter_mut() {
        column.clear();
        column.resize(block.x.len(), V::Item::default());
    }
    let sums_of = sums.each_mut().map(|sums| &mut sums[..]);
    // SAFETY: as for this function.
    unsafe {
        match sources.im.is_empty() {
            true => blocks::<V, false>(s, targets, sums_of, close),
            false => blocks::<V, true>(s, targets, sums_of, close),
        }
    }
    for (to, from) in block.sums.iter_mut().zip(sums) {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = from.f64());
    }
}

impl<T> Columns<T> {
    fn clear(&mut self) {
        self.x.iter_mut().chain(&mut self.y).chain([&mut self.re, &mut self.im]).for_each(Vec::clear);
    }
}

/// Appends coordinates as sums of two numbers.
#[inline(always)]
fn split<T: Real>([high, low]: &mut [Vec<T>; 2], from: &[f64], place: impl Fn(f64) -> f64) {
    let first = high.len();
    high.resize(first + from.len(), T::default());
    low.resize(first + from.len(), T::default());
    for ((x, high), low) in from.iter().zip(&mut high[first..]).zip(&mut low[first..]) {
        let z = place(*x);
        *high = T::of(z);
        *low = T::of(z - high.f64());
    }
}

/// Goes through the targets, so many vectors at a time that their sums stay in registers.
#[inline(always)]
unsafe fn blocks<V: Elementary, const IS_COMPLEX: bool>(
    sources: &Columns<V::Item>,
    targets: &Columns<V::Item>,
    mut sums: [&mut [V::Item]; 2],
    close: &mut u64,
) {
    let (mut first, all) = (0, targets.x[0].len());
    let most = if V::REGISTERS >= 32 { 3 } else { 1 };
    while first < all {
        let vectors = ((all - first) / V::LANES).min(most);
        let sums = sums.each_mut().map(|s| &mut s[first..]);
        // SAFETY: as for this function.
        *close += unsafe {
            match vectors {
                3 if const { V::REGISTERS >= 32 } => block::<V, IS_COMPLEX, 3>(sources, targets, first, sums),
                2 if const { V::REGISTERS >= 32 } => block::<V, IS_COMPLEX, 2>(sources, targets, first, sums),
                _ => block::<V, IS_COMPLEX, 1>(sources, targets, first, sums),
            }
        };
        first += vectors * V::LANES;
    }
}

#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "a closure would not have the instructions of the vector")]
unsafe fn block<V: Elementary, const IS_COMPLEX: bool, const N: usize>(
    sources: &Columns<V::Item>,
    targets: &Columns<V::Item>,
    first: usize,
    [upper, lower]: [&mut [V::Item]; 2],
) -> u64 {
    // SAFETY: as for this function.
    unsafe {
        let zero = V::splat(V::Item::default());
        let (mut at, mut sum, mut close) = ([[zero; 4]; N], [[zero; 2]; N], 0);
        for k in 0..N {
            for (at, column) in at[k].iter_mut().zip(targets.x.iter().chain(&targets.y)) {
                *at = V::load(&column[first + k * V::LANES..]);
            }
        }
        let least = V::splat(V::Item::of(LEAST));
        let Columns { x: [xh, xl], y: [yh, yl], re, im } = sources;
        let im = if IS_COMPLEX { im } else { re };
        for (((((xh, xl), yh), yl), re), im) in xh.iter().zip(xl).zip(yh).zip(yl).zip(re).zip(im) {
            let [xh, xl, yh, yl] = [V::splat(*xh), V::splat(*xl), V::splat(*yh), V::splat(*yl)];
            let (re, im) = (V::splat(*re), V::splat(*im));
            for k in 0..N {
                let x = xh.sub(at[k][0]).add(xl.sub(at[k][1]));
                let y = yh.sub(at[k][2]).add(yl.sub(at[k][3]));
                let square = x.mul_add(x, y.mul(y));
                let (inverse, below) = square.inverse_or_zero().where_from(square, least);
                close += below as u64;
                if IS_COMPLEX {
                    let [a, b] = [re.mul_add(x, im.mul(y)), im.mul(x).sub(re.mul(y))];
                    sum[k] = [a.mul_add(inverse, sum[k][0]), b.mul_add(inverse, sum[k][1])];
                } else {
                    let part = re.mul(inverse);
                    sum[k] = [part.mul_add(x, sum[k][0]), part.mul_add(y, sum[k][1])];
                }
            }
        }
        for k in 0..N {
            let b = if IS_COMPLEX { sum[k][1] } else { zero.sub(sum[k][1]) };
            sum[k][0].store(&mut upper[k * V::LANES..]);
            b.store(&mut lower[k * V::LANES..]);
        }
        close
    }
}
