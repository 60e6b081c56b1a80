//! Long work is done beside: others are answered meanwhile, and a newer text ends it.

use super::{Client, Place, URI};
use serde_json::{Value, json};
use std::io::Read;

const QUICK: &str = "float25.16 x jpin;\nfixed64.30 o fout;\ny = x * x;\no += (fixed64.30)y;\n";
const OTHER: &str = "file:///slow.pg2";

/// A kernel whose functions take seconds to fit together, and are others for each number.
fn slow(number: i64) -> String {
    let functions = (0..40).map(|k| format!(" + pg_fn(x, sin(exp(sin(3.{k:02}{number} * x))), 0.5, 8)"));
    QUICK.replace("(fixed64.30)y", &format!("(fixed64.30)(y{})", functions.collect::<String>()))
}

/// The versions of the slow document whose diagnostics have come.
fn published(notes: &[Value]) -> Vec<i64> {
    let of_it = notes.iter().filter(|n| n["params"]["uri"] == OTHER && n["params"]["diagnostics"].is_array());
    of_it.map(|n| n["params"]["version"].as_i64().expect("a version")).collect()
}

impl Client {
    fn change(&mut self, uri: &str, version: i64, text: &str) {
        let item = json!({"uri": uri, "version": version});
        self.notify("textDocument/didChange", json!({"textDocument": item, "contentChanges": [{"text": text}]}));
    }

    /// A request whose answer is not waited for; gives its id.
    fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        self.send(json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// The answer that has come or comes to a request.
    fn answer(&mut self, id: i64) -> Value {
        while !self.notes.iter().any(|n| n["id"] == id) {
            let message = self.receive();
            self.notes.push(message);
        }
        let at = self.notes.iter().position(|n| n["id"] == id).expect("it is there");
        self.notes.remove(at)
    }
}

#[test]
fn nothing_waits_for_a_function_that_is_being_fitted() {
    let (mut client, _) = Client::open(QUICK);
    let item = json!({"uri": OTHER, "languageId": "pg2", "version": 1, "text": slow(30)});
    client.notify("textDocument/didOpen", json!({"textDocument": item}));
    // Everything about the other document, and what needs the text of this one alone.
    let at = |uri: &str| json!({"textDocument": {"uri": uri}, "position": {"line": 2, "character": 0}});
    let hover = client.request("textDocument/hover", at(URI));
    assert!(hover["result"]["contents"]["value"].as_str().is_some_and(|v| v.contains("ready in cycle")), "{hover}");
    for (method, uri) in [
        ("completion", URI),
        ("definition", URI),
        ("documentHighlight", URI),
        ("completion", OTHER),
        ("definition", OTHER),
        ("documentSymbol", OTHER),
        ("semanticTokens/full", OTHER),
    ] {
        let answer = client.request(&format!("textDocument/{method}"), at(uri));
        assert!(!answer["result"].is_null(), "{method}: {answer}");
    }
    for uri in [URI, OTHER] {
        let params = json!({"textDocument": {"uri": uri}, "options": {"tabSize": 4, "insertSpaces": true}});
        assert!(client.request("textDocument/formatting", params)["result"].is_array(), "{uri}");
    }
    // What needs the analysis itself waits, until the client does not want it or the text is another.
    let hints = json!({"textDocument": {"uri": OTHER}, "range": {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}});
    let (unwanted, waiting) =
        (client.ask("textDocument/inlayHint", hints.clone()), client.ask("textDocument/inlayHint", hints.clone()));
    client.notify("$/cancelRequest", json!({"id": unwanted}));
    assert_eq!(client.answer(unwanted)["error"]["code"], -32800);
    assert_eq!(published(&client.notes), [0; 0], "the function was fitted before all this was answered");
    client.change(OTHER, 2, &slow(31));
    assert_eq!(client.answer(waiting)["error"]["code"], -32801);
    client.change(OTHER, 3, &slow(32));
    client.change(OTHER, 4, QUICK);
    // The last text alone is diagnosed.
    let hints = client.request("textDocument/inlayHint", hints);
    assert_eq!(hints["result"][0]["label"], ": float25.16", "{hints}");
    assert_eq!(published(&client.notes), [4]);
    // A hover comes from the analysis that there was.
    client.change(OTHER, 5, &slow(33));
    let old = client.request("textDocument/hover", at(OTHER));
    let text = old["result"]["contents"]["value"].as_str().unwrap_or_default();
    assert!(text.contains("before the last edit") && text.contains("`float25.16`"), "{old}");
    // The end waits for nothing.
    let waiting = client.ask("textDocument/codeAction", json!({"textDocument": {"uri": OTHER}, "context": {"diagnostics": []}, "range": {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}}));
    assert_eq!(client.request("shutdown", Value::Null)["result"], Value::Null);
    assert_eq!(client.answer(waiting)["error"]["code"], -32802);
    client.notify("exit", Value::Null);
    let mut rest = String::new();
    client.output.read_to_string(&mut rest).expect("UTF-8");
    assert_eq!((rest.as_str(), published(&client.notes)), ("", vec![4]));
    assert_eq!(client.end(0), "");
}

#[test]
fn a_file_that_changes_under_an_analysis_is_analysed_again() {
    let place = Place::new();
    place.write("lib.pg2", "const G = 3;\n");
    let main = format!("file://{}", place.path("main.pg2").display());
    let lib = format!("file://{}", place.path("lib.pg2").display());
    let mut client = Client::initialized();
    let open = |client: &mut Client, uri: &str, text: &str| {
        let item = json!({"uri": uri, "languageId": "pg2", "version": 1, "text": text});
        client.notify("textDocument/didOpen", json!({"textDocument": item}));
    };
    open(&mut client, &main, &("include \"lib.pg2\";\n".to_string() + &slow(34).replace("x, sin(", "x, G * sin(")));
    // The analysis has begun, since it is what the first request would wait for.
    open(&mut client, &lib, "const G = 3;\n");
    client.change(&main, 2, &("include \"lib.pg2\";\n".to_string() + &QUICK.replace("x * x", "G * x")));
    client.change(&lib, 2, "const H = 3;\n");
    let mut found = client.published(&main);
    while found.is_empty() {
        found = client.published(&main);
    }
    assert!(found[0]["message"].as_str().is_some_and(|m| m.contains("`G`")), "{found:?}");
    // Closed, it is as it was saved; nothing that was under way is said of what is closed.
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": lib}}));
    while !found.is_empty() {
        found = client.published(&main);
    }
    client.change(&main, 3, &("include \"lib.pg2\";\n".to_string() + &slow(35)));
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": main}}));
    assert_eq!(client.published(&main), Vec::<Value>::new());
    client.quit();
}
