//! Progress of long work: one line on a terminal, unless it is not wanted, and nothing in a pipe.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

/// Shorter work shows none.
const TIMEOUT: Duration = Duration::from_millis(500);

/// A line that is shown is brought up to date as often.
const PERIOD: Duration = Duration::from_millis(200);

/// Whether progress is shown.
static IS_SHOWN: AtomicBool = AtomicBool::new(true);

/// Shows no progress from now on.
pub fn silence() {
    IS_SHOWN.store(false, Ordering::Relaxed);
}

/// A progress line on stderr.
pub struct Progress {
    told: Arc<Mutex<Told>>,
    _line: Option<Line>,
}

impl Progress {
    /// Progress of `what` up to `total` steps, or of a length that nobody knows where that is 0.
    pub fn new(what: impl Into<String>, total: usize) -> Progress {
        Progress::shown(Told::new(what.into(), total, Instant::now()))
    }

    fn shown(told: Told) -> Progress {
        let told = Arc::new(Mutex::new(told));
        let line = (IS_SHOWN.load(Ordering::Relaxed) && stderr().is_terminal()).then(|| Line::new(told.clone()));
        Progress { told, _line: line }
    }

    /// Progress of a simulation of `what` from its step `first` up to its step `last`, with the rate of steps.
    pub fn of_steps(what: impl Into<String>, first: u64, last: u64) -> Progress {
        let total = last.saturating_sub(first) as usize;
        Progress::shown(Told { first: Some(first), ..Told::new(what.into(), total, Instant::now()) })
    }

    /// Shows that `done` steps are done.
    pub fn at(&mut self, done: usize) {
        locked(&self.told).at(done, Instant::now());
    }

    /// Shows that `what` has taken that long.
    fn since(&mut self, what: &str, elapsed: Duration) {
        let now = Instant::now();
        *locked(&self.told) = Told::new(what.to_string(), 0, now.checked_sub(elapsed).unwrap_or(now));
    }
}

/// The lock on the reported text: text that another thread has written stays of use, however that thread ended.
fn locked(told: &Mutex<Told>) -> MutexGuard<'_, Told> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}

const STAGES: [&str; 8] = ["P2M", "M2M", "M2L", "P2L", "L2L", "L2P", "M2P", "P2P"];

/// Stages of one piece of work, each of which shows itself until the next one begins.
pub struct Stages {
    /// Where those run that count, if any do.
    place: Option<String>,
    shown: Option<(&'static str, Progress)>,
}

impl Stages {
    /// Of which some run at a `place`, and all on the CPU without one.
    pub fn new(place: Option<&str>) -> Stages {
        Stages { place: place.map(str::to_string), shown: None }
    }

    /// Shows that so much of a stage is done; without a `total`, that it is under way. A stage without a name is none.
    pub fn at(&mut self, stage: &'static str, done: usize, total: usize) {
        // What runs elsewhere may begin behind a stage of the CPU, and be silent for a while.
        let is_of_cpu = total == 0 && self.place.is_some() && STAGES.contains(&stage);
        let stage = if is_of_cpu { "FMM" } else { stage };
        if self.shown.as_ref().is_none_or(|(name, _)| *name != stage) {
            // The line of the last stage ends before the next one begins.
            self.shown = None;
            self.shown = (!stage.is_empty()).then(|| (stage, Progress::new(self.label(stage), total)));
        }
        self.shown.iter_mut().for_each(|(_, progress)| progress.at(done));
        // What comes next may be of another kind, and show itself otherwise.
        self.shown.take_if(|_| total > 0 && done >= total);
    }

    fn label(&self, stage: &str) -> String {
        let place = self.place.as_deref().unwrap_or("the CPU");
        match stage {
            "P2P" => format!("P2P (near field) on {place}"),
            "M2L" => format!("M2L (far field) on {place}"),
            "FMM" | "M2L and P2P" => format!("{stage} on {place}"),
            stage if STAGES.contains(&stage) => format!("{stage} on the CPU"),
            stage => stage.to_string(),
        }
    }
}

/// Steps of unknown length: which one is under way, and for how long.
#[derive(Default)]
pub struct Steps(Option<Progress>);

impl Steps {
    /// Shows how long `what` takes while `work` does it, which tells nothing of it.
    pub fn during<R>(what: &str, work: impl FnOnce() -> R) -> R {
        let _shown = Progress::new(what, 0);
        work()
    }

