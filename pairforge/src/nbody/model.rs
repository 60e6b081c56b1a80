//! Start models in Henon units: G = 1, mass 1, energy -1/4. Energies are those of very many bodies; a sample of n differs by about 1/sqrt(n).

mod king;

use super::Bodies;
use crate::Error;
use crate::random::{Charge, Distribution, Random, generate};
use king::King;
use std::f64::consts::PI;

/// Arrangement of bodies at the start.
#[derive(Clone, PartialEq, Debug)]
pub enum Model {
    /// Plummer's sphere in equilibrium (Aarseth, Henon and Wielen, A&A 37, 183, 1974), cut off at 22.8 of its lengths.
    Plummer,
    /// King's model in equilibrium (King, AJ 71, 64, 1966) with the central potential W0 in units of the square of its dispersion.
    King { w0: f64 },
    /// A uniform sphere with normal velocities, whose kinetic energy is `virial` times the magnitude of its potential energy.
    Collapse { virial: f64 },
    /// Two galaxies on a parabolic orbit.
    Galaxies(Galaxies),
}

/// Two models in equilibrium that fall towards each other on a parabola. Their mean densities are the same.
#[derive(Clone, PartialEq, Debug)]
pub struct Galaxies {
    /// Each of them; one in equilibrium.
    pub of: Box<Model>,
    /// The mass of the second one over that of the first.
    pub ratio: f64,
    /// Distance of the centres at the start, and at the closest approach of two points.
    pub separation: f64,
    pub pericentre: f64,
}

impl Model {
    /// Says what is out of range.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::Options(what));
        match self {
            Model::Plummer => Ok(()),
            Model::King { w0 } if !(0.1..=16.0).contains(w0) => {
                wrong(format!("W0 of a King model is from 0.1 to 16, not {w0:?}"))
            }
            Model::Collapse { virial } if !(0.0..1.0).contains(virial) => {
                wrong(format!("the virial ratio T/|W| is from 0 to below 1, where bodies are bound; not {virial:?}"))
            }
            Model::Galaxies(Galaxies { of, ratio, separation, pericentre }) => match () {
                _ if !matches!(**of, Model::Plummer | Model::King { .. }) => {
                    wrong("galaxies are Plummer or King models".into())
                }
                _ if !(*ratio > 0.0 && ratio.is_finite()) => {
                    wrong(format!("the ratio of two masses is above 0, not {ratio:?}"))
                }
                _ if !(*separation > 0.0 && separation.is_finite() && (0.0..=*separation).contains(pericentre)) => {
                    wrong(format!(
                        "galaxies begin apart, and no nearer than their closest approach; not at {separation:?} with the pericentre {pericentre:?}"
                    ))
                }
                _ => of.check(),
            },
            _ => Ok(()),
        }
    }
}

/// Draws `n` bodies of equal mass, with the centre of mass at rest in the origin.
pub fn bodies(model: &Model, n: usize, seed: u64) -> Result<Bodies, Error> {
    model.check()?;
    let mut bodies = match model {
        Model::Plummer => plummer(n, seed),
        Model::King { w0 } => King::new(*w0).draw(n, seed),
        Model::Collapse { virial } => collapse(n, *virial, seed),
        Model::Galaxies(galaxies) => galaxies.draw(n, seed)?,
    };
    bodies.centre();
    Ok(bodies)
}

/// Positions are those of [`Distribution::Plummer`]; velocities are drawn from a second stream.
fn plummer(n: usize, seed: u64) -> Bodies {
    let particles = generate(n, Distribution::Plummer, Charge::Mass, seed);
    let mut random = Random::second_stream(seed);
    let mut bodies = Bodies::default();
    for k in 0..n {
        let position = particles.position(k);
        let square = position.iter().map(|x| x * x).sum::<f64>() + (3.0 * PI / 16.0).powi(2);
        let escape = (2.0 / square.sqrt()).sqrt();
        let speed = escape * rejected(&mut random, [1.0, 0.1], |q| q * q * (1.0 - q * q).powf(3.5));
        bodies.push(1.0 / n as f64, position, random.direction().map(|d| speed * d));
    }
    bodies
}

