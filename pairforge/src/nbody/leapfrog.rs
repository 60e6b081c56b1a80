//! Leapfrog with constant steps: kick, drift, kick.

use super::forces::{Field, Forces};
#[cfg(feature = "cuda")]
use super::on_gpu::OnGpu;
use super::{Bodies, Conserved, Integrator, Observed, Progress, State};
use crate::Error;
use crate::fmm::{Options, Pinned};
use fmm::parallel::prelude::*;

/// The leapfrog: symplectic, reversible in time, and of second order.
///
/// On the backend `cuda` the bodies stay on the GPU, where that runs all stages of the FMM; the host has them when it asks.
pub struct Leapfrog {
    place: Place,
    /// On the host, as they were there last.
    bodies: Bodies,
    field: Field,
    /// The options of the forces, and what of them a GPU has found for a tolerance.
    options: Options,
    found: Option<Pinned>,
    step: f64,
    steps: u64,
    /// The reason why the bodies do not stay on the GPU of the options.
    left: Option<String>,
}

/// The memory in which bodies take their steps.
enum Place {
    Host(Forces),
    #[cfg(feature = "cuda")]
    Gpu(Box<OnGpu>),
}

/// Numbers that a thread adds at a time.
const BLOCK: usize = 1 << 14;

const ACCELERATION: [&str; 3] = ["ax", "ay", "az"];
const FMM: &str = "fmm";
const FOUND: &str = "found";

impl Leapfrog {
    /// Bodies at time 0, with the options of the forces and the length of a step.
    pub fn start(bodies: Bodies, options: &Options, step: f64) -> Result<Leapfrog, Error> {
        Leapfrog::start_with(bodies, options, step, &mut |_, _, _| {})
    }

    /// The same with progress of the first forces.
    pub fn start_with(
        bodies: Bodies,
        options: &Options,
        step: f64,
        progress: &mut Progress,
    ) -> Result<Leapfrog, Error> {
        #[cfg(feature = "cuda")]
        let left = match Leapfrog::start_on_gpu(bodies.clone(), options, step)? {
            Ok(run) => return Ok(run),
            Err(why) => why,
        };
        #[cfg(not(feature = "cuda"))]
        let left = None;
        let (forces, field) = Forces::first(options, &bodies, progress)?;
        let Some(found) = forces.found_on_gpu()? else {
            let (place, options) = (Place::Host(forces), options.clone());
            return Ok(Leapfrog { place, bodies, field, options, found: None, step, steps: 0, left });
        };
        // What it has on the GPU makes way for the bodies.
        drop(forces);
        let options = found.in_place_of_tolerance(options);
        let (place, left) = Place::of(&options, (&bodies, &field), None)?;
        Ok(Leapfrog { place, bodies, field, options, found: Some(found), step, steps: 0, left })
    }

    /// The same on a GPU; or why it is not for the bodies, if there is one.
    #[cfg(feature = "cuda")]
    fn start_on_gpu(bodies: Bodies, options: &Options, step: f64) -> Result<Result<Leapfrog, Option<String>>, Error> {
        let mut gpu = match OnGpu::new(options, &bodies)? {
            Ok(gpu) => gpu,
            Err(why) => return Ok(Err(why)),
        };
        if let Err(why) = gpu.update()? {
            return Ok(Err(Some(why)));
        }
        let (place, field, options) = (Place::Gpu(Box::new(gpu)), Field::default(), options.clone());
        Ok(Ok(Leapfrog { place, bodies, field, options, found: None, step, steps: 0, left: None }))
    }

    /// Goes on from a state of a leapfrog with these options and this step.
    pub fn resume(mut state: State, options: &Options, step: f64) -> Result<Leapfrog, Error> {
        state.check()?;
        let acceleration = state.vector(ACCELERATION, state.bodies.len())?;
        let [pinned, found] =
            [FMM, FOUND].map(|name| state.take(name).and_then(|numbers| Pinned::from_numbers(&numbers)));
        let State { steps, bodies, potential, .. } = state;
        let field = Field { potential, acceleration };
        let options = found.map_or_else(|| options.clone(), |found| found.in_place_of_tolerance(options));
        let (place, left) = Place::of(&options, (&bodies, &field), pinned.as_ref())?;
        Ok(Leapfrog { place, bodies, field, options, found, step, steps, left })
    }

