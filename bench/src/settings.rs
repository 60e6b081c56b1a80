//! The settings of the native FMM that meet the same error, beside the one that `--tol` chooses.

mod grid;

use fmm::data::random::{Charge, Distribution, generate};
use grid::{Case, Setting};
use terminal::failure::Failure;
use terminal::say;

/// Errors of the gradient.
const ERRORS: [f64; 6] = [1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12];

/// Particles unless others are asked for, and settings that are shown.
const PARTICLES: usize = 100_000;
const SHOWN: usize = 4;

/// Seconds of the choice, and in units of these those of the best settings.
pub fn run(n: Option<u32>, repeat: u32) -> Result<(), Failure> {
    let n = n.map_or(PARTICLES, |n| n as usize);
    let mut worst = 1.0f64;
    for distribution in [Distribution::Uniform, Distribution::Plummer] {
        for charge in [Charge::Random, Charge::Positive] {
            let particles = generate(n, distribution, charge, 1);
            for wanted in ERRORS {
                let case = Case { particles: &particles, wanted, repeat };
                say!("  {distribution:?}, charges {charge:?}, error {wanted:.0e}:")?;
                let chosen = match case.chosen() {
                    Ok(chosen) => chosen,
                    Err(why) => {
                        say!("    {why}")?;
                        continue;
                    }
                };
                let Setting { error, seconds, .. } = chosen;
                say!("    {seconds:.3} s, error {error:.1e}: chosen, {}", chosen.name())?;
                let mut all = case.all()?;
                all.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
                worst = worst.max(all.first().map_or(1.0, |best| seconds / best.seconds));
                for one in &all[..all.len().min(SHOWN)] {
                    say!("    {:.2} of it, error {:.1e}: {}", one.seconds / seconds, one.error, one.name())?;
                }
            }
        }
    }
    say!("  the choice takes at most {worst:.2} times the best setting's time")?;
    say!("  input: {n} particles, seed 1, {} threads; least of {repeat} runs", rayon::current_num_threads())?;
    Ok(())
}
