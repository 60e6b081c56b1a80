//! Text from outside, as messages show it: cut, and without characters that a terminal would obey.

/// A longer text is cut.
const LONGEST: usize = 60;
/// Of a path that is longer, the beginning and the end are shown.
const LONGEST_PATH: usize = 400;

/// A word, cell or value.
pub fn shown(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => escaped(text),
        Some((end, _)) => format!("{}... ({} characters)", escaped(&text[..end]), text.chars().count()),
    }
}

/// A file's name.
pub fn path(path: &std::path::Path) -> String {
    let text = path.to_string_lossy();
    let count = text.chars().count();
    if count <= LONGEST_PATH {
        return escaped(&text);
    }
    let half = LONGEST_PATH / 2;
    let (head, tail): (String, String) = (text.chars().take(half).collect(), text.chars().skip(count - half).collect());
    format!("{}...{}", escaped(&head), escaped(&tail))
}

/// The text with control characters, and others that show nothing or turn what follows around, as escapes.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Quotes and backslashes are shown as they are.
    for piece in text.split_inclusive(['\'', '"', '\\']) {
        let end = piece.trim_end_matches(['\'', '"', '\\']).len();
        out.extend(piece[..end].escape_debug());
        out += &piece[end..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_terminal_would_obey_is_escaped() {
        assert_eq!(
            shown("r\u{e9}sum\u{e9} \"x\" 'y' \\ \u{65e5}\u{672c}"),
            "r\u{e9}sum\u{e9} \"x\" 'y' \\ \u{65e5}\u{672c}"
        );
        assert_eq!(shown("e\u{301}"), "e\u{301}");
        assert_eq!(shown("a\u{1b}[31mb\nc\0\u{202e}\u{200b}\u{9b}"), "a\\u{1b}[31mb\\nc\\0\\u{202e}\\u{200b}\\u{9b}");
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(shown(&"x".repeat(60)), "x".repeat(60));
        assert_eq!(shown(&"\u{e9}".repeat(1_000_000)), "\u{e9}".repeat(60) + "... (1000000 characters)");
        let long = path(std::path::Path::new(&format!("a{}b", "/x".repeat(5000))));
        assert!(long.starts_with("a/x") && long.ends_with("/xb") && long.len() < 500);
    }
}
