//! Sums in f32 over all sources at each target, without a tree: for programs that choose both by themselves.

use super::sources::{LANES, Line, Sources, flat};
use super::sums::{Squares, Sums, leaf_sums};
use crate::arith::lanes::fastest;
use crate::arith::scale::{exponent, ldexp};
use crate::arith::vector::{Isa, Vector, vectorised};
use crate::data::Force;
use crate::parallel::prelude::*;

/// The square of a softening length in units of the extent, from which on no pair can leave the range of f32. Below it pairs are
/// not softened, and those at a lesser distance are left out.
const LEAST_SQUARE: f32 = 1e-30;

/// Pairs from which on the targets are shared out among threads.
const SHARED: usize = 1 << 21;

/// Sources of softened 1/r.
#[derive(Clone, Copy)]
pub struct Alone<'a> {
    pub positions: &'a [[f64; 3]],
    /// As many as there are positions.
    pub charges: &'a [f64],
    /// Softening length. A source at a target's own place counts with its charge over this; without softening it counts nothing.
    pub eps: f64,
}

/// Memory that is kept from one call to the next.
#[derive(Default)]
pub struct Kept {
    sources: Sources<f32>,
    targets: Vec<[f32; 3]>,
}

/// The origin of coordinates in f32, and the powers of two of the units of length and charge.
struct Units {
    origin: [f64; 3],
    length: i32,
    charge: i32,
}

impl Alone<'_> {
    /// Potential and gradient at each target, in the units of the sources, whatever these are. Coordinates are counted from the first
    /// target, so that only distances are rounded by how far away something is.
    pub fn forces(&self, targets: &[[f64; 3]], kept: &mut Kept, out: &mut [Force]) {
        let Some(origin) = targets.first().copied() else { return };
        let mut extent = self.eps.abs();
        reach(self.positions, origin, &mut extent);
        reach(targets, origin, &mut extent);
        let mut largest = 0.0;
        greatest(self.charges, &mut largest);
        let of = |x: f64| if x.is_finite() { exponent(x) } else { 0 };
        let units = Units { origin, length: of(extent), charge: of(largest) };
        let is_soft = self.fill(&units, &mut kept.sources);
        let factor = ldexp(1.0, -units.length);
        kept.targets.clear();
        kept.targets.extend(targets.iter().map(|x| [0, 1, 2].map(|a| ((x[a] - origin[a]) * factor) as f32)));
        let eps = (self.eps * factor) as f32;
        let squares = Squares { eps: if is_soft { eps * eps } else { 0.0 }, least: LEAST_SQUARE };
        let (sources, targets) = (&kept.sources, &kept.targets[..]);
        let powers = [units.charge - units.length, units.charge - 2 * units.length].map(Power::of);
        // Some of them at a time, so that their sums stay in the cache.
        let pieces = |(targets, out): (&[[f32; 3]], &mut [Force])| {
            let mut sums = [Sums::default(); 64];
            let sums = &mut sums[..targets.len()];
            leaf_sums(Isa::best(), sources, &[&sources.columns[3]], squares, targets, sums);
            for (out, sum) in out.iter_mut().zip(sums) {
                let [potential, x, y, z] = sum.force.map(f64::from);
                *out = [powers[0].times(potential), powers[1].times(x), powers[1].times(y), powers[1].times(z)];
            }
        };
        if targets.len() * self.positions.len() < SHARED {
            targets.chunks(64).zip(out.chunks_mut(64)).for_each(pieces);
        } else {
            targets.par_chunks(64).zip(out.par_chunks_mut(64)).for_each(pieces);
        }
    }

    /// Writes the sources as lines, filled up with charges of 0. Whether pairs are softened.
    fn fill(&self, units: &Units, to: &mut Sources<f32>) -> bool {
        let count = self.positions.len();
        let lines = count.div_ceil(LANES);
        to.columns.iter_mut().for_each(|column| column.resize(lines, Line([0.0; LANES])));
        let [x, y, z, q] = to.columns.each_mut().map(|column| flat(column));
        split(self.positions, units.origin, ldexp(1.0, -units.length), [&mut *x, &mut *y, &mut *z]);
        scaled(self.charges, ldexp(1.0, -units.charge), q);
        // Beyond everything, and not so far that the powers of its distance leave the format.
        [x, y, z].into_iter().for_each(|column| column[count..].fill(3.0e4));
        q[count..].fill(0.0);
        let eps = ldexp(self.eps, -units.length);
        let is_soft = eps * eps >= LEAST_SQUARE as f64;
        to.guarded = if is_soft { 0..0 } else { 0..lines };
        to.mutual = lines..lines;
        is_soft
    }
}

/// A power of two.
#[derive(Clone, Copy)]
struct Power {
    exponent: i32,
    /// Itself, where f64 has it.
    factor: f64,
}

