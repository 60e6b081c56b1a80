//! The options of an FMM in two dimensions.

#[cfg(feature = "kernels")]
use crate::backends::{BackendOptions, FMM_DEFAULT};
#[cfg(feature = "kernels")]
use crate::kernel;
use fmm::octree::{Cancel, Precision};
use fmm::plane::{self, Kernel, tune};

/// Options of an FMM in two dimensions. Whatever is not asked for is chosen: by the tolerance where there is one, else as the paper has it.
///
/// Lengths are in the units of the positions.
#[derive(Clone)]
pub struct Options {
    pub(super) kernel: Kernel,
    #[cfg(feature = "kernels")]
    pub(super) backend: String,
    #[cfg(feature = "kernels")]
    pub(super) engine: BackendOptions,
    #[cfg(feature = "kernels")]
    pub(super) p2p: Option<kernel::Kernel>,
    pub(super) tolerance: Option<f64>,
    pub(super) order: Option<usize>,
    pub(super) theta: f64,
    pub(super) leaf: Option<usize>,
    pub(super) precision: Option<Precision>,
    pub(super) samples: Option<usize>,
    pub(super) seed: u64,
    pub(super) cancel: Cancel,
}

/// The order without one that is given and without a tolerance: the paper's.
const ORDER: usize = 17;

impl Default for Options {
    fn default() -> Options {
        Options {
            kernel: Kernel::default(),
            #[cfg(feature = "kernels")]
            backend: FMM_DEFAULT.name.into(),
            #[cfg(feature = "kernels")]
            engine: BackendOptions::default(),
            #[cfg(feature = "kernels")]
            p2p: None,
            tolerance: None,
            order: None,
            theta: 0.5,
            leaf: None,
            precision: None,
            samples: None,
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
    /// Kernel of P2P in place of native code, with the values of its parameters. It has to compute what [`Options::kernel`] names.
    p2p(kernel: kernel::Kernel) Some(kernel);
}

setters! {
    /// The interaction of two points.
    kernel(kernel: Kernel) kernel;
    /// Relative L2 error that the sums (of the logarithm: the gradient) may have, of every set of strengths: order, precision and points a
    /// box are found for it.
    tolerance(error: f64) Some(error);
    /// Terms of the expansions, 1 to [`fmm::plane::MOST_ORDER`].
    order(order: usize) Some(order);
    /// Boxes of radii R >= r at a distance d are well separated where R + theta r <= theta d; 0.05 to 0.95.
    theta(theta: f64) theta;
    /// Wanted number of points in a finest box.
    leaf(points: usize) Some(points);
    /// Arithmetic of the expansions.
    precision(precision: Precision) Some(precision);
    /// Random targets whose results are compared with direct sums.
    samples(count: usize) Some(count);
    /// Seed of the random targets that errors are measured at.
    seed(seed: u64) seed;
    /// Ends a run between two stages.
    cancel(by: Cancel) by;
}

impl Options {
    /// Options of the method: what was asked for, and for the rest what is best.
    pub fn of_method(&self) -> plane::Options {
        let usual = self.tolerance.map_or(Precision::F64, tune::precision);
        let (kernel, precision) = (self.kernel, self.precision.unwrap_or(usual));
        let order = self.order.unwrap_or(ORDER);
        let leaf = self.leaf.unwrap_or_else(|| tune::leaf(order, kernel, precision));
        plane::Options { kernel, order, theta: self.theta, leaf, precision, cancel: self.cancel.clone() }
    }
}
