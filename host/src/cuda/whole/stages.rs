//! The stages from P2M on, and what cards give each other meanwhile.

use super::card::{Card, From, Size};
use super::memory::Problem;
use super::others::{Team, append};
use super::split::{Part, Span};
use super::{Loaded, Whole};
use crate::cuda::CudaError;
use crate::cuda::p2p::Number;
use std::ops::Range;

/// Blocks of `again`, which go through their work in turn.
const AGAIN_BLOCKS: u32 = 1056;

/// The least level above the leaves whose expansions several cards compute each for its part, and exchange: below it, computing all takes
/// less time than the copies.
const SHARED_LEVEL: u32 = 3;

/// A card in one run.
pub struct On<'a, T: Number, C: Card> {
    pub card: &'a C,
    pub loaded: &'a Loaded<T, C>,
    pub problem: Problem,
    pub part: Part,
}

/// What each of all cards does.
pub struct Plan<'a> {
    pub parts: &'a [Part],
    /// How many of its targets are in the share of each other card, and where the results of these are collected.
    pub sends: &'a [Vec<Sends>],
    pub depth: u32,
}

#[derive(Clone, Copy, Default)]
pub struct Sends {
    pub first: usize,
    pub count: usize,
}

impl Sends {
    fn range(self) -> Range<usize> {
        self.first..self.first + self.count
    }
}

impl<T: Number, C: Card> Whole<T, C> {
    /// All stages from P2M on.
    pub(super) fn stages(
        &self,
        team: &Team<C>,
        all: &[On<T, C>],
        plan: &Plan,
        tick: &mut impl FnMut() -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        let (shape, depth) = (&self.shape, plan.depth);
        let family = |cells: u32| Size {
            blocks: cells.div_ceil(shape.families as u32),
            threads: (shape.terms * shape.families) as u32,
        };
        if depth >= 2 {
            all.iter().try_for_each(|on| on.of_leaves("p2m"))?;
            let leaves: Vec<Span> = plan.parts.iter().map(|part| part.own).collect();
            let wanted = wanted(team, &leaves, depth);
            self.exchange_expansions(team, all, depth, &leaves, &wanted)?;
        }
        tick()?;
        for level in (2..depth).rev() {
            let is_shared = team.all() > 1 && level + 1 == depth && level >= SHARED_LEVEL;
            let every = Span { first: 0, end: 1 << (3 * level) };
            for on in all {
                let span = if is_shared { on.part.parents[level as usize] } else { every };
                on.launch("m2m", family(span.len()), &[level, span.first, span.end])?;
            }
            if is_shared {
                let spans: Vec<Span> = plan.parts.iter().map(|part| part.parents[level as usize]).collect();
                self.exchange_expansions(team, all, level, &apart(&spans), &vec![every; team.others.count()])?;
            }
        }
        tick()?;
        if depth >= 2 {
            for on in all {
                let above = &on.part.parents[1..depth as usize];
                let blocks = above.iter().map(|span| 8 * span.len().div_ceil(64)).sum();
                on.launch("m2l", Size { blocks, threads: 16 * (self.order as u32 + 1) }, &[])?;
            }
        }
        tick()?;
        for level in 2..depth {
            all.iter().try_for_each(|on| on.launch("l2l", family(on.part.parents[level as usize].len()), &[level]))?;
        }
        tick()?;
        for on in all {
            on.launch("p2p", Size { blocks: on.part.blocks, threads: shape.threads as u32 }, &[])?;
            on.launch("again", Size { blocks: AGAIN_BLOCKS, threads: 128 }, &[])?;
        }
        tick()?;
        all.iter().try_for_each(|on| on.of_leaves("l2p"))?;
        self.exchange_results(team, all, plan.sends)?;
        tick()
    }

    /// Gives every card the multipole expansions that the others have of the cells of a level; of those of other processes only what its
    /// process wants.
    fn exchange_expansions(
        &self,
        team: &Team<C>,
        all: &[On<T, C>],
        level: u32,
        spans: &[Span],
        wanted: &[Span],
    ) -> Result<(), CudaError> {
        let m: Vec<_> = all.iter().map(|on| &on.loaded.cells.as_ref().expect("it has a tree").m).collect();
        let first = ((1usize << (3 * level)) - 64) / 7;
        let place = |cell: u32| (first + cell as usize) * self.shape.pitch;
        let places = |spans: &[Span]| spans.iter().map(|span| place(span.first)..place(span.end)).collect::<Vec<_>>();
        team.exchange(&m, &places(spans), &places(wanted))
    }

    /// Gives every card what the others have for its share of the input.
    fn exchange_results(&self, team: &Team<C>, all: &[On<T, C>], sends: &[Vec<Sends>]) -> Result<(), CudaError> {
        if team.all() == 1 {
            return Ok(());
        }
        all.iter().try_for_each(On::collect)?;
        let arrived = match team.is_alone() {
            true => Vec::new(),
            false => team.travel(|| team.others.exchange(self.results_for_others(team, all, sends)?))?,
        };
        let events = team.cards.iter().map(C::event).collect::<Result<Vec<_>, _>>()?;
        for (on, number) in all.iter().zip(team.own()) {
            let (to, mut count) = (&on.loaded.particles, 0);
            for other in (0..team.all()).filter(|other| *other != number) {
                let part = sends[other][number].range();
                if team.own().contains(&other) {
                    let (card, from) = (other - team.own().start, &all[other - team.own().start].loaded.particles);
                    let (card, event) = (&team.cards[card], &events[card]);
                    let values = 4 * part.start..4 * part.end;
                    on.card.take(&to.records, 4 * count, From { card, memory: &from.near, part: values, event })?;
                    on.card.take(
                        &to.again,
                        count,
                        From { card, memory: &from.unsettled, part: part.clone(), event },
                    )?;
                } else {
                    let process = other / team.cards.len();
                    let [values, numbers] = results_from::<T, C>(team, &arrived[process], sends, [other, number]);
                    on.card.put(values, &to.records, 4 * count)?;
                    on.card.put(numbers, &to.again, count)?;
                }
                count += part.len();
            }
            on.launch("spread", Size { blocks: count.div_ceil(256) as u32, threads: 256 }, &[count as u32])?;
        }
        Ok(())
    }

