//! Messages on the wire: headers, an empty line, and as many bytes of JSON as the headers say.
//!
//! `lsp-server` ends at the first message that it cannot read. Here such a message is answered, and the next one is read.

use serde_json::Value;
use std::io::{BufRead, Read, Write};

/// Longer messages are read and dropped.
const LONGEST: u64 = 1 << 28;

/// What came in.
pub enum Message {
    Json(Value),
    /// Why it is no message; what follows it can still be read.
    Malformed(String),
}

/// The next message; `None` at the end of the input.
pub fn read(input: &mut impl BufRead) -> Option<Message> {
    let mut length: Option<u64> = None;
    let mut wrong = None;
    loop {
        let mut line = Vec::new();
        // A header is short; what has no end of line is none.
        if input.by_ref().take(4096).read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() {
            // Blank lines before the first header are let pass.
            if length.is_none() && wrong.is_none() {
                continue;
            }
            break;
        }
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => match value.trim().parse() {
                Ok(n) => length = Some(n),
                Err(_) => wrong = Some(format!("`{}` is no length", value.trim())),
            },
            Some(_) => {}
            None => wrong = Some("a header has no colon".into()),
        }
    }
    let Some(length) = length else {
        return Some(Message::Malformed(wrong.unwrap_or_else(|| "there is no Content-Length".into())));
    };
    let mut body = input.by_ref().take(length);
    if length > LONGEST {
        std::io::copy(&mut body, &mut std::io::sink()).ok()?;
        return Some(Message::Malformed(format!("a message of {length} bytes is too long")));
    }
    let mut bytes = Vec::new();
    body.read_to_end(&mut bytes).ok()?;
    if (bytes.len() as u64) < length {
        return None;
    }
    Some(match serde_json::from_slice(&bytes) {
        Ok(json @ Value::Object(_)) => Message::Json(json),
        Ok(_) => Message::Malformed("a message is a JSON object".into()),
        Err(e) => Message::Malformed(format!("this is no JSON: {e}")),
    })
}

/// Sends a message. A client that is gone is noticed when reading.
pub fn write(message: &Value) {
    let text = message.to_string();
    let mut out = std::io::stdout().lock();
    let _ = write!(out, "Content-Length: {}\r\n\r\n{text}", text.len()).and_then(|()| out.flush());
}
