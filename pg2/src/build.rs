//! From text to Verilog in one call.

use crate::diag::Diagnostic;
use crate::graph::Graph;
use crate::library::Library;
use crate::lower::lower_with;
use crate::schedule::{Schedule, asap, schedule_with};
use crate::simplify::simplify;
use hdl::netlist::Netlist;
use hdl::target::Clock;

/// A kernel in every form that the compiler gives it.
pub struct Built {
    /// Simplified.
    pub graph: Graph,
    pub schedule: Schedule,
    /// The schedule that starts everything as early as possible, to compare with.
    pub early: Schedule,
    pub library: Library,
    /// The pipeline and what it is made of; see [`crate::lower`] for its ports.
    pub netlist: Netlist,
    pub warnings: Vec<Diagnostic>,
}

/// Compiles the text of a kernel down to its pipeline. The errors are all that the text has.
pub fn compile_to_netlist(name: &str, text: &str, clock: Clock) -> Result<Built, Vec<Diagnostic>> {
    let compiled = crate::compile(name, text)?;
    Ok(build(&compiled.graph, clock, text, compiled.warnings))
}

/// The same from a graph that may not be simplified yet; `text` is what comments quote, or empty.
pub fn build(graph: &Graph, clock: Clock, text: &str, warnings: Vec<Diagnostic>) -> Built {
    let graph = simplify(graph);
    let library = Library::new(&graph, clock);
    let early = asap(&graph, &library);
    let schedule = schedule_with(&graph, &library);
    let netlist = lower_with(&graph, &schedule, &library, text);
    Built { graph, schedule, early, library, netlist, warnings }
}
