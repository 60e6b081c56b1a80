//! P2P by a kernel on a backend: one job of all finest boxes. Close pairs are replaced, and flagged targets computed again on the
//! CPU, as in three dimensions (RULES H5 to H7).

mod close;

use super::bind::P2p;
use crate::encode::encode;
use crate::job::{Backend, Job, Run, SourceRange};
use crate::octree::bind::{Feed, Feeds};
use crate::octree::offload::{Apart, Records, Replaced, WRONG_P2P, grid_pattern, hold, table, value};
use close::{Close, Grid};
use fmm::parallel::prelude::*;
use fmm::plane::native::{Near, far_beyond, near_ranges};
use fmm::plane::points::Block;
use fmm::plane::{Plan, State};
use fmm::stages::{Executor, FmmError, Progress, Stage, Work};
use fmm::tree::boxmap::BoxMap;
use pg2::graph::Graph;
use std::ops::Range;

/// Runs P2P on a backend.
pub struct Pipelines<'a> {
    backend: &'a mut dyn Backend,
    kernel: &'a Graph,
    /// Values for parameters of the kernel's own.
    given: &'a [(String, f64)],
    bound: Option<P2p>,
}

impl<'a> Pipelines<'a> {
    pub fn new(backend: &'a mut dyn Backend, kernel: &'a Graph, given: &'a [(String, f64)]) -> Pipelines<'a> {
        Pipelines { backend, kernel, given, bound: None }
    }

    /// Patterns of the kernel's parameters.
    fn params(&self, kernel: &P2p) -> Vec<u64> {
        let one = |(feed, format): &(Feed, hdl::Format)| match feed {
            Feed::Given(value) => encode(*format, *value).0,
            _ => 0,
        };
        kernel.params.iter().map(one).collect()
    }
}

impl Executor<Plan> for Pipelines<'_> {
    fn name(&self) -> &str {
        self.backend.name()
    }

    fn takes(&self, stage: Stage) -> bool {
        stage == Stage::P2p
    }

    fn is_device(&self) -> bool {
        self.backend.is_device()
    }

    fn bind(&mut self, plan: &Plan) -> Result<(), FmmError> {
        let mut kernel = P2p::bind(self.kernel, plan.options.kernel, self.given)?;
        hold([&mut kernel.i, &mut kernel.j, &mut kernel.params], &*self.backend);
        self.bound = Some(kernel);
        Ok(())
    }

    fn run(&mut self, _: Stage, state: &mut State, _: &[f64], progress: &mut Progress) -> Result<Work, FmmError> {
        let kernel = self.bound.as_ref().expect("it was bound");
        if !kernel.is_complex && !state.charges.im.is_empty() {
            return Err(FmmError::Option(format!(
                "`mj` of {} is a real number, but strengths are complex; give the kernel `mj[2]`, real and imaginary part",
                self.kernel.name
            )));
        }
        let params = self.params(kernel);
        let prepared = Prepared::new(kernel, state);
        let Prepared { records: Records { targets, sources }, runs, segments, .. } = &prepared;
        let job = Job { graph: self.kernel, targets, sources, params: &params, runs, segments };
        let n = state.plan.mesh.targets().len();
        let outcome = self.backend.run(&job, &mut |done| progress("P2P", done, n))?;
        let is_exact = self.backend.is_exact();
        let replaced =
            Replaced { graph: self.kernel, records: &prepared.records, params: &params, outcome: &outcome, is_exact };
        Ok(prepared.apply(kernel, &replaced, state))
    }
}

/// P2P of all finest boxes, before it is run.
struct Prepared {
    grid: Grid,
    close: Close,
    records: Records,
    /// Targets that are computed otherwise.
    again: Vec<bool>,
    runs: Vec<Run>,
    segments: Vec<SourceRange>,
}

impl Prepared {
    fn new(kernel: &P2p, state: &State) -> Prepared {
        let (plan, strengths) = (state.plan, state.charges);
        let grid = Grid::new(&plan.mesh);
        let close = Close::find(plan, strengths, &grid);
        let record = |points: &[Vec<i32>; 2], feeds: &Feeds| {
            let value = |k: usize, feed, format| match feed {
                Feed::At(axis) => (grid_pattern(format, points[axis][k] as i64, 0), true),
                Feed::Strength(0) => encode(format, strengths.re[k]),
                _ => encode(format, strengths.im.get(k).copied().unwrap_or(0.0)),
            };
            table(points[0].len(), feeds, value).0
        };
        let records = Records { targets: record(grid.targets(), &kernel.i), sources: record(&grid.sources, &kernel.j) };
        let mut again = vec![false; plan.mesh.targets().len()];
        close.targets.iter().filter(|t| t.1.is_none()).for_each(|t| again[t.0] = true);
        let (runs, segments) = runs(plan, &again);
        Prepared { grid, close, records, again, runs, segments }
    }

