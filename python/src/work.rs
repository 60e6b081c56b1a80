//! Work away from Python's lock: on a pool of threads of this process, while the thread that called looks for signals and reports progress.

use crate::errors;
use ::fmm::octree::Cancel;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

/// A pool of so many threads of a process. Those of a parent are not there after a fork, so its pools are left alone.
struct Pool {
    process: u32,
    threads: usize,
    pool: ThreadPool,
    next: *mut Pool,
}

/// The pools that were made, which stay: a list without a lock, which a fork could find locked.
static POOLS: AtomicPtr<Pool> = AtomicPtr::new(null_mut());

/// The threads that are wanted; 0 for one a core.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// The pool of this process with the wanted number of threads.
fn pool() -> Result<&'static ThreadPool, String> {
    let (process, threads) = (std::process::id(), THREADS.load(Ordering::Relaxed));
    let first = POOLS.load(Ordering::Acquire);
    let mut at = first;
    // SAFETY: what is in the list is never freed or changed.
    while let Some(known) = unsafe { at.as_ref() } {
        if (known.process, known.threads) == (process, threads) {
            return Ok(&known.pool);
        }
        at = known.next;
    }
    let made = ThreadPoolBuilder::new().num_threads(threads).thread_name(|k| format!("pairforge-{k}")).build();
    let pool = made.map_err(|e| format!("threads cannot be started: {e}"))?;
    let made = Box::into_raw(Box::new(Pool { process, threads, pool, next: first }));
    match POOLS.compare_exchange(first, made, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: it was made above, and stays.
        Ok(_) => Ok(unsafe { &(*made).pool }),
        Err(_) => {
            // Another thread has made one.
            // SAFETY: nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
            self::pool()
        }
    }
}

/// Sets the number of threads for all that begins from now on; 0 for one a core.
#[pyfunction]
pub fn set_num_threads(threads: usize) {
    THREADS.store(threads, Ordering::Relaxed);
}

/// The number of threads that work is shared out to.
#[pyfunction]
pub fn get_num_threads() -> PyResult<usize> {
    Ok(pool().map_err(errors::tool)?.current_num_threads())
}

/// A report of progress: the name of a stage, and how much of how many steps of it is done, or zeros.
type Step = (&'static str, usize, usize);

/// The state of some work, between the thread that does it and the one that waits.
struct Shared<R> {
    state: Mutex<(Option<thread::Result<R>>, Vec<Step>)>,
    changed: Condvar,
}

/// Time after which the thread that waits looks for signals.
const LOOK: Duration = Duration::from_millis(50);

impl<R> Shared<R> {
    fn lock(&self) -> MutexGuard<'_, (Option<thread::Result<R>>, Vec<Step>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the result, for steps, or for the time to look; the steps, and whether there is a result.
    fn wait(&self) -> (Vec<Step>, bool) {
        let state = self.lock();
        let is_idle = |state: &mut (Option<thread::Result<R>>, Vec<Step>)| state.0.is_none() && state.1.is_empty();
        let (mut state, _) =
            self.changed.wait_timeout_while(state, LOOK, is_idle).unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut state.1), state.0.is_some())
    }
}

/// The end of work that cannot be cancelled between its stages: carried from its report of progress to its beginning.
struct Stopped;

/// Does some work on the pool. It is given a function for its progress, which goes to `progress` of Python. A signal whose handler raises,
/// or a `progress` that does, ends the work by `cancel`, or else at its next report, and is what this gives.
pub fn run<R: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    cancel: &Cancel,
    work: impl FnOnce(&mut dyn FnMut(&'static str, usize, usize)) -> R + Send,
) -> PyResult<R> {
    let pool = pool().map_err(errors::tool)?;
    let mut callback = progress.map(|callback| callback.clone().unbind());
    let wants_steps = callback.is_some();
    let shared = Shared { state: Mutex::new((None, Vec::new())), changed: Condvar::new() };
    let mut raised: Option<PyErr> = None;
    py.detach(|| {
        pool.in_place_scope(|scope| {
            scope.spawn(|_| {
                let report = &mut |stage: &'static str, done, of| {
                    if cancel.is_cancelled() {
                        std::panic::resume_unwind(Box::new(Stopped));
                    }
                    if wants_steps && !stage.is_empty() {
                        shared.lock().1.push((stage, done, of));
                        shared.changed.notify_one();
                    }
                };
                let result = catch_unwind(AssertUnwindSafe(|| work(report)));
                shared.lock().0 = Some(result);
                shared.changed.notify_one();
            });
            loop {
                let (steps, is_done) = shared.wait();
                // At an end within the first moments nothing has to be asked.
                if is_done && steps.is_empty() {
                    break;
                }
                let asked = Python::try_attach(|py| ask(py, callback.as_ref(), steps));
                if let Some(Err(e)) = asked {
                    cancel.cancel();
                    callback = None;
                    raised.get_or_insert(e);
                } else if asked.is_none() {
                    // The interpreter ends.
                    cancel.cancel();
                }
                if is_done {
                    break;
                }
            }
        });
    });
    let result = shared.lock().0.take();
    match (raised, result) {
        (Some(e), _) => Err(e),
        (None, Some(Ok(result))) => Ok(result),
        (None, Some(Err(payload))) if payload.is::<Stopped>() => Err(errors::of_library(pairforge::Error::Cancelled)),
        (None, Some(Err(payload))) => Err(errors::bug(&*payload)),
        (None, None) => Err(errors::bug(&"work has ended without a result")),
    }
}

/// Time within which the thread that waits need not look for signals.
pub const BRIEF: Duration = Duration::from_millis(5);

/// Does work that takes little, as earlier work like it did: it cannot be ended. To look for signals meanwhile would cost as much as to wake
/// the pool.
pub fn run_briefly<R: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut(&'static str, usize, usize)) -> R + Send,
) -> PyResult<R> {
    let pool = pool().map_err(errors::tool)?;
    let work = AssertUnwindSafe(|| work(&mut |_, _, _| {}));
    py.detach(|| pool.install(|| catch_unwind(work))).map_err(|payload| errors::bug(&*payload))
}

/// Takes a turn, for which other threads of Python may have to end their work first; looks for signals meanwhile.
pub fn take<'a>(py: Python<'_>, turn: &'a Mutex<()>) -> PyResult<MutexGuard<'a, ()>> {
    loop {
        match turn.try_lock() {
            Ok(held) => return Ok(held),
            Err(TryLockError::Poisoned(held)) => return Ok(held.into_inner()),
            Err(TryLockError::WouldBlock) => {
                py.detach(|| thread::sleep(Duration::from_millis(1)));
                py.check_signals()?;
            }
        }
    }
}

/// Looks for signals, and reports progress.
fn ask(py: Python<'_>, callback: Option<&Py<PyAny>>, steps: Vec<Step>) -> PyResult<()> {
    py.check_signals()?;
    let Some(callback) = callback else { return Ok(()) };
    steps.into_iter().try_for_each(|step| callback.bind(py).call1(step).map(drop))
}
