//! Requests about one document: one line each in [`ANSWERS`].

use crate::action::actions;
use crate::analysis::analysis;
use crate::complete::complete;
use crate::document::{Document, MOST};
use crate::hover::hover;
use lsp_types::request::{
    CodeActionRequest, Completion, DocumentHighlightRequest, DocumentSymbolRequest, Formatting, GotoDefinition,
    HoverRequest, References, Request,
};
use lsp_types::{
    DocumentHighlight, DocumentSymbol, DocumentSymbolResponse, GotoDefinitionResponse, Location, ReferenceContext,
    SymbolKind, TextDocumentPositionParams, TextEdit,
};
use pg2::diag::Span;
use pg2::syntax::names::{Definition, Kind};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

/// The answer to a request, from its parameters.
pub type Answer = fn(&mut Document, &Value) -> serde_json::Result<Value>;

static ANSWERS: &[(&str, Answer)] = &[
    (HoverRequest::METHOD, |d, p| at::<HoverRequest>(d, p, hover)),
    (Completion::METHOD, |d, p| at::<Completion>(d, p, |d, at| Some(complete(d, at).into()))),
    (GotoDefinition::METHOD, |d, p| at::<GotoDefinition>(d, p, definition)),
    (References::METHOD, |d, p| answered::<References, _>(d, p, references)),
    (DocumentHighlightRequest::METHOD, |d, p| at::<DocumentHighlightRequest>(d, p, highlights)),
    (DocumentSymbolRequest::METHOD, |d, p| answered::<DocumentSymbolRequest, IgnoredAny>(d, p, |d, _| symbols(d))),
    // The layout has no options.
    (Formatting::METHOD, |d, p| answered::<Formatting, IgnoredAny>(d, p, |d, _| formatting(d))),
    (CodeActionRequest::METHOD, |d, p| answered::<CodeActionRequest, _>(d, p, |d, p| Some(actions(d, &p)))),
];

pub fn find(method: &str) -> Option<Answer> {
    ANSWERS.iter().find(|a| a.0 == method).map(|a| a.1)
}

/// The answer to the request `R`, of whose parameters `P` is read.
fn answered<R: Request, P: DeserializeOwned>(
    document: &mut Document,
    params: &Value,
    answer: impl Fn(&mut Document, P) -> R::Result,
) -> serde_json::Result<Value> {
    let params = P::deserialize(params)?;
    serde_json::to_value(answer(document, params))
}

/// The answer to a request about a position, which `answer` gets as an offset.
fn at<R: Request>(
    document: &mut Document,
    params: &Value,
    answer: impl Fn(&mut Document, usize) -> R::Result,
) -> serde_json::Result<Value> {
    answered::<R, TextDocumentPositionParams>(document, params, |d, p| {
        let at = d.offset(p.position);
        answer(d, at)
    })
}

fn definition(document: &mut Document, at: usize) -> Option<GotoDefinitionResponse> {
    let names = document.names();
    let used = names.at(at)?;
    if let Some(definition) = used.definition {
        let span = names.definitions[definition].span;
        return Some(document.location(span).into());
    }
    let name = used.span.of(&document.text).to_string();
    let (file, found) = analysis(document).elsewhere(&name)?;
    Some(file.location(found.span).into())
}

/// All places of the name at a position.
fn places(document: &mut Document, at: usize) -> Vec<Span> {
    let names = document.names();
    names.at(at).and_then(|u| u.definition).map(|d| names.places(d)).unwrap_or_default()
}

/// The parameters of a request for references. Without the context, the definition is included.
#[derive(Deserialize)]
struct ReferencesOf {
    #[serde(flatten)]
    place: TextDocumentPositionParams,
    context: Option<ReferenceContext>,
}

fn references(document: &mut Document, params: ReferencesOf) -> Option<Vec<Location>> {
    let at = document.offset(params.place.position);
    let own = params.context.is_none_or(|c| c.include_declaration);
    let places = places(document, at);
    Some(places.into_iter().skip(!own as usize).take(MOST).map(|s| document.location(s)).collect())
}

fn highlights(document: &mut Document, at: usize) -> Option<Vec<DocumentHighlight>> {
    let places = places(document, at);
    Some(places.into_iter().take(MOST).map(|s| DocumentHighlight { range: document.range(s), kind: None }).collect())
}

fn symbols(document: &mut Document) -> Option<DocumentSymbolResponse> {
    let is_shown = |d: &&Definition| !matches!(d.kind, Kind::Parameter | Kind::Counter);
    let shown: Vec<Definition> = document.names().definitions.iter().filter(is_shown).take(MOST).cloned().collect();
    Some(DocumentSymbolResponse::Nested(shown.iter().map(|d| symbol(document, d)).collect()))
}

// `deprecated` is a field that the type still wants.
#[expect(deprecated)]
fn symbol(document: &Document, d: &Definition) -> DocumentSymbol {
    let kind = match d.kind {
        Kind::Pin => SymbolKind::FIELD,
        Kind::Const => SymbolKind::CONSTANT,
        Kind::Function => SymbolKind::FUNCTION,
        _ => SymbolKind::VARIABLE,
    };
    let statement = Span { start: d.statement.start.min(d.span.start), end: d.statement.end.max(d.span.end) };
    DocumentSymbol {
        name: d.name.clone(),
        detail: d.class.map(Into::into),
        kind,
        tags: None,
        deprecated: None,
        range: document.range(statement),
        selection_range: document.range(d.span),
        children: None,
    }
}

/// The canonical layout as one edit; nothing where the text does not parse.
fn formatting(document: &mut Document) -> Option<Vec<TextEdit>> {
    let text = pg2::syntax::fmt::format(&document.text).ok()?;
    if text == *document.text {
        return Some(Vec::new());
    }
    let all = Span { start: 0, end: document.text.len() };
    Some(vec![TextEdit::new(document.range(all), text)])
}
