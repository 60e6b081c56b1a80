//! The stages on the CPU: which cells and particles meet in each. Each cell or leaf is worked on by one thread in one order, so
//! that results do not depend on the number of threads.

use super::executor::{CPU, Coefficients, Executor, Expansions, Progress, Stage, State, Sums, Work};
use super::{FmmError, Plan, Precision};
use crate::arith::lanes::Real;
use crate::data::{Force, Hessian};
use crate::direct::p2p::{Near, Out};
use crate::expansion::basis::Basis;
use crate::expansion::chebyshev::images;
use crate::expansion::solid::terms;
use crate::expansion::{Derivatives, Expansion, Points, SecondDerivatives, Values, lattice};
use crate::parallel::prelude::*;
use crate::tree::charges::Charges;
use crate::tree::sorted::Sorted;
use std::ops::Range;

/// Particles of a source cell are filled up to a multiple of this with points that give nothing.
const FILL: usize = 8;

/// Runs any stage for some sets of charges.
pub fn run(stage: Stage, states: &mut [State]) -> Vec<Work> {
    if stage == Stage::P2p {
        let precision = states.first().map_or(Precision::F64, |state| state.plan.options.precision);
        return p2p(states, precision);
    }
    let one = |state: &mut State| {
        let State { plan, charges, expansions, sums: Sums { force, hessian } } = state;
        let mut out = Out { force, hessian };
        match expansions {
            Expansions::F32(c) => FarField { plan, charges, operators: plan.operators_f32() }.run(stage, c, &mut out),
            Expansions::F64(c) => FarField { plan, charges, operators: plan.operators_f64() }.run(stage, c, &mut out),
        }
        Work { streamed: if stage == Stage::M2l { plan.streamed_m2l } else { 0 }, ..Work::default() }
    };
    states.iter_mut().map(one).collect()
}

/// The part of M2L that stays on the CPU whoever runs M2L: the images of the root that are not near it, with periodic boundaries.
pub(super) fn far_images(state: &mut State) {
    let State { plan, charges, expansions, .. } = state;
    match expansions {
        Expansions::F32(c) => FarField { plan, charges, operators: plan.operators_f32() }.far_images(c),
        Expansions::F64(c) => FarField { plan, charges, operators: plan.operators_f64() }.far_images(c),
    }
}

/// P2P: charges alone all at once, dipoles and Hessians one set after the other.
pub(super) fn p2p(states: &mut [State], precision: Precision) -> Vec<Work> {
    let mut work = vec![Work::default(); states.len()];
    let is_plain = |state: &State| state.charges.dipoles.is_none() && state.sums.hessian.is_empty();
    let (plain, others): (Vec<_>, Vec<_>) = states.iter_mut().enumerate().partition(|(_, state)| is_plain(state));
    let groups = [plain].into_iter().chain(others.into_iter().map(|one| vec![one]));
    for group in groups.filter(|group| !group.is_empty()) {
        let (sets, states): (Vec<usize>, Vec<&mut State>) = group.into_iter().unzip();
        let Plan { tree, lists, options, pairs, .. } = states[0].plan;
        let charges = states.iter().map(|state| state.charges).collect();
        let near = Near { tree, lists, charges, eps: options.eps, hessian: !states[0].sums.hessian.is_empty() };
        let out = states.into_iter().map(|s| Out { force: &mut s.sums.force, hessian: &mut s.sums.hessian }).collect();
        let again = match precision {
            Precision::F64 => near.all::<f64>(out),
            Precision::F32 => near.all::<f32>(out),
        };
        for (set, again) in sets.into_iter().zip(again) {
            work[set] = Work {
                streamed: pairs.p2p,
                recomputed: again.targets,
                close: again.pairs,
                wide: again.wide,
                has_gradient: true,
                ..Work::default()
            };
        }
    }
    work
}

/// P2P in native code as an executor: in a precision of its own, or in that of the plan, as a GPU has it.
pub struct NativeP2p(pub Option<Precision>);

impl Executor<Plan> for NativeP2p {
    fn name(&self) -> &str {
        // With a precision of its own it stands for formats.
        if self.is_native() { CPU } else { "formats" }
    }

