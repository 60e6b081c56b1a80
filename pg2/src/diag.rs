//! Diagnostics: what is wrong, where, and what to write instead.

pub mod codes;

/// A piece of the source text, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    /// From the start of `self` to the end of `other`.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end.max(self.end) }
    }

    /// The text it covers.
    pub fn of(self, text: &str) -> &str {
        &text[self.start..self.end]
    }
}

/// The severity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    Error,
    Warning,
}

/// One finding about a source text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    pub severity: Severity,
    /// Stable code such as `PG0012`; see [`crate::diag::codes::CODES`].
    pub code: &'static str,
    pub message: String,
    /// The main place first; the text says what is there.
    pub labels: Vec<(Span, String)>,
    pub notes: Vec<String>,
    /// The remedy.
    pub help: Option<String>,
    /// The remedy as edits that belong together, where it is so definite; else none.
    pub edits: Vec<Edit>,
}

/// A change of the source text: `text` in the place of `span`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    pub span: Span,
    pub text: String,
}

/// Edits in the order of their places. Of two that overlap the first one counts.
pub fn effective(edits: &[Edit]) -> Vec<&Edit> {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|e| (e.span.start, e.span.end));
    let mut at = 0;
    sorted.retain(|e| {
        let free = e.span.start >= at;
        at = if free { e.span.end } else { at };
        free
    });
    sorted
}

/// The text after edits.
pub fn edited(text: &str, edits: &[Edit]) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for edit in effective(edits) {
        out += &text[at..edit.span.start];
        out += &edit.text;
        at = edit.span.end;
    }
    out + &text[at..]
}

impl Diagnostic {
    /// An error with its main place.
    pub fn error(code: &'static str, message: impl Into<String>, span: Span, label: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code,
            message: message.into(),
            labels: vec![(span, label.into())],
            notes: Vec::new(),
            help: None,
            edits: Vec::new(),
        }
    }

    /// A warning with its main place.
    pub fn warning(code: &'static str, message: impl Into<String>, span: Span, label: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, message, span, label) }
    }

    /// Adds a further place.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push((span, text.into()));
        self
    }

    /// Adds background.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Sets the remedy.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = Some(text.into());
        self
    }

    /// Adds an edit to the remedy.
    pub fn edit(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.edits.push(Edit { span, text: text.into() });
        self
    }

    /// The main place.
    pub fn span(&self) -> Span {
        self.labels.first().map(|l| l.0).unwrap_or_default()
    }
}

/// The most diagnostics kept of one text; more help nobody.
pub const MAX_REPORTED: usize = 1000;

/// Keeps a finding unless there are far too many already.
pub fn report(all: &mut Vec<Diagnostic>, one: Diagnostic) {
    // One more than the limit is kept, as the sign that some were left out.
    if all.len() <= MAX_REPORTED {
        all.push(one);
    }
}

/// The candidate that `word` was probably meant to be: at most two edits away, and at most half of its letters.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Long words are names of generated code, where a guess would cost more than it helps.
    if word.len() > 40 {
        return None;
    }
    let limit = 2.min(word.chars().count() / 2);
    candidates
        .into_iter()
        .filter(|c| c.len().abs_diff(word.len()) <= 4 && *c != word)
        // A wrong case is the likeliest mistake, also where a word is so short that any other would be near.
        .map(|c| (if c.eq_ignore_ascii_case(word) { 0 } else { edits(word, c) }, c))
        .filter(|(n, _)| *n <= limit)
        .min()
        .map(|(_, c)| c)
}

/// The edit distance of two words, a swap of neighbours counting as one.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = (a[i - 1] != b[j - 1]) as usize;
            let mut best = (rows[i - 1][j - 1] + same).min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised() {
        assert_eq!(did_you_mean("jipn", ["ipin", "jpin", "fout"]), Some("jpin"));
        assert_eq!(did_you_mean("pg_sqr", ["pg_abs", "pg_sqrt"]), Some("pg_sqrt"));
        assert_eq!(did_you_mean("zebra", ["ipin", "jpin", "fout"]), None);
    }
}
