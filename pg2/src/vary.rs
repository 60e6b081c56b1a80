//! Variants of a kernel's text: a format or a constant takes other values, and nothing else changes.
//!
//! The varied part is a number in the text: the fraction bits of a `float`, `fixed` or `log` format, whose other bits stay, the
//! width of an int, or a `const`. [`apart`] gives each value a format of its own.

pub mod apart;

use crate::diag::{Span, did_you_mean};
use crate::graph::Graph;
use crate::syntax::lex::{Token, TokenKind, lex};
use std::collections::BTreeSet;

/// The varied part of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Varied {
    /// A format as it is written, everywhere in the file.
    Format(String),
    /// The value of a `const` statement.
    Const { name: String, value: Span },
}

impl Varied {
    /// The number that the text has now; `None` for a constant that is no plain number.
    pub fn present(&self, text: &str) -> Option<i64> {
        match self {
            Varied::Format(word) => parts(word).map(|(_, width, frac)| frac.unwrap_or(width)),
            Varied::Const { value, .. } => value.of(text).trim().parse().ok(),
        }
    }

    /// The text written in its place, for a number.
    pub fn written(&self, number: i64) -> String {
        let Varied::Format(word) = self else { return number.to_string() };
        match parts(word) {
            Some((letters, width, Some(frac))) => format!("{letters}{}.{number}", width - frac + number),
            Some((letters, _, None)) => format!("{letters}{number}"),
            None => word.clone(),
        }
    }
}

/// Letters, width and fraction bits of a format.
fn parts(word: &str) -> Option<(&str, i64, Option<i64>)> {
    let digits = word.find(|c: char| c.is_ascii_digit())?;
    let (letters, numbers) = word.split_at(digits);
    match numbers.split_once('.') {
        Some((width, frac)) => Some((letters, width.parse().ok()?, Some(frac.parse().ok()?))),
        None => Some((letters, numbers.parse().ok()?, None)),
    }
}

/// Finds what `name` stands for: a format of the text, a constant, or a pin or value, which stands for its format.
pub fn find(text: &str, graph: &Graph, name: &str) -> Result<Varied, String> {
    let tokens = lex(text).tokens;
    let formats: BTreeSet<&str> =
        tokens.iter().filter(|t| t.kind == TokenKind::Format).map(|t| t.span.of(text)).collect();
    if formats.contains(name) {
        return Ok(Varied::Format(name.to_string()));
    }
    let constants = constants(text, &tokens);
    if let Some((_, value)) = constants.iter().find(|c| c.0 == name) {
        return Ok(Varied::Const { name: name.to_string(), value: *value });
    }
    let of_pin = graph.pins.iter().find(|p| p.name == name).map(|p| p.format);
    let is_value = |given: &str| given == name || given.strip_prefix(name).is_some_and(|rest| rest.starts_with('['));
    let of_value = || graph.nodes.iter().find(|n| is_value(&n.name)).map(|n| n.format);
    match of_pin.or_else(of_value).map(|f| f.to_string()) {
        Some(format) if formats.contains(format.as_str()) => Ok(Varied::Format(format)),
        Some(format) => Err(format!(
            "`{name}` is {format}, which this file does not write; name one of its formats: {}",
            list(formats.iter().copied())
        )),
        None => {
            let values = graph.nodes.iter().map(|n| n.name.split('[').next().unwrap_or("")).filter(|n| !n.is_empty());
            let known: BTreeSet<&str> = formats
                .iter()
                .copied()
                .chain(constants.iter().map(|c| c.0))
                .chain(graph.pins.iter().map(|p| p.name.as_str()))
                .chain(values)
                .collect();
            let similar = did_you_mean(name, known.iter().copied());
            let hint = similar.map_or(String::new(), |s| format!("; did you mean `{s}`?"));
            Err(format!(
                "there is no format, constant, pin or value `{name}`{hint} The formats are {}",
                list(formats.iter().copied())
            ))
        }
    }
}

fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ")
}

/// Names and values of the `const` statements.
fn constants<'a>(text: &'a str, tokens: &[Token]) -> Vec<(&'a str, Span)> {
    let mut found = Vec::new();
    for (k, window) in tokens.windows(3).enumerate() {
        if window[0].span.of(text) != "const" || window[2].kind != TokenKind::Symbol("=") {
            continue;
        }
        let rest = &tokens[k + 3..];
        let end = rest.iter().position(|t| matches!(t.kind, TokenKind::Symbol(";") | TokenKind::End)).unwrap_or(0);
        if let Some(last) = end.checked_sub(1) {
            found.push((window[1].span.of(text), rest[0].span.to(rest[last].span)));
        }
    }
    found
}

/// Everything of a text that can be varied, by its name: its formats, and the constants that are plain numbers.
pub fn all(text: &str) -> Vec<(String, Varied)> {
    let tokens = lex(text).tokens;
    let formats: BTreeSet<&str> =
        tokens.iter().filter(|t| t.kind == TokenKind::Format).map(|t| t.span.of(text)).collect();
    let formats = formats.into_iter().map(|word| (word.to_string(), Varied::Format(word.to_string())));
    let constants = constants(text, &tokens).into_iter().map(|(name, value)| {
        let name = name.to_string();
        (name.clone(), Varied::Const { name, value })
    });
    formats.chain(constants).filter(|(_, varied)| varied.present(text).is_some()).collect()
}

/// The text with other numbers. No format is replaced twice, even where one becomes another.
pub fn variant(text: &str, numbers: &[(&Varied, i64)]) -> String {
    let mut places: Vec<(Span, String)> = Vec::new();
    for token in lex(text).tokens.iter().filter(|t| t.kind == TokenKind::Format) {
        let word = token.span.of(text);
        let of_word = numbers.iter().find(|(v, _)| matches!(v, Varied::Format(f) if f == word));
        places.extend(of_word.map(|(v, number)| (token.span, v.written(*number))));
    }
    for (varied, number) in numbers {
        if let Varied::Const { value, .. } = varied {
            places.push((*value, number.to_string()));
        }
    }
    places.sort_by_key(|p| p.0.start);
    let (mut out, mut at) = (String::new(), 0);
    for (span, new) in places {
        out += &text[at..span.start];
        out += &new;
        at = span.end;
    }
    out + &text[at..]
}
