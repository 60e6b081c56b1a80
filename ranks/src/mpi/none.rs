//! MPI where there is no Open MPI: no launcher starts ranks, and none can begin.

use super::RankError;
use super::comm::{Comm, Tag, Traffic};

/// How many processes a launcher has started: there is none.
pub fn launched() -> Option<usize> {
    None
}

/// The number of this process among them.
pub fn number() -> Option<usize> {
    None
}

/// The cores for each of them.
pub fn cores() -> Option<usize> {
    None
}

fn absent() -> RankError {
    RankError::Tool("Open MPI is not there for this system; ranks are threads of one process here (--ranks N)".into())
}

/// The library's own words on its version.
pub fn version() -> Result<String, RankError> {
    Err(absent())
}

/// This process as a rank of MPI: there is none.
pub enum Mpi {}

impl Mpi {
    pub fn begin() -> Result<Mpi, RankError> {
        Err(absent())
    }

    /// Ends all ranks at once, with an exit status.
    pub fn abort_with(&self, _: u8) {
        match *self {}
    }
}

impl Comm for Mpi {
    fn rank(&self) -> usize {
        match *self {}
    }

    fn size(&self) -> usize {
        match *self {}
    }

    fn send(&self, _: usize, _: Tag, _: Vec<u8>) -> Result<(), RankError> {
        match *self {}
    }

    fn receive(&self, _: usize, _: Tag) -> Result<Vec<u8>, RankError> {
        match *self {}
    }

    fn rest(&self, _: usize, _: Tag) -> Result<(), RankError> {
        match *self {}
    }

    fn abort(&self, _: &str) {
        match *self {}
    }

    fn traffic(&self) -> Traffic {
        match *self {}
    }
}
