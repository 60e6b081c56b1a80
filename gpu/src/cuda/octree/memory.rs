//! The data on the GPU, and the structs that its kernels read.

use super::cells::CellCounts;
use super::communicator::Raw;
use super::split::Span;
use super::tables::TablePlaces;
use super::text::Shape;
use crate::cuda::CudaError;
use crate::cuda::gpu_device::{GpuDevice, Plain};
use crate::cuda::p2p::Number;
use cudarc::driver::{DeviceRepr, ValidAsZeroBits};
use std::ops::Range;

/// GPUs at most: each takes a step for every particle that is merged, and has the counts of all.
pub const MOST_GPUS: usize = 64;

/// Blocks of `bounds`.
pub const BOUNDS_BLOCKS: u32 = 264;

/// Counts that GPUs make while they compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Targets that were computed again in f64, and their pairs at different places that were too close.
    pub again: u64,
    pub close: u64,
    /// Pairs and results that no arithmetic here holds.
    pub lost: u64,
    /// Particles whose f64 coordinates a GPU wanted of others.
    pub wanted: u64,
}

impl Status {
    /// Words of the kernels' struct.
    pub const WORDS: usize = 4;

    pub fn new(words: &[u64]) -> Status {
        Status { again: words[0], close: words[1], lost: words[2], wanted: words[3] }
    }

    pub fn words(self) -> [u64; Status::WORDS] {
        [self.again, self.close, self.lost, self.wanted]
    }

    /// With what another GPU counted.
    pub fn plus(self, other: Status) -> Status {
        let (own, other) = (self.words(), other.words());
        Status::new(&[0, 1, 2, 3].map(|k| own[k] + other[k]))
    }
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Bounds {
    pub low: [f64; 3],
    pub high: [f64; 3],
    pub most: f64,
    pub least: f64,
    /// The same of the largest components of dipole moments, in the user's units.
    pub most_moment: f64,
    pub least_moment: f64,
    pub bad: u64,
}

impl Bounds {
    /// As processes send them.
    pub fn numbers(&self) -> [f64; 11] {
        let Bounds { low, high, most, least, most_moment, least_moment, bad } = *self;
        let [l, h] = [low, high];
        [l[0], l[1], l[2], h[0], h[1], h[2], most, least, most_moment, least_moment, bad as f64]
    }

    pub fn of(numbers: &[f64]) -> Bounds {
        let three = |first: usize| [0, 1, 2].map(|a| numbers[first + a]);
        let [most, least, most_moment, least_moment] = [6, 7, 8, 9].map(|k| numbers[k]);
        Bounds { low: three(0), high: three(3), most, least, most_moment, least_moment, bad: numbers[10] as u64 }
    }

