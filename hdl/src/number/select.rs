//! Selections: the least or greatest keys among a target's pairs, each with its payloads (RULES L14).
//!
//! A pair is a tuple of its key and its payloads. Tuples have one order: better keys come first, and among equal keys the lesser
//! payload, one after the other. A selection is the best tuples of all pairs in this order, so that neither the order of the pairs
//! nor the order in which partial results are combined matters. Places without a pair hold the identity, which no tuple follows.

use super::reduce::{Accumulator, Reduce, order_key};
use crate::{Flags, Format};
use std::cmp::Ordering;

/// The place of an output element in a selection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ranked {
    /// Number of the selection among a kernel's.
    pub selection: u32,
    /// 0 for the key, and from 1 on the payloads.
    pub member: u32,
    /// 0 for the best pair.
    pub rank: u32,
    /// Whether the greatest keys are kept, `max=`, or the least, `min=`.
    pub greatest: bool,
}

impl Ranked {
    /// The pattern of a place that no pair has taken: the worst key, and the greatest payload.
    pub fn identity(self, format: Format) -> u64 {
        if self.member == 0 && self.greatest { format.min_bits() } else { format.max_bits() }
    }
}

/// The outputs of one statement such as `(best, who) min= (key, payload);`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection {
    pub greatest: bool,
    /// Formats of the key and of each payload.
    pub members: Vec<Format>,
    /// The outputs of the best pair, key first, then those of the next one.
    pub ranks: Vec<Vec<usize>>,
}

/// Holder of the pattern of an output.
trait Holder {
    fn pattern(&self) -> u64;
    fn hold(&mut self, bits: u64);
}

impl Holder for u64 {
    fn pattern(&self) -> u64 {
        *self
    }

    fn hold(&mut self, bits: u64) {
        *self = bits;
    }
}

impl Holder for Accumulator {
    fn pattern(&self) -> u64 {
        self.selected()
    }

    fn hold(&mut self, bits: u64) {
        self.select(bits);
    }
}

impl Selection {
    /// The selections of a record of outputs, by their numbers. The error says what is missing.
    pub fn all(outputs: impl IntoIterator<Item = (Format, Reduce)>) -> Result<Vec<Selection>, String> {
        let mut ranked: Vec<(Ranked, usize, Format)> = Vec::new();
        for (k, (format, reduce)) in outputs.into_iter().enumerate() {
            if let Reduce::Ranked(place) = reduce {
                ranked.push((place, k, format));
            }
        }
        ranked.sort_by_key(|(place, ..)| (place.selection, place.rank, place.member));
        let mut all: Vec<Selection> = Vec::new();
        for of_one in ranked.chunk_by(|a, b| a.0.selection == b.0.selection) {
            let wrong = || format!("selection {} is not whole", of_one[0].0.selection);
            let members: Vec<Format> = of_one.iter().take_while(|o| o.0.rank == 0).map(|o| o.2).collect();
            let greatest = of_one[0].0.greatest;
            let whole = of_one[0].0.selection as usize == all.len()
                && !members.is_empty()
                && of_one.len() % members.len() == 0
                && of_one.iter().enumerate().all(|(n, (place, _, format))| {
                    let (rank, member) = (n / members.len(), n % members.len());
                    (place.rank as usize, place.member as usize) == (rank, member)
                        && place.greatest == greatest
                        && *format == members[member]
                });
            if !whole {
                return Err(wrong());
            }
            let ranks = of_one.chunks(members.len()).map(|rank| rank.iter().map(|o| o.1).collect()).collect();
            all.push(Selection { greatest, members, ranks });
        }
        Ok(all)
    }

    /// The tuple of a place that no pair has taken.
    pub fn identity(&self) -> Vec<u64> {
        let place = |member| Ranked { selection: 0, member, rank: 0, greatest: self.greatest };
        self.members.iter().zip(0..).map(|(format, member)| place(member).identity(*format)).collect()
    }

