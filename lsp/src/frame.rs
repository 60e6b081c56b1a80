//! Messages on the wire: headers, an empty line, and as many bytes of JSON as the headers say.
//!
//! The messages are those of `lsp-server`, and it writes them. The headers are read here: `lsp-server` stops in the middle of
//! a frame that it cannot read, so that the rest of that frame would be taken for the next one, and it allocates whatever
//! length a header names. Here such a frame is passed over, it gets one answer, and the next one is read.

use lsp_server::{ErrorCode, Message};
use serde_json::{Value, json};
use std::io::{BufRead, Read, Write};

/// Longer messages are read and dropped.
const LONGEST: u64 = 1 << 28;

/// An incoming message or error.
pub enum Incoming {
    Message(Message),
    /// Why it is no message; what follows it can still be read.
    Malformed(ErrorCode, String),
}

/// The messages of a stream.
pub struct Reader<R> {
    input: R,
    /// Whether the last frame was none, so that the next header may stand behind what is left of it, on the same line.
    is_lost: bool,
}

impl<R: BufRead> Reader<R> {
    pub fn new(input: R) -> Reader<R> {
        Reader { input, is_lost: false }
    }

    /// The next message; `None` at the end of the input.
    pub fn read(&mut self) -> Option<Incoming> {
        let found = body(&mut self.input, self.is_lost)?.and_then(|bytes| match serde_json::from_slice(&bytes) {
            Ok(json @ Value::Object(_)) => Ok(json),
            Ok(_) => Err("a message is a JSON object".into()),
            Err(e) => Err(format!("this is no JSON: {e}")),
        });
        self.is_lost = found.is_err();
        Some(match found {
            Ok(json) => message(json),
            Err(why) => Incoming::Malformed(ErrorCode::ParseError, why),
        })
    }
}

/// The message of some JSON, or why it is none.
pub fn message(json: Value) -> Incoming {
    let identified = json.get("id").is_some();
    match serde_json::from_value(json) {
        // `lsp-server` takes a request with an id that it cannot hold for a notification, and the client would wait.
        Ok(Message::Notification(_)) if identified => {
            Incoming::Malformed(ErrorCode::InvalidRequest, "an id is a 32-bit integer or a string".into())
        }
        Ok(message) => Incoming::Message(message),
        Err(_) => {
            let why = "a message is a request, a response or a notification";
            Incoming::Malformed(ErrorCode::InvalidRequest, why.into())
        }
    }
}

/// The bytes behind the next headers, or why there are none; `None` at the end of the input.
fn body(input: &mut impl BufRead, is_lost: bool) -> Option<Result<Vec<u8>, String>> {
    let length = match headers(input, is_lost)? {
        Ok(length) => length,
        Err(why) => return Some(Err(why)),
    };
    let mut body = input.by_ref().take(length);
    if length > LONGEST {
        std::io::copy(&mut body, &mut std::io::sink()).ok()?;
        return Some(Err(format!("a message of {length} bytes is too long")));
    }
    let mut bytes = Vec::new();
    body.read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == length).then_some(Ok(bytes))
}

/// A header is shorter than this; a line that is longer is read in pieces.
const PIECE: u64 = 4096;

/// The header that the next frame begins with.
const LENGTH: &str = "content-length";

/// The length that the next headers say. After a frame that was none, its rest may stand before the first of them.
fn headers(input: &mut impl BufRead, is_lost: bool) -> Option<Result<u64, String>> {
    let mut length: Option<u64> = None;
    let mut wrong = None;
    let mut piece = Vec::new();
    loop {
        // What a line without an end has had before, where a header may have begun.
        let behind = if is_lost && !piece.ends_with(b"\n") { piece.len().saturating_sub(64) } else { piece.len() };
        piece.drain(..behind);
        if input.by_ref().take(PIECE).read_until(b'\n', &mut piece).ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&piece);
        let mut line = text.trim();
        let at = if is_lost { line.to_ascii_lowercase().rfind(LENGTH) } else { None };
        if let Some(header) = at.and_then(|at| line.get(at..)) {
            // Within JSON these words do not end a line.
            line = header;
        }
        if line.is_empty() {
            // Blank lines before the first header are let pass.
            if length.is_none() && wrong.is_none() {
                continue;
            }
            return Some(length.ok_or_else(|| wrong.unwrap_or_else(|| "there is no Content-Length".into())));
        }
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case(LENGTH) => match value.trim().parse() {
                Ok(n) => length = Some(n),
                Err(_) => wrong = Some(format!("`{}` is no length", value.trim())),
            },
            Some(_) => {}
            None => wrong = Some("a header has no colon".into()),
        }
    }
}

/// Sends a message. A client that is gone is noticed when reading.
pub fn write(message: Message) {
    let _ = message.write(&mut std::io::stdout().lock());
}

/// Answers what is no message. Its id is null, which the responses of `lsp-server` do not have.
pub fn refuse(code: ErrorCode, why: &str) {
    let answer = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code as i32, "message": why}}).to_string();
    let mut out = std::io::stdout().lock();
    let _ = write!(out, "Content-Length: {}\r\n\r\n{answer}", answer.len()).and_then(|()| out.flush());
}
