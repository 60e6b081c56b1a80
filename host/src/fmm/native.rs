//! The stages on the CPU: which cells and particles meet in each. Each cell or leaf is worked on by one thread in one order, so
//! that results do not depend on the number of threads.

use super::executor::{Coefficients, Expansions, Stage, State, Work};
use super::stats::Seconds;
use super::{Plan, Precision};
use crate::arith::lanes::Real;
use crate::data::Force;
use crate::direct::p2p::Near;
use crate::expansion::{Expansion, Points, Values};
use crate::tree::charges::Charges;
use crate::tree::sorted::Sorted;
use rayon::prelude::*;
use std::ops::Range;
use std::time::Instant;

/// Particles of a source cell are filled up to a multiple of this with points that give nothing.
const FILL: usize = 8;

/// All stages of the far field: what M2L did, and the seconds of each.
pub(super) fn far_field(states: &mut [State]) -> (Vec<Work>, Seconds) {
    let (mut m2l, mut seconds) = (Vec::new(), Seconds::default());
    for stage in Stage::FAR {
        let start = Instant::now();
        let work = run(stage, states);
        *seconds.of(stage) += start.elapsed().as_secs_f64();
        if stage == Stage::M2l {
            m2l = work;
        }
    }
    (m2l, seconds)
}

/// Runs any stage for some sets of charges.
pub(super) fn run(stage: Stage, states: &mut [State]) -> Vec<Work> {
    states.iter_mut().map(|state| run_one(stage, state)).collect()
}

pub(super) fn run_one(stage: Stage, state: &mut State) -> Work {
    if stage == Stage::P2p {
        return p2p(state.plan, state.charges, &mut state.force);
    }
    let State { plan, charges, expansions, force, .. } = state;
    match expansions {
        Expansions::F32(c) => FarField { plan, charges, operators: plan.operators_f32() }.run(stage, c, force),
        Expansions::F64(c) => FarField { plan, charges, operators: plan.operators_f64() }.run(stage, c, force),
    }
    Work { streamed: if stage == Stage::M2l { plan.streamed_m2l } else { 0 }, ..Work::default() }
}

fn p2p(plan: &Plan, charges: &Charges, force: &mut [Force]) -> Work {
    let near = Near::new(&plan.tree, &plan.lists, charges, plan.options.eps);
    let again = match plan.options.precision {
        Precision::F64 => near.all::<f64>(force),
        Precision::F32 => near.all::<f32>(force),
    };
    Work {
        streamed: plan.pairs.p2p,
        recomputed: again.targets,
        close: again.pairs.div_ceil(2),
        wide: again.wide,
        has_gradient: true,
        ..Work::default()
    }
}

/// The stages of the far field in the arithmetic of `T`.
struct FarField<'a, T: Real> {
    plan: &'a Plan,
    charges: &'a Charges,
    operators: &'a dyn Expansion<T>,
}

/// Room of one thread.
#[derive(Default)]
struct Room<T> {
    particles: Gathered<T>,
    values: Vec<Values<T>>,
    scratch: Vec<T>,
}

/// Particles relative to a cell.
#[derive(Default)]
struct Gathered<T> {
    x: [Vec<T>; 3],
    q: Vec<T>,
}

impl<T: Real> Gathered<T> {
    fn clear(&mut self) {
        self.x.iter_mut().for_each(Vec::clear);
        self.q.clear();
    }

    /// Adds places, relative to `centre` in units of 1/`scale`.
    fn add(&mut self, points: &Sorted, range: Range<usize>, centre: [f64; 3], scale: f64) {
        for (a, column) in self.x.iter_mut().enumerate() {
            column.extend(points.unit[a][range.clone()].iter().map(|x| T::of((x - centre[a]) * scale)));
        }
    }

    fn add_charges(&mut self, charges: &Charges, range: Range<usize>) {
        self.q.extend(charges.scaled[range].iter().map(|q| T::of(*q)));
    }

    /// Fills up with uncharged points at the centre.
    fn fill_up(&mut self) {
        let filled = self.q.len().next_multiple_of(FILL);
        self.x.iter_mut().for_each(|column| column.resize(filled, T::default()));
        self.q.resize(filled, T::default());
    }

