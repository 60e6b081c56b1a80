//! Direct summation of dipoles and second derivatives.

use super::{Direct, LANES, LEAST, LEAST_SQUARE, position};
use crate::arith::lanes::fastest;
use crate::arith::scale::{exponent, ldexp};
use crate::arith::wide::{self, Carried, WideValues};
use crate::data::particles::Columns;
use crate::parallel::prelude::*;

/// Sources in units of powers of two: coordinates, charges, and moments in units of charge times length.
struct Scaled {
    columns: [Vec<f64>; 7],
    shift: i32,
    charge: i32,
    eps: f64,
    /// Whether f64 holds all charges, moments and the softening length in these units.
    holds: bool,
}

/// Potential, gradient and second derivatives at some targets.
pub fn all(direct: &Direct, targets: &[usize]) -> Vec<[f64; 10]> {
    let scaled = Scaled::new(direct);
    targets.par_iter().map(|k| scaled.at(direct, *k)).collect()
}

/// The charge and moment of source `j`, as given in the input.
fn carried(direct: &Direct, j: usize) -> Carried {
    Carried {
        charge: direct.sources.charges.map_or(0.0, |q| q[j]),
        dipole: direct.sources.dipoles.map_or([0.0; 3], |p| position(&p, j)),
        exponent: 0,
    }
}

impl Scaled {
    fn new(direct: &Direct) -> Scaled {
        let (n, shift) = (direct.geometry.sources[0].len(), direct.shift());
        let largest = |column: &[f64]| column.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
        let moments: Columns = direct.sources.dipoles.unwrap_or([&[]; 3]);
        let of_charges = largest(direct.sources.charges.unwrap_or_default());
        let of_moments = moments.into_iter().map(largest).fold(0.0, f64::max);
        let charge = match of_charges > 0.0 {
            true if of_moments > 0.0 => exponent(of_charges).max(exponent(of_moments) - shift),
            true => exponent(of_charges),
            false => exponent(of_moments) - shift,
        };
        let places = direct.geometry.sources.map(|c| c.iter().map(|x| ldexp(*x, -shift)).collect::<Vec<f64>>());
        let [x, y, z] = places;
        let column = |from: &[f64], shift: i32| match from.is_empty() {
            true => vec![0.0; n],
            false => from.iter().map(|x| ldexp(*x, -shift)).collect::<Vec<f64>>(),
        };
        let q = column(direct.sources.charges.unwrap_or_default(), charge);
        let [px, py, pz] = moments.map(|p| column(p, charge + shift));
        let is_held = |j: usize| {
            let (given, size) = (carried(direct, j), px[j].abs().max(py[j].abs()).max(pz[j].abs()));
            (q[j].abs() >= LEAST || given.charge == 0.0) && (size >= LEAST || given.dipole == [0.0; 3])
        };
        let holds = ldexp(direct.eps, -shift) <= 1.0 / LEAST && (0..n).all(is_held);
        Scaled { columns: [x, y, z, q, px, py, pz], shift, charge, eps: ldexp(direct.eps, -shift), holds }
    }

    fn at(&self, direct: &Direct, k: usize) -> [f64; 10] {
        let place = position(&direct.targets(), k);
        let at = place.map(|x| ldexp(x, -self.shift));
        let mut sums = Sums { values: [0.0; 10], close: f64::MAX };
        if self.holds {
            target(at, &self.columns, self.eps * self.eps, &mut sums);
        }
        let mut total = WideValues::default();
        for (a, (total, sum)) in total.iter_mut().zip(sums.values).enumerate() {
            let lengths = [1, 2, 2, 2, 3, 3, 3, 3, 3, 3][a];
            total.add(sum, self.charge - lengths * self.shift);
        }
        if sums.close > 0.0 {
            let square = |j: usize| (0..3).map(|a| (self.columns[a][j] - at[a]).powi(2)).sum::<f64>();
            for j in (0..self.columns[0].len()).filter(|j| !self.holds || square(*j) < LEAST_SQUARE) {
                let source = position(&direct.geometry.sources, j);
                wide::act_all(place, source, &carried(direct, j), direct.eps, &mut total);
            }
        }
        total.map(|t| t.to_f64())
    }
}

/// Sums over all sources but those closer than [`LEAST`], and how many these are.
struct Sums {
    values: [f64; 10],
    close: f64,
}

fastest! {
    fn target(at: [f64; 3], columns: &[Vec<f64>; 7], eps2: f64, out: &mut Sums) = target_body
}

#[inline(always)]
fn target_body<const FMA: bool>(at: [f64; 3], columns: &[Vec<f64>; 7], eps2: f64, out: &mut Sums) {
    let mut sums = [[0.0; LANES]; 10];
    let mut close = [0.0; LANES];
    let n = columns[0].len();
    for first in (0..n).step_by(LANES) {
        let count = (n - first).min(LANES);
        // Lanes beyond the last source lie at distance 1 and carry nothing.
        let mut block = [[0.0; LANES]; 7];
        (0..3).for_each(|a| block[a] = [at[a] + 1.0; LANES]);
        for (block, column) in block.iter_mut().zip(columns) {
            block[..count].copy_from_slice(&column[first..first + count]);
        }
        add(at, &block, eps2, &mut sums, &mut close);
    }
    *out = Sums { values: sums.map(|s| s.iter().sum()), close: close.iter().sum() };
}

/// Adds eight sources. The derivatives of q/R - p.d/R^3 with d from target to source and R^2 = d.d + eps^2.
#[inline(always)]
fn add(at: [f64; 3], block: &[[f64; LANES]; 7], eps2: f64, sums: &mut [[f64; LANES]; 10], close: &mut [f64; LANES]) {
    for i in 0..LANES {
        let d = [block[0][i] - at[0], block[1][i] - at[1], block[2][i] - at[2]];
        let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        let is_close = r2 < LEAST_SQUARE;
        close[i] += if is_close { 1.0 } else { 0.0 };
        let inverse = if is_close { 0.0 } else { 1.0 / (r2 + eps2).sqrt() };
        let (q, p) = (block[3][i], [block[4][i], block[5][i], block[6][i]]);
        let i2 = inverse * inverse;
        let i3 = i2 * inverse;
        let along = (p[0] * d[0] + p[1] * d[1] + p[2] * d[2]) * i2;
        let slope = (q - 3.0 * along) * i3;
        let bend = (3.0 * q - 15.0 * along) * i3;
        sums[0][i] += (q - along) * inverse;
        let mut place = 4;
        for a in 0..3 {
            sums[a + 1][i] += slope * d[a] + p[a] * i3;
            for b in a..3 {
                let of_dipole = 3.0 * i3 * (p[a] * d[b] + p[b] * d[a]);
                sums[place][i] += (bend * d[a] * d[b] + of_dipole) * i2 - if a == b { slope } else { 0.0 };
                place += 1;
            }
        }
    }
}
