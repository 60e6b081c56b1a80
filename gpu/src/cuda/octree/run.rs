//! One run of all stages: box, tree, the shares of the GPUs, and the stages.

use super::adaptive::AdaptiveTree;
use super::cells::{CellCounts, Cells};
use super::communicator::{Team, Transfer, bytes_of, numbers, of};
use super::depth::{cost, m2l_pairs};
use super::memory::{BOUNDS_BLOCKS, Bounds, Problem, Status};
use super::split::{LeafShare, Rows, cost_of, split};
use super::stages::On;
use super::{DEEPEST, Fields, GpuFmm, Loaded, NEAR2, Run, TreeKind, Units, depth_for, periodic};
use crate::cuda::CudaError;
use crate::cuda::driver::{Clock, Outcome, Times};
use crate::cuda::gpu_device::{GpuDevice, Size};
use crate::cuda::p2p::Number;
use fmm::arith::scale::exponent;
use fmm::data::periodic::Periodic;
use fmm::direct::p2p::Limits;
use fmm::tree::boxmap::BoxMap;
use pg2::backend::cuda::p2p::Real;
use std::ops::Range;

/// The cost of a tree of one depth, beside that of uniform particles in it, up to which it is not slower than an adaptive tree.
const MOST_COST: f64 = 1.7;

/// Greater powers of two than these are left to the caller.
const MOST_SHIFT: i32 = 60;
const MOST_EXPONENT: i32 = 500;

/// Notes the time between two stages on all GPUs.
pub type Tick<'a> = dyn FnMut() -> Result<(), CudaError> + 'a;

/// Lengths and charges of a run.
pub struct Scales {
    pub map: BoxMap,
    pub exponent: i32,
    pub eps: f64,
}

/// A tree whose cells are counted.
struct Counted {
    depth: u32,
    rows: Rows,
    pairs: u64,
}

/// The tree of a run, which serves other charges of the same particles.
pub(super) struct Kept {
    leaf: usize,
    eps: f64,
    tree: Tree,
}

/// A tree in which particles are sorted.
pub(super) enum Tree {
    OneDepth(Plan),
    Adaptive(Box<AdaptiveTree>),
}

/// The plan of all GPUs for a tree of one depth.
pub struct Plan {
    pub depth: u32,
    pub rows: Rows,
    pub parts: Vec<LeafShare>,
}

impl<T: Number, C: GpuDevice> GpuFmm<T, C> {
    /// All of it, from the particles as they were sent to results in the order of the input, in a tree whose leaves have at most
    /// `leaf` particles in the mean, or a deeper one. `eps` is the softening length of P2P. All processes see the same numbers, and so
    /// take the same decisions.
    pub fn run(&mut self, team: &Team<C>, leaf: usize, eps: f64) -> Result<Outcome<Run>, CudaError> {
        self.kept = None;
        self.run_again(team, leaf, eps)
    }

    /// The same, but where the last run was with particles in these places, for other charges or moments of theirs: in the tree and with
    /// the lists of that run.
    pub fn run_again(&mut self, team: &Team<C>, leaf: usize, eps: f64) -> Result<Outcome<Run>, CudaError> {
        let kept = self.kept.take().filter(|kept| (kept.leaf, kept.eps) == (leaf, eps));
        if self.n == 0 {
            return Ok(Err("there are no particles".into()));
        }
        let mut clocks: Vec<Clock<C, _>> = team.devices.iter().map(Clock::new).collect();
        let mut tick = || clocks.iter_mut().try_for_each(|clock| clock.tick(team.so_far()));
        tick()?;
        let bounds = self.bounds(team)?;
        let scales = match scales::<T>(&bounds, self.periodic.as_ref(), eps) {
            Ok(scales) => scales,
            Err(why) => return Ok(Err(why)),
        };
        self.moments(team, &scales)?;
        tick()?;
        let tree = match kept {
            Some(kept) => Ok(self.with_charges(team, &scales, kept.tree)?),
            None => self.make_tree(team, &scales, leaf)?,
        };
        let tree = match tree {
            Ok(tree) => tree,
            Err(why) => return Ok(Err(why)),
        };
        tick()?;
        let found = match &tree {
            Tree::OneDepth(plan) => self.run_at_one_depth(team, &scales, plan, &mut tick)?,
            Tree::Adaptive(tree) => self.run_adaptive(team, &scales, tree, &mut tick)?,
        };
        let mut run = match found {
            Ok(run) => run,
            Err(why) => return Ok(Err(why)),
        };
        for (k, clock) in clocks.iter().enumerate() {
            run.times = run.times.slowest(clock.read(|first, second| team.exchanging(k, first, second))?);
            // The exchange of what the GPUs counted comes behind the last event.
            let first = clock.first().expect("a run has begun");
            run.travelled = run.travelled.max(team.exchanging(k, first, &team.so_far())?);
        }
        self.kept = Some(Kept { leaf, eps, tree });
        Ok(Ok(run))
    }

