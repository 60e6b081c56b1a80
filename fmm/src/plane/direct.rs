//! Direct summation in f64 on the input as it is: the reference of every error.

use super::mesh::Frame;
use super::{Geometry, Kernel, Strengths, wide};
use crate::arith::lanes::Real;
use crate::arith::scale::{exponent, ldexp};
use crate::arith::vector::{Elementary, Isa, vectorised};
use crate::arith::wide::Wide;
use crate::parallel::prelude::*;

/// A problem to sum directly.
#[derive(Clone, Copy)]
pub struct Direct<'a> {
    pub kernel: Kernel,
    pub geometry: Geometry<'a>,
    pub strengths: Strengths<'a>,
}

impl Direct<'_> {
    /// The number of targets.
    pub fn targets(&self) -> usize {
        self.geometry.targets.unwrap_or(self.geometry.sources)[0].len()
    }

    /// The vector of [`super::Sums`] and the potential (0 for `harmonic`) at some targets, in the user's units. Infinite only
    /// where the true value is beyond the range of f64.
    pub fn at(&self, targets: &[usize]) -> Vec<[f64; 3]> {
        let frame = Frame::of(self.geometry);
        let scaled = frame.all(self.geometry);
        let sources = self.strengths.re.len();
        let first = if self.geometry.targets.is_some() { sources } else { 0 };
        // Where differences may leave the range of f64 in these units, all pairs are done in wide arithmetic.
        if frame.has_tiny(self.geometry, &scaled) {
            return targets.par_iter().map(|t| self.wide(*t)).collect();
        }
        let [x, y] = scaled;
        let zeros = vec![0.0; sources];
        let columns = [self.strengths.re, self.strengths.im.unwrap_or(&zeros)];
        let unit = exponent(columns.iter().flat_map(|c| c.iter()).fold(0.0, |a: f64, q| a.max(q.abs())));
        let [re, im] = columns.map(|c| c.iter().map(|q| ldexp(*q, -unit)).collect::<Vec<f64>>());
        let one = |t: &usize| {
            let at = [x[first + t], y[first + t]];
            let mut sum = [0.0; 3];
            let setting = (self.kernel, frame.log_unit());
            sum_at::<f64>(Isa::best(), at, [&x[..sources], &y[..sources], &re, &im], setting, &mut sum);
            let powers = [unit - frame.exponent, unit - frame.exponent, unit];
            [0, 1, 2].map(|k| ldexp(sum[k], powers[k]))
        };
        targets.par_iter().map(one).collect()
    }

    fn wide(&self, target: usize) -> [f64; 3] {
        let place = |c: super::Columns, k: usize| [c[0][k], c[1][k]];
        let at = place(self.geometry.targets.unwrap_or(self.geometry.sources), target);
        let mut sum = [Wide::default(); 3];
        for (j, re) in self.strengths.re.iter().enumerate() {
            let strength = [*re, self.strengths.im.map_or(0.0, |im| im[j])];
            wide::act(self.kernel, at, place(self.geometry.sources, j), strength, &mut sum);
        }
        sum.map(Wide::to_f64)
    }
}

vectorised! {
    fn sum_at<T>(at: [T; 2], sources: [&[T]; 4], setting: (Kernel, f64), sum: &mut [T; 3]) = sum_at_in
}

/// Sources whose sum is added to the whole at a time: the error of a sum of sums is smaller.
const BLOCK: usize = 4096;

#[inline(always)]
unsafe fn sum_at_in<V: Elementary>(
    at: [V::Item; 2],
    [x, y, re, im]: [&[V::Item]; 4],
    (kernel, log_unit): (Kernel, f64),
    sum: &mut [V::Item; 3],
) {
    // SAFETY: as for this function.
    unsafe {
        let (zero, half) = (V::splat(V::Item::default()), V::splat(V::Item::of(0.5)));
        let least = V::splat(V::Item::of(f64::MIN_POSITIVE));
        let (at, log_unit) = ([V::splat(at[0]), V::splat(at[1])], V::splat(V::Item::of(log_unit)));
        let mut lanes = [[V::Item::default(); 16]; 4];
        for first in (0..x.len()).step_by(BLOCK) {
            let end = x.len().min(first + BLOCK);
            let mut part = [zero; 3];
            for k in (first..end).step_by(V::LANES) {
                let count = V::LANES.min(end - k);
                let columns = [x, y, re, im];
                for (lanes, column) in lanes.iter_mut().zip(columns) {
                    lanes[..count].copy_from_slice(&column[k..k + count]);
                }
                if count < V::LANES {
                    lanes[2][count..].fill(V::Item::default());
                    lanes[3][count..].fill(V::Item::default());
                }
                let [re, im] = [V::load(&lanes[2]), V::load(&lanes[3])];
                let d = [V::load(&lanes[0]).sub(at[0]), V::load(&lanes[1]).sub(at[1])];
                let square = d[0].mul_add(d[0], d[1].mul(d[1]));
                if kernel == Kernel::Harmonic {
                    let upper = re.mul_add(d[0], im.mul(d[1])).div(square);
                    let lower = im.mul(d[0]).sub(re.mul(d[1])).div(square);
                    part[0] = part[0].add(upper.where_from(square, least).0);
                    part[1] = part[1].add(lower.where_from(square, least).0);
                } else {
                    let log = square.ln().mul(half).add(log_unit).mul(re);
                    part[0] = part[0].sub(re.mul(d[0]).div(square).where_from(square, least).0);
                    part[1] = part[1].sub(re.mul(d[1]).div(square).where_from(square, least).0);
                    part[2] = part[2].add(log.where_from(square, least).0);
                }
            }
            for (sum, part) in sum.iter_mut().zip(part) {
                *sum += part.sum();
            }
        }
    }
}
