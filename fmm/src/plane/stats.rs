//! The report of a run: the keys of `pairforge fmm2 --json` (docs/reference/json.md).

use super::error::Errors;
use super::{Plan, Solution, Stage};
use crate::octree::Precision;
use crate::octree::executor::{CPU, Words, Work, flag_names};
use crate::octree::stats::{self, Pairs, PerKernel, Waited};
use serde::Serialize;

/// Wall-clock seconds of the mesh, of the lists (their sum is `tree`), and of each stage.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Seconds {
    pub sort: f64,
    pub connect: f64,
    #[serde(flatten)]
    pub stages: stats::Seconds,
}

impl Seconds {
    /// The seconds of a mesh and its lists, and nothing else yet.
    pub fn of_mesh(sort: f64, connect: f64) -> Seconds {
        let tree = sort + connect;
        Seconds { sort, connect, stages: stats::Seconds { tree, total: tree, ..stats::Seconds::default() } }
    }

    /// Adds those of another run of the same plan: all but mesh and lists.
    fn add_run(&mut self, run: &Seconds) {
        self.stages.add(&run.stages);
        self.stages.total += run.stages.total - run.stages.tree;
    }
}

/// The whole report.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Stats {
    pub backend: String,
    pub kernel: &'static str,
    pub n: usize,
    /// The number of targets, where these are not the sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<usize>,
    pub order: usize,
    pub theta: f64,
    pub leaf: usize,
    pub precision: &'static str,
    /// Levels of the mesh, the root's included.
    pub levels: usize,
    pub seconds: Seconds,
    pub waited: Option<Waited>,
    pub pairs: Pairs,
    #[serde(flatten)]
    pub kernels: Kernels,
    pub error: Option<Errors>,
}

/// The work of P2P by a kernel on a backend, in the keys of [`stats::Stats`]; nothing where P2P is native. M2L always is.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Kernels {
    pub streamed: PerKernel<u64>,
    pub recomputed: u64,
    pub close_pairs: u64,
    pub shared_grid_points: u64,
    pub cycles: PerKernel<Option<u64>>,
    pub utilisation: PerKernel<Option<f64>>,
    pub words: Words,
    pub flags: Vec<&'static str>,
}

impl Kernels {
    /// The work of P2P for all sets of strengths.
    fn of(p2p: &Work) -> Kernels {
        Kernels {
            streamed: PerKernel { p2p: p2p.streamed, m2l: 0 },
            recomputed: p2p.recomputed,
            close_pairs: p2p.close,
            shared_grid_points: p2p.shared,
            cycles: PerKernel { p2p: p2p.cycles, m2l: None },
            utilisation: PerKernel { p2p: p2p.utilisation(), m2l: None },
            words: p2p.words,
            flags: flag_names(p2p.flags),
        }
    }
}

impl Stats {
    /// The backend's name where the CPU runs all stages.
    pub const NATIVE: &'static str = CPU;

    /// The report of some runs of a plan, without errors: the seconds of all runs, with those of the plan once.
    pub fn of(plan: &Plan, solutions: &[Solution]) -> Stats {
        let options = &plan.options;
        let mut seconds = plan.seconds;
        solutions.iter().for_each(|solution| seconds.add_run(&solution.seconds));
        let is_f32 = options.precision == Precision::F32 && plan.suits_f32();
        let waited = solutions.iter().filter_map(|s| s.waited);
        let p2p = solutions.iter().flat_map(|s| &s.work).filter(|(stage, _)| *stage == Stage::P2p);
        Stats {
            backend: Stats::NATIVE.into(),
            kernel: options.kernel.name(),
            n: plan.mesh.sources.len(),
            targets: plan.mesh.is_apart().then(|| plan.mesh.targets().len()),
            order: options.order,
            theta: options.theta,
            leaf: options.leaf,
            precision: if is_f32 { "f32" } else { "f64" },
            levels: plan.mesh.levels + 1,
            seconds,
            waited: waited.reduce(|a, b| Waited { cpu: a.cpu + b.cpu, device: a.device + b.device }),
            pairs: plan.pairs,
            kernels: Kernels::of(&Work::sum(p2p.map(|(_, work)| work.clone()).collect())),
            error: None,
        }
    }
}
