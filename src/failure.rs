//! Why a command ended early, and its exit status.

use host::backend::BackendError;

/// A failed command.
#[derive(Debug)]
pub enum Failure {
    /// The user's input is wrong (exit 1). The text is a complete diagnostic.
    Input(String),
    /// Wrong usage that the argument parser cannot see (exit 2).
    Usage(String),
    /// A tool or device is missing or failed (exit 3).
    Tool(String),
}

impl Failure {
    /// The exit status.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Input(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Tool(_) => 3,
        }
    }

    /// What to print on stderr; `None` when there is nothing to add.
    pub fn text(&self) -> Option<String> {
        let (Failure::Input(text) | Failure::Usage(text) | Failure::Tool(text)) = self;
        let text = text.trim_end();
        let rendered = text.starts_with("error") || text.contains("Error");
        (!text.is_empty()).then(|| if rendered { text.to_string() } else { format!("error: {text}") })
    }

    /// An input failure about a file.
    pub fn file(path: &std::path::Path, what: impl std::fmt::Display) -> Failure {
        Failure::Input(format!("{}: {what}", path.display()))
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
