//! Kernels that are not 1/r, in a black-box expansion: their functions, and the matrices of M2L that these give on the levels of a tree.
//!
//! Both depend on the kernel's parameters, of which the edge of the box may be one, and so on the particles. They stay while these do.

use super::adaptive::Adaptive;
use super::communicator::Team;
use super::memory::Problem;
use super::run::Scales;
use super::tables::{Step, TablePlaces, Tables};
use super::text::Shape;
use super::{Asked, Extra, FmmBasis, GpuFmm, Loaded, TreeKind, Units, adaptive, basis_of};
use crate::cuda::CudaError;
use crate::cuda::driver::Outcome;
use crate::cuda::gpu_device::{GpuDevice, Size};
use crate::cuda::p2p::Number;
use fmm::data::periodic::Periodic;
use fmm::expansion::chebyshev;
use fmm::expansion::chebyshev::dense::Matrices;
use fmm::octree::{Coincident, FmmOptions, far_images};
use fmm::tree::boxmap::BoxMap;
use fmm::tree::lists::near2;
use pg2::backend::cuda::p2p::Real;
use pg2::graph::Graph;
use pipelines::octree::function::{Law, Setting};
use pipelines::octree::kernel::of_graph;
use pipelines::octree::offload::KernelBox;

/// The highest order: each thread of M2L has a row or more in its registers.
pub const MOST_BLACK_BOX: usize = super::text::MOST_NARROW;

/// A kernel that is expanded as it is.
pub struct BlackBox {
    options: FmmOptions,
    found: Option<Found>,
}

/// The parameters that tables are for: the kernel's numbers, and the deepest level.
#[derive(Clone, PartialEq, Debug)]
pub struct Expanded {
    law: Law,
    deepest: u32,
}

/// The kernel in a box.
struct Found {
    of: Expanded,
    /// Its gradient in units of the potential's.
    slope: f64,
    /// Whether f32 holds what it gives between far cells.
    suits_f32: bool,
    matrices: Matrices,
    /// With periodic boundaries, from the root's multipole to its local expansion what all images give that are not near: row by row.
    images: Option<Vec<f64>>,
}

/// A kernel in a box: its numbers, and the factors of what it gives to potential and gradient in the user's units.
pub(super) struct InBox {
    pub numbers: Vec<f64>,
    pub factors: [f64; 4],
}

/// The input of the kernel that places the matrices of a level, see matrices.cu, and where they come, in blocks of a row each.
struct Placing {
    places: TablePlaces,
    factor: f64,
    rows: usize,
}

impl BlackBox {
    /// The kernel as it is in a box.
    fn law(&self, graph: &Graph, map: &BoxMap) -> Result<Law, String> {
        let options = &self.options;
        let (eps, edge) = (map.length(options.eps), map.edge());
        let setting = Setting { eps, edge, given: &options.params, window: KernelBox::of(options) };
        Law::new(graph, &setting).map_err(|why| why.0)
    }

    /// The kernel in the box of a run, on levels to `deepest`.
    fn found(&mut self, graph: &Graph, scales: &Scales, deepest: u32) -> Result<&Found, String> {
        let (map, options) = (&scales.map, &self.options);
        let law = self.law(graph, map)?;
        if law.acts_at_zero && options.coincident == Coincident::Include {
            return Err("the kernel acts on particles in one place".into());
        }
        let of = Expanded { law, deepest };
        if !self.found.as_ref().is_some_and(|found| found.of.serves(&of)) {
            let levels = deepest as usize + 1;
            let function = of_graph(graph).function(options, map, levels).map_err(|why| why.to_string())?;
            let lattice = far_images(options);
            // Images of cells are far from each other from the first level on.
            let coarsest = if lattice.is_some() { 1 } else { 2 };
            let matrices = Matrices::new(options.order, near2(options.theta), &function, coarsest..=deepest);
            let suits_f32 = chebyshev::suits_f32(&*function, levels, lattice);
            let images = lattice.map(|lattice| lattice.matrix(&*function, options.order));
            self.found = Some(Found { of, slope: function.slope(), suits_f32, matrices, images });
        }
        Ok(self.found.as_ref().expect("it was made"))
    }
}

impl Expanded {
    /// Whether it is for the same kernel on as many levels.
    fn serves(&self, wanted: &Expanded) -> bool {
        self.law == wanted.law && self.deepest >= wanted.deepest
    }
}

impl Found {
    /// The numbers that kernels on the GPU read.
    fn numbers(&self) -> Vec<f64> {
        let Law { length, params, .. } = &self.of.law;
        [&[*length, self.slope], &params[..]].concat()
    }
}

impl<T: Number, C: GpuDevice> GpuFmm<T, C> {
    /// Compiles the kernels for any P2P kernel with a native form that is a smooth function of differences, by an order of its black-box
    /// expansion.
    pub fn black_box(devices: &[C], graph: &Graph, options: &FmmOptions) -> Result<GpuFmm<T, C>, CudaError> {
        let black_box = Some(BlackBox { options: options.clone(), found: None });
        // Units are those of the kernel in the box of a run.
        let units = Units { potential: 1.0, gradient: 1.0, length: 1.0 };
        let extra = Extra { periodic: options.periodic, near2: near2(options.theta), ..Extra::default() };
        GpuFmm::of(devices, Asked { graph, order: options.order, units, extra, black_box })
    }

