//! The cells of a tree of one depth on the GPU.

use super::memory::{Parts, Status};
use super::split::Rows;
use super::text::Shape;
use crate::cuda::CudaError;
use crate::cuda::gpu_device::{GpuDevice, Plain};
use crate::cuda::p2p::Number;

/// The data of each cell of a tree.
pub struct Cells<T: Plain, C: GpuDevice> {
    pub depth: u32,
    /// With several GPUs, of each part of the input.
    pub parts: C::Memory<u32>,
    pub counts: C::Memory<u32>,
    pub share_sums: C::Memory<u32>,
    pub sums: C::Memory<u64>,
    pub starts: C::Memory<u64>,
    /// The words of [`Status`], and behind them those of the rows.
    pub counted: C::Memory<u64>,
    pub row_parts: C::Memory<u32>,
    /// For each part what takes places of its sorted share to those of results.
    pub bases: C::Memory<u32>,
    pub work: C::Memory<u64>,
    pub m: C::Memory<T>,
    pub l: C::Memory<T>,
}

/// The cells of all levels from the first one with expansions to before a level.
pub fn level_start(level: u32, first_level: u32) -> usize {
    ((1usize << (3 * level)).saturating_sub(1 << (3 * first_level))) / 7
}

/// The sizes of a tree of one depth, in numbers.
#[derive(Clone, Copy, Debug)]
pub struct CellCounts {
    depth: u32,
    leaves: usize,
    blocks: usize,
    counted: usize,
    /// With several GPUs: starts of cells, and of rows, in each part, and sums of these.
    of_parts: usize,
    of_rows: usize,
    sums: usize,
    parts: usize,
    /// Of expansions of all levels from the first one that has them on.
    expansions: usize,
}

impl CellCounts {
    /// For `n` particles in all, of parts of the input.
    pub fn new(shape: &Shape, (depth, first_level): (u32, u32), n: usize, parts: Parts) -> CellCounts {
        let leaves = 1usize << (3 * depth);
        let (of_parts, of_rows, sums) = match parts.devices {
            1 => (0, 0, 0),
            _ => {
                let places = parts.places(depth);
                let rows = parts.count() * Rows::count(depth);
                (parts.count() * places, rows, (parts.kinds * places).div_ceil(1024))
            }
        };
        CellCounts {
            depth,
            leaves,
            blocks: leaves.min(n) + n / shape.targets() + 1,
            counted: Status::WORDS + Rows::words(depth),
            of_parts,
            of_rows,
            sums,
            parts: parts.count(),
            expansions: level_start(depth + 1, first_level) * shape.pitch,
        }
    }

    /// The bytes of all of it.
    pub fn bytes<T: Number>(&self) -> u64 {
        let words = self.of_parts + self.of_rows + self.sums + self.parts + self.leaves + 1;
        let pairs = self.leaves.div_ceil(1024) + self.leaves + 1 + self.blocks + self.counted;
        (4 * words + 8 * pairs + 2 * self.expansions * size_of::<T>()) as u64
    }
}

impl<T: Number, C: GpuDevice> Cells<T, C> {
    pub fn new(device: &C, counts: &CellCounts) -> Result<Cells<T, C>, CudaError> {
        let CellCounts { depth, leaves, blocks, counted, of_parts, of_rows, sums, parts, expansions } = *counts;
        device.check_capacity(counts.bytes::<T>(), "this FMM")?;
        Ok(Cells {
            depth,
            parts: device.allocate(of_parts)?,
            // One more, as each part has.
            counts: device.allocate(leaves + 1)?,
            share_sums: device.allocate(sums)?,
            sums: device.allocate(leaves.div_ceil(1024))?,
            starts: device.allocate(leaves + 1)?,
            counted: device.allocate(counted)?,
            row_parts: device.allocate(of_rows)?,
            bases: device.allocate(parts)?,
            work: device.allocate(blocks)?,
            m: device.allocate(expansions)?,
            l: device.allocate(expansions)?,
        })
    }

    /// The rows that a GPU counted.
    pub fn rows(&self, device: &C, parts: Parts) -> Result<Rows, CudaError> {
        let mut words = vec![0; Rows::words(self.depth)];
        device.read(&self.counted, Status::WORDS, &mut words)?;
        let mut of_parts = vec![0; if parts.devices > 1 { parts.count() * Rows::count(self.depth) } else { 0 }];
        device.read(&self.row_parts, 0, &mut of_parts)?;
        Ok(Rows::new(&words, of_parts, parts.count()))
    }

    pub fn status(&self, device: &C) -> Result<Status, CudaError> {
        let mut words = [0; Status::WORDS];
        device.read(&self.counted, 0, &mut words)?;
        Ok(Status::new(&words))
    }
}