    /// Adds what the kernel gave to the sums.
    fn apply(&self, kernel: &P2p, replaced: &Replaced, state: &mut State) -> Work {
        let (plan, close, outcome) = (state.plan, &self.close, replaced.outcome);
        let mut work = Work { close: close.pairs, shared: close.shared, has_gradient: true, ..Work::default() };
        outcome.add_to(&mut work);
        let mut again = self.again.clone();
        again.iter_mut().zip(&outcome.flags).for_each(|(again, flags)| *again |= flags.intersects(WRONG_P2P));
        let apart = |(target, partners): &(usize, Option<Vec<usize>>)| {
            Some(Apart { target: *target, close: partners.clone()?, coincident: Vec::new() })
        };
        let few: Vec<Apart> = close.targets.iter().filter_map(apart).filter(|t| !again[t.target]).collect();
        let rest = replaced.rest(&few.iter().collect::<Vec<_>>());
        few.iter().zip(&rest).filter(|(_, rest)| rest.is_none()).for_each(|(apart, _)| again[apart.target] = true);
        let units = Units::new(kernel, plan, &self.grid.map);
        let has_close = |k: usize| few.binary_search_by_key(&k, |t| t.target).ok();
        let of_target = |k: usize| {
            let constant = close.strengths.get(k).copied().unwrap_or(0.0);
            match has_close(k) {
                None => units.sums(constant, |element| value(replaced.graph, outcome, k, element)),
                Some(at) => {
                    let rest = rest[at].as_ref().expect("others are computed again");
                    let mut sums = units.sums(constant, |element| rest[element]);
                    few[at].close.iter().for_each(|j| close::act(state, k, *j, &mut sums));
                    sums
                }
            }
        };
        let n = plan.mesh.targets().len();
        let mut sums: Vec<[f64; 3]> =
            (0..n).into_par_iter().map(|k| if again[k] { [0.0; 3] } else { of_target(k) }).collect();
        work.recomputed = compute(state, &again, &mut sums);
        for (c, column) in state.sums.columns_mut().enumerate() {
            column.iter_mut().zip(&sums).for_each(|(x, sums)| *x += sums[c]);
        }
        Work { wide: far_beyond(plan, state.charges), ..work }
    }
}

/// From the outputs of a kernel to the columns of [`super::Sums`].
struct Units<'a> {
    kernel: &'a P2p,
    /// Boxes in units of the frame.
    edge: f64,
    /// The logarithm of the kernel's unit of length in the user's.
    log: f64,
}

impl Units<'_> {
    fn new<'a>(kernel: &'a P2p, plan: &Plan, map: &BoxMap) -> Units<'a> {
        let edge = map.edge();
        Units { kernel, edge, log: edge.ln() + plan.mesh.frame.log_unit() - kernel.length.ln() }
    }

    /// `strengths` is the sum of those that acted by a logarithm.
    fn sums(&self, strengths: f64, element: impl Fn(usize) -> f64) -> [f64; 3] {
        let mut sums = [0.0; 3];
        for (k, (sum, output)) in sums.iter_mut().zip(&self.kernel.outputs).enumerate() {
            let value = element(output.place) / output.unit;
            *sum = if k < 2 { value / self.edge } else { value + strengths * self.log };
        }
        sums
    }
}

/// Computes the sums of some targets in f64; gives how many these are.
fn compute(state: &State, again: &[bool], sums: &mut [[f64; 3]]) -> u64 {
    let (plan, targets) = (state.plan, state.plan.mesh.targets());
    let near = Near::new(plan, state.charges);
    let of_box = |(block, ranges): &mut (Block, Vec<Range<usize>>), k: usize| {
        let some: Vec<usize> = targets.range(k).filter(|t| again[*t]).collect();
        near_ranges(plan, k, ranges);
        let column = |c: &[f64]| some.iter().map(|t| c[*t]).collect::<Vec<f64>>();
        near.at([&column(&targets.x), &column(&targets.y)], ranges, block);
        let at = |(place, t): (usize, usize)| (t, [0, 1, 2].map(|c| block.sums[c][place]));
        some.into_iter().enumerate().map(at).collect::<Vec<_>>()
    };
    let boxes = (0..plan.lists.near.len()).into_par_iter();
    let boxes = boxes.filter(|k| targets.range(*k).any(|t| again[t]));
    let found: Vec<Vec<(usize, [f64; 3])>> = boxes.collect_init(Default::default, of_box);
    found.iter().flatten().for_each(|(t, values)| sums[*t] = *values);
    found.iter().map(|some| some.len() as u64).sum()
}

/// One run a finest box, but for those all of whose targets are computed otherwise.
fn runs(plan: &Plan, otherwise: &[bool]) -> (Vec<Run>, Vec<SourceRange>) {
    let (mut runs, mut segments, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
    for k in 0..plan.lists.near.len() {
        let targets = plan.mesh.targets().range(k);
        if otherwise[targets.clone()].iter().all(|otherwise| *otherwise) {
            continue;
        }
        near_ranges(plan, k, &mut ranges);
        let start = segments.len();
        segments.extend(ranges.iter().map(|r| SourceRange { first: r.start, count: r.len() }));
        runs.push(Run { first: targets.start, count: targets.len(), segments: start..segments.len() });
    }
    (runs, segments)
}
