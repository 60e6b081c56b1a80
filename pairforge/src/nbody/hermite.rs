//! Hermite's scheme of fourth order with individual block time steps (Makino and Aarseth, PASJ 44, 141, 1992): direct sums of acceleration
//! and jerk at the bodies of a block, over all bodies where they are predicted.

mod sums;

use super::{Bodies, Integrator, Observed, Progress, State};
use crate::Error;
use crate::backends::BackendOptions;
use crate::kernel::Backend;
use fmm::parallel::prelude::*;
use sums::Sums;

/// The scheme: a step of the whole run is the longest step of a body, after which all bodies are at the same time.
pub struct Hermite {
    sums: Sums,
    options: HermiteOptions,
    bodies: Bodies,
    force: Force,
    /// Of each body its own time and step within a step of the run, in [`TICKS`].
    clock: Vec<u64>,
    own: Vec<u64>,
    /// The potential at the bodies, once it was asked for after a step.
    potential: Option<Vec<f64>>,
    steps: u64,
}

/// The numbers that the scheme needs.
#[derive(Clone)]
pub struct HermiteOptions {
    /// The longest step.
    pub step: f64,
    /// Accuracy: steps go with its square root. Infinite for the longest step everywhere.
    pub eta: f64,
    /// Softening length.
    pub eps: f64,
    pub backend: Backend,
    pub engine: BackendOptions,
}

/// Accelerations and jerks, body by body.
#[derive(Clone, PartialEq, Debug, Default)]
struct Force {
    acceleration: Vec<[f64; 3]>,
    jerk: Vec<[f64; 3]>,
}

/// Units of time in the longest step: steps are powers of two of them.
const TICKS: u64 = 1 << 40;

/// The part of the usual accuracy by which first steps are chosen, where no derivatives beyond the jerk are known.
const FIRST: f64 = 0.25;

const FORCE: [&str; 6] = ["ax", "ay", "az", "jx", "jy", "jz"];
const OWN: &str = "steps";

impl Hermite {
    /// Bodies at time 0.
    pub fn start(bodies: Bodies, options: HermiteOptions) -> Result<Hermite, Error> {
        let n = bodies.len();
        let mut sums = Sums::open(&bodies, &options)?;
        let (x, v) = (rows(&bodies.position), rows(&bodies.velocity));
        let (force, potential) = sums.at(&(0..n).collect::<Vec<_>>(), &x, &v, &bodies.mass)?;
        let first = |k: usize| {
            let (a, j) = (norm(force.acceleration[k]), norm(force.jerk[k]));
            block(FIRST * options.eta.sqrt() * a / j, options.step, TICKS)
        };
        let own = (0..n).map(first).collect::<Result<_, _>>()?;
        let clock = vec![0; n];
        Ok(Hermite { sums, options, bodies, force, clock, own, potential: Some(potential), steps: 0 })
    }

    /// Goes on from a state of this scheme with these options.
    pub fn resume(mut state: State, options: HermiteOptions) -> Result<Hermite, Error> {
        state.check()?;
        let n = state.bodies.len();
        let [ax, ay, az, jx, jy, jz] = FORCE;
        let acceleration = rows(&state.vector([ax, ay, az], n)?);
        let jerk = rows(&state.vector([jx, jy, jz], n)?);
        let own: Vec<u64> = state.column(OWN, n)?.iter().map(|ticks| *ticks as u64).collect();
        if let Some(wrong) = own.iter().find(|own| !own.is_power_of_two() || **own > TICKS) {
            return Err(Error::Input(format!(
                "a step of a body is a power of two of the longest one, not {wrong} ticks"
            )));
        }
        let State { steps, bodies, potential, .. } = state;
        let sums = Sums::open(&bodies, &options)?;
        let force = Force { acceleration, jerk };
        Ok(Hermite { sums, options, bodies, force, clock: vec![0; n], own, potential: Some(potential), steps })
    }

    /// Positions and velocities of all bodies at a time, by their Taylor polynomials to the jerk.
    fn predicted(&self, now: u64) -> (Vec<[f64; 3]>, Vec<[f64; 3]>) {
        let Hermite { bodies, force: Force { acceleration, jerk }, clock, options, .. } = self;
        // An open backend stays with its thread.
        let step = options.step;
        let of = |k: usize| {
            let t = seconds(step, now - clock[k]);
            let axis = |c: usize| {
                let (x, v) = (bodies.position[c][k], bodies.velocity[c][k]);
                let (a, j) = (acceleration[k][c], jerk[k][c]);
                (x + t * (v + t * (a / 2.0 + t * (j / 6.0))), v + t * (a + t * (j / 2.0)))
            };
            let all = [axis(0), axis(1), axis(2)];
            (all.map(|(x, _)| x), all.map(|(_, v)| v))
        };
        let all: Vec<([f64; 3], [f64; 3])> = (0..bodies.len()).into_par_iter().map(of).collect();
        all.into_iter().unzip()
    }

