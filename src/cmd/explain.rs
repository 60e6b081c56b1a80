//! `pairforge explain`: the schedule of a kernel, as a table that can be checked by hand.

use super::build::ClockArgs;
use crate::failure::Failure;
use crate::source;

#[derive(clap::Args)]
pub struct Args {
    /// A PG2 file, or the name of a shipped kernel
    file: String,
    #[command(flatten)]
    clock: ClockArgs,
}

/// Prints the table.
pub fn run(args: Args) -> Result<(), Failure> {
    let clock = args.clock.clock()?;
    let kernel = source::read(&args.file)?;
    let graph = source::compile(&kernel)?;
    let built = pg2::build::build(&graph, clock, &kernel.text, Vec::new());
    print!("{}", pg2::explain::explain(&built, &kernel.text));
    Ok(())
}
