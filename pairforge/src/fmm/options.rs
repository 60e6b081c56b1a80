//! The options of an FMM.

use super::known::LEAF;
#[cfg(feature = "kernels")]
use crate::backends::{BackendOptions, FMM_DEFAULT};
#[cfg(feature = "kernels")]
use crate::kernel::Kernel;
use fmm::data::periodic::Periodic;
use fmm::expansion::basis::Basis;
use fmm::expansion::solid::m2l::M2lBy;
use fmm::octree::{Cancel, Coincident, FmmOptions, Precision, tune};

/// Options of an FMM. Whatever is not asked for is chosen: by the tolerance where there is one, else as the field usually has it.
///
/// Lengths are in the units of the positions.
#[derive(Clone)]
pub struct Options {
    #[cfg(feature = "kernels")]
    pub(crate) backend: String,
    #[cfg(feature = "kernels")]
    pub(crate) engine: BackendOptions,
    #[cfg(feature = "kernels")]
    pub(crate) kernel: Option<Kernel>,
    #[cfg(feature = "kernels")]
    pub(crate) m2l: M2l,
    #[cfg(feature = "kernels")]
    pub(crate) translations: Option<Translations>,
    #[cfg(feature = "kernels")]
    pub(crate) gpus: Option<usize>,
    pub(crate) tolerance: Option<f64>,
    pub(crate) order: Option<usize>,
    pub(crate) lower_beyond: Option<f64>,
    pub(crate) theta: Option<f64>,
    pub(crate) leaf: Option<usize>,
    pub(crate) enlarge: f64,
    pub(crate) expansion: Option<Basis>,
    pub(crate) precision: Option<Precision>,
    pub(crate) softening: f64,
    pub(crate) coincident: Option<Coincident>,
    pub(crate) near_only: bool,
    pub(crate) periodic: Option<Periodic>,
    pub(crate) hessian: bool,
    pub(crate) samples: Option<usize>,
    pub(crate) budget: bool,
    pub(crate) seed: u64,
    pub(crate) cancel: Cancel,
}

/// The executor of M2L where kernels run P2P.
#[cfg(feature = "kernels")]
#[derive(Clone, Default)]
#[allow(clippy::large_enum_variant, reason = "a program has few of them")]
pub enum M2l {
    /// Native code on the CPU and on GPUs; on pipelines the generated kernel of the order.
    #[default]
    Usual,
    Native,
    Kernel(Kernel),
}

/// Where the stages besides P2P run on a GPU's backend.
#[cfg(feature = "kernels")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Translations {
    Cpu,
    Gpu,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            #[cfg(feature = "kernels")]
            backend: FMM_DEFAULT.name.into(),
            #[cfg(feature = "kernels")]
            engine: BackendOptions::default(),
            #[cfg(feature = "kernels")]
            kernel: None,
            #[cfg(feature = "kernels")]
            m2l: M2l::Usual,
            #[cfg(feature = "kernels")]
            translations: None,
            #[cfg(feature = "kernels")]
            gpus: None,
            tolerance: None,
            order: None,
            lower_beyond: None,
            theta: None,
            leaf: None,
            enlarge: 1.0,
            expansion: None,
            precision: None,
            softening: 0.0,
            coincident: None,
            near_only: false,
            periodic: None,
            hessian: false,
            samples: None,
            budget: false,
            seed: 1,
            cancel: Cancel::default(),
        }
    }
}

#[cfg(feature = "kernels")]
setters! {
    /// Backend by its name: `cpu`, `cuda`, `emulator`, `cycle`, or `board:PORT`.
    backend(name: impl Into<String>) name.into();
    /// The engine of pipelines, on backends that have one.
    engine(engine: BackendOptions) engine;
    /// Kernel of P2P in place of 1/r in native code, with the values of its parameters.
    kernel(kernel: Kernel) Some(kernel);
    /// The executor of M2L.
    m2l(by: M2l) by;
    /// Where the stages besides P2P run on backend `cuda`; by default on the GPU where it takes the problem.
    translations(place: Translations) Some(place);
    /// GPUs that share the work, on backend `cuda`.
    gpus(count: usize) Some(count);
}

setters! {
    /// Relative L2 error that the gradient may have, of every set of charges: order, precision and leaf size are found for it.
    tolerance(error: f64) Some(error);
    /// Expansion order P.
    order(order: usize) Some(order);
    /// Squared offset of cells beyond which M2L takes the order below, see [`fmm::octree::FmmOptions`].
    lower_beyond(offset: f64) Some(offset);
    /// Opening angle, above 0 and up to 0.5.
    theta(theta: f64) Some(theta);
    /// Particles up to which a cell stays a leaf.
    leaf(particles: usize) Some(particles);
    /// Edge of the root cell in edges of the particles' box, from 1 to below 2, with a leaf size.
    enlarge(times: f64) times;
    /// Basis of the expansions.
    expansion(basis: Basis) Some(basis);
    /// Arithmetic of native code.
    precision(precision: Precision) Some(precision);
    /// Softening length: 1/sqrt(r^2 + eps^2) in place of 1/r.
    softening(eps: f64) eps;
    /// Whether pairs at distance 0 act by a kernel that is not 0 there.
    coincident(whether: Coincident) Some(whether);
    /// Leave out the far field.
    near_only(is_near_only: bool) is_near_only;
    /// Periodic boundaries.
    periodic(box_of: Periodic) Some(box_of);
    /// Second derivatives too.
    hessian(is_wanted: bool) is_wanted;
    /// Random targets whose results are compared with direct sums.
    samples(count: usize) Some(count);
    /// Split the error at these targets by its causes.
    budget(is_wanted: bool) is_wanted;
    /// Seed of the random targets that errors are measured at.
    seed(seed: u64) seed;
    /// Ends a run between two stages.
    cancel(by: Cancel) by;
}

/// Options of the method: what was asked for, and for the rest what is best. `native` code alone runs everything.
pub fn options(asked: &Options, native: bool) -> FmmOptions {
    let usual = if asked.tolerance.is_some() { Basis::Solid } else { Basis::Cartesian };
    let precision = asked.tolerance.filter(|_| native).map_or(Precision::F64, tune::precision);
    let mut options = FmmOptions {
        order: asked.order.unwrap_or(4),
        lower_beyond: asked.lower_beyond,
        theta: asked.theta.unwrap_or(0.5),
        leaf: LEAF,
        enlarge: asked.enlarge,
        precision: asked.precision.unwrap_or(precision),
        basis: asked.expansion.unwrap_or(usual),
        eps: asked.softening,
        coincident: asked.coincident.unwrap_or_default(),
        m2l_by: M2lBy::default(),
        near_only: asked.near_only,
        periodic: asked.periodic,
        params: asked.kernel_params(),
        cancel: asked.cancel.clone(),
    };
    if let Some(wanted) = asked.tolerance {
        options = tune::start(&options, wanted);
    }
    options.leaf = asked.leaf.unwrap_or(LEAF);
    options
}

impl Options {
    /// The parameters of the kernel, if there is one.
    pub(super) fn kernel_params(&self) -> Vec<(String, f64)> {
        #[cfg(feature = "kernels")]
        return self.kernel.as_ref().map_or(Vec::new(), |kernel| kernel.params().to_vec());
        #[cfg(not(feature = "kernels"))]
        Vec::new()
    }

    /// Whether a kernel of the caller's takes the place of 1/r.
    pub(crate) fn has_kernel(&self) -> bool {
        #[cfg(feature = "kernels")]
        return self.kernel.is_some();
        #[cfg(not(feature = "kernels"))]
        false
    }
}
