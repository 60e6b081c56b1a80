//! P2P and M2L by kernels on a backend: encode, run, decode, and compute flagged targets again (RULES H4 to H8).

use crate::backend::{Backend, Job, Outcome, Run, Segment, Table, Words};
use crate::bind::{BindError, Feed, Feeds, M2l, P2p};
use crate::boxmap::{BoxMap, exponent, ldexp};
use crate::encode::encode;
use crate::expansion::{Basis, Expansion, degree};
use crate::fmm::{Compute, Fmm, FmmError, Options, Progress};
use crate::lists::{self, merged};
use crate::p2p_native::Near;
use crate::passes::Force;
use crate::tree::Tree;
use crate::wide::WideForce;
use crate::{close, m2l_native};
use hdl::{Flags, Format};
use pg2::graph::Graph;
use rayon::prelude::*;
use std::ops::Range;

/// Flags that make a result unusable.
const WRONG: Flags = Flags(Flags::OVERFLOW.0 | Flags::SATURATION.0 | Flags::WRAP.0);

/// Those that make a result of P2P unusable: with `underflow` the square of a distance may be lost.
const WRONG_P2P: Flags = Flags(WRONG.0 | Flags::UNDERFLOW.0);

/// What one stage did.
#[derive(Clone, Debug, Default)]
pub struct Work {
    pub streamed: u64,
    pub recomputed: u64,
    /// Pairs at different places that are too close for the arithmetic of P2P.
    pub close: u64,
    /// Particles that share their integer coordinates with one at another place.
    pub shared: u64,
    /// Sorted targets whose direct sums are not among the others, in the user's units.
    pub wide: Vec<(usize, WideForce)>,
    pub flags: Flags,
    pub cycles: Option<u64>,
    pub words: Words,
    pub pipelines: u32,
    pub has_gradient: bool,
}

impl Work {
    /// Pairs over cycles times pipelines.
    pub fn utilisation(&self) -> Option<f64> {
        let slots = self.cycles? as f64 * self.pipelines as f64;
        (slots > 0.0).then(|| self.streamed as f64 / slots)
    }

    fn add(&mut self, outcome: &Outcome) {
        self.streamed += outcome.pairs;
        self.pipelines = outcome.pipelines;
        self.flags |= outcome.flags.iter().fold(Flags::NONE, |a, f| a | *f);
        if let Some(cycles) = outcome.cycles {
            self.cycles = Some(self.cycles.unwrap_or(0) + cycles);
        }
        self.words.j += outcome.words.j;
        self.words.i += outcome.words.i;
        self.words.result += outcome.words.result;
    }
}

/// The kernels of an FMM, bound and with their parameters: all that can be wrong with them is found here.
#[derive(Clone, Debug)]
pub struct Bound {
    pub p2p: P2p,
    /// Absent where M2L is native or left out.
    pub m2l: Option<M2l>,
    /// Patterns of P2P's parameters.
    params: Vec<u64>,
    /// Whether the softening length is so long that what the pairs give is too small for a kernel's outputs.
    is_long: bool,
}

impl Bound {
    /// Binds the kernels; `None` where everything is native.
    pub fn of(compute: &Compute, options: &Options, map: &BoxMap) -> Result<Option<Bound>, FmmError> {
        let Compute::Kernels { p2p: graph, m2l, backend } = compute else { return Ok(None) };
        let (mut p2p, mut m2l) = bind(graph, *m2l, options)?;
        hold([&mut p2p.i, &mut p2p.j, &mut p2p.params], &**backend);
        m2l.iter_mut().for_each(|m2l| hold([&mut m2l.i, &mut m2l.j, &mut m2l.params], &**backend));
        let eps = map.length(options.eps);
        let params = p2p_params(graph, &p2p, eps)?;
        Ok(Some(Bound { is_long: p2p.coulomb && eps > LONGEST, p2p, m2l, params }))
    }
}

/// The longest softening length, in boxes, that kernels are used for.
const LONGEST: f64 = 1.0;

/// The shortest one, in boxes, that changes pairs which are not close.
const SHORTEST: f64 = 1.0 / (1u64 << 31) as f64;

/// Binds kernels for options, which are in their ranges.
pub fn bind(p2p: &Graph, m2l: Option<&Graph>, options: &Options) -> Result<(P2p, Option<M2l>), FmmError> {
    let of_p2p = P2p::bind(p2p, options.near_only)?;
    if options.eps > 0.0 && of_p2p.params.is_empty() {
        let text = format!(
            "{} has no parameter `eps2`, and so cannot be softened; leave --eps out or use the kernel `p2p`",
            p2p.name
        );
        return Err(BindError(text).into());
    }
    let of_m2l = match m2l.filter(|_| !options.near_only) {
        None => None,
        Some(_) if options.basis == Basis::Solid => {
            let text = "kernels compute the Cartesian expansion; solid harmonics are for the backend `cpu`";
            return Err(FmmError::Option(text.into()));
        }
        Some(graph) => {
            let expansion = Expansion::new(options.order, options.basis);
            Some(M2l::bind(graph, &expansion, lists::near2(options.theta))?)
        }
    };
    Ok((of_p2p, of_m2l))
}

