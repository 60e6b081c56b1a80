//! Expression texts with placeholders: which bits of which argument they read, and how they are filled in.

/// One piece of an expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Piece {
    Plain(String),
    /// Argument `arg`, bits `high` down to `low`; `whole` if the text reads it without a constant slice.
    Arg {
        arg: usize,
        high: u32,
        low: u32,
        whole: bool,
    },
}

/// A parsed expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Text(pub(super) Vec<Piece>);

impl Text {
    /// Cuts `text` at its placeholders `{k}`; other braces stay, as in a Verilog concatenation. `widths` are
    /// those of the arguments.
    pub(super) fn parse(text: &str, widths: &[u32]) -> Text {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            plain.push_str(&rest[..open]);
            let tail = &rest[open + 1..];
            let arg = tail.find('}').and_then(|close| tail[..close].parse::<usize>().ok().map(|k| (k, close)));
            let Some((arg, close)) = arg else {
                plain.push('{');
                rest = tail;
                continue;
            };
            let width =
                *widths.get(arg).unwrap_or_else(|| panic!("`{text}` reads an argument {arg} that is not given"));
            pieces.push(Piece::Plain(std::mem::take(&mut plain)));
            rest = &tail[close + 1..];
            match slice(rest) {
                Some((high, low, length)) => {
                    assert!(low <= high && high < width, "`{text}` reads bits {high}:{low} of {width} of {arg}");
                    pieces.push(Piece::Arg { arg, high, low, whole: false });
                    rest = &rest[length..];
                }
                None => pieces.push(Piece::Arg { arg, high: width - 1, low: 0, whole: true }),
            }
        }
        plain.push_str(rest);
        pieces.push(Piece::Plain(plain));
        Text(pieces)
    }

    /// The text with each placeholder replaced by what `name(arg, high, low, whole)` gives.
    pub(super) fn fill(&self, name: impl Fn(usize, u32, u32, bool) -> String) -> String {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Plain(text) => out.push_str(text),
                Piece::Arg { arg, high, low, whole } => out.push_str(&name(*arg, *high, *low, *whole)),
            }
        }
        out
    }

    /// (argument, high, low) of everything that is read.
    pub(super) fn reads(&self) -> impl Iterator<Item = (usize, u32, u32)> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Arg { arg, high, low, .. } => Some((*arg, *high, *low)),
            Piece::Plain(_) => None,
        })
    }
}

/// A constant slice `[7:0]` or `[3]` at the start of `text`: high, low, its length in bytes.
fn slice(text: &str) -> Option<(u32, u32, usize)> {
    let close = text.strip_prefix('[')?.find(']')? + 1;
    let (high, low) = text[1..close].split_once(':').unwrap_or((&text[1..close], &text[1..close]));
    Some((high.trim().parse().ok()?, low.trim().parse().ok()?, close + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_and_concatenations_live_together() {
        let text = Text::parse("{{0}, 3'd0, {1}[2:0], {2{{0}[5]}}}", &[6, 4]);
        let name = |k, high, low, whole| if whole { format!("x{k}") } else { format!("x{k}<{high}.{low}>") };
        assert_eq!(text.fill(name), "{x0, 3'd0, x1<2.0>, {2{x0<5.5>}}}");
        assert_eq!(text.reads().collect::<Vec<_>>(), [(0, 5, 0), (1, 2, 0), (0, 5, 5)]);
    }

    #[test]
    fn a_slice_that_is_not_constant_reads_everything() {
        let text = Text::parse("{0}[{1} +: 2]", &[6, 3]);
        assert_eq!(text.reads().collect::<Vec<_>>(), [(0, 5, 0), (1, 2, 0)]);
    }
}
