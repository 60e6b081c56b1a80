//! Diagnostics: what is wrong, where, and what to write instead.

/// A piece of the source text, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    Error,
    Warning,
}

/// One finding about a source text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    pub severity: Severity,
    /// Stable code such as `PG0012`.
    pub code: &'static str,
    pub message: String,
    /// The main place first; the text says what is there.
    pub labels: Vec<(Span, String)>,
    pub notes: Vec<String>,
    /// The remedy.
    pub help: Option<String>,
}
