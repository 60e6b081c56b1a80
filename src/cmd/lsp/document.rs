//! An open document: its text, and positions in lines and UTF-16 units as the protocol counts them.

use super::analysis::Analysis;
use pg2::diag::Span;
use pg2::syntax::names::Names;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A document that the editor has open.
pub struct Document {
    pub uri: String,
    pub text: String,
    /// The editor's number for this state, or null.
    pub version: Value,
    /// Where each line begins.
    lines: Vec<usize>,
    names: Option<Names>,
    /// What the compiler makes of it, once that was asked for.
    pub analysis: Option<Analysis>,
}

impl Document {
    pub fn new(uri: &str, text: String, version: Value) -> Document {
        let lines = line_starts(&text);
        Document { uri: uri.into(), text, version, lines, names: None, analysis: None }
    }

    /// Applies changes: each replaces a range, or the whole text.
    pub fn change(&mut self, changes: &Value, version: Value) {
        self.version = version;
        for change in changes.as_array().into_iter().flatten() {
            let Some(new) = change["text"].as_str() else { continue };
            match self.offsets(&change["range"]) {
                Some(span) => self.text.replace_range(span.start..span.end, new),
                None => self.text = new.into(),
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
        Some(PathBuf::from(percent_decoded(self.uri.strip_prefix("file://")?)?))
    }

    /// The kernel's name: the file's stem.
    pub fn name(&self) -> String {
        let stem = self.path().and_then(|p| Some(p.file_stem()?.to_string_lossy().into_owned()));
        stem.unwrap_or_else(|| "kernel".into())
    }

    /// A position as an offset into the text; what lies behind a line's end is its end.
    pub fn offset(&self, position: &Value) -> Option<usize> {
        let (line, column) = (position["line"].as_u64()? as usize, position["character"].as_u64()?);
        let Some(start) = self.lines.get(line).copied() else { return Some(self.text.len()) };
        let mut units = 0;
        for (at, c) in self.text[start..].char_indices() {
            if units >= column || matches!(c, '\n' | '\r') {
                return Some(start + at);
            }
            units += c.len_utf16() as u64;
        }
        Some(self.text.len())
    }

    fn offsets(&self, range: &Value) -> Option<Span> {
        let (start, end) = (self.offset(&range["start"])?, self.offset(&range["end"])?);
        Some(Span { start: start.min(end), end: start.max(end) })
    }

    fn position(&self, offset: usize) -> Value {
        let line = self.lines.partition_point(|start| *start <= offset) - 1;
        let units: usize = self.text[self.lines[line]..offset].chars().map(char::len_utf16).sum();
        json!({"line": line, "character": units})
    }

    pub fn range(&self, span: Span) -> Value {
        json!({"start": self.position(span.start), "end": self.position(span.end)})
    }

    pub fn location(&self, span: Span) -> Value {
        json!({"uri": self.uri, "range": self.range(span)})
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

    #[test]
    fn positions_count_utf16_units() {
        let text = "a\té𝄞x\r\nb\rc\n\u{feff}d";
        let d = Document::new("file:///k%20%C3%A9.pg2", text.into(), Value::Null);
        for (offset, line, character) in
            [(0, 0, 0), (2, 0, 2), (4, 0, 3), (8, 0, 5), (11, 1, 0), (13, 2, 0), (18, 3, 1)]
        {
            let position = json!({"line": line, "character": character});
            assert_eq!((d.position(offset), d.offset(&position)), (position, Some(offset)), "{offset}");
        }
        // Beyond a line, beyond the text, and within a pair of units.
        assert_eq!(d.offset(&json!({"line": 0, "character": 99})), Some(9));
        assert_eq!(d.offset(&json!({"line": 99, "character": 0})), Some(text.len()));
        assert_eq!(d.offset(&json!({"line": 0, "character": 4})), Some(8));
        assert_eq!((d.offset(&json!({})), d.name().as_str()), (None, "k é"));
        assert_eq!(uri_of(Path::new("/k é.pg2")), "file:///k%20%C3%A9.pg2");
    }

    #[test]
    fn changes_are_applied_in_turn() {
        let mut d = Document::new("x", "int8 a ipin;\n".into(), json!(1));
        let at = |l, c| json!({"line": l, "character": c});
        let edit = |from, to, text| json!({"range": {"start": from, "end": to}, "text": text});
        d.change(&json!([edit(at(0, 5), at(0, 6), "größe"), edit(at(1, 0), at(1, 0), "b")]), json!(2));
        assert_eq!((d.text.as_str(), d.version.clone()), ("int8 größe ipin;\nb", json!(2)));
        d.change(&json!([{"text": "new"}, {"no": "text"}]), json!(3));
        assert_eq!(d.text, "new");
    }
}
