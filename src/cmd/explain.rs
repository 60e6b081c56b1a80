//! `pairforge explain`: the schedule of a kernel, as a table that can be checked by hand.

use super::build::ClockArgs;
use crate::failure::Failure;
use crate::{output, source};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// A PG2 file, or the name of a shipped kernel
    file: String,
    /// Draw the pipeline: operators by cycle, delays as lines as thick as their bits
    #[arg(long, value_name = "OUT")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    clock: ClockArgs,
}

/// Prints the table, and draws the picture if one was asked for.
pub fn run(args: Args) -> Result<(), Failure> {
    let clock = args.clock.clock()?;
    let kernel = source::read(&args.file)?;
    let graph = source::compile(&kernel)?;
    let built = pg2::build::build(&graph, clock, &kernel.text, Vec::new());
    if let Some(path) = &args.svg {
        output::write_text(path, &pg2::explain::svg(&built))?;
    }
    print!("{}", pg2::explain::explain(&built, &kernel.text));
    Ok(())
}
