//! Plan and run.

use super::lists::Lists;
use super::mesh::{Mesh, Scale};
use super::stats::Seconds;
use super::{
    Coefficients, Executor, Expansions, Field, Geometry, Options, Scaled, Stage, State, Strengths, Sums, Work,
};
use super::{native, options};
use crate::arith::wide::Wide;
use crate::octree::executor::Progress;
use crate::octree::stats::{self, Pairs, Waited};
use crate::octree::{FmmError, Precision, overlap};
use crate::parallel::prelude::*;
use std::time::Instant;

/// The mesh and its lists for points at fixed positions. It may be run for many sets of strengths.
pub struct Plan {
    pub options: Options,
    pub mesh: Mesh,
    pub lists: Lists,
    pub pairs: Pairs,
    /// The seconds of the mesh and of the lists.
    pub seconds: Seconds,
}

/// The result of a run.
pub struct Solution {
    pub field: Field,
    pub seconds: Seconds,
    /// Where P2P ran beside the other stages.
    pub waited: Option<Waited>,
    /// The work of executors.
    pub work: Vec<(Stage, Work)>,
}

impl Plan {
    /// Sorts the points and connects the boxes.
    pub fn new<'a>(geometry: impl Into<Geometry<'a>>, options: &Options) -> Result<Plan, FmmError> {
        let geometry = geometry.into();
        options.check()?;
        options::check_positions(geometry)?;
        let start = Instant::now();
        let mesh = Mesh::new(geometry, options.leaf);
        let sorted = start.elapsed().as_secs_f64();
        let lists = Lists::new(&mesh, options.theta);
        let connected = start.elapsed().as_secs_f64() - sorted;
        let pairs = count(&mesh, &lists);
        let seconds = Seconds::of_mesh(sorted, connected);
        Ok(Plan { options: options.clone(), mesh, lists, pairs, seconds })
    }

    /// Takes another order; the mesh stays.
    pub fn set_order(&mut self, order: usize) {
        self.options.order = order;
    }

    /// Computes the field at every target. Each stage goes to the first executor that takes it, and else to the CPU.
    pub fn run(
        &self,
        strengths: &Strengths,
        executors: &mut [&mut dyn Executor],
        progress: &mut Progress,
    ) -> Result<Solution, FmmError> {
        options::check_strengths(self.mesh.sources.len(), self.options.kernel, strengths)?;
        executors.iter_mut().try_for_each(|e| e.bind(self))?;
        let start = Instant::now();
        let scaled = strengths.scaled(&self.mesh.sources.order);
        let mut state = State::new(self, &scaled, self.expansions());
        let mut run = Stages { executors, seconds: stats::Seconds::default(), work: Vec::new(), progress };
        let waited = match run.is_beside() {
            true => Some(run.beside(&mut state)?),
            false => {
                Stage::FAR.into_iter().chain([Stage::P2p]).try_for_each(|stage| run.stage(stage, &mut state))?;
                None
            }
        };
        let Stages { seconds: stages, work, .. } = run;
        let field = state.field()?;
        let mut seconds = self.seconds;
        seconds.stages.add(&stages);
        seconds.stages.total += start.elapsed().as_secs_f64();
        Ok(Solution { field, seconds, waited, work })
    }

    /// Nothing computed yet. Expansions are in f32 where that was asked for and holds them.
    fn expansions(&self) -> Expansions {
        let (boxes, order) = (self.mesh.boxes.len(), self.options.order);
        match self.options.precision == Precision::F32 && self.suits_f32() {
            true => Expansions::F32(Coefficients::zeros(boxes, order)),
            false => Expansions::F64(Coefficients::zeros(boxes, order)),
        }
    }

    /// Whether f32 holds the powers of all ratios of lengths.
    pub fn suits_f32(&self) -> bool {
        let least = 2f64.powi(-40);
        self.options.order <= MOST_F32 && self.mesh.boxes.unit.iter().all(|unit| *unit >= least)
    }
}

/// A run's executors, what they did, and the seconds of the stages.
struct Stages<'a, 'e, 'p> {
    executors: &'a mut [&'e mut dyn Executor],
    seconds: stats::Seconds,
    work: Vec<(Stage, Work)>,
    progress: &'a mut Progress<'p>,
}

