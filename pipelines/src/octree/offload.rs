//! P2P and M2L by kernels on a backend: encode, run, decode, and compute flagged targets again (RULES H4 to H8).

pub(crate) mod at_zero;
mod close;
mod differences;
mod images;
mod left_out;
mod m2l;
mod p2p;
mod recompute;
mod reference;
mod rounding;

pub use close::{Apart, MOST, Replaced};
pub use p2p::{DIRECT, direct};
pub use p2p::{Records, WRONG_P2P, grid_pattern, value};

use crate::job::{Backend, Job, Outcome, SourceRange, Table};
use crate::octree::bind::{Feed, Feeds, M2l, P2p};
use differences::Partner;
pub(crate) use differences::{DifferenceKernel, Partners};
use fmm::expansion::basis::Basis;
use fmm::expansion::taylor::Operators;
use fmm::octree::executor::{Executor, Progress, Stage, State, Work};
use fmm::octree::kernel::KernelError;
use fmm::octree::{Coincident, FmmError, FmmOptions, Plan};
use fmm::parallel::prelude::*;
use fmm::stages::{ProbeSums, Probes};
use fmm::tree::boxmap::BoxMap;
use fmm::tree::lists;
use hdl::{Flags, Format};
pub use images::KernelBox;
use pg2::graph::Graph;
use sim::reference::real::{in_numbers, without_equal};
use std::collections::VecDeque;

/// Flags that make a result unusable.
const WRONG: Flags = Flags(Flags::OVERFLOW.0 | Flags::SATURATION.0 | Flags::WRAP.0);

/// The kernels of an FMM, bound and with their parameters: all that can be wrong with them is found here.
#[derive(Clone)]
struct Bound {
    p2p: P2p,
    /// The kernel of P2P with sums in f64, and the same where pairs at distance 0 do not act.
    numbers: Graph,
    without_coincident: Option<Graph>,
    /// Where the kernel is not 0 at distance 0, whether such pairs act.
    coincident: Option<Coincident>,
    /// Absent where M2L is native or left out.
    m2l: Option<M2l>,
    /// The box of P2P's coordinates.
    window: KernelBox,
    /// Patterns of P2P's parameters.
    params: Vec<u64>,
    /// Whether the softening length is so long that what the pairs give is too small for a kernel's outputs, or all targets are computed
    /// on the CPU for another reason.
    is_long: bool,
}

/// Runs P2P, and M2L where there is a kernel for it, on a backend: P2P beside M2L where the backend can.
pub struct Pipelines<'a> {
    backend: Held<'a>,
    p2p: &'a Graph,
    m2l: Option<&'a Graph>,
    bound: Option<Bound>,
    /// P2P of sets of charges that ran beside their M2L, in their order.
    ready: VecDeque<(p2p::Prepared, Outcome)>,
    /// Whether P2P is computed on the CPU instead, in f64 with coordinates as they are.
    is_exact: bool,
}

/// A backend that is the caller's, or the executor's own.
enum Held<'a> {
    Lent(&'a mut dyn Backend),
    Own(Box<dyn Backend>),
}

impl<'a> std::ops::Deref for Held<'a> {
    type Target = dyn Backend + 'a;

    fn deref(&self) -> &(dyn Backend + 'a) {
        match self {
            Held::Lent(backend) => &**backend,
            Held::Own(backend) => &**backend,
        }
    }
}

impl<'a> std::ops::DerefMut for Held<'a> {
    fn deref_mut(&mut self) -> &mut (dyn Backend + 'a) {
        match self {
            Held::Lent(backend) => &mut **backend,
            Held::Own(backend) => &mut **backend,
        }
    }
}

