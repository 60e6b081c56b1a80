//! From text to Verilog in one call.

use crate::backend::lower::lower_with;
use crate::diag::Diagnostic;
use crate::graph::Graph;
use crate::middle::gather::gather;
use crate::middle::library::Library;
use crate::middle::merge::{Merged, merge};
use crate::middle::schedule::{Schedule, asap, least_with_bound};
use crate::middle::simplify::simplify;
use crate::syntax::sources::Text;
use hdl::circuit::target::Clock;
use hdl::rtl::netlist::Netlist;

/// A kernel in every form that the compiler gives it.
pub struct Built {
    /// Simplified.
    pub graph: Graph,
    pub schedule: Schedule,
    /// Whether the whole kernel was cut into stages as one circuit; else it was scheduled operator by operator.
    pub merged: bool,
    /// Register bits of the flags on their way.
    pub flag_bits: u64,
    /// Bits that wait in memory instead of registers.
    pub memory_bits: u64,
    /// Register bits if everything came as early as possible, to compare with, and the fewest that the solver's dual
    /// allows; in both what waits in memory counts too.
    pub early_bits: u64,
    pub bound_bits: u64,
    /// The longest time between two registers in ns.
    pub worst: f64,
    pub library: Library,
    /// The pipeline and what it is made of; see [`crate::backend::lower`] for its ports.
    pub netlist: Netlist,
    pub warnings: Vec<Diagnostic>,
}

impl Built {
    /// All register bits of the pipeline, what waits in memory included: what [`Built::bound_bits`] bounds.
    pub fn register_bits(&self) -> u64 {
        self.schedule.register_bits() + self.flag_bits + self.memory_bits
    }

    /// The pipeline with a plain port for each output, also where sums take theirs in another form.
    pub fn plain(&self) -> Netlist {
        hdl::engine::plain_pipeline(&self.graph.layout(), &self.netlist)
    }
}

/// Compiles the text of a kernel down to its pipeline. The errors are all that the text has.
pub fn compile_to_netlist(name: &str, text: &str, clock: Clock) -> Result<Built, Vec<Diagnostic>> {
    let compiled = crate::compile(name, text)?;
    Ok(build(&compiled.graph, clock, text, compiled.warnings))
}

/// The same from a graph that may not be simplified yet; `text` is what comments quote, or empty.
pub fn build<'a>(graph: &Graph, clock: Clock, text: impl Into<Text<'a>>, warnings: Vec<Diagnostic>) -> Built {
    let text = text.into();
    let graph = simplify(graph);
    let library = Library::new(&graph, clock);
    if let Some(m) = merge(&graph, clock, text) {
        let (early_bits, bound_bits, worst) = (m.pipelined.early, m.pipelined.bound, m.pipelined.worst);
        let memory_bits = m.pipelined.memory_bits;
        let Merged { netlist, schedule, flag_bits, .. } = m;
        return Built {
            graph,
            schedule,
            merged: true,
            flag_bits,
            memory_bits,
            early_bits,
            bound_bits,
            worst,
            library,
            netlist,
            warnings,
        };
    }
    let delays = |s: &Schedule| s.delay_bits.iter().sum::<u64>();
    let early = delays(&asap(&graph, &library));
    let (schedule, bound) = least_with_bound(&graph, &library);
    let flag_bits = gather(&graph, &schedule, clock).steps.len() as u64;
    let others = schedule.operator_bits.iter().sum::<u64>() + flag_bits;
    let (early_bits, bound_bits) = (others + early, others + bound);
    let worst = library.modules.iter().map(|m| m.worst).fold(0.0, f64::max);
    let netlist = lower_with(&graph, &schedule, &library, text);
    Built {
        graph,
        schedule,
        merged: false,
        flag_bits,
        memory_bits: 0,
        early_bits,
        bound_bits,
        worst,
        library,
        netlist,
        warnings,
    }
}
