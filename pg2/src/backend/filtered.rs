//! A kernel with a filter (RULES L19) as pipelines: that of the test, and that of the rest behind it.

use crate::backend::build::{Built, Filter, build};
use crate::diag::Diagnostic;
use crate::graph::Graph;
use crate::middle::bins::gathered;
use crate::middle::coarse::reaching;
use crate::middle::filter::{Split, split};
use crate::middle::simplify::simplify;
use crate::syntax::sources::Text;
use hdl::Reduce;
use hdl::circuit::target::Clock;
use hdl::rtl::filtered::{Filtered, Narrowed, Part};
use hdl::rtl::netlist::Netlist;
use std::sync::Arc;

/// Builds a kernel for an engine with filters: the netlist has both pipelines, the test's is named in that of the rest. The error
/// says why the kernel cannot have filters.
pub fn build_filtered<'a>(
    graph: &Graph,
    clock: Clock,
    text: impl Into<Text<'a>>,
    warnings: Vec<Diagnostic>,
) -> Result<Built, String> {
    let text = text.into();
    let graph = &reaching(graph);
    let split = possible(graph)?;
    let own = test_clock(&split, clock);
    let Split { test, narrowed, rest } = split;
    let part = |part: Graph, end: &str| {
        let name = format!("{}_{end}", graph.name);
        build(&Graph { name, ..part }, own, text, Vec::new())
    };
    let test = part(test, "filter");
    let narrowed = narrowed.map(|[targets, sources]| [part(targets, "near_targets"), part(sources, "near_sources")]);
    let rest = build(&Graph { name: graph.name.clone(), ..rest }, clock, text, warnings);
    let filtered = Filtered {
        test: Part { module: test.netlist.top.clone(), latency: test.schedule.depth },
        pass: test.graph.layout().outputs[0].0.clone(),
        narrowed: narrowed.as_ref().map(|[targets, sources]| {
            let latency = targets.schedule.depth;
            assert_eq!(latency, sources.schedule.depth, "targets and sources are narrowed by the same operators");
            Narrowed { targets: targets.netlist.top.clone(), sources: sources.netlist.top.clone(), latency }
        }),
    };
    let parts: Vec<&Built> = narrowed.iter().flatten().chain([&test]).collect();
    let worst = parts.iter().map(|p| p.worst).fold(rest.worst, f64::max);
    let netlist = joined(&parts, rest.netlist, filtered);
    let kernel = Graph { name: graph.name.clone(), ..simplify(&gathered(graph)) };
    Ok(Built { netlist, worst, filter: Some(Box::new(Filter { test, kernel })), ..rest })
}

/// The clock that a test is built for: of the small products of coarse ones there would be more than multipliers.
pub fn test_clock(split: &Split, clock: Clock) -> Clock {
    Clock { blocks: if split.narrowed.is_some() { Some(0) } else { clock.blocks }, ..clock }
}

/// The parts of a kernel that can have filters. The error says why it cannot.
pub fn possible(graph: &Graph) -> Result<Split, String> {
    let name = &graph.name;
    let Some(split) = split(graph) else {
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

/// All pipelines in one netlist, that of the rest on top.
fn joined(parts: &[&Built], mut rest: Netlist, filtered: Filtered) -> Netlist {
    rest.modules.splice(0..0, parts.iter().flat_map(|part| part.netlist.modules.iter().cloned()));
    let top = rest.top.clone();
    if let Some(module) = rest.modules.iter_mut().find(|m| m.name == top) {
        Arc::make_mut(module).filtered = Some(filtered);
    }
    rest
}
