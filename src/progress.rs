//! Progress of long work: one line on a terminal, nothing in a pipe.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// A progress line on stderr.
pub struct Progress {
    what: String,
    total: usize,
    started: Instant,
    shown: Option<Instant>,
    terminal: bool,
}

impl Progress {
    /// Progress of `what` up to `total` steps.
    pub fn new(what: impl Into<String>, total: usize) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        Progress { what: what.into(), total, started: Instant::now(), shown: None, terminal }
    }

    /// Shows that `done` steps are done; at most ten times a second, and only for work beyond half a second.
    pub fn at(&mut self, done: usize) {
        let recent = self.shown.is_some_and(|t| t.elapsed() < Duration::from_millis(100));
        if !self.terminal || recent || self.started.elapsed() < Duration::from_millis(500) {
            return;
        }
        self.shown = Some(Instant::now());
        let percent = 100.0 * done as f64 / self.total.max(1) as f64;
        let _ = write!(std::io::stderr(), "\r\x1b[K{} {percent:3.0} %", self.what);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// Steps of unknown length: which one is under way, and for how long.
pub struct Steps {
    shown: Option<Instant>,
    terminal: bool,
}

impl Steps {
    pub fn new() -> Steps {
        Steps { shown: None, terminal: std::io::stderr().is_terminal() }
    }

    /// Shows that `what` has taken that long; at most five times a second.
    pub fn at(&mut self, what: &str, elapsed: Duration) {
        if !self.terminal || self.shown.is_some_and(|t| t.elapsed() < Duration::from_millis(200)) {
            return;
        }
        self.shown = Some(Instant::now());
        let _ = write!(std::io::stderr(), "\r\x1b[K{what}, {} s", elapsed.as_secs());
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
