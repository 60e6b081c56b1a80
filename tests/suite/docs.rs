//! The documentation against the code: its examples compile, and its tables are complete.

use crate::book::{page, pages, root};
use std::fs;

/// A fenced block: the words behind the fence, its first line's number, and its text.
struct Block {
    info: String,
    line: usize,
    text: String,
}

/// The fenced blocks of a page.
fn blocks(text: &str) -> Vec<Block> {
    let mut list = Vec::new();
    let mut open: Option<Block> = None;
    for (k, line) in text.lines().enumerate() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(info)) => {
                open = Some(Block { info: info.trim().to_string(), line: k + 2, text: String::new() })
            }
            (Some(_), Some(_)) => list.extend(open.take()),
            (Some(block), None) => block.text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a fence is never closed");
    list
}

#[test]
fn every_kernel_in_the_documentation_compiles_or_fails_as_it_says() {
    let mut seen = 0;
    for (path, text) in pages() {
        for block in blocks(&text) {
            let place = format!("{}:{}", path.display(), block.line);
            match (block.info.as_str(), pg2::compile("example", &block.text)) {
                ("pg2", Ok(compiled)) => assert_eq!(compiled.warnings, vec![], "{place}"),
                ("pg2", Err(errors)) => panic!("{place} does not compile: {errors:#?}"),
                ("pg2 error", Ok(_)) => panic!("{place} compiles, but should not"),
                ("pg2 error", Err(_)) => {}
                // Warned of, and shortened beyond compiling: tested with the diagnostics.
                ("pg2 warning" | "pg2 long", _) => continue,
                (info, _) if info.starts_with("pg2") => panic!("{place}: `{info}` is no kind of kernel"),
                _ => continue,
            }
            seen += 1;
        }
    }
    assert!(seen >= 6, "only {seen} kernels were found");
}

#[test]
fn the_numbers_page_lists_every_operator() {
    let text = page("docs/numerics.md");
    for operator in hdl::op::OPERATORS.iter() {
        let name = format!("`{}`", operator.name());
        let is_row = |l: &&str| l.starts_with("| `") && l.split('|').nth(1).is_some_and(|c| c.contains(&name));
        let row: Vec<&str> = text.lines().find(is_row).map_or(Vec::new(), |l| l.split('|').map(str::trim).collect());
        // Between the outer bars: name, formats, result and flags, real-arithmetic semantics.
        let whole = row.len() == 6 && row[1..5].iter().all(|cell| !cell.is_empty());
        assert!(whole, "docs/numerics.md has no row for {name} that says its result and its real-arithmetic semantics");
    }
}

/// Each figure of `scripts/hardware.sh` has its report, made by the command that the script has now, and the page on hardware
/// names no other.
#[test]
fn every_figure_of_hardware_has_its_report() {
    let script = page("scripts/hardware.sh");
    let list = script.split("cat <<'END'\n").nth(1).and_then(|t| t.split("\nEND\n").next()).expect("the script's list");
    let figures: Vec<(&str, &str)> =
        list.lines().map(|l| l.split_once(' ').map(|(n, a)| (n, a.trim())).expect("a name and arguments")).collect();
    for (name, arguments) in &figures {
        let report = page(&format!("docs/hardware/{name}.txt"));
        let command = format!("$ pairforge synth {arguments} -o DIR");
        assert_eq!(report.lines().next(), Some(command.as_str()), "{name}");
        assert!(page("docs/hardware.md").contains(&format!("`{name}`")), "docs/hardware.md does not name {name}");
    }
    let known = |file: &str| figures.iter().any(|(name, _)| file == format!("{name}.txt"));
    for entry in fs::read_dir(root().join("docs/hardware")).expect("the folder is part of the repository") {
        let file = entry.expect("it can be listed").file_name().into_string().expect("a name in ASCII");
        assert!(known(&file), "docs/hardware/{file} is no figure of scripts/hardware.sh");
    }
}

/// The numbers in a text: digits with commas between thousands, and a fraction.
fn numbers(text: &str) -> Vec<f64> {
    let parts = text.split(|c: char| !(c.is_ascii_digit() || c == ',' || c == '.'));
    parts.filter_map(|p| p.trim_matches([',', '.']).replace(',', "").parse().ok()).collect()
}

/// Each number that a table of the results of hardware gives for a figure stands in its report, and so does the clock that the
/// report has stand in the table.
#[test]
fn figures_of_hardware_are_those_of_their_reports() {
    let text = page("docs/results/hardware.md");
    let mut seen = 0;
    for row in text.lines().filter(|l| l.starts_with("| [`")) {
        let name = row.split('`').nth(1).expect("a row begins with a name");
        // Commands stand in code spans.
        let said: String = row.split("](").nth(1).expect("a link").split('`').step_by(2).collect();
        let said = said.split_once(')').expect("a link ends").1;
        let report = page(&format!("docs/hardware/{name}.txt"));
        let known = numbers(&report);
        for number in numbers(said) {
            assert!(known.contains(&number), "docs/hardware/{name}.txt has no {number}");
        }
        if let Some(clock) = report.lines().find(|l| l.starts_with("highest clock")) {
            let clock = numbers(clock)[0];
            assert!(numbers(said).contains(&clock), "the row of {name} has no {clock} MHz");
        }
        seen += 1;
    }
    assert!(seen >= 9, "the tables have {seen} rows");
}

/// Each rule has a row in the index of its page, with a link to its heading.
#[test]
fn every_rule_is_in_the_index_of_its_page() {
    for (name, letter, last) in [("docs/fmm.md", 'h', 20), ("docs/numerics.md", 'n', 10)] {
        let text = page(name);
        for k in 1..=last {
            let (begin, link) = (format!("| {}{k} |", letter.to_ascii_uppercase()), format!("#{letter}{k}-"));
            let row = text.lines().find(|l| l.starts_with(&begin));
            assert!(
                row.is_some_and(|l| l.contains(&link)),
                "{name} has no row that begins with {begin} and links to {link}"
            );
        }
    }
}

/// The page on measuring names every benchmark.
#[test]
fn every_benchmark_has_its_row() {
    let ended = crate::common::Place::new().run("bench nothing").expect(2);
    let list = ended.err.trim().split("the benchmarks are ").nth(1).expect("the refusal lists them");
    let (text, names) = (page("docs/benchmarks.md"), list.split(", ").collect::<Vec<_>>());
    assert!(names.len() > 6, "{}", ended.err);
    for name in names {
        assert!(text.contains(&format!("`pairforge bench {name}")), "docs/benchmarks.md does not name {name}");
    }
}
