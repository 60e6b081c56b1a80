//! Steps of the generator without what it gives, many at once: a step is linear over bits, so that any power of it is a polynomial
//! of lower degree than its characteristic one (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021).

use rand::{RngExt, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// The characteristic polynomial of a step, without its term x^256: bit k of it is the coefficient of x^k. It is what the
/// Berlekamp-Massey algorithm makes of the lowest bit of the first word.
const CHARACTERISTIC: [u64; 4] =
    [0x9d11_6f2b_b0f0_f001, 0x0280_002b_cefd_1a5e, 0x04b4_edcf_2625_9f85, 0x0003_c03c_3f3e_cb19];

/// A number of steps, as a polynomial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Steps([u64; 4]);

impl Steps {
    pub fn new(count: u64) -> Steps {
        let mut power = Steps([1, 0, 0, 0]);
        for bit in (0..u64::BITS - count.leading_zeros()).rev() {
            power = power.then(power);
            if count >> bit & 1 == 1 {
                power.add_one();
            }
        }
        power
    }

    /// One step more: the product with x.
    fn add_one(&mut self) {
        let is_full = self.0[3] >> 63 == 1;
        for k in (0..4).rev() {
            self.0[k] = self.0[k] << 1 | if k > 0 { self.0[k - 1] >> 63 } else { 0 };
        }
        if is_full {
            self.0.iter_mut().zip(CHARACTERISTIC).for_each(|(word, of)| *word ^= of);
        }
    }

    /// The steps of both: the product of the polynomials.
    fn then(self, other: Steps) -> Steps {
        let mut product = Steps([0; 4]);
        for bit in (0..256).rev() {
            product.add_one();
            if self.0[bit / 64] >> (bit % 64) & 1 == 1 {
                product.0.iter_mut().zip(other.0).for_each(|(word, of)| *word ^= of);
            }
        }
        product
    }
}

/// The state of the generator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State([u64; 4]);

impl State {
    /// Four outputs of SplitMix64 started at `seed`.
    pub fn new(seed: u64) -> State {
        let mut words = SplitMix64::seed_from_u64(seed);
        State(std::array::from_fn(|_| words.random()))
    }

    /// The generator in this state.
    pub fn generator(&self) -> Xoshiro256PlusPlus {
        let mut bytes = [0; 32];
        bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.0).for_each(|(to, word)| *to = word.to_le_bytes());
        Xoshiro256PlusPlus::from_seed(bytes)
    }

    /// One step.
    pub fn step(&mut self) {
        let [s0, s1, s2, s3] = &mut self.0;
        let shifted = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= shifted;
        *s3 = s3.rotate_left(45);
    }

    /// Many steps, in the time of 256.
    pub fn jump(&mut self, steps: &Steps) {
        let mut sum = [0; 4];
        for bit in 0..256 {
            if steps.0[bit / 64] >> (bit % 64) & 1 == 1 {
                sum.iter_mut().zip(self.0).for_each(|(sum, word)| *sum ^= word);
            }
            self.step();
        }
        self.0 = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_are_as_many_steps() {
        for seed in [0, 1, u64::MAX] {
            assert_eq!(State::new(seed).generator(), Xoshiro256PlusPlus::seed_from_u64(seed));
            for count in [0, 1, 2, 63, 64, 255, 256, 257, 1000, 65_537] {
                let (mut jumped, mut generator) = (State::new(seed), State::new(seed).generator());
                jumped.jump(&Steps::new(count));
                (0..count).for_each(|_| _ = generator.random::<u64>());
                assert_eq!(jumped.generator(), generator, "{seed} {count}");
            }
        }
    }

    #[test]
    fn a_jump_of_2_to_the_128_is_that_of_the_authors() {
        let mut steps = Steps::new(1 << 63);
        (63..128).for_each(|_| steps = steps.then(steps));
        let (mut jumped, mut wanted) = (State::new(7), State::new(7).generator());
        jumped.jump(&steps);
        wanted.jump();
        assert_eq!(jumped.generator(), wanted);
    }
}
