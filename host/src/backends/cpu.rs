//! The backend `cpu`: the kernel's real-number meaning in f64, on all cores.
//!
//! Every operator is evaluated by its `real`, so nothing rounds to the kernel's formats before the sum; the result is
//! then rounded once to the output's format. It says what the kernel would give with formats wide enough.

use crate::backend::{Backend, BackendError, Job, Outcome, Run, Table, Words};
use crate::backends::Options;
use hdl::exact::Rounding;
use hdl::{Flags, Format, Reduce};
use pg2::graph::{Graph, NodeKind, PinClass};
use rayon::prelude::*;
use std::collections::HashMap;

/// Targets of one task.
const TASK: usize = 16;

/// Opens the backend; it takes every kernel.
pub fn open(options: &Options) -> Box<dyn Backend> {
    Box::new(Cpu { threads: options.threads })
}

struct Cpu {
    threads: usize,
}

impl Backend for Cpu {
    fn name(&self) -> &str {
        "cpu"
    }

    fn run(&mut self, job: &Job, progress: &mut dyn FnMut(usize)) -> Result<Outcome, BackendError> {
        let kernel = Kernel::new(job);
        let elements = job.graph.outputs.len();
        let identities: Vec<u64> = kernel.outputs.iter().map(|o| o.2.identity(o.1)).collect();
        let mut outcome = Outcome {
            results: Table { elements, bits: identities.repeat(job.targets.len()) },
            flags: vec![Flags::NONE; job.targets.len()],
            words: Words::default(),
            ..Outcome::default()
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        let mut finished = 0;
        for run in job.runs {
            let tasks: Vec<usize> = (run.first..run.first + run.count).step_by(TASK).collect();
            let evaluate = || -> Vec<(Vec<u64>, Vec<Flags>)> {
                tasks.par_iter().map(|&first| kernel.targets(job, run, first)).collect()
            };
            // Without threads of its own the backend works in the global pool.
            let done = match &pool {
                Ok(pool) => pool.install(evaluate),
                Err(_) => evaluate(),
            };
            for (first, (bits, flags)) in tasks.iter().zip(done) {
                outcome.results.bits[first * elements..first * elements + bits.len()].copy_from_slice(&bits);
                outcome.flags[*first..first + flags.len()].copy_from_slice(&flags);
            }
            let sources: usize = job.segments[run.segments.clone()].iter().map(|s| s.count).sum();
            outcome.pairs += (run.count * sources) as u64;
            finished += run.count;
            progress(finished);
        }
        Ok(outcome)
    }
}

/// A job's graph with its inputs as real numbers.
struct Kernel<'a> {
    graph: &'a Graph,
    /// For each node that is a pin: its class and its place in the record.
    pins: Vec<Option<(PinClass, usize)>>,
    params: Vec<f64>,
    targets: Vec<f64>,
    sources: Vec<f64>,
    /// Node, format and reduction of each output.
    outputs: Vec<(usize, Format, Reduce)>,
}

impl<'a> Kernel<'a> {
    fn new(job: &Job<'a>) -> Kernel<'a> {
        let graph = job.graph;
        let mut places = HashMap::new();
        for class in [PinClass::Ipin, PinClass::Jpin, PinClass::Param] {
            for (k, e) in graph.elements_of(class).into_iter().enumerate() {
                places.insert(e, (class, k));
            }
        }
        let pin = |node: &pg2::graph::Node| match node.kind {
            NodeKind::Pin { pin, element } => Some(places[&(pin, element)]),
            _ => None,
        };
        let reals = |class, bits: &[u64]| -> Vec<f64> {
            let formats: Vec<Format> = graph.elements_of(class).iter().map(|e| graph.pins[e.0].format).collect();
            bits.iter().zip(formats.iter().cycle()).map(|(b, f)| f.to_f64(*b)).collect()
        };
        Kernel {
            graph,
            pins: graph.nodes.iter().map(pin).collect(),
            params: reals(PinClass::Param, job.params),
            targets: reals(PinClass::Ipin, &job.targets.bits),
            sources: reals(PinClass::Jpin, &job.sources.bits),
            outputs: graph.outputs.iter().map(|o| (o.value.0 as usize, graph.pins[o.pin].format, o.reduce)).collect(),
        }
    }

    /// Results and flags of up to [`TASK`] targets of a run from `first` on.
    fn targets(&self, job: &Job, run: &Run, first: usize) -> (Vec<u64>, Vec<Flags>) {
        let last = (first + TASK).min(run.first + run.count);
        let (ni, nj) = (job.targets.elements, job.sources.elements);
        let mut values = vec![0.0; self.graph.nodes.len()];
        let (mut bits, mut flags) = (Vec::new(), Vec::new());
        for target in first..last {
            let i = self.targets.get(target * ni..(target + 1) * ni).unwrap_or(&[]);
            let mut sums: Vec<Option<f64>> = vec![None; self.outputs.len()];
            for s in &job.segments[run.segments.clone()] {
                for source in s.first..s.first + s.count {
                    let j = self.sources.get(source * nj..(source + 1) * nj).unwrap_or(&[]);
                    self.pair(i, j, &mut values);
                    for (sum, (node, _, reduce)) in sums.iter_mut().zip(&self.outputs) {
                        *sum = Some(merge(*reduce, *sum, values[*node]));
                    }
                }
            }
            let mut raised = Flags::NONE;
            for (sum, (_, format, reduce)) in sums.iter().zip(&self.outputs) {
                let (pattern, flag) = sum.map_or((reduce.identity(*format), Flags::NONE), |x| rounded(*format, x));
                bits.push(pattern);
                raised |= flag;
            }
            flags.push(raised);
        }
        (bits, flags)
    }

    fn pair(&self, i: &[f64], j: &[f64], values: &mut [f64]) {
        let mut args = Vec::with_capacity(3);
        for (k, node) in self.graph.nodes.iter().enumerate() {
            values[k] = match (&node.kind, self.pins[k]) {
                (_, Some((PinClass::Ipin, at))) => i[at],
                (_, Some((PinClass::Jpin, at))) => j[at],
                (_, Some((_, at))) => self.params[at],
                (NodeKind::Const { bits }, _) => node.format.to_f64(*bits),
                (NodeKind::Op { op, inst, args: nodes }, _) => {
                    args.clear();
                    args.extend(nodes.iter().map(|a| values[a.0 as usize]));
                    op.real(inst, &args)
                }
                (NodeKind::Pin { .. }, None) => unreachable!("every pin node has a place"),
            };
        }
    }
}

fn merge(reduce: Reduce, sum: Option<f64>, x: f64) -> f64 {
    match (reduce, sum) {
        (_, None) => x,
        (Reduce::Sum, Some(s)) => s + x,
        (Reduce::Max, Some(s)) => s.max(x),
        (Reduce::Min, Some(s)) => s.min(x),
    }
}

/// The pattern nearest to a real result. Out of range it is the nearer end with `saturation`, and what is no number is 0
/// with `invalid`, so that nothing is lost silently.
fn rounded(format: Format, x: f64) -> (u64, Flags) {
    let x = if format.is_int() { x.round_ties_even() } else { x };
    let Some(exact) = hdl::exact::Exact::from_float(x) else {
        return (0, Flags::INVALID);
    };
    match hdl::exact::to_bits(format, &exact) {
        Ok((bits, Rounding::Underflow)) => (bits, Flags::UNDERFLOW),
        Ok((bits, _)) => (bits, Flags::NONE),
        Err(_) if x < 0.0 => (format.min_bits(), Flags::SATURATION),
        Err(_) => (format.max_bits(), Flags::SATURATION),
    }
}
