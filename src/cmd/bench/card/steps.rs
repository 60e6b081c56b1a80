//! The steps of a simulation on a GPU: positions, velocities, masses and forces stay there.

use fmm::data::random::{self, Charge, Distribution};
use pairforge::fmm::{Options, Precision};
use pairforge::nbody::{Bodies, Integrator, Leapfrog};
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

/// Prints the seconds of such steps, and by how much the energy has changed, which must be little.
pub fn run(repeat: u32) -> Result<(), Failure> {
    let particles = random::generate(N, Distribution::Uniform, Charge::Mass, 1);
    let velocity = [(); 3].map(|()| vec![0.0; N]);
    let bodies = Bodies { mass: particles.q, position: [particles.x, particles.y, particles.z], velocity };
    let options = Options::default().backend("cuda").order(5).precision(Precision::F32).softening(SOFTENING);
    let (mut seconds, mut drift) = (Vec::new(), 0f64);
    for _ in 0..=repeat {
        let mut run = Leapfrog::start(bodies.clone(), &options, STEP)?;
        let before = run.conserved()?.energy();
        let start = Instant::now();
        (0..STEPS).try_for_each(|_| run.advance(&mut |_, _, _| {}))?;
        // The sums wait for all steps.
        let after = run.conserved()?.energy();
        seconds.push(start.elapsed().as_secs_f64());
        drift = drift.max(((after - before) / before).abs());
        if let Some(why) = run.remark() {
            return Err(Failure::Tool(format!("steps of leapfrog leave the GPU: {why}")));
        }
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