    /// Of both of two sets of particles.
    pub fn join(self, other: Bounds) -> Bounds {
        Bounds {
            low: [0, 1, 2].map(|a| self.low[a].min(other.low[a])),
            high: [0, 1, 2].map(|a| self.high[a].max(other.high[a])),
            most: self.most.max(other.most),
            least: self.least.min(other.least),
            most_moment: self.most_moment.max(other.most_moment),
            least_moment: self.least_moment.min(other.least_moment),
            bad: self.bad | other.bad,
        }
    }
}

// SAFETY: plain numbers in the order of the kernels' struct, of which all zeros are one.
unsafe impl DeviceRepr for Bounds {}
// SAFETY: as above.
unsafe impl ValidAsZeroBits for Bounds {}

/// The argument of every kernel, in the order of the kernels' struct: places on the GPU, and numbers.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Problem {
    pub input: [u64; 4],
    pub bounds: u64,
    pub status: u64,
    pub rows: u64,
    pub cell: u64,
    pub rank: u64,
    pub unsettled: u64,
    pub order: u64,
    pub tally: u64,
    pub parts: u64,
    pub share_sums: u64,
    pub counts: u64,
    pub sums: u64,
    pub starts: u64,
    pub row_parts: u64,
    pub bases: u64,
    pub share: u64,
    pub arrived: u64,
    pub records: u64,
    pub work: u64,
    pub again: u64,
    pub wide_at: u64,
    pub wanted: u64,
    pub wide: u64,
    pub peers: u64,
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
    pub wide_potential: f64,
    pub wide_gradient: f64,
    pub n: u64,
    pub depth: u64,
    /// The number of the share's first particle in the input, where the share is one part.
    pub number: u64,
    /// The first target of the share that is no source, and whether targets are none.
    pub targets: u64,
    pub is_apart: u64,
    /// The number of this GPU, and of all; the parts of a share.
    pub device: u64,
    pub devices: u64,
    pub kinds: u64,
    /// The first sorted particle of the leaves around, among all.
    pub base: u64,
    pub own: Span,
    pub around: Span,
    pub parents: [Span; 8],
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

/// The record of a particle that another GPU asks for: coordinates and the charge.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(16))]
pub struct Wide(pub [f64; 4]);

// SAFETY: plain numbers in the order of the kernels' struct, of which all zeros are one.
unsafe impl DeviceRepr for Wide {}
// SAFETY: as above.
unsafe impl ValidAsZeroBits for Wide {}
// SAFETY: numbers of the machine, with nothing between them.
unsafe impl Raw for Wide {}

/// A particle of a part of the input, by its place among the sorted ones of the share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Slot {
    pub part: u32,
    pub slot: u32,
}

// SAFETY: plain numbers in the order of the kernels' struct, of which all zeros are one.
unsafe impl DeviceRepr for Slot {}
// SAFETY: as above.
unsafe impl ValidAsZeroBits for Slot {}
// SAFETY: numbers of the machine, with nothing between them.
unsafe impl Raw for Slot {}

/// The data of each particle that a GPU has: of its share of the input, and of the leaves around its own. The larger memories serve
/// several stages, one after the other.
pub struct Particles<T: Plain, C: GpuDevice> {
    /// Of the share.
    pub n: usize,
    pub input: [C::Memory<f64>; 4],
    /// Components of dipole moments, where there are any.
    pub dipoles: [C::Memory<f64>; 3],
    pub bounds: C::Memory<Bounds>,
    /// For each place of the sorted share the particle of the share.
    pub order: C::Memory<u32>,
    /// With several GPUs of one process, where each of them has its share: the words of the kernels' struct.
    pub peers: C::Memory<u64>,
    /// Of one GPU, the targets that are computed again; and how many of them there is room for.
    pub again: C::Memory<u32>,
    pub again_room: usize,
    /// The most particles, of the share or around, that fit into each of the rest, and numbers that it has for each.
    pub room: usize,
    /// GPUs of the runs that this serves.
    pub devices: usize,
    width: usize,
    /// Sorted particles around. With several GPUs, then the results of the sorted share, and of one, those in the order of the input.
    pub records: C::Memory<T>,
    /// Cells and ranks of the share; what other GPUs sent of the particles around; what P2P gives; with several GPUs, the results of
    /// the share, and of one, those of the sorted share.
    pub near: C::Memory<T>,
    /// With several GPUs, the sorted share; lists of P2P; results of own leaves.
    pub out: C::Memory<T>,
}

/// The number of particles that a GPU has memory for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capacity {
    /// Of its share.
    pub n: usize,
    /// Of the share or around it, whichever are more.
    pub room: usize,
    /// GPUs of the run.
    pub devices: usize,
}

impl Capacity {
    /// Targets to be computed again that one GPU has room for at first: few are, unless many particles are in one place.
    fn again(&self) -> usize {
        if self.devices > 1 { 0 } else { self.n.min(self.n / 64 + 1024) }
    }

    /// The memories of `width` numbers a particle.
    fn memories(&self) -> usize {
        if self.devices > 1 { 3 } else { 2 }
    }

