//! P2P of an FMM on the GPU, in f32 or f64: blocks of targets, each in a frame of its own, against the sources of their cell.
//!
//! Pairs that the CPU's P2P holds too close for the arithmetic are left out here too, and counted; so the caller knows which targets
//! it has to compute again.

use super::CudaError;
use super::compile::Arithmetic;
use super::device::{Device, failed};
use super::gpu_device::GpuDevice;
use super::octree::communicator::Raw;
use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaEvent, CudaFunction, CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg, ValidAsZeroBits};
use fmm::arith::lanes::Real;
use fmm::data::parts;
use fmm::direct::p2p::{Frame, Limits};
use fmm::parallel::prelude::*;
use fmm::tree::Tree;
use fmm::tree::charges::Charges;
use fmm::tree::lists::{Direct, Lists};
use pg2::backend::cuda::p2p::{NAME, Real as Precision, Shape};
use std::ops::Range;
use std::sync::Arc;

/// Numbers that the kernel computes with.
pub trait Number: Real + Raw + DeviceRepr + ValidAsZeroBits {
    const ARITHMETIC: Arithmetic;
    const REAL: Precision;
}

impl Number for f32 {
    const ARITHMETIC: Arithmetic = Arithmetic::Fast;
    const REAL: Precision = Precision::F32;
}

impl Number for f64 {
    const ARITHMETIC: Arithmetic = Arithmetic::Careful;
    const REAL: Precision = Precision::F64;
}

/// A cell's part of the targets, as the kernel reads it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Block<T> {
    origin: [f64; 3],
    factor: f64,
    low: [T; 3],
    high: [T; 3],
    eps2: T,
    least: T,
    first: u32,
    count: u32,
    uidx: u32,
    uidx_end: u32,
    sources: u32,
    unused: u32,
}

// SAFETY: plain numbers in the order of the kernel's struct, of which all zeros are one.
unsafe impl<T: Number> DeviceRepr for Block<T> {}
// SAFETY: as above.
unsafe impl<T: Number> ValidAsZeroBits for Block<T> {}

/// Leaves whose blocks one thread writes at a time.
const TASK: usize = 1 << 9;

/// Targets of a block over all pairs at most and at least, and blocks that fill a GPU.
const ALL_PAIRS: usize = 256;
const LEAST: usize = 32;
const FULL: usize = 264;

/// A stretch of the sources of a block, as the kernel reads it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Stretch {
    begin: u32,
    shift: u32,
    origin: [f64; 3],
}

// SAFETY: plain numbers in the order of the kernel's struct, of which all zeros are one.
unsafe impl DeviceRepr for Stretch {}
// SAFETY: as above.
unsafe impl ValidAsZeroBits for Stretch {}

/// The work of one launch: blocks, and the stretches of sources that they name.
pub struct Layout<T> {
    blocks: Vec<Block<T>>,
    /// For each block its unit of length in scaled coordinates.
    units: Vec<f64>,
    ulist: Vec<Stretch>,
    pub shape: Shape,
}

/// Targets that see the same sources.
struct Group<'a> {
    targets: Range<usize>,
    sources: Direct<'a>,
    origin: [f64; 3],
    unit: f64,
}

impl<T: Number> Layout<T> {
    /// Every leaf's targets against its list of near sources. Cells with more targets than a block takes are split evenly.
    pub fn of_leaves(tree: &Tree, lists: &Lists, eps: f64) -> Layout<T> {
        Layout::of_leaves_in(tree, lists, eps, Shape::of_cells(T::REAL))
    }

    /// The same with blocks of that shape.
    pub fn of_leaves_in(tree: &Tree, lists: &Lists, eps: f64, shape: Shape) -> Layout<T> {
        let of_leaf = |leaf: usize| {
            let Frame { origin, unit } = Frame::of::<T>(tree, leaf);
            let targets = tree.cells[leaf].targets();
            let size = targets.len().div_ceil(targets.len().div_ceil(shape.targets()));
            let starts = targets.clone().step_by(size);
            let sources = lists.direct(leaf);
            starts.map(move |first| Group { targets: first..(first + size).min(targets.end), sources, origin, unit })
        };
        let some = |leaves: &[u32]| {
            let leaves = leaves.iter().map(|leaf| *leaf as usize).filter(|leaf| tree.cells[*leaf].targets > 0);
            leaves.flat_map(of_leaf).collect()
        };
        let tasks: Vec<Vec<Group>> = tree.leaves.par_chunks(TASK).map(some).collect();
        Layout::new(tree, eps, &tasks, shape)
    }

