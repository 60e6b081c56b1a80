//! The language server of PG2 for editors, over standard input and output ([`serve`]), or message by message for a program that has an
//! editor of its own, such as a page in a browser ([`Session`]).
//!
//! Over standard input and output one thread reads messages and one answers them; documents are analysed beside, each on a thread of its own ([`beside`]). So no
//! request waits for another document, and a change that is overtaken by the next one is not diagnosed. Positions in the protocol count
//! UTF-16 units; see `document`.

mod action;
mod analysis;
mod answer;
mod beside;
mod complete;
mod document;
#[cfg_attr(target_family = "wasm", expect(dead_code, reason = "there are no streams"))]
mod frame;
mod hover;
mod outline;
mod rename;
mod session;
mod signature;
#[cfg_attr(target_family = "wasm", path = "system/none.rs")]
mod system;
#[cfg(test)]
mod tests;
mod text;
mod uri;
mod workspace;

pub use session::Session;

use analysis::Missing;
use beside::{Beside, Event};
use document::{Document, Open};
use frame::Incoming;
use lsp_server::{ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{
    Cancel, DidChangeTextDocument, DidChangeWatchedFiles, DidCloseTextDocument, DidOpenTextDocument,
    DidSaveTextDocument, Exit, Initialized, LogMessage, Notification as Notified, PublishDiagnostics,
};
use lsp_types::request::{Initialize, RegisterCapability, Request as Requested, Shutdown, WorkspaceSymbolRequest};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CompletionOptions, Diagnostic, DidChangeWatchedFilesRegistrationOptions,
    DocumentLinkOptions, FileSystemWatcher, InitializeResult, LogMessageParams, MessageType, NumberOrString, OneOf,
    PositionEncodingKind, PublishDiagnosticsParams, Registration, RegistrationParams, RenameOptions,
    SemanticTokensFullOptions, SemanticTokensOptions, ServerCapabilities, ServerInfo, SignatureHelpOptions,
    TextDocumentIdentifier, TextDocumentSyncKind, TextDocumentSyncOptions, Uri,
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
#[cfg(not(target_family = "wasm"))]
use terminal::failure::Failure;

/// The receiver of the server's messages.
type Out = Rc<dyn Fn(Message)>;

/// Serves until the client says `exit` or goes away.
#[cfg(not(target_family = "wasm"))]
pub fn serve() -> Result<(), Failure> {
    let (send, events) = std::sync::mpsc::channel();
    let incoming = send.clone();
    std::thread::spawn(move || {
        let mut input = frame::Reader::new(std::io::stdin().lock());
        while let Some(message) = input.read() {
            if incoming.send(Event::Incoming(message)).is_err() {
                return;
            }
        }
        let _ = incoming.send(Event::End);
    });
    let mut server = Server::new(Beside::new(send, Rc::new(frame::write), beside::Threads::OneEach));
    while let Some(event) = server.next(&events) {
        if server.act(event).is_break() {
            break;
        }
    }
    // The protocol wants status 1 from a server that was not asked to shut down.
    if server.shut_down { Ok(()) } else { Err(Failure::Input("the client left without `shutdown`".into())) }
}

struct Server {
    initialized: bool,
    shut_down: bool,
    documents: BTreeMap<Uri, Document>,
    /// The texts of these documents, for those that include them.
    open: Open,
    /// Folders that the client has opened.
    folders: Vec<PathBuf>,
    /// Whether the client watches files for a server that asks for it.
    watches: bool,
    /// Documents that have changed since they were diagnosed.
    changed: BTreeSet<Uri>,
    /// The number of the last state of any document.
    states: u64,
    /// The missing need of the last answer, and the document that it is of.
    missing: Option<(Uri, Missing)>,
    beside: Beside,
}

/// An error that answers a request.
type Refused = (ErrorCode, String);

/// The part that the parameters of all requests about a document have.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct About {
    text_document: TextDocumentIdentifier,
}

impl Server {
    fn new(beside: Beside) -> Server {
        Server {
            initialized: false,
            shut_down: false,
            documents: BTreeMap::new(),
            open: Open::default(),
            folders: Vec::new(),
            watches: false,
            changed: BTreeSet::new(),
            states: 0,
            missing: None,
            beside,
        }
    }

    /// Acts on an event; breaks where it was the last one.
    fn act(&mut self, event: Event) -> ControlFlow<()> {
        match event {
            Event::End => return ControlFlow::Break(()),
            Event::Analysed(uri, analysis) if !self.shut_down => self.analysed(uri, analysis),
            Event::Built(uri, state, pipeline) if !self.shut_down => self.built(uri, state, pipeline),
            // Nobody waits for it any longer.
            Event::Analysed(..) | Event::Built(..) => {}
            Event::Incoming(Incoming::Message(Message::Request(request))) => self.request(request),
            Event::Incoming(Incoming::Message(Message::Notification(note))) if note.method == Exit::METHOD => {
                return ControlFlow::Break(());
            }
            Event::Incoming(Incoming::Message(Message::Notification(note))) => self.notification(note),
            // Nobody asked for it.
            Event::Incoming(Incoming::Message(Message::Response(_))) => {}
            Event::Incoming(Incoming::Malformed(code, why)) => frame::refuse(code, &why),
        }
        ControlFlow::Continue(())
    }

