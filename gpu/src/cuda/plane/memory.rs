//! The data on the GPU, and the structs that its kernels read.

use super::text::{BINS, Shape, TILE};
use crate::cuda::CudaError;
use crate::cuda::gpu_device::GpuDevice;
use cudarc::driver::{DeviceRepr, ValidAsZeroBits};

/// Blocks of `bounds`.
pub(super) const BOUNDS_BLOCKS: u32 = 528;

/// Counts that the GPU makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Status {
    /// Not 0 if the arithmetic of the GPU is too narrow for the points or their results.
    pub unfit: u64,
    /// Of P2P, each target's own place included.
    pub pairs: u64,
    /// Of P2L and M2P, pairs of a point and a box.
    pub p2l: u64,
    pub m2p: u64,
    /// Items in the lists of M2L, of strong coupling on all levels, of P2L and of M2P.
    pub items: [u64; 4],
}

impl Status {
    pub(super) const WORDS: usize = 8;

    pub(super) fn new(words: &[u64]) -> Status {
        let items = [words[4], words[5], words[6], words[7]];
        Status { unfit: words[0], pairs: words[1], p2l: words[2], m2p: words[3], items }
    }
}

/// A list of boxes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct List {
    pub start: u32,
    pub count: u32,
}

// SAFETY: plain numbers in the order of the kernels' struct, of which all zeros are one.
unsafe impl DeviceRepr for List {}
// SAFETY: as above.
unsafe impl ValidAsZeroBits for List {}

/// The argument of every kernel, in the order of the kernels' struct: places on the GPU, and numbers.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Problem {
    pub input: [u64; 4],
    pub extents: u64,
    pub frame: u64,
    pub status: u64,
    pub scaled: u64,
    pub x: u64,
    pub y: u64,
    pub order: u64,
    pub rectangles: u64,
    pub histograms: u64,
    pub cursors: u64,
    pub tiles: u64,
    pub keys: u64,
    pub key_tiles: u64,
    pub pivots: u64,
    pub shapes: [u64; 8],
    pub start: u64,
    pub sources: u64,
    pub weak: u64,
    pub strong: u64,
    pub p2l: u64,
    pub m2p: u64,
    pub items: [u64; 4],
    pub capacity: [u64; 4],
    pub m: u64,
    pub l: u64,
    pub binomials: u64,
    pub near: u64,
    pub out: u64,
    pub theta: f64,
    pub n: u64,
    pub levels: u64,
    pub most: u64,
    pub part: u64,
    pub ways: u64,
}

// SAFETY: plain numbers in the order of the kernels' struct.
unsafe impl DeviceRepr for Problem {}

/// The data of each point.
pub struct Points<C: GpuDevice> {
    pub n: usize,
    pub input: [C::Memory<f64>; 4],
    /// Sources in units of the frame, and their coordinates before and after a split; where there are many points.
    pub scaled: C::Memory<f64>,
    pub x: C::Memory<f64>,
    pub y: C::Memory<f64>,
    pub order: C::Memory<u32>,
    pub keys: C::Memory<u64>,
    pub key_tiles: C::Memory<u32>,
    pub sources: C::Memory<f64>,
    pub near: C::Memory<f64>,
    pub out: C::Memory<f64>,
    pub extents: C::Memory<f64>,
    pub frame: C::Memory<f64>,
}

impl<C: GpuDevice> Points<C> {
    pub fn new(device: &C, n: usize, shape: &Shape) -> Result<Points<C>, CudaError> {
        let columns = shape.columns();
        device.check_capacity((n * (4 * 8 + 32 + 2 * 20 + 12 + 32 + 16 * columns)) as u64, "this FMM")?;
        let column = || device.allocate::<f64>(n);
        Ok(Points {
            n,
            input: [column()?, column()?, column()?, device.allocate(if shape.is_complex { n } else { 1 })?],
            scaled: device.allocate(4 * n)?,
            x: device.allocate(2 * n)?,
            y: device.allocate(2 * n)?,
            order: device.allocate(2 * n)?,
            keys: device.allocate(n)?,
            key_tiles: device.allocate(n)?,
            sources: device.allocate(4 * n)?,
            near: device.allocate(columns * n)?,
            out: device.allocate(columns * n)?,
            extents: device.allocate(6 * BOUNDS_BLOCKS as usize)?,
            frame: device.allocate(7)?,
        })
    }
}

/// The splits of segments that no block has alone: for each of them the tiles of a segment and all tiles before.
pub struct Tiled {
    pub splits: Vec<[u32; 2]>,
    pub tiles: usize,
    /// Where the points are at last, of two columns.
    pub column: usize,
}

impl Tiled {
    /// For `many` points a block, which makes all splits that are left.
    pub fn new(n: usize, levels: usize, many: usize) -> Tiled {
        let (mut splits, mut tiles) = (Vec::new(), 0);
        for split in 0..2 * levels {
            let most = n.div_ceil(1 << split);
            if most <= many {
                break;
            }
            let each = most.div_ceil(TILE);
            splits.push([each as u32, tiles as u32]);
            tiles += each << split;
        }
        let column = if n > many && splits.len() < 2 * levels { (splits.len() + 1) % 2 } else { 0 };
        Tiled { splits, tiles, column }
    }

