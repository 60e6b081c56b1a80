//! Pairs of particles without expansions: P2P on the CPU, pairs too close for a kernel, and direct summation.

pub mod close;
pub mod conserved;
pub mod error;
pub mod ewald;
pub mod hermite;
pub mod p2p;
pub mod scales;
pub mod summation;
