//! Renaming: every place of a name that this document defines.

use crate::document::Document;
use lsp_types::{PrepareRenameResponse, TextEdit, WorkspaceEdit};
use pg2::syntax::lex::{TokenKind, lex};
use pg2::syntax::parse::RESERVED;
use std::collections::HashMap;

/// The place of the name at an offset, if it can be renamed.
pub fn prepare(document: &mut Document, at: usize) -> Option<PrepareRenameResponse> {
    let used = document.names().at(at).filter(|u| u.definition.is_some())?;
    Some(PrepareRenameResponse::Range(document.range(used.span)))
}

/// Why a text is no name; `None` if it is one.
fn refused(name: &str) -> Option<String> {
    let tokens = lex(name);
    let is_word = tokens.errors.is_empty()
        && tokens.tokens.len() == 2
        && tokens.tokens[0].kind == TokenKind::Word
        && tokens.tokens[0].span.of(name) == name;
    match () {
        () if !is_word => {
            Some(format!("`{name}` is no name: names are letters, digits and `_`, and are not shaped like a format"))
        }
        () if RESERVED.contains(&name) || name.starts_with("pg_") => {
            Some(format!("`{name}` is a word of the language"))
        }
        () => None,
    }
}

/// The edits that give the name at an offset another one; an error says why there are none.
pub fn rename(document: &mut Document, at: usize, name: &str) -> Result<Option<WorkspaceEdit>, String> {
    if let Some(why) = refused(name) {
        return Err(why);
    }
    let names = document.names();
    let Some(definition) = names.at(at).and_then(|u| u.definition) else {
        return Err("this name is not defined in this file".into());
    };
    let scope = names.definitions[definition].scope;
    let hidden = |s: pg2::diag::Span| s.start <= scope.end && scope.start <= s.end;
    if names.definitions.iter().enumerate().any(|(k, d)| k != definition && d.name == name && hidden(d.scope)) {
        return Err(format!("there is a `{name}` already"));
    }
    let places = names.places(definition);
    let edits = places.into_iter().map(|s| TextEdit::new(document.range(s), name.to_string())).collect();
    Ok(Some(WorkspaceEdit::new(HashMap::from([(document.uri.clone(), edits)]))))
}
