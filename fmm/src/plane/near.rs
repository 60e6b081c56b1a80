//! The inner loop of P2P: what the sources of some ranges give to the targets of a box, a few vectors of targets at a time.

use super::Kernel;
use super::points::Setting;
use crate::arith::lanes::Real;
use crate::arith::vector::{Elementary, vectorised};
use std::ops::Range;

/// Columns of all sorted sources.
#[derive(Clone, Copy)]
pub struct Sources<'a, T> {
    pub x: &'a [T],
    pub y: &'a [T],
    pub re: &'a [T],
    /// Empty where all strengths are real.
    pub im: &'a [T],
}

vectorised! {
    /// Adds to the sums at targets, which are filled up to whole vectors, what the sources in `ranges` give. Pairs at equal
    /// coordinates give nothing.
    pub fn add_near<T>(
        sources: Sources<T>,
        ranges: &[Range<usize>],
        setting: Setting,
        targets: [&[T]; 2],
        sums: [&mut [T]; 3],
    ) = add_near_in
}

#[inline(always)]
unsafe fn add_near_in<V: Elementary>(
    sources: Sources<V::Item>,
    ranges: &[Range<usize>],
    setting: Setting,
    targets: [&[V::Item]; 2],
    sums: [&mut [V::Item]; 3],
) {
    // SAFETY: as for this function.
    unsafe {
        match (setting.kernel, sources.im.is_empty()) {
            (Kernel::Harmonic, true) => blocks::<V, REAL>(sources, ranges, setting, targets, sums),
            (Kernel::Harmonic, false) => blocks::<V, COMPLEX>(sources, ranges, setting, targets, sums),
            (Kernel::Log, _) => blocks::<V, LOG>(sources, ranges, setting, targets, sums),
        }
    }
}

/// The kind of a pair's interaction: `harmonic` with real and with complex strengths, `log`.
const REAL: u8 = 0;
const COMPLEX: u8 = 1;
const LOG: u8 = 2;

/// Goes through the targets, so many vectors at a time that their sums stay in registers.
#[inline(always)]
unsafe fn blocks<V: Elementary, const KIND: u8>(
    sources: Sources<V::Item>,
    ranges: &[Range<usize>],
    setting: Setting,
    targets: [&[V::Item]; 2],
    mut sums: [&mut [V::Item]; 3],
) {
    let mut first = 0;
    let most = if V::REGISTERS >= 32 { 4 } else { 2 };
    while first < targets[0].len() {
        let vectors = (targets[0].len() - first).div_ceil(V::LANES).min(most);
        let targets = targets.map(|t| &t[first..]);
        let sums = sums.each_mut().map(|s| &mut s[first..]);
        // SAFETY: as for this function.
        unsafe {
            match vectors {
                4 if const { V::REGISTERS >= 32 } => block::<V, KIND, 4>(sources, ranges, setting, targets, sums),
                3 if const { V::REGISTERS >= 32 } => block::<V, KIND, 3>(sources, ranges, setting, targets, sums),
                2 => block::<V, KIND, 2>(sources, ranges, setting, targets, sums),
                _ => block::<V, KIND, 1>(sources, ranges, setting, targets, sums),
            }
        }
        first += vectors * V::LANES;
    }
}

#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "a closure would not have the instructions of the vector")]
unsafe fn block<V: Elementary, const KIND: u8, const N: usize>(
    sources: Sources<V::Item>,
    ranges: &[Range<usize>],
    setting: Setting,
    [x, y]: [&[V::Item]; 2],
    [first, second, potential]: [&mut [V::Item]; 3],
) {
    // SAFETY: as for this function.
    unsafe {
        let zero = V::splat(V::Item::default());
        let (mut at, mut sum) = ([[zero; 2]; N], [[zero; 3]; N]);
        for k in 0..N {
            at[k] = [V::load(&x[k * V::LANES..]), V::load(&y[k * V::LANES..])];
        }
        let (half, log_unit) = (V::splat(V::Item::of(0.5)), V::splat(V::Item::of(setting.log_unit)));
        let least = V::splat(V::Item::of(f64::MIN_POSITIVE));
        for range in ranges {
            let (xs, ys, re) = (&sources.x[range.clone()], &sources.y[range.clone()], &sources.re[range.clone()]);
            let im = if KIND == COMPLEX { &sources.im[range.clone()] } else { re };
            for (((x, y), re), im) in xs.iter().zip(ys).zip(re).zip(im) {
                let (x, y, re) = (V::splat(*x), V::splat(*y), V::splat(*re));
                for k in 0..N {
                    let d = [x.sub(at[k][0]), y.sub(at[k][1])];
                    let square = d[0].mul_add(d[0], d[1].mul(d[1]));
                    let inverse = square.inverse_or_zero();
                    if KIND == COMPLEX {
                        // Gamma conj(d) / |d|^2.
                        let im = V::splat(*im);
                        let upper = re.mul_add(d[0], im.mul(d[1]));
                        let lower = im.mul(d[0]).sub(re.mul(d[1]));
                        sum[k][0] = upper.mul_add(inverse, sum[k][0]);
                        sum[k][1] = lower.mul_add(inverse, sum[k][1]);
                    } else {
                        let part = re.mul(inverse);
                        sum[k][0] = part.mul_add(d[0], sum[k][0]);
                        sum[k][1] = part.mul_add(d[1], sum[k][1]);
                    }
                    if KIND == LOG {
                        let (log, _) = square.ln().mul_add(half, log_unit).where_from(square, least);
                        sum[k][2] = re.mul_add(log, sum[k][2]);
                    }
                }
            }
        }
        // The derivative of log |d| with respect to the target is -d / |d|^2; the conjugate of d has -y.
        for k in 0..N {
            let signed = match KIND {
                COMPLEX => [sum[k][0], sum[k][1]],
                REAL => [sum[k][0], zero.sub(sum[k][1])],
                _ => [zero.sub(sum[k][0]), zero.sub(sum[k][1])],
            };
            let at = k * V::LANES;
            V::load(&first[at..]).add(signed[0]).store(&mut first[at..]);
            V::load(&second[at..]).add(signed[1]).store(&mut second[at..]);
            if KIND == LOG {
                V::load(&potential[at..]).add(sum[k][2]).store(&mut potential[at..]);
            }
        }
    }
}