    /// The tree that suits the particles, with these sorted in it.
    fn make_tree(&mut self, team: &Team<C>, scales: &Scales, leaf: usize) -> Result<Outcome<Tree>, CudaError> {
        // In a tree of one depth only neighbours of cells have images.
        let is_adaptive = self.tree == TreeKind::Adaptive || self.periodic.is_some() && self.near2 != NEAR2;
        let counted = if is_adaptive { None } else { self.tree(team, scales, leaf)? };
        let Some(Counted { depth, rows, .. }) = counted else {
            return Ok(self.make_adaptive(team, scales, leaf)?.map(|tree| Tree::Adaptive(Box::new(tree))));
        };
        let parts = split(&rows.rows, (depth, self.reach()), self.prices, team.all());
        let plan = Plan { depth, rows, parts };
        if let Err(why) = self.expand(team, scales, (plan.depth, TreeKind::OneDepth))? {
            return Ok(Err(why));
        }
        self.sort(team, scales, &plan)?;
        Ok(Ok(Tree::OneDepth(plan)))
    }

    /// A tree that was made before, with the charges that the particles have now.
    fn with_charges(&mut self, team: &Team<C>, scales: &Scales, tree: Tree) -> Result<Tree, CudaError> {
        match tree {
            Tree::OneDepth(plan) => {
                for (device, loaded) in team.devices.iter().zip(&mut self.loaded) {
                    let cells = loaded.cells.as_mut().expect("it has a tree");
                    device.write(&Status::default().words(), &mut cells.counted, 0)?;
                }
                self.on(team, scales, &plan).iter().try_for_each(On::refill)?;
                self.give_around(team, scales, &plan)?;
                Ok(Tree::OneDepth(plan))
            }
            Tree::Adaptive(tree) => Ok(Tree::Adaptive(Box::new(self.with_charges_adaptive(team, scales, *tree)?))),
        }
    }

    /// The stages in a tree of one depth whose particles are sorted.
    fn run_at_one_depth(
        &mut self,
        team: &Team<C>,
        scales: &Scales,
        plan: &Plan,
        tick: &mut Tick,
    ) -> Result<Outcome<Run>, CudaError> {
        self.begin_sums(team, |loaded| &mut loaded.particles.near)?;
        self.stages(team, &self.on(team, scales, plan), plan, tick)?;
        let mut status = self.status(team)?;
        if self.grow_again(team, &status)? {
            // Results stand where the sorted particles were.
            self.on(team, scales, plan).iter().try_for_each(On::refill)?;
            self.begin_sums(team, |loaded| &mut loaded.particles.near)?;
            self.stages(team, &self.on(team, scales, plan), plan, &mut || Ok(()))?;
            status = self.status(team)?;
        }
        if status.lost > 0 {
            return Ok(Err("some particles are so close that a result leaves the arithmetic".into()));
        }
        let own = &plan.parts[team.own()];
        Ok(Ok(Run {
            map: scales.map,
            exponent: scales.exponent,
            depth: plan.depth,
            pairs: plan.rows.pairs(),
            far: [m2l_pairs(plan.depth, self.near2, self.periodic.map_or([false; 3], |p| p.axes)), 0, 0],
            status,
            times: Times::default(),
            travelled: 0.0,
            work: own.iter().map(|part| 1e-9 * cost_of(&plan.rows.rows, part, plan.depth, self.prices)).sum(),
            targets: own.iter().map(|part| part.targets as u64).sum(),
        }))
    }

