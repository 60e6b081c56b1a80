//! P2P and M2L by kernels on a backend: encode, run, decode, and compute flagged targets again (RULES H4 to H8).

mod m2l;
mod p2p;

pub use m2l::m2l;
pub use p2p::p2p;

use crate::arith::wide::WideForce;
use crate::expansion::Expansion;
use crate::expansion::basis::Basis;
use crate::fmm::bind::{BindError, Feed, Feeds, M2l, P2p};
use crate::fmm::{Compute, FmmError, FmmOptions};
use crate::job::{Backend, Outcome, SourceRange, Table, Words};
use crate::tree::boxmap::BoxMap;
use crate::tree::lists;
use hdl::{Flags, Format};
use pg2::graph::Graph;
use rayon::prelude::*;

/// Flags that make a result unusable.
const WRONG: Flags = Flags(Flags::OVERFLOW.0 | Flags::SATURATION.0 | Flags::WRAP.0);

/// What one stage did.
#[derive(Clone, Debug, Default)]
pub struct Work {
    pub streamed: u64,
    pub recomputed: u64,
    /// Pairs at different places that are too close for the arithmetic of P2P.
    pub close: u64,
    /// Particles that share their integer coordinates with one at another place.
    pub shared: u64,
    /// Sorted targets whose direct sums are not among the others, in the user's units.
    pub wide: Vec<(usize, WideForce)>,
    pub flags: Flags,
    pub cycles: Option<u64>,
    pub words: Words,
    pub pipelines: u32,
    pub has_gradient: bool,
}

impl Work {
    /// Pairs over cycles times pipelines.
    pub fn utilisation(&self) -> Option<f64> {
        let slots = self.cycles? as f64 * self.pipelines as f64;
        (slots > 0.0).then(|| self.streamed as f64 / slots)
    }

    fn add(&mut self, outcome: &Outcome) {
        self.streamed += outcome.pairs;
        self.pipelines = outcome.pipelines;
        self.flags |= outcome.flags.iter().fold(Flags::NONE, |a, f| a | *f);
        if let Some(cycles) = outcome.cycles {
            self.cycles = Some(self.cycles.unwrap_or(0) + cycles);
        }
        self.words.j += outcome.words.j;
        self.words.i += outcome.words.i;
        self.words.result += outcome.words.result;
    }
}

/// The kernels of an FMM, bound and with their parameters: all that can be wrong with them is found here.
#[derive(Clone, Debug)]
pub struct Bound {
    pub p2p: P2p,
    /// Absent where M2L is native or left out.
    pub m2l: Option<M2l>,
    /// Patterns of P2P's parameters.
    params: Vec<u64>,
    /// Whether the softening length is so long that what the pairs give is too small for a kernel's outputs.
    is_long: bool,
}

impl Bound {
    /// Binds the kernels; `None` where everything is native.
    pub fn of(compute: &Compute, options: &FmmOptions, map: &BoxMap) -> Result<Option<Bound>, FmmError> {
        let Compute::Kernels { p2p: graph, m2l, backend } = compute else { return Ok(None) };
        let (mut p2p, mut m2l) = bind(graph, *m2l, options)?;
        hold([&mut p2p.i, &mut p2p.j, &mut p2p.params], &**backend);
        m2l.iter_mut().for_each(|m2l| hold([&mut m2l.i, &mut m2l.j, &mut m2l.params], &**backend));
        let eps = map.length(options.eps);
        let params = p2p::params(graph, &p2p, eps)?;
        Ok(Some(Bound { is_long: p2p.coulomb && eps > p2p::LONGEST, p2p, m2l, params }))
    }
}

/// Binds kernels for options, which are in their ranges.
pub fn bind(p2p: &Graph, m2l: Option<&Graph>, options: &FmmOptions) -> Result<(P2p, Option<M2l>), FmmError> {
    let of_p2p = P2p::bind(p2p, options.near_only)?;
    if options.eps > 0.0 && of_p2p.params.is_empty() {
        let text = format!(
            "{} has no parameter `eps2`, and so cannot be softened; leave --eps out or use the kernel `p2p`",
            p2p.name
        );
        return Err(BindError(text).into());
    }
    let of_m2l = match m2l.filter(|_| !options.near_only) {
        None => None,
        Some(_) if options.basis == Basis::Solid => {
            let text = "kernels compute the Cartesian expansion; solid harmonics are for the backend `cpu`";
            return Err(FmmError::Option(text.into()));
        }
        Some(graph) => {
            let expansion = Expansion::new(options.order, options.basis);
            Some(M2l::bind(graph, &expansion, lists::near2(options.theta))?)
        }
    };
    Ok((of_p2p, of_m2l))
}

fn segment(range: &(u32, u32)) -> SourceRange {
    SourceRange { first: range.0 as usize, count: range.1 as usize }
}

/// Gives every element the format in which the backend's records hold it.
fn hold(feeds: [&mut Feeds; 3], backend: &dyn Backend) {
    feeds.into_iter().flatten().for_each(|(_, format)| *format = backend.held(*format));
}

/// A table of `n` records, and for each whether all its values were in range.
fn table(n: usize, feeds: &Feeds, value: impl Fn(usize, Feed, Format) -> (u64, bool) + Sync) -> (Table, Vec<bool>) {
    let mut bits = vec![0; n * feeds.len()];
    let mut fits = vec![true; n];
    if !feeds.is_empty() {
        bits.par_chunks_exact_mut(feeds.len()).zip(&mut fits).enumerate().for_each(|(k, (record, fits))| {
            for (element, (feed, format)) in record.iter_mut().zip(feeds) {
                let (bits, fit) = value(k, *feed, *format);
                *element = bits;
                *fits &= fit;
            }
        });
    }
    (Table { elements: feeds.len(), bits }, fits)
}
