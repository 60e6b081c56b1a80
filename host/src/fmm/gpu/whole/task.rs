//! A run of all stages on cards, of one process or of several: the input to the cards of all, and the results of the own ones.

use super::factors;
use crate::cuda::CudaError;
use crate::cuda::p2p::Number;
use crate::cuda::whole::card::Card;
use crate::cuda::whole::others::{Others, Team, bytes_of, numbers, push};
use crate::cuda::whole::{Outcome, Run, Stretch, Whole};
use crate::data::particles::Field;
use crate::data::problem::Geometry;
use crate::fmm::gpu::Gpu;
use crate::fmm::stats::{OnCard, Stats};
use crate::fmm::{FmmOptions, Solutions};
use std::ops::Range;
use std::time::Instant;

/// What is computed: of several processes each has its slices of the sources, of their charges and of the targets.
pub(crate) struct Task<'a> {
    pub name: &'a str,
    pub geometry: Geometry<'a>,
    pub sets: &'a [&'a [f64]],
    pub options: &'a FmmOptions,
    /// The particles that a leaf has in the mean at most; if it is not given, what costs least.
    pub leaf: Option<usize>,
}

/// What the cards of a process give: the fields at the targets of its share, and what was done.
pub(crate) struct Found {
    pub fields: Vec<Field>,
    pub stats: Stats,
    /// The targets whose fields each process has, by their place among all.
    pub shares: Vec<Range<usize>>,
    /// The run of each set, and the seconds in which they waited for slower processes.
    pub runs: Vec<Run>,
    pub waited: f64,
}

/// The same, or why the problem is one for P2P on the card beside the CPU.
pub(crate) type Part = Result<Found, String>;

impl Found {
    pub fn solutions(self) -> Solutions {
        Solutions { fields: self.fields, stats: self.stats }
    }
}

/// Where the slices of processes begin in the whole input, in which targets that are others stand behind the sources.
struct Places {
    starts: [Vec<usize>; 2],
}

impl Places {
    fn new(others: &dyn Others, geometry: Geometry) -> Result<Places, CudaError> {
        let own = [geometry.sources[0].len() as u64, geometry.targets.map_or(0, |targets| targets[0].len()) as u64];
        let all = numbers(others, &own)?;
        let starts = |k: usize, first: usize| {
            let ends = all.iter().scan(first, |end, one: &Vec<u64>| {
                *end += one[k] as usize;
                Some(*end)
            });
            std::iter::once(first).chain(ends).collect::<Vec<usize>>()
        };
        let sources = starts(0, 0);
        let targets = starts(1, sources[others.count()]);
        Ok(Places { starts: [sources, targets] })
    }

    /// How many sources and targets there are.
    fn counts(&self) -> [usize; 2] {
        self.starts.each_ref().map(|starts| starts[starts.len() - 1] - starts[0])
    }

    /// Stretches of a column that cover all of it: own ones, and those that the other processes have sent.
    fn stretches<'a>(&self, own: usize, columns: &[&'a [f64]], found: &'a [Vec<u8>]) -> Vec<Stretch<'a>> {
        let mut all: Vec<Stretch> =
            columns.iter().zip(&self.starts).map(|(column, starts)| Stretch::new(starts[own], column)).collect();
        for (process, bytes) in found.iter().enumerate().filter(|(process, _)| *process != own) {
            let mut bytes = &bytes[..];
            for starts in &self.starts[..columns.len()] {
                let count = starts[process + 1] - starts[process];
                let (one, behind) = bytes.split_at(count * size_of::<f64>());
                all.push(Stretch { at: starts[process], bytes: one });
                bytes = behind;
            }
        }
        all
    }
}

/// Sends a column to the cards of all processes, of which each has its slices: of the sources, and behind them of the targets. `more`
/// stands behind all of them.
fn share_column<T: Number, C: Card>(
    team: &Team<C>,
    whole: &mut Whole<T, C>,
    places: &Places,
    (column, slices, more): (usize, &[&[f64]], Option<Stretch>),
) -> Result<(), CudaError> {
    let found = match team.is_alone() {
        true => Vec::new(),
        false => {
            let mut out = Vec::with_capacity(slices.iter().map(|slice| size_of_val(*slice)).sum::<usize>() + 1);
            slices.iter().for_each(|slice| push(&mut out, bytes_of(slice)));
            team.others.gather(out)?
        }
    };
    let mut stretches = places.stretches(team.others.number(), slices, &found);
    stretches.extend(more);
    whole.send(team, column, &stretches)
}

impl Task<'_> {
    pub fn run<T: Number, C: Card>(&self, team: &Team<C>, whole: &mut Whole<T, C>) -> Result<Part, CudaError> {
        let (start, before) = (Instant::now(), team.others.waited());
        let Geometry { sources, targets } = self.geometry;
        let places = Places::new(team.others, self.geometry)?;
        let counts = places.counts();
        let n = counts[0] + counts[1];
        let leaf = self.leaf.unwrap_or_else(|| Gpu::whole_leaf(n, self.options));
        whole.make_room(team, n, counts[0])?;
        for axis in 0..3 {
            // Targets that are no sources are particles without a charge, behind the sources.
            let slices: Vec<&[f64]> = std::iter::once(sources[axis]).chain(targets.map(|t| t[axis])).collect();
            share_column(team, whole, &places, (axis, &slices, None))?;
        }
        team.cards.iter().try_for_each(C::finish)?;
        let (mut fields, mut stats, mut runs) = (Vec::new(), Stats::default(), Vec::new());
        let waited = || team.others.waited() - before;
        let mut times = OnCard { sent: start.elapsed().as_secs_f64() - waited(), ..OnCard::default() };
        let mut in_runs = 0.0;
        let without = if targets.is_some() { counts[0] } else { 0 };
        let none = vec![0.0; counts[1]];
        for charges in self.sets {
            let (sending, so_far) = (Instant::now(), waited());
            let none = targets.map(|_| Stretch::new(counts[0], &none));
            share_column(team, whole, &places, (3, &[charges], none))?;
            team.cards.iter().try_for_each(C::finish)?;
            times.sent += sending.elapsed().as_secs_f64() - (waited() - so_far);
            let so_far = waited();
            let run = match whole.run(team, leaf, self.options.eps)? {
                Outcome::Done(run) => run,
                Outcome::Unfit(why) => return Ok(Err(why)),
            };
            times.computed += run.total;
            in_runs += waited() - so_far;
            let back = Instant::now();
            let [potential, x, y, z] = whole.fetch(team, without, factors(&run))?;
            fields.push(Field { potential, gradient: Some([x, y, z]), hessian: None });
            times.fetched += back.elapsed().as_secs_f64();
            self.add(&run, &mut stats);
            runs.push(*run);
        }
        (stats.n, stats.leaf) = (counts[0], leaf);
        stats.targets = targets.map(|_| counts[1]);
        stats.on_card = Some(times);
        stats.seconds.total = start.elapsed().as_secs_f64();
        let share = |process: usize| {
            let share = team.share(n, process);
            share.start.max(without) - without..share.end.max(without) - without
        };
        let shares = (0..team.others.count()).map(share).collect();
        Ok(Ok(Found { fields, stats, shares, runs, waited: in_runs }))
    }
}