/// P2P by `graph`: adds to `force`, in box units.
pub fn p2p(
    fmm: &Fmm,
    backend: &mut dyn Backend,
    graph: &Graph,
    bound: &Bound,
    force: &mut [Force],
    progress: &mut Progress,
) -> Result<Work, FmmError> {
    let (kernel, params) = (&bound.p2p, &bound.params);
    let (tree, lists) = (&fmm.tree, &fmm.lists);
    let record = |feeds: &Feeds| table(tree.len(), feeds, |k, feed, format| particle(fmm, k, feed, format)).0;
    let (targets, sources) = (record(&kernel.i), record(&kernel.j));
    let mut runs = Vec::with_capacity(tree.leaves.len());
    let mut segments = Vec::new();
    for leaf in &tree.leaves {
        let cell = &tree.cells[*leaf as usize];
        let start = segments.len();
        segments.extend(lists.p2p[*leaf as usize].iter().map(segment));
        runs.push(Run { first: cell.first as usize, count: cell.count as usize, segments: start..segments.len() });
    }
    let job = Job { graph, targets: &targets, sources: &sources, params, runs: &runs, segments: &segments };
    let n = tree.len();
    let outcome = backend.run(&job, &mut |done| progress("P2P", done, n))?;
    let close = close::find(tree);
    let mut work = Work { has_gradient: kernel.gradient.is_some(), close: close.pairs, ..Work::default() };
    work.add(&outcome);
    work.shared = shared(fmm);
    // A kernel that is not 1/r has no other arithmetic to be computed in.
    let is_wrong = |k: &usize| bound.is_long || outcome.flags[*k].intersects(WRONG_P2P);
    let mut again: Vec<usize> =
        if kernel.coulomb { (0..n).filter(is_wrong).chain(close.targets).collect() } else { Vec::new() };
    again.sort_unstable();
    again.dedup();
    let mut done = again.iter().peekable();
    for (k, force) in force.iter_mut().enumerate() {
        if done.next_if(|again| **again == k).is_some() {
            continue;
        }
        let value = |element: usize| {
            let output = &graph.outputs[element];
            graph.pins[output.pin].format.to_f64(outcome.results.record(k)[element])
        };
        force[0] += value(kernel.potential) / kernel.units.potential;
        if let Some(places) = kernel.gradient {
            (0..3).for_each(|a| force[a + 1] += value(places[a]) / kernel.units.gradient);
        }
    }
    let leaves = by_leaf(tree, &again);
    let mut add = |k: usize, f: Force| (0..4).for_each(|a| force[k][a] += f[a]);
    let again = Near::new(tree, lists, fmm.options.eps).some(&leaves, &mut add);
    (work.recomputed, work.wide) = (again.targets, again.wide);
    Ok(work)
}

/// Ascending targets as (leaf, targets in it).
fn by_leaf(tree: &Tree, targets: &[usize]) -> Vec<(usize, Vec<usize>)> {
    let leaf_of = |k: &usize| {
        let after = tree.leaves.partition_point(|leaf| tree.cells[*leaf as usize].first as usize <= *k);
        tree.leaves[after - 1] as usize
    };
    targets.chunk_by(|a, b| leaf_of(a) == leaf_of(b)).map(|part| (leaf_of(&part[0]), part.to_vec())).collect()
}

fn segment(range: &(u32, u32)) -> Segment {
    Segment { first: range.0 as usize, count: range.1 as usize }
}

fn p2p_params(graph: &Graph, kernel: &P2p, eps: f64) -> Result<Vec<u64>, BindError> {
    let wanted = (eps * kernel.length).powi(2);
    let one = |(_, format): &(Feed, Format)| {
        let (bits, fits) = encode(*format, wanted);
        // The CPU computes close pairs, and all where the length is longer than kernels are used for.
        let is_used = !kernel.coulomb || (SHORTEST..=LONGEST).contains(&eps);
        if eps == 0.0 || !is_used || (fits && (format.to_f64(bits) - wanted).abs() <= 0.01 * wanted) {
            return Ok(bits);
        }
        Err(BindError(format!(
            "`eps2` of {} is {format}, which does not hold the square of the softening length, {eps:.3e} boxes of the \
             particles; give its parameter another format, or take the backend `cpu`",
            graph.name
        )))
    };
    kernel.params.iter().map(one).collect()
}

/// Gives every element the format in which the backend's records hold it.
fn hold(feeds: [&mut Feeds; 3], backend: &dyn Backend) {
    feeds.into_iter().flatten().for_each(|(_, format)| *format = backend.held(*format));
}

