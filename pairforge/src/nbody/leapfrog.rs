//! Leapfrog with constant steps: kick, drift, kick.

use super::forces::{Field, Forces};
use super::{Bodies, Integrator, Observed, Progress, State};
use crate::Error;
use crate::fmm::{Options, Pinned};
use fmm::parallel::prelude::*;

/// The leapfrog: symplectic, reversible in time, and of second order.
pub struct Leapfrog {
    forces: Forces,
    bodies: Bodies,
    step: f64,
    steps: u64,
}

/// Numbers that a thread adds at a time.
const BLOCK: usize = 1 << 14;

const ACCELERATION: [&str; 3] = ["ax", "ay", "az"];
const FMM: &str = "fmm";

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
        let forces = Forces::first(options, &bodies, progress)?;
        Ok(Leapfrog { forces, bodies, step, steps: 0 })
    }

    /// Goes on from a state of a leapfrog with these options and this step.
    pub fn resume(mut state: State, options: &Options, step: f64) -> Result<Leapfrog, Error> {
        state.check()?;
        let acceleration = state.vector(ACCELERATION, state.bodies.len())?;
        let pinned = state.take(FMM).and_then(|numbers| Pinned::from_numbers(&numbers));
        let State { steps, bodies, potential, .. } = state;
        let forces = Forces::again(options, Field { potential, acceleration }, pinned.as_ref())?;
        Ok(Leapfrog { forces, bodies, step, steps })
    }

    /// The bodies where they are.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// The same bodies with the arrow of time turned.
    pub fn reverse(&mut self) {
        self.bodies.velocity.iter_mut().flatten().for_each(|v| *v = -*v);
    }

    fn kick(&mut self) {
        add(0.5 * self.step, &self.forces.field.acceleration, &mut self.bodies.velocity);
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
        self.kick();
        add(self.step, &self.bodies.velocity, &mut self.bodies.position);
        self.forces.update(&self.bodies, progress)?;
        self.kick();
        self.steps += 1;
        Ok(())
    }

    fn observed(&mut self) -> Result<Observed<'_>, Error> {
        Ok(Observed { time: self.time(), bodies: &self.bodies, potential: &self.forces.field.potential })
    }

    fn state(&mut self) -> Result<State, Error> {
        let Field { potential, acceleration } = self.forces.field.clone();
        let state = State { steps: self.steps, bodies: self.bodies.clone(), potential, columns: Vec::new() };
        let state = ACCELERATION.into_iter().zip(acceleration).fold(state, |state, (name, a)| state.with(name, a));
        Ok(match self.forces.pinned()? {
            Some(pinned) => state.with(FMM, pinned.to_numbers().to_vec()),
            None => state,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nbody::Conserved;
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
        there.reverse();
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
    fn a_kernel_without_a_gradient_moves_nothing_and_is_refused() {
        let kernel = crate::kernel::shipped("p2p_paper").expect("it is shipped");
        let options = Options::default().near_only(true).kernel(kernel).backend("emulator");
        let refused = Leapfrog::start(orbit(), &options, 0.1).err().expect("it is refused").to_string();
        assert!(refused.contains("no gradient") && refused.contains("gout[3]"), "{refused}");
    }
}
