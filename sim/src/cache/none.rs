//! The cache of a machine without files, such as a browser: there is nothing in it, and nothing is kept.

use crate::SimError;
use std::path::PathBuf;

/// A directory that is not there.
#[derive(Clone, Debug)]
pub struct Cache;

impl Cache {
    pub fn standard() -> Cache {
        Cache
    }

    /// A small file that is kept beside the entries: none.
    pub fn note(&self, _name: &str) -> Option<Vec<u8>> {
        None
    }

    /// Says that nothing can be kept.
    pub fn keep_note(&self, _name: &str, _text: &str) -> Result<PathBuf, SimError> {
        Err(SimError::Cache { reason: "there are no files here".into() })
    }
}
