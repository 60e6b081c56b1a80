//! An FMM with all stages on a GPU: times of the stages, and errors against direct sums on the CPU.

use super::{Args, spread};
use crate::failure::Failure;
use crate::output::{self, say};
use crate::source;
use host::cuda::{compile, device};
use host::data::random::{self, Charge, Distribution};
use host::direct::error::{self, Errors};
use host::expansion::basis::Basis;
use host::fmm::gpu::Gpu;
use host::fmm::stats::{Seconds, Stats};
use host::fmm::{FmmError, FmmOptions, Precision};
use serde::Serialize;

/// A problem: particles, order, precision, targets compared with direct sums, and what the gradient's relative L2 error may be.
struct Case {
    n: usize,
    order: usize,
    precision: Precision,
    samples: usize,
    bound: f64,
}

const CASES: [Case; 5] = [
    Case { n: 1_000_000, order: 4, precision: Precision::F32, samples: 1000, bound: 5e-3 },
    Case { n: 1_000_000, order: 5, precision: Precision::F32, samples: 1000, bound: 1e-3 },
    Case { n: 1_000_000, order: 5, precision: Precision::F64, samples: 1000, bound: 1e-3 },
    Case { n: 1_000_000, order: 10, precision: Precision::F64, samples: 1000, bound: 1e-5 },
    Case { n: 16_000_000, order: 5, precision: Precision::F32, samples: 100, bound: 1e-3 },
];

/// One figure. Seconds are those of the card's events: from the first kernel, which finds the box, to the last.
#[derive(Serialize)]
struct Figure {
    n: usize,
    order: usize,
    precision: &'static str,
    leaf: usize,
    levels: usize,
    /// Of all stages together, sorted.
    seconds: Vec<f64>,
    /// Of each stage in the run of the median. `total` has the copies too.
    stages: Seconds,
    p2p_pairs_per_second: f64,
    error: Errors,
}

/// Prints the figures and writes them, where no other benchmark does. Without a GPU it says so, and fails if it was named.
pub fn run(args: &Args) -> Result<(), Failure> {
    if let Err(why) = device::found().and_then(|_| compile::check()) {
        return match args.names.is_empty() {
            true => say!("  skipped: {why}"),
            false => Err(Failure::Tool(why.to_string())),
        };
    }
    let mut gpu = Gpu::open("cuda", &source::load("p2p")?.1).map_err(failure)?;
    let mut figures = Vec::new();
    for case in &CASES {
        figures.push(measure(&mut gpu, case, args.repeat)?);
    }
    say!(
        "  input: uniform particles, q in [0,1), seed 1; the leaf size is chosen; {} runs after a first",
        args.repeat
    )?;
    if let Some(path) = args.json.as_ref().filter(|_| args.names.iter().all(|name| name == "card")) {
        output::write_json(path, &figures)?;
    }
    Ok(())
}

fn failure(e: FmmError) -> Failure {
    match e {
        FmmError::Backend(e) => e.into(),
        e => Failure::Tool(e.to_string()),
    }
}

fn measure(gpu: &mut Gpu, case: &Case, repeat: u32) -> Result<Figure, Failure> {
    let particles = random::generate(case.n, Distribution::Uniform, Charge::Positive, 1);
    let options =
        FmmOptions { order: case.order, precision: case.precision, basis: Basis::Solid, ..FmmOptions::default() };
    let leaf = Gpu::whole_leaf(case.n, &options);
    let mut run = || -> Result<_, Failure> {
        let answer = gpu.whole(particles.columns(), &particles.q, &options, leaf).map_err(failure)?;
        answer.map_err(|why| Failure::Tool(format!("the card leaves {} particles to the CPU: {why}", case.n)))
    };
    // The first run compiles the kernels.
    let error = error::measure(&particles, &run()?.field, case.samples, 1, 0.0);
    let precision = if case.precision == Precision::F32 { "f32" } else { "f64" };
    let what = format!("{} particles, order {}, {precision}", case.n, case.order);
    if error.gradient_rel_l2.is_none_or(|e| e.is_nan() || e > case.bound) {
        let (found, bound) = (error.gradient_rel_l2, case.bound);
        return Err(Failure::Tool(format!("{what}: the gradient's error is {found:?}, more than {bound:e}")));
    }
    let mut runs = Vec::new();
    for _ in 0..repeat {
        runs.push(run()?.stats);
    }
    let computed = |stats: &Stats| stats.on_card.map_or(0.0, |t| t.computed);
    runs.sort_by(|a, b| computed(a).total_cmp(&computed(b)));
    let seconds: Vec<f64> = runs.iter().map(computed).collect();
    let middle = &runs[runs.len() / 2];
    let rate = middle.pairs.p2p as f64 / middle.seconds.p2p;
    let s = &middle.seconds;
    say!("  {what}: {} ms on the card", spread(&seconds, |x| format!("{:.2}", x * 1e3)))?;
    let stages = [s.tree, s.p2m, s.m2m, s.m2l, s.l2l, s.p2p, s.l2p].map(|x| format!("{:.3}", x * 1e3));
    let [tree, p2m, m2m, m2l, l2l, p2p, l2p] = stages;
    say!("    tree {tree}, P2M {p2m}, M2M {m2m}, M2L {m2l}, L2L {l2l}, P2P {p2p}, L2P {l2p}")?;
    say!("    P2P: {:.3}e12 pairs/s; {} levels, at most {leaf} a leaf in the mean", rate / 1e12, middle.levels)?;
    let [median, p99] = [error.gradient_median, error.gradient_p99].map(|e| e.unwrap_or(f64::NAN));
    say!(
        "    gradient error: median {median:.1e}, 99th percentile {p99:.1e}; potential {:.1e}",
        error.potential_rel_l2
    )?;
    Ok(Figure {
        n: case.n,
        order: case.order,
        precision,
        leaf,
        levels: middle.levels,
        seconds,
        stages: middle.seconds,
        p2p_pairs_per_second: rate,
        error,
    })
}