impl Power {
    fn of(exponent: i32) -> Power {
        Power { exponent, factor: ldexp(1.0, exponent) }
    }

    fn times(self, x: f64) -> f64 {
        if self.factor.is_normal() { x * self.factor } else { ldexp(x, self.exponent) }
    }
}

fastest! {
    /// The largest magnitude of some numbers, or what `most` is if that is larger.
    fn greatest(numbers: &[f64], most: &mut f64) = greatest_in
}

#[inline(always)]
fn greatest_in<const FMA: bool>(numbers: &[f64], most: &mut f64) {
    let mut lanes = [0f64; 16];
    let (whole, rest) = numbers.as_chunks::<16>();
    for sixteen in whole {
        for (lane, x) in lanes.iter_mut().zip(sixteen) {
            *lane = if x.abs() > *lane { x.abs() } else { *lane };
        }
    }
    *most = lanes.iter().chain(rest).fold(*most, |most, x| if x.abs() > most { x.abs() } else { most });
}

/// Numbers of whole points in vectors of any length.
const POINTS: usize = 24;

vectorised! {
    /// The largest distance from the origin along an axis, or what `most` is if that is larger. Numbers are the coordinates of points one
    /// after the other, in whole [`POINTS`]; the origin is repeated to as many.
    fn farthest<T>(numbers: &[T], about: &[T; POINTS], most: &mut T) = farthest_in
}

#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "a closure would not have the instructions of the vector")]
unsafe fn farthest_in<V: Vector>(numbers: &[V::Item], about: &[V::Item; POINTS], most: &mut V::Item) {
    // SAFETY: as for this function.
    unsafe {
        let zero = V::splat(V::Item::default());
        // Each lane of three vectors is of one axis.
        let (mut far, mut origin) = ([zero; 3], [zero; 3]);
        for a in 0..3 {
            origin[a] = V::load(&about[a * V::LANES..]);
        }
        for some in numbers.chunks_exact(3 * V::LANES) {
            for a in 0..3 {
                let d = V::load(&some[a * V::LANES..]).sub(origin[a]);
                // What is no number changes nothing.
                far[a] = zero.sub(d).max(d.max(far[a]));
            }
        }
        let mut lanes = [V::Item::default(); POINTS];
        far[0].max(far[1]).max(far[2]).store(&mut lanes);
        for lane in lanes {
            *most = if lane > *most { lane } else { *most };
        }
    }
}

/// The largest distance from the origin along an axis, or what `most` is if that is larger.
fn reach(positions: &[[f64; 3]], origin: [f64; 3], most: &mut f64) {
    let (whole, rest) = positions.split_at(positions.len() / (POINTS / 3) * (POINTS / 3));
    farthest::<f64>(Isa::best(), whole.as_flattened(), &std::array::from_fn(|k| origin[k % 3]), most);
    let rest = rest.iter().flat_map(|x| [0, 1, 2].map(|a| (x[a] - origin[a]).abs()));
    *most = rest.fold(*most, |most, far| if far > most { far } else { most });
}

fastest! {
    /// Positions as columns, about an origin and in a unit.
    fn split(positions: &[[f64; 3]], origin: [f64; 3], factor: f64, to: [&mut [f32]; 3]) = split_in
}

#[inline(always)]
fn split_in<const FMA: bool>(positions: &[[f64; 3]], origin: [f64; 3], factor: f64, [x, y, z]: [&mut [f32]; 3]) {
    let to = x.iter_mut().zip(y).zip(z);
    for (((x, y), z), from) in to.zip(positions) {
        *x = ((from[0] - origin[0]) * factor) as f32;
        *y = ((from[1] - origin[1]) * factor) as f32;
        *z = ((from[2] - origin[2]) * factor) as f32;
    }
}

fastest! {
    fn scaled(from: &[f64], factor: f64, to: &mut [f32]) = scaled_in
}

#[inline(always)]
fn scaled_in<const FMA: bool>(from: &[f64], factor: f64, to: &mut [f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = (from * factor) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_farthest_point_is_found_wherever_it_is() {
        for n in [1, 7, 8, 9, 40, 61] {
            for k in 0..3 * n {
                let mut positions = vec![[1.0, -2.0, 4.0]; n];
                positions[k / 3][k % 3] += if k % 2 == 0 { 3.0 } else { -3.0 };
                let mut most = 0.5;
                reach(&positions, [1.0, -2.0, 4.0], &mut most);
                assert_eq!(most, 3.0, "{k} of {n}");
                let mut most = 5.0;
                reach(&positions, [1.0, -2.0, 4.0], &mut most);
                assert_eq!(most, 5.0, "{k} of {n}");
            }
        }
    }
}
