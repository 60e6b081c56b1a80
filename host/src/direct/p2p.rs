//! P2P on the CPU, in f64 or f32: each leaf gathers its sources once and runs over them for every target.
//!
//! Pairs closer than the arithmetic holds are left out of the sums and counted there, at no cost. A target that has such
//! pairs is computed again in wider arithmetic: from f32 in f64, from f64 in [`scales`].

use crate::arith::lanes::Real;
use crate::arith::scale::exponent;
use crate::arith::vector::{Isa, Vector, Vectors};
use crate::arith::wide::WideForce;
use crate::data::Force;
use crate::direct::scales;
use crate::direct::summation::LEAST;
use crate::tree::charges::Charges;
use crate::tree::lists::Lists;
use crate::tree::{MAX_LEVEL, Tree};
use rayon::prelude::*;

/// A multiple of the lanes of every vector.
const LANES: usize = 16;

/// Targets of one leaf worked on by one thread.
const CHUNK: usize = 1024;

/// Sources gathered for one leaf, filled up with charges of 0 that lie far away.
#[derive(Default)]
struct Sources<T> {
    x: [Vec<T>; 3],
    q: Vec<T>,
}

/// Sums at one target, and how many sources were left out because they were too close, the target itself included.
#[derive(Clone, Copy, Default)]
struct Sums<T> {
    force: [T; 4],
    close: u32,
}

/// A target's coordinates in the [`Frame`], and its sums.
struct Target<T> {
    at: [T; 3],
    sums: Sums<T>,
}

/// The limits of a number format for P2P, in units of the [`Frame`].
struct Limits {
    /// Pairs closer than this are computed in wider arithmetic.
    distance: f64,
    /// So are all pairs where a charge is smaller (the largest is about 1), or where the softening length is greater.
    charge: f64,
    eps: f64,
}

impl Limits {
    fn of<T: Real>() -> Limits {
        match is_f64::<T>() {
            // Every power and product stays far inside the range of f64.
            true => Limits { distance: LEAST, charge: LEAST, eps: 1.0 / LEAST },
            // Coordinates in units of the leaf are rounded by up to 2^-25 or, in neighbours, 2^-24: at this distance, 2^-16
            // of the difference. The others keep products within the range of f32, with sources up to 2^20 units away.
            false => Limits { distance: 1.0 / 256.0, charge: 1e-18, eps: 1e7 },
        }
    }
}

fn is_f64<T: Real>() -> bool {
    size_of::<T>() == 8
}

/// What P2P needs besides the tree.
pub struct Near<'a> {
    pub tree: &'a Tree,
    pub lists: &'a Lists,
    pub charges: &'a Charges,
    /// Softening length in the user's units.
    pub eps: f64,
    /// For each sorted particle the number of particles at exactly its coordinates, itself included.
    pub twins: Vec<u32>,
}

/// What was computed in wider arithmetic.
#[derive(Clone, Debug, Default)]
pub struct Again {
    /// Targets that were computed again.
    pub targets: u64,
    /// Pairs that were too close, each counted once for each of its targets.
    pub pairs: u64,
    /// Sorted targets whose sums f64 does not hold, with these sums in the user's units.
    pub wide: Vec<(usize, WideForce)>,
}

impl Again {
    /// Takes in what another leaf had.
    fn join(mut self, other: Again) -> Again {
        self.targets += other.targets;
        self.pairs += other.pairs;
        self.wide.extend(other.wide);
        self
    }
}

/// Whether the charges are such that P2P and M2L can be computed in f32.
pub fn suit_f32(charges: &Charges) -> bool {
    charges.least >= Limits::of::<f32>().charge
}

/// Room for the sums of one leaf.
#[derive(Default)]
struct Scratch<T> {
    sources: Sources<T>,
    targets: Vec<Target<T>>,
}

