//! The data of an adaptive tree on a GPU, and the structs that its kernels read.

use crate::cuda::CudaError;
use crate::cuda::gpu_device::{GpuDevice, Plain};
use crate::cuda::octree::tables::TablePlaces;
use crate::cuda::p2p::Number;
use cudarc::driver::DeviceRepr;

/// The deepest level: a cell there stays a leaf however full it is.
pub const DEEPEST: usize = 21;
pub const LEVELS: usize = DEEPEST + 1;

/// Rows of counts: cells by level and octant, leaves, and particles in leaves of the last level with too many.
pub const LEAVES: usize = 8 * LEVELS;
pub const COUNTS: usize = LEAVES + 2;

/// Particles of a leaf at most, unless it is on the deepest level.
pub const MOST_LEAF: usize = 1024;

/// Keys of a block of the sort, the values of a digit, and passes.
pub const SORT_TILE: usize = 2048;
pub const DIGITS: usize = 256;
pub const PASSES: u32 = 8;

/// The first pass of a sort that is enough for most particles, and the last level that it knows.
pub const SHORT: (u32, usize) = (3, 13);

/// Particles of a block of the kernels that make cells.
pub const CELL_TILE: usize = 1024;

/// Words of a cell.
const CELL: usize = 12;

/// Counts that a GPU makes, in the order of the kernels' struct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub again: u64,
    pub close: u64,
    pub lost: u64,
    /// Pairs: of particles, of cells, of targets and cells, of sources and cells.
    pub p2p: u64,
    pub m2l: u64,
    pub m2p: u64,
    pub p2l: u64,
    /// Entries that the lists U, W and X have, or would have with enough memory, and blocks of P2P.
    pub u: u64,
    pub w: u64,
    pub x: u64,
    pub blocks: u64,
}

impl Counted {
    pub const WORDS: usize = 11;

    pub fn new(words: &[u64]) -> Counted {
        let [again, close, lost, p2p, m2l, m2p, p2l, u, w, x, blocks] = std::array::from_fn(|k| words[k]);
        Counted { again, close, lost, p2p, m2l, m2p, p2l, u, w, x, blocks }
    }

    pub fn words(self) -> [u64; Counted::WORDS] {
        let Counted { again, close, lost, p2p, m2l, m2p, p2l, u, w, x, blocks } = self;
        [again, close, lost, p2p, m2l, m2p, p2l, u, w, x, blocks]
    }

    /// With what another GPU counted.
    pub fn plus(self, other: Counted) -> Counted {
        let (own, other) = (self.words(), other.words());
        Counted::new(&std::array::from_fn::<u64, { Counted::WORDS }, _>(|k| own[k] + other[k]))
    }
}

/// Memory that grows.
pub struct Room<N: Plain, C: GpuDevice> {
    pub memory: Option<C::Memory<N>>,
    pub count: usize,
}

impl<N: Plain, C: GpuDevice> Default for Room<N, C> {
    fn default() -> Room<N, C> {
        Room { memory: None, count: 0 }
    }
}

impl<N: Plain, C: GpuDevice> Room<N, C> {
    /// Room for so many numbers, and some more where it has to grow. What was there is lost then.
    pub fn reserve(&mut self, device: &C, count: usize) -> Result<(), CudaError> {
        if self.memory.is_some() && self.count >= count {
            return Ok(());
        }
        // The old one goes first; if this fails, there is none.
        let more = count + count / 16;
        if self.memory.take().is_some() {
            device.finish()?;
        }
        device.check_capacity((more * size_of::<N>()) as u64, "this FMM")?;
        self.memory = Some(device.allocate(more)?);
        self.count = more;
        Ok(())
    }

    pub fn get(&self) -> &C::Memory<N> {
        self.memory.as_ref().expect("it was reserved")
    }

    pub fn place(&self, device: &C) -> u64 {
        self.memory.as_ref().map_or(0, |memory| device.place(memory))
    }
}

