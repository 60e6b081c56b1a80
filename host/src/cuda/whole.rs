//! The whole FMM of 1/r on the card: tree, all translations and P2P, for particles that are sources and targets.
//!
//! The tree has one depth for all particles, and no list: which cells meet follows from their coordinates. So it is for
//! particles that fill their box more or less evenly. A run finds out, counts particles and pairs first, tries deeper trees, and
//! leaves other problems to the caller ([`Outcome::Unfit`]). Lengths and charges are those of a tree's [`BoxMap`] and charges.
//!
//! Every sum of floats has one order, so that a run gives the same bits each time.

mod depth;
mod memory;
mod text;

use super::CudaError;
use super::device::{Device, failed};
use super::p2p::Number;
use crate::arith::scale::exponent;
use crate::direct::p2p::Limits;
use crate::expansion::solid::dense::Dense;
use crate::tree::boxmap::BoxMap;
use cudarc::driver::{CudaEvent, CudaFunction, LaunchConfig, PushKernelArg};
use depth::cost;
use memory::{BOUNDS_BLOCKS, Bounds, Cells, Particles, Problem, Tables, place};
use pg2::backend::cuda::p2p::{Real, Unfit};
use pg2::graph::Graph;
use text::Shape;

pub use depth::{DEEPEST, best_leaf, depth_for};
pub use memory::Status;
pub use text::{Shape as WholeShape, text as text_of};

/// Two cells of one level at integer offset d are near if d.d is below this.
pub const NEAR2: u64 = 4;

/// The highest order.
pub const MOST_ORDER: usize = 10;

/// What P2P gives for 1/r: of the potential and of the gradient, with lengths in boxes, and the coordinates of a box.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    pub potential: f64,
    pub gradient: f64,
    pub length: f64,
}

/// The stages in the order in which they run.
pub const STAGES: [&str; 8] = ["box", "sort", "P2M", "M2M", "M2L", "L2L", "P2P", "L2P"];

/// What one run did. Results stay on the card.
#[derive(Clone, Debug)]
pub struct Run {
    pub map: BoxMap,
    /// The power of two that charges were scaled by.
    pub exponent: i32,
    pub depth: u32,
    pub status: Status,
    /// Seconds of each of [`STAGES`] on the card, and of all from the first kernel to the last.
    pub seconds: [f64; STAGES.len()],
    pub total: f64,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    Done(Box<Run>),
    /// Why this problem is not one for a tree of one depth, or not for this arithmetic.
    Unfit(String),
}

/// Kernels, tables and particles on the card.
pub struct Whole<T> {
    shape: Shape,
    kernels: Kernels,
    tables: Tables<T>,
    particles: Particles<T>,
    cells: Option<Cells<T>>,
    units: Units,
    order: usize,
}

struct Kernels {
    bounds: CudaFunction,
    all_bounds: CudaFunction,
    count: CudaFunction,
    scan_cells: CudaFunction,
    scan_sums: CudaFunction,
    scan_add: CudaFunction,
    scatter: CudaFunction,
    settle: CudaFunction,
    p2m: CudaFunction,
    m2m: CudaFunction,
    m2l: CudaFunction,
    l2l: CudaFunction,
    p2p: CudaFunction,
    again: CudaFunction,
    l2p: CudaFunction,
}

/// Blocks of `again`, which go through their targets in turn.
const AGAIN_BLOCKS: u32 = 1056;

/// Pairs of P2P a particle up to which the mixed path, with its adaptive tree, is not faster.
const MOST_PAIRS: f64 = 1e5;

/// Greater powers of two than these are left to the caller.
const MOST_SHIFT: i32 = 60;
const MOST_EXPONENT: i32 = 500;

