//! Random particles to the bit (RULES H9): xoshiro256++ seeded by SplitMix64, and the distributions drawn from it.

use crate::particles::Particles;
use std::f64::consts::PI;

/// The generator xoshiro256++ of Blackman and Vigna.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// Fills the state with four outputs of SplitMix64 started at `seed`.
    pub fn new(seed: u64) -> Random {
        let mut s = seed;
        let mut split_mix = || {
            s = s.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = s;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Random { state: [split_mix(), split_mix(), split_mix(), split_mix()] }
    }

    /// A second stream of the same seed: 2^128 steps further on, by the authors' jump polynomial.
    pub fn second_stream(seed: u64) -> Random {
        const JUMP: [u64; 4] =
            [0x180e_c6d3_3cfd_0aba, 0xd5a6_1266_f0c9_392c, 0xa958_2618_e03f_c9aa, 0x39ab_dc45_29b1_661c];
        let mut random = Random::new(seed);
        let mut jumped = [0; 4];
        for word in JUMP {
            for bit in 0..64 {
                if word >> bit & 1 == 1 {
                    for (j, s) in jumped.iter_mut().zip(random.state) {
                        *j ^= s;
                    }
                }
                random.next();
            }
        }
        Random { state: jumped }
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1): the upper 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2f64.powi(-53)
    }

    /// Standard normal by Box-Muller: two uniforms a number, the cosine branch alone.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (2.0 * PI * self.unit()).cos()
    }

    /// A direction on the unit sphere: the z coordinate, then the azimuth.
    fn direction(&mut self) -> [f64; 3] {
        let z = 1.0 - 2.0 * self.unit();
        let azimuth = 2.0 * PI * self.unit();
        let rho = (1.0 - z * z).max(0.0).sqrt();
        [rho * azimuth.cos(), rho * azimuth.sin(), z]
    }
}

/// Where random particles lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distribution {
    /// The unit cube.
    Uniform,
    /// Each coordinate normal about 1/2 with variance 1/100, redrawn until inside the unit cube.
    Normal,
    /// x and y uniform, z as in [`Distribution::Normal`].
    Layer,
    /// The surface of the sphere of radius 1/2 about the unit cube's centre.
    Sphere,
    /// Plummer's sphere about the origin with a = 3 pi / 16, redrawn beyond 22.8 a.
    Plummer,
}

/// How charges are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Charge {
    /// Uniform in [-1, 1).
    Random,
    /// Uniform in [0, 1).
    Positive,
    /// 1/N each; draws nothing.
    Mass,
}

impl Distribution {
    pub const ALL: [(&'static str, Distribution); 5] = [
        ("uniform", Distribution::Uniform),
        ("normal", Distribution::Normal),
        ("layer", Distribution::Layer),
        ("sphere", Distribution::Sphere),
        ("plummer", Distribution::Plummer),
    ];

    /// The distribution of that name on the command line.
    pub fn from_name(name: &str) -> Option<Distribution> {
        Self::ALL.iter().find(|d| d.0 == name).map(|d| d.1)
    }

    /// The charges that go with it unless others are asked for.
    pub fn default_charge(self) -> Charge {
        if self == Distribution::Plummer { Charge::Mass } else { Charge::Random }
    }

    fn draw(self, random: &mut Random) -> [f64; 3] {
        let normal = |random: &mut Random| loop {
            let x = 0.5 + 0.1 * random.normal();
            if (0.0..1.0).contains(&x) {
                return x;
            }
        };
        match self {
            Distribution::Uniform => [random.unit(), random.unit(), random.unit()],
            Distribution::Normal => [normal(random), normal(random), normal(random)],
            Distribution::Layer => [random.unit(), random.unit(), normal(random)],
            Distribution::Sphere => random.direction().map(|d| 0.5 + 0.5 * d),
            Distribution::Plummer => {
                let a = 3.0 * PI / 16.0;
                let radius = loop {
                    let r = a / (random.unit().powf(-2.0 / 3.0) - 1.0).sqrt();
                    if r <= 22.8 * a {
                        break r;
                    }
                };
                random.direction().map(|d| radius * d)
            }
        }
    }
}

impl Charge {
    pub const ALL: [(&'static str, Charge); 3] =
        [("random", Charge::Random), ("positive", Charge::Positive), ("mass", Charge::Mass)];

    /// The kind of charge of that name on the command line.
    pub fn from_name(name: &str) -> Option<Charge> {
        Self::ALL.iter().find(|c| c.0 == name).map(|c| c.1)
    }
}

/// Draws `n` particles: for each its position (x, y, z; Plummer: radius, then direction), then its charge.
pub fn generate(n: usize, distribution: Distribution, charge: Charge, seed: u64) -> Particles {
    let mut random = Random::new(seed);
    let mut particles = Particles::with_capacity(n);
    for _ in 0..n {
        let position = distribution.draw(&mut random);
        let q = match charge {
            Charge::Random => 2.0 * random.unit() - 1.0,
            Charge::Positive => random.unit(),
            Charge::Mass => 1.0 / n as f64,
        };
        particles.push(position, q);
    }
    particles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        // First outputs of the authors' reference code for the state 1, 2, 3, 4.
        let mut random = Random { state: [1, 2, 3, 4] };
        let outputs: Vec<u64> = (0..4).map(|_| random.next()).collect();
        assert_eq!(outputs, [41943041, 58720359, 3588806011781223, 3591011842654386]);
    }

    #[test]
    fn the_seed_goes_through_split_mix_64() {
        // The first outputs of SplitMix64 from 0.
        assert_eq!(Random::new(0).state[..2], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn distributions_lie_where_they_should() {
        for (name, distribution) in Distribution::ALL {
            let p = generate(2000, distribution, distribution.default_charge(), 7);
            assert_eq!(p.len(), 2000);
            let radius = |k: usize, c: f64| ((p.x[k] - c).powi(2) + (p.y[k] - c).powi(2) + (p.z[k] - c).powi(2)).sqrt();
            for k in 0..p.len() {
                match distribution {
                    Distribution::Plummer => assert!(radius(k, 0.0) <= 22.8 * 3.0 * PI / 16.0 * 1.000001),
                    Distribution::Sphere => assert!((radius(k, 0.5) - 0.5).abs() < 1e-12),
                    _ => assert!([p.x[k], p.y[k], p.z[k]].iter().all(|x| (0.0..1.0).contains(x)), "{name}"),
                }
            }
            let (mean, spread) = moments(&p.z);
            let expected = match distribution {
                Distribution::Uniform => Some((0.5, 1.0 / 12.0)),
                Distribution::Normal | Distribution::Layer => Some((0.5, 0.01)),
                Distribution::Sphere => Some((0.5, 1.0 / 12.0)),
                Distribution::Plummer => None,
            };
            if let Some((m, v)) = expected {
                // Four standard deviations of the mean of 2000 draws; the variance within 10 %.
                assert!((mean - m).abs() < 4.0 * (v / 2000f64).sqrt(), "{name} {mean}");
                assert!((spread / v - 1.0).abs() < 0.1, "{name} {spread}");
            }
        }
    }

    fn moments(x: &[f64]) -> (f64, f64) {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        (mean, x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64)
    }
}
