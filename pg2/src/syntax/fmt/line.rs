//! One line of a formatted text: a statement or a comment.

use super::{Piece, WIDTH, width};
use crate::syntax::lex::TokenKind;
use crate::syntax::names::CLASSES;

/// Blanks for each level of braces, and for what continues a broken line.
const INDENT: usize = 4;

/// A statement or a comment of its own, before it is laid out.
pub(super) struct Line<'a> {
    pub pieces: &'a [Piece<'a>],
    /// Braces around it.
    pub depth: usize,
    /// Whether an empty line stands before it.
    pub blank_before: bool,
    /// The comment behind it.
    pub comment: Option<&'a str>,
    /// Cells of a declaration (format, name, class) or of an assignment (name); see [`Line::cells`].
    cells: Option<Vec<String>>,
}

/// The kinds of lines; those of one kind may share columns.
#[derive(PartialEq, Eq)]
pub(super) enum ColumnKind {
    Declaration,
    Assignment,
    Other,
}

impl<'a> Line<'a> {
    /// A comment on a line of its own.
    pub fn comment(piece: &'a Piece<'a>, depth: usize, blank_before: bool) -> Line<'a> {
        Line { pieces: std::slice::from_ref(piece), depth, blank_before, comment: None, cells: None }
    }

    /// A statement, from its first piece to its end.
    pub fn statement(pieces: &'a [Piece<'a>], depth: usize, blank_before: bool) -> Line<'a> {
        let mut line = Line { pieces, depth, blank_before, comment: None, cells: None };
        line.cells = line.make_cells();
        line
    }

    pub fn is_comment(&self) -> bool {
        self.pieces[0].is_comment()
    }

    pub fn is_declaration(&self) -> bool {
        // A format may have a name of its own.
        let n = self.pieces.len();
        let word = |p: &Piece| p.kind == Some(TokenKind::Word);
        let named =
            || n > 3 && word(&self.pieces[0]) && word(&self.pieces[1]) && CLASSES.contains(&self.pieces[n - 2].text);
        self.pieces[0].kind == Some(TokenKind::Format) || named()
    }

    pub fn column_kind(&self) -> ColumnKind {
        match (&self.cells, self.is_declaration()) {
            (None, _) => ColumnKind::Other,
            (Some(_), true) => ColumnKind::Declaration,
            (Some(_), false) => ColumnKind::Assignment,
        }
    }

    /// The cells in all of the line's columns but the last one.
    pub fn cells(&self) -> Option<&Vec<String>> {
        self.cells.as_ref()
    }

    fn make_cells(&self) -> Option<Vec<String>> {
        let pieces = self.pieces;
        if pieces.iter().any(Piece::is_comment) || !pieces[pieces.len() - 1].is(";") {
            return None;
        }
        let word = |p: &Piece| p.kind == Some(TokenKind::Word);
        if self.is_declaration() {
            // format name [length] class [in range] ;
            let class = class(pieces);
            let fits = class >= 2 && word(&pieces[1]) && word(&pieces[class]);
            return fits.then(|| vec![pieces[0].text.to_string(), joined(&pieces[1..class])]);
        }
        (pieces.len() > 2 && word(&pieces[0]) && pieces[1].is("=")).then(|| vec![pieces[0].text.to_string()])
    }

    /// The line without its comment, its cells padded to `widths`, broken where it is too long.
    pub fn text(&self, widths: &[usize]) -> String {
        let indent = " ".repeat(INDENT * self.depth);
        if self.is_comment() {
            let body: Vec<&str> = self.pieces[0].text.lines().map(str::trim_end).collect();
            return indent + &body.join("\n");
        }
        let Some(cells) = &self.cells else { return broken(self.pieces, indent.clone(), &indent) };
        let mut front = indent.clone();
        for (cell, width) in cells.iter().zip(widths) {
            // Columns of declarations are two blanks apart, so that the eye keeps them apart.
            let gap = if self.is_declaration() { 2 } else { 1 };
            front += cell;
            front += &" ".repeat(width.saturating_sub(cell.len()) + gap);
        }
        let used = if self.is_declaration() { class(self.pieces) } else { 1 };
        broken(&self.pieces[used..], front, &indent)
    }
}

