//! The experiments of Ukawa and Narumi, whose Figs. 5 to 7 compare a CPU and their FPGAs: the CPU measured here, devices by their models,
//! and the tables of Gumerov and Duraiswami and of Haney beside them.

mod draw;
mod kept;
mod machines;
mod measure;
mod page;
mod sampled;

use super::{Args, scaling};
use crate::cmd::fmm::BYTES_A_PARTICLE;
use kept::{Gpu, Kept};
use std::path::{Path, PathBuf};
use terminal::count::within_u32;
use terminal::failure::Failure;
use terminal::files::Files;
use terminal::output::Tree;
use terminal::{memory, say};

#[derive(clap::Args)]
pub struct PaperArgs {
    /// In the benchmark `paper`, write its page, figures, tables and paper.json into this folder
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// In the benchmark `paper`, particles at most: 16000000 are the paper's
    #[arg(long, value_name = "N", default_value_t = 16_000_000, value_parser = |n: &str| within_u32(n, 4096, 16_000_000))]
    n_max: u32,
    /// In the benchmark `paper`, the figures of a GPU by `bench cuda --json`, to stand beside
    #[arg(long, value_name = "FIGURES.json", requires = "output")]
    gpu: Option<PathBuf>,
    /// In the benchmark `paper`, write page and figures of an earlier run's paper.json, without running anything
    #[arg(long, value_name = "PAPER.json", requires = "output", conflicts_with = "n_max")]
    from: Option<PathBuf>,
}

impl PaperArgs {
    pub fn files(&self, files: Files) -> Files {
        files.reads("--from", &self.from).reads("--gpu", &self.gpu).fills("-o", &self.output)
    }
}

/// The size of a run.
struct Options {
    n_max: usize,
    repeat: u32,
}

/// Measures or reads, and writes all files or none. Without a folder for them it says so.
pub fn run(args: &Args) -> Result<(), Failure> {
    let wanted = &args.paper;
    let Some(to) = wanted.output.as_deref() else {
        return say!("  skipped: its files need a folder; name one with -o");
    };
    let gpu = wanted.gpu.as_deref().map(Gpu::read).transpose()?;
    let kept = match &wanted.from {
        Some(path) => Kept::read(path)?,
        None => {
            let options = Options { n_max: wanted.n_max as usize, repeat: args.repeat };
            memory::check(
                options.n_max as u64 * BYTES_A_PARTICLE,
                format_args!("an FMM of {} particles", options.n_max),
            )?;
            measure::all(&options)?
        }
    };
    let gpu = gpu.or_else(|| kept.gpu.clone());
    let kept = Kept { gpu, ..kept };
    write(&kept, to)
}

fn write(kept: &Kept, to: &Path) -> Result<(), Failure> {
    let mut tree = Tree::new(to);
    for (name, text) in draw::figures(kept).into_iter().chain(draw::tables(kept)) {
        tree.add_text(name, text);
    }
    tree.add_text("README.md", page::text(kept)?);
    tree.add_json("paper.json", kept);
    tree.finish(&[])?;
    page::summary(kept).iter().try_for_each(|line| say!("  {line}"))?;
    say!("  written: README.md, Figs. 5 to 7 as SVG and CSV, tables as CSV and paper.json in {}", to.display())
}