    /// The same bodies with the arrow of time turned.
    pub fn reverse(&mut self) -> Result<(), Error> {
        self.fetch()?;
        self.bodies.velocity.iter_mut().flatten().for_each(|v| *v = -*v);
        match &mut self.place {
            Place::Host(_) => Ok(()),
            #[cfg(feature = "cuda")]
            Place::Gpu(gpu) => gpu.set_velocities(&self.bodies),
        }
    }

    /// Lets the host have what it has not.
    fn fetch(&mut self) -> Result<(), Error> {
        match &mut self.place {
            Place::Host(_) => Ok(()),
            #[cfg(feature = "cuda")]
            Place::Gpu(gpu) => gpu.fetch(&mut self.bodies, &mut self.field),
        }
    }

    fn kick(&mut self) -> Result<(), Error> {
        let factor = 0.5 * self.step;
        match &mut self.place {
            Place::Host(_) => add(factor, &self.field.acceleration, &mut self.bodies.velocity),
            #[cfg(feature = "cuda")]
            Place::Gpu(gpu) => gpu.kick(factor)?,
        }
        Ok(())
    }

    fn drift(&mut self) -> Result<(), Error> {
        match &mut self.place {
            Place::Host(_) => add(self.step, &self.bodies.velocity, &mut self.bodies.position),
            #[cfg(feature = "cuda")]
            Place::Gpu(gpu) => gpu.drift(self.step)?,
        }
        Ok(())
    }

    /// Computes the field where the bodies are now. What a GPU leaves to the CPU goes through the host from here on.
    fn update(&mut self, progress: &mut Progress) -> Result<(), Error> {
        #[cfg(feature = "cuda")]
        if let Place::Gpu(gpu) = &mut self.place {
            let Err(why) = gpu.update()? else { return Ok(()) };
            self.fetch()?;
            self.place = Place::Host(Forces::again(&self.options, self.bodies.len(), None)?);
            self.left = Some(why);
        }
        match &self.place {
            Place::Host(forces) => forces.update(&self.bodies, &mut self.field, progress),
            #[cfg(feature = "cuda")]
            Place::Gpu(_) => unreachable!("it has left the GPU"),
        }
    }
}

impl Place {
    /// The place of bodies with their field, and the reason why they do not stay on a GPU, if there is one.
    fn of(
        options: &Options,
        (bodies, field): (&Bodies, &Field),
        pinned: Option<&Pinned>,
    ) -> Result<(Place, Option<String>), Error> {
        Ok(match Place::on_gpu(options, (bodies, field), pinned)? {
            Ok(place) => (place, None),
            Err(why) => (Place::Host(Forces::again(options, bodies.len(), pinned)?), why),
        })
    }

    /// Bodies with their field on a GPU; or why they do not stay there, if there is one.
    #[cfg(feature = "cuda")]
    fn on_gpu(
        options: &Options,
        (bodies, field): (&Bodies, &Field),
        pinned: Option<&Pinned>,
    ) -> Result<Result<Place, Option<String>>, Error> {
        if pinned.is_some() {
            return Ok(Err(None));
        }
        let gpu = match OnGpu::new(options, bodies)? {
            Ok(gpu) => gpu.with_field(field)?,
            Err(why) => return Ok(Err(why)),
        };
        Ok(Ok(Place::Gpu(Box::new(gpu))))
    }

    #[cfg(not(feature = "cuda"))]
    fn on_gpu(_: &Options, _: (&Bodies, &Field), _: Option<&Pinned>) -> Result<Result<Place, Option<String>>, Error> {
        Ok(Err(None))
    }
}

/// Adds multiples of columns to others.
fn add(factor: f64, from: &[Vec<f64>; 3], to: &mut [Vec<f64>; 3]) {
    for (to, from) in to.iter_mut().zip(from) {
        let blocks = to.par_chunks_mut(BLOCK).zip(from.par_chunks(BLOCK));
        blocks.for_each(|(to, from)| to.iter_mut().zip(from).for_each(|(to, x)| *to += factor * x));
    }
}

