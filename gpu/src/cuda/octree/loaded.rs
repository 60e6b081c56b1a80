//! Kernels, tables and particles on a GPU, and where all of it is.

use super::adaptive::Adaptive;
use super::cells::Cells;
use super::memory::{Capacity, Particles, Parts, Problem, Status};
use super::periodic::{self, Images};
use super::split::LeafShare;
use super::tables::Tables;
use super::text::Shape;
use crate::cuda::CudaError;
use crate::cuda::driver::Kernels;
use crate::cuda::gpu_device::{GpuDevice, Size};
use crate::cuda::p2p::Number;
use fmm::data::periodic::Periodic;
use fmm::expansion::solid::dense::Dense;
use pg2::backend::cuda::p2p::Real;
use std::ops::Range;

/// All kernels of the tree of one depth.
const KERNELS: [&str; 25] = [
    "bounds",
    "all_bounds",
    "sample",
    "count",
    "share_cells",
    "share_sums",
    "share_add",
    "scan_cells",
    "scan_sums",
    "scan_add",
    "scatter",
    "settle",
    "refill",
    "merge",
    "p2m",
    "m2m",
    "m2l",
    "l2l",
    "p2p",
    "again",
    "l2p",
    "spread",
    "make",
    "direct",
    "reference",
];

/// Further kernels of periodic boundaries.
const KERNELS_PERIODIC: [&str; 2] = ["far_images", "moments"];

/// Further kernels of `again` in f32, where a GPU has f64 coordinates of its share alone.
const KERNELS_F32: [&str; 3] = ["ask_nothing", "ask", "answer"];

/// The data on a GPU.
pub struct Loaded<T: Number, C: GpuDevice> {
    pub kernels: Kernels<C>,
    pub tables: Tables<T, C>,
    pub particles: Particles<T, C>,
    pub cells: Option<Cells<T, C>>,
    pub adaptive: Option<Adaptive<T, C>>,
    /// With periodic boundaries.
    pub images: Option<Images<C>>,
    /// The GPU's part of the process's sources, and of its targets if they are no sources.
    pub share: [Range<usize>; 2],
    /// Addresses of all of this.
    pub places: Problem,
}

/// The kernels of a tree, with the shared memory that they take, and of wide products the one that makes the matrices.
pub fn compiled<T: Number, C: GpuDevice>(
    device: &C,
    text: &str,
    names: impl Iterator<Item = &'static str>,
    shape: &Shape,
) -> Result<Kernels<C>, CudaError> {
    let mut kernels = Kernels::default();
    kernels.compile(device, text, names, T::ARITHMETIC, |name, kernel| {
        if shape.memory_of(name) > 0 {
            device.share(kernel, shape.memory_of(name))?;
        }
        // A multiprocessor has blocks of two kernels at a time only if both want the same share of its shared memory.
        if ["m2l", "p2p"].contains(&name) { device.want_shared(kernel) } else { Ok(()) }
    })?;
    if shape.is_wide() {
        kernels.compile(device, text, ["make_matrices"], T::ARITHMETIC, |_, _| Ok(()))?;
    }
    Ok(kernels)
}

/// What of a GPU's data depends on the order.
pub struct Operators<T: Number, C: GpuDevice> {
    kernels: Kernels<C>,
    tables: Tables<T, C>,
    images: Option<Images<C>>,
}

impl<T: Number, C: GpuDevice> Operators<T, C> {
    pub fn new(
        device: &C,
        text: &str,
        dense: &Dense,
        shape: &Shape,
        periodic: Option<&Periodic>,
    ) -> Result<Operators<T, C>, CudaError> {
        let of_f32: &[&str] = if T::REAL == Real::F32 { &KERNELS_F32 } else { &[] };
        let of_images: &[&str] = if periodic.is_some() { &KERNELS_PERIODIC } else { &[] };
        let of_basis: &[&str] = if shape.basis.is_of_kernel() { &["place_matrices"] } else { &[] };
        let names = KERNELS.iter().chain(of_f32).chain(of_images).chain(of_basis).copied();
        let kernels = compiled::<T, C>(device, text, names, shape)?;
        let tables = Tables::new(device, dense, shape, |of| {
            let problem = Problem { tables: of.places, ..Problem::default() };
            kernels.launch(device, "make_matrices", Size::new(of.rows, 256), &problem, &[])
        })?;
        let images = match periodic {
            Some(_) if shape.basis.is_of_kernel() => Some(Images::of_kernel(device)?),
            Some(periodic) => Some(Images::new(device, (dense.order, dense.near2), periodic)?),
            None => None,
        };
        Ok(Operators { kernels, tables, images })
    }
}

