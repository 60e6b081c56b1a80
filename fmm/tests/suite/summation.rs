//! Direct sums against a plain loop, at any distance.

use fmm::data::particles::Particles;
use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::summation::*;

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
    p.push([0.0; 3], 1.0);
    p.push([1.0, 0.0, 0.0], 1.0);
    p.push([1e104, 0.0, 0.0], 1.0);
    assert_eq!(reference(&p, &[0], 0.0), [[1.0, 1.0, 0.0, 0.0]]);
    assert_eq!(reference(&p, &[0], 1e155), [[2e-155, 0.0, 0.0, 0.0]]);
    let mut p = Particles::default();
    (0..9).for_each(|k| p.push([k as f64 * 1e-170, 0.0, 0.0], 1.0));
    p.push([1.0, 0.0, 0.0], 1.0);
    let harmonic: f64 = (1..9).map(|k| 1.0 / k as f64).sum();
    let f = reference(&p, &[0], 0.0);
    assert!((f[0][0] / (harmonic * 1e170) - 1.0).abs() < 1e-13);
}
