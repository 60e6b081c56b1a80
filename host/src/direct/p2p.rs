//! P2P on the CPU, in f64 or f32: each leaf gathers its [`sources`] once and runs over them for every target ([`sums`]).
//!
//! Pairs closer than the arithmetic holds are left out of the sums and counted. A target that has such pairs is computed
//! again in wider arithmetic: from f32 in f64, from f64 in [`scales`].

mod sources;
mod sums;

use crate::arith::lanes::Real;
use crate::arith::vector::{Isa, Vectors};
use crate::arith::wide::WideForce;
use crate::data::Force;
use crate::direct::scales;
use crate::direct::summation::LEAST;
use crate::tree::Tree;
use crate::tree::charges::Charges;
use crate::tree::lists::Lists;
use rayon::prelude::*;
pub(crate) use sources::Frame;
use sources::Sources;
use sums::{Squares, Sums, leaf_sums};

/// Targets of one leaf worked on by one thread.
const CHUNK: usize = 1024;

/// The limits of a number format for P2P, in units of the [`Frame`].
pub(crate) struct Limits {
    /// Pairs closer than this are computed in wider arithmetic.
    pub distance: f64,
    /// So are all pairs where a charge is smaller (the largest is about 1), or where the softening length is greater.
    pub charge: f64,
    pub eps: f64,
}

impl Limits {
    pub fn of<T: Real>() -> Limits {
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
    targets: Vec<[T; 3]>,
    sums: Vec<Sums<T>>,
}

impl<'a> Near<'a> {
    pub fn new(tree: &'a Tree, lists: &'a Lists, charges: &'a Charges, eps: f64) -> Near<'a> {
        Near { tree, lists, charges, eps }
    }

    /// Adds the direct interactions to `out`, in box units; those in [`Again::wide`] are left to the caller.
    pub fn all<T: Vectors>(&self, out: &mut [Force]) -> Again {
        let one = |scratch: &mut (Scratch<T>, Scratch<f64>), (leaf, out): (usize, &mut [Force])| {
            let first = self.tree.cells[leaf].first_target as usize;
            let mut add = |k: usize, f: Force| (0..4).for_each(|a| out[k - first][a] += f[a]);
            let targets = self.tree.cells[leaf].targets();
            let (rest, pairs) = self.attempt::<T>(leaf, targets, &mut scratch.0, &mut add);
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
        let (rest, _) = self.attempt::<f64>(leaf, targets.iter().copied(), scratch, add);
        Again { targets: targets.len() as u64, ..self.wide(leaf, &rest) }
    }

    /// Sums in T. Gives the targets that T does not do for, and how many pairs were too close for it.
    fn attempt<T: Vectors>(
        &self,
        leaf: usize,
        targets: impl Iterator<Item = usize> + Clone,
        scratch: &mut Scratch<T>,
        add: &mut dyn FnMut(usize, Force),
    ) -> (Vec<usize>, u64) {
        let (tree, limits) = (self.tree, Limits::of::<T>());
        let frame = Frame::of::<T>(tree, leaf);
        let eps = tree.map.scaled(self.eps) / frame.unit;
        if eps > limits.eps || self.charges.least < limits.charge {
            return (targets.collect(), 0);
        }
        let Scratch { sources, targets: places, sums } = scratch;
        sources.gather(tree, self.charges, leaf, self.lists.direct(leaf), &frame);
        places.clear();
        places.extend(targets.clone().map(|k| frame.place::<T>(tree.targets(), k)));
        sources.guard(places, limits.distance);
        sums.resize(places.len(), Sums::default());
        let squares = Squares { eps: T::of(eps * eps), least: T::of(limits.distance * limits.distance) };
        let (isa, sources) = (Isa::best(), &*sources);
        // The targets of a crowded leaf are many enough for all threads.
        let chunks = places.par_chunks(CHUNK).zip(sums.par_chunks_mut(CHUNK));
        chunks.for_each(|(targets, sums)| leaf_sums::<T>(isa, sources, squares, targets, sums));
        let unit = tree.map.size / frame.unit;
        let scale = [unit, unit * unit, unit * unit, unit * unit];
        let (mut rest, mut pairs) = (Vec::new(), 0);
        for (k, sums) in targets.zip(sums) {
            let close = sums.close as u64;
            let own = tree.targets().twins[k] as u64;
            if close == own {
                add(k, std::array::from_fn(|a| sums.force[a].f64() * scale[a]));
            } else {
                pairs += close.saturating_sub(own);
                rest.push(k);
            }
        }
        (rest, pairs)
    }

    /// Sums at any scale.
    fn wide(&self, leaf: usize, targets: &[usize]) -> Again {
        let sums = scales::sums(self, leaf, self.lists.direct(leaf), targets);
        let charge = self.charges.exponent;
        let wide = sums.into_iter().map(|(k, sum)| (k, sum.map(|s| s.scaled(charge)))).collect();
        Again { targets: targets.len() as u64, pairs: 0, wide }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::random::{Charge, Distribution, generate};
    use crate::tree::lists::{self, ListOptions};

    #[test]
    fn every_pair_too_close_for_f32_is_found_across_leaves_too() {
        let mut p = generate(3000, Distribution::Uniform, Charge::Random, 4);
        for k in 0..300 {
            // Beside a face, an edge or a corner between cells, at many distances.
            let at = p.position(k);
            let d = 1e-2 * 0.9f64.powi((k / 3) as i32);
            p.push(std::array::from_fn(|a| if a <= k % 3 { 0.5 - d } else { at[a] }), 1.0);
            p.push(std::array::from_fn(|a| if a <= k % 3 { 0.5 + d } else { at[a] }), 1.0);
        }
        let tree = Tree::build(p.columns(), 20);
        let options = ListOptions { near2: 4, m2p_above: 20, p2l_above: 20 };
        let (lists, charges) = (lists::build(&tree, &options), Charges::new(&tree, &p.q[..]));
        let mut wanted = 0;
        for leaf in &tree.leaves {
            let cell = &tree.cells[*leaf as usize];
            let limit = Limits::of::<f32>().distance * cell.edge();
            let sources = || lists.u[*leaf as usize].iter().flat_map(|s| s.0 as usize..(s.0 + s.1) as usize);
            for i in cell.targets() {
                let d2 =
                    |j: usize| (0..3).map(|a| (tree.sources.unit[a][i] - tree.sources.unit[a][j]).powi(2)).sum::<f64>();
                wanted += sources().filter(|j| *j != i && d2(*j) < limit * limit).count();
            }
        }
        let again = Near::new(&tree, &lists, &charges, 0.0).all::<f32>(&mut vec![[0.0; 4]; tree.len()]);
        assert!(wanted > 300);
        assert_eq!(again.pairs as usize, wanted);
    }
}
