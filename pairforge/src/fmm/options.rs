//! The options of an FMM.

use crate::backends::{BackendOptions, FMM_DEFAULT};
use crate::kernel::Kernel;
use fmm::data::periodic::Periodic;
use fmm::expansion::basis::Basis;
use fmm::octree::{Cancel, Coincident, Precision};

/// Options of an FMM. Whatever is not asked for is chosen: by the tolerance where there is one, else as the field usually has it.
///
/// Lengths are in the units of the positions.
#[derive(Clone)]
pub struct Options {
    pub(crate) backend: String,
    pub(crate) engine: BackendOptions,
    pub(crate) kernel: Option<Kernel>,
    pub(crate) m2l: M2l,
    pub(crate) translations: Option<Translations>,
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
#[derive(Clone, Default)]
pub enum M2l {
    /// Native code on the CPU and on GPUs; on pipelines the generated kernel of the order.
    #[default]
    Usual,
    Native,
    Kernel(Kernel),
}

/// Where the stages besides P2P run on a GPU's backend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Translations {
    Cpu,
    Gpu,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            backend: FMM_DEFAULT.name.into(),
            engine: BackendOptions::default(),
            kernel: None,
            m2l: M2l::Usual,
            translations: None,
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

/// Sets one option and returns all.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($given:ident: $of:ty) $value:expr;)*) => {
        impl Options {
            $($(#[$doc])* pub fn $name(mut self, $given: $of) -> Options {
                self.$name = $value;
                self
            })*
        }
    };
}

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
