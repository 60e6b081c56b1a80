//! Sums over bodies on a GPU that a right integration keeps, with the bits of those on the CPU.

use super::CudaError;
use super::columns::{Copy, DeviceSlice, Problem, own, text};
use super::compile::Arithmetic;
use super::gpu_device::{GpuDevice, Size, Stream};
use fmm::direct::conserved::{BLOCK, LANES, SUMS, total};

const TEXT: &str = include_str!("../../templates/conserved.cu");

/// Columns of bodies.
#[derive(Clone, Copy, Debug)]
pub struct DeviceBodies {
    pub mass: DeviceSlice,
    pub position: [DeviceSlice; 3],
    pub velocity: [DeviceSlice; 3],
    /// The sum of m / r over all others.
    pub potential: DeviceSlice,
}

impl DeviceBodies {
    /// All columns in the order of the kernel, with their names.
    pub fn named(&self) -> [(&'static str, DeviceSlice); 8] {
        let ([x, y, z], [u, v, w]) = (self.position, self.velocity);
        let names = ["mass", "position", "position", "position", "velocity", "velocity", "velocity", "potential"];
        let columns = [self.mass, x, y, z, u, v, w, self.potential];
        std::array::from_fn(|k| (names[k], columns[k]))
    }
}

/// The sums of [`fmm::direct::conserved::sums`], behind what was asked for before.
pub fn sums<C: GpuDevice>(device: &C, bodies: &DeviceBodies) -> Result<[f64; SUMS], CudaError> {
    let n = bodies.mass.len();
    let blocks = n.div_ceil(BLOCK);
    if blocks == 0 {
        return Ok([0.0; SUMS]);
    }
    let numbers = format!("#define BLOCK {BLOCK}u\n#define LANES {LANES}u\n#define SUMS {SUMS}u\n");
    let kernel = device.kernel(&format!("{}{numbers}{TEXT}", text()), "conserved", Arithmetic::Exact)?;
    let parts = device.allocate::<f64>(blocks * SUMS)?;
    let copies = bodies.named().map(|(_, slice)| Copy::in_from(&slice, own(device, &parts, 0, 1)));
    let size = Size { blocks: blocks as u32, threads: LANES as u32 };
    device.launch(Stream::Main, &kernel, size, &Problem::new(n, &copies), &[])?;
    let parts = device.column(&parts, 0..blocks * SUMS)?;
    Ok(total(parts.as_chunks::<SUMS>().0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::columns::Copier;
    use crate::cuda::on_host::{self, HostDevice};
    use fmm::data::random::{Charge, Distribution, generate};
    use fmm::direct::conserved;
    use fmm::octree::Precision;

    #[test]
    fn bodies_on_the_gpu_take_the_steps_and_have_the_sums_of_those_on_the_host() {
        if !on_host::is_there() {
            return;
        }
        let device = HostDevice::default();
        let copier = Copier::new(&device).expect("it compiles");
        for n in [1, 3 * BLOCK, 2 * BLOCK + LANES + 5] {
            let [at, velocities] = [1, 2].map(|seed| generate(n, Distribution::Normal, Charge::Random, seed));
            let (mut position, velocity) = ([&at.x, &at.y, &at.z].map(Vec::clone), velocities.columns());
            let mut there = position.clone();
            // SAFETY: the columns outlive the work.
            let at_place = |place: *const f64| unsafe { DeviceSlice::new(place as u64, n, Precision::F64) };
            let slice = |column: &[f64]| at_place(column.as_ptr());
            let slices = there.each_mut().map(|column| at_place(column.as_mut_ptr()));
            let steps = [0, 1, 2].map(|a| Copy::between(&slice(velocity[a]), &slices[a], 0.1));
            copier.add(&device, n, &steps).expect("it runs");
            for (position, velocity) in position.iter_mut().zip(velocity) {
                position.iter_mut().zip(velocity).for_each(|(x, v)| *x += 0.1 * v);
            }
            assert!(there == position, "{n} bodies");
            let bodies = DeviceBodies {
                mass: slice(&at.q),
                position: slices,
                velocity: velocity.map(slice),
                potential: slice(&velocities.q),
            };
            let host = conserved::Bodies {
                mass: &at.q,
                position: position.each_ref().map(|column| &column[..]),
                velocity,
                potential: &velocities.q,
            };
            assert_eq!(sums(&device, &bodies).expect("it runs"), conserved::sums(&host), "{n} bodies");
        }
    }
}
