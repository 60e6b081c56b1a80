//! M2L by a kernel, a job a level; flagged cells are computed again on the CPU.

use super::{WRONG, segment, table};
use crate::arith::encode::encode;
use crate::arith::ranges;
use crate::arith::scale::{exponent, ldexp};
use crate::expansion::basis::degree;
use crate::fmm::Plan;
use crate::fmm::bind::{Feed, M2l};
use crate::fmm::executor::{Coefficients, Expansions, State, Work};
use crate::job::{Job, Outcome, Run, SourceRange, Table};
use crate::tree::MAX_LEVEL;
use hdl::Format;
use pg2::graph::Graph;
use rayon::prelude::*;
use std::ops::Range;

/// M2L of all levels that have any: their jobs, given the bounds of all parts of the problem.
pub fn prepare(kernel: &M2l, state: &State, bounds: &[f64]) -> Vec<Prepared> {
    let (plan, m) = (state.plan, multipoles(state));
    let levels =
        plan.tree.levels.iter().zip(bounds).map(|(parents, bound)| (Level::new(plan, parents.clone()), *bound));
    let with_runs = levels.filter(|(level, _)| !level.runs.is_empty());
    with_runs.map(|(level, bound)| level.prepare(plan, kernel, m, bound)).collect()
}

/// For every level a tree can have a bound of |L'| of the children there, by which sums are scaled.
pub fn bounds(kernel: &M2l, state: &State) -> Vec<f64> {
    let (plan, m) = (state.plan, multipoles(state));
    let mut bounds = vec![0.0; MAX_LEVEL as usize + 1];
    for (bound, parents) in bounds.iter_mut().zip(&plan.tree.levels) {
        *bound = Level::new(plan, parents.clone()).bound(plan, kernel, m);
    }
    bounds
}

fn multipoles<'a>(state: &'a State) -> &'a [f64] {
    match &state.expansions {
        Expansions::F64(Coefficients { m, .. }) => m,
        Expansions::F32(_) => unreachable!("expansions are f64 where an executor takes M2L"),
    }
}

/// Adds to the local expansions what the multipoles gave, level by level.
pub fn apply(kernel: &M2l, prepared: &[Prepared], outcomes: &[Outcome], state: &mut State) -> Work {
    let plan = state.plan;
    let Expansions::F64(Coefficients { m, l }) = &mut state.expansions else {
        unreachable!("expansions are f64 where an executor takes M2L")
    };
    let mut work = Work::default();
    for (prepared, outcome) in prepared.iter().zip(outcomes) {
        prepared.take(&Common { plan, kernel, m }, outcome, l, &mut work);
    }
    work
}

/// What the levels have in common.
struct Common<'a> {
    plan: &'a Plan,
    kernel: &'a M2l,
    /// The multipoles of all cells.
    m: &'a [f64],
}

/// The job of one level.
pub struct Prepared {
    level: Level,
    targets: Table,
    sources: Table,
    /// For each source whether its record holds all its values.
    fits: Vec<bool>,
    params: Vec<u64>,
    shift: i32,
}

impl Prepared {
    pub fn job<'a>(&'a self, graph: &'a Graph) -> Job<'a> {
        Job {
            graph,
            targets: &self.targets,
            sources: &self.sources,
            params: &self.params,
            runs: &self.level.runs,
            segments: &self.level.segments,
        }
    }

    /// Adds what the kernel gave.
    fn take(&self, common: &Common, outcome: &Outcome, l: &mut [f64], work: &mut Work) {
        let Common { plan, kernel, m } = *common;
        let e = &kernel.operators.taylor;
        let level = &self.level;
        work.add(outcome);
        for (run, parent) in level.runs.iter().zip(&level.parents) {
            let segments = &level.segments[run.segments.clone()];
            let whole = segments.iter().all(|s| self.fits[s.first..s.first + s.count].iter().all(|f| *f));
            for k in run.first..run.first + run.count {
                let cell = level.cells.start + k;
                debug_assert_eq!(plan.tree.cells[cell].parent as usize, *parent);
                let own = &mut l[cell * e.l..(cell + 1) * e.l];
                if !whole || outcome.flags[k].intersects(WRONG) {
                    work.recomputed += plan.counts(cell) as u64;
                    plan.far().m2l_cell(&kernel.operators, m, cell, own);
                    continue;
                }
                let record = outcome.results.record(k);
                for (l, place) in own.iter_mut().zip(&kernel.local) {
                    *l += ldexp(kernel.format.to_f64(record[*place]), -self.shift);
                }
            }
        }
    }
}

/// The runs of one level: siblings against the children of their parent's near cells.
struct Level {
    /// Parents with runs, in the order of the runs.
    parents: Vec<usize>,
    /// All cells of the children's level; records count from its start.
    cells: Range<usize>,
    /// The images of cells of that level, whose records as sources follow.
    images: Range<usize>,
    runs: Vec<Run>,
    segments: Vec<SourceRange>,
}

