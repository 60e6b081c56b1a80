//! The lexer: text to tokens with spans, comments kept aside for a formatter.

mod strange;

use crate::diag::codes;
use crate::diag::{Diagnostic, Span, report};
use nom::Parser;
use nom::bytes::complete::{tag, take_until, take_while, take_while1};
use nom::sequence::delimited;

type Nom<'a> = nom::IResult<&'a str, &'a str>;

/// The most bytes a name has (RULES L8).
const MAX_NAME: usize = 255;

/// The prefixes of format names, before their numbers.
pub static FORMATS: &[&str] = &["int", "uint", "fixed", "ufixed", "float", "log"];

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenKind {
    /// A name or keyword.
    Word,
    /// A word shaped like a format, such as `int32` or `float18.9`; its limits are not yet checked.
    Format,
    Number,
    /// Quoted text on one line.
    Text,
    /// An operator or punctuation mark.
    Symbol(&'static str),
    /// Behind the last token.
    End,
}

/// A token and its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// The tokens of a text, ended by one [`TokenKind::End`], and its comments.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tokens {
    pub tokens: Vec<Token>,
    /// Spans of the comments, delimiters included, in order.
    pub comments: Vec<Span>,
    pub errors: Vec<Diagnostic>,
}

/// Cuts `text` into tokens. Characters that form no token are reported and left out.
pub fn lex(text: &str) -> Tokens {
    let mut out = Tokens::default();
    let mut input = text;
    loop {
        input = blanks(input);
        let start = text.len() - input.len();
        let Some(first) = input.chars().next() else { break };
        let span_to = |rest: &str| Span { start, end: text.len() - rest.len() };
        let comment = if first == '/' { line_comment(input).or_else(|_| block_comment(input)).ok() } else { None };
        let (rest, kind) = if let Some((rest, _)) = comment {
            out.comments.push(span_to(rest));
            (rest, None)
        } else if input.starts_with("/*") {
            let span = Span { start, end: start + 2 };
            let error = Diagnostic::error(codes::COMMENT, "this comment is never closed", span, "opened here");
            out.errors.push(error.help("end it with `*/`"));
            break;
        } else if first.is_alphabetic() || first == '_' {
            let (rest, kind) = word(input);
            let span = span_to(rest);
            if !span.of(text).is_ascii() {
                // Looking for the other spelling in the whole text is worth it a few times.
                let look = out.errors.len() < 20;
                report(&mut out.errors, strange::foreign_name(text, span, look));
            }
            (rest, Some(kind))
        } else if starts_number(input) {
            (number(input), Some(TokenKind::Number))
        } else if let Some(symbol) = symbol(input.as_bytes()) {
            (&input[symbol.len()..], Some(TokenKind::Symbol(symbol)))
        } else if let Some(length) = quoted(input) {
            (&input[length..], Some(TokenKind::Text))
        } else {
            let run = strange::strange(input);
            let rest = &input[run.length..];
            report(&mut out.errors, strange::report(text, span_to(rest), run.symbol));
            (rest, run.symbol.map(TokenKind::Symbol))
        };
        if kind == Some(TokenKind::Word) && span_to(rest).end - start > MAX_NAME {
            report(&mut out.errors, long_name(span_to(rest)));
        }
        if let Some(kind) = kind {
            out.tokens.push(Token { kind, span: span_to(rest) });
        }
        input = rest;
    }
    let end = Span { start: text.len(), end: text.len() };
    out.tokens.push(Token { kind: TokenKind::End, span: end });
    out
}

/// The tokens of a part of `text`, with spans in the whole.
pub(crate) fn lex_part(text: &str, part: Span) -> Tokens {
    let mut out = lex(part.of(text));
    if part.start > 0 {
        let shift = |span: &mut Span| *span = Span { start: span.start + part.start, end: span.end + part.start };
        out.tokens.iter_mut().for_each(|t| shift(&mut t.span));
        out.comments.iter_mut().for_each(shift);
        out.errors.iter_mut().flat_map(|e| &mut e.labels).for_each(|l| shift(&mut l.0));
        out.errors.iter_mut().flat_map(|e| &mut e.edits).for_each(|e| shift(&mut e.span));
    }
    out
}

fn blanks(input: &str) -> &str {
    let parsed: Nom = take_while(blank).parse(input);
    parsed.map_or(input, |(rest, _)| rest)
}

/// A byte order mark is treated as a blank: some editors write one.
fn blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '\x0c' | '\u{feff}')
}

fn line_comment(input: &str) -> Nom<'_> {
    let (rest, _) = tag("//").parse(input)?;
    take_while(|c| c != '\n').parse(rest)
}

fn block_comment(input: &str) -> Nom<'_> {
    delimited(tag("/*"), take_until("*/"), tag("*/")).parse(input)
}

fn word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || (!c.is_ascii() && c.is_alphabetic())
}

/// A word, or a format: a class of formats, digits, and perhaps a point and digits.
fn word(input: &str) -> (&str, TokenKind) {
    let parsed: Nom = take_while1(word_char).parse(input);
    let (rest, word) = parsed.expect("the caller saw a letter");
    let class = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let shaped = FORMATS.contains(&class) && class.len() < word.len();
    if !shaped {
        return (rest, TokenKind::Word);
    }
    // Functions of other languages that look like formats; no logarithmic format is without a point.
    if matches!(word, "log2" | "log10") && rest.trim_start_matches(blank).starts_with('(') {
        return (rest, TokenKind::Word);
    }
    let digits_follow = rest.strip_prefix('.').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()));
    if !digits_follow {
        return (rest, TokenKind::Format);
    }
    let parsed: Nom = take_while(word_char).parse(&rest[1..]);
    (parsed.map_or(rest, |(rest, _)| rest), TokenKind::Format)
}