    /// Sums of 0 where P2P, which else writes the first ones, is left out.
    pub fn begin_sums(
        &mut self,
        team: &Team<C>,
        sums: impl Fn(&mut Loaded<T, C>) -> &mut C::Memory<T>,
    ) -> Result<(), CudaError> {
        if self.fields == Fields::All {
            return Ok(());
        }
        team.devices.iter().zip(&mut self.loaded).try_for_each(|(device, loaded)| device.clear(sums(loaded)))
    }

    /// Whether one GPU lacked room for targets to be computed again, which it has after this, with nothing counted.
    fn grow_again(&mut self, team: &Team<C>, status: &Status) -> Result<bool, CudaError> {
        if team.all() > 1 {
            return Ok(false);
        }
        let (device, loaded) = (&team.devices[0], &mut self.loaded[0]);
        let is_grown = loaded.particles.grow_again(device, status.again)?;
        if is_grown {
            let cells = loaded.cells.as_mut().expect("it has a tree");
            device.write(&Status::default().words(), &mut cells.counted, 0)?;
        }
        Ok(is_grown)
    }

    /// The counts that the GPUs made while they computed.
    fn status(&self, team: &Team<C>) -> Result<Status, CudaError> {
        let mut status = Status::default();
        for (device, loaded) in team.devices.iter().zip(&self.loaded) {
            status = status.plus(loaded.cells.as_ref().expect("it has a tree").status(device)?);
        }
        if team.is_alone() {
            return Ok(status);
        }
        let all = team.travel(|| numbers(team.others, &status.words()))?;
        Ok(all.iter().map(|words| Status::new(words)).fold(Status::default(), Status::plus))
    }

    /// The box and the charges of all particles.
    fn bounds(&self, team: &Team<C>) -> Result<Bounds, CudaError> {
        let (blocks, threads) = (BOUNDS_BLOCKS, 256);
        for (device, loaded) in team.devices.iter().zip(&self.loaded) {
            loaded.kernels.launch(device, "bounds", Size { blocks, threads }, &loaded.places, &[])?;
            loaded.kernels.launch(device, "all_bounds", Size { blocks: 1, threads }, &loaded.places, &[blocks])?;
        }
        let mut all = vec![[Bounds::default()]; team.devices.len()];
        for ((device, loaded), bounds) in team.devices.iter().zip(&self.loaded).zip(&mut all) {
            device.read(&loaded.particles.bounds, 0, bounds)?;
        }
        let own = all.into_iter().map(|[bounds]| bounds).reduce(Bounds::join).expect("there is a GPU");
        if team.is_alone() {
            return Ok(own);
        }
        let all = team.travel(|| numbers(team.others, &own.numbers()))?;
        Ok(all.iter().map(|numbers| Bounds::of(numbers)).reduce(Bounds::join).expect("there is a process"))
    }

