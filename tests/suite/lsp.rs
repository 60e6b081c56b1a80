//! `lsp`: a scripted client speaks to the server over its pipes.

mod beside;
mod names;
mod neovim;

use crate::common::{Place, shipped};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

/// A running server and the client's side of its pipes.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: i64,
    /// Notifications that came before an answer.
    notes: Vec<Value>,
    _place: Place,
}

const URI: &str = "file:///k%20of%20mine.pg2";

impl Client {
    fn start() -> Client {
        let place = Place::new();
        let mut command = place.command("lsp --stdio");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it");
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().expect("a pipe")));
        Client { child, input, output, next: 0, notes: Vec::new(), _place: place }
    }

    fn initialized() -> Client {
        let mut client = Client::start();
        let answer = client.request("initialize", json!({"processId": null, "rootUri": null, "capabilities": {}}));
        assert_eq!(answer["result"]["capabilities"]["hoverProvider"], true, "{answer}");
        client.notify("initialized", json!({}));
        client
    }

    /// With this text open; gives its diagnostics.
    fn open(text: &str) -> (Client, Vec<Value>) {
        let mut client = Client::initialized();
        let item = json!({"uri": URI, "languageId": "pg2", "version": 1, "text": text});
        client.notify("textDocument/didOpen", json!({"textDocument": item}));
        let found = client.diagnostics(1);
        (client, found)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the pipe is open");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the server reads");
    }

    fn send(&mut self, message: Value) {
        let text = message.to_string();
        self.bytes(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
            self.notes.push(message);
        }
    }

    fn receive(&mut self) -> Value {
        let mut length = None;
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("UTF-8") > 0, "the server has gone");
            if line.trim().is_empty() {
                break;
            }
            length = line.trim().strip_prefix("Content-Length: ").map(|n| n.parse().expect("a length"));
        }
        let mut bytes = vec![0; length.expect("a length")];
        self.output.read_exact(&mut bytes).expect("a whole message");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// The diagnostics that are published for a version.
    fn diagnostics(&mut self, version: i64) -> Vec<Value> {
        loop {
            let message = if self.notes.is_empty() { self.receive() } else { self.notes.remove(0) };
            if message["method"] == "textDocument/publishDiagnostics" && message["params"]["version"] == version {
                return message["params"]["diagnostics"].as_array().expect("a list").clone();
            }
        }
    }

    /// The diagnostics that are published next for a document.
    fn published(&mut self, uri: &str) -> Vec<Value> {
        loop {
            let message = if self.notes.is_empty() { self.receive() } else { self.notes.remove(0) };
            if message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == uri {
                return message["params"]["diagnostics"].as_array().expect("a list").clone();
            }
        }
    }

    /// A request about a place, given by the text before it.
    fn at(&mut self, method: &str, text: &str, before: &str, inside: usize) -> Value {
        let offset = text.find(before).unwrap_or_else(|| panic!("no `{before}`")) + inside;
        let line = text[..offset].matches('\n').count();
        let column = text[..offset].rsplit('\n').next().unwrap_or_default().encode_utf16().count();
        let position = json!({"line": line, "character": column});
        let context = json!({"includeDeclaration": true});
        let params = json!({"textDocument": {"uri": URI}, "position": position, "context": context});
        let answer = self.request(method, params);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// The exit status, and that nothing was said on stderr beyond this.
    fn end(mut self, code: i32) -> String {
        self.input = None;
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it can be asked") {
                break status;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "the server does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(status.code(), Some(code));
        let mut err = String::new();
        self.child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("UTF-8");
        assert!(!err.contains("panicked"), "{err}");
        err
    }

    fn quit(mut self) {
        assert_eq!(self.request("shutdown", Value::Null)["result"], Value::Null);
        self.notify("exit", Value::Null);
        assert_eq!(self.end(0), "");
    }
}

/// The lines of places, from 1.
fn lines(places: &Value) -> Vec<u64> {
    places
        .as_array()
        .expect("a list")
        .iter()
        .map(|p| p["range"]["start"]["line"].as_u64().expect("a line") + 1)
        .collect()
}

