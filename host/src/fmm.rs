//! The Fast Multipole Method: plan (tree and lists), then the passes in the order of the papers.

use crate::backend::{Backend, BackendError};
use crate::bind::BindError;
use crate::boxmap::{exponent, ldexp};
pub use crate::expansion::Basis;
use crate::expansion::Expansion;
use crate::kernels::{self, Bound, Work};
use crate::lists::{self, ListOptions, Lists, is_near};
use crate::p2p_native::Near;
use crate::particles::{Field, Particles};
use crate::passes::{self, Force};
use crate::stats::{Pairs, PerKernel, Seconds, Stats};
use crate::tree::Tree;
use crate::{m2l_native, p2p_native};
use hdl::Flags;
use pg2::graph::Graph;
use rayon::prelude::*;
use std::time::Instant;

/// Arithmetic of P2P and M2L on the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Precision {
    F32,
    #[default]
    F64,
}

/// What a plan is made with.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Order P, 1 to [`MAX_ORDER`].
    pub order: usize,
    /// Opening angle in (0, 0.5].
    pub theta: f64,
    /// Particles up to which a cell stays a leaf.
    pub leaf: usize,
    pub precision: Precision,
    pub basis: Basis,
    /// Softening length of P2P, in the user's units.
    pub eps: f64,
    /// Leave out the far field: for kernels that are not 1/r.
    pub near_only: bool,
}

/// The highest order: derivatives of order 2P of the solid basis stay well inside the range of f64.
pub const MAX_ORDER: usize = 20;

impl Default for Options {
    fn default() -> Options {
        Options {
            order: 4,
            theta: 0.5,
            leaf: 64,
            precision: Precision::F64,
            basis: Basis::Cartesian,
            eps: 0.0,
            near_only: false,
        }
    }
}

/// Why an FMM could not be computed.
#[derive(Debug, thiserror::Error)]
pub enum FmmError {
    /// An option is out of range; the text says what is possible.
    #[error("{0}")]
    Option(String),
    /// f64 does not hold the charges beside each other, or a result.
    #[error("{0}")]
    Range(String),
    #[error(transparent)]
    Kernel(#[from] BindError),
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// Where P2P and M2L are computed.
pub enum Compute<'a> {
    /// On the CPU in the plan's precision.
    Native,
    /// By kernels on a backend; without one for M2L, that is computed as in `Native`.
    Kernels { backend: &'a mut dyn Backend, p2p: &'a Graph, m2l: Option<&'a Graph> },
}

/// The progress of a stage: its name, what is done, and all there is.
pub type Progress<'a> = dyn FnMut(&'static str, usize, usize) + 'a;

/// A planned FMM: it can be run many times.
pub struct Fmm {
    pub options: Options,
    pub tree: Tree,
    pub lists: Lists,
    pub expansion: Expansion,
    pub near2: u64,
    pub pairs: Pairs,
    /// Cell pairs in the M2L lists, near ones included.
    pub streamed_m2l: u64,
    plan_seconds: f64,
}

/// What a run gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Solution {
    pub field: Field,
    pub stats: Stats,
}

impl Fmm {
    /// Sorts particles into a tree and builds the interaction lists.
    pub fn plan(particles: &Particles, options: &Options) -> Result<Fmm, FmmError> {
        options.check()?;
        check(particles)?;
        let start = Instant::now();
        let expansion = Expansion::new(options.order, options.basis);
        let tree = Tree::build(particles, options.leaf);
        let near2 = lists::near2(options.theta);
        // Measured on AVX-512: one evaluation of a multipole costs about this many direct pairs.
        let worth = 8 + 3 * expansion.d_point / 10;
        let lists = lists::build(&tree, &ListOptions { near2, m2p_above: worth, p2l_above: worth });
        let mut fmm = Fmm {
            options: options.clone(),
            tree,
            lists,
            expansion,
            near2,
            pairs: Pairs::default(),
            streamed_m2l: 0,
            plan_seconds: 0.0,
        };
        (fmm.pairs, fmm.streamed_m2l) = fmm.count();
        fmm.plan_seconds = start.elapsed().as_secs_f64();
        Ok(fmm)
    }

