//! Kernels that are not 1/r, or softened 1/r, in a black-box expansion: their functions, and the matrices of M2L that these give on the
//! levels of a tree.
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
use fmm::expansion::chebyshev::dense::Matrices;
use fmm::expansion::chebyshev::softened::Softened;
use fmm::expansion::chebyshev::{self, Function};
use fmm::expansion::softened::lengths::Stretch;
use fmm::octree::{Coincident, FmmOptions, far_images};
use fmm::tree::boxmap::BoxMap;
use fmm::tree::lists::near2;
use pg2::backend::cuda::p2p::Real;
use pg2::graph::Graph;
use pipelines::octree::function::{Law, Setting};
use pipelines::octree::kernel::of_graph;
use pipelines::octree::offload::KernelBox;
use std::sync::Arc;

/// The highest order: each thread of M2L has a row or more in its registers.
pub const MOST_BLACK_BOX: usize = super::text::MOST_NARROW;

/// A function that is expanded as it is.
pub struct BlackBox {
    expands: Expands,
    found: Option<Found>,
}

/// The function that a black-box expansion is of.
enum Expands {
    /// The kernel of P2P.
    Kernel(Box<FmmOptions>),
    /// 1/r with the softening length of runs, whose P2P is that of 1/r.
    Softened,
}

/// The parameters that tables are for, and the deepest level.
#[derive(Clone, PartialEq, Debug)]
pub struct Expanded {
    numbers: Numbers,
    deepest: u32,
}

/// The numbers that a function depends on: the kernel's own, or the softening length in boxes.
#[derive(Clone, PartialEq, Debug)]
enum Numbers {
    Kernel(Law),
    Softened(f64),
}

/// The function in a box.
struct Found {
    of: Expanded,
    /// Its gradient in units of the potential's.
    slope: f64,
    /// Whether f32 holds what it gives between far cells.
    suits_f32: bool,
    /// For each function of a sum that it is.
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
    law: u64,
    functions: [u32; 2],
    rows: usize,
}

/// What the matrices of all levels are made of, on a GPU.
pub struct Sets<C: GpuDevice> {
    sets: Vec<C::Memory<f64>>,
    placed: C::Memory<i32>,
    of_terms: C::Memory<i32>,
}

impl BlackBox {
    /// Softened 1/r.
    pub fn softened() -> BlackBox {
        BlackBox { expands: Expands::Softened, found: None }
    }

    pub fn basis(&self) -> FmmBasis {
        match self.expands {
            Expands::Kernel(_) => FmmBasis::Chebyshev,
            Expands::Softened => FmmBasis::Softened,
        }
    }

    /// The kernel of P2P in a box, given its options.
    fn law(graph: &Graph, options: &FmmOptions, map: &BoxMap) -> Result<Law, String> {
        let (eps, edge) = (map.length(options.eps), map.edge());
        let setting = Setting { eps, edge, given: &options.params, window: KernelBox::of(options) };
        Law::new(graph, &setting).map_err(|why| why.0)
    }

    /// The function in the box of a run, on levels to `deepest`, for an order and cells that are near below a squared offset.
    fn found(
        &mut self,
        graph: &Graph,
        scales: &Scales,
        (order, near2): (usize, u64),
        deepest: u32,
    ) -> Result<&Found, String> {
        let (map, levels) = (&scales.map, deepest as usize + 1);
        let numbers = match &self.expands {
            Expands::Kernel(options) => Numbers::Kernel(BlackBox::law(graph, options, map)?),
            Expands::Softened => Numbers::Softened(map.length(scales.eps)),
        };
        let of = Expanded { numbers, deepest };
        // Those of deeper trees stay.
        if let Some(found) = self.found.as_mut().filter(|found| found.of.shares_sets(&of)) {
            found.of.numbers = of.numbers;
            return Ok(self.found.as_ref().expect("it was made"));
        }
        let (functions, lattice): (Vec<Arc<dyn Function>>, _) = match (&self.expands, &of.numbers) {
            (Expands::Kernel(options), Numbers::Kernel(law)) => {
                if law.acts_at_zero && options.coincident == Coincident::Include {
                    return Err("the kernel acts on particles in one place".into());
                }
                let function = of_graph(graph).function(options, map, levels).map_err(|why| why.to_string())?;
                (vec![function], far_images(options))
            }
            _ => {
                let softened = |eps| Arc::new(Softened::new(eps, levels)) as Arc<dyn Function>;
                (Stretch::of(map.length(scales.eps)).lengths().map(softened).into(), None)
            }
        };
        // Images of cells are far from each other from the first level on.
        let coarsest = if lattice.is_some() { 1 } else { 2 };
        let matrices = functions.iter().map(|function| Matrices::new(order, near2, function, coarsest..=deepest));
        let matrices = Matrices::joined(matrices.collect()).expect("there is a function");
        let function = &*functions[0];
        let suits_f32 = chebyshev::suits_f32(function, levels, lattice);
        let images = lattice.map(|lattice| lattice.matrix(function, order));
        Ok(self.found.insert(Found { of, slope: function.slope(), suits_f32, matrices, images }))
    }
}

