//! The input and output files of an FMM in two dimensions.

use super::super::fmm::files::{Memory, save};
use super::super::fmm::roofline;
use super::{Args, BYTES_A_POINT, ChargeArg, DistArg, KernelArg, table};
use fmm::data::plane::{Distribution, Points};
use fmm::data::random::Charge;
use fmm::octree::MOST_PARTICLES;
use fmm::plane::Solution;
use fmm::plane::stats::Stats;
use pairforge::plane::Geometry;
use pg2::graph::Graph;
use pipelines::predict::roofline::Prediction;
use terminal::failure::Failure;
use terminal::files::{self, Files};
use terminal::report::Data;
use terminal::{memory, output, particles};

impl Args {
    pub fn files(&self) -> Files {
        let files = Files::default().particles("--particles", &self.particles).particles("--targets", &self.targets);
        self.predict
            .files(files.kernels("--p2p", &self.p2p))
            .writes("-o", &self.output, files::TABLE)
            .writes("--json", &self.json, files::JSON)
            .writes("--report", &self.report, files::HTML)
            .writes("--save-particles", &self.save_particles, files::TABLE)
    }
}

pub fn points(args: &Args) -> Result<Points, Failure> {
    let Some(path) = &args.particles else {
        if args.n > MOST_PARTICLES {
            return Err(Failure::Usage(format!("--n takes up to {MOST_PARTICLES} particles, not {}", args.n)));
        }
        memory::check(args.n as u64 * BYTES_A_POINT, format!("an FMM of {} points", args.n))?;
        let distribution = match args.dist {
            DistArg::Uniform => Distribution::Uniform,
            DistArg::Normal => Distribution::Normal,
            DistArg::Layer => Distribution::Layer,
        };
        let charge = match args.charge {
            ChargeArg::Random => Charge::Random,
            ChargeArg::Positive => Charge::Positive,
            ChargeArg::Mass => Charge::Mass,
        };
        return Ok(Points::random(args.n, distribution, charge, args.complex, args.seed));
    };
    particles::read(path, &particles::PLANE_SOURCES, args.text)
}

/// The targets, where they are not the sources.
pub fn targets(args: &Args) -> Result<Option<[Vec<f64>; 2]>, Failure> {
    let Some(path) = &args.targets else { return Ok(None) };
    particles::read(path, &particles::PLANE_TARGETS, args.text).map(Some)
}

/// The results as columns of a file.
fn columns(args: &Args, solutions: &[Solution]) -> Vec<(String, Vec<f64>)> {
    let suffix = |set: usize| if set == 0 { "" } else { "_im" };
    let of = |(set, solution): (usize, &Solution)| {
        let [a, b] = solution.field.vector.clone();
        match args.kernel {
            KernelArg::Harmonic => vec![("re".to_string(), a), ("im".to_string(), b)],
            KernelArg::Log => {
                let named = |name: &str| format!("{name}{}", suffix(set));
                vec![(named("potential"), solution.field.potential.clone()), (named("gx"), a), (named("gy"), b)]
            }
        }
    };
    solutions.iter().enumerate().flat_map(of).collect()
}

/// The keys of `--json`.
#[derive(serde::Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    stats: &'a Stats,
    memory: Memory,
    /// P2P as other machines would take it, with `--report`.
    #[serde(skip_serializing_if = "Option::is_none")]
    machines: Option<Vec<Prediction>>,
}

/// Writes what was asked for, with P2P as GPUs and boards would take it in the report.
pub fn write(
    args: &Args,
    at: &Geometry,
    (solutions, stats): (&[Solution], &Stats),
    p2p: &Graph,
) -> Result<(), Failure> {
    if let Some(path) = &args.output {
        let columns = columns(args, solutions);
        let columns: Vec<(String, &[f64])> = columns.iter().map(|(name, c)| (name.clone(), &c[..])).collect();
        save(path, &columns, &at.targets.unwrap_or(at.sources))?;
    }
    let mut report = Report { stats, memory: Memory { peak: memory::peak() }, machines: None };
    if args.report.is_some() && args.targets.is_none() {
        let ran = roofline::Ran { n: stats.n, pairs: stats.pairs.p2p };
        report.machines = Some(roofline::predictions(p2p, &args.engine, &ran)?);
    }
    if let Some(path) = &args.json {
        output::write_json(path, &report)?;
    }
    if let Some(path) = &args.report {
        output::write_text(path, &table::page(stats, &Data::new(&report)).html()?)?;
    }
    output::print(&table::text(stats))
}
