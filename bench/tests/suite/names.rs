//! The names of benchmarks: the page on measuring has each with a command that runs it.

use crate::common::Place;
use std::path::Path;

#[test]
fn every_benchmark_has_its_row() {
    let ended = Place::new().run("nothing").expect(2);
    let list = ended.err.trim().split("the benchmarks are ").nth(1).expect("the refusal lists them");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks.md");
    let (text, names) = (std::fs::read_to_string(page).expect("the page"), list.split(", ").collect::<Vec<_>>());
    assert!(names.len() > 8, "{}", ended.err);
    for name in names {
        assert!(text.contains(&format!("`pairforge-bench {name}")), "docs/benchmarks.md does not name {name}");
    }
}

#[test]
fn every_kernel_has_its_figure() {
    let out = Place::new().run("build --repeat 1").expect(0).out;
    assert!(out.starts_with("build: ") && out.matches("KiB of Verilog").count() == 4, "{out}");
}