impl Stages<'_, '_, '_> {
    fn stage(&mut self, stage: Stage, state: &mut State) -> Result<(), FmmError> {
        let start = Instant::now();
        match self.executors.iter_mut().find(|e| e.takes(stage)) {
            Some(executor) => self.work.push((stage, executor.run(stage, state, self.progress)?)),
            None => {
                (self.progress)(stage.name(), 0, 0);
                native::run(stage, state);
            }
        }
        *self.seconds.of(stage) += start.elapsed().as_secs_f64();
        Ok(())
    }

    /// Whether P2P runs on a device while the CPU does all other stages.
    fn is_beside(&self) -> bool {
        let device = self.executors.iter().find(|e| e.takes(Stage::P2p)).is_some_and(|e| e.is_device());
        device && Stage::FAR.iter().all(|stage| !self.executors.iter().any(|e| e.takes(*stage)))
    }

    /// Runs P2P beside all other stages.
    fn beside(&mut self, state: &mut State) -> Result<Waited, FmmError> {
        let mut near = State::new(state.plan, state.strengths, Expansions::F64(Coefficients::zeros(0, 0)));
        let far = || {
            let mut seconds = stats::Seconds::default();
            for stage in Stage::FAR {
                let start = Instant::now();
                native::run(stage, state);
                *seconds.of(stage) += start.elapsed().as_secs_f64();
            }
            seconds
        };
        let both = overlap::both(far, || self.stage(Stage::P2p, &mut near))?;
        self.seconds.add(&both.far);
        // P2P adds once to each sum, so that the bits are those of one stage after the other.
        let columns = state.sums.columns_mut().zip(near.sums.columns());
        columns.for_each(|(to, from)| to.iter_mut().zip(from).for_each(|(to, x)| *to += x));
        state.wide.extend(near.wide);
        Ok(both.waited)
    }
}

/// The highest order whose coefficients f32 holds; it is above the one whose error is that of f32.
const MOST_F32: usize = 24;

impl<'a> State<'a> {
    fn new(plan: &'a Plan, strengths: &'a Scaled, expansions: Expansions) -> State<'a> {
        let sums = Sums::zeros(plan.mesh.targets().len(), plan.options.kernel);
        State { plan, strengths, expansions, sums, wide: Vec::new() }
    }

    /// The results in the order of the input and the user's units.
    fn field(&self) -> Result<Field, FmmError> {
        let (targets, kernel) = (self.plan.mesh.targets(), self.plan.options.kernel);
        let q = self.strengths.exponent;
        let powers = [q - self.plan.mesh.frame.exponent, q - self.plan.mesh.frame.exponent, q];
        let mut field = Field::zeros(targets.len(), kernel);
        let mut place = vec![0u32; targets.len()];
        targets.order.iter().enumerate().for_each(|(k, o)| place[*o as usize] = k as u32);
        for ((to, from), power) in field.columns_mut().zip(self.sums.columns()).zip(powers) {
            let scale = Scale::new(power);
            to.par_iter_mut().zip(&place).with_min_len(4096).for_each(|(to, k)| *to = scale.of(from[*k as usize]));
        }
        for (k, sums) in &self.wide {
            let at = targets.order[*k] as usize;
            let columns = field.columns_mut().zip(self.sums.columns()).zip(powers).zip(sums);
            for (((to, from), power), sum) in columns {
                let mut sum: Wide = *sum;
                sum.add(from[*k], power);
                to[at] = sum.to_f64();
            }
        }
        field.check()?;
        Ok(field)
    }
}

impl Field {
    /// Whether all results are numbers of f64.
    fn check(&self) -> Result<(), FmmError> {
        let names = ["vector", "vector", "potential"];
        for (name, column) in names.into_iter().zip(self.columns()) {
            if let Some(k) = column.par_iter().with_min_len(4096).position_first(|x| !x.is_finite()) {
                return Err(FmmError::Range(format!(
                    "the {name} at point {k}, counted from 0, is beyond 1.8e308, the range of f64, since another point is so \
                     close to it; give longer lengths or smaller strengths, by taking other units"
                )));
            }
        }
        Ok(())
    }
}

/// Interactions by the lists.
fn count(mesh: &Mesh, lists: &Lists) -> Pairs {
    let (sources, targets) = (&mesh.sources, mesh.targets());
    let of_box = |k: usize| {
        let own = targets.range(k).len() as u64;
        let near = lists.near.of(k).iter().map(|s| sources.range(*s as usize).len() as u64).sum::<u64>();
        let p2l = lists.p2l.of(k).iter().map(|s| sources.range(*s as usize).len() as u64).sum::<u64>();
        [own * near, own * lists.m2p.of(k).len() as u64, p2l]
    };
    let add = |a: [u64; 3], b: [u64; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
    let [p2p, m2p, p2l] = (0..lists.near.len()).into_par_iter().map(of_box).reduce(|| [0; 3], add);
    Pairs { p2p, m2l: lists.weak.boxes.len() as u64, m2p, p2l }
}
