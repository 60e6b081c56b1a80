//! From text to Verilog in one call.

use crate::backend::folded::lower_folded;
use crate::backend::lower::{Memories, lower_with};
use crate::diag::Diagnostic;
use crate::graph::{Graph, bins};
use crate::middle::bins::gathered;
use crate::middle::budget::budget;
use crate::middle::fold::{Folded, fold};
use crate::middle::gather::gather;
use crate::middle::library::Library;
use crate::middle::merge::{Merged, merge};
use crate::middle::schedule::{Schedule, asap, least_with_bound};
use crate::middle::simplify::simplify;
use crate::syntax::sources::Text;
use hdl::circuit::target::Clock;
use hdl::engine::Layout;
use hdl::rtl::netlist::Netlist;
use std::sync::Arc;

/// A kernel in every form that the compiler gives it.
pub struct Built {
    /// What the pipeline computes, simplified: [`Built::kernel`], or the part of it that stands behind filters. Schedule and library
    /// are of its nodes.
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
    /// How it is folded, where a pair comes every several clocks.
    pub folded: Option<Folded>,
    /// Where filters stand in front: all else is of the part behind them.
    pub filter: Option<Box<Filter>>,
}

/// What stands in front of a pipeline behind filters.
pub struct Filter {
    /// The test's pipeline.
    pub test: Built,
    /// The kernel as a whole, simplified, whose records come to the lane.
    pub kernel: Graph,
}

impl Built {
    /// The kernel, simplified.
    pub fn kernel(&self) -> &Graph {
        self.filter.as_ref().map_or(&self.graph, |filter| &filter.kernel)
    }

    /// The layout of its records.
    pub fn layout(&self) -> Layout {
        self.kernel().layout()
    }

    /// Clocks from one pair to the next.
    pub fn ii(&self) -> u32 {
        self.folded.as_ref().map_or(1, |f| f.ii)
    }

    /// Cycles from a pair's entry to its value, those apart that it waits for behind a filter.
    pub fn latency(&self) -> u32 {
        self.schedule.depth + self.filter.as_ref().map_or(0, |f| f.test.schedule.depth)
    }

    /// The longest time between two registers of a lane in ns, the flip-flop's own not counted: of the pipeline, or of the
    /// accumulators behind it.
    pub fn longest(&self) -> f64 {
        self.sums().into_iter().map(|(_, ns)| ns).fold(self.worst, f64::max)
    }

    /// The accumulators behind the pipeline: of each its output's column, and the longest time between two of its registers in ns.
    pub fn sums(&self) -> Vec<(String, f64)> {
        let chains = self.netlist.module(&self.netlist.top).map(|top| top.chains).unwrap_or_default();
        let layout = self.layout();
        let apart = self.folded.as_ref().is_some_and(|f| f.slices.is_some());
        let own = layout.outputs.iter().enumerate().filter(|(k, _)| !apart && !layout.in_memory(*k as u32));
        own.map(|(_, output)| (output.0.clone(), chains.longest(output.1, output.2))).collect()
    }

    /// All register bits of the pipeline, what waits in memory included: what [`Built::bound_bits`] bounds.
    pub fn register_bits(&self) -> u64 {
        self.schedule.register_bits() + self.flag_bits + self.memory_bits
    }

    /// The pipeline with a plain port for each output, also where sums take theirs in another form.
    pub fn plain(&self) -> Netlist {
        hdl::engine::plain_pipeline(&self.layout(), &self.netlist)
    }
}

/// Compiles the text of a kernel down to its pipeline. The errors are all that the text has.
pub fn compile_to_netlist(name: &str, text: &str, clock: Clock) -> Result<Built, Vec<Diagnostic>> {
    let compiled = crate::compile(name, text)?;
    Ok(build(&compiled.graph, clock, text, compiled.warnings))
}

/// The same from a graph that may not be simplified yet; `text` is what comments quote, or empty.
///
/// The passes in order, each with a form of its own: the simplified [`Graph`], the [`Budget`](crate::middle::budget::Budget) of multipliers, the [`Library`] of
/// the operators' hardware, and then either the [`Merged`] circuit of the whole kernel, or, where that is too large, a
/// [`Schedule`] of the operators, the [gathering](crate::middle::gather::Gather) of the flags, and the netlist of both. Each form has `verify` and a text.
pub fn build<'a>(graph: &Graph, clock: Clock, text: impl Into<Text<'a>>, warnings: Vec<Diagnostic>) -> Built {
    let text = text.into();
    let graph = simplify(&gathered(graph));
    sound("graph", graph.verify());
    let budget = budget(&graph, clock);
    sound("budget", budget.verify(&graph));
    let library = Library::within(&graph, &budget);
    let pipeline = match merge(&graph, &budget, text) {
        Some(merged) => whole(merged),
        None => apart(&graph, &library, text),
    };
    sound("schedule", pipeline.schedule.verify(&graph));
    let Pipeline { mut netlist, schedule, merged, flag_bits, memory_bits, early_bits, bound_bits, worst } = pipeline;
    netlist.prefix(&graph.name);
    sums_in_memory(&mut netlist, &graph);
    let folded = None;
    Built {
        graph,
        schedule,
        merged,
        flag_bits,
        memory_bits,
        early_bits,
        bound_bits,
        worst,
        library,
        netlist,
        warnings,
        folded,
        filter: None,
    }
}

