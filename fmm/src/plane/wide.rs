//! Pairs at distances whose powers f64 does not hold.

use super::Kernel;
use crate::arith::scale::{exponent, ldexp};
use crate::arith::wide::{self, Wide};

/// Adds what a strength at `source` gives at `target`: the vector of [`super::Sums`], then the potential. All are in the user's
/// units. Points at equal coordinates give nothing.
pub(super) fn act(kernel: Kernel, target: [f64; 2], source: [f64; 2], [re, im]: [f64; 2], sum: &mut [Wide; 3]) {
    let flat = |z: [f64; 2]| [z[0], z[1], 0.0];
    let Some(([x, y, _], scale)) = wide::difference(flat(target), flat(source)) else { return };
    let unit = exponent(re.abs().max(im.abs()));
    let (re, im) = (ldexp(re, -unit), ldexp(im, -unit));
    let inverse = 1.0 / (x * x + y * y);
    let vector = match kernel {
        Kernel::Harmonic => [re * x + im * y, im * x - re * y],
        Kernel::Log => [-re * x, -re * y],
    };
    sum[0].add(vector[0] * inverse, unit - scale);
    sum[1].add(vector[1] * inverse, unit - scale);
    if kernel == Kernel::Log {
        let log = 0.5 * (x * x + y * y).ln() + scale as f64 * std::f64::consts::LN_2;
        sum[2].add(re * log, unit);
    }
}
