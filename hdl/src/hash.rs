//! A fast hash for the compiler's own tables, which need no defence against chosen keys.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map by [`Fast`].
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<Fast>>;
/// A set by [`Fast`].
pub type FastSet<K> = HashSet<K, BuildHasherDefault<Fast>>;

/// Words are folded in by a rotation and a product, as in the Rust compiler's own tables; the last step mixes the high bits
/// into the low ones.
#[derive(Clone, Copy, Default, Debug)]
pub struct Fast(u64);

impl Fast {
    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for Fast {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|w| self.word(u64::from_le_bytes(*w)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last) ^ (rest.len() as u64) << 56);
    }

    fn write_u8(&mut self, n: u8) {
        self.word(n as u64);
    }

    fn write_u32(&mut self, n: u32) {
        self.word(n as u64);
    }

    fn write_u64(&mut self, n: u64) {
        self.word(n);
    }

    fn write_usize(&mut self, n: usize) {
        self.word(n as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }
}
