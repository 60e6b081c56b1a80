//! Plan and run.

use super::lists::Lists;
use super::mesh::{Mesh, Scale};
use super::state::zeros;
use super::{Field, Geometry, Options, State, Strengths, options};
use crate::arith::wide::{Wide, WideValues};
use crate::clock::Instant;
use crate::octree::Precision;
use crate::octree::stats::Pairs;
use crate::parallel::prelude::*;
use crate::stages::{
    Executor, Expansions, FmmError, Progress, Ran, Seconds, SinglePart, Span, Stage, Stages, Timeline, Waited, Work,
};

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
    pub timeline: Vec<Span>,
    /// Where P2P ran beside the other stages.
    pub waited: Option<Waited>,
    /// The work of P2P.
    pub p2p: Work,
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
        executors: &mut [&mut dyn Executor<Plan>],
        progress: &mut Progress,
    ) -> Result<Solution, FmmError> {
        options::check_strengths(self.mesh.sources.len(), self.options.kernel, strengths)?;
        executors.iter_mut().try_for_each(|e| e.bind(self))?;
        let start = Instant::now();
        let scaled = strengths.scaled(&self.mesh.sources.order);
        let timeline = Timeline::after_tree(self.seconds.total);
        let mut run = Stages { executors, parts: &SinglePart, seconds: Seconds::default(), timeline, progress };
        let mut states = [State::new(self, &scaled, self.expansions())];
        let Ran { p2p, waited, .. } = run.run(&Stage::FAR, &mut states)?;
        let (stages, timeline) = (run.seconds, run.timeline.spans);
        let field = states[0].field(&p2p[0].wide)?;
        let mut seconds = self.seconds;
        seconds.add(&stages);
        seconds.total += start.elapsed().as_secs_f64();
        Ok(Solution { field, seconds, timeline, waited, p2p: Work::sum(p2p) })
    }

    /// Nothing computed yet. Expansions are in f32 where that was asked for and holds them.
    fn expansions(&self) -> Expansions {
        let (boxes, order) = (self.mesh.boxes.len(), self.options.order);
        match self.options.precision == Precision::F32 && self.suits_f32() {
            true => Expansions::F32(zeros(boxes, order)),
            false => Expansions::F64(zeros(boxes, order)),
        }
    }

    /// Whether f32 holds the powers of all ratios of lengths.
    pub fn suits_f32(&self) -> bool {
        let least = 2f64.powi(-40);
        self.options.order <= MOST_F32 && self.mesh.boxes.unit.iter().all(|unit| *unit >= least)
    }
}

/// The highest order whose coefficients f32 holds; it is above the one whose error is that of f32.
const MOST_F32: usize = 24;

impl State<'_> {
    /// The results in the order of the input and the user's units.
    fn field(&self, wide: &[(usize, WideValues)]) -> Result<Field, FmmError> {
        let (targets, kernel) = (self.plan.mesh.targets(), self.plan.options.kernel);
        let q = self.charges.exponent;
        let powers = [q - self.plan.mesh.frame.exponent, q - self.plan.mesh.frame.exponent, q];
        let mut field = Field::zeros(targets.len(), kernel);
        let mut place = vec![0u32; targets.len()];
        targets.order.iter().enumerate().for_each(|(k, o)| place[*o as usize] = k as u32);
        for ((to, from), power) in field.columns_mut().zip(self.sums.columns()).zip(powers) {
            let scale = Scale::new(power);
            to.par_iter_mut().zip(&place).with_min_len(4096).for_each(|(to, k)| *to = scale.of(from[*k as usize]));
        }
        for (k, sums) in wide {
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
