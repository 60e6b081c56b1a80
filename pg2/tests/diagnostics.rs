//! Golden diagnostics: `diagnostics/NAME.pg2` leads to `diagnostics/NAME.txt`. `BLESS=1` writes them anew.

use pg2::codes::CODES;
use pg2::diag::{Diagnostic, Severity};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics")
}

/// Names of the files with that ending.
fn names(ending: &str) -> BTreeSet<String> {
    let files = std::fs::read_dir(folder()).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
    files.filter_map(|f| f.strip_suffix(ending).map(str::to_string)).collect()
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
            writeln!(out, "  {line}:{column} {:?}: {label}", &text[span.start..span.end]).unwrap();
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
    let bless = std::env::var_os("BLESS").is_some_and(|v| v == "1");
    let mut wrong = Vec::new();
    for name in names(".pg2") {
        let text = std::fs::read_to_string(folder().join(format!("{name}.pg2"))).unwrap();
        let got = render(&text, &findings(&text));
        let golden = folder().join(format!("{name}.txt"));
        if bless {
            std::fs::write(&golden, &got).unwrap();
        }
        let want = std::fs::read_to_string(&golden).unwrap_or_default();
        if got != want {
            wrong.push(format!("{name}:\n{got}"));
        }
    }
    assert!(wrong.is_empty(), "not as recorded (BLESS=1 records):\n{}", wrong.join("\n"));
    assert_eq!(names(".pg2"), names(".txt"), "each source has its record and each record its source");
}

#[test]
fn every_finding_has_a_remedy_and_its_code_is_in_the_table() {
    for name in names(".pg2") {
        let text = std::fs::read_to_string(folder().join(format!("{name}.pg2"))).unwrap();
        for d in findings(&text) {
            assert!(d.help.is_some(), "{name}: {d:#?}");
            assert!(CODES.iter().any(|c| c.0 == d.code), "{name}: {}", d.code);
        }
    }
}

#[test]
fn goldens_cover_the_codes() {
    let mut seen = BTreeSet::new();
    for name in names(".pg2") {
        let text = std::fs::read_to_string(folder().join(format!("{name}.pg2"))).unwrap();
        seen.extend(findings(&text).into_iter().map(|d| d.code));
    }
    // These need long or deep texts and are tested with the rules and the hostile texts.
    let elsewhere = ["PG0006", "PG0007", "PG0010", "PG0028", "PG0053"];
    let missing: Vec<&str> =
        CODES.iter().map(|c| c.0).filter(|c| !seen.contains(c) && !elsewhere.contains(c)).collect();
    assert!(missing.is_empty(), "no golden file shows {missing:?}");
}