impl<'a> Near<'a> {
    pub fn new(tree: &'a Tree, lists: &'a Lists, charges: &'a Charges, eps: f64) -> Near<'a> {
        Near { tree, lists, charges, eps, twins: tree.twins() }
    }

    /// Adds the direct interactions to `out`, in box units; those in [`Again::wide`] are left to the caller.
    pub fn all<T: Vectors>(&self, out: &mut [Force]) -> Again {
        let one = |scratch: &mut (Scratch<T>, Scratch<f64>), (leaf, out): (usize, &mut [Force])| {
            let first = self.tree.cells[leaf].first as usize;
            let mut add = |k: usize, f: Force| (0..4).for_each(|a| out[k - first][a] += f[a]);
            let targets: Vec<usize> = self.tree.cells[leaf].particles().collect();
            let (rest, pairs) = self.attempt::<T>(leaf, &targets, &mut scratch.0, &mut add);
            let mut again = match rest.is_empty() || is_f64::<T>() {
                true => self.wide(leaf, &rest),
                false => self.again(leaf, &rest, &mut scratch.1, &mut add),
            };
            again.pairs = pairs;
            again
        };
        let parts: Vec<Again> = self.tree.by_leaf(out).into_par_iter().map_init(Default::default, one).collect();
        parts.into_iter().fold(Again::default(), Again::join)
    }

    /// Computes targets of some leaves in f64 and, where that does not do, in wide arithmetic: (leaf, targets). `set` takes
    /// a target and what all its direct pairs give, in box units, with zeros for those in [`Again::wide`].
    pub fn some(&self, leaves: &[(usize, Vec<usize>)], set: &mut dyn FnMut(usize, Force)) -> Again {
        let one = |scratch: &mut Scratch<f64>, (leaf, targets): &(usize, Vec<usize>)| {
            let mut found = Vec::with_capacity(targets.len());
            let again = self.again(*leaf, targets, scratch, &mut |k, f| found.push((k, f)));
            (again, found)
        };
        let parts: Vec<(Again, Vec<(usize, Force)>)> = leaves.par_iter().map_init(Default::default, one).collect();
        let mut all = Again::default();
        for (again, found) in parts {
            found.into_iter().for_each(|(k, f)| set(k, f));
            all = all.join(again);
        }
        all
    }

    fn again(
        &self,
        leaf: usize,
        targets: &[usize],
        scratch: &mut Scratch<f64>,
        add: &mut dyn FnMut(usize, Force),
    ) -> Again {
        let (rest, _) = self.attempt::<f64>(leaf, targets, scratch, add);
        Again { targets: targets.len() as u64, ..self.wide(leaf, &rest) }
    }

    /// Sums in T. Gives the targets that T does not do for, and how many pairs were too close for it.
    fn attempt<T: Vectors>(
        &self,
        leaf: usize,
        targets: &[usize],
        scratch: &mut Scratch<T>,
        add: &mut dyn FnMut(usize, Force),
    ) -> (Vec<usize>, u64) {
        let (tree, limits) = (self.tree, Limits::of::<T>());
        let frame = Frame::of::<T>(tree, leaf);
        let eps = tree.map.scaled(self.eps) / frame.unit;
        if eps > limits.eps || self.charges.least < limits.charge {
            return (targets.to_vec(), 0);
        }
        gather(tree, self.charges, &self.lists.u[leaf], &frame, &mut scratch.sources);
        scratch.targets.clear();
        scratch.targets.extend(targets.iter().map(|k| Target { at: frame.place(tree, *k), sums: Sums::default() }));
        let square = |x: f64| T::of(x * x);
        // The targets of a crowded leaf are many enough for all threads.
        scratch.targets.par_chunks_mut(CHUNK).for_each(|targets| {
            leaf_sums::<T>(Isa::best(), &scratch.sources, square(eps), square(limits.distance), targets);
        });
        let unit = tree.map.size / frame.unit;
        let scale = [unit, unit * unit, unit * unit, unit * unit];
        let (mut rest, mut pairs) = (Vec::new(), 0);
        for (k, Target { sums, .. }) in targets.iter().zip(&scratch.targets) {
            let close = sums.close as u64;
            let own = self.twins[*k] as u64;
            if close == own {
                add(*k, std::array::from_fn(|a| sums.force[a].f64() * scale[a]));
            } else {
                pairs += close.saturating_sub(own);
                rest.push(*k);
            }
        }
        (rest, pairs)
    }

    /// Sums at any scale.
    fn wide(&self, leaf: usize, targets: &[usize]) -> Again {
        let sums = scales::sums(self, leaf, &self.lists.u[leaf], targets);
        let charge = self.charges.exponent;
        let wide = sums.into_iter().map(|(k, sum)| (k, sum.map(|s| s.scaled(charge)))).collect();
        Again { targets: targets.len() as u64, pairs: 0, wide }
    }
}

/// The origin and unit in which a leaf's sums are done. f64 takes scaled coordinates, whose differences are those of the
/// input, as they are or times a power of two; f32 counts from the leaf's centre in units of its edge.
struct Frame {
    origin: [f64; 3],
    /// Unit of length in scaled coordinates.
    unit: f64,
}

impl Frame {
    fn of<T: Real>(tree: &Tree, leaf: usize) -> Frame {
        if is_f64::<T>() {
            return Frame { origin: [0.0; 3], unit: crowd_unit(tree, leaf) };
        }
        let (cell, map) = (&tree.cells[leaf], &tree.map);
        let centre = cell.centre();
        Frame { origin: std::array::from_fn(|a| map.centre[a] + centre[a] * map.size), unit: cell.edge() * map.size }
    }

