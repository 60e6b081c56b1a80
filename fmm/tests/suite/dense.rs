//! Tables of the operators against the operators of the CPU.

use fmm::expansion::solid::dense::*;
use fmm::expansion::solid::terms::count;
use fmm::expansion::solid::{Solid, matrices};
use fmm::expansion::sparse::with_slopes;
use fmm::expansion::{Expansion, Points};

/// A matrix by columns times a vector.
fn times(columns: &[f64], x: &[f64]) -> Vec<f64> {
    (0..x.len()).map(|row| x.iter().enumerate().map(|(k, x)| columns[k * row_count(columns) + row] * x).sum()).collect()
}

fn row_count(columns: &[f64]) -> usize {
    columns.len().isqrt()
}

fn close(a: &[f64], b: &[f64]) -> bool {
    let scale = b.iter().fold(0.0f64, |a, x| a.max(x.abs()));
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-13 * scale)
}

#[test]
fn tables_are_the_operators_of_the_cpu() {
    for order in [1, 2, 5] {
        let (dense, solid) = (Dense::new(order, 4), Solid::<f64>::new(order, 4));
        let size = count(order);
        let x: Vec<f64> = (0..size).map(|k| ((k * 37 + 11) % 17) as f64 / 17.0 - 0.4).collect();
        for octant in 0..8 {
            let (mut m, mut l) = (vec![0.0; size], vec![0.0; size]);
            solid.m2m(octant, &x, &mut m);
            solid.l2l(octant, &x, &mut l);
            assert!(close(&times(&dense.up[octant], &x), &m), "M2M {order} {octant}");
            assert!(close(&times(&dense.down[octant], &x), &l), "L2L {order} {octant}");
        }
        for offset in dense.offsets.iter().filter(|o| o.terms == size) {
            let mut l = vec![0.0; size];
            solid.m2l_pair(0, offset.at, &x, &mut l);
            let rows = offset.matrix.chunks_exact(size);
            let found: Vec<f64> = rows.map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
            assert!(close(&found, &l), "M2L {order} {:?}", offset.at);
        }
        let wanted = with_slopes(&x, &matrices::local_slopes(order, &matrices::weights(2 * order)), size);
        for (k, wanted) in wanted.iter().enumerate() {
            for axis in 0..3 {
                let sum: f64 = dense.slopes[axis][k].iter().map(|(src, factor)| factor * x[*src]).sum();
                assert!((sum - wanted[axis + 1]).abs() < 1e-14, "slope {order} {axis} {k}");
            }
        }
    }
}

#[test]
fn every_octant_has_189_offsets_whose_parents_are_near() {
    let dense = Dense::new(1, 4);
    assert_eq!(dense.offsets.len(), 316);
    for list in &dense.lists {
        assert_eq!(list.len(), 189);
    }
    // The far field of a point by the lists of its cell is that of all cells but the near ones.
    let far = |octant: usize| dense.lists[octant].iter().map(|k| dense.offsets[*k].at).collect::<Vec<_>>();
    assert!(far(0).contains(&[-3, 0, 0]) && !far(0).contains(&[3, 0, 0]));
    assert!(far(7).contains(&[3, 3, 3]) && !far(7).contains(&[-3, 0, 0]));
}

#[test]
fn recurrences_are_those_of_the_harmonics() {
    let solid = Solid::<f64>::new(3, 4);
    let dense = Dense::new(3, 4);
    assert_eq!((dense.sectors.len(), dense.steps.len()), (4, 6));
    let mut m = vec![0.0; 16];
    let x = [vec![0.1], vec![0.2], vec![0.3]];
    solid.p2m(Points { x: [&x[0], &x[1], &x[2]] }, &[1.0], &mut m, &mut Vec::new());
    // Degree 2, order 0, from the two below it.
    let r2: f64 = 0.14;
    assert!((dense.steps[1][0] * 0.3 * 0.3 + dense.steps[1][1] * r2 - m[4]).abs() < 1e-15);
}