/// The place of a declaration's class: before its range, or before its end.
fn class(pieces: &[Piece]) -> usize {
    let range = pieces.iter().position(|p| p.kind == Some(TokenKind::Word) && p.text == "in");
    range.unwrap_or(pieces.len() - 1).saturating_sub(1)
}

/// The pieces on one line.
fn joined(pieces: &[Piece]) -> String {
    let mut text = String::new();
    for (k, piece) in pieces.iter().enumerate() {
        if k > 0 && spaced(pieces, k) {
            text.push(' ');
        }
        text += piece.text;
    }
    text
}

/// A place where a long line may be broken.
struct Break {
    /// Parentheses and brackets around it, and how tightly the operator binds: the outermost and loosest is the best.
    tightness: (usize, usize),
    /// Where it is in the text, and where the text goes on behind it.
    at: usize,
    next: usize,
}

/// `front` and the pieces, broken into lines of at most [`WIDTH`] where that is possible.
fn broken(pieces: &[Piece], front: String, indent: &str) -> String {
    let further = format!("{indent}{}", " ".repeat(INDENT));
    let (mut done, mut text) = (String::new(), front);
    let mut breaks: Vec<Break> = Vec::new();
    let mut depth = 0usize;
    let mut after_line_comment = false;
    for (k, piece) in pieces.iter().enumerate() {
        if piece.is(")") || piece.is("]") {
            depth = depth.saturating_sub(1);
        }
        if after_line_comment {
            done += text.trim_end();
            done.push('\n');
            text = further.clone();
            breaks.clear();
        } else if k > 0 && spaced(pieces, k) {
            let at = text.len();
            text.push(' ');
            if breaks_before(pieces, k) {
                breaks.push(Break { tightness: (depth, binding(&pieces[k])), at, next: at + 1 });
            }
        }
        text += piece.text;
        after_line_comment = piece.ends_line();
        // What cannot be broken is not measured again and again.
        while !breaks.is_empty()
            && width(&text) > WIDTH
            && let Some(best) =
                breaks.iter().enumerate().min_by_key(|(n, b)| (b.tightness, usize::MAX - n)).map(|b| b.0)
        {
            let Break { at, next, .. } = breaks[best];
            done += text[..at].trim_end();
            done.push('\n');
            let moved = |n: usize| further.len() + n - next;
            let shift = |b: &Break| Break { tightness: b.tightness, at: moved(b.at), next: moved(b.next) };
            breaks = breaks[best + 1..].iter().map(shift).collect();
            text = format!("{further}{}", &text[next..]);
        }
        if piece.is("(") || piece.is("[") {
            depth += 1;
        }
    }
    done + text.trim_end()
}

/// How tightly the operator of a piece binds; a comma parts more than any.
fn binding(piece: &Piece) -> usize {
    let levels: [&[&str]; 8] = [
        &["?", ":"],
        &["||"],
        &["&&"],
        &["|", "^", "&"],
        &["==", "!="],
        &["<", "<=", ">", ">="],
        &["<<", ">>"],
        &["+", "-"],
    ];
    match piece.kind {
        Some(TokenKind::Symbol(s)) => levels.iter().position(|l| l.contains(&s)).map_or(levels.len() + 1, |n| n + 1),
        _ => 0,
    }
}

/// Whether a long line may be broken before piece `k`: before a binary operator, and behind a comma.
fn breaks_before(pieces: &[Piece], k: usize) -> bool {
    let operator = matches!(pieces[k].kind, Some(TokenKind::Symbol(s)) if !matches!(s, "(" | ")" | "[" | "]" | "{" | "}" | ";" | ","));
    let assignment = ["=", "+=", "-="].iter().any(|s| pieces[k].is(s));
    pieces[k - 1].is(",") || (operator && !assignment && !is_prefix(pieces, k))
}