#[test]
fn diagnostics_follow_the_text() {
    // Before the mistake stand characters of one and of two UTF-16 units.
    let (mut client, found) = Client::open("int32 a ipin;\nint64 o fout;\n/* é𝄞 */ o += b;\n");
    assert_eq!((found.len(), &found[0]["code"], &found[0]["severity"]), (1, &json!("PG0011"), &json!(1)));
    let range = json!({"start": {"line": 2, "character": 15}, "end": {"line": 2, "character": 16}});
    assert_eq!((&found[0]["range"], &found[0]["source"]), (&range, &json!("pairforge")));
    assert!(found[0]["message"].as_str().is_some_and(|m| m.contains("`b` is not defined") && m.contains("help: ")));
    // One edit corrects it and another makes a warning.
    let change = |range: Value, text: &str| json!({"range": range, "text": text});
    let end = json!({"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 0}});
    let changes = json!([change(range, "a"), change(end, "x = a;\r\n")]);
    let item = json!({"uri": URI, "version": 2});
    client.notify("textDocument/didChange", json!({"textDocument": item, "contentChanges": changes}));
    let found = client.diagnostics(2);
    assert_eq!((found.len(), &found[0]["code"], &found[0]["severity"]), (1, &json!("PG0101"), &json!(2)));
    assert_eq!((&found[0]["range"]["start"]["line"], &found[0]["tags"]), (&json!(3), &json!([1])));
    // Related places, and the whole text at once.
    let changes = json!([{"text": "int8 a ipin; int8 a jpin; int8 o fout; o += a;"}]);
    let item = json!({"uri": URI, "version": 3});
    client.notify("textDocument/didChange", json!({"textDocument": item, "contentChanges": changes}));
    let found = client.diagnostics(3);
    assert_eq!(found[0]["relatedInformation"][0]["location"]["range"]["start"]["character"], 5, "{found:?}");
    // Closing clears them.
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": URI}}));
    let cleared = client.receive();
    assert_eq!(cleared["params"], json!({"uri": URI, "diagnostics": []}));
    client.quit();
}

#[test]
fn hover_tells_format_cycle_and_range() {
    let text = shipped("p2p_paper");
    let built = pg2::compile_to_netlist("k", &text, hdl::circuit::target::Clock::default_clock())
        .unwrap_or_else(|e| panic!("{e:?}"));
    let rows = pg2::report::explain::explain(&built, &text).rows;
    let cycle = |name: &str| {
        let row = rows.iter().find(|r| r.name == name).unwrap_or_else(|| panic!("no {name}"));
        format!("ready in cycle {} of {}", row.ready, built.schedule.depth)
    };
    let (mut client, found) = Client::open(&text);
    assert_eq!(found, Vec::<Value>::new());
    let mut hover = |before: &str, inside: usize, parts: &[&str]| {
        let got = client.at("textDocument/hover", &text, before, inside);
        let value = got["contents"]["value"].as_str().unwrap_or_else(|| panic!("{before}: {got}")).to_string();
        for part in parts {
            assert!(value.contains(part), "no `{part}` in {value}");
        }
    };
    hover("xi[3]", 0, &["int32      xi[3]   ipin", "`int32`", "target i"]);
    hover("r2, -1", 1, &["r2  = dx * dx", "`float18.9`", &cycle("r2"), "150 MHz", "magnitudes"]);
    hover("dx  =", 0, &["3 elements", &format!("of {}", built.schedule.depth)]);
    hover("pout +=", 2, &["`int64`", "output", &cycle("pout")]);
    hover("float18.9", 4, &["8 exponent bits", "9 fraction bits"]);
    hover("jpin", 1, &["source j"]);
    hover("pg_pow", 3, &["pg_pow(x, n, d)", "x^(n/d)"]);
    let nothing = client.at("textDocument/hover", &text, "* dx;", 0);
    assert_eq!(nothing, Value::Null);
    client.quit();
}

#[test]
fn names_lead_to_their_definitions_and_uses() {
    // Also in a text that does not compile.
    let text = "int32 a ipin;\nint64 o fout;\ns = a +;\nt = s * (a;\no += s;\n";
    let (mut client, found) = Client::open(text);
    assert!(!found.is_empty());
    let definition = client.at("textDocument/definition", text, "s * (a", 0);
    let range = json!({"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 1}});
    assert_eq!(definition, json!({"uri": URI, "range": range}));
    assert_eq!(client.at("textDocument/definition", text, "+=", 1), Value::Null);
    assert_eq!(lines(&client.at("textDocument/references", text, "a ipin", 1)), [1, 3, 4]);
    assert_eq!(lines(&client.at("textDocument/documentHighlight", text, "s;", 0)), [3, 4, 5]);
    let hover = client.at("textDocument/hover", text, "s * (a", 0);
    assert!(hover["contents"]["value"].as_str().is_some_and(|v| v.contains("s = a +") && v.contains("errors")));
    let symbols = client.request("textDocument/documentSymbol", json!({"textDocument": {"uri": URI}}));
    let names: Vec<&str> = symbols["result"].as_array().unwrap().iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!(names, ["a", "o", "s", "t"]);
    client.quit();
}

#[test]
fn included_files_are_read() {
    let place = Place::new();
    place.write("own lib.pg2", "const G = 3;\nfn twice(x) = 2 * x;\n");
    place.write("bad.pg2", "// é\nconst H = nothing;\n");
    let text = "include \"own lib.pg2\";\nint8 a ipin;\nint32 o fout;\no += twice((int32)a) + G;\n";
    let uri = format!("file://{}", place.path("main.pg2").display());
    let mut client = Client::initialized();
    let item = json!({"uri": uri, "languageId": "pg2", "version": 1, "text": text});
    client.notify("textDocument/didOpen", json!({"textDocument": item}));
    assert_eq!(client.diagnostics(1), Vec::<Value>::new());
    let position = json!({"textDocument": {"uri": uri}, "position": {"line": 3, "character": 6}});
    let found = client.request("textDocument/definition", position.clone())["result"].clone();
    let target = found["uri"].as_str().expect("a file");
    assert!(target.starts_with("file:///") && target.ends_with("/own%20lib.pg2"), "{found}");
    assert_eq!(found["range"]["start"], json!({"line": 1, "character": 3}));
    let hover = client.request("textDocument/hover", position)["result"].clone();
    assert!(hover["contents"]["value"].as_str().is_some_and(|v| v.contains("fn twice(x)")), "{hover}");
    // What is wrong in an included file is shown at the include, and leads to its place.
    let changes = json!([{"text": text.replace("own lib", "bad")}]);
    let item = json!({"uri": uri, "version": 2});
    client.notify("textDocument/didChange", json!({"textDocument": item, "contentChanges": changes}));
    let found = client.diagnostics(2);
    let inside =
        found.iter().find(|d| d["message"].as_str().is_some_and(|m| m.contains("nothing"))).expect("a finding");
    assert_eq!(inside["range"]["start"], json!({"line": 0, "character": 8}), "{inside}");
    let location = &inside["relatedInformation"][0]["location"];
    assert!(location["uri"].as_str().is_some_and(|u| u.ends_with("/bad.pg2")), "{inside}");
    assert_eq!(location["range"]["start"], json!({"line": 1, "character": 10}));
    client.quit();
}

/// A text after the edits of the protocol: their positions count UTF-16 units.
fn applied(text: &str, edits: &Value) -> String {
    let offset = |position: &Value| {
        let (line, column) = (position["line"].as_u64().expect("a line"), position["character"].as_u64());
        let start: usize = text.split_inclusive('\n').take(line as usize).map(str::len).sum();
        let mut units = 0;
        let before = |c: &char| {
            units += c.len_utf16() as u64;
            Some(units) <= column
        };
        start + text[start..].chars().take_while(before).map(char::len_utf8).sum::<usize>()
    };
    let (mut out, mut at) = (String::new(), 0);
    for edit in edits.as_array().expect("edits") {
        let (start, end) = (offset(&edit["range"]["start"]), offset(&edit["range"]["end"]));
        assert!(start >= at, "edits that overlap or are in no order: {edits}");
        out += &text[at..start];
        out += edit["newText"].as_str().expect("a text");
        at = end;
    }
    out + &text[at..]
}

/// The code actions of the kinds `only` for a range.
fn actions(client: &mut Client, uri: &str, range: &Value, only: Value) -> Vec<Value> {
    let context = json!({"diagnostics": [], "only": only});
    let params = json!({"textDocument": {"uri": uri}, "range": range, "context": context});
    let answer = client.request("textDocument/codeAction", params);
    answer["result"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
}

#[test]
fn remedies_are_offered_as_edits() {
    // The first has several edits, the second one that stands behind characters of one and of two UTF-16 units.
    for text in [
        "#define G 0.25 // of gravity\nfloat32.23 x jpin;\nfixed64.30 o fout;\no += (fixed64.30)(x * G);\n",
        "float32.23 x jpin;\nfixed64.30 o fout;\n/* é𝄞 */ o += (fixed64.30)(x**2);\n",
        "int32 x jipn;\nint64 o fout\no -= (int64)x - 1;\n",
    ] {
        let (mut client, mut found) = Client::open(text);
        let (mut text, mut version) = (text.to_string(), 1);
        assert!(pg2::compile("k", &text).is_err(), "{text}");
        while let Some(first) = found.first() {
            let offered = actions(&mut client, URI, &first["range"], json!(["quickfix"]));
            let action = offered.first().unwrap_or_else(|| panic!("nothing for {first} in\n{text}"));
            assert_eq!((&action["kind"], &action["diagnostics"][0]), (&json!("quickfix"), first));
            assert!(first["message"].as_str().unwrap().contains(action["title"].as_str().unwrap()), "{action}");
            let edited = applied(&text, &action["edit"]["changes"][URI]);
            assert_ne!(edited, text, "{action}");
            (text, version) = (edited, version + 1);
            assert!(version < 9, "it never ends: {text}");
            let item = json!({"uri": URI, "version": version});
            let changes = json!([{"text": text}]);
            client.notify("textDocument/didChange", json!({"textDocument": item, "contentChanges": changes}));
            found = client.diagnostics(version);
        }
        assert!(pg2::compile("k", &text).is_ok(), "{text}");
        client.quit();
    }
}

#[test]
fn remedies_are_offered_where_they_are_asked_for() {
    let (mut client, found) = Client::open("int32 x jipn;\nint64 o fout;\no += nothing;\n");
    let at = |line, character| json!({"line": line, "character": character});
    let point = |line, character| json!({"start": at(line, character), "end": at(line, character)});
    assert!(found.len() > 1, "{found:?}");
    // Within the word and at its ends, but not beside it; of other kinds there are none.
    for (character, count) in [(7, 0), (8, 1), (10, 1), (12, 1), (13, 0)] {
        let offered = actions(&mut client, URI, &point(0, character), Value::Null);
        assert_eq!(offered.len(), count, "{character}: {offered:?}");
    }
    assert_eq!(actions(&mut client, URI, &point(0, 9), json!(["refactor"])), Vec::<Value>::new());
    // A remedy that is no edit.
    assert_eq!(actions(&mut client, URI, &point(2, 6), Value::Null), Vec::<Value>::new());
    client.quit();
    // Another file is not edited.
    let place = Place::new();
    place.write("lib.pg2", "fn twice(x) = 2 * x\n");
    let uri = format!("file://{}", place.path("main.pg2").display());
    let mut client = Client::initialized();
    let text = "include \"lib.pg2\";\nint32 x jpin;\nint64 o fout;\no += twice((int64)x);\n";
    let item = json!({"uri": uri, "languageId": "pg2", "version": 1, "text": text});
    client.notify("textDocument/didOpen", json!({"textDocument": item}));
    let found = client.diagnostics(1);
    assert!(found[0]["message"].as_str().is_some_and(|m| m.contains("help: end it with `;`")), "{found:?}");
    assert_eq!(actions(&mut client, &uri, &found[0]["range"], Value::Null), Vec::<Value>::new());
    // Saved after it was corrected, it is read again.
    place.write("lib.pg2", "fn twice(x) = 2 * x;\n");
    client.notify("textDocument/didSave", json!({"textDocument": {"uri": uri}}));
    assert_eq!(client.diagnostics(1), Vec::<Value>::new());
    client.quit();
}

#[test]
fn completion_offers_what_may_stand_there() {
    let text = "int32 a ipin;\nfloat18.9 q \nconst k = 3;\n// about k\nv = ;\nint64 o fout;";
    let (mut client, _) = Client::open(text);
    let mut labels = |before: &str, inside: usize| -> Vec<String> {
        let items = client.at("textDocument/completion", text, before, inside);
        items.as_array().expect("a list").iter().filter_map(|i| i["label"].as_str().map(str::to_string)).collect()
    };
    assert_eq!(labels("q \n", 2), ["ipin", "jpin", "param", "fout"]);
    let expression = labels("v = ", 4);
    for name in ["a", "k", "v", "pg_pow", "pg_min", "float18.9", "const"] {
        assert!(expression.iter().any(|l| l == name), "no {name} in {expression:?}");
    }
    assert!(!expression.iter().any(|l| l == "o" || l == "jpin"), "{expression:?}");
    assert_eq!(labels("about", 3), Vec::<String>::new());
    client.quit();
}

#[test]
fn formatting_is_that_of_fmt() {
    let text = "int32 a ipin;int64 o fout; // é\no+=a ;";
    let (mut client, _) = Client::open(text);
    let params = json!({"textDocument": {"uri": URI}, "options": {"tabSize": 4, "insertSpaces": true}});
    let edits = client.request("textDocument/formatting", params)["result"].clone();
    assert_eq!(edits[0]["newText"].as_str().map(str::to_string), pg2::syntax::fmt::format(text).ok());
    let all = json!({"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 6}});
    assert_eq!(edits[0]["range"], all);
    client.quit();
}

#[test]
fn bad_messages_are_answered_and_survived() {
    let mut client = Client::start();
    let early = client.request("textDocument/hover", json!({}));
    assert_eq!(early["error"]["code"], -32002);
    client.request("initialize", json!({"capabilities": {}}));
    assert_eq!(client.request("initialize", json!({}))["error"]["code"], -32600);
    assert_eq!(client.request("textDocument/nothing", json!({}))["error"]["code"], -32601);
    for params in [json!({}), json!([]), json!({"textDocument": {"uri": "file:///none"}}), Value::Null] {
        assert_eq!(client.request("textDocument/hover", params)["error"]["code"], -32602);
    }
    for junk in [
        "Content-Length: 7\r\n\r\n{\"a\": }",
        "Content-Length: 2\r\n\r\n[]",
        "Content-Length: x\r\n\r\n",
        "junk\r\n\r\n",
    ] {
        client.bytes(junk.as_bytes());
        assert_eq!(client.receive()["error"]["code"], -32700, "{junk:?}");
    }
    client.bytes(b"Content-Length: 4\r\n\r\n\xff\xfe\x00\x01");
    assert_eq!(client.receive()["error"]["code"], -32700);
    client.send(json!({"jsonrpc": "2.0", "id": 899}));
    assert_eq!(client.receive()["error"]["code"], -32600);
    for id in [json!(1_u64 << 40), json!(1.5), Value::Null] {
        client.send(json!({"jsonrpc": "2.0", "id": id, "method": "shutdown"}));
        assert_eq!(client.receive()["error"]["code"], -32600, "{id}");
    }
    // One answer for each, also where several headers are wrong.
    client.bytes(b"Content-Length: x\r\njunk\nContent-Length\r\n\r\nContent-Length: 3\n\n{ }");
    assert_eq!(client.receive()["error"]["code"], -32700);
    assert_eq!(client.receive()["error"]["code"], -32600);
    // Neither requests nor known notifications: passed over.
    client.send(json!({"jsonrpc": "2.0", "id": 900, "result": null}));
    client.notify("$/cancelRequest", json!({"id": 1}));
    client.notify("textDocument/didChange", json!({"textDocument": {"uri": "file:///none", "version": 1}}));
    client.notify("textDocument/didOpen", json!(7));
    for method in ["didChange", "didOpen"] {
        let log = client.receive();
        assert_eq!((&log["method"], &log["params"]["type"]), (&json!("window/logMessage"), &json!(1)));
        assert!(log["params"]["message"].as_str().is_some_and(|m| m.contains(method)), "{log}");
    }
    // Positions that do not exist, in a text that is no kernel.
    let item = json!({"uri": URI, "languageId": "pg2", "version": 1, "text": "\0\u{1}{{{ é ((( /*"});
    client.notify("textDocument/didOpen", json!({"textDocument": item}));
    assert!(!client.diagnostics(1).is_empty());
    for (line, character) in [(0, 5), (999, 999), (0, u32::MAX)] {
        for method in ["hover", "completion", "definition", "references", "documentHighlight", "formatting"] {
            let position = json!({"line": line, "character": character});
            let params = json!({"textDocument": {"uri": URI}, "position": position});
            let answer = client.request(&format!("textDocument/{method}"), params);
            assert!(answer.get("error").is_none(), "{answer}");
        }
    }
    assert_eq!(client.request("shutdown", Value::Null)["result"], Value::Null);
    assert_eq!(client.request("textDocument/hover", json!({}))["error"]["code"], -32600);
    client.notify("exit", Value::Null);
    assert_eq!(client.end(0), "");
}

#[test]
fn after_a_frame_that_is_none_the_next_message_is_read() {
    let mut client = Client::start();
    let initialize =
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}}}).to_string();
    // What was meant as the body of the frame is passed over, whatever it is; each has one answer.
    let words = json!({"jsonrpc": "2.0", "id": 7, "method": "x", "params": "Content-Length: 5"}).to_string();
    let long = json!({"jsonrpc": "2.0", "id": 7, "method": "x", "params": "y".repeat(4090)}).to_string();
    let pieces: Vec<String> = (3950..4100).map(|n| "z".repeat(n)).collect();
    let bodies = [&words, &long, "", "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 7\n}\n"];
    for length in ["x", "", "-1", "12.5", "99999999999999999999999999", "0x10", "12 bytes"] {
        for (k, body) in bodies.iter().copied().chain(pieces.iter().map(String::as_str).take(20)).enumerate() {
            client.bytes(format!("Content-Length: {length}\r\n\r\n{body}").as_bytes());
            assert_eq!(client.receive()["error"]["code"], -32700, "{length} {k}");
            client.bytes(format!("Content-Length: {}\r\n\r\n{initialize}", initialize.len()).as_bytes());
            let answer = client.receive();
            assert!(answer["id"] == 0, "{length} {k}: {answer}");
        }
    }
    // A header may be cut anywhere where a long line is read in pieces.
    for body in &pieces {
        client.bytes(format!("Content-Length: x\r\n\r\n{body}").as_bytes());
        assert_eq!(client.receive()["error"]["code"], -32700);
        client.bytes(format!("content-length:{}\r\n\r\n{initialize}", initialize.len()).as_bytes());
        assert_eq!(client.receive()["id"], 0, "{}", body.len());
    }
    // A length that is too short.
    client.bytes(
        format!("Content-Length: 9\r\n\r\n{words}Content-Length: {}\r\n\r\n{initialize}", initialize.len()).as_bytes(),
    );
    assert_eq!(client.receive()["error"]["code"], -32700);
    assert_eq!(client.receive()["id"], 0);
    client.quit();
}

/// Bytes of memory that a process has.
#[cfg(target_os = "linux")]
fn resident(id: u32, what: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix(what)).expect("Linux tells it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

#[test]
#[cfg(target_os = "linux")]
fn a_large_document_takes_memory_for_a_while_and_not_more_than_it_must() {
    // A parameter whose statement is not one of the kernel is reported once, and its uses are many.
    let text: String = (0..60_000).map(|k| format!("value_{k} = 1 +;\n")).collect();
    let (mut client, found) = Client::open(&text);
    assert!(!found.is_empty() && found.len() <= 5000, "{}", found.len());
    let about = json!({"textDocument": {"uri": URI}});
    for method in ["documentSymbol", "documentSymbol"] {
        let answer = client.request(&format!("textDocument/{method}"), about.clone());
        assert!(answer["result"].as_array().is_some_and(|all| !all.is_empty() && all.len() <= 5000), "{method}");
    }
    client.request("textDocument/nothing", json!({}));
    let (peak, left) = (resident(client.child.id(), "VmHWM:"), resident(client.child.id(), "VmRSS:"));
    assert!(peak < 300 << 20 && left < 80 << 20, "{peak} at most, {left} left");
    client.quit();
}

#[test]
fn leaving_without_shutdown_is_status_1() {
    let client = Client::initialized();
    assert!(client.end(1).contains("shutdown"));
    let mut client = Client::initialized();
    client.notify("exit", Value::Null);
    assert!(client.end(1).contains("shutdown"));
}
