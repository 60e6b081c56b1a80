//! The FMM on ranks, after the tables and figures of Hu, Gumerov and Duraiswami (2012): errors and times by order, weak and strong
//! scaling, what data structures and exchange take of the time, and their Eq. 3 beside it.

mod launch;
pub mod work;

use crate::Args;
use crate::model::{Case, Model};
use gpu::cuda::octree::MOST_ORDER;
use gpu::cuda::{compile, device};
use launch::{Launch, Run};
use serde::Serialize;
use std::fmt::Write;
use terminal::chart::{self, Axis, Chart, Series, Style, Unit};
use terminal::failure::Failure;
use terminal::{output, say};

/// Particles of a rank where `--n` gives none: few, so that the benchmark is quick.
const PARTICLES: u32 = 1 << 14;

/// Numbers of ranks, and orders of expansions; all but the table by order take the second.
const RANKS: [usize; 3] = [1, 2, 4];
const ORDERS: [usize; 4] = [4, 8, 12, 16];
const ORDER: usize = ORDERS[1];

/// Their Table II for these orders: relative errors of the potential in f32 and f64.
const THEIRS: [[f64; 4]; 2] = [[3.4e-4, 1.2e-6, 3.7e-7, 1.3e-7], [3.3e-4, 9.4e-7, 4.1e-8, 4.6e-9]];

const DISTRIBUTIONS: [&str; 2] = ["uniform", "sphere"];

/// The table that a run belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Table {
    Orders,
    Sizes,
    Weak,
    Strong,
}

/// A row of a table.
#[derive(Clone, Serialize)]
pub struct Row {
    pub table: Table,
    #[serde(flatten)]
    pub run: Run,
    /// Medians of the seconds: of the whole, of the stages of the FMM, of sort, boxes, lists and plan, and of the exchange; of the
    /// slowest rank each.
    pub total: f64,
    pub stages: f64,
    pub data: f64,
    pub exchange: f64,
    /// The shares of the whole: of data structures and exchange, and of sort, boxes and exchange alone: lists and plan are made
    /// without ranks too. On GPUs, where data structures are box and sort, the latter is that of what the GPUs do.
    pub share: f64,
    pub of_ranks: f64,
    /// Relative L2 errors at 500 targets.
    pub potential_error: f64,
    pub gradient_error: f64,
    pub messages: u64,
    pub bytes: u64,
    pub boxes: u64,
    pub critical_level: u64,
}

/// The constants of Eq. 3, and for each run on several ranks what it gives beside what was measured.
#[derive(Serialize)]
struct Equation {
    a0: f64,
    a1_mu: f64,
    a2: f64,
    runs: Vec<[f64; 4]>,
}

#[derive(Serialize)]
struct Figures<'a> {
    ranks_by: &'a str,
    cores: usize,
    repeat: u32,
    rows: &'a [Row],
    /// Boxes, ranks, seconds measured, and seconds by the equation.
    #[serde(skip_serializing_if = "Option::is_none")]
    equation_3: Option<Equation>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    if let Err(why) = device::found().and_then(|_| compile::check())
        && args.on_gpus
    {
        return Err(Failure::Tool(why.to_string()));
    }
    let launch = Launch::new(args.mpirun.as_deref(), args.repeat, args.on_gpus)?;
    let n = args.n.unwrap_or(PARTICLES) as usize;
    let most = RANKS[RANKS.len() - 1];
    let mut rows = orders(&launch, n * most)?;
    rows.extend(sizes(&launch, n)?);
    for distribution in DISTRIBUTIONS {
        let plain = |n, ranks| Run { distribution, n, ranks, order: ORDER, precision: "f32" };
        rows.extend(scaling(&launch, Table::Weak, |ranks| plain(n * ranks, ranks))?);
        rows.extend(scaling(&launch, Table::Strong, |ranks| plain(n * most, ranks))?);
    }
    // GPUs make no boxes that it counts.
    let equation_3 = if args.on_gpus { None } else { Some(equation(&rows)?) };
    say!(
        "  input: charges in [0, 1), seed 1, solid harmonics; medians of {} runs, of the slowest rank each;",
        args.repeat
    )?;
    let data = match args.on_gpus {
        true => {
            "data: box and sort on the GPU, in new room; exchange: between GPUs, and what links them; share: both; of ranks: both, of all that GPUs do"
        }
        false => "data: sort, boxes, lists and plan; share: data and exchange; of ranks: sort, boxes and exchange",
    };
    say!("  {data}. Ranks: {}", launch.what())?;
    if args.names != ["mpi"] {
        return Ok(());
    }
    if let Some(path) = &args.json {
        let (ranks_by, cores, repeat) = (launch.what(), launch.cores, args.repeat);
        output::write_json(path, &Figures { ranks_by, cores, repeat, rows: &rows, equation_3 })?;
    }
    if let Some(path) = &args.csv {
        output::write_text(path, &csv(&rows))?;
    }
    if let Some(path) = &args.svg {
        output::write_text(path, &svg(&rows, launch.what()))?;
    }
    Ok(())
}

