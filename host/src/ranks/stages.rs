//! The stages on a rank: those of one rank on its part of the tree, with copies and multipoles of others as they arrive.

use super::RankError;
use super::bytes::{Reader, Writer};
use super::comm::{Comm, Tag, gather_f64};
use super::layout::leaves_in;
use super::prepare::{Prepared, Slice};
use super::report::Clock;
use super::travel::{send_copies, send_multipoles, share, take_copies, take_multipoles};
use crate::arith::vector::Vectors;
use crate::data::problem::Sources;
use crate::data::{Force, Hessian};
use crate::direct::p2p::tasks::{InPart, Section, large_charges};
use crate::direct::p2p::{self, Again, Near, Out};
use crate::fmm::executor::{Expansions, Stage, State, Work};
use crate::fmm::options::{check_ends, check_span};
use crate::fmm::{Outputs, Plan, Precision, native, periodic};
use crate::tree::charges::{Charges, Ends, span};

/// What a rank's own targets get, in their order, and what P2P did, for each set of charges.
pub struct Found {
    /// Potential, gradient, and the Hessian where it was asked for, in the user's units.
    pub columns: Vec<Vec<Vec<f64>>>,
    pub work: Vec<Work>,
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
    let order: Vec<u32> = (0..settled.sources.len() as u32).collect();
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
        let own = Charges::within(map, &order, &set, &ends);
        let least = gather_f64(comm, &[own.least])?.iter().fold(f64::INFINITY, |least, one| least.min(one[0]));
        let column = |own: &[f64]| local.layout.column(own, std::iter::empty());
        let dipoles = own.dipoles.as_ref().map(|p| p.each_ref().map(|p| column(p)));
        Ok(Charges { scaled: column(&own.scaled), dipoles, exponent: own.exponent, least })
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
    clock: &mut Clock,
) -> Result<Vec<Expansions>, RankError> {
    let mut states: Vec<State> = charges.iter().map(|charges| state(slice, plan, charges)).collect();
    if slice.options.near_only {
        return Ok(states.into_iter().map(|state| state.expansions).collect());
    }
    native::run(Stage::P2m, &mut states);
    clock.lap("P2M");
    native::run(Stage::M2m, &mut states);
    clock.lap("M2M");
    for state in &mut states {
        match &mut state.expansions {
            Expansions::F32(c) => share(comm, prepared, &plan.tree, plan.operators_f32(), &mut c.m)?,
            Expansions::F64(c) => share(comm, prepared, &plan.tree, plan.operators_f64(), &mut c.m)?,
        }
    }
    clock.lap("exchange");
    Ok(states.into_iter().map(|state| state.expansions).collect())
}

fn state<'a>(slice: &Slice, plan: &'a Plan, charges: &'a Charges) -> State<'a> {
    match slice.options.near_only {
        true => State::near(plan, charges),
        false => State::new(plan, charges, slice.options.precision == Precision::F32 && p2p::suit_f32(charges)),
    }
}

/// What P2P gives at each target that is here, and what it did, for each set of charges.
struct Direct {
    force: Vec<Vec<Force>>,
    hessian: Vec<Vec<Hessian>>,
    again: Vec<Again>,
}

/// P2P of the own targets: first what needs no word of other ranks.
struct NearField<'a, T> {
    plan: &'a Plan,
    charges: &'a [Charges],
    /// The sets without dipoles and Hessians, which are summed together.
    plain: Vec<usize>,
    inner: Option<InPart<T>>,
    done: Direct,
}