    fn takes(&self, stage: Stage) -> bool {
        stage == Stage::P2p
    }

    fn is_native(&self) -> bool {
        self.0.is_none()
    }

    fn bind(&mut self, _: &Plan) -> Result<(), FmmError> {
        Ok(())
    }

    fn run(&mut self, _: Stage, state: &mut State, _: &[f64], _: &mut Progress) -> Result<Work, FmmError> {
        let precision = self.0.unwrap_or(state.plan.options.precision);
        Ok(p2p(std::slice::from_mut(state), precision).remove(0))
    }
}

/// The stages of the far field in the arithmetic of `T`.
struct FarField<'a, T: Real> {
    plan: &'a Plan,
    charges: &'a Charges,
    operators: &'a dyn Expansion<T>,
}

/// Scratch memory of one thread.
#[derive(Default)]
struct Scratch<T> {
    particles: Gathered<T>,
    values: Vec<Values<T>>,
    terms: Vec<T>,
}

/// Particles relative to a cell.
#[derive(Default)]
struct Gathered<T> {
    x: [Vec<T>; 3],
    q: Vec<T>,
    /// Dipole moments, where there are any.
    p: [Vec<T>; 3],
}

impl<T: Real> Gathered<T> {
    fn clear(&mut self) {
        self.x.iter_mut().chain(&mut self.p).for_each(Vec::clear);
        self.q.clear();
    }

    /// Adds places, relative to `centre` in units of 1/`scale`.
    fn add(&mut self, points: &Sorted, range: Range<usize>, centre: [f64; 3], scale: f64) {
        for (a, column) in self.x.iter_mut().enumerate() {
            column.extend(points.unit[a][range.clone()].iter().map(|x| T::of((x - centre[a]) * scale)));
        }
    }

    /// Adds what the sources carry, in units of charge and, for dipole moments, charge over `scale`.
    fn add_charges(&mut self, charges: &Charges, range: Range<usize>, scale: f64) {
        for (to, p) in self.p.iter_mut().zip(charges.dipoles.iter().flatten()) {
            to.extend(p[range.clone()].iter().map(|p| T::of(*p * scale)));
        }
        self.q.extend(charges.scaled[range].iter().map(|q| T::of(*q)));
    }

    /// Fills up with uncharged points at the centre.
    fn fill_up(&mut self) {
        let filled = self.q.len().next_multiple_of(FILL);
        self.x.iter_mut().for_each(|column| column.resize(filled, T::default()));
        self.q.resize(filled, T::default());
        let moments = self.p.iter_mut().filter(|p| !p.is_empty());
        moments.for_each(|p| p.resize(filled, T::default()));
    }

    /// The dipole moments, where there are any.
    fn dipoles(&self) -> Option<[&[T]; 3]> {
        (!self.p[0].is_empty()).then(|| self.p.each_ref().map(|p| &p[..]))
    }

    fn points(&self) -> Points<'_, T> {
        Points { x: self.x.each_ref().map(|column| &column[..]) }
    }
}

