//! The options of an engine that kernels of an FMM run on.

use crate::cmd::folding::FoldArgs;
use crate::cmd::lanes::LaneArgs;
use crate::failure::Failure;
use hdl::circuit::target::Clock;
use host::backends::BackendOptions;

#[derive(clap::Args)]
pub struct EngineArgs {
    #[command(flatten)]
    pub lanes: LaneArgs,
    #[command(flatten)]
    pub fold: FoldArgs,
    /// j memory of the engine in 32-bit words [default: 262144; for --predict what `synth` takes]
    #[arg(long, value_name = "WORDS")]
    pub jmem: Option<u32>,
    /// Width of the engine's streams in bits
    #[arg(long, value_name = "BITS", default_value = "32", value_parser = ["32", "64", "128"])]
    pub stream: String,
}

impl EngineArgs {
    /// The engine at a `place` such as a port, simulated by so many threads.
    pub fn options(&self, place: &str, threads: usize) -> Result<BackendOptions, Failure> {
        let (pipelines, groups) = self.lanes.one()?;
        Ok(BackendOptions {
            pipelines,
            groups,
            ii: self.fold.one()?,
            jmem_words: self.jmem.unwrap_or(BackendOptions::default().jmem_words),
            stream_bits: self.stream.parse().unwrap_or(32),
            threads,
            turn: 0,
            trace: None,
            clock: Clock::default_clock(),
            place: place.to_string(),
        })
    }
}
