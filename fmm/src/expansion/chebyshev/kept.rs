//! Tables that are kept from one order of an expansion to the next: steps of a search for a wanted error have many in common.

use super::tables::Table;
use crate::arith::vector::Vectors;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The tables of the kernels of all levels.
#[derive(Default)]
pub struct Kept {
    all: Mutex<All>,
}

#[derive(Default)]
struct All {
    tables: HashMap<(Key, TypeId), Arc<dyn Any + Send + Sync>>,
    bytes: usize,
}

/// The parameters that a table follows from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    pub level: u32,
    pub order: usize,
    pub near2: u64,
}

/// Above this, none of those before is kept.
const MOST_BYTES: usize = 256 << 20;

impl Kept {
    /// The table of a level, made where there is none.
    pub fn get<T: Vectors>(&self, key: Key, new: impl FnOnce() -> Table<T>) -> Arc<Table<T>> {
        let id = (key, TypeId::of::<T>());
        let known = self.all.lock().expect("no thread panics with it").tables.get(&id).cloned();
        if let Some(table) = known.and_then(|table| table.downcast().ok()) {
            return table;
        }
        // Not under the lock: making it takes other tasks of this thread.
        let table = Arc::new(new());
        let mut all = self.all.lock().expect("no thread panics with it");
        if all.bytes > MOST_BYTES {
            *all = All::default();
        }
        all.bytes += table.bytes();
        all.tables.insert(id, table.clone());
        table
    }
}
