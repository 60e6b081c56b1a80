//! Comments that lead from the Verilog back to the source line.

use crate::graph::Node;

/// A source text by lines.
pub(crate) struct Lines<'a> {
    text: &'a str,
    /// Where each line begins, in bytes.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Lines<'a> {
        let newlines = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(k, _)| k + 1);
        Lines { text, starts: std::iter::once(0).chain(newlines).collect() }
    }

    /// The line number, from 1, and the text of the line that holds byte `at`.
    fn line(&self, at: usize) -> (usize, &'a str) {
        let k = self.starts.partition_point(|s| *s <= at) - 1;
        (k + 1, self.text.get(self.starts[k]..).and_then(|t| t.lines().next()).unwrap_or(""))
    }

    /// The number of the line that holds byte `at`, from 1; 0 without a source.
    pub(crate) fn number(&self, at: usize) -> usize {
        if self.text.is_empty() { 0 } else { self.line(at).0 }
    }

    /// `line 7: r2 = dx * dx; (float18.9, ready in cycle 9)`.
    pub(crate) fn comment(&self, node: &Node, timing: &str) -> String {
        if self.text.is_empty() {
            return if node.name.is_empty() { timing.to_string() } else { format!("{}: {timing}", node.name) };
        }
        let (number, line) = self.line(node.span.start);
        // The statement alone: trailing comments and anything long would drown the code around it.
        let statement = line.split("//").next().unwrap_or("").trim();
        let short: String = statement.chars().take(80).collect();
        let more = if statement.chars().count() > 80 { "..." } else { "" };
        format!("line {number}: {short}{more} ({timing})")
    }
}