    /// Counts particles and pairs in a tree of one depth, if it suits the particles; where it has to, in deeper ones too.
    fn tree(&mut self, team: &Team<C>, scales: &Scales, leaf: usize) -> Result<Option<Counted>, CudaError> {
        if self.tree == TreeKind::Chosen && self.is_clearly_uneven(team, scales)? {
            return Ok(None);
        }
        let (n, prices) = (self.n, self.prices);
        let costs = |tree: &Counted| cost(tree.pairs as f64, tree.depth, prices);
        let mut tree = self.count(team, scales, depth_for(n, leaf))?;
        if self.tree == TreeKind::Chosen {
            let even = prices.near * (n as f64).powi(2) / 8f64.powi(tree.depth as i32);
            return Ok((costs(&tree) <= MOST_COST * cost(even, tree.depth, prices)).then_some(tree));
        }
        // Uniform particles have no more pairs than this.
        let even = 1.5 * prices.near * n as f64 * (n as f64 / 8f64.powi(tree.depth as i32) + 2.0);
        while tree.pairs as f64 > even && tree.depth < DEEPEST {
            // The cells alone may cost more than all of this.
            if cost(0.0, tree.depth + 1, prices) >= costs(&tree) {
                break;
            }
            let deeper = self.count(team, scales, tree.depth + 1)?;
            if costs(&deeper) >= costs(&tree) {
                tree = self.count(team, scales, tree.depth)?;
                break;
            }
            tree = deeper;
        }
        Ok(Some(tree))
    }

    /// Whether some of the particles, the same on any number of GPUs, show that a tree of one depth does not suit them, which takes less time
    /// than to count all in its leaves.
    fn is_clearly_uneven(&self, team: &Team<C>, scales: &Scales) -> Result<bool, CudaError> {
        const SAMPLES: f64 = 4096.0;
        const CELLS: usize = 4096;
        // For fewer particles, counting takes no longer.
        const LEAST: usize = 1 << 17;
        if self.n < LEAST || self.loaded[0].places.is_apart == 1 {
            return Ok(false);
        }
        let own: Vec<u64> = self.loaded[..team.devices.len()].iter().map(|l| l.particles.n as u64).collect();
        let all = if team.is_alone() { own } else { team.travel(|| numbers(team.others, &own))?.concat() };
        let first = |device: usize| all[..device].iter().sum::<u64>() as u32;
        for ((device, loaded), number) in team.devices.iter().zip(&self.loaded).zip(team.own()) {
            let problem = loaded.places.scaled::<T>(scales, self.units, 4);
            let size = Size { blocks: 1, threads: 1024 };
            loaded.kernels.launch(device, "sample", size, &problem, &[first(number), self.n as u32])?;
        }
        // The pairs of particles in one cell, beside those of uniform particles.
        let pairs = match team.all() {
            1 => self.sampled(team, 0, 2)?.iter().rfold(0, |pairs, word| pairs << 32 | *word),
            _ => {
                let mut counts = vec![0; CELLS];
                for device in 0..team.devices.len() {
                    let own = self.sampled(team, device, 2 + CELLS)?;
                    own[2..].iter().zip(&mut counts).for_each(|(own, all)| *all += own);
                }
                if !team.is_alone() {
                    let all = team.travel(|| numbers(team.others, &counts))?;
                    counts = (0..CELLS).map(|k| all.iter().map(|one| one[k]).sum()).collect();
                }
                counts.iter().map(|c| c * c - c).sum()
            }
        };
        let pairs = pairs as f64;
        Ok(pairs * CELLS as f64 > 3.6 * SAMPLES * (SAMPLES - 1.0))
    }

    /// The first words of what a GPU of this process found in its sample.
    fn sampled(&self, team: &Team<C>, device: usize, count: usize) -> Result<Vec<u64>, CudaError> {
        let mut words = vec![T::default(); count * size_of::<u32>() / size_of::<T>()];
        team.devices[device].read(&self.loaded[device].particles.near, 0, &mut words)?;
        Ok(of::<u32>(bytes_of(&words)).into_iter().map(u64::from).collect())
    }

