//! Whether an expansion comes closer to a function with its order: whether the function is smooth wherever that matters (RULES H15).

use super::{Cells, DIRECTIONS};
use fmm::expansion::chebyshev::{Function, Misfit, misfit};
use fmm::parallel::prelude::*;
use std::f64::consts::PI;
use std::sync::Arc;

/// By how much the error of an expansion must fall from order 3 to order 6, or from there to order 9 for a function that changes much
/// within a cell. That of a smooth function falls by more than half an order of magnitude, that of a function with a jump or a bend by
/// less than 2.
const LEAST_GAIN: f64 = 2.5;

/// The part of a kernel's largest values that an error between the farthest cells has to be for it to matter whether it falls.
const FARTHEST: f64 = 1e-4;

/// The part of what sources nearby give that does not matter in what cells farther away do.
const NOTHING: f64 = 1e-6;

/// Up to so many levels of super-cells a kernel is looked at.
const MOST_LEVELS: usize = 12;

/// Nodes of the polynomials that tell a function that falls fast from one with a jump or a bend.
const NODES: usize = 96;

/// The part of the largest coefficient that the last ones of a smooth function are below. A bend of a thousandth gives more.
const LAST: f64 = 1e-7;

/// The edge of the largest cells between which a kernel is not smooth.
pub fn rough(kernel: &Arc<dyn Function>, cells: &Cells, supercells: Option<usize>) -> Option<f64> {
    let of = |order: usize, edge: f64| misfit(order, cells.near2, kernel, edge);
    let falls = |from: Misfit, to: Misfit| from.off <= 1e-12 * from.largest || to.off * LEAST_GAIN <= from.off;
    // Only images lie farther apart than the box is wide.
    let most = if cells.images.is_some() { f64::INFINITY } else { 1.0 };
    let is_steep = |edge: f64| is_analytic(&**kernel, edge, cells.near2, most);
    let finest = 2f64.powi(1 - cells.most.max(3) as i32);
    let nothing = |edge: f64| NOTHING * nearby(&**kernel, edge, finest);
    let below = (2..cells.levels.max(3) as u32).into_par_iter().map(|level| 2f64.powi(-(level as i32)));
    let found = rayon::iter::ParallelIterator::find_first(below, |edge| {
        let (coarse, fine, nothing) = (of(3, *edge), of(6, *edge), nothing(*edge));
        let matters = fine.farthest > FARTHEST * fine.largest && fine.farthest * LEAST_GAIN > coarse.farthest;
        let (is_near_good, is_far_good) =
            (fine.off <= nothing || falls(coarse, fine), fine.farthest <= nothing || !matters);
        if is_near_good && is_far_good {
            return false;
        }
        let finest = of(9, *edge);
        !(is_near_good || falls(fine, finest) || is_steep(*edge))
            || !(is_far_good || finest.farthest * LEAST_GAIN <= fine.farthest)
    });
    found.or_else(|| {
        // Images may be so far that what they give is nothing.
        let supercells = (0..supercells?.min(MOST_LEVELS)).rev().map(|k| 3f64.powi(k as i32));
        let above: Vec<f64> = supercells.chain([0.5]).collect();
        rayon::iter::ParallelIterator::find_first(above.into_par_iter(), |edge| {
            let fine = of(6, *edge);
            fine.off > nothing(*edge) && !falls(fine, of(9, *edge)) && !is_steep(*edge)
        })
    })
}

/// The sum over sources closer than an edge, for each that is about as far away as the edge: of a kernel that falls fast, cells
/// far beyond its own length contribute nothing beside that, with an expansion or without. By the kernel's values at half the edge, a
/// quarter and so on, down to a quarter of the smallest cells' edge, times the volumes.
fn nearby(kernel: &dyn Function, edge: f64, finest: f64) -> f64 {
    let halves = std::iter::successors(Some(0.5 * edge), |length| Some(0.5 * length));
    let parts = halves.take_while(|length| 4.0 * length >= finest).map(|length| {
        let places = DIRECTIONS.map(|d| {
            let size = d.iter().map(|x| x * x).sum::<f64>().sqrt();
            d.map(|x| x * length / size)
        });
        let mut out = [[0.0; 4]; DIRECTIONS.len()];
        kernel.values(&places, &mut out);
        let largest = out.iter().map(|o| o[0].abs()).filter(|x| x.is_finite()).fold(0.0, f64::max);
        largest * (length / edge).powi(3)
    });
    parts.sum()
}

/// Whether a function is analytic between the nearest cells of an edge, though it may fall by so many orders of magnitude there that none
/// of an expansion's orders tells: the coefficients of its Chebyshev polynomials along lines fall to nothing, where a jump or a bend
/// leaves 1/n or 1/n^2. No coordinate of a difference is above `most`.
fn is_analytic(kernel: &dyn Function, edge: f64, near2: u64, most: f64) -> bool {
    let border = (near2 as f64).sqrt().ceil();
    let angles: Vec<f64> = (0..NODES).map(|k| PI * (k as f64 + 0.5) / NODES as f64).collect();
    let mut lines = Vec::new();
    for centre in [[border, 0.0, 0.0], [0.0, border, 0.0], [1.0, -border, 1.0 - border]] {
        for (u, v) in [(0.0, 0.0), (0.37, -0.61), (-0.83, 0.29), (0.71, 0.93)] {
            lines.extend((0..3).map(|axis| {
                let mut middle: [f64; 3] = centre;
                middle[(axis + 1) % 3] += u;
                middle[(axis + 2) % 3] += v;
                (axis, middle)
            }));
        }
    }
    let reaches = |(axis, middle): &(usize, [f64; 3])| {
        let end = |a: usize| middle[a].abs() + if a == *axis { 1.0 } else { 0.0 };
        (0..3).all(|a| end(a) * edge <= most)
    };
    let (mut largest, mut last) = (0.0f64, 0.0f64);
    for (axis, middle) in lines.into_iter().filter(reaches) {
        let place = |angle: &f64| {
            let mut d = middle;
            d[axis] += angle.cos();
            d.map(|x| x * edge)
        };
        let places: Vec<[f64; 3]> = angles.iter().map(place).collect();
        let mut out = vec![[0.0; 4]; NODES];
        kernel.values(&places, &mut out);
        let coefficient =
            |n: usize| out.iter().zip(&angles).map(|(o, angle)| o[0] * (n as f64 * angle).cos()).sum::<f64>().abs();
        largest = (0..NODES).map(coefficient).fold(largest, f64::max);
        last = (3 * NODES / 4..NODES).map(coefficient).fold(last, f64::max);
    }
    last <= LAST * largest
}
