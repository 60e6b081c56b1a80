//! Periodic boundaries of a plan: what is refused, points in the box, and the uniform background (RULES H16).

use super::executor::State;
use super::{FmmError, FmmOptions, softening};
use crate::data::particles::Columns;
use crate::data::periodic::Periodic;
use crate::data::problem::Geometry;
use crate::expansion::basis::Basis;
use crate::parallel::prelude::*;
use crate::tree::Tree;
use crate::tree::charges::Charges;
use std::f64::consts::PI;
use std::ops::Range;

/// The least opening angle with periodic boundaries.
const LEAST_THETA: f64 = 0.125;

/// Says which option does not go with periodic boundaries.
pub(super) fn check(periodic: &Periodic, options: &FmmOptions) -> Result<(), FmmError> {
    let wrong = |what: String| Err(FmmError::Option(what));
    if !(periodic.length.is_normal() && periodic.length > 0.0) {
        return wrong(format!("the period must be a normal number above 0, not {:?}", periodic.length));
    }
    if periodic.count() == 0 {
        return wrong("periodic boundaries need at least one axis".into());
    }
    if options.enlarge != 1.0 {
        return wrong("with periodic boundaries the root cell is a period, which cannot be enlarged".into());
    }
    if options.theta < LEAST_THETA {
        return wrong(format!(
            "with periodic boundaries theta must be at least {LEAST_THETA}, since smaller angles have too many near images; not {:?}",
            options.theta
        ));
    }
    softening::check_images(options, options.eps / periodic.length)
}

/// The tree of a plan, with the images of its cells where boundaries are periodic.
pub(super) fn tree(geometry: Geometry, options: &FmmOptions, near2: u64) -> Result<Tree, FmmError> {
    let Some(periodic) = &options.periodic else {
        let Geometry { sources, targets } = geometry;
        let root = options.root(&[sources, targets.unwrap_or(sources)]);
        return Ok(Tree::in_box(geometry, options.leaf, root));
    };
    let (sources, targets) = (wrapped(geometry.sources, periodic), geometry.targets.map(|t| wrapped(t, periodic)));
    let (sources, targets) = (columns(&sources), targets.as_ref().map(columns));
    check_extent(sources, targets, periodic)?;
    let mut tree = Tree::with_period(Geometry { sources, targets }, options.leaf, Some(periodic));
    tree.repeat(periodic.axes, near2);
    Ok(tree)
}

/// Points moved into the box along periodic axes.
pub fn wrapped(columns: Columns, periodic: &Periodic) -> [Vec<f64>; 3] {
    [0, 1, 2].map(|a| columns[a].par_iter().map(|x| periodic.wrap(a, *x)).collect())
}

fn columns(points: &[Vec<f64>; 3]) -> Columns<'_> {
    points.each_ref().map(|column| &column[..])
}

/// The box is a cube: along a free axis, points may not lie farther apart than a period.
fn check_extent(sources: Columns, targets: Option<Columns>, periodic: &Periodic) -> Result<(), FmmError> {
    let ends = |a: usize| {
        let all = || sources[a].iter().chain(targets.iter().flat_map(|t| t[a]));
        [all().fold(f64::INFINITY, |l, x| l.min(*x)), all().fold(f64::NEG_INFINITY, |h, x| h.max(*x))]
    };
    check_ends([ends(0), ends(1), ends(2)], periodic)
}

/// The same for points whose coordinates have these ends.
pub fn check_ends(ends: [[f64; 2]; 3], periodic: &Periodic) -> Result<(), FmmError> {
    for a in (0..3).filter(|a| !periodic.axes[*a]) {
        let [low, high] = ends[a];
        let extent = high - low;
        if extent > periodic.length {
            let axis = ["x", "y", "z"][a];
            return Err(FmmError::Range(format!(
                "along {axis}, which is not periodic, particles lie {extent:e} apart, more than the period {:e}; take several \
                 periods as one, with copies of the particles",
                periodic.length
            )));
        }
    }
    Ok(())
}

/// Adds what the uniform background that neutralises the charges gives beside the harmonic part, which the sums over images
/// hold: `2 pi / 3 * sum of q_j |x - x_j|^2` in box units.
pub(super) fn add_background(state: &mut State) {
    if has_background(&state.plan.options) {
        let moments = moments(state.charges, &state.plan.tree.sources.unit);
        add_background_of(state, moments);
    }
}

/// Whether a uniform background neutralises the charges: those of a kernel have none, as its sum over all images converges.
pub fn has_background(options: &FmmOptions) -> bool {
    let is_coulomb = options.basis != Basis::Chebyshev;
    is_coulomb && !options.near_only && options.periodic.as_ref().is_some_and(|p| p.count() == 3)
}

/// The same, given the moments of all charges.
pub fn add_background_of(state: &mut State, moments: [f64; 5]) {
    let targets = state.plan.tree.targets();
    let [charge, dipole @ .., square] = moments;
    let factor = 2.0 * PI / 3.0;
    let [x, y, z] = &targets.unit;
    state.sums.force.par_iter_mut().zip(x.par_iter().zip(y).zip(z)).for_each(|(force, ((x, y), z))| {
        let x = [*x, *y, *z];
        let r2: f64 = x.iter().map(|x| x * x).sum();
        let along: f64 = x.iter().zip(dipole).map(|(x, d)| x * d).sum();
        force[0] += factor * (charge * r2 - 2.0 * along + square);
        (0..3).for_each(|a| force[a + 1] += 2.0 * factor * (charge * x[a] - dipole[a]));
    });
    state.sums.hessian.par_iter_mut().for_each(|hessian| {
        // xx, yy and zz.
        [0, 3, 5].into_iter().for_each(|k| hessian[k] += 2.0 * factor * charge);
    });
}

/// The sums of q, q x, q y, q z and q |x|^2, in an order that does not depend on the number of threads. A dipole p gives what two
/// charges do in the limit: 0, p and 2 p.x.
fn moments(charges: &Charges, x: &[Vec<f64>; 3]) -> [f64; 5] {
    let n = charges.scaled.len();
    let part = |first: usize| add_moments([0.0; 5], charges, x, first..(first + PART).min(n));
    let parts: Vec<[f64; 5]> = (0..n.div_ceil(PART)).into_par_iter().map(|p| part(p * PART)).collect();
    parts.into_iter().fold([0.0; 5], sum)
}

/// Sources whose moments are summed one after the other.
pub const PART: usize = 1 << 12;

pub fn sum(mut a: [f64; 5], b: [f64; 5]) -> [f64; 5] {
    (0..5).for_each(|k| a[k] += b[k]);
    a
}

/// Adds the moments of some sources, one after the other.
pub fn add_moments(to: [f64; 5], charges: &Charges, x: &[Vec<f64>; 3], sources: Range<usize>) -> [f64; 5] {
    let q = &charges.scaled;
    let one = |j: usize| {
        let at = [x[0][j], x[1][j], x[2][j]];
        let r2: f64 = at.iter().map(|x| x * x).sum();
        let of_charge = [1.0, at[0], at[1], at[2], r2].map(|m| q[j] * m);
        let Some(dipoles) = &charges.dipoles else { return of_charge };
        let p = [0, 1, 2].map(|a| dipoles[a][j]);
        let along: f64 = p.iter().zip(at).map(|(p, x)| p * x).sum();
        sum(of_charge, [0.0, p[0], p[1], p[2], 2.0 * along])
    };
    sources.map(one).fold(to, sum)
}
