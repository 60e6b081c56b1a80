//! Errors of a simulation that are not the kernel's fault.

use std::path::{Path, PathBuf};

/// A simulation that could not be built or did not behave.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// A program is not installed, or too old.
    #[error("{tool} was not found; get it with `{how}`")]
    ToolMissing { tool: String, how: String },
    /// A program that was asked for its version, or where its files are, gives no answer.
    #[error("`{call}` {why}; is it the program of that name, and does it run?")]
    ToolSilent { call: String, why: String },
    /// A program ran and failed; `tail` holds the last lines of its log.
    #[error("{tool} failed (log: {}):\n{tail}", log.display())]
    ToolFailed { tool: String, log: PathBuf, tail: String },
    /// A program ended well, but what it made is of no use.
    #[error("{tool} ended as if all were well, but {what}; install it anew with `{how}`")]
    ToolUseless { tool: String, what: String, how: String },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// Others could have put something into the cache, or there is no place for one.
    #[error("the cache of simulations is not used: {reason}")]
    Cache { reason: String },
    /// A built simulation could not be loaded.
    #[error("{}: {reason}", path.display())]
    Load { path: PathBuf, reason: String },
    /// The caller's modules or options cannot be simulated.
    #[error("{0}")]
    Unsupported(String),
    /// The design that is to be simulated does not hold together.
    #[error(transparent)]
    Unsound(#[from] hdl::rtl::netlist::Unsound),
    /// The simulated design broke a rule of its interface, or makes no progress.
    #[error("{0}")]
    Misbehaved(String),
}

impl SimError {
    /// For `map_err` on the I/O of a path.
    #[cfg_attr(target_family = "wasm", expect(dead_code, reason = "there are no files"))]
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> SimError {
        let path = path.to_path_buf();
        move |source| SimError::Io { path, source }
    }
}
