//! The beginning and the end of a program: signals, memory, words that are no command, and the exit status.

use crate::failure::{self, Failure};
use crate::{memory, output};
use pairforge::ranks::mpi;
use std::ffi::OsString;
use std::sync::OnceLock;

/// The words of the command line, the program's name first.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Prepares a process for the command of these words, before it starts a thread.
pub fn begin(words: Vec<OsString>) {
    WORDS.get_or_init(|| words);
    memory::keep_freed();
    restore_signals();
    output::remove_when_interrupted();
}

/// The words of the command line, the program's name first.
pub fn words() -> impl Iterator<Item = OsString> {
    WORDS.get().cloned().unwrap_or_default().into_iter()
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

/// Prints what went wrong, if anything did, and gives the exit status that docs/reference/conventions.md names.
pub fn end(ended: Result<(), Failure>) -> u8 {
    match ended {
        Ok(()) => 0,
        Err(failure) => {
            output::tell(&(failure.text() + "\n"));
            failure.code()
        }
    }
}

/// Prints what the argument parser has to say: help and version, or what is wrong with the words. Gives the exit status.
pub fn explain(e: &clap::Error) -> u8 {
    let text = e.render().to_string();
    match failure::safe(&text) {
        // With the colours of a terminal.
        safe if safe == text => drop(e.print()),
        safe => output::tell(&safe),
    }
    // Help and version are no mistakes: clap sends them to stdout and gives 0.
    if e.use_stderr() { 2 } else { 0 }
}

/// The command with options each of which takes a value like `-1` as a number, so that a wrong one is refused by name.
pub fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let takes = |arg: clap::Arg| match arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    command.mut_args(takes).mut_subcommands(with_negative_numbers)
}

/// Starts so many threads. With 0 there are as many as the cores that a launcher of MPI gives each rank, or all.
pub fn start_threads(threads: usize) -> Result<(), Failure> {
    let is_told = threads > 0 || std::env::var_os("RAYON_NUM_THREADS").is_some();
    let threads = if is_told { threads } else { mpi::cores().unwrap_or(0) };
    if threads == 0 {
        return Ok(());
    }
    // The only pool is the global one; it can be sized once, before its first use.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build_global().map_err(|e| Failure::Tool(format!("threads cannot be started: {e}")))
}
