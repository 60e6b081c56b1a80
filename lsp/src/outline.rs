//! The shape of a text: what folds, the files behind includes, the formats of values beside their names, and the kinds of words.

use crate::analysis::analysis;
use crate::document::{Document, MOST};
use crate::uri::uri_of;
use lsp_types::{
    DocumentLink, FoldingRange, FoldingRangeKind, InlayHint, InlayHintKind, InlayHintLabel, Range, SemanticToken,
    SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensLegend,
};
use pg2::diag::Span;
use pg2::syntax::functions::function;
use pg2::syntax::lex::{TokenKind, lex};
use pg2::syntax::names::{CLASSES, Kind};
use pg2::syntax::parse::RESERVED;
use std::collections::HashMap;

/// Blocks of several lines, and comments of several lines.
pub fn folds(document: &mut Document) -> Vec<FoldingRange> {
    let lexed = lex(&document.text);
    let mut ranges = Vec::new();
    let mut add = |from: usize, to: usize, kind: Option<FoldingRangeKind>| {
        let (start, end) = (document.text.position(from).line, document.text.position(to).line);
        if start < end {
            ranges.push(FoldingRange { start_line: start, end_line: end, kind, ..FoldingRange::default() });
        }
    };
    let mut open = Vec::new();
    for token in &lexed.tokens {
        match token.kind {
            TokenKind::Symbol("{") => open.push(token.span.start),
            TokenKind::Symbol("}") => {
                if let Some(start) = open.pop() {
                    add(start, token.span.start, None);
                }
            }
            _ => {}
        }
    }
    // Comments that follow each other with nothing between them fold as one.
    let mut run: Option<Span> = None;
    for comment in lexed.comments {
        run = Some(match run {
            Some(run) if document.text[run.end..comment.start].trim().is_empty() => run.to(comment),
            Some(run) => {
                add(run.start, run.end, Some(FoldingRangeKind::Comment));
                comment
            }
            None => comment,
        });
    }
    if let Some(run) = run {
        add(run.start, run.end, Some(FoldingRangeKind::Comment));
    }
    ranges.truncate(MOST);
    ranges
}

/// The files that the text includes, as links.
pub fn links(document: &mut Document) -> Vec<DocumentLink> {
    let Some(folder) = document.path().and_then(|p| Some(p.parent()?.to_path_buf())) else { return Vec::new() };
    let tokens = lex(&document.text).tokens;
    let pairs = tokens.windows(2).filter(|w| w[0].span.of(&document.text) == "include" && w[1].kind == TokenKind::Text);
    let link = |w: &[pg2::syntax::lex::Token]| {
        let path = folder.join(w[1].span.of(&document.text).trim_matches('"'));
        let target = path.is_file().then(|| uri_of(&path.canonicalize().unwrap_or(path)).parse().ok())??;
        Some(DocumentLink { range: document.range(w[1].span), target: Some(target), tooltip: None, data: None })
    };
    pairs.filter_map(link).take(MOST).collect()
}

/// The formats of values behind their names, where they are defined.
pub fn hints(document: &mut Document, range: Range) -> Vec<InlayHint> {
    let asked = document.offsets(range);
    let inside = |s: Span| asked.start <= s.end && s.start <= asked.end;
    let wanted = |d: &&pg2::syntax::names::Definition| d.kind == Kind::Value && inside(d.span);
    let defined: Vec<(String, Span)> =
        document.names().definitions.iter().filter(wanted).take(MOST).map(|d| (d.name.clone(), d.span)).collect();
    let Some(graph) = analysis(document).and_then(|a| a.graph.clone()) else { return Vec::new() };
    // The format and the number of elements of each name; none where there are several formats.
    let mut known: HashMap<&str, Option<(hdl::Format, usize)>> = HashMap::new();
    for node in graph.nodes.iter().filter(|n| !n.name.is_empty()) {
        let name = node.name.split('[').next().unwrap_or_default();
        let seen = known.entry(name).or_insert(Some((node.format, 0)));
        *seen = seen.filter(|s| s.0 == node.format).map(|(format, n)| (format, n + 1));
    }
    let label = |name: &str| {
        let (format, elements) = known.get(name).copied().flatten()?;
        Some(if elements > 1 { format!(": {format}[{elements}]") } else { format!(": {format}") })
    };
    let labels: Vec<(Span, String)> = defined.iter().filter_map(|(name, span)| Some((*span, label(name)?))).collect();
    let hint = |(span, label): (Span, String)| InlayHint {
        position: document.text.position(span.end),
        label: InlayHintLabel::String(label),
        kind: Some(InlayHintKind::TYPE),
        text_edits: None,
        tooltip: None,
        padding_left: None,
        padding_right: None,
        data: None,
    };
    labels.into_iter().map(hint).collect()
}

