//! Particles made on the GPUs, results of some of them, and direct sums there: problems larger than a host may hold.

use super::communicator::Team;
use super::{Amounts, GpuFmm, Loaded, Problem, share_of};
use crate::cuda::CudaError;
use crate::cuda::gpu_device::{GpuDevice, Size};
use crate::cuda::p2p::Number;

/// Blocks that share the direct sum of a target at most, and sources that are worth one.
const MOST_SLICES: usize = 1056;
const SLICE: usize = 4096;

impl<T: Number, C: GpuDevice> GpuFmm<T, C> {
    /// Makes `n` particles, each GPU of all processes its share: uniform in the unit cube, charges in [0, 1), the same for a seed on any
    /// number of GPUs.
    pub fn make(&mut self, team: &Team<C>, n: usize, seed: u32) -> Result<(), CudaError> {
        let own = share_of(n, team.others.count(), team.others.number());
        self.reserve(team, &Amounts { all: n, ..Amounts::of(own.len()) })?;
        for (device, loaded) in team.devices.iter().zip(&self.loaded) {
            let size = Size { blocks: loaded.particles.n.div_ceil(256) as u32, threads: 256 };
            let places = Problem { number: own.start as u64 + loaded.places.number, ..loaded.places };
            loaded.kernels.launch(device, "make", size, &places, &[seed])?;
        }
        team.devices.iter().try_for_each(C::finish)
    }

    /// The GPU whose share has a particle of this process's input, and the particle's place there.
    fn place_of(&self, particle: usize) -> (usize, usize) {
        let holds = |loaded: &Loaded<T, C>| loaded.share[0].contains(&particle);
        let k = self.loaded.iter().position(holds).expect("every particle is in a share");
        (k, particle - self.loaded[k].share[0].start)
    }

    /// Potential and gradient in boxes of some particles of this process's input.
    pub fn fetch_some(&self, team: &Team<C>, targets: &[usize]) -> Result<Vec<T>, CudaError> {
        let mut values = vec![T::default(); 4 * targets.len()];
        for (target, value) in targets.iter().zip(values.chunks_exact_mut(4)) {
            let (k, place) = self.place_of(*target);
            team.devices[k].read(self.results(&self.loaded[k]), self.width() * place, value)?;
        }
        Ok(values)
    }

    /// Potential and gradient of some particles by direct summation over all, in f64 and the user's units: of each GPU over its
    /// share. All GPUs are this process's.
    pub fn direct(&self, team: &Team<C>, targets: &[usize]) -> Result<Vec<[f64; 4]>, CudaError> {
        let slices = self.loaded.iter().map(|l| l.particles.n.div_ceil(SLICE).clamp(1, MOST_SLICES));
        let slices: Vec<usize> = slices.collect();
        let room = team.devices.iter().zip(&slices).map(|(device, slices)| device.allocate::<f64>(4 * slices));
        let room = room.collect::<Result<Vec<_>, _>>()?;
        let one = |target: &usize| {
            let (k, place) = self.place_of(*target);
            let mut centre = [0.0; 3];
            for (x, column) in centre.iter_mut().zip(&self.loaded[k].particles.input) {
                team.devices[k].read(column, place, std::slice::from_mut(x))?;
            }
            let all = team.devices.iter().zip(&self.loaded).zip(room.iter().zip(&slices));
            for ((device, loaded), (room, slices)) in all.clone() {
                let places = Problem { near: device.place(room), centre, ..loaded.places };
                let size = Size { blocks: *slices as u32, threads: 256 };
                loaded.kernels.launch(device, "direct", size, &places, &[*slices as u32])?;
            }
            let mut sum = [0.0; 4];
            for ((device, _), (room, slices)) in all {
                let mut words = vec![0.0; 4 * slices];
                device.read(room, 0, &mut words)?;
                words.chunks_exact(4).for_each(|one| sum.iter_mut().zip(one).for_each(|(sum, x)| *sum += x));
            }
            Ok(sum)
        };
        targets.iter().map(one).collect()
    }
}
