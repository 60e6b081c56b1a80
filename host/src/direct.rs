//! Direct summation in f64 on the input as it is: the reference of every error (RULES H10).

use crate::boxmap::{exponent, ldexp};
use crate::lanes::fastest;
use crate::particles::Particles;
use crate::passes::Force;
use rayon::prelude::*;

/// Sources worked on together.
const LANES: usize = 8;

/// `1/r` and `1/r^3` of a difference, softened; `None` for two particles at equal coordinates.
pub fn pair(d: [f64; 3], eps2: f64) -> Option<(f64, f64)> {
    let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    // Squares of tiny differences leave the range of f64 long before the differences do.
    if r2 < 1e-280 && eps2 == 0.0 {
        if d == [0.0; 3] {
            return None;
        }
        let e = exponent(d.iter().fold(0.0, |a: f64, x| a.max(x.abs())));
        let d = d.map(|x| ldexp(x, -e));
        let inverse = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
        return Some((ldexp(inverse, -e), ldexp(inverse * inverse * inverse, -3 * e)));
    }
    if d == [0.0; 3] {
        return None;
    }
    let inverse = 1.0 / (r2 + eps2).sqrt();
    Some((inverse, inverse * inverse * inverse))
}

/// Adds what a charge at `d` from the target gives to its potential and gradient.
pub fn act(d: [f64; 3], q: f64, eps2: f64, sum: &mut Force) {
    if let Some((inverse, inverse3)) = pair(d, eps2) {
        sum[0] += q * inverse;
        for a in 0..3 {
            sum[a + 1] += q * (inverse3 * d[a]);
        }
    }
}

/// Potential and gradient at the particles `targets`, in the user's units.
pub fn reference(particles: &Particles, targets: &[usize], eps: f64) -> Vec<Force> {
    let columns = [&particles.x, &particles.y, &particles.z];
    let shift = exponent(columns.iter().flat_map(|c| c.iter()).fold(0.0, |a: f64, x| a.max(x.abs())));
    let charge = exponent(particles.q.iter().fold(0.0, |a: f64, q| a.max(q.abs())));
    let x = columns.map(|c| c.iter().map(|x| ldexp(*x, -shift)).collect::<Vec<f64>>());
    let q: Vec<f64> = particles.q.iter().map(|q| ldexp(*q, -charge)).collect();
    let eps = ldexp(eps, -shift);
    let one = |k: &usize| {
        let at = [x[0][*k], x[1][*k], x[2][*k]];
        let mut f = [0.0; 4];
        target(at, [&x[0], &x[1], &x[2]], &q, eps * eps, &mut f);
        let potential = ldexp(f[0], charge - shift);
        let [gx, gy, gz] = [f[1], f[2], f[3]].map(|g| ldexp(g, charge - 2 * shift));
        [potential, gx, gy, gz]
    };
    targets.par_iter().map(one).collect()
}

fastest! {
    fn target(at: [f64; 3], x: [&[f64]; 3], q: &[f64], eps2: f64, out: &mut Force) = target_body
}

#[inline(always)]
fn target_body<const FMA: bool>(at: [f64; 3], x: [&[f64]; 3], q: &[f64], eps2: f64, out: &mut Force) {
    let mut sums = [[0.0; LANES]; 4];
    let whole = q.len() / LANES * LANES;
    // The target meets itself once; any further zero is looked at again, one pair after the other.
    let mut zeros = [0.0; LANES];
    for first in (0..whole).step_by(LANES) {
        let part = |a: usize| -> &[f64; LANES] { x[a][first..first + LANES].try_into().expect("eight values") };
        let (px, py, pz) = (part(0), part(1), part(2));
        let charge: &[f64; LANES] = q[first..first + LANES].try_into().expect("eight values");
        for i in 0..LANES {
            let (dx, dy, dz) = (px[i] - at[0], py[i] - at[1], pz[i] - at[2]);
            let r2 = dx * dx + dy * dy + dz * dz;
            let is_zero = r2 < 1e-280;
            let inverse = if is_zero { 0.0 } else { 1.0 / (r2 + eps2).sqrt() };
            zeros[i] += if is_zero { 1.0 } else { 0.0 };
            let potential = charge[i] * inverse;
            let slope = potential * (inverse * inverse);
            sums[0][i] += potential;
            sums[1][i] += slope * dx;
            sums[2][i] += slope * dy;
            sums[3][i] += slope * dz;
        }
    }
    let difference = |j: usize| [x[0][j] - at[0], x[1][j] - at[1], x[2][j] - at[2]];
    *out = sums.map(|s| s.iter().sum());
    for (j, q) in q.iter().enumerate().skip(whole) {
        act(difference(j), *q, eps2, out);
    }
    if zeros.iter().sum::<f64>() > 1.0 {
        for (j, q) in q.iter().enumerate().take(whole) {
            let d = difference(j);
            if d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < 1e-280 {
                act(d, *q, eps2, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Charge, Distribution, generate};

    #[test]
    fn the_blocked_sum_is_the_plain_sum() {
        let p = generate(203, Distribution::Uniform, Charge::Random, 9);
        let targets: Vec<usize> = (0..203).collect();
        for eps in [0.0, 0.05] {
            for (k, f) in reference(&p, &targets, eps).iter().enumerate() {
                let mut plain = [0.0; 4];
                for j in (0..203).filter(|j| *j != k) {
                    let d: Vec<f64> = (0..3).map(|a| p.position(j)[a] - p.position(k)[a]).collect();
                    let r = (d.iter().map(|x| x * x).sum::<f64>() + eps * eps).sqrt();
                    plain[0] += p.q[j] / r;
                    (0..3).for_each(|a| plain[a + 1] += p.q[j] * d[a] / r.powi(3));
                }
                (0..4).for_each(|a| assert!((f[a] - plain[a]).abs() <= 1e-11 * plain[1].abs().max(1e3)));
            }
        }
    }

    #[test]
    fn tiny_and_huge_distances_are_right() {
        for scale in [1e-300, 1e-160, 1.0, 1e160, 1e300] {
            let mut p = Particles::default();
            p.push([0.0, 0.0, 0.0], 1.0);
            p.push([scale, 0.0, 0.0], 2.0);
            p.push([scale, 0.0, 0.0], 4.0);
            let f = reference(&p, &[0, 1], 0.0);
            assert!((f[0][0] / (6.0 / scale) - 1.0).abs() < 1e-14);
            assert!((f[1][0] / (1.0 / scale) - 1.0).abs() < 1e-14, "coincident particles do not act");
        }
        let mut p = Particles::default();
        (0..9).for_each(|k| p.push([k as f64 * 1e-170, 0.0, 0.0], 1.0));
        p.push([1.0, 0.0, 0.0], 1.0);
        let harmonic: f64 = (1..9).map(|k| 1.0 / k as f64).sum();
        let f = reference(&p, &[0], 0.0);
        assert!((f[0][0] / (harmonic * 1e170) - 1.0).abs() < 1e-13);
    }
}
