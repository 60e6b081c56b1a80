//! The backend `cpu`: the kernel's real-number meaning in f64, on all cores.
//!
//! Every operator is evaluated by its `real`, so nothing rounds to the kernel's formats before the sum; the result is
//! then rounded once to the output's format. It says what the kernel would give with formats wide enough.

use crate::backend::{Backend, BackendError, Job, Outcome, Run, Table, Words};
use crate::backends::Options;
use crate::real::{Kernel, Reals};
use hdl::number::exact::Fit;
use hdl::{Flags, Format};
use pg2::graph::PinClass;
use rayon::prelude::*;

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
        let graph = job.graph;
        let params = Table { elements: job.params.len(), bits: job.params.to_vec() };
        let reals = |class, table: &Table| Reals::of(graph, class, table);
        let kernel = Kernel::new(
            graph,
            reals(PinClass::Ipin, job.targets),
            reals(PinClass::Jpin, job.sources),
            reals(PinClass::Param, &params).values,
        );
        let elements = job.graph.outputs.len();
        let identities: Vec<u64> = graph.outputs.iter().map(|o| o.reduce.identity(graph.pins[o.pin].format)).collect();
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
                tasks.par_iter().map(|&first| targets(&kernel, job, run, first)).collect()
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

/// Results and flags of up to [`TASK`] targets of a run from `first` on.
fn targets(kernel: &Kernel, job: &Job, run: &Run, first: usize) -> (Vec<u64>, Vec<Flags>) {
    let last = (first + TASK).min(run.first + run.count);
    let (mut bits, mut flags) = (Vec::new(), Vec::new());
    for sums in kernel.targets(run, job.segments, first, last) {
        let mut raised = Flags::NONE;
        for (sum, o) in sums.iter().zip(&job.graph.outputs) {
            let format = job.graph.pins[o.pin].format;
            let (pattern, flag) = sum.map_or((o.reduce.identity(format), Flags::NONE), |x| rounded(format, x));
            bits.push(pattern);
            raised |= flag;
        }
        flags.push(raised);
    }
    (bits, flags)
}

/// The pattern nearest to a real result. Out of range it is the nearer end with `saturation`, and what is no number is 0
/// with `invalid`, so that nothing is lost silently.
fn rounded(format: Format, x: f64) -> (u64, Flags) {
    let x = if format.is_int() { x.round_ties_even() } else { x };
    let Some(exact) = hdl::number::exact::Exact::from_float(x) else {
        return (0, Flags::INVALID);
    };
    match hdl::number::exact::to_bits(format, &exact) {
        Ok((bits, Fit::Underflow)) => (bits, Flags::UNDERFLOW),
        Ok((bits, _)) => (bits, Flags::NONE),
        Err(_) if x < 0.0 => (format.min_bits(), Flags::SATURATION),
        Err(_) => (format.max_bits(), Flags::SATURATION),
    }
}