    /// What each process is sent: of each own card the results for each card there, and behind all of them their numbers.
    fn results_for_others(
        &self,
        team: &Team<C>,
        all: &[On<T, C>],
        sends: &[Vec<Sends>],
    ) -> Result<Vec<Vec<u8>>, CudaError> {
        let mut out = vec![Vec::new(); team.others.count()];
        for process in team.others() {
            let there = team.numbers(process);
            // What a card has for the cards of one process stands in one piece.
            let pieces = || {
                let piece = |own: usize| sends[own][there.start].first..sends[own][there.end - 1].range().end;
                all.iter().zip(team.own().map(piece))
            };
            let count: usize = pieces().map(|(_, r)| r.len()).sum();
            out[process].reserve_exact(count * (4 * size_of::<T>() + size_of::<u32>()) + 1);
            let values = pieces().map(|(on, r)| (on.card, &on.loaded.particles.near, 4 * r.start..4 * r.end));
            append(&mut out[process], values)?;
            append(&mut out[process], pieces().map(|(on, r)| (on.card, &on.loaded.particles.unsettled, r)))?;
        }
        Ok(out)
    }
}

/// What a message has of a card of its process for an own one: values, and their numbers.
fn results_from<'a, T: Number, C: Card>(
    team: &Team<C>,
    bytes: &'a [u8],
    sends: &[Vec<Sends>],
    [from, to]: [usize; 2],
) -> [&'a [u8]; 2] {
    let (mut before, mut all) = (0, 0);
    for other in team.numbers(from / team.cards.len()) {
        for own in team.own() {
            if [other, own] == [from, to] {
                before = all;
            }
            all += sends[other][own].count;
        }
    }
    let (value, number, count) = (4 * size_of::<T>(), size_of::<u32>(), sends[from][to].count);
    let (values, numbers) = bytes.split_at(all * value);
    [&values[before * value..][..count * value], &numbers[before * number..][..count * number]]
}

/// The leaves whose expansions each process needs of the others: those in the lists of its own leaves and those below their parents. All of
/// them where each card computes M2M of all cells.
fn wanted<C: Card>(team: &Team<C>, leaves: &[Span], depth: u32) -> Vec<Span> {
    let (side, count) = (1u32 << depth, 1u32 << (3 * depth));
    // Cells in a list are up to 3 away along each axis.
    let reach = 3 * (side * side + side + 1);
    let of = |process: usize| {
        let numbers = team.numbers(process);
        let (first, end) = (leaves[numbers.start].first, leaves[numbers.end - 1].end);
        match () {
            _ if depth <= SHARED_LEVEL => Span { first: 0, end: count },
            _ if first == end => Span { first, end },
            _ => Span { first: first.saturating_sub(reach), end: (end + reach).min(count) },
        }
    };
    (0..team.others.count()).map(of).collect()
}

/// Spans that follow each other, without what the ones before have.
fn apart(spans: &[Span]) -> Vec<Span> {
    let mut end = 0;
    let rest = |span: &Span| {
        let first = span.first.max(end);
        end = end.max(span.end);
        Span { first, end: first.max(span.end) }
    };
    spans.iter().map(rest).collect()
}

/// Where each card collects the results for each other one, given how many of its targets are in the share of each.
pub fn sends(targets: &[Vec<usize>]) -> Vec<Vec<Sends>> {
    let of = |(own, counts): (usize, &Vec<usize>)| {
        let mut first = 0;
        let to = |(card, count): (usize, &usize)| {
            let count = if card == own { 0 } else { *count };
            first += count;
            Sends { first: first - count, count }
        };
        counts.iter().enumerate().map(to).collect()
    };
    targets.iter().enumerate().map(of).collect()
}

impl<T: Number, C: Card> On<'_, T, C> {
    fn launch(&self, name: &str, size: Size, numbers: &[u32]) -> Result<(), CudaError> {
        self.loaded.launch(self.card, name, size, &self.problem, numbers)
    }

    /// Puts the particles of its leaves, and of those near them, in order.
    pub fn sort(&self) -> Result<(), CudaError> {
        let size = |particles: u32| Size { blocks: particles.div_ceil(256), threads: 256 };
        self.launch("scatter", size(self.problem.n as u32), &[])?;
        self.launch("settle", size(self.part.particles), &[])
    }

    /// Collects the results of its leaves that others are sent.
    fn collect(&self) -> Result<(), CudaError> {
        self.launch("collect", Size { blocks: self.part.targets.div_ceil(256), threads: 256 }, &[])
    }

    /// A kernel with a warp for each of its leaves.
    fn of_leaves(&self, name: &str) -> Result<(), CudaError> {
        self.launch(name, Size { blocks: self.part.own.len().div_ceil(4), threads: 128 }, &[])
    }
}
