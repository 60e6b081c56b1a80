//! Completion by context: classes where a declaration wants one, reductions behind an output, functions of real numbers inside
//! `pg_fn`; otherwise what a statement or an expression may hold.

use crate::analysis::{included, sources};
use crate::document::{Document, MOST};
use crate::hover::{self, CLASSES, markdown};
use crate::signature::calls_at;
use lsp_types::{CompletionItem, CompletionItemKind, Documentation};
use pg2::syntax::functions::FUNCTIONS;
use pg2::syntax::lex::TokenKind;
use pg2::syntax::names::{Definition, Kind};
use pg2::syntax::parse::RESERVED;
use std::collections::BTreeSet;

/// Formats that are offered: one of each class, in a usual width.
static FORMATS: &[&str] = &["int32", "uint32", "fixed32.31", "ufixed32.31", "float18.9", "float32.23"];

/// The statements that reduce into an output.
static REDUCTIONS: &[(&str, &str)] = &[
    ("+=", "adds to the sum"),
    ("-=", "takes away from the sum"),
    ("max=", "keeps the greatest"),
    ("min=", "keeps the least"),
];

pub fn complete(document: &mut Document, at: usize) -> Vec<CompletionItem> {
    let line_start = document.text[..at].rfind('\n').map_or(0, |k| k + 1);
    let before = document.text[line_start..at].to_string();
    if in_comment(&document.text, at) {
        return Vec::new();
    }
    let statement = before.rsplit([';', '{', '}']).next().unwrap_or_default().trim_start();
    let types: Vec<Definition> =
        document.names().definitions.iter().filter(|d| d.kind == Kind::Type).take(MOST).cloned().collect();
    if wants_class(statement, &types) {
        return CLASSES.iter().map(|(name, what)| item(name, CompletionItemKind::KEYWORD, what, None)).collect();
    }
    if reduces(document, statement) {
        return REDUCTIONS.iter().map(|(name, what)| item(name, CompletionItemKind::OPERATOR, what, None)).collect();
    }
    if let Some(variable) = variable_of_function(&document.text, at).map(str::to_string) {
        return parts_of_function(document, at, &variable);
    }
    let mut items = Vec::new();
    let mut seen = BTreeSet::new();
    let mut known: Vec<_> = document.names().known_at(at).filter(|d| d.kind != Kind::Type).cloned().collect();
    known.drain(..known.len().saturating_sub(MOST));
    // The innermost definition of a name is the last.
    for d in known.iter().rev().filter(|d| seen.insert(d.name.clone())) {
        items.push(item(&d.name, symbol_kind(d.kind), hover::first_line(d.statement.of(&document.text)), None));
    }
    // A name of a format holds in the whole file.
    for d in types.iter().filter(|d| seen.insert(d.name.clone())) {
        let what = hover::first_line(d.statement.of(&document.text));
        items.push(first(item(&d.name, symbol_kind(d.kind), what, None), wants_format(statement)));
    }
    if document.may_include() {
        let sources = sources(document);
        for (d, text) in included(&sources).take(MOST).filter(|(d, _)| seen.insert(d.name.clone())) {
            items.push(item(&d.name, symbol_kind(d.kind), hover::first_line(d.statement.of(text)), None));
        }
    }
    for function in FUNCTIONS {
        let text = hover::described_function(function);
        items.push(item(function.name, CompletionItemKind::FUNCTION, &function.call(), Some(&text)));
    }
    let used = formats_in_use(&document.text);
    let others = FORMATS.iter().map(|f| f.to_string()).filter(|f| !used.contains(f));
    for (format, is_used) in used.iter().map(|f| (f.clone(), true)).chain(others.map(|f| (f, false))) {
        let what = if is_used { "format, in use here" } else { "format" };
        let format = item(&format, CompletionItemKind::TYPE_PARAMETER, what, None);
        items.push(first(format, is_used && wants_format(statement)));
    }
    let words = RESERVED.iter().filter(|w| !CLASSES.iter().any(|c| c.0 == **w));
    items.extend(words.map(|w| item(w, CompletionItemKind::KEYWORD, "keyword", None)));
    items
}

/// Whether a format is as likely as anything: at the start of a statement, or of what may be a cast.
fn wants_format(statement: &str) -> bool {
    let head = statement.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    head.is_empty() || head.ends_with('(')
}

/// An item before the others where it is likely.
fn first(mut item: CompletionItem, is_likely: bool) -> CompletionItem {
    if is_likely {
        item.sort_text = Some(format!(" {}", item.label));
    }
    item
}

/// Whether a statement is an output, or outputs that a selection has, up to what reduces into them.
fn reduces(document: &mut Document, statement: &str) -> bool {
    let word = |c: char| c.is_ascii_alphabetic();
    let head = statement.trim_end_matches(word);
    let name = head.trim_start_matches('(');
    let name = &name[..name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len())];
    let target = head.trim_end();
    // Behind the whole target, and with a space before the word that is being written.
    let is_whole = target.len() < head.len() && (target == name || target.ends_with([']', ')']));
    let is_open = target.starts_with('(') && !target.ends_with(')');
    is_whole && !is_open && document.names().definitions.iter().any(|d| d.name == name && d.class == Some("fout"))
}

/// The variable of the function that `pg_fn` fits, where the offset is in one.
fn variable_of_function(text: &str, at: usize) -> Option<&str> {
    let calls = calls_at(text, at);
    calls.iter().rposition(|call| *call == ("pg_fn", 1))?;
    let start = text[..at].rfind("pg_fn")?;
    let argument = text[start..at].split_once('(')?.1.split(',').next()?.trim();
    // A cast in front does not change the name.
    let name = argument.rsplit(')').next().unwrap_or(argument).trim();
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    Some(if is_name && !name.starts_with(|c: char| c.is_ascii_digit()) { name } else { "x" })
}

/// The words of a real function of `pg_fn`: its variable, functions of real numbers, and constants.
fn parts_of_function(document: &mut Document, at: usize, variable: &str) -> Vec<CompletionItem> {
    let mut items = vec![first(item(variable, CompletionItemKind::VARIABLE, "the function's variable", None), true)];
    let is_number = |d: &&Definition| d.kind == Kind::Const && d.name != variable;
    for d in document.names().clone().known_at(at).filter(is_number).take(MOST) {
        items.push(item(&d.name, symbol_kind(d.kind), hover::first_line(d.statement.of(&document.text)), None));
    }
    let kind = |word| if word == "pi" { CompletionItemKind::CONSTANT } else { CompletionItemKind::FUNCTION };
    items.extend(pg2::words_of_functions().map(|word| item(word, kind(word), "of real numbers", None)));
    items
}

fn symbol_kind(kind: Kind) -> CompletionItemKind {
    match kind {
        Kind::Pin => CompletionItemKind::FIELD,
        Kind::Const => CompletionItemKind::CONSTANT,
        Kind::Function => CompletionItemKind::FUNCTION,
        Kind::Type => CompletionItemKind::TYPE_PARAMETER,
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

/// Whether a statement is a declaration up to its class: a format or a name of one, a name, perhaps lengths.
fn wants_class(statement: &str, types: &[Definition]) -> bool {
    let mut words = statement.split_whitespace();
    let (format, name, class) = (words.next().unwrap_or_default(), words.next(), words.next());
    let is_format = format.parse::<hdl::Format>().is_ok() || types.iter().any(|d| d.name == format);
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