impl<'a> Pipelines<'a> {
    pub fn new(backend: &'a mut dyn Backend, p2p: &'a Graph, m2l: Option<&'a Graph>) -> Pipelines<'a> {
        Pipelines { backend: Held::Lent(backend), p2p, m2l, bound: None, ready: VecDeque::new(), is_exact: false }
    }

    /// P2P alone, on a backend of its own.
    pub fn owning(backend: Box<dyn Backend>, p2p: &'a Graph) -> Pipelines<'a> {
        Pipelines { backend: Held::Own(backend), p2p, m2l: None, bound: None, ready: VecDeque::new(), is_exact: false }
    }

    /// The same with P2P by what its kernel means, in f64 and with coordinates as they are.
    pub fn exact(self) -> Pipelines<'a> {
        Pipelines { is_exact: true, ..self }
    }

    /// Binds the kernels for particles in a box.
    pub fn check(&mut self, options: &FmmOptions, map: &BoxMap) -> Result<(), FmmError> {
        let (mut p2p, mut m2l) = bind(self.p2p, self.m2l, options)?;
        hold([&mut p2p.i, &mut p2p.j, &mut p2p.params], &*self.backend);
        m2l.iter_mut().for_each(|m2l| hold([&mut m2l.i, &mut m2l.j, &mut m2l.params], &*self.backend));
        let window = KernelBox::of(options);
        let eps = window.length(map.length(options.eps));
        let params = p2p::params(self.p2p, &p2p, eps, window.edge(map.edge()))?;
        let (is_long, numbers) = (self.is_exact || p2p.coulomb && eps > p2p::LONGEST, in_numbers(self.p2p));
        let coincident = at_zero::acts_at_zero(&numbers, &p2p, &at_zero::values(&p2p, eps, window.edge(map.edge())))
            .then_some(if p2p.coulomb { Coincident::Exclude } else { options.coincident });
        let pin = |name: &str| numbers.pins.iter().position(|pin| pin.name == name).expect("it was bound");
        let is_without = coincident == Some(Coincident::Exclude);
        let without_coincident = is_without.then(|| without_equal(&numbers, [pin("xi"), pin("xj")]));
        self.bound = Some(Bound { is_long, p2p, numbers, without_coincident, coincident, m2l, window, params });
        Ok(())
    }
}

impl Bound {
    /// The kernel of P2P with sums in f64 as it acts.
    fn in_numbers(&self) -> &Graph {
        self.without_coincident.as_ref().unwrap_or(&self.numbers)
    }

    /// Whether the kernel gives something at a distance in boxes or farther away.
    fn reaches(&self, least: f64, replaced: &Replaced) -> bool {
        let Some(meaning) = DifferenceKernel::new(&self.numbers, &self.p2p) else { return true };
        let mut partners = Partners::default();
        let lengths = (0..64).map(|k| least * (2.0 / least).powf(k as f64 / 63.0));
        for (k, length) in lengths.enumerate() {
            let d = [[0.6, -0.64, 0.48], [-0.48, 0.6, 0.64], [1.0, 0.0, 0.0]][k % 3];
            partners.extend([Partner { d: d.map(|x| self.window.length(x * length)), charge: 1.0 }]);
        }
        let terms = meaning.terms(&mut meaning.scratch(), &replaced.real_params(), &partners);
        terms.iter().any(|term| *term != 0.0)
    }

    /// Whether a pair at a difference acts.
    fn acts(&self, d: [f64; 3]) -> bool {
        d != [0.0; 3] || self.without_coincident.is_none()
    }

    /// Potential (`a` of 0) or a component of the gradient in units of the particles' box, from the values of P2P's outputs.
    fn boxed(&self, a: usize, value: impl Fn(usize) -> f64) -> f64 {
        self.window.boxed(a, self.p2p.boxed(a, value))
    }
}

impl Executor<Plan> for Pipelines<'_> {
    fn name(&self) -> &str {
        self.backend.name()
    }

    fn takes(&self, stage: Stage) -> bool {
        stage == Stage::P2p || stage == Stage::M2l && self.m2l.is_some()
    }

    fn is_device(&self) -> bool {
        self.backend.is_device()
    }

    fn is_real(&self) -> bool {
        self.backend.takes_numbers()
    }

    fn bind(&mut self, plan: &Plan) -> Result<(), FmmError> {
        self.ready.clear();
        self.check(&plan.options, &plan.tree.map)
    }

    fn extremes(&self, stage: Stage, state: &State) -> Vec<f64> {
        let bound = self.bound.as_ref().and_then(|bound| bound.m2l.as_ref());
        bound.filter(|_| stage == Stage::M2l).map_or(Vec::new(), |kernel| m2l::bounds(kernel, state))
    }

