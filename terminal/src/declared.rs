//! Files that the command has declared: its inputs, which nothing replaces, and its outputs.

mod same;

use crate::failure::Failure;
pub use same::{Identity, folder_of, followed, is_open_file, is_standard_output};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The files of the command that runs.
#[derive(Default)]
pub struct Declared {
    /// Each with the option that names it.
    pub inputs: Vec<(String, Identity)>,
    pub outputs: Vec<Identity>,
    /// Folders into which files are written.
    pub folders: Vec<PathBuf>,
}

static DECLARED: OnceLock<Declared> = OnceLock::new();

impl Declared {
    /// Remembers them. A command does so once.
    pub fn remember(self) {
        let _ = DECLARED.set(self);
    }
}

/// Whether standard output belongs to a file that was asked for, so that tables and words for people stay away.
pub fn standard_is_taken() -> bool {
    DECLARED.get().is_some_and(|declared| declared.outputs.iter().any(|output| output.standard))
}

/// Refuses to write a file that the command has read, in a folder of results too.
pub fn keep_inputs(path: &Path) -> Result<(), Failure> {
    let Some(Declared { inputs, .. }) = DECLARED.get() else { return Ok(()) };
    let own = Identity::of_output(path);
    match inputs.iter().find(|(_, identity)| identity.is_same(&own)) {
        Some((option, _)) => Err(Failure::file(
            path,
            format!("is an input ({option}), which an output does not replace; write into another folder"),
        )),
        None => Ok(()),
    }
}

/// Whether a file may be written: it was declared, or lies in a folder that was.
pub fn has(file: &Identity) -> bool {
    let Some(Declared { outputs, folders, .. }) = DECLARED.get() else { return true };
    outputs.iter().any(|output| output.is_same(file)) || folders.iter().any(|folder| file.lies_in(folder))
}
