//! The inner loop of P2P: a few targets at a time against all sources of their leaf.

use super::sources::{LANES, Line, Sources};
use crate::arith::lanes::Real;
use crate::arith::vector::{Isa, Vector, Vectors};
use std::ops::Range;

/// Sums at one target, and how many sources were left out because they were too close, the target itself included.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Sums<T> {
    pub force: [T; 4],
    pub close: u32,
}

/// What a pair is judged and softened by: squares of lengths in the frame's unit.
#[derive(Clone, Copy)]
pub(super) struct Squares<T> {
    pub eps: T,
    /// Pairs at a lesser distance are left out.
    pub least: T,
}

/// Sums at each of `targets` over all sources but those too close, and counts these.
pub(super) fn leaf_sums<T: Vectors>(
    isa: Isa,
    sources: &Sources<T>,
    squares: Squares<T>,
    targets: &[[T; 3]],
    sums: &mut [Sums<T>],
) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,fma")]
        fn avx512<T: Vectors>(s: &Sources<T>, squares: Squares<T>, targets: &[[T; 3]], sums: &mut [Sums<T>]) {
            // SAFETY: a caller has the instructions of the vector.
            unsafe { vector_sums::<T::Avx512>(s, squares, targets, sums) }
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2<T: Vectors>(s: &Sources<T>, squares: Squares<T>, targets: &[[T; 3]], sums: &mut [Sums<T>]) {
            // SAFETY: as above.
            unsafe { vector_sums::<T::Avx2>(s, squares, targets, sums) }
        }
        assert!(isa <= Isa::best(), "the machine has these instructions");
        match isa {
            // SAFETY: the machine has the instructions.
            Isa::Avx512 => return unsafe { avx512(sources, squares, targets, sums) },
            // SAFETY: as above.
            Isa::Avx2 => return unsafe { avx2(sources, squares, targets, sums) },
            Isa::Portable => {}
        }
    }
    // SAFETY: every machine has the instructions of the portable vector.
    unsafe { vector_sums::<T::Portable>(sources, squares, targets, sums) }
}

/// [`leaf_sums`] in one kind of vector.
///
/// # Safety
/// The machine must have its instructions.
#[inline(always)]
unsafe fn vector_sums<V: Vector>(
    sources: &Sources<V::Item>,
    squares: Squares<V::Item>,
    targets: &[[V::Item; 3]],
    sums: &mut [Sums<V::Item>],
) {
    // SAFETY: as for this function.
    unsafe {
        let done = if V::REGISTERS >= 32 { groups::<V, 4>(sources, squares, targets, sums) } else { 0 };
        let done = done + groups::<V, 2>(sources, squares, &targets[done..], &mut sums[done..]);
        groups::<V, 1>(sources, squares, &targets[done..], &mut sums[done..]);
    }
}

/// As [`vector_sums`] for as many targets as make whole groups of N. Gives how many these are.
#[inline(always)]
unsafe fn groups<V: Vector, const N: usize>(
    sources: &Sources<V::Item>,
    squares: Squares<V::Item>,
    targets: &[[V::Item; 3]],
    sums: &mut [Sums<V::Item>],
) -> usize {
    let groups = targets.as_chunks::<N>().0;
    for (at, sums) in groups.iter().zip(sums.as_chunks_mut::<N>().0) {
        // SAFETY: as for the caller.
        *sums = unsafe { sums_at::<V, N>(sources, squares, at) };
    }
    N * groups.len()
}

/// Sums at N targets, which share the loads of the sources.
#[inline(always)]
unsafe fn sums_at<V: Vector, const N: usize>(
    sources: &Sources<V::Item>,
    squares: Squares<V::Item>,
    at: &[[V::Item; 3]; N],
) -> [Sums<V::Item>; N] {
    let guarded = &sources.guarded;
    // SAFETY: as for the caller.
    unsafe {
        let mut group = Group::<V, N> {
            at: [[V::splat(V::Item::default()); 3]; N],
            total: [[V::splat(V::Item::default()); 4]; N],
            eps: V::splat(squares.eps),
        };
        for (splat, at) in group.at.iter_mut().zip(at) {
            *splat = [V::splat(at[0]), V::splat(at[1]), V::splat(at[2])];
        }
        let least = V::splat(squares.least);
        group.add::<false>(sources, 0..guarded.start, least);
        let close = group.add::<true>(sources, guarded.clone(), least);
        group.add::<false>(sources, guarded.end..sources.columns[0].len(), least);
        let scale = scales::<V>();
        std::array::from_fn(|k| {
            let total = &group.total[k];
            Sums { force: std::array::from_fn(|a| total[a].sum() * scale[a]), close: close[k] }
        })
    }
}

/// Targets and their sums, lane by lane.
struct Group<V, const N: usize> {
    at: [[V; 3]; N],
    total: [[V; 4]; N],
    eps: V,
}

