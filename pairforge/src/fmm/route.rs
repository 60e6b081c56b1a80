//! The choice of the stages' executors, and of the options of the method.

use super::costs::{self, EngineSize};
use super::known::Known;
pub use super::options::options;
#[cfg(feature = "cuda")]
use super::whole;
use super::{M2l, Options, Translations};
use crate::Error;
#[cfg(not(target_family = "wasm"))]
use crate::backends::board;
use crate::backends::{self, Entry, Needs};
use crate::kernel;
use fmm::expansion::basis::Basis;
use fmm::octree::FmmOptions;
use fmm::octree::tune::cost::Shape;
#[cfg(feature = "cuda")]
use gpu::octree::Gpu;
use pg2::graph::Graph;
use pipelines::job::BackendError;

/// A choice that follows from options alone.
#[derive(Clone)]
pub struct Route {
    pub entry: &'static Entry,
    /// The part of the backend's name behind the colon.
    pub place: String,
    /// Whether native code runs everything, and the kernel of P2P where it does so on a GPU.
    pub native: bool,
    pub on_gpu: Option<Graph>,
    /// The kernel that is not 1/r which a GPU is to run all stages with; where it does not, its P2P runs as on any backend.
    pub function: Option<Graph>,
    /// Whether the GPU is to run all stages.
    pub whole: bool,
    pub options: FmmOptions,
}

impl Route {
    pub fn new(asked: &Options) -> Result<Route, Error> {
        let (entry, place) = backends::find(&asked.backend).map_err(|e| Error::Options(e.to_string()))?;
        let on_gpu = on_gpu(entry, asked);
        let function = if on_gpu.is_none() { function(entry, asked) } else { None };
        if asked.gpus.is_some_and(|count| count > 1) && on_gpu.is_none() && function.is_none() {
            return Err(Error::Options("--gpus shares out native code on GPUs; take it with --backend cuda".into()));
        }
        let has_m2l_kernel = matches!(asked.m2l, M2l::Kernel(_));
        // A kernel that is named is run, on the CPU by its real-arithmetic semantics.
        let is_plain = asked.kernel.is_none() && !has_m2l_kernel;
        let native = on_gpu.is_some() || entry.native && entry.needs != Needs::Gpu && is_plain;
        let mut options = options(asked, native);
        #[cfg(feature = "cuda")]
        let whole = whole::asked(asked, on_gpu.is_some() || function.is_some())? && on_gpu.is_some();
        #[cfg(not(feature = "cuda"))]
        let whole = false;
        if whole && asked.enlarge != 1.0 {
            let why = "--enlarge is for trees of the CPU; leave it out, or take --translations cpu";
            return Err(Error::Options(why.into()));
        }
        // An order alone is that of the paper's expansion, as on pipelines.
        let is_free = asked.order.is_none() && asked.lower_beyond.is_none() && !has_m2l_kernel;
        if asked.expansion.is_none() && (whole || entry.native && is_free) {
            options.basis = Basis::Solid;
        }
        Ok(Route { entry, place: place.to_string(), native, on_gpu, function, whole, options })
    }

    /// Refuses options that do not go together.
    pub fn check(&self, asked: &Options) -> Result<(), Error> {
        if asked.hessian && !self.native {
            let why = "kernels have no pins for Hessians; compute them natively, with --backend cpu and no kernel";
            return Err(Error::Options(why.into()));
        }
        Ok(self.options.check()?)
    }

    /// Of the backend's place what is one rank's: boards serve one process each.
    #[cfg_attr(target_family = "wasm", expect(unused_variables, reason = "there is no board"))]
    pub fn place_of_rank(&self, rank: usize, ranks: usize) -> Result<String, BackendError> {
        match self.entry.needs {
            #[cfg(not(target_family = "wasm"))]
            Needs::Device => board::of_rank(&self.place, rank, ranks),
            _ => Ok(self.place.clone()),
        }
    }

    /// Options of the method for so many sources; the kernel of P2P is that of pipelines, if these run it.
    pub fn options_for(&self, asked: &Options, known: &Known, p2p: Option<&Graph>, n: usize) -> FmmOptions {
        let mut options = self.options.clone();
        if asked.leaf.is_none() {
            let Shape { leaf, enlarge } = costs::shape(&known.costs, self, p2p, &EngineSize::of(asked), n);
            (options.leaf, options.enlarge) = (leaf, enlarge);
        }
        options
    }

    /// Whether the CPU runs all stages in native code.
    pub fn is_on_cpu(&self) -> bool {
        self.native && self.on_gpu.is_none()
    }
}

/// The P2P kernel that a GPU runs natively beside the CPU's far field: the usual one, or one that is given and has a native form.
fn on_gpu(entry: &Entry, asked: &Options) -> Option<Graph> {
    let is_far_native = !matches!(asked.m2l, M2l::Kernel(_));
    if entry.needs != Needs::Gpu || !entry.native || !is_far_native {
        return None;
    }
    #[cfg(feature = "cuda")]
    return Some(p2p(asked)).filter(Gpu::takes_kernel);
    #[cfg(not(feature = "cuda"))]
    None
}

/// The kernel that a GPU runs all stages with, where it is another one than 1/r.
#[cfg(feature = "cuda")]
fn function(entry: &Entry, asked: &Options) -> Option<Graph> {
    let is_far_native = !matches!(asked.m2l, M2l::Kernel(_));
    let is_taken = entry.needs == Needs::Gpu && entry.native && is_far_native && whole::is_free(asked);
    let kernel = asked.kernel.as_ref().filter(|_| is_taken)?.graph();
    Gpu::takes_function(kernel, &asked.kernel_params()).then(|| kernel.clone())
}

#[cfg(not(feature = "cuda"))]
fn function(_: &Entry, _: &Options) -> Option<Graph> {
    None
}

/// The kernel of P2P: the one that is given, or the shipped one of 1/r.
pub(super) fn p2p(asked: &Options) -> Graph {
    match &asked.kernel {
        Some(kernel) => kernel.graph().clone(),
        None => kernel::shipped("p2p").expect("it is shipped").graph().clone(),
    }
}

impl Options {
    /// Whether a GPU is to run all stages and nothing else will do.
    pub fn wants_gpu(&self) -> bool {
        self.translations == Some(Translations::Gpu)
    }
}
