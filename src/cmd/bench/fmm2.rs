//! The FMM in two dimensions with all stages on a GPU, against direct sums on the CPU first: the stages at the paper's size, and
//! times by points, by points a box, by order and by distribution, beside direct summation on the same card.

use super::{Args, spread};
use crate::failure::Failure;
use crate::output::{self, say};
use host::cuda::plane::{Run, STAGES};
use host::cuda::{ceiling, compile, device};
use host::data::random::{self, Charge, Distribution};
use host::fmm::FmmError;
use host::plane::gpu::{Answer, Gpu};
use host::plane::{Options, Strengths};
use rayon::prelude::*;
use serde::Serialize;

/// The paper's size, with 45 points a box on the finest level, and its order.
const N: usize = 45 << 16;
const ORDER: usize = 17;
const LEAF: usize = 45;

/// Instructions of the f64 units for a pair of complex strengths: two differences, two for the square of the distance, three
/// for its reciprocal besides the first approximation, four products of complex numbers, two for the sums.
const ISSUED: f64 = 13.0;

/// Targets that are compared with direct sums at most, and pairs of these sums; the relative L2 error that is let through from the
/// paper's order on.
const SAMPLES: usize = 40;
const PAIRS: usize = 20_000_000;
const BOUND: f64 = 1e-5;

/// The place of P2P among the stages.
const P2P: usize = 6;

/// Up to so many points the card sums directly too.
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
    /// Of direct summation on the card, its kernel alone, sorted.
    direct: Option<Vec<f64>>,
}

#[derive(Serialize)]
struct Report {
    device: String,
    fma_f64_per_second: f64,
    stages: [&'static str; STAGES.len()],
    rows: Vec<Row>,
    /// Points from which on the FMM is quicker than direct summation on the card.
    break_even: Option<usize>,
}

struct Bench {
    gpu: Gpu,
    repeat: u32,
    /// The points of the last case, and what they are.
    points: Option<(usize, Distribution, Points)>,
}

/// What is run.
#[derive(Clone, Copy)]
struct Case {
    what: &'static str,
    distribution: Distribution,
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
    let mut bench = Bench { gpu: Gpu::open().map_err(failure)?, repeat: args.repeat, points: None };
    let issue = ceiling::instructions_f64(&mut bench.gpu.card).map_err(|e| Failure::Tool(e.to_string()))?;
    let device = bench.gpu.card.name.clone();
    say!(
        "  {device}: {:.2}e12 FMA/s in f64 measured, which bounds P2P by {:.3}e12 pairs/s",
        issue / 1e12,
        issue / ISSUED / 1e12
    )?;
    let mut report = Report { device, fma_f64_per_second: issue, stages: STAGES, rows: Vec::new(), break_even: None };
    let usual = Case { what: "n", distribution: Distribution::Uniform, n: N, order: ORDER, leaf: LEAF };
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
        Some(n) => say!("  break-even with direct summation on the card: at most {n} points")?,
        None => say!("  direct summation on the card is quicker wherever it was tried")?,
    }
    say!("  by order, 1000000 points")?;
    for order in [5, 10, 17, 25, 30, 42, 60] {
        report.rows.push(bench.line(Case { what: "order", n: 1_000_000, order, ..usual })?);
    }
    say!("  by distribution")?;
    for distribution in [Distribution::Uniform, Distribution::Normal, Distribution::Layer] {
        for n in [1_000_000, 10_000_000] {
            report.rows.push(bench.line(Case { what: "distribution", distribution, n, ..usual })?);
        }
    }
    say!("  input: random points with complex strengths in [-1,1), seeds 1 and 2; {} runs after a first", args.repeat)?;
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
    fn answer(&mut self, points: &Points, options: &Options, is_timed: bool) -> Result<Answer, Failure> {
        let strengths = Strengths { re: &points.re, im: Some(&points.im) };
        let columns = [&points.x[..], &points.y[..]];
        let answer = self.gpu.field(columns, strengths, options, is_timed).map_err(failure)?;
        answer.map_err(|why| Failure::Tool(format!("the card leaves {} points to the CPU: {why}", points.x.len())))
    }

    fn seconds(&mut self, points: &Points, options: &Options) -> Result<(Vec<f64>, Answer), Failure> {
        let mut all = Vec::new();
        // The first run compiles the kernels, and makes room.
        let mut last = self.answer(points, options, false)?;
        for _ in 0..self.repeat {
            last = self.answer(points, options, false)?;
            all.push(last.run.total);
        }
        all.sort_unstable_by(f64::total_cmp);
        Ok((all, last))
    }

