//! The first page and the tutorial as they are read: its files are written, its commands run in their order, and their outputs compared.
//!
//! A ```` ```pg2 ```` block behind a line that ends with a file's name in backquotes and a colon is that file. In ```` ```console ````
//! blocks lines with `$ ` are commands, up to a line without a backslash at its end, and what follows is their output, where
//! `...` stands for any lines. The word `figures` behind `console` lets numbers differ that change with circuits, and
//! `verilator` skips a block where that is missing. `BLESS=1` writes the page anew with what came out.

use crate::common::{Place, has_verilator};
use std::path::Path;
use std::process::Command;
use testkit::golden;

/// A command of a block and the output that the page shows.
struct Step {
    command: String,
    shown: Vec<String>,
}

/// A piece of the page.
enum Piece {
    Prose(String),
    Console { info: String, steps: Vec<Step> },
    File { info: String, name: Option<String>, text: String },
}

fn pieces(page: &str) -> Vec<Piece> {
    let mut list = Vec::new();
    let mut lines = page.lines().peekable();
    let mut named = None;
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            if !line.trim().is_empty() {
                named = line.strip_suffix("`:").and_then(|l| l.rsplit('`').next()).map(String::from);
            }
            list.push(Piece::Prose(line.to_string()));
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|l| *l != "```").collect();
        if !info.starts_with("console") {
            let text = block.iter().map(|l| format!("{l}\n")).collect();
            list.push(Piece::File { info: info.to_string(), name: named.take(), text });
            continue;
        }
        let mut steps: Vec<Step> = Vec::new();
        let mut going_on = false;
        for line in block {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (_, Some(step)) if going_on => step.command += &format!("\n{line}"),
                (Some(command), _) => steps.push(Step { command: command.to_string(), shown: Vec::new() }),
                (None, Some(step)) => step.shown.push(line.to_string()),
                (None, None) => panic!("`{line}` stands before any command"),
            }
            going_on = steps.last().is_some_and(|s| s.shown.is_empty() && s.command.ends_with('\\'));
        }
        list.push(Piece::Console { info: info.to_string(), steps });
    }
    list
}

/// Whether what came is what is shown: `...` stands for any lines, and with `figures` any number for another.
fn agrees(shown: &[String], came: &[String], figures: bool) -> bool {
    let plain = |line: &str| -> String {
        let line = if figures {
            let mut text = String::new();
            for c in line.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }) {
                if !(c == '#' && text.ends_with('#')) {
                    text.push(c);
                }
            }
            text
        } else {
            line.to_string()
        };
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    match shown {
        [] => came.is_empty(),
        [dots, rest @ ..] if dots == "..." => (0..=came.len()).any(|k| agrees(rest, &came[k..], figures)),
        [first, rest @ ..] => {
            came.first().is_some_and(|c| plain(c) == plain(first)) && agrees(rest, &came[1..], figures)
        }
    }
}

fn output(place: &Place, command: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_BIN_EXE_pairforge")).parent().expect("it lies in a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(folder.to_path_buf()).chain(std::env::split_paths(&path));
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("exec 2>&1\n{command}")).current_dir(place.path("."));
    shell.env("PATH", std::env::join_paths(paths).expect("paths join"));
    let ended = shell.output().expect("there is a shell");
    String::from_utf8_lossy(&ended.stdout).lines().map(|l| l.trim_end().to_string()).collect()
}

/// Does what a page says, in a folder of its own, and compares outputs or writes the page anew.
fn done(name: &str, least: usize) -> Place {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let page = std::fs::read_to_string(&path).expect("the page exists");
    let bless = golden::bless();
    let place = Place::new();
    let (mut new, mut wrong, mut ran) = (String::new(), Vec::new(), 0);
    for piece in pieces(&page) {
        match piece {
            Piece::Prose(line) => new += &format!("{line}\n"),
            Piece::File { info, name, text } => {
                if let Some(name) = name {
                    place.write(&name, &text);
                }
                new += &format!("```{info}\n{text}```\n");
            }
            Piece::Console { info, steps } => {
                new += &format!("```{info}\n");
                let skipped = info.contains("verilator") && !has_verilator();
                for Step { command, shown } in steps {
                    let came = if skipped { shown.clone() } else { output(&place, &command) };
                    // Numbers beside what is left out, such as seconds, are not written anew.
                    let is_part = shown.iter().any(|line| line == "...");
                    let good = agrees(&shown, &came, info.contains("figures") && (!bless || is_part));
                    if !good {
                        let difference = golden::difference(&shown.join("\n"), &came.join("\n"));
                        wrong.push(format!("$ {command}\n{}", difference.unwrap_or_default()));
                    }
                    ran += 1;
                    new += &format!("$ {command}\n");
                    for line in if good { shown } else { came } {
                        new += &format!("{line}\n");
                    }
                }
                new += "```\n";
            }
        }
    }
    if bless {
        std::fs::write(&path, new).expect("the page can be written");
    } else {
        let wrong = wrong.join("\n");
        assert!(wrong.is_empty(), "{name} differs (- is the page, + what came; BLESS=1 writes it anew)\n{wrong}");
    }
    assert!(ran >= least, "only {ran} commands were found");
    place
}

#[cfg(unix)]
#[test]
fn the_tutorial_shows_what_happens() {
    let place = done("docs/tutorial.md", 10);
    // The figure of the page is the one that its command draws.
    let figure = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tutorial.svg");
    if golden::bless() {
        std::fs::copy(place.path("error.svg"), figure).expect("the figure can be written");
    } else {
        let shown = std::fs::read_to_string(figure).expect("the page's figure exists");
        let drawn = place.text("error.svg");
        assert_eq!(shown.matches("<circle").count(), drawn.matches("<circle").count(), "draw docs/tutorial.svg anew");
    }
}

#[cfg(unix)]
#[test]
fn the_first_page_shows_what_happens() {
    done("docs/start.md", 10);
}
