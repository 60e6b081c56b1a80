//! M2L by a kernel, level by level; flagged cells are computed again on the CPU.

use super::{WRONG, segment, table};
use crate::arith::encode::encode;
use crate::arith::ranges;
use crate::arith::scale::{exponent, ldexp};
use crate::expansion::basis::degree;
use crate::fmm::bind::{Feed, M2l};
use crate::fmm::executor::{Coefficients, Expansions, Progress, State, Work};
use crate::fmm::{FmmError, Plan};
use crate::job::{Backend, Job, Run, SourceRange};
use hdl::Format;
use pg2::graph::Graph;
use rayon::prelude::*;
use std::ops::Range;

/// M2L by `graph`, level by level: adds to the local expansions what the multipoles give.
pub fn m2l(
    backend: &mut dyn Backend,
    graph: &Graph,
    kernel: &M2l,
    state: &mut State,
    progress: &mut Progress,
) -> Result<Work, FmmError> {
    let plan = state.plan;
    let Expansions::F64(Coefficients { m, l }) = &mut state.expansions else {
        unreachable!("expansions are f64 where an executor takes M2L")
    };
    let common = Common { plan, graph, kernel, m };
    let mut work = Work::default();
    let all = plan.tree.cells.len();
    for parents in &plan.tree.levels {
        let level = Level::new(plan, parents.clone());
        if !level.runs.is_empty() {
            let done = &mut |done| progress("M2L", level.cells.start + done, all);
            level.run(&common, backend, l, &mut work, done)?;
        }
    }
    Ok(work)
}

/// What the levels have in common.
struct Common<'a> {
    plan: &'a Plan,
    graph: &'a Graph,
    kernel: &'a M2l,
    /// The multipoles of all cells.
    m: &'a [f64],
}

/// The runs of one level: siblings against the children of their parent's near cells.
struct Level {
    /// Parents with runs, in the order of the runs.
    parents: Vec<usize>,
    /// All cells of the children's level; records count from its start.
    cells: Range<usize>,
    runs: Vec<Run>,
    segments: Vec<SourceRange>,
}

impl Level {
    fn new(plan: &Plan, parents: Range<usize>) -> Level {
        let tree = &plan.tree;
        let end = parents.end;
        let split: Vec<usize> = parents.filter(|p| !plan.lists.v[*p].is_empty()).collect();
        let next = tree.levels.iter().find(|l| l.start == end).cloned().unwrap_or(end..end);
        let mut level = Level { parents: split, cells: next, runs: Vec::new(), segments: Vec::new() };
        for p in &level.parents {
            let children = |c: usize| {
                let cell = &tree.cells[c];
                (cell.first_child - level.cells.start as u32, cell.children)
            };
            let start = level.segments.len();
            let ranges = ranges::sorted(plan.lists.v[*p].iter().map(|s| children(*s as usize)).collect());
            level.segments.extend(ranges.iter().map(segment));
            let own = children(*p);
            level.runs.push(Run {
                first: own.0 as usize,
                count: own.1 as usize,
                segments: start..level.segments.len(),
            });
        }
        level
    }

    fn run(
        &self,
        common: &Common,
        backend: &mut dyn Backend,
        l: &mut [f64],
        work: &mut Work,
        progress: &mut dyn FnMut(usize),
    ) -> Result<(), FmmError> {
        let Common { plan, graph, kernel, m } = *common;
        let e = &kernel.operators.taylor;
        let shift = self.shift(plan, kernel, m);
        let value = |k: usize, feed: Feed, format: Format| {
            let cell = self.cells.start + k;
            match feed {
                Feed::At(axis) => (plan.tree.cells[cell].at[axis] as u64 & format.mask(), true),
                Feed::M(n) => encode(format, m[cell * e.m + n]),
                Feed::Near2 => encode(format, plan.near2 as f64),
                _ => encode(format, shift as f64),
            }
        };
        let (targets, _) = table(self.cells.len(), &kernel.i, value);
        let (sources, fits) = table(self.cells.len(), &kernel.j, value);
        let mut params = Vec::new();
        for (feed, format) in &kernel.params {
            params.push(value(0, *feed, *format).0);
        }
        let job = Job {
            graph,
            targets: &targets,
            sources: &sources,
            params: &params,
            runs: &self.runs,
            segments: &self.segments,
        };
        let outcome = backend.run(&job, progress)?;
        work.add(&outcome);
        for (run, parent) in self.runs.iter().zip(&self.parents) {
            let segments = &self.segments[run.segments.clone()];
            let whole = segments.iter().all(|s| fits[s.first..s.first + s.count].iter().all(|f| *f));
            for k in run.first..run.first + run.count {
                let cell = self.cells.start + k;
                debug_assert_eq!(plan.tree.cells[cell].parent as usize, *parent);
                let own = &mut l[cell * e.l..(cell + 1) * e.l];
                if !whole || outcome.flags[k].intersects(WRONG) {
                    work.recomputed += 1;
                    plan.far().m2l_cell(&kernel.operators, m, cell, own);
                    continue;
                }
                let record = outcome.results.record(k);
                for (l, place) in own.iter_mut().zip(&kernel.local) {
                    *l += ldexp(kernel.format.to_f64(record[*place]), -shift);
                }
            }
        }
        Ok(())
    }

    /// `lshift`: 61 - ceil(log2 of the largest possible |L'|) for an int64, so that the sum keeps two bits of room.
    ///
    /// Since |D_n(r)| <= |n|! / r^(|n|+1) (the symmetric form of 1/r's derivatives is largest along one axis, where it
    /// is |n|! P_|n|(cos) / r^(|n|+1)), a source gives at most the sum of |M'_n| g_|n| to any L', and the bound of a
    /// cell is the sum over its list.
    fn shift(&self, plan: &Plan, kernel: &M2l, m: &[f64]) -> i32 {
        let Some(format) = kernel.shift.filter(|f| f.is_int()) else { return 0 };
        let e = &kernel.operators.taylor;
        let r = (plan.near2 as f64).sqrt();
        let derivative = |n: usize| (1..=n).fold(1.0 / r, |a, k| a * k as f64 / r);
        let largest = |n: usize| (n..=e.order).map(derivative).fold(0.0, f64::max);
        let factors: Vec<f64> = e.indices[..e.m].iter().map(|n| largest(degree(*n))).collect();
        let of_source: Vec<f64> = m[self.cells.start * e.m..self.cells.end * e.m]
            .par_chunks_exact(e.m)
            .map(|m| m.iter().zip(&factors).map(|(m, g)| m.abs() * g).sum())
            .collect();
        let of_run = |run: &Run| -> f64 {
            let segments = &self.segments[run.segments.clone()];
            segments.iter().flat_map(|s| &of_source[s.first..s.first + s.count]).sum()
        };
        let bound = self.runs.par_iter().map(of_run).reduce(|| 0.0, f64::max);
        let room = kernel.format.width() as i32 - 3 - kernel.format.frac().unwrap_or(0) as i32;
        let shift = if bound == 0.0 { 0 } else { room - exponent(bound) };
        // With less than the best shift small values lose bits; with more than it sums may wrap, which is seen by the flag.
        let ends = [format.min_bits(), format.max_bits()].map(|b| format.to_int(b).clamp(-10_000, 10_000) as i32);
        shift.clamp(ends[0], ends[1])
    }
}
