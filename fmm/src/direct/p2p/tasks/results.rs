//! The sums of all tasks, each with what those before it have for it.

use super::super::pieces::{Piece, add_pieces};
use super::super::{Again, Out, joined};
use super::{Found, Halo, Leaves, Own};
use crate::arith::vector::{Isa, Vectors};
use crate::parallel::prelude::*;
use std::ops::Range;

/// The sums of all tasks, which are brought together in their order.
pub(super) struct Results<'a, 'o, T> {
    leaves: &'a Leaves<'a>,
    /// The targets of each task, and what it gets from those before it.
    targets: Vec<Range<usize>>,
    foreign: Vec<Vec<Foreign>>,
    /// Where the results of the next tasks are added.
    parts: std::vec::IntoIter<Vec<Out<'o>>>,
    halos: Vec<Halo<T>>,
    again: Vec<Vec<Again>>,
}

impl<'a, 'o, T: Vectors> Results<'a, 'o, T> {
    pub fn new(leaves: &'a Leaves<'a>, tasks: &[Range<usize>], out: Vec<Out<'o>>) -> Self {
        let targets: Vec<Range<usize>> = tasks.iter().map(|task| leaves.targets(task)).collect();
        let lengths: Vec<usize> = targets.iter().map(Range::len).collect();
        let foreign = tasks.iter().map(|_| Vec::new()).collect();
        let parts = parts_of(out, &lengths).into_iter();
        Results { leaves, targets, foreign, parts, halos: Vec::new(), again: Vec::new() }
    }

    /// Adds the sums of the next tasks.
    pub fn take(&mut self, found: Vec<Found<T>>) {
        let (own, halos): (Vec<Own<T>>, Vec<Halo<T>>) = found.into_iter().unzip();
        let first = self.halos.len();
        for halo in halos {
            self.share(&halo);
            self.halos.push(halo);
        }
        let foreign: Vec<_> = self.foreign[first..self.halos.len()].iter_mut().map(std::mem::take).collect();
        let parts: Vec<Vec<Out>> = self.parts.by_ref().take(own.len()).collect();
        let (leaves, halos) = (self.leaves, &self.halos);
        let one = |room: &mut _, ((mut own, mut out), others): ((Own<T>, Vec<Out>), Vec<Foreign>)| {
            others.chunk_by(|a, b| a.task == b.task).for_each(|pieces| own.take(&halos[pieces[0].task], pieces));
            leaves.finish(&own, room, &mut out)
        };
        let all = own.into_par_iter().zip(parts).zip(foreign);
        all.map_init(Default::default, one).extend_into(&mut self.again);
    }

    /// Notes what the next task has for those behind it.
    fn share(&mut self, halo: &Halo<T>) {
        let task = self.halos.len();
        for ((first, count), start) in halo.segments.iter().zip(&halo.starts) {
            let (mut first, end, mut from) = (*first as usize, (first + count) as usize, *start);
            let mut to = self.targets.partition_point(|targets| targets.end <= first);
            while first < end {
                let targets = &self.targets[to];
                let count = end.min(targets.end) - first;
                self.foreign[to].push(Foreign { task, piece: Piece { from, count, to: first - targets.start } });
                (first, from, to) = (first + count, from + count, to + 1);
            }
        }
    }

    /// Returns the work done in wider arithmetic.
    pub fn finish(self) -> Vec<Again> {
        joined(self.again, self.leaves.near.charges.len())
    }
}

/// Cuts every `out` into stretches of some lengths.
fn parts_of<'o>(out: Vec<Out<'o>>, lengths: &[usize]) -> Vec<Vec<Out<'o>>> {
    let mut parts: Vec<Vec<Out>> = lengths.iter().map(|_| Vec::new()).collect();
    for Out { mut force, .. } in out {
        for (part, length) in parts.iter_mut().zip(lengths) {
            let (now, after) = force.split_at_mut(*length);
            part.push(Out { force: now, hessian: &mut [] });
            force = after;
        }
    }
    parts
}

/// A piece of sums that a task gets from an earlier one.
struct Foreign {
    task: usize,
    piece: Piece,
}

impl<T: Vectors> Own<T> {
    /// Adds what an earlier task has for this one.
    fn take(&mut self, halo: &Halo<T>, pieces: &[Foreign]) {
        let pieces: Vec<Piece> = pieces.iter().map(|foreign| foreign.piece).collect();
        let from: Vec<&[T]> = halo.columns.iter().map(|column| &column[..]).collect();
        add_pieces::<T>(Isa::best(), &from, [T::ONE; 4], &pieces, &mut self.columns);
        for (target, close) in halo.close.iter().filter(|c| self.targets.contains(&c.0)) {
            self.close[target - self.targets.start] += close;
        }
    }
}
