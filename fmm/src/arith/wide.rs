//! Interactions of pairs in arithmetic that no distance, softening length or charge of f64 can leave.
//!
//! A coordinate difference is rounded once from the input's own coordinates. Distances are brought to about 1 by a power
//! of two before they are squared, and sums carry an exponent of their own.

use crate::arith::scale::{exponent, ldexp};

/// `value * 2^exponent`, with a range far beyond that of f64.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Wide {
    value: f64,
    exponent: i32,
}

/// Potential and gradient.
pub type WideForce = [Wide; 4];

impl Wide {
    /// Adds `value * 2^exponent`. Values of magnitudes from 2^-600 to 2^600 keep all their bits.
    pub fn add(&mut self, value: f64, exponent: i32) {
        if value == 0.0 {
            return;
        }
        if self.value == 0.0 {
            *self = Wide { value, exponent };
        } else if exponent > self.exponent {
            // What is smaller by more than the range of f64 vanishes, as in any sum that is rounded.
            *self = Wide { value: ldexp(self.value, self.exponent - exponent) + value, exponent };
        } else {
            self.value += ldexp(value, exponent - self.exponent);
        }
    }

    /// Times `2^exponent`.
    pub fn scaled(self, exponent: i32) -> Wide {
        Wide { exponent: self.exponent + exponent, ..self }
    }

    /// The nearest f64: infinite beyond its range, and 0 below it.
    pub fn to_f64(self) -> f64 {
        ldexp(self.value, self.exponent)
    }
}

/// Adds what a charge `q` at `source` gives to potential and gradient at `target`, softened by `eps`. Particles at equal
/// coordinates do not act on each other.
pub fn act(target: [f64; 3], source: [f64; 3], q: f64, eps: f64, sum: &mut WideForce) {
    let Some((d, scale)) = difference(target, source) else { return };
    // The unit of length is the power of two at the longer of distance and softening length.
    let unit = if eps > 0.0 { scale.max(exponent(eps)) } else { scale };
    let r2 = d.iter().map(|x| x * x).sum::<f64>();
    let r2 = ldexp(r2, 2 * (scale - unit)) + ldexp(eps, -unit).powi(2);
    let inverse = 1.0 / r2.sqrt();
    let charge = exponent(q);
    let q = ldexp(q, -charge);
    sum[0].add(q * inverse, charge - unit);
    for a in 0..3 {
        sum[a + 1].add(q * (inverse * inverse * inverse) * d[a], charge - 3 * unit + scale);
    }
}

/// Potential, gradient and the second derivatives xx, xy, xz, yy, yz and zz.
pub type WideValues = [Wide; 10];

/// A charge, a dipole moment in units of 2^`exponent`, or both.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    pub charge: f64,
    pub dipole: [f64; 3],
    pub exponent: i32,
}

/// As [`act`] for a charge and a dipole, with second derivatives.
pub fn act_all(target: [f64; 3], source: [f64; 3], carried: &Carried, eps: f64, sum: &mut WideValues) {
    let Some((d, scale)) = difference(target, source) else { return };
    let unit = if eps > 0.0 { scale.max(exponent(eps)) } else { scale };
    // The difference is d * 2^(unit + short).
    let short = scale - unit;
    let r2 = ldexp(d.iter().map(|x| x * x).sum::<f64>(), 2 * short) + ldexp(eps, -unit).powi(2);
    let i = 1.0 / r2.sqrt();
    let n = d.map(|x| x * i);
    let of_charge = exponent(carried.charge.abs());
    let q = ldexp(carried.charge, -of_charge);
    let largest = exponent(carried.dipole.iter().fold(0.0, |a: f64, p| a.max(p.abs())));
    let e = carried.dipole.map(|p| ldexp(p, -largest) * i);
    let of_dipole = largest + carried.exponent - unit;
    let along = e[0] * n[0] + e[1] * n[1] + e[2] * n[2];
    sum[0].add(q * i, of_charge - unit);
    sum[0].add(-along * i, of_dipole - unit + short);
    let mut place = 4;
    for a in 0..3 {
        sum[a + 1].add(q * i * i * n[a], of_charge - 2 * unit + short);
        sum[a + 1].add(-3.0 * along * i * i * n[a], of_dipole - 2 * unit + 2 * short);
        sum[a + 1].add(e[a] * i * i, of_dipole - 2 * unit);
        for b in a..3 {
            let (cubed, hessian) = (i * i * i, &mut sum[place]);
            hessian.add(3.0 * q * cubed * n[a] * n[b], of_charge - 3 * unit + 2 * short);
            hessian.add(-15.0 * along * cubed * n[a] * n[b], of_dipole - 3 * unit + 3 * short);
            hessian.add(3.0 * cubed * (e[a] * n[b] + e[b] * n[a]), of_dipole - 3 * unit + short);
            if a == b {
                hessian.add(-q * cubed, of_charge - 3 * unit);
                hessian.add(3.0 * along * cubed, of_dipole - 3 * unit + short);
            }
            place += 1;
        }
    }
}

