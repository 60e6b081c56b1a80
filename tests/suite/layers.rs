//! Imports run one way: the modules of a crate are layers in an order, and none uses a later one. docs/architecture.md shows them.

use crate::book::{page, root};
use std::fs;
use std::path::{Path, PathBuf};

/// The source folder of each crate and its layers, each before those that are made of it; of crates without an order all modules.
const LAYERS: &[(&str, &[&str])] = &[
    ("hdl/src", &["hash", "number", "rtl", "circuit", "op", "engine", "serial", "ethernet", "board", "export"]),
    (
        "pg2/src",
        &[
            "diag", "syntax", "graph", "check", "middle", "error", "backend", "report", "gen_m2l", "kernels", "vary",
            "fpcore",
        ],
    ),
    (
        "sim/src",
        &[
            "error",
            "process",
            "ask",
            "stimuli",
            "reference",
            "emulator",
            "testbench",
            "cache",
            "verilator",
            "bench",
            "wave",
            "cycle",
            "board",
        ],
    ),
    (
        "fmm/src",
        &["shown", "clock", "parallel", "arith", "data", "tree", "direct", "expansion", "stages", "octree", "plane"],
    ),
    ("pipelines/src", &["encode", "job", "driver", "backends", "octree", "plane", "cells", "predict"]),
    ("gpu/src", &["cuda", "backend", "octree", "plane"]),
    (
        "pairforge/src",
        &["error", "setters", "turn", "backends", "random", "manifest", "kernel", "fmm", "plane", "nbody"],
    ),
    (
        "terminal/src",
        &[
            "failure",
            "launch",
            "declared",
            "output",
            "memory",
            "input",
            "particles",
            "snapshot",
            "include",
            "source",
            "files",
            "csv",
            "vtk",
            "progress",
            "tables",
            "chart",
            "report",
            "count",
            "program",
            "bench",
        ],
    ),
    ("src", &["manifest", "cmd"]),
    ("python/src", &["errors", "arrays", "work", "kernel", "options", "fmm", "plane", "direct", "device"]),
];

#[test]
fn no_layer_uses_a_later_one() {
    for (folder, layers) in LAYERS {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut found = Vec::new();
        for (place, layer) in layers.iter().enumerate() {
            for file in files(&source, layer) {
                let text = fs::read_to_string(&file).unwrap();
                let depth = file.strip_prefix(&source).unwrap().components().count();
                for (number, line) in statements(production(&text)) {
                    let later = layers[place + 1..].iter().find(|later| uses(&line, depth, later));
                    found.extend(later.map(|later| {
                        format!("{}:{number}: `{layer}` uses `{later}`: {}", file.display(), line.trim())
                    }));
                }
            }
        }
        assert!(found.is_empty(), "in {folder}, whose order is {layers:?}:\n{}", found.join("\n"));
    }
}

#[test]
fn every_file_of_a_crate_is_in_a_layer() {
    for (folder, layers) in LAYERS {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for entry in fs::read_dir(&source).unwrap().map(|e| e.unwrap().path()) {
            let name = entry.file_stem().unwrap().to_str().unwrap();
            let is_known = layers.contains(&name) || ["lib", "main"].contains(&name);
            assert!(is_known, "{} stands in no order of layers", entry.display());
        }
    }
}

#[test]
fn a_use_is_seen_wherever_it_stands_in_a_path() {
    assert!(uses("use crate::op::facts;", 1, "op"));
    assert!(uses("    let a = crate::op::OPERATORS.len();", 1, "op"));
    assert!(uses("use crate::{Flags, op::Inst};", 1, "op"));
    assert!(uses("use super::op::Inst;", 1, "op"));
    assert!(uses("use super::super::op::Inst;", 2, "op"));
    assert!(!uses("use super::op::Inst;", 2, "op"));
    assert!(!uses("use crate::option::Op;", 1, "op"));
    assert!(!uses("//! See [`crate::op::Operator`].", 1, "op"));
    let long = "use crate::{\n    Flags,\n    op::Inst,\n};\nuse std::fs;\n";
    let joined: Vec<(usize, String)> = statements(production(long)).collect();
    assert_eq!(joined.len(), 2);
    assert!(uses(&joined[0].1, 1, "op"));
    assert_eq!(joined[1].0, 5);
}

