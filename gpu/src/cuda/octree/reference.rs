//! Direct sums at some places, which errors are judged by.

use super::communicator::Team;
use super::tables::TablePlaces;
use super::{GpuFmm, Problem};
use crate::cuda::CudaError;
use crate::cuda::gpu_device::{GpuDevice, Size};
use crate::cuda::p2p::Number;
use fmm::tree::boxmap::BoxMap;

/// Places of a block, as in the text, slices of the sources at most, and sources that are worth one.
const PLACES: usize = 128;
const MOST_SLICES: usize = 256;
const SLICE: usize = 512;

impl<T: Number, C: GpuDevice> GpuFmm<T, C> {
    /// Potential and gradient at some places by direct summation over the sources that were sent, in f64 and the user's units; none where
    /// a source is so close that f64 does not hold its share. All GPUs are this process's. `map` is the box of sources and places, whose edge a
    /// kernel that is not 1/r may depend on.
    pub fn reference(
        &self,
        team: &Team<C>,
        places: &[[f64; 3]],
        eps: f64,
        map: &BoxMap,
    ) -> Result<Vec<Option<[f64; 4]>>, CudaError> {
        let count = places.len();
        let kernel = self.kernel_in(map)?;
        let law = kernel.as_ref().map_or(&[][..], |kernel| &kernel.numbers);
        let units = kernel.as_ref().map_or([1.0; 4], |kernel| kernel.factors);
        let mut sums = vec![[0.0; 5]; count];
        for (device, loaded) in team.devices.iter().zip(&self.loaded).filter(|(_, l)| l.places.targets > 0) {
            let slices = (loaded.places.targets as usize).div_ceil(SLICE).clamp(1, MOST_SLICES);
            let (sent, found) = (device.send(places.as_flattened())?, device.allocate::<f64>(5 * slices * count)?);
            let near = device.place(&found);
            let tables = TablePlaces { up: device.place(&sent), ..loaded.places.tables };
            let law = device.send(law)?;
            let problem =
                Problem { tables, near, eps2: eps * eps, law: device.place(&law), size: map.edge(), ..loaded.places };
            let size = Size::new(count.div_ceil(PLACES) * slices, PLACES);
            loaded.kernels.launch(device, "reference", size, &problem, &[count as u32, slices as u32])?;
            let mut of_slices = vec![0.0; 5 * slices * count];
            device.read(&found, 0, &mut of_slices)?;
            for slice in of_slices.chunks_exact(5 * count) {
                let added = sums.as_flattened_mut().iter_mut().zip(slice);
                added.for_each(|(sum, x)| *sum += x);
            }
        }
        let known = |[a, b, c, d, close]: [f64; 5]| {
            let all: [f64; 4] = std::array::from_fn(|k| [a, b, c, d][k] * units[k]);
            (close == 0.0 && all.iter().all(|x| x.is_finite())).then_some(all)
        };
        Ok(sums.into_iter().map(known).collect())
    }
}
