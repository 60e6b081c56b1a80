//! Kernels of PG2: compiled from text, run on any backend, and built as Verilog.
//!
//! ```
//! use pairforge::kernel::{self, Backend, Records};
//!
//! let kernel = kernel::compile(
//!     "fixed32.31 xi[3] ipin;
//!      fixed32.31 xj[3] jpin;
//!      float25.16 mj jpin;
//!      fixed64.30 pout fout;
//!      d = (float25.16)(xj - xi);
//!      pout += (fixed64.30)(mj * pg_pow(d * d, -1, 2));",
//! )?;
//! let (x, mass) = ([[0.0, 0.0, 0.0], [0.25, 0.0, 0.0]], [1.0, 2.0]);
//! let i = Records::new().vectors("xi", &x);
//! let j = Records::new().vectors("xj", &x).column("mj", &mass);
//! let sums = kernel.run(&i, &j, Backend::Emulator)?;
//! assert_eq!(sums.column("pout"), [8.0, 4.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod csv;
pub mod design;
pub mod explore;
pub mod fit;
pub mod parts;
pub mod raised;
mod records;
pub mod schedule;
mod session;

pub use design::{BuildError, Design, Engine};
pub use hdl::Flags;
pub use pg2::diag::{Diagnostic, Severity};
pub use pg2::syntax::sources::Sources;
pub use records::{Records, RunError, Sums};
pub use session::Session;

use crate::backends::{self, BackendOptions};
use pg2::graph::Graph;
use std::fmt;
use std::str::FromStr;

/// A compiled kernel. It can be shared among threads and run from several of them at once.
#[derive(Clone)]
pub struct Kernel {
    graph: Graph,
    sources: Sources,
    warnings: Vec<Diagnostic>,
    params: Vec<(String, f64)>,
}

/// Errors of a text that is no kernel: all of them, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// Spans are places in `text`, in bytes.
    pub diagnostics: Vec<Diagnostic>,
    pub text: String,
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (k, one) in self.diagnostics.iter().enumerate() {
            let before = &self.text[..one.span().start.min(self.text.len())];
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            let separator = if k > 0 { "\n" } else { "" };
            write!(f, "{separator}{line}:{column}: {} [{}]", one.message, one.code)?;
            one.help.iter().try_for_each(|help| write!(f, "; {help}"))?;
        }
        Ok(())
    }
}

impl std::error::Error for CompileError {}

/// Where a kernel runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Real-arithmetic semantics in f64 on all cores: the kernel with floats wide enough, and no rounding to its formats.
    Cpu,
    /// The bits and flags of the pipeline, in vector code.
    Emulator,
    /// The engine's Verilog, clock by clock, by Verilator.
    Cycle,
    /// As [`Backend::Cpu`], on an NVIDIA GPU.
    Cuda,
    /// The bits and flags of the pipeline, on an NVIDIA GPU.
    CudaExact,
    /// A board at a serial port or a network address.
    Board(String),
}

impl Backend {
    /// The name on the command line.
    pub fn name(&self) -> String {
        match self {
            Backend::Cpu => "cpu".into(),
            Backend::Emulator => "emulator".into(),
            Backend::Cycle => "cycle".into(),
            Backend::Cuda => "cuda".into(),
            Backend::CudaExact => "cuda-exact".into(),
            Backend::Board(place) => format!("board:{place}"),
        }
    }
}

/// From the name on the command line.
impl FromStr for Backend {
    type Err = RunError;

    fn from_str(name: &str) -> Result<Backend, RunError> {
        let (_, place) = backends::find(name)?;
        let all = [Backend::Cpu, Backend::Emulator, Backend::Cycle, Backend::Cuda, Backend::CudaExact];
        let known = all.into_iter().find(|backend| backend.name() == name);
        Ok(known.unwrap_or_else(|| Backend::Board(place.to_string())))
    }
}

/// Compiles the text of a kernel, which includes no files.
pub fn compile(text: &str) -> Result<Kernel, CompileError> {
    compile_named("kernel", text)
}

/// The same with a name, which the Verilog modules take; characters that no identifier has become `_`.
pub fn compile_named(name: &str, text: &str) -> Result<Kernel, CompileError> {
    compile_sources(name, Sources::alone(name, text))
}

/// The same with the files that it includes.
pub fn compile_sources(name: &str, sources: Sources) -> Result<Kernel, CompileError> {
    match pg2::compile_sources(name, &sources) {
        Ok(compiled) => Ok(Kernel { graph: compiled.graph, sources, warnings: compiled.warnings, params: Vec::new() }),
        Err(diagnostics) => Err(CompileError { diagnostics, text: sources.text().to_string() }),
    }
}

/// A kernel that is shipped, such as `p2p`; none if there is none of that name.
pub fn shipped(name: &str) -> Option<Kernel> {
    let kernel = pg2::kernels::find(name)?;
    Some(compile_named(name, kernel.text).expect("shipped kernels compile"))
}

/// The names of all shipped kernels.
pub fn all_shipped() -> impl Iterator<Item = &'static str> {
    pg2::kernels::all().map(|kernel| kernel.0)
}

impl Kernel {
    /// A kernel that was compiled by [`pg2`](https://docs.rs/pairforge-pg2) itself.
    pub fn of_graph(graph: Graph) -> Kernel {
        let sources = Sources::alone(&graph.name, "");
        Kernel { graph, sources, warnings: Vec::new(), params: Vec::new() }
    }

    pub fn name(&self) -> &str {
        &self.graph.name
    }

    /// The compiler's warnings.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Its text and the files that it includes.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The graph of typed operators between pins and outputs.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The same kernel with a value for a parameter; of a vector each element has one, as in `a[0]`.
    pub fn with_param(mut self, name: &str, value: f64) -> Kernel {
        self.set_param(name, value);
        self
    }

    fn set_param(&mut self, name: &str, value: f64) {
        self.params.retain(|(known, _)| known != name);
        self.params.push((name.to_string(), value));
    }

    /// The values that parameters were given.
    pub fn params(&self) -> &[(String, f64)] {
        &self.params
    }

    /// Sums over all sources at every target, on an engine of the usual size where there is one.
    pub fn run(&self, i: &Records, j: &Records, backend: Backend) -> Result<Sums, RunError> {
        self.run_with(i, j, backend, &BackendOptions::default(), &mut |_| {})
    }

    /// The same with options for the engine; `progress` is called now and then with the number of finished targets.
    pub fn run_with(
        &self,
        i: &Records,
        j: &Records,
        backend: Backend,
        options: &BackendOptions,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Sums, RunError> {
        let mut session = self.open_with(&backend, options)?;
        session.set_sources(j)?;
        session.run_with(i, progress)
    }

    /// Opens a backend for many runs.
    pub fn open(&self, backend: &Backend) -> Result<Session, RunError> {
        self.open_with(backend, &BackendOptions::default())
    }

    /// The same with options for the engine.
    pub fn open_with(&self, backend: &Backend, options: &BackendOptions) -> Result<Session, RunError> {
        Session::new(self, backend, options)
    }

    /// An engine of pipelines as synthesisable Verilog-2005.
    pub fn build(&self, engine: &Engine) -> Result<Design, BuildError> {
        design::build(&self.graph, &self.sources, engine)
    }
}
