//! The time that an FMM would take with P2P, or P2P and M2L, on a board that is not there: its link and its engine's clocks are modelled,
//! and all else runs on this machine.
//!
//! A [`Machine`] is the board with engines on it. A [`Question`] runs the FMM with its model for several leaf sizes, and [`Report`] has
//! the times and the best leaf size.

pub mod fill;
pub mod machine;
pub mod part;
#[cfg(feature = "mpi")]
pub mod ranks;

pub use machine::Machine;

use super::kernels::Kernels;
use fmm::octree::stats::{Pairs, PerKernel, Seconds, Stats};
use pipelines::predict::LinkUse;
use serde::Serialize;

/// An FMM whose times on a board are asked for.
pub struct Question<'a, E> {
    pub kernels: &'a Kernels,
    /// The kind of points: particles, or points of a plane.
    pub what: &'static str,
    pub n: usize,
    pub order: usize,
    pub theta: f64,
    pub leaf: usize,
    /// Number of ranks that share it, where several do.
    pub ranks: Option<usize>,
    /// Runs it with a leaf size and P2P, or P2P and M2L, on the model of a board.
    pub run: &'a dyn Fn(usize, &Machine) -> Result<Ran, E>,
}

/// The times of a run, with those of a board that is not there.
pub struct Ran {
    pub seconds: Seconds,
    pub pairs: Pairs,
    pub cycles: PerKernel<Option<u64>>,
    pub utilisation: PerKernel<Option<f64>>,
    /// The use of the board's link, and how much of the run the model took in its place.
    pub seen: LinkUse,
    pub modelled: f64,
    /// Seconds in which ranks exchanged multipoles and results, where there are ranks.
    pub exchange: Option<f64>,
}

impl Ran {
    /// A run of one process, whose P2P, and M2L if that is on the board, the model took.
    pub fn alone(stats: Stats, kernels: &Kernels, seen: LinkUse) -> Ran {
        let Stats { seconds, pairs, cycles, utilisation, .. } = stats;
        let modelled = seconds.p2p + if kernels.m2l.is_some() { seconds.m2l } else { 0.0 };
        Ran { seconds, pairs, cycles, utilisation, seen, modelled, exchange: None }
    }
}

/// The prediction, in the keys that docs/reference/json.md names.
#[derive(Serialize)]
pub struct Report {
    #[serde(skip)]
    pub what: &'static str,
    pub board: &'static str,
    pub kernel: String,
    pub n: usize,
    /// Ranks with a board each, where several share it. Seconds are those of the slowest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<usize>,
    pub order: usize,
    pub theta: f64,
    pub pipelines: u32,
    pub clock_mhz: f64,
    pub baud: u32,
    /// The link in words.
    pub link: String,
    pub turnaround_ms: f64,
    /// The names of the seconds that are predicted and of those that were measured on this CPU.
    pub predicted: Vec<&'static str>,
    pub measured: Vec<&'static str>,
    /// The engines, that of P2P first.
    pub engines: Vec<Engine>,
    /// The command that makes the bitstream of a board that was filled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synth: Option<String>,
    /// Of the leaf size that was asked for.
    #[serde(flatten)]
    pub asked: Row,
    pub seconds: Seconds,
    /// The time of exchanges between ranks, measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange_seconds: Option<f64>,
    pub pairs: Pairs,
    /// Of P2P.
    pub cycles: Option<u64>,
    pub utilisation: Option<f64>,
    /// Of M2L on the board.
    pub m2l_cycles: Option<u64>,
    pub m2l_utilisation: Option<f64>,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub joules: Option<f64>,
    pub best_leaf: usize,
    pub leaves: Vec<Row>,
}

/// An engine on the board.
#[derive(Serialize)]
pub struct Engine {
    pub kernel: String,
    pub pipelines: u32,
    pub groups: u32,
    pub ii: u32,
    /// Filters in front of each pipeline.
    #[serde(skip_serializing_if = "is_none")]
    pub filters: u32,
    /// Such engines on the device.
    #[serde(skip_serializing_if = "is_one")]
    pub count: u32,
}

