//! The results of searches for tables of functions, kept in the cache of the user.

use hdl::number::real::work::patiently;
use hdl::op::table::func::{Store, keep_in};
use sim::SimError;
use sim::cache::{self, Cache};

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

/// Seconds that this thread has worked.
fn worked() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is valid for the call, which writes it.
    match unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) } {
        0 => time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9,
        // Without a clock nobody's time is over.
        _ => 0.0,
    }
}

/// Lets the compiler keep them there.
pub fn keep() {
    keep_in(Box::new(Kept(Cache::standard())));
}