/// Table II: errors and seconds by order, in f32 and f64.
fn orders(launch: &Launch, n: usize) -> Result<Vec<Row>, Failure> {
    say!("  Table II: one rank, {n} uniform particles; in brackets the error of the paper, for 2^20 particles")?;
    say!("  {:>5} {:>5} {:>10} {:>28} {:>11}", "prec", "p", "seconds", "error of the potential", "gradient")?;
    let mut rows = Vec::new();
    for (precision, theirs) in ["f32", "f64"].into_iter().zip(THEIRS) {
        let is_run = |order: usize| !launch.on_gpus || order <= MOST_ORDER;
        for (order, theirs) in ORDERS.into_iter().zip(theirs).filter(|(order, _)| is_run(*order)) {
            let run = Run { distribution: DISTRIBUTIONS[0], n, ranks: 1, order, precision };
            let row = launch.measure(Table::Orders, run)?;
            let (potential, gradient) = (row.potential_error, row.gradient_error);
            say!(
                "  {precision:>5} {order:>5} {:>10.4} {potential:>14.1e} ({theirs:>10.1e}) {gradient:>11.1e}",
                row.total
            )?;
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Table III and Fig. 12: seconds of one rank by the number of particles.
fn sizes(launch: &Launch, n: usize) -> Result<Vec<Row>, Failure> {
    say!("  Table III, Fig. 12: one rank, uniform particles, order {ORDER} in f32")?;
    head()?;
    let mut rows = Vec::new();
    for n in [n, 2 * n, 4 * n] {
        let row = launch
            .measure(Table::Sizes, Run { distribution: "uniform", n, ranks: 1, order: ORDER, precision: "f32" })?;
        show(&row, "")?;
        rows.push(row);
    }
    Ok(rows)
}

/// Table IV and Fig. 9, with as many particles on each rank, or Figs. 10 and 11, with as many in all.
fn scaling(launch: &Launch, table: Table, run: impl Fn(usize) -> Run) -> Result<Vec<Row>, Failure> {
    let of = run(1).distribution;
    match table {
        Table::Weak => {
            say!("  weak scaling (Table IV, Fig. 9): {of}, {} particles a rank, order {ORDER} in f32", run(1).n)?
        }
        _ => say!("  strong scaling (Figs. 10, 11): {of}, {} particles, order {ORDER} in f32", run(1).n)?,
    }
    head()?;
    let mut rows: Vec<Row> = Vec::new();
    for ranks in RANKS {
        let row = launch.measure(table, run(ranks))?;
        let first = rows.first().map_or(row.total, |first| first.total);
        let ideal = if table == Table::Weak { first } else { first / ranks as f64 };
        show(&row, &format!("{:.0}%", 100.0 * ideal / row.total))?;
        rows.push(row);
    }
    Ok(rows)
}

fn head() -> Result<(), Failure> {
    say!(
        "  {:>9} {:>5} {:>10} {:>10} {:>10} {:>10} {:>7} {:>8} {:>10} {:>8} {:>8}",
        "particles",
        "ranks",
        "seconds",
        "stages",
        "data",
        "exchange",
        "share",
        "of ranks",
        "efficiency",
        "messages",
        "MB"
    )
}

fn show(row: &Row, efficiency: &str) -> Result<(), Failure> {
    say!(
        "  {:>9} {:>5} {:>10.4} {:>10.4} {:>10.4} {:>10.4} {:>6.1}% {:>7.1}% {efficiency:>10} {:>8} {:>8.2}",
        row.run.n,
        row.run.ranks,
        row.total,
        row.stages,
        row.data,
        row.exchange,
        100.0 * row.share,
        100.0 * row.of_ranks,
        row.messages,
        row.bytes as f64 / 1e6
    )
}

/// Eq. 3 fitted to what data structures and exchange take on several ranks, without the sort, which it leaves out.
fn equation(rows: &[Row]) -> Result<Equation, Failure> {
    let terms = ((ORDER + 1) * (ORDER + 1)) as f64;
    let several = || rows.iter().filter(|row| row.run.ranks > 1);
    let case = |row: &Row| {
        let (boxes, critical_level) = (row.boxes as f64, row.critical_level as f64);
        (Case { boxes, ranks: row.run.ranks as f64, terms, critical_level }, row.data + row.exchange)
    };
    let cases: Vec<(Case, f64)> = several().map(case).collect();
    let model = Model::fit(&cases, true);
    let [a0, a1_mu, a2] = model.constants;
    say!("  Eq. 3 fitted to data and exchange: a0 {a0:.2e} s, a1 mu {a1_mu:.2e} s, a2 {a2:.2e} s")?;
    say!("  {:>9} {:>9} {:>5} {:>8} {:>12} {:>12}", "", "particles", "ranks", "boxes", "measured, s", "Eq. 3, s")?;
    let mut runs = Vec::new();
    for (row, (case, measured)) in several().zip(&cases) {
        let (Run { distribution, n, ranks, .. }, boxes) = (&row.run, row.boxes);
        let fitted = model.seconds(case);
        say!("  {distribution:>9} {n:>9} {ranks:>5} {boxes:>8} {measured:>12.4} {fitted:>12.4}")?;
        runs.push([case.boxes, case.ranks, *measured, fitted]);
    }
    Ok(Equation { a0, a1_mu, a2, runs })
}

fn csv(rows: &[Row]) -> String {
    let mut out = String::from(
        "table,distribution,precision,order,particles,ranks,seconds,stages,data,exchange,share,of_ranks,potential_error,gradient_error,messages,\
         bytes,boxes,critical_level\n",
    );
    for row in rows {
        let Run { distribution, n, ranks, order, precision } = &row.run;
        let table = match row.table {
            Table::Orders => "orders",
            Table::Sizes => "sizes",
            Table::Weak => "weak",
            Table::Strong => "strong",
        };
        let seconds = [
            row.total,
            row.stages,
            row.data,
            row.exchange,
            row.share,
            row.of_ranks,
            row.potential_error,
            row.gradient_error,
        ];
        let seconds = seconds.map(|x| format!("{x:?}")).join(",");
        let counts = [row.messages, row.bytes, row.boxes, row.critical_level].map(|x| x.to_string()).join(",");
        let _ = writeln!(out, "{table},{distribution},{precision},{order},{n},{ranks},{seconds},{counts}");
    }
    out
}

/// Seconds by ranks: of the whole, and what data structures and exchange take of it, beside perfect scaling.
fn svg(rows: &[Row], ranks_by: &str) -> String {
    let mut series = Vec::new();
    for (k, (table, name)) in [(Table::Weak, "a rank"), (Table::Strong, "in all")].into_iter().enumerate() {
        for (j, distribution) in DISTRIBUTIONS.into_iter().enumerate() {
            let of = rows.iter().filter(|r| r.table == table && r.run.distribution == distribution);
            let of: Vec<&Row> = of.collect();
            let Some(first) = of.first() else { continue };
            let line = |seconds: &dyn Fn(&Row) -> f64| {
                of.iter().map(|r| (r.run.ranks as f64, seconds(r))).collect::<Vec<(f64, f64)>>()
            };
            let (colour, n) = (2 * k + j, first.run.n);
            series.push(Series::new(format!("{distribution}, {n} {name}"), colour, Style::Line, line(&|r| r.total)));
            let beside = line(&|r| r.data + r.exchange);
            series.push(Series::new("data structures, exchange", colour, Style::Dashed, beside));
            if j == 0 {
                let ideal = |r: &Row| first.total / if k == 0 { 1.0 } else { r.run.ranks as f64 };
                series.push(Series::new("perfect scaling", chart::BESIDE, Style::Curve, line(&ideal)));
            }
        }
    }
    Chart {
        title: "An FMM on ranks: seconds of the slowest one".into(),
        note: format!("Ranks: {ranks_by}"),
        x: Axis::log("ranks P"),
        y: Axis::log("seconds").of(Unit::Seconds),
        series,
        rules: Vec::new(),
    }
    .svg()
}
