//! A kernel on a backend that stays open, with its sources, from one run to the next.

use super::records::{decoded, table};
use super::{Backend, Kernel, Records, RunError, Sums};
use crate::backends::{self, BackendOptions};
use pg2::graph::PinClass;
use pipelines::job::{self, Job, Run, SourceRange, Table};

/// A kernel, an open backend and sources, for programs that ask for sums at few targets at a time.
///
/// Engines are built, devices opened and sources encoded once:
///
/// ```
/// use pairforge::kernel::{self, Backend, Records};
///
/// let kernel = kernel::shipped("gravity").expect("it is shipped").with_param("eps2", 0.01);
/// let mut session = kernel.open(&Backend::Emulator)?;
/// let x = [[0.0, 0.0, 0.0], [0.25, 0.0, 0.0]];
/// session.set_sources(&Records::new().vectors("xj", &x).column("mj", &[1.0, 2.0]))?;
/// for at in &x {
///     let sums = session.run(&Records::new().vectors("xi", std::slice::from_ref(at)))?;
///     assert!(sums.column("phi")[0] < 0.0);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session {
    kernel: Kernel,
    backend: Box<dyn job::Backend>,
    sources: Table,
}

impl Session {
    pub(super) fn new(kernel: &Kernel, backend: &Backend, options: &BackendOptions) -> Result<Session, RunError> {
        let name = backend.name();
        let (entry, place) = backends::find(&name)?;
        let backend = (entry.open)(&BackendOptions { place: place.to_string(), ..options.clone() });
        Ok(Session { kernel: kernel.clone(), backend, sources: Table::default() })
    }

    /// The kernel, with the values of its parameters.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Builds or finds what the kernel runs on, which else the first run does, so that a missing tool or device is known now.
    pub fn prepare(&mut self) -> Result<(), RunError> {
        /// As many as make a simulation worth compiling to run fast.
        const PAIRS: u64 = 1 << 24;
        Ok(self.backend.prepare(&self.kernel.graph, PAIRS)?)
    }

    /// Takes other sources, for all runs until the next ones.
    pub fn set_sources(&mut self, j: &Records) -> Result<(), RunError> {
        self.sources = table(&self.kernel.graph, PinClass::Jpin, j, &|format| self.backend.held(format))?;
        Ok(())
    }

    /// Gives a parameter a value; of a vector each element has one, as in `a[0]`.
    pub fn set_param(&mut self, name: &str, value: f64) {
        self.kernel.set_param(name, value);
    }

    /// Sums over all sources at some targets.
    pub fn run(&mut self, i: &Records) -> Result<Sums, RunError> {
        self.run_with(i, &mut |_| {})
    }

    /// The same; `progress` is called now and then with the number of finished targets.
    pub fn run_with(&mut self, i: &Records, progress: &mut dyn FnMut(usize)) -> Result<Sums, RunError> {
        let graph = &self.kernel.graph;
        let targets = table(graph, PinClass::Ipin, i, &|format| self.backend.held(format))?;
        let given = self.kernel.params.iter();
        let given = given.fold(Records::new(), |all, (name, value)| all.column(name, std::slice::from_ref(value)));
        let params = table(graph, PinClass::Param, &given, &|format| self.backend.held(format))?;
        let job = Job {
            graph,
            targets: &targets,
            sources: &self.sources,
            params: &params.bits,
            runs: &[Run { first: 0, count: targets.len(), segments: 0..1 }],
            segments: &[SourceRange { first: 0, count: self.sources.len() }],
        };
        let outcome = self.backend.run(&job, progress)?;
        Ok(decoded(graph, outcome, &|format| self.backend.held(format)))
    }
}
