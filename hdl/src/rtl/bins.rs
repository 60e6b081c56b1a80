//! Statements of a pipeline about outputs that are sums in memory.

use super::loaded::address_bits;
use crate::Format;

/// Output elements of which each pair adds to one: the pipeline says which, and what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bins {
    /// The first of them among the outputs, and how many there are.
    pub first: u32,
    pub count: u32,
    pub format: Format,
    /// The port of the place: the highest bit says that there is one, the others are its number.
    pub at: String,
    /// The port of the value, which has the format of the outputs.
    pub value: String,
    /// Bits in which a sum of 2^32 values is exact.
    pub sum_bits: u32,
}

impl Bins {
    /// Bits of the number of an element.
    pub fn address_bits(&self) -> u32 {
        address_bits(self.count)
    }
}