/// Whether the symbol at `k` is a prefix operator.
fn is_prefix(pieces: &[Piece], k: usize) -> bool {
    if !["+", "-", "~", "!"].iter().any(|s| pieces[k].is(s)) {
        return false;
    }
    // Comments stand between tokens and mean nothing here.
    let before: Vec<usize> = (0..k).rev().filter(|n| !pieces[*n].is_comment()).take(3).collect();
    let Some(last) = before.first().map(|n| &pieces[*n]) else { return true };
    match last.kind {
        Some(TokenKind::Symbol(")")) => {
            // A cast: `(format)`.
            before.len() == 3 && pieces[before[1]].kind == Some(TokenKind::Format) && pieces[before[2]].is("(")
        }
        Some(TokenKind::Symbol(s)) => s != "]",
        Some(TokenKind::Word) => ["if", "in", "return"].contains(&last.text),
        _ => false,
    }
}

/// Whether the piece is the `:` between two bits, as in `x[7:0]`.
fn is_range(pieces: &[Piece], at: usize) -> bool {
    if !pieces[at].is(":") {
        return false;
    }
    let (mut depth, mut conditions) = (0usize, 0i32);
    for piece in pieces[..at].iter().rev() {
        match piece.kind {
            Some(TokenKind::Symbol(")" | "]")) => depth += 1,
            Some(TokenKind::Symbol(s @ ("(" | "["))) if depth == 0 => return s == "[" && conditions == 0,
            Some(TokenKind::Symbol("(" | "[")) => depth -= 1,
            // Each `?` has its own `:`.
            Some(TokenKind::Symbol("?")) if depth == 0 => conditions += 1,
            Some(TokenKind::Symbol(":")) if depth == 0 => conditions -= 1,
            _ => {}
        }
    }
    false
}

/// Whether a blank stands between the pieces `k` - 1 and `k`.
fn spaced(pieces: &[Piece], k: usize) -> bool {
    let (a, b) = (&pieces[k - 1], &pieces[k]);
    if a.is_comment() || b.is_comment() {
        return true;
    }
    if [";", ",", ")", "]"].iter().any(|s| b.is(s)) || ["(", "["].iter().any(|s| a.is(s)) {
        return false;
    }
    if super::opens_table(pieces) && (a.is("{") || b.is("}")) {
        return false;
    }
    if a.is("..") || b.is("..") || is_prefix(pieces, k - 1) || b.is("[") {
        return false;
    }
    if is_range(pieces, k) || is_range(pieces, k - 1) {
        return false;
    }
    // `max=` and `min=` are one operator.
    if b.is("=") && matches!(a.text, "max" | "min") && k > 1 {
        return false;
    }
    let casts = a.is(")") && k >= 3 && pieces[k - 2].kind == Some(TokenKind::Format) && pieces[k - 3].is("(");
    // A name in parentheses before a value is that of a format, and before `max=` or `min=` an output.
    let gathers = matches!(b.text, "max" | "min") && pieces.get(k + 1).is_some_and(|next| next.is("="));
    let named = a.is(")")
        && !gathers
        && k >= 3
        && pieces[k - 2].kind == Some(TokenKind::Word)
        && pieces[k - 3].is("(")
        && (matches!(b.kind, Some(TokenKind::Word | TokenKind::Number)) || b.is("("));
    if casts || named {
        return false;
    }
    let keyword =
        matches!(a.text, "if" | "else" | "for" | "in" | "return" | "include" | "round") || k == 1 && a.text == "where";
    // A misspelt format such as `flot18.9` is two tokens, which mean nothing when they are parted.
    let misspelt = b.kind == Some(TokenKind::Number) && b.text.starts_with('.');
    !((b.is("(") || misspelt) && a.kind == Some(TokenKind::Word) && !keyword)
}