    fn points(&self) -> Points<'_, T> {
        Points { x: self.x.each_ref().map(|column| &column[..]) }
    }
}

impl<T: Real> FarField<'_, T> {
    fn run(&self, stage: Stage, c: &mut Coefficients<T>, force: &mut [Force]) {
        match stage {
            Stage::P2m => self.p2m(&mut c.m),
            Stage::M2m => self.operators.m2m_all(&self.plan.tree, &mut c.m),
            Stage::M2l => self.operators.m2l(self.plan.far(), &c.m, &mut c.l),
            Stage::P2l => self.p2l(&mut c.l),
            Stage::L2l => self.operators.l2l_all(&self.plan.tree, &mut c.l),
            Stage::L2p => self.l2p(&c.l, force),
            Stage::M2p => self.m2p(&c.m, force),
            Stage::P2p => {}
        }
    }

    /// P2M: the multipoles of the leaves.
    fn p2m(&self, m: &mut [T]) {
        let tree = &self.plan.tree;
        m.par_chunks_exact_mut(self.operators.multipole_terms()).zip(&tree.cells).for_each_init(
            Room::default,
            |room, (m, cell)| {
                if cell.is_leaf() {
                    room.particles.clear();
                    room.particles.add(&tree.sources, cell.sources(), cell.centre(), 1.0 / cell.edge());
                    room.particles.add_charges(self.charges, cell.sources());
                    self.operators.p2m(room.particles.points(), &room.particles.q, m, &mut room.scratch);
                }
            },
        );
    }

    /// P2L: particles of coarse leaves onto the local expansions of smaller cells that are not near.
    fn p2l(&self, l: &mut [T]) {
        let Plan { tree, lists, .. } = self.plan;
        l.par_chunks_exact_mut(self.operators.local_terms()).enumerate().for_each_init(
            Room::default,
            |room, (t, l)| {
                if lists.x[t].is_empty() {
                    return;
                }
                let (cell, centre) = (&tree.cells[t], tree.cells[t].centre());
                room.particles.clear();
                for s in &lists.x[t] {
                    let source = &tree.acting()[*s as usize];
                    let (sources, shift) = (source.sources(), source.shift());
                    let centre = std::array::from_fn(|a| centre[a] - shift[a] as f64);
                    room.particles.add(&tree.sources, sources.clone(), centre, 1.0 / cell.edge());
                    room.particles.add_charges(self.charges, sources);
                    room.particles.fill_up();
                }
                self.operators.p2l(cell.level, room.particles.points(), &room.particles.q, l, &mut room.scratch);
            },
        );
    }

    /// L2P: adds the local expansions of the leaves at their particles.
    fn l2p(&self, l: &[T], force: &mut [Force]) {
        let (tree, terms) = (&self.plan.tree, self.operators.local_terms());
        tree.by_leaf(force).into_par_iter().for_each_init(Room::default, |room, (leaf, force)| {
            let cell = &tree.cells[leaf];
            room.particles.clear();
            room.particles.add(tree.targets(), cell.targets(), cell.centre(), 1.0 / cell.edge());
            zeros(&mut room.values, force.len());
            let l = &l[leaf * terms..(leaf + 1) * terms];
            self.operators.l2p(l, room.particles.points(), &mut room.values, &mut room.scratch);
            add_scaled(&room.values, self.operators.units(cell.level), force);
        });
    }

    /// M2P: multipoles of small cells at the particles of a leaf that is not near them.
    fn m2p(&self, m: &[T], force: &mut [Force]) {
        let Plan { tree, lists, .. } = self.plan;
        let terms = self.operators.multipole_terms();
        tree.by_leaf(force).into_par_iter().for_each_init(Room::default, |room, (leaf, force)| {
            for s in &lists.w[leaf] {
                let (s, source) = (tree.original(*s), &tree.acting()[*s as usize]);
                room.particles.clear();
                room.particles.add(tree.targets(), tree.cells[leaf].targets(), source.centre(), 1.0 / source.edge());
                zeros(&mut room.values, force.len());
                let m = &m[s * terms..(s + 1) * terms];
                self.operators.m2p(source.level, m, room.particles.points(), &mut room.values, &mut room.scratch);
                add_scaled(&room.values, self.operators.units(source.level), force);
            }
        });
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