/// The kinds of words, in the order of their numbers.
const KINDS: [SemanticTokenType; 9] = [
    SemanticTokenType::KEYWORD,
    SemanticTokenType::TYPE,
    SemanticTokenType::NUMBER,
    SemanticTokenType::STRING,
    SemanticTokenType::COMMENT,
    SemanticTokenType::FUNCTION,
    SemanticTokenType::PROPERTY,
    SemanticTokenType::PARAMETER,
    SemanticTokenType::VARIABLE,
];

pub fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: KINDS.to_vec(),
        token_modifiers: vec![SemanticTokenModifier::READONLY, SemanticTokenModifier::DEFINITION],
    }
}

/// The kind of each word, by its place relative to the word before.
pub fn words(document: &mut Document) -> SemanticTokens {
    let names = document.names().clone();
    let mut own: HashMap<usize, (Kind, bool)> = HashMap::new();
    for used in &names.uses {
        if let Some(d) = used.definition {
            own.insert(used.span.start, (names.definitions[d].kind, false));
        }
    }
    own.extend(names.definitions.iter().map(|d| (d.span.start, (d.kind, true))));
    let text = &document.text;
    let lexed = lex(text);
    let mut spans: Vec<(Span, u32, u32)> = Vec::new();
    for token in &lexed.tokens {
        let word = token.span.of(text);
        let (kind, modifiers) = match token.kind {
            TokenKind::Format => (1, 0),
            TokenKind::Number => (2, 0),
            TokenKind::Text => (3, 0),
            TokenKind::Word if RESERVED.contains(&word) || CLASSES.contains(&word) => (0, 0),
            TokenKind::Word if function(word).is_some() => (5, 0),
            TokenKind::Word => match own.get(&token.span.start) {
                None => continue,
                Some((kind, defined)) => {
                    let definition = (*defined as u32) << 1;
                    match kind {
                        Kind::Pin => (6, definition),
                        Kind::Const => (8, 1 | definition),
                        Kind::Function => (5, definition),
                        Kind::Parameter | Kind::Counter => (7, 1 | definition),
                        Kind::Type => (1, definition),
                        Kind::Value => (8, definition),
                    }
                }
            },
            _ => continue,
        };
        spans.push((token.span, kind, modifiers));
    }
    // A word lies on one line.
    for comment in &lexed.comments {
        let mut start = comment.start;
        for line in comment.of(text).split('\n') {
            let shown = line.trim_end_matches('\r').len();
            if shown > 0 {
                spans.push((Span { start, end: start + shown }, 4, 0));
            }
            start += line.len() + 1;
        }
    }
    spans.sort_by_key(|s| s.0.start);
    let mut data = Vec::with_capacity(spans.len());
    let mut before = lsp_types::Position::new(0, 0);
    for (span, token_type, token_modifiers_bitset) in spans {
        let at = text.position(span.start);
        let delta_line = at.line - before.line;
        let delta_start = if delta_line == 0 { at.character - before.character } else { at.character };
        let length = span.of(text).chars().map(|c| c.len_utf16() as u32).sum();
        data.push(SemanticToken { delta_line, delta_start, length, token_type, token_modifiers_bitset });
        before = at;
    }
    SemanticTokens { result_id: None, data }
}
