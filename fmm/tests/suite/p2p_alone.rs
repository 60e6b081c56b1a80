//! P2P of few sources without a tree against a plain loop.

use fmm::data::Force;
use fmm::direct::p2p::alone::*;
use testkit::Random;

/// The sums, and bounds of their errors where coordinates are off by `step`.
fn plain(at: [f64; 3], sources: &Alone, step: f64) -> [Force; 2] {
    let (mut sum, mut bound) = ([0.0; 4], [0.0; 4]);
    for (x, q) in sources.positions.iter().zip(sources.charges) {
        let d = [0, 1, 2].map(|a| x[a] - at[a]);
        let r = (d.iter().map(|d| d * d).sum::<f64>() + sources.eps * sources.eps).sqrt();
        if r > 0.0 {
            sum[0] += q / r;
            bound[0] += q / r * (2e-6 + step / r);
            for a in 0..3 {
                sum[a + 1] += q / r * (d[a] / r) / r;
                bound[a + 1] += q / r / r * (2e-6 + 3.0 * step / r);
            }
        }
    }
    [sum, bound]
}

#[test]
fn sums_are_those_of_a_plain_loop_in_any_units_with_and_without_softening() {
    let mut random = Random::new(5);
    for (n, length, mass, eps) in
        [(1, 1.0, 1.0, 0.1), (203, 1.0, 1e-3, 0.0), (64, 3e20, 2e30, 0.01), (50, 1e-30, 1.0, 3.0)]
    {
        let offset = 4.0 * length;
        let positions: Vec<[f64; 3]> = (0..n).map(|_| [(); 3].map(|()| offset + length * random.unit())).collect();
        let charges: Vec<f64> = (0..n).map(|_| mass * random.unit()).collect();
        let sources = Alone { positions: &positions, charges: &charges, eps: eps * length };
        let mut out = vec![[0.0; 4]; n];
        let mut kept = Kept::default();
        // The second call finds what the first one left.
        for _ in 0..2 {
            sources.forces(&positions, &mut kept, &mut out);
        }
        for (at, found) in positions.iter().zip(&out) {
            let [wanted, bound] = plain(*at, &sources, length * f64::max(1.0, eps) * 2f64.powi(-21));
            for a in 0..4 {
                assert!((found[a] - wanted[a]).abs() <= bound[a], "{n} {a}: {} {}", found[a], wanted[a]);
            }
        }
    }
}
