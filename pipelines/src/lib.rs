//! Pairwise kernels on backends, and as stages of an FMM.
//!
//! The central types are [`job::Job`] (targets, sources, and for each target group the segments of sources that act on it) and
//! [`job::Backend`], which turns a job into results and flags. [`driver`] turns a job into the packets of an engine. [`octree`] and
//! [`plane`] run P2P and M2L of an FMM by kernels on a backend.
//!
//! ```
//! use pairforge_pipelines::backends::{BackendOptions, emulator};
//! use pairforge_pipelines::job::{Job, Run, SourceRange, Table};
//!
//! let text = "int32 xi ipin; int32 xj jpin; int64 sum fout; sum += (int64)((xj - xi) * (xj - xi));";
//! let graph = pg2::compile("squares", text).expect("it is a kernel").graph;
//! // Two targets, and three sources that act on both.
//! let (targets, sources) = (Table { elements: 1, bits: vec![0, 5] }, Table { elements: 1, bits: vec![1, 2, 3] });
//! let (runs, segments) = ([Run { first: 0, count: 2, segments: 0..1 }], [SourceRange { first: 0, count: 3 }]);
//! let job = Job { graph: &graph, targets: &targets, sources: &sources, params: &[], runs: &runs, segments: &segments };
//! let mut backend = (emulator::ENTRY.open)(&BackendOptions::default());
//! assert_eq!(backend.run(&job, &mut |_| {})?.results.bits, [14, 29]);
//! # Ok::<(), pairforge_pipelines::job::BackendError>(())
//! ```

pub mod backends;
pub mod cells;
pub mod driver;
pub mod encode;
pub mod job;
pub mod octree;
pub mod plane;
pub mod predict;
