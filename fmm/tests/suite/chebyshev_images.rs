//! Far images of a periodic box by a matrix against plain sums over images.

use fmm::expansion::chebyshev::Chebyshev;
use fmm::expansion::chebyshev::images::*;
use fmm::expansion::chebyshev::{Function, Symmetry};
use fmm::expansion::{Expansion, Points};
use fmm::tree::lists::is_near;
use std::sync::Arc;

/// r^-n exp(-k r) of a length that is not the same along all axes.
struct Law {
    n: i32,
    k: f64,
    along: [f64; 3],
    symmetry: Symmetry,
}

impl Function for Law {
    fn values(&self, d: &[[f64; 3]], out: &mut [[f64; 4]]) {
        for (d, out) in d.iter().zip(out) {
            let r = d.iter().zip(self.along).map(|(x, s)| (s * x).powi(2)).sum::<f64>().sqrt();
            *out = [(-self.k * r).exp() * r.powi(-self.n), 0.0, 0.0, 0.0];
        }
    }

    fn symmetry(&self) -> Symmetry {
        self.symmetry
    }
}

fn round(n: i32, k: f64) -> Law {
    Law { n, k, along: [1.0; 3], symmetry: Symmetry::Full }
}

const AXES: [[bool; 3]; 4] = [[true; 3], [true, false, true], [false, true, false], [true, false, false]];

#[test]
fn sums_that_converge_absolutely_are_known() {
    for axes in AXES {
        let d = axes.iter().filter(|a| **a).count() as i32;
        let extent = |n: i32, k: f64| Lattice { axes, near2: 4 }.extent(&round(n, k));
        for n in 0..=d {
            assert_eq!(extent(n, 0.0), None, "{axes:?} {n}");
            // Screened, it converges, after a few levels.
            let levels = extent(n, 2.0).expect("an exponential converges").levels;
            assert!((2..6).contains(&levels), "{axes:?} {n} {levels}");
        }
        let levels: Vec<usize> = (1..9).map(|n| extent(d + n, 0.0).expect("it converges").levels).collect();
        assert!(levels.windows(2).all(|w| w[1] <= w[0]) && levels[0] < 40 && levels[7] < 7, "{axes:?} {levels:?}");
        // A long screening length makes far images weigh.
        let weight = |k: f64| extent(1, k).expect("it converges").weight;
        assert!(weight(1e-3) > weight(1e-1) && weight(1e-1) > weight(3.0), "{axes:?}");
    }
    let nothing = round(1, f64::INFINITY);
    assert_eq!(Lattice { axes: [true; 3], near2: 4 }.extent(&nothing), Some(Extent { levels: 1, weight: 0.0 }));
}

/// Compares the field of far images up to `most` periods away by the matrix and directly, at some points.
fn compared(law: Law, lattice: Lattice, order: usize, most: i64) -> f64 {
    let law: Arc<dyn Function> = Arc::new(law);
    let matrix = lattice.matrix(&*law, order);
    let e = Chebyshev::<f64>::new(order, lattice.near2, law.clone());
    let terms = e.multipole_terms();
    let along = |a: usize| if lattice.axes[a] { -most..=most } else { 0..=0 };
    let far: Vec<[i64; 3]> = along(0)
        .flat_map(|x| along(1).flat_map(move |y| along(2).map(move |z| [x, y, z])))
        .filter(|n| !is_near(*n, lattice.near2))
        .collect();
    let (mut off, mut size) = (0.0f64, 0.0f64);
    let places = [[0.31, -0.42, 0.17], [-0.49, 0.48, -0.47], [0.05, 0.12, 0.4]];
    for source in places {
        let (mut m, mut l) = (vec![0.0; terms], vec![0.0; terms]);
        let at = source.map(|x| [x]);
        e.p2m(Points { x: at.each_ref().map(|x| &x[..]) }, &[1.0], &mut m, &mut Vec::new());
        act(&matrix, &m, &mut l);
        for target in places {
            let at = target.map(|x| [x]);
            let mut found = [[0.0; 4]];
            e.l2p(&l, Points { x: at.each_ref().map(|x| &x[..]) }, &mut found, &mut Vec::new());
            let d: Vec<[f64; 3]> =
                far.iter().map(|n| std::array::from_fn(|a| target[a] - source[a] + n[a] as f64)).collect();
            let mut out = vec![[0.0; 4]; d.len()];
            law.values(&d, &mut out);
            let wanted: f64 = out.iter().map(|o| o[0]).sum();
            off = off.max((found[0][0] - wanted).abs());
            size = size.max(wanted.abs());
        }
    }
    off / size
}

#[test]
fn the_matrix_gives_what_far_images_give() {
    for axes in AXES {
        let d = axes.iter().filter(|a| **a).count() as i32;
        let lattice = Lattice { axes, near2: 4 };
        // Powers of which images beyond these give less than 1e-8 of all, and a screened one that reaches over some levels.
        let (n, most) = [(3, 12_000), (7, 90), (10, 14)][d as usize - 1];
        for law in [|n| round(n, 0.0), |_| round(1, 1.4)] {
            let most = if law(n).k > 0.0 { 14 } else { most };
            let [coarse, fine] = [4, 8].map(|order| compared(law(n), lattice, order, most));
            assert!(fine < 0.1 * coarse && fine < 1e-2, "{axes:?} {coarse:e} {fine:e}");
        }
    }
}

#[test]
fn symmetries_of_a_kernel_change_rounding_alone() {
    let along = [1.0, 1.2, 0.9];
    for axes in AXES {
        let lattice = Lattice { axes, near2: 4 };
        let matrix = |along, symmetry| lattice.matrix(&Law { n: 2, k: 2.0, along, symmetry }, 3);
        for (along, symmetry) in [(along, Symmetry::Mirrored), ([1.0; 3], Symmetry::Full)] {
            let (plain, fast) = (matrix(along, Symmetry::None), matrix(along, symmetry));
            let size = plain.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
            assert!(plain.iter().zip(&fast).all(|(a, b)| (a - b).abs() < 1e-12 * size), "{axes:?} {symmetry:?}");
        }
    }
}

#[test]
fn smaller_angles_leave_fewer_images_and_smaller_errors() {
    let error = |near2| compared(round(7, 0.0), Lattice { axes: [true, true, false], near2 }, 4, 90);
    let found = [4, 9, 16].map(error);
    assert!(found.windows(2).all(|w| w[1] < 0.5 * w[0]), "{found:?}");
}