    /// Counts the particles of all leaves of a depth, each GPU those of its share, and the pairs of P2P on all GPUs.
    fn count(&mut self, team: &Team<C>, scales: &Scales, depth: u32) -> Result<Counted, CudaError> {
        let (n, leaves, units, parts, first) =
            (self.n, 1u32 << (3 * depth), self.units, self.parts, self.first_level());
        let threads = 1024;
        for ((device, loaded), number) in team.devices.iter().zip(&mut self.loaded).zip(team.own()) {
            if loaded.cells.as_ref().is_none_or(|cells| cells.depth != depth) {
                loaded.cells = None;
                loaded.cells = Some(Cells::new(device, &CellCounts::new(&self.shape, (depth, first), n, parts))?);
                loaded.places = loaded.problem(device, parts);
            }
            let cells = loaded.cells.as_mut().expect("it was made");
            device.clear(if parts.devices > 1 { &mut cells.parts } else { &mut cells.counts })?;
            device.clear(&mut cells.counted)?;
            let places = parts.kinds * parts.places(depth);
            // Where the GPU's own parts are.
            let tally = match parts.devices {
                1 => device.place(&cells.counts),
                _ => device.place(&cells.parts) + (number * places * size_of::<u32>()) as u64,
            };
            let problem = Problem { tally, ..loaded.places.scaled::<T>(scales, units, depth) };
            loaded.kernels.launch(device, "count", Size::of_threads(loaded.particles.n), &problem, &[])?;
            if parts.devices > 1 {
                let blocks = places.div_ceil(1024) as u32;
                loaded.kernels.launch(device, "share_cells", Size { blocks, threads }, &problem, &[])?;
                loaded.kernels.launch(device, "share_sums", Size { blocks: 1, threads }, &problem, &[blocks])?;
                loaded.kernels.launch(device, "share_add", Size { blocks, threads }, &problem, &[])?;
            }
        }
        if parts.devices > 1 {
            let all: Vec<_> = self.loaded[..team.devices.len()]
                .iter()
                .map(|l| &l.cells.as_ref().expect("it was made").parts)
                .collect();
            let one = parts.kinds * parts.places(depth);
            team.transfer(&all, &all, &to_all(team, |device| device * one..(device + 1) * one))?;
        }
        for (device, loaded) in team.devices.iter().zip(&self.loaded) {
            let problem = loaded.places.scaled::<T>(scales, units, depth);
            let blocks = leaves.div_ceil(1024);
            loaded.kernels.launch(device, "scan_cells", Size { blocks, threads }, &problem, &[])?;
            loaded.kernels.launch(device, "scan_sums", Size { blocks: 1, threads }, &problem, &[blocks])?;
            loaded.kernels.launch(device, "scan_add", Size { blocks, threads }, &problem, &[])?;
        }
        // All GPUs count the same.
        let rows = self.loaded[0].cells.as_ref().expect("it was made").rows(&team.devices[0], parts)?;
        Ok(Counted { depth, pairs: rows.pairs(), rows })
    }

    /// Sorts each GPU's share, and gives each GPU the particles of the leaves around its own.
    fn sort(&mut self, team: &Team<C>, scales: &Scales, plan: &Plan) -> Result<(), CudaError> {
        let parts = self.parts;
        let mut grown = vec![None; team.devices.len()];
        if parts.devices > 1 {
            let (bases, own) = (plan.bases(parts), &plan.parts[team.own()]);
            for (k, (device, loaded)) in team.devices.iter().zip(&mut self.loaded).enumerate() {
                grown[k] = loaded.particles.grow(device, own[k].particles as usize)?;
                let cells = loaded.cells.as_mut().expect("it was made");
                device.write(&bases[team.own().start + k], &mut cells.bases, 0)?;
                loaded.places = loaded.problem(device, parts);
            }
        }
        self.on(team, scales, plan).iter().try_for_each(On::sort)?;
        for ((device, loaded), grown) in team.devices.iter().zip(&mut self.loaded).zip(grown) {
            if let Some(capacity) = grown {
                loaded.particles.follow(device, capacity)?;
                loaded.places = loaded.problem(device, parts);
            }
        }
        self.give_around(team, scales, plan)
    }

    /// Gives each GPU the particles of the leaves around its own from the sorted shares.
    fn give_around(&self, team: &Team<C>, scales: &Scales, plan: &Plan) -> Result<(), CudaError> {
        let parts = self.parts;
        if parts.devices == 1 {
            return Ok(());
        }
        let (from, to): (Vec<_>, Vec<_>) =
            self.loaded[..team.devices.len()].iter().map(|l| (&l.particles.out, &l.particles.near)).unzip();
        team.transfer(&from, &to, &plan.around(parts, self.shape.record()))?;
        self.on(team, scales, plan).iter().try_for_each(|on| on.merge(plan, parts))
    }