/// A particle's element: integer coordinates X, or X * 2^-31, or the charge.
fn particle(fmm: &Fmm, k: usize, feed: Feed, format: Format) -> (u64, bool) {
    match feed {
        Feed::At(axis) => {
            let x = fmm.tree.grid[k][axis] as i64;
            let shift = format.frac().filter(|_| format.is_fixed()).map_or(0, |f| f - 31);
            (((x << shift) as u64) & format.mask(), true)
        }
        _ => encode(format, fmm.tree.charge[k]),
    }
}

/// A table of `n` records, and for each whether all its values were in range.
fn table(n: usize, feeds: &Feeds, value: impl Fn(usize, Feed, Format) -> (u64, bool) + Sync) -> (Table, Vec<bool>) {
    let mut bits = vec![0; n * feeds.len()];
    let mut fits = vec![true; n];
    if !feeds.is_empty() {
        bits.par_chunks_exact_mut(feeds.len()).zip(&mut fits).enumerate().for_each(|(k, (record, fits))| {
            for (element, (feed, format)) in record.iter_mut().zip(feeds) {
                let (bits, fit) = value(k, *feed, *format);
                *element = bits;
                *fits &= fit;
            }
        });
    }
    (Table { elements: feeds.len(), bits }, fits)
}

/// The number of particles that share their integer coordinates with one at another place (RULES H5).
fn shared(fmm: &Fmm) -> u64 {
    let mut shared = 0;
    let mut first = 0;
    for group in fmm.tree.grid.chunk_by(|a, b| a == b) {
        let mut members = first..first + group.len();
        if members.len() > 1 && members.any(|k| fmm.tree.position(k) != fmm.tree.position(first)) {
            shared += group.len() as u64;
        }
        first += group.len();
    }
    shared
}

/// M2L by `graph`, level by level: adds to `l` what the multipoles `m` give.
pub fn m2l(
    fmm: &Fmm,
    backend: &mut dyn Backend,
    graph: &Graph,
    kernel: &M2l,
    m: &[f64],
    l: &mut [f64],
    progress: &mut Progress,
) -> Result<Work, FmmError> {
    let mut work = Work::default();
    let all = fmm.tree.cells.len();
    for parents in &fmm.tree.levels {
        let level = Level::new(fmm, parents.clone());
        if !level.runs.is_empty() {
            level.run(fmm, backend, graph, kernel, m, l, &mut work, &mut |done| {
                progress("M2L", level.cells.start + done, all)
            })?;
        }
    }
    Ok(work)
}

/// The runs of one level: siblings against the children of their parent's near cells.
struct Level {
    /// Parents with runs, in the order of the runs.
    parents: Vec<usize>,
    /// All cells of the children's level; records count from its start.
    cells: Range<usize>,
    runs: Vec<Run>,
    segments: Vec<Segment>,
}

impl Level {
    fn new(fmm: &Fmm, parents: Range<usize>) -> Level {
        let tree = &fmm.tree;
        let end = parents.end;
        let split: Vec<usize> = parents.filter(|p| !fmm.lists.m2l[*p].is_empty()).collect();
        let next = tree.levels.iter().find(|l| l.start == end).cloned().unwrap_or(end..end);
        let mut level = Level { parents: split, cells: next, runs: Vec::new(), segments: Vec::new() };
        for p in &level.parents {
            let children = |c: usize| {
                let cell = &tree.cells[c];
                (cell.first_child - level.cells.start as u32, cell.children)
            };
            let start = level.segments.len();
            let ranges = merged(fmm.lists.m2l[*p].iter().map(|s| children(*s as usize)).collect());
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

    #[allow(clippy::too_many_arguments)]
    fn run(
        &self,
        fmm: &Fmm,
        backend: &mut dyn Backend,
        graph: &Graph,
        kernel: &M2l,
        m: &[f64],
        l: &mut [f64],
        work: &mut Work,
        progress: &mut dyn FnMut(usize),
    ) -> Result<(), FmmError> {
        let e = &fmm.expansion;
        let shift = self.shift(fmm, kernel, m);
        let value = |k: usize, feed: Feed, format: Format| {
            let cell = self.cells.start + k;
            match feed {
                Feed::At(axis) => (fmm.tree.cells[cell].at[axis] as u64 & format.mask(), true),
                Feed::M(n) => encode(format, m[cell * e.m + n]),
                Feed::Near2 => encode(format, fmm.near2 as f64),
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
                debug_assert_eq!(fmm.tree.cells[cell].parent as usize, *parent);
                let own = &mut l[cell * e.l..(cell + 1) * e.l];
                if !whole || outcome.flags[k].intersects(WRONG) {
                    work.recomputed += 1;
                    let exact = m2l_native::m2l_cell(&fmm.tree, &fmm.lists, e, fmm.near2, m, cell);
                    own.iter_mut().zip(exact).for_each(|(l, x)| *l += x);
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
    fn shift(&self, fmm: &Fmm, kernel: &M2l, m: &[f64]) -> i32 {
        let Some(format) = kernel.shift.filter(|f| f.is_int()) else { return 0 };
        let e = &fmm.expansion;
        let r = (fmm.near2 as f64).sqrt();
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
