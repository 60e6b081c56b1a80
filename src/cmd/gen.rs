//! `pairforge gen`: kernels that are made rather than written.

use std::path::PathBuf;
use terminal::failure::Failure;
use terminal::files::{self, Files};
use terminal::output;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// The multipole-to-local kernel of an order, in Cartesian Taylor form
    M2l {
        /// Expansion order P, 1 to 8
        #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..=8))]
        order: u32,
        /// Where to write; standard output if absent
        #[arg(short, value_name = "FILE", default_value = "-")]
        output: PathBuf,
    },
}

impl Args {
    pub fn files(&self) -> Files {
        let What::M2l { output, .. } = &self.what;
        Files::default().writes("-o", [output], files::KERNEL)
    }
}

/// Generates the kernel.
pub fn run(args: Args) -> Result<(), Failure> {
    let What::M2l { order, output } = args.what;
    let text = pg2::gen_m2l(order).map_err(Failure::Input)?;
    output::write_text(&output, &text)
}