    fn request(&mut self, request: Request) {
        match self.reply(&request) {
            Ok(response) => {
                self.beside.send(response);
                if let Ok(about) = About::deserialize(&request.params) {
                    self.settle(&about.text_document.uri);
                }
            }
            Err((uri, missing)) => self.beside.keep(request, uri, missing),
        }
    }

    /// The answer to a request, or the document that it is about and what it needs of it and is not there.
    fn reply(&mut self, request: &Request) -> Result<Response, (Uri, Missing)> {
        // A fault in one answer must not cost the editor its server.
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(&request.method, &request.params)));
        let failed = |_| Err((ErrorCode::InternalError, format!("`{}` failed inside the server", request.method)));
        if let Some(missing) = self.missing.take() {
            return Err(missing);
        }
        let id = request.id.clone();
        Ok(match answer.unwrap_or_else(failed) {
            Ok(result) => Response::new_ok(id, result),
            Err((code, why)) => Response::new_err(id, code as i32, why),
        })
    }

    fn answer(&mut self, method: &str, params: &Value) -> Result<Value, Refused> {
        match method {
            Initialize::METHOD if self.initialized => {
                return Err((ErrorCode::InvalidRequest, "initialized twice".into()));
            }
            // Of what the client can do only this changes anything here.
            Initialize::METHOD => {
                self.initialized = true;
                let watching = "/capabilities/workspace/didChangeWatchedFiles/dynamicRegistration";
                self.folders = workspace::folders(params);
                self.watches = params.pointer(watching).and_then(Value::as_bool).unwrap_or(false);
                return serde_json::to_value(capabilities()).map_err(|e| (ErrorCode::InternalError, e.to_string()));
            }
            _ if !self.initialized => {
                return Err((ErrorCode::ServerNotInitialized, "`initialize` comes first".into()));
            }
            Shutdown::METHOD => {
                self.shut_down = true;
                self.beside.leave();
                return Ok(Value::Null);
            }
            _ if self.shut_down => return Err((ErrorCode::InvalidRequest, "the server is shut down".into())),
            _ => {}
        }
        let wrong = |e| (ErrorCode::InvalidParams, format!("wrong parameters for `{method}`: {e}"));
        if method == WorkspaceSymbolRequest::METHOD {
            return workspace::symbols(&self.folders, self.documents.values_mut(), params).map_err(wrong);
        }
        let Some(answer) = answer::find(method) else {
            return Err((ErrorCode::MethodNotFound, format!("`{method}` is not supported")));
        };
        let about = About::deserialize(params).map_err(wrong)?;
        let Some(document) = self.documents.get_mut(&about.text_document.uri) else {
            return Err((ErrorCode::InvalidParams, "the parameters name no open document".into()));
        };
        let answer = answer(document, params).map_err(wrong);
        self.missing = document.missing.take().map(|missing| (about.text_document.uri, missing));
        answer
    }

    fn notification(&mut self, note: Notification) {
        if !self.initialized || self.shut_down {
            return;
        }
        let method = note.method.clone();
        let done = catch_unwind(AssertUnwindSafe(|| self.notified(note)));
        // A notification has no answer, so the editor's log says why it had no effect.
        let why = match done {
            Ok(Ok(())) => return,
            Ok(Err(e)) => format!("wrong parameters for `{method}`: {e}"),
            Err(_) => format!("`{method}` failed inside the server"),
        };
        self.notify::<LogMessage>(LogMessageParams { typ: MessageType::ERROR, message: why });
    }

    fn notified(&mut self, note: Notification) -> serde_json::Result<()> {
        match note.method.as_str() {
            DidOpenTextDocument::METHOD => {
                let item = params::<DidOpenTextDocument>(note)?.text_document;
                let mut document = Document::new(item.uri.clone(), item.text, Some(item.version));
                document.open = self.open.clone();
                document.tell();
                self.documents.insert(item.uri.clone(), document);
                self.including(&item.uri);
                self.moved(&item.uri);
            }
            DidChangeTextDocument::METHOD => {
                let params = params::<DidChangeTextDocument>(note)?;
                let Some(document) = self.documents.get_mut(&params.text_document.uri) else { return Ok(()) };
                document.change(&params.content_changes, params.text_document.version);
                document.tell();
                self.including(&params.text_document.uri);
                self.moved(&params.text_document.uri);
            }
            DidCloseTextDocument::METHOD => {
                let uri = params::<DidCloseTextDocument>(note)?.text_document.uri;
                // From now on the file counts as it was saved.
                if let Some(path) = self.documents.remove(&uri).and_then(|d| d.path()) {
                    self.open.borrow_mut().remove(&system::key(&path));
                }
                self.including(&uri);
                self.changed.remove(&uri);
                self.beside.stop(&uri);
                self.beside.refuse_about(&uri, ErrorCode::RequestCanceled, "the document is closed");
                self.publish(uri, None, Vec::new());
            }
            // What was saved may be included by others.
            DidSaveTextDocument::METHOD | DidChangeWatchedFiles::METHOD => {
                let all: Vec<Uri> = self.documents.keys().cloned().collect();
                all.iter().for_each(|uri| self.moved(uri));
            }
            Cancel::METHOD => {
                let id = match params::<Cancel>(note)?.id {
                    NumberOrString::Number(id) => id.into(),
                    NumberOrString::String(id) => id.into(),
                };
                self.beside.cancel(&id);
            }
            Initialized::METHOD if self.watches => self.beside.send(watching()?),
            _ => {}
        }
        Ok(())
    }

    /// Diagnoses anew what may include a document that has changed.
    fn including(&mut self, changed: &Uri) {
        let may = self.documents.iter().filter(|(uri, d)| *uri != changed && d.may_include());
        let all: Vec<Uri> = may.map(|(uri, _)| uri.clone()).collect();
        all.iter().for_each(|uri| self.moved(uri));
    }

    /// Diagnoses a document anew, since it or what it includes is not as it was.
    fn moved(&mut self, uri: &Uri) {
        let Some(document) = self.documents.get_mut(uri) else { return };
        self.states += 1;
        document.is_now(self.states);
        self.changed.insert(uri.clone());
        self.beside.stop(uri);
        self.beside.refuse_about(uri, ErrorCode::ContentModified, "the document has changed since");
    }

    fn notify<N: Notified>(&self, params: N::Params) {
        self.beside.send(Notification::new(N::METHOD.into(), params));
    }

    fn publish(&self, uri: Uri, version: Option<i32>, diagnostics: Vec<Diagnostic>) {
        self.notify::<PublishDiagnostics>(PublishDiagnosticsParams { uri, diagnostics, version });
    }
}

