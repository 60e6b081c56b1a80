//! The kernels of an FMM: those of pipelines, and the one that a GPU runs.

use super::{Args, NATIVE, failure};
use crate::failure::Failure;
use crate::source;
use fmm::expansion::basis::Basis;
use fmm::octree::{Coincident, FmmOptions, Precision, tune};
use gpu::octree::Gpu;
use pairforge::backends::{Entry, Needs};
use pg2::graph::Graph;
use pipelines::octree::{bind, function, offload};

/// The P2P kernel that a GPU runs natively beside the CPU's far field: the usual one, or one that is named and has a native form.
pub fn on_gpu(entry: &Entry, args: &Args) -> Result<Option<Graph>, Failure> {
    let is_far_native = args.m2l.as_deref().is_none_or(|m| m == NATIVE);
    if entry.needs != Needs::Gpu || !entry.native || !is_far_native {
        return Ok(None);
    }
    let kernel = source::load(args.p2p.as_deref().unwrap_or("p2p"))?.1;
    Ok(Some(kernel).filter(Gpu::takes_kernel))
}

/// The M2L kernel of an order.
pub fn generated(order: usize) -> Result<Graph, Failure> {
    let text = pg2::gen_m2l(order as u32).map_err(Failure::Usage)?;
    source::compile(&source::Kernel::shipped(&format!("m2l_p{order}"), &text))
}

/// The kernels of an FMM on pipelines.
pub struct Kernels {
    pub p2p: Graph,
    pub m2l: Option<Graph>,
}

impl Kernels {
    /// Compiles them and checks that they can be used on a backend. A P2P kernel that is not 1/r gets a black-box expansion. Where
    /// native code can run M2L as well, it does so unless a kernel is named.
    pub fn load(args: &Args, entry: &Entry, options: &mut FmmOptions) -> Result<Kernels, Failure> {
        let p2p = source::load(args.p2p.as_deref().unwrap_or("p2p"))?.1;
        let is_free = args.expansion.is_none() && args.m2l.as_deref().is_none_or(|m| m == NATIVE) && !args.near_only;
        if is_free && bind::P2p::bind(&p2p, true, &options.params).is_ok_and(|kernel| !kernel.coulomb) {
            options.basis = Basis::Chebyshev;
            // The first order was that of solid harmonics, which have higher ones.
            if let Some(wanted) = args.tol {
                *options = tune::start(options, wanted);
            }
        }
        if options.basis == Basis::Chebyshev && !args.near_only {
            function::check(&p2p, options).map_err(|e| failure(e.into()))?;
        }
        let is_coulomb = || bind::P2p::bind(&p2p, true, &options.params).is_ok_and(|kernel| kernel.coulomb);
        if options.coincident == Coincident::Include && args.coincident.is_some() && is_coulomb() {
            return Err(Failure::Usage(format!(
                "{} is 1/r, which has no value at distance 0: no particle acts on itself or on those in its place; leave --coincident out",
                p2p.name
            )));
        }
        if args.tol.is_some() && args.m2l.as_deref().is_some_and(|m| m != NATIVE) {
            return Err(Failure::Usage(
                "--tol finds the order, which an M2L kernel has already; leave --m2l out".into(),
            ));
        }
        let m2l = match &args.m2l {
            _ if args.near_only => None,
            None if options.basis == Basis::Chebyshev || args.tol.is_some() => None,
            Some(file) if file == NATIVE => None,
            // M2L kernels are those of 1/r, while native code softens the far field where that matters.
            None if options.eps > 0.0 => None,
            Some(file) => Some(source::load(file)?.1),
            None if entry.native => None,
            None => Some(generated(options.order)?),
        };
        if options.precision == Precision::F32 && (m2l.is_some() || args.near_only) {
            return Err(Failure::Usage(
                "--precision is that of native code; leave it out for kernels, whose formats are their own".into(),
            ));
        }
        offload::bind(&p2p, m2l.as_ref(), options).map_err(failure)?;
        Ok(Kernels { p2p, m2l })
    }

    pub fn graphs(&self) -> impl Iterator<Item = &Graph> {
        [&self.p2p].into_iter().chain(&self.m2l)
    }
}
