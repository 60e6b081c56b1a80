//! Comments that lead from the Verilog back to the source line.

use crate::graph::Node;
use crate::syntax::sources::Text;

impl Line<'_> {
    /// The statement alone: trailing comments and anything long would drown what stands around it.
    pub(crate) fn statement(&self) -> String {
        // Of a line of thousands of operators, each would read all.
        let most = (0..=self.text.len().min(400)).rev().find(|n| self.text.is_char_boundary(*n)).unwrap_or(0);
        let statement = self.text[..most].split("//").next().unwrap_or("").trim();
        match statement.char_indices().nth(80) {
            None => statement.to_string(),
            Some((end, _)) => statement[..end].to_string() + "...",
        }
    }
}

/// A source text by lines.
pub(crate) struct Lines<'a> {
    text: Text<'a>,
    /// Where each line begins, in bytes.
    starts: Vec<usize>,
}

/// A line of a file.
pub(crate) struct Line<'a> {
    /// The included file that it is in; `None` in the kernel's own.
    pub file: Option<&'a str>,
    /// From 1.
    pub number: usize,
    pub text: &'a str,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: Text<'a>) -> Lines<'a> {
        let newlines = text.text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(k, _)| k + 1);
        Lines { text, starts: std::iter::once(0).chain(newlines).collect() }
    }

    /// The line that holds byte `at`; `None` without a source.
    pub(crate) fn line(&self, at: usize) -> Option<Line<'a>> {
        if self.text.text.is_empty() {
            return None;
        }
        let number = |at: usize| self.starts.partition_point(|s| *s <= at) - 1;
        let k = number(at);
        let end = self.starts.get(k + 1).map_or(self.text.text.len(), |next| next - 1);
        let text = self.text.text.get(self.starts[k]..end).unwrap_or("").trim_end_matches('\r');
        let files = self.text.files;
        let file = files.get(files.partition_point(|f| f.span.start <= at).max(1) - 1).filter(|f| f.span.start > 0);
        let first = file.map_or(0, |f| number(f.span.start));
        Some(Line { file: file.map(|f| f.origin.as_str()), number: k - first + 1, text })
    }

    /// `line 7: r2 = dx * dx; (float18.9, ready in cycle 9)`, with the file's name where it is not the kernel's own.
    pub(crate) fn comment(&self, node: &Node, timing: &str) -> String {
        let Some(line) = self.line(node.span.start) else {
            return if node.name.is_empty() { timing.to_string() } else { format!("{}: {timing}", node.name) };
        };
        // The file's name comes from outside and must not end the comment.
        let plain = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
        let file: String = line.file.map_or(String::new(), |f| f.chars().map(plain).collect::<String>() + " ");
        format!("{file}line {}: {} ({timing})", line.number, line.statement())
    }
}
