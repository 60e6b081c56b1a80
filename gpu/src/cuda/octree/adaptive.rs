//! Runs in an adaptive tree, for particles that a tree of one depth does not suit.
//!
//! One sort of all particles by Morton key gives the cells of all levels at once; lists follow from the cells around each cell. Every
//! GPU of a run has all particles and the whole tree, and computes the results of some leaves that follow each other, so that only
//! particles and results are exchanged, and the bits are those of one GPU.

mod memory;
mod shares;
mod stages;

use super::communicator::{Team, Transfer, numbers};
use super::depth::{Prices, best_leaf, best_of_any, cost};
use super::loaded::compiled;
use super::periodic::{self, Images};
use super::run::{Scales, Tick};
use super::tables::Tables;
use super::text::{Shape, adaptive as text_of};
use super::{Fields, GpuFmm, Loaded, Run, Status, TreeKind};
use crate::cuda::CudaError;
use crate::cuda::driver::{Kernels, Outcome, Times};
use crate::cuda::gpu_device::{GpuDevice, Size};
use crate::cuda::p2p::Number;
use fmm::direct::p2p::Limits;
use fmm::tree::lists::reach;
pub use memory::Problem;
use memory::{COUNTS, Counted, DEEPEST, Levels, ListRoom, MOST_LEAF, Memory, SHORT};
use pg2::backend::cuda::p2p::{Real, Unfit};
use shares::Shares;
use stages::{Lists, On};

const KERNELS: [&str; 19] = [
    "keys",
    "count_digits",
    "scan_rows",
    "place_digits",
    "place_records",
    "mark_cells",
    "make_cells",
    "find_colleagues",
    "list_leaves",
    "list_cells",
    "share_leaves",
    "p2m",
    "m2m",
    "m2l",
    "l2l",
    "p2p",
    "again",
    "l2p",
    "spread",
];

/// Those of the lists W and X, which are empty where a kernel is expanded as it is: they go by properties of harmonics.
const KERNELS_OF_LISTS: [&str; 2] = ["p2l", "m2p"];

/// Kernels, tables and memory of the adaptive tree on a GPU.
pub struct Adaptive<T: Number, C: GpuDevice> {
    pub shape: Shape,
    pub kernels: Kernels<C>,
    pub tables: Tables<T, C>,
    memory: Memory<T, C>,
}

/// Cells that lists have room for beside numbers of images, of which there are as many as ways to cells that may be near.
fn most_beside(ways: usize) -> usize {
    (1 << u32::BITS) >> (usize::BITS - ways.leading_zeros())
}

/// Pairs of P2P a particle up to which a run takes place. Only leaves on the deepest level have more.
const MOST_PAIRS: f64 = 1e5;

/// The particles of a leaf at most, in a tree whose leaves are to have so many in the mean if the particles are even: twice as many, or,
/// if the mean is the one that costs least, what costs least here, for any number of particles.
fn most_of_leaf(mean: usize, n: usize, prices: Prices) -> usize {
    let most = if mean == best_leaf(n, prices) { best_of_any(prices) } else { mean.saturating_mul(2) };
    most.clamp(1, MOST_LEAF)
}

/// A tree in which particles are sorted: its levels, what kernels are told of it, the first sorted particle of each GPU's share of the
/// results and the end of all, and what each GPU has of the input.
pub(super) struct AdaptiveTree {
    levels: Levels,
    problem: Problem,
    ends: Vec<u32>,
    shares: Shares,
    lists: Lists,
}

impl<T: Number, C: GpuDevice> Loaded<T, C> {
    /// The GPU's data of an adaptive tree.
    fn tree(&self) -> &Memory<T, C> {
        &self.adaptive.as_ref().expect("it was made").memory
    }

    fn tree_mut(&mut self) -> &mut Memory<T, C> {
        &mut self.adaptive.as_mut().expect("it was made").memory
    }

