//! The results of searches for tables of functions, kept in the cache of the user.

use hdl::number::real::work::patiently;
use hdl::op::table::func::{Store, keep_in};
use sim::SimError;
use sim::cache::{self, Cache};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The file of an entry.
const RECORD: &str = "record";

struct Kept(Cache);

impl Store for Kept {
    fn load(&self, key: &str) -> Option<String> {
        String::from_utf8(cache::file(&self.0.known(key)?, RECORD)?).ok()
    }

    fn save(&self, key: &str, record: &str) {
        // A cache that cannot be written costs time alone.
        let _ = self.0.entry(key, |dir| {
            let file = dir.join(RECORD);
            std::fs::write(&file, record).map_err(|source| SimError::Io { path: file, source })
        });
    }
}

/// Seconds that an editor and `check` wait for the functions of a file to be fitted.
pub const EDITOR: f64 = 2.0;
pub const CHECK: f64 = 5.0;

/// Does something for which so many seconds of this thread's work are spent on functions that are fitted; one that takes longer is
/// refused. The time of a busy machine's other programs does not count.
pub fn within<T>(seconds: f64, work: impl FnOnce() -> T) -> T {
    patiently(worked, seconds, work)
}

/// Set by another thread when nobody waits any longer for what a thread does.
pub type Stop = Arc<AtomicBool>;

thread_local!(static STOP: RefCell<Option<Stop>> = const { RefCell::new(None) });

/// The same, where the functions that are fitted are given up at once when somebody says so.
pub fn within_or_stopped<T>(seconds: f64, stop: &Stop, work: impl FnOnce() -> T) -> T {
    /// Holds for this work alone, also where it panics.
    struct Given;
    impl Drop for Given {
        fn drop(&mut self) {
            STOP.set(None);
        }
    }
    let _given = Given;
    patiently(worked_or_stopped, seconds, || {
        // Once the clock was read for the first time: it says no time that the end is reckoned from.
        STOP.set(Some(stop.clone()));
        work()
    })
}

/// Seconds that this thread has worked; all the time that there is where it is to stop.
fn worked_or_stopped() -> f64 {
    let is_stopped = STOP.with_borrow(|stop| stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)));
    if is_stopped { f64::INFINITY } else { worked() }
}

/// Seconds that this thread has worked.
#[cfg(unix)]
fn worked() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is valid for the call, which writes it.
    match unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) } {
        0 => time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9,
        // Without a clock nobody's time is over.
        _ => 0.0,
    }
}

/// Seconds since it was first asked: the system's library has no clock of one thread.
#[cfg(not(unix))]
fn worked() -> f64 {
    thread_local! {
        static FIRST: std::time::Instant = std::time::Instant::now();
    }
    FIRST.with(|first| first.elapsed().as_secs_f64())
}

/// Lets the compiler keep them there.
pub fn keep() {
    keep_in(Box::new(Kept(Cache::standard())));
}
