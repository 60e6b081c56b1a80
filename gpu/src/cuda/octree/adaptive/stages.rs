//! The kernels of a run in an adaptive tree, in their order.

use super::memory::{CELL_TILE, COUNTS, Counted, DIGITS, Levels, Memory, PASSES, Problem, SORT_TILE};
use crate::cuda::CudaError;
use crate::cuda::driver::Kernels;
use crate::cuda::gpu_device::{GpuDevice, Size, Stream};
use crate::cuda::octree::Fields;
use crate::cuda::octree::run::Tick;
use crate::cuda::octree::stages::AGAIN_BLOCKS;
use crate::cuda::octree::text::{Basis, Shape};
use crate::cuda::p2p::Number;

/// A GPU in one run.
pub struct On<'a, T: Number, C: GpuDevice> {
    pub device: &'a C,
    pub kernels: &'a Kernels<C>,
    pub shape: &'a Shape,
    pub memory: &'a Memory<T, C>,
    pub is_periodic: bool,
    pub fields: Fields,
    pub problem: Problem,
}

impl<T: Number, C: GpuDevice> On<'_, T, C> {
    pub fn launch(&self, name: &str, size: Size, numbers: &[u32]) -> Result<(), CudaError> {
        self.kernels.launch(self.device, name, size, &self.problem, numbers)
    }

    /// Starts a kernel beside those of the main stream.
    fn launch_beside(&self, name: &str, size: Size) -> Result<(), CudaError> {
        self.kernels.launch_in(Stream::Beside, self.device, name, size, &self.problem, &[])
    }

    /// Sorts the particles from a pass on, and counts the cells of each level.
    pub fn sort(&self, first: u32) -> Result<(), CudaError> {
        let n = self.problem.n as usize;
        self.launch("keys", Size::of_threads(n), &[first])?;
        let tiles = n.div_ceil(SORT_TILE);
        for pass in first..PASSES {
            self.launch("count_digits", Size::new(tiles, 256), &[pass])?;
            self.scan_rows(DIGITS, tiles)?;
            self.launch("place_digits", Size::new(tiles, 256), &[pass])?;
        }
        let blocks = n.div_ceil(CELL_TILE);
        self.launch("mark_cells", Size::new(blocks, 1024), &[])?;
        self.scan_rows(COUNTS, blocks)
    }

    fn scan_rows(&self, rows: usize, length: usize) -> Result<(), CudaError> {
        let threads = length.next_multiple_of(32).min(1024);
        self.launch("scan_rows", Size::new(rows, threads), &[length as u32])
    }

    /// Gives the sorted particles their places and charges.
    pub fn place_records(&self) -> Result<(), CudaError> {
        self.launch("place_records", Size::of_threads(self.problem.n as usize), &[])
    }

    pub fn make_cells(&self, levels: &Levels) -> Result<(), CudaError> {
        self.launch("make_cells", Size::new((self.problem.n as usize).div_ceil(CELL_TILE), 1024), &[])?;
        // Keys and marks, which stand where sorted particles come, are not read any more.
        self.place_records()?;
        (0..=levels.deepest).try_for_each(|level| {
            self.launch("find_colleagues", Size::new(levels.of(level).div_ceil(8), 256), &[level as u32])
        })
    }

    /// Counts up to now.
    pub fn counted(&self) -> Result<Counted, CudaError> {
        let mut words = [0; Counted::WORDS];
        self.device.read(self.memory.status.get(), 0, &mut words)?;
        Ok(Counted::new(&words))
    }
}

/// The state of the lists before the stages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lists {
    Wanted,
    There,
}

/// Cells from the second level on, which have local expansions.
fn below_the_first(levels: &Levels) -> usize {
    levels.cells() - levels.starts[2] as usize
}

/// All stages from P2M on, and the lists where they are wanted. P2P and its lists are made beside all stages up to L2L: it fills a GPU that has few cells to go
/// over or waits for the last of them, and has the seconds from the end of L2L on.
pub fn stages<T: Number, C: GpuDevice>(
    all: &[On<T, C>],
    levels: &Levels,
    lists: Lists,
    tick: &mut Tick,
) -> Result<(), CudaError> {
    let (leaves, is_periodic) = (levels.leaves(), all[0].is_periodic);
    let first = if is_periodic { 0 } else { 2 };
    all.iter().try_for_each(|on| on.device.fork())?;
    for on in all {
        if lists == Lists::Wanted {
            on.launch_beside("list_leaves", Size::new(leaves.div_ceil(8), 256))?;
        }
        on.launch("p2m", Size::of_warps(leaves), &[])?;
        // Blocks beyond those that the lists ask for do nothing.
        let blocks = leaves + on.problem.n as usize / on.shape.targets();
        if on.fields == Fields::All {
            on.launch_beside("p2p", Size::new(blocks, on.shape.threads))?;
        }
        on.launch_beside("again", Size::new(AGAIN_BLOCKS as usize, 256))?;
    }
    tick()?;
    for level in (first..levels.deepest).rev() {
        let size = all[0].shape.m2m_of_level(levels.of(level));
        all.iter().try_for_each(|on| on.launch("m2m", size, &[level as u32]))?;
    }
    if is_periodic {
        all.iter().try_for_each(|on| on.launch("far_images", Size::new(1, on.shape.terms), &[]))?;
    }
    tick()?;
    let tiles = levels.tiles(first.max(1));
    let tiles = tiles[tiles.len() - 1] as usize;
    for on in all {
        on.launch("m2l", on.shape.m2l(tiles), &[])?;
        if lists == Lists::Wanted {
            on.launch("list_cells", Size::new(below_the_first(levels).div_ceil(8), 256), &[])?;
        }
        if on.shape.basis == Basis::Harmonics {
            on.launch("p2l", Size::of_warps(below_the_first(levels)), &[])?;
        }
    }
    tick()?;
    for level in first..levels.deepest {
        let size = all[0].shape.l2l_of_level(levels.of(level));
        all.iter().try_for_each(|on| on.launch("l2l", size, &[level as u32]))?;
    }
    tick()?;
    all.iter().try_for_each(|on| on.device.join())?;
    tick()?;
    for on in all {
        if on.shape.basis == Basis::Harmonics {
            on.launch("m2p", on.shape.m2p(leaves), &[])?;
        }
        on.launch("l2p", on.shape.l2p(leaves), &[])?;
    }
    Ok(())
}
