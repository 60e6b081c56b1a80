//! Random particles of `pairforge fmm`: those of the rule, to the bit.

use super::{CHARGES, DISTRIBUTIONS, Particle, particles, run};
use crate::common::Place;

/// xoshiro256++ seeded by SplitMix64, written from the rule.
struct Dice([u64; 4]);

impl Dice {
    fn new(seed: u64) -> Dice {
        let word = |k: u64| {
            let mut z = seed.wrapping_add((k + 1).wrapping_mul(0x9e3779b97f4a7c15));
            z = (z ^ z >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d049bb133111eb);
            z ^ z >> 31
        };
        Dice([word(0), word(1), word(2), word(3)])
    }

    fn u(&mut self) -> f64 {
        let [a, b, c, d] = self.0;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.0 = [a ^ d, b ^ c, c ^ b << 17, d.rotate_left(45)];
        (result >> 11) as f64 / 9007199254740992.0
    }

    fn normal(&mut self) -> f64 {
        loop {
            let (a, b) = (self.u(), self.u());
            let x = 0.5 + 0.1 * ((-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos());
            if (0.0..1.0).contains(&x) {
                return x;
            }
        }
    }

    fn direction(&mut self) -> [f64; 3] {
        let z = 1.0 - 2.0 * self.u();
        let angle = std::f64::consts::TAU * self.u();
        let rho = (1.0 - z * z).sqrt();
        [rho * angle.cos(), rho * angle.sin(), z]
    }

    fn place(&mut self, dist: &str) -> [f64; 3] {
        match dist {
            "uniform" => [self.u(), self.u(), self.u()],
            "normal" => [self.normal(), self.normal(), self.normal()],
            "layer" => [self.u(), self.u(), self.normal()],
            "sphere" => self.direction().map(|d| 0.5 + 0.5 * d),
            _ => {
                let a = 3.0 * std::f64::consts::PI / 16.0;
                let r = loop {
                    let r = a / (self.u().powf(-2.0 / 3.0) - 1.0).sqrt();
                    if r <= 22.8 * a {
                        break r;
                    }
                };
                self.direction().map(|d| r * d)
            }
        }
    }
}

#[test]
fn random_particles_are_those_of_the_rule() {
    let p = Place::new();
    for dist in DISTRIBUTIONS {
        for charge in CHARGES {
            for seed in [1, 42, u64::MAX] {
                let words = format!("--n 200 --dist {dist} --charge {charge} --seed {seed} --backend cpu");
                run(&p, &format!("{words} --save-particles p.csv"));
                let mut dice = Dice::new(seed);
                let wanted: Vec<Particle> = (0..200)
                    .map(|_| {
                        let [x, y, z] = dice.place(dist);
                        let q = match charge {
                            "random" => 2.0 * dice.u() - 1.0,
                            "positive" => dice.u(),
                            _ => 1.0 / 200.0,
                        };
                        [x, y, z, q]
                    })
                    .collect();
                assert_eq!(particles(&p, "p.csv"), wanted, "{dist} {charge} {seed}");
            }
        }
        // The default charge.
        let charge = if dist == "plummer" { "mass" } else { "random" };
        run(&p, &format!("--n 50 --dist {dist} --backend cpu --save-particles a.csv"));
        run(&p, &format!("--n 50 --dist {dist} --charge {charge} --seed 1 --backend cpu --save-particles b.csv"));
        assert_eq!(p.text("a.csv"), p.text("b.csv"));
    }
}
