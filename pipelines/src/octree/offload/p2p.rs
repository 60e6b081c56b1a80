//! P2P by a kernel: one job of all leaves. Close pairs are replaced; flagged targets are computed again on the CPU.

use super::at_zero::at_place_of;
use super::close::{Apart, ClosePairs, Replaced, coulomb};
use super::differences::{DifferenceKernel, Partner, Partners};
use super::images::{KernelBox, SourceRecords};
use super::left_out::left_out_of;
use super::recompute::{self, Recomputed};
use super::rounding::rounded;
use super::{Bound, Pipelines, WRONG, reference, table};
use crate::backends::{BackendOptions, cpu};
use crate::encode::encode;
use crate::job::{Job, Outcome, Run, SourceRange, Table};
use crate::octree::bind::{Feed, P2p};
use fmm::arith::scale::ldexp;
use fmm::data::Force;
use fmm::direct::p2p::Near;
use fmm::octree::executor::{Executor, Progress, State, Work};
use fmm::octree::kernel::KernelError;
use fmm::octree::{FmmError, Plan};
use fmm::parallel::prelude::*;
use fmm::tree::Tree;
use fmm::tree::boxmap::GRID_BITS;
use fmm::tree::charges::Charges;
use fmm::tree::sorted::Sorted;
use hdl::{Flags, Format};
use pg2::graph::Graph;

/// The flags that make a result of P2P unusable: with `underflow` the square of a distance may be lost.
pub const WRONG_P2P: Flags = Flags(WRONG.0 | Flags::UNDERFLOW.0);

/// The name of [`direct`] where progress is shown.
pub const DIRECT: &str = "direct sums";

/// Targets after which it shows its progress.
const SHOWN: usize = 512;

/// The records of all targets and sources, as they are sent.
pub struct Records {
    pub targets: Table,
    pub sources: Table,
}

/// P2P of all leaves, before it is run.
pub struct Prepared {
    records: Records,
    acting: SourceRecords,
    close: ClosePairs,
    /// Targets that are computed otherwise.
    again: Vec<bool>,
    runs: Vec<Run>,
    segments: Vec<SourceRange>,
}

impl Prepared {
    pub fn job<'a>(&'a self, graph: &'a Graph, bound: &'a Bound) -> Job<'a> {
        let Prepared { records: Records { targets, sources }, runs, segments, .. } = self;
        Job { graph, targets, sources, params: &bound.params, runs, segments }
    }
}

pub fn prepare(bound: &Bound, state: &State) -> Prepared {
    let (plan, charges, kernel) = (state.plan, state.charges, &bound.p2p);
    let tree = &plan.tree;
    let acting = SourceRecords::new(tree, &plan.lists);
    let of_target = |k: usize, feed, format| particle(tree.targets(), charges, bound.window, (k, [0; 3]), feed, format);
    let of_source =
        |k: usize, feed, format| particle(&tree.sources, charges, bound.window, acting.source(k), feed, format);
    let records = Records {
        targets: table(tree.targets().len(), &kernel.i, of_target).0,
        sources: table(acting.len(), &kernel.j, of_source).0,
    };
    let close = ClosePairs::find(tree, &acting, plan.options.periodic.as_ref(), bound.window);
    let mut again = vec![false; tree.targets().len()];
    again[tree.own_targets()].fill(bound.is_long);
    let crowded = close.targets.iter().filter(|(_, partners)| partners.is_none());
    crowded.for_each(|(k, _)| again[*k] = true);
    let (runs, segments) = runs(plan, &acting, &again);
    Prepared { records, acting, close, again, runs, segments }
}

