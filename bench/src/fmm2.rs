//! The experiments of the paper on the FMM in two dimensions on this machine, or runs that were kept, as files.

mod cases;
mod draw;
mod measure;
mod measured;
mod paper;
mod table;

use crate::Args;
use gpu::cuda::{compile, device};
use gpu::plane::Gpu;
use measure::{Device, failure, measure};
use measured::Measured;
use std::path::{Path, PathBuf};
use terminal::chart::Unit;
use terminal::chart::axis::label;
use terminal::count::{threads, within_u32};
use terminal::failure::Failure;
use terminal::files::Files;
use terminal::output::Tree;
use terminal::say;

#[derive(clap::Args)]
pub struct FigureArgs {
    /// Repeat the paper's Figs. 2 to 10 and Table 1 in the benchmark `fmm2`, and write them into this folder
    ///
    /// They run on the CPU and on a GPU where there is one. Each is an SVG and a CSV, and figures.json has all of them.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "svg", "csv"])]
    figures: Option<PathBuf>,
    /// Draw --figures of runs that such files keep, without running anything; may be given several times
    #[arg(long, value_name = "FIGURES.json", requires = "figures", conflicts_with_all = ["on", "most", "threads"])]
    from: Vec<PathBuf>,
    /// What --figures runs on
    #[arg(long, value_enum, default_value = "all", requires = "figures")]
    on: On,
    /// Points of any run of --figures at most; with 10000000, sizes are the paper's
    #[arg(long, value_name = "N", default_value_t = 10_000_000, requires = "figures",
          value_parser = |n: &str| within_u32(n, 2000, 100_000_000))]
    most: u32,
    /// Threads of the CPU for --figures; 0 for one a core. The paper's CPU code has one
    #[arg(long, value_name = "N", default_value_t = 0, requires = "figures", value_parser = threads)]
    threads: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum On {
    /// The CPU, and a GPU where there is one
    All,
    Cpu,
    Gpu,
}

impl FigureArgs {
    /// The folder for the figures, where they were asked for.
    pub fn folder(&self) -> Option<&Path> {
        self.figures.as_deref()
    }

    pub fn files(&self, files: Files) -> Files {
        files.reads("--from", &self.from).fills("--figures", &self.figures)
    }
}

/// Measures or reads, draws, and writes all files or none. Without a folder for them it says so.
pub fn run(args: &Args) -> Result<(), Failure> {
    let wanted = &args.figures;
    let Some(to) = wanted.folder() else {
        return say!("  skipped: its files need a folder; name one with --figures");
    };
    let measured = if wanted.from.is_empty() { measured(args)? } else { Measured::read(&wanted.from)? };
    for value in paper::values(&measured) {
        let ours = measured.sides.iter().zip(&value.ours).filter_map(|(side, x)| Some((side, (*x)?)));
        let ours: Vec<String> = ours.map(|(side, x)| format!("{} {}", side.name(), label(x, Unit::Plain))).collect();
        let ours = if ours.is_empty() { "not measured".into() } else { ours.join("; ") };
        say!("  {} ({}): paper {}; {ours}", value.what, value.place, value.paper)?;
    }
    let mut tree = Tree::new(to);
    tree.add_text("paper.csv", table::values(&measured));
    for figure in draw::figures(&measured) {
        tree.add_text(&format!("{}.svg", figure.name), figure.svg);
        tree.add_text(&format!("{}.csv", figure.name), figure.csv);
    }
    // On one line: hundreds of runs are not for reading.
    let runs = serde_json::to_string(&measured).expect("runs are plain numbers, names and lists");
    tree.add_text("figures.json", runs + "\n");
    tree.finish(&[])?;
    say!("  written: Table 1 and Figs. 2 to 10 as SVG and CSV, paper.csv and figures.json in {}", to.display())
}

fn measured(args: &Args) -> Result<Measured, Failure> {
    let wanted = &args.figures;
    let mut all = Measured::default();
    let mut devices = Vec::new();
    if wanted.on != On::Gpu {
        devices.push(Device::cpu(wanted.threads)?);
    }
    if wanted.on != On::Cpu {
        match device::found().and_then(|_| compile::check()) {
            Ok(()) => devices.push(Device::Gpu(Box::new(Gpu::open().map_err(failure)?))),
            Err(why) if wanted.on == On::Gpu => return Err(Failure::Tool(why.to_string())),
            Err(why) => say!("  without a GPU: {why}")?,
        }
    }
    for mut device in devices {
        let side = measure(&mut device, wanted.most as usize, args.repeat)?;
        say!("  measured: {}, {}: {} runs", side.name(), side.device, side.rows.len())?;
        all.add(side);
    }
    Ok(all)
}
