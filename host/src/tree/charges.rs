//! The charges of a run in the order of a tree's sources, scaled by a power of two (RULES H6).

use crate::arith::scale::{exponent, ldexp};
use crate::data::problem::Sources;
use crate::tree::Tree;
use rayon::prelude::*;

/// Charges `q * 2^-exponent`, the largest magnitude in (1/2, 1].
#[derive(Clone, PartialEq, Debug)]
pub struct Charges {
    /// In the order of the tree.
    pub scaled: Vec<f64>,
    /// The power of two `e` that they are in units of.
    pub exponent: i32,
    /// The least magnitude of a scaled charge that is not 0; 1 if there is none.
    pub least: f64,
}

impl Charges {
    /// Takes charges in the order of the input; there are as many as sources, and all are finite.
    pub fn new<'a>(tree: &Tree, sources: impl Into<Sources<'a>>) -> Charges {
        let input = sources.into().charges.unwrap_or_default();
        assert_eq!(input.len(), tree.len(), "one charge for each source");
        let exponent = exponent(input.par_iter().map(|q| q.abs()).reduce(|| 0.0, f64::max));
        // A product is faster; it is exact where it does not fall below the smallest number.
        let factor = if exponent.abs() < 1000 { 2f64.powi(-exponent) } else { 0.0 };
        let scale = |q: f64| if factor != 0.0 { q * factor } else { ldexp(q, -exponent) };
        let scaled: Vec<f64> = tree.sources.order.par_iter().map(|k| scale(input[*k as usize])).collect();
        let sizes = scaled.par_iter().map(|q| q.abs()).filter(|q| *q > 0.0);
        Charges { least: sizes.reduce(|| 1.0, f64::min), exponent, scaled }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::particles::Particles;

    #[test]
    fn charges_follow_the_order_of_the_tree_and_are_at_most_one() {
        let mut p = Particles::default();
        p.push([1.0, 0.0, 0.0], -3.0);
        p.push([0.0; 3], 0.25);
        p.push([0.5, 0.0, 0.0], 0.0);
        let tree = Tree::build(p.columns(), 1);
        assert_eq!(tree.sources.order, [1, 2, 0]);
        for unit in [1.0, 2f64.powi(-1060), 2f64.powi(1021)] {
            let q: Vec<f64> = p.q.iter().map(|q| q * unit).collect();
            let charges = Charges::new(&tree, &q[..]);
            assert_eq!((charges.scaled, charges.least), (vec![0.0625, 0.0, -0.75], 0.0625));
        }
        assert_eq!(Charges::new(&tree, &[0.0; 3][..]).least, 1.0);
    }
}