impl<T: Real> FarField<'_, T> {
    fn run(&self, stage: Stage, c: &mut Coefficients<T>, out: &mut Out) {
        match stage {
            Stage::P2m => self.p2m(&mut c.m),
            Stage::M2m => self.operators.m2m_all(&self.plan.tree, &mut c.m),
            Stage::M2l => {
                self.operators.m2l(self.plan.far(), &c.m, &mut c.l);
                self.far_images(c);
            }
            Stage::P2l => self.p2l(&mut c.l),
            Stage::L2l => self.operators.l2l_all(&self.plan.tree, &mut c.l),
            Stage::L2p => {
                self.l2p(&c.l, out.force);
                if !out.hessian.is_empty() {
                    self.l2p_hessian(&c.l, out.hessian);
                }
            }
            Stage::M2p => {
                self.m2p(&c.m, out.force);
                if !out.hessian.is_empty() {
                    self.m2p_hessian(&c.m, out.hessian);
                }
            }
            Stage::P2p => {}
        }
    }

    /// P2M: the multipoles of the leaves.
    fn p2m(&self, m: &mut [T]) {
        let tree = &self.plan.tree;
        m.par_chunks_exact_mut(self.operators.multipole_terms()).zip(&tree.cells).for_each_init(
            Scratch::default,
            |scratch, (m, cell)| {
                if cell.is_leaf() && tree.has_sources_of(cell) {
                    scratch.particles.clear();
                    scratch.particles.add(&tree.sources, cell.sources(), cell.centre(), 1.0 / cell.edge());
                    scratch.particles.add_charges(self.charges, cell.sources(), 1.0 / cell.edge());
                    self.operators.p2m(scratch.particles.points(), &scratch.particles.q, m, &mut scratch.terms);
                    if let Some(p) = scratch.particles.dipoles() {
                        self.derivatives().p2m_dipoles(scratch.particles.points(), p, m, &mut scratch.terms);
                    }
                }
            },
        );
    }

    /// The images of the root that are not near it, with periodic boundaries.
    fn far_images(&self, c: &mut Coefficients<T>) {
        let Plan { options, tree, .. } = self.plan;
        if let (Some(sums), false) = (self.plan.lattice(), tree.cells.is_empty()) {
            let (m, l) = (self.operators.multipole_terms(), self.operators.local_terms());
            let (m, l) = (&c.m[..m], &mut c.l[..l]);
            match &self.plan.kernel {
                Some(kernel) if kernel.softened().is_some() => {
                    // Images that are not near are those of 1/r.
                    let terms = terms::count(options.order);
                    lattice::act(Basis::Solid, options.order, sums, &m[..terms], &mut l[..terms]);
                }
                Some(_) => images::act(sums, m, l),
                None => lattice::act(options.basis, options.order, sums, m, l),
            }
        }
    }

    /// P2L: particles of coarse leaves onto the local expansions of smaller cells that are not near.
    fn p2l(&self, l: &mut [T]) {
        let Plan { tree, lists, .. } = self.plan;
        l.par_chunks_exact_mut(self.operators.local_terms()).enumerate().for_each_init(
            Scratch::default,
            |scratch, (t, l)| {
                if lists.x[t].is_empty() {
                    return;
                }
                let (cell, centre) = (&tree.cells[t], tree.cells[t].centre());
                scratch.particles.clear();
                for s in &lists.x[t] {
                    let source = &tree.acting()[*s as usize];
                    let (sources, shift) = (source.sources(), source.shift());
                    let centre = std::array::from_fn(|a| centre[a] - shift[a] as f64);
                    scratch.particles.add(&tree.sources, sources.clone(), centre, 1.0 / cell.edge());
                    scratch.particles.add_charges(self.charges, sources, 1.0 / cell.edge());
                    scratch.particles.fill_up();
                }
                self.operators.p2l(cell.level, scratch.particles.points(), &scratch.particles.q, l, &mut scratch.terms);
                if let Some(p) = scratch.particles.dipoles() {
                    self.derivatives().p2l_dipoles(cell.level, scratch.particles.points(), p, l, &mut scratch.terms);
                }
            },
        );
    }

    /// L2P: adds the local expansions of the leaves at their particles.
    fn l2p(&self, l: &[T], force: &mut [Force]) {
        let (tree, terms) = (&self.plan.tree, self.operators.local_terms());
        tree.by_leaf(force).into_par_iter().for_each_init(Scratch::default, |scratch, (leaf, force)| {
            let cell = &tree.cells[leaf];
            scratch.particles.clear();
            scratch.particles.add(tree.targets(), cell.targets(), cell.centre(), 1.0 / cell.edge());
            zeros(&mut scratch.values, force.len());
            let l = &l[leaf * terms..(leaf + 1) * terms];
            self.operators.l2p(l, scratch.particles.points(), &mut scratch.values, &mut scratch.terms);
            add_scaled(&scratch.values, self.operators.units(cell.level), force);
        });
    }

    /// M2P: multipoles of small cells at the particles of a leaf that is not near them.
    fn m2p(&self, m: &[T], force: &mut [Force]) {
        let Plan { tree, lists, .. } = self.plan;
        let terms = self.operators.multipole_terms();
        tree.by_leaf(force).into_par_iter().for_each_init(Scratch::default, |scratch, (leaf, force)| {
            for s in &lists.w[leaf] {
                let (s, source) = (tree.original(*s), &tree.acting()[*s as usize]);
                scratch.particles.clear();
                scratch.particles.add(tree.targets(), tree.cells[leaf].targets(), source.centre(), 1.0 / source.edge());
                zeros(&mut scratch.values, force.len());
                let m = &m[s * terms..(s + 1) * terms];
                self.operators.m2p(
                    source.level,
                    m,
                    scratch.particles.points(),
                    &mut scratch.values,
                    &mut scratch.terms,
                );
                add_scaled(&scratch.values, self.operators.units(source.level), force);
            }
        });
    }
}