/// A number in [0, `most`) with a density that is nowhere above `bound`, by von Neumann's rejection.
fn rejected(random: &mut Random, [most, bound]: [f64; 2], density: impl Fn(f64) -> f64) -> f64 {
    loop {
        let x = most * random.unit();
        if bound * random.unit() < density(x) {
            return x;
        }
    }
}

/// T + W = -1/4 with T = virial |W| and |W| = 3/5 over the radius.
fn collapse(n: usize, virial: f64, seed: u64) -> Bodies {
    let radius = 2.4 * (1.0 - virial);
    let dispersion = (2.0 / 3.0 * virial * 0.6 / radius).sqrt();
    let mut random = Random::new(seed);
    let mut bodies = Bodies::default();
    for _ in 0..n {
        let r = radius * random.unit().cbrt();
        let position = random.direction().map(|d| r * d);
        bodies.push(1.0 / n as f64, position, [(); 3].map(|()| dispersion * random.normal()));
    }
    bodies
}

impl Galaxies {
    fn draw(&self, n: usize, seed: u64) -> Result<Bodies, Error> {
        let shares = [1.0 / (1.0 + self.ratio), self.ratio / (1.0 + self.ratio)];
        let first = (shares[0] * n as f64).round() as usize;
        let [separation, pericentre] = [self.separation, self.pericentre];
        // A parabola has the speed of escape, and the angular momentum sqrt(2 M pericentre).
        let speed2 = 2.0 / separation;
        let across = (2.0 * pericentre).sqrt() / separation;
        let velocity = [-(speed2 - across * across).max(0.0).sqrt(), across, 0.0];
        let mut all = Bodies::default();
        for (k, (share, count)) in shares.into_iter().zip([first, n - first]).enumerate() {
            let mut galaxy = bodies(&self.of, count, seed.wrapping_add(k as u64))?;
            // Of the same mean density: lengths go with the cube root of the mass.
            let length = (2.0 * share).cbrt();
            galaxy.scale(share, length, (share / length).sqrt());
            let side = if k == 0 { shares[1] } else { -shares[0] };
            galaxy.shift([side * separation, 0.0, 0.0], velocity.map(|v| side * v));
            all.append(galaxy);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fmm::{Options, Plan};
    use crate::nbody::{Conserved, Observed};

    const N: usize = 2000;

    fn sums(bodies: &Bodies) -> Conserved {
        let field =
            Plan::new(bodies.columns(), &Options::default().tolerance(1e-4)).unwrap().run(&bodies.mass).unwrap();
        Conserved::of(&Observed { time: 0.0, bodies, potential: &field.potential })
    }

    fn radii(bodies: &Bodies) -> Vec<f64> {
        let radius = |k: usize| bodies.position.iter().map(|x| x[k] * x[k]).sum::<f64>().sqrt();
        let mut all: Vec<f64> = (0..bodies.len()).map(radius).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    #[test]
    fn models_have_the_energy_and_the_virial_ratio_that_they_should() {
        let galaxy =
            Model::Galaxies(Galaxies { of: Box::new(Model::Plummer), ratio: 3.0, separation: 1e4, pericentre: 0.5 });
        // Far apart, two galaxies of masses m have energies of -m^2 / (4 length), with the length (2 m)^(1/3).
        let alone: f64 = [0.25f64, 0.75].iter().map(|m| -0.25 * m * m / (2.0 * m).cbrt()).sum();
        for (model, energy, virial) in [
            (Model::Plummer, -0.25, 0.5),
            (Model::King { w0: 1.0 }, -0.25, 0.5),
            (Model::King { w0: 7.0 }, -0.25, 0.5),
            (Model::Collapse { virial: 0.05 }, -0.25, 0.05),
            (Model::Collapse { virial: 0.0 }, -0.25, 0.0),
            (galaxy, alone, 0.5),
        ] {
            let bodies = bodies(&model, N, 1).unwrap();
            assert_eq!(bodies.len(), N);
            assert!((bodies.mass.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let sums = sums(&bodies);
            // Five times 1/sqrt(N) is more than any of these spreads.
            let spread = 5.0 / (N as f64).sqrt();
            assert!((sums.energy() / energy - 1.0).abs() < spread, "{model:?}: {sums:?}");
            assert!((-sums.kinetic / sums.potential - virial).abs() < spread * virial.max(1e-9), "{model:?}: {sums:?}");
            assert!(sums.momentum.iter().all(|p| p.abs() < 1e-12), "{model:?}: {sums:?}");
        }
    }

    #[test]
    fn masses_within_a_radius_are_those_of_the_models() {
        let count = |all: &[f64], r: f64| all.partition_point(|x| *x < r) as f64 / N as f64;
        let spread = 4.0 * 0.5 / (N as f64).sqrt();
        let all = radii(&bodies(&Model::Plummer, N, 2).unwrap());
        let a = 3.0 * PI / 16.0;
        for r in [0.3, 0.7, 1.3, 3.0] {
            let wanted = r * r * r / (r * r + a * a).powf(1.5);
            assert!((count(&all, r) - wanted).abs() < spread, "{r}");
        }
        let all = radii(&bodies(&Model::Collapse { virial: 0.25 }, N, 2).unwrap());
        for part in [0.5, 0.8, 0.95] {
            assert!((count(&all, 1.8 * part) - part.powi(3)).abs() < spread, "{part}");
        }
        for w0 in [3.0, 9.0] {
            let king = King::new(w0);
            let all = radii(&bodies(&Model::King { w0 }, N, 2).unwrap());
            for r in [0.2, 0.6, 1.5] {
                assert!((count(&all, r) - king.mass_within(r)).abs() < spread, "{w0} {r}");
            }
        }
    }

    #[test]
    fn galaxies_meet_on_a_parabola() {
        let model = Galaxies { of: Box::new(Model::King { w0: 5.0 }), ratio: 0.5, separation: 6.0, pericentre: 1.0 };
        let all = bodies(&Model::Galaxies(model), 3000, 4).unwrap();
        let mean = |column: &[f64]| column.iter().sum::<f64>() / column.len() as f64;
        let apart = |columns: &[Vec<f64>; 3]| columns.each_ref().map(|c| mean(&c[..2000]) - mean(&c[2000..]));
        let (x, v) = (apart(&all.position), apart(&all.velocity));
        let speed2: f64 = v.iter().map(|v| v * v).sum();
        let angular = x[0] * v[1] - x[1] * v[0];
        assert!((x[0] - 6.0).abs() < 1e-9 && (speed2 - 2.0 / 6.0).abs() < 1e-9, "{x:?} {v:?}");
        assert!((angular - 2f64.sqrt()).abs() < 1e-9 && v[0] < 0.0, "{angular}");
    }

    #[test]
    fn what_is_no_model_is_refused_with_a_reason() {
        let galaxies = |of: Model, ratio: f64, pericentre: f64| {
            Model::Galaxies(Galaxies { of: Box::new(of), ratio, separation: 4.0, pericentre })
        };
        for (model, word) in [
            (Model::King { w0: 20.0 }, "W0"),
            (Model::King { w0: f64::NAN }, "W0"),
            (Model::Collapse { virial: 1.0 }, "virial"),
            (galaxies(Model::Plummer, 0.0, 1.0), "ratio"),
            (galaxies(Model::Plummer, 1.0, 5.0), "pericentre"),
            (galaxies(Model::Collapse { virial: 0.1 }, 1.0, 1.0), "Plummer or King"),
        ] {
            let said = bodies(&model, 10, 1).expect_err("it is refused").to_string();
            assert!(said.contains(word), "{said}");
        }
    }
}
