//! Why an FMM could not be computed.

/// Why an FMM could not be computed.
#[derive(Debug, thiserror::Error)]
pub enum FmmError {
    /// An option is out of range; the text says what is possible.
    #[error("{0}")]
    Option(String),
    /// f64 does not hold the charges beside each other, or a result.
    #[error("{0}")]
    Range(String),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The caller has ended the run.
    #[error("cancelled")]
    Cancelled,
}

/// A kernel that an FMM cannot use; the text names the pin and the shape it must have, or the property that it lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KernelError(pub String);

/// Why a backend could not run a job.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// A tool or a device is missing or failed; the text names it and how to get it.
    #[error("{0}")]
    Tool(String),
    /// The job does not fit what the backend can do.
    #[error("{0}")]
    Unsupported(String),
}