    /// The GPU in a run, alone or with others.
    fn on<'a>(&'a self, device: &'a C, (is_shared, fields): (bool, Fields), problem: Problem) -> On<'a, T, C> {
        let Adaptive { shape, kernels, tables, memory } = self.adaptive.as_ref().expect("it was made");
        let particles = &self.particles;
        let [x, y, z, q, px, py, pz] = std::array::from_fn(|k| match is_shared {
            true => memory.input[k].place(device),
            false => device.place(particles.column(k)),
        });
        // The order of particles in a tree of one depth is not used here, nor are they.
        let (near, out, again) = match is_shared {
            true => (memory.near.place(device), device.place(&particles.near), memory.again.place(device)),
            false => (device.place(&particles.near), device.place(&particles.records), device.place(&particles.order)),
        };
        let problem = Problem {
            input: [x, y, z, q],
            dipoles: [px, py, pz],
            near,
            out,
            again,
            tables: tables.places(device),
            law: device.place(&tables.law),
            ..problem
        };
        let place = |of: fn(&Images<C>, &C) -> u64| self.images.as_ref().map_or(0, |images| of(images, device));
        let problem = Problem { lattice: place(Images::lattice), moments: place(Images::moments), ..problem };
        On {
            device,
            kernels,
            shape,
            memory,
            is_periodic: self.images.is_some(),
            fields,
            problem: memory.places(device, problem),
        }
    }
}

impl<T: Number, C: GpuDevice> GpuFmm<T, C> {
    /// Sorts the particles and makes the cells of their tree.
    pub(super) fn make_adaptive(
        &mut self,
        team: &Team<C>,
        scales: &Scales,
        leaf: usize,
    ) -> Result<Outcome<AdaptiveTree>, CudaError> {
        self.prepare_adaptive(team)?;
        let shares = self.shares(team)?;
        let (n, width, record, columns) = (self.n, self.width(), self.shape.record(), self.columns());
        for (device, loaded) in team.devices.iter().zip(&mut self.loaded) {
            let memory = loaded.tree_mut();
            memory.for_particles(device, n, record)?;
            if team.all() > 1 {
                memory.input[..columns].iter_mut().try_for_each(|column| column.reserve(device, n))?;
                memory.near.reserve(device, width * n)?;
                memory.again.reserve(device, n)?;
            }
            device.clear(memory.status.memory.as_mut().expect("it was reserved"))?;
        }
        self.share_input(team, &shares, 0)?;
        let mut problem = self.adaptive_problem(scales, &shares, most_of_leaf(leaf, n, self.prices));
        let levels = self.levels(team, &mut problem)?;
        if let Err(why) = self.expand(team, scales, (levels.deepest as u32, TreeKind::Adaptive))? {
            return Ok(Err(why));
        }
        if let Some([potential, gradient]) = self.units_of_kernel() {
            problem = Problem { potential, gradient, ..problem };
        }
        let eps = scales.map.length(scales.eps) * 2f64.powi(levels.deepest as i32);
        if eps > Limits::of::<T>().eps {
            return Ok(Err("the softening length is very large beside the smallest cells".into()));
        }
        problem = Problem {
            level_start: levels.starts,
            cell_count: levels.cells() as u64,
            leaf_count: levels.leaves() as u64,
            deepest: levels.deepest as u64,
            ..problem
        };
        let ways = (2 * reach(self.near2) as usize + 1).pow(3);
        let most = most_beside(ways);
        if self.periodic.is_some() && levels.cells() > most {
            return Ok(Err(format!("with periodic boundaries an adaptive tree has at most {most} cells")));
        }
        let tiles = levels.tiles(self.first_level().max(1) as usize);
        for (device, loaded) in team.devices.iter().zip(&mut self.loaded) {
            let Adaptive { shape, memory, .. } = loaded.adaptive.as_mut().expect("it was made");
            memory.for_cells(device, &levels, (shape.pitch, ways), (n, shape.targets()))?;
            let guess = ListRoom { u: 48 * levels.leaves(), w: 8 * levels.leaves(), x: 4 * levels.cells() };
            memory.for_lists(device, guess)?;
            device.clear(memory.masks.memory.as_mut().expect("it was reserved"))?;
            device.write(&tiles, memory.tiles.memory.as_mut().expect("it was reserved"), 0)?;
        }
        self.ons(team, problem).iter().try_for_each(|on| on.make_cells(&levels))?;
        let ends = self.ends(team, problem)?;
        Ok(Ok(AdaptiveTree { levels, problem, ends, shares, lists: Lists::Wanted }))
    }

    /// Columns of the input.
    fn columns(&self) -> usize {
        if self.shape.wanted.dipoles { 7 } else { 4 }
    }

