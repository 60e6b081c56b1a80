//! Golden diagnostics. `diagnostics/NAME.pg2` leads to `diagnostics/NAME.txt`; and the wrong example on the page of a code
//! leads to that code alone, as recorded in `diagnostics/codes/CODE.txt`, while the right one leads to none. `BLESS=1`
//! writes the records anew, and the index of the pages, `docs/diagnostics/README.md`, with their lines in `docs/SUMMARY.md`. A
//! new code needs a row in `codes.rs` and a page in `docs/diagnostics/`, and no line here.

use crate::documents::{follows, root, table};
use pg2::diag::codes::{CODES, Code};
use pg2::diag::{Diagnostic, Severity};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use testkit::golden::compare;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics")
}

/// Names of the files of a folder with that ending.
fn names_in(folder: &Path, ending: &str) -> BTreeSet<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
    files.filter_map(|f| f.strip_suffix(ending).map(str::to_string)).collect()
}

fn names(ending: &str) -> BTreeSet<String> {
    names_in(&folder(), ending)
}

/// The text of a place; long ones are cut.
fn shown(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((cut, _)) => format!("{:?}...", &text[..cut]),
        None => format!("{text:?}"),
    }
}

fn render(text: &str, findings: &[Diagnostic]) -> String {
    let mut out = String::new();
    for d in findings {
        let severity = if d.severity == Severity::Error { "error" } else { "warning" };
        writeln!(out, "{severity}[{}]: {}", d.code, d.message).unwrap();
        for (span, label) in &d.labels {
            let before = &text[..span.start];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
            writeln!(out, "  {line}:{column} {}: {label}", shown(span.of(text))).unwrap();
        }
        d.notes.iter().for_each(|n| writeln!(out, "  note: {n}").unwrap());
        d.help.iter().for_each(|h| writeln!(out, "  help: {h}").unwrap());
    }
    out
}

fn findings(text: &str) -> Vec<Diagnostic> {
    match pg2::compile("golden", text) {
        Ok(compiled) => compiled.warnings,
        Err(errors) => errors,
    }
}

#[test]
fn diagnostics_are_as_recorded() {
    let mut wrong = Vec::new();
    for name in names(".pg2") {
        let text = std::fs::read_to_string(folder().join(format!("{name}.pg2"))).unwrap();
        wrong.extend(compare(&folder().join(format!("{name}.txt")), &render(&text, &findings(&text))));
    }
    assert!(wrong.is_empty(), "not as recorded (- is the record, + what came; BLESS=1 records)\n{}", wrong.join("\n"));
    assert_eq!(names(".pg2"), names(".txt"), "each source has its record and each record its source");
}

#[test]
fn every_finding_has_a_remedy_and_its_code_is_in_the_table() {
    for name in names(".pg2") {
        let text = std::fs::read_to_string(folder().join(format!("{name}.pg2"))).unwrap();
        for d in findings(&text) {
            assert!(d.help.is_some(), "{name}: {d:#?}");
            assert!(CODES.iter().any(|c| c.code == d.code), "{name}: {}", d.code);
        }
    }
}

/// The wrong and the right example of a page. Of four codes the wrong one is too long for a page, which shows it
/// shortened.
fn examples(code: &Code) -> (String, String) {
    let block = |opening: &str| -> Option<String> {
        let (_, rest) = code.page.split_once(&format!("\n```{opening}\n"))?;
        Some(rest.split_once("\n```\n")?.0.to_string() + "\n")
    };
    let kind = if code.code >= "PG0101" { "pg2 warning" } else { "pg2 error" };
    let wrong = block(kind).or_else(|| block("pg2 long").and_then(|_| long(code.code)));
    let right = block("pg2").unwrap_or_else(|| panic!("the page of {} has no block `pg2`", code.code));
    (wrong.unwrap_or_else(|| panic!("the page of {} has no block `{kind}`", code.code)), right)
}

