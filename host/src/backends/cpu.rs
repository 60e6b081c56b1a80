//! The backend `cpu`: the kernel's real meaning (RULES N10), on all cores.
//!
//! It says what the kernel would give with floats and logs wide enough: these are f64 from the inputs on, and round to no
//! format. Records hold them so (see [`Backend::held`]).

use super::{BackendOptions, Entry, Needs};
use crate::job::{Backend, BackendError, Job, Outcome, Run, Table, Words};
use crate::parallel::prelude::*;
use hdl::op::meaning::{self, Real};
use hdl::{Flags, Format};
use sim::reference::real::{Pairs, RealKernel, RealSources, Scratch};

/// Targets of a run that one thread computes.
const TASK: usize = 256;

/// Parts of a job after which it tells how far it is.
const PARTS: usize = 64;

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
        // Many small runs are shared out whole, and one large run target by target.
        let together = job.runs.len().div_ceil(PARTS).max(1);
        let evaluate = |runs: &[Run]| -> Vec<(usize, Vec<Real>, Flags)> {
            let one = |scratch: &mut Scratch, run: &Run| self::run(&kernel, job, &sources, run, scratch);
            let done: Vec<Vec<_>> = runs.par_iter().map_init(|| kernel.scratch(), one).collect();
            done.into_iter().flatten().collect()
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        let mut finished = 0;
        for runs in job.runs.chunks(together) {
            // Without threads of its own the backend works in the global pool.
            let done = match &pool {
                Ok(pool) => pool.install(|| evaluate(runs)),
                Err(_) => evaluate(runs),
            };
            for (target, values, flags) in done {
                let bits = &mut outcome.results.bits[target * elements..(target + 1) * elements];
                bits.iter_mut().zip(values).for_each(|(b, x)| *b = x.bits());
                outcome.flags[target] = flags;
            }
            for run in runs {
                let sources: usize = job.segments[run.segments.clone()].iter().map(|s| s.count).sum();
                outcome.pairs += (run.count * sources) as u64;
                finished += run.count;
            }
            progress(finished);
        }
        Ok(outcome)
    }
}

/// A target's place, and what it gets.
type Done = (usize, Vec<Real>, Flags);

/// What all targets of a run get.
fn run(kernel: &RealKernel, job: &Job, sources: &RealSources, run: &Run, scratch: &mut Scratch) -> Vec<Done> {
    let ranges: Vec<_> = job.segments[run.segments.clone()].iter().map(|s| s.first..s.first + s.count).collect();
    let gathered = kernel.gather(sources, &ranges);
    let one = |scratch: &mut Scratch, target: usize| {
        let pairs = Pairs { i: job.targets.record(target), params: job.params, sources };
        let (values, flags) = kernel.target(scratch, &pairs, &gathered);
        (target, values, flags)
    };
    let targets = run.first..run.first + run.count;
    if run.count <= TASK {
        return targets.map(|target| one(scratch, target)).collect();
    }
    targets.into_par_iter().with_min_len(TASK / 4).map_init(|| kernel.scratch(), one).collect()
}
