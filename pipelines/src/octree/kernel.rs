//! A compiled kernel of P2P as an FMM knows it.

use super::bind::P2p;
use super::function::{self, Cells, Setting};
use super::offload::{KernelBox, Pipelines, direct};
use crate::backends::{BackendOptions, cpu};
use fmm::data::Force;
use fmm::expansion::chebyshev::Function;
use fmm::octree::executor::{Executor, Progress};
use fmm::octree::kernel::Kernel;
use fmm::octree::tune::cost::Costs;
use fmm::octree::{FmmError, FmmOptions, Plan, tune};
use fmm::tree::boxmap::BoxMap;
use pg2::graph::Graph;
use std::sync::Arc;

/// A kernel of P2P.
#[repr(transparent)]
struct P2pKernel(Graph);

/// A graph as a kernel of P2P.
pub fn of_graph(graph: &Graph) -> &dyn Kernel {
    // SAFETY: it has the graph's layout.
    unsafe { &*std::ptr::from_ref(graph).cast::<P2pKernel>() }
}

impl Kernel for P2pKernel {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn is_coulomb(&self, options: &FmmOptions) -> bool {
        P2p::bind(&self.0, true, &options.params).map_or(true, |p2p| p2p.coulomb)
    }

    fn function(&self, options: &FmmOptions, map: &BoxMap, levels: usize) -> Result<Arc<dyn Function>, FmmError> {
        let (eps, edge) = (map.length(options.eps), map.edge());
        let setting = Setting { eps, edge, given: &options.params, window: KernelBox::of(options) };
        Ok(function::function(&self.0, &setting, &Cells::of(options, levels))?)
    }

    fn in_f64(&self) -> Box<dyn Executor<Plan> + '_> {
        Box::new(Pipelines::owning((cpu::ENTRY.open)(&BackendOptions::default()), &self.0).exact())
    }

    fn on_grid(&self) -> Box<dyn Executor<Plan> + '_> {
        Box::new(Pipelines::owning((cpu::ENTRY.open)(&BackendOptions::default()), &self.0))
    }

    fn direct(
        &self,
        plan: &Plan,
        charges: &[f64],
        targets: &[usize],
        progress: &mut Progress,
    ) -> Result<Vec<Force>, FmmError> {
        direct(plan, charges, &self.0, targets, progress)
    }
}

/// The kernel that black-box expansions are measured with.
const MEASURED: &str = "p2p_yukawa";

/// Measures what the stages of an FMM cost on this machine; `step` is called with the number of steps done and of all.
pub fn measure(step: &mut dyn FnMut(usize, usize)) -> Result<Costs, FmmError> {
    let kernel = pg2::kernels::find(MEASURED).expect("it is shipped");
    let graph = pg2::compile(MEASURED, kernel.text).expect("shipped kernels compile").graph;
    tune::measure(of_graph(&graph), step)
}
