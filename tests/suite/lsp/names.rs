//! Answers of the server about names, calls and the shape of a text.

use super::{Client, URI, actions, applied, lines};
use crate::common::Place;
use serde_json::{Value, json};

const TEXT: &str = "// first\n// second\nfloat18.9 x jpin;\nfixed64.30 o fout;\nconst G = 3;\nfn twice(a, b) = 2 * a + b;\ny = x * G;\nif (y > 0) {\n    o += (fixed64.30)twice(y, y);\n}\n";

#[test]
fn a_name_is_given_another_one_everywhere() {
    let (mut client, _) = Client::open(TEXT);
    let range = client.at("textDocument/prepareRename", TEXT, "y = x", 0);
    assert_eq!(range["start"], json!({"line": 6, "character": 0}));
    let rename = |client: &mut Client, name: &str| {
        let position = json!({"line": 6, "character": 0});
        client.request(
            "textDocument/rename",
            json!({"textDocument": {"uri": URI}, "position": position, "newName": name}),
        )
    };
    let answer = rename(&mut client, "speed");
    let text = applied(TEXT, &answer["result"]["changes"][URI]);
    assert_eq!(
        text,
        TEXT.replace("y = x", "speed = x").replace("(y > 0)", "(speed > 0)").replace("(y, y)", "(speed, speed)")
    );
    for bad in ["x", "3d", "for", "pg_x", "int8", "a b"] {
        let answer = rename(&mut client, bad);
        assert!(answer["error"]["message"].is_string() && answer["result"].is_null(), "{bad}: {answer}");
    }
    client.quit();
}

#[test]
fn calls_show_their_parameters() {
    let (mut client, _) = Client::open(TEXT);
    let help = client.at("textDocument/signatureHelp", TEXT, "twice(y, y)", 9);
    assert_eq!((&help["signatures"][0]["label"], &help["activeParameter"]), (&json!("twice(a, b)"), &json!(1)));
    let text = TEXT.replace("x * G", "pg_pow(x, 1, 2)");
    let (mut other, _) = Client::open(&text);
    let help = other.at("textDocument/signatureHelp", &text, "pg_pow(x, 1", 7);
    assert_eq!((&help["signatures"][0]["label"], &help["activeParameter"]), (&json!("pg_pow(x, n, d)"), &json!(0)));
    client.quit();
    other.quit();
}

#[test]
fn a_text_has_folds_hints_and_words() {
    let (mut client, found) = Client::open(TEXT);
    assert_eq!(found, Vec::<Value>::new());
    let document = json!({"textDocument": {"uri": URI}});
    let folds = client.request("textDocument/foldingRange", document.clone())["result"].clone();
    let ends: Vec<(u64, u64)> = (folds.as_array().expect("a list").iter())
        .map(|f| (f["startLine"].as_u64().unwrap(), f["endLine"].as_u64().unwrap()))
        .collect();
    assert_eq!(ends, [(7, 9), (0, 1)]);
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 10, "character": 0}});
    let asked = json!({"textDocument": {"uri": URI}, "range": range});
    let hints = client.request("textDocument/inlayHint", asked)["result"].clone();
    assert_eq!(
        (&hints[0]["label"], &hints[0]["position"]),
        (&json!(": float18.9"), &json!({"line": 6, "character": 1}))
    );
    // The first words: two comments, a format, a pin that is defined, and a keyword.
    let words = client.request("textDocument/semanticTokens/full", document)["result"]["data"].clone();
    let data: Vec<u64> = words.as_array().expect("a list").iter().map(|n| n.as_u64().unwrap()).collect();
    assert_eq!(data[..25], [0, 0, 8, 4, 0, 1, 0, 9, 4, 0, 1, 0, 9, 1, 0, 0, 10, 1, 6, 2, 0, 2, 4, 0, 0]);
    client.quit();
}

#[test]
fn all_remedies_are_made_at_once() {
    let text = "float32.23 x jipn;\nfixed64.30 o fout\nconst G = 0.5f;\no += (fixed64.30)(G * x);\n";
    let (mut client, _) = Client::open(text);
    let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}});
    let offered = actions(&mut client, URI, &whole, json!(["source.fixAll"]));
    let mended = applied(text, &offered[0]["edit"]["changes"][URI]);
    assert_eq!(mended, text.replace("jipn", "jpin").replace("fout", "fout;").replace("0.5f", "0.5"));
    client.quit();
}

#[test]
fn an_edit_of_an_open_file_reaches_those_that_include_it() {
    let place = Place::new();
    place.write("lib.pg2", "const G = 3;\n");
    let uri = |name: &str| format!("file://{}", place.path(name).display());
    let text = "include \"lib.pg2\";\nint8 a ipin;\nint32 o fout;\no += (int32)a + G;\n";
    let mut client = Client::initialized();
    let open = |client: &mut Client, name: &str, text: &str| {
        let item = json!({"uri": uri(name), "languageId": "pg2", "version": 1, "text": text});
        client.notify("textDocument/didOpen", json!({"textDocument": item}));
    };
    open(&mut client, "main.pg2", text);
    assert_eq!(client.diagnostics(1), Vec::<Value>::new());
    let position = json!({"textDocument": {"uri": uri("main.pg2")}, "position": {"line": 3, "character": 14}});
    let items = client.request("textDocument/completion", position)["result"].clone();
    assert!(items.as_array().expect("a list").iter().any(|i| i["label"] == "G"), "{items}");
    let document = json!({"textDocument": {"uri": uri("main.pg2")}});
    let links = client.request("textDocument/documentLink", document)["result"].clone();
    assert!(links[0]["target"].as_str().is_some_and(|t| t.ends_with("/lib.pg2")), "{links}");
    assert_eq!(lines(&links), [1]);
    // A file of constants alone is no kernel, and no mistake either.
    open(&mut client, "lib.pg2", "const G = 3;\n");
    let mut found = client.published(&uri("lib.pg2"));
    assert_eq!(found, Vec::<Value>::new());
    let item = json!({"uri": uri("lib.pg2"), "version": 2});
    let changes = json!([{"text": "const H = 3;\n"}]);
    client.notify("textDocument/didChange", json!({"textDocument": item, "contentChanges": changes}));
    found = client.published(&uri("main.pg2"));
    while found.is_empty() {
        found = client.published(&uri("main.pg2"));
    }
    assert!(found[0]["message"].as_str().is_some_and(|m| m.contains("`G`")), "{found:?}");
    client.quit();
}
