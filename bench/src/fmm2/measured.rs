//! The data of the figures: runs on each device, as a file keeps them.

use gpu::cuda::plane::STAGES;
use pairforge::random::plane::Spread;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use terminal::failure::Failure;

/// The figure or table that a run is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// Points a box on one pyramid: Fig. 2.
    Boxes,
    /// Numbers of levels for some numbers of points: Fig. 3.
    Levels,
    /// The shares of the stages: Table 1.
    Shares,
    /// Order: Fig. 4.
    Order,
    /// Two numbers of levels by order: Fig. 5.
    Best,
    /// Number of points: Figs. 6 to 8.
    Size,
    /// Direct summation: Figs. 6 and 7.
    Direct,
    /// Three distributions: Fig. 9.
    Distribution,
    /// Standard deviation: Fig. 10.
    Sigma,
}

/// The parameters of a run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Case {
    pub what: What,
    pub spread: Spread,
    pub n: usize,
    pub order: usize,
    pub leaf: usize,
}

/// The results of the runs of a case.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Row {
    #[serde(flatten)]
    pub case: Case,
    /// N_l of (5.2).
    pub levels: usize,
    /// Of the runs without copies, sorted; there is at least one.
    pub seconds: Vec<f64>,
    /// Of sending points and strengths and fetching results; 0 on a CPU.
    pub copies: f64,
    /// Of each of [`STAGES`] in one run.
    pub stages: [f64; STAGES.len()],
    pub pairs: u64,
    pub m2l: u64,
    /// The greatest relative error of some targets: the norm (5.3).
    pub error: f64,
}

/// A number with six digits: no time is known better, and as text it comes back as it was.
pub fn rounded(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

impl Row {
    /// The middle of the runs, without copies; of two the shorter one, since what disturbs a run makes it longer.
    pub fn time(&self) -> f64 {
        self.seconds[(self.seconds.len() - 1) / 2]
    }

    /// With copies.
    pub fn total(&self) -> f64 {
        self.time() + self.copies
    }

    pub fn stage(&self, name: &str) -> f64 {
        STAGES.iter().position(|s| *s == name).map_or(0.0, |k| self.stages[k])
    }
}

/// All runs on one device.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Side {
    pub device: String,
    /// Of the CPU; none on a GPU.
    pub threads: Option<usize>,
    pub rows: Vec<Row>,
}

impl Side {
    pub fn is_gpu(&self) -> bool {
        self.threads.is_none()
    }

    /// As legends name it.
    pub fn name(&self) -> String {
        match self.threads {
            None => "GPU".into(),
            Some(1) => "CPU, 1 thread".into(),
            Some(threads) => format!("CPU, {threads} threads"),
        }
    }

    pub fn of(&self, what: What) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |r| r.case.what == what)
    }

    /// The runs of a kind at the number of points a box that takes least, one for each number of points, in their order.
    pub fn quickest(&self, what: What) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.of(what).collect();
        rows.sort_by(|a, b| a.case.n.cmp(&b.case.n).then(a.time().total_cmp(&b.time())));
        rows.dedup_by_key(|r| r.case.n);
        rows
    }
}

/// A file of runs.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    pub sides: Vec<Side>,
}

impl Measured {
    /// Reads files and joins them. Of runs on one device with as many threads, those of the last file count.
    pub fn read(paths: &[PathBuf]) -> Result<Measured, Failure> {
        let mut all = Measured::default();
        for path in paths {
            Measured::from_file(path)?.sides.into_iter().for_each(|side| all.add(side));
        }
        Ok(all)
    }

    fn from_file(path: &Path) -> Result<Measured, Failure> {
        let text = terminal::input::text(path, "; name a figures.json of `bench fmm2 --figures`")?;
        let wrong = |why: String| {
            Failure::file(
                path,
                format!("holds no runs that `pairforge-bench fmm2 --figures` wrote as figures.json: {why}"),
            )
        };
        let found: Measured = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
        found.sides.iter().try_for_each(|side| side.check().map_err(wrong))?;
        Ok(found)
    }

    pub fn add(&mut self, side: Side) {
        self.sides.retain(|old| (&old.device, old.threads) != (&side.device, side.threads));
        self.sides.push(side);
        // CPUs come first, the one with the fewest threads at the front: the paper's has one.
        self.sides.sort_by_key(|side| side.threads.unwrap_or(usize::MAX));
    }
}

impl Side {
    /// Says what in a file is no result of a run.
    fn check(&self) -> Result<(), String> {
        let is_time = |s: &f64| s.is_finite() && *s >= 0.0;
        for (k, row) in self.rows.iter().enumerate() {
            let is_run = !row.seconds.is_empty() && row.seconds.iter().all(|s| is_time(s) && *s > 0.0);
            if !is_run || !is_time(&row.copies) || !row.stages.iter().all(is_time) {
                return Err(format!("the times of run {k} on {} are no positive numbers", self.device));
            }
            let Case { n, order, leaf, .. } = row.case;
            if n == 0 || order == 0 || leaf == 0 || row.levels > 15 {
                return Err(format!(
                    "run {k} on {} is of no points, order, or leaf, or of too many levels",
                    self.device
                ));
            }
        }
        Ok(())
    }
}
