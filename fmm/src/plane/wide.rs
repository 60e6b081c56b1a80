//! Pairs at distances whose powers f64 does not hold.

use super::native::is_wide;
use super::{Kernel, Plan, Scaled};
use crate::arith::scale::{exponent, ldexp};
use crate::arith::wide::{self, Wide, WideValues};
use crate::parallel::prelude::*;

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

/// The contributions to targets in tiny boxes of the sources in such boxes: the terms of the columns of [`super::Sums`], in the user's
/// units.
pub fn far_beyond(plan: &Plan, strengths: &Scaled) -> Vec<(usize, WideValues)> {
    let (mesh, lists) = (&plan.mesh, &plan.lists);
    let Some(exact) = &mesh.exact else { return Vec::new() };
    let of_target = |k: usize, t: usize| {
        let at = mesh.targets().order[t] as usize;
        let target = [exact.targets[0][at], exact.targets[1][at]];
        let mut sum = [Wide::default(); 3];
        for s in lists.near.of(k).iter().filter(|s| is_wide(plan, k, **s)) {
            for j in mesh.sources.range(*s as usize) {
                let place = mesh.sources.order[j] as usize;
                let source = [exact.sources[0][place], exact.sources[1][place]];
                let strength = [strengths.re[j], strengths.im.get(j).copied().unwrap_or(0.0)];
                act(plan.options.kernel, target, source, strength, &mut sum);
            }
        }
        let mut values = WideValues::default();
        values.iter_mut().zip(sum).for_each(|(value, sum)| *value = sum.scaled(strengths.exponent));
        (t, values)
    };
    let targets = |k: usize| if mesh.boxes.is_tiny[k] { mesh.targets().range(k) } else { 0..0 };
    (0..lists.near.len()).into_par_iter().flat_map_iter(|k| targets(k).map(move |t| of_target(k, t))).collect()
}
