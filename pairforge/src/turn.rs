//! Things that one run uses at a time.

use crate::Error;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// Locks a mutex, even if another thread has panicked with it: its content is replaced as a whole, and stays of use.
///
/// No parallel loop may run meanwhile: a thread of rayon that waits for a part of one takes up other work, and that may lock the same.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thing that runs take in turn, and keep while their parallel loops run.
pub(crate) struct Turn<T> {
    of: Mutex<T>,
    /// The thread that has it.
    holder: Mutex<Option<ThreadId>>,
}

/// The thing for the time of one run.
pub(crate) struct Held<'a, T> {
    of: MutexGuard<'a, T>,
    holder: &'a Mutex<Option<ThreadId>>,
}

impl<T> Turn<T> {
    pub fn new(of: T) -> Turn<T> {
        Turn { of: Mutex::new(of), holder: Mutex::new(None) }
    }

    /// Waits for the runs before this one. A thread that would wait for itself gets an error.
    pub fn take(&self) -> Result<Held<'_, T>, Error> {
        let own = thread::current().id();
        if *locked(&self.holder) == Some(own) {
            return Err(Error::Options(
                "a thread of rayon has begun a run on a device while it waited within another one; begin runs on a device one after the \
                 other, or outside of parallel loops"
                    .into(),
            ));
        }
        let of = locked(&self.of);
        *locked(&self.holder) = Some(own);
        Ok(Held { of, holder: &self.holder })
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        *locked(self.holder) = None;
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.of
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.of
    }
}
