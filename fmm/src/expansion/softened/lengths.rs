//! Softened 1/r between softening lengths: what it gives for a length follows from what it gives for a few others nearby.
//!
//! As a function of the logarithm of the length, 1 / sqrt(r^2 + E^2) is analytic up to a distance of pi / 2 from real lengths, whatever r
//! is. So a polynomial through a few lengths of a quarter of an octave gives it in all of that, and so it is with all that is linear in it. Where
//! the box changes a little, and with it the length in boxes, tables need not be made anew.

/// Lengths that a polynomial goes through.
pub const NODES: usize = 4;

/// Stretches of an octave that have lengths of their own.
const STRETCHES: f64 = 4.0;

/// The shortest length in boxes that has a stretch of its own: shorter ones, and 0, change nothing in f64.
const LEAST: f64 = 1e-15;

/// A stretch of softening lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch(i32);

/// The places of the lengths in a stretch, from 0 to 1: Chebyshev nodes.
fn places() -> [f64; NODES] {
    std::array::from_fn(|k| 0.5 - 0.5 * ((2 * k + 1) as f64 * std::f64::consts::PI / (2 * NODES) as f64).cos())
}

impl Stretch {
    /// The one that a length in boxes is in.
    pub fn of(eps: f64) -> Stretch {
        Stretch((STRETCHES * eps.max(LEAST).log2()).floor() as i32)
    }

    /// The lengths that the polynomial goes through.
    pub fn lengths(self) -> [f64; NODES] {
        places().map(|place| ((f64::from(self.0) + place) / STRETCHES).exp2())
    }

    /// The weights of what these give, for another length.
    pub fn weights(self, eps: f64) -> [f64; NODES] {
        let (places, at) = (places(), STRETCHES * eps.max(LEAST).log2() - f64::from(self.0));
        std::array::from_fn(|k| {
            let others = (0..NODES).filter(|other| *other != k).map(|other| places[other]);
            others.map(|other| (at - other) / (places[k] - other)).product()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_between_give_what_they_would_give_themselves() {
        for k in 0..600 {
            let eps = 1e-3 * 10f64.powf(f64::from(k) / 100.0);
            let stretch = Stretch::of(eps);
            let (lengths, weights) = (stretch.lengths(), stretch.weights(eps));
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            for r in [1.0f64, 2.0, 5.0] {
                let of = |eps: f64| 1.0 / r.hypot(eps);
                let found: f64 = lengths.iter().zip(weights).map(|(eps, weight)| weight * of(*eps)).sum();
                assert!((found / of(eps) - 1.0).abs() < 1e-6, "{eps} {r}: {found} {}", of(eps));
            }
        }
        assert!(Stretch::of(0.0).weights(0.0).iter().all(|weight| weight.is_finite()));
    }
}
