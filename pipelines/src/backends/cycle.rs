//! The backend `cycle`: the Verilog of an engine, simulated clock by clock.

use super::{BackendOptions, Entry, Needs, config};
use crate::driver::StreamBackend;
use crate::job::{Backend, BackendError};
use hdl::engine::Config;
use hdl::engine::link::Link;
use pg2::backend::build::{Built, build_folded};
use pg2::backend::filtered::build_filtered;
use pg2::graph::Graph;
use sim::cycle::{self, CycleEngine};
use sim::verilator::Effort;

pub const ENTRY: Entry = Entry {
    name: "cycle",
    place: None,
    summary: "the generated Verilog, clock by clock, with waveforms by `run --trace W.fst`",
    needs: Needs::Simulator,
    exact: true,
    clocked: true,
    traced: true,
    shaped: true,
    native: false,
    open,
};

fn open(options: &BackendOptions) -> Box<dyn Backend> {
    let options = options.clone();
    let open = move |graph: &Graph, pairs: u64| -> Result<Box<dyn Link>, BackendError> {
        let built = built(graph, &options)?;
        let config = Config { ii: options.ii, ..config(built.kernel(), &options, built.schedule.depth)? };
        config.verify().map_err(BackendError::Unsupported)?;
        let how = cycle::CycleOptions {
            threads: options.threads,
            trace: options.trace.clone(),
            effort: Effort::of_pairs(pairs),
            ..cycle::CycleOptions::default()
        };
        let engine = CycleEngine::build(&config, &built.netlist, &how);
        Ok(Box::new(engine.map_err(|e| BackendError::Tool(e.to_string()))?))
    };
    Box::new(StreamBackend::new(ENTRY.name, Box::new(open), ENTRY.clocked))
}

/// The kernel's pipeline, or both of them where it has filters.
fn built(graph: &Graph, options: &BackendOptions) -> Result<Built, BackendError> {
    match options.filters {
        0 => Ok(build_folded(graph, (options.clock, options.ii), "", Vec::new())),
        _ => build_filtered(graph, options.clock, "", Vec::new()).map_err(BackendError::Unsupported),
    }
}
