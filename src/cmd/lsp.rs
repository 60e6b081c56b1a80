//! `pairforge lsp`: a language server for editors, over standard input and output.
//!
//! One thread reads messages, so that a change that is overtaken by the next one is not diagnosed; the other answers them
//! in order. Positions in the protocol count UTF-16 units; see `document`.

mod analysis;
mod answer;
mod complete;
mod document;
mod frame;
mod hover;

use crate::failure::Failure;
use document::Document;
use frame::Message;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

#[derive(clap::Args)]
pub struct Args {
    /// Speak over standard input and output, which is the only way there is; editors like to say so
    #[arg(long)]
    stdio: bool,
}

/// Error codes of JSON-RPC and of the protocol.
mod code {
    pub const PARSE: i64 = -32700;
    pub const REQUEST: i64 = -32600;
    pub const METHOD: i64 = -32601;
    pub const PARAMS: i64 = -32602;
    pub const INTERNAL: i64 = -32603;
    pub const NOT_INITIALIZED: i64 = -32002;
}

/// Serves until the client says `exit` or goes away.
pub fn run(_: Args) -> Result<(), Failure> {
    let (send, messages) = channel();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        while let Some(message) = frame::read(&mut input) {
            if send.send(message).is_err() {
                return;
            }
        }
    });
    let mut server = Server::default();
    server.serve(&messages);
    // The protocol wants status 1 from a server that was not asked to shut down.
    if server.shut_down { Ok(()) } else { Err(Failure::Input("the client left without `shutdown`".into())) }
}

#[derive(Default)]
struct Server {
    initialized: bool,
    shut_down: bool,
    documents: BTreeMap<String, Document>,
    /// Documents that have changed since they were diagnosed.
    changed: BTreeSet<String>,
}

/// An error that answers a request.
type Refused = (i64, String);

impl Server {
    fn serve(&mut self, messages: &Receiver<Message>) {
        loop {
            let message = match messages.try_recv() {
                Ok(message) => message,
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => {
                    self.diagnose();
                    let Ok(message) = messages.recv() else { return };
                    message
                }
            };
            match message {
                Message::Json(message) => {
                    if message["method"] == "exit" {
                        return;
                    }
                    self.message(&message);
                }
                Message::Malformed(why) => {
                    frame::write(
                        &json!({"jsonrpc": "2.0", "id": null, "error": {"code": code::PARSE, "message": why}}),
                    );
                }
            }
        }
    }

    fn message(&mut self, message: &Value) {
        let (id, method) = (message.get("id"), message["method"].as_str());
        // A fault in one answer must not cost the editor its server.
        let result = match method {
            Some(method) => catch_unwind(AssertUnwindSafe(|| self.handle(method, &message["params"], id.is_some())))
                .unwrap_or_else(|_| Err((code::INTERNAL, format!("`{method}` failed inside the server")))),
            // A response, which nobody asked for.
            None if message.get("result").is_some() || message.get("error").is_some() => return,
            None => Err((code::REQUEST, "a message needs a `method`".into())),
        };
        match (id, result) {
            (None, _) if method.is_some() => {}
            (id, Ok(result)) => frame::write(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
            (id, Err((code, why))) => {
                frame::write(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}}));
            }
        }
    }

    fn handle(&mut self, method: &str, params: &Value, request: bool) -> Result<Value, Refused> {
        match method {
            "initialize" if self.initialized => return Err((code::REQUEST, "initialized twice".into())),
            "initialize" => {
                self.initialized = true;
                return Ok(capabilities());
            }
            _ if !self.initialized => return Err((code::NOT_INITIALIZED, "`initialize` comes first".into())),
            "shutdown" => {
                self.shut_down = true;
                return Ok(Value::Null);
            }
            _ if self.shut_down => return Err((code::REQUEST, "the server is shut down".into())),
            _ => {}
        }
        if !request {
            self.notified(method, params);
            return Ok(Value::Null);
        }
        let Some(answer) = answer::find(method) else {
            return Err((code::METHOD, format!("`{method}` is not supported")));
        };
        let uri = params["textDocument"]["uri"].as_str();
        let document = uri.and_then(|uri| self.documents.get_mut(uri));
        let Some(document) = document else {
            return Err((code::PARAMS, "the parameters name no open document".into()));
        };
        answer(document, params).ok_or_else(|| (code::PARAMS, format!("wrong parameters for `{method}`")))
    }

    fn notified(&mut self, method: &str, params: &Value) {
        let item = &params["textDocument"];
        let Some(uri) = item["uri"].as_str().map(str::to_string) else { return };
        match method {
            "textDocument/didOpen" => {
                let text = item["text"].as_str().unwrap_or_default();
                self.documents.insert(uri.clone(), Document::new(&uri, text.into(), item["version"].clone()));
                self.changed.insert(uri);
            }
            "textDocument/didChange" => {
                let Some(document) = self.documents.get_mut(&uri) else { return };
                document.change(&params["contentChanges"], item["version"].clone());
                self.changed.insert(uri);
            }
            "textDocument/didClose" => {
                self.documents.remove(&uri);
                self.changed.remove(&uri);
                publish(&uri, &Value::Null, vec![]);
            }
            // What was saved may be included by others.
            "textDocument/didSave" => self.changed.extend(self.documents.keys().cloned()),
            _ => {}
        }
    }

    /// Publishes what is wrong with the documents that have changed.
    fn diagnose(&mut self) {
        for uri in std::mem::take(&mut self.changed) {
            let Some(document) = self.documents.get_mut(&uri) else { continue };
            let found = catch_unwind(AssertUnwindSafe(|| analysis::diagnostics(document))).unwrap_or_default();
            publish(&uri, &document.version, found);
        }
    }
}

fn publish(uri: &str, version: &Value, diagnostics: Vec<Value>) {
    let mut params = json!({"uri": uri, "diagnostics": diagnostics});
    if version.is_i64() {
        params["version"] = version.clone();
    }
    frame::write(&json!({"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params}));
}

fn capabilities() -> Value {
    json!({
        "capabilities": {
            "positionEncoding": "utf-16",
            "textDocumentSync": {"openClose": true, "change": 2, "save": true},
            "hoverProvider": true,
            "definitionProvider": true,
            "referencesProvider": true,
            "documentHighlightProvider": true,
            "documentSymbolProvider": true,
            "documentFormattingProvider": true,
            "completionProvider": {},
        },
        "serverInfo": {"name": "pairforge", "version": env!("CARGO_PKG_VERSION")},
    })
}
