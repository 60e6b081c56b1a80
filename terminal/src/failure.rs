//! Why a command ended early, and its exit status.

use flow::FlowError;
use fmm::octree::FmmError;
use fmm::shown;
use hdl::rtl::netlist::Unsound;
use pipelines::job::BackendError;
use sim::SimError;

/// A failed command.
#[derive(Debug)]
pub enum Failure {
    /// The user's input is wrong (exit 1).
    Input(String),
    /// The user's kernel is wrong (exit 1). The text is the rendered diagnostics.
    Diagnostics(String),
    /// Wrong usage that the argument parser cannot see (exit 2).
    Usage(String),
    /// A tool or device is missing or failed (exit 3).
    Tool(String),
}

impl Failure {
    /// The exit status.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Input(_) | Failure::Diagnostics(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Tool(_) => 3,
        }
    }

    /// The text for stderr.
    pub fn text(&self) -> String {
        match self {
            Failure::Diagnostics(text) => text.trim_end().to_string(),
            Failure::Input(text) | Failure::Usage(text) | Failure::Tool(text) => {
                format!("error: {}", safe(text.trim_end()))
            }
        }
    }

    /// An input failure about a file.
    pub fn file(path: &std::path::Path, what: impl std::fmt::Display) -> Failure {
        Failure::Input(format!("{}: {what}", shown::path(path)))
    }
}

/// A longer line of a message is cut: what stands in it comes from outside.
const LONGEST_LINE: usize = 4000;

/// A message without characters that a terminal would obey, whatever came into it.
pub fn safe(text: &str) -> String {
    let line = |line: &str| {
        let line = if line.chars().any(char::is_control) { shown::escaped(line) } else { line.to_string() };
        match line.char_indices().nth(LONGEST_LINE) {
            Some((end, _)) => line[..end].to_string() + "...",
            None => line,
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

impl From<Unsound> for Failure {
    fn from(e: Unsound) -> Failure {
        Failure::Tool(e.to_string())
    }
}

impl From<pairforge::Error> for Failure {
    fn from(e: pairforge::Error) -> Failure {
        match e {
            pairforge::Error::Options(text) => Failure::Usage(text),
            pairforge::Error::Tool(text) => Failure::Tool(text),
            e => Failure::Input(e.to_string()),
        }
    }
}

impl From<FmmError> for Failure {
    fn from(e: FmmError) -> Failure {
        pairforge::Error::from(e).into()
    }
}

impl From<BackendError> for Failure {
    fn from(e: BackendError) -> Failure {
        match e {
            BackendError::Tool(text) => Failure::Tool(text),
            BackendError::Unsupported(text) => Failure::Input(text),
        }
    }
}

impl From<SimError> for Failure {
    fn from(e: SimError) -> Failure {
        match e {
            SimError::Unsupported(text) => Failure::Input(text),
            e => Failure::Tool(e.to_string()),
        }
    }
}

impl From<FlowError> for Failure {
    fn from(e: FlowError) -> Failure {
        match e {
            FlowError::TooLarge { .. } | FlowError::Unsupported(_) | FlowError::Io { .. } => {
                Failure::Input(e.to_string())
            }
            _ => Failure::Tool(e.to_string()),
        }
    }
}