/// Adds what `graph` gave to the forces, in box units. `is_exact` says that these are the bits that the language defines.
pub fn apply(
    (graph, bound): (&Graph, &Bound),
    prepared: Prepared,
    (outcome, is_exact): (&Outcome, bool),
    state: &mut State,
) -> Work {
    let (plan, charges, kernel) = (state.plan, state.charges, &bound.p2p);
    let Prepared { records, acting, close, mut again, .. } = prepared;
    let tree = &plan.tree;
    let own = tree.own_targets();
    let mut work = Work { has_gradient: kernel.gradient.is_some(), close: close.pairs, ..Work::default() };
    outcome.add_to(&mut work);
    work.shared = shared(plan);
    // Where a kernel falls fast, `underflow` says nothing.
    let wrong = if kernel.coulomb { WRONG_P2P } else { WRONG };
    again.iter_mut().zip(&outcome.flags).for_each(|(again, flags)| *again |= flags.intersects(wrong));
    let replaced = Replaced { graph, records: &records, params: &bound.params, outcome, is_exact };
    // A kernel in numbers leaves out coincident pairs itself.
    let is_in_numbers = std::ptr::eq(graph, bound.in_numbers());
    let is_taken_out = bound.without_coincident.is_some() && !is_in_numbers;
    let coincident = |k: usize| if is_taken_out { at_place_of(tree, k) } else { Vec::new() };
    let apart: Vec<Apart> = close.apart(own.clone().filter(|_| is_taken_out), &coincident);
    work.coincident = bound.coincident;
    let mut done: Vec<usize> = match kernel.coulomb {
        true => {
            replace(state, bound, (&apart, &acting), &replaced, &mut again);
            apart.iter().map(|apart| apart.target).chain(close.targets.iter().map(|t| t.0)).collect()
        }
        false => replace_by_meaning(state, bound, (&apart, &acting), &replaced, &again),
    };
    done.sort_unstable();
    // Where what the kernel gave for coincident pairs is not known, all pairs are computed again.
    apart
        .iter()
        .filter(|a| !a.coincident.is_empty())
        .for_each(|a| again[a.target] |= done.binary_search(&a.target).is_err());
    let is_replaced = |k: usize| done.binary_search(&k).is_ok();
    if !is_in_numbers {
        let is_kernels = |k: usize| !again[k] && !is_replaced(k);
        work.rounded = rounded((graph, bound), (&records, &acting), (outcome, is_exact), state, is_kernels);
    }
    for k in own.clone().filter(|k| !again[*k] && !is_replaced(*k)) {
        add(&mut state.sums.force[k], |a| bound.boxed(a, |element| value(graph, outcome, k, element)));
    }
    let again: Vec<usize> = own.filter(|k| again[*k]).collect();
    if !kernel.coulomb {
        work.left_out = plan.options.near_only.then(|| left_out_of(state, bound, &acting, &replaced));
        work.recomputed = again.len() as u64;
        add_by_meaning(state, bound, &acting, &replaced, &again);
        return work;
    }
    let near = Near::new(tree, &plan.lists, charges, plan.options.eps);
    let again = near.some(&tree.leaves_of(&again), &mut |k, f| add(&mut state.sums.force[k], |a| f[a]));
    (work.recomputed, work.wide) = (again.targets, again.wide);
    work
}

fn add(force: &mut Force, value: impl Fn(usize) -> f64) {
    force.iter_mut().enumerate().for_each(|(a, f)| *f += value(a));
}

/// One run a leaf, but for those all of whose targets are computed otherwise.
fn runs(plan: &Plan, acting: &SourceRecords, otherwise: &[bool]) -> (Vec<Run>, Vec<SourceRange>) {
    let Plan { tree, lists, .. } = plan;
    let mut runs = Vec::with_capacity(tree.leaves.len());
    let mut segments = Vec::new();
    for leaf in &tree.leaves {
        let cell = &tree.cells[*leaf as usize];
        if otherwise[cell.targets()].iter().all(|otherwise| *otherwise) {
            continue;
        }
        let start = segments.len();
        segments.extend(acting.segments(lists.direct(*leaf as usize)));
        runs.push(Run {
            first: cell.first_target as usize,
            count: cell.targets as usize,
            segments: start..segments.len(),
        });
    }
    (runs, segments)
}

/// Adds the forces of targets with close pairs that are not computed `again` as a whole: what the kernel gave for all others, and
/// these in f64. Where that cannot be had, they are to be computed again.
fn replace(
    state: &mut State,
    bound: &Bound,
    (apart, acting): (&[Apart], &SourceRecords),
    replaced: &Replaced,
    again: &mut [bool],
) {
    let eps = state.plan.tree.map.length(state.plan.options.eps);
    let few: Vec<&Apart> = apart.iter().filter(|apart| !again[apart.target]).collect();
    let exact = |apart: &&Apart| coulomb(state, acting, eps, apart.target, &apart.close);
    let exact: Vec<Option<Force>> = few.par_iter().map(exact).collect();
    for ((apart, rest), exact) in few.iter().zip(replaced.rest(&few)).zip(exact) {
        match (rest, exact) {
            (Some(rest), Some(exact)) => {
                add(&mut state.sums.force[apart.target], |a| bound.boxed(a, |element| rest[element]) + exact[a]);
            }
            _ => again[apart.target] = true,
        }
    }
}

