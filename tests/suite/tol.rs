//! `explore --tol`: formats that are found for an error.

use crate::common::Place;
use crate::common::command::has;
use serde_json::Value;

const KERNEL: &str = "// A spring whose length is never 0.
float32.23 x    ipin in 0..1;
float32.23 y    jpin in 2..3;
float32.23 k    jpin in 0.5..1;
float32.23 soft param = 0.25;
fixed64.40 sum  fout;

d = y - x;  // at least 1
q = pg_sqrt(d * d + soft);
sum += (fixed64.40)(k * q * d);
";

fn place() -> Place {
    let p = Place::new();
    p.write("k.pg2", KERNEL);
    p
}

/// Records of columns, each between two numbers, by a generator (SplitMix64).
fn records(columns: &[(&str, f64, f64)], count: usize, seed: u64) -> String {
    let mut random = pg2::error::trial::Bits(seed);
    let mut row = || {
        let one = |(_, low, high): &(&str, f64, f64)| {
            let part = (random.draw() >> 11) as f64 * 2f64.powi(-53);
            format!("{}", low + (high - low) * part)
        };
        columns.iter().map(one).collect::<Vec<_>>().join(",") + "\n"
    };
    let names: Vec<&str> = columns.iter().map(|c| c.0).collect();
    names.join(",") + "\n" + &(0..count).map(|_| row()).collect::<String>()
}

fn number(json: &Value, key: &str) -> f64 {
    json[key].as_f64().unwrap_or_else(|| panic!("no {key} in {json}"))
}

/// The relative L2 error of a kernel's bits against what another one means, on the records of a place.
fn error(p: &Place, kernel: &str, meant: &str) -> f64 {
    p.run(&format!("run {kernel} --i i.csv --j j.csv -o bits.csv")).expect(0);
    p.run(&format!("run {meant} --i i.csv --j j.csv --backend cpu -o real.csv")).expect(0);
    let read =
        |name: &str| -> Vec<f64> { p.text(name).lines().skip(1).map(|line| line.parse().expect("a number")).collect() };
    let (bits, real) = (read("bits.csv"), read("real.csv"));
    let off: f64 = bits.iter().zip(&real).map(|(a, b)| (a - b).powi(2)).sum();
    (off / real.iter().map(|b| b * b).sum::<f64>()).sqrt()
}

#[test]
fn the_printed_program_has_the_error_that_is_stated_at_less_cost_than_one_format() {
    let p = place();
    let ended = p.run("explore k.pg2 --tol 1e-3 -o found.pg2 --json t.json").expect(0);
    let (json, text) = (p.json("t.json"), p.text("found.pg2"));
    assert_eq!(json["program"].as_str(), Some(text.as_str()));
    has(&ended.out, &["sum: relative L2 error", "drawn from the ranges of the pins", "saved against that"]);
    // What is not a format stays, comments too.
    has(&text, &["// A spring whose length is never 0.", "// at least 1", "= 0.25;", "in 0.5..1;"]);
    let cost = number(&json, "cost");
    assert!(cost < number(&json["uniform"], "cost"), "{json}");
    assert!(number(&json, "error") <= 1e-3 && number(&json, "error") > 1e-5, "{json}");
    assert!(json["formats"].as_array().is_some_and(|f| f.iter().any(|f| f["written"] != f["found"])), "{json}");
    // Each value has its own format: they are not all one.
    let formats: std::collections::BTreeSet<&str> = json["formats"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|f| f["found"].as_str())
        .filter(|f| f.starts_with("float"))
        .collect();
    assert!(formats.len() > 1, "{json}");
    // On draws of which the search knows nothing.
    for seed in 1..4 {
        p.write("i.csv", records(&[("x", 0.0, 1.0)], 48, 100 + seed));
        p.write("j.csv", records(&[("y", 2.0, 3.0), ("k", 0.5, 1.0)], 128, 200 + seed));
        let found = error(&p, "found.pg2", "k.pg2");
        assert!(found <= 1e-3, "{found} with seed {seed}");
    }
    // The same again to the byte, on standard output.
    assert_eq!(p.run("explore k.pg2 --tol 1e-3").expect(0).out, text);
}