    /// Moves the bodies whose steps end first, and says when that is.
    fn block_step(&mut self) -> Result<u64, Error> {
        let end = |k: usize| self.clock[k] + self.own[k];
        let n = self.bodies.len();
        let now = (0..n).map(end).min().unwrap_or(TICKS);
        let block: Vec<usize> = (0..n).filter(|k| end(*k) == now).collect();
        let (x, v) = self.predicted(now);
        // The potential that is wanted is that of corrected positions.
        let (force, _) = self.sums.at(&block, &x, &v, &self.bodies.mass)?;
        for (place, k) in block.iter().copied().enumerate() {
            self.correct(k, now, (force.acceleration[place], force.jerk[place]), (x[k], v[k]))?;
        }
        Ok(now)
    }

    /// Hermite's corrector, and the next step of a body by Aarseth's criterion.
    fn correct(
        &mut self,
        k: usize,
        now: u64,
        (a1, j1): ([f64; 3], [f64; 3]),
        (x, v): ([f64; 3], [f64; 3]),
    ) -> Result<(), Error> {
        let t = seconds(self.options.step, self.own[k]);
        let (a0, j0) = (self.force.acceleration[k], self.force.jerk[k]);
        // The second and third derivatives at the beginning (Makino and Aarseth's eqs. 5 and 6).
        let second = [0, 1, 2].map(|c| (-6.0 * (a0[c] - a1[c]) - t * (4.0 * j0[c] + 2.0 * j1[c])) / (t * t));
        let third = [0, 1, 2].map(|c| (12.0 * (a0[c] - a1[c]) + 6.0 * t * (j0[c] + j1[c])) / (t * t * t));
        for c in 0..3 {
            let (s, r) = (second[c], third[c]);
            self.bodies.position[c][k] = x[c] + t.powi(4) * (s / 24.0 + t * (r / 120.0));
            self.bodies.velocity[c][k] = v[c] + t.powi(3) * (s / 6.0 + t * (r / 24.0));
        }
        let end = [0, 1, 2].map(|c| second[c] + t * third[c]);
        let wanted = aarseth(self.options.eta, [norm(a1), norm(j1), norm(end), norm(third)]);
        self.force.acceleration[k] = a1;
        self.force.jerk[k] = j1;
        self.clock[k] = now;
        // A step doubles at most, and only where it then still ends together with others.
        let most = if now.is_multiple_of(2 * self.own[k]) { (2 * self.own[k]).min(TICKS) } else { self.own[k] };
        self.own[k] = block(wanted, self.options.step, most)?;
        Ok(())
    }
}

/// The time of so many ticks, where the longest step is this long.
fn seconds(longest: f64, ticks: u64) -> f64 {
    longest * (ticks as f64 / TICKS as f64)
}

/// Aarseth's criterion (eq. 7 of Makino and Aarseth) from the magnitudes of the acceleration and of its derivatives.
fn aarseth(eta: f64, [a, jerk, second, third]: [f64; 4]) -> f64 {
    (eta * (a * second + jerk * jerk) / (jerk * third + second * second)).sqrt()
}

/// The longest block step that is not above a wanted one, up to `most`. Where nothing acts, any step will do.
fn block(wanted: f64, longest: f64, most: u64) -> Result<u64, Error> {
    let ticks = wanted / longest * TICKS as f64;
    match ticks {
        _ if ticks.is_nan() || ticks >= most as f64 => Ok(most),
        _ if ticks >= 1.0 => Ok(1 << (ticks as u64).ilog2()),
        _ => Err(Error::Input(format!(
            "a body needs steps of {wanted:e}, less than 2^-40 of the longest one: two bodies are too close; give a softening length (--eps), or \
             shorter steps"
        ))),
    }
}