/// The same for a kernel that is not 1/r, by what it means. Gives the targets whose forces were added.
fn replace_by_meaning(
    state: &mut State,
    bound: &Bound,
    (apart, acting): (&[Apart], &SourceRecords),
    replaced: &Replaced,
    again: &[bool],
) -> Vec<usize> {
    let few: Vec<&Apart> = apart.iter().filter(|apart| !again[apart.target]).collect();
    let (tree, charges) = (&state.plan.tree, state.charges);
    let partner = |k: usize, record: usize| partner(tree, charges, bound.window, k, acting.source(record));
    let values = by_meaning(bound, replaced, &few, tree, &partner);
    let mut done = Vec::new();
    for (Apart { target, .. }, values) in few.into_iter().zip(values) {
        if let Some(values) = values {
            add(&mut state.sums.force[*target], |a| bound.boxed(a, |element| values[element]));
            done.push(*target);
        }
    }
    done
}

/// Adds the forces of targets that are computed again as a whole by what a kernel means.
fn add_by_meaning(state: &mut State, bound: &Bound, acting: &SourceRecords, replaced: &Replaced, again: &[usize]) {
    if again.is_empty() {
        return;
    }
    let (plan, charges) = (state.plan, state.charges);
    let mut all = Vec::with_capacity(again.len());
    for (leaf, targets) in plan.tree.leaves_of(again) {
        let sources: Vec<SourceRange> = acting.segments(plan.lists.direct(leaf)).collect();
        all.extend(targets.into_iter().map(|target| Recomputed { target, sources: sources.clone() }));
    }
    let partner = |k: usize, record: usize| partner(&plan.tree, charges, bound.window, k, acting.source(record));
    for (whole, values) in all.iter().zip(recompute::sums(bound, replaced, &all, &partner)) {
        add(&mut state.sums.force[whole.target], |a| bound.boxed(a, |element| values[element]));
    }
}

/// The outputs of targets with close sources, these computed by what the kernel means; `None` where that cannot be had.
fn by_meaning(
    bound: &Bound,
    replaced: &Replaced,
    few: &[&Apart],
    tree: &Tree,
    partner: &(dyn Fn(usize, usize) -> Partner + Sync),
) -> Vec<Option<Vec<f64>>> {
    if few.is_empty() {
        return Vec::new();
    }
    let nothing = vec![0.0; replaced.graph.outputs.len()];
    let meaning = DifferenceKernel::new(&bound.numbers, &bound.p2p).filter(|_| tree.map.exact);
    let params = replaced.real_params();
    let room = || (meaning.as_ref().map(DifferenceKernel::scratch), Partners::default());
    let one = |(scratch, partners): &mut (Option<_>, Partners), apart: &&Apart| {
        if apart.close.is_empty() {
            return Some(nothing.clone());
        }
        partners.clear();
        partners.extend(apart.close.iter().map(|j| partner(apart.target, *j)));
        meaning.as_ref()?.sums(scratch.as_mut()?, &params, partners)
    };
    let sums: Vec<Option<Vec<f64>>> = few.par_iter().map_init(room, one).collect();
    let both = |(rest, sums): (Option<Vec<f64>>, Option<Vec<f64>>)| -> Option<Vec<f64>> {
        Some(rest?.into_iter().zip(sums?).map(|(rest, sum)| rest + sum).collect())
    };
    replaced.rest(few).into_iter().zip(sums).map(both).collect()
}

/// A source as target `k` is close to it, moved by whole periods.
pub(super) fn partner(
    tree: &Tree,
    charges: &Charges,
    window: KernelBox,
    k: usize,
    source: (usize, [i32; 3]),
) -> Partner {
    Partner { d: tree.difference(k, source).map(|d| window.length(d)), charge: charges.scaled[source.0] }
}