/// Second derivatives.
impl<T: Real> FarField<'_, T> {
    /// The operators of dipoles and second derivatives: a run that needs them was refused where there are none.
    fn derivatives(&self) -> &dyn Derivatives<T> {
        self.operators.derivatives().expect("the run was refused without them")
    }

    fn unit(&self, level: u32) -> f64 {
        self.operators.units(level)[1] * 2f64.powi(level as i32)
    }

    /// L2P of second derivatives.
    fn l2p_hessian(&self, l: &[T], hessian: &mut [Hessian]) {
        let (tree, terms) = (&self.plan.tree, self.operators.local_terms());
        tree.by_leaf(hessian).into_par_iter().for_each_init(Scratch::default, |scratch, (leaf, hessian)| {
            let cell = &tree.cells[leaf];
            scratch.particles.clear();
            scratch.particles.add(tree.targets(), cell.targets(), cell.centre(), 1.0 / cell.edge());
            let mut found = vec![[T::default(); 6]; hessian.len()];
            let l = &l[leaf * terms..(leaf + 1) * terms];
            self.derivatives().l2p_hessian(l, scratch.particles.points(), &mut found, &mut scratch.terms);
            add_seconds(&found, self.unit(cell.level), hessian);
        });
    }

    /// M2P of second derivatives.
    fn m2p_hessian(&self, m: &[T], hessian: &mut [Hessian]) {
        let Plan { tree, lists, .. } = self.plan;
        let terms = self.operators.multipole_terms();
        tree.by_leaf(hessian).into_par_iter().for_each_init(Scratch::default, |scratch, (leaf, hessian)| {
            for s in &lists.w[leaf] {
                let (s, source) = (tree.original(*s), &tree.acting()[*s as usize]);
                scratch.particles.clear();
                scratch.particles.add(tree.targets(), tree.cells[leaf].targets(), source.centre(), 1.0 / source.edge());
                let mut found = vec![[T::default(); 6]; hessian.len()];
                let m = &m[s * terms..(s + 1) * terms];
                self.derivatives().m2p_hessian(
                    source.level,
                    m,
                    scratch.particles.points(),
                    &mut found,
                    &mut scratch.terms,
                );
                add_seconds(&found, self.unit(source.level), hessian);
            }
        });
    }
}

/// Adds second derivatives in units of a cell, given what one of 1 is.
fn add_seconds<T: Real>(found: &[SecondDerivatives<T>], unit: f64, hessian: &mut [Hessian]) {
    for (hessian, found) in hessian.iter_mut().zip(found) {
        (0..6).for_each(|a| hessian[a] += found[a].f64() * unit);
    }
}

fn zeros<T: Real>(values: &mut Vec<Values<T>>, count: usize) {
    values.clear();
    values.resize(count, [T::default(); 4]);
}

/// Adds values in units of a cell, given what potentials and gradients of 1 are.
fn add_scaled<T: Real>(values: &[Values<T>], [potential, gradient]: [f64; 2], force: &mut [Force]) {
    let units = [potential, gradient, gradient, gradient];
    for (force, value) in force.iter_mut().zip(values) {
        (0..4).for_each(|a| force[a] += value[a].f64() * units[a]);
    }
}
