//! `pairforge check`: diagnose kernels; prints nothing when all is well.

use terminal::failure::Failure;
use terminal::files::Files;
use terminal::source;
use terminal::tables::{CHECK, within};

#[derive(clap::Args)]
pub struct Args {
    /// PG2 files, names of shipped kernels, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
}

impl Args {
    pub fn files(&self) -> Files {
        Files::default().kernels("FILE", &self.files)
    }
}

/// Checks every file, also after one has failed, and reports all of them.
pub fn run(args: Args) -> Result<(), Failure> {
    let mut text = String::new();
    for file in &args.files {
        if let Err(failure) = within(CHECK, || source::load(file)) {
            text += &failure.text();
            text.push('\n');
        }
    }
    if text.is_empty() { Ok(()) } else { Err(Failure::Diagnostics(text)) }
}
