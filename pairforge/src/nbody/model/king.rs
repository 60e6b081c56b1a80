//! King's model: a lowered isothermal sphere with an edge.
//!
//! In units of the core radius, of the dispersion and of G = 1, the potential W below that of the edge follows from Poisson's equation
//! W'' + 2 W' / r = -9 rho(W) / rho(W0), and the mass within a radius from W' by Gauss's law.

use super::{Bodies, Random, rejected};

/// A model as a table from the centre to the edge, in Henon units.
pub struct King {
    /// Radii, potentials W in units of the square of the dispersion, and masses within the radii.
    radius: Vec<f64>,
    potential: Vec<f64>,
    mass: Vec<f64>,
    dispersion: f64,
}

/// Steps of the integration, in core radii at the centre and as a part of the radius far from it.
const STEP: f64 = 2e-3;

/// The density up to a factor: exp(W) erf(sqrt W) - sqrt(4 W / pi) (1 + 2 W / 3) is 4 / (3 sqrt pi) times this sum, whose terms are all
/// positive, so that nothing cancels near the edge.
fn density(w: f64) -> f64 {
    if w <= 0.0 {
        return 0.0;
    }
    let mut term = w.powf(1.5) * w / 2.5;
    let mut sum = 0.0;
    let mut k = 3.5;
    while term > 1e-17 * sum {
        sum += term;
        term *= w / k;
        k += 1.0;
    }
    sum
}

impl King {
    pub fn new(w0: f64) -> King {
        let [mut radius, mut potential, mut mass] = integrated(w0);
        let total = mass[mass.len() - 1];
        // The potential energy is minus the integral of M dM / r.
        let shells = (1..mass.len()).map(|k| {
            let (inner, outer) = (mass[k - 1], mass[k]);
            0.5 * (outer * outer - inner * inner) / (0.5 * (radius[k - 1] + radius[k]))
        });
        let energy = shells.sum::<f64>() / (total * total);
        // In Henon units it is -1/2.
        let length = 2.0 * energy;
        radius.iter_mut().for_each(|r| *r *= length);
        mass.iter_mut().for_each(|m| *m /= total);
        // Velocities go with the square root of mass over length.
        let dispersion = (1.0 / (total * length)).sqrt();
        potential.iter_mut().for_each(|w| *w = w.max(0.0));
        King { radius, potential, mass, dispersion }
    }

    /// Draws `n` bodies.
    pub fn draw(&self, n: usize, seed: u64) -> Bodies {
        let mut random = Random::new(seed);
        let mut bodies = Bodies::default();
        for _ in 0..n {
            let (r, w) = self.at_mass(random.unit());
            let position = random.direction().map(|d| r * d);
            let most = (2.0 * w).sqrt();
            // Either bound holds: that of an isothermal sphere, and that of its greatest velocity at its greatest density.
            let bound = (2.0 * (w - 1.0).exp()).min(2.0 * w * w.exp_m1()).max(f64::MIN_POSITIVE);
            let speed = match most > 0.0 {
                true => rejected(&mut random, [most, bound], |v| v * v * (w - 0.5 * v * v).exp_m1()),
                false => 0.0,
            };
            let velocity = random.direction().map(|d| self.dispersion * speed * d);
            bodies.push(1.0 / n as f64, position, velocity);
        }
        bodies
    }

    /// The radius within which a part of the mass lies, and W there.
    fn at_mass(&self, part: f64) -> (f64, f64) {
        let k = self.mass.partition_point(|m| *m < part).clamp(1, self.mass.len() - 1);
        let (inner, outer) = (self.mass[k - 1], self.mass[k]);
        // Within a shell the mass goes with the volume.
        let share = if outer > inner { ((part - inner) / (outer - inner)).clamp(0.0, 1.0) } else { 0.0 };
        let (a, b) = (self.radius[k - 1].powi(3), self.radius[k].powi(3));
        let r = (a + share * (b - a)).cbrt();
        let along = (r - self.radius[k - 1]) / (self.radius[k] - self.radius[k - 1]);
        (r, self.potential[k - 1] + along * (self.potential[k] - self.potential[k - 1]))
    }

    /// The part of the mass within a radius.
    #[cfg(test)]
    pub fn mass_within(&self, r: f64) -> f64 {
        let k = self.radius.partition_point(|x| *x < r);
        if k == self.radius.len() { 1.0 } else { self.mass[k] }
    }
}

/// Radii, potentials and masses from the centre to the edge, by Runge and Kutta's fourth order.
fn integrated(w0: f64) -> [Vec<f64>; 3] {
    let central = density(w0);
    // The slopes of W and of r^2 W', which is minus the mass: unlike W' it has no pole at the centre.
    let slopes = |r: f64, [w, gauss]: [f64; 2]| {
        [if r > 0.0 { gauss / (r * r) } else { 0.0 }, -9.0 * r * r * density(w) / central]
    };
    let (mut r, mut at) = (0.0f64, [w0, 0.0]);
    let [mut radius, mut potential, mut mass] = [vec![0.0], vec![w0], vec![0.0]];
    while at[0] > 0.0 {
        let h = STEP * (1.0 + r);
        let ahead = |slope: [f64; 2], by: f64| [at[0] + by * slope[0], at[1] + by * slope[1]];
        let first = slopes(r, at);
        let second = slopes(r + 0.5 * h, ahead(first, 0.5 * h));
        let third = slopes(r + 0.5 * h, ahead(second, 0.5 * h));
        let fourth = slopes(r + h, ahead(third, h));
        let mean = |k: usize| (first[k] + 2.0 * (second[k] + third[k]) + fourth[k]) / 6.0;
        let next = ahead([mean(0), mean(1)], h);
        // The edge, where W is 0.
        let part = if next[0] < 0.0 { at[0] / (at[0] - next[0]) } else { 1.0 };
        (r, at) = (r + part * h, [if part < 1.0 { 0.0 } else { next[0] }, at[1] + part * (next[1] - at[1])]);
        radius.push(r);
        potential.push(at[0]);
        mass.push(-at[1]);
    }
    [radius, potential, mass]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_lie_where_king_has_them() {
        // log10 of the edge over the core radius, as Binney and Tremaine's figure 4.9 and tables of the models have it.
        for (w0, concentration) in [(1.0, 0.296), (3.0, 0.672), (5.0, 1.03), (6.0, 1.255), (7.0, 1.528), (9.0, 2.12)] {
            let edge = *integrated(w0)[0].last().expect("there is a centre");
            assert!((edge.log10() - concentration).abs() < 0.006, "{w0}: {}", edge.log10());
        }
    }

    #[test]
    fn densities_are_those_of_the_closed_form() {
        // exp(1) erf(1) - sqrt(4 / pi) (1 + 2 / 3), over 4 / (3 sqrt pi).
        let wanted = (1f64.exp() * 0.842_700_792_949_714_9 - (4.0 / std::f64::consts::PI).sqrt() * 5.0 / 3.0)
            / (4.0 / (3.0 * std::f64::consts::PI.sqrt()));
        assert!((density(1.0) / wanted - 1.0).abs() < 1e-13, "{} {wanted}", density(1.0));
        assert_eq!(density(0.0), 0.0);
    }
}
