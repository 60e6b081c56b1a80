//! The report of a run on ranks: the seconds of each stage on each rank, work, messages and bytes.

use super::RankError;
use super::comm::{Comm, Traffic, barrier};
use fmm::octree::executor::Stage;
use fmm::octree::stats::Seconds;
use serde::Serialize;
use std::time::Instant;

/// The stages of a rank, in the order of the table. Waiting is for slower ranks, where one cannot go on without word of them.
pub const STAGES: [&str; 16] = [
    "sort", "boxes", "lists", "plan", "P2M", "M2M", "exchange", "M2L", "P2L", "L2L", "L2P", "M2P", "P2P", "results",
    "waiting", "total",
];

/// The names of the stages of a run: those of the far field, and P2P.
const STAGES_OF_RUN: [&str; 8] = ["P2M", "M2M", "M2L", "P2L", "L2L", "L2P", "M2P", "P2P"];

/// Adds up the seconds of stages.
pub struct Clock {
    start: Instant,
    last: Instant,
    pub seconds: [f64; STAGES.len()],
}

impl Default for Clock {
    fn default() -> Clock {
        let now = Instant::now();
        Clock { start: now, last: now, seconds: [0.0; STAGES.len()] }
    }
}

impl Clock {
    /// Gives the time since the last lap to a stage.
    pub fn lap(&mut self, stage: &str) {
        let now = Instant::now();
        self.add(stage, (now - self.last).as_secs_f64());
        self.last = now;
    }

    /// Waits for all ranks, of which all that comes next needs word. So no stage has the time for which another rank's work went on.
    pub fn wait(&mut self, comm: &dyn Comm) -> Result<(), RankError> {
        barrier(comm)?;
        self.lap("waiting");
        Ok(())
    }

    pub fn add(&mut self, stage: &str, seconds: f64) {
        let k = STAGES.iter().position(|s| *s == stage).expect("a stage of the table");
        self.seconds[k] += seconds;
    }

    /// Gives the time since the last lap to the stages that it was noted for.
    pub fn stages(&mut self, noted: &mut Seconds) {
        for (stage, name) in Stage::FAR.into_iter().chain([Stage::P2p]).zip(STAGES_OF_RUN) {
            self.add(name, *noted.of(stage));
        }
        self.last = Instant::now();
    }

    /// The time of the whole.
    pub fn end(&mut self) {
        self.add("total", self.start.elapsed().as_secs_f64());
    }
}

/// A stage over all ranks.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StageSpread {
    pub stage: &'static str,
    pub slowest: f64,
    pub mean: f64,
    /// The slowest over the mean, less 1.
    pub imbalance: f64,
}

/// The counts of a rank.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct RankCount {
    pub sources: u64,
    /// Its work by the model of costs, in seconds.
    pub work: f64,
    pub copies: u64,
    /// Boxes by type, as the paper names them.
    pub domestic: u64,
    pub export: u64,
    pub import: u64,
    pub root: u64,
    pub other: u64,
    pub messages: u64,
    pub bytes: u64,
    /// Ranks that it gets multipoles or particles from.
    pub neighbours: u64,
}

/// The whole.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct RanksReport {
    pub ranks: usize,
    /// How ranks are connected.
    pub by: String,
    pub stages: Vec<StageSpread>,
    /// The most work of a rank over the mean, less 1.
    pub imbalance: f64,
    /// Levels of boxes, see docs/method/ranks-algorithm.md.
    pub partition_level: u32,
    pub critical_level: u32,
    pub counts: Vec<RankCount>,
}

impl RankCount {
    pub fn traffic(&mut self, traffic: Traffic) {
        (self.messages, self.bytes) = (traffic.messages, traffic.bytes);
    }

    /// As numbers that ranks send.
    pub fn numbers(&self) -> Vec<f64> {
        let whole = [
            self.sources,
            self.copies,
            self.domestic,
            self.export,
            self.import,
            self.root,
            self.other,
            self.messages,
            self.bytes,
            self.neighbours,
        ];
        std::iter::once(self.work).chain(whole.map(|x| x as f64)).collect()
    }

    pub fn of(numbers: &[f64]) -> Option<RankCount> {
        let [work, rest @ ..] = numbers else { return None };
        let whole: Vec<u64> = rest.iter().map(|x| *x as u64).collect();
        let [sources, copies, domestic, export, import, root, other, messages, bytes, neighbours] = whole[..] else {
            return None;
        };
        let work = *work;
        Some(RankCount { sources, work, copies, domestic, export, import, root, other, messages, bytes, neighbours })
    }
}

/// Slowest, mean and imbalance of a column.
pub fn spread(stage: &'static str, seconds: &[f64]) -> StageSpread {
    let (slowest, sum) = seconds.iter().fold((0.0, 0.0), |(most, sum): (f64, f64), s| (most.max(*s), sum + s));
    let mean = sum / seconds.len().max(1) as f64;
    StageSpread { stage, slowest, mean, imbalance: if mean > 0.0 { slowest / mean - 1.0 } else { 0.0 } }
}