/// The argument of every kernel, in the order of the kernels' struct: places on the GPU, and numbers.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Problem {
    pub input: [u64; 4],
    pub keys: [u64; 2],
    pub order: [u64; 2],
    pub counts: u64,
    pub totals: u64,
    pub from: u64,
    pub leaf: u64,
    pub records: u64,
    pub cells: u64,
    pub masks: u64,
    pub listed: u64,
    pub leaves: u64,
    pub colleagues: u64,
    pub nearest: u64,
    pub u_at: u64,
    pub w_at: u64,
    pub x_at: u64,
    pub u: u64,
    pub w: u64,
    pub x_list: u64,
    pub work: u64,
    pub again: u64,
    pub tiles: u64,
    pub status: u64,
    pub m: u64,
    pub l: u64,
    pub near: u64,
    pub out: u64,
    pub tables: TablePlaces,
    pub shift: f64,
    pub centre: [f64; 3],
    pub rest: [f64; 3],
    pub size: f64,
    pub charge: f64,
    pub eps2: f64,
    pub wide_eps2: f64,
    pub potential: f64,
    pub gradient: f64,
    pub n: u64,
    pub targets: u64,
    pub is_apart: u64,
    pub is_shared: u64,
    pub last_level: u64,
    pub most_leaf: u64,
    pub worth: u64,
    pub cell_count: u64,
    pub leaf_count: u64,
    pub deepest: u64,
    pub u_room: u64,
    pub w_room: u64,
    pub x_room: u64,
    pub most_pairs: u64,
    pub level_start: [u32; LEVELS + 1],
    pub first_target: u32,
    pub end_target: u32,
    /// With periodic boundaries: bits of the axes, the matrix of far images, and the moments of all charges.
    pub wraps: u64,
    pub lattice: u64,
    pub moments: u64,
    /// The numbers of a kernel that is not 1/r.
    pub law: u64,
    /// Components of dipole moments.
    pub dipoles: [u64; 3],
    /// Targets that `again` has room for.
    pub again_room: u64,
}

// SAFETY: plain numbers in the order of the kernels' struct.
unsafe impl DeviceRepr for Problem {}

/// The cells that a GPU counted.
#[derive(Clone, Debug)]
pub struct Levels {
    /// By level and octant, and leaves.
    totals: Vec<u32>,
    /// The first cell of each level, and the end of all.
    pub starts: [u32; LEVELS + 1],
    pub deepest: usize,
}

impl Levels {
    pub fn new(totals: Vec<u32>) -> Levels {
        let mut starts = [0; LEVELS + 1];
        for level in 0..LEVELS {
            starts[level + 1] = starts[level] + totals[8 * level..8 * level + 8].iter().sum::<u32>();
        }
        let deepest = (0..LEVELS).rfind(|level| starts[level + 1] > starts[*level]).unwrap_or(0);
        Levels { totals, starts, deepest }
    }

    pub fn cells(&self) -> usize {
        self.starts[LEVELS] as usize
    }

    pub fn of(&self, level: usize) -> usize {
        (self.starts[level + 1] - self.starts[level]) as usize
    }

    /// Whether leaves of the last level have too many particles.
    pub fn are_full(&self) -> bool {
        self.totals[LEAVES + 1] > 0
    }

    pub fn leaves(&self) -> usize {
        self.totals[LEAVES] as usize
    }

    /// Begin of the tiles of M2L of each octant of each level from the deepest to the first with cells that are far from each other, and
    /// the end of all.
    pub fn tiles(&self, first: usize) -> Vec<u32> {
        let mut tiles = vec![0];
        for level in (first..=self.deepest).rev() {
            for count in &self.totals[8 * level..8 * level + 8] {
                tiles.push(tiles[tiles.len() - 1] + count.div_ceil(64));
            }
        }
        tiles
    }
}

/// Everything of the adaptive tree on a GPU that depends on the particles.
pub struct Memory<T: Number, C: GpuDevice> {
    /// With several GPUs the input of all: x, y, z, charges, and components of moments where there are any.
    pub input: [Room<f64, C>; 7],
    pub near: Room<T, C>,
    order: Room<u32, C>,
    /// With several GPUs, targets that are computed again.
    pub again: Room<u32, C>,
    /// Counts of the sort and of cells, and later what is few.
    pub counts: Room<u32, C>,
    pub totals: Room<u32, C>,
    /// Sorted particles, where before them the keys stand, the order of every other pass of the sort, and marks of cells.
    records: Room<f64, C>,
    cells: Room<u32, C>,
    pub masks: Room<u32, C>,
    listed: Room<u32, C>,
    leaves: Room<u32, C>,
    colleagues: Room<u32, C>,
    nearest: Room<u32, C>,
    parts: [Room<u64, C>; 3],
    u: Room<u64, C>,
    w: Room<u32, C>,
    x: Room<u32, C>,
    work: Room<u64, C>,
    pub tiles: Room<u32, C>,
    pub status: Room<u64, C>,
    m: Room<T, C>,
    l: Room<T, C>,
}

