//! Bodies and the field of an FMM on a GPU, where they stay from step to step.

use super::forces::Field;
use super::{Bodies, Conserved};
use crate::Error;
use crate::backends::{self, Needs};
use crate::fmm::device::{DeviceField, DevicePoints, DeviceSlice, resident};
use crate::fmm::{Options, Precision};
use gpu::cuda::columns::Memory;
use gpu::cuda::conserved::DeviceBodies;
use gpu::octree::all_stages::resident::Resident;

/// Bodies on a GPU that runs all stages of their FMM. What it does has the bits of what the host does with the GPU's fields.
pub struct OnGpu {
    gpu: Resident,
    bodies: DeviceBodies,
    acceleration: [DeviceSlice; 3],
    _memory: Vec<Memory>,
    /// Whether the host has bodies and field as they are here.
    is_fetched: bool,
}

impl OnGpu {
    /// Sends bodies to the GPU of the options; or says why their FMM is not for data there, if there is one.
    pub fn new(options: &Options, bodies: &Bodies) -> Result<Result<OnGpu, Option<String>>, Error> {
        let (entry, _) = backends::find(&options.backend).map_err(|e| Error::Options(e.to_string()))?;
        if entry.needs != Needs::Gpu || !entry.native {
            return Ok(Err(None));
        }
        let gpu = match resident(options)? {
            Ok(gpu) => gpu,
            Err(why) => return Ok(Err(Some(why))),
        };
        let (n, mut memory) = (bodies.len(), Vec::new());
        let mut column = || -> Result<DeviceSlice, Error> {
            let room = gpu.allocate(n * size_of::<f64>())?;
            // SAFETY: the memory is for so many numbers and lives as long as what uses it, all in one stream.
            let slice = unsafe { DeviceSlice::new(room.address(), n, Precision::F64) };
            memory.push(room);
            Ok(slice.on(gpu.device()))
        };
        let mut three = || Ok::<_, Error>([column()?, column()?, column()?]);
        let (position, velocity, acceleration) = (three()?, three()?, three()?);
        let columns = DeviceBodies { mass: column()?, position, velocity, potential: column()? };
        let there = OnGpu { gpu, bodies: columns, acceleration, _memory: memory, is_fetched: true };
        there.store(&[&bodies.mass], &[columns.mass])?;
        there.store(&bodies.position.each_ref(), &position)?;
        there.store(&bodies.velocity.each_ref(), &velocity)?;
        Ok(Ok(there))
    }

    /// The same with their field.
    pub fn with_field(self, field: &Field) -> Result<OnGpu, Error> {
        self.store(&[&field.potential], &[self.bodies.potential])?;
        self.store(&field.acceleration.each_ref(), &self.acceleration)?;
        Ok(self)
    }

    fn store(&self, from: &[&Vec<f64>], to: &[DeviceSlice]) -> Result<(), Error> {
        let mut columns = from.iter().zip(to);
        Ok(columns.try_for_each(|(from, to)| self.gpu.store("a column", from, *to, self.gpu.stream()))?)
    }

    /// Takes other velocities.
    pub fn set_velocities(&self, bodies: &Bodies) -> Result<(), Error> {
        self.store(&bodies.velocity.each_ref(), &self.bodies.velocity)
    }

    /// Adds multiples of accelerations to velocities.
    pub fn kick(&mut self, factor: f64) -> Result<(), Error> {
        self.add(self.acceleration, self.bodies.velocity, factor)
    }

    /// Adds multiples of velocities to positions.
    pub fn drift(&mut self, factor: f64) -> Result<(), Error> {
        self.add(self.bodies.velocity, self.bodies.position, factor)
    }

    fn add(&mut self, from: [DeviceSlice; 3], to: [DeviceSlice; 3], factor: f64) -> Result<(), Error> {
        self.is_fetched = false;
        Ok(self.gpu.add(&[0, 1, 2].map(|axis| (from[axis], to[axis], factor)))?)
    }

    /// Computes the field where the bodies are now; or says why the GPU does not run all stages there.
    pub fn update(&mut self) -> Result<Result<(), String>, Error> {
        self.is_fetched = false;
        let (stream, DeviceBodies { mass, position, potential, .. }) = (self.gpu.stream(), self.bodies);
        let points = DevicePoints { sources: position, targets: None };
        if let Err(why) = self.gpu.update(&points, stream)? {
            return Ok(Err(why));
        }
        let field = DeviceField { potential: Some(potential), gradient: Some(self.acceleration), hessian: None };
        Ok(self.gpu.run(&mass.into(), &field, stream)?.map(drop))
    }

    /// Copies what has changed to the host.
    pub fn fetch(&mut self, bodies: &mut Bodies, field: &mut Field) -> Result<(), Error> {
        if self.is_fetched {
            return Ok(());
        }
        let here = bodies.position.iter_mut().chain(&mut bodies.velocity).chain(&mut field.acceleration);
        let there = self.bodies.position.iter().chain(&self.bodies.velocity).chain(&self.acceleration);
        for (to, from) in here.chain([&mut field.potential]).zip(there.chain([&self.bodies.potential])) {
            *to = self.gpu.fetch("a column", *from, self.gpu.stream())?;
        }
        self.is_fetched = true;
        Ok(())
    }

    /// The sums that the integration should keep.
    pub fn conserved(&self, time: f64) -> Result<Conserved, Error> {
        Ok(Conserved::from_sums(time, self.gpu.conserved(&self.bodies)?))
    }
}