fn is_none(filters: &u32) -> bool {
    *filters == 0
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

/// The stages in the order of the report.
const STAGES: [&str; 9] = ["tree", "p2m", "m2m", "m2l", "l2l", "l2p", "m2p", "p2l", "p2p"];

/// A leaf size.
#[derive(Clone, Serialize)]
pub struct Row {
    pub leaf: usize,
    pub p2p_seconds: f64,
    pub cpu_seconds: f64,
    pub total_seconds: f64,
    /// Pairs of P2P in the seconds of P2P.
    pub pairs_per_second: f64,
}

/// Everything about one leaf size.
struct One {
    row: Row,
    seconds: Seconds,
    pairs: Pairs,
    cycles: PerKernel<Option<u64>>,
    utilisation: PerKernel<Option<f64>>,
    seen: LinkUse,
    exchange: Option<f64>,
}

/// Leaf sizes that are looked at first.
const LEAVES: [usize; 7] = [16, 32, 64, 128, 256, 512, 1024];

impl<E> Question<'_, E> {
    /// Everything about the leaf size that was asked for, and the best one.
    pub fn report(&self, machine: &Machine) -> Result<Report, E> {
        let kernels = self.kernels;
        let asked = self.one(machine, self.leaf)?;
        let mut rows = vec![asked.row.clone()];
        let look = |leaf: usize, rows: &mut Vec<Row>| -> Result<(), E> {
            if leaf > 0 && rows.iter().all(|r| r.leaf != leaf) {
                rows.push(self.one(machine, leaf)?.row);
            }
            Ok(())
        };
        let best =
            |rows: &[Row]| rows.iter().min_by(|a, b| a.total_seconds.total_cmp(&b.total_seconds)).map(|r| r.leaf);
        // From the number of particles on, all leaf sizes are one.
        let most = self.n.max(LEAVES[0]);
        for leaf in LEAVES.into_iter().filter(|l| *l < 2 * most) {
            look(leaf, &mut rows)?;
        }
        // Then half way to both neighbours.
        if let Some(found) = best(&rows) {
            for step in [std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::SQRT_2] {
                look((found as f64 * step).round() as usize, &mut rows)?;
            }
        }
        let is_predicted = |stage: &str| stage == "p2p" || stage == "m2l" && kernels.m2l.is_some();
        let best_leaf = best(&rows).unwrap_or(self.leaf);
        rows.sort_by_key(|r| r.leaf);
        Ok(Report {
            what: self.what,
            board: machine.name,
            kernel: kernels.p2p.name.clone(),
            n: self.n,
            ranks: self.ranks,
            order: self.order,
            theta: self.theta,
            pipelines: machine.boards[0].engines[0].0.pipelines * machine.boards[0].count,
            engines: machine.engines(),
            synth: machine.synth.clone(),
            clock_mhz: machine.clock_mhz,
            baud: machine.link.line.baud(),
            turnaround_ms: machine.link.turnaround_ms,
            predicted: STAGES.into_iter().filter(|stage| is_predicted(stage)).collect(),
            measured: STAGES.into_iter().filter(|stage| !is_predicted(stage)).collect(),
            link: machine.link.words(),
            joules: match (machine.joules_per_pair, machine.watts) {
                (Some(joules), _) => Some(joules * asked.pairs.p2p as f64),
                (None, watts) => watts.map(|watts| watts * asked.seen.seconds),
            },
            asked: asked.row,
            seconds: asked.seconds,
            exchange_seconds: asked.exchange,
            pairs: asked.pairs,
            cycles: asked.cycles.p2p,
            utilisation: asked.utilisation.p2p,
            m2l_cycles: asked.cycles.m2l,
            m2l_utilisation: asked.utilisation.m2l,
            bytes_in: asked.seen.bytes_in,
            bytes_out: asked.seen.bytes_out,
            best_leaf,
            leaves: rows,
        })
    }

    /// Runs an FMM whose P2P, and M2L if that is on the board, go through the model of the board.
    fn one(&self, machine: &Machine, leaf: usize) -> Result<One, E> {
        let Ran { mut seconds, pairs, cycles, utilisation, seen, modelled, exchange } = (self.run)(leaf, machine)?;
        let cpu = seconds.total - modelled;
        (seconds.p2p, seconds.total) = (seen.seconds, cpu + seen.seconds);
        if self.kernels.m2l.is_some() {
            // Both are done when the board is: it runs them at the same time.
            seconds.m2l = 0.0;
        }
        let row = Row {
            leaf,
            p2p_seconds: seen.seconds,
            cpu_seconds: cpu,
            total_seconds: seconds.total,
            pairs_per_second: if seen.seconds > 0.0 { pairs.p2p as f64 / seen.seconds } else { 0.0 },
        };
        Ok(One { row, seconds, pairs, cycles, utilisation, seen, exchange })
    }
}