impl<T: Number, C: GpuDevice> Default for Memory<T, C> {
    fn default() -> Memory<T, C> {
        Memory {
            input: Default::default(),
            near: Default::default(),
            order: Default::default(),
            again: Default::default(),
            counts: Default::default(),
            totals: Default::default(),
            records: Default::default(),
            cells: Default::default(),
            masks: Default::default(),
            listed: Default::default(),
            leaves: Default::default(),
            colleagues: Default::default(),
            nearest: Default::default(),
            parts: Default::default(),
            u: Default::default(),
            w: Default::default(),
            x: Default::default(),
            work: Default::default(),
            tiles: Default::default(),
            status: Default::default(),
            m: Default::default(),
            l: Default::default(),
        }
    }
}

/// The number of entries that the lists have room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListRoom {
    pub u: usize,
    pub w: usize,
    pub x: usize,
}

impl<T: Number, C: GpuDevice> Memory<T, C> {
    /// Room for the sort of `n` particles, of so many numbers each, and for the counts of their cells.
    pub fn for_particles(&mut self, device: &C, n: usize, record: usize) -> Result<(), CudaError> {
        self.order.reserve(device, n)?;
        let rows = (DIGITS * n.div_ceil(SORT_TILE)).max(COUNTS * n.div_ceil(CELL_TILE));
        self.counts.reserve(device, rows)?;
        self.totals.reserve(device, DIGITS)?;
        self.records.reserve(device, record * n)?;
        self.status.reserve(device, Counted::WORDS)
    }

    /// Room for cells, whose expansions have `pitch` numbers, with so many `ways` to cells that may be near, and for the blocks of P2P.
    pub fn for_cells(
        &mut self,
        device: &C,
        levels: &Levels,
        (pitch, ways): (usize, usize),
        (n, targets): (usize, usize),
    ) -> Result<(), CudaError> {
        let (cells, leaves) = (levels.cells(), levels.leaves());
        self.cells.reserve(device, CELL * cells)?;
        self.masks.reserve(device, cells)?;
        self.listed.reserve(device, cells)?;
        self.leaves.reserve(device, leaves)?;
        self.colleagues.reserve(device, ways * cells)?;
        self.nearest.reserve(device, cells)?;
        for (parts, count) in self.parts.iter_mut().zip([leaves, leaves, cells]) {
            parts.reserve(device, count)?;
        }
        self.work.reserve(device, leaves + n / targets + 1)?;
        self.tiles.reserve(device, 8 * LEVELS + 1)?;
        self.m.reserve(device, cells * pitch)?;
        self.l.reserve(device, cells * pitch)
    }

    /// Room for the lists; they have at least what is given.
    pub fn for_lists(&mut self, device: &C, room: ListRoom) -> Result<ListRoom, CudaError> {
        self.u.reserve(device, room.u)?;
        self.w.reserve(device, room.w)?;
        self.x.reserve(device, room.x)?;
        Ok(ListRoom { u: self.u.count, w: self.w.count, x: self.x.count })
    }

    /// With where everything is.
    pub fn places(&self, device: &C, problem: Problem) -> Problem {
        // Two keys, a number and two marks take 22 bytes of the 32 or more of a sorted particle.
        let (records, n) = (self.records.place(device), problem.n);
        Problem {
            keys: [records, records + 8 * n],
            order: [self.order.place(device), records + 16 * n],
            counts: self.counts.place(device),
            totals: self.totals.place(device),
            from: records + 20 * n,
            leaf: records + 21 * n,
            records,
            cells: self.cells.place(device),
            masks: self.masks.place(device),
            listed: self.listed.place(device),
            leaves: self.leaves.place(device),
            colleagues: self.colleagues.place(device),
            nearest: self.nearest.place(device),
            u_at: self.parts[0].place(device),
            w_at: self.parts[1].place(device),
            x_at: self.parts[2].place(device),
            u: self.u.place(device),
            w: self.w.place(device),
            x_list: self.x.place(device),
            work: self.work.place(device),
            tiles: self.tiles.place(device),
            status: self.status.place(device),
            m: self.m.place(device),
            l: self.l.place(device),
            u_room: self.u.count as u64,
            w_room: self.w.count as u64,
            x_room: self.x.count as u64,
            ..problem
        }
    }
}
