//! The manifest of a folder that was built before.

use serde::Deserialize;
use std::path::Path;
use terminal::input;

pub use pairforge::manifest::*;

/// The files that the manifest of a folder names; none where it is no manifest.
pub fn files_in(folder: &Path) -> Vec<String> {
    #[derive(Deserialize)]
    struct Files {
        files: Vec<String>,
    }
    let text = input::text(&folder.join(NAME), "").ok();
    text.and_then(|text| serde_json::from_str::<Files>(&text).ok()).map_or(Vec::new(), |found| found.files)
}
