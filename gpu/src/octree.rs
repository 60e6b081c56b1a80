//! P2P on a GPU: the executor of the backend `cuda`, in the arithmetic that the plan names. What runs all stages there is in
//! `all_stages`.
//!
//! Targets with pairs that are too close for it, and sums that are no numbers, are computed again on the CPU (RULES H14).

pub mod all_stages;

use crate::cuda::CudaError;
use crate::cuda::device::{self, Device};
use crate::cuda::octree::links::Links;
use crate::cuda::octree::{Fields, Prices, TreeKind};
use crate::cuda::p2p::{self, Layout, Number, Prepared, Sums};
use fmm::data::Force;
use fmm::direct::p2p::Near;
use fmm::octree::executor::{Executor, Progress, Stage, State, Work};
use fmm::octree::{FmmError, Plan, Precision};
use fmm::parallel::prelude::*;
use pg2::backend::cuda::p2p::{NAME, Names, Real, Shape, module, pair, pair_of_differences};
use pg2::graph::Graph;
use pipelines::job::BackendError;
use pipelines::octree::bind::P2p;
use std::cell::RefCell;
use std::ops::Range;

/// Runs P2P by a kernel on the first GPUs.
pub struct Gpu {
    name: &'static str,
    /// The GPUs, which share the targets.
    devices: Vec<Device>,
    /// Whether all can copy from each other without the host.
    is_linked: bool,
    kernel: Graph,
    units: P2p,
    bound: Option<(Key, Bound)>,
    whole: Option<all_stages::Ready>,
    /// The tree of runs of all stages, and what they sum; the costs that trees are chosen by, if they are those of another precision.
    tree: TreeKind,
    fields: Fields,
    prices: Option<Prices>,
    /// The number of the positions that these runs are given, if it is known.
    positions: Option<u64>,
    /// Links by which they and the GPUs of other processes read each other's memory.
    links: RefCell<Links<Device>>,
}

/// The assignment of a machine's GPUs to processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// The number of this one, and of all that share.
    pub turn: usize,
    pub of: usize,
    /// The number of GPUs that they share, the first ones; if it is not given, each takes one, in turn.
    pub devices: Option<usize>,
}

impl Share {
    /// The first GPUs for one process.
    pub fn alone(devices: usize) -> Share {
        Share { turn: 0, of: 1, devices: Some(devices) }
    }

    /// The GPUs of this one, if there are as many as are asked for.
    fn choose(&self, there: usize) -> Result<Vec<usize>, String> {
        match self.devices {
            Some(asked) if asked > there => {
                Err(format!("{asked} GPUs are asked for and {there} found; take as many with --gpus"))
            }
            _ => Ok(self.devices(there)),
        }
    }

    /// The GPUs of this one, where so many are there.
    fn devices(&self, there: usize) -> Vec<usize> {
        let all = self.devices.unwrap_or(there).max(1);
        match self.devices {
            Some(_) if all > self.of => (self.turn..all).step_by(self.of).collect(),
            _ => vec![self.turn % all],
        }
    }
}

/// The key of the data on the GPUs: while it stays the same, the data stays there.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Key {
    plan: u64,
    eps: f64,
    precision: Precision,
}

impl Key {
    fn of(plan: &Plan) -> Key {
        Key { plan: plan.id(), eps: plan.options.eps, precision: plan.options.precision }
    }
}

/// A plan's data on the GPUs.
enum Bound {
    F32(Ready<f32>),
    F64(Ready<f64>),
}

struct Ready<T> {
    layout: Layout<T>,
    /// For each GPU its part of the blocks.
    parts: Vec<(Range<usize>, Prepared<T>)>,
}

impl<T: Number> Ready<T> {
    /// Sends everything but the charges to the GPUs. Targets are shared out in Morton order.
    fn new(devices: &mut [Device], kernel: &Graph, plan: &Plan) -> Result<Ready<T>, FmmError> {
        let layout = Layout::of_leaves(&plan.tree, &plan.lists, plan.options.eps);
        let text = text::<T>(kernel)?;
        let blocks = layout.parts(devices.len());
        let prepare = |(device, blocks): (&mut Device, Range<usize>)| {
            Ok((blocks.clone(), Prepared::of_part(device, &text, &plan.tree, &layout, blocks)?))
        };
        let parts: Result<Vec<_>, CudaError> = devices.iter_mut().zip(blocks).map(prepare).collect();
        Ok(Ready { parts: parts.map_err(BackendError::from)?, layout })
    }
}

