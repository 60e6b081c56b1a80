//! The Fast Multipole Method: a [`Plan`] holds what follows from the positions alone; [`Plan::run`] goes through the stages in
//! the order of the papers, for one or several sets of charges.

pub mod budget;
mod counts;
pub mod executor;
pub mod field;
pub mod kernel;
pub mod left_out;
pub mod native;
mod near;
pub mod options;
pub mod periodic;
pub mod softening;
pub mod stats;
pub mod tune;

pub use crate::stages::{Cancel, Coincident, FmmError, rounding};
pub use options::{FmmOptions, MOST_PARTICLES, Precision};

use crate::arith::lanes::Real;
use crate::arith::vector::Vectors;
use crate::clock::Instant;
use crate::data::particles::Field;
use crate::data::problem::{Geometry, Sources};
use crate::direct::p2p::suit_f32;
use crate::expansion::basis::Basis;
use crate::expansion::chebyshev::images::Lattice;
use crate::expansion::chebyshev::{Function, suits_f32};
use crate::expansion::{self, Expansion, Far, Translated, lattice};
use crate::stages::{Ran, Stages, Timeline};
use crate::tree::Tree;
use crate::tree::boxmap::BoxMap;
use crate::tree::charges::Charges;
use crate::tree::lists::{self, ListOptions, Lists};
use executor::{Coefficients, Executor, Expansions, Progress, SinglePart, Stage, State, Work};
use kernel::Kernel;
use near::KeptNearField;
use rounding::Rounding;
use stats::{Level, Pairs, Seconds, Stats};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Tree, lists and operators for sources and targets at fixed positions. It may be run for many sets of charges.
pub struct Plan {
    /// The options that it is computed with: where the softening of the far field matters, of another expansion than was asked for.
    pub options: FmmOptions,
    asked: FmmOptions,
    pub tree: Tree,
    pub lists: Lists,
    pub near2: u64,
    pub pairs: Pairs,
    /// The same level by level, where this is all of a problem.
    by_level: Vec<Level>,
    /// Cell pairs in the M2L lists, near ones included.
    pub streamed_m2l: u64,
    /// For each target of the input its place in the tree.
    pub place: Vec<u32>,
    /// The function of a black-box expansion.
    pub kernel: Option<Arc<dyn Function>>,
    operators: (Lazy<f32>, Lazy<f64>),
    /// The input of the operator of far images: its sums, see [`lattice::sums`], or for a kernel the matrix itself.
    lattice: OnceLock<Vec<f64>>,
    seconds: f64,
    /// Another one for each plan of this process, and after each change of its lists.
    id: u64,
    /// The same for the lists of P2P alone.
    id_of_p2p: u64,
    /// Of a part of a larger problem for each cell whether this part counts what is done for it.
    counted: Option<Vec<bool>>,
}

/// A part of a larger problem, or all of it.
pub struct OfPart {
    pub tree: Tree,
    pub lists: Lists,
    /// For each target of the results its place in the tree.
    pub place: Vec<u32>,
    /// The function of a black-box expansion.
    pub kernel: Option<Arc<dyn Function>>,
    pub pairs: Pairs,
    pub streamed_m2l: u64,
    /// For each cell whether this part counts what is done for it: each cell of the whole is counted by one part. Absent where this is all.
    pub counted: Option<Vec<bool>>,
}

/// Operators that are made when they are first asked for.
type Lazy<T> = OnceLock<Box<dyn Expansion<T>>>;

/// Where a run writes what one set of charges gives at the targets, in the order of the input. After an error it holds anything.
pub struct Outputs<'a> {
    pub potential: &'a mut [f64],
    /// Zeros where the kernel of P2P gives the potential alone.
    pub gradient: [&'a mut [f64]; 3],
    /// The second derivatives xx, xy, xz, yy, yz and zz, where they are asked for.
    pub hessian: Option<[&'a mut [f64]; 6]>,
}

/// The result of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Solution {
    pub field: Field,
    pub stats: Stats,
}

/// The result of a run with several sets of charges: a field for each.
#[derive(Clone, PartialEq, Debug)]
pub struct Solutions {
    pub fields: Vec<Field>,
    pub stats: Stats,
}

