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

/// Whether all cells are near each other: others are on the third level at the earliest, images of cells on the second.
fn is_all_near(options: &FmmOptions, levels: usize) -> bool {
    levels < if options.periodic.is_some() { 2 } else { 3 }
}

/// The part of 1/r's gradient that softening takes away from pairs as far apart as a length, in softening lengths per that length:
/// 1 - r^3 / (r^2 + eps^2)^(3/2).
pub fn change(edges: f64) -> f64 {
    -(-1.5 * (edges * edges).ln_1p()).exp_m1()
}

/// The opening angle at which the images that are near the root are the neighbours of the box, which alone are softened.
const OF_NEIGHBOURS: f64 = 0.5;

/// The opening angle to compute with, given the softening length in boxes: at smaller ones than that of the neighbours more images would
/// be softened.
fn angle(options: &FmmOptions, eps: f64) -> f64 {
    // Other images are a box away at least.
    let is_softened = || options.basis != Basis::Softened && change(eps) > SHARE * usual(options);
    let has_more = options.periodic.is_some() && options.theta < OF_NEIGHBOURS;
    if has_more && is_softened() { OF_NEIGHBOURS } else { options.theta }
}

/// The same problem at an opening angle, in an expansion of 1/r: by an order that is as near and [`orders::more`], or the highest. The
/// softening length is in edges of the smallest cells.
fn at_angle(options: &FmmOptions, theta: f64, edges: f64) -> FmmOptions {
    if theta == options.theta {
        return options.clone();
    }
    // The Cartesian expansion leaves out more of images that are two boxes away.
    let of = |order: usize| FmmOptions { basis: Basis::Solid, order, theta, lower_beyond: None, ..options.clone() };
    let most = Basis::Solid.max_order();
    let as_near = (1..=most).find(|order| usual(&of(*order)) <= usual(options));
    of(as_near.map_or(most, |order| most.min(order + orders::more(edges))))
}

/// Whether softened images are the same ones at an opening angle, whatever the order.
pub(super) fn images_agree(options: &FmmOptions, theta: f64) -> bool {
    let Some(periodic) = &options.periodic else { return true };
    let highest = FmmOptions { order: options.max_order(), theta, ..options.clone() };
    angle(&highest, options.eps / periodic.length) == theta
}

/// Says that no order is as near at the angle where images agree, with a softening length in periods.
pub(super) fn check_images(options: &FmmOptions, eps: f64) -> Result<(), FmmError> {
    let is_coulomb = !options.near_only && options.basis != Basis::Chebyshev;
    let theta = angle(options, eps);
    if !is_coulomb || theta == options.theta || usual(&at_angle(options, theta, eps)) <= usual(options) {
        return Ok(());
    }
    Err(FmmError::Option(format!(
        "with periodic boundaries --eps softens the box and its 26 neighbours, which are the near images at theta 0.5 alone, where no \
         order comes as near as order {} at theta {:?}; take --theta 0.5 or a lower order",
        options.order, options.theta
    )))
}

/// Other options where softening asks for them, given the softening length in boxes and the levels of the tree: those of another
/// expansion, or of larger leaves where there is none.
pub fn other(options: &FmmOptions, eps: f64, levels: usize) -> Option<FmmOptions> {
    if options.eps == 0.0 || options.near_only || options.basis == Basis::Chebyshev {
        return None;
    }
    let theta = angle(options, eps);
    if is_all_near(options, levels) {
        return (theta != options.theta).then(|| at_angle(options, theta, edges(eps, levels)));
    }
    let larger = || Some(FmmOptions { leaf: options.leaf.saturating_mul(A_LEVEL), ..options.clone() });
    if eps > MOST {
        return larger();
    }
    // Cells that are not near have an edge of theirs between them at least.
    let edges = edges(eps, levels);
    if options.basis == Basis::Softened || change(edges) <= SHARE * usual(options) {
        return None;
    }
    let is_near = |options: &FmmOptions| orders::reach(options.order, near2(options.theta), eps, levels);
    let at = |theta: f64| softened(options, theta, edges).filter(is_near);
    // Softened images are those of the usual angle.
    let at_small = || at(theta.min(SMALL_THETA)).filter(|_| options.periodic.is_none());
    at(theta).or_else(at_small).or_else(larger)
}

/// The options of a tree that stays, with its opening angle: those asked for, or what softening needs in place of them.
pub(super) fn on_tree(asked: &FmmOptions, theta: f64, eps: f64, levels: usize) -> FmmOptions {
    match other(asked, eps, levels) {
        Some(other) if other.leaf == asked.leaf && other.theta == theta => other,
        // Polynomials of the highest order may be less near than the order asked for.
        Some(_) if !is_all_near(asked, levels) => {
            softened(asked, theta, edges(eps, levels)).unwrap_or_else(|| at_angle(asked, theta, edges(eps, levels)))
        }
        _ => at_angle(asked, theta, edges(eps, levels)),
    }
}

/// A softening length in boxes in edges of the smallest cells.
pub(super) fn edges(eps: f64, levels: usize) -> f64 {
    eps * (levels.max(1) as f64 - 1.0).exp2()
}

/// The same problem in the expansion of softened 1/r and at an opening angle: by an order that is as near to its kernel as the given one is
/// to 1/r, if there is one, and [`orders::more`]. The softening length is in edges of the smallest cells.
pub(super) fn softened(options: &FmmOptions, theta: f64, edges: f64) -> Option<FmmOptions> {
    let more = orders::more(edges);
    let softened = FmmOptions { basis: Basis::Softened, theta, ..options.clone() };
    let (most, wanted) = (softened.max_order(), usual(options));
    if options.basis == Basis::Solid && theta == options.theta {
        return Some(FmmOptions { order: most.min(options.order + more), ..softened });
    }
    let of = |order: usize| FmmOptions { order, lower_beyond: None, ..softened.clone() };
    let order = (1..=most).find(|order| usual(&of(*order)) <= wanted)?;
    Some(of(most.min(order + more)))
}

/// The highest order, of those that may be asked for, that softened 1/r is expanded as nearly as.
pub(super) fn highest(options: &FmmOptions, eps: f64, levels: usize) -> Option<usize> {
    let of = |order: &usize| {
        let options = FmmOptions { order: *order, ..options.clone() };
        let softened = softened(&options, angle(&options, eps), edges(eps, levels));
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
