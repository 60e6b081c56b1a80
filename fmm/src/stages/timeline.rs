//! The timeline of a run: when each stage ran, and where.

use super::CPU;
use crate::clock::Instant;
use serde::Serialize;

/// A stretch of time in which a stage ran.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Span {
    pub stage: String,
    /// Backend that ran it.
    pub on: String,
    /// Seconds since the run, or its tree, was begun.
    pub start: f64,
    pub end: f64,
}

/// A clock, and the stretches that were noted by it.
#[derive(Clone)]
pub struct Timeline {
    begun: Instant,
    /// Seconds that had passed before the clock began.
    before: f64,
    pub spans: Vec<Span>,
}

impl Timeline {
    /// Begins now.
    pub fn begun() -> Timeline {
        Timeline { begun: Instant::now(), before: 0.0, spans: Vec::new() }
    }

    /// Begins now, behind a tree that took so long.
    pub fn after_tree(seconds: f64) -> Timeline {
        let tree = Span { stage: "tree".into(), on: CPU.into(), start: 0.0, end: seconds };
        Timeline { before: seconds, spans: vec![tree], ..Timeline::begun() }
    }

    /// The same clock, for what runs at the same time.
    pub fn beside(&self) -> Timeline {
        Timeline { spans: Vec::new(), ..self.clone() }
    }

    /// Notes a stage that ended now, and returns its seconds.
    pub fn note(&mut self, stage: &str, on: &str, start: Instant) -> f64 {
        let end = Instant::now();
        let since = |at: Instant| self.before + at.saturating_duration_since(self.begun).as_secs_f64();
        self.spans.push(Span { stage: stage.into(), on: on.into(), start: since(start), end: since(end) });
        end.saturating_duration_since(start).as_secs_f64()
    }
}
