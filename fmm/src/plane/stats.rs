//! The report of a run in the plane.

use super::error::Errors;
use super::{Plan, Solution};
use crate::octree::{Precision, stats};
use crate::stages::{CPU, Span, Waited, Work};

pub use crate::stages::Seconds;

/// The report of a run in the plane.
pub type Stats = stats::Stats<Errors>;

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
        let p2p = Work::sum(solutions.iter().map(|s| s.p2p.clone()).collect());
        Stats {
            kernel: options.kernel.name(),
            n: plan.mesh.sources.len(),
            targets: plan.mesh.is_apart().then(|| plan.mesh.targets().len()),
            order: options.order,
            theta: options.theta,
            leaf: options.leaf,
            precision: if is_f32 { "f32" } else { "f64" },
            levels: plan.mesh.levels + 1,
            seconds,
            timeline: timeline(solutions),
            waited: waited.reduce(|a, b| Waited { cpu: a.cpu + b.cpu, device: a.device + b.device }),
            pairs: plan.pairs,
            ..Stats::of_work(None, &p2p, &Work::default())
        }
    }
}

/// The spans of some runs of a plan, one behind the other, with those of the plan once.
fn timeline(solutions: &[Solution]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for solution in solutions {
        let tree = solution.seconds.tree;
        let end = spans.iter().fold(tree, |end, span| end.max(span.end));
        let moved = |span: &Span| Span { start: span.start + end - tree, end: span.end + end - tree, ..span.clone() };
        let is_new = spans.is_empty();
        spans.extend(solution.timeline.iter().filter(|span| is_new || span.start >= tree).map(moved));
    }
    spans
}