impl<T: Number, C: GpuDevice> Loaded<T, C> {
    pub fn new(
        device: &C,
        text: &str,
        dense: &Dense,
        shape: &Shape,
        periodic: Option<&Periodic>,
    ) -> Result<Loaded<T, C>, CudaError> {
        let Operators { kernels, tables, images } = Operators::new(device, text, dense, shape, periodic)?;
        Ok(Loaded {
            kernels,
            tables,
            particles: Particles::new(device, &Capacity::default(), shape)?,
            cells: None,
            adaptive: None,
            images,
            share: [0..0, 0..0],
            places: Problem { wraps: periodic::wraps(periodic), ..Problem::default() },
        })
    }

    /// Takes the operators of another order; particles stay.
    pub fn take(&mut self, operators: Operators<T, C>) {
        let Operators { kernels, tables, images } = operators;
        (self.kernels, self.tables, self.images) = (kernels, tables, images);
        (self.cells, self.adaptive) = (None, None);
    }

    /// Addresses of everything; units are not known yet, nor the part of the GPU.
    pub fn problem(&self, device: &C, parts: Parts) -> Problem {
        let (particles, tables) = (&self.particles, &self.tables);
        let words = (particles.n * size_of::<u32>()) as u64;
        let [records, near, out] = [&particles.records, &particles.near, &particles.out].map(|m| device.place(m));
        let mut problem = Problem {
            input: particles.input.each_ref().map(|x| device.place(x)),
            bounds: device.place(&particles.bounds),
            order: device.place(&particles.order),
            // Sums of P2P and what other GPUs send come later.
            cell: near,
            rank: near + words,
            unsettled: near + 2 * words,
            // One GPU's share is all there is.
            share: if parts.devices > 1 { out } else { records },
            arrived: near,
            records,
            near,
            out,
            tables: tables.places(device),
            law: device.place(&tables.law),
            n: particles.n as u64,
            dipoles: particles.dipoles.each_ref().map(|m| device.place(m)),
            ..self.places
        };
        if let Some(images) = &self.images {
            (problem.lattice, problem.moments) = (images.lattice(device), images.moments(device));
        }
        if let Some(cells) = &self.cells {
            problem.parts = device.place(&cells.parts);
            problem.counts = device.place(&cells.counts);
            problem.share_sums = device.place(&cells.share_sums);
            problem.sums = device.place(&cells.sums);
            problem.starts = device.place(&cells.starts);
            problem.row_parts = device.place(&cells.row_parts);
            problem.bases = device.place(&cells.bases);
            problem.status = device.place(&cells.counted);
            problem.rows = problem.status + (Status::WORDS * size_of::<u64>()) as u64;
            problem.work = device.place(&cells.work);
            problem.m = device.place(&cells.m);
            problem.l = device.place(&cells.l);
        }
        problem
    }

    /// With the lists of P2P, which with several GPUs stand where the sorted share was, and where results come later.
    pub fn lists(&self, device: &C, problem: Problem, part: &LeafShare) -> Problem {
        let Particles { again, again_room, .. } = &self.particles;
        if problem.devices == 1 {
            return Problem { again: device.place(again), again_room: *again_room as u64, ..problem };
        }
        let [targets, particles] = [part.targets, part.particles].map(|count| count as u64 * size_of::<u32>() as u64);
        let again = problem.out;
        let (wide_at, wanted) = (again + targets, again + targets + particles);
        Problem { again, again_room: part.targets as u64, wide_at, wanted, ..problem }
    }
}