impl<'a, T: Vectors> NearField<'a, T> {
    fn inner(slice: &Slice, plan: &'a Plan, charges: &'a [Charges], section: Option<&'a Section>) -> NearField<'a, T> {
        let (sets, targets) = (charges.len(), plan.tree.targets().len());
        let hessian = vec![vec![[0.0; 6]; if slice.hessian { targets } else { 0 }]; sets];
        let done = Direct { force: vec![vec![[0.0; 4]; targets]; sets], hessian, again: vec![Again::default(); sets] };
        let is_plain = |set: &usize| charges[*set].dipoles.is_none() && !slice.hessian;
        let (plain, others): (Vec<usize>, Vec<usize>) = (0..sets).partition(is_plain);
        let mut field = NearField { plan, charges, plain, inner: None, done };
        if section.is_some() && !field.plain.is_empty() {
            let plain = field.near(&field.plain, false);
            field.inner = section.map(|section| InPart::inner(&plain, section));
        } else if !field.plain.is_empty() {
            let sets = field.plain.clone();
            field.one_way(&sets, false);
        }
        others.into_iter().for_each(|set| field.one_way(&[set], slice.hessian));
        field
    }

    fn near(&self, sets: &[usize], hessian: bool) -> Near<'a> {
        let charges: &'a [Charges] = self.charges;
        let charges = sets.iter().map(|set| &charges[*set]).collect();
        Near { tree: &self.plan.tree, lists: &self.plan.lists, charges, eps: self.plan.options.eps, hessian }
    }

    fn out(&mut self, sets: &[usize]) -> Vec<Out<'_>> {
        let all = self.done.force.iter_mut().zip(&mut self.done.hessian).enumerate();
        all.filter(|(set, _)| sets.contains(set)).map(|(_, (force, hessian))| Out { force, hessian }).collect()
    }

    fn one_way(&mut self, sets: &[usize], hessian: bool) {
        let near = self.near(sets, hessian);
        let again = near.one_way::<T>(self.out(sets));
        sets.iter().zip(again).for_each(|(set, again)| self.done.again[*set] = again);
    }

    /// All that is left.
    fn finish(mut self, section: Option<&Section>) -> Direct {
        if let (Some(inner), Some(section)) = (self.inner.take(), section) {
            let sets = self.plain.clone();
            let near = self.near(&sets, false);
            let again = inner.finish(&near, section, self.out(&sets));
            sets.iter().zip(again).for_each(|(set, again)| self.done.again[*set] = again);
        }
        self.done
    }
}

/// Tells the ranks that have copies of own leaves whether sums can be divided by what these act on, and gets the same.
fn exchange_large<T: Vectors>(
    comm: &dyn Comm,
    prepared: &Prepared,
    plan: &Plan,
    plain: &[&Charges],
    section: &mut Section,
) -> Result<(), RankError> {
    let sets = plain.len();
    let Prepared { essential, local, plan: exchange, .. } = prepared;
    section.large = vec![false; local.leaves.len() * sets];
    let is_needed = exchange.exports.iter().any(|side| !side.copies.is_empty());
    if is_needed {
        let near = Near {
            tree: &plan.tree,
            lists: &plan.lists,
            charges: plain.to_vec(),
            eps: plan.options.eps,
            hessian: false,
        };
        let own = large_charges::<T>(&near, section);
        section.large[section.own.start * sets..section.own.end * sets].copy_from_slice(&own);
    }
    for side in exchange.exports.iter().filter(|side| !side.copies.is_empty()) {
        let places = leaves_in(&side.copies, &local.leaves, essential);
        let of = |place: usize| section.large[place * sets..(place + 1) * sets].iter().map(|large| *large as u8);
        comm.send(side.rank, Tag::Large, places.into_iter().flat_map(of).collect())?;
    }
    Ok(())
}

fn take_large(comm: &dyn Comm, prepared: &Prepared, sets: usize, section: &mut Section) -> Result<(), RankError> {
    let Prepared { essential, local, plan: exchange, .. } = prepared;
    for side in exchange.imports.iter().filter(|side| !side.copies.is_empty()) {
        let bytes = comm.receive(side.rank, Tag::Large)?;
        for (place, large) in leaves_in(&side.copies, &local.leaves, essential).iter().zip(bytes.chunks(sets)) {
            large.iter().enumerate().for_each(|(set, large)| section.large[place * sets + set] = *large != 0);
        }
    }
    Ok(())
}

/// Runs all stages.
pub fn run(comm: &dyn Comm, slice: &Slice, prepared: &mut Prepared, clock: &mut Clock) -> Result<Found, RankError> {
    match slice.options.precision {
        Precision::F32 => run_in::<f32>(comm, slice, prepared, clock),
        Precision::F64 => run_in::<f64>(comm, slice, prepared, clock),
    }
}

