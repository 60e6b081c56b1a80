//! A text with positions in lines and UTF-16 units, as the protocol counts them.

use lsp_types::{Position, Range, TextDocumentContentChangeEvent};
use pg2::diag::Span;
use std::ops::Deref;

/// A text, and where its lines begin.
pub struct Text {
    text: String,
    lines: Vec<usize>,
}

impl Deref for Text {
    type Target = String;

    fn deref(&self) -> &String {
        &self.text
    }
}

impl Text {
    pub fn new(text: String) -> Text {
        Text { lines: line_starts(&text), text }
    }

    /// Applies changes: each replaces a range, or the whole text.
    pub fn change(&mut self, changes: &[TextDocumentContentChangeEvent]) {
        for change in changes {
            match change.range.map(|r| self.offsets(r)) {
                Some(span) => self.text.replace_range(span.start..span.end, &change.text),
                None => self.text.clone_from(&change.text),
            }
            self.lines = line_starts(&self.text);
        }
    }

    /// A position as an offset into the text; what lies behind a line's end is its end.
    pub fn offset(&self, position: Position) -> usize {
        let Some(start) = self.lines.get(position.line as usize).copied() else { return self.text.len() };
        let (mut units, column) = (0, position.character as usize);
        for (at, c) in self.text[start..].char_indices() {
            if units >= column || matches!(c, '\n' | '\r') {
                return start + at;
            }
            units += c.len_utf16();
        }
        self.text.len()
    }

    pub fn offsets(&self, range: Range) -> Span {
        let (start, end) = (self.offset(range.start), self.offset(range.end));
        Span { start: start.min(end), end: start.max(end) }
    }

    pub fn position(&self, offset: usize) -> Position {
        let line = self.lines.partition_point(|start| *start <= offset) - 1;
        let units: usize = self.text[self.lines[line]..offset].chars().map(char::len_utf16).sum();
        Position::new(line as u32, units as u32)
    }

    pub fn range(&self, span: Span) -> Range {
        Range::new(self.position(span.start), self.position(span.end))
    }
}

/// Lines end with `\n`, `\r\n` or `\r`.
fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let ends = |k: &usize| bytes[*k] == b'\n' || bytes[*k] == b'\r' && bytes.get(k + 1) != Some(&b'\n');
    std::iter::once(0).chain((0..bytes.len()).filter(ends).map(|k| k + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_utf16_units() {
        let text = "a\té𝄞x\r\nb\rc\n\u{feff}d";
        let t = Text::new(text.into());
        for (offset, line, character) in
            [(0, 0, 0), (2, 0, 2), (4, 0, 3), (8, 0, 5), (11, 1, 0), (13, 2, 0), (18, 3, 1)]
        {
            let position = Position::new(line, character);
            assert_eq!((t.position(offset), t.offset(position)), (position, offset), "{offset}");
        }
        // Beyond a line, beyond the text, and within a pair of units.
        assert_eq!(t.offset(Position::new(0, 99)), 9);
        assert_eq!(t.offset(Position::new(99, 0)), text.len());
        assert_eq!(t.offset(Position::new(0, 4)), 8);
        // A range that is the wrong way round.
        let ends = [Position::new(1, 0), Position::new(0, 2)];
        let span = t.offsets(Range::new(ends[0], ends[1]));
        assert_eq!((span.start, span.end, t.range(span)), (2, 11, Range::new(ends[1], ends[0])));
    }

    #[test]
    fn changes_are_applied_in_turn() {
        let mut t = Text::new("int8 a ipin;\n".into());
        let whole = |text: &str| TextDocumentContentChangeEvent { range: None, range_length: None, text: text.into() };
        let edit = |line, from, to, text| {
            let range = Some(Range::new(Position::new(line, from), Position::new(line, to)));
            TextDocumentContentChangeEvent { range, ..whole(text) }
        };
        t.change(&[edit(0, 5, 6, "größe"), edit(1, 0, 0, "b")]);
        assert_eq!(*t, "int8 größe ipin;\nb");
        t.change(&[whole("new")]);
        assert_eq!(*t, "new");
    }
}
