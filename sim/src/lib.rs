//! Running a kernel without a board.
//!
//! [`reference`](mod@reference) evaluates a graph pair by pair through each operator's `bits`: the reference interpreter.
//! [`emulator`] does the same for blocks of pairs in vector code, and [`emulator::engine`] is an engine made of it that
//! speaks the wire format. The Verilog runs through [`verilator`], which compiles it to a shared library kept in the
//! [`cache`]: single modules against vectors in [`mod@bench`], whole engines clock by clock in [`cycle`], boards at their pins in
//! [`board`]. [`wave`] draws how an engine begins. [`process`] lets programs end with this one, and [`ask`] has short
//! answers of them.
//!
//! ```
//! let text = "int32 x ipin; int32 y jpin; int64 s fout; d = x - y; s += d * d;";
//! let graph = pg2::compile("squares", text).expect("it has no mistakes").graph;
//! // A target over three sources: numbers are bit patterns, a record of them for each source.
//! let (sums, flags) = pairforge_sim::reference::target(&graph, &[10], &[vec![8], vec![10], vec![13]], &[]);
//! assert_eq!((sums, flags), (vec![4 + 9], hdl::Flags::NONE));
//! ```

#[cfg(feature = "simulate")]
pub mod ask;
#[cfg(feature = "simulate")]
pub mod bench;
#[cfg(feature = "simulate")]
pub mod board;
#[cfg_attr(target_family = "wasm", path = "cache/none.rs")]
pub mod cache;
#[cfg(feature = "simulate")]
pub mod cycle;
pub mod emulator;
mod error;
#[cfg(any(feature = "simulate", unix))]
pub mod process;
pub mod reference;
pub mod stimuli;
#[cfg(feature = "simulate")]
pub mod testbench;
#[cfg(feature = "simulate")]
pub mod verilator;
#[cfg(feature = "simulate")]
pub mod wave;

pub use error::SimError;
