//! Parts of documents that follow from the source: compared with it, and written anew under `BLESS=1`.

use crate::golden;
use std::path::Path;

/// Compares part of a file with what the source says, or writes it.
pub fn follows(path: &Path, have: &str, want: &str) {
    if have == want {
        return;
    }
    if golden::bless() {
        let text = std::fs::read_to_string(path).expect("the file exists");
        std::fs::write(path, text.replacen(have, want, 1)).expect("the file can be written");
        return;
    }
    let (file, difference) = (path.display(), golden::difference(have, want).unwrap_or_default());
    panic!("{file} is not as the source says (- is the file, + the source; BLESS=1 writes it anew)\n{difference}");
}

/// Paragraph, table or list of a page whose first line begins so.
pub fn part<'a>(text: &'a str, head: &str) -> &'a str {
    let start = text.find(&format!("\n{head}")).unwrap_or_else(|| panic!("nothing begins with {head}")) + 1;
    let rest = &text[start..];
    rest[..rest.find("\n\n").unwrap_or(rest.len())].trim_end()
}
