//! Completion: classes where a declaration wants one, otherwise what a statement or an expression may hold.

use crate::analysis::analysis;
use crate::document::{Document, MOST};
use crate::hover::{self, CLASSES, markdown};
use lsp_types::{CompletionItem, CompletionItemKind, Documentation};
use pg2::syntax::functions::FUNCTIONS;
use pg2::syntax::lex::TokenKind;
use pg2::syntax::names::Kind;
use pg2::syntax::parse::RESERVED;
use std::collections::BTreeSet;

/// Formats that are offered: one of each class, in a usual width.
static FORMATS: &[&str] = &["int32", "uint32", "fixed32.31", "ufixed32.31", "float18.9", "float32.23"];

pub fn complete(document: &mut Document, at: usize) -> Vec<CompletionItem> {
    let line_start = document.text[..at].rfind('\n').map_or(0, |k| k + 1);
    let before = &document.text[line_start..at];
    if in_comment(&document.text, at) {
        return Vec::new();
    }
    let statement = before.rsplit(';').next().unwrap_or_default().trim_start();
    if wants_class(statement) {
        return CLASSES.iter().map(|(name, what)| item(name, CompletionItemKind::KEYWORD, what, None)).collect();
    }
    let mut items = Vec::new();
    let mut seen = BTreeSet::new();
    let mut known: Vec<_> = document.names().known_at(at).cloned().collect();
    known.drain(..known.len().saturating_sub(MOST));
    // The innermost definition of a name is the last.
    for d in known.iter().rev().filter(|d| seen.insert(d.name.clone())) {
        items.push(item(&d.name, symbol_kind(d.kind), hover::first_line(d.statement.of(&document.text)), None));
    }
    if document.may_include() {
        for (d, text) in analysis(document).included().take(MOST).filter(|(d, _)| seen.insert(d.name.clone())) {
            items.push(item(&d.name, symbol_kind(d.kind), hover::first_line(d.statement.of(text)), None));
        }
    }
    for function in FUNCTIONS {
        let text = hover::described_function(function);
        items.push(item(function.name, CompletionItemKind::FUNCTION, &function.call(), Some(&text)));
    }
    let mut formats: Vec<String> = formats_in_use(&document.text);
    formats.extend(FORMATS.iter().map(|f| f.to_string()).filter(|f| !formats.contains(f)).collect::<Vec<_>>());
    items.extend(formats.iter().map(|f| item(f, CompletionItemKind::TYPE_PARAMETER, "format", None)));
    let words = RESERVED.iter().filter(|w| !CLASSES.iter().any(|c| c.0 == **w));
    items.extend(words.map(|w| item(w, CompletionItemKind::KEYWORD, "keyword", None)));
    items
}

fn symbol_kind(kind: Kind) -> CompletionItemKind {
    match kind {
        Kind::Pin => CompletionItemKind::FIELD,
        Kind::Const => CompletionItemKind::CONSTANT,
        Kind::Function => CompletionItemKind::FUNCTION,
        _ => CompletionItemKind::VARIABLE,
    }
}

/// The formats that a text has, in its order.
fn formats_in_use(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for token in pg2::syntax::lex::lex(text).tokens.iter().filter(|t| t.kind == TokenKind::Format) {
        let format = token.span.of(text);
        if found.len() < 100 && format.parse::<hdl::Format>().is_ok() && !found.iter().any(|f| f == format) {
            found.push(format.to_string());
        }
    }
    found
}

fn item(label: &str, kind: CompletionItemKind, detail: &str, documentation: Option<&str>) -> CompletionItem {
    CompletionItem {
        label: label.into(),
        kind: Some(kind),
        detail: Some(detail.into()),
        documentation: documentation.map(|text| Documentation::MarkupContent(markdown(text.into()))),
        ..CompletionItem::default()
    }
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
