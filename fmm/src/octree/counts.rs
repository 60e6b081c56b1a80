//! Additions of a plan to the report of a run: interactions by the lists, and the numbers of its stages.

use super::Plan;
use super::executor::Work;
use super::stats::{Level, Pairs, Stats};
use crate::expansion::basis::Basis;
use crate::parallel::prelude::*;
use crate::tree::lists;
use std::ops::Range;

impl Plan {
    /// Counts the interactions by the lists, level by level, and the cell pairs that M2L streams.
    pub(super) fn count(&mut self) {
        let (tree, lists) = (&self.tree, &self.lists);
        let of_cell = |k: usize| {
            let cell = &tree.cells[k];
            let p2p = cell.targets as u64 * lists.direct(k).count() as u64;
            if self.options.near_only {
                return Pairs { p2p, ..Pairs::default() };
            }
            let p2l = lists.x[k].iter().map(|s| tree.acting()[*s as usize].count as u64).sum();
            Pairs { p2p, m2l: 0, m2p: cell.targets as u64 * lists.w[k].len() as u64, p2l }
        };
        let of_level = |cells: &Range<usize>| {
            let leaves = || tree.cells[cells.clone()].iter().filter(|cell| cell.is_leaf());
            Level {
                cells: cells.len() as u64,
                leaves: leaves().count() as u64,
                particles: leaves().map(|leaf| leaf.count as u64).sum(),
                pairs: cells.clone().into_par_iter().map(of_cell).reduce(Default::default, Pairs::plus),
            }
        };
        let mut levels: Vec<Level> = tree.levels.iter().map(of_level).collect();
        let mut streamed = 0;
        if !self.options.near_only {
            // Pairs of children are in the lists of their parents.
            for (parents, level) in tree.levels.iter().zip(levels.iter_mut().skip(1)) {
                let (m2l, with_near) = lists::m2l_pairs(tree, lists, parents.clone(), self.near2);
                level.pairs.m2l = m2l;
                streamed += with_near;
            }
        }
        self.pairs = levels.iter().map(|level| level.pairs).fold(Pairs::default(), Pairs::plus);
        (self.by_level, self.streamed_m2l) = (levels, streamed);
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
            by_level: self.by_level.clone(),
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
