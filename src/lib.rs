//! The `pairforge` command line: one file a subcommand, and the only place that prints. The program starts it, and so does the Python package.

mod cmd;
mod manifest;

use clap::{CommandFactory, FromArgMatches, Parser};
use cmd::ErrorReporter;
use std::ffi::OsString;
use terminal::launch::{self, Refusal};
use terminal::{program, progress, tables};

/// Compiles pairwise functions into pipelined Verilog and runs the Fast Multipole Method with them.
#[derive(Parser)]
#[command(name = cmd::PROGRAM, version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: cmd::Command,
}

/// The commands that run on ranks; the last one says itself which of its benchmarks do.
const ON_RANKS: [&str; 2] = ["fmm", "bench"];

/// Runs the command line of these words, the first of which is the program's name, and gives the exit status. The process is for that
/// alone: it takes over signals and memory.
pub fn run(words: Vec<OsString>) -> u8 {
    program::begin(words);
    match launch::refused(program::words().skip(1), &ON_RANKS) {
        None => {}
        Some(Refusal::Told(failure)) => return program::end(Err(failure)),
        Some(Refusal::Silent) => return 0,
    }
    let cli = match parse() {
        Ok(cli) => cli,
        Err(e) if e.use_stderr() => match cmd::error_reporter() {
            ErrorReporter::Own => return program::explain(&e),
            ErrorReporter::Other => return 0,
            ErrorReporter::Instead(failure) => return program::end(Err(failure)),
        },
        Err(e) => return program::explain(&e),
    };
    tables::keep();
    program::end(cmd::dispatch(cli.command))
}

/// The command line's options.
fn parse() -> Result<Cli, clap::Error> {
    let asks_for_help = |word: OsString| word == "-h" || word == "--help" || word == "help";
    let mut command = command();
    if program::words().any(asks_for_help) {
        command = command.mut_subcommands(cmd::dressed);
    }
    let mut matches = command.try_get_matches_from_mut(program::words())?;
    if cmd::is_quiet(&matches) {
        progress::silence();
    }
    Cli::from_arg_matches_mut(&mut matches).map_err(|e| e.format(&mut command))
}

fn command() -> clap::Command {
    program::with_negative_numbers(Cli::command()).mut_subcommands(cmd::with_quiet)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_commands_that_run_on_ranks_exist() {
        let commands = crate::command();
        assert!(super::ON_RANKS.iter().all(|name| commands.find_subcommand(name).is_some()));
    }
}