impl<T: Number> Whole<T> {
    /// Compiles the kernels for a P2P kernel that is 1/r, and sends the tables of an order.
    pub fn new(device: &mut Device, graph: &Graph, order: usize, units: Units) -> Result<Whole<T>, CudaError> {
        let (dense, shape) = (Dense::new(order, NEAR2), Shape::new(order, T::REAL));
        let text = text_of::<T>(graph, &dense, &shape).map_err(|Unfit(why)| CudaError::Failed(why))?;
        let mut kernel = |name: &'static str| device.function(&text, name, T::ARITHMETIC);
        let kernels = Kernels {
            bounds: kernel("bounds")?,
            all_bounds: kernel("all_bounds")?,
            count: kernel("count")?,
            scan_cells: kernel("scan_cells")?,
            scan_sums: kernel("scan_sums")?,
            scan_add: kernel("scan_add")?,
            scatter: kernel("scatter")?,
            settle: kernel("settle")?,
            p2m: kernel("p2m")?,
            m2m: kernel("m2m")?,
            m2l: kernel("m2l")?,
            l2l: kernel("l2l")?,
            p2p: kernel("p2p")?,
            again: kernel("again")?,
            l2p: kernel("l2p")?,
        };
        let tables = Tables::new(device, &dense, &shape)?;
        let particles = Particles::new(device, [&[]; 4])?;
        Ok(Whole { shape, kernels, tables, particles, cells: None, units, order })
    }

    /// Sends particles: coordinates and charges as the user gives them. As many as before take the same room.
    pub fn send(&mut self, device: &Device, x: [&[f64]; 3], q: &[f64]) -> Result<(), CudaError> {
        let n = q.len();
        if n == self.particles.n && n > 0 {
            let sent = [x[0], x[1], x[2], q].into_iter().zip(&mut self.particles.input);
            return sent.into_iter().try_for_each(|(from, to)| device.overwrite(from, to));
        }
        // The old ones go first.
        self.cells = None;
        self.particles = Particles::new(device, [&[]; 4])?;
        device.check_room(n as u64 * Particles::<T>::BYTES, "this FMM")?;
        self.particles = Particles::new(device, [x[0], x[1], x[2], q])?;
        Ok(())
    }

    /// Potential and gradient in boxes, in the order of the input.
    pub fn fetch(&self, device: &Device) -> Result<Vec<T>, CudaError> {
        device.fetch(&self.particles.out, 4 * self.particles.n)
    }

    /// All of it, from the particles as they were sent to results in the order of the input, in a tree whose leaves have at most
    /// `leaf` particles in the mean, or a deeper one. `eps` is the softening length of P2P.
    pub fn run(&mut self, device: &Device, leaf: usize, eps: f64) -> Result<Outcome, CudaError> {
        let n = self.particles.n;
        if n == 0 {
            return Ok(Outcome::Unfit("there are no particles".into()));
        }
        let mut clock = Clock { device, events: Vec::new() };
        clock.tick()?;
        let mut problem = self.problem(device);
        self.launch(device, &self.kernels.bounds, BOUNDS_BLOCKS, 256, &problem, None)?;
        self.launch(device, &self.kernels.all_bounds, 1, 256, &problem, Some(BOUNDS_BLOCKS))?;
        let bounds = device.fetch(&self.particles.bounds, 1)?[0];
        let (map, exponent) = match self.scales(&bounds, eps) {
            Ok(scales) => scales,
            Err(why) => return Ok(Outcome::Unfit(why)),
        };
        clock.tick()?;
        let (depth, mut status) = match self.sort(device, &map, exponent, eps, leaf, &mut problem)? {
            Ok(sorted) => sorted,
            Err(why) => return Ok(Outcome::Unfit(why)),
        };
        clock.tick()?;
        self.stages(device, depth, &status, &problem, &mut clock)?;
        let after = device.fetch(&self.particles.status, 1)?[0];
        (status.again, status.close, status.lost) = (after.again, after.close, after.lost);
        if status.lost > 0 {
            return Ok(Outcome::Unfit("some particles are so close that a result leaves the arithmetic".into()));
        }
        let (seconds, total) = clock.seconds()?;
        Ok(Outcome::Done(Box::new(Run { map, exponent, depth, status, seconds, total })))
    }

    /// The box and the scale of charges, if this arithmetic suits them.
    fn scales(&self, bounds: &Bounds, eps: f64) -> Result<(BoxMap, i32), String> {
        if bounds.bad != 0 {
            return Err("some coordinates or charges are no numbers".into());
        }
        let map = BoxMap::within([0, 1, 2].map(|a| [bounds.low[a], bounds.high[a]]));
        let exponent = exponent(bounds.most);
        if map.shift.abs() > MOST_SHIFT || exponent.abs() > MOST_EXPONENT || map.size < 1e-30 {
            return Err("lengths or charges are very large or very small numbers".into());
        }
        let limits = Limits::of::<T>();
        if bounds.most > 0.0 && bounds.least * 2f64.powi(-exponent) < limits.charge {
            return Err("some charges are very small beside others".into());
        }
        // In units of the smallest leaf.
        if map.length(eps) * 2f64.powi(DEEPEST as i32) > limits.eps.min(1e7) {
            return Err("the softening length is very large beside the box".into());
        }
        Ok((map, exponent))
    }

