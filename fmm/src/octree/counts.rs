//! Additions of a plan to the report of a run: interactions by the lists, and the numbers of its stages.

use super::Plan;
use super::executor::Work;
use super::stats::{Pairs, Stats};
use crate::expansion::basis::Basis;
use crate::parallel::prelude::*;
use crate::tree::lists;

impl Plan {
    /// Interactions by the lists, and cell pairs that M2L streams.
    pub(super) fn count(&self) -> (Pairs, u64) {
        let (tree, lists) = (&self.tree, &self.lists);
        let one = |k: usize| {
            let cell = &tree.cells[k];
            let p2p = cell.targets as u64 * lists.direct(k).count() as u64;
            if self.options.near_only {
                return Pairs { p2p, ..Pairs::default() };
            }
            let p2l = lists.x[k].iter().map(|s| tree.acting()[*s as usize].count as u64).sum();
            Pairs { p2p, m2l: 0, m2p: cell.targets as u64 * lists.w[k].len() as u64, p2l }
        };
        let add = |a: Pairs, b: Pairs| Pairs { p2p: a.p2p + b.p2p, m2l: 0, m2p: a.m2p + b.m2p, p2l: a.p2l + b.p2l };
        let pairs = (0..tree.cells.len()).into_par_iter().map(one).reduce(Default::default, add);
        if self.options.near_only {
            return (pairs, 0);
        }
        let (m2l, streamed) = lists::m2l_pairs(tree, lists, self.near2);
        (Pairs { m2l, ..pairs }, streamed)
    }

    /// The report of a run, without its time; `backend` is who ran P2P, if it was not the CPU.
    pub(super) fn stats(&self, backend: Option<&str>, p2p: &Work, m2l: &Work) -> Stats {
        Stats {
            n: self.tree.len(),
            targets: self.tree.is_apart().then(|| self.tree.targets().len()),
            order: self.asked.order,
            lower_beyond: self.options.lower_beyond,
            theta: self.options.theta,
            leaf: self.options.leaf,
            enlarge: Some(self.options.enlarge).filter(|times| *times > 1.0),
            levels: self.tree.levels.len(),
            pairs: self.pairs,
            // Pairs of particles that are sources and targets were seen from both ends.
            close_pairs: if self.tree.is_apart() { p2p.close } else { p2p.close.div_ceil(2) },
            softened: (self.options.basis == Basis::Softened).then_some(self.options.order),
            left_out: p2p.left_out.and_then(|sums| {
                let cell = self.tree.map.edge() * 0.5f64.powi(self.tree.levels.len().max(1) as i32 - 1);
                sums.left_out(cell, p2p.has_gradient)
            }),
            ..Stats::of_work(backend, p2p, m2l)
        }
    }
}
