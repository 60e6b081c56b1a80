//! The operators of dipoles and second derivatives, each against P2P on single points.

use super::exact;
use fmm::arith::vector::Vectors;
use fmm::expansion::basis::Basis;
use fmm::expansion::chebyshev::Function;
use fmm::expansion::chebyshev::softened::Softened;
use fmm::expansion::solid::m2l::M2lBy;
use fmm::expansion::{Expansion, Points, Translated, operators};
use std::sync::Arc;

#[test]
fn operators_of_dipoles_and_hessians_agree_with_p2p_on_single_points() {
    // Plane waves have a quadrature's error beside rounding.
    let far = Translated { m2l_by: M2lBy::Matrices, ..Translated::default() };
    for basis in [Basis::Cartesian, Basis::Solid] {
        check_operators::<f64>(&*operators(basis, 17, far, 4, None), 17, 1e-11, 0.0);
        check_operators::<f32>(&*operators(basis, 9, far, 4, None), 9, 40.0 * f32::EPSILON as f64, 0.0);
    }
    // Softened by less than an edge of the cell, and by more, where polynomials are as near as all terms of an order are within the cell.
    for eps in [0.0, 0.01, 0.3, 0.9, 5.0] {
        let kernel: Arc<dyn Function> = Arc::new(Softened::new(eps, 1));
        check_operators::<f64>(&*operators(Basis::Softened, 17, far, 4, Some(&kernel)), 17, 1e-5, eps);
        check_operators::<f32>(&*operators(Basis::Softened, 9, far, 4, Some(&kernel)), 9, 2e-3, eps);
    }
}

fn check_operators<T: Vectors>(e: &dyn Expansion<T>, order: i32, rounding: f64, eps: f64) {
    let d = e.derivatives().expect("expansions of 1/r have them");
    let (s, t, p) = ([0.31, -0.22, 0.17], [3.2, 0.9, -1.8], [0.7, -0.4, 0.9]);
    let column = |x: f64| [T::of(x)];
    let scratch = &mut Vec::new();
    macro_rules! points {
        ($x:ident, $at:expr) => {
            let columns = $at.map(column);
            let $x = Points { x: columns.each_ref().map(|x| &x[..]) };
        };
    }
    let moments = p.map(column);
    let moments = moments.each_ref().map(|p| &p[..]);
    // Each derivative brings a factor of up to the order + 2, and takes a power of the ratio.
    let close = |what: &str, found: &[f64], wanted: &[f64], ratio: f64, derivatives: i32| {
        let truncation = 20.0 * ((order + 2) as f64).powi(derivatives) * ratio.powi(order + 1 - derivatives);
        for (found, wanted) in found.iter().zip(wanted) {
            assert!((found - wanted).abs() < truncation + rounding, "{what}: {found:e} {wanted:e} {truncation:e}");
        }
    };
    let separation = |c: [f64; 3]| -> [f64; 3] { std::array::from_fn(|a| t[a] - c[a]) };
    for is_dipole in [false, true] {
        let (more, carried) = (is_dipole as i32, if is_dipole { (0.0, p) } else { (1.0, [0.0; 3]) });
        let wanted = exact(separation(s), carried.0, carried.1, eps);
        let mut m = vec![T::default(); e.multipole_terms()];
        points!(source, s);
        match is_dipole {
            true => d.p2m_dipoles(source, moments, &mut m, scratch),
            false => e.p2m(source, &[T::ONE], &mut m, scratch),
        }
        // Potential, gradient and Hessian by M2P.
        let read =
            |values: [T; 4], second: [T; 6]| -> Vec<f64> { values.iter().chain(&second).map(|x| x.f64()).collect() };
        let (mut values, mut second) = ([[T::default(); 4]], [[T::default(); 6]]);
        points!(target, t);
        e.m2p(0, &m, target, &mut values, scratch);
        d.m2p_hessian(0, &m, target, &mut second, scratch);
        let ratio = 0.42 / 3.78;
        close("P2M, M2P", &read(values[0], second[0])[..4], &wanted, ratio, 1 + more);
        close("P2M, M2P, Hessian", &read(values[0], second[0])[4..], &wanted[4..], ratio, 2 + more);
        // P2L and M2L to a cell at c.
        let c = [3.0, 1.0, -2.0];
        points!(far, std::array::from_fn::<f64, 3, _>(|a| s[a] - c[a]));
        points!(near, separation(c));
        for by_m2l in [false, true] {
            let mut l = vec![T::default(); e.local_terms()];
            match (by_m2l, is_dipole) {
                (true, _) => e.m2l_pair(0, c.map(|x| x as i64), &m, &mut l),
                (false, true) => d.p2l_dipoles(0, far, moments, &mut l, scratch),
                (false, false) => e.p2l(0, far, &[T::ONE], &mut l, scratch),
            }
            let (mut values, mut second) = ([[T::default(); 4]], [[T::default(); 6]]);
            e.l2p(&l, near, &mut values, scratch);
            d.l2p_hessian(&l, near, &mut second, scratch);
            let ratio = if by_m2l { 0.72 / 3.74 } else { 0.3 / 3.5 };
            close("L2P", &read(values[0], second[0])[..4], &wanted, ratio, 1 + more);
            close("L2P, Hessian", &read(values[0], second[0])[4..], &wanted[4..], ratio, 2 + more);
        }
    }
}
