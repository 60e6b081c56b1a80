//! Errors between Verilog and bitstream.

use std::path::{Path, PathBuf};

/// A design that could not be taken through the tools.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// A program is not installed.
    #[error("{tool} was not found; get it with `{how}`")]
    ToolMissing { tool: String, how: String },
    /// Others could have put something in a program's place.
    #[error("{tool} is not run: {reason}")]
    Unsafe { tool: &'static str, reason: String },
    /// A program ended with an error; `tail` holds what its log says of it.
    #[error("{tool} failed with {status} (log: {}):\n{tail}", log.display())]
    ToolFailed { tool: String, status: String, log: PathBuf, tail: String },
    /// A program was ended by a signal.
    #[error("{tool} was ended by {signal} (log: {}); is there enough memory?", log.display())]
    ToolKilled { tool: String, signal: String, log: PathBuf },
    /// A program ended well and left out a file that it was to write.
    #[error("{tool} ended without an error, but did not write {file} (log: {}); is it the program of that name?", log.display())]
    ToolSilent { tool: String, file: String, log: PathBuf },
    /// A program warned of something that goes with a wrong circuit.
    #[error("{}:{line}: {text}\nnothing was written: {why}", log.display())]
    Refused { log: PathBuf, line: usize, text: String, why: &'static str },
    /// A netlist is not the design that it was made of.
    #[error("{}: {what}: this is another circuit than the Verilog says, and nothing was written; use another version of yosys, or build products from logic by --dsp 0", path.display())]
    Miscompiled { path: PathBuf, what: String },
    /// The design needs more of a device than there is.
    #[error("the design does not fit {device}: {what}; try fewer pipelines or a smaller j memory (log: {})", log.display())]
    TooLarge { device: String, what: String, log: PathBuf },
    /// The request is not possible.
    #[error("{0}")]
    Unsupported(String),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// A tool's report is not what it should be.
    #[error("{}: {reason}", path.display())]
    Report { path: PathBuf, reason: String },
}

impl FlowError {
    /// For `map_err` on the I/O of a path.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> FlowError {
        let path = path.to_path_buf();
        move |source| FlowError::Io { path, source }
    }

    /// For `map_err` on the contents of a tool's report.
    pub(crate) fn report(path: &Path) -> impl FnOnce(serde_json::Error) -> FlowError {
        let path = path.to_path_buf();
        move |e| FlowError::Report { path, reason: e.to_string() }
    }
}