impl Integrator for Leapfrog {
    fn steps(&self) -> u64 {
        self.steps
    }

    fn time(&self) -> f64 {
        self.steps as f64 * self.step
    }

    fn advance(&mut self, progress: &mut Progress) -> Result<(), Error> {
        self.kick()?;
        self.drift()?;
        self.update(progress)?;
        self.kick()?;
        self.steps += 1;
        Ok(())
    }

    fn observed(&mut self) -> Result<Observed<'_>, Error> {
        self.fetch()?;
        Ok(Observed { time: self.time(), bodies: &self.bodies, potential: &self.field.potential })
    }

    fn conserved(&mut self) -> Result<Conserved, Error> {
        match &self.place {
            Place::Host(_) => Ok(Conserved::of(&self.observed()?)),
            #[cfg(feature = "cuda")]
            Place::Gpu(gpu) => gpu.conserved(self.time()),
        }
    }

    fn state(&mut self) -> Result<State, Error> {
        self.fetch()?;
        let Field { potential, acceleration } = self.field.clone();
        let state = State { steps: self.steps, bodies: self.bodies.clone(), potential, columns: Vec::new() };
        let state = ACCELERATION.into_iter().zip(acceleration).fold(state, |state, (name, a)| state.with(name, a));
        let pinned = match &self.place {
            Place::Host(forces) => forces.pinned(self.bodies.len())?,
            #[cfg(feature = "cuda")]
            Place::Gpu(_) => None,
        };
        let kept = [(FMM, pinned), (FOUND, self.found)].into_iter();
        Ok(kept.fold(state, |state, (name, pinned)| match pinned {
            Some(pinned) => state.with(name, pinned.to_numbers().to_vec()),
            None => state,
        }))
    }

    fn remark(&self) -> Option<String> {
        self.left.as_ref().map(|why| format!("bodies go through the host in each step, since {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "cuda")]
    use crate::fmm::Precision;
    use crate::nbody::model::{self, Model};
    use std::f64::consts::PI;

    /// Two bodies on an orbit with semi-major axis 1 and eccentricity 1/2, at its apocentre.
    fn orbit() -> Bodies {
        let mut bodies = Bodies::default();
        let (radius, speed) = (1.5, (0.5f64 / 1.5).sqrt());
        for side in [0.5, -0.5] {
            bodies.push(0.5, [side * radius, 0.0, 0.0], [0.0, side * speed, 0.0]);
        }
        bodies
    }

    fn run(bodies: Bodies, options: &Options, step: f64, count: usize) -> Leapfrog {
        let mut run = Leapfrog::start(bodies, options, step).unwrap();
        (0..count).for_each(|_| run.advance(&mut |_, _, _| {}).unwrap());
        run
    }

    #[test]
    fn half_the_step_has_a_quarter_of_the_error() {
        let options = Options::default().near_only(true);
        let error = |count: usize| {
            let end = run(orbit(), &options, 2.0 * PI / count as f64, count);
            let wanted = orbit();
            let off = |axis: usize| end.bodies.position[axis][0] - wanted.position[axis][0];
            (0..3).map(|axis| off(axis).powi(2)).sum::<f64>().sqrt()
        };
        let errors = [200, 400, 800].map(error);
        for pair in errors.windows(2) {
            let ratio = pair[0] / pair[1];
            assert!((ratio - 4.0).abs() < 0.2, "{errors:?}");
        }
    }

    #[test]
    fn with_velocities_turned_bodies_go_back_to_where_they_came_from() {
        let bodies = model::bodies(&Model::Plummer, 300, 3).unwrap();
        // All pairs by P2P, so that no tree changes with the positions.
        let options = Options::default().near_only(true).leaf(300).softening(0.05);
        let mut there = run(bodies.clone(), &options, 1.0 / 64.0, 64);
        there.reverse().unwrap();
        (0..64).for_each(|_| there.advance(&mut |_, _, _| {}).unwrap());
        for axis in 0..3 {
            let pairs = there.bodies.position[axis].iter().zip(&bodies.position[axis]);
            let worst = pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-10, "{worst:e}");
        }
    }

    #[test]
    fn a_run_that_is_taken_up_has_the_bits_of_one_that_was_not_interrupted() {
        let bodies = model::bodies(&Model::Plummer, 400, 5).unwrap();
        let direct = Options::default().near_only(true).leaf(400).backend("emulator");
        for options in [Options::default().tolerance(1e-4).softening(0.02), direct] {
            let mut whole = run(bodies.clone(), &options, 1.0 / 64.0, 6);
            let state = run(bodies.clone(), &options, 1.0 / 64.0, 2).state().unwrap();
            let mut rest = Leapfrog::resume(state, &options, 1.0 / 64.0).unwrap();
            (0..4).for_each(|_| rest.advance(&mut |_, _, _| {}).unwrap());
            assert!(whole.state().unwrap() == rest.state().unwrap());
            let [one, two] = [&mut whole, &mut rest].map(|run| Conserved::of(&run.observed().unwrap()));
            assert_eq!(one, two);
        }
    }

    #[test]
    #[cfg(feature = "cuda")]
    fn steps_on_a_gpu_have_the_bits_of_those_that_go_through_the_host() {
        if let Err(why) = gpu::cuda::device::ready() {
            eprintln!("skipped: no CUDA device ({why})");
            return;
        }
        let bodies = model::bodies(&Model::Plummer, 20_000, 5).unwrap();
        let (step, options) = (1.0 / 64.0, Options::default().order(4).precision(Precision::F32).backend("cuda"));
        let options = options.softening(1e-7);
        let mut there = run(bodies.clone(), &options, step, 2);
        assert!(matches!(there.place, Place::Gpu(_)), "{:?}", there.remark());
        let (forces, field) = Forces::first(&options, &bodies, &mut |_, _, _| {}).unwrap();
        let place = Place::Host(forces);
        let own = options.clone();
        let mut here = Leapfrog { place, bodies, field, options: own, found: None, step, steps: 0, left: None };
        (0..2).for_each(|_| here.advance(&mut |_, _, _| {}).unwrap());
        let mut again = Leapfrog::resume(there.state().unwrap(), &options, step).unwrap();
        for _ in 0..2 {
            for run in [&mut there, &mut here, &mut again] {
                run.advance(&mut |_, _, _| {}).unwrap();
            }
        }
        let sums = [&mut there, &mut here, &mut again].map(|run| run.conserved().unwrap());
        assert!(sums[0] == sums[1] && sums[0] == sums[2], "{sums:?}");
        let states = [&mut there, &mut here, &mut again].map(|run| run.state().unwrap());
        assert!(states[0] == states[1] && states[0] == states[2]);
    }

    #[test]
    #[cfg(feature = "cuda")]
    fn an_order_that_a_gpu_has_found_is_kept_by_runs_that_are_taken_up() {
        if let Err(why) = gpu::cuda::device::ready() {
            eprintln!("skipped: no CUDA device ({why})");
            return;
        }
        let bodies = model::bodies(&Model::Plummer, 5000, 5).unwrap();
        let (step, options) = (1.0 / 64.0, Options::default().tolerance(1e-3).softening(1e-7).backend("cuda"));
        let mut whole = run(bodies.clone(), &options, step, 3);
        assert!(matches!(whole.place, Place::Gpu(_)) && whole.found.is_some(), "{:?}", whole.remark());
        let mut rest = Leapfrog::resume(run(bodies, &options, step, 1).state().unwrap(), &options, step).unwrap();
        (0..2).for_each(|_| rest.advance(&mut |_, _, _| {}).unwrap());
        assert!(whole.state().unwrap() == rest.state().unwrap());
    }

    #[test]
    fn a_kernel_without_a_gradient_moves_nothing_and_is_refused() {
        let kernel = crate::kernel::shipped("p2p_paper").expect("it is shipped");
        let options = Options::default().near_only(true).kernel(kernel).backend("emulator");
        let refused = Leapfrog::start(orbit(), &options, 0.1).err().expect("it is refused").to_string();
        assert!(refused.contains("no gradient") && refused.contains("gout[3]"), "{refused}");
    }
}
