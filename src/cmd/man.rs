//! `pairforge man`: manual pages, one for the program and one for each command.

use super::help::{self, dressed};
use clap::Command;
use clap_mangen::Man;
use std::io::{self, Write};
use std::path::PathBuf;
use terminal::failure::Failure;
use terminal::files::Files;
use terminal::output;

#[derive(clap::Args)]
pub struct Args {
    /// Folder for the pages, such as a `man1` on `MANPATH`
    #[arg(short, value_name = "DIR")]
    output: PathBuf,
}

impl Args {
    pub fn files(&self) -> Files {
        Files::default().fills("-o", [&self.output])
    }
}

/// Writes the pages into the folder, all of them or none.
pub fn run(args: Args) -> Result<(), Failure> {
    let mut command = crate::command().mut_subcommands(dressed);
    command.build();
    let mut tree = output::Tree::new(&args.output);
    for (name, text) in pages(&command) {
        tree.add_text(&name, text);
    }
    tree.finish(&[])
}

/// The page of a command and those of its own, by the names of their files.
fn pages(command: &Command) -> Vec<(String, String)> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let own = (format!("{name}.1"), page(command).expect("a page in memory can be written"));
    let others = command.get_subcommands().filter(|c| c.get_name() != "help").flat_map(pages);
    std::iter::once(own).chain(others).collect()
}

fn page(command: &Command) -> io::Result<String> {
    // Examples keep their lines here, which a paragraph would join.
    let man = Man::new(command.clone().after_help("").after_long_help("").disable_help_subcommand(true));
    let man = man.manual("Pairforge").source(format!("Pairforge {}", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|arg| !arg.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let examples = help::examples(command.get_name());
    if !examples.is_empty() {
        writeln!(page, ".SH EXAMPLES")?;
    }
    for (words, what) in examples {
        writeln!(page, ".PP\n{}:\n.PP\n.nf\n    {} {}\n.fi", roff(what), super::PROGRAM, roff(words))?;
    }
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// Text as troff shows it, which reads `-` as a hyphen and a `\` as a command; no text here begins with the `.` of a request.
fn roff(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq")
}

#[cfg(test)]
mod tests {
    #[test]
    fn signs_that_troff_takes_otherwise_are_escaped() {
        assert_eq!(super::roff(r"a --b 'c' \d"), r"a \-\-b \(aqc\(aq \ed");
    }
}
