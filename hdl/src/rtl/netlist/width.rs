//! The width of a connection's expression, and the bits of which signals it names.

/// Bits `high` down to `low` of a signal; `None` for all of them.
pub(super) type Part<'a> = (&'a str, Option<(u32, u32)>);

/// A connection: a signal, bits of one, a sized constant, or a concatenation of those. Anything else has no parts and no width.
#[derive(PartialEq, Eq, Debug, Default)]
pub(super) struct Shape<'a> {
    pub parts: Vec<Part<'a>>,
    /// `None` if it is more than signals and constants side by side.
    pub width: Option<u32>,
}

/// The shape of `expr`, where `of` gives the width of a declared signal.
pub(super) fn shape<'a>(expr: &'a str, of: &impl Fn(&str) -> Option<u32>) -> Shape<'a> {
    let mut shape = Shape { parts: Vec::new(), width: Some(0) };
    let inside = expr.trim().strip_prefix('{').and_then(|e| e.strip_suffix('}'));
    for piece in inside.unwrap_or(expr).split(',') {
        let Some(width) = part(piece.trim(), of, &mut shape.parts) else { return Shape::default() };
        shape.width = shape.width.map(|w| w + width);
    }
    shape
}

/// The width of a signal, of bits of one, or of a constant.
fn part<'a>(piece: &'a str, of: &impl Fn(&str) -> Option<u32>, parts: &mut Vec<Part<'a>>) -> Option<u32> {
    if piece.starts_with(|c: char| c.is_ascii_digit()) {
        let (width, digits) = piece.split_once('\'')?;
        return digits.bytes().all(|b| b.is_ascii_alphanumeric()).then(|| width.parse().ok())?;
    }
    let (name, bits) = match piece.split_once('[') {
        None => (piece, None),
        Some((name, rest)) => {
            let bits = rest.strip_suffix(']')?;
            let (high, low) = bits.split_once(':').unwrap_or((bits, bits));
            (name, Some((high.trim().parse().ok()?, low.trim().parse().ok()?)))
        }
    };
    if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return None;
    }
    parts.push((name, bits));
    match bits {
        Some((high, low)) => (high >= low).then_some(high - low + 1),
        None => of(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_constants_and_their_concatenations_have_a_width() {
        let of = |name: &str| (name == "a").then_some(8);
        let width = |expr: &'static str| shape(expr, &of).width;
        assert_eq!(["a", "a[3]", "a[6:2]", "{a, 4'd0, a[0]}"].map(width), [8, 1, 5, 13].map(Some));
        assert_eq!(["a & a", "~a", "b", "{2{a}}", "a + 4'd1", ""].map(width), [None; 6]);
        assert_eq!(shape("{a, a[3:2]}", &of).parts, [("a", None), ("a", Some((3, 2)))]);
    }
}