    /// All targets, so many a block, against all sources. The frame is the middle of a block's targets and their extent.
    pub fn of_all_pairs(tree: &Tree, eps: f64) -> Layout<T> {
        Layout::of_all_pairs_in(tree, eps, Shape::of_all_pairs(T::REAL))
    }

    /// The same with blocks of that shape.
    pub fn of_all_pairs_in(tree: &Tree, eps: f64, shape: Shape) -> Layout<T> {
        // Fewer than a block takes, for more blocks: their ends leave less of the GPU idle, and few targets still fill it.
        let size = ALL_PAIRS.min(shape.targets()).min(tree.targets().len().div_ceil(FULL).max(LEAST));
        let points = tree.targets();
        let all = [(0, tree.len() as u32)];
        let sources = Direct { own: &all, images: &[] };
        let group = |first: usize| {
            let targets = first..(first + size).min(points.len());
            let (low, high) = bounds(|a, k| points.scaled[a][k], targets.clone());
            let extent = (0..3).map(|a| high[a] - low[a]).fold(0.0, f64::max);
            let unit = if extent > 0.0 { extent } else { tree.map.size };
            let (origin, unit) = match T::REAL {
                Precision::F32 => ([0, 1, 2].map(|a| (low[a] + high[a]) / 2.0), unit),
                Precision::F64 => ([0.0; 3], 1.0),
            };
            Group { targets, sources, origin, unit }
        };
        let groups: Vec<Group> = (0..points.len()).step_by(size).map(group).collect();
        Layout::new(tree, eps, &[groups], shape)
    }

    /// Parts of a cell stand behind each other in one task.
    fn new(tree: &Tree, eps: f64, tasks: &[Vec<Group>], shape: Shape) -> Layout<T> {
        // The parts of a cell share its list.
        let same = |a: &Group, b: &Group| {
            let (a_list, b_list) = (&a.sources, &b.sources);
            std::ptr::eq(a_list.own, b_list.own) && std::ptr::eq(a_list.images, b_list.images) && a.origin == b.origin
        };
        let length = |task: &Vec<Group>| -> usize {
            task.chunk_by(same).map(|parts| stretches(&parts[0].sources).count()).sum()
        };
        let lengths: Vec<usize> = tasks.par_iter().map(length).collect();
        let counts: Vec<usize> = tasks.iter().map(Vec::len).collect();
        let (mut blocks, mut units, mut ulist) = (Vec::new(), Vec::new(), Vec::new());
        let rooms = parts(&mut blocks, &counts).zip(parts(&mut units, &counts)).zip(parts(&mut ulist, &lengths));
        let mut end = 0;
        let rooms = rooms.zip(&lengths).map(|(rooms, length)| {
            end += length;
            (rooms, end - length)
        });
        let all: Vec<_> = tasks.iter().zip(rooms).collect();
        all.into_par_iter().for_each(|(task, (((blocks, units), ulist), first))| {
            let (mut rooms, mut room) = (blocks.iter_mut().zip(units), ulist.iter_mut());
            let mut first = first as u32;
            for cell in task.chunk_by(same) {
                let (mut begin, mut end) = (0, first);
                for (shift, source, count) in stretches(&cell[0].sources) {
                    let origin = [0, 1, 2].map(|a| cell[0].origin[a] - shift[a] as f64 * tree.map.size);
                    let stretch = Stretch { begin, shift: source.wrapping_sub(begin), origin };
                    room.next().expect("all stretches were counted").write(stretch);
                    (begin, end) = (begin + count, end + 1);
                }
                for (group, (to, unit)) in cell.iter().zip(&mut rooms) {
                    to.write(block(tree, eps, group, &(first..end), begin));
                    unit.write(group.unit);
                }
                first = end;
            }
        });
        // SAFETY: every task has written as many as were counted.
        unsafe {
            blocks.set_len(counts.iter().sum());
            units.set_len(counts.iter().sum());
            ulist.set_len(lengths.iter().sum());
        }
        Layout { blocks, units, ulist, shape }
    }

    /// For each block its targets and its unit of length in scaled coordinates.
    pub fn blocks(&self) -> impl Iterator<Item = (Range<usize>, f64)> {
        let targets = self.blocks.iter().map(|b| b.first as usize..(b.first + b.count) as usize);
        targets.zip(self.units.iter().copied())
    }

    /// Pairs of a target and a source.
    pub fn pairs(&self) -> u64 {
        self.blocks.iter().map(|b| b.count as u64 * b.sources as u64).sum()
    }

