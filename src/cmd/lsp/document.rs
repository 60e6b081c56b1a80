//! An open document: its text, and positions in lines and UTF-16 units as the protocol counts them.

use super::analysis::Analysis;
use lsp_types::{Location, Position, Range, TextDocumentContentChangeEvent, Uri};
use pg2::diag::Span;
use pg2::syntax::names::Names;
use std::path::{Path, PathBuf};

/// A document that the editor has open.
pub struct Document {
    pub uri: Uri,
    pub text: String,
    /// The editor's number for this state; none for a file that is read from the disk.
    pub version: Option<i32>,
    /// Where each line begins.
    lines: Vec<usize>,
    names: Option<Names>,
    /// What the compiler makes of it, once that was asked for.
    pub analysis: Option<Analysis>,
}

impl Document {
    pub fn new(uri: Uri, text: String, version: Option<i32>) -> Document {
        let lines = line_starts(&text);
        Document { uri, text, version, lines, names: None, analysis: None }
    }

    /// Applies changes: each replaces a range, or the whole text.
    pub fn change(&mut self, changes: &[TextDocumentContentChangeEvent], version: i32) {
        self.version = Some(version);
        for change in changes {
            match change.range.map(|r| self.offsets(r)) {
                Some(span) => self.text.replace_range(span.start..span.end, &change.text),
                None => self.text.clone_from(&change.text),
            }
            self.lines = line_starts(&self.text);
        }
        (self.names, self.analysis) = (None, None);
    }

    pub fn names(&mut self) -> &Names {
        self.names.get_or_insert_with(|| pg2::syntax::names::names(&self.text))
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<PathBuf> {
        Some(PathBuf::from(percent_decoded(self.uri.as_str().strip_prefix("file://")?)?))
    }

    /// The kernel's name: the file's stem.
    pub fn name(&self) -> String {
        let stem = self.path().and_then(|p| Some(p.file_stem()?.to_string_lossy().into_owned()));
        stem.unwrap_or_else(|| "kernel".into())
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

    fn position(&self, offset: usize) -> Position {
        let line = self.lines.partition_point(|start| *start <= offset) - 1;
        let units: usize = self.text[self.lines[line]..offset].chars().map(char::len_utf16).sum();
        Position::new(line as u32, units as u32)
    }

    pub fn range(&self, span: Span) -> Range {
        Range::new(self.position(span.start), self.position(span.end))
    }

    pub fn location(&self, span: Span) -> Location {
        Location::new(self.uri.clone(), self.range(span))
    }
}

/// Lines end with `\n`, `\r\n` or `\r`.
fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let ends = |k: &usize| bytes[*k] == b'\n' || bytes[*k] == b'\r' && bytes.get(k + 1) != Some(&b'\n');
    std::iter::once(0).chain((0..bytes.len()).filter(ends).map(|k| k + 1)).collect()
}

/// The URI of an absolute path.
pub fn uri_of(path: &Path) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~".contains(&b);
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let text = |b: &u8| if plain(*b) { (*b as char).to_string() } else { format!("%{b:02X}") };
    "file://".to_string() + &bytes.map(text).collect::<String>()
}

fn percent_decoded(text: &str) -> Option<String> {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        match (first, rest.split_at_checked(2)) {
            (b'%', Some((digits, behind))) => {
                out.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
                rest = behind;
            }
            _ => out.push(*first),
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(uri: &str, text: &str) -> Document {
        Document::new(uri.parse().expect("a URI"), text.into(), None)
    }

    #[test]
    fn positions_count_utf16_units() {
        let text = "a\té𝄞x\r\nb\rc\n\u{feff}d";
        let d = document("file:///k%20%C3%A9.pg2", text);
        for (offset, line, character) in
            [(0, 0, 0), (2, 0, 2), (4, 0, 3), (8, 0, 5), (11, 1, 0), (13, 2, 0), (18, 3, 1)]
        {
            let position = Position::new(line, character);
            assert_eq!((d.position(offset), d.offset(position)), (position, offset), "{offset}");
        }
        // Beyond a line, beyond the text, and within a pair of units.
        assert_eq!(d.offset(Position::new(0, 99)), 9);
        assert_eq!(d.offset(Position::new(99, 0)), text.len());
        assert_eq!(d.offset(Position::new(0, 4)), 8);
        assert_eq!(d.name(), "k é");
        assert_eq!(uri_of(Path::new("/k é.pg2")), "file:///k%20%C3%A9.pg2");
    }

    #[test]
    fn changes_are_applied_in_turn() {
        let mut d = document("untitled:x", "int8 a ipin;\n");
        let whole = |text: &str| TextDocumentContentChangeEvent { range: None, range_length: None, text: text.into() };
        let edit = |line, from, to, text| {
            let range = Some(Range::new(Position::new(line, from), Position::new(line, to)));
            TextDocumentContentChangeEvent { range, ..whole(text) }
        };
        d.change(&[edit(0, 5, 6, "größe"), edit(1, 0, 0, "b")], 2);
        assert_eq!((d.text.as_str(), d.version), ("int8 größe ipin;\nb", Some(2)));
        d.change(&[whole("new")], 3);
        assert_eq!(d.text, "new");
    }
}
