//! Whole FMMs with the GPU, beside direct summation on it and beside the CPU: the break-even, the stages, and several GPUs.

use super::{Bench, FMM, LEAF, p2p, sorted};
use fmm::data::particles::Particles;
use fmm::data::random::{self, Charge, Distribution};
use fmm::direct::error;
use fmm::expansion::basis::Basis;
use fmm::octree::executor::Executor;
use fmm::octree::stats::Seconds;
use fmm::octree::tune::cost::{Costs, Shape};
use fmm::octree::tune::native_shape;
use fmm::octree::{FmmOptions, Plan, Precision, Solution, Solutions};
use fmm::stages::AllStages;
use gpu::cuda::device;
use gpu::octree::Gpu;
use serde::Serialize;
use std::time::Instant;
use terminal::failure::Failure;
use terminal::say;
use terminal::source;

/// Numbers of particles.
const SIZES: [usize; 10] = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, FMM];
/// Leaf sizes of which the quicker one counts with P2P alone on the GPU.
const LEAVES: [usize; 2] = [LEAF, 4 * LEAF];
const ORDER: usize = 5;
/// The relative L2 error of the gradient that is let pass, at so many targets.
const ERROR: f64 = 1e-3;
const CHECKED: usize = 200;

#[derive(Serialize)]
pub struct Row {
    pub n: usize,
    /// Medians of whole runs from the particles to the field, tree included: all stages on the GPU, P2P alone there, none.
    pub gpu_seconds: f64,
    pub mixed_seconds: f64,
    pub cpu_seconds: f64,
    pub direct_seconds: f64,
    /// Another run of the same plan with P2P on the GPU, whose data is there.
    again_seconds: f64,
    gpu_leaf: usize,
    mixed_leaf: usize,
    cpu_leaf: usize,
    gradient_error: f64,
    /// With all stages on the GPU.
    stages: Seconds,
}

/// Says that a gradient is too far off.
fn check(particles: &Particles, solution: &Solution) -> Result<f64, Failure> {
    let found = error::measure(particles, &solution.field, CHECKED, 1, 0.0).gradient_rel_l2.unwrap_or(f64::NAN);
    match found <= ERROR {
        true => Ok(found),
        false => {
            let n = particles.len();
            Err(Failure::Tool(format!("{n} particles: the gradient is off by {found:.1e}, more than {ERROR:e}")))
        }
    }
}

/// All stages on the GPU: the median of the seconds, the error, and the last result.
fn whole(
    bench: &Bench,
    gpu: &mut Gpu,
    particles: &Particles,
    options: &FmmOptions,
) -> Result<(f64, f64, Solution), Failure> {
    let mut once = || -> Result<(f64, Solution), Failure> {
        let start = Instant::now();
        let answer = gpu.solve(particles.columns().into(), &[&particles.q], options)?;
        let Solutions { mut fields, stats } =
            answer.map_err(|why| Failure::Tool(format!("the GPU does not run all stages: {why}")))?;
        let solution = Solution { field: fields.swap_remove(0), stats };
        Ok((start.elapsed().as_secs_f64(), solution))
    };
    let error = check(particles, &once()?.1)?;
    let (mut seconds, mut last) = (Vec::new(), None);
    for _ in 0..bench.repeat {
        let (one, solution) = once()?;
        seconds.push(one);
        last = Some(solution);
    }
    Ok((sorted(seconds).0, error, last.expect("it is repeated once at least")))
}

/// The tree on the CPU and P2P on the GPU if there is one: medians of the seconds of a whole run, and of another one with the
/// same plan.
fn planned(
    bench: &Bench,
    particles: &Particles,
    options: &FmmOptions,
    gpu: Option<&mut Gpu>,
) -> Result<[f64; 2], Failure> {
    let mut list: Vec<&mut dyn Executor<Plan>> = gpu.into_iter().map(|gpu| gpu as &mut dyn Executor<Plan>).collect();
    let mut once = || -> Result<(f64, f64, Solution), Failure> {
        let start = Instant::now();
        let plan = Plan::new(particles.columns(), options)?;
        plan.solve(&particles.q, &mut list, &mut |_, _, _| {})?;
        let whole = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let solution = plan.solve(&particles.q, &mut list, &mut |_, _, _| {})?;
        Ok((whole, start.elapsed().as_secs_f64(), solution))
    };
    check(particles, &once()?.2)?;
    let (mut wholes, mut agains) = (Vec::new(), Vec::new());
    for _ in 0..bench.repeat {
        let (whole, again, _) = once()?;
        wholes.push(whole);
        agains.push(again);
    }
    Ok([wholes, agains].map(|seconds| sorted(seconds).0))
}

/// Seconds by the number of particles, the break-even, and the shares of the stages.
pub fn run(bench: &mut Bench) -> Result<(), Failure> {
    let kernel = source::load("p2p")?.1;
    let mut gpu = Gpu::open("cuda", &kernel)?;
    say!(
        "  FMM of order {ORDER}, solid harmonics, f32, and direct summation on the GPU; seconds from particles to field:"
    )?;
    say!(
        "    {:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>9}",
        "N",
        "GPU",
        "direct",
        "P2P there",
        "again",
        "CPU",
        "CPU/GPU"
    )?;
    for n in SIZES {
        let row = row(bench, &mut gpu, n)?;
        say!(
            "    {n:>8} {:>10.5} {:>10.5} {:>10.5} {:>10.5} {:>10.5} {:>9.2}",
            row.gpu_seconds,
            row.direct_seconds,
            row.mixed_seconds,
            row.again_seconds,
            row.cpu_seconds,
            row.cpu_seconds / row.gpu_seconds
        )?;
        bench.report.fmm.push(row);
    }
    bench.report.break_even = break_even(&bench.report.fmm);
    match bench.report.break_even {
        Some(n) => say!("  the FMM is quicker than direct summation from {n:.0} particles on")?,
        None if bench.report.fmm.iter().all(|row| row.gpu_seconds <= row.direct_seconds) => {
            say!("  the FMM is nowhere slower than direct summation at these sizes")?
        }
        None => say!("  direct summation is quicker than the FMM at all of these sizes")?,
    }
    if let Some(row) = bench.report.fmm.last() {
        stages(row)?;
    }
    say!(
        "  input: uniform particles, q in [0,1), seed 1; gradients of {CHECKED} targets checked; {} runs",
        bench.repeat
    )
}