    /// Counts particles and pairs in trees of rising depth until one is good, and sorts the particles. Gives the depth, or why
    /// none is good.
    fn sort(
        &mut self,
        device: &Device,
        map: &BoxMap,
        exponent: i32,
        eps: f64,
        leaf: usize,
        problem: &mut Problem,
    ) -> Result<Result<(u32, Status), String>, CudaError> {
        let n = self.particles.n;
        let first = depth_for(n, leaf);
        let (mut depth, mut status) = (first, self.count(device, map, exponent, eps, first, problem)?);
        let order = self.order;
        let costs = |status: &Status, depth: u32| cost(status.pairs as f64, depth, order, T::REAL);
        // Uniform particles have no more pairs than this.
        let even = 40.0 * n as f64 * (n as f64 / 8f64.powi(first as i32) + 2.0);
        while status.pairs as f64 > even && depth < DEEPEST {
            let deeper = self.count(device, map, exponent, eps, depth + 1, problem)?;
            if costs(&deeper, depth + 1) >= costs(&status, depth) {
                status = self.count(device, map, exponent, eps, depth, problem)?;
                break;
            }
            (status, depth) = (deeper, depth + 1);
        }
        if status.pairs as f64 > even.max(MOST_PAIRS * n as f64) {
            return Ok(Err("the particles are too uneven for a tree of one depth".into()));
        }
        let blocks = n.div_ceil(256) as u32;
        self.launch(device, &self.kernels.scatter, blocks, 256, problem, None)?;
        self.launch(device, &self.kernels.settle, blocks, 256, problem, None)?;
        Ok(Ok((depth, status)))
    }

    /// Counts the particles of all leaves of a depth, and the pairs of P2P.
    fn count(
        &mut self,
        device: &Device,
        map: &BoxMap,
        exponent: i32,
        eps: f64,
        depth: u32,
        problem: &mut Problem,
    ) -> Result<Status, CudaError> {
        if self.cells.as_ref().is_none_or(|cells| cells.depth != depth) {
            self.cells = None;
            self.cells = Some(Cells::new(device, &self.shape, depth, self.particles.n)?);
        }
        *problem = self.problem(device);
        self.scale(map, exponent, eps, depth, problem);
        let n = self.particles.n;
        let zeroed = device.stream.memset_zeros(&mut self.particles.status);
        let cells = self.cells.as_mut().expect("they were made");
        let zeroed = zeroed.and_then(|()| device.stream.memset_zeros(&mut cells.counts));
        zeroed.map_err(|e| failed("the GPU failed", e))?;
        let blocks = (1u32 << (3 * depth)).div_ceil(1024);
        self.launch(device, &self.kernels.count, n.div_ceil(256) as u32, 256, problem, None)?;
        self.launch(device, &self.kernels.scan_cells, blocks, 1024, problem, None)?;
        self.launch(device, &self.kernels.scan_sums, 1, 1024, problem, Some(blocks))?;
        self.launch(device, &self.kernels.scan_add, blocks, 1024, problem, None)?;
        Ok(device.fetch(&self.particles.status, 1)?[0])
    }

    /// What kernels know of units.
    fn scale(&self, map: &BoxMap, exponent: i32, eps: f64, depth: u32, problem: &mut Problem) {
        let (side, eps) = (2f64.powi(depth as i32), map.scaled(eps));
        let edge = map.size / side;
        // The frame of P2P: cells in f32, scaled coordinates in f64.
        let unit = if T::REAL == Real::F32 { edge } else { 1.0 };
        let (boxes, Units { potential, gradient, length }) = (map.size / unit, self.units);
        *problem = Problem {
            shift: 2f64.powi(-map.shift),
            centre: map.centre,
            rest: map.rest,
            size: map.size,
            charge: 2f64.powi(-exponent),
            eps2: (eps / unit).powi(2),
            wide_eps2: eps * eps,
            potential: boxes / (length * potential),
            gradient: boxes * boxes / (length * length * gradient),
            wide_potential: unit,
            wide_gradient: unit * unit,
            depth: depth as u64,
            ..*problem
        };
    }

