//! What there is on the card, and the structs that its kernels read.

use super::text::Shape;
use crate::cuda::CudaError;
use crate::cuda::device::Device;
use crate::cuda::p2p::Number;
use crate::expansion::solid::dense::Dense;
use cudarc::driver::{CudaSlice, DevicePtr, DeviceRepr, ValidAsZeroBits};

/// Blocks of `bounds`.
pub const BOUNDS_BLOCKS: u32 = 264;

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
pub struct Bounds {
    pub low: [f64; 3],
    pub high: [f64; 3],
    pub most: f64,
    pub least: f64,
    pub bad: u64,
}

// SAFETY: plain numbers in the order of the kernels' struct, of which all zeros are one.
unsafe impl DeviceRepr for Bounds {}
// SAFETY: as above.
unsafe impl ValidAsZeroBits for Bounds {}

/// What every kernel is given, in the order of the kernels' struct: places on the card, and numbers.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Problem {
    pub input: [u64; 4],
    pub bounds: u64,
    pub status: u64,
    pub cell: u64,
    pub rank: u64,
    pub counts: u64,
    pub sums: u64,
    pub starts: u64,
    pub unsettled: u64,
    pub order: u64,
    pub records: u64,
    pub work: u64,
    pub again: u64,
    pub m: u64,
    pub l: u64,
    pub near: u64,
    pub out: u64,
    pub up: u64,
    pub down: u64,
    pub matrices: u64,
    pub slopes: u64,
    pub steps: u64,
    pub slope_terms: u64,
    pub shift: f64,
    pub centre: [f64; 3],
    pub rest: [f64; 3],
    pub size: f64,
    pub charge: f64,
    pub eps2: f64,
    pub wide_eps2: f64,
    pub potential: f64,
    pub gradient: f64,
    pub wide_potential: f64,
    pub wide_gradient: f64,
    pub n: u64,
    pub depth: u64,
}

// SAFETY: plain numbers in the order of the kernels' struct.
unsafe impl DeviceRepr for Problem {}

pub struct Tables<T> {
    pub up: CudaSlice<T>,
    pub down: CudaSlice<T>,
    pub matrices: CudaSlice<T>,
    pub slopes: CudaSlice<T>,
    pub steps: CudaSlice<i32>,
    pub slope_terms: CudaSlice<i32>,
}

/// What there is of each particle.
pub struct Particles<T> {
    pub n: usize,
    pub input: [CudaSlice<f64>; 4],
    pub bounds: CudaSlice<Bounds>,
    pub status: CudaSlice<Status>,
    /// Cell, rank, order before and after settling, and targets to be computed again.
    pub indices: [CudaSlice<u32>; 5],
    pub records: CudaSlice<T>,
    pub near: CudaSlice<T>,
    pub out: CudaSlice<T>,
}

/// What there is of each cell of a tree.
pub struct Cells<T> {
    pub depth: u32,
    pub counts: CudaSlice<u64>,
    pub sums: CudaSlice<u64>,
    pub starts: CudaSlice<u64>,
    pub work: CudaSlice<u64>,
    pub m: CudaSlice<T>,
    pub l: CudaSlice<T>,
}

/// The place of data on the card.
pub fn place<U>(device: &Device, data: &CudaSlice<U>) -> u64 {
    data.device_ptr(&device.stream).0
}

impl<T: Number> Tables<T> {
    pub fn new(device: &Device, dense: &Dense, shape: &Shape) -> Result<Tables<T>, CudaError> {
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
    pub const BYTES: u64 = 4 * 8 + 5 * 4 + 12 * size_of::<T>() as u64;

    pub fn new(device: &Device, input: [&[f64]; 4]) -> Result<Particles<T>, CudaError> {
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
    pub fn new(device: &Device, shape: &Shape, depth: u32, n: usize) -> Result<Cells<T>, CudaError> {
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