fn row(bench: &mut Bench, gpu: &mut Gpu, n: usize) -> Result<Row, Failure> {
    let particles = random::generate(n, Distribution::Uniform, Charge::Positive, 1);
    let options = FmmOptions { order: ORDER, basis: Basis::Solid, precision: Precision::F32, ..FmmOptions::default() };
    let Shape { leaf: cpu_leaf, enlarge } = native_shape(&Costs::default(), n, &options, true);
    let on_cpu = FmmOptions { leaf: cpu_leaf, enlarge, ..options.clone() };
    let [cpu_seconds, _] = planned(bench, &particles, &on_cpu, None)?;
    let (mut mixed_leaf, mut mixed) = (LEAF, [f64::MAX; 2]);
    for leaf in LEAVES {
        let found = planned(bench, &particles, &FmmOptions { leaf, ..options.clone() }, Some(gpu))?;
        if found[0] < mixed[0] {
            (mixed_leaf, mixed) = (leaf, found);
        }
    }
    let gpu_leaf = Gpu::whole_leaf(n, &options);
    let on_card = FmmOptions { leaf: gpu_leaf, ..options };
    let (gpu_seconds, gradient_error, solution) = whole(bench, gpu, &particles, &on_card)?;
    Ok(Row {
        n,
        gpu_seconds,
        mixed_seconds: mixed[0],
        cpu_seconds,
        direct_seconds: p2p::direct(bench, &particles)?,
        again_seconds: mixed[1],
        gpu_leaf,
        mixed_leaf,
        cpu_leaf,
        gradient_error,
        stages: solution.stats.seconds,
    })
}

/// Where the FMM becomes quicker for good, between two sizes on logarithmic scales.
fn break_even(rows: &[Row]) -> Option<f64> {
    let ahead = |r: &Row| (r.direct_seconds / r.gpu_seconds).ln();
    let last = rows.iter().rposition(|r| ahead(r) < 0.0)?;
    let (a, b) = (&rows[last], rows.get(last + 1)?);
    let part = -ahead(a) / (ahead(b) - ahead(a));
    Some((a.n as f64).powf(1.0 - part) * (b.n as f64).powf(part))
}

/// The stages of the largest FMM and their shares of its time.
fn stages(row: &Row) -> Result<(), Failure> {
    let s = &row.stages;
    let all = [
        ("tree", s.tree),
        ("P2M", s.p2m),
        ("M2M", s.m2m),
        ("M2L", s.m2l),
        ("L2L", s.l2l),
        ("L2P", s.l2p),
        ("P2P", s.p2p),
    ];
    say!("  stages of {} particles on the GPU, ms and share of the total, copies included:", row.n)?;
    for (name, seconds) in all {
        say!("    {name:<5} {:>9.3}  {:>5.1}%", seconds * 1e3, 100.0 * seconds / s.total)?;
    }
    say!("    total {:>9.3}", s.total * 1e3)
}

/// P2P shared by several GPUs.
#[derive(Serialize)]
pub struct Cards {
    cards: usize,
    n: usize,
    /// Of the stage with its transfers, data already there.
    p2p_seconds: f64,
}

/// P2P of four times the FMM on 1, 2 and 4 GPUs, as far as they are there: the same bits, and the seconds.
pub fn cards(bench: &mut Bench) -> Result<(), Failure> {
    let kernel = source::load("p2p")?.1;
    let n = 4 * FMM;
    let particles = random::generate(n, Distribution::Uniform, Charge::Positive, 1);
    let options = FmmOptions { precision: Precision::F32, leaf: LEAF, near_only: true, ..FmmOptions::default() };
    let plan = Plan::new(particles.columns(), &options)?;
    let mut first: Option<Solution> = None;
    for cards in [1, 2, 4].into_iter().filter(|cards| *cards <= device::count()) {
        let mut gpu = Gpu::open_gpus("cuda", &kernel, cards)?;
        let mut once = || plan.solve(&particles.q, &mut [&mut gpu], &mut |_, _, _| {}).map_err(Failure::from);
        let solution = once()?;
        if first.as_ref().is_some_and(|first| first.field != solution.field) {
            return Err(Failure::Tool(format!("{cards} GPUs give other bits than one")));
        }
        let mut seconds = Vec::new();
        for _ in 0..bench.repeat {
            seconds.push(once()?.stats.seconds.p2p);
        }
        let p2p_seconds = sorted(seconds).0;
        say!("  P2P of {n} particles on {cards} GPUs: {:.2} ms with its transfers, the same bits", p2p_seconds * 1e3)?;
        bench.report.cards.push(Cards { cards, n, p2p_seconds });
        first.get_or_insert(solution);
    }
    Ok(())
}