#[test]
fn on_records_the_stated_error_is_that_of_a_run() {
    let p = place();
    p.write("i.csv", records(&[("x", 0.0, 1.0)], 20, 5));
    p.write("j.csv", records(&[("y", 2.0, 3.0), ("k", 0.5, 1.0)], 30, 5));
    p.run("explore k.pg2 --i i.csv --j j.csv --tol 1e-2 --keep x,soft,sum -o found.pg2 --json t.json").expect(0);
    let text = p.text("found.pg2");
    has(&text, &["float32.23 x  ", "float32.23 soft", "fixed64.40 sum", "(fixed64.40)"]);
    assert!(!text.contains("float32.23 y"), "{text}");
    let (stated, found) = (number(&p.json("t.json"), "error"), error(&p, "found.pg2", "k.pg2"));
    assert!((stated - found).abs() <= 1e-6 * found && found <= 1e-2, "{stated} {found}");
}

#[test]
fn a_proven_tolerance_bounds_what_explain_bounds() {
    let p = place();
    p.write("p.pg2", KERNEL.replace("param = 0.25", "param in 0.25..0.5"));
    let out = p.run("explore p.pg2 --param soft=0.25 --tol 2e-2 --proven --json t.json").expect(0).out;
    p.write("found.pg2", &out);
    p.run("explain found.pg2 --error --json e.json").expect(0);
    let (json, bounds) = (p.json("t.json"), p.json("e.json"));
    let value = &bounds["outputs"][0];
    let part = number(value, "absolute") / number(value, "high").abs().max(number(value, "low").abs());
    let bound = value["relative"].as_f64().unwrap_or(f64::INFINITY).min(part);
    assert!(bound <= 2e-2 && (bound - number(&json, "bound")).abs() <= 1e-9, "{bound} {json}");
    // Bounds are of numbers in the formats of the pins, which stay.
    assert_eq!(out.matches("float32.23 ").count(), 4, "{out}");
    assert!(number(&json, "cost") <= number(&json["uniform"], "cost"), "{json}");
}

#[test]
fn what_cannot_be_met_is_refused_with_what_would_help() {
    let p = place();
    let refused = |words: &str, status: i32, parts: &[&str]| has(&p.run(words).expect(status).err, parts);
    refused("explore k.pg2 --tol 1e-30", 1, &["no formats give an error below 1e-30", "the least", "larger --tol"]);
    p.write("free.pg2", KERNEL.replace(" in 2..3", ""));
    refused("explore free.pg2 --tol 1e-3", 1, &["`y` states no range", "--i and --j", "float32.23 y jpin in 0..1;"]);
    p.write("ints.pg2", "int32 a ipin in 0..9; int32 b jpin in 0..9; int32 s fout; s += a * b;");
    refused("explore ints.pg2 --tol 1e-3", 1, &["no float, fixed or log", "exact"]);
    p.write("open.pg2", "float32.23 x ipin; float32.23 y jpin; fixed64.30 s fout; s += (fixed64.30)(1 / (y - x));");
    p.write("i.csv", "x\n1\n2\n");
    p.write("j.csv", "y\n3\n4\n");
    refused("explore open.pg2 --i i.csv --j j.csv --tol 1e-3 --proven", 1, &["no formats", "s:", "state a range"]);
    refused("explore k.pg2 --tol 2", 2, &["between 0 and 1"]);
    refused("explore k.pg2 --tol 1e-3 --vary float32.23=8..9", 2, &["cannot be used with"]);
    refused("explore k.pg2 --i i.csv --tol 1e-3", 2, &["--j"]);
    refused("explore k.pg2 --proven", 2, &["--tol"]);
    refused("explore k.pg2 --keep x --vary float32.23=8..9", 2, &["--tol"]);
    refused("explore k.pg2 --tol 1e-3 --keep x,z", 1, &["no pin and no float named `z`", "x, y, k, soft, sum"]);
    refused("explore k.pg2 --tol 1e-3 -o found.svg", 1, &[".pg2"]);
    assert!(!p.names().iter().any(|n| n.starts_with("found")));
}
