//! Constants of any width.

/// A pattern of any number of bits, the lowest word first; bits above its width are 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bits {
    width: u32,
    words: Box<[u64]>,
}

impl Bits {
    /// `value` modulo 2^width, extended by its sign.
    pub fn new(width: u32, value: i128) -> Bits {
        let word = |k: u32| if k < 2 { (value >> (64 * k)) as u64 } else { (value >> 127) as u64 };
        Bits::from_words(width, (0..width.div_ceil(64)).map(word).collect())
    }

    /// The lowest bits of words, the lowest word first.
    pub fn from_words(width: u32, mut words: Vec<u64>) -> Bits {
        words.resize(width.div_ceil(64) as usize, 0);
        if !width.is_multiple_of(64) {
            *words.last_mut().expect("there are bits") &= (1 << (width % 64)) - 1;
        }
        Bits { width, words: words.into() }
    }

    pub fn width(&self) -> u32 {
        self.width
    }

    /// The lowest word first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    pub fn bit(&self, k: u32) -> bool {
        self.words[k as usize / 64] >> (k % 64) & 1 == 1
    }

    pub fn is_zero(&self) -> bool {
        self.words.iter().all(|w| *w == 0)
    }

    pub fn is_ones(&self) -> bool {
        self.not().is_zero()
    }

    /// The value, if it is less than 2^64.
    pub fn small(&self) -> Option<u64> {
        let (low, high) = self.words.split_first()?;
        high.iter().all(|w| *w == 0).then_some(*low)
    }

    fn collect(width: u32, bit: impl Fn(u32) -> bool) -> Bits {
        let mut words = vec![0u64; width.div_ceil(64) as usize];
        (0..width).filter(|k| bit(*k)).for_each(|k| words[k as usize / 64] |= 1 << (k % 64));
        Bits { width, words: words.into() }
    }

    pub fn bits(&self, low: u32, count: u32) -> Bits {
        Bits::collect(count, |k| self.bit(low + k))
    }

    /// This above `low`.
    pub fn cat(&self, low: &Bits) -> Bits {
        Bits::collect(self.width + low.width, |k| if k < low.width { low.bit(k) } else { self.bit(k - low.width) })
    }

    pub fn repeat(&self, n: u32) -> Bits {
        Bits::collect(n * self.width, |k| self.bit(k % self.width))
    }

    pub fn not(&self) -> Bits {
        Bits::collect(self.width, |k| !self.bit(k))
    }

    /// The digits of the value in base 16, no leading zeros.
    pub fn hex(&self) -> String {
        let digit = |k: u32| (0..4).filter(|j| 4 * k + j < self.width && self.bit(4 * k + j)).map(|j| 1 << j).sum();
        let digits: String =
            (0..self.width.div_ceil(4)).rev().map(|k| char::from_digit(digit(k), 16).expect("a digit")).collect();
        let short = digits.trim_start_matches('0');
        if short.is_empty() { "0".into() } else { short.to_string() }
    }
}