fn run_in<T: Vectors>(
    comm: &dyn Comm,
    slice: &Slice,
    prepared: &mut Prepared,
    clock: &mut Clock,
) -> Result<Found, RankError> {
    let own_targets = prepared.local.place.len();
    let mut charges = charges(comm, slice, prepared)?;
    let moments = moments(comm, slice, prepared, &charges)?;
    send_copies(comm, prepared, &charges)?;
    clock.lap("exchange");
    let local = &mut prepared.local;
    let part = (std::mem::take(&mut local.tree), std::mem::take(&mut local.lists));
    let mut plan = Plan::of_part(slice.options, part, std::mem::take(&mut local.place));
    let mut expansions = upward(comm, slice, prepared, &plan, &charges, clock)?;
    send_multipoles(comm, &plan, &prepared.plan.exports, &expansions)?;
    take_copies(comm, prepared, &mut plan.tree, &mut charges)?;
    let mut section = prepared.section.take();
    let plain: Vec<&Charges> = charges.iter().filter(|c| c.dipoles.is_none() && !slice.hessian).collect();
    if let Some(section) = &mut section {
        exchange_large::<T>(comm, prepared, &plan, &plain, section)?;
    }
    clock.lap("exchange");
    // P2P of leaves that need no word of others, while multipoles travel.
    let (near, taken) = std::thread::scope(|scope| {
        let near = scope.spawn(|| NearField::<T>::inner(slice, &plan, &charges, section.as_ref()));
        let taken = take_multipoles(comm, &plan, &prepared.plan.imports, &mut expansions);
        (near.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), taken)
    });
    taken?;
    clock.lap("P2P");
    let mut known = section.clone();
    if let Some(section) = &mut known {
        take_large(comm, prepared, plain.len(), section)?;
    }
    clock.lap("exchange");
    let mut states: Vec<State> = charges.iter().map(|charges| state(slice, &plan, charges)).collect();
    let targets = plan.tree.targets().len();
    for (state, expansions) in states.iter_mut().zip(expansions) {
        state.expansions = expansions;
        state.hessian = vec![[0.0; 6]; if slice.hessian { targets } else { 0 }];
    }
    if !slice.options.near_only {
        let stages =
            [(Stage::M2l, "M2L"), (Stage::P2l, "P2L"), (Stage::L2l, "L2L"), (Stage::L2p, "L2P"), (Stage::M2p, "M2P")];
        for (stage, name) in stages {
            native::run(stage, &mut states);
            clock.lap(name);
        }
    }
    let direct = near.finish(known.as_ref());
    let found = write(slice, prepared, own_targets, states, direct, &moments);
    clock.lap("P2P");
    Ok(found)
}

/// Brings far and near field together, in the user's units.
fn write(
    slice: &Slice,
    prepared: &Prepared,
    count: usize,
    states: Vec<State>,
    direct: Direct,
    moments: &[[f64; 5]],
) -> Found {
    let mut found = Found { columns: Vec::new(), work: Vec::new() };
    let near = direct.force.into_iter().zip(direct.hessian).zip(direct.again);
    for ((set, mut state), ((force, hessian), again)) in states.into_iter().enumerate().zip(near) {
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        state.force.iter_mut().zip(&force).for_each(|(to, from)| add(to, from));
        state.hessian.iter_mut().zip(&hessian).for_each(|(to, from)| add(to, from));
        if periodic::has_background(slice.options) {
            periodic::add_background_of(&mut state, moments[set]);
        }
        let work = Work {
            streamed: prepared.pairs.p2p,
            recomputed: again.targets,
            close: again.pairs,
            wide: again.wide,
            has_gradient: true,
            ..Work::default()
        };
        let mut columns = vec![vec![0.0; count]; if slice.hessian { 10 } else { 4 }];
        let mut rest = columns.iter_mut().map(|column| &mut column[..]);
        let mut next = || rest.next().expect("there are as many columns");
        let potential = next();
        let gradient = [next(), next(), next()];
        let hessian = slice.hessian.then(|| [next(), next(), next(), next(), next(), next()]);
        state.write_all(&work, &mut Outputs { potential, gradient, hessian });
        found.columns.push(columns);
        found.work.push(work);
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
