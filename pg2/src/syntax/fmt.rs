//! One canonical layout for PG2 sources.
//!
//! The formatter moves tokens and comments and never changes one, so a formatted file means what it meant. It knows
//! statements only by their ends (`;`, `{`, `}`), so constructs that the language gains later need nothing here.

mod line;

use crate::diag::{Diagnostic, Span};
use crate::syntax::lex::{Token, TokenKind, lex};
use line::Line;

/// Lines longer than this are broken where an operator or a comma allows it.
pub const WIDTH: usize = 110;
/// Names longer than this are neither padded nor do they push the `=` of their neighbours away.
const ALIGNED_NAME: usize = 16;

/// A token or a comment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Piece<'a> {
    text: &'a str,
    /// `None` for a comment.
    kind: Option<TokenKind>,
    /// Line ends between the piece before and this one.
    newlines: usize,
}

impl Piece<'_> {
    fn is(&self, symbol: &str) -> bool {
        matches!(self.kind, Some(TokenKind::Symbol(s)) if s == symbol)
    }

    fn is_comment(&self) -> bool {
        self.kind.is_none()
    }

    /// A comment that ends with its line.
    fn ends_line(&self) -> bool {
        self.is_comment() && self.text.starts_with("//")
    }
}

/// The text in canonical layout, or why it cannot be parsed.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let parsed = crate::syntax::parse::parse(text);
    if !parsed.1.is_empty() {
        return Err(parsed.1);
    }
    let text = &one_line_end(text);
    let pieces = pieces(text);
    let out = print(&lines(&pieces));
    debug_assert!(same(&pieces, &out), "a formatted text has the same tokens");
    Ok(out)
}

/// The text with one kind of line ends: also inside of comments, which are left as they are otherwise.
fn one_line_end(text: &str) -> String {
    if !text.contains('\r') {
        return text.to_string();
    }
    let ended = |line: &str| line.trim_end_matches('\r').to_string();
    let mut text = text.split('\n').map(ended).collect::<Vec<_>>().join("\n");
    // One that is left ends no line here, but does in editors. Inside of a comment that ends with its line it may end none.
    for span in lex(&text).comments.iter().rev() {
        let end = if span.of(&text).starts_with("//") { " " } else { "\n" };
        let comment = span.of(&text).replace('\r', end);
        text.replace_range(span.start..span.end, &comment);
    }
    text
}

/// Tokens and comments in the order of the text.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let lexed = lex(text);
    let tokens = lexed.tokens.iter().filter(|t| t.kind != TokenKind::End).map(|t: &Token| (t.span, Some(t.kind)));
    let mut all: Vec<(Span, Option<TokenKind>)> = tokens.chain(lexed.comments.iter().map(|s| (*s, None))).collect();
    all.sort_by_key(|p| p.0.start);
    let mut end = 0;
    all.into_iter()
        .map(|(span, kind)| {
            let newlines = text[end..span.start].matches('\n').count();
            end = span.end;
            Piece { text: span.of(text).trim_end(), kind, newlines }
        })
        .collect()
}

/// Whether `out` has the same tokens and comments.
fn same(pieces: &[Piece], out: &str) -> bool {
    let words = |p: &[Piece]| -> Vec<String> {
        p.iter().map(|p| p.text.lines().map(str::trim).collect::<Vec<_>>().join("\n")).collect()
    };
    words(pieces) == words(&self::pieces(out))
}

/// Cuts the pieces into statements and comments, each with its depth of braces.
fn lines<'a>(pieces: &'a [Piece<'a>]) -> Vec<Line<'a>> {
    let mut lines: Vec<Line> = Vec::new();
    let mut depth = 0usize;
    let mut rest = pieces;
    while let Some(first) = rest.first() {
        let blank_before = first.newlines > 1 && !lines.is_empty();
        if first.is_comment() {
            rest = &rest[1..];
            match lines.last_mut() {
                Some(line) if first.newlines == 0 && line.comment.is_none() && !line.is_comment() => {
                    line.comment = Some(first.text);
                }
                _ => lines.push(Line::comment(first, depth, blank_before)),
            }
            continue;
        }
        let length = statement(rest);
        let (pieces, after) = rest.split_at(length);
        rest = after;
        if first.is("}") {
            depth = depth.saturating_sub(1);
        }
        lines.push(Line::statement(pieces, depth, blank_before));
        if pieces[length - 1].is("{") {
            depth += 1;
        }
    }
    lines
}

/// How many pieces make up the statement at the front: up to `;` or `{`, or a `}` with what continues behind it.
fn statement(pieces: &[Piece]) -> usize {
    if pieces[0].is("}") && pieces.get(1).is_none_or(|p| p.text != "else") {
        return 1;
    }
    let is_table = opens_table(pieces);
    let end = pieces.iter().position(|p| p.is(";") || p.is("{") && !is_table);
    end.map_or(pieces.len(), |n| n + 1)
}

/// Whether the statement at the front is a table, whose list has braces.
fn opens_table(pieces: &[Piece]) -> bool {
    let is_name = |p: &Piece| matches!(p.kind, Some(TokenKind::Word | TokenKind::Format));
    pieces[0].text == "table"
        && pieces.get(1).is_some_and(is_name)
        && !(pieces.get(2).is_some_and(|p| p.is("=")) && matches!(pieces[1].text, "max" | "min"))
}

/// Writes all lines, with declarations, `=` and comments in columns.
fn print(lines: &[Line]) -> String {
    let mut out = String::new();
    for block in lines.chunk_by(|_, next| !next.blank_before) {
        if block[0].blank_before {
            out.push('\n');
        }
        let texts = align(block);
        let comments = comment_columns(block, &texts);
        for ((line, text), column) in block.iter().zip(&texts).zip(comments) {
            out.push_str(text);
            if let Some(comment) = line.comment {
                let last = text.lines().next_back().map_or(0, width);
                out.push_str(&" ".repeat(column.saturating_sub(last).max(2)));
                out.push_str(comment);
            }
            out.push('\n');
        }
    }
    out
}

/// The text of each line of a block without its comment.
fn align(block: &[Line]) -> Vec<String> {
    let mut texts = Vec::with_capacity(block.len());
    for run in block.chunk_by(|a, b| a.depth == b.depth && a.column_kind() == b.column_kind()) {
        let mut widths: Vec<usize> = Vec::new();
        for cells in run.iter().filter_map(Line::cells) {
            widths.resize(widths.len().max(cells.len()), 0);
            for (k, cell) in cells.iter().enumerate() {
                if cell.len() <= ALIGNED_NAME || run[0].is_declaration() {
                    widths[k] = widths[k].max(cell.len());
                }
            }
        }
        texts.extend(run.iter().map(|line| line.text(&widths)));
    }
    texts
}

/// The column of each line's comment: one for each run of lines that have one.
fn comment_columns(block: &[Line], texts: &[String]) -> Vec<usize> {
    let mut columns = Vec::with_capacity(block.len());
    let lines: Vec<(&Line, &String)> = block.iter().zip(texts).collect();
    for run in lines.chunk_by(|a, b| a.0.comment.is_some() == b.0.comment.is_some()) {
        // A line that had to be broken does not push the comments of its neighbours away.
        let single = run.iter().filter(|l| !l.1.contains('\n')).map(|l| width(l.1));
        let column = single.max().unwrap_or(0) + 2;
        columns.extend(run.iter().map(|_| column));
    }
    columns
}

fn width(text: &str) -> usize {
    text.chars().count()
}
