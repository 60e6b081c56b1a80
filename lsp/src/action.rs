//! Code actions: the remedies that are definite, as edits that an editor makes.

use crate::analysis::{Analysis, analysis, diagnostic, shown_at};
use crate::document::Document;
use crate::hover::first_line;
use lsp_types::{CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, TextEdit, WorkspaceEdit};
use pg2::diag::{Diagnostic, Edit, effective};
use std::collections::HashMap;

/// The remedies of what is found within the range of a request.
pub fn actions(document: &mut Document, params: &CodeActionParams) -> Vec<CodeActionOrCommand> {
    let wanted =
        |kinds: &Vec<CodeActionKind>| kinds.iter().any(|k| *k == CodeActionKind::QUICKFIX || k.as_str().is_empty());
    let all = |k: &CodeActionKind| *k == CodeActionKind::SOURCE_FIX_ALL || *k == CodeActionKind::SOURCE;
    if params.context.only.as_ref().is_some_and(|kinds| kinds.iter().any(all)) {
        return fix_all(document).into_iter().map(Into::into).collect();
    }
    if !params.context.only.as_ref().is_none_or(wanted) {
        return Vec::new();
    }
    let asked = document.offsets(params.range);
    if analysis(document).is_none() {
        return Vec::new();
    }
    let Some(analysis) = &document.analysis else { return Vec::new() };
    let near = |d: &&Diagnostic| {
        let (_, shown) = shown_at(document, &analysis.sources, d);
        shown.start <= asked.end && asked.start <= shown.end
    };
    analysis.found.iter().filter(near).filter_map(|d| action(document, analysis, d)).map(Into::into).collect()
}

/// All definite remedies of a document at once.
fn fix_all(document: &mut Document) -> Option<CodeAction> {
    analysis(document)?;
    let analysis = document.analysis.as_ref()?;
    let of_one = |d: &Diagnostic| {
        let own = |e: &&Edit| analysis.sources.place(e.span).0.origin == document.uri.as_str();
        if d.edits.iter().all(|e| own(&e)) { d.edits.clone() } else { Vec::new() }
    };
    // Where remedies overlap, the first one is made whole, and the others wait for the next time.
    let mut chosen: Vec<Edit> = Vec::new();
    for d in &analysis.found {
        let edits = of_one(d);
        let free = |e: &Edit| chosen.iter().all(|c| e.span.end < c.span.start || c.span.end < e.span.start);
        if edits.iter().all(free) {
            chosen.extend(edits);
        }
    }
    let edits: Vec<TextEdit> = effective(&chosen)
        .into_iter()
        .map(|e| TextEdit::new(document.range(analysis.sources.place(e.span).1), e.text.clone()))
        .collect();
    (!edits.is_empty()).then(|| CodeAction {
        title: "make all remedies that are definite".into(),
        kind: Some(CodeActionKind::SOURCE_FIX_ALL),
        edit: Some(WorkspaceEdit::new(HashMap::from([(document.uri.clone(), edits)]))),
        ..CodeAction::default()
    })
}

/// The remedy of a finding, if it is definite and lies in the document alone: an included file may be open with changes
/// that the compiler has not seen.
fn action(document: &Document, analysis: &Analysis, d: &Diagnostic) -> Option<CodeAction> {
    let mut edits = Vec::new();
    for edit in effective(&d.edits) {
        let (file, span) = analysis.sources.place(edit.span);
        if file.origin != document.uri.as_str() {
            return None;
        }
        edits.push(TextEdit::new(document.range(span), edit.text.clone()));
    }
    if edits.is_empty() {
        return None;
    }
    let title = first_line(d.help.as_ref().unwrap_or(&d.message));
    Some(CodeAction {
        title: title.into(),
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![diagnostic(document, &analysis.sources, d)]),
        edit: Some(WorkspaceEdit::new(HashMap::from([(document.uri.clone(), edits)]))),
        is_preferred: Some(true),
        ..CodeAction::default()
    })
}
