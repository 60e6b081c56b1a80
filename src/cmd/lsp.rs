//! `pairforge lsp`: a language server for editors.

use terminal::failure::Failure;

#[derive(clap::Args)]
pub struct Args {
    /// Speak over standard input and output, which is the only way there is; editors like to say so
    #[arg(long)]
    stdio: bool,
}

/// Serves until the client says `exit` or goes away.
pub fn run(_: Args) -> Result<(), Failure> {
    lsp::serve()
}
