//! P2P on the CPU, in f64 or f32: each leaf gathers its [`sources`] once and runs over them for every target ([`sums`]).
//!
//! Pairs closer than the arithmetic holds are left out of the sums and counted. A target that has such pairs is computed
//! again in wider arithmetic: from f32 in f64, from f64 in [`scales`].

pub mod alone;
mod derivatives;
pub mod mutual;
mod pieces;
pub mod sources;
pub mod sums;
pub mod tasks;

use crate::arith::lanes::Real;
use crate::arith::vector::{Isa, Vectors};
use crate::arith::wide::WideValues;
use crate::data::{Force, Hessian};
use crate::direct::scales;
use crate::direct::summation::LEAST;
use crate::parallel::prelude::*;
use crate::tree::Tree;
use crate::tree::charges::Charges;
use crate::tree::lists::Lists;
use derivatives::{All, Carried, all_sums};
pub use sources::Frame;
use sources::{Acting, Sources};
use std::borrow::Cow;
use sums::{Squares, Sums, leaf_sums};

/// Targets of one leaf worked on by one thread.
const CHUNK: usize = 1024;

/// The limits of a number format for P2P, in units of the [`Frame`].
pub struct Limits {
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

/// The inputs of P2P besides the tree.
pub struct Near<'a> {
    pub tree: &'a Tree,
    pub lists: &'a Lists,
    /// One or several sets of charges; one alone if it has dipoles or if the Hessian is wanted.
    pub charges: Vec<&'a Charges>,
    /// Softening length in the user's units.
    pub eps: f64,
    /// Whether second derivatives are wanted too.
    pub hessian: bool,
}

/// Where the sums of one set of charges are added.
pub struct Out<'o> {
    pub force: &'o mut [Force],
    /// Empty where second derivatives are not wanted.
    pub hessian: &'o mut [Hessian],
}

impl Out<'_> {
    fn add(&mut self, place: usize, force: Force, hessian: Option<Hessian>) {
        (0..4).for_each(|a| self.force[place][a] += force[a]);
        if let (Some(sum), Some(hessian)) = (self.hessian.get_mut(place), hessian) {
            (0..6).for_each(|a| sum[a] += hessian[a]);
        }
    }
}

/// The work done in wider arithmetic for one set of charges.
#[derive(Clone, Debug, Default)]
pub struct Again {
    /// Targets that were computed again.
    pub targets: u64,
    /// Pairs that were too close, each counted once for each of its targets.
    pub pairs: u64,
    /// Sorted targets whose sums f64 does not hold, with these sums in the user's units.
    pub wide: Vec<(usize, WideValues)>,
}

impl Again {
    /// Takes in what another leaf had.
    fn join(&mut self, other: Again) {
        self.targets += other.targets;
        self.pairs += other.pairs;
        self.wide.extend(other.wide);
    }
}

/// Whether the charges are such that P2P and M2L can be computed in f32.
pub fn suit_f32(charges: &Charges) -> bool {
    charges.least >= Limits::of::<f32>().charge
}

/// Scratch memory for the sums of one leaf.
#[derive(Default)]
struct Scratch<T> {
    sources: Sources<T>,
    targets: Vec<[T; 3]>,
    /// Of each target those of all sets of charges.
    sums: Vec<Sums<T>>,
    all: Vec<All<T>>,
}

/// Some targets of a leaf and some sets of charges, the results of which belong together.
struct TargetGroup<'p> {
    leaf: usize,
    targets: &'p [usize],
    sets: &'p [usize],
}

/// How a leaf is summed in T.
struct Setting<'s, T> {
    frame: Frame,
    squares: Squares<T>,
    /// The frame's unit in boxes, inverted.
    unit: f64,
    /// Sets of charges that T holds, and those that it does not.
    held: Cow<'s, [usize]>,
    others: Vec<usize>,
}

/// The remainder for wider arithmetic: targets of the sets that were summed, and the sets that were not.
struct Rest<'s> {
    targets: Vec<usize>,
    summed: Cow<'s, [usize]>,
    others: Vec<usize>,
    /// Pairs that were too close.
    pairs: u64,
}

/// Takes a set of charges, a target and what is to be added there, in box units.
type Add<'f> = dyn FnMut(usize, usize, Force, Option<Hessian>) + 'f;

