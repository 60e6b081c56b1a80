//! The book: every page has its place, every link leads somewhere, and what follows from the source stands as it says; `BLESS=1`
//! writes that anew. Keys of JSON are those of the page that lists them.

use crate::common::Place;
use pairforge::backends::BACKENDS;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use testkit::document::{follows, part};
use testkit::golden;

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).expect("the page exists")
}

/// Pages of a folder, and of the folders in it where these are asked for too.
fn markdown(folder: &Path, is_deep: bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is part of the repository");
    let paths = entries.map(|e| e.expect("it can be listed").path());
    let of = |path: PathBuf| match path.is_dir() {
        true if is_deep => markdown(&path, true),
        true => Vec::new(),
        false => Vec::from_iter(path.extension().is_some_and(|e| e == "md").then_some(path)),
    };
    paths.flat_map(of).collect()
}

/// Every page of the documentation with its text.
pub fn pages() -> Vec<(PathBuf, String)> {
    let mut paths = markdown(root(), false);
    paths.extend(markdown(&root().join("docs"), true));
    paths.sort();
    paths.into_iter().map(|p| (p.clone(), fs::read_to_string(&p).expect("pages are UTF-8"))).collect()
}

/// The text without fenced and indented blocks and `code`, so that what looks like a link there is none.
fn prose(text: &str) -> String {
    let (mut fenced, mut after_blank, mut indented) = (false, true, false);
    let mut out = String::new();
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        indented = line.starts_with("    ") && (indented || after_blank) && !line.trim_start().starts_with("- ");
        if !fenced && !fence && !indented {
            out.extend(line.split('`').step_by(2));
            out.push('\n');
        }
        fenced ^= fence;
        after_blank = line.trim().is_empty();
    }
    out
}

/// Where the links of a page lead to.
fn links(text: &str) -> Vec<String> {
    prose(text).split("](").skip(1).filter_map(|rest| rest.split(')').next()).map(String::from).collect()
}

