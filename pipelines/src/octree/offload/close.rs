//! Close pairs of a kernel: what it gave for them is taken out of its exact sums, and what the pairs give in f64 put in its
//! place (RULES H5, H14).

use super::images::{KernelBox, SourceRecords};
use super::p2p::Records;
use crate::job::Outcome;
use fmm::arith::scale::ldexp;
use fmm::data::Force;
use fmm::data::periodic::Periodic;
use fmm::direct::close::{Finder, STEPS};
use fmm::direct::summation::LEAST;
use fmm::octree::executor::State;
use fmm::parallel::prelude::*;
use fmm::tree::Tree;
use hdl::engine::protocol::Segment;
use hdl::op::semantics::Real;
use hdl::{Flags, Format};
use pg2::graph::{Graph, PinClass};
use pg2::middle::simplify::simplify;
use sim::emulator::{self, Emulator};
use sim::reference::real::{self, Pairs, RealKernel, RealSources};

/// Close particles of one target up to which they are replaced pair by pair. Beyond it, a sum in f64 of all its pairs is the
/// faster one, and little of the kernel's own would be left.
pub const MOST: usize = 64;

/// The close pairs of a run.
pub(super) struct ClosePairs {
    /// Pairs at different places, each counted once for each of its targets.
    pub pairs: u64,
    /// Ascending targets with the records of sources that are close to each; `None` where they are too many.
    pub targets: Vec<(usize, Option<Vec<usize>>)>,
}

/// A target some of whose pairs are taken out of what the kernel gave.
pub struct Apart {
    pub target: usize,
    /// Records of sources that are close to it, and of those in its place that are not to act.
    pub close: Vec<usize>,
    pub coincident: Vec<usize>,
}

impl ClosePairs {
    /// The pairs within 256 steps of a kernel's coordinates, images of sources included.
    pub fn find(tree: &Tree, acting: &SourceRecords, periodic: Option<&Periodic>, window: KernelBox) -> ClosePairs {
        let axes = periodic.map_or([false; 3], |p| p.axes);
        let finder = Finder::periodic(tree, axes, STEPS << window.doublings);
        let close = finder.find();
        // Cells that touch act directly on each other, so that every image that is close has a record.
        let record = |(source, shift)| acting.of(source, shift);
        let partners = |k: usize| finder.partners(k, MOST)?.into_iter().map(record).collect();
        let targets = close.targets.into_par_iter().map(|k| (k, partners(k))).collect();
        ClosePairs { pairs: close.pairs, targets }
    }

    /// Targets with close pairs that are few, and `others`, in ascending order; each with its coincident sources.
    pub fn apart(&self, others: impl Iterator<Item = usize>, coincident: &dyn Fn(usize) -> Vec<usize>) -> Vec<Apart> {
        let mut targets: Vec<usize> = self.targets.iter().map(|t| t.0).chain(others).collect();
        targets.sort_unstable();
        targets.dedup();
        let of = |target: usize| {
            let close = match self.targets.binary_search_by_key(&target, |t| t.0) {
                Ok(at) => self.targets[at].1.clone()?,
                Err(_) => Vec::new(),
            };
            Some(Apart { target, close, coincident: coincident(target) })
        };
        targets.into_iter().filter_map(of).collect()
    }
}

/// The inputs and outputs of a kernel's run, out of whose sums some pairs are taken.
pub struct Replaced<'a> {
    pub graph: &'a Graph,
    pub records: &'a Records,
    pub params: &'a [u64],
    pub outcome: &'a Outcome,
    /// Whether the backend gives the bits that the language defines.
    pub is_exact: bool,
}

/// Evaluates a kernel as the backend does.
enum Kernel {
    Bits(Box<Emulator>),
    Real(Box<RealKernel>),
}

/// The scratch memory of an evaluation; one a thread.
enum Scratch {
    Bits(emulator::Scratch, emulator::Sources),
    Real(Box<real::Scratch>),
}

/// Parameters of a kernel for real-arithmetic evaluation, from their bit patterns if `is_exact`, else from numbers.
pub fn real_params(graph: &Graph, params: &[u64], is_exact: bool) -> Vec<u64> {
    let formats = graph.elements_of(PinClass::Param).into_iter().map(|(pin, _)| graph.pins[pin].format);
    let read = |(format, bits): (Format, &u64)| if is_exact { Real::read(format, *bits).bits() } else { *bits };
    formats.zip(params).map(read).collect()
}

