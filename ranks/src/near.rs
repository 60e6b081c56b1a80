//! P2P in native code on a rank, to the bits of one rank: first what needs no word of other ranks.

use super::RankError;
use super::comm::{Comm, Tag};
use super::layout::leaves_in;
use super::prepare::{Prepared, Slice};
use fmm::arith::vector::Vectors;
use fmm::data::{Force, Hessian};
use fmm::direct::p2p::tasks::{InPart, Section, large_charges};
use fmm::direct::p2p::{Again, Near, Out};
use fmm::octree::Plan;
use fmm::octree::executor::Work;
use fmm::tree::charges::Charges;

/// The results of P2P at each target that is here, and its work, for a set of charges.
#[derive(Default)]
pub struct Direct {
    pub force: Vec<Force>,
    pub hessian: Vec<Hessian>,
    pub work: Work,
}

/// P2P of the own targets: first what needs no word of other ranks.
pub struct NearField<'a> {
    plan: &'a Plan,
    charges: &'a [Charges],
    /// The sets without dipoles and Hessians, which are summed together.
    plain: Vec<usize>,
    inner: Option<InPart>,
    done: Vec<Direct>,
}

impl<'a> NearField<'a> {
    /// For those `sets` of charges that no executor runs.
    pub fn inner<T: Vectors>(
        slice: &Slice,
        plan: &'a Plan,
        charges: &'a [Charges],
        sets: &[usize],
        section: Option<&'a Section>,
    ) -> NearField<'a> {
        let targets = plan.tree.targets().len();
        let room = |set: usize| Direct {
            force: vec![[0.0; 4]; if sets.contains(&set) { targets } else { 0 }],
            hessian: vec![[0.0; 6]; if slice.hessian { targets } else { 0 }],
            work: Work::default(),
        };
        let done = (0..charges.len()).map(room).collect();
        let is_plain = |set: &usize| is_plain(slice, &charges[*set]);
        let (plain, others): (Vec<usize>, Vec<usize>) = sets.iter().copied().partition(is_plain);
        let mut field = NearField { plan, charges, plain, inner: None, done };
        if section.is_some() && !field.plain.is_empty() {
            let plain = field.near(&field.plain, false);
            field.inner = section.map(|section| InPart::inner::<T>(&plain, section));
        } else if !field.plain.is_empty() {
            let sets = field.plain.clone();
            field.one_way::<T>(&sets, false);
        }
        others.into_iter().for_each(|set| field.one_way::<T>(&[set], slice.hessian));
        field
    }

    fn near(&self, sets: &[usize], hessian: bool) -> Near<'a> {
        let charges: &'a [Charges] = self.charges;
        let charges = sets.iter().map(|set| &charges[*set]).collect();
        Near { tree: &self.plan.tree, lists: &self.plan.lists, charges, eps: self.plan.options.eps, hessian }
    }

    fn out(&mut self, sets: &[usize]) -> Vec<Out<'_>> {
        let all = self.done.iter_mut().enumerate().filter(|(set, _)| sets.contains(set));
        all.map(|(_, Direct { force, hessian, .. })| Out { force, hessian }).collect()
    }

    fn one_way<T: Vectors>(&mut self, sets: &[usize], hessian: bool) {
        let near = self.near(sets, hessian);
        let again = near.one_way::<T>(self.out(sets));
        self.note(sets, again);
    }

    fn note(&mut self, sets: &[usize], again: Vec<Again>) {
        for (set, again) in sets.iter().zip(again) {
            self.done[*set].work = Work {
                streamed: self.plan.pairs.p2p,
                recomputed: again.targets,
                close: again.pairs,
                wide: again.wide,
                has_gradient: true,
                ..Work::default()
            };
        }
    }

    /// All that is left. Sets that an executor runs have nothing.
    pub fn finish(mut self, section: Option<&Section>) -> Vec<Direct> {
        if let (Some(inner), Some(section)) = (self.inner.take(), section) {
            let sets = self.plain.clone();
            let near = self.near(&sets, false);
            let again = inner.finish(&near, section, self.out(&sets));
            self.note(&sets, again);
        }
        self.done
    }
}

/// Whether a set goes through P2P in both directions where that is worth it.
pub fn is_plain(slice: &Slice, charges: &Charges) -> bool {
    charges.dipoles.is_none() && !slice.hessian
}

/// Tells the ranks that have copies of own leaves whether sums can be divided by what these act on.
pub fn exchange_large<T: Vectors>(
    comm: &dyn Comm,
    prepared: &Prepared,
    plan: &Plan,
    plain: &[&Charges],
    section: &mut Section,
) -> Result<(), RankError> {
    let sets = plain.len();
    let Prepared { essential, local, sides, .. } = prepared;
    section.large = vec![false; local.leaves.len() * sets];
    let is_needed = sides.exports.iter().any(|side| !side.copies.is_empty());
    if is_needed {
        let near = Near {
            tree: &plan.tree,
            lists: &plan.lists,
            charges: plain.to_vec(),
            eps: plan.options.eps,
            hessian: false,
        };
        let own = large_charges::<T>(&near, section);
        section.large[section.own.start * sets..section.own.end * sets].copy_from_slice(&own);
    }
    for side in sides.exports.iter().filter(|side| !side.copies.is_empty()) {
        let places = leaves_in(&side.copies, &local.leaves, essential);
        let of = |place: usize| section.large[place * sets..(place + 1) * sets].iter().map(|large| *large as u8);
        comm.send(side.rank, Tag::Large, places.into_iter().flat_map(of).collect())?;
    }
    Ok(())
}

/// Gets the same from others.
pub fn take_large(comm: &dyn Comm, prepared: &Prepared, sets: usize, section: &mut Section) -> Result<(), RankError> {
    let Prepared { essential, local, sides, .. } = prepared;
    for side in sides.imports.iter().filter(|side| !side.copies.is_empty()) {
        let bytes = comm.receive(side.rank, Tag::Large)?;
        for (place, large) in leaves_in(&side.copies, &local.leaves, essential).iter().zip(bytes.chunks(sets)) {
            large.iter().enumerate().for_each(|(set, large)| section.large[place * sets + set] = *large != 0);
        }
    }
    Ok(())
}
