//! The stages on a rank: those of one rank on its part of the tree, with copies and multipoles of others as they arrive.

use super::RankError;
use super::bytes::{Reader, Writer};
use super::comm::{Comm, Tag, agree, gather_f64};
use super::left_out;
use super::measured::Clock;
use super::near::{Direct, NearField, exchange_large, is_plain, take_large};
use super::prepare::{Prepared, Slice};
use super::travel::{send_copies, send_multipoles, share, take_copies, take_multipoles};
use fmm::arith::vector::Vectors;
use fmm::data::problem::Sources;
use fmm::octree::executor::{Executor, Expansions, Parts, Stage, State, Sums, Work};
use fmm::octree::options::{check_ends, check_span};
use fmm::octree::rounding::Rounding;
use fmm::octree::{self, FmmError, OfPart, Plan, Precision, native, periodic};
use fmm::parallel::prelude::*;
use fmm::stages::{Problem, Ran, Seconds, Stages, Timeline};
use fmm::tree::charges::{Charges, Ends, span};
use std::cell::RefCell;

/// The results of a rank's own targets, in their order, and the work of P2P, for each set of charges.
pub struct Found {
    /// Potential, gradient, and the Hessian where it was asked for, in the user's units.
    pub columns: Vec<Vec<Vec<f64>>>,
    /// The work of P2P and of M2L.
    pub work: Vec<Work>,
    pub m2l: Vec<Work>,
}

/// Ranks as the parts of a problem.
struct Ranks<'a> {
    comm: &'a dyn Comm,
    /// Why they have failed.
    cause: RefCell<Option<RankError>>,
}

impl Ranks<'_> {
    fn noted<T>(&self, found: Result<T, RankError>) -> Result<T, FmmError> {
        found.inspect_err(|e| *self.cause.borrow_mut() = Some(e.clone())).map_err(FmmError::from)
    }

    /// The failure that the ranks themselves reported for a stage, if it was theirs.
    fn cause(&self, e: FmmError) -> RankError {
        self.cause.take().unwrap_or_else(|| e.into())
    }
}

impl Parts for Ranks<'_> {
    fn largest(&self, own: Vec<f64>) -> Result<Vec<f64>, FmmError> {
        let all = self.noted(gather_f64(self.comm, &own))?;
        let larger = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(&b).map(|(a, b)| a.max(*b)).collect();
        Ok(all.into_iter().reduce(larger).unwrap_or(own))
    }

    fn agree(&self, own: Result<Vec<Work>, FmmError>) -> Result<Vec<Work>, FmmError> {
        self.noted(agree(self.comm, own.map_err(RankError::from)))
    }
}

/// A rank's own sources, set by set, in Morton order.
fn own_sets<'p>(slice: &Slice, columns: &'p [Vec<f64>]) -> Vec<Sources<'p>> {
    let mut rest = columns[3..].iter().map(|column| &column[..]);
    let mut next = || rest.next().expect("points carry the columns of all sets");
    let one = |set: &Sources| Sources {
        charges: set.charges.map(|_| next()),
        dipoles: set.dipoles.map(|_| [next(), next(), next()]),
    };
    slice.sets.iter().map(one).collect()
}

/// The charges of each set, scaled as those of the whole; copies are 0 yet.
fn charges(comm: &dyn Comm, slice: &Slice, prepared: &Prepared) -> Result<Vec<Charges>, RankError> {
    let Prepared { map, settled, local, .. } = prepared;
    let one = |set: Sources| {
        let Ends { smallest, largest, moment } = Ends::of(&set);
        let all = gather_f64(comm, &[smallest, largest, moment])?;
        let all = all.iter().map(|e| Ends { smallest: e[0], largest: e[1], moment: e[2] });
        let ends = all.reduce(Ends::join).expect("there is one rank at least");
        match set.dipoles {
            Some(_) => {
                let own = span(map, &set).map_or(Vec::new(), |s| s.map(f64::from).to_vec());
                let all = gather_f64(comm, &own)?.into_iter().filter(|s| s.len() == 2);
                check_span(all.map(|s| [s[0] as i32, s[1] as i32]).reduce(|a, b| [a[0].max(b[0]), a[1].min(b[1])]))?;
            }
            None => check_ends(&ends)?,
        }
        let own = Charges::within(map, None, &set, &ends);
        let least = gather_f64(comm, &[own.least])?.iter().fold(f64::INFINITY, |least, one| least.min(one[0]));
        let column = |own: Vec<f64>| local.layout.column(own);
        let Charges { scaled, dipoles, exponent, .. } = own;
        Ok(Charges { scaled: column(scaled), dipoles: dipoles.map(|p| p.map(column)), exponent, least })
    };
    own_sets(slice, &settled.sources.columns).into_iter().map(one).collect()
}

