//! Softening of the far field: the expansion that a run needs follows from its tree, as on the CPU.

use super::Task;
use crate::cuda::CudaError;
use crate::cuda::driver::Outcome;
use crate::cuda::gpu_device::GpuDevice;
use crate::cuda::octree::communicator::Team;
use crate::cuda::octree::{FmmBasis, FmmShape, GpuFmm, MOST_BLACK_BOX, Run};
use crate::cuda::p2p::Number;
use fmm::expansion::basis::Basis;
use fmm::expansion::softened::orders;
use fmm::octree::softening;
use fmm::tree::lists::near2;
use pg2::backend::cuda::p2p::Real;

/// The expansion of a run, its order, and whether softening asked for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Softened {
    pub basis: FmmBasis,
    pub order: usize,
    pub is_softened: bool,
}

impl Softened {
    /// The expansion for a softening length in boxes and a tree of so many levels; or why the GPU has none.
    pub fn of(task: &Task, eps: f64, levels: usize, real: Real) -> Result<Softened, String> {
        let options = task.options;
        let Some(other) = softening::other(options, eps, levels) else {
            return Ok(Softened { basis: FmmBasis::Harmonics, order: options.order, is_softened: false });
        };
        if other.basis != Basis::Softened || (other.theta, other.leaf) != (options.theta, options.leaf) {
            return Err("the softening length asks for larger leaves or another theta".into());
        }
        let near2 = near2(other.theta);
        // Of short lengths beside the smallest cells, harmonics are as near to softened 1/r as to 1/r.
        if orders::of_levels(other.order, near2, eps, levels).all(|order| order == 0) {
            let most = FmmShape::most_order(task.wanted, real);
            return match other.order <= most {
                true => Ok(Softened { basis: FmmBasis::Harmonics, order: other.order, is_softened: true }),
                false => Err(format!("the softening length asks for order {}, above {most}", other.order)),
            };
        }
        let order = orders::alone(other.order, near2).filter(|order| *order <= MOST_BLACK_BOX);
        let why = match order {
            _ if options.periodic.is_some() => "with periodic boundaries",
            _ if real == Real::F32 && eps > softening::MOST_F32 => "in f32 where it is more than a tenth of the box",
            Some(order) => return Ok(Softened { basis: FmmBasis::Softened, order, is_softened: true }),
            None => "of an order as high as this",
        };
        Err(format!(
            "the softening length is long beside the smallest cells, and the far field that it asks for is the CPU's {why}"
        ))
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
            if whole.expansion().0 == FmmBasis::Chebyshev {
                return Ok(Ok(found));
            }
            let wanted = match self.softened(&found, T::REAL) {
                Ok(softened) => (softened.basis, softened.order),
                Err(why) => return Ok(Err(why)),
            };
            // The tree does not depend on the expansion, so the next run is the last.
            if wanted == whole.expansion() {
                return Ok(Ok(found));
            }
            whole.take_expansion(team, wanted)?;
        }
    }

    /// The expansion that the tree of a run asks for.
    pub(super) fn softened(&self, run: &Run, real: Real) -> Result<Softened, String> {
        Softened::of(self, run.map.length(self.options.eps), run.depth as usize + 1, real)
    }
}