/// The values of a kernel's real-arithmetic semantics at some targets, in the order of the input, from all particles: the reference for a
/// kernel that is not 1/r. Close pairs are replaced, and results that an output's format does not hold are computed again, as in P2P. With
/// periodic boundaries it is the sum over all images. In the user's units.
pub fn direct(
    plan: &Plan,
    charges: &[f64],
    graph: &Graph,
    targets: &[usize],
    progress: &mut Progress,
) -> Result<Vec<Force>, FmmError> {
    let progress = &mut |done| progress(DIRECT, done, targets.len());
    if plan.options.periodic.is_some() {
        return direct_of_images(plan, charges, targets, progress);
    }
    let mut pipelines = Pipelines::owning((cpu::ENTRY.open)(&BackendOptions::default()), graph);
    pipelines.bind(plan)?;
    let Pipelines { mut backend, bound: Some(bound), .. } = pipelines else { unreachable!("it was bound") };
    let Bound { p2p: kernel, params, window, .. } = &bound;
    let (graph, window) = (bound.in_numbers(), *window);
    let charges = Charges::new(&plan.tree, charges);
    let tree = &plan.tree;
    let place = |k: usize| plan.place[targets[k]] as usize;
    let of_target =
        |k: usize, feed, format| particle(tree.targets(), &charges, window, (place(k), [0; 3]), feed, format);
    let of_source = |k: usize, feed, format| particle(&tree.sources, &charges, window, (k, [0; 3]), feed, format);
    let records = Records {
        targets: table(targets.len(), &kernel.i, of_target).0,
        sources: table(plan.tree.len(), &kernel.j, of_source).0,
    };
    let run = |first| Run { first, count: SHOWN.min(targets.len() - first), segments: 0..1 };
    let job = Job {
        graph,
        targets: &records.targets,
        sources: &records.sources,
        params,
        runs: &(0..targets.len()).step_by(SHOWN).map(run).collect::<Vec<Run>>(),
        segments: &[SourceRange { first: 0, count: plan.tree.len() }],
    };
    let outcome = backend.run(&job, progress)?;
    let replaced = Replaced { graph, records: &records, params, outcome: &outcome, is_exact: false };
    let close = ClosePairs::find(tree, &SourceRecords::new(tree, &plan.lists), None, window);
    let is_held = |k: &usize| !outcome.flags[*k].intersects(WRONG);
    let partners = |k: usize| {
        let at = close.targets.binary_search_by_key(&place(k), |t| t.0).ok()?;
        Some(close.targets[at].1.as_deref())
    };
    let apart = |k: usize| Some(Apart { target: k, close: partners(k)??.to_vec(), coincident: Vec::new() });
    let few: Vec<Apart> = (0..targets.len()).filter(is_held).filter_map(apart).collect();
    let few: Vec<&Apart> = few.iter().collect();
    let again = (0..targets.len()).filter(|k| !is_held(k) || partners(*k).is_some_and(|close| close.is_none()));
    let again: Vec<Recomputed> = again.map(|target| Recomputed { target, sources: job.segments.to_vec() }).collect();
    let partner = |k: usize, j: usize| partner(tree, &charges, window, place(k), (j, [0; 3]));
    let mut known = vec![None; targets.len()];
    let values = by_meaning(&bound, &replaced, &few, tree, &partner);
    few.iter().zip(values).for_each(|(apart, values)| known[apart.target] = values);
    let values = recompute::sums(&bound, &replaced, &again, &partner);
    again.iter().zip(values).for_each(|(whole, values)| known[whole.target] = Some(values));
    let force = |k: usize| -> Force {
        let value = |a: usize| {
            let of =
                |element: usize| known[k].as_ref().map_or_else(|| value(graph, &outcome, k, element), |v| v[element]);
            let boxed = kernel.boxed(a, of);
            let (value, exponent) = plan.tree.map.wide(a, boxed);
            ldexp(value, exponent + charges.exponent)
        };
        [value(0), value(1), value(2), value(3)]
    };
    Ok((0..targets.len()).map(force).collect())
}

