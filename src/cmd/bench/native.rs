//! The native FMM at three accuracies, judged by the gradient, with charges of both signs and of one.

use fmm::data::particles::Particles;
use fmm::data::random::{self, Charge, Distribution};
use fmm::expansion::basis::Basis;
use fmm::octree::stats::Seconds;
use fmm::octree::tune::cost::{Costs, Shape};
use fmm::octree::{FmmOptions, Plan, tune};
use terminal::bench::spread;
use terminal::failure::Failure;
use terminal::say;

/// Uniform particles in the unit cube.
const PARTICLES: usize = 1_000_000;

/// Errors of the gradient: those that other codes reach in f32 and in f64.
const ERRORS: [f64; 3] = [2.3e-4, 4.7e-7, 3.6e-10];

/// Seconds of plan and run, of each, and of a first run, which makes the tables of its order too.
pub fn run(repeat: u32) -> Result<(), Failure> {
    for (charge, what) in [(Charge::Random, "q in [-1,1)"), (Charge::Positive, "q in [0,1)")] {
        let particles = random::generate(PARTICLES, Distribution::Uniform, charge, 1);
        for wanted in ERRORS {
            let precision = tune::precision(wanted);
            let options = FmmOptions { basis: Basis::Solid, precision, ..FmmOptions::default() };
            let mut options = tune::start(&options, wanted);
            let costs = Costs::default();
            let Shape { leaf, enlarge } = tune::native_shape(&costs, PARTICLES, &options, true);
            (options.leaf, options.enlarge) = (leaf, enlarge);
            // The same targets are judged by, so nothing has to be left for others.
            let (is_promise, free) = (false, tune::Free::default());
            let problem = tune::Problem {
                geometry: particles.columns().into(),
                sets: vec![particles.q[..].into()],
                hessian: false,
                p2p: None,
                near: None,
                seed: 1,
                is_promise,
                free,
                costs: &costs,
            };
            let tuned = tune::within(wanted, &problem, &options, &mut [], &mut |_, _, _| {})?;
            (options.order, options.lower_beyond) = (tuned.plan.options.order, tuned.plan.options.lower_beyond);
            let error = tuned.errors[0].gradient_rel_l2.unwrap_or(f64::NAN);
            drop(tuned);
            let Times { mut plans, mut runs, mut firsts, stages } = times(&particles, &options, repeat)?;
            let mut both: Vec<f64> = plans.iter().zip(&runs).map(|(plan, run)| plan + run).collect();
            for list in [&mut both, &mut plans, &mut runs, &mut firsts] {
                list.sort_unstable_by(f64::total_cmp);
            }
            let show = |x: f64| format!("{x:.3}");
            let FmmOptions { order, leaf, enlarge, .. } = options;
            say!(
                "  {what}, gradient error {error:.1e}: order {order}, leaf {leaf}, root cell {enlarge:.3} boxes long"
            )?;
            say!("    {} s: plan {}, run {}", spread(&both, show), spread(&plans, show), spread(&runs, show))?;
            say!("    first run, with its tables, {} s", spread(&firsts, show))?;
            say!(
                "    P2M {:.3}, M2M {:.3}, M2L {:.3}, L2L {:.3}, L2P {:.3}, P2P {:.3}",
                stages.p2m,
                stages.m2m,
                stages.m2l,
                stages.l2l,
                stages.l2p,
                stages.p2p
            )?;
        }
    }
    say!("  input: 1e6 uniform particles, seed 1, {} threads; errors at 1000 targets", rayon::current_num_threads())?;
    Ok(())
}

/// Seconds of plans, of the first run of each, which makes the tables of its order, and of the second.
#[derive(Default)]
struct Times {
    plans: Vec<f64>,
    firsts: Vec<f64>,
    runs: Vec<f64>,
    /// Of the last run.
    stages: Seconds,
}

fn times(particles: &Particles, options: &FmmOptions, repeat: u32) -> Result<Times, Failure> {
    let mut times = Times::default();
    for _ in 0..repeat {
        let plan = Plan::new(particles.columns(), options)?;
        for run in 0..2 {
            let stats = plan.solve(&particles.q, &mut [], &mut |_, _, _| {})?.stats;
            times.stages = stats.seconds;
            let seconds = stats.seconds.total - stats.seconds.tree;
            if run == 0 { times.firsts.push(seconds) } else { times.runs.push(seconds) }
        }
        times.plans.push(times.stages.tree);
    }
    Ok(times)
}
