//! The stages from P2M on, and what GPUs give each other meanwhile.

use super::cells::level_start;
use super::communicator::{Team, Transfer, both};
use super::memory::{Parts, Problem};
use super::run::{Plan, Tick};
use super::split::{LeafShare, Span};
use super::{Fields, GpuFmm, Loaded};
use crate::cuda::CudaError;
use crate::cuda::gpu_device::{GpuDevice, Size, Stream};
use crate::cuda::p2p::Number;
use pg2::backend::cuda::p2p::Real;
use std::ops::Range;

/// Blocks of `again`, which go through their work in turn.
pub const AGAIN_BLOCKS: u32 = 1056;

/// The least level above the leaves whose expansions several GPUs compute each for its part, and exchange: below it, computing all takes
/// less time than the copies.
const SHARED_LEVEL: u32 = 3;

/// A GPU in one run.
pub struct On<'a, T: Number, C: GpuDevice> {
    pub device: &'a C,
    pub loaded: &'a Loaded<T, C>,
    pub problem: Problem,
    pub part: LeafShare,
}

impl Plan {
    /// The particles of each part of the input that a GPU is given, by their places in the sorted share, and where they stand among
    /// what other GPUs send it.
    fn given(&self, parts: Parts, device: usize) -> impl Iterator<Item = (usize, Range<usize>, usize)> {
        let mut arrived = 0;
        (0..parts.count()).map(move |part| {
            let places = self.rows.of_part(part, self.parts[device].around, self.depth);
            let before = arrived;
            arrived += if parts.of(device).contains(&part) { 0 } else { places.len() };
            (part, places, before)
        })
    }

    /// The transfers between GPUs of their sorted shares, of so many numbers a particle.
    pub fn around(&self, parts: Parts, width: usize) -> Vec<Transfer> {
        let of = |to: usize| {
            let others = self.given(parts, to).filter(move |(part, ..)| !parts.of(to).contains(part));
            others.map(move |(part, places, at)| {
                let part_of = width * places.start..width * places.end;
                Transfer { from: part / parts.kinds, part: part_of, to, at: width * at }
            })
        };
        (0..parts.devices).flat_map(of).collect()
    }

    /// For each GPU what it has results of: each part of the input in the places of its sorted share, and where they stand among its
    /// results.
    fn results(&self, parts: Parts, device: usize) -> impl Iterator<Item = (usize, Range<usize>, usize)> {
        let mut before = 0;
        (0..parts.count()).map(move |part| {
            let places = self.rows.of_part(part, self.parts[device].own, self.depth);
            before += places.len();
            (part, places.clone(), before - places.len())
        })
    }

    /// For each GPU what takes places of sorted shares to those of its results.
    pub fn bases(&self, parts: Parts) -> Vec<Vec<u32>> {
        let of = |device: usize| {
            self.results(parts, device).map(|(_, places, at)| (at as u32).wrapping_sub(places.start as u32)).collect()
        };
        (0..parts.devices).map(of).collect()
    }

    /// The transfers of results, of so many numbers each, to the GPUs that have their part of the input.
    fn results_back(&self, parts: Parts, width: usize) -> Vec<Transfer> {
        let of = |from: usize| {
            self.results(parts, from).map(move |(part, places, at)| {
                let results = width * at..width * (at + places.len());
                Transfer { from, part: results, to: part / parts.kinds, at: width * places.start }
            })
        };
        (0..parts.devices).flat_map(of).collect()
    }
}

