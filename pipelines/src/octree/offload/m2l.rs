//! M2L by a kernel, a job a level; flagged cells are computed again on the CPU.

use super::{WRONG, segment, table};
use crate::encode::encode;
use crate::job::{Job, Outcome, Run, SourceRange, Table};
use crate::octree::bind::{Feed, M2l};
use fmm::arith::ranges;
use fmm::arith::scale::{exponent, ldexp};
use fmm::expansion::basis::degree;
use fmm::octree::Plan;
use fmm::octree::executor::{Coefficients, Expansions, State, Work};
use fmm::parallel::prelude::*;
use fmm::tree::{MAX_LEVEL, lists};
use hdl::Format;
use pg2::graph::Graph;
use std::ops::Range;

/// M2L of all levels that have any: their jobs, given the bounds of all parts of the problem. `alone` says that the engine streams a list
/// to one target at a time, so that siblings gain nothing from a common one.
pub fn prepare(kernel: &M2l, state: &State, bounds: &[f64], alone: bool) -> Vec<Prepared> {
    let (plan, m) = (state.plan, multipoles(state));
    let levels =
        plan.tree.levels.iter().zip(bounds).map(|(parents, bound)| (Level::new(plan, parents.clone()), *bound));
    let with_runs = levels.filter(|(level, _)| !level.shared.runs.is_empty());
    with_runs.map(|(level, bound)| level.prepare(plan, kernel, m, bound, alone)).collect()
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

/// The inputs that the levels have in common.
struct Common<'a> {
    plan: &'a Plan,
    kernel: &'a M2l,
    /// The multipoles of all cells.
    m: &'a [f64],
}

/// The job of one level.
pub struct Prepared {
    level: Level,
    /// The pairs that are streamed, where these are not those that siblings share.
    own: Option<Lists>,
    targets: Table,
    sources: Table,
    /// For each source whether its record holds all its values.
    fits: Vec<bool>,
    params: Vec<u64>,
    shift: i32,
}

impl Prepared {
    pub fn job<'a>(&'a self, graph: &'a Graph) -> Job<'a> {
        let Lists { runs, segments } = self.own.as_ref().unwrap_or(&self.level.shared);
        let Prepared { targets, sources, params, .. } = self;
        Job { graph, targets, sources, params, runs, segments }
    }

    /// Adds what the kernel gave.
    fn take(&self, common: &Common, outcome: &Outcome, l: &mut [f64], work: &mut Work) {
        let Common { plan, kernel, m } = *common;
        let e = &kernel.operators.taylor;
        let level = &self.level;
        outcome.add_to(work);
        for (run, parent) in level.shared.runs.iter().zip(&level.parents) {
            // Of all that siblings share, whatever was streamed: what is computed again does not depend on the engine.
            let segments = level.shared.of(run);
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

/// The lists of sources for each target.
#[derive(Default)]
struct Lists {
    runs: Vec<Run>,
    segments: Vec<SourceRange>,
}

impl Lists {
    fn of(&self, run: &Run) -> &[SourceRange] {
        &self.segments[run.segments.clone()]
    }

    /// Adds a run over some ranges of sources.
    fn push(&mut self, targets: Range<usize>, ranges: impl Iterator<Item = SourceRange>) {
        let start = self.segments.len();
        self.segments.extend(ranges);
        self.runs.push(Run { first: targets.start, count: targets.len(), segments: start..self.segments.len() });
    }
}

/// The cells of one level, as targets and sources.
struct Level {
    /// Parents whose children are targets, in the order of the runs.
    parents: Vec<usize>,
    /// All cells of the children's level; records count from its start.
    cells: Range<usize>,
    /// The images of cells of that level, whose records as sources follow.
    images: Range<usize>,
    /// Siblings against the children of their parent's near cells, of which the kernel masks those that are near a target.
    shared: Lists,
}

impl Level {
    fn new(plan: &Plan, parents: Range<usize>) -> Level {
        let tree = &plan.tree;
        let end = parents.end;
        let split: Vec<usize> = parents.filter(|p| !plan.lists.v[*p].is_empty()).collect();
        let next = tree.levels.iter().find(|l| l.start == end).cloned().unwrap_or(end..end);
        let images = tree.images_of_level(tree.cells.get(next.start).map_or(0, |cell| cell.level));
        let mut level = Level { parents: split, cells: next, images, shared: Lists::default() };
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
            let ranges = ranges::sorted(plan.lists.v[*p].iter().map(|s| children(*s)).collect());
            let (first, count) = children(*p as u32);
            level.shared.push(first as usize..(first + count) as usize, ranges.iter().map(segment));
        }
        level
    }

    /// Each target by itself, without the sources that are near it: those that the kernel would mask.
    fn own(&self, plan: &Plan) -> Lists {
        let at = |record: usize| plan.tree.acting()[self.source(record)].at;
        let of_target = |k: usize, run: &Run| {
            let target = at(k);
            let is_far = |s: &usize| {
                let source = at(*s);
                !lists::is_near([0, 1, 2].map(|a| source[a] as i64 - target[a] as i64), plan.near2)
            };
            let records = self.shared.of(run).iter().flat_map(|s| s.first..s.first + s.count).filter(is_far);
            ranges::sorted(records.map(|s| (s as u32, 1)).collect())
        };
        let of_family = |run: &Run| -> Vec<_> {
            (run.first..run.first + run.count).map(|k| (k, of_target(k, run))).filter(|own| !own.1.is_empty()).collect()
        };
        let families: Vec<_> = self.shared.runs.par_iter().map(of_family).collect();
        let mut own = Lists::default();
        families.iter().flatten().for_each(|(k, ranges)| own.push(*k..*k + 1, ranges.iter().map(segment)));
        own
    }

    /// The cell or image of a record.
    fn source(&self, record: usize) -> usize {
        if record < self.cells.len() {
            self.cells.start + record
        } else {
            self.images.start + record - self.cells.len()
        }
    }

    fn prepare(self, plan: &Plan, kernel: &M2l, m: &[f64], bound: f64, alone: bool) -> Prepared {
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
        let own = alone.then(|| self.own(plan));
        Prepared { own, targets, sources, fits, params, shift, level: self }
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
            self.shared.of(run).iter().flat_map(|s| &of_source[s.first..s.first + s.count]).sum()
        };
        self.shared.runs.par_iter().map(of_run).reduce(|| 0.0, f64::max)
    }
}

/// The format of the power of two by which a kernel scales its sums, if it does.
fn scaled_by(kernel: &M2l) -> Option<Format> {
    kernel.shift.filter(|f| f.is_int())
}

/// `lshift`: 61 - ceil(log2 of the largest possible |L'|) for an int64, so that the sum keeps two bits of headroom.
fn shift(kernel: &M2l, bound: f64) -> i32 {
    let Some(format) = scaled_by(kernel) else { return 0 };
    let room = kernel.format.width() as i32 - 3 - kernel.format.frac().unwrap_or(0) as i32;
    let shift = if bound == 0.0 { 0 } else { room - exponent(bound) };
    // With less than the best shift small values lose bits; with more than it sums may wrap, which is seen by the flag.
    let ends = [format.min_bits(), format.max_bits()].map(|b| format.to_int(b).clamp(-10_000, 10_000) as i32);
    shift.clamp(ends[0], ends[1])
}
