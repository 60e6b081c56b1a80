//! P2P of a part of a larger problem, to the bits that the whole has: its own leaves, and those of other parts that act on them.

use super::super::mutual::is_large;
use super::super::{Again, Near, Out, is_f64};
use super::{Found, LEAST_PAIRS, Leaves, NONE, Results, TASKS, push, sums, tasks_of};
use crate::arith::vector::Vectors;
use crate::parallel::prelude::*;
use crate::tree::charges::Charges;
use std::ops::Range;

/// Tasks of a whole problem of which leaves one behind the other are added, as far as they have been cut.
#[derive(Clone, Copy, Debug)]
pub struct Cutter {
    most: u64,
    task: u32,
    sum: u64,
}

impl Cutter {
    /// For all pairs of the whole.
    pub fn new(pairs: u64) -> Cutter {
        Cutter { most: (pairs / TASKS).max(LEAST_PAIRS), task: 0, sum: 0 }
    }

    /// From what [`Cutter::state`] gave.
    pub fn resume(pairs: u64, [task, sum]: [u64; 2]) -> Cutter {
        Cutter { task: task as u32, sum, ..Cutter::new(pairs) }
    }

    pub fn state(&self) -> [u64; 2] {
        [self.task as u64, self.sum]
    }

    /// The task of the next leaf, which has so many pairs.
    pub fn next(&mut self, pairs: u64) -> u32 {
        let task = self.task;
        self.sum += pairs;
        if self.sum >= self.most {
            (self.task, self.sum) = (task + 1, 0);
        }
        task
    }
}

/// The data of the whole problem that a tree needs as a part of it. Leaves stand in the order of the tree's.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The task of each leaf.
    pub tasks: Vec<u32>,
    /// The part's own leaves.
    pub own: Range<usize>,
    /// For each leaf and set of charges whether sums can be divided by these, see [`large_charges`]. It is used for leaves of
    /// other parts.
    pub large: Vec<bool>,
}

/// The direct interactions of a part of a larger problem, to the bits that the whole has.
pub enum InPart {
    F32(Inner<f32>),
    F64(Inner<f64>),
}

/// The sums of the tasks that have no leaf of another part.
pub struct Inner<T>(Vec<Option<Found<T>>>);

// As in [`Near`], what is public names a precision and what sums is compiled here.
impl InPart {
    /// The tasks that have no leaf of another part, for which [`Section::large`] need not be known.
    pub fn inner<T: Vectors>(near: &Near, section: &Section) -> InPart {
        InPart::inner_at(is_f64::<T>(), near, section)
    }

    fn inner_at(is_f64: bool, near: &Near, section: &Section) -> InPart {
        match is_f64 {
            true => InPart::F64(Inner::new(near, section)),
            false => InPart::F32(Inner::new(near, section)),
        }
    }

    /// All others; adds the interactions to each `out`, which has space for the particles of other parts too.
    pub fn finish(self, near: &Near, section: &Section, out: Vec<Out>) -> Vec<Again> {
        match self {
            InPart::F32(inner) => inner.finish(near, section, out),
            InPart::F64(inner) => inner.finish(near, section, out),
        }
    }
}

impl<T: Vectors> Inner<T> {
    fn new(near: &Near, section: &Section) -> Inner<T> {
        let tasks = tasks_of(section);
        let is_inner = |task: &Range<usize>| section.own.start <= task.start && task.end <= section.own.end;
        let inner: Vec<Range<usize>> = tasks.iter().filter(|task| is_inner(task)).cloned().collect();
        let mut done = sums(&Leaves::new::<T>(near, Some(section)), inner).into_iter();
        Inner(tasks.iter().map(|task| if is_inner(task) { done.next() } else { None }).collect())
    }

    fn finish(self, near: &Near, section: &Section, out: Vec<Out>) -> Vec<Again> {
        let leaves = Leaves::new::<T>(near, Some(section));
        let tasks = tasks_of(section).into_iter().zip(&self.0).filter(|(_, found)| found.is_none());
        let mut rest = sums(&leaves, tasks.map(|(task, _)| task).collect()).into_iter();
        let found = self.0.into_iter().map(|found| found.or_else(|| rest.next()).expect("one is there for each"));
        let mut results = Results::new(&leaves, &tasks_of(section), out);
        results.take(found.collect());
        results.finish()
    }
}

/// For each of a part's own leaves and each set of charges whether sums can be divided by its charges and those that it acts on
/// behind it.
pub fn large_charges<T: Vectors>(near: &Near, section: &Section) -> Vec<bool> {
    large_charges_at(is_f64::<T>(), near, section)
}

fn large_charges_at(is_f64: bool, near: &Near, section: &Section) -> Vec<bool> {
    match is_f64 {
        true => large_charges_in::<f64>(near, section),
        false => large_charges_in::<f32>(near, section),
    }
}

fn large_charges_in<T: Vectors>(near: &Near, section: &Section) -> Vec<bool> {
    let leaves = Leaves::new::<T>(near, Some(section));
    let one = |place: usize| {
        let (mut alone, mut mutual) = (Vec::new(), Vec::new());
        leaves.split(place, &mut alone, &mut mutual);
        let own = leaves.cell(place);
        mutual.push((own.first, own.count));
        let are_large = |charges: &&Charges| {
            let of = |s: &(u32, u32)| charges.scaled[s.0 as usize..(s.0 + s.1) as usize].iter();
            mutual.iter().flat_map(of).all(|q| is_large::<T>(*q))
        };
        near.charges.iter().map(are_large).collect::<Vec<bool>>()
    };
    section.own.clone().into_par_iter().flat_map_iter(one).collect()
}

impl Leaves<'_> {
    /// For each leaf of another part the own ones on which it acts in both directions, ascending and merged.
    pub(super) fn given(&self, section: &Section) -> Vec<Vec<(u32, u32)>> {
        let mut given = vec![Vec::new(); self.kinds.len()];
        for place in section.own.clone().filter(|place| self.kinds[*place] != NONE) {
            let cell = self.cell(place);
            for (first, count) in self.near.lists.direct(self.near.tree.leaves[place] as usize).own {
                let mut other = self.of[*first as usize] as usize;
                while other < section.own.start && self.ends[other] <= first + count {
                    if self.kinds[other] == self.kinds[place] {
                        push(&mut given[other], 0, (cell.first, cell.count));
                    }
                    other += 1;
                }
            }
        }
        given
    }
}
