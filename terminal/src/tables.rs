//! The results of searches for tables of functions, kept in the cache of the user.

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

/// Lets the compiler keep them there.
pub fn keep() {
    keep_in(Box::new(Kept(Cache::standard())));
}
