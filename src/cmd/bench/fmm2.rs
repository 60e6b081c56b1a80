//! The FMM in two dimensions with all stages on a GPU, against direct sums on the CPU first: the stages at the paper's size, and
//! times by points, by points a box, by order and by distribution, beside direct summation on the same GPU.

use super::Args;
use fmm::octree::FmmError;
use fmm::plane::{Columns, Options, Strengths};
use gpu::cuda::plane::{Run, STAGES};
use gpu::cuda::{ceiling, compile, device};
use gpu::plane::{Answer, Gpu};
use pairforge::random::plane::{Points, Reference, Spread};
use serde::Serialize;
use terminal::bench::spread;
use terminal::failure::Failure;
use terminal::{output, say};

/// The paper's order, its points a box on the GPU, and the deviation of its distributions: variance 1/100.
const ORDER: usize = 17;
const LEAF: usize = 45;
const SIGMA: f64 = 0.1;

/// The paper's size, with 45 points a box on the finest level.
const N: usize = LEAF << 16;

/// Instructions of the f64 units for a pair of complex strengths: two differences, two for the square of the distance, three
/// for its reciprocal besides the first approximation, four products of complex numbers, two for the sums.
const ISSUED: f64 = 13.0;

/// The relative L2 error that is let through from the paper's order on.
const BOUND: f64 = 1e-5;

/// The place of P2P among the stages.
const P2P: usize = 6;

/// Up to so many points the GPU sums directly too.
const MOST_DIRECT: usize = 300_000;

/// One run.
#[derive(Serialize, Clone)]
struct Row {
    what: &'static str,
    distribution: String,
    n: usize,
    order: usize,
    leaf: usize,
    levels: usize,
    /// From the first kernel to the last, sorted.
    seconds: Vec<f64>,
    /// Of each stage in one run that is timed by stage.
    stages: [f64; STAGES.len()],
    sent: f64,
    fetched: f64,
    pairs: u64,
    m2l: u64,
    /// Of some targets: the greatest relative error, which is the paper's norm (5.3), and the relative L2 error.
    error: f64,
    error_l2: f64,
    /// Of direct summation on the GPU, its kernel alone, sorted.
    direct: Option<Vec<f64>>,
}

#[derive(Serialize)]
struct Report {
    device: String,
    fma_f64_per_second: f64,
    stages: [&'static str; STAGES.len()],
    rows: Vec<Row>,
    /// Points from which on the FMM is quicker than direct summation on the GPU.
    break_even: Option<usize>,
}

struct Bench {
    gpu: Gpu,
    repeat: u32,
    /// The points that were drawn last, and the direct sums of so many of them.
    points: Points,
    reference: Option<(usize, Reference)>,
}

/// The parameters of a run.
#[derive(Clone, Copy)]
struct Case {
    what: &'static str,
    spread: Spread,
    n: usize,
    order: usize,
    leaf: usize,
}

/// Prints the figures and writes them, where no other benchmark does. Without a GPU it says so, and fails if it was named.
pub fn run(args: &Args) -> Result<(), Failure> {
    if let Err(why) = device::found().and_then(|_| compile::check()) {
        return match args.names.is_empty() {
            true => say!("  skipped: {why}"),
            false => Err(Failure::Tool(why.to_string())),
        };
    }
    let mut bench = Bench {
        gpu: Gpu::open().map_err(failure)?,
        repeat: args.repeat,
        points: Points::new(Spread::Uniform),
        reference: None,
    };
    let issue = ceiling::instructions_f64(&mut bench.gpu.device).map_err(|e| Failure::Tool(e.to_string()))?;
    let device = bench.gpu.device.name.clone();
    say!(
        "  {device}: {:.2}e12 FMA/s in f64 measured, which bounds P2P by {:.3}e12 pairs/s",
        issue / 1e12,
        issue / ISSUED / 1e12
    )?;
    let mut report = Report { device, fma_f64_per_second: issue, stages: STAGES, rows: Vec::new(), break_even: None };
    let usual = Case { what: "n", spread: Spread::Uniform, n: N, order: ORDER, leaf: LEAF };
    let row = bench.measure(usual)?;
    say_stages(&row, issue)?;
    report.rows.push(Row { what: "stages", ..row });
    say!("  by points a box, {N} points")?;
    for leaf in [12, 24, 45, 90, 180] {
        report.rows.push(bench.line(Case { what: "leaf", leaf, ..usual })?);
    }
    say!("  by points, at the best of 45, 90 and 135 points a box")?;
    for n in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000] {
        report.rows.push(bench.line(Case { n: n * 1000, ..usual })?);
    }
    report.break_even = break_even(&report.rows);
    match report.break_even {
        Some(n) => say!("  break-even with direct summation on the GPU: at most {n} points")?,
        None => say!("  direct summation on the GPU is quicker wherever it was tried")?,
    }
    say!("  by order, 1000000 points")?;
    for order in [5, 10, 17, 25, 30, 42, 60] {
        report.rows.push(bench.line(Case { what: "order", n: 1_000_000, order, ..usual })?);
    }
    say!("  by distribution")?;
    for spread in [Spread::Uniform, Spread::Normal(SIGMA), Spread::Layer(SIGMA)] {
        for n in [1_000_000, 10_000_000] {
            report.rows.push(bench.line(Case { what: "distribution", spread, n, ..usual })?);
        }
    }
    say!("  input: random points with complex strengths in [-1,1), seed 1; {} runs after a first", args.repeat)?;
    if let Some(path) = args.json.as_ref().filter(|_| args.names.iter().all(|name| name == "fmm2")) {
        output::write_json(path, &report)?;
    }
    Ok(())
}

