//! The backend `emulator`: an engine whose pipelines are emulated bit by bit.

use super::{BackendOptions, Entry, Needs, config};
use crate::driver::StreamBackend;
use crate::job::{Backend, BackendError};
use hdl::engine::link::Link;
use pg2::backend::filtered::possible;
use pg2::graph::Graph;
use pg2::middle::coarse::reaching;
use pg2::middle::simplify::simplify;
use sim::emulator::engine::EmulatedEngine;

pub const ENTRY: Entry = Entry {
    name: "emulator",
    place: None,
    summary: "every operator bit-exact, in vector code on all cores; the default of `run`",
    needs: Needs::Nothing,
    exact: true,
    clocked: false,
    traced: false,
    shaped: true,
    native: false,
    open,
};

fn open(options: &BackendOptions) -> Box<dyn Backend> {
    let options = options.clone();
    let open = move |graph: &Graph, _: u64| -> Result<Box<dyn Link>, BackendError> {
        let graph = match options.filters {
            0 => simplify(graph),
            _ => possible(graph).map_err(BackendError::Unsupported).map(|_| reaching(graph))?,
        };
        let config = config(&graph, &options, 1)?;
        Ok(Box::new(EmulatedEngine::new(&graph, config, options.threads)))
    };
    Box::new(StreamBackend::new(ENTRY.name, Box::new(open), ENTRY.clocked))
}
