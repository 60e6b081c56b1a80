//! Errors of what a program asks for.

use fmm::octree::FmmError;
use fmm::octree::executor::BackendError;

/// Why something could not be computed; each text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Options are out of range, or do not go together.
    #[error("{0}")]
    Options(String),
    /// Particles, charges or a kernel are not what is needed, or a wanted error is out of reach.
    #[error("{0}")]
    Input(String),
    /// A tool or a device is missing or has failed.
    #[error("{0}")]
    Tool(String),
    /// The caller has [cancelled](crate::fmm::Cancel) it.
    #[error("cancelled")]
    Cancelled,
}

impl From<FmmError> for Error {
    fn from(e: FmmError) -> Error {
        match e {
            FmmError::Backend(e) => e.into(),
            FmmError::Option(text) => Error::Options(text),
            FmmError::Cancelled => Error::Cancelled,
            e => Error::Input(e.to_string()),
        }
    }
}

impl From<BackendError> for Error {
    fn from(e: BackendError) -> Error {
        match e {
            BackendError::Tool(text) => Error::Tool(text),
            BackendError::Unsupported(text) => Error::Input(text),
        }
    }
}

#[cfg(feature = "mpi")]
impl From<ranks::RankError> for Error {
    fn from(e: ranks::RankError) -> Error {
        FmmError::from(e).into()
    }
}

/// As ranks tell each other of it.
#[cfg(feature = "mpi")]
impl From<Error> for ranks::RankError {
    fn from(e: Error) -> ranks::RankError {
        match e {
            Error::Options(text) => ranks::RankError::Option(text),
            Error::Tool(text) => ranks::RankError::Tool(text),
            e => ranks::RankError::Range(e.to_string()),
        }
    }
}
