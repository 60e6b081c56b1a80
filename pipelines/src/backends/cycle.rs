//! The backend `cycle`: the Verilog of an engine, simulated clock by clock.

use super::{BackendOptions, Entry, Needs, config};
use crate::driver::StreamBackend;
use crate::job::{Backend, BackendError};
use hdl::engine::Config;
use hdl::engine::link::Link;
use pg2::backend::build::build_folded;
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
    native: false,
    open,
};

fn open(options: &BackendOptions) -> Box<dyn Backend> {
    let options = options.clone();
    let open = move |graph: &Graph, pairs: u64| -> Result<Box<dyn Link>, BackendError> {
        let built = build_folded(graph, (options.clock, options.ii), "", Vec::new());
        let config = Config { ii: options.ii, ..config(&built.graph, &options, built.schedule.depth)? };
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
