//! The `pairforge` command line: one file a subcommand, and the only place that prints.

mod chart;
mod cmd;
mod csv;
mod declared;
mod failure;
mod files;
mod include;
mod input;
mod launch;
mod manifest;
mod memory;
mod output;
mod progress;
mod source;
mod tables;

use clap::{CommandFactory, FromArgMatches, Parser};
use cmd::ErrorReporter;
use failure::Failure;
use launch::Refusal;
use std::process::ExitCode;

/// Compiles pairwise functions into pipelined Verilog and runs the Fast Multipole Method with them.
#[derive(Parser)]
#[command(name = "pairforge", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: cmd::Command,
}

#[global_allocator]
static ALLOCATOR: memory::Allocator = memory::Allocator;

fn main() -> ExitCode {
    memory::keep_freed();
    restore_signals();
    #[cfg(unix)]
    output::remove_when_interrupted();
    match launch::refused(std::env::args_os().skip(1)) {
        None => {}
        Some(Refusal::Told(failure)) => return report(failure),
        Some(Refusal::Silent) => return ExitCode::SUCCESS,
    }
    let cli = match parse() {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version are no mistakes: clap sends them to stdout and gives 0.
            let code = if e.use_stderr() { 2 } else { 0 };
            let text = e.render().to_string();
            if e.use_stderr() {
                match cmd::error_reporter() {
                    ErrorReporter::Own => {}
                    ErrorReporter::Other => return ExitCode::SUCCESS,
                    ErrorReporter::Instead(failure) => return report(failure),
                }
            }
            match failure::safe(&text) {
                // With the colours of a terminal.
                safe if safe == text => drop(e.print()),
                safe => output::tell(&safe),
            }
            return ExitCode::from(code);
        }
    };
    tables::keep();
    match cmd::dispatch(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(failure),
    }
}

/// The command line's options, each of which takes a value like `-1` as a number, so that a wrong one is refused by name.
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
    with_negative_numbers(Cli::command())
}

fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let takes = |arg: clap::Arg| match arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    command.mut_args(takes).mut_subcommands(with_negative_numbers)
}

/// Prints what went wrong and gives the exit status that docs/reference/conventions.md names.
fn report(failure: Failure) -> ExitCode {
    output::tell(&(failure.text() + "\n"));
    ExitCode::from(failure.code())
}

/// A closed pipe ends the program quietly, as it does other filters, instead of making a print fail; a file that may not grow
/// makes a write fail, instead of ending the program.
fn restore_signals() {
    #[cfg(unix)]
    // SAFETY: setting a signal's disposition before any thread is started has no precondition.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}