    /// The order of two tuples, the better one first.
    fn order(&self, a: impl Fn(usize) -> u64, b: impl Fn(usize) -> u64) -> Ordering {
        let of = |member: usize| {
            let [a, b] = [a(member), b(member)].map(|bits| order_key(self.members[member], bits));
            if member == 0 && self.greatest { b.cmp(&a) } else { a.cmp(&b) }
        };
        (0..self.members.len()).map(of).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// Takes a tuple into the outputs that hold the selection; the worst one leaves. Gives whether it was taken.
    fn take(&self, outputs: &mut [impl Holder], tuple: &[u64]) -> bool {
        let better = |outputs: &[_], rank: usize| {
            let of = |member: usize| Holder::pattern(&outputs[self.ranks[rank][member]]);
            self.order(|member| tuple[member], of).is_lt()
        };
        let mut at = self.ranks.len();
        while at > 0 && better(outputs, at - 1) {
            if at < self.ranks.len() {
                for (from, to) in self.ranks[at - 1].iter().zip(&self.ranks[at]) {
                    let bits = outputs[*from].pattern();
                    outputs[*to].hold(bits);
                }
            }
            at -= 1;
        }
        let taken = at < self.ranks.len();
        if taken {
            self.ranks[at].iter().zip(tuple).for_each(|(output, bits)| outputs[*output].hold(*bits));
        }
        taken
    }

    /// Takes the tuple of a pair into the accumulators of all outputs.
    pub fn add(&self, sums: &mut [Accumulator], tuple: &[u64]) {
        self.take(sums, tuple);
    }

    /// Whether a key may be taken: it is no worse than the worst one that is kept.
    pub fn may_take(&self, sums: &[Accumulator], key: u64) -> bool {
        let worst = self.ranks.last().map_or(0, |rank| sums[rank[0]].selected());
        let [key, worst] = [key, worst].map(|bits| order_key(self.members[0], bits));
        if self.greatest { key >= worst } else { key <= worst }
    }

    /// Takes the selection of another finished record of the same target.
    pub fn combine(&self, record: &mut [u64], other: &[u64]) {
        for rank in &self.ranks {
            let tuple: Vec<u64> = rank.iter().map(|output| other[*output]).collect();
            // What follows is no better.
            if !self.take(record, &tuple) {
                return;
            }
        }
    }
}

/// The reductions of a kernel's outputs: what a host needs to combine partial results.
#[derive(Clone, Debug)]
pub struct Record {
    outputs: Vec<(Format, Reduce)>,
    /// Those that the outputs make up.
    pub selections: Vec<Selection>,
}

impl Record {
    /// Of outputs that have been checked.
    pub fn new(outputs: impl IntoIterator<Item = (Format, Reduce)>) -> Record {
        let outputs: Vec<(Format, Reduce)> = outputs.into_iter().collect();
        let selections = Selection::all(outputs.iter().copied()).expect("the selections of a checked kernel are whole");
        Record { outputs, selections }
    }

    /// Output elements.
    pub fn elements(&self) -> usize {
        self.outputs.len()
    }

    pub fn selections(&self) -> &[Selection] {
        &self.selections
    }

    /// The results of a target without pairs.
    pub fn identities(&self) -> Vec<u64> {
        self.outputs.iter().map(|(format, reduce)| reduce.identity(*format)).collect()
    }

    /// The accumulators before the first pair.
    pub fn start(&self) -> Vec<Accumulator> {
        self.outputs.iter().map(|(format, reduce)| Accumulator::new(*reduce, *format)).collect()
    }

    /// Takes the outputs' values for one pair.
    pub fn add(&self, sums: &mut [Accumulator], values: impl Fn(usize) -> u64) {
        for (k, sum) in sums.iter_mut().enumerate().filter(|(_, sum)| !matches!(sum.reduce(), Reduce::Ranked(_))) {
            sum.add(values(k));
        }
        for selection in &self.selections {
            let tuple: Vec<u64> = selection.ranks[0].iter().map(|output| values(*output)).collect();
            selection.add(sums, &tuple);
        }
    }

    /// Combines a finished record with another one of the same target. The flag is `wrap` when a sum of two leaves its format.
    pub fn combine(&self, record: &mut [u64], other: &[u64]) -> Flags {
        let mut flags = Flags::NONE;
        for ((place, more), (format, reduce)) in record.iter_mut().zip(other).zip(&self.outputs) {
            let (bits, wrap) = match reduce {
                Reduce::Ranked(_) => continue,
                reduce => reduce.combine(*format, *place, *more),
            };
            *place = bits;
            flags |= wrap;
        }
        self.selections.iter().for_each(|selection| selection.combine(record, other));
        flags
    }
}
