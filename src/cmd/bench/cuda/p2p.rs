//! P2P on the GPU: all pairs and within an FMM, in every shape that was tried, and at the sizes of Haney et al.

use super::{ALL, Bench, FMM, Figure, ISSUED, LEAF, Problem, failure, mode, sorted, spread};
use fmm::data::particles::Particles;
use fmm::tree::Tree;
use fmm::tree::charges::Charges;
use gpu::cuda::p2p::{Layout, Number, Prepared};
use pg2::backend::cuda::p2p::{Names, Real, Shape, module};
use pg2::graph::Graph;
use pipelines::predict::roofline::{HANEY, Work, haney};
use serde::Serialize;
use std::time::Instant;
use terminal::failure::Failure;
use terminal::say;
use terminal::source;

/// A kernel with the names of its pins, and the sign of its potential.
struct Kernel {
    graph: Graph,
    names: Names,
    sign: f64,
}

fn gravity() -> Result<Kernel, Failure> {
    Ok(Kernel { graph: source::load("gravity")?.1, names: Names::GRAVITY, sign: -1.0 })
}

fn p2p() -> Result<Kernel, Failure> {
    Ok(Kernel { graph: source::load("p2p")?.1, names: Names::USUAL, sign: 1.0 })
}

/// All pairs and P2P of an FMM, in f32 and f64.
pub fn figures(bench: &mut Bench) -> Result<(), Failure> {
    let (gravity, p2p) = (gravity()?, p2p()?);
    let all = Problem::of_all_pairs(ALL);
    let layouts = (Layout::<f32>::of_all_pairs(&all.tree, 0.0), Layout::<f64>::of_all_pairs(&all.tree, 0.0));
    let figure = measure(bench, "gravity, all pairs, f32", &all, &gravity, &layouts.0)?;
    show(bench, figure)?;
    let figure = measure(bench, "gravity, all pairs, f64", &all, &gravity, &layouts.1)?;
    show(bench, figure)?;
    drop((all, layouts));
    let fmm = Problem::new(FMM, LEAF);
    let layout = Layout::<f32>::of_leaves(&fmm.tree, &fmm.lists, 0.0);
    let figure = measure(bench, "P2P of an FMM, f32", &fmm, &p2p, &layout)?;
    show(bench, figure)?;
    let layout = Layout::<f64>::of_leaves(&fmm.tree, &fmm.lists, 0.0);
    let figure = measure(bench, "P2P of an FMM, f64", &fmm, &p2p, &layout)?;
    show(bench, figure)?;
    say!(
        "  input: {ALL} and {FMM} uniform particles, q in [0,1), seed 1; leaves of at most {LEAF}; {} launches",
        bench.repeat
    )
}

/// The median of the seconds from particles to sums by direct summation of the usual kernel in f32, checked first. Targets
/// with pairs that are too close are not computed again.
pub fn direct(bench: &mut Bench, particles: &Particles) -> Result<f64, Failure> {
    let kernel = p2p()?;
    let n = particles.len();
    let problem = Problem::of_all_pairs(n);
    measure(
        bench,
        &format!("direct summation of {n} particles"),
        &problem,
        &kernel,
        &Layout::<f32>::of_all_pairs(&problem.tree, 0.0),
    )?;
    let mut seconds = Vec::new();
    for _ in 0..bench.repeat {
        let start = Instant::now();
        let tree = Tree::build(particles.columns(), n);
        let charges = Charges::new(&tree, &particles.q[..]);
        let layout = Layout::<f32>::of_all_pairs(&tree, 0.0);
        let text =
            module(&kernel.graph, &kernel.names, Real::F32, &layout.shape).map_err(|why| Failure::Input(why.0))?;
        let mut prepared = Prepared::new(&mut bench.device, &text, &tree, &layout).map_err(failure)?;
        prepared.set_charges(&bench.device, &charges).map_err(failure)?;
        prepared.start(&bench.device).map_err(failure)?;
        std::hint::black_box(prepared.fetch(&bench.device).map_err(failure)?);
        seconds.push(start.elapsed().as_secs_f64());
    }
    Ok(sorted(seconds).0)
}

/// Prints a figure and keeps it.
fn show(bench: &mut Bench, figure: Figure) -> Result<(), Failure> {
    say!("  {}: {:.3}e12 pairs/s", figure.what, figure.pairs_per_second / 1e12)?;
    say!("    {} pairs in {} ms", figure.pairs, spread(&figure.seconds, |x| format!("{:.3}", x * 1e3)))?;
    if let Some(seconds) = figure.predicted_seconds {
        say!("    predicted {:.3} ms", seconds * 1e3)?;
    }
    if let Some(share) = figure.share {
        say!("    {:.0}% of what the issue rate allows", 100.0 * share)?;
    }
    let (potential, gradient) = (figure.potential_error, figure.gradient_error);
    say!("    relative L2 errors: potential {potential:.1e}, gradient {gradient:.1e}; {} targets again", figure.again)?;
    bench.report.figures.push(figure);
    Ok(())
}