/// The same with periodic boundaries.
fn direct_of_images(
    plan: &Plan,
    charges: &[f64],
    targets: &[usize],
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<Force>, FmmError> {
    let Some(kernel) = &plan.kernel else {
        let text =
            "what all images of a kernel give is known by its expansion alone; leave --near-only out, or --check";
        return Err(FmmError::Option(text.into()));
    };
    let charges = Charges::new(&plan.tree, charges);
    let places: Vec<usize> = targets.iter().map(|k| plan.place[*k] as usize).collect();
    let boxed = reference::sums(plan, &charges, &**kernel, &places, progress);
    let force = |boxed: &Force| -> Force {
        std::array::from_fn(|a| {
            let (value, exponent) = plan.tree.map.wide(a, boxed[a]);
            ldexp(value, exponent + charges.exponent)
        })
    };
    Ok(boxed.iter().map(force).collect())
}

/// An element of a target's results as a number.
pub fn value(graph: &Graph, outcome: &Outcome, k: usize, element: usize) -> f64 {
    let output = &graph.outputs[element];
    graph.pins[output.pin].format.to_f64(outcome.results.record(k)[element])
}

/// Patterns of the parameters for a softening length in boxes, and for boxes of an edge.
pub(super) fn params(graph: &Graph, kernel: &P2p, eps: f64, edge: f64) -> Result<Vec<u64>, KernelError> {
    let wanted = (eps * kernel.length).powi(2);
    let one = |(feed, format): &(Feed, Format)| {
        match feed {
            Feed::Given(value) => return Ok(encode(*format, *value).0),
            Feed::Box => {
                let (bits, fits) = encode(*format, edge);
                let why = format!(
                    "`box` of {} is {format}, which does not hold the edge of the particles' box, {edge:.3e}; give its \
                     parameter another format, or the particles other units",
                    graph.name
                );
                return if fits && (format.to_f64(bits) - edge).abs() <= 0.01 * edge {
                    Ok(bits)
                } else {
                    Err(KernelError(why))
                };
            }
            _ => {}
        }
        let (bits, fits) = encode(*format, wanted);
        // The CPU computes close pairs, and all where the length is longer than kernels are used for.
        let is_used = !kernel.coulomb || (SHORTEST..=LONGEST).contains(&eps);
        if eps == 0.0 || !is_used || (fits && (format.to_f64(bits) - wanted).abs() <= 0.01 * wanted) {
            return Ok(bits);
        }
        Err(KernelError(format!(
            "`eps2` of {} is {format}, which does not hold the square of the softening length, {eps:.3e} boxes of the \
             particles; give its parameter another format, or take the backend `cpu`",
            graph.name
        )))
    };
    kernel.params.iter().map(one).collect()
}

/// An element of a particle that is moved by whole periods: an integer coordinate X, or the charge.
fn particle(
    points: &Sorted,
    charges: &Charges,
    window: KernelBox,
    (k, shift): (usize, [i32; 3]),
    feed: Feed,
    format: Format,
) -> (u64, bool) {
    match feed {
        Feed::At(axis) => {
            let x = points.grid[k][axis] as i64 + ((shift[axis] as i64) << GRID_BITS);
            (grid_pattern(format, x, window.doublings), true)
        }
        _ => encode(format, charges.scaled[k]),
    }
}

/// The pattern of an integer coordinate X in a box that was doubled so many times: of an int X itself, of a fixed X * 2^-31, both
/// halved as often and rounded down to a value of the format.
pub fn grid_pattern(format: Format, x: i64, doublings: u32) -> u64 {
    let point = format.frac().filter(|_| format.is_fixed()).map_or(0, |f| f - GRID_BITS);
    let moved = if point < doublings { x >> (doublings - point) } else { x << (point - doublings) };
    moved as u64 & format.mask()
}

/// The number of targets that share their integer coordinates with a source at another place (RULES H5).
fn shared(plan: &Plan) -> u64 {
    let (targets, sources) = (plan.tree.targets(), &plan.tree.sources);
    let mut shared = 0;
    let own = plan.tree.own_targets();
    let mut first = own.start;
    for group in targets.grid[own].chunk_by(|a, b| a == b) {
        let members = first..first + group.len();
        first = members.end;
        let here = if plan.tree.is_apart() { sources.on_grid(&group[0]).len() } else { group.len() };
        if here > 0 {
            shared += members.filter(|k| (targets.coincident[*k] as usize) < here).count() as u64;
        }
    }
    shared
}

/// The longest softening length, in boxes, that kernels are used for.
pub(super) const LONGEST: f64 = 1.0;

/// The shortest one, in boxes, that changes pairs which are not close.
const SHORTEST: f64 = 1.0 / (1u64 << 31) as f64;