impl Expanded {
    /// Whether it is for the same kernel on as many levels.
    fn serves(&self, wanted: &Expanded) -> bool {
        self.numbers == wanted.numbers && self.deepest >= wanted.deepest
    }

    /// Whether its sets of matrices are those of the same functions.
    fn shares_sets(&self, wanted: &Expanded) -> bool {
        let is_like = match (&self.numbers, &wanted.numbers) {
            (Numbers::Softened(own), Numbers::Softened(other)) => Stretch::of(*own) == Stretch::of(*other),
            (own, other) => own == other,
        };
        is_like && self.deepest >= wanted.deepest
    }
}

impl Found {
    /// The weights of the functions that it is a sum of.
    fn weights(&self) -> Vec<f64> {
        match &self.of.numbers {
            Numbers::Kernel(_) => vec![1.0],
            Numbers::Softened(eps) => Stretch::of(*eps).weights(*eps).into(),
        }
    }

    /// The numbers that kernels on the GPU read.
    fn numbers(&self) -> Vec<f64> {
        match &self.of.numbers {
            Numbers::Kernel(Law { length, params, .. }) => [&[*length, self.slope], &params[..]].concat(),
            Numbers::Softened(_) => Vec::new(),
        }
    }
}

impl<T: Number, C: GpuDevice> GpuFmm<T, C> {
    /// Compiles the kernels for any P2P kernel with a native form that is a smooth function of differences, by an order of its black-box
    /// expansion.
    pub fn black_box(devices: &[C], graph: &Graph, options: &FmmOptions) -> Result<GpuFmm<T, C>, CudaError> {
        let black_box = Some(BlackBox { expands: Expands::Kernel(Box::new(options.clone())), found: None });
        // Units are those of the kernel in the box of a run.
        let units = Units { potential: 1.0, gradient: 1.0, length: 1.0 };
        let extra = Extra { periodic: options.periodic, near2: near2(options.theta), ..Extra::default() };
        GpuFmm::of(devices, Asked { graph, order: options.order, units, extra, black_box })
    }

    /// Whether what was compiled for a kernel serves other options of the same order.
    pub fn takes_black_box(&mut self, options: &FmmOptions) -> bool {
        let axes = |periodic: Option<Periodic>| periodic.map(|p| p.axes);
        match &mut self.black_box {
            Some(BlackBox { expands: Expands::Kernel(own), .. })
                if (options.order, near2(options.theta)) == (self.order, self.near2)
                    && axes(options.periodic) == axes(self.periodic) =>
            {
                if **own != *options {
                    (**own, self.kept) = (options.clone(), None);
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

    /// The factors of what a kernel that is not 1/r gives to a potential and a gradient in boxes, once it is known in the box of a run.
    pub(super) fn units_of_kernel(&self) -> Option<[f64; 2]> {
        match &self.black_box.as_ref()?.found.as_ref()?.of.numbers {
            Numbers::Kernel(law) => Some(law.units.map(|unit| 1.0 / unit)),
            Numbers::Softened(_) => None,
        }
    }

    /// The kernel in a box; none for 1/r.
    pub(super) fn kernel_in(&self, map: &BoxMap) -> Result<Option<InBox>, CudaError> {
        let Some(BlackBox { expands: Expands::Kernel(options), .. }) = &self.black_box else { return Ok(None) };
        let law = BlackBox::law(&self.graph, options, map).map_err(CudaError::Failed)?;
        let Law { length, units, params, .. } = law;
        let factors = std::array::from_fn(|a| {
            let (unit, power) = map.wide(a, 1.0 / units[a.min(1)]);
            unit * 2f64.powi(power)
        });
        // The gradient of the far field is not asked for.
        Ok(Some(InBox { numbers: [&[length, 1.0], &params[..]].concat(), factors }))
    }

    /// Brings the numbers and matrices of the function to the GPUs, for a tree of a kind with levels to the deepest one; nothing for harmonics.
    pub(super) fn expand(
        &mut self,
        team: &Team<C>,
        scales: &Scales,
        (deepest, kind): (u32, TreeKind),
    ) -> Result<Outcome<()>, CudaError> {
        let Some(black_box) = &mut self.black_box else { return Ok(Ok(())) };
        let found = match black_box.found(&self.graph, scales, (self.order, self.near2), deepest) {
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
                        let &Placing { places, law, functions, rows } = of;
                        let problem = adaptive::Problem { tables: places, law, ..Default::default() };
                        kernels.launch(device, "place_matrices", Size::new(rows, 256), &problem, &functions)
                    })?;
                }
                _ => {
                    let Loaded { tables, kernels, .. } = loaded;
                    tables.expand(device, &self.shape, found, |of| {
                        let &Placing { places, law, functions, rows } = of;
                        let problem = Problem { tables: places, law, ..Default::default() };
                        kernels.launch(device, "place_matrices", Size::new(rows, 256), &problem, &functions)
                    })?;
                    loaded.places = loaded.problem(device, self.parts);
                }
            }
        }
        Ok(Ok(()))
    }
}