/// A misspelt constant does not compile, and a misspelt string is never equal to anything.
#[test]
fn operators_are_named_by_constants_outside_of_hdl() {
    let mut found = Vec::new();
    for (folder, layers) in LAYERS.iter().filter(|r| r.0 != "hdl/src") {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for file in layers.iter().flat_map(|layer| files(&source, layer)) {
            let text = fs::read_to_string(&file).unwrap();
            for (number, line) in statements(production(&text)) {
                if names_an_operator(&line) {
                    found.push(format!("{}:{number}: {}", file.display(), line.trim()));
                }
            }
        }
    }
    assert!(found.is_empty(), "write `hdl::op::int::ADD` and so on:\n{}", found.join("\n"));
}

/// Whether a statement compares an operator's name, or looks an operator up by a text.
fn names_an_operator(line: &str) -> bool {
    let compared = ["op.name() ==", "op.name() !=", "match op.name()", "matches!(op.name()", "op.name().starts_with"];
    compared.iter().any(|text| line.contains(text)) || line.contains("operator(\"")
}

#[test]
fn a_name_in_a_comparison_is_seen() {
    for line in ["if op.name() == \"mux\" {", "match op.name() {", "let op = hdl::op::operator(\"pow\")?;"] {
        assert!(names_an_operator(line), "{line}");
    }
    assert!(!names_an_operator("write!(f, \"{}\", op.name())?;"));
}

/// The figure of docs/architecture.md: crates from `cargo metadata`, each behind those that it is made of, with their layers.
#[test]
fn the_figure_of_crates_is_that_of_the_workspace() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let asked = ["metadata", "--no-deps", "--offline", "--locked", "--format-version", "1"];
    let ended = std::process::Command::new(cargo).args(asked).current_dir(root()).output().expect("cargo runs");
    let all: serde_json::Value = serde_json::from_slice(&ended.stdout).expect("cargo's own JSON");
    let packages = all["packages"].as_array().expect("the members of the workspace");
    let name = |package: &serde_json::Value| package["name"].as_str().expect("a name").to_string();
    let own: Vec<String> = packages.iter().map(name).collect();
    let needs = |package: &serde_json::Value| -> Vec<String> {
        let all = package["dependencies"].as_array().expect("a list").iter();
        let normal = all.filter(|d| d["kind"].is_null()).map(name);
        normal.filter(|name| own.contains(name)).collect()
    };
    let mut rest: Vec<&serde_json::Value> = packages.iter().filter(|p| name(p) != "pairforge-testkit").collect();
    rest.sort_by_key(|p| (needs(p).len(), name(p)));
    let (mut known, mut lines) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        let next = rest.iter().position(|p| needs(p).iter().all(|n| known.contains(n))).expect("imports run one way");
        let package = rest.remove(next);
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        let folder = manifest.parent().and_then(|f| f.strip_prefix(root()).ok()).expect("a folder of the repository");
        let source = folder.join("src").display().to_string();
        let layers = LAYERS.iter().find(|(f, _)| *f == source).map(|(_, layers)| layers.join(" "));
        let short = |name: &String| name.trim_start_matches("pairforge-").to_string();
        let on: Vec<String> = needs(package).iter().map(short).collect();
        let on = if on.is_empty() { "-".into() } else { on.join(" ") };
        lines.push(format!("{:<20} {source:<14} on {on}", name(package)));
        lines.extend(layers.map(|layers| format!("    {layers}")));
        known.push(name(package));
    }
    let text = page("docs/architecture.md");
    let head = "crate                folder         crates that it is made of, and its layers";
    let want = format!("{head}\n\n{}\n", lines.join("\n"));
    let start = text.find(head).expect("the page has the figure");
    let have = &text[start..start + text[start..].find("```").expect("it ends")];
    testkit::document::follows(&root().join("docs/architecture.md"), have, &want);
}

