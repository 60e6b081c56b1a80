//! An FMM with all stages on one or more GPUs: times of the stages, and errors against direct sums on the CPU.

mod ranks;
mod steps;

use super::Args;
use ::ranks::mpi;
use fmm::data::particles::{Field, Particles};
use fmm::data::periodic::Periodic;
use fmm::data::random::{self, Charge, Distribution};
use fmm::direct::error::{self, Errors};
use fmm::direct::summation::Direct;
use fmm::expansion::basis::Basis;
use fmm::octree::stats::{OnGpu, Seconds, Stats};
use fmm::octree::{FmmError, FmmOptions, Precision};
use fmm::stages::AllStages;
use gpu::cuda::octree::TreeKind;
use gpu::cuda::{compile, device};
use gpu::octree::Gpu;
use serde::Serialize;
use terminal::bench::spread;
use terminal::failure::Failure;
use terminal::source;
use terminal::{output, say};

/// Places of particles.
#[derive(Clone, Copy)]
enum Places {
    Of(&'static str),
    /// Two Plummer spheres whose centres are 1 apart, cut off at a radius.
    Clusters(f64),
}

impl Places {
    fn particles(self, n: usize) -> Particles {
        let of = |name| Distribution::from_name(name).expect("a distribution");
        match self {
            Places::Of(name) => random::generate(n, of(name), Charge::Positive, 1),
            Places::Clusters(radius) => {
                let mut all = random::generate(n, of("plummer"), Charge::Positive, 1);
                let most = [&all.x, &all.y, &all.z].map(|x| x.iter().fold(0.0, |a: f64, x| a.max(x.abs())));
                let factor = radius / most.iter().fold(0.0, |a: f64, x| a.max(*x));
                let columns = [&mut all.x, &mut all.y, &mut all.z];
                for (column, apart) in columns.into_iter().zip([1.0, 0.0, 0.0]) {
                    column.iter_mut().enumerate().for_each(|(k, x)| *x = *x * factor + apart * (k % 2) as f64);
                }
                all
            }
        }
    }