    /// The blocks in so many parts of about as many pairs each, in their order.
    pub fn parts(&self, parts: usize) -> Vec<Range<usize>> {
        let all = self.pairs();
        let (mut ends, mut so_far) = (Vec::with_capacity(parts), 0);
        for (k, block) in self.blocks.iter().enumerate() {
            while ends.len() + 1 < parts && so_far as u128 * parts as u128 >= all as u128 * (ends.len() as u128 + 1) {
                ends.push(k);
            }
            so_far += block.count as u64 * block.sources as u64;
        }
        ends.resize(parts, self.blocks.len());
        let starts = std::iter::once(0).chain(ends.iter().copied());
        starts.zip(ends.iter().copied()).map(|(start, end)| start..end).collect()
    }

    fn bytes(&self, tree: &Tree) -> u64 {
        bytes::<T>(tree, self.blocks.len(), self.ulist.len())
    }
}

/// The bytes that P2P of particles, blocks and stretches takes on a GPU.
fn bytes<T: Number>(tree: &Tree, blocks: usize, stretches: usize) -> u64 {
    let lists = blocks * size_of::<Block<T>>() + stretches * size_of::<Stretch>();
    let (sources, targets) = (tree.len() as u64, tree.targets().len() as u64);
    let number = size_of::<T>() as u64;
    lists as u64 + sources * (24 + number) + targets * (24 + 4 * number + 4)
}

/// Says before anything is sent whether the P2P of all leaves fits on a GPU.
pub fn check_capacity<T: Number>(device: &Device, tree: &Tree, lists: &Lists) -> Result<(), CudaError> {
    let of_leaf = |leaf: &u32| stretches(&lists.direct(*leaf as usize)).count();
    let stretches: usize = tree.leaves.par_iter().map(of_leaf).reduce(|| 0, |a, b| a + b);
    device.check_capacity(bytes::<T>(tree, tree.leaves.len(), stretches), "P2P")
}

/// The stretches of sources that are not empty: the image, in boxes, and the particles.
fn stretches<'a>(sources: &Direct<'a>) -> impl Iterator<Item = ([i32; 3], u32, u32)> + 'a {
    let own = sources.own.iter().map(|(first, count)| ([0; 3], *first, *count));
    own.chain(sources.images.iter().map(|s| (s.shift, s.first, s.count))).filter(|s| s.2 > 0)
}

/// The least and the greatest coordinates of some points.
fn bounds<T: PartialOrd + Copy>(at: impl Fn(usize, usize) -> T, mut points: Range<usize>) -> ([T; 3], [T; 3]) {
    let first = points.next().expect("a block has targets");
    let (mut low, mut high) = ([0, 1, 2].map(|a| at(a, first)), [0, 1, 2].map(|a| at(a, first)));
    for k in points {
        for a in 0..3 {
            let x = at(a, k);
            low[a] = if x < low[a] { x } else { low[a] };
            high[a] = if x > high[a] { x } else { high[a] };
        }
    }
    (low, high)
}

fn block<T: Number>(tree: &Tree, eps: f64, group: &Group, list: &Range<u32>, sources: u32) -> Block<T> {
    let (points, factor) = (tree.targets(), 1.0 / group.unit);
    let place = |a: usize, k: usize| T::of((points.scaled[a][k] - group.origin[a]) * factor);
    let (low, high) = bounds(place, group.targets.clone());
    let limits = Limits::of::<T>();
    // Somewhat more than the distance, for the rounding of differences.
    let more = T::of(1.01 * limits.distance);
    let eps = tree.map.scaled(eps) * factor;
    Block {
        origin: group.origin,
        factor,
        low: low.map(|x| x - more),
        high: high.map(|x| x + more),
        eps2: T::of(eps * eps),
        least: T::of(limits.distance * limits.distance),
        first: group.targets.start as u32,
        count: group.targets.len() as u32,
        uidx: list.start,
        uidx_end: list.end,
        sources,
        unused: 0,
    }
}

/// The softening length in units of the smallest frame that a leaf's targets have.
pub fn longest_eps<T: Number>(tree: &Tree, eps: f64) -> f64 {
    let eps = tree.map.scaled(eps);
    let of_leaf = |leaf: &u32| match tree.cells[*leaf as usize].targets {
        0 => 0.0,
        _ => eps / Frame::of::<T>(tree, *leaf as usize).unit,
    };
    tree.leaves.par_iter().map(of_leaf).reduce(|| 0.0, f64::max)
}

