//! A kernel with a filter (RULES L19) as two pipelines: that of the condition, and that of the rest behind it.

use crate::backend::build::{Built, build};
use crate::diag::Diagnostic;
use crate::graph::Graph;
use crate::middle::bins::gathered;
use crate::middle::filter::{Split, split};
use crate::middle::simplify::simplify;
use crate::syntax::sources::Text;
use hdl::Reduce;
use hdl::circuit::target::Clock;
use hdl::rtl::filtered::{Carried, Filtered};
use hdl::rtl::netlist::Netlist;
use std::sync::Arc;

/// Builds a kernel for an engine with filters: the netlist has both pipelines, the condition's is named in that of the rest. The error
/// says why the kernel cannot have filters.
pub fn build_filtered<'a>(
    graph: &Graph,
    clock: Clock,
    text: impl Into<Text<'a>>,
    warnings: Vec<Diagnostic>,
) -> Result<Built, String> {
    let text = text.into();
    let split = possible(graph, clock)?;
    let named = |part: Graph, name: String| Graph { name, ..part };
    let condition = build(&named(split.filter, format!("{}_filter", graph.name)), clock, text, Vec::new());
    let rest = build(&named(split.rest, graph.name.clone()), clock, text, warnings);
    let filtered = joined(&condition, &rest);
    let netlist = both(&condition.netlist, rest.netlist, filtered);
    let worst = rest.worst.max(condition.worst);
    // The interface is the whole kernel's; schedule and library are those of the pipeline behind the filters.
    let whole = simplify(&gathered(graph));
    Ok(Built {
        graph: Graph { name: graph.name.clone(), ..whole },
        netlist,
        worst,
        filter: Some(Box::new(condition)),
        ..rest
    })
}

/// The parts of a kernel that can have filters. The error says why it cannot.
pub fn possible(graph: &Graph, clock: Clock) -> Result<Split, String> {
    let name = &graph.name;
    let Some(split) = split(graph, clock) else {
        return Err(format!(
            "{name} has no filter: `where (condition);` says which pairs count, and only such a kernel has filters"
        ));
    };
    if graph.outputs.iter().any(|o| matches!(o.reduce, Reduce::Ranked(_))) {
        return Err(format!(
            "{name} has a selection, of which each target keeps its places in registers: filters need sums, `max=` or `min=`"
        ));
    }
    if !split.rest.gathered.is_empty() {
        return Err(format!(
            "{name} has outputs that an index names: filters need sums, `max=` or `min=` of every pair"
        ));
    }
    Ok(split)
}

/// Values that go from the condition to the rest; one that the rest's circuit does not read is left where it is.
fn joined(condition: &Built, rest: &Built) -> Filtered {
    let (outputs, inputs) = (condition.graph.layout().outputs, rest.graph.layout().j);
    let pipeline = rest.netlist.module(&rest.netlist.top).expect("a netlist has its top module");
    let carried =
        outputs[1..].iter().zip(inputs).filter(|(_, (to, _))| pipeline.ports.iter().any(|p| p.name == *to.as_str()));
    let carried = carried.map(|(from, (to, format))| Carried { from: from.0.clone(), to, width: format.width() });
    Filtered {
        condition: condition.netlist.top.clone(),
        latency: condition.schedule.depth,
        pass: outputs[0].0.clone(),
        carried: carried.collect(),
    }
}

/// Both pipelines in one netlist, that of the rest on top.
fn both(condition: &Netlist, mut rest: Netlist, filtered: Filtered) -> Netlist {
    rest.modules.splice(0..0, condition.modules.iter().cloned());
    let top = rest.top.clone();
    if let Some(module) = rest.modules.iter_mut().find(|m| m.name == top) {
        Arc::make_mut(module).filtered = Some(filtered);
    }
    rest
}
