//! What the stages cost, and the leaf size that follows.

use crate::expansion::basis::Basis;
use crate::fmm::Precision;

/// The particles up to which a leaf is not worth splitting, `sqrt(B / C)` with what M2L of a cell and P2P of a pair cost
/// (Gumerov and Duraiswami, 2008): in nanoseconds on one core of a Zen 4 with
/// AVX-512, of which only the ratio counts.
pub fn leaf(basis: Basis, order: usize, precision: Precision) -> usize {
    let terms = match basis {
        Basis::Solid => ((order + 1) * (order + 1)) as f64,
        Basis::Cartesian | Basis::Chebyshev => ((order + 1) * (order + 2) * (order + 3) / 6) as f64,
    };
    let (pair, cells, product) = match precision {
        Precision::F32 => (0.33, 8.0, 0.0055),
        // Most products of solid harmonics are computed in f32.
        Precision::F64 if basis == Basis::Solid => (0.68, 14.0, 0.0031),
        Precision::F64 => (0.73, 10.0, 0.0058),
    };
    // Solid harmonics share a product among mirrored offsets; the other expansions compute one for each.
    let shared = if basis == Basis::Solid { 1.0 } else { 5.0 };
    let m2l = cells + shared * product * terms * terms;
    // Eight children with 189 far cells each, against seven eighths of the pairs with 27 cells.
    let best = (8.0 * 189.0 * m2l / (27.0 * 0.875 * pair)).sqrt();
    (best as usize).clamp(16, 2048)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_grow_with_the_order() {
        let sizes = |precision| [2, 5, 8, 14, 20].map(|order| leaf(Basis::Solid, order, precision));
        for precision in [Precision::F32, Precision::F64] {
            assert!(sizes(precision).windows(2).all(|w| w[0] < w[1]), "{:?}", sizes(precision));
        }
    }
}
