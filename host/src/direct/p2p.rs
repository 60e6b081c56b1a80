//! P2P on the CPU, in f64 or f32: each leaf gathers its sources once and runs over them for every target.
//!
//! Pairs closer than the arithmetic holds are left out of the sums and counted there, at no cost. A target that has such
//! pairs is computed again in wider arithmetic: from f32 in f64, from f64 in [`scales`].

use crate::arith::lanes::{Real, fastest, madd};
use crate::arith::scale::exponent;
use crate::arith::wide::WideForce;
use crate::data::Force;
use crate::direct::scales;
use crate::direct::summation::LEAST;
use crate::tree::lists::Lists;
use crate::tree::{MAX_LEVEL, Tree};
use rayon::prelude::*;

/// Sources worked on together.
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
    close: T,
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
pub fn charges_suit_f32(tree: &Tree) -> bool {
    tree.least_charge >= Limits::of::<f32>().charge
}

/// Room for the sums of one leaf.
#[derive(Default)]
struct Scratch<T> {
    sources: Sources<T>,
    targets: Vec<([T; 3], Sums<T>)>,
}

impl<'a> Near<'a> {
    pub fn new(tree: &'a Tree, lists: &'a Lists, eps: f64) -> Near<'a> {
        Near { tree, lists, eps, twins: tree.twins() }
    }

    /// Adds the direct interactions to `out`, in box units; those in [`Again::wide`] are left to the caller.
    pub fn all<T: Real>(&self, out: &mut [Force]) -> Again {
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
    fn attempt<T: Real>(
        &self,
        leaf: usize,
        targets: &[usize],
        scratch: &mut Scratch<T>,
        add: &mut dyn FnMut(usize, Force),
    ) -> (Vec<usize>, u64) {
        let (tree, limits) = (self.tree, Limits::of::<T>());
        let frame = Frame::of::<T>(tree, leaf);
        let eps = tree.map.scaled(self.eps) / frame.unit;
        if eps > limits.eps || tree.least_charge < limits.charge {
            return (targets.to_vec(), 0);
        }
        gather(tree, &self.lists.u[leaf], &frame, &mut scratch.sources);
        scratch.targets.clear();
        scratch.targets.extend(targets.iter().map(|k| (frame.place::<T>(tree, *k), Sums::<T>::default())));
        let square = |x: f64| T::of(x * x);
        // The targets of a crowded leaf are many enough for all threads.
        scratch.targets.par_chunks_mut(CHUNK).for_each(|targets| {
            leaf_sums::<T>(&scratch.sources, square(eps), square(limits.distance), targets);
        });
        let unit = tree.map.size / frame.unit;
        let scale = [unit, unit * unit, unit * unit, unit * unit];
        let (mut rest, mut pairs) = (Vec::new(), 0);
        for (k, (_, sums)) in targets.iter().zip(&scratch.targets) {
            let close = sums.close.f64() as u64;
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
        let sums = scales::sums(self.tree, leaf, &self.lists.u[leaf], targets, &self.twins, self.eps);
        let charge = self.tree.map.charge;
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

fn gather<T: Real>(tree: &Tree, segments: &[(u32, u32)], frame: &Frame, sources: &mut Sources<T>) {
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
        sources.q.extend(tree.charge[*first as usize..(first + count) as usize].iter().map(|q| T::of(*q)));
    }
    sources.q.resize(sources.x[0].len(), T::default());
}

fastest! {
    /// Sums over all sources but those closer than the root of `least`, and counts these.
    fn leaf_sums<T>(sources: &Sources<T>, eps2: T, least: T, targets: &mut [([T; 3], Sums<T>)]) = leaf_sums_body
}

#[inline(always)]
fn leaf_sums_body<T: Real, const FMA: bool>(
    sources: &Sources<T>,
    eps2: T,
    least: T,
    targets: &mut [([T; 3], Sums<T>)],
) {
    let [x, y, z] = &sources.x;
    let zero = T::default();
    for (at, sums) in targets {
        let mut total = [[zero; LANES]; 5];
        let chunks = x.as_chunks::<LANES>().0.iter().zip(y.as_chunks::<LANES>().0);
        let chunks = chunks.zip(z.as_chunks::<LANES>().0.iter().zip(sources.q.as_chunks::<LANES>().0));
        for ((x, y), (z, q)) in chunks {
            for i in 0..LANES {
                let (dx, dy, dz) = (x[i] - at[0], y[i] - at[1], z[i] - at[2]);
                let r2 = madd::<T, FMA>(dx, dx, madd::<T, FMA>(dy, dy, dz * dz));
                let is_far = r2 >= least;
                let inverse = T::ONE / (r2 + eps2).sqrt();
                let inverse = if is_far { inverse } else { zero };
                total[4][i] += if is_far { zero } else { T::ONE };
                let potential = q[i] * inverse;
                let slope = potential * (inverse * inverse);
                total[0][i] += potential;
                total[1][i] = madd::<T, FMA>(slope, dx, total[1][i]);
                total[2][i] = madd::<T, FMA>(slope, dy, total[2][i]);
                total[3][i] = madd::<T, FMA>(slope, dz, total[3][i]);
            }
        }
        let sum = |lanes: &[T; LANES]| lanes.iter().fold(zero, |a, x| a + *x);
        sums.force = [sum(&total[0]), sum(&total[1]), sum(&total[2]), sum(&total[3])];
        sums.close = sum(&total[4]);
    }
}
