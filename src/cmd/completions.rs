//! `pairforge completions`: the command line for a shell, which then completes its words.

use clap_complete::Shell;
use terminal::failure::Failure;
use terminal::output;

#[derive(clap::Args)]
pub struct Args {
    /// Shell that completes
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints a script that the shell reads.
pub fn run(args: Args) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::command(), super::PROGRAM, &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