impl<'a> Outputs<'a> {
    /// The columns of a field that has a gradient.
    fn of(field: &'a mut Field) -> Outputs<'a> {
        let gradient = field.gradient.as_mut().expect("there is room for a gradient");
        Outputs {
            potential: &mut field.potential,
            gradient: gradient.each_mut().map(|g| &mut g[..]),
            hessian: field.hessian.as_mut().map(|h| h.each_mut().map(|h| &mut h[..])),
        }
    }
}

impl Plan {
    /// Sorts sources and targets into a tree and builds the interaction lists, for 1/r. Columns are particles that are both.
    pub fn new<'a>(geometry: impl Into<Geometry<'a>>, options: &FmmOptions) -> Result<Plan, FmmError> {
        Plan::for_kernel(geometry, options, None)
    }

    /// The same for a P2P kernel, which the expansion of [`Basis::Chebyshev`] is made for.
    pub fn for_kernel<'a>(
        geometry: impl Into<Geometry<'a>>,
        options: &FmmOptions,
        p2p: Option<&dyn Kernel>,
    ) -> Result<Plan, FmmError> {
        let geometry = geometry.into();
        options.check()?;
        options::check_positions(geometry)?;
        let start = Instant::now();
        let asked = options.clone();
        let (tree, options) = softening::tree(geometry, options)?;
        let options = &options;
        let near2 = lists::near2(options.theta);
        let lists = lists::build(&tree, &list_options(options, near2));
        let kernel = expanded(p2p, options, &tree.map, tree.levels.len())?;
        let mut place = vec![0; tree.targets().len()];
        tree.targets().order.iter().enumerate().for_each(|(k, o)| place[*o as usize] = k as u32);
        let part = OfPart { tree, lists, place, kernel, pairs: Pairs::default(), streamed_m2l: 0, counted: None };
        let mut plan = Plan { asked, ..Plan::of_part(options, part) };
        plan.count();
        plan.seconds = start.elapsed().as_secs_f64();
        Ok(plan)
    }

    /// The plan of a part of a larger problem, or of all of it, with what was computed for it elsewhere.
    pub fn of_part(options: &FmmOptions, part: OfPart) -> Plan {
        let OfPart { tree, lists, place, kernel, pairs, streamed_m2l, counted } = part;
        Plan {
            options: options.clone(),
            asked: options.clone(),
            tree,
            lists,
            near2: lists::near2(options.theta),
            pairs,
            by_level: Vec::new(),
            streamed_m2l,
            place,
            kernel,
            operators: Default::default(),
            lattice: OnceLock::new(),
            seconds: 0.0,
            id: next_id(),
            id_of_p2p: next_id(),
            counted,
        }
    }

    /// Whether it is not a part of a larger problem.
    pub fn is_whole(&self) -> bool {
        self.counted.is_none()
    }

    /// Whether what is done for a cell is counted here, and not by another part of the problem.
    pub fn counts(&self, cell: usize) -> bool {
        self.counted.as_ref().is_none_or(|counted| counted[cell])
    }

    /// A number that no other plan of this process has, and that changes with the lists: what follows from tree and lists may
    /// be kept under it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Takes another order, and another part of it (see [`FmmOptions::lower_beyond`]); the tree stays.
    pub fn set_order(&mut self, order: usize, lower_beyond: Option<f64>) {
        if (order, lower_beyond) == (self.asked.order, self.asked.lower_beyond) {
            return;
        }
        let before = list_options(&self.options, self.near2);
        (self.asked.order, self.asked.lower_beyond) = (order, lower_beyond);
        self.soften();
        self.operators = Default::default();
        self.lattice = OnceLock::new();
        let after = list_options(&self.options, self.near2);
        if before != after {
            let before = std::mem::replace(&mut self.lists, lists::build(&self.tree, &after));
            self.id = next_id();
            if !before.has_p2p_of(&self.lists) {
                self.id_of_p2p = next_id();
            }
            self.count();
        }
    }

    /// Takes what was asked for, or what softening needs in place of it; the tree stays.
    fn soften(&mut self) {
        let (eps, levels) = (self.tree.map.length(self.options.eps), self.tree.levels.len());
        let own = FmmOptions { leaf: self.options.leaf, ..self.asked.clone() };
        // The images of a tree are those of its angle.
        let theta = if own.periodic.is_some() { self.options.theta } else { own.theta };
        let is_softened = |options: &FmmOptions| options.basis == Basis::Softened;
        let was = is_softened(&self.options);
        self.options = softening::on_tree(&own, theta, eps, levels);
        if is_softened(&self.options) != was {
            self.kernel = softening::kernel(&self.options, &self.tree.map, levels);
        }
        self.near2 = lists::near2(self.options.theta);
    }

    /// Computes potential and gradient, and the Hessian where an output asks for it, at every target, for each of some sets of
    /// charges in the order of the sources. Each stage goes to the first executor that takes it, and else to the CPU. What a
    /// set gives does not depend on the others.
    pub fn run(
        &self,
        sources: &[Sources],
        executors: &mut [&mut dyn Executor<Plan>],
        out: &mut [Outputs],
        progress: &mut Progress,
    ) -> Result<Stats, FmmError> {
        self.run_with(None, sources, executors, out, progress)
    }

    /// The same with a near field of these charges that may be kept from the run before.
    fn run_with(
        &self,
        near: Option<&mut KeptNearField>,
        sources: &[Sources],
        executors: &mut [&mut dyn Executor<Plan>],
        out: &mut [Outputs],
        progress: &mut Progress,
    ) -> Result<Stats, FmmError> {
        options::check_run(self, sources, executors, out)?;
        executors.iter_mut().try_for_each(|e| e.bind(self))?;
        let start = Instant::now();
        let charges: Vec<Charges> = sources.iter().map(|s| Charges::new(&self.tree, *s)).collect();
        let seconds = Seconds { tree: self.seconds, ..Seconds::default() };
        let timeline = Timeline::after_tree(self.seconds);
        let mut run = Stages { executors, parts: &SinglePart, seconds, timeline, progress };
        let mut states = self.states(&charges, out, run.is_native());
        let far: &[Stage] = if self.options.near_only { &[] } else { &Stage::FAR };
        let (Ran { m2l, mut p2p, waited }, kept) = match near {
            Some(near) => near.run(self, &mut run, far, &mut states)?,
            None => (run.run(far, &mut states)?, 0.0),
        };
        states.iter_mut().for_each(periodic::add_background);
        for ((state, p2p), out) in states.iter().zip(&mut p2p).zip(out) {
            p2p.rounding = Rounding::of(&p2p.rounded, &state.sums.force);
            if self.options.near_only && p2p.left_out.is_none() && state.charges.dipoles.is_none() {
                p2p.left_out = Some(left_out::of_coulomb(state));
            }
            state.write(p2p, out)?;
        }
        let Stages { executors, mut seconds, timeline, .. } = run;
        seconds.total = seconds.tree + start.elapsed().as_secs_f64() + kept;
        let name = executors.iter().find(|e| e.takes(Stage::P2p)).map(|e| e.name());
        let p2p = Work::sum(p2p);
        let rounding = p2p.rounding.assessed()?;
        let timeline = timeline.spans;
        Ok(Stats { seconds, timeline, waited, rounding, ..self.stats(name, &p2p, &Work::sum(m2l)) })
    }

    /// As [`Plan::run`] for one set of charges, into columns of its own.
    pub fn solve(
        &self,
        charges: &[f64],
        executors: &mut [&mut dyn Executor<Plan>],
        progress: &mut Progress,
    ) -> Result<Solution, FmmError> {
        let Solutions { mut fields, stats } = self.solve_all(&[charges.into()], false, executors, progress)?;
        Ok(Solution { field: fields.pop().expect("one set of charges has one field"), stats })
    }

    /// As [`Plan::run`], into columns of its own, with the Hessian or without it.
    pub fn solve_all(
        &self,
        sources: &[Sources],
        hessian: bool,
        executors: &mut [&mut dyn Executor<Plan>],
        progress: &mut Progress,
    ) -> Result<Solutions, FmmError> {
        self.solve_with(None, sources, hessian, executors, progress)
    }

    /// As [`Plan::run_with`], into columns of its own.
    fn solve_with(
        &self,
        near: Option<&mut KeptNearField>,
        sources: &[Sources],
        hessian: bool,
        executors: &mut [&mut dyn Executor<Plan>],
        progress: &mut Progress,
    ) -> Result<Solutions, FmmError> {
        let column = || vec![0.0; self.tree.targets().len()];
        let field = |_: &Sources| Field {
            potential: column(),
            gradient: Some([0, 1, 2].map(|_| column())),
            hessian: hessian.then(|| [0; 6].map(|_| column())),
        };
        let mut fields: Vec<Field> = sources.iter().map(field).collect();
        let mut out: Vec<Outputs> = fields.iter_mut().map(Outputs::of).collect();
        let stats = self.run_with(near, sources, executors, &mut out, progress)?;
        if !stats.has_gradient {
            fields.iter_mut().for_each(|field| field.gradient = None);
        }
        Ok(Solutions { fields, stats })
    }

    /// Nothing computed yet for each set of charges.
    fn states<'a>(&'a self, charges: &'a [Charges], out: &[Outputs], is_native: bool) -> Vec<State<'a>> {
        let one = |(charges, out): (&'a Charges, &Outputs)| {
            let mut state = self.state(charges, is_native, self.tree.levels.len());
            state.sums.hessian = vec![[0.0; 6]; if out.hessian.is_some() { self.tree.targets().len() } else { 0 }];
            state
        };
        charges.iter().zip(out).map(one).collect()
    }

    /// Nothing computed yet for a set of charges. The whole tree has so many `levels`.
    pub fn state<'a>(&'a self, charges: &'a Charges, is_native: bool, levels: usize) -> State<'a> {
        if self.options.near_only {
            return State::near(self, charges);
        }
        let lattice = far_images(&self.options).filter(|_| self.options.basis != Basis::Softened);
        let kernel_suits = || self.kernel.as_ref().is_none_or(|k| suits_f32(&**k, levels, lattice));
        let is_flat =
            self.options.basis == Basis::Softened && self.tree.map.length(self.options.eps) > softening::MOST_F32;
        let is_f32 = self.options.precision == Precision::F32 && suit_f32(charges) && kernel_suits() && !is_flat;
        let cells = self.tree.cells.len();
        let expansions = match is_f32 && is_native {
            true => Expansions::F32(zeros(cells, self.operators_f32())),
            false => Expansions::F64(zeros(cells, self.operators_f64())),
        };
        State::new(self, charges, expansions)
    }

    pub fn far(&self) -> Far<'_> {
        Far { tree: &self.tree, lists: &self.lists, near2: self.near2 }
    }

    /// The sums over far images up to twice the order, or for a kernel the matrix of its order, with periodic boundaries.
    fn lattice(&self) -> Option<&[f64]> {
        let images = far_images(&self.options)?;
        let order = self.options.order;
        let sums = || match &self.kernel {
            Some(kernel) if kernel.softened().is_none() => images.matrix(&**kernel, order),
            // Far images are those of 1/r.
            _ => lattice::sums(2 * order, images.axes, self.near2),
        };
        Some(self.lattice.get_or_init(sums))
    }

    pub fn operators_f32(&self) -> &dyn Expansion<f32> {
        &**self.operators.0.get_or_init(|| self.operators())
    }

    pub fn operators_f64(&self) -> &dyn Expansion<f64> {
        &**self.operators.1.get_or_init(|| self.operators())
    }

    fn operators<T: Vectors>(&self) -> Box<dyn Expansion<T>> {
        let FmmOptions { basis, order, lower_beyond, m2l_by, .. } = self.options;
        let far = Translated { lower_beyond, m2l_by };
        expansion::operators(basis, order, far, self.near2, self.kernel.as_ref())
    }
}