    /// The GPUs of this process with their parts.
    fn on<'a>(&'a self, team: &Team<'a, C>, scales: &Scales, plan: &Plan) -> Vec<On<'a, T, C>> {
        let on = |((device, loaded), part): ((&'a C, &'a Loaded<T, C>), &LeafShare)| {
            let LeafShare { own, around, parents, base, .. } = *part;
            let problem = loaded.places.scaled::<T>(scales, self.units, plan.depth);
            let problem = Problem { own, around, parents, base: base as u64, ..problem };
            let problem = match self.units_of_kernel() {
                Some([potential, gradient]) => {
                    Problem { potential, gradient, wide_potential: 1.0, wide_gradient: 1.0, ..problem }
                }
                None => problem,
            };
            On { device, loaded, problem: loaded.lists(device, problem, part), part: *part }
        };
        team.devices.iter().zip(&self.loaded).zip(&plan.parts[team.own()]).map(on).collect()
    }
}

/// The transfers from each GPU to all others.
fn to_all<C: GpuDevice>(team: &Team<C>, part: impl Fn(usize) -> Range<usize>) -> Vec<Transfer> {
    let of = |from: usize| {
        let part = &part;
        let to = (0..team.all()).filter(move |to| *to != from);
        to.map(move |to| Transfer { from, part: part(from), to, at: part(from).start })
    };
    (0..team.all()).flat_map(of).collect()
}

impl Problem {
    /// With what kernels know of units.
    pub(super) fn scaled<T: Number>(self, scales: &Scales, units: Units, depth: u32) -> Problem {
        let map = &scales.map;
        let (side, eps) = (2f64.powi(depth as i32), map.scaled(scales.eps));
        let edge = map.size / side;
        // The frame of P2P: cells in f32, scaled coordinates in f64.
        let unit = if T::REAL == Real::F32 { edge } else { 1.0 };
        let (boxes, Units { potential, gradient, length }) = (map.size / unit, units);
        Problem {
            shift: 2f64.powi(-map.shift),
            centre: map.centre,
            rest: map.rest,
            size: map.size,
            charge: 2f64.powi(-scales.exponent),
            eps2: (if T::REAL == Real::F32 { eps / map.size } else { eps }).powi(2),
            wide_eps2: eps * eps,
            potential: boxes / (length * potential),
            gradient: boxes * boxes / (length * length * gradient),
            wide_potential: unit,
            wide_gradient: unit * unit,
            depth: depth as u64,
            ..self
        }
    }
}

/// The box and the scale of charges, if the arithmetic suits them.
fn scales<T: Number>(bounds: &Bounds, periodic: Option<&Periodic>, eps: f64) -> Result<Scales, String> {
    if bounds.bad != 0 {
        return Err("some coordinates or charges are no numbers".into());
    }
    let map = periodic::map(bounds, periodic)?;
    // Moments in boxes.
    let [most_moment, least_moment] =
        [bounds.most_moment, bounds.least_moment].map(|moment| moment * 2f64.powi(-map.shift) / map.size);
    let (most, least) = (bounds.most.max(most_moment), bounds.least.min(least_moment));
    let exponent = exponent(most);
    if map.shift.abs() > MOST_SHIFT || exponent.abs() > MOST_EXPONENT || map.size < 1e-30 || !most.is_finite() {
        return Err("lengths or charges are very large or very small numbers".into());
    }
    let limits = Limits::of::<T>();
    if most > 0.0 && least * 2f64.powi(-exponent) < limits.charge {
        return Err("some charges are very small beside others".into());
    }
    // In units of the smallest leaf.
    if map.length(eps) * 2f64.powi(DEEPEST as i32) > limits.eps.min(1e7) {
        return Err("the softening length is very large beside the box".into());
    }
    Ok(Scales { map, exponent, eps })
}