impl<T: Number, C: GpuDevice> GpuFmm<T, C> {
    /// All stages from P2M on.
    pub(super) fn stages(
        &self,
        team: &Team<C>,
        all: &[On<T, C>],
        plan: &Plan,
        tick: &mut Tick,
    ) -> Result<(), CudaError> {
        let (shape, depth, first) = (&self.shape, plan.depth, self.first_level());
        // P2P fills a GPU that has few cells to go over or waits for the last of them; it has the seconds from the end of L2L on.
        for on in all {
            on.device.fork()?;
            if self.fields == Fields::Far {
                continue;
            }
            let size = Size { blocks: on.part.blocks, threads: shape.threads as u32 };
            on.loaded.kernels.launch_in(Stream::Beside, on.device, "p2p", size, &on.problem, &[])?;
        }
        if depth >= first {
            all.iter().try_for_each(|on| on.of_leaves("p2m"))?;
            let leaves: Vec<Span> = plan.parts.iter().map(|part| part.own).collect();
            let wanted = wanted(team, &leaves, depth, self.reach());
            self.exchange_expansions(team, all, depth, &leaves, &wanted)?;
        }
        tick()?;
        for level in (first..depth).rev() {
            let is_shared = team.all() > 1 && level + 1 == depth && level >= SHARED_LEVEL;
            let every = Span { first: 0, end: 1 << (3 * level) };
            for on in all {
                let span = if is_shared { on.part.parents[level as usize] } else { every };
                on.launch("m2m", shape.m2m(span.len() as usize), &[level, span.first, span.end])?;
            }
            if is_shared {
                let spans: Vec<Span> = plan.parts.iter().map(|part| part.parents[level as usize]).collect();
                self.exchange_expansions(team, all, level, &apart(&spans), &vec![every; team.all()])?;
            }
        }
        if self.periodic.is_some() {
            let size = Size { blocks: 1, threads: shape.terms as u32 };
            all.iter().try_for_each(|on| on.launch("far_images", size, &[]))?;
        }
        tick()?;
        // The first level with cells that are far from each other.
        let far = first.max(1);
        if depth >= far {
            for on in all {
                let above = &on.part.parents[far as usize - 1..depth as usize];
                let tiles = above.iter().map(|span| 8 * span.len().div_ceil(64) as usize).sum();
                on.launch("m2l", shape.m2l(tiles), &[])?;
            }
        }
        tick()?;
        for level in first..depth {
            let size = |on: &On<T, C>| shape.l2l(on.part.parents[level as usize].len() as usize);
            all.iter().try_for_each(|on| on.launch("l2l", size(on), &[level]))?;
        }
        tick()?;
        all.iter().try_for_each(|on| on.device.join())?;
        // In f32, the coordinates of close pairs may be in the shares of GPUs whose memory is not read.
        let are_apart = all.iter().any(|on| on.problem.peers == 0);
        let close = match T::REAL == Real::F32 && team.all() > 1 && are_apart {
            true => self.ask(team, all)?,
            false => Vec::new(),
        };
        for (k, on) in all.iter().enumerate() {
            let wide = close.get(k).map_or(0, |wide| on.device.place(wide));
            let problem = Problem { wide, ..on.problem };
            on.loaded.kernels.launch(on.device, "again", Size { blocks: AGAIN_BLOCKS, threads: 128 }, &problem, &[])?;
        }
        tick()?;
        all.iter().try_for_each(|on| on.launch("l2p", shape.l2p(on.part.own.len() as usize), &[]))?;
        self.exchange_results(team, all, plan)?;
        tick()
    }

    /// Gives every GPU the multipole expansions that the others have of the cells of a level, as far as it wants them.
    fn exchange_expansions(
        &self,
        team: &Team<C>,
        all: &[On<T, C>],
        level: u32,
        spans: &[Span],
        wanted: &[Span],
    ) -> Result<(), CudaError> {
        if team.all() == 1 {
            return Ok(());
        }
        let m: Vec<_> = all.iter().map(|on| &on.loaded.cells.as_ref().expect("it has a tree").m).collect();
        let first = level_start(level, self.first_level());
        let place = |cell: u32| (first + cell as usize) * self.shape.pitch;
        let places = |span: &Span| place(span.first)..place(span.end);
        let mut copies = Vec::new();
        for (from, span) in spans.iter().enumerate() {
            for (to, wanted) in wanted.iter().enumerate().filter(|(to, _)| *to != from) {
                let part = both(&places(span), &places(wanted));
                copies.push(Transfer { from, at: part.start, part, to });
            }
        }
        team.transfer(&m, &m, &copies)
    }