/// Expansions of so many cells.
fn zeros<T: Real>(cells: usize, operators: &dyn Expansion<T>) -> Coefficients<T> {
    Coefficients::zeros(cells * operators.multipole_terms(), cells * operators.local_terms())
}

/// The kernel of P2P as what a black-box expansion expands, where one is asked for. The tree has so many `levels`.
pub fn expanded(
    p2p: Option<&dyn Kernel>,
    options: &FmmOptions,
    map: &BoxMap,
    levels: usize,
) -> Result<Option<Arc<dyn Function>>, FmmError> {
    if let Some(softened) = softening::kernel(options, map, levels) {
        return Ok(Some(softened));
    }
    if options.basis != Basis::Chebyshev || options.near_only {
        return Ok(None);
    }
    let Some(p2p) = p2p else {
        let text = "the expansion in Chebyshev polynomials is for a P2P kernel; name one, or take another expansion";
        return Err(FmmError::Option(text.into()));
    };
    Ok(Some(p2p.function(options, map, levels)?))
}

/// The images that M2L leaves to an operator of their own, with periodic boundaries.
pub fn far_images(options: &FmmOptions) -> Option<Lattice> {
    Some(Lattice { axes: options.periodic?.axes, near2: lists::near2(options.theta) })
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Where P2P costs less than M2P and P2L.
pub fn list_options(options: &FmmOptions, near2: u64) -> ListOptions {
    let worth = expansion::pairs_of_a_point(options.basis, options.order);
    ListOptions { near2, m2p_above: worth, p2l_above: worth }
}
