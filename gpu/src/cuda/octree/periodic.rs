//! Periodic boundaries: the box, what its far images give, and the moments of the background that neutralises the charges.
//!
//! Cells see images of cells as other cells. All images of the root but those around it act through one matrix, which the host makes for
//! an order as the CPU's far field has it.

use super::communicator::{Team, numbers};
use super::memory::Bounds;
use super::run::Scales;
use super::{FmmBasis, GpuFmm, Loaded};
use crate::cuda::CudaError;
use crate::cuda::driver::Outcome;
use crate::cuda::gpu_device::{GpuDevice, Size};
use crate::cuda::p2p::Number;
use fmm::data::periodic::Periodic;
use fmm::expansion::lattice;
use fmm::expansion::solid::dense::by_columns;
use fmm::octree::periodic::check_ends;
use fmm::tree::boxmap::BoxMap;

/// Blocks and threads of a block of `moments`, and its words.
const MOMENTS: Size = Size { blocks: 264, threads: 256 };
const WORDS: usize = 10;

/// Coordinates above this, in periods, are left to the CPU.
const MOST_PERIODS: f64 = 1e200;

/// The data of periodic boundaries on a GPU.
pub struct Images<C: GpuDevice> {
    lattice: C::Memory<f64>,
    /// Sums over all charges, of two words each.
    moments: C::Memory<u64>,
}

impl<C: GpuDevice> Images<C> {
    /// Those of 1/r for an order, where images of the root are near below `near2`.
    pub fn new(device: &C, (order, near2): (usize, u64), periodic: &Periodic) -> Result<Images<C>, CudaError> {
        let sums = lattice::sums(2 * order, periodic.axes, near2);
        Ok(Images { lattice: device.send(&lattice::matrix(order, &sums))?, moments: device.allocate(WORDS)? })
    }

    /// Those of a kernel, whose matrix follows.
    pub fn of_kernel(device: &C) -> Result<Images<C>, CudaError> {
        Ok(Images { lattice: device.allocate(0)?, moments: device.allocate(WORDS)? })
    }

    /// Takes the matrix of a kernel, which stands row by row.
    pub fn set(&mut self, device: &C, matrix: &[f64]) -> Result<(), CudaError> {
        self.lattice = device.send(&by_columns(matrix.to_vec(), matrix.len().isqrt()))?;
        Ok(())
    }

    pub fn lattice(&self, device: &C) -> u64 {
        device.place(&self.lattice)
    }

    pub fn moments(&self, device: &C) -> u64 {
        device.place(&self.moments)
    }
}

/// Bits of the periodic axes.
pub fn wraps(periodic: Option<&Periodic>) -> u64 {
    periodic.map_or(0, |p| p.axes.iter().enumerate().map(|(a, wraps)| (*wraps as u64) << a).sum())
}

/// The box of particles with these ends; or why the GPU does not take them.
pub fn map(bounds: &Bounds, periodic: Option<&Periodic>) -> Outcome<BoxMap> {
    let ends = [0, 1, 2].map(|a| [bounds.low[a], bounds.high[a]]);
    let Some(periodic) = periodic else { return Ok(BoxMap::within(ends)) };
    let most = ends.as_flattened().iter().fold(0.0f64, |most, x| most.max(x.abs()));
    if most > MOST_PERIODS * periodic.length {
        return Err("coordinates are very large beside the period".into());
    }
    check_ends(ends, periodic).map_err(|wrong| wrong.to_string())?;
    Ok(BoxMap::around(Some(ends), Some(periodic)))
}

impl<T: Number, C: GpuDevice> Loaded<T, C> {
    fn moments(&self) -> &C::Memory<u64> {
        &self.images.as_ref().expect("boundaries are periodic").moments
    }
}

impl<T: Number, C: GpuDevice> GpuFmm<T, C> {
    /// Whether a uniform background neutralises the charges, as it does for 1/r.
    fn has_background(&self) -> bool {
        self.basis() != FmmBasis::Chebyshev && self.periodic.is_some_and(|p| p.count() == 3)
    }

    /// Adds up the moments of each GPU's share, and gives every GPU those of all.
    pub(super) fn moments(&mut self, team: &Team<C>, scales: &Scales) -> Result<(), CudaError> {
        if !self.has_background() {
            return Ok(());
        }
        for (device, loaded) in team.devices.iter().zip(&mut self.loaded) {
            let images = loaded.images.as_mut().expect("boundaries are periodic");
            device.clear(&mut images.moments)?;
            let problem = loaded.places.scaled::<T>(scales, self.units, 0);
            loaded.kernels.launch(device, "moments", MOMENTS, &problem, &[])?;
        }
        if team.all() == 1 {
            return Ok(());
        }
        let mut all = vec![[0u64; WORDS]; team.devices.len()];
        for ((device, loaded), own) in team.devices.iter().zip(&self.loaded).zip(&mut all) {
            device.read(loaded.moments(), 0, own)?;
        }
        // Words have signs, of which sums in two's complement know nothing.
        let sum = |a: [u64; WORDS], b: [u64; WORDS]| std::array::from_fn(|k| a[k].wrapping_add(b[k]));
        let mut sums = all.into_iter().fold([0; WORDS], sum);
        if !team.is_alone() {
            let others = team.travel(|| numbers(team.others, &sums))?;
            let words = |one: &Vec<u64>| std::array::from_fn(|k| one[k]);
            sums = others.iter().map(words).fold([0; WORDS], sum);
        }
        for (device, loaded) in team.devices.iter().zip(&mut self.loaded) {
            let images = loaded.images.as_mut().expect("boundaries are periodic");
            device.write(&sums, &mut images.moments, 0)?;
        }
        Ok(())
    }
}
