//! The sources that act on each target: all on all, those in cells nearby, or those that a file lists.

use fmm::shown;
use hdl::{Flags, Format};
use pg2::graph::Graph;
use pipelines::cells::{self, Reach, Report};
use pipelines::job::{Backend, Job, Run, SourceRange, Table};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use terminal::csv::{self, Column};
use terminal::failure::Failure;
use terminal::files::Files;

#[derive(clap::Args)]
pub struct Which {
    /// Leave out what is farther apart than RC
    ///
    /// Particles are sorted into cells of at least that width by `xi` and `xj`, and only neighbouring cells meet.
    #[arg(long, value_name = "RC", allow_negative_numbers = true, value_parser = length)]
    cells: Option<f64>,
    /// The box is periodic, with this side, or these sides separated by commas
    #[arg(long, value_name = "L", requires = "cells", value_delimiter = ',', allow_negative_numbers = true,
          value_parser = length)]
    periodic: Option<Vec<f64>>,
    /// Run what a CSV file lists: columns i_first, i_count, j_first, j_count
    #[arg(long, value_name = "FILE", conflicts_with = "cells")]
    segments: Option<PathBuf>,
}

impl Which {
    pub fn files(&self, files: Files) -> Files {
        files.data("--segments", &self.segments)
    }
}

fn length(text: &str) -> Result<f64, String> {
    let good = text.parse().ok().filter(|x: &f64| x.is_finite() && *x > 0.0);
    good.ok_or_else(|| "not a length above 0".to_string())
}

/// The tables in the order in which they are run, and what acts on what.
pub struct Work {
    targets: Table,
    sources: Table,
    runs: Vec<Run>,
    segments: Vec<SourceRange>,
    plan: Option<cells::CellLists>,
    pub cells: Option<Report>,
}

impl Work {
    /// `backend` says in which formats the tables are.
    pub fn new(
        which: &Which,
        graph: &Graph,
        backend: &dyn Backend,
        targets: Table,
        sources: Table,
    ) -> Result<Work, Failure> {
        if let Some(radius) = which.cells {
            let reach = Reach { radius, sides: which.periodic.clone() };
            let planned = cells::plan(graph, backend, &targets, &sources, &reach);
            let mut plan = planned.map_err(|e| Failure::Input(e.to_string()))?;
            return Ok(Work {
                targets: std::mem::take(&mut plan.targets),
                sources: std::mem::take(&mut plan.sources),
                runs: std::mem::take(&mut plan.runs),
                segments: std::mem::take(&mut plan.segments),
                cells: Some(plan.report.clone()),
                plan: Some(plan),
            });
        }
        let (runs, segments) = match &which.segments {
            Some(path) => listed(path, targets.len(), sources.len())?,
            None => {
                let all = SourceRange { first: 0, count: sources.len() };
                (vec![Run { first: 0, count: targets.len(), segments: 0..1 }], vec![all])
            }
        };
        Ok(Work { targets, sources, runs, segments, plan: None, cells: None })
    }

    pub fn job<'a>(&'a self, graph: &'a Graph, params: &'a [u64]) -> Job<'a> {
        Job {
            graph,
            targets: &self.targets,
            sources: &self.sources,
            params,
            runs: &self.runs,
            segments: &self.segments,
        }
    }

    /// Results and flags in the order of the input.
    pub fn restored(&self, results: Table, flags: Vec<Flags>) -> (Table, Vec<Flags>) {
        match &self.plan {
            Some(plan) => (plan.restored(&results), plan.restored_flags(&flags)),
            None => (results, flags),
        }
    }
}

/// The columns of a list of segments.
const COLUMNS: [&str; 4] = ["i_first", "i_count", "j_first", "j_count"];

/// Runs and segments of a file. Lines with the same targets add up, wherever they stand.
fn listed(path: &Path, ni: usize, nj: usize) -> Result<(Vec<Run>, Vec<SourceRange>), Failure> {
    let format = Format::int(64, false).expect("uint64 is a format");
    let columns = COLUMNS.map(|name| Column::new(name.to_string(), format));
    let (table, lines) = csv::read_numbered(path, &columns, false)?;
    let wrong = |line: usize, what: String| Failure::Input(format!("{}:{line}: {what}", shown::path(path)));
    // Targets in the order in which they come up, with the line where they did.
    let mut runs: Vec<(usize, usize, usize, Vec<SourceRange>)> = Vec::new();
    let mut known: HashMap<(u64, u64), usize> = HashMap::new();
    for (k, &line) in lines.iter().enumerate() {
        let [i_first, i_count, j_first, j_count] = table.record(k) else { unreachable!("a record has the columns") };
        for (what, first, count, n) in [("targets", i_first, i_count, ni), ("sources", j_first, j_count, nj)] {
            if first.checked_add(*count).is_none_or(|end| end > n as u64) {
                let text = format!("{count} {what} from {first} on, but there are {n}, numbered from 0");
                return Err(wrong(line, text));
            }
        }
        let place = *known.entry((*i_first, *i_count)).or_insert_with(|| {
            runs.push((*i_first as usize, *i_count as usize, line, Vec::new()));
            runs.len() - 1
        });
        runs[place].3.push(SourceRange { first: *j_first as usize, count: *j_count as usize });
    }
    runs.retain(|r| r.1 > 0);
    let mut sorted: Vec<&(usize, usize, usize, Vec<SourceRange>)> = runs.iter().collect();
    sorted.sort_by_key(|r| r.0);
    for pair in sorted.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        if a.0 + a.1 > b.0 {
            let (early, late) = if a.2 < b.2 { (a, b) } else { (b, a) };
            return Err(wrong(
                late.2,
                format!(
                    "targets {}..{} overlap targets {}..{} of line {}; name the same targets on both lines, or others",
                    late.0,
                    late.0 + late.1,
                    early.0,
                    early.0 + early.1,
                    early.2
                ),
            ));
        }
    }
    let mut segments = Vec::new();
    let run = |(first, count, _, list): (usize, usize, usize, Vec<SourceRange>)| {
        let start = segments.len();
        segments.extend(list);
        Run { first, count, segments: start..segments.len() }
    };
    Ok((runs.into_iter().map(run).collect(), segments))
}