    /// Gives every GPU the columns of the input of all from a number on, if there are several.
    fn share_input(&self, team: &Team<C>, shares: &Shares, first: usize) -> Result<(), CudaError> {
        if team.all() == 1 {
            return Ok(());
        }
        let (count, copies) = (team.devices.len(), shares.to_all());
        for column in first..self.columns() {
            let from: Vec<_> = self.loaded[..count].iter().map(|l| l.particles.column(column)).collect();
            let to: Vec<_> = self.loaded[..count].iter().map(|l| l.tree().input[column].get()).collect();
            team.transfer(&from, &to, &copies)?;
        }
        Ok(())
    }

    /// A tree with its lists, with the charges that the particles have now.
    pub(super) fn with_charges_adaptive(
        &mut self,
        team: &Team<C>,
        scales: &Scales,
        tree: AdaptiveTree,
    ) -> Result<AdaptiveTree, CudaError> {
        self.share_input(team, &tree.shares, 3)?;
        let problem = Problem { charge: 2f64.powi(-scales.exponent), ..tree.problem };
        for on in self.ons(team, problem) {
            on.place_records()?;
        }
        for (device, loaded) in team.devices.iter().zip(&mut self.loaded) {
            let status = loaded.tree_mut().status.memory.as_mut().expect("it was reserved");
            let mut words = [0; Counted::WORDS];
            device.read(status, 0, &mut words)?;
            device.write(&Counted { again: 0, close: 0, lost: 0, ..Counted::new(&words) }.words(), status, 0)?;
        }
        Ok(AdaptiveTree { problem, lists: Lists::There, ..tree })
    }

    /// The stages in a tree, with its lists.
    pub(super) fn run_adaptive(
        &mut self,
        team: &Team<C>,
        scales: &Scales,
        tree: &AdaptiveTree,
        tick: &mut Tick,
    ) -> Result<Outcome<Run>, CudaError> {
        let AdaptiveTree { levels, ends, shares, lists, .. } = tree;
        let problem = tree.problem;
        self.begin_sums(team, |loaded| match team.all() {
            1 => &mut loaded.particles.near,
            _ => loaded.tree_mut().near.memory.as_mut().expect("it was reserved"),
        })?;
        // Where lists need more memory than there was, they are made again, and what depends on them.
        stages::stages(&self.shared(team, problem, ends), levels, *lists, tick)?;
        let is_shared = team.all() > 1;
        if !is_shared {
            tick()?;
        }
        while self.grow(team, problem, ends)? {
            stages::stages(&self.shared(team, problem, ends), levels, Lists::Wanted, &mut || Ok(()))?;
        }
        let all = self.shared(team, problem, ends);
        if is_shared {
            self.gather(team, &all, shares, ends)?;
            tick()?;
        }
        let all = all.iter().map(On::counted).collect::<Result<Vec<_>, _>>()?;
        let own = self.sum(team, &all)?;
        if own.p2p > problem.most_pairs {
            return Ok(Err("the particles are too uneven: many are in one place".into()));
        }
        if own.lost > 0 {
            return Ok(Err("some particles are so close that a result leaves the arithmetic".into()));
        }
        let targets: u32 = team.own().map(|device| ends[device + 1] - ends[device]).sum();
        Ok(Ok(Run {
            map: scales.map,
            exponent: scales.exponent,
            depth: levels.deepest as u32,
            pairs: own.p2p,
            far: [all[0].m2l, own.m2p, own.p2l],
            status: Status { again: own.again, close: own.close, lost: 0, wanted: 0 },
            times: Times::default(),
            travelled: 0.0,
            work: 1e-9 * cost(all.iter().map(|one| one.p2p as f64).sum(), 0, self.prices),
            targets: targets as u64,
        }))
    }

