//! Kernels of neighbours: counts by radius and by shell, and the nearest ones.

use super::{F64Reference, Term, check, dot, nearest_image, position, quantised};
use pg2::graph::PinClass;
use sim::stimuli::Random;

fn counts(i: &[f64], j: &[f64], p: &[f64]) -> Vec<Term> {
    let r = nearest_image(i, j);
    let r2 = dot(&r, &r);
    p.iter().map(|edge2| ((r2 > 0.0 && r2 < *edge2) as u8 as f64, 0.0)).collect()
}

#[test]
fn pairs_are_counted_by_radius() {
    let params = (1..=8).map(|k| (0.1 * k as f64).powi(2)).collect();
    let i = position;
    check(&F64Reference {
        name: "pair_count",
        params,
        i,
        j: i,
        pair: counts,
        roundings: 0.0,
        mant: 16,
        constants: 0.0,
    });
}

#[test]
fn the_nearest_neighbours_are_found_in_their_order() {
    let kernel = pg2::kernels::find("nearest").expect("a shipped kernel");
    let graph = pg2::compile("nearest", kernel.text).expect("it compiles").graph;
    let mut random = Random::new(5);
    let mut record = |k: u64| vec![random.below(1 << 32), random.below(1 << 32), random.below(1 << 32), k];
    let mut particles: Vec<Vec<u64>> = (0..200).map(&mut record).collect();
    // Some are at one place, so that their numbers decide.
    for k in [20, 60, 199] {
        let place = particles[7][..3].to_vec();
        particles[k][..3].copy_from_slice(&place);
    }
    let image = |a: u64, b: u64| (b as u32).wrapping_sub(a as u32) as i32 as i128;
    for i in &particles {
        let distance = |j: &[u64]| (0..3).map(|a| image(i[a], j[a]).pow(2)).sum::<i128>() as u64;
        let others = particles.iter().filter(|j| j[3] != i[3]);
        let mut found: Vec<(u64, u64)> = others.map(|j| (distance(j), j[3])).collect();
        found.sort_unstable();
        let (got, flags) = sim::reference::target(&graph, i, &particles, &[]);
        assert!(flags.is_empty());
        let got: Vec<(u64, u64)> = got[..8].iter().copied().zip(got[8..].iter().copied()).collect();
        assert_eq!(got, found[..8], "of particle {}", i[3]);
    }
    let (few, _) = sim::reference::target(&graph, &particles[0], &particles[..3], &[]);
    assert!(few[1] < u64::MAX && few[9] < 3 && few[2..8].iter().all(|d| *d == u64::MAX));
    assert!(few[10..].iter().all(|who| *who == u32::MAX as u64));
}

#[test]
fn pairs_are_counted_by_shell() {
    let kernel = pg2::kernels::find("pair_histogram").expect("a shipped kernel");
    let graph = pg2::compile("pair_histogram", kernel.text).expect("it compiles").graph;
    let mut random = Random::new(8);
    let (params, real) = quantised(&graph, PinClass::Param, &[512.0]);
    let particles: Vec<(Vec<u64>, Vec<f64>)> =
        (0..300).map(|_| quantised(&graph, PinClass::Jpin, &position(&mut random))).collect();
    let sources: Vec<Vec<u64>> = particles.iter().map(|p| p.0.clone()).collect();
    let (mut counted, mut by_edge) = (0, 0);
    for (bits, place) in particles.iter().take(40) {
        let (got, flags) = sim::reference::target(&graph, bits, &sources, &params);
        assert!(flags.is_empty(), "{flags:?}");
        // Of each shell the pairs that are surely within it, and those that may be.
        let (mut surely, mut perhaps) = (vec![0; 257], vec![0; 257]);
        for (_, source) in &particles {
            let r = nearest_image(place, source);
            let s = dot(&r, &r).sqrt() * real[0];
            if s == 0.0 {
                continue;
            }
            let [low, high] = [-1.0, 1.0].map(|sign| (s * (1.0 + sign * 2f64.powi(-15))).floor().min(256.0) as usize);
            if low == high {
                surely[low] += 1;
            }
            (low..=high).for_each(|k| perhaps[k] += 1);
        }
        for (k, count) in got.iter().enumerate() {
            assert!((surely[k]..=perhaps[k]).contains(count), "shell {k}: {count}");
            counted += count;
            by_edge += perhaps[k] - surely[k];
        }
    }
    assert!(counted > 5000 && by_edge * 20 < counted, "{counted} pairs, {by_edge} next to an edge");
}
