//! `pairforge fmt`: one canonical layout.

use pg2::syntax::sources::Sources;
use std::path::Path;
use terminal::failure::Failure;
use terminal::files::Files;
use terminal::{input, output, source};

#[derive(clap::Args)]
pub struct Args {
    /// PG2 files, rewritten in place; `-` formats standard input to standard output
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Change nothing; name the files that would change, and exit with 1 if there are any
    #[arg(long)]
    check: bool,
}

impl Args {
    pub fn files(&self) -> Files {
        Files::default().rewrites(self.files.iter().filter(|_| !self.check))
    }
}

/// Formats every file, also after one has failed, and reports all failures.
pub fn run(args: Args) -> Result<(), Failure> {
    let mut failures = String::new();
    for file in &args.files {
        let result = if file == "-" { standard_input(args.check) } else { one(file, args.check) };
        if let Err(failure) = result {
            failures += failure.text().trim_end();
            failures.push('\n');
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(Failure::Diagnostics(failures)) }
}

fn one(file: &str, check: bool) -> Result<(), Failure> {
    let path = Path::new(file);
    if source::shipped(file).is_some() {
        return Err(Failure::Input(format!("`{file}` is a shipped kernel and no file; fmt takes files")));
    }
    let kernel = source::read(file)?;
    let text = formatted(&kernel.origin, &kernel.text)?;
    match (text == kernel.text, check) {
        (true, _) => Ok(()),
        (false, true) => Err(Failure::file(path, "is not formatted; run `pairforge fmt` on it")),
        (false, false) => output::write_text(path, &text),
    }
}

fn standard_input(check: bool) -> Result<(), Failure> {
    let own = input::standard_text()?;
    let text = formatted("standard input", &own)?;
    if check {
        let same = text == own;
        return if same { Ok(()) } else { Err(Failure::Input("standard input is not formatted".into())) };
    }
    output::print(&text)
}

fn formatted(origin: &str, text: &str) -> Result<String, Failure> {
    pg2::syntax::fmt::format(text)
        .map_err(|list| Failure::Diagnostics(source::render(&Sources::alone(origin, text), &list)))
}
