//! The kernels of an FMM on pipelines, or by their real-arithmetic semantics on the CPU.

use super::{M2l, Options, route};
use crate::Error;
use crate::backends::Entry;
use fmm::expansion::basis::Basis;
use fmm::octree::{Coincident, FmmError, FmmOptions, Precision, tune};
use pg2::graph::Graph;
use pipelines::octree::{bind, function, offload};

/// Kernels that are known to be of use on a backend.
pub struct Kernels {
    pub p2p: Graph,
    pub m2l: Option<Graph>,
}

impl Kernels {
    /// A P2P kernel that is not 1/r gets a black-box expansion. Where native code can run M2L as well, it does so unless a kernel is given.
    pub fn new(asked: &Options, entry: &Entry, options: &mut FmmOptions) -> Result<Kernels, Error> {
        let p2p = route::p2p(asked);
        let refuse = |why: String| Err(Error::Options(why));
        let has_m2l_kernel = matches!(asked.m2l, M2l::Kernel(_));
        let is_free = asked.expansion.is_none() && !has_m2l_kernel && !asked.near_only;
        if is_free && bind::P2p::bind(&p2p, true, &options.params).is_ok_and(|kernel| !kernel.coulomb) {
            options.basis = Basis::Chebyshev;
            // The first order was that of solid harmonics, which have higher ones.
            if let Some(wanted) = asked.tolerance {
                *options = tune::start(options, wanted);
            }
        }
        if options.basis == Basis::Chebyshev && !asked.near_only {
            function::check(&p2p, options).map_err(FmmError::from)?;
        }
        let is_coulomb = || bind::P2p::bind(&p2p, true, &options.params).is_ok_and(|kernel| kernel.coulomb);
        if options.coincident == Coincident::Include && asked.coincident.is_some() && is_coulomb() {
            return refuse(format!(
                "{} is 1/r, which has no value at distance 0: no particle acts on itself or on those in its place; leave --coincident out",
                p2p.name
            ));
        }
        if asked.tolerance.is_some() && has_m2l_kernel {
            return refuse("--tol finds the order, which an M2L kernel has already; leave --m2l out".into());
        }
        let m2l = match &asked.m2l {
            _ if asked.near_only => None,
            M2l::Usual if options.basis == Basis::Chebyshev || asked.tolerance.is_some() => None,
            M2l::Native => None,
            // M2L kernels are those of 1/r, while native code softens the far field where that matters.
            M2l::Usual if options.eps > 0.0 => None,
            M2l::Kernel(kernel) => Some(kernel.graph().clone()),
            M2l::Usual if entry.native => None,
            M2l::Usual => Some(generated(options.order)?),
        };
        if options.precision == Precision::F32 && (m2l.is_some() || asked.near_only) {
            return refuse(
                "--precision is that of native code; leave it out for kernels, whose formats are their own".into(),
            );
        }
        offload::bind(&p2p, m2l.as_ref(), options)?;
        Ok(Kernels { p2p, m2l })
    }

    pub fn graphs(&self) -> impl Iterator<Item = &Graph> {
        [&self.p2p].into_iter().chain(&self.m2l)
    }
}

/// The M2L kernel of an order.
pub fn generated(order: usize) -> Result<Graph, Error> {
    let text = pg2::gen_m2l(order as u32).map_err(Error::Options)?;
    let name = format!("m2l_p{order}");
    Ok(pg2::compile(&name, &text).expect("generated kernels compile").graph)
}