    /// Gives every GPU what all have for its share of the input, in the order of that.
    fn exchange_results(&self, team: &Team<C>, all: &[On<T, C>], plan: &Plan) -> Result<(), CudaError> {
        if team.all() == 1 {
            return all.iter().try_for_each(On::spread_alone);
        }
        let (from, to): (Vec<_>, Vec<_>) =
            all.iter().map(|on| (&on.loaded.particles.out, &on.loaded.particles.records)).unzip();
        team.transfer(&from, &to, &plan.results_back(self.parts, self.width()))?;
        all.iter().try_for_each(|on| on.of_particles("spread", on.problem.n as u32, &[]))
    }
}

/// The leaves whose expansions each GPU needs of the others: those in the lists of its own leaves and those below their parents; all of
/// them where each GPU computes M2M of all cells, or images of cells may be anywhere. The GPUs of one of several processes are given the
/// same, which is sent once.
fn wanted<C: GpuDevice>(team: &Team<C>, leaves: &[Span], depth: u32, reach: Option<u32>) -> Vec<Span> {
    let (side, count) = (1u32 << depth, 1u32 << (3 * depth));
    // How far cells in a list are, where near ones are so far along an axis.
    let listed = reach.map(|reach| (2 * reach + 1) * (side * side + side + 1));
    let of = |device: usize| {
        let numbers = if team.is_alone() { device..device + 1 } else { team.numbers(device / team.devices.len()) };
        let (first, end) = (leaves[numbers.start].first, leaves[numbers.end - 1].end);
        match listed {
            Some(_) if first == end && depth > SHARED_LEVEL => Span { first, end },
            Some(reach) if depth > SHARED_LEVEL => {
                Span { first: first.saturating_sub(reach), end: (end + reach).min(count) }
            }
            _ => Span { first: 0, end: count },
        }
    };
    (0..team.all()).map(of).collect()
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

impl<T: Number, C: GpuDevice> On<'_, T, C> {
    pub fn launch(&self, name: &str, size: Size, numbers: &[u32]) -> Result<(), CudaError> {
        self.loaded.kernels.launch(self.device, name, size, &self.problem, numbers)
    }

    /// A kernel with a thread for each of some particles.
    pub fn of_particles(&self, name: &str, particles: u32, numbers: &[u32]) -> Result<(), CudaError> {
        self.launch(name, Size::of_threads(particles as usize), numbers)
    }

    /// Brings the results of one GPU, which has no others to wait for, from their places among sorted particles to where these stood.
    fn spread_alone(&self) -> Result<(), CudaError> {
        let Problem { near, records, n, .. } = self.problem;
        let problem = Problem { near: records, records: near, ..self.problem };
        self.loaded.kernels.launch(self.device, "spread", Size::of_threads(n as usize), &problem, &[])
    }

    /// Makes the sorted particles of its share once more.
    pub fn refill(&self) -> Result<(), CudaError> {
        self.of_particles("refill", self.problem.n as u32, &[])
    }

    /// Puts the particles of its share in order.
    pub fn sort(&self) -> Result<(), CudaError> {
        self.of_particles("scatter", self.problem.n as u32, &[])?;
        self.of_particles("settle", self.problem.n as u32, &[])
    }

    /// Puts the particles of its leaves, and of those near them, in order, once they have arrived.
    pub fn merge(&self, plan: &Plan, parts: Parts) -> Result<(), CudaError> {
        plan.given(parts, self.problem.device as usize).try_for_each(|(part, places, from)| {
            let numbers = [part, places.start, places.len(), from].map(|number| number as u32);
            self.of_particles("merge", places.len() as u32, &numbers)
        })
    }

    /// A kernel with a warp for each of its leaves.
    fn of_leaves(&self, name: &str) -> Result<(), CudaError> {
        self.launch(name, Size::of_warps(self.part.own.len() as usize), &[])
    }
}
