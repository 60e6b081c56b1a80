//! Softening of the far field: where it matters, a plan takes the expansion of softened 1/r in place of that of 1/r (RULES H1).

use super::tune::usual_of as usual;
use super::{FmmError, FmmOptions, periodic};
use crate::data::problem::Geometry;
use crate::expansion::basis::Basis;
use crate::expansion::chebyshev::Function;
use crate::expansion::chebyshev::softened::Softened;
use crate::expansion::softened::orders;
use crate::tree::Tree;
use crate::tree::boxmap::BoxMap;
use crate::tree::lists::near2;
use std::sync::Arc;

/// The part of an order's usual error that softening may change the gradient of the closest pairs of the far field by.
const SHARE: f64 = 0.05;

/// Softening lengths in boxes above which f32, and f64, lose what softened 1/r changes by within a box.
pub const MOST_F32: f64 = 0.1;
const MOST: f64 = 1e4;

/// Factor by which leaves grow where the far field shall be farther away: by one level.
const A_LEVEL: usize = 8;

/// The opening angle where the usual one would take polynomials of too high an order.
const SMALL_THETA: f64 = 1.0 / 3.0;

/// Other options where softening asks for them, given the softening length in boxes and the levels of the tree: those of another
/// expansion, or of larger leaves where there is none.
pub fn other(options: &FmmOptions, eps: f64, levels: usize) -> Option<FmmOptions> {
    // Cells that are not near are on the third level at the earliest, images of cells on the second.
    let is_all_near = levels < if options.periodic.is_some() { 2 } else { 3 };
    if options.eps == 0.0 || options.near_only || options.basis == Basis::Chebyshev || is_all_near {
        return None;
    }
    let larger = || Some(FmmOptions { leaf: options.leaf.saturating_mul(A_LEVEL), ..options.clone() });
    if eps > MOST {
        return larger();
    }
    // Cells that are not near have an edge of theirs between them at least: 1 - r^3 / (r^2 + eps^2)^(3/2) there.
    let edges = eps * ((levels - 1) as f64).exp2();
    let change = -(-1.5 * (edges * edges).ln_1p()).exp_m1();
    if options.basis == Basis::Softened || change <= SHARE * usual(options) {
        return None;
    }
    let is_near = |options: &FmmOptions| orders::reach(options.order, near2(options.theta), eps, levels);
    let at = |theta: f64| softened(options, theta).filter(is_near);
    // Softened images are those of the usual angle.
    let at_small = || at(options.theta.min(SMALL_THETA)).filter(|_| options.periodic.is_none());
    at(options.theta).or_else(at_small).or_else(larger)
}

/// The same problem in the expansion of softened 1/r and at an opening angle: by an order that is as near to its kernel as the given one is
/// to 1/r, if there is one, and one more. Softening takes away the steep gradients of close pairs, beside which errors of the far field
/// are small.
pub fn softened(options: &FmmOptions, theta: f64) -> Option<FmmOptions> {
    let softened = FmmOptions { basis: Basis::Softened, theta, ..options.clone() };
    let (most, wanted) = (softened.max_order(), usual(options));
    if options.basis == Basis::Solid && theta == options.theta {
        return Some(FmmOptions { order: most.min(options.order + 1), ..softened });
    }
    let of = |order: usize| FmmOptions { order, lower_beyond: None, ..softened.clone() };
    let order = (1..=most).find(|order| usual(&of(*order)) <= wanted)?;
    Some(of(most.min(order + 1)))
}

/// The highest order, of those that may be asked for, that softened 1/r is expanded as nearly as.
pub(super) fn highest(options: &FmmOptions, eps: f64, levels: usize) -> Option<usize> {
    let of = |order: &usize| {
        let options = FmmOptions { order: *order, ..options.clone() };
        let softened = softened(&options, options.theta);
        softened.is_some_and(|softened| orders::reach(softened.order, near2(softened.theta), eps, levels))
    };
    (1..=options.max_order()).rev().find(of)
}

/// Softened 1/r, where an expansion of it is asked for. The tree has so many `levels`.
pub fn kernel(options: &FmmOptions, map: &BoxMap, levels: usize) -> Option<Arc<dyn Function>> {
    let is_asked = options.basis == Basis::Softened && !options.near_only;
    is_asked.then(|| Arc::new(Softened::new(map.length(options.eps), levels)) as Arc<dyn Function>)
}

/// The tree of a plan, and the options that it is computed with.
pub(super) fn tree(geometry: Geometry, options: &FmmOptions) -> Result<(Tree, FmmOptions), FmmError> {
    let mut options = options.clone();
    loop {
        let tree = periodic::tree(geometry, &options, near2(options.theta))?;
        let Some(other) = other(&options, tree.map.length(options.eps), tree.levels.len()) else {
            return Ok((tree, options));
        };
        // Images depend on the angle.
        if other.leaf == options.leaf && other.theta == options.theta {
            return Ok((tree, other));
        }
        options = other;
    }
}