/// The multipoles of the leaves, of the cells above and of the shared ones.
fn upward(
    comm: &dyn Comm,
    slice: &Slice,
    prepared: &Prepared,
    plan: &Plan,
    charges: &[Charges],
    is_native: bool,
    clock: &mut Clock,
) -> Result<Vec<Expansions>, RankError> {
    let state = |charges| plan.state(charges, is_native, prepared.levels);
    let mut states: Vec<State> = charges.iter().map(state).collect();
    if slice.options.near_only {
        return Ok(states.into_iter().map(|state| state.expansions).collect());
    }
    native::run(Stage::P2m, &mut states);
    clock.lap("P2M");
    native::run(Stage::M2m, &mut states);
    clock.lap("M2M");
    clock.wait(comm)?;
    for state in &mut states {
        match &mut state.expansions {
            Expansions::F32(c) => share(comm, prepared, &plan.tree, plan.operators_f32(), &mut c.m)?,
            Expansions::F64(c) => share(comm, prepared, &plan.tree, plan.operators_f64(), &mut c.m)?,
        }
    }
    clock.lap("exchange");
    Ok(states.into_iter().map(|state| state.expansions).collect())
}

/// The plan of a rank's part. Copies have no coordinates yet.
fn plan(slice: &Slice, prepared: &mut Prepared, me: usize) -> Result<Plan, FmmError> {
    let kernel = octree::expanded(slice.kernel, slice.options, &prepared.map, prepared.levels)?;
    let Prepared { settled, essential, local, pairs, streamed_m2l, .. } = prepared;
    let counted = essential.nodes.par_iter().map(|n| settled.partition.owner(n.level, n.prefix) == me).collect();
    let (tree, lists, place) =
        (std::mem::take(&mut local.tree), std::mem::take(&mut local.lists), std::mem::take(&mut local.place));
    let (pairs, streamed_m2l) = (*pairs, *streamed_m2l);
    Ok(Plan::of_part(slice.options, OfPart { tree, lists, place, kernel, pairs, streamed_m2l, counted: Some(counted) }))
}

/// Runs all stages.
pub fn run(
    comm: &dyn Comm,
    slice: &Slice,
    executors: &mut [&mut dyn Executor<Plan>],
    prepared: &mut Prepared,
    clock: &mut Clock,
) -> Result<Found, RankError> {
    match slice.p2p {
        Precision::F32 => run_in::<f32>(comm, slice, executors, prepared, clock),
        Precision::F64 => run_in::<f64>(comm, slice, executors, prepared, clock),
    }
}

/// The same with native P2P in the arithmetic of `T`.
fn run_in<T: Vectors>(
    comm: &dyn Comm,
    slice: &Slice,
    executors: &mut [&mut dyn Executor<Plan>],
    prepared: &mut Prepared,
    clock: &mut Clock,
) -> Result<Found, RankError> {
    let mut charges = charges(comm, slice, prepared)?;
    let moments = moments(comm, slice, prepared, &charges)?;
    clock.lap("plan");
    send_copies(comm, prepared, &charges)?;
    // The tree and the charges have what is computed with.
    prepared.settled.forget();
    clock.lap("exchange");
    let mut plan = agree(comm, plan(slice, prepared, comm.rank()).map_err(RankError::from))?;
    clock.lap("plan");
    let (parts, progress) = (Ranks { comm, cause: RefCell::default() }, &mut |_: &'static str, _: usize, _: usize| {});
    let failed = |e: FmmError| parts.cause(e);
    // Ranks have clocks of their own.
    let timeline = Timeline::begun();
    let mut run = Stages { executors, parts: &parts, seconds: Seconds::default(), timeline, progress };
    let is_native = run.is_native();
    let mut expansions = upward(comm, slice, prepared, &plan, &charges, is_native, clock)?;
    send_multipoles(comm, &plan, &prepared.sides.exports, &expansions)?;
    take_copies(comm, prepared, &mut plan.tree, &mut charges)?;
    clock.lap("exchange");
    plan.tree.count_coincident();
    let plan = plan;
    agree(comm, run.executors.iter_mut().try_for_each(|e| e.bind(&plan)).map_err(RankError::from))?;
    let (mut near, native) = sides(&run, &plan, &charges).map_err(failed)?;
    clock.lap("plan");
    let plain: Vec<&Charges> = native.iter().map(|set| &charges[*set]).filter(|c| is_plain(slice, c)).collect();
    let mut section = prepared.section.take().filter(|_| !plain.is_empty());
    if let Some(section) = &mut section {
        exchange_large::<T>(comm, prepared, &plan, &plain, section)?;
    }
    clock.lap("exchange");
    // P2P of leaves that need no word of others, while multipoles travel.
    let (direct, taken) = std::thread::scope(|scope| {
        let inner = || NearField::inner::<T>(slice, &plan, &charges, &native, section.as_ref());
        let direct = scope.spawn(inner);
        let taken = take_multipoles(comm, &plan, &prepared.sides.imports, &mut expansions);
        (direct.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), taken)
    });
    taken?;
    clock.lap("P2P");
    let mut known = section.clone();
    if let Some(section) = &mut known {
        take_large(comm, prepared, plain.len(), section)?;
    }
    clock.lap("exchange");
    let targets = plan.tree.targets().len();
    let with = |(charges, expansions)| {
        let mut state = State::new(&plan, charges, expansions);
        state.sums.hessian = vec![[0.0; 6]; if slice.hessian { targets } else { 0 }];
        state
    };
    let mut states: Vec<State> = charges.iter().zip(expansions).map(with).collect();
    let far: &[Stage] = if slice.options.near_only { &[] } else { &Stage::FAR[2..] };
    let Ran { m2l, p2p, .. } = run.run_apart(far, &mut states, &mut near).map_err(failed)?;
    clock.stages(&mut run.seconds);
    let mut direct = direct.finish(known.as_ref());
    let on_executor = (0..charges.len()).filter(|set| !native.contains(set));
    for (set, (state, work)) in on_executor.zip(near.into_iter().zip(p2p)) {
        direct[set] = Direct { force: state.sums.force, work, ..Direct::default() };
    }
    left_out::find(comm, (slice, prepared), (&plan, &charges), run.taker(Stage::P2p), &mut direct)?;
    let found = write(slice, states, direct, &moments);
    clock.lap("P2P");
    Ok(Found { m2l, ..found })
}

