//! Softened 1/r as a function that a black-box expansion expands.

use super::{Function, Symmetry};

/// `1 / sqrt(r^2 + eps^2)`, with the softening length in boxes.
pub struct Softened {
    pub eps: f64,
}

impl Softened {
    /// 1 / sqrt(r^2 + eps^2).
    fn inverse(&self, d: &[f64; 3]) -> f64 {
        1.0 / (d.iter().map(|x| x * x).sum::<f64>() + self.eps * self.eps).sqrt()
    }
}

impl Function for Softened {
    fn values(&self, d: &[[f64; 3]], out: &mut [[f64; 4]]) {
        for (d, out) in d.iter().zip(out) {
            let inverse = self.inverse(d);
            let cube = inverse * (inverse * inverse);
            *out = [inverse, -d[0] * cube, -d[1] * cube, -d[2] * cube];
        }
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Full
    }

    fn halving(&self) -> Option<f64> {
        (self.eps == 0.0).then_some(2.0)
    }

    fn seconds(&self, d: &[[f64; 3]]) -> Option<Vec<[f64; 6]>> {
        let one = |d: &[f64; 3]| {
            let inverse = self.inverse(d);
            let (square, cube) = (inverse * inverse, inverse * (inverse * inverse));
            crate::expansion::PAIRS.map(|[a, b]| cube * (3.0 * square * d[a] * d[b] - if a == b { 1.0 } else { 0.0 }))
        };
        Some(d.iter().map(one).collect())
    }
}
