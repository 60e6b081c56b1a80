//! Lazily built data kept for the life of the process: the tables of each format and function.

use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{OnceLock, RwLock};

/// One value for each key.
pub struct Once<K: 'static, V: 'static> {
    all: OnceLock<RwLock<HashMap<K, &'static Entry<K, V>>>>,
}

struct Entry<K, V> {
    key: K,
    value: V,
}

impl<K: Copy + Eq + Hash + Sync + Send, V: Sync + Send> Once<K, V> {
    pub const fn new() -> Self {
        Once { all: OnceLock::new() }
    }

    /// The value of a key, which `make` makes where there is none yet. Of one process there must be one of these for a pair
    /// of types: the last value of each thread is found by its types.
    pub fn get(&'static self, key: K, make: impl FnOnce() -> V) -> &'static V {
        // Most calls ask for the value of the call before, which takes no lock.
        thread_local!(static LAST: Cell<Option<&'static dyn Any>> = const { Cell::new(None) });
        if let Some(last) = LAST.get().and_then(|e| e.downcast_ref::<Entry<K, V>>())
            && last.key == key
        {
            return &last.value;
        }
        let all = self.all.get_or_init(RwLock::default);
        let known = all.read().expect("no holder of the lock panics").get(&key).copied();
        let found = known.unwrap_or_else(|| {
            let value = make();
            // Another thread may have been faster; then its value is kept, which is the same.
            let mut all = all.write().expect("no holder of the lock panics");
            all.entry(key).or_insert_with(|| Box::leak(Box::new(Entry { key, value })))
        });
        LAST.set(Some(found));
        &found.value
    }
}
