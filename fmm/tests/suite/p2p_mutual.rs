//! The loop in both directions on every set of instructions against plain f64.

use fmm::arith::vector::{Isa, Vectors};
use fmm::direct::p2p::mutual::*;
use fmm::direct::p2p::sources::{LANES, Line, Sources};
use fmm::direct::p2p::sums::{Squares, Sums};
use testkit::Random;

/// Sources of which lines 2 to 6 are mutual, 4 of these guarded; one is at the place of a target.
fn sources<T: Vectors>(random: &mut Random, targets: &[[T; 3]]) -> Sources<T> {
    let mut sources =
        Sources::<T> { guarded: 1..2, mutual: 2..7, guarded_mutual: vec![2, 4, 5, 6], ..Sources::default() };
    sources.mutual_count = 5 * LANES;
    for column in &mut sources.columns {
        (0..7).for_each(|_| column.push(Line(std::array::from_fn(|_| T::of(random.unit())))));
    }
    sources.more.push(sources.columns[3].clone());
    for line in &mut sources.more[0] {
        line.0 = line.0.map(|q| T::of(0.3) - q);
    }
    for (a, x) in targets[0].iter().enumerate() {
        sources.columns[a][4].0[11] = *x;
    }
    sources
}

fn check<T: Vectors>(last_place: f64) {
    let mut random = Random::new(5);
    for count in [1, 2, 3, 8, 40] {
        let targets: Vec<[T; 3]> = (0..count).map(|_| [0; 3].map(|_| T::of(random.unit()))).collect();
        let mut carried: Vec<T> = (0..3 * count).map(|_| T::of(random.unit() - 0.4)).collect();
        // The sums of the second set cannot be divided by its charges.
        carried[count] = T::default();
        let sources = sources::<T>(&mut random, &targets);
        let squares = Squares { eps: T::of(0.01), least: T::of(1e-9) };
        let columns = [&sources.columns[3][..], &sources.more[0], &sources.columns[0]];
        for (isa, sets) in Isa::all().flat_map(|isa| (1..=3).map(move |sets| (isa, sets))) {
            let charges = &columns[..sets];
            let leaf = Leaf { sources: &sources, charges, squares, targets: &targets, carried: &carried, large: None };
            let (mut back, mut sums) = (Back::default(), vec![Sums::default(); count * sets]);
            back.make_room(&sources, sets);
            mutual_sums(isa, &leaf, &mut back, &mut sums);
            let value = |a: usize, j: usize| sources.columns[a][j / LANES].0[j % LANES].f64();
            let root = isa.root::<T>();
            for set in 0..sets {
                let charge = |j: usize| charges[set][j / LANES].0[j % LANES].f64();
                let mut there = vec![[0.0; 4]; 7 * LANES];
                for (i, at) in targets.iter().enumerate() {
                    let mut here = [0.0; 4];
                    for (j, there) in there.iter_mut().enumerate() {
                        let d: [f64; 3] = std::array::from_fn(|a| value(a, j) - at[a].f64());
                        let r2 = d.iter().map(|d| d * d).sum::<f64>();
                        if r2 > 0.0 {
                            let inverse = 1.0 / (r2 + squares.eps.f64()).sqrt();
                            let own = carried[set * count + i].f64();
                            here[0] += charge(j) * inverse;
                            there[0] += own * inverse;
                            for a in 0..3 {
                                here[a + 1] += charge(j) * inverse.powi(3) * d[a];
                                there[a + 1] += own * inverse.powi(3) * d[a];
                            }
                        }
                    }
                    let sums = &sums[i * sets + set];
                    assert_eq!(sums.close, (i == 0) as u32, "{isa:?}");
                    for (found, wanted) in sums.force.iter().zip(here) {
                        assert!((found.f64() - wanted).abs() < 8000.0 * last_place, "{isa:?} {} {wanted}", found.f64());
                    }
                }
                for (j, there) in there.iter().enumerate().skip(2 * LANES) {
                    for (a, wanted) in there.iter().enumerate() {
                        let unit = if a == 0 { root } else { root.powi(3) };
                        let found = back.columns(set)[a][j - 2 * LANES].f64() / unit;
                        let error = (found - wanted).abs();
                        assert!(error < 8000.0 * last_place, "{isa:?} {sets} {j} {a}: {found} {wanted}");
                    }
                }
            }
            let close: Vec<f64> = back.close.iter().flat_map(|line| line.0.map(|c| c.f64())).collect();
            assert!(close.iter().enumerate().all(|(k, c)| *c == (k == LANES + 11) as u32 as f64), "{isa:?} {close:?}");
        }
    }
}

#[test]
fn every_set_of_instructions_gives_both_directions_in_f32() {
    check::<f32>(f32::EPSILON as f64);
}

#[test]
fn every_set_of_instructions_gives_both_directions_in_f64() {
    check::<f64>(f64::EPSILON);
}