impl<V: Vector, const N: usize> Group<V, N> {
    /// Adds lines. Where they are `GUARDED`, sources closer than the root of `least` are left out, and counted.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "the same place of three arrays")]
    unsafe fn add<const GUARDED: bool>(
        &mut self,
        sources: &Sources<V::Item>,
        lines: Range<usize>,
        least: V,
    ) -> [u32; N] {
        let mut close = [0; N];
        for lines in each(sources, lines) {
            for first in (0..LANES).step_by(V::LANES) {
                // SAFETY: as for the caller.
                unsafe {
                    let [x, y, z, q] = load::<V>(lines, first);
                    for k in 0..N {
                        let at = &self.at[k];
                        let d = [x.sub(at[0]), y.sub(at[1]), z.sub(at[2])];
                        let (inverse, near) = inverse_distance::<V, GUARDED>(d, self.eps, least);
                        close[k] += near;
                        add_pairs(&mut self.total[k], d, q, inverse);
                    }
                }
            }
        }
        close
    }
}

/// `V::ROOT` over the softened distances. Where they are `GUARDED` it is 0 for pairs closer than the root of `least`, and how many
/// these are is given.
#[inline(always)]
pub(super) unsafe fn inverse_distance<V: Vector, const GUARDED: bool>(d: [V; 3], eps: V, least: V) -> (V, u32) {
    // SAFETY: as for the caller.
    unsafe {
        if GUARDED {
            let r2 = d[0].mul_add(d[0], d[1].mul_add(d[1], d[2].mul(d[2])));
            r2.add(eps).inverse_root().where_from(r2, least)
        } else {
            (d[0].mul_add(d[0], d[1].mul_add(d[1], d[2].mul_add(d[2], eps))).inverse_root(), 0)
        }
    }
}

/// Adds one vector of pairs at distances `V::ROOT / inverse`.
#[inline(always)]
pub(super) unsafe fn add_pairs<V: Vector>(total: &mut [V; 4], d: [V; 3], q: V, inverse: V) {
    // SAFETY: as for the caller.
    unsafe {
        let potential = q.mul(inverse);
        let slope = potential.mul(inverse.mul(inverse));
        total[0] = total[0].add(potential);
        total[1] = slope.mul_add(d[0], total[1]);
        total[2] = slope.mul_add(d[1], total[2]);
        total[3] = slope.mul_add(d[2], total[3]);
    }
}

/// What sums in units of powers of [`Vector::ROOT`] are times. The rounding of `powi` is not specified: it differs from one place
/// of the program to another.
pub(super) fn scales<V: Vector>() -> [V::Item; 4] {
    let inverse = 1.0 / V::ROOT;
    let cubed = inverse * inverse * inverse;
    [inverse, cubed, cubed, cubed].map(V::Item::of)
}

/// Coordinates and charges in the lanes from `first` of a line.
#[inline(always)]
unsafe fn load<V: Vector>([x, y, z, q]: [&Line<V::Item>; 4], first: usize) -> [V; 4] {
    // SAFETY: as for the caller.
    unsafe { [V::load(&x.0[first..]), V::load(&y.0[first..]), V::load(&z.0[first..]), V::load(&q.0[first..])] }
}

/// The lines of coordinates and charges in a range.
#[inline(always)]
fn each<T>(sources: &Sources<T>, range: Range<usize>) -> impl Iterator<Item = [&Line<T>; 4]> {
    let [x, y, z, q] = &sources.columns;
    let places = x[range.clone()].iter().zip(&y[range.clone()]).zip(z[range.clone()].iter().zip(&q[range]));
    places.map(|((x, y), (z, q))| [x, y, z, q])
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::Random;

    /// Sums of targets by every set of instructions against plain f64; `last_place` is that of the format. The first two
    /// lines are guarded.
    fn check<T: Vectors>(last_place: f64) {
        let mut random = Random::new(1);
        let mut sources = Sources::<T> { guarded: 1..3, ..Sources::default() };
        for column in &mut sources.columns {
            (0..5).for_each(|_| column.push(Line(std::array::from_fn(|_| T::of(random.unit())))));
        }
        let value = |a: usize, k: usize| sources.columns[a][k / LANES].0[k % LANES];
        let squares = Squares { eps: T::of(0.01), least: T::of(1e-9) };
        let targets = [17, 30, 41].map(|k| [0, 1, 2].map(|a| value(a, k)));
        for isa in Isa::all() {
            for count in 1..=targets.len() {
                let mut sums = vec![Sums::default(); count];
                leaf_sums(isa, &sources, squares, &targets[..count], &mut sums);
                for (at, sums) in targets.iter().zip(sums) {
                    let mut wanted = [0.0; 4];
                    for k in 0..5 * LANES {
                        let d: [f64; 3] = std::array::from_fn(|a| value(a, k).f64() - at[a].f64());
                        let r2 = d.iter().map(|d| d * d).sum::<f64>();
                        if r2 > 0.0 {
                            let (q, inverse) = (value(3, k).f64(), 1.0 / (r2 + squares.eps.f64()).sqrt());
                            wanted[0] += q * inverse;
                            (0..3).for_each(|a| wanted[a + 1] += q * inverse.powi(3) * d[a]);
                        }
                    }
                    assert_eq!(sums.close, 1, "{isa:?}");
                    for (found, wanted) in sums.force.iter().zip(wanted) {
                        let error = (found.f64() - wanted).abs();
                        assert!(error < 8000.0 * last_place, "{isa:?}: {} {wanted}", found.f64());
                    }
                }
            }
        }
    }

    #[test]
    fn every_set_of_instructions_gives_the_sums_of_f32() {
        check::<f32>(f32::EPSILON as f64);
    }

    #[test]
    fn every_set_of_instructions_gives_the_sums_of_f64() {
        check::<f64>(f64::EPSILON);
    }
}
