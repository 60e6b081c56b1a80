//! The backend `cpu`: the kernel's real-arithmetic semantics (RULES N10), on all cores.
//!
//! Results are those of the kernel with floats and logs wide enough: these are f64 from the inputs on, and round to no
//! format. Records hold them so (see [`Backend::held`]).

use super::{BackendOptions, Entry, Needs};
use crate::job::{Backend, BackendError, Job, Outcome, Run, Table, Words};
use fmm::parallel::prelude::*;
use hdl::op::semantics::{self, Real};
use hdl::{Flags, Format};
use sim::reference::real::{Pairs, RealKernel, RealSources, Scratch};

/// Targets of a run that one thread computes.
const TASK: usize = 256;

/// Parts of a job after which it tells how far it is.
const PARTS: usize = 64;

pub const ENTRY: Entry = Entry {
    name: "cpu",
    place: None,
    summary: "`fmm`: native f64 or f32, no kernels; the default there. `run`: what the kernel means with its floats in f64",
    needs: Needs::Nothing,
    exact: false,
    clocked: false,
    traced: false,
    shaped: false,
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
        semantics::held(format)
    }

    fn is_exact(&self) -> bool {
        ENTRY.exact
    }

    fn takes_numbers(&self) -> bool {
        true
    }

    fn run(&mut self, job: &Job, progress: &mut dyn FnMut(usize)) -> Result<Outcome, BackendError> {
        let graph = job.graph;
        let bound = graph.bound(job.params, true);
        let kernel = RealKernel::new(bound.as_ref().unwrap_or(graph));
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
        let evaluate = |runs: &[Run]| -> Vec<Done> {
            let one = |scratch: &mut Scratch, run: &Run| self::run(&kernel, job, &sources, run, scratch);
            runs.par_iter().map_init(|| kernel.scratch(), one).collect()
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        let mut finished = 0;
        for runs in job.runs.chunks(together) {
            // Without threads of its own the backend works in the global pool.
            let done = match &pool {
                Ok(pool) => pool.install(|| evaluate(runs)),
                Err(_) => evaluate(runs),
            };
            for (run, Done { values, flags }) in runs.iter().zip(done) {
                let bits = &mut outcome.results.bits[run.first * elements..(run.first + run.count) * elements];
                bits.iter_mut().zip(values).for_each(|(b, x)| *b = x.bits());
                outcome.flags[run.first..run.first + run.count].copy_from_slice(&flags);
                let sources: usize = job.segments[run.segments.clone()].iter().map(|s| s.count).sum();
                outcome.pairs += (run.count * sources) as u64;
                finished += run.count;
            }
            progress(finished);
        }
        Ok(outcome)
    }
}

/// The results of the targets of a run: the values of all outputs of one behind those of the other, and their flags.
struct Done {
    values: Vec<Real>,
    flags: Vec<Flags>,
}

/// Computes the results of all targets of a run.
fn run(kernel: &RealKernel, job: &Job, sources: &RealSources, run: &Run, scratch: &mut Scratch) -> Done {
    let ranges: Vec<_> = job.segments[run.segments.clone()].iter().map(|s| s.first..s.first + s.count).collect();
    let gathered = kernel.gather(sources, &ranges);
    let elements = job.graph.outputs.len();
    let mut done = Done { values: vec![Real::default(); run.count * elements], flags: vec![Flags::NONE; run.count] };
    let one = |scratch: &mut Scratch, ((target, values), flags): ((usize, &mut [Real]), &mut Flags)| {
        let pairs = Pairs { i: job.targets.record(target), params: job.params, sources };
        *flags = kernel.target_into(scratch, &pairs, &gathered, values);
    };
    let targets = run.first..run.first + run.count;
    if run.count <= TASK {
        let each = targets.zip(done.values.chunks_exact_mut(elements)).zip(&mut done.flags);
        each.for_each(|target| one(scratch, target));
        return done;
    }
    let values = done.values.par_chunks_exact_mut(elements);
    let each = targets.into_par_iter().zip(values).zip(&mut done.flags).with_min_len(TASK / 4);
    each.for_each_init(|| kernel.scratch(), one);
    done
}
