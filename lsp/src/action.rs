//! Code actions: the remedies that are definite, as edits that an editor makes.

use crate::analysis::{Analysis, analysis, diagnostic, shown_at};
use crate::document::Document;
use crate::hover::first_line;
use lsp_types::{CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, TextEdit, WorkspaceEdit};
use pg2::diag::{Diagnostic, effective};
use std::collections::HashMap;

/// The remedies of what is found within the range of a request.
pub fn actions(document: &mut Document, params: &CodeActionParams) -> Vec<CodeActionOrCommand> {
    let wanted =
        |kinds: &Vec<CodeActionKind>| kinds.iter().any(|k| *k == CodeActionKind::QUICKFIX || k.as_str().is_empty());
    if !params.context.only.as_ref().is_none_or(wanted) {
        return Vec::new();
    }
    let asked = document.offsets(params.range);
    analysis(document);
    let Some(analysis) = &document.analysis else { return Vec::new() };
    let near = |d: &&Diagnostic| {
        let (_, shown) = shown_at(document, &analysis.sources, d);
        shown.start <= asked.end && asked.start <= shown.end
    };
    analysis.found.iter().filter(near).filter_map(|d| action(document, analysis, d)).map(Into::into).collect()
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