impl<'a> Near<'a> {
    /// For one set of charges and no Hessian.
    pub fn new(tree: &'a Tree, lists: &'a Lists, charges: &'a Charges, eps: f64) -> Near<'a> {
        Near { tree, lists, charges: vec![charges], eps, hessian: false }
    }

    /// Adds the direct interactions of each set of charges to its `out`, in box units; those in [`Again::wide`] are left to
    /// the caller.
    pub fn all<T: Vectors>(&self, out: Vec<Out>) -> Vec<Again> {
        self.all_at(is_f64::<T>(), out)
    }

    /// The same, every leaf alone.
    pub fn one_way<T: Vectors>(&self, out: Vec<Out>) -> Vec<Again> {
        self.one_way_at(is_f64::<T>(), out)
    }

    // Not generic: the sums are compiled here, once for each precision, and not again in each crate that wants them.

    fn all_at(&self, is_f64: bool, out: Vec<Out>) -> Vec<Again> {
        match is_f64 {
            true => self.all_in::<f64>(out),
            false => self.all_in::<f32>(out),
        }
    }

    fn one_way_at(&self, is_f64: bool, out: Vec<Out>) -> Vec<Again> {
        match is_f64 {
            true => self.one_way_in::<f64>(out),
            false => self.one_way_in::<f32>(out),
        }
    }

    fn all_in<T: Vectors>(&self, out: Vec<Out>) -> Vec<Again> {
        if self.lists.is_mutual && !self.is_general() {
            let pairs = tasks::pairs(self);
            if tasks::are_worth::<T>(&pairs) {
                return tasks::all::<T>(self, &pairs, out);
            }
        }
        self.one_way_in::<T>(out)
    }

    fn one_way_in<T: Vectors>(&self, out: Vec<Out>) -> Vec<Again> {
        let sets = self.all_sets();
        let one = |scratch: &mut (Scratch<T>, Scratch<f64>), (leaf, mut out): (usize, Vec<Out>)| {
            let cell = &self.tree.cells[leaf];
            let targets: Vec<usize> = cell.targets().collect();
            let first = cell.first_target as usize;
            let mut add = |set: usize, k: usize, f: Force, h: Option<Hessian>| out[set].add(k - first, f, h);
            let part = TargetGroup { leaf, targets: &targets, sets: &sets };
            let rest = self.attempt::<T>(&part, &mut scratch.0, &mut add);
            let mut all = vec![Again::default(); sets.len()];
            self.compute_rest::<T>(&rest, &part, &mut scratch.1, &mut add, &mut all);
            all
        };
        let parts: Vec<Vec<Again>> = by_leaf(self.tree, out).into_par_iter().map_init(Default::default, one).collect();
        joined(parts, sets.len())
    }

    /// Computes targets of some leaves in f64 and, where that does not do, in wide arithmetic, for one set of charges: (leaf,
    /// targets). `set` takes a target and what all its direct pairs give, in box units, with zeros for those in
    /// [`Again::wide`].
    pub fn some(&self, leaves: &[(usize, Vec<usize>)], set: &mut dyn FnMut(usize, Force)) -> Again {
        let one = |scratch: &mut Scratch<f64>, (leaf, targets): &(usize, Vec<usize>)| {
            let mut found = Vec::with_capacity(targets.len());
            let mut add = |_: usize, k: usize, f: Force, _: Option<Hessian>| found.push((k, f));
            let mut again = vec![Again { targets: targets.len() as u64, ..Again::default() }];
            self.again(&TargetGroup { leaf: *leaf, targets, sets: &[0] }, scratch, &mut add, &mut again);
            (again, found)
        };
        let parts: Vec<(Vec<Again>, Vec<_>)> = leaves.par_iter().map_init(Default::default, one).collect();
        let (again, found): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        found.into_iter().flatten().for_each(|(k, f)| set(k, f));
        joined(again, 1).pop().expect("there is one set")
    }

    fn all_sets(&self) -> Vec<usize> {
        (0..self.charges.len()).collect()
    }

    /// Computes what T does not do for.
    fn compute_rest<T: Vectors>(
        &self,
        rest: &Rest,
        part: &TargetGroup,
        scratch: &mut Scratch<f64>,
        add: &mut Add,
        all: &mut [Again],
    ) {
        for part in rest.parts(part) {
            part.sets.iter().for_each(|set| all[*set].targets += part.targets.len() as u64);
            match is_f64::<T>() {
                true => self.wide(&part, all),
                false => self.again(&part, scratch, add, all),
            }
        }
        rest.summed.iter().for_each(|set| all[*set].pairs += rest.pairs);
    }

    /// In f64 and, where that does not do, in wide arithmetic.
    fn again(&self, part: &TargetGroup, scratch: &mut Scratch<f64>, add: &mut Add, all: &mut [Again]) {
        let rest = self.attempt::<f64>(part, scratch, add);
        for rest in rest.parts(part) {
            self.wide(&rest, all);
        }
    }

    /// Whether sums need more than potential and gradient of charges.
    fn is_general(&self) -> bool {
        self.hessian || self.charges[0].dipoles.is_some()
    }

    fn setting<'s, T: Vectors>(&self, leaf: usize, sets: &'s [usize]) -> Setting<'s, T> {
        let (tree, limits) = (self.tree, Limits::of::<T>());
        let frame = match self.is_general() {
            true => Frame::plain::<T>(tree, leaf),
            false => Frame::of::<T>(tree, leaf),
        };
        let eps = tree.map.scaled(self.eps) / frame.unit;
        let is_held = |set: &usize| eps <= limits.eps && self.charges[*set].least >= limits.charge;
        let (held, others) = match sets.iter().all(is_held) {
            true => (Cow::Borrowed(sets), Vec::new()),
            false => {
                let (held, others) = sets.iter().partition(|set| is_held(set));
                (Cow::Owned(held), others)
            }
        };
        let squares = Squares { eps: T::of(eps * eps), least: T::of(limits.distance * limits.distance) };
        Setting { unit: tree.map.size / frame.unit, frame, squares, held, others }
    }

    /// Sums in T. Gives what T does not do for.
    fn attempt<'p, T: Vectors>(&self, part: &TargetGroup<'p>, scratch: &mut Scratch<T>, add: &mut Add) -> Rest<'p> {
        let setting = self.setting::<T>(part.leaf, part.sets);
        if setting.held.is_empty() {
            return Rest { targets: Vec::new(), summed: setting.held, others: setting.others, pairs: 0 };
        }
        let acting = Acting { direct: self.lists.direct(part.leaf), mutual: &[] };
        self.gather(part, &setting, &acting, scratch);
        let close = match self.is_general() {
            true => self.sum_all(part, setting.squares, setting.unit, scratch, add),
            false => self.sum(part, &setting, scratch, add),
        };
        let (targets, pairs) = self.too_close(part.targets.iter().copied().zip(close));
        Rest { targets, summed: setting.held, others: setting.others, pairs }
    }

    /// Of targets and how many sources were left out at each: those with other sources than coincident ones among these, and how many
    /// others there are.
    fn too_close(&self, close: impl Iterator<Item = (usize, u32)>) -> (Vec<usize>, u64) {
        let (mut targets, mut pairs) = (Vec::new(), 0);
        for (k, close) in close {
            let own = self.tree.targets().coincident[k];
            if close != own {
                pairs += close.saturating_sub(own) as u64;
                targets.push(k);
            }
        }
        (targets, pairs)
    }

    /// Takes sources and targets into the frame.
    fn gather<T: Vectors>(&self, part: &TargetGroup, setting: &Setting<T>, acting: &Acting, scratch: &mut Scratch<T>) {
        let (tree, Setting { frame, held, .. }) = (self.tree, setting);
        let Scratch { sources, targets, .. } = scratch;
        sources.gather(tree, self.charges[held[0]], part.leaf, acting, frame);
        let mut more: Vec<(&[f64], f64)> = Vec::new();
        more.extend(held[1..].iter().map(|set| (&self.charges[*set].scaled[..], 1.0)));
        more.extend(self.charges[held[0]].dipoles.iter().flatten().map(|column| (&column[..], setting.unit)));
        sources.gather_more(acting, &more);
        targets.clear();
        targets.extend(frame.places::<T>(tree.targets(), part.targets.iter().copied()));
        sources.guard(targets, Limits::of::<T>().distance);
    }

    /// Sums over what acts on the targets alone.
    fn leaf_sums<T: Vectors>(&self, setting: &Setting<T>, scratch: &mut Scratch<T>) {
        let Scratch { sources, targets, sums, .. } = scratch;
        let (isa, sources, sets) = (Isa::best(), &*sources, setting.held.len());
        sums.clear();
        sums.resize(targets.len() * sets, Sums::default());
        let charges = sources.charges();
        // The targets of a crowded leaf are many enough for all threads.
        let chunks = targets.par_chunks(CHUNK).zip(sums.par_chunks_mut(CHUNK * sets));
        chunks.for_each(|(targets, sums)| leaf_sums::<T>(isa, sources, &charges, setting.squares, targets, sums));
    }

    /// Potential and gradient of charges. Gives how many sources are too close to each target.
    fn sum<T: Vectors>(
        &self,
        part: &TargetGroup,
        setting: &Setting<T>,
        scratch: &mut Scratch<T>,
        add: &mut Add,
    ) -> Vec<u32> {
        self.leaf_sums(setting, scratch);
        let (sets, unit) = (setting.held.len(), setting.unit);
        let close: Vec<u32> = scratch.sums.chunks(sets).map(|sums| sums[0].close).collect();
        let scale = [unit, unit * unit, unit * unit, unit * unit];
        for ((k, sums), close) in part.targets.iter().zip(scratch.sums.chunks(sets)).zip(&close) {
            if *close == self.tree.targets().coincident[*k] {
                for (set, sum) in setting.held.iter().zip(sums) {
                    add(*set, *k, std::array::from_fn(|a| sum.force[a].f64() * scale[a]), None);
                }
            }
        }
        close
    }

    /// As [`Near::sum`] with dipoles and second derivatives, for one set.
    fn sum_all<T: Vectors>(
        &self,
        part: &TargetGroup,
        squares: Squares<T>,
        unit: f64,
        scratch: &mut Scratch<T>,
        add: &mut Add,
    ) -> Vec<u32> {
        let Scratch { sources, targets, all, .. } = scratch;
        let (isa, sources, coincident) = (Isa::best(), &*sources, &self.tree.targets().coincident);
        let carried = Carried {
            charges: &sources.columns[3],
            dipoles: match &sources.more[..] {
                [x, y, z] => Some([&x[..], y, z]),
                _ => None,
            },
            hessian: self.hessian,
        };
        all.clear();
        all.resize(targets.len(), All::default());
        let chunks = targets.par_chunks(CHUNK).zip(all.par_chunks_mut(CHUNK));
        chunks.for_each(|(targets, all)| all_sums::<T>(isa, sources, carried, squares, targets, all));
        for (k, sum) in part.targets.iter().zip(&*all).filter(|(k, sum)| sum.close == coincident[**k]) {
            let value = |a: usize, power: i32| sum.values[a].f64() * unit.powi(power);
            let force = [value(0, 1), value(1, 2), value(2, 2), value(3, 2)];
            add(part.sets[0], *k, force, self.hessian.then(|| std::array::from_fn(|a| value(a + 4, 3))));
        }
        all.iter().map(|sum| sum.close).collect()
    }

    /// Sums at any scale.
    fn wide(&self, part: &TargetGroup, all: &mut [Again]) {
        for set in part.sets {
            let charges = self.charges[*set];
            let sums = match self.is_general() {
                true => scales::all_sums(self, charges, self.lists.direct(part.leaf), part.targets),
                false => scales::sums(self, charges, part.leaf, self.lists.direct(part.leaf), part.targets),
            };
            let sums = sums.into_iter().map(|(k, sum)| (k, sum.map(|s| s.scaled(charges.exponent))));
            all[*set].wide.extend(sums);
        }
    }
}

