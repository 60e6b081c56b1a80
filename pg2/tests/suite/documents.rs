//! Parts of documents that follow from the source: they are compared with it, and `BLESS=1` writes them anew.

use std::path::{Path, PathBuf};
pub use testkit::document::part as table;
use testkit::{document, golden};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Compares what stands in a file with what the source says, or writes it.
pub fn follows(file: &str, have: &str, want: &str) {
    document::follows(&root().join(file), have, want);
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
