//! Any job on the GPU: its runs and segments as index vectors, sent once; results fetched once.

use super::CudaError;
use super::compile::Arithmetic;
use super::device::{Device, failed};
use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{DeviceRepr, LaunchConfig, PushKernelArg, ValidAsZeroBits};
use hdl::Flags;
use pg2::backend::cuda::{PAIRS_NAME, PAIRS_THREADS};
use pipelines::job::{Job, Outcome, Table, Words};

/// Two numbers, as the kernel reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Two(pub u32, pub u32);

// SAFETY: two plain numbers, as in C, of which zero is one.
unsafe impl DeviceRepr for Two {}
// SAFETY: as above.
unsafe impl ValidAsZeroBits for Two {}

/// The index vectors of a job, as Haney et al. name them.
#[derive(Debug, PartialEq, Eq)]
struct Indices {
    /// For each block its run, and the first of its targets within the run.
    cidx: Vec<Two>,
    /// For each run its first target, and how many it has.
    cpart_idx: Vec<Two>,
    /// For each run where its sources begin in `ulist`; one more entry ends the last.
    uidx: Vec<u32>,
    /// First source and count.
    ulist: Vec<Two>,
}

impl Indices {
    fn of(job: &Job) -> Indices {
        let mut indices = Indices { cidx: Vec::new(), cpart_idx: Vec::new(), uidx: vec![0], ulist: Vec::new() };
        for (k, run) in job.runs.iter().enumerate() {
            indices.cpart_idx.push(Two(run.first as u32, run.count as u32));
            let segments = job.segments[run.segments.clone()].iter().filter(|s| s.count > 0);
            indices.ulist.extend(segments.map(|s| Two(s.first as u32, s.count as u32)));
            indices.uidx.push(indices.ulist.len() as u32);
            let blocks = (0..run.count).step_by(PAIRS_THREADS as usize);
            indices.cidx.extend(blocks.map(|first| Two(k as u32, first as u32)));
        }
        indices
    }
}

/// Runs a job by the kernel of a text. Targets that are in no run get the identities.
pub fn run(device: &mut Device, text: &str, job: &Job, identities: &[u64]) -> Result<Outcome, CudaError> {
    timed(device, text, job, identities).map(|(outcome, _)| outcome)
}

/// The same with the seconds of the kernel alone.
pub fn timed(device: &mut Device, text: &str, job: &Job, identities: &[u64]) -> Result<(Outcome, f64), CudaError> {
    let function = device.function(text, PAIRS_NAME, Arithmetic::Careful)?;
    check(device, job)?;
    let indices = Indices::of(job);
    let (n, elements) = (job.targets.len(), job.graph.outputs.len());
    let (targets, sources) = (device.send(&job.targets.bits)?, device.send(&job.sources.bits)?);
    let (params, cidx, cpart_idx) =
        (device.send(job.params)?, device.send(&indices.cidx)?, device.send(&indices.cpart_idx)?);
    let (uidx, ulist) = (device.send(&indices.uidx)?, device.send(&indices.ulist)?);
    let (mut results, mut flags) = (device.allocate::<u64>(n * elements)?, device.allocate::<u32>(n)?);
    let mut ms = 0.0;
    if !indices.cidx.is_empty() {
        let config = LaunchConfig {
            grid_dim: (indices.cidx.len() as u32, 1, 1),
            block_dim: (PAIRS_THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = device.stream.launch_builder(&function);
        launch.record_kernel_launch(CUevent_flags::CU_EVENT_DEFAULT);
        launch.arg(&targets).arg(&sources).arg(&params).arg(&cidx).arg(&cpart_idx).arg(&uidx).arg(&ulist);
        launch.arg(&mut results).arg(&mut flags);
        // SAFETY: the arguments are those of the kernel, and all indices lie within the tables, as the job's do.
        let events = unsafe { launch.launch(config) }.map_err(|e| failed("the GPU does not start the kernel", e))?;
        if let Some((start, end)) = events {
            ms = start.elapsed_ms(&end).map_err(|e| failed("the GPU failed", e))?;
        }
    }
    let (results, flags) = (device.fetch(&results, n * elements)?, device.fetch(&flags, n)?);
    Ok((outcome(job, identities, &results, &flags), ms as f64 * 1e-3))
}

/// Checks the bytes that the table of a job's targets and sources takes on the GPU.
fn check(device: &Device, job: &Job) -> Result<(), CudaError> {
    let too_many = |count: usize| count >= u32::MAX as usize;
    if too_many(job.targets.len()) || too_many(job.sources.len()) || too_many(job.segments.len()) {
        let text = "the GPU takes fewer than 2^32 targets, sources and segments in a run; run them in parts";
        return Err(CudaError::TooLarge(text.into()));
    }
    let words = job.targets.bits.len() + job.sources.bits.len() + job.targets.len() * (job.graph.outputs.len() + 1);
    device.check_capacity(8 * (words + job.segments.len() + 2 * job.runs.len()) as u64, "this run")
}

/// The results of the targets that are in a run; all others are the identities.
fn outcome(job: &Job, identities: &[u64], results: &[u64], flags: &[u32]) -> Outcome {
    let elements = identities.len();
    let mut outcome = Outcome {
        results: Table { elements, bits: identities.repeat(job.targets.len()) },
        flags: vec![Flags::NONE; job.targets.len()],
        pairs: job.pairs(),
        words: Words::default(),
        ..Outcome::default()
    };
    for run in job.runs {
        let targets = run.first..run.first + run.count;
        let bits = targets.start * elements..targets.end * elements;
        outcome.results.bits[bits.clone()].copy_from_slice(&results[bits]);
        for k in targets {
            outcome.flags[k] = Flags(flags[k] as u8);
        }
    }
    outcome
}