fn norm(of: [f64; 3]) -> f64 {
    of.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn rows(columns: &[Vec<f64>; 3]) -> Vec<[f64; 3]> {
    let [x, y, z] = columns;
    x.iter().zip(y).zip(z).map(|((x, y), z)| [*x, *y, *z]).collect()
}

impl Integrator for Hermite {
    fn steps(&self) -> u64 {
        self.steps
    }

    fn time(&self) -> f64 {
        self.steps as f64 * self.options.step
    }

    fn advance(&mut self, progress: &mut Progress) -> Result<(), Error> {
        const SHOWN: usize = 1000;
        self.potential = None;
        let mut now = 0;
        while now < TICKS {
            now = self.block_step()?;
            progress("block steps", (now as u128 * SHOWN as u128 / TICKS as u128) as usize, SHOWN);
        }
        self.clock.fill(0);
        self.steps += 1;
        Ok(())
    }

    fn observed(&mut self) -> Result<Observed<'_>, Error> {
        if self.potential.is_none() {
            let all: Vec<usize> = (0..self.bodies.len()).collect();
            let (x, v) = (rows(&self.bodies.position), rows(&self.bodies.velocity));
            self.potential = Some(self.sums.at(&all, &x, &v, &self.bodies.mass)?.1);
        }
        let potential = self.potential.as_ref().expect("it was computed");
        Ok(Observed { time: self.steps as f64 * self.options.step, bodies: &self.bodies, potential })
    }

    fn state(&mut self) -> Result<State, Error> {
        let potential = self.observed()?.potential.to_vec();
        let state = State { steps: self.steps, bodies: self.bodies.clone(), potential, columns: Vec::new() };
        let Force { acceleration, jerk } = &self.force;
        let column = |c: usize| if c < 3 { (acceleration, c) } else { (jerk, c - 3) };
        let state = FORCE.into_iter().enumerate().fold(state, |state, (c, name)| {
            let (of, axis) = column(c);
            state.with(name, of.iter().map(|row| row[axis]).collect())
        });
        Ok(state.with(OWN, self.own.iter().map(|ticks| *ticks as f64).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nbody::Conserved;
    use crate::nbody::model::{self, Model};
    use std::f64::consts::PI;

    fn options(step: f64, eta: f64, eps: f64) -> HermiteOptions {
        HermiteOptions { step, eta, eps, backend: Backend::Cpu, engine: BackendOptions::default() }
    }

    fn run(bodies: Bodies, options: HermiteOptions, count: usize) -> Hermite {
        let mut run = Hermite::start(bodies, options).unwrap();
        (0..count).for_each(|_| run.advance(&mut |_, _, _| {}).unwrap());
        run
    }

    /// Two bodies on an orbit with semi-major axis 1 and this eccentricity, at its apocentre.
    fn orbit(eccentricity: f64) -> Bodies {
        let mut bodies = Bodies::default();
        let radius = 1.0 + eccentricity;
        let speed = ((1.0 - eccentricity) / radius).sqrt();
        for side in [0.5, -0.5] {
            bodies.push(0.5, [side * radius, 0.0, 0.0], [0.0, side * speed, 0.0]);
        }
        bodies
    }

    fn drift(run: &mut Hermite, before: &Conserved) -> f64 {
        (Conserved::of(&run.observed().unwrap()).energy() / before.energy() - 1.0).abs()
    }

    #[test]
    fn half_the_step_has_a_sixteenth_of_the_error() {
        let error = |count: usize| {
            let end = run(orbit(0.3), options(2.0 * PI / count as f64, f64::INFINITY, 0.0), count);
            let wanted = orbit(0.3);
            let off = |axis: usize| end.bodies.position[axis][0] - wanted.position[axis][0];
            (0..3).map(|axis| off(axis).powi(2)).sum::<f64>().sqrt()
        };
        let errors = [100, 200, 400].map(error);
        let last = errors[1] / errors[2];
        assert!((last - 16.0).abs() < 2.0, "{errors:?}");
    }

    #[test]
    fn steps_of_bodies_follow_their_orbits_and_keep_the_energy() {
        // At the pericentre of this orbit steps are some hundred times shorter than at its apocentre.
        let mut two = Hermite::start(orbit(0.95), options(0.25, 0.005, 0.0)).unwrap();
        let before = Conserved::of(&two.observed().unwrap());
        let mut shortest = TICKS;
        for _ in 0..26 {
            two.advance(&mut |_, _, _| {}).unwrap();
            shortest = two.own.iter().copied().fold(shortest, u64::min);
        }
        assert!(drift(&mut two, &before) < 1e-4, "{}", drift(&mut two, &before));
        // A cluster without softening.
        let bodies = model::bodies(&Model::Plummer, 64, 1).unwrap();
        let mut cluster = Hermite::start(bodies, options(0.125, 0.01, 0.0)).unwrap();
        let before = Conserved::of(&cluster.observed().unwrap());
        (0..8).for_each(|_| cluster.advance(&mut |_, _, _| {}).unwrap());
        assert!(drift(&mut cluster, &before) < 1e-5, "{}", drift(&mut cluster, &before));
        let (least, most) = (cluster.own.iter().min(), cluster.own.iter().max());
        assert!(least.zip(most).is_some_and(|(a, b)| 4 * a <= *b), "{least:?} {most:?}");
    }

    #[test]
    fn a_hermite_run_that_is_taken_up_has_the_bits_of_one_that_was_not_interrupted() {
        let bodies = model::bodies(&Model::Plummer, 40, 2).unwrap();
        for backend in [Backend::Cpu, Backend::Emulator] {
            let with = HermiteOptions { backend, ..options(0.0625, 0.02, 0.01) };
            let mut whole = run(bodies.clone(), with.clone(), 4);
            let state = run(bodies.clone(), with.clone(), 2).state().unwrap();
            let mut rest = Hermite::resume(state, with).unwrap();
            (0..2).for_each(|_| rest.advance(&mut |_, _, _| {}).unwrap());
            assert!(whole.state().unwrap() == rest.state().unwrap());
        }
    }

    #[test]
    fn bodies_that_come_too_close_are_told_of() {
        let mut bodies = orbit(0.0);
        bodies.push(1e-9, [0.5, 1e-13, 0.0], [0.0, 0.0, 0.0]);
        let text = Hermite::start(bodies, options(1.0, 0.01, 0.0)).err().expect("it is refused").to_string();
        assert!(text.contains("too close") && text.contains("--eps"), "{text}");
    }
}
