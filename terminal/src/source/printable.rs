//! A source text as excerpts show it: what a terminal would obey or hide is escaped, and places are found again.

/// A source text whose hidden characters are escaped, and where each place of it is in what is shown.
pub struct Printable {
    pub text: String,
    /// (place behind a hidden character in the source, the same place in what is shown), in order.
    moved: Vec<(usize, usize)>,
}

impl Printable {
    pub fn new(text: &str) -> Printable {
        let mut shown = Printable { text: String::with_capacity(text.len()), moved: Vec::new() };
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let line_end = c == '\n' || c == '\r' && chars.peek().is_some_and(|n| n.1 == '\n');
            let first_mark = c == '\u{feff}' && at == 0;
            if line_end || c == '\t' || first_mark || !hidden(c) {
                shown.text.push(c);
                continue;
            }
            shown.text.extend(c.escape_default());
            shown.moved.push((at + c.len_utf8(), shown.text.len()));
        }
        shown
    }

    /// The place of a place of the source.
    pub fn at(&self, place: usize) -> usize {
        match self.moved.partition_point(|m| m.0 <= place) {
            0 => place,
            k => self.moved[k - 1].1 + (place - self.moved[k - 1].0),
        }
    }
}

/// Whether a terminal obeys a character, shows nothing for it, or changes the order of others for it.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::Printable;

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
}