    /// Shows that `what` has taken that long.
    pub fn at(&mut self, what: &str, elapsed: Duration) {
        self.0.get_or_insert_with(|| Progress::new(what, 0)).since(what, elapsed);
    }
}

/// Progress of some work, as it is reported.
struct Told {
    what: String,
    /// 0 where nobody knows.
    total: usize,
    done: usize,
    /// Steps of a simulation that were done before, if it is one.
    first: Option<u64>,
    started: Instant,
    updated: Instant,
    /// Parts that were done, and the seconds after which they were, each a tenth more than the one before.
    seen: Vec<(f64, f64)>,
}

/// Two rates of the work that differ by more than this are no trend.
const SPREAD: f64 = 1.5;

impl Told {
    fn new(what: String, total: usize, started: Instant) -> Told {
        Told { what, total, done: 0, first: None, started, updated: started, seen: Vec::new() }
    }

    fn at(&mut self, done: usize, now: Instant) {
        if done <= self.done || self.total == 0 {
            return;
        }
        (self.done, self.updated) = (done, now);
        let part = done as f64 / self.total as f64;
        if self.seen.last().is_none_or(|(last, _)| part >= 1.1 * last) {
            self.seen.push((part, (now - self.started).as_secs_f64()));
        }
    }

    /// Seconds that are left, where what was done tells it: the rate from the beginning and that of the latter half agree, and the
    /// estimate is not used up. A wrong one is worse than none.
    fn left(&self, now: Instant) -> Option<f64> {
        if self.total == 0 || self.done == 0 {
            return None;
        }
        let (part, seconds) = (self.done as f64 / self.total as f64, (self.updated - self.started).as_secs_f64());
        let (before, then) = *self.seen.iter().rev().find(|(seen, _)| *seen <= part / 2.0)?;
        let whole = (1.0 - part) * seconds / part;
        let latter = (1.0 - part) * (seconds - then) / (part - before);
        let (least, most) = (whole.min(latter), whole.max(latter));
        let left = most - now.saturating_duration_since(self.updated).as_secs_f64();
        (most <= SPREAD * least && left >= 1.0).then_some(left)
    }

    fn text(&self, now: Instant) -> String {
        let elapsed = now.saturating_duration_since(self.started).as_secs();
        if self.total == 0 {
            return format!("{}, {elapsed} s", self.what);
        }
        let percent = (100 * self.done as u128 / self.total as u128).min(100);
        let time = self.left(now).map_or(format!("{elapsed} s"), |left| format!("{} left", rounded(left)));
        match self.first {
            Some(first) => {
                let (done, last) = (first + self.done as u64, first + self.total as u64);
                let rate = self.rate().map_or(String::new(), |rate| format!("{rate}, "));
                format!("{}: step {done} of {last}, {percent} %, {rate}{time}", self.what)
            }
            None => format!("{} {percent:>3} %, {time}", self.what),
        }
    }

    /// Steps in a second, or seconds of a step, since the beginning.
    fn rate(&self) -> Option<String> {
        let (steps, seconds) = (self.done as f64, (self.updated - self.started).as_secs_f64());
        (self.done > 0 && seconds > 0.0).then(|| match steps / seconds {
            rate if rate >= 10.0 => format!("{rate:.0} steps/s"),
            rate if rate >= 1.0 => format!("{rate:.1} steps/s"),
            rate => format!("{:.1} s a step", 1.0 / rate),
        })
    }
}

/// About how long, rounded up.
fn rounded(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{:.0} s", s.ceil()),
        s if s < 6000.0 => format!("{:.0} min", (s / 60.0).ceil()),
        s => format!("{:.0} h", (s / 3600.0).ceil()),
    }
}

