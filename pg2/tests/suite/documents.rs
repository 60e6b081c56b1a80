//! Parts of documents that follow from the source: they are compared with it, and `BLESS=1` writes them anew.

use std::path::{Path, PathBuf};
use testkit::golden;

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Compares what stands in a file with what the source says, or writes it.
pub fn follows(file: &str, have: &str, want: &str) {
    if have == want {
        return;
    }
    let path = root().join(file);
    if golden::bless() {
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen(have, want, 1)).unwrap();
        return;
    }
    let difference = golden::difference(have, want).unwrap_or_default();
    panic!("{file} is not as the source says (- is the file, + the source; BLESS=1 writes it anew)\n{difference}");
}

/// The table of a page whose first row begins so.
pub fn table<'a>(text: &'a str, head: &str) -> &'a str {
    let start = text.find(&format!("\n{head}")).unwrap_or_else(|| panic!("no table begins with {head}")) + 1;
    let rest = &text[start..];
    &rest[..rest.find("\n\n").unwrap_or(rest.len())]
}

#[test]
fn differences_are_shown_with_the_lines_around_them() {
    let lines = |range: std::ops::Range<u32>| range.map(|k| format!("line {k}\n")).collect::<String>();
    let recorded = lines(0..30);
    assert_eq!(golden::difference(&recorded, &recorded), None);
    let got = recorded.replace("line 12\n", "").replace("line 14\n", "fourteen\n");
    let wanted = "line 13\n  line 9\n  line 10\n  line 11\n- line 12\n  line 13\n- line 14\n+ fourteen\n  line 15\n  line 16\n  line 17\n";
    assert_eq!(golden::difference(&recorded, &got).as_deref(), Some(wanted));
    let longer = golden::difference(&recorded, &lines(0..500)).unwrap();
    assert!(longer.starts_with("line 31\n  line 27\n") && longer.contains("+ line 30\n"), "{longer}");
    assert!(longer.ends_with("... 430 lines more that differ or lie between\n"), "{longer}");
    assert!(golden::difference("a\n", "a").unwrap().contains("the ends of the lines"));
    assert!(golden::difference("", &lines(0..3000)).unwrap().starts_with("line 1\n+ line 0\n"));
}
