//! Devices by their numbers, as the calls name them. Each is for one thread at a time; those of several numbers work at once.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

/// Devices that are made when they are first used.
pub struct Numbered<T>(LazyLock<RwLock<HashMap<i32, Arc<Mutex<T>>>>>);

impl<T: Default> Numbered<T> {
    pub const fn new() -> Numbered<T> {
        Numbered(LazyLock::new(Default::default))
    }

    /// Does something with a device.
    pub fn with<R>(&self, number: i32, what: impl FnOnce(&mut T) -> R) -> R {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned();
        let device = known.unwrap_or_else(|| {
            let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
            all.entry(number).or_default().clone()
        });
        what(&mut device.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Forgets a device.
    pub fn forget(&self, number: i32) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&number);
    }

    /// Forgets all of them.
    pub fn forget_all(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
