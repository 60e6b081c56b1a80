//! Maps and sets for the compiler's own tables, which need no defence against chosen keys; and a hash that stays the same.

pub use rustc_hash::{FxHashMap as FastMap, FxHashSet as FastSet, FxHasher as Fast};

/// The 64-bit FNV-1a hash of a text: the same in every version and on every machine.
pub fn fnv(text: &str) -> u64 {
    fnv_after(0, text)
}

/// The same, begun with the hash of the text before; 0 if there is none.
pub fn fnv_after(before: u64, text: &str) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    text.bytes().fold(before ^ BASIS, |hash, byte| (hash ^ byte as u64).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_its_authors() {
        // The test vectors of Fowler, Noll and Vo.
        assert_eq!([fnv(""), fnv("a"), fnv("foobar")], [0xcbf29ce484222325, 0xaf63dc4c8601ec8c, 0x85944171f73967e8]);
        assert_ne!(fnv_after(fnv("foo"), "bar"), fnv("bar"));
    }
}