fn starts_number(text: &str) -> bool {
    let digit = |s: &str| s.starts_with(|c: char| c.is_ascii_digit());
    digit(text) || text.strip_prefix('.').is_some_and(digit)
}

/// Everything that belongs to a number as a reader sees it, well formed or not: `0x1F`, `1.5e-3`, `12abc`.
fn number(input: &str) -> &str {
    let bytes = input.as_bytes();
    let hex = bytes.len() > 1 && bytes[0] == b'0' && matches!(bytes[1], b'x' | b'X');
    let mut end = 0;
    while end < bytes.len() {
        let c = bytes[end];
        let exponent_sign =
            matches!(c, b'+' | b'-') && !hex && end > 0 && matches!(bytes[end - 1], b'e' | b'E' | b'd' | b'D');
        // Two points are a range, not a number with two fractions.
        let point = c == b'.' && bytes.get(end + 1) != Some(&b'.');
        // `8'hFF` and `1'000`.
        let tick = c == b'\'' && end > 0 && bytes.get(end + 1).is_some_and(|c| c.is_ascii_alphanumeric());
        if !(c.is_ascii_alphanumeric() || c == b'_' || point || exponent_sign || tick) {
            break;
        }
        end += 1;
    }
    &input[end..]
}

/// The longest operator or punctuation mark at the front.
fn symbol(text: &[u8]) -> Option<&'static str> {
    let at = |k: usize| text.get(k).copied().unwrap_or(0);
    let three = match [at(0), at(1), at(2)] {
        [b'<', b'<', b'='] => Some("<<="),
        [b'>', b'>', b'='] => Some(">>="),
        _ => None,
    };
    let two = || {
        Some(match [at(0), at(1)] {
            [b'<', b'<'] => "<<",
            [b'>', b'>'] => ">>",
            [b'<', b'='] => "<=",
            [b'>', b'='] => ">=",
            [b'=', b'='] => "==",
            [b'!', b'='] => "!=",
            [b'&', b'&'] => "&&",
            [b'|', b'|'] => "||",
            [b'+', b'='] => "+=",
            [b'-', b'='] => "-=",
            [b'*', b'='] => "*=",
            [b'/', b'='] => "/=",
            [b'%', b'='] => "%=",
            [b'&', b'='] => "&=",
            [b'|', b'='] => "|=",
            [b'^', b'='] => "^=",
            [b'.', b'.'] => "..",
            [b'*', b'*'] => "**",
            _ => return None,
        })
    };
    let one = || {
        Some(match at(0) {
            b'+' => "+",
            b'-' => "-",
            b'*' => "*",
            b'/' => "/",
            b'%' => "%",
            b'<' => "<",
            b'>' => ">",
            b'=' => "=",
            b'!' => "!",
            b'&' => "&",
            b'|' => "|",
            b'^' => "^",
            b'~' => "~",
            b'?' => "?",
            b':' => ":",
            b';' => ";",
            b',' => ",",
            b'.' => ".",
            b'(' => "(",
            b')' => ")",
            b'[' => "[",
            b']' => "]",
            b'{' => "{",
            b'}' => "}",
            _ => return None,
        })
    };
    three.or_else(two).or_else(one)
}

/// The length of a text in double quotes that ends on its line.
fn quoted(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('"')?;
    let end = inner.find(['"', '\n'])?;
    inner[end..].starts_with('"').then_some(end + 2)
}

fn long_name(span: Span) -> Diagnostic {
    let message = format!("a name of {} bytes; at most {MAX_NAME} are possible", span.end - span.start);
    Diagnostic::error(codes::LONG_NAME, message, span, "too long").help("choose a shorter name")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, &str)> {
        let out = lex(text);
        assert_eq!(out.errors, vec![], "{text}");
        out.tokens.iter().map(|t| (t.kind, t.span.of(text))).collect()
    }

    #[test]
    fn formats_numbers_and_symbols_are_told_apart() {
        use TokenKind::*;
        let got = kinds("float18.9 a1 .5<<0x1F 1e-3-2..3 int3x max=/*é*/1// end");
        let want = [
            (Format, "float18.9"),
            (Word, "a1"),
            (Number, ".5"),
            (Symbol("<<"), "<<"),
            (Number, "0x1F"),
            (Number, "1e-3"),
            (Symbol("-"), "-"),
            (Number, "2"),
            (Symbol(".."), ".."),
            (Number, "3"),
            (Word, "int3x"),
            (Word, "max"),
            (Symbol("="), "="),
            (Number, "1"),
            (End, ""),
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn strange_characters_are_reported_in_runs_on_character_borders() {
        let text = "a\0\u{1}é€ = @x$;";
        let out = lex(text);
        let runs: Vec<&str> = out.errors.iter().map(|e| e.span().of(text)).collect();
        assert_eq!(runs, ["\0\u{1}", "é", "€", "@", "$"]);
    }

    #[test]
    fn an_open_comment_ends_the_text() {
        let out = lex("a /* b");
        assert_eq!((out.tokens.len(), out.errors[0].code), (2, codes::COMMENT));
    }
}