impl<T: Number, C: GpuDevice> Tables<T, C> {
    /// Takes the numbers and matrices of a function, unless they are there; `place` runs the kernel of the tree that places those of a level.
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
        let has_sets = self.sets.is_some() && self.of.as_ref().is_some_and(|of| of.shares_sets(&found.of));
        let sets = if has_sets { self.sets.take() } else { None };
        self.of = None;
        let sets = match sets {
            Some(sets) => sets,
            None => self.new_sets(device, shape, found)?,
        };
        self.law = device.send(&found.numbers())?;
        let (matrices, weights) = (&found.matrices, found.weights());
        let rows = matrices.offsets.len() * shape.terms;
        // Numbers of one function in a set.
        let stride = matrices.sets.first().map_or(0, |set| set.len() / weights.len()) as u32;
        // A factor of the level for each.
        let of_level = |(_, factor): &(usize, f64)| weights.iter().map(|weight| factor * weight).collect::<Vec<f64>>();
        let laws = matrices.levels.iter().map(|level| device.send(&of_level(level))).collect::<Result<Vec<_>, _>>()?;
        for (level, ((set, _), law)) in matrices.levels.iter().zip(&laws).enumerate() {
            let places = TablePlaces {
                up: device.place(&sets.sets[*set]),
                steps: device.place(&sets.placed),
                slope_terms: device.place(&sets.of_terms),
                matrices: device.place(&self.matrices) + (level * rows * shape.pitch * size_of::<T>()) as u64,
                ..TablePlaces::default()
            };
            place(&Placing { places, law: device.place(law), functions: [weights.len() as u32, stride], rows })?;
        }
        // What they read goes now.
        device.finish()?;
        self.of = Some(found.of.clone());
        self.sets = (weights.len() > 1).then_some(sets);
        Ok(())
    }

    /// What the matrices of a function are made of, and memory for these.
    fn new_sets(&mut self, device: &C, shape: &Shape, found: &Found) -> Result<Sets<C>, CudaError> {
        let matrices = &found.matrices;
        // The old ones go first.
        (self.matrices, self.sets) = (device.allocate(0)?, None);
        device.finish()?;
        let count = matrices.levels.len() * matrices.offsets.len() * shape.terms * shape.pitch;
        let of_sets = if found.weights().len() > 1 { matrices.sets.iter().map(Vec::len).sum() } else { 0 };
        let bytes = count * size_of::<T>() + of_sets * size_of::<f64>();
        device.check_capacity(bytes as u64, "an order as high as this")?;
        self.matrices = device.allocate(count)?;
        let placed: Vec<i32> =
            matrices.offsets.iter().flat_map(|of| [of.matrix as i32, of.exchange as i32, of.mirrored as i32]).collect();
        let of_terms = matrices.exchanges.iter().flatten().map(|term| *term as i32);
        let of_terms: Vec<i32> = matrices.odd.iter().map(|bits| *bits as i32).chain(of_terms).collect();
        let steps = self.listed.iter().flat_map(|step| {
            // Without levels there are none.
            let columns = matrices.columns.get(step.matrix as usize).map_or(step.columns, |columns| *columns as i32);
            Step { columns, ..*step }.numbers()
        });
        self.steps = device.send(&steps.collect::<Vec<i32>>())?;
        Ok(Sets {
            sets: matrices.sets.iter().map(|set| device.send(set)).collect::<Result<_, _>>()?,
            placed: device.send(&placed)?,
            of_terms: device.send(&of_terms)?,
        })
    }
}