/// The outcome of adding the sums of the GPUs.
#[derive(Default)]
struct Added {
    /// Targets that are to be computed again.
    again: Vec<usize>,
    /// Pairs that were too close.
    close: u64,
}

/// The kernel of P2P within an FMM.
fn text<T: Number>(kernel: &Graph) -> Result<String, FmmError> {
    module(kernel, &Names::USUAL, T::REAL, &Shape::of_cells(T::REAL)).map_err(|why| FmmError::Option(why.0))
}

impl Gpu {
    /// Whether it takes a kernel: one that is 1/r and has a native form. Other kernels run as in any job.
    pub fn takes_kernel(kernel: &Graph) -> bool {
        P2p::bind(kernel, false, &[]).is_ok() && pair(kernel, &Names::USUAL, Real::F32).is_ok()
    }

    /// Whether it runs all stages with a kernel, whatever function that is: one that has a native form, and a gradient.
    pub fn takes_function(kernel: &Graph, given: &[(String, f64)]) -> bool {
        let has_gradient = P2p::bind(kernel, true, given).is_ok_and(|p2p| p2p.gradient.is_some());
        has_gradient && pair_of_differences(kernel, &Names::USUAL, Real::F32).is_ok()
    }

    /// Opens GPUs of one of several processes to run all stages with such a kernel, values given for parameters of its own.
    pub fn open_function(
        name: &'static str,
        kernel: &Graph,
        given: &[(String, f64)],
        share: &Share,
    ) -> Result<Gpu, FmmError> {
        let units = P2p::bind(kernel, true, given)?;
        Gpu::open_bound((name, kernel, units), |there| share.choose(there))
    }

    /// Opens the first GPU for a kernel that it takes.
    pub fn open(name: &'static str, kernel: &Graph) -> Result<Gpu, FmmError> {
        Gpu::open_gpus(name, kernel, 1)
    }

    /// Opens so many GPUs, which share the targets.
    pub fn open_gpus(name: &'static str, kernel: &Graph, devices: usize) -> Result<Gpu, FmmError> {
        Gpu::open_shared(name, kernel, &Share::alone(devices))
    }

    /// Opens the first GPU so many times: it does the work of as many GPUs, one behind the other or side by side.
    pub fn open_in_place_of(name: &'static str, kernel: &Graph, devices: usize) -> Result<Gpu, FmmError> {
        Gpu::open_these(name, kernel, |_| Ok(vec![0; devices]))
    }

    /// Opens the GPUs of one of several processes or threads, which share out those of their machine.
    pub fn open_shared(name: &'static str, kernel: &Graph, share: &Share) -> Result<Gpu, FmmError> {
        Gpu::open_these(name, kernel, |there| share.choose(there))
    }

    /// Opens the GPUs that `choose` names, given how many there are.
    fn open_these(
        name: &'static str,
        kernel: &Graph,
        choose: impl FnOnce(usize) -> Result<Vec<usize>, String>,
    ) -> Result<Gpu, FmmError> {
        let units = P2p::bind(kernel, false, &[])?;
        Gpu::open_bound((name, kernel, units), choose)
    }

