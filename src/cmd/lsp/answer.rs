//! Requests about one document: one line each in [`ANSWERS`].

use super::analysis::analysis;
use super::complete::complete;
use super::document::Document;
use super::hover::hover;
use pg2::diag::Span;
use pg2::syntax::names::Kind;
use serde_json::{Value, json};

/// The answer to a request; `None` if its parameters are wrong.
pub type Answer = fn(&mut Document, &Value) -> Option<Value>;

static ANSWERS: &[(&str, Answer)] = &[
    ("textDocument/hover", |d, p| position(d, p).map(|at| hover(d, at))),
    ("textDocument/completion", |d, p| position(d, p).map(|at| complete(d, at))),
    ("textDocument/definition", |d, p| position(d, p).map(|at| definition(d, at))),
    ("textDocument/references", references),
    ("textDocument/documentHighlight", highlights),
    ("textDocument/documentSymbol", |d, _| Some(symbols(d))),
    ("textDocument/formatting", |d, _| Some(formatting(d))),
];

pub fn find(method: &str) -> Option<Answer> {
    ANSWERS.iter().find(|a| a.0 == method).map(|a| a.1)
}

fn position(document: &Document, params: &Value) -> Option<usize> {
    document.offset(&params["position"])
}

fn definition(document: &mut Document, at: usize) -> Value {
    let names = document.names();
    let Some(used) = names.at(at) else { return Value::Null };
    if let Some(definition) = used.definition {
        let span = names.definitions[definition].span;
        return document.location(span);
    }
    let name = used.span.of(&document.text).to_string();
    analysis(document).elsewhere(&name).map_or(Value::Null, |(file, found)| file.location(found.span))
}

/// All places of the name at a position.
fn places(document: &mut Document, at: usize) -> Vec<Span> {
    let names = document.names();
    names.at(at).and_then(|u| u.definition).map(|d| names.places(d)).unwrap_or_default()
}

fn references(document: &mut Document, params: &Value) -> Option<Value> {
    let at = position(document, params)?;
    let own = params["context"]["includeDeclaration"].as_bool().unwrap_or(true);
    let places = places(document, at);
    Some(places.into_iter().skip(!own as usize).map(|s| document.location(s)).collect())
}

fn highlights(document: &mut Document, params: &Value) -> Option<Value> {
    let at = position(document, params)?;
    let places = places(document, at);
    Some(places.into_iter().map(|s| json!({"range": document.range(s)})).collect())
}

fn symbols(document: &mut Document) -> Value {
    let definitions = document.names().definitions.clone();
    let shown = definitions.iter().filter(|d| !matches!(d.kind, Kind::Parameter | Kind::Counter));
    shown
        .map(|d| {
            // The protocol's numbers for kinds of symbols.
            let kind = match d.kind {
                Kind::Pin => 8,
                Kind::Const => 14,
                Kind::Function => 12,
                _ => 13,
            };
            let statement = Span { start: d.statement.start.min(d.span.start), end: d.statement.end.max(d.span.end) };
            json!({
                "name": d.name,
                "kind": kind,
                "detail": d.class.unwrap_or_default(),
                "range": document.range(statement),
                "selectionRange": document.range(d.span),
            })
        })
        .collect()
}

/// The canonical layout as one edit; nothing where the text does not parse.
fn formatting(document: &mut Document) -> Value {
    match pg2::syntax::fmt::format(&document.text) {
        Ok(text) if text == document.text => json!([]),
        Ok(text) => {
            let all = Span { start: 0, end: document.text.len() };
            json!([{"range": document.range(all), "newText": text}])
        }
        Err(_) => Value::Null,
    }
}
