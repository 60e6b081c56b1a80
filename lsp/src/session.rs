//! The server for programs that pass its messages themselves: all work is done on the caller's thread, before a call returns.

use crate::Server;
use crate::beside::{Beside, Event, Threads};
use crate::frame::{Incoming, message};
use lsp_server::Message;
use serde_json::Value;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};

/// A server and what it has said.
///
/// ```
/// use serde_json::json;
///
/// let mut session = pairforge_lsp::Session::new();
/// let answers = session.take(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}));
/// assert_eq!(answers[0]["result"]["capabilities"]["hoverProvider"], true);
/// ```
pub struct Session {
    server: Server,
    events: Receiver<Event>,
    said: Rc<RefCell<Vec<Message>>>,
}

impl Default for Session {
    fn default() -> Session {
        Session::new()
    }
}

impl Session {
    pub fn new() -> Session {
        let said = Rc::new(RefCell::new(Vec::new()));
        let (send, events) = channel();
        let out = said.clone();
        let beside = Beside::new(send, Rc::new(move |message| out.borrow_mut().push(message)), Threads::Callers);
        Session { server: Server::new(beside), events, said }
    }

    /// Takes a message of the client: all that the server has to say to it.
    pub fn take(&mut self, json: Value) -> Vec<Value> {
        let mut next = match message(json) {
            incoming @ Incoming::Message(_) => Some(Event::Incoming(incoming)),
            // A client that sends no message waits for no answer.
            Incoming::Malformed(..) => None,
        };
        while let Some(event) = next {
            if self.server.act(event).is_break() {
                break;
            }
            next = self.server.next_at_once(&self.events);
        }
        let said = std::mem::take(&mut *self.said.borrow_mut());
        said.iter()
            .map(|message| Wire { jsonrpc: "2.0", message })
            .filter_map(|w| serde_json::to_value(w).ok())
            .collect()
    }
}

/// A message as it is sent.
#[derive(serde::Serialize)]
struct Wire<'a> {
    jsonrpc: &'static str,
    #[serde(flatten)]
    message: &'a Message,
}
