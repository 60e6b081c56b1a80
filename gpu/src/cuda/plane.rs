//! The adaptive FMM in two dimensions on a GPU: mesh, lists, all translations and P2P, for points that are sources and targets.
//!
//! Mesh and lists are those of the module `plane`, to the bit: the kernels that make them are compiled without fused
//! multiply-adds. A run is some tens of kernels one behind the other; the host looks at the GPU only when all have ended. If
//! the lists were longer than their capacity, it enlarges that and runs again.
//!
//! Every sum of floats has one order, so that a run gives the same bits each time.

mod memory;
mod run;
mod text;

use super::CudaError;
use super::compile::Arithmetic;
use super::device::Device;
use super::driver::{self, Kernels, Times};
use super::gpu_device::GpuDevice;
use memory::{Boxes, Points, Problem};

pub use memory::Status;
pub use text::{Shape, mesh_text, stages_text};

/// The stages in the order in which they run. P2L and M2P are in L2P.
pub const STAGES: [&str; driver::STAGES] = ["sort", "connect", "P2M", "M2M", "M2L", "L2L", "P2P", "L2P"];

/// The deepest pyramid, so that places of boxes and in lists have 32 bits.
pub const MOST_LEVELS: usize = 12;

/// The outcome of one run. Results stay on the GPU.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub status: Status,
    /// Times of [`STAGES`].
    pub times: Times,
}

/// How a run is done.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// N_l of (5.2), with no more than one box a point on the finest level.
    pub levels: usize,
    /// Theta of (2.1).
    pub theta: f64,
    /// Whether each stage is timed; none runs beside another then.
    pub is_timed: bool,
}

/// The columns of a problem in the user's units.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    pub x: &'a [f64],
    pub y: &'a [f64],
    pub re: &'a [f64],
    pub im: Option<&'a [f64]>,
}

/// The kernels by their text.
const MESH: [&str; 14] = [
    "bounds",
    "scale",
    "histogram",
    "gather",
    "choose",
    "scatter",
    "split_rest",
    "rank_few",
    "split_few",
    "boxes",
    "boxes_above",
    "boxes_top",
    "couple",
    "couple_top",
];
const OTHERS: [&str; 9] = ["p2m", "m2m", "m2m_top", "m2l", "l2l", "l2l_top", "p2p", "l2p", "spread"];

/// Kernels, tables and points on a GPU.
pub struct Plane<C: GpuDevice = Device> {
    shape: Shape,
    kernels: Kernels<C>,
    binomials: C::Memory<f64>,
    points: Option<Points<C>>,
    boxes: Option<Boxes<C>>,
    /// Where everything is, unless memory was allocated since.
    problem: Option<Problem>,
}

impl<C: GpuDevice> Plane<C> {
    /// Compiles the kernels for a shape.
    pub fn new(device: &C, shape: Shape) -> Result<Plane<C>, CudaError> {
        let (mesh, stages) = (mesh_text(&shape), stages_text(&shape));
        let mut kernels = Kernels::default();
        kernels.compile(device, &mesh, MESH, Arithmetic::Exact, |name, kernel| {
            let splits = ["split_rest", "rank_few", "split_few"].contains(&name);
            if splits { device.share(kernel, shape.split_memory()) } else { Ok(()) }
        })?;
        kernels.compile(device, &stages, OTHERS, Arithmetic::Careful, |_, _| Ok(()))?;
        let binomials = device.send(&text::binomials(shape.order))?;
        Ok(Plane { shape, kernels, binomials, points: None, boxes: None, problem: None })
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The column that the order of the points is in at last.
    fn last_column(&self) -> usize {
        self.boxes.as_ref().expect("it was made").tiled.column
    }

    /// Sends points and strengths; as many as before take the same memory. There is at least one.
    pub fn send(&mut self, device: &C, columns: Columns) -> Result<(), CudaError> {
        let n = columns.x.len();
        if self.points.as_ref().is_none_or(|points| points.n != n) {
            // The old ones go first.
            (self.points, self.boxes, self.problem) = (None, None, None);
            self.points = Some(Points::new(device, n, &self.shape)?);
        }
        let points = self.points.as_mut().expect("it was made");
        let all = [Some(columns.x), Some(columns.y), Some(columns.re), columns.im.filter(|_| self.shape.is_complex)];
        for (column, to) in all.into_iter().zip(&mut points.input) {
            if let Some(column) = column {
                device.write(column, to, 0)?;
            }
        }
        device.finish()
    }

    /// The results in the order of the input: real and imaginary parts or gradients, and potentials.
    pub fn fetch(&self, device: &C) -> Result<Vec<Vec<f64>>, CudaError> {
        let Some(points) = &self.points else { return Ok(Vec::new()) };
        let column = |k: usize| device.column(&points.out, k * points.n..(k + 1) * points.n);
        (0..self.shape.columns()).map(column).collect()
    }
}

/// Mesh and lists as the GPU has them.
#[cfg(test)]
pub struct Found {
    pub order: Vec<u32>,
    pub start: Vec<u32>,
    pub centre: [Vec<f64>; 2],
    pub radius: Vec<f64>,
    /// Of M2L, P2P, P2L and M2P.
    pub lists: [Vec<Vec<u32>>; 4],
}

#[cfg(test)]
impl<C: GpuDevice> Plane<C> {
    pub fn found(&self, device: &C) -> Found {
        use super::gpu_device::Plain;
        let (points, boxes) = (self.points.as_ref().expect("points"), self.boxes.as_ref().expect("boxes"));
        fn read<T: Plain, C: GpuDevice>(device: &C, from: &C::Memory<T>, at: usize, count: usize) -> Vec<T> {
            let mut values = vec![T::default(); count];
            device.read(from, at, &mut values).expect("it is there");
            values
        }
        let (finest, all) = (1 << (2 * boxes.levels), ((4 << (2 * boxes.levels)) - 1) / 3);
        let column = |k: usize| read::<f64, C>(device, &boxes.shapes[k], 0, all);
        let list = |k: usize, at: usize, count: usize| {
            let lists = read::<memory::List, C>(device, &boxes.lists[k], at, count);
            let of = |l: &memory::List| read::<u32, C>(device, &boxes.items[k], l.start as usize, l.count as usize);
            lists.iter().map(of).collect::<Vec<_>>()
        };
        Found {
            order: read::<u32, C>(device, &points.order, self.last_column() * points.n, points.n),
            start: read::<u32, C>(device, &boxes.start, 0, finest + 1),
            centre: [column(4), column(5)],
            radius: column(6),
            lists: [
                list(0, 0, all),
                list(1, boxes.levels % 2 * finest, finest),
                list(2, 0, finest),
                list(3, 0, finest),
            ],
        }
    }
}