/// `source - target` as `d * 2^e` with the largest component of `d` between 1/2 and 1; `None` where they are equal.
pub fn difference(target: [f64; 3], source: [f64; 3]) -> Option<([f64; 3], i32)> {
    let mut d: [f64; 3] = std::array::from_fn(|a| source[a] - target[a]);
    let mut e = 0;
    if d.iter().any(|x| x.is_infinite()) {
        // Beside a difference of 2^1024, bits that halving takes from the smallest numbers do not matter.
        d = std::array::from_fn(|a| 0.5 * source[a] - 0.5 * target[a]);
        e = 1;
    }
    if d == [0.0; 3] {
        return None;
    }
    let scale = exponent(d.iter().fold(0.0, |a: f64, x| a.max(x.abs())));
    Some((d.map(|x| ldexp(x, -scale)), e + scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Potential and x component of the gradient of a unit charge at distance `r` along x.
    fn pair(r: f64, eps: f64) -> WideForce {
        let mut sum = WideForce::default();
        act([0.0; 3], [r, 0.0, 0.0], 1.0, eps, &mut sum);
        sum
    }

    fn is(found: Wide, value: f64, exponent: i32) -> bool {
        let scaled = ldexp(found.value, found.exponent - exponent);
        (scaled / value - 1.0).abs() < 1e-15
    }

    #[test]
    fn no_distance_is_too_short_or_too_long() {
        for e in [-1074, -600, -1, 0, 7, 600, 1023] {
            let f = pair(ldexp(1.0, e), 0.0);
            assert!(is(f[0], 1.0, -e) && is(f[1], 1.0, -2 * e), "{e} {f:?}");
        }
        // A difference that f64 does not hold.
        let mut f = WideForce::default();
        act([-f64::MAX, 0.0, 0.0], [f64::MAX, 0.0, 0.0], 1.0, 0.0, &mut f);
        assert!(is(f[0], 0.5, -1024) && is(f[1], 0.25, -2048), "{f:?}");
    }

    #[test]
    fn charges_and_dipoles_of_any_scale_give_the_same_in_their_own_units() {
        let (d, p, eps) = ([0.6, -0.3, 0.5], [0.2, 0.9, -0.4], 0.3);
        let values = |length: i32, charge: f64, moment: f64, soft: f64| -> WideValues {
            let mut sum = WideValues::default();
            let scale = |x: f64| ldexp(x, length);
            // Charge 2^800 and, in units of charge times length, the moment.
            let carried =
                Carried { charge: charge * 2f64.powi(800), dipole: p.map(|p| p * moment), exponent: 800 + length };
            act_all(d.map(scale), [0.0; 3], &carried, scale(soft), &mut sum);
            sum
        };
        for (charge, moment) in [(1.0, 0.0), (0.0, 1.0), (0.7, -1.0)] {
            for soft in [0.0, eps] {
                let r = (d.iter().map(|x| x * x).sum::<f64>() + soft * soft).sqrt();
                let along = moment * (0..3).map(|a| p[a] * d[a]).sum::<f64>();
                for length in [-900, -500, 0, 500, 1000] {
                    let found = values(length, charge, moment, soft);
                    let at = |a: usize, lengths: i32| found[a].scaled(lengths * length - 800).to_f64();
                    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-13, "{found} {wanted}");
                    // Targets lie at d from the source.
                    near(at(0, 1), charge / r + along / r.powi(3));
                    let slope = -charge / r.powi(3) - 3.0 * along / r.powi(5);
                    let mut place = 4;
                    for a in 0..3 {
                        near(at(a + 1, 2), slope * d[a] + moment * p[a] / r.powi(3));
                        for b in a..3 {
                            let bend = 3.0 * charge / r.powi(5) + 15.0 * along / r.powi(7);
                            let cross = -3.0 * moment * (p[a] * d[b] + p[b] * d[a]) / r.powi(5);
                            let wanted = bend * d[a] * d[b] + cross + if a == b { slope } else { 0.0 };
                            near(at(place, 3), wanted);
                            place += 1;
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn softening_may_be_as_long_or_short_as_it_likes() {
        for e in [-1000, -300, 300, 1000] {
            let f = pair(1.0, ldexp(1.0, e));
            match e > 0 {
                true => assert!(is(f[0], 1.0, -e) && is(f[1], 1.0, -3 * e), "{e} {f:?}"),
                false => assert!(is(f[0], 1.0, 0) && is(f[1], 1.0, 0), "{e} {f:?}"),
            }
            let f = pair(ldexp(1.0, e), ldexp(1.0, e));
            assert!(is(f[0], 0.5f64.sqrt(), -e) && is(f[1], 0.5f64.powf(1.5), -2 * e), "{e} {f:?}");
        }
    }

    #[test]
    fn sums_keep_what_f64_would_lose() {
        let mut sum = Wide::default();
        for (value, exponent) in [(1.0, 3000), (1.0, -3000), (-1.0, 3000), (0.0, 5000)] {
            sum.add(value, exponent);
        }
        assert_eq!(sum.to_f64(), 0.0);
        sum.add(3.0, -1000);
        sum.add(1.0, -1001);
        assert!(is(sum, 3.5, -1000));
        assert_eq!(Wide { value: 1.0, exponent: 1024 }.to_f64(), f64::INFINITY);
        assert_eq!(Wide { value: 1.0, exponent: -1080 }.to_f64(), 0.0);
    }
}
