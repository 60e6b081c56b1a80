//! The charges and dipole moments of a run in the order of a tree's sources, scaled by a power of two (RULES H6).

use crate::arith::scale::{exponent, ldexp};
use crate::data::particles::Columns;
use crate::data::problem::Sources;
use crate::parallel::prelude::*;
use crate::tree::Tree;
use crate::tree::boxmap::BoxMap;

/// Charges `q * 2^-exponent` and dipole moments in the same unit times the box, the largest magnitude in (1/2, 1].
#[derive(Clone, PartialEq, Debug)]
pub struct Charges {
    /// In the order of the tree.
    pub scaled: Vec<f64>,
    /// The components of the dipole moments, where there are any.
    pub dipoles: Option<[Vec<f64>; 3]>,
    /// The power of two `e` that they are in units of.
    pub exponent: i32,
    /// The least magnitude of a scaled charge or dipole moment that is not 0; 1 if there is none. A moment's is that of its
    /// largest component.
    pub least: f64,
}

/// The extremes of all charges and dipole moments, needed before any is scaled: the least charge that is not 0, which is infinite if
/// there is none, the largest one, and the largest component of a moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ends {
    pub smallest: f64,
    pub largest: f64,
    pub moment: f64,
}

impl Ends {
    pub fn of(sources: &Sources) -> Ends {
        let [smallest, largest] = extremes(sources.charges.unwrap_or_default());
        Ends { smallest, largest, moment: sources.dipoles.map_or(0.0, largest_moment) }
    }

    /// The extremes of both.
    pub fn join(self, other: Ends) -> Ends {
        Ends {
            smallest: self.smallest.min(other.smallest),
            largest: self.largest.max(other.largest),
            moment: self.moment.max(other.moment),
        }
    }
}

impl Charges {
    /// Takes charges in the order of the input; there are as many as sources, and all are finite.
    pub fn new<'a>(tree: &Tree, sources: impl Into<Sources<'a>>) -> Charges {
        let sources = sources.into();
        Charges::within(&tree.map, Some(&tree.sources.order), &sources, &Ends::of(&sources))
    }

    /// Takes charges in some order, or as they stand. Among these or others are those at the `ends`; `least` is that of these alone.
    pub fn within(map: &BoxMap, order: Option<&[u32]>, sources: &Sources, ends: &Ends) -> Charges {
        let input = sources.charges.unwrap_or_default();
        let Some(dipoles) = sources.dipoles else {
            let exponent = exponent(ends.largest);
            let scaled = scaled(order, input, exponent);
            let least = match ldexp(ends.smallest, -exponent) {
                // There is none but 0, or it falls below the smallest number.
                f64::INFINITY | 0.0 => least(&scaled),
                least => least,
            };
            return Charges { least, scaled, dipoles: None, exponent };
        };
        let moments = Moments::new(map, dipoles, ends.moment);
        let exponent = match ends.largest > 0.0 {
            true if moments.largest > 0.0 => exponent(ends.largest).max(moments.exponent()),
            true => exponent(ends.largest),
            false => moments.exponent(),
        };
        let charges = match sources.charges {
            Some(charges) => scaled(order, charges, exponent),
            None => vec![0.0; dipoles[0].len()],
        };
        let dipoles = moments.scaled(order, exponent);
        let sizes = (0..charges.len()).map(|k| dipoles.iter().fold(0.0, |a: f64, p| a.max(p[k].abs())));
        let least = sizes.filter(|p| *p > 0.0).fold(least(&charges), f64::min);
        Charges { scaled: charges, dipoles: Some(dipoles), exponent, least }
    }
}

/// Charges in an order times `2^-exponent`.
fn scaled(order: Option<&[u32]>, input: &[f64], exponent: i32) -> Vec<f64> {
    // A product is faster; it is exact where it does not fall below the smallest number.
    let factor = if exponent.abs() < 1000 { 2f64.powi(-exponent) } else { 0.0 };
    let scale = |q: f64| if factor != 0.0 { q * factor } else { ldexp(q, -exponent) };
    in_order(order, input, scale)
}