/// The name by which a heading is linked to: lower case, spaces to dashes, punctuation dropped.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[test]
fn every_relative_link_points_to_a_file_and_a_heading() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for (path, text) in pages() {
        for link in links(&text).iter().filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').map_or((link.as_str(), None), |(f, h)| (f, Some(h)));
            let folder = path.parent().expect("a page lies in a folder");
            let target = if file.is_empty() { path.clone() } else { folder.join(file) };
            seen += 1;
            if !target.exists() {
                wrong.push(format!("{} links to {link}, which does not exist", path.display()));
            } else if let Some(heading) = heading {
                let text = fs::read_to_string(&target).expect("headings are linked to in pages");
                if !text.lines().filter(|l| l.starts_with('#')).any(|l| anchor(l.trim_matches('#')) == heading) {
                    wrong.push(format!("{} links to {link}, which has no such heading", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen >= 100, "only {seen} links were found");
}

#[test]
fn every_page_has_its_place_in_the_book() {
    let docs = root().join("docs");
    let listed = links(&page("docs/SUMMARY.md"));
    let places: BTreeSet<PathBuf> = listed.iter().map(|link| docs.join(link)).collect();
    assert_eq!(places.len(), listed.len(), "a page stands twice in docs/SUMMARY.md");
    let pages = markdown(&docs, true).into_iter().filter(|p| !p.ends_with("SUMMARY.md"));
    let missing: Vec<PathBuf> = pages.filter(|p| !places.contains(p)).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md does not list {missing:?}");
}

#[test]
fn the_readme_is_short() {
    let bytes = page("README.md").len();
    assert!(bytes <= 6144, "README.md has {bytes} bytes: what it says in detail belongs into docs/");
}

#[test]
fn tables_of_backends_and_kernels_are_those_of_the_program() {
    let yes = |is: bool| if is { "yes" } else { "no" };
    let mut table = "| name | what it runs | bits | clock | waves | needs |\n|---|---|---|---|---|---|".to_string();
    for b in BACKENDS {
        let flags = format!("{} | {} | {}", yes(b.exact), yes(b.clocked), yes(b.traced));
        table += &format!("\n| `{}` | {} | {flags} | {} |", b.usage(), b.summary, b.needs.text());
    }
    let file = "docs/reference/backends.md";
    follows(&root().join(file), part(&page(file), "| name |"), &table);
    let rows: String = pg2::kernels::all().map(|k| format!("\n| `{}` | {} |", k.0, k.1.replace('|', "\\|"))).collect();
    let file = "docs/reference/kernels.md";
    let table = format!("| name | what it computes |\n|---|---|{rows}");
    follows(&root().join(file), part(&page(file), "| name |"), &table);
}

/// The figure of README.md is the one that its command draws.
#[test]
fn the_figure_of_a_schedule_is_the_one_that_explain_draws() {
    let place = Place::new();
    place.run("explain p2p_paper --svg pipeline.svg").expect(0);
    golden::check(&root().join("docs/pipeline.svg"), &place.text("pipeline.svg"));
}

/// Names of all keys in an object, in what it holds too.
fn keys(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => entries.iter().for_each(|(key, value)| {
            names.insert(key.clone());
            keys(value, names);
        }),
        Value::Array(values) => values.iter().for_each(|value| keys(value, names)),
        _ => {}
    }
}

/// A section of a page: what stands below a heading up to the next one of its rank.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let start = text.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no heading {heading}")) + 1;
    let rest = &text[start + heading.len()..];
    let rank = format!("\n{} ", heading.split(' ').next().expect("a heading has a rank"));
    &rest[..rest.find(&rank).unwrap_or(rest.len())]
}

#[test]
fn every_key_of_json_is_on_its_page() {
    let text = page("docs/reference/json.md");
    let place = Place::new();
    place.write("i.csv", "xi[0],xi[1],xi[2]\n0,0,0\n0.25,0,0\n");
    place.write("j.csv", "xj[0],xj[1],xj[2],mj\n0,0,0,1\n0.25,0,0,2\n0,0.125,0,-1\n");
    place.write("atoms.csv", "xj[0],xj[1],xj[2]\n0,0,0\n0.25,0,0\n0,0.125,0\n");
    place.write(
        "spring.pg2",
        "float18.9 x ipin in 0..1; float18.9 y jpin in 2..3; fixed32.16 o fout; d = y - x; o += (fixed32.16)(d * d);",
    );
    let records = "--i i.csv --j j.csv --param eps2=0";
    let commands = [
        ("## run", format!("run p2p {records} --report r.html --json k.json")),
        ("## run", format!("run p2p {records} --param eps2=1e30 --json k.json").replace("--param eps2=0 ", "")),
        (
            "## run",
            "run lennard_jones --i i.csv --j atoms.csv --param box=10 --param cut2=6.25 --param ecut=0 --cells 0.25 --periodic 1 --json k.json"
                .to_string(),
        ),
        ("## explore", format!("explore p2p {records} --vary float25.16=8..9 --json k.json")),
        ("### explore --tol", "explore spring.pg2 --tol 0.1 --json k.json".to_string()),
        ("## build", "build p2p_paper --report r.html -o one".to_string()),
        ("## build", "build p2p_paper p2p_small -o two --pipelines 1".to_string()),
        ("## fmm", "fmm --n 500 --check 50 --hessian --report r.html --json k.json".to_string()),
        ("## fmm", "fmm --n 300 --backend emulator --budget --json k.json".to_string()),
        ("## fmm", "fmm --n 300 --eps 0.1 --check 10 --json k.json".to_string()),
        ("### ranks", "fmm --n 500 --ranks 2 --json k.json".to_string()),
        ("### Prediction", "fmm --n 300 --predict ulx3s --pipelines 2 --leaf 64 --json k.json".to_string()),
        ("## fmm2", "fmm2 --n 500 --kernel log --check 50 --json k.json".to_string()),
        ("## explain --error", "explain p2p --error --json k.json".to_string()),
        ("## explain --roofline", "explain p2p --roofline --n 1000 --json k.json".to_string()),
        ("## doctor", "doctor --json k.json".to_string()),
        ("## prove", "prove spring.pg2 --seconds 0 --samples 9 --json k.json".to_string()),
    ];
    for (heading, command) in commands {
        place.run(&command).expect(0);
        let value = match command.split(" -o ").nth(1).and_then(|rest| rest.split(' ').next()) {
            Some(folder) => place.json(&format!("{folder}/manifest.json")),
            None => place.json("k.json"),
        };
        listed(&text, heading, &value, &command);
    }
    let summary = serde_json::json!(flow::summary::Summary {
        kernels: vec![flow::summary::Engine::default()],
        ..flow::summary::Summary::default()
    });
    listed(&text, "## synth", &summary, "synth");
}

/// Asserts that a section names every key, those of the sections that it stands on included.
fn listed(text: &str, heading: &str, value: &Value, command: &str) {
    let part = match heading {
        // The keys of ranks come beside those of `fmm`, as those of a prediction share names with them.
        "### ranks" | "### Prediction" | "## fmm2" => section(text, "## fmm").to_string() + section(text, heading),
        _ => section(text, heading).to_string(),
    };
    let mut names = BTreeSet::new();
    keys(value, &mut names);
    assert!(names.len() > 8, "{command}: {names:?}");
    let missing: Vec<&String> = names.iter().filter(|key| !part.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "`{heading}` of docs/reference/json.md does not name {missing:?} of `{command}`");
}
