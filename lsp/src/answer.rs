//! Requests about one document: one line each in [`ANSWERS`].

use crate::action::actions;
use crate::analysis::{elsewhere, sources};
use crate::complete::complete;
use crate::document::{Document, MOST};
use crate::hover::hover;
use crate::signature::signature;
use crate::{outline, rename};
use lsp_types::request::{
    CodeActionRequest, Completion, DocumentHighlightRequest, DocumentLinkRequest, DocumentSymbolRequest,
    FoldingRangeRequest, Formatting, GotoDefinition, HoverRequest, InlayHintRequest, PrepareRenameRequest, References,
    Rename, Request, SemanticTokensFullRequest, SignatureHelpRequest,
};
use lsp_types::{
    DocumentHighlight, DocumentSymbol, DocumentSymbolResponse, GotoDefinitionResponse, InlayHintParams, Location,
    ReferenceContext, SymbolKind, TextDocumentPositionParams, TextEdit,
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
    (PrepareRenameRequest::METHOD, |d, p| at::<PrepareRenameRequest>(d, p, rename::prepare)),
    (Rename::METHOD, renaming),
    (SignatureHelpRequest::METHOD, |d, p| at::<SignatureHelpRequest>(d, p, signature)),
    (FoldingRangeRequest::METHOD, |d, p| {
        answered::<FoldingRangeRequest, IgnoredAny>(d, p, |d, _| Some(outline::folds(d)))
    }),
    (DocumentLinkRequest::METHOD, |d, p| {
        answered::<DocumentLinkRequest, IgnoredAny>(d, p, |d, _| Some(outline::links(d)))
    }),
    (InlayHintRequest::METHOD, |d, p| {
        answered::<InlayHintRequest, InlayHintParams>(d, p, |d, p| Some(outline::hints(d, p.range)))
    }),
    (SemanticTokensFullRequest::METHOD, |d, p| {
        answered::<SemanticTokensFullRequest, IgnoredAny>(d, p, |d, _| Some(outline::words(d).into()))
    }),
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

/// The answer to a rename; a name that cannot be given is a wrong parameter.
fn renaming(document: &mut Document, params: &Value) -> serde_json::Result<Value> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct To {
        #[serde(flatten)]
        place: TextDocumentPositionParams,
        new_name: String,
    }
    let to = To::deserialize(params)?;
    let at = document.offset(to.place.position);
    serde_json::to_value(rename::rename(document, at, &to.new_name).map_err(serde::de::Error::custom)?)
}

fn definition(document: &mut Document, at: usize) -> Option<GotoDefinitionResponse> {
    let names = document.names();
    let used = names.at(at)?;
    if let Some(definition) = used.definition {
        let span = names.definitions[definition].span;
        return Some(document.location(span).into());
    }
    let name = used.span.of(&document.text).to_string();
    let (file, found) = elsewhere(&sources(document), &name)?;
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

pub fn symbol_kind(kind: Kind) -> SymbolKind {
    match kind {
        Kind::Pin => SymbolKind::FIELD,
        Kind::Const => SymbolKind::CONSTANT,
        Kind::Function => SymbolKind::FUNCTION,
        Kind::Type => SymbolKind::TYPE_PARAMETER,
        _ => SymbolKind::VARIABLE,
    }
}

// `deprecated` is a field that the type still wants.
#[expect(deprecated)]
fn symbol(document: &Document, d: &Definition) -> DocumentSymbol {
    let statement = Span { start: d.statement.start.min(d.span.start), end: d.statement.end.max(d.span.end) };
    DocumentSymbol {
        name: d.name.clone(),
        detail: d.class.map(Into::into),
        kind: symbol_kind(d.kind),
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