/// Checks what a kernel gives, and then measures it.
fn measure<T: Number>(
    bench: &mut Bench,
    what: &str,
    problem: &Problem,
    kernel: &Kernel,
    layout: &Layout<T>,
) -> Result<Figure, Failure> {
    let text = module(&kernel.graph, &kernel.names, T::REAL, &layout.shape).map_err(|why| Failure::Input(why.0))?;
    let device = &mut bench.device;
    // So that compiling is not counted.
    Prepared::new(device, &text, &problem.tree, layout).map_err(failure)?;
    let start = Instant::now();
    let mut prepared = Prepared::new(device, &text, &problem.tree, layout).map_err(failure)?;
    prepared.set_charges(device, &problem.charges).map_err(failure)?;
    let mut link_seconds = start.elapsed().as_secs_f64();
    prepared.launch(device).map_err(failure)?;
    let start = Instant::now();
    let sums = prepared.fetch(device).map_err(failure)?;
    link_seconds += start.elapsed().as_secs_f64();
    let ([potential_error, gradient_error], again) = problem.errors(layout, &sums, kernel.sign);
    let bound = if T::REAL == Real::F32 { 1e-4 } else { 1e-11 };
    if !(potential_error <= bound && gradient_error <= bound) {
        let errors = format!("{potential_error:.1e} and {gradient_error:.1e}");
        return Err(Failure::Tool(format!("{what}: the GPU's results are off by {errors}, more than {bound:e}")));
    }
    let mut seconds = Vec::new();
    for _ in 0..bench.repeat {
        seconds.push(prepared.launch(device).map_err(failure)?);
    }
    let (median, seconds) = sorted(seconds);
    let n = problem.tree.len();
    let work = Work { targets: n as u64, sources: n as u64, pairs: layout.pairs() };
    let name = if T::REAL == Real::F32 { "f32" } else { "f64" };
    let predicted = bench.predicted(&mode(&kernel.graph, name)?, &work);
    if work == Work::all_pairs(n as u64) {
        bench.note(&kernel.graph, name, &work, [median, link_seconds]);
    }
    let rate = work.pairs as f64 / median;
    let is_single = T::REAL == Real::F32;
    Ok(Figure {
        what: what.into(),
        n,
        pairs: work.pairs,
        seconds,
        link_seconds,
        predicted_seconds: predicted.map(|p| p[0]),
        predicted_link_seconds: predicted.map(|p| p[1]),
        pairs_per_second: rate,
        share: is_single.then_some(rate * ISSUED / bench.report.fma_per_second),
        potential_error,
        gradient_error,
        again,
    })
}

/// A shape of the work, and what it gives.
#[derive(Serialize)]
pub struct Trial {
    threads: u32,
    targets: u32,
    sources: u32,
    /// Pairs a second over all pairs, and in an FMM.
    all_pairs: f64,
    fmm: f64,
}

/// Threads of a block, targets of a thread, sources looked at together, those of a tile, blocks of a multiprocessor.
const SHAPES: [Shape; 6] = [
    Shape { threads: 256, shared: 1, unroll: 8, tile: 512, blocks: 4 },
    Shape { threads: 256, shared: 2, unroll: 8, tile: 512, blocks: 3 },
    Shape { threads: 256, shared: 4, unroll: 16, tile: 1024, blocks: 2 },
    Shape { threads: 128, shared: 1, unroll: 8, tile: 512, blocks: 8 },
    Shape { threads: 128, shared: 2, unroll: 8, tile: 512, blocks: 6 },
    Shape { threads: 64, shared: 1, unroll: 8, tile: 512, blocks: 16 },
];

/// The f32 kernel in several shapes.
pub fn shapes(bench: &mut Bench) -> Result<(), Failure> {
    let (gravity, p2p) = (gravity()?, p2p()?);
    let (all, fmm) = (Problem::of_all_pairs(ALL), Problem::new(FMM, LEAF));
    say!("  P2P in f32 by shape, 1e12 pairs/s:")?;
    say!("    threads  targets  sources  all pairs  FMM")?;
    for shape in SHAPES {
        let layout = Layout::<f32>::of_all_pairs_in(&all.tree, 0.0, shape);
        let first = measure(bench, "all pairs", &all, &gravity, &layout)?;
        let layout = Layout::<f32>::of_leaves_in(&fmm.tree, &fmm.lists, 0.0, shape);
        let second = measure(bench, "an FMM", &fmm, &p2p, &layout)?;
        let Shape { threads, shared, unroll, .. } = shape;
        let (all_pairs, fmm) = (first.pairs_per_second, second.pairs_per_second);
        say!("    {threads:>7}  {shared:>7}  {unroll:>7}  {:>9.2}  {:.2}", all_pairs / 1e12, fmm / 1e12)?;
        bench.report.shapes.push(Trial { threads, targets: shared, sources: unroll, all_pairs, fmm });
    }
    Ok(())
}

/// All pairs at the sizes of Haney et al.: their table, what is predicted and what was measured here.
pub fn sizes(bench: &mut Bench) -> Result<(), Failure> {
    let gravity = gravity()?;
    say!("  all pairs of `gravity` in f32 as in the table of Haney et al., seconds:")?;
    say!("    |      N | K40: link | compute | here, predicted: link | compute | measured: link | compute |")?;
    say!("    |---|---|---|---|---|---|---|")?;
    for n in HANEY {
        let problem = Problem::of_all_pairs(n as usize);
        let layout = Layout::<f32>::of_all_pairs(&problem.tree, 0.0);
        let figure = measure(bench, &format!("gravity, {n} particles, f32"), &problem, &gravity, &layout)?;
        let [link, compute, _] = haney(n).map(|s| format!("{s:.2e}"));
        let or_dash = |s: Option<f64>| s.map_or("-".to_string(), |s| format!("{s:.2e}"));
        let (near, far) = (or_dash(figure.predicted_link_seconds), or_dash(figure.predicted_seconds));
        let seconds = figure.seconds[figure.seconds.len() / 2];
        say!("    | {n} | {link} | {compute} | {near} | {far} | {:.2e} | {seconds:.2e} |", figure.link_seconds)?;
        bench.report.sizes.push(figure);
    }
    Ok(())
}