    /// The same for a kernel that is bound.
    fn open_bound(
        (name, kernel, units): (&'static str, &Graph, P2p),
        choose: impl FnOnce(usize) -> Result<Vec<usize>, String>,
    ) -> Result<Gpu, FmmError> {
        device::ready().map_err(BackendError::from)?;
        let chosen = choose(device::count()).map_err(BackendError::Tool)?;
        let open = || -> Result<(Vec<Device>, bool), CudaError> {
            let mut is_linked = true;
            let open = |device: &usize| Device::open_at(*device).map(Device::untracked);
            let all = chosen.iter().map(open).collect::<Result<Vec<_>, _>>()?;
            for (device, number) in all.iter().zip(&chosen) {
                for (other, _) in all.iter().zip(&chosen).filter(|(_, other)| *other != number) {
                    is_linked &= device.link(other)?;
                }
            }
            Ok((all, is_linked))
        };
        let (devices, is_linked) = open().map_err(BackendError::from)?;
        Ok(Gpu {
            name,
            devices,
            is_linked,
            kernel: kernel.clone(),
            units,
            bound: None,
            whole: None,
            tree: TreeKind::default(),
            fields: Fields::default(),
            prices: None,
            positions: None,
            links: RefCell::default(),
        })
    }

    /// Whether the kernel is 1/r.
    pub fn is_coulomb(&self) -> bool {
        self.units.coulomb
    }

    /// The number of GPUs, and whether all can copy from each other without the host.
    pub fn devices(&self) -> usize {
        self.devices.len()
    }

    pub fn is_linked(&self) -> bool {
        self.is_linked
    }

    /// Compiles the kernel for each GPU and says whether its data fits there.
    fn check<T: Number>(&mut self, plan: &Plan) -> Result<(), FmmError> {
        let text = text::<T>(&self.kernel)?;
        for device in &mut self.devices {
            device.function(&text, NAME, T::ARITHMETIC).map_err(BackendError::from)?;
            p2p::check_capacity::<T>(device, &plan.tree, &plan.lists).map_err(BackendError::from)?;
        }
        Ok(())
    }

    /// The data of a plan on the GPUs: what is there already, or what is sent now.
    fn bound(&mut self, plan: &Plan) -> Result<Bound, FmmError> {
        let key = Key::of(plan);
        match self.bound.take() {
            Some((of, bound)) if of == key => return Ok(bound),
            _ => {}
        }
        let devices = &mut self.devices;
        Ok(match plan.options.precision {
            Precision::F32 => Bound::F32(Ready::new(devices, &self.kernel, plan)?),
            Precision::F64 => Bound::F64(Ready::new(devices, &self.kernel, plan)?),
        })
    }

    /// Runs the kernel on all GPUs and adds what they give.
    fn sums<T: Number>(&self, ready: &mut Ready<T>, state: &mut State) -> Result<Added, CudaError> {
        let Ready { layout, parts } = ready;
        let charges = state.charges;
        for ((_, part), device) in parts.iter_mut().zip(&self.devices) {
            part.set_charges(device, charges)?;
            part.start(device)?;
        }
        let mut added = Added::default();
        for ((blocks, part), device) in parts.iter_mut().zip(&self.devices) {
            let sums = part.fetch(device)?;
            let blocks: Vec<_> = layout.blocks().skip(blocks.start).take(blocks.len()).collect();
            self.add(&blocks, &sums, state, &mut added);
        }
        Ok(added)
    }

    /// Adds what a GPU gave for its blocks, in box units. Threads of the pool help as soon as the far field leaves some idle.
    fn add<T: Number>(&self, blocks: &[(Range<usize>, f64)], sums: &Sums<T>, state: &mut State, added: &mut Added) {
        let (tree, length) = (&state.plan.tree, self.units.length);
        let coincident = &tree.targets().coincident;
        // The GPU has the potential first, and the gradient behind it.
        let unit = [0, 1, 2, 3].map(|a| self.units.unit(a));
        let one = |(size, targets, force): (f64, Range<usize>, &mut [Force])| {
            // The kernel took lengths in units of the block.
            let scale = tree.map.size / size;
            let (first, second) = (scale / length, scale * scale / (length * length));
            let scale = [first, second, second, second];
            let mut added = Added::default();
            for (k, force) in targets.zip(force) {
                let (sum, close) = sums.of(k);
                let (close, own) = (close as u64, coincident[k] as u64);
                if close == own && sum.iter().all(|x| x.f64().is_finite()) {
                    (0..4).for_each(|a| force[a] += sum[a].f64() / unit[a] * scale[a]);
                } else {
                    added.close += close.saturating_sub(own);
                    added.again.push(k);
                }
            }
            added
        };
        // Blocks follow each other in the order of the targets.
        let (mut rest, mut from, mut places) = (&mut state.sums.force[..], 0, Vec::with_capacity(blocks.len()));
        for (targets, size) in blocks {
            let (force, behind) = rest[targets.start - from..].split_at_mut(targets.len());
            places.push((*size, targets.clone(), force));
            (rest, from) = (behind, targets.end);
        }
        let all: Vec<Added> = places.into_par_iter().map(one).collect();
        for part in all {
            added.close += part.close;
            added.again.extend(part.again);
        }
    }
}

impl Executor<Plan> for Gpu {
    fn name(&self) -> &str {
        self.name
    }