/// Whether the arithmetic suits charges and this length at all.
pub fn suits<T: Number>(charges: &Charges, longest_eps: f64) -> bool {
    let limits = Limits::of::<T>();
    charges.least >= limits.charge && longest_eps <= limits.eps
}

/// Data on the GPU, ready to launch, and memory on the host for what goes there and comes back.
pub struct Prepared<T> {
    function: CudaFunction,
    targets: Columns,
    sources: Columns,
    charges: CudaSlice<T>,
    blocks: CudaSlice<Block<T>>,
    ulist: CudaSlice<Stretch>,
    force: CudaSlice<T>,
    close: CudaSlice<u32>,
    /// The results on the host. They are copied through a small memory that the GPU reads and writes by itself: to make as much of that
    /// takes longer than many copies.
    host_force: Vec<T>,
    host_close: Vec<u32>,
    /// The targets of all blocks.
    part: Range<usize>,
    grid: u32,
    threads: u32,
}

/// Coordinates on the GPU. Targets that are the sources share theirs.
type Columns = Arc<[CudaSlice<f64>; 3]>;

/// The results for some targets, one after the other.
pub struct Sums<'a, T> {
    /// The first of the targets.
    pub first: usize,
    /// Potential and gradient in units of the block, as the kernel's pins have them.
    pub force: &'a [T],
    /// Sources that were left out because they are too close, the target itself included.
    pub close: &'a [u32],
}

impl<T: Number> Sums<'_, T> {
    /// Potential and gradient of a target, and how many sources were left out.
    pub fn of(&self, target: usize) -> ([T; 4], u32) {
        let k = target - self.first;
        ([0, 1, 2, 3].map(|a| self.force[4 * k + a]), self.close[k])
    }
}

impl<T: Number> Prepared<T> {
    /// Compiles the kernel and sends everything but the charges, which are 0.
    pub fn new(device: &mut Device, text: &str, tree: &Tree, layout: &Layout<T>) -> Result<Prepared<T>, CudaError> {
        Prepared::of_part(device, text, tree, layout, 0..layout.blocks.len())
    }

    /// The same for some of the blocks.
    pub fn of_part(
        device: &mut Device,
        text: &str,
        tree: &Tree,
        layout: &Layout<T>,
        blocks: Range<usize>,
    ) -> Result<Prepared<T>, CudaError> {
        let function = device.function(text, NAME, T::ARITHMETIC)?;
        device.check_capacity(layout.bytes(tree), "P2P")?;
        let send = |columns: &[Vec<f64>; 3]| -> Result<Columns, CudaError> {
            let [x, y, z] = columns.each_ref().map(|column| GpuDevice::send(device, column));
            Ok(Arc::new([x?, y?, z?]))
        };
        let blocks = &layout.blocks[blocks];
        let first = blocks.iter().map(|b| b.first).min().unwrap_or(0) as usize;
        let end = blocks.iter().map(|b| b.first + b.count).max().unwrap_or(0) as usize;
        let (count, part) = (tree.targets().len(), first..end.max(first));
        let sources = send(&tree.sources.scaled)?;
        Ok(Prepared {
            function,
            targets: if tree.is_apart() { send(&tree.targets().scaled)? } else { sources.clone() },
            sources,
            charges: device.allocate(tree.len())?,
            blocks: GpuDevice::send(device, blocks)?,
            ulist: GpuDevice::send(device, &layout.ulist)?,
            force: device.allocate(4 * count)?,
            close: device.allocate(count)?,
            host_force: Vec::new(),
            host_close: Vec::new(),
            part,
            grid: blocks.len() as u32,
            threads: layout.shape.threads,
        })
    }

    /// Sends other charges.
    pub fn set_charges(&mut self, device: &Device, charges: &Charges) -> Result<(), CudaError> {
        let charges: Vec<T> = charges.scaled.par_iter().map(|q| T::of(*q)).collect();
        device.write(&charges, &mut self.charges, 0)
    }

    /// Runs the kernel and gives its seconds on the GPU.
    pub fn launch(&mut self, device: &Device) -> Result<f64, CudaError> {
        let Some((start, end)) = self.started(device, true)? else { return Ok(0.0) };
        let ms = start.elapsed_ms(&end).map_err(|e| failed("the GPU failed in P2P", e))?;
        Ok(ms as f64 * 1e-3)
    }

    /// Starts the kernel.
    pub fn start(&mut self, device: &Device) -> Result<(), CudaError> {
        self.started(device, false).map(|_| ())
    }

