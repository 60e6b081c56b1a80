//! Sums over Chebyshev terms at points against the terms one by one, with every set of instructions.

use fmm::arith::vector::{Isa, Vectors};
use fmm::expansion::basis::Index;
use fmm::expansion::basis::indices_of;
use fmm::expansion::chebyshev::points::*;

fn check<T: Vectors>(order: usize, tolerance: f64) {
    let terms: Vec<Index> = (0..=order).flat_map(indices_of).collect();
    let nested = Nested::new(&terms, order);
    let (t, slope) = (
        |n: u8, x: f64| (n as f64 * (2.0 * x).acos()).cos(),
        |n: u8, x: f64| 2.0 * n as f64 * (n as f64 * (2.0 * x).acos()).sin() / (2.0 * x).acos().sin(),
    );
    for count in [1, 3, 16, 21] {
        let at = |k: usize, a: usize| 0.48 * ((k * 7 + a * 5) as f64 * 0.61).sin();
        let x: [Vec<T>; 3] = std::array::from_fn(|a| (0..count).map(|k| T::of(at(k, a))).collect());
        let columns = x.each_ref().map(|x| &x[..]);
        let l: Vec<T> = (0..terms.len()).map(|k| T::of((k as f64 * 0.7).cos())).collect();
        for isa in Isa::all() {
            let mut out = vec![[T::ONE; 4]; count];
            values::<T>(isa, &nested, columns, &l, &mut out);
            let mut m = vec![T::default(); terms.len()];
            moments::<T>(isa, &nested, columns, &x[1], &mut m);
            let mut wanted_m = vec![0.0; terms.len()];
            for (k, out) in out.iter().enumerate() {
                let x = [0, 1, 2].map(|a| x[a][k].f64());
                let mut wanted = [1.0; 4];
                for ((n, l), m) in terms.iter().zip(&l).zip(&mut wanted_m) {
                    let value = [0, 1, 2].map(|a| t(n[a], x[a]));
                    *m += x[1] * value.iter().product::<f64>();
                    wanted[0] += l.f64() * value.iter().product::<f64>();
                    for a in 0..3 {
                        let others = value[(a + 1) % 3] * value[(a + 2) % 3];
                        wanted[a + 1] += l.f64() * slope(n[a], x[a]) * others;
                    }
                }
                let close = out.iter().zip(&wanted).all(|(a, b)| (a.f64() - b).abs() < tolerance * (10.0 + b.abs()));
                assert!(close, "{isa:?} {order} {count}: {wanted:?}");
            }
            assert!(m.iter().zip(&wanted_m).all(|(a, b)| (a.f64() - b).abs() < tolerance), "{isa:?} {order} {count}");
        }
    }
}

#[test]
fn series_and_moments_are_sums_over_all_terms() {
    for order in [1, 2, 5, 10] {
        check::<f64>(order, 1e-12);
        check::<f32>(order, 1e-4);
    }
}
