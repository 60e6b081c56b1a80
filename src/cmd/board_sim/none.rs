//! `pairforge board-sim` where there are no pseudo-terminals: a sentence.

use terminal::failure::Failure;
use terminal::files::Files;

#[derive(clap::Args)]
pub struct Args {
    /// The board, its folder and options
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<String>,
}

impl Args {
    pub fn files(&self) -> Files {
        Files::default()
    }
}

pub fn run(_: Args) -> Result<(), Failure> {
    Err(Failure::Tool(
        "a board is simulated behind a pseudo-terminal, which this system does not have; run it on Linux or macOS, or the engine alone \
         by `pairforge run FILE --backend cycle`"
            .into(),
    ))
}