impl Rest<'_> {
    /// The parts of a part that are to be computed again: the targets that are left of sets that were summed, and all of those that
    /// were not.
    fn parts<'p>(&'p self, part: &TargetGroup<'p>) -> impl Iterator<Item = TargetGroup<'p>> {
        let summed = TargetGroup { leaf: part.leaf, targets: &self.targets, sets: &self.summed };
        let others = TargetGroup { leaf: part.leaf, targets: part.targets, sets: &self.others };
        [summed, others].into_iter().filter(|part| !part.targets.is_empty() && !part.sets.is_empty())
    }
}

/// Pairs every leaf that has targets with the parts of all `out` that belong to these.
fn by_leaf<'o>(tree: &Tree, out: Vec<Out<'o>>) -> Vec<(usize, Vec<Out<'o>>)> {
    let mut parts: Vec<(usize, Vec<Out>)> = Vec::new();
    for (set, Out { force, hessian }) in out.into_iter().enumerate() {
        let forces = tree.by_leaf(force);
        if set == 0 {
            parts.extend(forces.iter().map(|(leaf, _)| (*leaf, Vec::new())));
        }
        for ((_, part), (_, force)) in parts.iter_mut().zip(forces) {
            part.push(Out { force, hessian: &mut [] });
        }
        if !hessian.is_empty() {
            for ((_, part), (_, hessian)) in parts.iter_mut().zip(tree.by_leaf(hessian)) {
                part[set].hessian = hessian;
            }
        }
    }
    parts
}

/// Of each set what all leaves had.
fn joined(parts: Vec<Vec<Again>>, sets: usize) -> Vec<Again> {
    let mut all = vec![Again::default(); sets];
    for part in parts {
        all.iter_mut().zip(part).for_each(|(all, again)| all.join(again));
    }
    all
}
