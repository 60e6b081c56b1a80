//! Random particles to the bit (RULES H9): xoshiro256++ seeded by SplitMix64, and the distributions drawn from it.

mod jump;
mod places;

use crate::data::particles::Particles;
use crate::data::parts;
use crate::parallel::prelude::*;
use jump::State;
use places::Places;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::f64::consts::PI;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The generator with what is drawn from it. The normals and directions of `rand_distr` take other numbers of draws than the
/// rule says, so they are made here.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The state is four outputs of SplitMix64 started at `seed`.
    pub fn new(seed: u64) -> Random {
        Random(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A second stream of the same seed: 2^128 steps further on.
    pub fn second_stream(seed: u64) -> Random {
        let mut random = Random::new(seed);
        random.0.jump();
        random
    }

    /// A third stream of the same seed: as far again.
    pub fn third_stream(seed: u64) -> Random {
        let mut random = Random::second_stream(seed);
        random.0.jump();
        random
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0.random()
    }

    /// Uniform in [0, 1): the upper 53 bits.
    pub fn unit(&mut self) -> f64 {
        self.0.random()
    }

    /// Standard normal by Box-Muller: two uniforms a number, the cosine branch alone.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (2.0 * PI * self.unit()).cos()
    }

    /// Normal about 1/2 with variance 1/100, redrawn until it lies in [0, 1).
    pub fn normal_in_unit(&mut self) -> f64 {
        loop {
            if let Some(x) = self.try_normal_in_unit() {
                return x;
            }
        }
    }

    fn try_normal_in_unit(&mut self) -> Option<f64> {
        Some(0.5 + 0.1 * self.normal()).filter(|x| (0.0..1.0).contains(x))
    }

    /// The radius in Plummer's sphere, unless it is to be redrawn.
    fn try_radius(&mut self) -> Option<f64> {
        Some(PLUMMER / (self.unit().powf(-2.0 / 3.0) - 1.0).sqrt()).filter(|r| *r <= 22.8 * PLUMMER)
    }

    /// A direction on the unit sphere: the z coordinate, then the azimuth.
    pub fn direction(&mut self) -> [f64; 3] {
        let z = 1.0 - 2.0 * self.unit();
        let azimuth = 2.0 * PI * self.unit();
        let rho = (1.0 - z * z).max(0.0).sqrt();
        [rho * azimuth.cos(), rho * azimuth.sin(), z]
    }
}

