//! Completion: classes where a declaration wants one, otherwise what a statement or an expression may hold.

use super::document::Document;
use super::hover::{self, CLASSES};
use pg2::syntax::functions::FUNCTIONS;
use pg2::syntax::names::Kind;
use pg2::syntax::parse::RESERVED;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The protocol's numbers for kinds of items.
mod kind {
    pub const FUNCTION: u32 = 3;
    pub const FIELD: u32 = 5;
    pub const VARIABLE: u32 = 6;
    pub const KEYWORD: u32 = 14;
    pub const CONSTANT: u32 = 21;
    pub const TYPE: u32 = 25;
}

/// Formats that are offered: one of each class, in a usual width.
static FORMATS: &[&str] = &["int32", "uint32", "fixed32.31", "ufixed32.31", "float18.9", "float32.23"];

pub fn complete(document: &mut Document, at: usize) -> Value {
    let line_start = document.text[..at].rfind('\n').map_or(0, |k| k + 1);
    let before = &document.text[line_start..at];
    if in_comment(&document.text, at) {
        return json!([]);
    }
    let statement = before.rsplit(';').next().unwrap_or_default().trim_start();
    if wants_class(statement) {
        return CLASSES.iter().map(|(name, what)| item(name, kind::KEYWORD, what, None)).collect();
    }
    let mut items = Vec::new();
    let mut seen = BTreeSet::new();
    let known: Vec<_> = document.names().known_at(at).cloned().collect();
    // The innermost definition of a name is the last.
    for d in known.iter().rev().filter(|d| seen.insert(d.name.clone())) {
        let kind = match d.kind {
            Kind::Pin => kind::FIELD,
            Kind::Const => kind::CONSTANT,
            Kind::Function => kind::FUNCTION,
            _ => kind::VARIABLE,
        };
        items.push(item(&d.name, kind, hover::first_line(d.statement.of(&document.text)), None));
    }
    for function in FUNCTIONS {
        let text = hover::described_function(function);
        items.push(item(function.name, kind::FUNCTION, &function.call(), Some(&text)));
    }
    items.extend(FORMATS.iter().map(|f| item(f, kind::TYPE, "format", None)));
    let words = RESERVED.iter().filter(|w| !CLASSES.iter().any(|c| c.0 == **w));
    items.extend(words.map(|w| item(w, kind::KEYWORD, "keyword", None)));
    Value::Array(items)
}

fn item(label: &str, kind: u32, detail: &str, documentation: Option<&str>) -> Value {
    let mut item = json!({"label": label, "kind": kind, "detail": detail});
    if let Some(text) = documentation {
        item["documentation"] = json!({"kind": "markdown", "value": text});
    }
    item
}

/// Whether a statement is a declaration up to its class: a format, a name, perhaps lengths.
fn wants_class(statement: &str) -> bool {
    let mut words = statement.split_whitespace();
    let (format, name, class) = (words.next().unwrap_or_default(), words.next(), words.next());
    let is_format = format.parse::<hdl::Format>().is_ok();
    let ends = statement.ends_with(char::is_whitespace);
    let plain = |w: &str| w.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_format && name.is_some() && words.next().is_none() && class.map_or(ends, |c| !ends && plain(c))
}

fn in_comment(text: &str, at: usize) -> bool {
    let tokens = pg2::syntax::lex::lex(text);
    let open = |d: &pg2::diag::Diagnostic| d.code == pg2::diag::codes::COMMENT && d.span().start < at;
    tokens.comments.iter().any(|c| {
        let line = text[c.start..].starts_with("//");
        c.start < at && (at < c.end || line && at == c.end)
    }) || tokens.errors.iter().any(open)
}