    /// The bytes of all of it.
    pub fn bytes<T: Number>(&self, shape: &Shape) -> u64 {
        let columns = if shape.wanted.dipoles { 7 } else { 4 };
        let of_share = (8 * columns + 4) * self.n + 4 * self.again();
        let around = self.memories() * shape.width() * size_of::<T>() * self.room;
        (of_share + around + (1 + BOUNDS_BLOCKS as usize) * size_of::<Bounds>()) as u64
    }
}

impl<T: Number, C: GpuDevice> Particles<T, C> {
    /// Of one of the memories of `width` numbers.
    fn bytes_of_one(width: usize) -> u64 {
        (width * size_of::<T>()) as u64
    }

    /// For so many, of which there may be more around.
    pub fn new(device: &C, capacity: &Capacity, shape: &Shape) -> Result<Particles<T, C>, CudaError> {
        let Capacity { n, room, devices } = *capacity;
        let column = || device.allocate::<f64>(n);
        let moment = || device.allocate::<f64>(if shape.wanted.dipoles { n } else { 0 });
        let width = shape.width();
        Ok(Particles {
            n,
            input: [column()?, column()?, column()?, column()?],
            dipoles: [moment()?, moment()?, moment()?],
            bounds: device.allocate(1 + BOUNDS_BLOCKS as usize)?,
            order: device.allocate(n)?,
            peers: device.allocate(0)?,
            again: device.allocate(capacity.again())?,
            again_room: capacity.again(),
            room,
            devices,
            width,
            records: device.allocate(width * room)?,
            near: device.allocate(width * room)?,
            out: device.allocate(if devices > 1 { width * room } else { 0 })?,
        })
    }

    /// Room for all targets to be computed again, if there is too little for so many; whether there was.
    pub fn grow_again(&mut self, device: &C, count: u64) -> Result<bool, CudaError> {
        if count <= self.again_room as u64 {
            return Ok(false);
        }
        // The old one goes first.
        (self.again, self.again_room) = (device.allocate(0)?, 0);
        device.finish()?;
        device.check_capacity((size_of::<u32>() * self.n) as u64, "this FMM")?;
        (self.again, self.again_room) = (device.allocate(self.n)?, self.n);
        Ok(true)
    }

    /// A column of the input: x, y, z, the charge, or a component of the moment.
    pub fn column(&self, column: usize) -> &C::Memory<f64> {
        self.input.iter().chain(&self.dipoles).nth(column).expect("there are seven")
    }

    /// Memory for so many, before the share is sorted; `near`, which has cells and ranks, follows with [`Particles::follow`] if this says
    /// for how many.
    pub fn grow(&mut self, device: &C, count: usize) -> Result<Option<usize>, CudaError> {
        if count <= self.room {
            return Ok(None);
        }
        // Somewhat more, for a run whose parts are a little larger. If it fails, there is capacity for none.
        let room = count + count / 64;
        self.room = 0;
        // The old ones go first.
        (self.records, self.out) = (device.allocate(0)?, device.allocate(0)?);
        device.finish()?;
        device.check_capacity(2 * Self::bytes_of_one(self.width) * room as u64, "this FMM")?;
        (self.records, self.out) = (device.allocate(self.width * room)?, device.allocate(self.width * room)?);
        Ok(Some(room))
    }

    /// The rest of it, once the share is sorted.
    pub fn follow(&mut self, device: &C, room: usize) -> Result<(), CudaError> {
        self.near = device.allocate(0)?;
        device.finish()?;
        device.check_capacity(Self::bytes_of_one(self.width) * room as u64, "this FMM")?;
        self.near = device.allocate(self.width * room)?;
        self.room = room;
        Ok(())
    }
}

/// The parts of the input: the GPUs' shares, of one part each, or of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    pub devices: usize,
    pub kinds: usize,
}

impl Parts {
    pub fn count(self) -> usize {
        self.devices * self.kinds
    }