fn failure(e: FmmError) -> Failure {
    match e {
        FmmError::Backend(e) => e.into(),
        e => Failure::Tool(e.to_string()),
    }
}

/// The least number of points from which on the FMM was quicker than direct summation, of those that were tried.
fn break_even(rows: &[Row]) -> Option<usize> {
    let middle = |seconds: &[f64]| seconds[seconds.len() / 2];
    let tried = rows.iter().filter(|r| r.what == "n");
    let wins: Vec<(usize, bool)> =
        tried.filter_map(|r| Some((r.n, middle(&r.seconds) < middle(r.direct.as_ref()?)))).collect();
    let from = wins.iter().rposition(|w| !w.1).map_or(0, |k| k + 1);
    wins.get(from).map(|w| w.0)
}

impl Bench {
    fn answer(
        &mut self,
        at: Columns,
        strengths: Strengths,
        options: &Options,
        is_timed: bool,
    ) -> Result<Answer, Failure> {
        let answer = self.gpu.field(at, strengths, options, is_timed).map_err(failure)?;
        answer.map_err(|why| Failure::Tool(format!("the GPU leaves {} points to the CPU: {why}", at[0].len())))
    }

    fn measure(&mut self, case: Case) -> Result<Row, Failure> {
        let fresh = || Points::new(case.spread);
        let mut points = std::mem::replace(&mut self.points, fresh());
        if points.spread != case.spread {
            (points, self.reference) = (fresh(), None);
        }
        points.reach(case.n);
        let (at, strengths) = points.first(case.n);
        let kept = self.reference.take().filter(|(n, _)| *n == case.n);
        let (n, reference) = kept.unwrap_or_else(|| (case.n, Reference::new(at, strengths)));
        let row = self.measure_at(at, strengths, &reference, case)?;
        (self.points, self.reference) = (points, Some((n, reference)));
        Ok(row)
    }

    fn measure_at(
        &mut self,
        at: Columns,
        strengths: Strengths,
        reference: &Reference,
        case: Case,
    ) -> Result<Row, Failure> {
        let better =
            |a: Row, b: Row| if b.seconds[b.seconds.len() / 2] < a.seconds[a.seconds.len() / 2] { b } else { a };
        let mut row = self.at(at, strengths, reference, case)?;
        if case.what == "n" && case.n != N {
            for boxes in [2, 3] {
                row = better(row, self.at(at, strengths, reference, Case { leaf: boxes * LEAF, ..case })?);
            }
        }
        if case.what == "n" && case.n <= MOST_DIRECT {
            // Without levels all pairs are P2P; what else is done takes no part.
            let options = Options { order: case.order, leaf: case.n, ..Options::default() };
            let mut direct = Vec::new();
            for _ in 0..=self.repeat {
                direct.push(self.answer(at, strengths, &options, true)?.run.times.stages[P2P]);
            }
            direct.sort_unstable_by(f64::total_cmp);
            row.direct = Some(direct);
        }
        Ok(row)
    }

