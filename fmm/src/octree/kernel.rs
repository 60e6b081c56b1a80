//! A pairwise kernel in place of 1/r: what an FMM has to know of it, whoever evaluates it.

pub use crate::stages::KernelError;

use super::executor::{Executor, Progress};
use super::{FmmError, FmmOptions, Plan};
use crate::data::Force;
use crate::expansion::chebyshev::Function;
use crate::tree::boxmap::BoxMap;
use std::sync::Arc;

/// A kernel of P2P that is not native code, such as a compiled PG2 text.
pub trait Kernel: Sync {
    /// Its name in messages.
    fn name(&self) -> &str;

    /// Whether it is 1/r, so that native code can stand in for it; with the values of its parameters.
    fn is_coulomb(&self, options: &FmmOptions) -> bool;

    /// The function of differences of coordinates that a black-box expansion expands, in boxes of a map (RULES H15). The tree has so many
    /// `levels`. A kernel that is no such function, or is not smooth, is refused.
    fn function(&self, options: &FmmOptions, map: &BoxMap, levels: usize) -> Result<Arc<dyn Function>, FmmError>;

    /// An executor of P2P by its real-arithmetic semantics in f64, at coordinates as they are.
    fn in_f64(&self) -> Box<dyn Executor<Plan> + '_>;

    /// The same at coordinates on the grid that the kernel is given on a backend.
    fn on_grid(&self) -> Box<dyn Executor<Plan> + '_>;

    /// Reference: potential and gradient at some targets in the user's units, summed directly over all sources and images in f64.
    fn direct(
        &self,
        plan: &Plan,
        charges: &[f64],
        targets: &[usize],
        progress: &mut Progress,
    ) -> Result<Vec<Force>, FmmError>;
}
