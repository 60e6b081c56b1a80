//! The page `docs/reference/commands.md`, rendered from the definitions of the command line; `BLESS=1` writes it anew.

use super::help;
use clap::{Arg, Command};
use std::fmt::Write;
use std::path::Path;
use testkit::golden;

/// Heading of arguments that have none of their own.
const OTHER: &str = "Options";

const HEAD: &str = "# Commands

    pairforge COMMAND [OPTIONS] ...

`pairforge COMMAND -h` lists the options of a command, and `pairforge COMMAND --help` has the details of this page.
[Exit status, files and the cache](conventions.md) are the same for all commands; [JSON](json.md) lists the keys of `--json`.

This page is generated: `make pages` renders it from the definitions of the command line.
";

/// Text of Markdown that shows as it is, but for words in backquotes.
fn escaped(text: &str) -> String {
    let plain = |part: &str| part.replace('<', "\\<").replace('*', "\\*").replace('[', "\\[");
    let parts = text.split('`').enumerate();
    parts.map(|(k, part)| if k % 2 == 0 { plain(part) } else { format!("`{part}`") }).collect()
}

/// Paragraphs on one line, with full stops between them.
fn on_one_line(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|p| p.split_whitespace().collect::<Vec<_>>().join(" "));
    let ended = |p: String| if p.ends_with(['.', ':', ';']) { p } else { p + "." };
    escaped(&paragraphs.filter(|p| !p.is_empty()).map(ended).collect::<Vec<_>>().join(" "))
}

/// The argument as a user writes it, such as `-o`, `--output <FILE>`.
fn written(arg: &Arg) -> String {
    if arg.is_positional() {
        return format!("`{arg}`");
    }
    let short = arg.get_short().filter(|_| arg.get_long().is_some());
    short.map_or(String::new(), |short| format!("`-{short}`, ")) + &format!("`{arg}`")
}

fn item(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(|h| h.to_string()).unwrap_or_default();
    let mut text = format!("- {}: {}", written(arg), on_one_line(&help));
    if !arg.get_action().takes_values() {
        return text;
    }
    let values: Vec<String> = arg.get_possible_values().iter().map(|v| format!("`{}`", v.get_name())).collect();
    if !values.is_empty() {
        write!(text, " One of {}.", values.join(", ")).expect("a string grows");
    }
    let defaults: Vec<String> = arg.get_default_values().iter().map(|d| format!("`{}`", d.to_string_lossy())).collect();
    if !defaults.is_empty() {
        write!(text, " Default: {}.", defaults.join(", ")).expect("a string grows");
    }
    text
}

/// The section of a command, and those of its own commands.
fn section(command: &Command, name: &str, text: &mut String) {
    let about = command.get_long_about().or(command.get_about()).map(|a| a.to_string()).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().lines().map(|l| format!("    {}\n", l.trim()));
    let usage: String = usage.collect();
    *text += &format!("\n## {name}\n\n{}\n\n{usage}", on_one_line(&about));
    let shown = |arg: &&Arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str());
    let heading = |arg: &Arg| match arg.is_positional() {
        true => "Arguments".to_string(),
        false => arg.get_help_heading().unwrap_or(OTHER).to_string(),
    };
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    let (before, after): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().filter(shown).partition(|a| a.is_positional());
    for arg in before.into_iter().chain(after) {
        let heading = heading(arg);
        match groups.iter_mut().find(|group| group.0 == heading) {
            Some(group) => group.1.push(item(arg)),
            None => groups.push((heading, vec![item(arg)])),
        }
    }
    for (heading, items) in groups {
        *text += &format!("\n**{heading}**\n\n{}\n", items.join("\n"));
    }
    let examples: String =
        help::examples(name).iter().map(|(words, what)| format!("    # {what}\n    pairforge {words}\n")).collect();
    if !examples.is_empty() {
        *text += &format!("\n**Examples**\n\n{examples}");
    }
    for command in command.get_subcommands().filter(|c| c.get_name() != "help") {
        section(command, &format!("{name} {}", command.get_name()), text);
    }
}

fn page() -> String {
    let mut all = crate::command().mut_subcommands(super::dressed);
    all.build();
    let mut commands: Vec<&Command> = all.get_subcommands().filter(|c| c.get_name() != "help").collect();
    commands.sort_by_key(|c| c.get_name());
    let row = |c: &&Command| {
        let about = c.get_about().map(|a| a.to_string()).unwrap_or_default();
        format!("| [`{0}`](#{0}) | {1} |\n", c.get_name(), escaped(&about))
    };
    let mut text = format!("{HEAD}\n| command | |\n|---|---|\n{}", commands.iter().map(row).collect::<String>());
    commands.iter().for_each(|command| section(command, command.get_name(), &mut text));
    text
}

#[test]
fn the_page_of_commands_is_that_of_the_command_line() {
    golden::check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/commands.md"), &page());
}

#[test]
fn angle_brackets_and_stars_show_as_they_are() {
    assert_eq!(escaped("a <B> `c <D>` * [e]"), "a \\<B> `c <D>` \\* \\[e]");
    assert_eq!(on_one_line("One\nline\n\nand another."), "One line. and another.");
}