    fn measure(&mut self, case: Case) -> Result<Row, Failure> {
        let kept = self.points.take().filter(|kept| (kept.0, kept.1) == (case.n, case.distribution));
        let points = kept.map_or_else(|| Points::random(case.n, case.distribution), |kept| kept.2);
        let row = self.measure_at(&points, case)?;
        self.points = Some((case.n, case.distribution, points));
        Ok(row)
    }

    fn measure_at(&mut self, points: &Points, case: Case) -> Result<Row, Failure> {
        let better =
            |a: Row, b: Row| if b.seconds[b.seconds.len() / 2] < a.seconds[a.seconds.len() / 2] { b } else { a };
        let mut row = self.at(points, case)?;
        if case.what == "n" && case.n != N {
            for boxes in [2, 3] {
                row = better(row, self.at(points, Case { leaf: boxes * LEAF, ..case })?);
            }
        }
        if case.what == "n" && case.n <= MOST_DIRECT {
            // Without levels all pairs are P2P; what else is done takes no part.
            let options = Options { order: case.order, leaf: case.n, ..Options::default() };
            let mut direct = Vec::new();
            for _ in 0..=self.repeat {
                direct.push(self.answer(points, &options, true)?.run.seconds[P2P]);
            }
            direct.sort_unstable_by(f64::total_cmp);
            row.direct = Some(direct);
        }
        Ok(row)
    }

    fn at(&mut self, points: &Points, case: Case) -> Result<Row, Failure> {
        let options = Options { order: case.order, leaf: case.leaf, ..Options::default() };
        let (seconds, answer) = self.seconds(points, &options)?;
        let [error, error_l2] = points.errors(&answer);
        // The error falls with the order as theta^p; one order is the paper's.
        let bound = if case.order >= ORDER { BOUND } else { 1.0 };
        if error_l2.is_nan() || error_l2 > bound {
            return Err(Failure::Tool(format!("{} points, order {}: the error is {error_l2:e}", case.n, case.order)));
        }
        let timed: Run = self.answer(points, &options, true)?.run;
        Ok(Row {
            what: case.what,
            distribution: format!("{:?}", case.distribution).to_lowercase(),
            n: case.n,
            order: case.order,
            leaf: case.leaf,
            levels: answer.levels,
            seconds,
            stages: timed.seconds,
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

/// The stages of a run, their shares, and what P2P makes of the card.
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

/// Random points and complex strengths, and what some targets get.
struct Points {
    x: Vec<f64>,
    y: Vec<f64>,
    re: Vec<f64>,
    im: Vec<f64>,
    targets: Vec<(usize, [f64; 2])>,
}

impl Points {
    fn random(n: usize, distribution: Distribution) -> Points {
        let all = random::generate(n, distribution, Charge::Random, 1);
        let im = random::generate(n, distribution, Charge::Random, 2).q;
        // Of the layer the thin side is z.
        let y = if distribution == Distribution::Layer { all.z } else { all.y };
        let mut points = Points { x: all.x, y, re: all.q, im, targets: Vec::new() };
        let samples = SAMPLES.min(PAIRS.div_ceil(n)).min(n);
        points.targets = (0..samples).into_par_iter().map(|k| k * n / samples).map(|i| (i, points.direct(i))).collect();
        points
    }

    fn direct(&self, i: usize) -> [f64; 2] {
        let mut sum = [0.0; 2];
        for j in 0..self.x.len() {
            let (dx, dy) = (self.x[j] - self.x[i], self.y[j] - self.y[i]);
            let r2 = dx * dx + dy * dy;
            if r2 > 0.0 {
                sum[0] += (self.re[j] * dx + self.im[j] * dy) / r2;
                sum[1] += (self.im[j] * dx - self.re[j] * dy) / r2;
            }
        }
        sum
    }

    /// The greatest relative error and the relative L2 error at the targets.
    fn errors(&self, answer: &Answer) -> [f64; 2] {
        let vector = &answer.field.vector;
        let of = |(i, sum): &(usize, [f64; 2])| {
            [(vector[0][*i] - sum[0]).hypot(vector[1][*i] - sum[1]), sum[0].hypot(sum[1])]
        };
        let all: Vec<[f64; 2]> = self.targets.iter().map(of).collect();
        let most = all.iter().fold(0f64, |most, [off, size]| most.max(off / size));
        let [off, size] = [0, 1].map(|k| all.iter().map(|e| e[k] * e[k]).sum::<f64>());
        [most, (off / size).sqrt()]
    }
}
