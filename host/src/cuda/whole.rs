//! The whole FMM of 1/r on the card: tree, all translations and P2P, for particles that are sources and targets.
//!
//! The tree has one depth for all particles, and no list: which cells meet follows from their coordinates. So it is for
//! particles that fill their box more or less evenly. A run finds out, counts particles and pairs first, tries deeper trees, and
//! leaves other problems to the caller ([`Outcome::Unfit`]). Lengths and charges are those of a tree's [`BoxMap`] and charges.
//!
//! Every sum of floats has one order, so that a run gives the same bits each time.

mod text;

use super::CudaError;
use super::device::{Device, failed};
use super::p2p::Number;
use crate::arith::scale::exponent;
use crate::direct::p2p::Limits;
use crate::expansion::solid::dense::Dense;
use crate::tree::boxmap::BoxMap;
use cudarc::driver::{
    CudaEvent, CudaFunction, CudaSlice, DevicePtr, DeviceRepr, LaunchConfig, PushKernelArg, ValidAsZeroBits,
};
use pg2::backend::cuda::p2p::{Real, Unfit};
use pg2::graph::Graph;
use text::Shape;

pub use text::Shape as WholeShape;
pub use text::text as text_of;

/// The deepest tree: 8^7 leaves.
pub const DEEPEST: u32 = 7;

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

/// What the card counted. The order is that of the kernels' struct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Status {
    /// Pairs of P2P, each target's own place included.
    pub pairs: u64,
    pub blocks: u64,
    pub most: u64,
    /// Targets that were computed again in f64, and their pairs at different places that were too close.
    pub again: u64,
    pub close: u64,
    /// Pairs and results that no arithmetic here holds.
    pub lost: u64,
}

// SAFETY: plain numbers in the order of the kernels' struct, of which all zeros are one.
unsafe impl DeviceRepr for Status {}
// SAFETY: as above.
unsafe impl ValidAsZeroBits for Status {}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Bounds {
    low: [f64; 3],
    high: [f64; 3],
    most: f64,
    least: f64,
    bad: u64,
}

// SAFETY: plain numbers in the order of the kernels' struct, of which all zeros are one.
unsafe impl DeviceRepr for Bounds {}
// SAFETY: as above.
unsafe impl ValidAsZeroBits for Bounds {}

/// What every kernel is given, in the order of the kernels' struct: places on the card, and numbers.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Problem {
    input: [u64; 4],
    bounds: u64,
    status: u64,
    cell: u64,
    rank: u64,
    counts: u64,
    sums: u64,
    starts: u64,
    unsettled: u64,
    order: u64,
    records: u64,
    work: u64,
    again: u64,
    m: u64,
    l: u64,
    near: u64,
    out: u64,
    up: u64,
    down: u64,
    matrices: u64,
    slopes: u64,
    steps: u64,
    slope_terms: u64,
    shift: f64,
    centre: [f64; 3],
    rest: [f64; 3],
    size: f64,
    charge: f64,
    eps2: f64,
    wide_eps2: f64,
    potential: f64,
    gradient: f64,
    wide_potential: f64,
    wide_gradient: f64,
    n: u64,
    depth: u64,
}

// SAFETY: plain numbers in the order of the kernels' struct.
unsafe impl DeviceRepr for Problem {}

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

struct Tables<T> {
    up: CudaSlice<T>,
    down: CudaSlice<T>,
    matrices: CudaSlice<T>,
    slopes: CudaSlice<T>,
    steps: CudaSlice<i32>,
    slope_terms: CudaSlice<i32>,
}

/// What there is of each particle.
struct Particles<T> {
    n: usize,
    input: [CudaSlice<f64>; 4],
    bounds: CudaSlice<Bounds>,
    status: CudaSlice<Status>,
    /// Cell, rank, order before and after settling, and targets to be computed again.
    indices: [CudaSlice<u32>; 5],
    records: CudaSlice<T>,
    near: CudaSlice<T>,
    out: CudaSlice<T>,
}

/// What there is of each cell of a tree.
struct Cells<T> {
    depth: u32,
    counts: CudaSlice<u64>,
    sums: CudaSlice<u64>,
    starts: CudaSlice<u64>,
    work: CudaSlice<u64>,
    m: CudaSlice<T>,
    l: CudaSlice<T>,
}

/// Blocks of `bounds`.
const BOUNDS_BLOCKS: u32 = 264;

/// Blocks of `again`, which go through their targets in turn.
const AGAIN_BLOCKS: u32 = 1056;

/// The least depth at which leaves have at most `leaf` particles in the mean.
pub fn depth_for(n: usize, leaf: usize) -> u32 {
    (0..DEEPEST).find(|depth| n as u64 <= (leaf as u64) << (3 * depth)).unwrap_or(DEEPEST)
}

/// About how long the stages take, in ns on one H200; see docs/cuda.md.
fn cost(pairs: f64, depth: u32, order: usize, real: Real) -> f64 {
    let (pair, product) = if real == Real::F32 { (0.75e-3, 5e-5) } else { (1.8e-3, 1.1e-4) };
    let (cells, terms) = (8f64.powi(depth as i32), ((order + 1) * (order + 1)) as f64);
    let far = if depth >= 2 { 16.0 + 189.0 * terms * terms * product } else { 0.0 };
    pairs * pair + cells * (6.0 + far)
}

