//! Text that comes from outside, as messages show it: what a terminal would obey or hide is escaped, and what is long is cut.

/// Characters of one line that are shown at most, and lines of one message.
const LONGEST: usize = 1000;
const MOST_LINES: usize = 200;

/// Whether a terminal obeys a character, shows nothing for it, or changes the order of others for it.
pub fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// The text with every hidden character escaped, a line's end too: for names and cells.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hidden(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// A name or cell in a message: escaped, and cut where it is long.
pub fn word(text: &str) -> String {
    cut(&plain(text), 120)
}

/// A message of several lines: each escaped and cut, and not too many of them.
pub fn lines(text: &str) -> String {
    let shown = |line: &str| line.split('\t').map(|part| cut(&plain(part), LONGEST)).collect::<Vec<_>>().join("\t");
    let count = text.lines().count();
    let mut all: Vec<String> = text.lines().take(MOST_LINES).map(|line| cut(&shown(line), LONGEST)).collect();
    if count > MOST_LINES {
        all.push(format!("({} more lines)", count - MOST_LINES));
    }
    all.join("\n")
}

/// The text, or its beginning and its end with the number of characters between them.
fn cut(text: &str, most: usize) -> String {
    // Characters have at least one byte.
    if text.len() <= most {
        return text.to_string();
    }
    let count = text.chars().count();
    if count <= most {
        return text.to_string();
    }
    let (first, last) = (most * 3 / 4, most / 8);
    let place = |k: usize| text.char_indices().nth(k).map_or(text.len(), |(at, _)| at);
    format!(
        "{}... ({} characters left out) ...{}",
        &text[..place(first)],
        count - first - last,
        &text[place(count - last)..]
    )
}

/// A source text whose hidden characters are escaped, and where each place of it is in what is shown.
pub struct Shown {
    pub text: String,
    /// (place behind a hidden character in the source, the same place in what is shown), in order.
    moved: Vec<(usize, usize)>,
}

impl Shown {
    pub fn new(text: &str) -> Shown {
        let mut shown = Shown { text: String::with_capacity(text.len()), moved: Vec::new() };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(plain("a\u{1b}[31mb\u{202e}\n\u{9b}é"), "a\\u{1b}[31mb\\u{202e}\\n\\u{9b}é");
        assert_eq!(lines("one\n\u{7}two\r\nthree\tx"), "one\n\\u{7}two\nthree\tx");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = lines(&"é".repeat(5_000_000));
        assert!(long.len() < 2500 && long.contains("(4999125 characters left out)"), "{}", long.len());
        assert_eq!(lines(&"x\n".repeat(1000)).lines().count(), MOST_LINES + 1);
        assert_eq!(word("short"), "short");
    }

    #[test]
    fn places_of_a_source_are_found_in_what_is_shown() {
        let source = "\u{feff}a = \u{1b}b;\r\nc\u{202e}d = 1;\r";
        let shown = Shown::new(source);
        assert_eq!(shown.text, "\u{feff}a = \\u{1b}b;\r\nc\\u{202e}d = 1;\\r");
        for name in ["a", "b", "c", "d"] {
            let at = shown.at(source.find(name).unwrap());
            assert!(shown.text[at..].starts_with(name), "{name}");
        }
        assert_eq!(shown.at(source.len()), shown.text.len());
    }
}