    /// Sorts the particles and counts their cells. A sort by the upper digits is enough for most; whether it is depends on the particles
    /// alone, so that their order does too.
    fn levels(&mut self, team: &Team<C>, problem: &mut Problem) -> Result<Levels, CudaError> {
        let mut sorted = |first: u32, last: usize| {
            problem.last_level = last as u64;
            self.ons(team, *problem).iter().try_for_each(|on| on.sort(first))?;
            let mut totals = vec![0; COUNTS];
            team.devices[0].read(self.loaded[0].tree().totals.get(), 0, &mut totals)?;
            Ok(Levels::new(totals))
        };
        let (first, last) = SHORT;
        let mut levels = None;
        // What suited the last run is tried first.
        if self.is_deep {
            levels = Some(sorted(0, DEEPEST)?).filter(|levels| levels.deepest > last);
        }
        let levels = match levels {
            Some(levels) => levels,
            None => match sorted(first, last)? {
                levels if levels.are_full() => sorted(0, DEEPEST)?,
                levels => levels,
            },
        };
        self.is_deep = levels.deepest > last;
        Ok(levels)
    }

    /// Compiles the kernels and sends their tables, unless they are there.
    fn prepare_adaptive(&mut self, team: &Team<C>) -> Result<(), CudaError> {
        if self.loaded[..team.devices.len()].iter().all(|loaded| loaded.adaptive.is_some()) {
            return Ok(());
        }
        let memory = team.devices.iter().map(C::shared_memory).try_fold(usize::MAX, |a, b| b.map(|b| a.min(b)))?;
        let shape = Shape::adaptive(self.basis(), self.order, T::REAL).with_memory(memory);
        let shape = shape.with_wanted(self.shape.wanted, T::REAL);
        let dense = shape.dense(self.order, self.near2, self.lower_beyond);
        let text = text_of::<T>(&self.graph, &dense, &shape, self.periodic.is_some());
        let text = text.map_err(|Unfit(why)| CudaError::Failed(why))?;
        for (device, loaded) in team.devices.iter().zip(&mut self.loaded) {
            let of_images: &[&str] = if self.periodic.is_some() { &["far_images"] } else { &[] };
            let of_basis: &[&str] = if self.black_box.is_some() { &["place_matrices"] } else { &KERNELS_OF_LISTS };
            let names = KERNELS.iter().chain(of_images).chain(of_basis).copied();
            let kernels = compiled::<T, C>(device, &text, names, &shape)?;
            let tables = Tables::new(device, &dense, &shape, |of| {
                let problem = Problem { tables: of.places, ..Problem::default() };
                kernels.launch(device, "make_matrices", Size::new(of.rows, 256), &problem, &[])
            })?;
            loaded.adaptive = Some(Adaptive { shape, kernels, tables, memory: Memory::default() });
        }
        Ok(())
    }

    fn shares(&self, team: &Team<C>) -> Result<Shares, CudaError> {
        let own = self.loaded[..team.devices.len()].iter().flat_map(|l| l.share.each_ref().map(|s| s.len() as u64));
        let own: Vec<u64> = own.collect();
        let all = if team.is_alone() { vec![own] } else { team.travel(|| numbers(team.others, &own))? };
        Ok(Shares(all.concat().chunks_exact(2).map(|pair| [pair[0] as usize, pair[1] as usize]).collect()))
    }

    /// Numbers that all GPUs have in common before there are cells.
    fn adaptive_problem(&self, scales: &Scales, shares: &Shares, most_leaf: usize) -> Problem {
        let (map, units) = (&scales.map, self.units);
        let eps = map.scaled(scales.eps);
        // The frame of P2P: boxes in f32, of which a cell's edge is left out, and scaled coordinates in f64.
        let unit = if T::REAL == Real::F32 { map.size } else { 1.0 };
        let boxes = map.size / unit;
        let is_apart = self.loaded[0].places.is_apart;
        Problem {
            shift: 2f64.powi(-map.shift),
            centre: map.centre,
            rest: map.rest,
            size: map.size,
            charge: 2f64.powi(-scales.exponent),
            eps2: (eps / unit).powi(2),
            wide_eps2: eps * eps,
            potential: boxes / (units.length * units.potential),
            gradient: boxes * boxes / (units.length * units.length * units.gradient),
            n: self.n as u64,
            again_room: self.n as u64,
            targets: if is_apart == 1 { shares.sources() } else { self.n } as u64,
            is_apart,
            is_shared: (shares.0.len() > 1) as u64,
            most_leaf: most_leaf as u64,
            // Cells of a black-box expansion that are near to cells of other levels act by P2P.
            worth: if self.black_box.is_some() { u64::MAX } else { self.prices.worth() as u64 },
            end_target: self.n as u32,
            most_pairs: (MOST_PAIRS * self.n as f64) as u64,
            wraps: periodic::wraps(self.periodic.as_ref()),
            ..Problem::default()
        }
    }

