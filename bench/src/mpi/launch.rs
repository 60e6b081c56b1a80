//! Runs of this program on ranks, as threads of one process or as processes that a launcher of MPI starts.

use super::work::{WORD, Work};
use super::{Row, Table};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use terminal::failure::Failure;

/// Targets that results are compared at.
pub const CHECK: usize = 500;

/// One problem on so many ranks.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Run {
    pub distribution: &'static str,
    pub n: usize,
    pub ranks: usize,
    pub order: usize,
    pub precision: &'static str,
}

/// How ranks are started.
pub struct Launch {
    program: PathBuf,
    /// The launcher and its words, to which the number of ranks is added.
    launcher: Vec<String>,
    pub cores: usize,
    repeat: u32,
    /// Whether ranks compute on GPUs.
    pub on_gpus: bool,
    what: String,
}

impl Launch {
    pub fn new(mpirun: Option<&str>, repeat: u32, on_gpus: bool) -> Result<Launch, Failure> {
        let program = std::env::current_exe().map_err(|e| Failure::Tool(format!("this program is not found: {e}")))?;
        let launcher: Vec<String> = mpirun.unwrap_or_default().split_whitespace().map(str::to_string).collect();
        if mpirun.is_some() && launcher.is_empty() {
            return Err(Failure::Usage("--mpirun takes a command such as \"mpirun -n\"".into()));
        }
        let cores = rayon::current_num_threads();
        let what = match launcher.is_empty() {
            _ if on_gpus => format!("{} on GPUs", if launcher.is_empty() { "threads" } else { "processes of MPI" }),
            true => format!("threads of one process, which share {cores} cores"),
            false => format!("processes of MPI with one thread each, on a machine with {cores} cores"),
        };
        Ok(Launch { program, launcher, cores, repeat, on_gpus, what })
    }

    /// In words.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The medians of some runs.
    pub fn measure(&self, table: Table, run: Run) -> Result<Row, Failure> {
        if self.on_gpus {
            // The first run of an order compiles its kernels.
            self.once(table, run)?;
        }
        let mut rows = (0..self.repeat).map(|_| self.once(table, run)).collect::<Result<Vec<Row>, Failure>>()?;
        rows.sort_unstable_by(|a, b| a.total.total_cmp(&b.total));
        let middle = rows.len() / 2;
        Ok(rows.swap_remove(middle))
    }

    fn command(&self, run: &Run) -> Command {
        let Run { distribution, n, ranks, order, precision } = run;
        // One rank needs no launcher; it has as many threads as others have.
        let by_mpi = !self.launcher.is_empty() && *ranks > 1;
        let mut command = match by_mpi {
            true => {
                let mut command = Command::new(&self.launcher[0]);
                command.args(&self.launcher[1..]).arg(ranks.to_string()).arg(&self.program);
                command
            }
            false => Command::new(&self.program),
        };
        let work = Work {
            distribution: distribution.to_string(),
            n: *n,
            ranks: if by_mpi { 0 } else { *ranks },
            order: *order,
            precision: precision.to_string(),
            on_gpus: self.on_gpus,
            threads: if self.launcher.is_empty() || self.on_gpus { 0 } else { 1 },
        };
        command.arg(WORD).arg(serde_json::to_string(&work).expect("it is plain numbers and words"));
        command
    }

    fn once(&self, table: Table, run: Run) -> Result<Row, Failure> {
        let mut command = self.command(&run);
        let name = command.get_program().to_string_lossy().into_owned();
        let failed = |why: String| Failure::Tool(format!("{name}: {why}"));
        let done = command.output().map_err(|e| failed(format!("cannot be started: {e}")))?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            return Err(failed(format!("{} ranks failed ({}): {}", run.ranks, done.status, said.trim())));
        }
        let found: Value =
            serde_json::from_slice(&done.stdout).map_err(|e| failed(format!("its statistics cannot be read: {e}")))?;
        row(table, run, &found, self.on_gpus).ok_or_else(|| failed("its statistics are not those of ranks".into()))
    }
}

/// The row of the statistics of a run.
fn row(table: Table, run: Run, found: &Value, on_gpus: bool) -> Option<Row> {
    let ranks = &found["ranks"];
    let slowest = |wanted: &[&str]| -> Option<f64> {
        let stages = ranks["stages"].as_array()?;
        let is_wanted = |s: &&Value| s["stage"].as_str().is_some_and(|name| wanted.contains(&name));
        stages.iter().filter(is_wanted).map(|s| s["slowest"].as_f64()).sum()
    };
    let total = slowest(&["total"])?;
    let stages = slowest(&["P2M", "M2M", "M2L", "P2L", "L2L", "L2P", "M2P", "P2P"])?;
    let (data, exchange, of_ranks, whole) = if on_gpus {
        // What GPUs do, without the copies to them and back.
        let (data, exchange) = (slowest(&["box", "sort"])?, slowest(&["link", "exchange"])?);
        (data, exchange, data + exchange, stages + data + exchange)
    } else {
        let (data, exchange) = (slowest(&["sort", "boxes", "lists", "plan"])?, slowest(&["exchange"])?);
        (data, exchange, slowest(&["sort", "boxes", "exchange"])?, total)
    };
    let part = |seconds: f64, of: f64| if of > 0.0 { seconds / of } else { 0.0 };
    let counts = ranks["counts"].as_array()?;
    let sum = |key: &str| counts.iter().map(|count| count[key].as_u64()).sum::<Option<u64>>();
    Some(Row {
        table,
        run,
        total,
        stages,
        data,
        exchange,
        share: part(data + exchange, total),
        of_ranks: part(of_ranks, whole),
        potential_error: found["error"]["potential_rel_l2"].as_f64()?,
        gradient_error: found["error"]["gradient_rel_l2"].as_f64()?,
        messages: sum("messages")?,
        bytes: sum("bytes")?,
        boxes: sum("domestic")? + sum("export")?,
        critical_level: ranks["critical_level"].as_u64()?,
    })
}
