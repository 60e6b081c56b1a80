//! Sums at any scale against wide arithmetic alone.

use fmm::arith::scale::exponent;
use fmm::arith::wide;
use fmm::arith::wide::Wide;
use fmm::arith::wide::WideForce;
use fmm::data::particles::Particles;
use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::p2p::Near;
use fmm::direct::scales::*;
use fmm::tree::Tree;
use fmm::tree::charges::Charges;
use fmm::tree::lists::Direct;
use fmm::tree::lists::Lists;

/// Every pair in wide arithmetic.
fn plain(tree: &Tree, charges: &Charges, k: usize, eps: f64) -> WideForce {
    let mut total = WideForce::default();
    for j in 0..tree.len() {
        wide::act(tree.sources.position(k), tree.sources.position(j), charges.scaled[j], eps, &mut total);
    }
    total
}

#[test]
fn most_pairs_in_f64_give_what_all_in_wide_arithmetic_give() {
    let cloud = |length: f64| {
        let p = generate(120, Distribution::Uniform, Charge::Positive, 3);
        let scale = |c: &Vec<f64>| c.iter().map(|x| x * length).collect();
        Particles { x: scale(&p.x), y: scale(&p.y), z: scale(&p.z), q: p.q }
    };
    let cases = [
        (cloud(1.0), [1e130, 0.0, 0.0], 1.0),
        (cloud(1.0), [1e300, 1.0, 0.0], 1e-200),
        (cloud(1e-150), [1.0, 0.0, 0.0], 1e-100),
        (cloud(1e307), [-1.7e308, 0.0, 0.0], 1.0),
        (cloud(0.0), [1e200, 0.0, 0.0], 1.0),
        (cloud(1.0), [1e-200, 0.0, 0.0], 1e-61),
    ];
    for (mut p, outlier, q) in cases {
        p.push(outlier, q);
        p.push(p.position(7), 0.5);
        p.push(p.position(3).map(|x| x * (1.0 + f64::EPSILON)), 0.5);
        for eps in [0.0, 1e-3, 1e-170, 1e70] {
            let tree = Tree::build(p.columns(), 16);
            let charges = Charges::new(&tree, &p.q[..]);
            let all: Vec<usize> = (0..p.len()).collect();
            // One leaf and all others as its sources.
            let leaf = tree.leaves[0] as usize;
            let direct = Direct { own: &[(0, p.len() as u32)], images: &[] };
            let lists = Lists::default();
            let near = Near::new(&tree, &lists, &charges, eps);
            let found = sums(&near, &charges, leaf, direct, &all);
            // In units of about the cloud's.
            let unit = exponent(extent(&tree, leaf));
            let scaled = |f: &[Wide]| -> [f64; 4] {
                std::array::from_fn(|a| f[a].scaled(if a == 0 { unit } else { 2 * unit }).to_f64())
            };
            for (k, f) in found {
                let (found, wanted) = (scaled(&f), scaled(&plain(&tree, &charges, k, eps)));
                let slope = wanted[1..].iter().fold(0.0, |s: f64, x| s.max(x.abs()));
                for a in 0..4 {
                    let bound = 1e-12 * if a == 0 { wanted[0] } else { slope } + f64::MIN_POSITIVE;
                    let (found, wanted) = (found[a], wanted[a]);
                    assert!((found - wanted).abs() <= bound, "{outlier:?} {eps} {k} {a}: {found} {wanted}");
                }
            }
        }
    }
}