    fn place<T: Real>(&self, tree: &Tree, k: usize) -> [T; 3] {
        std::array::from_fn(|a| T::of((tree.scaled[a][k] - self.origin[a]) / self.unit))
    }
}

/// 1, or the extent of a leaf that is full only because a few far particles make its cells so large: a power of two.
fn crowd_unit(tree: &Tree, leaf: usize) -> f64 {
    let cell = &tree.cells[leaf];
    if cell.level < MAX_LEVEL {
        return 1.0;
    }
    let extent = |column: &Vec<f64>| {
        let own = || column[cell.particles()].iter().copied();
        own().fold(f64::MIN, f64::max) - own().fold(f64::MAX, f64::min)
    };
    let extent = tree.scaled.iter().map(extent).fold(0.0, f64::max);
    // Sources up to 2 / LEAST units away are not too far for the powers of a distance.
    if extent < 1e-30 { 2f64.powi(exponent(extent.max(LEAST))) } else { 1.0 }
}

fn gather<T: Real>(tree: &Tree, charges: &Charges, segments: &[(u32, u32)], frame: &Frame, sources: &mut Sources<T>) {
    // Beyond all sources, and not so far that the powers of its distance leave the format.
    let far = T::of(3.0e4);
    for a in 0..3 {
        let column = &mut sources.x[a];
        column.clear();
        let inverse = 1.0 / frame.unit;
        for (first, count) in segments {
            let part = &tree.scaled[a][*first as usize..(first + count) as usize];
            // f64 keeps the exact value; for f32 a product is as good as a quotient.
            match is_f64::<T>() {
                true => column.extend(part.iter().map(|x| T::of(x * inverse))),
                false => column.extend(part.iter().map(|x| T::of((x - frame.origin[a]) * inverse))),
            }
        }
        column.resize(column.len().next_multiple_of(LANES), far);
    }
    sources.q.clear();
    for (first, count) in segments {
        sources.q.extend(charges.scaled[*first as usize..(first + count) as usize].iter().map(|q| T::of(*q)));
    }
    sources.q.resize(sources.x[0].len(), T::default());
}

/// Sums over all sources but those closer than the root of `least`, and counts these.
fn leaf_sums<T: Vectors>(isa: Isa, sources: &Sources<T>, eps2: T, least: T, targets: &mut [Target<T>]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,fma")]
        fn avx512<T: Vectors>(sources: &Sources<T>, eps2: T, least: T, targets: &mut [Target<T>]) {
            // SAFETY: a caller has the instructions of the vector.
            unsafe { vector_sums::<T::Avx512>(sources, eps2, least, targets) }
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2<T: Vectors>(sources: &Sources<T>, eps2: T, least: T, targets: &mut [Target<T>]) {
            // SAFETY: as above.
            unsafe { vector_sums::<T::Avx2>(sources, eps2, least, targets) }
        }
        assert!(isa <= Isa::best(), "the machine has these instructions");
        match isa {
            // SAFETY: the machine has the instructions.
            Isa::Avx512 => return unsafe { avx512(sources, eps2, least, targets) },
            // SAFETY: as above.
            Isa::Avx2 => return unsafe { avx2(sources, eps2, least, targets) },
            Isa::Portable => {}
        }
    }
    // SAFETY: every machine has the instructions of the portable vector.
    unsafe { vector_sums::<T::Portable>(sources, eps2, least, targets) }
}

/// [`leaf_sums`] in one kind of vector.
///
/// # Safety
/// The machine must have its instructions.
#[inline(always)]
unsafe fn vector_sums<V: Vector>(
    sources: &Sources<V::Item>,
    eps2: V::Item,
    least: V::Item,
    targets: &mut [Target<V::Item>],
) {
    let [x, y, z] = &sources.x;
    // SAFETY: as for this function.
    unsafe {
        let (eps2, least) = (V::splat(eps2), V::splat(least));
        for target in targets {
            let at = target.at.map(|x| V::splat(x));
            let mut total = [V::splat(V::Item::default()); 4];
            let mut close = 0;
            let places = x.chunks_exact(V::LANES).zip(y.chunks_exact(V::LANES)).zip(z.chunks_exact(V::LANES));
            for (((x, y), z), q) in places.zip(sources.q.chunks_exact(V::LANES)) {
                let (dx, dy, dz) = (V::load(x).sub(at[0]), V::load(y).sub(at[1]), V::load(z).sub(at[2]));
                let r2 = dx.mul_add(dx, dy.mul_add(dy, dz.mul(dz)));
                let (inverse, near) = r2.inverse_root_from(least, eps2);
                close += near;
                let potential = V::load(q).mul(inverse);
                let slope = potential.mul(inverse.mul(inverse));
                total[0] = total[0].add(potential);
                total[1] = slope.mul_add(dx, total[1]);
                total[2] = slope.mul_add(dy, total[2]);
                total[3] = slope.mul_add(dz, total[3]);
            }
            target.sums = Sums { force: total.map(|t| t.sum()), close };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of one target by every set of instructions against plain f64; `last_place` is that of the format.
    fn check<T: Vectors>(last_place: f64) {
        let mut sources = Sources::<T>::default();
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            T::of((state >> 40) as f64 / (1u64 << 24) as f64)
        };
        for _ in 0..3 * LANES {
            sources.x.iter_mut().for_each(|x| x.push(random()));
            sources.q.push(random());
        }
        let at = std::array::from_fn(|a| sources.x[a][7]);
        let (eps2, least) = (T::of(0.01), T::of(1e-9));
        let mut wanted = [0.0; 4];
        for k in (0..sources.q.len()).filter(|k| *k != 7) {
            let d: [f64; 3] = std::array::from_fn(|a| sources.x[a][k].f64() - at[a].f64());
            let inverse = 1.0 / (d.iter().map(|d| d * d).sum::<f64>() + eps2.f64()).sqrt();
            wanted[0] += sources.q[k].f64() * inverse;
            (0..3).for_each(|a| wanted[a + 1] += sources.q[k].f64() * inverse.powi(3) * d[a]);
        }
        for isa in Isa::all() {
            let mut targets = [Target { at, sums: Sums::default() }];
            leaf_sums(isa, &sources, eps2, least, &mut targets);
            let sums = targets[0].sums;
            assert_eq!(sums.close, 1, "{isa:?}");
            for (found, wanted) in sums.force.iter().zip(wanted) {
                let error = (found.f64() - wanted).abs();
                assert!(error < 100.0 * last_place * sources.q.len() as f64, "{isa:?}: {} {wanted}", found.f64());
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
