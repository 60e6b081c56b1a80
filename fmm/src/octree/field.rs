//! Results in the user's units.

use super::executor::{State, Work};
use super::{FmmError, Outputs};
use crate::arith::scale::ldexp;
use crate::data::parts;
use crate::parallel::prelude::*;
use crate::tree::boxmap::BoxMap;
use std::mem::MaybeUninit;

/// Particles whose results one thread writes at a time.
const CHUNK: usize = 4096;

impl State<'_> {
    /// Writes the results in the user's units and the order of the input. A result beyond the range of f64 is an error.
    pub(super) fn write(&self, p2p: &Work, out: &mut Outputs) -> Result<(), FmmError> {
        self.write_all(p2p, out);
        match beyond(&columns(out)) {
            Some((column, k)) => Err(is_beyond(column, k)),
            None => Ok(()),
        }
    }

    /// The same, whatever the results are.
    fn write_all(&self, p2p: &Work, out: &mut Outputs) {
        let [gx, gy, gz] = &mut out.gradient;
        let force = [&mut *out.potential, &mut **gx, &mut **gy, &mut **gz];
        self.fill(force, out.hessian.iter_mut().flatten().map(|column| &mut **column));
        self.finish(p2p, out);
    }

    /// The same in new columns: potential, gradient, and second derivatives where there are some. They are written by all threads
    /// and not cleared before: the first use of memory takes longer than what is written there.
    pub fn written(&self, p2p: &Work, has_hessian: bool) -> Vec<Vec<f64>> {
        let count = self.plan.place.len();
        let mut columns = vec![Vec::new(); if has_hessian { 10 } else { 4 }];
        let mut rooms = columns.iter_mut().flat_map(|column| parts(column, std::slice::from_ref(&count)));
        let force = std::array::from_fn(|_| rooms.next().expect("there are four"));
        self.fill(force, rooms);
        // SAFETY: all of each was written.
        columns.iter_mut().for_each(|column| unsafe { column.set_len(count) });
        let mut rest = columns.iter_mut().map(|column| &mut column[..]);
        let mut next = || rest.next().expect("there are as many columns");
        let (potential, gradient) = (next(), [next(), next(), next()]);
        let hessian = has_hessian.then(|| [next(), next(), next(), next(), next(), next()]);
        self.finish(p2p, &mut Outputs { potential, gradient, hessian });
        columns
    }

    /// Writes the sums that f64 holds, at every target.
    fn fill<'c, P: Place + 'c>(&self, force: [&mut [P]; 4], hessian: impl Iterator<Item = &'c mut [P]>) {
        let (plan, units) = (self.plan, Units::of(self));
        let columns = force.map(|c| c.par_chunks_mut(CHUNK));
        let [potential, gx, gy, gz] = columns;
        potential.zip(gx.zip(gy.zip(gz))).zip(plan.place.par_chunks(CHUNK)).for_each(|((p, (gx, (gy, gz))), place)| {
            for (k, place) in place.iter().enumerate() {
                let force = self.sums.force[*place as usize];
                p[k].put(units.in_users(0, force[0]));
                gx[k].put(units.in_users(1, force[1]));
                gy[k].put(units.in_users(2, force[2]));
                gz[k].put(units.in_users(3, force[3]));
            }
        });
        for (a, column) in hessian.enumerate() {
            let chunks = column.par_chunks_mut(CHUNK).zip(plan.place.par_chunks(CHUNK));
            chunks.for_each(|(column, place)| {
                let places = column.iter_mut().zip(place);
                places.for_each(|(x, place)| x.put(units.in_users(a + 4, self.sums.hessian[*place as usize][a])));
            });
        }
    }

    /// Targets whose sums are apart, and a gradient that there is none of.
    fn finish(&self, p2p: &Work, out: &mut Outputs) {
        let units = Units::of(self);
        for (k, sums) in &p2p.wide {
            let place = self.plan.tree.targets().order[*k] as usize;
            let value = |a: usize, boxed: f64| {
                let mut sum = sums[a];
                let (rest, exponent) = units.wide(a, boxed);
                sum.add(rest, exponent);
                sum.to_f64()
            };
            out.potential[place] = value(0, self.sums.force[*k][0]);
            (0..3).for_each(|a| out.gradient[a][place] = value(a + 1, self.sums.force[*k][a + 1]));
            let hessian = out.hessian.iter_mut().flatten().enumerate();
            hessian.for_each(|(a, column)| column[place] = value(a + 4, self.sums.hessian[*k][a]));
        }
        if !p2p.has_gradient {
            out.gradient.iter_mut().for_each(|g| g.fill(0.0));
        }
    }
}