/// States for P2P of the sets of charges that an executor runs on all ranks, and the other sets.
fn sides<'a>(
    run: &Stages<Plan>,
    plan: &'a Plan,
    charges: &'a [Charges],
) -> Result<(Vec<State<'a>>, Vec<usize>), FmmError> {
    let all = 0..charges.len();
    if run.taker(Stage::P2p).is_none() {
        return Ok((Vec::new(), all.collect()));
    }
    let states: Vec<State> = charges.iter().map(|charges| State::near(plan, charges)).collect();
    let suited = run.suited(Stage::P2p, &states)?;
    let native = all.filter(|set| suited[*set].is_none()).collect();
    Ok((
        states.into_iter().zip(&suited).filter(|(_, suited)| suited.is_some()).map(|(state, _)| state).collect(),
        native,
    ))
}

/// Brings far and near field together, in the user's units.
fn write(slice: &Slice, states: Vec<State>, direct: Vec<Direct>, moments: &[[f64; 5]]) -> Found {
    let mut found = Found { columns: Vec::new(), work: Vec::new(), m2l: Vec::new() };
    for ((set, mut state), Direct { force, hessian, work }) in states.into_iter().enumerate().zip(direct) {
        Plan::add(&mut state.sums, &Sums { force, hessian });
        if periodic::has_background(slice.options) {
            periodic::add_background_of(&mut state, moments[set]);
        }
        found.columns.push(state.written(&work, slice.hessian));
        found.work.push(Work { rounding: Rounding::of(&work.rounded, &state.sums.force), ..work });
    }
    found
}

/// The moments of all charges, where a uniform background neutralises them: sums in the order of the whole, stretch by stretch.
fn moments(
    comm: &dyn Comm,
    slice: &Slice,
    prepared: &Prepared,
    charges: &[Charges],
) -> Result<Vec<[f64; 5]>, RankError> {
    if !periodic::has_background(slice.options) {
        return Ok(Vec::new());
    }
    let own = prepared.settled.own(comm.rank());
    let (first, end) = (own.start as usize, own.end as usize);
    let local = prepared.local.layout.own.start as usize;
    let unit = &prepared.local.tree.sources.unit;
    let total: u64 = prepared.settled.summaries.iter().map(|s| s.count[0]).sum();
    let mut all = Vec::new();
    for charges in charges {
        let add = |to, range: std::ops::Range<usize>| {
            periodic::add_moments(to, charges, unit, range.start - first + local..range.end - first + local)
        };
        // A stretch that began before comes with its sum from the rank before; one that goes on behind is passed on.
        let mut carry = [0.0; 5];
        if comm.rank() > 0 {
            let found = Reader::new(&comm.receive(comm.rank() - 1, Tag::Chain)?).f64s()?;
            carry = found.try_into().map_err(|_| RankError::Lost("a message between ranks is cut".into()))?;
        }
        let (mut done, mut at) = (Vec::new(), first);
        while at < end {
            let stop = (at / periodic::PART + 1) * periodic::PART;
            carry = add(carry, at..stop.min(end));
            at = stop.min(end);
            if at == stop || at == total as usize {
                done.extend(std::mem::take(&mut carry));
            }
        }
        if comm.rank() + 1 < comm.size() {
            let mut bytes = Writer::default();
            bytes.f64s(&carry);
            comm.send(comm.rank() + 1, Tag::Chain, bytes.take())?;
        }
        let parts = gather_f64(comm, &done)?;
        let parts = parts.iter().flat_map(|of| of.as_chunks::<5>().0).copied();
        all.push(parts.fold([0.0; 5], periodic::sum));
    }
    Ok(all)
}
