//! The steps of a simulation on a GPU: positions, velocities, masses and forces stay there.

use super::failure;
use fmm::data::particles::Particles;
use fmm::data::random::{self, Charge, Distribution};
use fmm::expansion::basis::Basis;
use fmm::octree::{FmmError, FmmOptions, Precision};
use gpu::cuda::columns::{DeviceSlice, Memory};
use gpu::cuda::octree::resident::{DeviceField, DevicePoints};
use gpu::octree::Gpu;
use gpu::octree::all_stages::resident::Resident;
use pg2::graph::Graph;
use std::time::Instant;
use terminal::bench::spread;
use terminal::failure::Failure;
use terminal::say;

const N: usize = 1_000_000;
const STEPS: usize = 100;

/// A hundred steps are a tenth of the time in which the cube would collapse.
const STEP: f64 = 1e-3;

/// A hundredth of the mean distance of neighbours: more would ask for another far field.
const SOFTENING: f64 = 1e-4;

/// The relative change of the energy that a right force does not exceed. That of the order is the larger part.
const DRIFT: f64 = 1e-4;

/// Columns of a simulation on the GPU.
struct Simulation {
    gpu: Resident,
    position: [DeviceSlice; 3],
    velocity: [DeviceSlice; 3],
    mass: DeviceSlice,
    potential: DeviceSlice,
    gradient: [DeviceSlice; 3],
    masses: Vec<f64>,
    _memory: Vec<Memory>,
}

/// Prints the seconds of such steps, and by how much the energy has changed, which must be little.
pub fn run(kernel: &Graph, repeat: u32) -> Result<(), Failure> {
    let particles = random::generate(N, Distribution::Uniform, Charge::Mass, 1);
    let mut simulation = Simulation::new(kernel, &particles).map_err(failure)?;
    let (mut seconds, mut drift) = (Vec::new(), 0f64);
    for _ in 0..=repeat {
        simulation.begin(&particles).map_err(failure)?;
        let before = simulation.energy()?;
        let start = Instant::now();
        simulation.steps()?;
        seconds.push(start.elapsed().as_secs_f64());
        drift = drift.max(((simulation.energy()? - before) / before).abs());
    }
    if drift.is_nan() || drift > DRIFT {
        return Err(Failure::Tool(format!(
            "{STEPS} steps of leapfrog change the energy by {drift:e}, more than {DRIFT:e}"
        )));
    }
    // The first run allocates memory.
    seconds.remove(0);
    seconds.sort_by(f64::total_cmp);
    let all = spread(&seconds, |x| format!("{x:.3}"));
    say!(
        "  {STEPS} steps of leapfrog of {N} particles, order 5, f32, all on the GPU: {all} s; energy within {drift:.1e}"
    )
}

impl Simulation {
    fn new(kernel: &Graph, particles: &Particles) -> Result<Simulation, FmmError> {
        let options = FmmOptions {
            order: 5,
            precision: Precision::F32,
            basis: Basis::Solid,
            eps: SOFTENING,
            ..FmmOptions::default()
        };
        let gpu = Resident::on(Gpu::open_at("cuda", kernel, 0)?, &options, None, false)?;
        let mut memory = Vec::new();
        let mut column = |precision| -> Result<DeviceSlice, FmmError> {
            memory.push(gpu.allocate(8 * N)?);
            let address = memory.last().expect("it was pushed").address();
            // SAFETY: the memory is for 8 bytes a number, and lives as long as the simulation; all work is in one stream.
            Ok(unsafe { DeviceSlice::new(address, N, precision) })
        };
        let mut three = |precision| Ok::<_, FmmError>([column(precision)?, column(precision)?, column(precision)?]);
        let (position, velocity) = (three(Precision::F64)?, three(Precision::F64)?);
        let (gradient, [mass, potential, _]) = (three(Precision::F32)?, three(Precision::F32)?);
        let masses = particles.q.clone();
        Ok(Simulation { gpu, position, velocity, mass, potential, gradient, masses, _memory: memory })
    }

    /// All at rest at their first places.
    fn begin(&mut self, particles: &Particles) -> Result<(), FmmError> {
        let (gpu, stream) = (&self.gpu, self.gpu.stream());
        let zeros = vec![0.0; N];
        for (axis, column) in particles.columns().into_iter().enumerate() {
            gpu.store("position", column, self.position[axis], stream)?;
            gpu.store("velocity", &zeros, self.velocity[axis], stream)?;
        }
        gpu.store("mass", &particles.q, self.mass, stream)
    }

    /// The field of the particles where they are.
    fn field(&mut self, field: &DeviceField) -> Result<(), Failure> {
        let stream = self.gpu.stream();
        let points = DevicePoints { sources: self.position, targets: None };
        let taken = self.gpu.update(&points, stream).map_err(failure)?;
        let done = taken.and(self.gpu.run(&self.mass.into(), field, stream).map_err(failure)?);
        done.map(drop).map_err(|why| Failure::Tool(format!("the GPU leaves a step to the CPU: {why}")))
    }

    fn steps(&mut self) -> Result<(), Failure> {
        let forces = DeviceField { gradient: Some(self.gradient), ..DeviceField::default() };
        self.field(&forces)?;
        for step in 0..STEPS {
            // Half a kick first and last, and whole ones between drifts.
            self.add(self.gradient, self.velocity, if step == 0 { STEP / 2.0 } else { STEP })?;
            self.add(self.velocity, self.position, STEP)?;
            self.field(&forces)?;
        }
        self.add(self.gradient, self.velocity, STEP / 2.0)?;
        self.gpu.finish().map_err(failure)
    }

    fn add(&self, from: [DeviceSlice; 3], to: [DeviceSlice; 3], factor: f64) -> Result<(), Failure> {
        self.gpu.add(&[0, 1, 2].map(|a| (from[a], to[a], factor))).map_err(failure)
    }

    /// The energy of all, summed on the host.
    fn energy(&mut self) -> Result<f64, Failure> {
        self.field(&DeviceField { potential: Some(self.potential), ..DeviceField::default() })?;
        let fetch = |slice| self.gpu.fetch("column", slice, self.gpu.stream()).map_err(failure);
        let [x, y, z] = self.velocity;
        let (potential, velocity) = (fetch(self.potential)?, [fetch(x)?, fetch(y)?, fetch(z)?]);
        let of = |k: usize| {
            let [x, y, z] = velocity.each_ref().map(|column| column[k]);
            self.masses[k] * (x * x + y * y + z * z - potential[k]) / 2.0
        };
        Ok((0..N).map(of).sum())
    }
}