    /// Whether what was compiled for a kernel serves other options of the same order.
    pub fn takes_black_box(&mut self, options: &FmmOptions) -> bool {
        let axes = |periodic: Option<Periodic>| periodic.map(|p| p.axes);
        match &mut self.black_box {
            Some(black_box)
                if (options.order, near2(options.theta)) == (self.order, self.near2)
                    && axes(options.periodic) == axes(self.periodic) =>
            {
                if black_box.options != *options {
                    (black_box.options, self.kept) = (options.clone(), None);
                }
                self.periodic = options.periodic;
                true
            }
            _ => false,
        }
    }

    pub(super) fn basis(&self) -> FmmBasis {
        basis_of(&self.black_box)
    }

    /// The factors of what the kernel gives to a potential and a gradient in boxes, once it is known in the box of a run.
    pub(super) fn units_of_kernel(&self) -> Option<[f64; 2]> {
        let found = self.black_box.as_ref()?.found.as_ref()?;
        Some(found.of.law.units.map(|unit| 1.0 / unit))
    }

    /// The kernel in a box; none for 1/r.
    pub(super) fn kernel_in(&self, map: &BoxMap) -> Result<Option<InBox>, CudaError> {
        let Some(black_box) = &self.black_box else { return Ok(None) };
        let Law { length, units, params, .. } = black_box.law(&self.graph, map).map_err(CudaError::Failed)?;
        let factors = std::array::from_fn(|a| {
            let (unit, power) = map.wide(a, 1.0 / units[a.min(1)]);
            unit * 2f64.powi(power)
        });
        // The gradient of the far field is not asked for.
        Ok(Some(InBox { numbers: [&[length, 1.0], &params[..]].concat(), factors }))
    }

    /// Brings the numbers and matrices of the kernel to the GPUs, for a tree of a kind with levels to the deepest one; nothing for 1/r.
    pub(super) fn expand(
        &mut self,
        team: &Team<C>,
        scales: &Scales,
        (deepest, kind): (u32, TreeKind),
    ) -> Result<Outcome<()>, CudaError> {
        let Some(black_box) = &mut self.black_box else { return Ok(Ok(())) };
        let found = match black_box.found(&self.graph, scales, deepest) {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        if T::REAL == Real::F32 && !found.suits_f32 {
            return Ok(Err("f32 does not hold what the kernel gives between far cells".into()));
        }
        for (device, loaded) in team.devices.iter().zip(&mut self.loaded) {
            if let (Some(images), Some(matrix)) = (&mut loaded.images, &found.images) {
                images.set(device, matrix)?;
            }
            match kind {
                TreeKind::Adaptive => {
                    let Adaptive { tables, kernels, shape, .. } = loaded.adaptive.as_mut().expect("it was made");
                    tables.expand(device, shape, found, |of| {
                        let &Placing { places, factor, rows } = of;
                        let problem = adaptive::Problem { tables: places, potential: factor, ..Default::default() };
                        kernels.launch(device, "place_matrices", Size::new(rows, 256), &problem, &[])
                    })?;
                }
                _ => {
                    let Loaded { tables, kernels, .. } = loaded;
                    tables.expand(device, &self.shape, found, |of| {
                        let &Placing { places, factor, rows } = of;
                        let problem = Problem { tables: places, potential: factor, ..Default::default() };
                        kernels.launch(device, "place_matrices", Size::new(rows, 256), &problem, &[])
                    })?;
                    loaded.places = loaded.problem(device, self.parts);
                }
            }
        }
        Ok(Ok(()))
    }
}

impl<T: Number, C: GpuDevice> Tables<T, C> {
    /// Takes the numbers and matrices of a kernel, unless they are there; `place` runs the kernel of the tree that places those of a level.
    fn expand(
        &mut self,
        device: &C,
        shape: &Shape,
        found: &Found,
        place: impl Fn(&Placing) -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        if self.of.as_ref().is_some_and(|of| of.serves(&found.of)) {
            return Ok(());
        }
        let matrices = &found.matrices;
        self.of = None;
        self.law = device.send(&found.numbers())?;
        // The old ones go first.
        self.matrices = device.allocate(0)?;
        device.finish()?;
        let rows = matrices.offsets.len() * shape.terms;
        let of_level = rows * shape.pitch;
        let count = matrices.levels.len() * of_level;
        device.check_capacity((count * size_of::<T>()) as u64, "an order as high as this")?;
        self.matrices = device.allocate(count)?;
        let placed: Vec<i32> =
            matrices.offsets.iter().flat_map(|of| [of.matrix as i32, of.exchange as i32, of.mirrored as i32]).collect();
        let of_terms = matrices.exchanges.iter().flatten().map(|term| *term as i32);
        let of_terms: Vec<i32> = matrices.odd.iter().map(|bits| *bits as i32).chain(of_terms).collect();
        let steps = self.listed.iter().flat_map(|step| {
            let columns = matrices.columns[step.matrix as usize] as i32;
            Step { columns, ..*step }.numbers()
        });
        self.steps = device.send(&steps.collect::<Vec<i32>>())?;
        let (placed, of_terms) = (device.send(&placed)?, device.send(&of_terms)?);
        let sets = matrices.sets.iter().map(|set| device.send(set)).collect::<Result<Vec<_>, _>>()?;
        for (level, (set, factor)) in matrices.levels.iter().enumerate() {
            let places = TablePlaces {
                up: device.place(&sets[*set]),
                steps: device.place(&placed),
                slope_terms: device.place(&of_terms),
                matrices: device.place(&self.matrices) + (level * of_level * size_of::<T>()) as u64,
                ..TablePlaces::default()
            };
            place(&Placing { places, factor: *factor, rows })?;
        }
        // What they read goes now.
        device.finish()?;
        self.of = Some(found.of.clone());
        Ok(())
    }
}