/// The leaf size at which uniform particles cost least.
pub fn best_leaf(n: usize, order: usize, real: Real) -> usize {
    let of_depth = |depth: &u32| {
        let side = 2f64.powi(*depth as i32);
        let near = (3.0 - 2.0 / side).powi(3);
        cost(n as f64 * n as f64 / side.powi(3) * near, *depth, order, real)
    };
    let best = (0..=DEEPEST).min_by(|a, b| of_depth(a).total_cmp(&of_depth(b))).unwrap_or(0);
    n.div_ceil(1 << (3 * best)).max(1)
}

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

    /// Sends particles: coordinates and charges as the user gives them.
    pub fn send(&mut self, device: &Device, x: [&[f64]; 3], q: &[f64]) -> Result<(), CudaError> {
        let n = q.len();
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

fn place<U>(device: &Device, data: &CudaSlice<U>) -> u64 {
    data.device_ptr(&device.stream).0
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

impl<T: Number> Tables<T> {
    fn new(device: &Device, dense: &Dense, shape: &Shape) -> Result<Tables<T>, CudaError> {
        let rounded = |all: &[Vec<f64>]| all.iter().flatten().map(|x| T::of(*x)).collect::<Vec<T>>();
        let mut matrices = Vec::with_capacity(dense.offsets.len() * shape.terms * shape.pitch);
        for row in dense.offsets.iter().flat_map(|o| o.matrix.chunks_exact(shape.terms)) {
            matrices.extend(row.iter().map(|x| T::of(*x)));
            matrices.resize(matrices.len() + shape.pitch - shape.terms, T::default());
        }
        let step = |k: &usize| {
            let offset = &dense.offsets[*k];
            // From the target to the source.
            let d = offset.at.map(|x| -x as i32);
            [d[0], d[1], d[2], *k as i32, offset.terms as i32]
        };
        let steps: Vec<i32> = dense.lists.iter().flatten().flat_map(step).collect();
        let most = dense.slopes.iter().flatten().map(Vec::len).max().unwrap_or(0).max(1);
        let (mut slopes, mut slope_terms) = (Vec::new(), Vec::new());
        for entries in dense.slopes.iter().flatten() {
            let filled = (0..most).map(|k| entries.get(k).copied().unwrap_or((0, 0.0)));
            filled.for_each(|(term, factor)| {
                slopes.push(T::of(factor));
                slope_terms.push(term as i32);
            });
        }
        Ok(Tables {
            up: device.send(&rounded(&dense.up))?,
            down: device.send(&rounded(&dense.down))?,
            matrices: device.send(&matrices)?,
            slopes: device.send(&slopes)?,
            steps: device.send(&steps)?,
            slope_terms: device.send(&slope_terms)?,
        })
    }
}

impl<T: Number> Particles<T> {
    /// Of each particle on the card.
    const BYTES: u64 = 4 * 8 + 5 * 4 + 12 * size_of::<T>() as u64;

    fn new(device: &Device, input: [&[f64]; 4]) -> Result<Particles<T>, CudaError> {
        let n = input[0].len();
        let index = || device.room::<u32>(n);
        Ok(Particles {
            n,
            input: [device.send(input[0])?, device.send(input[1])?, device.send(input[2])?, device.send(input[3])?],
            bounds: device.room(1 + BOUNDS_BLOCKS as usize)?,
            status: device.room(1)?,
            indices: [index()?, index()?, index()?, index()?, index()?],
            records: device.room(4 * n)?,
            near: device.room(4 * n)?,
            out: device.room(4 * n)?,
        })
    }
}

impl<T: Number> Cells<T> {
    fn new(device: &Device, shape: &Shape, depth: u32, n: usize) -> Result<Cells<T>, CudaError> {
        let leaves = 1usize << (3 * depth);
        let blocks = leaves.min(n) + n / shape.targets() + 1;
        // Expansions of all levels from the second on.
        let numbers = (leaves * 8).saturating_sub(64) / 7 * shape.pitch;
        let bytes = 24 * leaves + 8 * blocks + 2 * numbers * size_of::<T>();
        device.check_room(bytes as u64, "this FMM")?;
        Ok(Cells {
            depth,
            counts: device.room(leaves)?,
            sums: device.room(leaves.div_ceil(1024))?,
            starts: device.room(leaves + 1)?,
            work: device.room(blocks)?,
            m: device.room(numbers)?,
            l: device.room(numbers)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_as_deep_as_its_leaves_are_small() {
        assert_eq!([0, 1, 64, 65, 512, 513].map(|n| depth_for(n, 64)), [0, 0, 0, 1, 1, 2]);
        assert_eq!([(1_000_000, 64), (16_000_000, 64), (16_000_000, 8)].map(|(n, leaf)| depth_for(n, leaf)), [5, 6, 7]);
        assert_eq!(depth_for(2_000_000_000, 1), DEEPEST);
    }

    #[test]
    fn the_best_leaf_gives_its_own_depth() {
        for n in [1, 31, 1000, 30_000, 1_000_000, 16_000_000] {
            let leaf = best_leaf(n, 5, Real::F32);
            let depth = depth_for(n, leaf);
            assert!(leaf.saturating_mul(1 << (3 * depth)) >= n && (depth == 0 || leaf << (3 * (depth - 1)) < n), "{n}");
        }
        assert_eq!([1_000_000, 16_000_000].map(|n| depth_for(n, best_leaf(n, 5, Real::F32))), [5, 6]);
        assert_eq!(best_leaf(100, 5, Real::F32), 100, "a hundred particles need no cells");
    }
}
