//! The library: what follows from the row of a function, and what is written elsewhere about it. `BLESS=1` writes the table
//! in `docs/pg2.md` and the fuzzer's words anew.

use crate::documents::{follows, root, table};
use hdl::Format;
use hdl::op::Attrs;
use pg2::diag::edited;
use pg2::graph::{Graph, NodeKind};
use pg2::syntax::functions::{Class, FUNCTIONS, Function, Kind, Rule, function, meant};
use pg2::syntax::{ast, lex, names, parse};

#[test]
fn the_language_reference_has_the_row_of_every_function() {
    let text = std::fs::read_to_string(root().join("docs/pg2.md")).unwrap();
    let table = table(&text, "| function |");
    let row = |f: &Function| format!("| `{}` | {} | {} |", f.call(), f.formats(), f.text.replace('|', "\\|"));
    let rows: Vec<String> = FUNCTIONS.iter().map(row).collect();
    follows("docs/pg2.md", table, &format!("| function | formats | value |\n|---|---|---|\n{}", rows.join("\n")));
}

#[test]
fn the_fuzzer_knows_the_words_of_the_language() {
    let formats = lex::FORMATS.iter().map(|class| {
        let numbers = if class.ends_with("int") { "32" } else { "17.8" };
        format!("{class}{numbers}")
    });
    let mut words: Vec<String> = parse::RESERVED.iter().map(|w| w.to_string()).collect();
    words.extend(names::CLASSES.iter().filter(|c| !parse::RESERVED.contains(c)).map(|w| w.to_string()));
    words.push("round".into());
    words.extend(formats);
    words.extend(FUNCTIONS.iter().map(|f| format!("{}(", f.name)));
    words.extend(ast::BINARY.iter().map(|b| b.1.to_string()));
    words.extend(["+=", "-=", "max=", "min=", "..", "?", "/*", "*/", "//"].map(String::from));
    let lines: Vec<String> = words.iter().map(|w| format!("\"{w}\"")).collect();
    let want = format!("# Words of PG2, for the fuzzer's mutations.\n{}\n", lines.join("\n"));
    let have = std::fs::read_to_string(root().join("fuzz/pg2.dict")).unwrap();
    follows("fuzz/pg2.dict", &have, &want);
}

/// The format of what a function makes of arguments of that format.
fn result(f: &Function, format: Format) -> Format {
    let args = vec![format; f.params.len()];
    let operator = f.takes(format).and_then(|t| t.operator);
    // Powers have numbers, and vectors more elements; their results have the argument's format.
    operator.and_then(|op| op.result(&args, &Attrs::default()).ok()).unwrap_or(format)
}

/// A kernel that calls a function with an argument of that format.
fn kernel(f: &Function, name: &str, format: Format) -> String {
    let first = match f.params[0].kind {
        Kind::Vector | Kind::Vectors => "v",
        Kind::Matrix => "m",
        _ => "x",
    };
    let to = format.to_string();
    let argument = |(k, p): (usize, &pg2::syntax::functions::Param)| match (k, p.kind, p.name) {
        (0, ..) => first,
        (_, Kind::Format, _) => to.as_str(),
        (_, Kind::Vectors, _) => "v",
        (_, Kind::Value | Kind::Vector | Kind::Matrix, _) => "y",
        (_, Kind::Real, _) => "x + 1",
        (_, _, "lo") => "0",
        (_, _, "hi") => "0.25",
        _ => "1",
    };
    let args: Vec<&str> = f.params.iter().enumerate().map(argument).collect();
    let part = match (first, &f.rule) {
        ("m", _) => "[0][0]",
        (_, Rule::Cross) => "[0]",
        _ => "",
    };
    let result = result(f, format);
    format!(
        "{format} x jpin;\n{format} y jpin;\n{format} v[3] jpin;\n{format} m[2][2] jpin;\n{result} o fout;\n\
         z = {name}({});\no max= z{part};\n",
        args.join(", ")
    )
}

/// The operators of a kernel, in order.
fn operators(graph: &Graph) -> Vec<&'static str> {
    let name = |node: &pg2::graph::Node| match &node.kind {
        NodeKind::Op { op, .. } => Some(op.name()),
        _ => None,
    };
    graph.nodes.iter().filter_map(name).collect()
}

const FORMATS: &[&str] = &[
    "int8",
    "uint64",
    "fixed16.8",
    "ufixed32.31",
    "fixed33.16",
    "float9.4",
    "float18.9",
    "float32.23",
    "float33.24",
    "log17.8",
];

#[test]
fn a_function_takes_the_formats_of_its_row_and_becomes_the_operator_there() {
    for f in FUNCTIONS {
        for format in FORMATS.iter().map(|t| t.parse::<Format>().unwrap()) {
            let text = kernel(f, f.name, format);
            let size = if format.is_float() { format.mant() } else { format.width() };
            let takes = f.takes(format).filter(|t| size <= t.most);
            match (pg2::compile("function", &text), takes) {
                (Ok(compiled), Some(takes)) => {
                    // These are made of steps.
                    if matches!(f.rule, Rule::Inner | Rule::Cross) {
                        continue;
                    }
                    let wanted: Vec<&str> = takes.operator.iter().map(|op| op.name()).collect();
                    assert_eq!(operators(&compiled.graph), wanted, "{text}");
                }
                (Err(errors), None) => {
                    let one = &errors[..1];
                    assert!(one[0].code == "PG0042" && one[0].help.is_some(), "{text}{errors:#?}");
                }
                (got, _) => {
                    panic!("{} of {format}, of which the row says {:?}:\n{text}{:#?}", f.name, f.formats(), got.err())
                }
            }
        }
    }
}

#[test]
fn the_names_of_other_languages_are_mended_to_the_function() {
    for f in FUNCTIONS.iter().filter(|f| f.name != "pg_pow") {
        // A float where the function takes one.
        let taken = FORMATS.iter().map(|t| t.parse::<Format>().unwrap()).filter(|t| f.takes(*t).is_some());
        let format = taken.min_by_key(|t| *t != "float18.9".parse().unwrap());
        let right = kernel(f, f.name, format.unwrap());
        for alias in f.aliases {
            assert!(meant(alias).is_some_and(|m| m.name == f.name), "{alias}");
            for name in [alias.to_string(), format!("np.{alias}"), format!("std::{alias}")] {
                let mut text = kernel(f, &name, format.unwrap());
                for _ in 0..2 {
                    let found = pg2::compile("alias", &text).map_or_else(|e| e, |c| c.warnings);
                    let edits: Vec<_> = found.into_iter().flat_map(|d| d.edits).collect();
                    text = edited(&text, &edits);
                }
                assert_eq!(text, right, "{name}");
            }
        }
    }
}

#[test]
fn every_class_of_formats_is_tried() {
    for class in Class::ALL {
        assert!(FORMATS.iter().any(|t| Class::of(t.parse().unwrap()) == class), "{class:?}");
    }
    assert!(function("pg_sqrt").is_some() && function("sqrt").is_none());
}
