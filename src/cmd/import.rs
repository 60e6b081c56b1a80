//! `pairforge import`: kernels from other languages.

use hdl::Format;
use pg2::fpcore::{self, Kernel};
use std::path::PathBuf;
use terminal::failure::Failure;
use terminal::files::{self, Files};
use terminal::{input, output};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Straight-line cores of FPBench with ranges of their inputs
    Fpcore {
        /// A file of FPCore
        file: PathBuf,
        /// The core of that name alone
        #[arg(long, value_name = "NAME")]
        core: Option<String>,
        /// A format of floats in place of the cores' precision, such as float35.23
        #[arg(long, value_name = "FORMAT")]
        format: Option<Format>,
        /// A new folder for all cores, a file each; without it a single core goes to standard output
        #[arg(short, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}

impl Args {
    pub fn files(&self) -> Files {
        let What::Fpcore { file, output, .. } = &self.what;
        Files::default().reads("FILE", [file]).writes("-o", output, files::PLAIN)
    }
}

/// Writes the kernels, and says which cores have none.
pub fn run(args: Args) -> Result<(), Failure> {
    let What::Fpcore { file, core, format, output } = args.what;
    if let Some(format) = format.filter(|f| !f.is_float()) {
        return Err(Failure::Usage(format!("`{format}` is no format of floats; write for example float32.23")));
    }
    let text = input::text(&file, "")?;
    let wrong = |why: String| Failure::Input(format!("{}: {why}", file.display()));
    let mut all = fpcore::kernels(&text, format).map_err(wrong)?;
    if let Some(core) = &core {
        all.retain(|k| k.name == pg2::identifier(core));
        if all.is_empty() {
            return Err(wrong(format!("it has no core `{core}`")));
        }
    }
    match (output, &all[..]) {
        (None, [Kernel { text, .. }]) => output::print(&text.clone().map_err(wrong)?),
        (None, _) => {
            Err(Failure::Usage("the file has several cores: give -o DIR for all, or --core NAME for one".into()))
        }
        (Some(dir), _) => {
            let mut tree = output::Tree::new(&dir);
            for kernel in all {
                match kernel.text {
                    Ok(text) => tree.add_text(&format!("{}.pg2", kernel.name), text),
                    Err(why) => output::tell(&format!("{} is left out: {why}\n", kernel.name)),
                }
            }
            tree.finish_new()
        }
    }
}
