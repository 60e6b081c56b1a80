//! Stretches that touch, joined into one: of particles, of records, of both at once.

/// Joins neighbours of a list. `absorb` adds the second to the first where it follows it, and says whether it did.
pub fn joined<T>(mut list: Vec<T>, mut absorb: impl FnMut(&mut T, &T) -> bool) -> Vec<T> {
    list.dedup_by(|next, last| absorb(last, next));
    list
}

/// Sorts stretches, each as its first index and count, and joins those that touch.
pub fn sorted(mut ranges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    ranges.sort_unstable();
    joined(ranges, |last, next| {
        let touch = last.0 + last.1 == next.0;
        last.1 += if touch { next.1 } else { 0 };
        touch
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_touch_are_one() {
        assert_eq!(sorted(vec![(7, 3), (0, 2), (2, 1), (10, 1), (5, 1)]), [(0, 3), (5, 1), (7, 4)]);
        assert_eq!(sorted(Vec::new()), []);
    }
}