    /// Computes potential and gradient at every particle.
    pub fn run(&self, compute: &mut Compute, progress: &mut Progress) -> Result<Solution, FmmError> {
        let (tree, lists, e) = (&self.tree, &self.lists, &self.expansion);
        let kernels = Bound::of(compute, &self.options, &tree.map)?;
        let mut seconds = Seconds { tree: self.plan_seconds, ..Seconds::default() };
        let mut m = vec![0.0; tree.cells.len() * e.m];
        let mut l = vec![0.0; tree.cells.len() * e.l];
        let mut force: Vec<Force> = vec![[0.0; 4]; tree.len()];
        let mut m2l = Work::default();
        let start = Instant::now();

        if !self.options.near_only {
            timed(&mut seconds.p2m, || passes::p2m(tree, e, &mut m));
            timed(&mut seconds.m2m, || passes::m2m(tree, e, &mut m));
            m2l = timed(&mut seconds.m2l, || self.m2l(compute, &kernels, &m, &mut l, progress))?;
            timed(&mut seconds.p2l, || passes::p2l(tree, lists, e, &mut l));
            timed(&mut seconds.l2l, || passes::l2l(tree, e, &mut l));
            timed(&mut seconds.l2p, || passes::l2p(tree, e, &l, &mut force));
            timed(&mut seconds.m2p, || passes::m2p(tree, lists, e, &m, &mut force));
        }
        let p2p = timed(&mut seconds.p2p, || self.p2p(compute, &kernels, &mut force, progress))?;

        let field = self.field(&force, &p2p)?;
        seconds.total = seconds.tree + start.elapsed().as_secs_f64();
        Ok(Solution { field, stats: self.stats(compute, seconds, &p2p, &m2l) })
    }

    fn m2l(
        &self,
        compute: &mut Compute,
        kernels: &Option<Bound>,
        m: &[f64],
        l: &mut [f64],
        progress: &mut Progress,
    ) -> Result<Work, FmmError> {
        if let (Compute::Kernels { backend, m2l: Some(graph), .. }, Some(Bound { m2l: Some(kernel), .. })) =
            (compute, kernels)
        {
            return kernels::m2l(self, *backend, graph, kernel, m, l, progress);
        }
        let (tree, lists, e) = (&self.tree, &self.lists, &self.expansion);
        match self.options.precision {
            Precision::F32 if p2p_native::charges_suit_f32(tree) => {
                m2l_native::m2l::<f32>(tree, lists, e, self.near2, m, l)
            }
            _ => m2l_native::m2l::<f64>(tree, lists, e, self.near2, m, l),
        }
        Ok(Work { streamed: self.streamed_m2l, ..Work::default() })
    }

    fn p2p(
        &self,
        compute: &mut Compute,
        kernels: &Option<Bound>,
        force: &mut [Force],
        progress: &mut Progress,
    ) -> Result<Work, FmmError> {
        if let (Compute::Kernels { backend, p2p: graph, .. }, Some(kernels)) = (compute, kernels) {
            return kernels::p2p(self, *backend, graph, kernels, force, progress);
        }
        let near = Near::new(&self.tree, &self.lists, self.options.eps);
        let again = match self.options.precision {
            Precision::F64 => near.all::<f64>(force),
            Precision::F32 => near.all::<f32>(force),
        };
        Ok(Work {
            streamed: self.pairs.p2p,
            recomputed: again.targets,
            close: again.pairs.div_ceil(2),
            wide: again.wide,
            has_gradient: true,
            ..Work::default()
        })
    }

    /// Back to the user's units and the order of the input. A result beyond the range of f64 is an error.
    fn field(&self, force: &[Force], p2p: &Work) -> Result<Field, FmmError> {
        let n = self.tree.len();
        let map = &self.tree.map;
        let mut place = vec![0u32; n];
        self.tree.order.iter().enumerate().for_each(|(k, o)| place[*o as usize] = k as u32);
        let in_users = |a: usize, boxed: f64| if a == 0 { map.potential(boxed) } else { map.gradient(boxed) };
        let column = |a: usize| -> Vec<f64> {
            let mut column: Vec<f64> = place.par_iter().map(|k| in_users(a, force[*k as usize][a])).collect();
            for (k, sum) in &p2p.wide {
                let mut sum = sum[a];
                let (rest, exponent) = map.wide(a, force[*k][a]);
                sum.add(rest, exponent);
                column[self.tree.order[*k] as usize] = sum.to_f64();
            }
            column
        };
        let potential = column(0);
        let gradient = p2p.has_gradient.then(|| [column(1), column(2), column(3)]);
        for (name, column) in
            [("potential", &potential)].into_iter().chain(gradient.iter().flatten().map(|g| ("gradient", g)))
        {
            if let Some(k) = column.par_iter().position_first(|x| !x.is_finite()) {
                return Err(FmmError::Range(format!(
                    "the {name} at particle {k}, counted from 0, is beyond 1.8e308, the range of f64, since another \
                     particle is so close to it; give longer lengths or smaller charges, by taking other units"
                )));
            }
        }
        Ok(Field { potential, gradient })
    }