/// The values of `of` for each number, in an order or as they stand.
fn in_order(order: Option<&[u32]>, input: &[f64], of: impl Fn(f64) -> f64 + Sync) -> Vec<f64> {
    match order {
        Some(order) => {
            assert_eq!(input.len(), order.len(), "one number for each source");
            order.par_iter().map(|k| of(input[*k as usize])).collect()
        }
        None => input.par_iter().map(|x| of(*x)).collect(),
    }
}

fn largest_moment(columns: Columns) -> f64 {
    columns.iter().flat_map(|c| c.iter()).fold(0.0, |a: f64, p| a.max(p.abs()))
}

/// The least magnitude that is not 0, which is infinite if there is none, and the largest.
fn extremes(input: &[f64]) -> [f64; 2] {
    let none = || [f64::INFINITY, 0.0];
    let with = |[least, most]: [f64; 2], q: &f64| {
        let q = q.abs();
        [if q > 0.0 { least.min(q) } else { least }, most.max(q)]
    };
    input.par_iter().fold_reduce(none, with, |a, b| [a[0].min(b[0]), a[1].max(b[1])])
}

/// The least magnitude that is not 0; 1 if there is none.
fn least(scaled: &[f64]) -> f64 {
    scaled.par_iter().map(|q| if *q == 0.0 { 1.0 } else { q.abs() }).reduce(|| 1.0, f64::min)
}

/// Dipole moments of the input and what brings them to boxes.
struct Moments<'a> {
    columns: Columns<'a>,
    largest: f64,
    /// The power of two of the largest, and of scaled coordinates.
    shifts: [i32; 2],
    size: f64,
}

impl<'a> Moments<'a> {
    fn new(map: &BoxMap, columns: Columns<'a>, largest: f64) -> Moments<'a> {
        Moments { columns, largest, shifts: [exponent(largest), map.shift], size: map.size }
    }

    /// A component over the box, in units of a power of two that keeps it within f64, and this power.
    fn in_boxes(&self, p: f64) -> (f64, i32) {
        (ldexp(p, -self.shifts[0]) / self.size, self.shifts[0] - self.shifts[1])
    }

    /// The exponent of the largest component over the box.
    fn exponent(&self) -> i32 {
        let (value, shift) = self.in_boxes(self.largest);
        exponent(value) + shift
    }

    fn scaled(&self, order: Option<&[u32]>, exponent: i32) -> [Vec<f64>; 3] {
        let one = |p: f64| {
            let (value, shift) = self.in_boxes(p);
            ldexp(value, shift - exponent)
        };
        self.columns.map(|column| in_order(order, column, one))
    }
}

/// The magnitudes of the largest and of the least charge or dipole moment over the box that is not 0, as powers of two.
pub fn span(map: &BoxMap, sources: &Sources) -> Option<[i32; 2]> {
    let charges = sources.charges.unwrap_or_default().iter().filter(|q| **q != 0.0).map(|q| exponent(q.abs()));
    let moments = sources.dipoles.map(|columns| Moments::new(map, columns, largest_moment(columns)));
    let one = |moments: &Moments, k: usize| {
        let size = moments.columns.iter().fold(0.0, |a: f64, c| a.max(c[k].abs()));
        let (value, shift) = Moments { shifts: [exponent(size), moments.shifts[1]], ..*moments }.in_boxes(size);
        (size > 0.0).then(|| exponent(value) + shift)
    };
    let dipoles = moments.iter().flat_map(|m| (0..m.columns[0].len()).filter_map(|k| one(m, k)));
    let join = |span: Option<[i32; 2]>, e: i32| Some(span.map_or([e, e], |[a, b]| [a.max(e), b.min(e)]));
    charges.chain(dipoles).fold(None, join)
}
