//! Answers about a document, without a client around them.

use crate::action::actions;
use crate::answer;
use crate::document::{Document, Open};
use serde_json::{Value, json};

const TEXT: &str = "// first\n// second\nfloat18.9 x jpin;\nfixed64.30 o fout;\nconst G = 3;\nfn twice(a, b) = 2 * a + b;\ny = x * G;\n\
                    if (y > 0) {\n    o += (fixed64.30)twice(y, y);\n}\n";

fn open(uri: &str, text: &str) -> Document {
    Document::new(uri.parse().expect("a URI"), text.into(), Some(1))
}

fn kernel(text: &str) -> Document {
    open("untitled:k", text)
}

/// The answer to a request; `more` is what it has beside a document.
fn ask(document: &mut Document, method: &str, more: Value) -> serde_json::Result<Value> {
    let mut params = json!({"textDocument": {"uri": document.uri.as_str()}});
    params.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    answer::find(&format!("textDocument/{method}")).expect("a known method")(document, &params)
}

fn at(line: u32, character: u32) -> Value {
    json!({"position": {"line": line, "character": character}})
}

/// The text after edits of the protocol, whose positions count bytes here.
fn applied(text: &str, edits: &Value) -> String {
    let lines: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|m| m.0 + 1)).collect();
    let offset = |p: &Value| lines[p["line"].as_u64().unwrap() as usize] + p["character"].as_u64().unwrap() as usize;
    let mut all: Vec<(usize, usize, &str)> = (edits.as_array().expect("a list").iter())
        .map(|e| (offset(&e["range"]["start"]), offset(&e["range"]["end"]), e["newText"].as_str().unwrap()))
        .collect();
    all.sort_unstable();
    let mut out = text.to_string();
    all.iter().rev().for_each(|(from, to, new)| out.replace_range(*from..*to, new));
    out
}

#[test]
fn a_name_is_given_another_one_everywhere() {
    let mut document = kernel(TEXT);
    let range = ask(&mut document, "prepareRename", at(6, 0)).unwrap();
    assert_eq!(
        (&range["start"], &range["end"]),
        (&json!({"line": 6, "character": 0}), &json!({"line": 6, "character": 1}))
    );
    let mut rename = |name: &str| {
        let mut more = at(6, 0);
        more["newName"] = json!(name);
        ask(&mut document, "rename", more)
    };
    let edits = rename("speed").unwrap()["changes"]["untitled:k"].clone();
    let wanted =
        TEXT.replace("y = x", "speed = x").replace("(y > 0)", "(speed > 0)").replace("(y, y)", "(speed, speed)");
    assert_eq!(applied(TEXT, &edits), wanted);
    for bad in ["x", "3d", "for", "pg_x", "int8", "a b", ""] {
        assert!(rename(bad).is_err(), "{bad}");
    }
}

#[test]
fn calls_show_their_parameters() {
    let help = ask(&mut kernel(TEXT), "signatureHelp", at(8, 30)).unwrap();
    assert_eq!((&help["signatures"][0]["label"], &help["activeParameter"]), (&json!("twice(a, b)"), &json!(1)));
    let text = TEXT.replace("y = x * G", "y = pg_pow((x), 1, 2)");
    let help = ask(&mut kernel(&text), "signatureHelp", at(6, 15)).unwrap();
    assert_eq!((&help["signatures"][0]["label"], &help["activeParameter"]), (&json!("pg_pow(x, n, d)"), &json!(1)));
    assert_eq!(ask(&mut kernel(&text), "signatureHelp", at(6, 2)).unwrap(), Value::Null);
}

#[test]
fn a_text_has_folds_hints_and_words() {
    let mut document = kernel(TEXT);
    let folds = ask(&mut document, "foldingRange", json!({})).unwrap();
    let ends = |f: &Value| (f["startLine"].as_u64().unwrap(), f["endLine"].as_u64().unwrap());
    assert_eq!(folds.as_array().expect("a list").iter().map(ends).collect::<Vec<_>>(), [(7, 9), (0, 1)]);
    let range = json!({"range": {"start": {"line": 0, "character": 0}, "end": {"line": 10, "character": 0}}});
    let hints = ask(&mut document, "inlayHint", range).unwrap();
    let place = json!({"line": 6, "character": 1});
    assert_eq!((&hints[0]["label"], &hints[0]["position"]), (&json!(": float18.9"), &place));
    let words = ask(&mut document, "semanticTokens/full", json!({})).unwrap()["data"].clone();
    let data: Vec<u64> = words.as_array().expect("a list").iter().map(|n| n.as_u64().unwrap()).collect();
    // Two comments, a format, a pin that is defined, and a word of the language.
    assert_eq!(data[..25], [0, 0, 8, 4, 0, 1, 0, 9, 4, 0, 1, 0, 9, 1, 0, 0, 10, 1, 6, 2, 0, 2, 4, 0, 0]);
}

#[test]
fn all_remedies_are_made_at_once() {
    let text = "float32.23 x jipn;\nfixed64.30 o fout\nconst G = 0.5f;\no += (fixed64.30)(G * x);\n";
    let mut document = kernel(text);
    let params = json!({
        "textDocument": {"uri": "untitled:k"}, "context": {"diagnostics": [], "only": ["source.fixAll"]},
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
    });
    let offered = actions(&mut document, &serde_json::from_value(params).unwrap());
    let offered = serde_json::to_value(offered).unwrap();
    let mended = applied(text, &offered[0]["edit"]["changes"]["untitled:k"]);
    assert_eq!(mended, text.replace("jipn", "jpin").replace("fout", "fout;").replace("0.5f", "0.5"));
}

#[test]
fn an_open_file_is_seen_by_those_that_include_it() {
    let folder = std::env::temp_dir().join(format!("pairforge-lsp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("lib.pg2"), "const G = 3;\n").unwrap();
    let uri = |name: &str| crate::uri::uri_of(&folder.join(name));
    let shared = Open::default();
    let text = "include \"lib.pg2\";\nint8 a ipin;\nint32 o fout;\no += (int32)a + G;\n";
    let (mut main, mut lib) = (open(&uri("main.pg2"), text), open(&uri("lib.pg2"), "const H = 3;\n"));
    (main.open, lib.open) = (shared.clone(), shared);
    assert_eq!(crate::analysis::diagnostics(&mut main), vec![]);
    let items = ask(&mut main, "completion", at(3, 14)).unwrap();
    assert!(items.as_array().expect("a list").iter().any(|i| i["label"] == "G"), "{items}");
    let links = ask(&mut main, "documentLink", json!({})).unwrap();
    assert!(links[0]["target"].as_str().is_some_and(|t| t.ends_with("/lib.pg2")), "{links}");
    // A file of constants alone is no kernel, and no mistake either.
    assert_eq!(crate::analysis::diagnostics(&mut lib), vec![]);
    lib.tell();
    main.analysis = None;
    let found = crate::analysis::diagnostics(&mut main);
    assert!(found.iter().any(|d| d.message.contains("`G`")), "{found:?}");
    std::fs::remove_dir_all(folder).unwrap();
}
