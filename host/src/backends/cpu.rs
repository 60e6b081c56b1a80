//! The backend `cpu`: the kernel's real meaning (RULES N10), on all cores.
//!
//! It says what the kernel would give with floats and logs wide enough: these are f64 from the inputs on, and round to no
//! format. Records hold them so (see [`Backend::held`]).

use super::{BackendOptions, Entry, Needs};
use crate::job::{Backend, BackendError, Job, Outcome, Table, Words};
use hdl::op::meaning::{self, Real};
use hdl::{Flags, Format};
use rayon::prelude::*;
use sim::reference::real::{RealKernel, RealSources};

/// Targets of one task.
const TASK: usize = 16;

pub const ENTRY: Entry = Entry {
    name: "cpu",
    place: None,
    summary: "`fmm`: native f64 or f32, no kernels. `run`: what the kernel means with its floats in f64",
    needs: Needs::Nothing,
    exact: false,
    clocked: false,
    traced: false,
    native: true,
    open,
};

/// Opens the backend; it takes every kernel.
fn open(options: &BackendOptions) -> Box<dyn Backend> {
    Box::new(Cpu { threads: options.threads })
}

struct Cpu {
    threads: usize,
}

impl Backend for Cpu {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn held(&self, format: Format) -> Format {
        meaning::held(format)
    }

    fn is_exact(&self) -> bool {
        ENTRY.exact
    }

    fn run(&mut self, job: &Job, progress: &mut dyn FnMut(usize)) -> Result<Outcome, BackendError> {
        let graph = job.graph;
        let kernel = RealKernel::new(graph);
        let sources = RealSources::new(job.sources.elements, &job.sources.bits);
        let elements = graph.outputs.len();
        let identity = |o: &pg2::graph::Output| {
            let format = graph.pins[o.pin].format;
            Real::read(format, o.reduce.identity(format)).bits()
        };
        let identities: Vec<u64> = graph.outputs.iter().map(identity).collect();
        let mut outcome = Outcome {
            results: Table { elements, bits: identities.repeat(job.targets.len()) },
            flags: vec![Flags::NONE; job.targets.len()],
            words: Words::default(),
            ..Outcome::default()
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        let mut finished = 0;
        for run in job.runs {
            let segments = &job.segments[run.segments.clone()];
            let tasks: Vec<usize> = (run.first..run.first + run.count).step_by(TASK).collect();
            let targets = |first: usize| -> Vec<(Vec<Real>, Flags)> {
                let mut scratch = kernel.scratch();
                let one = |target: usize| {
                    let ranges = segments.iter().map(|s| s.first..s.first + s.count);
                    kernel.target(&mut scratch, job.targets.record(target), job.params, &sources, ranges)
                };
                (first..(first + TASK).min(run.first + run.count)).map(one).collect()
            };
            let evaluate = || -> Vec<(Vec<Real>, Flags)> {
                let done: Vec<_> = tasks.par_iter().map(|&first| targets(first)).collect();
                done.into_iter().flatten().collect()
            };
            // Without threads of its own the backend works in the global pool.
            let done = match &pool {
                Ok(pool) => pool.install(evaluate),
                Err(_) => evaluate(),
            };
            for (target, (values, flags)) in (run.first..).zip(done) {
                let bits = &mut outcome.results.bits[target * elements..(target + 1) * elements];
                bits.iter_mut().zip(values).for_each(|(b, x)| *b = x.bits());
                outcome.flags[target] = flags;
            }
            let sources: usize = segments.iter().map(|s| s.count).sum();
            outcome.pairs += (run.count * sources) as u64;
            finished += run.count;
            progress(finished);
        }
        Ok(outcome)
    }
}