    /// Starts the kernel. `timed` gives events before and behind it.
    fn started(&mut self, device: &Device, timed: bool) -> Result<Option<(CudaEvent, CudaEvent)>, CudaError> {
        if self.grid == 0 {
            return Ok(None);
        }
        let config = LaunchConfig { grid_dim: (self.grid, 1, 1), block_dim: (self.threads, 1, 1), shared_mem_bytes: 0 };
        let mut launch = device.stream.launch_builder(&self.function);
        if timed {
            launch.record_kernel_launch(CUevent_flags::CU_EVENT_DEFAULT);
        }
        self.targets.iter().chain(&*self.sources).for_each(|column| {
            launch.arg(column);
        });
        launch.arg(&self.charges).arg(&self.blocks).arg(&self.ulist).arg(&mut self.force).arg(&mut self.close);
        // SAFETY: the arguments are those of the kernel, whose blocks and stretches lie within the columns.
        unsafe { launch.launch(config) }.map_err(|e| failed("the GPU does not start the kernel", e))
    }

    /// Fetches the results of the last launch, once it has ended.
    pub fn fetch(&mut self, device: &Device) -> Result<Sums<'_, T>, CudaError> {
        let Range { start, end } = self.part.clone();
        self.host_force.clear();
        self.host_close.clear();
        device.append(&self.force, 4 * start..4 * end, &mut self.host_force)?;
        device.append(&self.close, start..end, &mut self.host_close)?;
        Ok(Sums { first: start, force: &self.host_force, close: &self.host_close })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fmm::data::periodic::Periodic;
    use fmm::data::problem::Geometry;
    use fmm::data::random::{Charge, Distribution, generate};
    use fmm::tree::lists::{self, ListOptions};

    fn check<T: Number>(tree: &Tree, lists: &Lists) {
        let layout = Layout::<T>::of_leaves(tree, lists, 0.0);
        let (mut blocks, mut end) = (layout.blocks.iter().zip(&layout.units), 0);
        for leaf in tree.leaves.iter().map(|leaf| *leaf as usize).filter(|leaf| tree.cells[*leaf].targets > 0) {
            let frame = Frame::of::<T>(tree, leaf);
            let (direct, targets) = (lists.direct(leaf), tree.cells[leaf].targets());
            let mut next = targets.start;
            while next < targets.end {
                let (block, unit) = blocks.next().unwrap();
                assert_eq!((block.first as usize, block.origin, *unit), (next, frame.origin, frame.unit));
                assert!(block.count > 0 && block.count as usize <= layout.shape.targets());
                next += block.count as usize;
                // What the block reads is what the leaf's list has.
                let list = &layout.ulist[block.uidx as usize..block.uidx_end as usize];
                let ends = list.iter().skip(1).map(|s| s.begin).chain([block.sources]);
                let found: Vec<_> = list
                    .iter()
                    .zip(ends)
                    .map(|(s, end)| {
                        let boxes = |a: usize| ((frame.origin[a] - s.origin[a]) / tree.map.size).round() as i32;
                        ([0, 1, 2].map(boxes), s.shift.wrapping_add(s.begin), end - s.begin)
                    })
                    .collect();
                assert_eq!(found, stretches(&direct).collect::<Vec<_>>());
                assert!(block.uidx as usize == end || next > targets.start + block.count as usize);
                end = block.uidx_end as usize;
            }
            assert_eq!(next, targets.end);
        }
        assert!(blocks.next().is_none() && end == layout.ulist.len());
    }

    #[test]
    fn blocks_read_what_the_lists_of_their_leaves_have() {
        let particles = generate(4000, Distribution::Plummer, Charge::Random, 3);
        let targets = generate(900, Distribution::Plummer, Charge::Random, 4);
        let options = ListOptions { near2: 4, m2p_above: 5, p2l_above: 5 };
        // Leaves of more than one task, cells of several blocks, images, and leaves without sources near.
        for (leaf, is_periodic, is_apart) in
            [(3, false, false), (1500, false, false), (40, true, false), (4, true, true)]
        {
            let mut geometry = Geometry::from(particles.columns());
            geometry.targets = is_apart.then(|| targets.columns());
            let periodic = is_periodic.then_some(Periodic { length: 28.0, axes: [true, false, true] });
            let mut tree = Tree::with_period(geometry, leaf, periodic.as_ref());
            if let Some(periodic) = periodic {
                tree.repeat(periodic.axes, options.near2);
            }
            let lists = lists::build(&tree, &options);
            assert_eq!(tree.leaves.iter().any(|l| !lists.direct(*l as usize).images.is_empty()), is_periodic);
            check::<f32>(&tree, &lists);
            check::<f64>(&tree, &lists);
        }
    }
}
