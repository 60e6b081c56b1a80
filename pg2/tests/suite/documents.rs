//! Parts of documents that follow from the source: they are compared with it, and `BLESS=1` writes them anew.

use std::path::{Path, PathBuf};

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
    if std::env::var_os("BLESS").is_some_and(|v| v == "1") {
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen(have, want, 1)).unwrap();
        return;
    }
    let differs = |(a, b): &(&str, &str)| a != b;
    let (have, want) = (have.lines().chain(["(end)"]), want.lines().chain(["(end)"]));
    let (is, wanted) = have.zip(want).find(differs).unwrap_or_default();
    panic!("{file} is not as the source says (BLESS=1 writes it anew):\n  is      {is}\n  wanted  {wanted}");
}

/// The table of a page whose first row begins so.
pub fn table<'a>(text: &'a str, head: &str) -> &'a str {
    let start = text.find(&format!("\n{head}")).unwrap_or_else(|| panic!("no table begins with {head}")) + 1;
    let rest = &text[start..];
    &rest[..rest.find("\n\n").unwrap_or(rest.len())]
}
