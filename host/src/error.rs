//! How far an FMM is from direct summation (RULES H10).

use crate::direct;
use crate::particles::{Field, Particles};
use crate::random::Random;
use serde::Serialize;

/// Errors over sampled targets; those of the gradient are absent when only the potential was computed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Errors {
    pub samples: usize,
    pub potential_rel_l2: f64,
    pub gradient_rel_l2: Option<f64>,
    pub gradient_median: Option<f64>,
    pub gradient_p99: Option<f64>,
}

/// `min(k, n)` distinct targets from the second stream of the seed alone, ascending.
pub fn sample(n: usize, k: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::second_stream(seed);
    let k = k.min(n);
    // The first k places of a Fisher-Yates shuffle.
    let mut all: Vec<usize> = (0..n).collect();
    for place in 0..k {
        let other = place + (random.unit() * (n - place) as f64) as usize;
        all.swap(place, other);
    }
    all.truncate(k);
    all.sort_unstable();
    all
}

/// Compares `field` with direct summation at `min(k, n)` targets.
pub fn measure(particles: &Particles, field: &Field, k: usize, seed: u64, eps: f64) -> Errors {
    let targets = sample(particles.len(), k, seed);
    let reference = direct::reference(particles, &targets, eps);
    let difference = |t: usize, f: &[f64; 4]| (field.potential[t] - f[0]).abs();
    let pairs = || targets.iter().copied().zip(&reference);
    let mut errors = Errors {
        samples: targets.len(),
        potential_rel_l2: relative_l2(pairs().map(|(t, f)| (difference(t, f), f[0].abs()))),
        gradient_rel_l2: None,
        gradient_median: None,
        gradient_p99: None,
    };
    if let Some(gradient) = &field.gradient {
        let norm = |g: [f64; 3]| g[0].hypot(g[1]).hypot(g[2]);
        let both = |(t, f): (usize, &[f64; 4])| {
            let off = norm(std::array::from_fn(|a| gradient[a][t] - f[a + 1]));
            (off, norm([f[1], f[2], f[3]]))
        };
        let norms: Vec<(f64, f64)> = pairs().map(both).collect();
        let mut relative: Vec<f64> = norms.iter().map(|(off, size)| ratio(*off, *size)).collect();
        relative.sort_unstable_by(f64::total_cmp);
        errors.gradient_rel_l2 = Some(relative_l2(norms.into_iter()));
        errors.gradient_median = Some(percentile(&relative, 0.5));
        errors.gradient_p99 = Some(percentile(&relative, 0.99));
    }
    errors
}

/// |off| / |size| over all targets, scaled so that no square leaves the range of f64.
fn relative_l2(norms: impl Iterator<Item = (f64, f64)>) -> f64 {
    let norms: Vec<(f64, f64)> = norms.collect();
    let largest = norms.iter().fold(0.0, |a: f64, n| a.max(n.0).max(n.1));
    if largest == 0.0 {
        return 0.0;
    }
    let sum = |pick: fn(&(f64, f64)) -> f64| norms.iter().map(|n| (pick(n) / largest).powi(2)).sum::<f64>().sqrt();
    ratio(sum(|n| n.0), sum(|n| n.1))
}

/// 0 where there is no error, even of nothing.
fn ratio(off: f64, size: f64) -> f64 {
    if off == 0.0 { 0.0 } else { off / size }
}

/// The smallest value that at least `part` of the sorted values do not exceed.
fn percentile(sorted: &[f64], part: f64) -> f64 {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Charge, Distribution, generate};

    #[test]
    fn samples_are_distinct_and_depend_on_the_seed_alone() {
        let s = sample(100, 30, 4);
        assert_eq!(s, sample(100, 30, 4));
        assert_ne!(s, sample(100, 30, 5));
        assert!(s.windows(2).all(|w| w[0] < w[1]) && s.len() == 30);
        assert_eq!(sample(5, 30, 4), [0, 1, 2, 3, 4]);
        assert!(sample(0, 30, 4).is_empty());
    }

    #[test]
    fn a_known_error_is_measured() {
        let p = generate(50, Distribution::Uniform, Charge::Positive, 1);
        let all: Vec<usize> = (0..50).collect();
        let exact = direct::reference(&p, &all, 0.0);
        let mut field = Field {
            potential: exact.iter().map(|f| f[0] * 1.01).collect(),
            gradient: Some([1, 2, 3].map(|a| exact.iter().map(|f| f[a] * 1.02).collect())),
        };
        let e = measure(&p, &field, 50, 1, 0.0);
        assert!((e.potential_rel_l2 - 0.01).abs() < 1e-12);
        for g in [e.gradient_rel_l2, e.gradient_median, e.gradient_p99] {
            assert!((g.expect("a gradient") - 0.02).abs() < 1e-12);
        }
        field.gradient = None;
        assert_eq!(measure(&p, &field, 10, 1, 0.0).gradient_p99, None);
    }
}
