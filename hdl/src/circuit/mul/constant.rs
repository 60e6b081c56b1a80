//! Products with a constant of few digits: additions and subtractions of what is multiplied.

use super::{Partial, sum};
use crate::circuit::{Circuit, Sig, X};

/// The digits of a number that are not 0, each 1 or -1, by their places: of all ways to write it with such digits, that with the
/// fewest (the non-adjacent form).
fn digits(mut number: i128) -> Vec<(u32, bool)> {
    let mut digits = Vec::new();
    let mut place = 0;
    while number != 0 {
        let zeros = number.trailing_zeros();
        (number, place) = (number >> zeros, place + zeros);
        let negative = number & 3 == 3;
        digits.push((place, negative));
        // The number is odd: what is taken away leaves two zeros at least.
        number = (number >> 1) + negative as i128;
        place += 1;
    }
    digits
}

/// The lowest `width` bits of the product of `a`, which may have a sign, with a constant; `None` where multiplier blocks and the sum of
/// their products take no more additions. A block is given up for one addition.
pub(super) fn times(c: &mut Circuit, name: &str, (a, signed): (Sig, bool), constant: i128, width: u32) -> Option<Sig> {
    let digits: Vec<(u32, bool)> = digits(constant).into_iter().filter(|d| d.0 < width).collect();
    let pieces = |bits: u32| bits.div_ceil(c.clock().target.mul_width()).max(1);
    let blocks = pieces(c.width(a).min(width)) * pieces(128 - constant.unsigned_abs().leading_zeros());
    if digits.is_empty() || c.clock().blocks != Some(0) && digits.len() as u32 > blocks.max(2) {
        return None;
    }
    let mut of = |negative: bool| {
        let mut terms = Vec::new();
        for (offset, _) in digits.iter().filter(|d| d.1 == negative) {
            let sig = match signed && c.width(a) < width - offset {
                true => c.logic(name, c.x(a).sext(width - offset)),
                false => a,
            };
            terms.push(Partial { sig, offset: *offset });
        }
        (!terms.is_empty()).then(|| sum(c, name, terms, width))
    };
    let (plus, minus) = (of(false), of(true));
    match (plus, minus) {
        (plus, None) => plus,
        (None, Some(minus)) => Some(c.logic(name, X::zeros(width) - c.x(minus))),
        (Some(plus), Some(minus)) => Some(c.logic(name, c.x(plus) - c.x(minus))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_few_and_make_the_number() {
        let value = |digits: &[(u32, bool)]| {
            let one = |d: &(u32, bool)| if d.1 { -(1i128 << d.0) } else { 1 << d.0 };
            digits.iter().map(one).sum::<i128>()
        };
        for (number, count) in [(0, 0), (1, 1), (-1, 1), (3, 2), (0x0101, 2), (255, 2), (-5, 2), (0x5555, 8), (-64, 1)]
        {
            let found = digits(number);
            assert_eq!((found.len(), value(&found)), (count, number), "{found:?}");
            assert!(found.windows(2).all(|d| d[1].0 > d[0].0 + 1), "{found:?}");
        }
        for number in [i64::MAX as i128, i64::MIN as i128, u64::MAX as i128, 0x1234_5678_9abc, -987_654_321] {
            assert_eq!(value(&digits(number)), number);
        }
    }
}
