//! The inner loop of P2P on every set of instructions against plain f64.

use fmm::arith::vector::{Isa, Vectors};
use fmm::direct::p2p::sources::{LANES, Line, Sources};
use fmm::direct::p2p::sums::*;
use testkit::Random;

/// Sums of targets by every set of instructions against plain f64; `last_place` is that of the format. The first two
/// lines are guarded.
fn check<T: Vectors>(last_place: f64) {
    let mut random = Random::new(1);
    let mut sources = Sources::<T> { guarded: 1..3, mutual: 5..5, ..Sources::default() };
    for column in &mut sources.columns {
        (0..5).for_each(|_| column.push(Line(std::array::from_fn(|_| T::of(random.unit())))));
    }
    let value = |a: usize, k: usize| sources.columns[a][k / LANES].0[k % LANES];
    let squares = Squares { eps: T::of(0.01), least: T::of(1e-9) };
    let targets = [17, 30, 41].map(|k| [0, 1, 2].map(|a| value(a, k)));
    for isa in Isa::all() {
        for count in 1..=targets.len() {
            let mut sums = vec![Sums::default(); count];
            leaf_sums(isa, &sources, &[&sources.columns[3]], squares, &targets[..count], &mut sums);
            for (at, sums) in targets.iter().zip(sums) {
                let mut wanted = [0.0; 4];
                for k in 0..5 * LANES {
                    let d: [f64; 3] = std::array::from_fn(|a| value(a, k).f64() - at[a].f64());
                    let r2 = d.iter().map(|d| d * d).sum::<f64>();
                    if r2 > 0.0 {
                        let (q, inverse) = (value(3, k).f64(), 1.0 / (r2 + squares.eps.f64()).sqrt());
                        wanted[0] += q * inverse;
                        (0..3).for_each(|a| wanted[a + 1] += q * inverse.powi(3) * d[a]);
                    }
                }
                assert_eq!(sums.close, 1, "{isa:?}");
                for (found, wanted) in sums.force.iter().zip(wanted) {
                    let error = (found.f64() - wanted).abs();
                    assert!(error < 8000.0 * last_place, "{isa:?}: {} {wanted}", found.f64());
                }
            }
        }
    }
}

#[test]
fn every_set_of_instructions_gives_the_sums_of_f32() {
    check::<f32>(f32::EPSILON as f64);
}

#[test]
fn every_set_of_instructions_gives_the_sums_of_f64() {
    check::<f64>(f64::EPSILON);
}
