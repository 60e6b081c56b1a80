//! The backends `cuda` and `cuda-exact`: kernels on a GPU, in native mode, with floats and logs double as on `cpu`, and with
//! the bits and flags of the pipeline.

use crate::cuda::device::{self, Device};
use crate::cuda::{compile, pairs};
use hdl::Format;
use hdl::op::semantics::{self, Real};
use pg2::backend::cuda::{self, exact, native};
use pg2::graph::Graph;
use pipelines::backends::{BackendOptions, Entry, Needs};
use pipelines::job::{Backend, BackendError, Job, Outcome};

pub const NATIVE: Entry = Entry {
    name: "cuda",
    place: None,
    summary: "`fmm`: native f64 or f32 on an NVIDIA GPU, all stages, or P2P beside the CPU's far field. `run`: as `cpu`, on the GPU",
    needs: Needs::Gpu,
    exact: false,
    clocked: false,
    traced: false,
    shaped: false,
    native: true,
    open: open_native,
};

pub const EXACT: Entry = Entry {
    name: "cuda-exact",
    place: None,
    summary: "the bits and flags of the pipeline, in integer arithmetic on an NVIDIA GPU",
    needs: Needs::Gpu,
    exact: true,
    clocked: false,
    traced: false,
    shaped: false,
    native: false,
    open: open_exact,
};

fn open_native(options: &BackendOptions) -> Box<dyn Backend> {
    let text = |graph: &Graph| cuda::module(graph, &native::functions(graph));
    Box::new(Gpu { mode: Mode { name: NATIVE.name, is_exact: false, text }, turn: options.turn, device: None })
}

fn open_exact(options: &BackendOptions) -> Box<dyn Backend> {
    let text = |graph: &Graph| cuda::module(graph, &exact::functions(graph));
    Box::new(Gpu { mode: Mode { name: EXACT.name, is_exact: true, text }, turn: options.turn, device: None })
}

/// The settings of a mode.
struct Mode {
    name: &'static str,
    is_exact: bool,
    /// The translation unit of a kernel.
    text: fn(&Graph) -> String,
}

/// Kernels of one mode on one GPU, which is opened when it is first needed.
struct Gpu {
    mode: Mode,
    turn: usize,
    device: Option<Device>,
}

impl Gpu {
    fn device(&mut self) -> Result<&mut Device, BackendError> {
        let device = match self.device.take() {
            Some(device) => device,
            None => {
                device::ready()?;
                Device::open_at(device::in_turn(self.turn)?)?
            }
        };
        Ok(self.device.insert(device))
    }
}

impl Backend for Gpu {
    fn name(&self) -> &str {
        self.mode.name
    }

    fn held(&self, format: Format) -> Format {
        if self.mode.is_exact { format } else { semantics::held(format) }
    }

    fn is_exact(&self) -> bool {
        self.mode.is_exact
    }

    fn is_device(&self) -> bool {
        true
    }

    fn prepare(&mut self, graph: &Graph, _: u64) -> Result<(), BackendError> {
        let text = (self.mode.text)(graph);
        self.device()?.function(&text, cuda::PAIRS_NAME, compile::Arithmetic::Careful)?;
        Ok(())
    }

    fn run(&mut self, job: &Job, progress: &mut dyn FnMut(usize)) -> Result<Outcome, BackendError> {
        let (text, is_exact) = ((self.mode.text)(job.graph), self.mode.is_exact);
        let identity = |o: &pg2::graph::Output| {
            let format = job.graph.pins[o.pin].format;
            let bits = o.reduce.identity(format);
            if is_exact { bits } else { Real::read(format, bits).bits() }
        };
        let identities: Vec<u64> = job.graph.outputs.iter().map(identity).collect();
        let outcome = pairs::run(self.device()?, &text, job, &identities)?;
        progress(job.targets.len());
        Ok(outcome)
    }
}