    fn run(
        &mut self,
        stage: Stage,
        state: &mut State,
        extremes: &[f64],
        progress: &mut Progress,
    ) -> Result<Work, FmmError> {
        let Pipelines { backend, p2p: near, ready, .. } = self;
        let near = match &self.bound {
            Some(bound) if backend.takes_numbers() => bound.in_numbers(),
            _ => *near,
        };
        match (stage, &self.bound, self.m2l) {
            (Stage::M2l, Some(bound), Some(graph)) => {
                let kernel = bound.m2l.as_ref().expect("M2L was bound");
                let alone = backend.lanes(graph, state.plan.streamed_m2l)? == Some(1);
                let far = m2l::prepare(kernel, state, extremes, alone);
                let mut jobs: Vec<Job> = far.iter().map(|level| level.job(graph)).collect();
                let all = state.plan.tree.cells.len();
                if !backend.runs_together(&[near, graph]) {
                    let outcomes = backend.run_all(&jobs, &mut |done| progress("M2L", done, all))?;
                    return Ok(m2l::apply(kernel, &far, &outcomes, state));
                }
                let beside = p2p::prepare(bound, state);
                jobs.push(beside.job(near, bound));
                let all = all + state.plan.tree.targets().len();
                let mut outcomes = backend.run_all(&jobs, &mut |done| progress("M2L and P2P", done, all))?;
                ready.extend(outcomes.pop().map(|outcome| (beside, outcome)));
                Ok(m2l::apply(kernel, &far, &outcomes, state))
            }
            (Stage::P2p, Some(bound), _) => {
                let (prepared, outcome) = match ready.pop_front() {
                    Some(ran) => ran,
                    None => {
                        let prepared = p2p::prepare(bound, state);
                        let n = state.plan.tree.targets().len();
                        let outcome = backend.run(&prepared.job(near, bound), &mut |done| progress("P2P", done, n))?;
                        (prepared, outcome)
                    }
                };
                Ok(p2p::apply((near, bound), prepared, (&outcome, backend.is_exact()), state))
            }
            _ => unreachable!("a stage that was bound"),
        }
    }

    fn probe(&self, state: &State, probes: &Probes) -> Option<ProbeSums> {
        let bound = self.bound.as_ref()?;
        let near = if self.backend.takes_numbers() { bound.in_numbers() } else { self.p2p };
        left_out::part_of_sums((near, bound), self.backend.is_exact(), state, probes)
    }
}

/// Binds kernels for options, which are in their ranges.
pub fn bind(p2p: &Graph, m2l: Option<&Graph>, options: &FmmOptions) -> Result<(P2p, Option<M2l>), FmmError> {
    let of_p2p = P2p::bind(p2p, options.near_only || options.basis == Basis::Chebyshev, &options.params)?;
    if options.eps > 0.0 && of_p2p.params.iter().all(|p| p.0 != Feed::Eps2) {
        let text = format!(
            "{} has no parameter `eps2`, and so cannot be softened; leave --eps out or use the kernel `p2p`",
            p2p.name
        );
        return Err(KernelError(text).into());
    }
    let of_m2l = match m2l.filter(|_| !options.near_only) {
        None => None,
        Some(_) if options.basis == Basis::Softened => {
            return Err(FmmError::Option(format!(
                "an M2L kernel is that of 1/r, and a softening length of {:e} changes the far field by more than its order leaves; take \
                 --m2l native, a larger --leaf, or a shorter --eps",
                options.eps
            )));
        }
        Some(_) if options.basis != Basis::Cartesian => {
            let text =
                "M2L kernels compute the Cartesian expansion; for another one take --m2l native, or the backend `cpu`";
            return Err(FmmError::Option(text.into()));
        }
        Some(graph) => {
            let near2 = lists::near2(options.theta);
            Some(M2l::bind(graph, Operators::new(options.order, near2), near2)?)
        }
    };
    Ok((of_p2p, of_m2l))
}

fn segment(range: &(u32, u32)) -> SourceRange {
    SourceRange { first: range.0 as usize, count: range.1 as usize }
}

/// Gives every element the format in which the backend's records hold it.
pub fn hold(feeds: [&mut Feeds; 3], backend: &dyn Backend) {
    feeds.into_iter().flatten().for_each(|(_, format)| *format = backend.held(*format));
}

/// A table of `n` records, and for each whether all its values were in range.
pub fn table(n: usize, feeds: &Feeds, value: impl Fn(usize, Feed, Format) -> (u64, bool) + Sync) -> (Table, Vec<bool>) {
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
