//! Thousands of ranks without the physics: balance, types of boxes, messages and bytes, beside the paper's growth; and its model of
//! the time that communication takes.

mod simulate;

use crate::Args;
use crate::model::{Case, Model};
use fmm::data::problem::Geometry;
use fmm::data::random::{Distribution, generate};
use fmm::expansion::basis::Basis;
use fmm::octree::tune::cost::Costs;
use fmm::octree::{FmmOptions, MOST_PARTICLES, Precision};
use ranks::prepare::Slice;
use ranks::solve::solve;
use ranks::{RankError, threads};
use simulate::{Simulated, SimulatedProblem};
use std::fmt::Write;
use terminal::chart::{self, Axis, Chart, Style};
use terminal::failure::Failure;
use terminal::{output, say};

/// Particles for each of the most ranks unless others are asked for; the model is fitted to runs with these parts of all.
const PARTICLES: usize = 256;
const MEASURED: [usize; 2] = [32, 8];
const MEASURED_RANKS: [usize; 4] = [1, 2, 4, 8];

const DISTRIBUTIONS: [(&str, Distribution); 3] =
    [("uniform", Distribution::Uniform), ("sphere", Distribution::Sphere), ("plummer", Distribution::Plummer)];

fn options() -> FmmOptions {
    FmmOptions { order: 4, leaf: 32, basis: Basis::Solid, precision: Precision::F32, ..FmmOptions::default() }
}

fn failed(e: RankError) -> Failure {
    Failure::Input(e.to_string())
}

/// A distribution on each number of ranks.
struct Series {
    name: &'static str,
    rows: Vec<Simulated>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let most = args.ranks as usize;
    let powers = (0..).map(|k| 4usize << (2 * k)).take_while(|p| *p < most).chain([most]);
    let ranks: Vec<usize> = powers.collect();
    let (options, costs) = (options(), Costs::default());
    let n = args.n.map_or(PARTICLES, |n| n as usize) * most;
    if n > MOST_PARTICLES {
        let text = format!(
            "{n} particles are more than the {MOST_PARTICLES} that are possible; give a smaller --n or fewer --ranks"
        );
        return Err(Failure::Input(text));
    }
    let mut all = Vec::new();
    for (name, distribution) in DISTRIBUTIONS {
        let particles = generate(n, distribution, distribution.default_charge(), 1);
        let whole = SimulatedProblem::new(particles.columns(), &options, &costs).map_err(failed)?;
        say!("  {name}: {} boxes", whole.boxes())?;
        say!(
            "  {:>6} {:>9} {:>9} {:>6} {:>8} {:>9} {:>9} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "ranks",
            "imbalance",
            "leaf",
            "levels",
            "export",
            "import",
            "most/rank",
            "neighbours",
            "messages",
            "MB",
            "far MB",
            "manager",
            "MB"
        )?;
        let rows: Vec<Simulated> = ranks.iter().map(|ranks| whole.on(*ranks)).collect();
        for r in &rows {
            let mb = |bytes: u64| format!("{:.2}", bytes as f64 / 1e6);
            say!(
                "  {:>6} {:>8.1}% {:>8.1}% {:>6} {:>8} {:>9} {:>9} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9}",
                r.ranks,
                100.0 * r.imbalance,
                100.0 * r.heaviest_leaf,
                format!("{}, {}", r.partition_level, r.critical_level),
                r.export,
                r.import,
                r.most_import,
                r.most_neighbours,
                r.messages,
                mb(r.multipole_bytes + r.copy_bytes + r.shared_bytes),
                mb(r.multipole_bytes + r.shared_bytes),
                r.manager_messages,
                mb(r.manager_bytes)
            )?;
        }
        if let Some(growth) = growth(&rows) {
            say!("  bytes of multipoles grow as P^{growth:.2} (the paper's estimate: P^0.33)")?;
        }
        all.push(Series { name, rows });
    }
    say!(
        "  input: {n} particles, seed 1, leaf 32, order 4, solid harmonics. `levels`: partition and critical level; `messages`, `MB`: direct"
    )?;
    say!(
        "  ones, with multipoles, copies of particles and shared boxes; `far MB`: without the copies. `manager`, `MB`: messages and bytes if"
    )?;
    say!(
        "  multipoles go by way of one rank, as in the paper, and all boxes at the critical level to all; all bytes pass through that rank."
    )?;
    say!(
        "  `leaf`: the work of the heaviest leaf over the mean of a rank. No cuts between whole leaves have a lesser imbalance"
    )?;
    model(&all[0], n, &options, &costs)?;
    if let Some(path) = &args.csv {
        output::write_text(path, &csv(&all))?;
    }
    if let (Some(path), true) = (&args.svg, args.names == ["ranks"]) {
        output::write_text(path, &svg(&all, n))?;
    }
    Ok(())
}

/// The power of the number of ranks that bytes of multipoles grow with: least squares of the logarithms from 16 ranks on.
fn growth(rows: &[Simulated]) -> Option<f64> {
    let used: Vec<[f64; 2]> = rows
        .iter()
        .filter(|r| r.ranks >= 16 && r.multipole_bytes > 0)
        .map(|r| [(r.ranks as f64).ln(), (r.multipole_bytes as f64).ln()])
        .collect();
    let n = used.len() as f64;
    let mean = |k: usize| used.iter().map(|u| u[k]).sum::<f64>() / n;
    let (x, y) = (mean(0), mean(1));
    let (above, below) =
        used.iter().fold((0.0, 0.0), |(a, b), u| (a + (u[0] - x) * (u[1] - y), b + (u[0] - x).powi(2)));
    (used.len() >= 2).then(|| above / below)
}