/// The code map of docs/architecture.md: a module that it names stands in the folder or the layer where it is named.
#[test]
fn every_module_that_the_code_map_names_exists() {
    let text = page("docs/architecture.md");
    let (_, map) = text.split_once("## Code map").expect("the page has a code map");
    let map = map.split("\n## ").next().unwrap_or(map);
    let (mut folder, mut layer, mut is_by_layer, mut seen) = ("", "", false, 0);
    for line in map.lines() {
        if let Some((named, _)) = line.strip_prefix("**`").and_then(|line| line.split_once("/`")) {
            (folder, layer) = (named, "");
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if !line.starts_with('|') || cells[0].starts_with("---") {
            continue;
        }
        if ["layer", "file"].contains(&cells[0]) {
            is_by_layer = cells[0] == "layer";
            continue;
        }
        let words = |cell: &str| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(String::from).collect() };
        let own = words(cells[0]);
        layer = own.first().map_or(layer, |_| cells[0].split('`').nth(1).unwrap_or(layer));
        let named = if is_by_layer { [own, words(cells[1])].concat() } else { own };
        // A path from the root is one of templates or data.
        for name in named.iter().filter(|name| !name.starts_with(folder)) {
            let name = name.trim_end_matches(".rs").trim_end_matches('/');
            let source = root().join(folder).join("src");
            let places = [source.join(name), source.join(layer).join(name), root().join(folder).join(name)];
            let is_there = |place: &PathBuf| place.is_dir() || place.with_extension("rs").is_file();
            assert!(places.iter().any(is_there), "{folder}/ has no `{name}` (in `{layer}`), which the code map names");
            seen += 1;
        }
    }
    assert!(seen > 200, "only {seen} names were found");
}

/// Whether a statement names the layer in a path from the crate's root. `depth` is that of its module: 1 for the file of a
/// layer, for which `super` is the root, 2 for a file in its folder.
fn uses(line: &str, depth: usize, layer: &str) -> bool {
    if line.trim_start().starts_with("//") {
        return false;
    }
    let word = |text: &str| {
        let rest = text.strip_prefix(layer)?;
        (!rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')).then_some(())
    };
    let supers = "super::".repeat(depth);
    ["crate::", &supers]
        .iter()
        .flat_map(|root| line.match_indices(root).map(move |(at, _)| &line[at + root.len()..]))
        .any(|path| match path.strip_prefix('{') {
            Some(list) => list.split([',', '{', '}']).any(|item| word(item.trim()).is_some()),
            None => word(path).is_some(),
        })
}

/// Lines with their numbers, the lines of a long `use` joined.
fn statements<'t>(mut lines: impl Iterator<Item = (usize, &'t str)>) -> impl Iterator<Item = (usize, String)> {
    std::iter::from_fn(move || {
        let (number, first) = lines.next()?;
        let mut all = first.to_string();
        let is_use = first.trim_start().trim_start_matches("pub ").starts_with("use ");
        while is_use && !all.contains(';') {
            all += lines.next()?.1.trim();
        }
        Some((number, all))
    })
}

/// The lines of a file before its tests, with their numbers.
fn production(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let tests = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    text[..tests].lines().enumerate().map(|(k, line)| (k + 1, line))
}

/// The files of a layer: `ROOM.rs` and what stands in `ROOM/`, files of tests left out.
fn files(source: &Path, layer: &str) -> Vec<PathBuf> {
    let mut found = vec![source.join(format!("{layer}.rs"))];
    let mut folders = vec![source.join(layer)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.map(|e| e.unwrap().path()) {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            match path.is_dir() {
                true => folders.push(path),
                false if name.ends_with("tests") => {}
                false => found.push(path),
            }
        }
    }
    found.retain(|file| file.extension().is_some_and(|e| e == "rs") && file.exists());
    found
}