    /// The parts of a GPU's share.
    pub fn of(self, device: usize) -> Range<usize> {
        device * self.kinds..(device + 1) * self.kinds
    }

    /// In a tree of a depth, the starts of cells that are known of each part, and its end.
    pub fn places(self, depth: u32) -> usize {
        (1 << (3 * depth)) + 1
    }
}

/// Adds to what a GPU refuses how many particles fit on one, with the cells of their tree: its depth, and its first level with expansions.
pub fn with_fitting<T: Number, C: GpuDevice>(
    refused: CudaError,
    device: &C,
    shape: &Shape,
    tree: impl Fn(usize) -> (u32, u32),
) -> CudaError {
    let CudaError::TooLarge(why) = refused else { return refused };
    let fits = |n: usize| {
        let cells = CellCounts::new(shape, tree(n), n, Parts { devices: 1, kinds: 1 });
        let particles = Capacity { n, room: n, devices: 1 };
        device.check_capacity(particles.bytes::<T>(shape) + cells.bytes::<T>(), "this FMM").is_ok()
    };
    let (mut most, mut above) = (0, u32::MAX as usize);
    while above - most > 1 + most / 1000 {
        let n = most + (above - most) / 2;
        if fits(n) { most = n } else { above = n }
    }
    CudaError::TooLarge(format!("{why}; about {most} particles fit on one, and `--gpus` shares them among several"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::octree::cells::Cells;
    use crate::cuda::octree::text::Basis;
    use crate::cuda::on_host::{self, HostDevice};

    #[test]
    fn memory_is_foreseen_to_the_byte() {
        let device = HostDevice::default();
        let shape = Shape::new(Basis::Harmonics, 5, f32::REAL);
        // A memory of nothing takes one number.
        let takes = |foreseen: u64, make: &dyn Fn()| {
            let before = on_host::allocated();
            make();
            let taken = on_host::allocated() - before;
            assert!((foreseen..foreseen + 64).contains(&taken), "{taken} bytes, {foreseen} foreseen");
        };
        for (n, depth, devices) in [(1, 0, 1), (1000, 2, 1), (5000, 3, 1), (1000, 2, 3)] {
            let capacity = Capacity { n, room: n + n / 4, devices };
            takes(capacity.bytes::<f32>(&shape), &|| drop(Particles::<f32, _>::new(&device, &capacity, &shape)));
            let counts = CellCounts::new(&shape, (depth, 2), n, Parts { devices, kinds: 1 });
            takes(counts.bytes::<f32>(), &|| drop(Cells::<f32, _>::new(&device, &counts)));
        }
    }

    #[test]
    fn a_refusal_names_the_particles_that_fit() {
        let shape = Shape::new(Basis::Harmonics, 5, f32::REAL);
        let device = HostDevice { most: Some(100_000_000), ..HostDevice::default() };
        let refused = device.check_capacity(200_000_000, "this FMM").expect_err("it is too much");
        let CudaError::TooLarge(why) = with_fitting::<f32, _>(refused, &device, &shape, |_| (5, 2)) else {
            panic!("it is too large still")
        };
        // Cells take 11.6 MB, and each particle 68.1 bytes and, beside a block of P2P of each leaf, a 256th of one more.
        let most: usize =
            why.split("about ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).expect("a number");
        assert!((1_280_000..1_310_000).contains(&most) && why.contains("`--gpus`"), "{why}");
    }

    #[test]
    fn a_billion_particles_fit_on_a_gpu_of_eighty_gigabytes() {
        let (n, shape) = (1 << 30, Shape::new(Basis::Harmonics, 5, f32::REAL));
        let particles = Capacity { n, room: n, devices: 1 }.bytes::<f32>(&shape);
        let cells = CellCounts::new(&shape, (8, 2), n, Parts { devices: 1, kinds: 1 }).bytes::<f32>();
        assert_eq!([particles, cells].map(|bytes| bytes / 100_000_000), [730, 58]);
    }
}