/// The same as a pipeline that takes a pair every `ii` clocks, 1 to [`crate::middle::fold::MOST`]; with 1 it is [`build`]. Bits and
/// flags are the same.
pub fn build_folded<'a>(
    graph: &Graph,
    (clock, ii): (Clock, u32),
    text: impl Into<Text<'a>>,
    warnings: Vec<Diagnostic>,
) -> Built {
    if ii == 1 {
        return build(graph, clock, text, warnings);
    }
    let graph = simplify(&gathered(graph));
    sound("graph", graph.verify());
    let folded = fold(&graph, clock, ii);
    sound("modulo schedule", folded.check(&graph));
    let schedule = folded.schedule(&graph);
    sound("schedule", schedule.verify(&graph));
    let flag_bits = folded.flag_bits();
    let bits = schedule.register_bits() + flag_bits;
    let mut netlist = lower_folded(&graph, &folded, text.into());
    netlist.prefix(&graph.name);
    sums_in_memory(&mut netlist, &graph);
    Built {
        netlist,
        merged: false,
        flag_bits,
        memory_bits: folded.ring_words_bits(),
        early_bits: bits,
        bound_bits: bits,
        worst: folded.library.modules.iter().map(|m| m.worst).fold(0.0, f64::max),
        library: folded.library.clone(),
        schedule,
        graph,
        warnings,
        folded: Some(folded),
        filter: None,
    }
}

/// Says of the pipeline which of its outputs stand for sums in memory.
fn sums_in_memory(netlist: &mut Netlist, graph: &Graph) {
    let bins = bins::layout(graph);
    let top = netlist.top.clone();
    if let Some(module) = netlist.modules.iter_mut().find(|m| !bins.is_empty() && m.name == top) {
        Arc::make_mut(module).bins = bins;
    }
}

/// The results of both ways to a pipeline; see [`Built`].
struct Pipeline {
    netlist: Netlist,
    schedule: Schedule,
    merged: bool,
    flag_bits: u64,
    memory_bits: u64,
    early_bits: u64,
    bound_bits: u64,
    worst: f64,
}

/// The kernel as one circuit.
fn whole(merged: Merged) -> Pipeline {
    let Merged { netlist, schedule, flag_bits, pipelined } = merged;
    Pipeline {
        netlist,
        schedule,
        merged: true,
        flag_bits,
        memory_bits: pipelined.memory_bits,
        early_bits: pipelined.early,
        bound_bits: pipelined.bound,
        worst: pipelined.worst,
    }
}

/// The kernel operator by operator.
fn apart(graph: &Graph, library: &Library, text: Text) -> Pipeline {
    let early: u64 = asap(graph, library).delay_bits.iter().sum();
    let (mut schedule, bound) = least_with_bound(graph, library);
    let flags = gather(graph, &schedule, library.clock);
    sound("gathering of flags", flags.verify(graph, &schedule));
    let flag_bits = flags.steps.len() as u64;
    let others = schedule.operator_bits.iter().sum::<u64>() + flag_bits;
    let netlist = lower_with(graph, &schedule, library, &flags, text);
    // What waits in memory does not wait in registers.
    let stored = Memories::plan(graph, &schedule, library.clock.target).bits(graph.nodes.len());
    schedule.delay_bits.iter_mut().zip(&stored).for_each(|(bits, stored)| *bits -= stored);
    Pipeline {
        netlist,
        schedule,
        merged: false,
        flag_bits,
        memory_bits: stored.iter().sum(),
        early_bits: others + early,
        bound_bits: others + bound,
        worst: library.modules.iter().map(|m| m.worst).fold(0.0, f64::max),
    }
}

/// A form that does not hold together is a fault of the pass that made it.
fn sound(form: &str, verified: Result<(), String>) {
    if let Err(why) = verified {
        panic!("the compiler's {form} verifies: {why}");
    }
}
