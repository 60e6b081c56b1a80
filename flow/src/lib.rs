//! From Verilog to a bitstream: finds and runs the synthesis tools, keeps their logs, and reads area and timing out of
//! them.
//!
//! A [`SynthesisJob`] names a design and where it is to go: a family of which only the area is wanted, a device, or a board.
//! [`synthesise`] runs yosys, nextpnr and the family's packer in the job's folder and gives a [`SynthesisOutcome`], whose numbers
//! are [`Area`] and [`Timing`]. [`summary::Summary`] is what is kept of it for other programs (`synth.json`), and
//! [`report::page`] what people read. [`Family`] holds all that is known of a family's tools: the commands, what each kind
//! of cell costs, the packer.
//!
//! Nothing here prints. A tool that is absent is an error that says how to install it, and a warning of a tool that is
//! known to go with a wrong circuit is an error too ([`refuse`]).
//!
//! ```
//! use pairforge_flow::{FlowError, Goal, Tools, family};
//!
//! let board = hdl::board::board("ulx3s").expect("it is known");
//! let goal = Goal::Board(board);
//! let family = family::family(goal.target()).expect("its family has tools");
//! assert!(family.target == "ecp5" && family.route.is_some());
//! // Where a tool is not found, the error says what to install.
//! let nowhere = Tools::at(Vec::new(), "no_such_folder".into());
//! assert!(matches!(nowhere.find(&pairforge_flow::tools::YOSYS), Err(FlowError::ToolMissing { .. })));
//! ```

mod absorb;
pub mod area;
mod carries;
pub mod core;
mod elements;
mod error;
pub mod family;
pub mod fits;
pub mod floor;
pub mod names;
mod packing;
pub mod prove;
pub mod refuse;
pub mod report;
mod run;
pub mod summary;
mod synthesise;
pub mod timing;
pub mod tools;
pub mod wrapper;
mod yosys;

pub use area::Area;
pub use error::FlowError;
pub use family::Family;
pub use fits::{Fits, GroupSample};
pub use run::Step;
pub use synthesise::{Goal, SynthesisJob, SynthesisOutcome, synthesise};
pub use timing::Timing;
pub use tools::Tools;
