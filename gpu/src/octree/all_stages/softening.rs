//! Softening of the far field: the order that a run needs follows from its tree, as on the CPU.

use super::Task;
use crate::cuda::CudaError;
use crate::cuda::driver::Outcome;
use crate::cuda::gpu_device::GpuDevice;
use crate::cuda::octree::communicator::Team;
use crate::cuda::octree::{FmmShape, GpuFmm, Run};
use crate::cuda::p2p::Number;
use fmm::expansion::basis::Basis;
use fmm::expansion::softened::orders;
use fmm::octree::{FmmOptions, softening};
use fmm::tree::lists::near2;

/// The order of the expansion of a run, and whether softening asked for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Softened {
    pub order: usize,
    pub is_softened: bool,
}

impl Softened {
    /// The order for a softening length in boxes and a tree of so many levels; or why the GPU has no such expansion.
    pub fn of(options: &FmmOptions, eps: f64, levels: usize) -> Result<Softened, String> {
        let Some(other) = softening::other(options, eps, levels) else {
            return Ok(Softened { order: options.order, is_softened: false });
        };
        if other.basis != Basis::Softened || (other.theta, other.leaf) != (options.theta, options.leaf) {
            return Err("the softening length asks for larger leaves or another theta".into());
        }
        // Of short lengths beside the smallest cells, harmonics are as near to softened 1/r as to 1/r.
        if orders::of_levels(other.order, near2(other.theta), eps, levels).any(|order| order > 0) {
            return Err("the softening length is too long beside the smallest cells for an expansion of 1/r".into());
        }
        Ok(Softened { order: other.order, is_softened: true })
    }
}

impl Task<'_> {
    /// A run in the expansion that its tree asks for, which may be another one than the last run had. `run` is the run in the expansion
    /// that there is.
    pub(super) fn settled<T: Number, C: GpuDevice>(
        &self,
        team: &Team<C>,
        whole: &mut GpuFmm<T, C>,
        mut run: impl FnMut(&mut GpuFmm<T, C>) -> Result<Outcome<Run>, CudaError>,
    ) -> Result<Outcome<Run>, CudaError> {
        loop {
            let found = match run(whole)? {
                Ok(found) => found,
                Err(why) => return Ok(Err(why)),
            };
            let order = match self.softened(&found) {
                Ok(softened) => softened.order,
                Err(why) => return Ok(Err(why)),
            };
            // The tree does not depend on the order, so the next run is the last.
            if order == whole.order() {
                return Ok(Ok(found));
            }
            let most = FmmShape::most_order(self.wanted, T::REAL);
            if order > most {
                return Ok(Err(format!("the softening length asks for order {order}, above {most}")));
            }
            whole.take_order(team, order)?;
        }
    }

    /// The expansion that the tree of a run asks for.
    pub(super) fn softened(&self, run: &Run) -> Result<Softened, String> {
        Softened::of(self.options, run.map.length(self.options.eps), run.depth as usize + 1)
    }
}