/// The full text of examples that the pages show shortened.
fn long(code: &str) -> Option<String> {
    let o = "int64 o fout;\n";
    Some(match code {
        "PG0006" => format!("int32 a ipin;\n{o}o += {}a{};\n", "(".repeat(257), ")".repeat(257)),
        "PG0007" => format!("int32 {0} ipin;\n{o}o += {0};\n", "a".repeat(256)),
        "PG0010" => format!("{o}o += a0{};\n", (1..1100).map(|k| format!(" + a{k}")).collect::<String>()),
        "PG0075" => {
            let waves: Vec<String> = (1..=76).map(|k| format!("sin({k} * r)")).collect();
            format!(
                "float32.23 r jpin;\nfixed64.30 o fout;\no += (fixed64.30)pg_fn(r, {}, 0.001, 1000);\n",
                waves.join(" + ")
            )
        }
        "PG0053" => format!("int32 v[1024] jpin;\n{o}o += v * v{};\n", " + v * v".repeat(200)),
        _ => return None,
    })
}

#[test]
fn each_page_shows_its_code_and_how_to_avoid_it() {
    each_page_of(|code| code != SLOW);
    let codes: BTreeSet<String> = CODES.iter().map(|c| c.code.to_string()).collect();
    assert_eq!(names_in(&folder().join("codes"), ".txt"), codes, "each code has its record and each record its code");
}

#[test]
#[ignore = "a proof in depth"]
fn the_page_of_functions_that_take_too_long_shows_its_code() {
    each_page_of(|code| code == SLOW);
}

/// Its example takes all the steps that the search of a table may take.
const SLOW: &str = "PG0075";

fn each_page_of(is_chosen: fn(&str) -> bool) {
    let mut wrong = Vec::new();
    for code in CODES.iter().filter(|c| is_chosen(c.code)) {
        let title = format!("# {}: {}\n", code.code, code.summary);
        assert!(code.page.starts_with(&title), "the page of {} does not begin with {title:?}", code.code);
        let (bad, good) = examples(code);
        // Of too many findings the others are the point.
        let (found, others): (Vec<_>, Vec<_>) = findings(&bad).into_iter().partition(|d| d.code == code.code);
        if found.is_empty() || (!others.is_empty() && code.code != "PG0010") {
            wrong.push(format!("{}: the wrong example leads to {}", code.code, render(&bad, &others)));
        }
        let unexpected = findings(&good);
        if !unexpected.is_empty() {
            wrong.push(format!("{}: the right example leads to {}", code.code, render(&good, &unexpected)));
        }
        wrong.extend(compare(&folder().join(format!("codes/{}.txt", code.code)), &render(&bad, &found)));
    }
    assert!(wrong.is_empty(), "not as the pages say, or not as recorded (BLESS=1 records):\n{}", wrong.join("\n"));
}

#[test]
fn each_page_belongs_to_a_code() {
    let mut pages = names_in(&root().join("docs/diagnostics"), ".md");
    assert!(pages.remove("README"), "the index of the pages");
    let codes: BTreeSet<String> = CODES.iter().map(|c| c.code.to_string()).collect();
    assert_eq!(pages, codes);
}

#[test]
fn each_page_is_in_the_index_and_in_the_book() {
    for code in CODES {
        let first = code.page.lines().next();
        assert_eq!(first, Some(format!("# {}: {}", code.code, code.summary).as_str()), "the heading of its page");
    }
    let text = std::fs::read_to_string(root().join("docs/diagnostics/README.md")).unwrap();
    let row = |c: &Code| format!("| [{0}]({0}.md) | {1} |", c.code, c.summary);
    let rows: Vec<String> = CODES.iter().map(row).collect();
    let want = format!("| code | meaning |\n|---|---|\n{}", rows.join("\n"));
    follows("docs/diagnostics/README.md", table(&text, "| code |"), &want);
    let text = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let (index, page) =
        ("  - [Diagnostics](diagnostics/README.md)", |c: &Code| format!("    - [{0}](diagnostics/{0}.md)", c.code));
    let is_below = |line: &&str| *line == index || line.starts_with("    - [PG");
    let have: Vec<&str> = text.lines().filter(is_below).collect();
    let want: Vec<String> = std::iter::once(index.to_string()).chain(CODES.iter().map(page)).collect();
    follows("docs/SUMMARY.md", &have.join("\n"), &want.join("\n"));
}
