//! The options of an engine that kernels of an FMM run on.

use crate::cmd::folding::FoldArgs;
use crate::cmd::lanes::LaneArgs;
use hdl::circuit::target::Clock;
use hdl::engine::usual;
use pairforge::backends::{BACKENDS, BackendOptions, Entry};
use terminal::failure::Failure;

#[derive(clap::Args)]
pub struct EngineArgs {
    #[command(flatten)]
    pub lanes: LaneArgs,
    #[command(flatten)]
    pub fold: FoldArgs,
    /// j memory of the engine in 32-bit words [default: 262144; for --predict what `synth` takes]
    #[arg(long, value_name = "WORDS")]
    pub jmem: Option<u32>,
    /// Width of the engine's streams in bits [default: 32]
    #[arg(long, value_name = "BITS", value_parser = ["32", "64", "128"])]
    stream: Option<String>,
}

impl EngineArgs {
    /// Refuses what a backend has no engine for. A report shows predictions for engines, whatever ran.
    pub fn check(&self, entry: &Entry, has_report: bool) -> Result<(), Failure> {
        self.lanes.one()?;
        self.fold.check(entry)?;
        let given = [
            ("--pipelines", !self.lanes.pipelines.is_empty()),
            ("--groups", self.lanes.groups.are_given()),
            ("--jmem", self.jmem.is_some()),
            ("--stream", self.has_stream()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) if entry.native && !has_report => {
                let engines: Vec<String> = BACKENDS.iter().filter(|b| !b.native).map(Entry::usage).collect();
                Err(Failure::Usage(format!(
                    "{option} is for pipelines, and backend `{}` has none; add --backend {}, or leave {option} out",
                    entry.name,
                    engines.join(" or ")
                )))
            }
            _ => Ok(()),
        }
    }

    /// Whether the width of the streams was given.
    pub fn has_stream(&self) -> bool {
        self.stream.is_some()
    }

    /// Bits of the streams.
    pub fn stream(&self) -> u32 {
        self.stream.as_deref().and_then(|bits| bits.parse().ok()).unwrap_or(usual::STREAM_BITS)
    }

    /// The engine at a `place` such as a port, simulated by so many threads.
    pub fn options(&self, place: &str, threads: usize) -> Result<BackendOptions, Failure> {
        let (pipelines, groups) = self.lanes.one()?;
        Ok(BackendOptions {
            pipelines,
            groups,
            ii: self.fold.one()?,
            filters: 0,
            jmem_words: self.jmem.unwrap_or(BackendOptions::default().jmem_words),
            stream_bits: self.stream(),
            threads,
            turn: 0,
            trace: None,
            clock: Clock::default_clock(),
            place: place.to_string(),
        })
    }
}