    /// All stages from P2M on.
    fn stages(
        &self,
        device: &Device,
        depth: u32,
        status: &Status,
        problem: &Problem,
        clock: &mut Clock,
    ) -> Result<(), CudaError> {
        let (k, shape) = (&self.kernels, &self.shape);
        let warps = (1u32 << (3 * depth)).div_ceil(4);
        let family = (shape.terms * shape.families) as u32;
        let parents = |level: u32| (1u32 << (3 * level)) / shape.families as u32;
        if depth >= 2 {
            self.launch(device, &k.p2m, warps, 128, problem, None)?;
        }
        clock.tick()?;
        for level in (2..depth).rev() {
            self.launch(device, &k.m2m, parents(level), family, problem, Some(level))?;
        }
        clock.tick()?;
        if depth >= 2 {
            let tiles = (2..=depth).map(|level| 8 * (1u32 << (3 * (level - 1))).div_ceil(64)).sum();
            self.launch(device, &k.m2l, tiles, 16 * (self.order as u32 + 1), problem, None)?;
        }
        clock.tick()?;
        for level in 2..depth {
            self.launch(device, &k.l2l, parents(level), family, problem, Some(level))?;
        }
        clock.tick()?;
        self.launch(device, &k.p2p, status.blocks as u32, shape.threads as u32, problem, None)?;
        self.launch(device, &k.again, AGAIN_BLOCKS, 128, problem, None)?;
        clock.tick()?;
        self.launch(device, &k.l2p, warps, 128, problem, None)?;
        clock.tick()
    }

    fn launch(
        &self,
        device: &Device,
        kernel: &CudaFunction,
        blocks: u32,
        threads: u32,
        problem: &Problem,
        number: Option<u32>,
    ) -> Result<(), CudaError> {
        let config = LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 };
        let mut launch = device.stream.launch_builder(kernel);
        launch.arg(problem);
        if let Some(number) = &number {
            launch.arg(number);
        }
        // SAFETY: the kernels take these arguments, and all places in them lie within what is allocated for this depth.
        unsafe { launch.launch(config) }.map_err(|e| failed("the GPU does not start the kernel", e))?;
        Ok(())
    }

    /// Where everything is; units are not known yet.
    fn problem(&self, device: &Device) -> Problem {
        let (particles, tables) = (&self.particles, &self.tables);
        let mut problem = Problem {
            input: particles.input.each_ref().map(|x| place(device, x)),
            bounds: place(device, &particles.bounds),
            status: place(device, &particles.status),
            records: place(device, &particles.records),
            near: place(device, &particles.near),
            out: place(device, &particles.out),
            up: place(device, &tables.up),
            down: place(device, &tables.down),
            matrices: place(device, &tables.matrices),
            slopes: place(device, &tables.slopes),
            steps: place(device, &tables.steps),
            slope_terms: place(device, &tables.slope_terms),
            n: particles.n as u64,
            ..Problem::default()
        };
        let indices = particles.indices.each_ref().map(|x| place(device, x));
        [problem.cell, problem.rank, problem.unsettled, problem.order, problem.again] = indices;
        if let Some(cells) = &self.cells {
            problem.counts = place(device, &cells.counts);
            problem.sums = place(device, &cells.sums);
            problem.starts = place(device, &cells.starts);
            problem.work = place(device, &cells.work);
            problem.m = place(device, &cells.m);
            problem.l = place(device, &cells.l);
        }
        problem
    }
}

/// The times between stages.
struct Clock<'a> {
    device: &'a Device,
    events: Vec<CudaEvent>,
}

impl Clock<'_> {
    fn tick(&mut self) -> Result<(), CudaError> {
        self.events.push(self.device.event()?);
        Ok(())
    }

    fn seconds(&self) -> Result<([f64; STAGES.len()], f64), CudaError> {
        let between = |a: &CudaEvent, b: &CudaEvent| {
            a.elapsed_ms(b).map(|ms| ms as f64 * 1e-3).map_err(|e| failed("the GPU failed", e))
        };
        let mut seconds = [0.0; STAGES.len()];
        for (seconds, pair) in seconds.iter_mut().zip(self.events.windows(2)) {
            *seconds = between(&pair[0], &pair[1])?;
        }
        let total = match &self.events[..] {
            [first, .., last] => between(first, last)?,
            _ => 0.0,
        };
        Ok((seconds, total))
    }
}
