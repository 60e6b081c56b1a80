//! Random numbers for tests: the same for a seed on every machine.

use rand::distr::uniform::SampleUniform;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A generator with what tests draw from it.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.random()
    }

    /// 0 to `n` - 1.
    pub fn below<T: SampleUniform + PartialOrd + Default>(&mut self, n: T) -> T {
        self.0.random_range(T::default()..n)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.0.random()
    }

    /// `true` with this probability.
    pub fn chance(&mut self, rate: f64) -> bool {
        self.0.random_bool(rate)
    }

    /// `true` once in `n` times.
    pub fn once_in(&mut self, n: u32) -> bool {
        self.0.random_ratio(1, n)
    }

    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}