    /// The GPUs of this process, with where everything is.
    fn ons<'a>(&'a self, team: &Team<'a, C>, problem: Problem) -> Vec<On<'a, T, C>> {
        let all = team.devices.iter().zip(&self.loaded);
        all.map(|(device, loaded)| loaded.on(device, (team.all() > 1, self.fields), problem)).collect()
    }

    /// The same, each with its share of the results.
    fn shared<'a>(&'a self, team: &Team<'a, C>, problem: Problem, ends: &[u32]) -> Vec<On<'a, T, C>> {
        let mut all = self.ons(team, problem);
        for (on, number) in all.iter_mut().zip(team.own()) {
            (on.problem.first_target, on.problem.end_target) = (ends[number], ends[number + 1]);
        }
        all
    }

    /// The first sorted particle of each GPU's share of the results, and the end of all: leaves that follow each other, with about as many
    /// particles.
    fn ends(&self, team: &Team<C>, problem: Problem) -> Result<Vec<u32>, CudaError> {
        if team.all() == 1 {
            return Ok(vec![0, self.n as u32]);
        }
        let (all, devices) = (self.ons(team, problem), team.all() as u32);
        all[0].launch("share_leaves", Size::new(1, 128), &[devices])?;
        let mut ends = vec![0; team.all() + 1];
        team.devices[0].read(all[0].memory.counts.get(), 0, &mut ends)?;
        Ok(ends)
    }

    /// Gives every GPU the results of all, and the parts of the input theirs.
    fn gather(&self, team: &Team<C>, all: &[On<T, C>], shares: &Shares, ends: &[u32]) -> Result<(), CudaError> {
        let near: Vec<_> = all.iter().map(|on| on.memory.near.get()).collect();
        let (devices, width) = (team.all(), self.width());
        let of = |from: usize| {
            let part = width * ends[from] as usize..width * ends[from + 1] as usize;
            let to = (0..devices).filter(move |to| *to != from);
            to.map(move |to| Transfer { from, at: part.start, part: part.clone(), to })
        };
        team.transfer(&near, &near, &(0..devices).flat_map(of).collect::<Vec<_>>())?;
        all.iter().zip(team.own()).try_for_each(|(on, number)| {
            let [sources, targets] = shares.of(number).map(|share| [share.start as u32, share.len() as u32]);
            on.launch("spread", Size::of_threads(self.n), &[sources[0], sources[1], targets[0], targets[1]])
        })
    }

    /// Whether the lists of a GPU of this process lack memory, which they have after this.
    fn grow(&mut self, team: &Team<C>, problem: Problem, ends: &[u32]) -> Result<bool, CudaError> {
        let all = self.shared(team, problem, ends);
        let counted = all.iter().map(On::counted).collect::<Result<Vec<_>, _>>()?;
        let lacks = |(on, counted): (&On<T, C>, &Counted)| {
            let Problem { u_room, w_room, x_room, .. } = on.problem;
            counted.u > u_room || counted.w > w_room || counted.x > x_room
        };
        if !all.iter().zip(&counted).any(lacks) {
            return Ok(false);
        }
        for ((device, loaded), counted) in team.devices.iter().zip(&mut self.loaded).zip(counted) {
            let [u, w, x] = [counted.u, counted.w, counted.x].map(|count| count as usize);
            let memory = loaded.tree_mut();
            memory.for_lists(device, ListRoom { u, w, x })?;
            let kept = Counted { m2l: counted.m2l, ..Counted::default() };
            device.write(&kept.words(), memory.status.memory.as_mut().expect("it was reserved"), 0)?;
        }
        Ok(true)
    }

    /// The counts of all GPUs together.
    fn sum(&self, team: &Team<C>, own: &[Counted]) -> Result<Counted, CudaError> {
        let own = own.iter().copied().fold(Counted::default(), Counted::plus);
        if team.is_alone() {
            return Ok(own);
        }
        let all = team.travel(|| numbers(team.others, &own.words()))?;
        let counted = |words: &Vec<u64>| Counted::new(words);
        Ok(all.iter().map(counted).fold(Counted::default(), Counted::plus))
    }
}
