//! The program `pairforge`, which is its command line.

use std::process::ExitCode;
use terminal::memory;

#[global_allocator]
static ALLOCATOR: memory::Allocator = memory::Allocator;

fn main() -> ExitCode {
    pairforge_cli::run(std::env::args_os().collect()).into()
}
