//! `pairforge run --predict PLACE`: the clocks and seconds of a run on a board, or in an engine alone, without computing it.

use crate::cmd::board::find;
use hdl::board::{Board, gigabit};
use hdl::circuit::target::{Clock, target};
use hdl::engine::Config;
use hdl::serial::kernel_hash;
use pairforge::backends::BackendOptions;
use pairforge::fmm::predict::machine::Link;
use pairforge::kernel::fit::Share;
use pg2::backend::build::build_folded;
use pg2::backend::filtered::build_filtered;
use pg2::graph::Graph;
use pipelines::backends::config;
use pipelines::job::{Backend, Outcome};
use pipelines::predict::{Line, LinkUse, backend};
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};
use terminal::failure::Failure;

/// The name of an engine whose streams never wait.
pub const ENGINE: &str = "engine";
/// The backend of a prediction, in its statistics.
pub const BACKEND: &str = "predicted";

#[derive(clap::Args)]
pub struct PredictArgs {
    /// Compute nothing, and predict clocks and seconds: on a board (see `pairforge list boards`, or the folder of one of your own), or for
    /// `engine`, whose streams never wait
    ///
    /// Pairs that pass filters are counted. With --json, the statistics are those of the prediction.
    #[arg(long, value_name = "BOARD", conflicts_with_all = ["backend", "output", "flags", "profile", "trace", "report"])]
    predict: Option<String>,
}

/// The place of a prediction, and its clock.
#[derive(Clone, Serialize)]
pub struct Place {
    pub name: String,
    pub clock_mhz: f64,
}

/// A model in the place of a backend.
pub struct Model {
    pub place: Place,
    pub backend: Box<dyn Backend>,
    seen: Arc<Mutex<LinkUse>>,
}

/// The refusal of a name, which may have been meant as an engine alone.
fn with_engine(failure: Failure) -> Failure {
    match failure {
        Failure::Usage(text) => Failure::Usage(format!("{text}; or `{ENGINE}`, for one whose streams never wait")),
        other => other,
    }
}

impl PredictArgs {
    pub fn is_given(&self) -> bool {
        self.predict.is_some()
    }

    /// The model that was asked for, of an engine that options describe.
    pub fn model(&self, graph: &Graph, options: &BackendOptions) -> Result<Option<Model>, Failure> {
        let Some(name) = &self.predict else { return Ok(None) };
        let at = match &name[..] {
            ENGINE => None,
            name => Some(find(name).map_err(with_engine)?),
        };
        let (clock, link) = match at {
            None => (options.clock, Link { line: Line::Dma(f64::MAX), turnaround_ms: 0.0 }),
            Some(board) => on_board(board)?,
        };
        let built = match options.filters {
            0 => build_folded(graph, (clock, options.ii), "", Vec::new()),
            _ => build_filtered(graph, clock, "", Vec::new()).map_err(Failure::Input)?,
        };
        let config = Config { ii: options.ii, ..config(built.kernel(), options, built.schedule.depth)? };
        let records = at.map(|board| Share::of(Some(board.device), 1).records(&config.layout, clock.target));
        let config = Config { jmem_records: records.unwrap_or(config.jmem_records), ..config };
        config.verify().map_err(Failure::Input)?;
        let seen = Arc::default();
        let hash = kernel_hash(&graph.canonical());
        let backend = backend(link.setup(clock.mhz), vec![(config, hash)], Arc::clone(&seen));
        let place = Place { name: name.clone(), clock_mhz: clock.mhz };
        Ok(Some(Model { place, backend: Box::new(backend), seen }))
    }
}

/// The clock and the link of a board, over Ethernet where it has that.
fn on_board(board: &'static Board) -> Result<(Clock, Link), Failure> {
    let target = target(board.device.target).expect("every board's device names a target");
    let (mhz, link) = match board.ethernet {
        Some(_) => {
            let clocks = gigabit::clocks(board, board.usual_mhz).map_err(Failure::Input)?;
            (clocks.mhz, Link::GIGABIT)
        }
        None => {
            let (_, mhz) = board.pll.source(board.oscillator_mhz, board.usual_mhz).map_err(Failure::Input)?;
            (mhz, Link::serial(board.baud))
        }
    };
    Ok((Clock { target, mhz, blocks: None }, link))
}

impl Model {
    /// Seconds of the run: on a board from the first byte on the link on, else of the clocks that the engine counts.
    pub fn seconds(&self, outcome: &Outcome) -> f64 {
        let counted = outcome.cycles.unwrap_or(0) as f64 / (self.place.clock_mhz * 1e6);
        match self.place.name == ENGINE {
            true => counted,
            false => self.seen.lock().unwrap_or_else(PoisonError::into_inner).seconds,
        }
    }

    /// The prediction in words.
    pub fn text(&self, outcome: &Outcome) -> String {
        let Place { name, clock_mhz } = &self.place;
        let (clocks, seconds) = (outcome.cycles.unwrap_or(0), self.seconds(outcome));
        let part =
            |what: &str, busy: Option<f64>| busy.map_or(String::new(), |busy| format!(", {what} {busy:.3} busy"));
        let lanes = if outcome.filtered.is_some() { "filters" } else { "pipelines" };
        format!(
            "predicted for {name} at {clock_mhz} MHz: {clocks} clocks, {seconds:.6} s{}{}\n",
            part("pipelines", outcome.busy()),
            part(lanes, outcome.utilisation())
        )
    }
}