    fn name(self) -> String {
        match self {
            Places::Of(name) => name.into(),
            Places::Clusters(radius) => format!("two clusters of radius {radius:e}"),
        }
    }
}

/// A problem: particles, order, precision, targets compared with direct sums, and what the gradient's relative L2 error may be, or, where
/// close pairs rule that, its median.
struct Case {
    places: Places,
    n: usize,
    order: usize,
    precision: Precision,
    samples: usize,
    bound: f64,
    /// Whether the box of the particles is periodic along all axes.
    is_periodic: bool,
}

/// Uniform particles.
const fn even(n: usize, order: usize, precision: Precision, samples: usize, bound: f64) -> Case {
    Case { places: Places::Of("uniform"), n, order, precision, samples, bound, is_periodic: false }
}

/// Particles that are not, at order 5 in f32.
const fn uneven(places: Places, n: usize, samples: usize) -> Case {
    Case { places, n, order: 5, precision: Precision::F32, samples, bound: 1e-3, is_periodic: false }
}

/// The same in a periodic box: Ewald sums of a target take long, and the charges of all images cancel against the background, so that the
/// error is larger beside what is left.
const fn periodic(case: Case) -> Case {
    Case { is_periodic: true, samples: 64, bound: 1e-2, ..case }
}

const CASES: [Case; 14] = [
    even(1_000_000, 4, Precision::F32, 1000, 5e-3),
    even(1_000_000, 5, Precision::F32, 1000, 1e-3),
    even(1_000_000, 5, Precision::F64, 1000, 1e-3),
    even(1_000_000, 10, Precision::F64, 1000, 1e-5),
    even(16_000_000, 5, Precision::F32, 100, 1e-3),
    uneven(Places::Of("sphere"), 1_000_000, 1000),
    uneven(Places::Of("layer"), 1_000_000, 1000),
    uneven(Places::Of("normal"), 1_000_000, 1000),
    uneven(Places::Of("plummer"), 1_000_000, 1000),
    uneven(Places::Clusters(1e-3), 1_000_000, 1000),
    uneven(Places::Of("plummer"), 16_000_000, 100),
    periodic(even(1_000_000, 5, Precision::F32, 1000, 1e-3)),
    periodic(even(1_000_000, 5, Precision::F64, 1000, 1e-3)),
    periodic(uneven(Places::Of("plummer"), 1_000_000, 1000)),
];

/// One figure. Seconds are those of the GPU's events: from the first kernel, which finds the box, to the last, on the GPU that
/// takes longest.
#[derive(Serialize)]
struct Figure {
    gpus: usize,
    /// Whether one GPU did the work of all.
    in_place: bool,
    /// Places of the particles.
    distribution: String,
    /// Whether their box is periodic along all axes.
    is_periodic: bool,
    n: usize,
    order: usize,
    precision: &'static str,
    leaf: usize,
    levels: usize,
    /// Of all stages together, sorted.
    seconds: Vec<f64>,
    /// Of sending and fetching in the run of the median.
    copies: OnGpu,
    /// Of each stage in the run of the median. `total` has the copies too.
    stages: Seconds,
    p2p_pairs: u64,
    error: Errors,
}

/// Prints the figures and writes them, where no other benchmark does. Without a GPU it says so, and fails if it was named.
pub fn run(args: &Args) -> Result<(), Failure> {
    if mpi::launched().is_some_and(|count| count != 1) {
        return ranks::run(args);
    }
    if let Err(why) = device::found().and_then(|_| compile::check()) {
        return match args.names.is_empty() {
            true => say!("  skipped: {why}"),
            false => Err(Failure::Tool(why.to_string())),
        };
    }
    let kernel = source::load("p2p")?.1;
    let (all, mut figures) = (args.gpus as usize, Vec::new());
    let counts = std::iter::successors(Some(1), |k| Some(2 * k)).take_while(|k| *k < all).chain([all]);
    let open = if args.in_place { Gpu::open_in_place_of } else { Gpu::open_gpus };
    let mut gpus: Vec<Gpu> = counts.map(|k| open("cuda", &kernel, k)).collect::<Result<_, _>>().map_err(failure)?;
    if args.one_depth {
        gpus.iter_mut().for_each(|gpu| gpu.set_tree(TreeKind::OneDepth));
    }
    match args.n {
        Some(n) => measure_made(&mut gpus, n as usize, args, &mut figures)?,
        None => {
            CASES.iter().try_for_each(|case| measure(&mut gpus, case, args, &mut figures))?;
            drop(gpus);
            steps::run(args.repeat)?;
        }
    }
    say!("  input: q in [0,1), seed 1; the leaf size is chosen; {} runs after a first", args.repeat)?;
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

/// The figures of a case on each number of GPUs.
fn measure(gpus: &mut [Gpu], case: &Case, args: &Args, figures: &mut Vec<Figure>) -> Result<(), Failure> {
    let particles = case.places.particles(case.n);
    let options =
        FmmOptions { order: case.order, precision: case.precision, basis: Basis::Solid, ..FmmOptions::default() };
    let length = error::edge(particles.columns(), None);
    let periodic = case.is_periodic.then_some(Periodic { length, axes: [true; 3] });
    let options = FmmOptions { leaf: Gpu::whole_leaf(case.n, &options), periodic, ..options };
    let precision = if case.precision == Precision::F32 { "f32" } else { "f64" };
    let box_of = if case.is_periodic { ", periodic" } else { "" };
    let what = format!("{} particles, {}{box_of}, order {}, {precision}", case.n, case.places.name(), case.order);
    let mut first: Option<Field> = None;
    for gpu in gpus {
        let mut run = || -> Result<_, Failure> {
            let answer = gpu.solve(particles.columns().into(), &[&particles.q], &options).map_err(failure)?;
            answer.map_err(|why| Failure::Tool(format!("the GPU leaves {} particles to the CPU: {why}", case.n)))
        };
        // The first run compiles the kernels.
        let field = run()?.fields.swap_remove(0);
        let geometry = particles.columns().into();
        let direct = Direct { geometry, sources: particles.q[..].into(), eps: 0.0, hessian: false };
        let error = error::measure_all(&direct, periodic.as_ref(), &field, case.samples, 1);
        let worst =
            if matches!(case.places, Places::Of("uniform")) { error.gradient_rel_l2 } else { error.gradient_median };
        if worst.is_none_or(|e| e.is_nan() || e > case.bound) {
            let (found, bound) = (worst, case.bound);
            return Err(Failure::Tool(format!("{what}: the gradient's error is {found:?}, more than {bound:e}")));
        }
        let mut runs = Vec::new();
        for _ in 0..args.repeat {
            runs.push(run()?.stats);
        }
        let gpus = gpu.devices();
        if *first.get_or_insert_with(|| field.clone()) != field {
            return Err(Failure::Tool(format!("{what}: {gpus} GPUs give other bits than one")));
        }
        let what = if gpus == 1 { what.clone() } else { format!("{what}, {gpus} GPUs") };
        let what = if gpu.is_linked() { what } else { format!("{what} without direct links") };
        let figure = Figure::new(runs, error, (gpus, options.leaf), case, precision, args.in_place);
        figure.say(&what)?;
        figures.push(figure);
    }
    Ok(())
}

/// The figures of particles that are made on the GPUs, and errors against direct sums there. Fewer GPUs than all may have too little
/// memory.
fn measure_made(gpus: &mut [Gpu], n: usize, args: &Args, figures: &mut Vec<Figure>) -> Result<(), Failure> {
    let (order, precision, samples) = (args.order as usize, Precision::F32, 100);
    let options = FmmOptions { order, precision, basis: Basis::Solid, ..FmmOptions::default() };
    let case = even(n, order, precision, samples, 0.0);
    let mut first: Option<Field> = None;
    let most = gpus.len() - 1;
    for (k, gpu) in gpus.iter_mut().enumerate() {
        let made = match gpu.made(n, &options, samples, args.repeat).map_err(failure)? {
            Ok(made) => made,
            Err(why) if k < most => {
                say!("  {n} particles made on the GPU, order {order}, f32, {} GPUs: {why}", gpu.devices())?;
                gpu.clear().map_err(failure)?;
                continue;
            }
            Err(why) => return Err(Failure::Tool(why)),
        };
        if *first.get_or_insert_with(|| made.field.clone()) != made.field {
            return Err(Failure::Tool(format!("{} GPUs give other bits than one", gpu.devices())));
        }
        let of = (gpu.devices(), Gpu::whole_leaf(n, &options));
        let figure = Figure::new(made.runs, made.errors, of, &case, "f32", args.in_place);
        figure.say(&format!("{n} particles made on the GPU, order {order}, f32, {} GPUs", gpu.devices()))?;
        figures.push(figure);
        gpu.clear().map_err(failure)?;
    }
    Ok(())
}

impl Figure {
    fn new(
        mut runs: Vec<Stats>,
        error: Errors,
        of: (usize, usize),
        case: &Case,
        precision: &'static str,
        in_place: bool,
    ) -> Figure {
        let computed = |stats: &Stats| stats.on_gpu.map_or(0.0, |t| t.computed);
        runs.sort_by(|a, b| computed(a).total_cmp(&computed(b)));
        let middle = &runs[runs.len() / 2];
        Figure {
            gpus: of.0,
            in_place,
            distribution: case.places.name(),
            is_periodic: case.is_periodic,
            n: case.n,
            order: case.order,
            precision,
            leaf: of.1,
            levels: middle.levels,
            seconds: runs.iter().map(computed).collect(),
            copies: middle.on_gpu.unwrap_or_default(),
            stages: middle.seconds,
            p2p_pairs: middle.pairs.p2p,
            error,
        }
    }

    fn say(&self, what: &str) -> Result<(), Failure> {
        let of_all = |seconds: &[f64]| spread(seconds, |x| format!("{:.2}", x * 1e3));
        if self.in_place && self.gpus > 1 {
            // Stages of one are beside other stages of another, so that their seconds say nothing.
            let each: Vec<f64> = self.seconds.iter().map(|x| x / self.gpus as f64).collect();
            let (all, each, gpus) = (of_all(&self.seconds), of_all(&each), self.gpus);
            return say!("  {what}: one did the work of {gpus} in {all} ms on the GPU, {each} for each");
        }
        say!("  {what}: {} ms on the GPU", of_all(&self.seconds))?;
        let s = &self.stages;
        let stages = [s.tree, s.p2m, s.m2m, s.m2l, s.l2l, s.p2p, s.l2p].map(|x| format!("{:.3}", x * 1e3));
        let [tree, p2m, m2m, m2l, l2l, p2p, l2p] = stages;
        say!("    tree {tree}, P2M {p2m}, M2M {m2m}, M2L {m2l}, L2L {l2l}, P2P {p2p}, L2P {l2p}")?;
        let OnGpu { sent, fetched, .. } = self.copies;
        say!("    all sent in {:.1}, results fetched and scaled in {:.1}", sent * 1e3, fetched * 1e3)?;
        let (pairs, levels, leaf) = (self.p2p_pairs as f64, self.levels, self.leaf);
        say!("    P2P: {pairs:.2e} pairs, beside the others; {levels} levels, at most {leaf} a leaf in the mean")?;
        let error = &self.error;
        let [median, p99] = [error.gradient_median, error.gradient_p99].map(|e| e.unwrap_or(f64::NAN));
        say!(
            "    gradient error: median {median:.1e}, 99th percentile {p99:.1e}; potential {:.1e}",
            error.potential_rel_l2
        )
    }
}