impl Level {
    fn new(plan: &Plan, parents: Range<usize>) -> Level {
        let tree = &plan.tree;
        let end = parents.end;
        let split: Vec<usize> = parents.filter(|p| !plan.lists.v[*p].is_empty()).collect();
        let next = tree.levels.iter().find(|l| l.start == end).cloned().unwrap_or(end..end);
        let images = tree.images_of_level(tree.cells.get(next.start).map_or(0, |cell| cell.level));
        let mut level = Level { parents: split, cells: next, images, runs: Vec::new(), segments: Vec::new() };
        for p in &level.parents {
            // Records count from the level's first cell, and on from its first image.
            let children = |s: u32| {
                let first = tree.first_acting_child(s);
                let start = match (first as usize) < tree.cells.len() {
                    true => level.cells.start,
                    false => level.images.start - level.cells.len(),
                };
                (first - start as u32, tree.acting()[s as usize].children)
            };
            let start = level.segments.len();
            let ranges = ranges::sorted(plan.lists.v[*p].iter().map(|s| children(*s)).collect());
            level.segments.extend(ranges.iter().map(segment));
            let own = children(*p as u32);
            level.runs.push(Run {
                first: own.0 as usize,
                count: own.1 as usize,
                segments: start..level.segments.len(),
            });
        }
        level
    }

    /// The cell or image of a record.
    fn source(&self, record: usize) -> usize {
        if record < self.cells.len() {
            self.cells.start + record
        } else {
            self.images.start + record - self.cells.len()
        }
    }

    fn prepare(self, plan: &Plan, kernel: &M2l, m: &[f64], bound: f64) -> Prepared {
        let e = &kernel.operators.taylor;
        let shift = shift(kernel, bound);
        let value = |k: usize, feed: Feed, format: Format| {
            let source = self.source(k);
            match feed {
                Feed::At(axis) => (plan.tree.acting()[source].at[axis] as u64 & format.mask(), true),
                Feed::M(n) => encode(format, m[plan.tree.original(source as u32) * e.m + n]),
                Feed::Near2 => encode(format, plan.near2 as f64),
                _ => encode(format, shift as f64),
            }
        };
        let (targets, _) = table(self.cells.len(), &kernel.i, value);
        let (sources, fits) = table(self.cells.len() + self.images.len(), &kernel.j, value);
        let params = kernel.params.iter().map(|(feed, format)| value(0, *feed, *format).0).collect();
        Prepared { targets, sources, fits, params, shift, level: self }
    }

    /// A bound of |L'| of all children; 0 where the kernel does not scale by it.
    ///
    /// Since |D_n(r)| <= |n|! / r^(|n|+1) (the symmetric form of 1/r's derivatives is largest along one axis, where it
    /// is |n|! P_|n|(cos) / r^(|n|+1)), a source gives at most the sum of |M'_n| g_|n| to any L', and the bound of a
    /// cell is the sum over its list.
    fn bound(&self, plan: &Plan, kernel: &M2l, m: &[f64]) -> f64 {
        if scaled_by(kernel).is_none() {
            return 0.0;
        }
        let e = &kernel.operators.taylor;
        let r = (plan.near2 as f64).sqrt();
        let derivative = |n: usize| (1..=n).fold(1.0 / r, |a, k| a * k as f64 / r);
        let largest = |n: usize| (n..=e.order).map(derivative).fold(0.0, f64::max);
        let factors: Vec<f64> = e.indices[..e.m].iter().map(|n| largest(degree(*n))).collect();
        let of_record = |k: usize| -> f64 {
            let cell = plan.tree.original(self.source(k) as u32);
            m[cell * e.m..(cell + 1) * e.m].iter().zip(&factors).map(|(m, g)| m.abs() * g).sum()
        };
        let of_source: Vec<f64> = (0..self.cells.len() + self.images.len()).into_par_iter().map(of_record).collect();
        let of_run = |run: &Run| -> f64 {
            let segments = &self.segments[run.segments.clone()];
            segments.iter().flat_map(|s| &of_source[s.first..s.first + s.count]).sum()
        };
        self.runs.par_iter().map(of_run).reduce(|| 0.0, f64::max)
    }
}

/// The format of the power of two by which a kernel scales its sums, if it does.
fn scaled_by(kernel: &M2l) -> Option<Format> {
    kernel.shift.filter(|f| f.is_int())
}

/// `lshift`: 61 - ceil(log2 of the largest possible |L'|) for an int64, so that the sum keeps two bits of room.
fn shift(kernel: &M2l, bound: f64) -> i32 {
    let Some(format) = scaled_by(kernel) else { return 0 };
    let room = kernel.format.width() as i32 - 3 - kernel.format.frac().unwrap_or(0) as i32;
    let shift = if bound == 0.0 { 0 } else { room - exponent(bound) };
    // With less than the best shift small values lose bits; with more than it sums may wrap, which is seen by the flag.
    let ends = [format.min_bits(), format.max_bits()].map(|b| format.to_int(b).clamp(-10_000, 10_000) as i32);
    shift.clamp(ends[0], ends[1])
}