    fn at(&mut self, at: Columns, strengths: Strengths, reference: &Reference, case: Case) -> Result<Row, Failure> {
        let options = Options { order: case.order, leaf: case.leaf, ..Options::default() };
        let mut seconds = Vec::new();
        // The first run compiles the kernels, and allocates memory.
        let mut answer = self.answer(at, strengths, &options, false)?;
        for _ in 0..self.repeat {
            answer = self.answer(at, strengths, &options, false)?;
            seconds.push(answer.run.times.total);
        }
        seconds.sort_unstable_by(f64::total_cmp);
        let [error, error_l2] = reference.errors(&answer.field);
        // The error falls with the order as theta^p; one order is the paper's.
        let bound = if case.order >= ORDER { BOUND } else { 1.0 };
        if error_l2.is_nan() || error_l2 > bound {
            return Err(Failure::Tool(format!("{} points, order {}: the error is {error_l2:e}", case.n, case.order)));
        }
        let timed: Run = self.answer(at, strengths, &options, true)?.run;
        Ok(Row {
            what: case.what,
            distribution: case.spread.name().into(),
            n: case.n,
            order: case.order,
            leaf: case.leaf,
            levels: answer.levels,
            seconds,
            stages: timed.times.stages,
            sent: answer.sent,
            fetched: answer.fetched,
            pairs: timed.status.pairs,
            m2l: timed.status.items[0],
            error,
            error_l2,
            direct: None,
        })
    }

    /// Measures and prints one line.
    fn line(&mut self, case: Case) -> Result<Row, Failure> {
        let row = self.measure(case)?;
        let Row { n, order, leaf, levels, error, .. } = &row;
        let direct = row
            .direct
            .as_ref()
            .map_or(String::new(), |d| format!("; direct {} ms", spread(d, |x| format!("{:.3}", x * 1e3))));
        let time = spread(&row.seconds, |x| format!("{:.3}", x * 1e3));
        say!(
            "    {n} {}, p {order}, N_d {leaf}, {levels} levels: {time} ms, error {error:.1e}{direct}",
            row.distribution
        )?;
        let stages: Vec<String> =
            STAGES.iter().zip(row.stages).map(|(name, s)| format!("{name} {:.3}", s * 1e3)).collect();
        say!("      {}", stages.join(", "))?;
        Ok(row)
    }
}

/// The stages of a run, their shares, and what P2P makes of the GPU.
fn say_stages(row: &Row, issue: f64) -> Result<(), Failure> {
    let all: f64 = row.stages.iter().sum();
    say!(
        "  {} points, order {}, {} levels: {} ms without copies, error {:.1e}",
        row.n,
        row.order,
        row.levels,
        spread(&row.seconds, |x| format!("{:.3}", x * 1e3)),
        row.error
    )?;
    for (name, seconds) in STAGES.iter().zip(row.stages) {
        say!("    {name:<8} {:>8.3} ms {:>5.1} %", seconds * 1e3, 100.0 * seconds / all)?;
    }
    let mesh = (row.stages[0] + row.stages[1]) / all;
    let p2p = row.pairs as f64 / row.stages[P2P];
    say!("    sorting and connecting {:.1} %; {} pairs of P2P, {} M2L", 100.0 * mesh, row.pairs, row.m2l)?;
    say!("    P2P: {:.3}e12 pairs/s, {:.1} % of the issue limit", p2p / 1e12, 100.0 * p2p * ISSUED / issue)?;
    say!("    sent in {:.1} ms, fetched in {:.1}", row.sent * 1e3, row.fetched * 1e3)
}
