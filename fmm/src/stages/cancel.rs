//! The end of a run that nobody waits for any longer.

use super::FmmError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends runs between two stages, from any thread. Clones are one and the same.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Ends the runs that have it, and those that would begin.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn check(&self) -> Result<(), FmmError> {
        if self.is_cancelled() { Err(FmmError::Cancelled) } else { Ok(()) }
    }
}

/// It is no option of the method: what is computed does not depend on it.
impl PartialEq for Cancel {
    fn eq(&self, _: &Cancel) -> bool {
        true
    }
}