impl Replaced<'_> {
    /// The parameters for real-arithmetic evaluation.
    pub fn real_params(&self) -> Vec<u64> {
        real_params(self.graph, self.params, self.is_exact)
    }

    /// For each target with its close sources the values of its outputs without these; `None` where that is not known.
    pub fn rest(&self, targets: &[&Apart]) -> Vec<Option<Vec<f64>>> {
        let most = targets.iter().map(|apart| apart.close.len() + apart.coincident.len()).max().unwrap_or(0);
        let kernel = match self.is_exact {
            true => {
                let mut emulator = Emulator::new(&simplify(self.graph));
                emulator.set_params(self.params);
                Kernel::Bits(Box::new(emulator))
            }
            false => Kernel::Real(Box::new(RealKernel::new(self.graph))),
        };
        let room = || match &kernel {
            Kernel::Bits(emulator) => Scratch::Bits(emulator.scratch(), emulator.sources(most)),
            Kernel::Real(kernel) => Scratch::Real(Box::new(kernel.scratch())),
        };
        let one = |room: &mut Scratch, apart: &&Apart| {
            let both = [&apart.close[..], &apart.coincident[..]].concat();
            self.rest_of(&kernel, room, apart.target, &both)
        };
        targets.par_iter().map_init(room, one).collect()
    }

    fn rest_of(&self, kernel: &Kernel, room: &mut Scratch, k: usize, close: &[usize]) -> Option<Vec<f64>> {
        let (given, flags) = self.given(kernel, room, k, close);
        // What left its format is known only to a multiple of its range.
        if flags.intersects(Flags::WRAP) {
            return None;
        }
        let one = |(e, given): (usize, u64)| {
            let format = self.graph.pins[self.graph.outputs[e].pin].format;
            let of_all = self.outcome.results.record(k)[e];
            if !format.is_integral() {
                return f64::from_bits(of_all) - f64::from_bits(given);
            }
            // Where the sum of all pairs left its format, that of the others fits again.
            let rest = format.to_int(of_all.wrapping_sub(given) & format.mask());
            ldexp(rest as f64, -(format.frac().unwrap_or(0) as i32))
        };
        Some(given.into_iter().enumerate().map(one).collect())
    }

    /// The patterns of what a kernel gave for a target from some sources.
    #[allow(clippy::single_range_in_vec_init, reason = "a list of one stretch")]
    fn given(&self, kernel: &Kernel, room: &mut Scratch, k: usize, close: &[usize]) -> (Vec<u64>, Flags) {
        let Records { targets, sources } = self.records;
        let target = targets.record(k);
        let records: Vec<u64> = close.iter().flat_map(|j| sources.record(*j)).copied().collect();
        match (kernel, room) {
            (Kernel::Bits(emulator), Scratch::Bits(scratch, sources)) => {
                emulator.load(sources, 0, &records);
                let mut sums = [emulator.start()];
                let all = Segment { first: 0, count: close.len() as u32 };
                emulator.accumulate(scratch, &mut sums, target, sources, &[all]);
                sums[0].finish()
            }
            (Kernel::Real(kernel), Scratch::Real(scratch)) => {
                let sources = RealSources::new(sources.elements, &records);
                let gathered = kernel.gather(&sources, &[0..close.len()]);
                let pairs = Pairs { i: target, params: self.params, sources: &sources };
                let (values, flags) = kernel.target(scratch, &pairs, &gathered);
                (values.iter().map(|v| v.bits()).collect(), flags)
            }
            _ => unreachable!("the room was made for the kernel"),
        }
    }
}

/// The field of some sources at a target in f64 by 1/r, in box units, with the softening length in boxes; `None` where a pair needs wider
/// arithmetic.
pub(super) fn coulomb(state: &State, acting: &SourceRecords, eps: f64, k: usize, close: &[usize]) -> Option<Force> {
    let tree = &state.plan.tree;
    let mut force = [0.0; 4];
    for record in close {
        let source = acting.source(*record);
        let d = tree.difference(k, source);
        let longest = d.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
        if longest < LEAST || !tree.map.exact {
            return None;
        }
        let inverse = 1.0 / (d.iter().map(|x| x * x).sum::<f64>() + eps * eps).sqrt();
        let potential = state.charges.scaled[source.0] * inverse;
        force[0] += potential;
        (0..3).for_each(|a| force[a + 1] += potential * (inverse * inverse) * d[a]);
    }
    Some(force)
}
