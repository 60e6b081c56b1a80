//! The backend `cuda`: kernels in native mode on a GPU. Ints and fixeds are to the bit, floats and logs double, as on `cpu`.

use super::{BackendOptions, Entry, Needs};
use crate::cuda::device::Device;
use crate::cuda::{compile, pairs};
use crate::job::{Backend, BackendError, Job, Outcome};
use hdl::Format;
use hdl::op::meaning::{self, Real};
use pg2::backend::cuda::{self, native};
use pg2::graph::Graph;

pub const ENTRY: Entry = Entry {
    name: "cuda",
    place: None,
    summary: "`fmm`: native f64 or f32 P2P on an NVIDIA GPU beside the CPU's far field. `run`: as `cpu`, on the GPU",
    needs: Needs::Gpu,
    exact: false,
    clocked: false,
    traced: false,
    native: true,
    open,
};

fn open(_: &BackendOptions) -> Box<dyn Backend> {
    Box::new(Gpu { mode: Mode { name: ENTRY.name, is_exact: false, text: native_text }, device: None })
}

fn native_text(graph: &Graph) -> String {
    cuda::module(graph, &native::functions(graph))
}

/// What a mode differs in.
pub(super) struct Mode {
    pub name: &'static str,
    pub is_exact: bool,
    /// The translation unit of a kernel.
    pub text: fn(&Graph) -> String,
}

/// Kernels of one mode on the first card, which is opened when it is first needed.
pub(super) struct Gpu {
    pub mode: Mode,
    pub device: Option<Device>,
}

impl Gpu {
    fn device(&mut self) -> Result<&mut Device, BackendError> {
        let device = match self.device.take() {
            Some(device) => device,
            None => {
                compile::check()?;
                Device::open()?
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
        if self.mode.is_exact { format } else { meaning::held(format) }
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
