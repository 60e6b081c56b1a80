//! P2P of an FMM on the card, in f32 or f64: blocks of targets, each in a frame of its own, against the sources of their cell.
//!
//! What the CPU's P2P holds too close for the arithmetic is left out here too, and counted; so the caller knows which targets
//! it has to compute again.

use super::CudaError;
use super::compile::Arithmetic;
use super::device::{Device, failed};
use crate::arith::lanes::Real;
use crate::direct::p2p::{Frame, Limits};
use crate::tree::Tree;
use crate::tree::charges::Charges;
use crate::tree::lists::{Direct, Lists};
use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaFunction, CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg, ValidAsZeroBits};
use pg2::backend::cuda::p2p::{NAME, Real as Precision, Shape};
use rayon::prelude::*;
use std::ops::Range;

/// Numbers that the kernel computes with.
pub trait Number: Real + DeviceRepr + ValidAsZeroBits {
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
#[derive(Clone, Copy, Debug)]
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

/// Targets of a block over all pairs.
const ALL_PAIRS: usize = 256;

/// A stretch of the sources of a block, as the kernel reads it.
#[derive(Clone, Copy, Debug)]
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

/// What one launch computes: blocks, and the stretches of sources that they name.
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
        let shape = Shape::of_cells(T::REAL);
        let with_targets = tree.leaves.iter().map(|leaf| *leaf as usize).filter(|leaf| tree.cells[*leaf].targets > 0);
        let groups: Vec<Group> = with_targets
            .flat_map(|leaf| {
                let Frame { origin, unit } = Frame::of::<T>(tree, leaf);
                let targets = tree.cells[leaf].targets();
                let size = targets.len().div_ceil(targets.len().div_ceil(shape.targets()));
                let starts = targets.clone().step_by(size);
                let sources = lists.direct(leaf);
                starts.map(move |first| Group {
                    targets: first..(first + size).min(targets.end),
                    sources,
                    origin,
                    unit,
                })
            })
            .collect();
        Layout::new(tree, eps, &groups, shape)
    }

    /// All targets, so many a block, against all sources. The frame is the middle of a block's targets and their extent.
    pub fn of_all_pairs(tree: &Tree, eps: f64) -> Layout<T> {
        // Fewer than a block takes, for more blocks, whose ends then leave less of the card idle.
        let (shape, size) = (Shape::of_all_pairs(T::REAL), ALL_PAIRS);
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
        Layout::new(tree, eps, &groups, shape)
    }

    fn new(tree: &Tree, eps: f64, groups: &[Group], shape: Shape) -> Layout<T> {
        let (mut ulist, mut lists): (Vec<Stretch>, Vec<(Range<u32>, u32)>) =
            (Vec::new(), Vec::with_capacity(groups.len()));
        for (k, group) in groups.iter().enumerate() {
            // The parts of a cell share its list.
            let last = k.checked_sub(1).map(|k| &groups[k]);
            if last.is_some_and(|l| std::ptr::eq(l.sources.own, group.sources.own) && l.origin == group.origin) {
                lists.push(lists[k - 1].clone());
                continue;
            }
            let first = ulist.len() as u32;
            let mut begin = 0;
            for (shift, first, count) in stretches(&group.sources) {
                let origin = [0, 1, 2].map(|a| group.origin[a] - shift[a] as f64 * tree.map.size);
                ulist.push(Stretch { begin, shift: first.wrapping_sub(begin), origin });
                begin += count;
            }
            lists.push((first..ulist.len() as u32, begin));
        }
        let block = |(group, (range, sources)): (&Group, &(Range<u32>, u32))| block(tree, eps, group, range, *sources);
        let blocks = groups.par_iter().zip(&lists).map(block).collect();
        Layout { blocks, units: groups.iter().map(|g| g.unit).collect(), ulist, shape }
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

    fn bytes(&self, tree: &Tree) -> u64 {
        let lists = size_of_val(&self.blocks[..]) + size_of_val(&self.ulist[..]);
        let (sources, targets) = (tree.len() as u64, tree.targets().len() as u64);
        let number = size_of::<T>() as u64;
        lists as u64 + sources * (24 + number) + targets * (24 + 4 * number + 4)
    }
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

/// Whether the arithmetic suits charges and softening at all.
pub fn suits<T: Number>(tree: &Tree, charges: &Charges, eps: f64, layout: &Layout<T>) -> bool {
    let limits = Limits::of::<T>();
    let least = layout.units.iter().copied().fold(f64::MAX, f64::min);
    charges.least >= limits.charge && tree.map.scaled(eps) / least <= limits.eps
}

/// Data on the card, ready to launch.
pub struct Prepared<T> {
    function: CudaFunction,
    targets: [CudaSlice<f64>; 3],
    sources: [CudaSlice<f64>; 3],
    charges: CudaSlice<T>,
    blocks: CudaSlice<Block<T>>,
    ulist: CudaSlice<Stretch>,
    force: CudaSlice<T>,
    close: CudaSlice<u32>,
    count: usize,
    grid: u32,
    threads: u32,
}

/// What came back, target by target.
pub struct Sums<T> {
    /// Potential and gradient in units of the block, as the kernel's pins have them.
    pub force: Vec<T>,
    /// Sources that were left out because they are too close, the target itself included.
    pub close: Vec<u32>,
}

impl<T: Number> Prepared<T> {
    /// Compiles the kernel and sends everything but the charges, which are 0.
    pub fn new(device: &mut Device, text: &str, tree: &Tree, layout: &Layout<T>) -> Result<Prepared<T>, CudaError> {
        let function = device.function(text, NAME, T::ARITHMETIC)?;
        device.check_room(layout.bytes(tree), "P2P")?;
        let send = |columns: &[Vec<f64>; 3]| -> Result<[CudaSlice<f64>; 3], CudaError> {
            Ok([device.send(&columns[0])?, device.send(&columns[1])?, device.send(&columns[2])?])
        };
        let count = tree.targets().len();
        Ok(Prepared {
            function,
            targets: send(&tree.targets().scaled)?,
            sources: send(&tree.sources.scaled)?,
            charges: device.room(tree.len())?,
            blocks: device.send(&layout.blocks)?,
            ulist: device.send(&layout.ulist)?,
            force: device.room(4 * count)?,
            close: device.room(count)?,
            count,
            grid: layout.blocks.len() as u32,
            threads: layout.shape.threads,
        })
    }

    /// Sends other charges.
    pub fn set_charges(&mut self, device: &Device, charges: &Charges) -> Result<(), CudaError> {
        // On one thread: those of the pool are busy with the far field.
        let charges: Vec<T> = charges.scaled.iter().map(|q| T::of(*q)).collect();
        self.charges = device.send(&charges)?;
        Ok(())
    }

    /// Runs the kernel and gives its seconds on the card.
    pub fn launch(&mut self, device: &Device) -> Result<f64, CudaError> {
        if self.grid == 0 {
            return Ok(0.0);
        }
        let config = LaunchConfig { grid_dim: (self.grid, 1, 1), block_dim: (self.threads, 1, 1), shared_mem_bytes: 0 };
        let mut launch = device.stream.launch_builder(&self.function);
        launch.record_kernel_launch(CUevent_flags::CU_EVENT_DEFAULT);
        self.targets.iter().chain(&self.sources).for_each(|column| {
            launch.arg(column);
        });
        launch.arg(&self.charges).arg(&self.blocks).arg(&self.ulist).arg(&mut self.force).arg(&mut self.close);
        // SAFETY: the arguments are those of the kernel, whose blocks and stretches lie within the columns.
        let events = unsafe { launch.launch(config) }.map_err(|e| failed("the GPU does not start the kernel", e))?;
        let Some((start, end)) = events else { return Ok(0.0) };
        let ms = start.elapsed_ms(&end).map_err(|e| failed("the GPU failed in P2P", e))?;
        Ok(ms as f64 * 1e-3)
    }

    pub fn fetch(&self, device: &Device) -> Result<Sums<T>, CudaError> {
        Ok(Sums { force: device.fetch(&self.force, 4 * self.count)?, close: device.fetch(&self.close, self.count)? })
    }
}