/// Eq. 3 fitted to what ranks that are threads of this process take for boxes, plan and exchange.
fn model(uniform: &Series, most: usize, options: &FmmOptions, costs: &Costs) -> Result<(), Failure> {
    let mut cases = Vec::new();
    for n in MEASURED.map(|part| most / part) {
        let particles = generate(n, Distribution::Uniform, Distribution::Uniform.default_charge(), 1);
        for ranks in MEASURED_RANKS {
            let mut seconds: Vec<f64> = Vec::new();
            let mut case = None;
            for _ in 0..3 {
                let found = threads::run(ranks, |comm| {
                    let range = n * comm.rank() / ranks..n * (comm.rank() + 1) / ranks;
                    let geometry = Geometry::from(particles.columns().map(|c| &c[range.clone()]));
                    let sets = vec![particles.q[range.clone()].into()];
                    let slice =
                        Slice { geometry, sets, hessian: false, options, costs, kernel: None, p2p: options.precision };
                    solve(comm, &slice, &mut [])
                });
                let report = found.into_iter().next().expect("there is a rank").map_err(failed)?.report;
                let of = |name: &str| report.stages.iter().find(|s| s.stage == name).map_or(0.0, |s| s.slowest);
                seconds.push(of("boxes") + of("lists") + of("plan") + of("exchange"));
                let boxes = report.counts.iter().map(|c| c.domestic + c.export).sum::<u64>() as f64;
                let (terms, critical_level) = (25.0, report.critical_level as f64);
                case = Some(Case { boxes, ranks: ranks as f64, terms, critical_level });
            }
            seconds.sort_unstable_by(f64::total_cmp);
            cases.extend(case.map(|case| (case, seconds[1])));
        }
    }
    let model = Model::fit(&cases, true);
    let [a0, a1, a2] = model.constants;
    say!("  Eq. 3 fitted to boxes, plan and exchange: a0 {a0:.2e} s, a1 mu {a1:.2e} s, a2 {a2:.2e} s")?;
    say!("  {:>8} {:>6} {:>12} {:>12}", "boxes", "ranks", "measured, s", "Eq. 3, s")?;
    for (case, seconds) in &cases {
        say!("  {:>8} {:>6} {seconds:>12.4} {:>12.4}", case.boxes, case.ranks, model.seconds(case))?;
    }
    for r in &uniform.rows {
        let (boxes, ranks, terms) = (r.boxes as f64, r.ranks as f64, 25.0);
        let case = Case { boxes, ranks, terms, critical_level: r.critical_level as f64 };
        say!("  {:>8} {:>6} {:>12} {:>12.4}", r.boxes, r.ranks, "-", model.seconds(&case))?;
    }
    say!(
        "  measured: threads of this process on {} cores, uniform particles, median of 3; the slowest rank",
        rayon::current_num_threads()
    )
}

fn csv(all: &[Series]) -> String {
    let mut out = String::from(
        "distribution,ranks,imbalance,heaviest_leaf,partition_level,critical_level,boxes,domestic,export,import,root,most_import,copies,\
         most_copies,most_neighbours,messages,multipole_bytes,copy_bytes,shared_bytes,manager_messages,manager_bytes,most_bytes\n",
    );
    for Series { name, rows, .. } in all {
        for r in rows {
            let numbers = [
                r.boxes,
                r.domestic,
                r.export,
                r.import,
                r.root,
                r.most_import,
                r.copies,
                r.most_copies,
                r.most_neighbours,
                r.messages,
                r.multipole_bytes,
                r.copy_bytes,
                r.shared_bytes,
                r.manager_messages,
                r.manager_bytes,
                r.most_bytes,
            ];
            let levels = format!("{},{}", r.partition_level, r.critical_level);
            let _ = writeln!(
                out,
                "{name},{},{:?},{:?},{levels},{}",
                r.ranks,
                r.imbalance,
                r.heaviest_leaf,
                numbers.map(|x| x.to_string()).join(",")
            );
        }
    }
    out
}

/// Bytes of multipoles by ranks, with the growth that the paper estimates.
fn svg(all: &[Series], n: usize) -> String {
    let first = &all[0].rows;
    let estimate = |r: &Simulated| first[0].multipole_bytes as f64 * (r.ranks as f64 / first[0].ranks as f64).cbrt();
    let estimated = first.iter().map(|r| (r.ranks as f64, estimate(r))).collect();
    let mut series = vec![chart::Series::new("P^(1/3)", chart::BESIDE, Style::Curve, estimated)];
    for (k, Series { name, rows }) in all.iter().enumerate() {
        let points = rows.iter().map(|r| (r.ranks as f64, r.multipole_bytes as f64)).collect();
        series.push(chart::Series::new(*name, k, Style::Line, points));
    }
    Chart {
        title: format!("Bytes of multipoles that ranks exchange, {n} particles"),
        note: String::new(),
        x: Axis::log("ranks P"),
        y: Axis::log("bytes"),
        series,
        rules: Vec::new(),
    }
    .svg()
}
