//! Parts of the command that need nothing else of it, and their tests. What needs more has its tests beside it.

#[path = "../../src/source/printable.rs"]
mod printable;
#[path = "../../src/cmd/lsp/text.rs"]
mod text;
#[path = "../../src/cmd/lsp/uri.rs"]
mod uri;

use lsp_types::{Position, Range, TextDocumentContentChangeEvent};
use printable::Printable;
use std::path::{Path, PathBuf};
use text::Text;

#[test]
fn positions_count_utf16_units() {
    let text = "a\té𝄞x\r\nb\rc\n\u{feff}d";
    let t = Text::new(text.into());
    for (offset, line, character) in [(0, 0, 0), (2, 0, 2), (4, 0, 3), (8, 0, 5), (11, 1, 0), (13, 2, 0), (18, 3, 1)] {
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
fn files_have_uris() {
    let (path, uri) = (Path::new("/k é.pg2"), "file:///k%20%C3%A9.pg2");
    assert_eq!((uri::uri_of(path), uri::path_of(uri)), (uri.into(), Some(PathBuf::from(path))));
    assert_eq!((uri::path_of("untitled:x"), uri::path_of("file:///%zz")), (None, None));
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

#[test]
fn places_of_a_source_are_found_in_what_is_shown() {
    let source = "\u{feff}a = \u{1b}b;\r\nc\u{202e}d = 1;\r";
    let shown = Printable::new(source);
    assert_eq!(shown.text, "\u{feff}a = \\u{1b}b;\r\nc\\u{202e}d = 1;\\r");
    for name in ["a", "b", "c", "d"] {
        let at = shown.at(source.find(name).unwrap());
        assert!(shown.text[at..].starts_with(name), "{name}");
    }
    assert_eq!(shown.at(source.len()), shown.text.len());
}
