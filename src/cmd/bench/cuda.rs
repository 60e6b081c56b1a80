//! A GPU, every result against the CPU first: P2P, its shapes and sizes, whole FMMs beside direct summation and the CPU, and the
//! exact mode of all kernels.

mod exact;
mod fmm;
mod p2p;
mod picture;
mod problem;

use super::{Args, measured};
use gpu::cuda::device::{self, Device};
use gpu::cuda::{CudaError, ceiling, compile};
use measured::Measured;
use pg2::graph::Graph;
use pipelines::job::BackendError;
use pipelines::predict::roofline::{GPUS, GpuModel, Kernel, Mode, Work, on_gpu};
use problem::Problem;
use serde::Serialize;
use terminal::bench::spread;
use terminal::failure::Failure;
use terminal::{output, say};

/// All pairs of so many particles.
const ALL: usize = 1 << 18;

/// An FMM of so many, and particles a leaf at most.
const FMM: usize = 1_000_000;
const LEAF: usize = 64;

/// FP32 instructions and one reciprocal root of a pair's potential and gradient.
const ISSUED: f64 = 14.0;

/// Everything that was measured.
#[derive(Serialize, Default)]
struct Report {
    device: String,
    cores: usize,
    /// Fused multiply-adds of single threads a second.
    fma_per_second: f64,
    figures: Vec<Figure>,
    shapes: Vec<p2p::Trial>,
    sizes: Vec<Figure>,
    exact: Vec<exact::Row>,
    fmm: Vec<fmm::Row>,
    /// Particles from which on the FMM is quicker than direct summation on the same GPU.
    break_even: Option<f64>,
    cards: Vec<fmm::Cards>,
}

/// One figure.
#[derive(Serialize)]
struct Figure {
    what: String,
    n: usize,
    pairs: u64,
    /// Of the kernel on the GPU, sorted.
    seconds: Vec<f64>,
    /// To send everything and to fetch the results, memory allocated for both.
    link_seconds: f64,
    /// The prediction of `explain --roofline` for the kernel, where it knows the GPU.
    predicted_seconds: Option<f64>,
    predicted_link_seconds: Option<f64>,
    /// At the median.
    pairs_per_second: f64,
    /// Of what the measured issue rate allows; for f32.
    share: Option<f64>,
    /// Relative L2 errors against f64 on the CPU.
    potential_error: f64,
    gradient_error: f64,
    /// Targets with pairs too close for the arithmetic, which an FMM computes again on the CPU.
    again: usize,
}

/// Prints the figures and writes them. Without a GPU it says so, and fails if it was named.
pub fn run(args: &Args) -> Result<(), Failure> {
    let found = device::found().and_then(|_| compile::check());
    if let Err(why) = found {
        return match args.names.is_empty() {
            true => say!("  skipped: {why}"),
            false => Err(Failure::Tool(why.to_string())),
        };
    }
    let mut bench = Bench::new(args.repeat)?;
    p2p::figures(&mut bench)?;
    p2p::shapes(&mut bench)?;
    p2p::sizes(&mut bench)?;
    exact::run(&mut bench)?;
    fmm::run(&mut bench)?;
    fmm::cards(&mut bench)?;
    measured::keep(&bench.measured)?;
    if let Some(path) = &args.json {
        output::write_json(path, &bench.report)?;
    }
    if let Some(path) = &args.svg {
        output::write_text(path, &picture::svg(&bench.report.device, &bench.report.fmm))?;
    }
    Ok(())
}

fn failure(e: CudaError) -> Failure {
    BackendError::from(e).into()
}

/// The middle of some seconds, and all of them sorted.
fn sorted(mut seconds: Vec<f64>) -> (f64, Vec<f64>) {
    seconds.sort_unstable_by(f64::total_cmp);
    (seconds[seconds.len() / 2], seconds)
}

struct Bench {
    device: Device,
    repeat: u32,
    /// The GPU's rates, if they are known.
    card: Option<GpuModel>,
    measured: Vec<Measured>,
    report: Report,
}

impl Bench {
    fn new(repeat: u32) -> Result<Bench, Failure> {
        let mut device = Device::open().map_err(failure)?;
        let issue = ceiling::instructions(&mut device).map_err(failure)?;
        let card = GPUS.iter().find(|card| device.name.split_whitespace().any(|word| word == card.name)).cloned();
        let cores = rayon::current_num_threads();
        say!("  {}, and {cores} threads of the CPU", device.name)?;
        say!("  {:.1}e12 FMA/s measured, which bounds P2P by {:.2}e12 pairs/s", issue / 1e12, issue / ISSUED / 1e12)?;
        let report = Report { device: device.name.clone(), cores, fma_per_second: issue, ..Report::default() };
        Ok(Bench { device, repeat, card, measured: Vec::new(), report })
    }

    /// Seconds that are predicted for a kernel and for the link.
    fn predicted(&self, mode: &Mode, work: &Work) -> Option<[f64; 2]> {
        let predicted = on_gpu(self.card.as_ref()?, mode, work);
        Some([predicted.compute_seconds, predicted.link_seconds])
    }

    /// Notes what was measured of a kernel, for `explain --roofline`.
    fn note(&mut self, graph: &Graph, mode: &str, work: &Work, seconds: [f64; 2]) {
        self.measured.push(Measured {
            device: self.device.name.clone(),
            kernel: graph.name.clone(),
            hash: hdl::serial::kernel_hash(&graph.canonical()),
            mode: mode.into(),
            targets: work.targets,
            sources: work.sources,
            seconds: seconds[0],
            link_seconds: seconds[1],
        });
    }
}

/// A mode of a kernel by its name.
fn mode(graph: &Graph, name: &str) -> Result<Mode, Failure> {
    let kernel = Kernel::new(graph).map_err(Failure::Tool)?;
    let found = kernel.modes.into_iter().find(|m| m.name == name);
    found.ok_or_else(|| Failure::Tool(format!("{} has no mode {name}", graph.name)))
}
