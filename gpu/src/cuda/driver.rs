//! The common ground of runs of all stages on GPUs, in space and in the plane: kernels by their names, the points in time between stages,
//! and how a run ends.

use super::CudaError;
use super::compile::Arithmetic;
use super::gpu_device::{GpuDevice, Size, Stream};
use cudarc::driver::DeviceRepr;
use fmm::stages::{FmmError, Seconds};
use pipelines::job::BackendError;
use std::collections::HashMap;

/// The result of a run, or why the problem is left to the caller.
pub type Outcome<T> = Result<T, String>;

/// An outcome to a program: a problem that does not fit the GPUs is left to it too, once the memory that it took is given back.
pub fn reported<T>(found: Result<Outcome<T>, CudaError>, give_back: impl FnOnce()) -> Result<Outcome<T>, FmmError> {
    match found {
        Err(CudaError::TooLarge(why)) => {
            give_back();
            Ok(Err(why))
        }
        found => Ok(found.map_err(BackendError::from)?),
    }
}

/// Compiled kernels by their names.
pub struct Kernels<C: GpuDevice>(HashMap<&'static str, C::Kernel>);

impl<C: GpuDevice> Default for Kernels<C> {
    fn default() -> Kernels<C> {
        Kernels(HashMap::new())
    }
}

impl<C: GpuDevice> Kernels<C> {
    /// Compiles some kernels of a text, which `prepare` may give more of a block's memory.
    pub fn compile(
        &mut self,
        device: &C,
        text: &str,
        names: impl IntoIterator<Item = &'static str>,
        arithmetic: Arithmetic,
        prepare: impl Fn(&'static str, &mut C::Kernel) -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        for name in names {
            let mut kernel = device.kernel(text, name, arithmetic)?;
            prepare(name, &mut kernel)?;
            self.0.insert(name, kernel);
        }
        Ok(())
    }

    /// Starts a kernel on the main stream; one without blocks has nothing to do.
    pub fn launch<P: DeviceRepr>(
        &self,
        device: &C,
        name: &str,
        size: Size,
        problem: &P,
        numbers: &[u32],
    ) -> Result<(), CudaError> {
        self.launch_in(Stream::Main, device, name, size, problem, numbers)
    }

    pub fn launch_in<P: DeviceRepr>(
        &self,
        stream: Stream,
        device: &C,
        name: &str,
        size: Size,
        problem: &P,
        numbers: &[u32],
    ) -> Result<(), CudaError> {
        match size.blocks {
            0 => Ok(()),
            _ => device.launch(stream, &self.0[name], size, problem, numbers),
        }
    }
}

/// The stages of a run: two that make the tree or mesh, and then P2M, M2M, M2L, L2L, P2P and L2P.
pub const STAGES: usize = 8;

/// Seconds of each stage, zeros where they were not timed one by one, and from the first kernel to the last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    pub stages: [f64; STAGES],
    pub total: f64,
}

impl Times {
    /// Of each the longer.
    pub fn slowest(mut self, other: Times) -> Times {
        self.stages.iter_mut().zip(other.stages).for_each(|(a, b)| *a = a.max(b));
        Times { total: self.total.max(other.total), ..self }
    }

    /// The seconds of a report, without a total: that of its run has copies too.
    pub fn seconds(&self) -> Seconds {
        let [first, second, p2m, m2m, m2l, l2l, p2p, l2p] = self.stages;
        Seconds { tree: first + second, p2m, m2m, m2l, l2l, p2p, l2p, ..Seconds::default() }
    }
}

/// The points in time of a run on a GPU, each with a note of the caller's.
pub struct Clock<'a, C: GpuDevice, N = ()> {
    device: &'a C,
    events: Vec<(C::Event, N)>,
}

impl<'a, C: GpuDevice, N> Clock<'a, C, N> {
    pub fn new(device: &'a C) -> Clock<'a, C, N> {
        Clock { device, events: Vec::new() }
    }

    /// Notes the time at which all that was asked for before is done.
    pub fn tick(&mut self, note: N) -> Result<(), CudaError> {
        self.events.push((self.device.event()?, note));
        Ok(())
    }

    /// The note of the first point.
    pub fn first(&self) -> Option<&N> {
        self.events.first().map(|event| &event.1)
    }

    /// The times between the points, less what a pair of notes says is no time of the GPU's. Stages are timed one by one if there is a
    /// point before each and one behind the last.
    pub fn read(&self, less: impl Fn(&N, &N) -> Result<f64, CudaError>) -> Result<Times, CudaError> {
        let between = |first: &(C::Event, N), second: &(C::Event, N)| {
            Ok((C::seconds(&first.0, &second.0)? - less(&first.1, &second.1)?).max(0.0))
        };
        let mut times = Times::default();
        if self.events.len() == STAGES + 1 {
            for (seconds, pair) in times.stages.iter_mut().zip(self.events.windows(2)) {
                *seconds = between(&pair[0], &pair[1])?;
            }
        }
        if let [first, .., last] = &self.events[..] {
            times.total = between(first, last)?;
        }
        Ok(times)
    }
}
