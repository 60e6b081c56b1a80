//! The FMM on many ranks, after Hu, Gumerov and Duraiswami ("Scalable Distributed Fast Multipole Methods", 2012).
//!
//! Each rank has a part of the particles in Morton order ([`partition`]) and builds of the global tree what its own targets meet
//! ([`essential`]): cells have the counts and the order that they have in the whole, so that the lists, and every sum, are
//! those of one rank to the bit. What it needs of others it asks for once ([`demand`]): copies of particles, and multipoles of
//! all levels. Then the stages run as on one rank ([`stages`]). For a wanted error the first rank searches ([`tune`]).
//!
//! Where ranks have GPUs that take the problem, these run all stages instead ([`gpus`]).
//!
//! The algorithm is written once over [`comm::Comm`]. Ranks are threads of one process ([`threads`]) or processes of MPI
//! ([`mpi`]).
//!
//! ```
//! use fmm::data::random::{Charge, Distribution, generate};
//! use fmm::octree::{FmmOptions, Precision, tune::cost::Costs};
//! use pairforge_ranks::{prepare::Slice, solve, threads};
//!
//! let particles = generate(400, Distribution::Uniform, Charge::Random, 1);
//! let (options, costs) = (FmmOptions::default(), Costs::default());
//! // Each of two ranks has half of the particles, and gets the results of that half.
//! let halves = threads::run(2, |comm| {
//!     let own = comm.rank() * 200..comm.rank() * 200 + 200;
//!     let geometry = particles.columns().map(|column| &column[own.clone()]).into();
//!     let sets = vec![particles.q[own].into()];
//!     let p2p = Precision::F64;
//!     let slice = Slice { geometry, sets, hessian: false, options: &options, costs: &costs, kernel: None, p2p };
//!     Ok(solve::solve(comm, &slice, &mut [])?.fields.remove(0))
//! });
//! assert!(halves.into_iter().all(|half| half.is_ok_and(|field| field.potential.len() == 200)));
//! ```

pub mod budget;
pub mod bytes;
pub mod comm;
pub mod demand;
pub mod essential;
pub mod gpus;
pub mod layout;
mod left_out;
pub mod measured;
#[cfg_attr(not(unix), path = "mpi/none.rs")]
pub mod mpi;
mod near;
mod node;
pub mod partition;
pub mod points;
pub mod prepare;
mod records;
pub mod solve;
pub mod stages;
pub mod threads;
mod travel;
pub mod tune;

use fmm::octree::FmmError;
use fmm::octree::executor::BackendError;

/// Why a run on ranks ended.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RankError {
    /// An option is out of range; the text says what is possible.
    #[error("{0}")]
    Option(String),
    /// The input cannot be computed.
    #[error("{0}")]
    Range(String),
    /// A tool or a device of a rank is missing or has failed, and all ranks know of it.
    #[error("{0}")]
    Tool(String),
    /// Another rank, or what connects ranks, has failed.
    #[error("{0}")]
    Lost(String),
}

impl RankError {
    /// A number for each kind, which is not 0.
    fn kind(&self) -> u64 {
        match self {
            RankError::Option(_) => 1,
            RankError::Range(_) => 2,
            RankError::Lost(_) => 3,
            RankError::Tool(_) => 4,
        }
    }

    fn of_kind(kind: u64, text: String) -> RankError {
        match kind {
            1 => RankError::Option(text),
            2 => RankError::Range(text),
            4 => RankError::Tool(text),
            _ => RankError::Lost(text),
        }
    }
}

/// As a run without ranks would tell of it.
impl From<RankError> for FmmError {
    fn from(e: RankError) -> FmmError {
        match e {
            RankError::Option(text) => FmmError::Option(text),
            RankError::Range(text) => FmmError::Range(text),
            RankError::Tool(text) | RankError::Lost(text) => FmmError::Backend(BackendError::Tool(text)),
        }
    }
}

impl From<FmmError> for RankError {
    fn from(e: FmmError) -> RankError {
        match e {
            FmmError::Option(text) => RankError::Option(text),
            FmmError::Backend(BackendError::Tool(text)) => RankError::Tool(text),
            e => RankError::Range(e.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
