//! The `pairforge` command line: one file a subcommand, and the only place that prints.

mod cmd;
mod manifest;

use clap::{CommandFactory, FromArgMatches, Parser};
use cmd::ErrorReporter;
use std::process::ExitCode;
use terminal::launch::{self, Refusal};
use terminal::{memory, program, tables};

/// Compiles pairwise functions into pipelined Verilog and runs the Fast Multipole Method with them.
#[derive(Parser)]
#[command(name = "pairforge", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: cmd::Command,
}

/// The commands that run on ranks; the last one says itself which of its benchmarks do.
const ON_RANKS: [&str; 2] = ["fmm", "bench"];

#[global_allocator]
static ALLOCATOR: memory::Allocator = memory::Allocator;

fn main() -> ExitCode {
    program::begin();
    match launch::refused(std::env::args_os().skip(1), &ON_RANKS) {
        None => {}
        Some(Refusal::Told(failure)) => return program::end(Err(failure)),
        Some(Refusal::Silent) => return ExitCode::SUCCESS,
    }
    let cli = match parse() {
        Ok(cli) => cli,
        Err(e) if e.use_stderr() => match cmd::error_reporter() {
            ErrorReporter::Own => return program::explain(&e),
            ErrorReporter::Other => return ExitCode::SUCCESS,
            ErrorReporter::Instead(failure) => return program::end(Err(failure)),
        },
        Err(e) => return program::explain(&e),
    };
    tables::keep();
    program::end(cmd::dispatch(cli.command))
}

/// The command line's options.
fn parse() -> Result<Cli, clap::Error> {
    let asks_for_help = |word: std::ffi::OsString| word == "-h" || word == "--help" || word == "help";
    let mut command = command();
    if std::env::args_os().any(asks_for_help) {
        command = command.mut_subcommands(cmd::dressed);
    }
    let mut matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|e| e.format(&mut command))
}

fn command() -> clap::Command {
    program::with_negative_numbers(Cli::command())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_commands_that_run_on_ranks_exist() {
        let commands = crate::command();
        assert!(super::ON_RANKS.iter().all(|name| commands.find_subcommand(name).is_some()));
    }
}
