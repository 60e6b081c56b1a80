//! `pairforge list`: what is there.

use crate::failure::Failure;
use crate::output::say;
use host::backends::Entry;
use pg2::syntax::functions::{FUNCTIONS, Function};

#[derive(clap::Args)]
pub struct Args {
    #[arg(value_enum)]
    what: What,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum What {
    Kernels,
    Backends,
    Boards,
    Devices,
    Functions,
    Operators,
    Targets,
}

/// Prints one line a thing: its name and what it is.
pub fn run(args: Args) -> Result<(), Failure> {
    let rows: Vec<(String, String)> = match args.what {
        What::Kernels => pg2::kernels::all().map(|k| (k.0.to_string(), k.1.to_string())).collect(),
        What::Backends => host::backends::BACKENDS.iter().map(|b| (b.usage(), backend(b))).collect(),
        What::Boards => hdl::board::BOARDS.iter().map(|b| (b.name.to_string(), b.summary.to_string())).collect(),
        What::Devices => hdl::board::DEVICES.iter().map(|d| (d.name.to_string(), d.summary.to_string())).collect(),
        What::Functions => {
            let row = |f: &Function| (f.call(), format!("{} ({})", f.text, f.formats()));
            FUNCTIONS.iter().map(row).collect()
        }
        What::Operators => hdl::op::OPERATORS.iter().map(|o| (o.name().to_string(), o.summary().to_string())).collect(),
        What::Targets => {
            hdl::circuit::target::TARGETS.iter().map(|t| (t.name.to_string(), t.summary.to_string())).collect()
        }
    };
    let width = rows.iter().map(|r| r.0.len()).max().unwrap_or(0);
    for (name, summary) in rows {
        say!("{name:width$}  {summary}")?;
    }
    Ok(())
}

/// What a backend runs and, of one on a GPU, whether that is there.
fn backend(entry: &Entry) -> String {
    match entry.gpu() {
        None => entry.summary.to_string(),
        Some(Ok(name)) => format!("{} (here: {name})", entry.summary),
        Some(Err(why)) => {
            let why = why.to_string();
            let (what, _) = why.split_once([';', ':']).unwrap_or((&why, ""));
            format!("{} (not here: {what})", entry.summary)
        }
    }
}