    /// Segments of all these splits.
    fn segments(&self) -> usize {
        (1 << self.splits.len()) - 1
    }
}

/// The data of each box of a pyramid.
pub struct Boxes<C: GpuDevice> {
    pub levels: usize,
    pub tiled: Tiled,
    /// Words that are 0 before a run: [`Status`], then rectangles, cursors and histograms.
    pub counted: C::Memory<u64>,
    pub tiles: C::Memory<u64>,
    pub pivots: C::Memory<u64>,
    pub shapes: [C::Memory<f64>; 8],
    pub start: C::Memory<u32>,
    pub lists: [C::Memory<List>; 4],
    pub items: [C::Memory<u32>; 4],
    pub capacity: [u64; 4],
    pub m: C::Memory<f64>,
    pub l: C::Memory<f64>,
}

impl<C: GpuDevice> Boxes<C> {
    /// `capacity` is that of the lists; where it is 0, what uniform points take.
    pub fn new(device: &C, n: usize, levels: usize, capacity: [u64; 4], shape: &Shape) -> Result<Boxes<C>, CudaError> {
        let (finest, all) = (1usize << (2 * levels), ((4usize << (2 * levels)) - 1) / 3);
        let tiled = Tiled::new(n, levels, shape.many);
        let usual = [64, 32, 4, 4];
        let capacity = [0, 1, 2, 3].map(|k| if capacity[k] > 0 { capacity[k] } else { (usual[k] * all) as u64 });
        if capacity.iter().any(|items| *items > u32::MAX as u64) {
            let text = "boxes of these points have so many neighbours that lists on the GPU do not hold them";
            return Err(CudaError::TooLarge(text.into()));
        }
        let words = Boxes::<C>::words(&tiled);
        let numbers = all * shape.stride();
        let bytes = 8 * (words + tiled.tiles + 8 * all + 2 * numbers) + 40 * all;
        device.check_capacity(bytes as u64 + capacity.iter().map(|items| 4 * items).sum::<u64>(), "this FMM")?;
        let column = || device.allocate::<f64>(all);
        let shapes = [column()?, column()?, column()?, column()?, column()?, column()?, column()?, column()?];
        let items = |k: usize| device.allocate::<u32>(capacity[k] as usize);
        Ok(Boxes {
            levels,
            counted: device.allocate(words)?,
            tiles: device.allocate(tiled.tiles)?,
            pivots: device.allocate(2 * tiled.segments())?,
            shapes,
            start: device.allocate(finest + 1)?,
            lists: [
                device.allocate(all)?,
                device.allocate(2 * finest)?,
                device.allocate(finest)?,
                device.allocate(finest)?,
            ],
            items: [items(0)?, items(1)?, items(2)?, items(3)?],
            capacity,
            m: device.allocate(numbers)?,
            l: device.allocate(numbers)?,
            tiled,
        })
    }

    /// The rectangles of all segments that tiles split, and of the halves of the last ones; the root's is there in any case.
    fn rectangles(tiled: &Tiled) -> usize {
        4 * (2 * tiled.segments() + 1)
    }

    fn words(tiled: &Tiled) -> usize {
        Status::WORDS + Boxes::<C>::rectangles(tiled) + tiled.segments() * (1 + BINS / 2)
    }

    pub fn status(&self, device: &C) -> Result<Status, CudaError> {
        let mut words = [0; Status::WORDS];
        device.read(&self.counted, 0, &mut words)?;
        Ok(Status::new(&words))
    }

    /// Where everything is.
    pub fn place(&self, device: &C, problem: &mut Problem) {
        problem.status = device.place(&self.counted);
        problem.rectangles = problem.status + 8 * Status::WORDS as u64;
        problem.cursors = problem.rectangles + 8 * Boxes::<C>::rectangles(&self.tiled) as u64;
        problem.histograms = problem.cursors + 8 * self.tiled.segments() as u64;
        problem.tiles = device.place(&self.tiles);
        problem.pivots = device.place(&self.pivots);
        problem.shapes = self.shapes.each_ref().map(|column| device.place(column));
        problem.start = device.place(&self.start);
        [problem.weak, problem.strong, problem.p2l, problem.m2p] = self.lists.each_ref().map(|list| device.place(list));
        problem.items = self.items.each_ref().map(|items| device.place(items));
        problem.capacity = self.capacity;
        problem.m = device.place(&self.m);
        problem.l = device.place(&self.l);
        problem.levels = self.levels as u64;
    }
}

impl<C: GpuDevice> Points<C> {
    /// Where everything is.
    pub fn place(&self, device: &C, is_complex: bool, problem: &mut Problem) {
        problem.input = self.input.each_ref().map(|column| device.place(column));
        if !is_complex {
            problem.input[3] = 0;
        }
        problem.extents = device.place(&self.extents);
        problem.frame = device.place(&self.frame);
        problem.scaled = device.place(&self.scaled);
        problem.x = device.place(&self.x);
        problem.y = device.place(&self.y);
        problem.order = device.place(&self.order);
        problem.keys = device.place(&self.keys);
        problem.key_tiles = device.place(&self.key_tiles);
        problem.sources = device.place(&self.sources);
        problem.near = device.place(&self.near);
        problem.out = device.place(&self.out);
        problem.n = self.n as u64;
    }
}
