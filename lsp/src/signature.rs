//! Signature help: the function whose arguments are being written.

use crate::document::Document;
use crate::hover::{described_function, markdown};
use lsp_types::{Documentation, ParameterInformation, ParameterLabel, SignatureHelp, SignatureInformation};
use pg2::syntax::functions::function;
use pg2::syntax::lex::{TokenKind, lex};
use pg2::syntax::names::Kind;

/// The open parentheses around an offset, the outermost first: the name of the function that is called, if any, and the argument that
/// the offset is in.
pub fn calls_at(text: &str, at: usize) -> Vec<(&str, u32)> {
    let mut open: Vec<(&str, u32)> = Vec::new();
    let mut word = "";
    for token in lex(text).tokens {
        if token.span.start >= at {
            break;
        }
        match token.kind {
            TokenKind::Symbol("(") => open.push((word, 0)),
            TokenKind::Symbol(")") => drop(open.pop()),
            TokenKind::Symbol(";" | "{" | "}") => open.clear(),
            TokenKind::Symbol(",") => {
                if let Some(last) = open.last_mut() {
                    last.1 += 1;
                }
            }
            _ => {}
        }
        word = if token.kind == TokenKind::Word { token.span.of(text) } else { "" };
    }
    open
}

pub fn signature(document: &mut Document, at: usize) -> Option<SignatureHelp> {
    let (name, argument) = calls_at(&document.text, at).into_iter().rev().find(|call| !call.0.is_empty())?;
    let (name, mut label, mut documentation, mut params) = (name.to_string(), String::new(), None, Vec::new());
    if let Some(known) = function(&name) {
        label = known.call();
        params = known.params.iter().map(|p| p.name.to_string()).collect();
        documentation = Some(Documentation::MarkupContent(markdown(described_function(known))));
    } else {
        let own = document.names().definitions.iter().find(|d| d.kind == Kind::Function && d.name == name).cloned()?;
        let head = own.statement.of(&document.text);
        let (open, close) = (head.find('(')?, head.find(')')?);
        let list = head.get(open + 1..close)?;
        params.extend(list.split(',').map(|p| p.trim().to_string()).filter(|p| !p.is_empty()));
        label += &format!("{name}({})", params.join(", "));
    }
    let parameters = params
        .into_iter()
        .map(|p| ParameterInformation { label: ParameterLabel::Simple(p), documentation: None })
        .collect();
    let signature =
        SignatureInformation { label, documentation, parameters: Some(parameters), active_parameter: Some(argument) };
    Some(SignatureHelp { signatures: vec![signature], active_signature: Some(0), active_parameter: Some(argument) })
}