/// The length a of Plummer's sphere.
const PLUMMER: f64 = 3.0 * PI / 16.0;

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

    /// Whether a number that begins here is redrawn.
    fn is_refused(self, mut random: Random) -> bool {
        match self {
            Distribution::Uniform | Distribution::Sphere => false,
            Distribution::Normal | Distribution::Layer => random.try_normal_in_unit().is_none(),
            Distribution::Plummer => random.try_radius().is_none(),
        }
    }

    /// No number is redrawn that begins with a uniform number below this.
    fn surely_taken_below(self) -> f64 {
        match self {
            Distribution::Uniform | Distribution::Sphere => 1.0,
            // Below 4.8 standard deviations, where 5 lie on the border.
            Distribution::Normal | Distribution::Layer => 0.99999,
            // Up to 12.2 a.
            Distribution::Plummer => 0.99,
        }
    }

    fn draw(self, random: &mut Random) -> [f64; 3] {
        let normal = Random::normal_in_unit;
        match self {
            Distribution::Uniform => [random.unit(), random.unit(), random.unit()],
            Distribution::Normal => [normal(random), normal(random), normal(random)],
            Distribution::Layer => [random.unit(), random.unit(), normal(random)],
            Distribution::Sphere => random.direction().map(|d| 0.5 + 0.5 * d),
            Distribution::Plummer => {
                let radius = loop {
                    if let Some(radius) = random.try_radius() {
                        break radius;
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

    /// The charge of one of `n` particles.
    pub fn draw(self, n: usize, random: &mut Random) -> f64 {
        match self {
            Charge::Random => 2.0 * random.unit() - 1.0,
            Charge::Positive => random.unit(),
            Charge::Mass => 1.0 / n as f64,
        }
    }

    /// The kind of charge of that name on the command line.
    pub fn from_name(name: &str) -> Option<Charge> {
        Self::ALL.iter().find(|c| c.0 == name).map(|c| c.1)
    }
}

/// Draws `n` particles: for each its position (x, y, z; Plummer: radius, then direction), then its charge.
pub fn generate(n: usize, distribution: Distribution, charge: Charge, seed: u64) -> Particles {
    generate_part(n, 0..n, distribution, charge, seed)
}

/// Particles that a thread draws at a time.
const BLOCK: usize = 1 << 13;

/// The particles of [`generate`] that lie in a range.
pub fn generate_part(
    n: usize,
    range: Range<usize>,
    distribution: Distribution,
    charge: Charge,
    seed: u64,
) -> Particles {
    let places = Places::new(range.end, distribution, charge, seed);
    let counts: Vec<usize> = range.clone().step_by(BLOCK).map(|first| BLOCK.min(range.end - first)).collect();
    let place = |block: usize| places.of(range.start + block * BLOCK);
    let states = places::states(seed, place(0), counts.len(), &|block| place(block) - place(block - 1));
    let mut particles = Particles::default();
    let Particles { x, y, z, q } = &mut particles;
    let columns = parts(x, &counts).zip(parts(y, &counts)).zip(parts(z, &counts)).zip(parts(q, &counts));
    let blocks: Vec<([&mut [MaybeUninit<f64>]; 4], State)> =
        columns.map(|(((x, y), z), q)| [x, y, z, q]).zip(states).collect();
    blocks.into_par_iter().for_each(|([x, y, z, q], state)| {
        let mut random = Random(state.generator());
        for (((x, y), z), q) in x.iter_mut().zip(y).zip(z).zip(q) {
            let position = distribution.draw(&mut random);
            for (to, x) in [x, y, z].into_iter().zip(position) {
                to.write(x);
            }
            q.write(charge.draw(n, &mut random));
        }
    });
    // SAFETY: every part was written, of so many in all.
    [x, y, z, q].into_iter().for_each(|column| unsafe { column.set_len(range.len()) });
    particles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_particles_of_a_seed_stay_the_same_to_the_bit() {
        for (distribution, charge, seed, wanted) in PINNED {
            let kinds = (Distribution::from_name(distribution), Charge::from_name(charge));
            let (Some(d), Some(c)) = kinds else { panic!("{distribution} {charge}") };
            let p = generate(200, d, c, seed);
            let numbers = (0..p.len()).flat_map(|k| [p.x[k], p.y[k], p.z[k], p.q[k]]);
            let fold = |hash: u64, x: f64| (hash ^ x.to_bits()).wrapping_mul(0x100_0000_01b3);
            let found = numbers.fold(0xcbf2_9ce4_8422_2325, fold);
            assert_eq!(found, wanted, "{distribution} {charge} {seed}");
        }
    }

    #[test]
    fn a_part_is_the_same_particles() {
        let all = generate(50, Distribution::Plummer, Charge::Positive, 3);
        let part = generate_part(50, 20..31, Distribution::Plummer, Charge::Positive, 3);
        assert_eq!((&part.x[..], &part.q[..]), (&all.x[20..31], &all.q[20..31]));
    }

    #[test]
    fn any_part_is_drawn_as_by_one_thread() {
        let draw = |n: usize, distribution: Distribution, charge: Charge, seed: u64| {
            let mut random = Random::new(seed);
            let mut all = Particles::with_capacity(n);
            for _ in 0..n {
                let position = distribution.draw(&mut random);
                all.push(position, charge.draw(n, &mut random));
            }
            all
        };
        // So many that numbers are redrawn, also across the ends of blocks and stretches.
        let n = 60_000;
        for (k, (name, distribution)) in Distribution::ALL.into_iter().enumerate() {
            for charge in [Charge::Mass, Charge::Positive] {
                let seed = 11 + k as u64;
                let all = draw(n, distribution, charge, seed);
                let redrawn = Places::new(n, distribution, charge, seed).of(n);
                assert!(distribution != Distribution::Plummer || redrawn > 3 * n as u64 + 100, "{redrawn}");
                for range in [0..n, 0..0, 0..1, n - 1..n, 8191..24_577, 40_000..40_000, 31_111..n] {
                    let part = generate_part(n, range.clone(), distribution, charge, seed);
                    for (part, all) in [(&part.x, &all.x), (&part.y, &all.y), (&part.z, &all.z), (&part.q, &all.q)] {
                        assert!(part[..] == all[range.clone()], "{name} {charge:?} {range:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_surely_taken_is_not_redrawn() {
        // The farthest out of what is surely taken is well within, so that no rounding matters.
        let u: f64 = Distribution::Normal.surely_taken_below();
        assert!(0.1 * (-2.0 * (1.0 - u).ln()).sqrt() < 0.49);
        let u: f64 = Distribution::Plummer.surely_taken_below();
        assert!(1.0 / (u.powf(-2.0 / 3.0) - 1.0).sqrt() < 22.0);
    }

    #[test]
    fn normals_are_redrawn_in_their_places() {
        // Numbers of normals are redrawn once in two million: here the border is nearer.
        let seed = (0..).find(|seed| !redrawn_normals(*seed).is_empty()).expect("some seed has one");
        let particle = redrawn_normals(seed)[0];
        let all = generate(particle + 2, Distribution::Normal, Charge::Random, seed);
        let mut random = Random::new(seed);
        for k in 0..particle + 2 {
            let position = Distribution::Normal.draw(&mut random);
            assert_eq!([all.x[k], all.y[k], all.z[k]], position, "{k}");
            assert_eq!(all.q[k], Charge::Random.draw(particle + 2, &mut random));
        }
    }

    /// Particles of a seed, up to some number, whose draws are not the usual ones.
    fn redrawn_normals(seed: u64) -> Vec<usize> {
        let places = Places::new(100_000, Distribution::Normal, Charge::Random, seed);
        (0..100_000).filter(|k| places.of(k + 1) - places.of(*k) > 7).take(1).collect()
    }

    #[test]
    fn the_generator_is_xoshiro256_plus_plus_seeded_by_split_mix_64() {
        // The first outputs of SplitMix64 from 0 are the state; the others are the sums and rotations of its words.
        let state = [0xe220_a839_7b1d_cdafu64, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f, 0xf88b_b8a8_724c_81ec];
        let first = state[0].wrapping_add(state[3]).rotate_left(23).wrapping_add(state[0]);
        assert_eq!(Random::new(0).next(), first);
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

    /// For each distribution, kind of charges and seed a hash of 200 particles.
    #[rustfmt::skip]
    const PINNED: [(&str, &str, u64, u64); 45] = [
        ("uniform", "random", 0, 0xd1a81b133ae0d48a),
        ("uniform", "random", 1, 0xf73e284da60a1696),
        ("uniform", "random", 18446744073709551615, 0x438302bf4f6c4e85),
        ("uniform", "positive", 0, 0x62e5a79b2b9d183c),
        ("uniform", "positive", 1, 0xb462a847c8c9a711),
        ("uniform", "positive", 18446744073709551615, 0x936442b4d79dee01),
        ("uniform", "mass", 0, 0xc1c07c11e0e7b84f),
        ("uniform", "mass", 1, 0xdf094b8eaa5c5e87),
        ("uniform", "mass", 18446744073709551615, 0x96ce1fa0bb9160a1),
        ("normal", "random", 0, 0xe6ad00f649340ae8),
        ("normal", "random", 1, 0x16d9fdad9bd01e31),
        ("normal", "random", 18446744073709551615, 0x48509b25e5ba87cb),
        ("normal", "positive", 0, 0x1625433795641c50),
        ("normal", "positive", 1, 0x94ce1fd28b96918d),
        ("normal", "positive", 18446744073709551615, 0xdc6b7b2e69af5203),
        ("normal", "mass", 0, 0x77263547cc2b5abf),
        ("normal", "mass", 1, 0x2af68834a087eda0),
        ("normal", "mass", 18446744073709551615, 0x44164a2ae5f3b1fb),
        ("layer", "random", 0, 0xcd20cd62a84350fa),
        ("layer", "random", 1, 0x5c2d77899b84baf3),
        ("layer", "random", 18446744073709551615, 0xa5026b31aec7a324),
        ("layer", "positive", 0, 0xda8cc00703e3f4ab),
        ("layer", "positive", 1, 0xe9d172262286cad6),
        ("layer", "positive", 18446744073709551615, 0x3b1528454b8677a6),
        ("layer", "mass", 0, 0xd5b403af7cd85407),
        ("layer", "mass", 1, 0x3fc9601d20e12306),
        ("layer", "mass", 18446744073709551615, 0xff01c55089e6062f),
        ("sphere", "random", 0, 0x0dbeb1ce4a1b17cc),
        ("sphere", "random", 1, 0xf6f22db9584acac0),
        ("sphere", "random", 18446744073709551615, 0x93ff5c40a62896c0),
        ("sphere", "positive", 0, 0x70cf7cf8f1c2fc13),
        ("sphere", "positive", 1, 0x13bbbf29e7078423),
        ("sphere", "positive", 18446744073709551615, 0x9886f490276f1d47),
        ("sphere", "mass", 0, 0x64ff2363c45c30db),
        ("sphere", "mass", 1, 0x2ebf65fe6b7c1615),
        ("sphere", "mass", 18446744073709551615, 0x29ddfe0989b7ea59),
        ("plummer", "random", 0, 0x6311035ee7fe1c12),
        ("plummer", "random", 1, 0x9643c09cd7208df6),
        ("plummer", "random", 18446744073709551615, 0xedf1f602568e6c5c),
        ("plummer", "positive", 0, 0x75ed621bcd96ba5d),
        ("plummer", "positive", 1, 0x4f384f8d62a5b845),
        ("plummer", "positive", 18446744073709551615, 0x4f1d480f3ba626fc),
        ("plummer", "mass", 0, 0x9cd5debeadba75fd),
        ("plummer", "mass", 1, 0x8e85e4c317c24db3),
        ("plummer", "mass", 18446744073709551615, 0xb3bf7dd34fb885c7),
    ];

    fn moments(x: &[f64]) -> (f64, f64) {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        (mean, x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64)
    }
}