    fn takes(&self, stage: Stage) -> bool {
        stage == Stage::P2p
    }

    fn is_device(&self) -> bool {
        true
    }

    fn is_native(&self) -> bool {
        true
    }

    fn bind(&mut self, plan: &Plan) -> Result<(), FmmError> {
        // What another plan had on the GPUs goes first. The data is sent by the stage itself, beside the far field.
        if self.bound.as_ref().is_some_and(|(key, _)| *key == Key::of(plan)) {
            return Ok(());
        }
        self.bound = None;
        match plan.options.precision {
            Precision::F32 => self.check::<f32>(plan),
            Precision::F64 => self.check::<f64>(plan),
        }
    }

    fn extremes(&self, _: Stage, state: &State) -> Vec<f64> {
        let (tree, options) = (&state.plan.tree, &state.plan.options);
        vec![match options.precision {
            Precision::F32 => p2p::longest_eps::<f32>(tree, options.eps),
            Precision::F64 => p2p::longest_eps::<f64>(tree, options.eps),
        }]
    }

    fn suits(&self, _: Stage, state: &State, extremes: &[f64]) -> bool {
        match state.plan.options.precision {
            Precision::F32 => p2p::suits::<f32>(state.charges, extremes[0]),
            Precision::F64 => p2p::suits::<f64>(state.charges, extremes[0]),
        }
    }

    fn run(&mut self, _: Stage, state: &mut State, _: &[f64], progress: &mut Progress) -> Result<Work, FmmError> {
        let (plan, charges) = (state.plan, state.charges);
        let near = Near::new(&plan.tree, &plan.lists, charges, plan.options.eps);
        let mut bound = self.bound(plan)?;
        let added = match &mut bound {
            Bound::F32(ready) => self.sums(ready, state),
            Bound::F64(ready) => self.sums(ready, state),
        }
        .map_err(BackendError::from)?;
        self.bound = Some((Key::of(plan), bound));
        let Added { again, close } = added;
        let n = plan.tree.targets().len();
        progress("P2P", n, n);
        let add = &mut |k: usize, f: Force| (0..4).for_each(|a| state.sums.force[k][a] += f[a]);
        let again = near.some(&plan.tree.leaves_of(&again), add);
        Ok(Work {
            streamed: plan.pairs.p2p,
            recomputed: again.targets,
            close,
            wide: again.wide,
            has_gradient: self.units.gradient.is_some(),
            ..Work::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_share_gpus_take_all_of_them_and_each_has_one() {
        let devices = |of: usize, devices, there| -> Vec<Vec<usize>> {
            (0..of).map(|turn| Share { turn, of, devices }.devices(there)).collect()
        };
        assert_eq!(devices(1, Some(3), 4), [vec![0, 1, 2]]);
        assert_eq!(devices(2, Some(4), 4), [vec![0, 2], vec![1, 3]]);
        assert_eq!(devices(3, Some(4), 8), [vec![0, 3], vec![1], vec![2]]);
        // More than GPUs: some share one.
        assert_eq!(devices(3, Some(2), 8), [vec![0], vec![1], vec![0]]);
        // A GPU each if nothing is asked for.
        assert_eq!(devices(3, None, 2), [vec![0], vec![1], vec![0]]);
        assert_eq!(devices(2, None, 8), [vec![0], vec![1]]);
    }
}
