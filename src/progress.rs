//! Progress of long work: one line on a terminal, nothing in a pipe.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

/// Shorter work shows none.
const PATIENCE: Duration = Duration::from_millis(500);

/// A progress line on stderr.
pub struct Progress {
    what: String,
    total: usize,
    started: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Progress of `what` up to `total` steps.
    pub fn new(what: impl Into<String>, total: usize) -> Progress {
        Progress { what: what.into(), total, started: Instant::now(), bar: None }
    }

    /// Shows that `done` steps are done.
    pub fn at(&mut self, done: usize) {
        if self.started.elapsed() >= PATIENCE {
            let (what, total) = (&self.what, self.total);
            let new = || bar(ProgressBar::new(total as u64), "{msg} {percent:>3} %, {eta} left", what);
            self.bar.get_or_insert_with(new).set_position(done as u64);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }
}

fn bar(bar: ProgressBar, template: &str, what: &str) -> ProgressBar {
    bar.set_style(ProgressStyle::with_template(template).expect("a template of ours"));
    bar.set_message(what.to_string());
    bar
}

/// Steps of unknown length: which one is under way, and for how long.
pub struct Steps(Option<ProgressBar>);

impl Steps {
    pub fn new() -> Steps {
        Steps(None)
    }

    /// Shows how long `what` takes while `work` does it, which tells nothing of it.
    pub fn during<R>(what: &str, work: impl FnOnce() -> R) -> R {
        let _shown = Ticking::new(what);
        work()
    }

    /// Shows that `what` has taken that long.
    pub fn at(&mut self, what: &str, elapsed: Duration) {
        let bar = self.0.get_or_insert_with(|| bar(ProgressBar::new_spinner(), "{msg}", what));
        bar.set_message(format!("{what}, {} s", elapsed.as_secs()));
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.0.iter().for_each(ProgressBar::finish_and_clear);
    }
}

/// A step that a thread shows until this is dropped.
struct Ticking(Option<(Sender<()>, JoinHandle<()>)>);

impl Ticking {
    fn new(what: &str) -> Ticking {
        if !stderr().is_terminal() {
            return Ticking(None);
        }
        let (what, started, (end, ended)) = (what.to_string(), Instant::now(), channel::<()>());
        let show = move || {
            let mut steps = Steps::new();
            while ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                steps.at(&what, started.elapsed());
            }
        };
        Ticking(Some((end, spawn(show))))
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.0.take() {
            drop(end);
            // What shows progress has no result.
            let _ = thread.join();
        }
    }
}