/// The line of some work, which a thread shows until this is dropped.
struct Line {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Line {
    fn new(told: Arc<Mutex<Told>>) -> Line {
        let (end, ended) = channel::<()>();
        let show = move || {
            let waits = |time| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            if !waits(TIMEOUT) {
                return;
            }
            let bar = ProgressBar::new_spinner();
            bar.set_style(ProgressStyle::with_template("{msg}").expect("a template of ours"));
            loop {
                bar.set_message(locked(&told).text(Instant::now()));
                if !waits(PERIOD) {
                    return bar.finish_and_clear();
                }
            }
        };
        Line { end: Some(end), thread: Some(spawn(show)) }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        drop(self.end.take());
        // What shows progress has no result.
        self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The estimates that are shown every tenth of a second while steps are done at these seconds, each with the time that is really left.
    fn estimates(steps: &[f64]) -> Vec<(f64, f64)> {
        let start = Instant::now();
        let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
        let end = *steps.last().expect("there are steps");
        let mut told = Told::new("work".into(), steps.len(), start);
        let mut done = 0;
        let mut found = Vec::new();
        for tick in 0..(end * 10.0) as usize {
            let now = tick as f64 / 10.0;
            while done < steps.len() && steps[done] <= now {
                done += 1;
                told.at(done, at(steps[done - 1]));
            }
            let text = told.text(at(now));
            assert!(!text.contains(" 0 s left"), "{text}");
            assert_eq!(text.contains("left"), told.left(at(now)).is_some(), "{text}");
            found.extend(told.left(at(now)).map(|left| (left, end - now)));
        }
        found
    }

    #[test]
    fn an_estimate_is_right_or_none_is_shown() {
        // At an even rate there is one most of the time, and it is near.
        for (count, seconds) in [(1000, 20.0), (20, 60.0), (10_000, 500.0)] {
            let steps: Vec<f64> = (1..=count).map(|k| seconds * k as f64 / count as f64).collect();
            let found = estimates(&steps);
            assert!(found.len() as f64 > 5.0 * seconds, "{count}: {}", found.len());
            assert!(
                found.iter().all(|(left, truth)| (left - truth).abs() <= 0.05 * seconds + 0.2),
                "{count}: {found:?}"
            );
        }
        // One step, no step, and all steps at once tell nothing.
        assert!(estimates(&[10.0]).is_empty() && estimates(&[5.0, 5.0, 5.0, 10.0]).is_empty());
        // Work that becomes slower, and work that stands still before its end: never a second where five are left.
        let slower: Vec<f64> = (1..=200).map(|k| 40.0 * (k as f64 / 200.0).powi(3)).collect();
        let mut stalled: Vec<f64> = (1..=99).map(|k| k as f64 / 5.0).collect();
        stalled.push(60.0);
        for steps in [slower, stalled] {
            let wrong = estimates(&steps).into_iter().find(|(left, truth)| *left < 1.0 && *truth > 5.0);
            assert_eq!(wrong, None);
        }
        assert_eq!([0.2, 99.5, 130.0, 7000.0].map(rounded), ["1 s", "100 s", "3 min", "2 h"]);
    }

    #[test]
    fn steps_of_a_simulation_are_shown_with_their_rate() {
        let start = Instant::now();
        let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
        let mut told = Told { first: Some(100), ..Told::new("9 bodies on cpu".into(), 400, start) };
        assert_eq!(told.text(at(3.0)), "9 bodies on cpu: step 100 of 500, 0 %, 3 s");
        (1..=40).for_each(|done| told.at(done, at(done as f64 / 8.0)));
        assert_eq!(told.text(at(5.0)), "9 bodies on cpu: step 140 of 500, 10 %, 8.0 steps/s, 45 s left");
        for (done, seconds, rate) in [(80, 0.5, "160 steps/s"), (80, 5.0, "16 steps/s"), (2, 9.0, "4.5 s a step")] {
            let told = Told { done, updated: at(seconds), ..Told::new(String::new(), 400, start) };
            assert_eq!(told.rate().as_deref(), Some(rate));
        }
    }

    #[test]
    fn work_of_unknown_length_says_how_long_it_has_taken() {
        let start = Instant::now();
        let told = Told::new("tree".into(), 0, start);
        assert_eq!(told.text(start + Duration::from_secs(7)), "tree, 7 s");
    }
}
