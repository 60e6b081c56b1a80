//! Broken programs of people who know other languages: the remedies of their findings, followed, give what was meant.

use crate::remedies::{Values, evaluate, findings, followed, values};
use hdl::op::OPERATORS;
use std::collections::BTreeSet;

/// Pins by their names: the format with the class, and the value.
const PINS: &[(&str, &str, &str)] = &[
    ("x", "float32.23 x jpin;", "x = 4"),
    ("y", "float32.23 y jpin;", "y = 3"),
    ("r", "float32.23 r jpin;", "r = 0.5"),
    ("v", "float32.23 v[3] jpin;", "v[0] = 3, v[1] = 4, v[2] = 5"),
    ("w", "float32.23 w[3] jpin;", "w[0] = 1, w[1] = 2, w[2] = 2"),
    ("k", "int32 k jpin;", "k = 7"),
    ("m", "int32 m jpin;", "m = 2"),
    ("n", "int32 n[3] jpin;", "n[0] = 1, n[1] = 2, n[2] = 3"),
    ("o", "fixed64.30 o fout;", ""),
    ("s", "int64 s fout;", ""),
];

/// A program with its pins, the values that it is given, and those that it is meant to give.
struct Program {
    text: String,
    inputs: Values,
    outputs: Values,
}

fn program(line: &str) -> Program {
    let (body, meant) = line.split_once(" => ").unwrap_or_else(|| panic!("no arrow in {line}"));
    let (outputs, given) = meant.split_once(" for ").unwrap_or((meant, ""));
    let body = body.replace("\\n", "\n");
    let words: BTreeSet<&str> = body.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    // A number in front of a name is no part of it.
    let names = |name: &str| {
        words.contains(name) || words.iter().any(|w| w.trim_start_matches(|c: char| c.is_ascii_digit()) == name)
    };
    let used = || PINS.iter().filter(|p| names(p.0));
    let declarations: String = used().map(|p| format!("{}\n", p.1)).collect();
    let mut inputs: Values = used().flat_map(|p| values(p.2)).collect();
    inputs.extend(values(given));
    Program { text: format!("{declarations}{body}\n"), inputs, outputs: values(outputs) }
}

/// Whether two texts are numbers that differ by no more than a float rounds.
fn near(a: &str, b: &str) -> bool {
    let number = |t: &str| t.parse::<f64>().unwrap_or(f64::NAN);
    let (a, b) = (number(a), number(b));
    (a - b).abs() <= 1e-6 * b.abs().max(1.0)
}

#[test]
fn what_people_of_other_languages_write_becomes_what_they_mean() {
    let text = include_str!("../idioms/programs.txt");
    let lines: Vec<&str> =
        text.lines().filter(|l| !l.is_empty() && !l.starts_with("# ") && !l.starts_with("## ")).collect();
    assert!(lines.len() >= 240, "{} programs", lines.len());
    let mut wrong = Vec::new();
    for line in lines {
        let Program { text, inputs, outputs } = program(line);
        let first = findings(&text);
        let mended = followed(&text);
        let compiled = match pg2::compile("habit", &mended) {
            Ok(compiled) => compiled,
            Err(errors) => {
                let list: Vec<String> = errors.iter().map(|e| format!("{}: {:?}", e.message, e.help)).collect();
                wrong.push(format!("{line}\nbecomes\n{mended}{}", list.join("\n")));
                continue;
            }
        };
        let given: Vec<String> = compiled.graph.pins.iter().map(|p| p.name.clone()).collect();
        let missing = inputs.keys().find(|k| !given.iter().any(|p| k.as_str() == p || k.starts_with(&format!("{p}["))));
        let got = if missing.is_none() { evaluate(&compiled.graph, &inputs) } else { Values::new() };
        let same = got.len() == outputs.len() && outputs.iter().all(|(n, v)| got.get(n).is_some_and(|g| near(g, v)));
        if !same {
            wrong.push(format!(
                "{line}\nbecomes\n{mended}and gives {got:?}; {:?}",
                first.iter().map(|d| &d.help).collect::<Vec<_>>()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} programs:\n\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Programs for which no edit is safe, and a piece of the sentence that they are given.
const SENTENCES: &[(&str, &str)] = &[
    ("for q in 0...3 { s += q; }", "`..3` ends before 3; to have 3 too write `..4`"),
    ("__global__ void f(float t) { s += k; }", "a kernel has no function around it"),
    ("__kernel void f(float t) { s += k; }", "a kernel has no function around it"),
    ("module f(input a); s += k;", "a kernel has no function around it"),
    ("subroutine f(a)\ns += k;", "a kernel has no function around it"),
    ("a = k + threadIdx.x;\ns += a;", "leave it out: a kernel is written for one target and one source"),
    ("for q in 3..0 { s += q; }\ns += k;", "loops count up"),
    ("s += k / 0;", "another divisor"),
    ("s += k % 0;", "another divisor"),
    ("while (k > 0) { s += 1; }", "`for k in 0..8"),
    ("switch (k) { case 0: s += 1; }", "else if"),
    ("struct p { float32.23 q; };\ns += k;", "declare one pin for each part"),
    ("printf(x);\ns += k;", "a circuit prints nothing"),
    ("o += (fixed64.30)sinhf(x);", "pg_fn(x, sinh(x), lo, hi)"),
];

#[test]
fn where_no_edit_is_safe_a_sentence_says_what_to_write() {
    for (body, piece) in SENTENCES {
        let text = program(&format!("{} => ", body.replace('\n', "\\n"))).text;
        let found = findings(&text);
        let helps: Vec<&str> = found.iter().filter_map(|d| d.help.as_deref()).collect();
        assert!(helps.iter().any(|h| h.contains(piece)), "{body}: {helps:?}");
    }
}

#[test]
fn casts_of_c_say_that_they_cut_off() {
    let text = "float32.23 x jpin;\nint64 s fout;\ns += (int)(x);\n";
    // With a function that cuts off it is written, and else told.
    let cuts = OPERATORS.iter().any(|op| op.name().contains("trunc"));
    let help = findings(text)[0].help.clone().unwrap_or_default();
    assert!(if cuts { help.contains("pg_trunc") } else { help.contains("C cuts off") }, "{help}");
}
