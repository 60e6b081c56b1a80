//! Answers about a document, without a client around them.

use crate::action::actions;
use crate::analysis::{Missing, Task, built, diagnostics};
use crate::answer;
use crate::document::{Document, Open};
use crate::system::Stop;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

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
    let answer = answer::find(&format!("textDocument/{method}")).expect("a known method");
    loop {
        let answer = answer(document, &params);
        match document.missing.take() {
            None => return answer,
            Some(Missing::Analysis) => analyse(document),
            Some(Missing::Pipeline) => {
                let known = document.analysis.as_mut().expect("a pipeline is asked of one");
                known.pipeline = Some(built(known.graph.as_ref().expect("it compiles")));
            }
        }
    }
}

/// The work of a thread beside.
fn analyse(document: &mut Document) {
    document.analysis = Some(Task::new(document).compile(&Stop::default()));
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

fn labels(document: &mut Document, line: u32, character: u32) -> Vec<String> {
    let items = ask(document, "completion", at(line, character)).unwrap();
    items.as_array().expect("a list").iter().map(|i| i["label"].as_str().expect("a label").to_string()).collect()
}

#[test]
fn completion_goes_by_its_place() {
    let text = "real m \nfloat25.16 x jpin;\nfloat25.16 best[2] fout;\ntype real = float18.9;\nconst alpha = 4;\n\
                y = pg_fn((real)x, erfc(alpha * ), 0.5, 1);\nbest \nbest[0] m\n(best, w\nz = ";
    let mut document = kernel(text);
    // A name of a format is one in the whole file.
    assert_eq!(labels(&mut document, 0, 7), ["ipin", "jpin", "param", "fout"]);
    let parts = labels(&mut document, 5, 32);
    assert_eq!(parts[..2], ["x", "alpha"]);
    assert!(["erfc", "sqrt", "pi"].iter().all(|word| parts.iter().any(|p| p == word)), "{parts:?}");
    assert!(!parts.iter().any(|p| p.starts_with("pg_") || p == "best" || p == "float25.16"), "{parts:?}");
    assert_eq!(labels(&mut document, 6, 5), ["+=", "-=", "max=", "min="]);
    assert_eq!(labels(&mut document, 7, 9), ["+=", "-=", "max=", "min="]);
    assert!(labels(&mut document, 8, 8).iter().any(|l| l == "best"), "a place of a selection");
    assert!(labels(&mut document, 9, 4).iter().any(|l| l == "pg_fn"));
    // What the file has comes first where a format may stand.
    let items = ask(&mut document, "completion", at(6, 0)).unwrap();
    let likely = items.as_array().expect("a list").iter().filter(|i| !i["sortText"].is_null());
    let likely: Vec<&str> = likely.map(|i| i["label"].as_str().expect("a label")).collect();
    assert_eq!(likely, ["real", "float25.16", "float18.9"]);
}

#[test]
fn a_workspace_has_the_symbols_of_all_its_kernels() {
    let folder = std::env::temp_dir().join(format!("pairforge-symbols-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("deep/.git")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("a.pg2", "const G = 3;\nfn pull(r) { s = r; return s; }\n");
    write("deep/b.pg2", "const gamma = 3;\n");
    write("deep/.git/c.pg2", "const hidden_g = 3;\n");
    write("notes.txt", "const g_text = 3;\n");
    let initialize = json!({"workspaceFolders": [{"uri": crate::uri::uri_of(&folder), "name": "w"}]});
    let folders = crate::workspace::folders(&initialize);
    assert_eq!(folders, std::slice::from_ref(&folder));
    assert_eq!(crate::workspace::folders(&json!({"rootUri": null})), Vec::<std::path::PathBuf>::new());
    // What is open counts as the editor has it.
    let uri = crate::uri::uri_of(&folder.join("a.pg2"));
    let mut open = vec![open(&uri, "const GG = 3;\n")];
    let mut names = |query: &str| {
        let found = crate::workspace::symbols(&folders, open.iter_mut(), &json!({"query": query})).unwrap();
        let name = |s: &Value| s["name"].as_str().expect("a name").to_string();
        found.as_array().expect("a list").iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names("g"), ["GG", "gamma"]);
    assert_eq!(names(""), ["GG", "gamma"]);
    assert_eq!(names("pull"), Vec::<String>::new());
    open.clear();
    let found = crate::workspace::symbols(&folders, open.iter_mut(), &json!({"query": "PULL"})).unwrap();
    assert_eq!((&found[0]["name"], &found[0]["containerName"]), (&json!("pull"), &json!("a")));
    assert_eq!(found[0]["location"]["range"]["start"], json!({"line": 1, "character": 3}));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn all_remedies_are_made_at_once() {
    let text = "float32.23 x jipn;\nfixed64.30 o fout\nconst G = 0.5f;\no += (fixed64.30)(G * x);\n";
    let mut document = kernel(text);
    let params = json!({
        "textDocument": {"uri": "untitled:k"}, "context": {"diagnostics": [], "only": ["source.fixAll"]},
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
    });
    analyse(&mut document);
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
    let found = |document: &mut Document| {
        analyse(document);
        diagnostics(document)
    };
    assert_eq!(found(&mut main), vec![]);
    let items = ask(&mut main, "completion", at(3, 14)).unwrap();
    assert!(items.as_array().expect("a list").iter().any(|i| i["label"] == "G"), "{items}");
    let links = ask(&mut main, "documentLink", json!({})).unwrap();
    assert!(links[0]["target"].as_str().is_some_and(|t| t.ends_with("/lib.pg2")), "{links}");
    // A file of constants alone is no kernel, and no mistake either.
    assert_eq!(found(&mut lib), vec![]);
    lib.tell();
    main.is_now(1);
    let found = found(&mut main);
    assert!(found.iter().any(|d| d.message.contains("`G`")), "{found:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_answer_waits_for_an_analysis_or_comes_from_the_one_before() {
    let text = "float18.9 x jpin;\nfixed64.30 o fout;\ny = x * x;\no += (fixed64.30)y;\n";
    let mut document = kernel(text);
    let params = json!({"textDocument": {"uri": "untitled:k"}, "position": {"line": 2, "character": 0}});
    let hover = answer::find("textDocument/hover").expect("it is known");
    let once = |document: &mut Document| {
        let answer = hover(document, &params).expect("right parameters");
        (answer["contents"]["value"].as_str().unwrap_or_default().to_string(), document.missing.take())
    };
    // Without one before, and with a pipeline that is not built yet.
    document.may_be_old = true;
    assert_eq!(once(&mut document).1, Some(Missing::Analysis));
    analyse(&mut document);
    assert_eq!(once(&mut document).1, Some(Missing::Pipeline));
    assert!(ask(&mut document, "hover", at(2, 0)).unwrap()["contents"]["value"].as_str().unwrap().contains("ready in"));
    document.is_now(1);
    let (text, missing) = once(&mut document);
    assert!(missing.is_none() && text.contains("`float18.9`") && text.contains("ready in"), "{text}");
    assert!(text.contains("before the last edit"), "{text}");
    // What is made of places in the text is never old.
    let range = json!({"range": {"start": {"line": 0, "character": 0}, "end": {"line": 4, "character": 0}}});
    for (method, more) in [("inlayHint", range.clone()), ("codeAction", range)] {
        let mut params = json!({"textDocument": {"uri": "untitled:k"}, "context": {"diagnostics": []}});
        params.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let answer = answer::find(&format!("textDocument/{method}")).expect("it is known");
        answer(&mut document, &params).expect("right parameters");
        assert_eq!(document.missing.take(), Some(Missing::Analysis), "{method}");
    }
    // Words of the language need none.
    document.may_be_old = false;
    let params = json!({"textDocument": {"uri": "untitled:k"}, "position": {"line": 0, "character": 2}});
    assert!(hover(&mut document, &params).unwrap()["contents"]["value"].is_string() && document.missing.is_none());
}

#[test]
fn an_analysis_that_nobody_waits_for_fits_no_function() {
    let text = "float25.16 x jpin;\nfixed64.30 o fout;\no += (fixed64.30)pg_fn(x, exp(sin(x)), 0.5, 1.75);\n";
    let mut document = kernel(text);
    let stop = Stop::default();
    stop.store(true, Ordering::Relaxed);
    let stopped = Task::new(&mut document).compile(&stop);
    let codes = |found: &[pg2::diag::Diagnostic]| found.iter().map(|d| d.code).collect::<Vec<_>>();
    assert_eq!(codes(&stopped.found), [pg2::diag::codes::FUNCTION_WORK]);
    analyse(&mut document);
    assert_eq!(codes(&document.analysis.as_ref().unwrap().found), Vec::<&str>::new());
}
