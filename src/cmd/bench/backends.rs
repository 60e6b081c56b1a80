//! The seconds of each backend for one FMM, and its errors.

use pairforge::fmm::{Options, Plan};
use pairforge::random;
use terminal::bench::spread;
use terminal::failure::Failure;
use terminal::say;

/// Seconds and errors by backend.
pub fn run(repeat: u32) -> Result<(), Failure> {
    let particles = random::uniform(100_000, 1);
    for backend in ["cpu", "emulator", "cycle"] {
        // The cycle simulation takes long and its figure is its cycles; once is enough.
        let times = if backend == "cycle" { 1 } else { repeat };
        let options = Options::default().backend(backend).order(4).leaf(64).samples(1000);
        let (mut seconds, mut error) = (Vec::new(), None);
        for _ in 0..times {
            let plan = Plan::new(particles.columns(), &options)?;
            let stats = plan.run_all(&[particles.q[..].into()])?.stats;
            seconds.push(stats.seconds.total);
            error = stats.error;
        }
        seconds.sort_unstable_by(f64::total_cmp);
        let error = error.expect("errors were asked for");
        say!(
            "  {backend:<9} {} s; relative L2 errors: potential {:.2e}, gradient {:.2e}",
            spread(&seconds, |s| format!("{s:.3}")),
            error.potential_rel_l2,
            error.gradient_rel_l2.unwrap_or(f64::NAN)
        )?;
    }
    say!("  input: 1e5 uniform particles, seed 1, order 4, leaf 64, 1000 targets checked")
}
