//! Many mutants and generated functions through all that `check`, `explain` and `build` do: no panic, and nothing takes long.

use crate::mutate::{answer, functions, mutated, sources};
use hdl::circuit::target::Clock;
use hdl::engine::{Config, design};
use pg2::backend::build::build;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use testkit::Random;

/// Most CPU time of a step, for kernels of up to [`NODES`] operators.
const LIMIT: Duration = Duration::from_secs(2);
/// Larger kernels have as much more.
const NODES: usize = 1000;

/// CPU time of this thread, so that what else the machine does counts for nothing; elsewhere the time of the clock.
pub fn spent(start: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse().ok()).map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// A step with its time, and what there is to compute on.
struct Step {
    name: &'static str,
    took: Duration,
    nodes: usize,
}

/// Checks, explains and builds a text; says how long each step took.
fn through(text: &str, start: Instant) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut last = spent(start);
    let mut step = |name, nodes| {
        let now = spent(start);
        steps.push(Step { name, took: now.saturating_sub(last), nodes });
        last = now;
    };
    answer(text);
    step("check", 0);
    let Ok(compiled) = pg2::compile("k", text) else { return steps };
    let nodes = compiled.graph.nodes.len();
    step("check", nodes);
    let clock = Clock::default_clock();
    let built = build(&compiled.graph, clock, text, compiled.warnings);
    step("build of the pipeline", nodes);
    let shown = pg2::report::explain::explain(&built, text);
    assert!(!format!("{shown}{shown:#}{}", pg2::report::explain::svg(&built, text)).is_empty());
    step("explain", nodes);
    let usual = Config::usual(built.layout(), built.schedule.depth);
    let config = Config { pipelines: 2, ..usual };
    assert!(design(&config, &built.netlist).netlist.verilog().is_ok());
    step("build of the engine", nodes);
    steps
}

/// Puts cases `0..count` through, on all cores. A case that panics, or of which a step takes longer than the limit, is printed.
fn all(count: usize, limit: Duration, case: impl Fn(usize) -> String + Sync) {
    let (next, compiled) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let (mut bad, mut slowest) = (0, Duration::ZERO);
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= count {
                return (bad, slowest);
            }
            let text = case(k);
            let start = Instant::now();
            let steps = std::panic::catch_unwind(|| through(&text, start)).unwrap_or_else(|_| {
                println!("case {k} panics:\n{text}");
                bad += 1;
                Vec::new()
            });
            compiled.fetch_add((steps.len() > 2) as usize, Ordering::Relaxed);
            for Step { name, took, nodes } in steps {
                slowest = slowest.max(took);
                if took > limit * nodes.div_ceil(NODES).max(1) as u32 {
                    println!("case {k}: {name} of {nodes} operators takes {took:?}:\n{text}");
                    bad += 1;
                }
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let found: Vec<(usize, Duration)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|w| w.join().expect("a worker catches what panics")).collect()
    });
    let slowest = found.iter().map(|f| f.1).max().unwrap_or_default();
    println!("{count} cases, of which {} compile; the slowest step takes {slowest:?}", compiled.into_inner());
    assert_eq!(found.iter().map(|f| f.0).sum::<usize>(), 0);
}

/// Number of cases; more or fewer with `CASES=n`.
fn cases(usual: usize) -> usize {
    std::env::var("CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

fn mutants(count: usize, limit: Duration, seed: u64) {
    let sources = sources();
    // Each case has its own dice, so that one can be tried again alone.
    all(count, limit, |k| mutated(&sources, &mut Random::new(seed + k as u64)));
}

#[test]
fn mutants_go_through_check_explain_and_build() {
    // Times are for the proofs.
    mutants(150, Duration::from_secs(3600), 0xA77A_0000);
}

#[test]
#[ignore = "a proof in depth"]
fn a_hundred_thousand_mutants_go_through_check_explain_and_build() {
    mutants(cases(100_000), LIMIT, 0xA77A_1000);
}

#[test]
#[ignore = "a proof in depth"]
fn ten_thousand_generated_functions_go_through_check_explain_and_build() {
    all(cases(10_000), LIMIT, |k| functions::kernel(&mut Random::new(0xF1_0000 + k as u64)));
}