    /// Interactions by the lists, and cell pairs that M2L streams.
    fn count(&self) -> (Pairs, u64) {
        let (tree, lists) = (&self.tree, &self.lists);
        let one = |k: usize| -> (Pairs, u64) {
            let cell = &tree.cells[k];
            let mut pairs = Pairs::default();
            let mut streamed = 0;
            pairs.p2p = cell.count as u64 * lists.p2p[k].iter().map(|s| s.1 as u64).sum::<u64>();
            if self.options.near_only {
                return (pairs, 0);
            }
            pairs.m2p = cell.count as u64 * lists.m2p[k].len() as u64;
            pairs.p2l = lists.p2l[k].iter().map(|s| tree.cells[*s as usize].count as u64).sum();
            for s in &lists.m2l[k] {
                let source = &tree.cells[*s as usize];
                streamed += cell.children as u64 * source.children as u64;
                for t in &tree.cells[cell.child_range()] {
                    let far = |s: &&crate::tree::Cell| {
                        !is_near(std::array::from_fn(|a| t.at[a] as i64 - s.at[a] as i64), self.near2)
                    };
                    pairs.m2l += tree.cells[source.child_range()].iter().filter(far).count() as u64;
                }
            }
            (pairs, streamed)
        };
        let add = |a: (Pairs, u64), b: (Pairs, u64)| {
            let pairs = Pairs {
                p2p: a.0.p2p + b.0.p2p,
                m2l: a.0.m2l + b.0.m2l,
                m2p: a.0.m2p + b.0.m2p,
                p2l: a.0.p2l + b.0.p2l,
            };
            (pairs, a.1 + b.1)
        };
        (0..tree.cells.len()).into_par_iter().map(one).reduce(Default::default, add)
    }

    fn stats(&self, compute: &Compute, seconds: Seconds, p2p: &Work, m2l: &Work) -> Stats {
        let backend = match compute {
            Compute::Native => "cpu",
            Compute::Kernels { backend, .. } => backend.name(),
        };
        let words = |pick: fn(&Work) -> u64| pick(p2p) + pick(m2l);
        let flags: Flags = p2p.flags | m2l.flags;
        Stats {
            backend: backend.to_string(),
            n: self.tree.len(),
            order: self.options.order,
            theta: self.options.theta,
            leaf: self.options.leaf,
            levels: self.tree.levels.len(),
            seconds,
            pairs: self.pairs,
            streamed: PerKernel { p2p: p2p.streamed, m2l: m2l.streamed },
            recomputed: p2p.recomputed + m2l.recomputed,
            close_pairs: p2p.close,
            shared_grid_points: p2p.shared,
            cycles: PerKernel { p2p: p2p.cycles, m2l: m2l.cycles },
            utilisation: PerKernel { p2p: p2p.utilisation(), m2l: m2l.utilisation() },
            words: crate::backend::Words {
                j: words(|w| w.words.j),
                i: words(|w| w.words.i),
                result: words(|w| w.words.result),
            },
            flags: flags.names(),
            error: None,
        }
    }
}

impl Options {
    /// Says which option is out of its range.
    pub fn check(&self) -> Result<(), FmmError> {
        let wrong = |what: String| Err(FmmError::Option(what));
        if !(1..=MAX_ORDER).contains(&self.order) {
            return wrong(format!("the order must be 1 to {MAX_ORDER}, not {}", self.order));
        }
        if !(self.theta > 0.0 && self.theta <= 0.5) {
            return wrong(format!("theta must be above 0 and at most 0.5, not {}", self.theta));
        }
        if self.leaf == 0 {
            return wrong("a leaf must be allowed at least one particle".into());
        }
        if !(self.eps >= 0.0 && self.eps.is_finite()) {
            return wrong(format!("the softening length must be finite and not negative, not {}", self.eps));
        }
        Ok(())
    }
}

/// Particles that the tree can number.
pub const MOST_PARTICLES: usize = (u32::MAX / 2) as usize;

/// The least charge in units of the largest that the far field keeps.
const LEAST_CHARGE: f64 = 1e-270;

fn check(particles: &Particles) -> Result<(), FmmError> {
    let wrong = |what: String| Err(FmmError::Range(what));
    if particles.len() > MOST_PARTICLES {
        return wrong(format!("{} particles are more than the {MOST_PARTICLES} that are possible", particles.len()));
    }
    let columns = [&particles.x, &particles.y, &particles.z, &particles.q];
    if columns.iter().any(|c| c.iter().any(|x| !x.is_finite())) {
        return wrong("coordinates and charges must be finite numbers".into());
    }
    let sizes = || particles.q.iter().map(|q| q.abs());
    let (largest, least) = (sizes().fold(0.0, f64::max), sizes().filter(|q| *q > 0.0).fold(f64::MAX, f64::min));
    if least < largest && ldexp(least, -exponent(largest)) < LEAST_CHARGE {
        return wrong(format!(
            "charges as small as {least:e} are lost beside one of {largest:e}, since f64 holds numbers that are up to 1e270 \
             apart; leave them out, or give 0 for them"
        ));
    }
    Ok(())
}

/// Runs one stage and notes its seconds.
fn timed<T>(seconds: &mut f64, stage: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = stage();
    *seconds += start.elapsed().as_secs_f64();
    result
}
