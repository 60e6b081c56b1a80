//! Results in the user's units.

use super::executor::{State, Work};
use super::{FmmError, Outputs};
use crate::arith::scale::ldexp;
use rayon::prelude::*;

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
    pub(crate) fn write_all(&self, p2p: &Work, out: &mut Outputs) {
        let (plan, map) = (self.plan, &self.plan.tree.map);
        let wide = |a: usize, boxed: f64| {
            let (value, exponent) = map.wide(a, boxed);
            (value, exponent + self.charges.exponent)
        };
        let powers: [i32; 10] = std::array::from_fn(|a| wide(a, 0.0).1);
        // A product is faster than a scaling by any power of two.
        let factors = powers.map(|e| if e.abs() < 1000 { 2f64.powi(e) } else { 0.0 });
        let in_users = |a: usize, boxed: f64| {
            let value = wide(a, boxed).0;
            if factors[a] != 0.0 { value * factors[a] } else { ldexp(value, powers[a]) }
        };
        let [gx, gy, gz] = &mut out.gradient;
        let columns = [&mut *out.potential, &mut **gx, &mut **gy, &mut **gz].map(|c| c.par_chunks_mut(CHUNK));
        let [potential, gx, gy, gz] = columns;
        potential.zip(gx.zip(gy.zip(gz))).zip(plan.place.par_chunks(CHUNK)).for_each(|((p, (gx, (gy, gz))), place)| {
            for (k, place) in place.iter().enumerate() {
                let force = self.force[*place as usize];
                p[k] = in_users(0, force[0]);
                gx[k] = in_users(1, force[1]);
                gy[k] = in_users(2, force[2]);
                gz[k] = in_users(3, force[3]);
            }
        });
        for (a, column) in out.hessian.iter_mut().flatten().enumerate() {
            let chunks = column.par_chunks_mut(CHUNK).zip(plan.place.par_chunks(CHUNK));
            chunks.for_each(|(column, place)| {
                let places = column.iter_mut().zip(place);
                places.for_each(|(x, place)| *x = in_users(a + 4, self.hessian[*place as usize][a]));
            });
        }
        for (k, sums) in &p2p.wide {
            let place = plan.tree.targets().order[*k] as usize;
            let value = |a: usize, boxed: f64| {
                let mut sum = sums[a];
                let (rest, exponent) = wide(a, boxed);
                sum.add(rest, exponent);
                sum.to_f64()
            };
            out.potential[place] = value(0, self.force[*k][0]);
            (0..3).for_each(|a| out.gradient[a][place] = value(a + 1, self.force[*k][a + 1]));
            let hessian = out.hessian.iter_mut().flatten().enumerate();
            hessian.for_each(|(a, column)| column[place] = value(a + 4, self.hessian[*k][a]));
        }
        if !p2p.has_gradient {
            out.gradient.iter_mut().for_each(|g| g.fill(0.0));
        }
    }
}

/// All columns: the potential, three of the gradient, and six of the Hessian where it was asked for.
fn columns<'o>(out: &'o Outputs) -> Vec<&'o [f64]> {
    let gradient = out.gradient.iter().map(|column| &**column);
    let hessian = out.hessian.iter().flatten().map(|column| &**column);
    [&*out.potential].into_iter().chain(gradient).chain(hessian).collect()
}

/// The first column with something that is no number of f64, and where it stands.
pub(crate) fn beyond(columns: &[&[f64]]) -> Option<(usize, usize)> {
    columns.iter().enumerate().find_map(|(column, numbers)| {
        // Looking at all numbers of a chunk is far faster than stopping at one.
        let first = |(chunk, numbers): (usize, &[f64])| match numbers.iter().fold(true, |all, x| all & x.is_finite()) {
            true => None,
            false => numbers.iter().position(|x| !x.is_finite()).map(|k| chunk * CHUNK + k),
        };
        Some((column, numbers.par_chunks(CHUNK).enumerate().find_map_first(first)?))
    })
}

/// What to say of it.
pub(crate) fn is_beyond(column: usize, k: usize) -> FmmError {
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