/// Where a number is written: over another one, or where nothing is yet.
trait Place: Send {
    fn put(&mut self, x: f64);
}

impl Place for f64 {
    #[inline(always)]
    fn put(&mut self, x: f64) {
        *self = x;
    }
}

impl Place for MaybeUninit<f64> {
    #[inline(always)]
    fn put(&mut self, x: f64) {
        self.write(x);
    }
}

/// Brings results of boxes into the user's units.
struct Units<'a> {
    map: &'a BoxMap,
    charges: i32,
    /// For potential, gradient and second derivatives powers of two, and these as numbers, or 0 where they are none.
    powers: [i32; 10],
    factors: [f64; 10],
}

impl<'a> Units<'a> {
    fn of(state: &'a State) -> Units<'a> {
        let (map, charges) = (&state.plan.tree.map, state.charges.exponent);
        let mut units = Units { map, charges, powers: [0; 10], factors: [0.0; 10] };
        units.powers = std::array::from_fn(|a| units.wide(a, 0.0).1);
        // A product is faster than a scaling by any power of two.
        units.factors = units.powers.map(|e| if e.abs() < 1000 { 2f64.powi(e) } else { 0.0 });
        units
    }

    /// A number and a power of two.
    #[inline(always)]
    fn wide(&self, a: usize, boxed: f64) -> (f64, i32) {
        let (value, exponent) = self.map.wide(a, boxed);
        (value, exponent + self.charges)
    }

    #[inline(always)]
    fn in_users(&self, a: usize, boxed: f64) -> f64 {
        let value = self.wide(a, boxed).0;
        if self.factors[a] != 0.0 { value * self.factors[a] } else { ldexp(value, self.powers[a]) }
    }
}

/// All columns: the potential, three of the gradient, and six of the Hessian where it was asked for.
fn columns<'o>(out: &'o Outputs) -> Vec<&'o [f64]> {
    let gradient = out.gradient.iter().map(|column| &**column);
    let hessian = out.hessian.iter().flatten().map(|column| &**column);
    [&*out.potential].into_iter().chain(gradient).chain(hessian).collect()
}

/// The first column with something that is no number of f64, and where it stands.
pub fn beyond(columns: &[&[f64]]) -> Option<(usize, usize)> {
    columns.iter().enumerate().find_map(|(column, numbers)| {
        // Looking at all numbers of a chunk is far faster than stopping at one.
        let first = |(chunk, numbers): (usize, &[f64])| match numbers.iter().fold(true, |all, x| all & x.is_finite()) {
            true => None,
            false => numbers.iter().position(|x| !x.is_finite()).map(|k| chunk * CHUNK + k),
        };
        Some((column, rayon::iter::ParallelIterator::find_map_first(numbers.par_chunks(CHUNK).enumerate(), first)?))
    })
}

/// The error for a result beyond the range of f64.
pub fn is_beyond(column: usize, k: usize) -> FmmError {
    let name = match column {
        0 => "potential",
        1..=3 => "gradient",
        _ => "Hessian",
    };
    FmmError::Range(format!(
        "the {name} at particle {k}, counted from 0, is beyond 1.8e308, the range of f64, since another particle is so close to \
         it; give longer lengths or smaller charges, by taking other units"
    ))
}
