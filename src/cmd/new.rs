//! `pairforge new`: a kernel and its test, to begin with.

use askama::Template;
use std::path::Path;
use terminal::failure::Failure;
use terminal::files::Files;
use terminal::output;
use terminal::say;

#[derive(clap::Args)]
pub struct Args {
    /// Name of the kernel and of the folder to make
    name: String,
}

#[derive(Template)]
#[template(path = "new/kernel.pg2", escape = "none")]
struct Kernel<'a> {
    name: &'a str,
}

#[derive(Template)]
#[template(path = "new/Makefile", escape = "none")]
struct Makefile<'a> {
    name: &'a str,
}

#[derive(Template)]
#[template(path = "new/README.md", escape = "none")]
struct Readme<'a> {
    name: &'a str,
}

/// The longest name; with its ending it fits every file system.
const LONGEST: usize = 64;

impl Args {
    /// None: the folder is new, or the command refuses.
    pub fn files(&self) -> Files {
        Files::default()
    }
}

/// Makes the folder, which must not be there yet.
pub fn run(args: Args) -> Result<(), Failure> {
    let name = args.name.as_str();
    check(name)?;
    fill(Path::new(name), name)?;
    say!("{name}/ has {name}.pg2, its test and a README.md; `cd {name} && make` runs the test")?;
    Ok(())
}

fn fill(folder: &Path, name: &str) -> Result<(), Failure> {
    let text = |rendered: askama::Result<String>| rendered.expect("rendering into a string cannot fail") + "\n";
    let files = [
        (format!("{name}.pg2"), text(Kernel { name }.render())),
        ("i.csv".into(), include_str!("../../templates/new/i.csv").into()),
        ("j.csv".into(), include_str!("../../templates/new/j.csv").into()),
        ("expected.csv".into(), include_str!("../../templates/new/expected.csv").into()),
        ("Makefile".into(), text(Makefile { name }.render())),
        ("README.md".into(), text(Readme { name }.render())),
        (".gitignore".into(), "/out.csv\n/build/\n".into()),
    ];
    let mut tree = output::Tree::new(folder);
    files.into_iter().for_each(|(file, text): (String, String)| tree.add_text(&file, text));
    tree.finish_new()
}

/// Names become files, Verilog modules and words of a Makefile, so they are plain.
fn check(name: &str) -> Result<(), Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(plain) && name.len() <= LONGEST {
        return Ok(());
    }
    let why = "begins with a letter and has at most 64 ASCII letters, digits, `_` and `-`";
    Err(Failure::Input(format!("`{}` cannot name a kernel: a name {why}", name.escape_debug())))
}
