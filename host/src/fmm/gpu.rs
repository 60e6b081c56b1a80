//! P2P on a GPU: the executor of the backend `cuda`, in the arithmetic that the plan names. What runs all stages there is in
//! `whole`.
//!
//! Targets with pairs that are too close for it, and sums that are no numbers, are computed again on the CPU (RULES H14).

pub mod whole;

use super::bind::P2p;
use super::executor::{Executor, Progress, Stage, State, Work};
use super::offload::by_leaf;
use super::{FmmError, Plan, Precision, native};
use crate::cuda::device::Device;
use crate::cuda::p2p::{self, Layout, Number, Prepared, Sums};
use crate::cuda::{CudaError, compile};
use crate::data::Force;
use crate::direct::p2p::Near;
use crate::job::BackendError;
use pg2::backend::cuda::p2p::{Names, Real, module, pair};
use pg2::graph::Graph;

/// Runs P2P by a kernel on the first card.
pub struct Gpu {
    name: &'static str,
    device: Device,
    kernel: Graph,
    units: P2p,
    bound: Option<Bound>,
    whole: Option<whole::Ready>,
}

/// A plan's data on the card.
enum Bound {
    F32(Ready<f32>),
    F64(Ready<f64>),
}

struct Ready<T> {
    layout: Layout<T>,
    prepared: Prepared<T>,
}

impl<T: Number> Ready<T> {
    fn new(device: &mut Device, kernel: &Graph, plan: &Plan) -> Result<Ready<T>, FmmError> {
        let layout = Layout::of_leaves(&plan.tree, &plan.lists, plan.options.eps);
        let text = module(kernel, &Names::USUAL, T::REAL, &layout.shape).map_err(|why| FmmError::Option(why.0))?;
        let prepared = Prepared::new(device, &text, &plan.tree, &layout).map_err(BackendError::from)?;
        Ok(Ready { layout, prepared })
    }

    fn sums(&mut self, device: &Device, state: &State) -> Result<Option<Sums<T>>, CudaError> {
        let State { plan, charges, .. } = state;
        if !p2p::suits(&plan.tree, charges, plan.options.eps, &self.layout) {
            return Ok(None);
        }
        self.prepared.set_charges(device, charges)?;
        self.prepared.launch(device)?;
        self.prepared.fetch(device).map(Some)
    }
}

impl Gpu {
    /// Whether it takes a kernel: one that is 1/r and has a native form. Others run as in any job.
    pub fn takes_kernel(kernel: &Graph) -> bool {
        P2p::bind(kernel, false, &[]).is_ok() && pair(kernel, &Names::USUAL, Real::F32).is_ok()
    }

    /// Opens the card for a kernel that it takes.
    pub fn open(name: &'static str, kernel: &Graph) -> Result<Gpu, FmmError> {
        let units = P2p::bind(kernel, false, &[])?;
        compile::check().map_err(BackendError::from)?;
        let device = Device::open().map_err(BackendError::from)?;
        Ok(Gpu { name, device, kernel: kernel.clone(), units, bound: None, whole: None })
    }

    /// Adds what the card gave, in box units, and gives the targets that are to be computed again, and how many pairs were too
    /// close. On one thread: those of the pool are busy with the far field.
    fn add<T: Number>(&self, layout: &Layout<T>, sums: &Sums<T>, state: &mut State) -> (Vec<usize>, u64) {
        let (tree, length) = (&state.plan.tree, self.units.length);
        let twins = &tree.targets().twins;
        let (mut again, mut pairs) = (Vec::new(), 0);
        for (targets, unit) in layout.blocks() {
            // The kernel took lengths in units of the block.
            let scale = tree.map.size / unit;
            let scale = [scale / length, scale * scale / (length * length)];
            for k in targets {
                let sum = &sums.force[4 * k..4 * k + 4];
                let (close, own) = (sums.close[k] as u64, twins[k] as u64);
                if close == own && sum.iter().all(|x| x.f64().is_finite()) {
                    let boxed = |a: usize| self.units.boxed(a, |element| sum[self.place(element)].f64());
                    (0..4).for_each(|a| state.force[k][a] += boxed(a) * scale[(a > 0) as usize]);
                } else {
                    pairs += close.saturating_sub(own);
                    again.push(k);
                }
            }
        }
        (again, pairs)
    }

    /// The place of an output element in the sums of the card: the potential, and the gradient behind it.
    fn place(&self, element: usize) -> usize {
        if element == self.units.potential {
            return 0;
        }
        let gradient = self.units.gradient.expect("an element that is not the potential is of the gradient");
        1 + gradient.iter().position(|g| *g == element).expect("a component of the gradient")
    }
}

impl Executor for Gpu {
    fn name(&self) -> &str {
        self.name
    }

    fn takes(&self, stage: Stage) -> bool {
        stage == Stage::P2p
    }

    fn is_device(&self) -> bool {
        true
    }

    fn bind(&mut self, plan: &Plan) -> Result<(), FmmError> {
        // What another plan had on the card goes first.
        self.bound = None;
        let (device, kernel) = (&mut self.device, &self.kernel);
        self.bound = Some(match plan.options.precision {
            Precision::F32 => Bound::F32(Ready::new(device, kernel, plan)?),
            Precision::F64 => Bound::F64(Ready::new(device, kernel, plan)?),
        });
        Ok(())
    }

    fn run(&mut self, stage: Stage, state: &mut State, progress: &mut Progress) -> Result<Work, FmmError> {
        let (plan, charges) = (state.plan, state.charges);
        let near = Near::new(&plan.tree, &plan.lists, charges, plan.options.eps);
        let mut bound = self.bound.take().expect("it is bound before it runs");
        let added = match &mut bound {
            Bound::F32(ready) => {
                let sums = ready.sums(&self.device, state).map_err(BackendError::from)?;
                sums.map(|sums| self.add(&ready.layout, &sums, state))
            }
            Bound::F64(ready) => {
                let sums = ready.sums(&self.device, state).map_err(BackendError::from)?;
                sums.map(|sums| self.add(&ready.layout, &sums, state))
            }
        };
        self.bound = Some(bound);
        let Some((again, pairs)) = added else {
            // Charges or a softening length for which the card's arithmetic is too narrow.
            let mut work = native::run(stage, std::slice::from_mut(state));
            return Ok(work.pop().expect("one set of charges"));
        };
        let n = plan.tree.targets().len();
        progress("P2P", n, n);
        let add = &mut |k: usize, f: Force| (0..4).for_each(|a| state.force[k][a] += f[a]);
        let again = near.some(&by_leaf(&plan.tree, &again), add);
        Ok(Work {
            streamed: plan.pairs.p2p,
            recomputed: again.targets,
            // Pairs of particles that are sources and targets were seen from both ends.
            close: if plan.tree.is_apart() { pairs } else { pairs.div_ceil(2) },
            wide: again.wide,
            has_gradient: self.units.gradient.is_some(),
            ..Work::default()
        })
    }
}
