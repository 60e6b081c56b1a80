//! Sums in slices: what a pipeline that takes a pair every many clocks adds up 16 bits at a time.
//!
//! The running totals stand in a memory, and a finished record in another one, which the collector reads word by word. So neither a
//! total nor a result takes a register. An adder serves as many sums as it has clocks for, in the order of the record.

use super::Layout;
use crate::Reduce;

/// Bits of a slice: the width of iCE40's block memories.
pub const SLICE: u32 = 16;
/// Bits above an output's own in which a sum is exact for 2^32 sources.
const GUARD: u32 = 32;
/// The fewest sums that an adder must have the clocks for: with fewer, adders of whole sums are smaller.
const FEWEST: u32 = 4;

/// How the sums of a kernel are added up in slices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slices {
    /// Slices of each sum: whole words, guard bits included.
    pub each: u32,
    /// Sums that an adder serves, and how many adders there are.
    pub sums: u32,
    pub adders: u32,
    /// Width of a term that can be any of the outputs, and whether it has a sign.
    pub width: u32,
    pub signed: bool,
}

impl Slices {
    /// The adder of output `k`, and the slot of its term: adders take theirs one after the other, so that what makes the terms is
    /// not asked for all at once.
    pub fn place(&self, k: u32) -> (u32, u32) {
        let adder = k / self.sums;
        (adder, self.offset(adder) + k % self.sums * self.each)
    }

    /// The slot of the first term of an adder.
    pub fn offset(&self, adder: u32) -> u32 {
        adder % self.each
    }
}

impl Layout {
    /// Sums in slices, where all outputs are sums and pairs come rarely enough.
    pub fn slices(&self, ii: u32) -> Option<Slices> {
        let count = self.outputs.len() as u32;
        if count == 0 || !self.bins.is_empty() || self.outputs.iter().any(|o| o.2 != Reduce::Sum) {
            return None;
        }
        let signed = self.outputs.iter().any(|o| o.1.is_signed());
        // An unsigned term among signed ones has a sign that is never set.
        let width = self.outputs.iter().map(|o| o.1.width() + (signed && !o.1.is_signed()) as u32).max()?;
        let width = width.max(2 * SLICE);
        let each = (width + GUARD).div_ceil(2 * SLICE) * 2;
        let alone = ii / each;
        let sums = if count <= alone { alone } else { (ii - ii.min(each - 1)) / each };
        (sums >= FEWEST).then(|| Slices { each, sums: sums.min(count), adders: count.div_ceil(sums), width, signed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    fn layout(outputs: &[(Format, Reduce)]) -> Layout {
        let outputs = outputs.iter().enumerate().map(|(k, o)| (format!("o_{k}"), o.0, o.1)).collect();
        Layout { outputs, ..Layout::default() }
    }

    #[test]
    fn no_two_terms_of_an_adder_overlap() {
        let sum = |width: u32, signed: bool| (Format::Fixed { width: width as u8, frac: 0, signed }, Reduce::Sum);
        for count in [1, 4, 9, 35, 84] {
            for (width, ii) in [(64, 26), (64, 32), (64, 64), (40, 17), (16, 24)] {
                let outputs: Vec<_> = (0..count).map(|k| sum(width, k % 3 > 0)).collect();
                let Some(s) = layout(&outputs).slices(ii) else { continue };
                let mut taken = vec![vec![false; ii as usize]; s.adders as usize];
                for k in 0..count {
                    let (adder, slot) = s.place(k);
                    for at in slot..slot + s.each {
                        let slot = &mut taken[adder as usize][at as usize];
                        assert!(!std::mem::replace(slot, true), "{s:?}");
                    }
                }
                assert!(s.each * SLICE >= width + GUARD);
            }
        }
        assert_eq!(layout(&[sum(64, true); 4]).slices(32).map(|s| (s.each, s.adders)), Some((6, 1)));
        assert_eq!(layout(&[sum(64, true); 4]).slices(23), None);
        let most = (Format::Int { width: 8, signed: true }, Reduce::Max);
        assert_eq!(layout(&[sum(64, true), most]).slices(64), None);
    }
}