/// The parameters of the notification `N`.
fn params<N: Notified>(note: Notification) -> serde_json::Result<N::Params> {
    serde_json::from_value(note.params)
}

/// The request that the client tell of kernels that change on the disk: others include them.
fn watching() -> serde_json::Result<Request> {
    let watcher = FileSystemWatcher { glob_pattern: "**/*.pg2".to_string().into(), kind: None };
    let options = DidChangeWatchedFilesRegistrationOptions { watchers: vec![watcher] };
    let registration = Registration {
        id: "kernels".into(),
        method: DidChangeWatchedFiles::METHOD.into(),
        register_options: Some(serde_json::to_value(options)?),
    };
    let params = serde_json::to_value(RegistrationParams { registrations: vec![registration] })?;
    Ok(Request::new("kernels".to_string().into(), RegisterCapability::METHOD.into(), params))
}

fn capabilities() -> InitializeResult {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::INCREMENTAL),
        save: Some(true.into()),
        ..TextDocumentSyncOptions::default()
    };
    let remedies = CodeActionOptions {
        code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, CodeActionKind::SOURCE_FIX_ALL]),
        ..CodeActionOptions::default()
    };
    let calls = SignatureHelpOptions {
        trigger_characters: Some(vec!["(".into(), ",".into()]),
        ..SignatureHelpOptions::default()
    };
    let words = SemanticTokensOptions {
        legend: outline::legend(),
        full: Some(SemanticTokensFullOptions::Bool(true)),
        ..SemanticTokensOptions::default()
    };
    let renames = RenameOptions { prepare_provider: Some(true), work_done_progress_options: Default::default() };
    InitializeResult {
        capabilities: ServerCapabilities {
            position_encoding: Some(PositionEncodingKind::UTF16),
            text_document_sync: Some(sync.into()),
            hover_provider: Some(true.into()),
            definition_provider: Some(OneOf::Left(true)),
            references_provider: Some(OneOf::Left(true)),
            document_highlight_provider: Some(OneOf::Left(true)),
            document_symbol_provider: Some(OneOf::Left(true)),
            workspace_symbol_provider: Some(OneOf::Left(true)),
            document_formatting_provider: Some(OneOf::Left(true)),
            completion_provider: Some(CompletionOptions::default()),
            code_action_provider: Some(remedies.into()),
            rename_provider: Some(OneOf::Right(renames)),
            signature_help_provider: Some(calls),
            folding_range_provider: Some(true.into()),
            document_link_provider: Some(DocumentLinkOptions {
                resolve_provider: Some(false),
                work_done_progress_options: Default::default(),
            }),
            inlay_hint_provider: Some(OneOf::Left(true)),
            semantic_tokens_provider: Some(words.into()),
            ..ServerCapabilities::default()
        },
        server_info: Some(ServerInfo { name: "pairforge".into(), version: Some(env!("CARGO_PKG_VERSION").into()) }),
    }
}
