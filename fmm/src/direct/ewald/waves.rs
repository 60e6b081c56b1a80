//! The sum over wave vectors of an Ewald sum.
//!
//! Along a periodic axis wave numbers are multiples of 2 pi / L. Along a free axis the sum stands for an integral: the
//! long-range part of waves with a periodic component falls like exp(-2 pi |z| / L), so that with a step of 2 pi / (6.6 L) its
//! repetitions, at least 5.6 L away, are below 1e-15. Waves without a periodic component are summed in closed form elsewhere.

use crate::arith::lanes::{fastest, madd};
use crate::parallel::prelude::*;
use std::f64::consts::PI;

/// The repetition along free axes, in units of L.
pub const FREE: f64 = 6.6;

/// Particles worked on together.
const CHUNK: usize = 128;

/// Sums of their own that particles are shared out to, however many threads there are.
const PARTS: usize = 16;

/// Wave vectors with the same first two components, whose third one is 0, ±1, ... times its step.
struct Row {
    a: usize,
    b: i32,
    /// The first of its entries, one for each magnitude of the third component.
    first: usize,
    count: usize,
}

/// All wave vectors but for their negatives, shorter than a limit.
pub struct Waves {
    /// Periodic axes come first.
    axes: [usize; 3],
    steps: [f64; 3],
    rows: Vec<Row>,
    /// Magnitudes of components from 0, along each axis.
    counts: [usize; 3],
    /// The weight of each entry in a potential.
    weights: Vec<f64>,
}

/// For each entry the sums of q times cos cos, sin sin, cos sin and sin cos of the first two components together and of the
/// third one.
pub struct Sums(Vec<[f64; 4]>);

impl Waves {
    /// For positions in units of L, and wave vectors k up to `2 alpha sqrt(end)` that enter with exp(-k^2 / (4 alpha^2)).
    pub fn new(periodic: [bool; 3], alpha: f64, end: f64) -> Waves {
        let mut axes = [0, 1, 2];
        axes.sort_by_key(|a| !periodic[*a]);
        let steps = axes.map(|a| if periodic[a] { 2.0 * PI } else { 2.0 * PI / FREE });
        let most2 = 4.0 * alpha * alpha * end;
        let count = |rest: f64, axis: usize| (rest.max(0.0).sqrt() / steps[axis]) as usize + 1;
        let counts = [0, 1, 2].map(|axis| count(most2, axis));
        let volume: f64 = axes.iter().map(|a| if periodic[*a] { 1.0 } else { FREE }).product();
        let (mut rows, mut weights) = (Vec::new(), Vec::new());
        let side = counts[1] as i32 - 1;
        for a in 0..counts[0] {
            for b in -side..=side {
                let rest = most2 - (a as f64 * steps[0]).powi(2) - (b as f64 * steps[1]).powi(2);
                // One of each pair of opposite vectors, and none without a periodic component.
                let is_first = a > 0 || periodic[axes[1]] && (b > 0 || b == 0 && periodic[axes[2]]);
                if is_first && rest >= 0.0 {
                    let row = Row { a, b, first: weights.len(), count: count(rest, 2) };
                    let weight = |m: usize| {
                        let k2 = most2 - rest + (m as f64 * steps[2]).powi(2);
                        // Twice, for the opposite vector.
                        8.0 * PI / volume * (-k2 / (4.0 * alpha * alpha)).exp() / k2
                    };
                    weights.extend((0..row.count).map(weight));
                    rows.push(row);
                }
            }
        }
        Waves { axes, steps, rows, counts, weights }
    }

    /// The sums over charges.
    pub fn sums(&self, x: &[Vec<f64>; 3], q: &[f64]) -> Sums {
        let part = q.len().div_ceil(PARTS).next_multiple_of(CHUNK);
        let one = |p: usize| {
            let mut sums = Sums(vec![[0.0; 4]; self.weights.len()]);
            let mut tables = [0, 1, 2].map(|axis| vec![[[0.0; CHUNK]; 2]; self.counts[axis]]);
            for first in (p * part..((p + 1) * part).min(q.len())).step_by(CHUNK) {
                let range = first..(first + CHUNK).min(q.len());
                let mut charges = [0.0; CHUNK];
                charges[..range.len()].copy_from_slice(&q[range.clone()]);
                for (axis, table) in tables.iter_mut().enumerate() {
                    let mut places = [0.0; CHUNK];
                    places[..range.len()].copy_from_slice(&x[self.axes[axis]][range.clone()]);
                    powers(&places, self.steps[axis], table);
                }
                add(self, &tables, &charges, &mut sums);
            }
            sums
        };
        let parts: Vec<Sums> = (0..q.len().div_ceil(part.max(1))).into_par_iter().map(one).collect();
        let mut all = Sums(vec![[0.0; 4]; self.weights.len()]);
        for part in parts {
            all.0.iter_mut().zip(&part.0).for_each(|(s, p)| (0..4).for_each(|k| s[k] += p[k]));
        }
        all
    }

    /// Potential and gradient at a point; with `ALL` the second derivatives too. `sums` are those of charges and, where there are
    /// dipoles, of the components of their moments.
    pub fn at<const ALL: bool>(&self, sums: &[Sums], x: [f64; 3]) -> [f64; 10] {
        let tables: [Vec<[f64; 2]>; 3] = std::array::from_fn(|axis| {
            let angle = self.steps[axis] * x[self.axes[axis]];
            (0..self.counts[axis]).map(|m| (m as f64 * angle).sin_cos()).map(|(sin, cos)| [cos, sin]).collect()
        });
        let mut total = [0.0; 10];
        for row in &self.rows {
            let ([ac, a_s], [bc, bs]) = (tables[0][row.a], tables[1][row.b.unsigned_abs() as usize]);
            let bs = if row.b < 0 { -bs } else { bs };
            let p = [ac * bc - a_s * bs, ac * bs + a_s * bc];
            let k = [row.a as f64 * self.steps[0], row.b as f64 * self.steps[1]];
            // Very many small terms would be lost one by one beside the total.
            let mut own = [0.0; 10];
            for (m, [c, s]) in tables[2][..row.count].iter().enumerate() {
                if m == 0 && (row.a, row.b) == (0, 0) {
                    continue;
                }
                let (along, entry) = (m as f64 * self.steps[2], row.first + m);
                let k = [k[0], k[1], along];
                let e = [p[0] * c - p[1] * s, p[0] * s + p[1] * c];
                self.wave::<ALL>(e, self.all_carried::<ALL>(sums, entry, k, 1.0), k, entry, &mut own);
                if m > 0 && (row.a, row.b) != (0, 0) {
                    let k = [k[0], k[1], -along];
                    let e = [p[0] * c + p[1] * s, p[1] * c - p[0] * s];
                    self.wave::<ALL>(e, self.all_carried::<ALL>(sums, entry, k, -1.0), k, entry, &mut own);
                }
            }
            (0..if ALL { 10 } else { 4 }).for_each(|c| total[c] += own[c]);
        }
        total
    }

    /// The sums of (q + i p.k) exp(i k.y) over all sources, real and imaginary, for an entry's wave vector k with the third
    /// component of a sign.
    #[inline(always)]
    fn all_carried<const ALL: bool>(&self, sums: &[Sums], entry: usize, k: [f64; 3], sign: f64) -> [f64; 2] {
        let of = |sums: &Sums| {
            let [cc, ss, cs, sc] = sums.0[entry];
            [cc - sign * ss, sc + sign * cs]
        };
        let mut all = of(&sums[0]);
        if ALL
            && let [_, moments @ ..] = sums
            && !moments.is_empty()
        {
            for (k, axis) in k.into_iter().zip(self.axes) {
                let [cos, sin] = of(&moments[axis]);
                all[0] -= k * sin;
                all[1] += k * cos;
            }
        }
        all
    }

    /// Adds what a wave gives at a point where it is `e`.
    #[inline(always)]
    fn wave<const ALL: bool>(&self, e: [f64; 2], sum: [f64; 2], k: [f64; 3], entry: usize, own: &mut [f64; 10]) {
        const PLACES: [[usize; 3]; 3] = [[4, 5, 6], [5, 7, 8], [6, 8, 9]];
        let weight = self.weights[entry];
        let value = weight * (e[0] * sum[0] + e[1] * sum[1]);
        let slope = weight * (e[0] * sum[1] - e[1] * sum[0]);
        own[0] += value;
        for a in 0..3 {
            own[1 + self.axes[a]] += slope * k[a];
            for b in (a..3).filter(|_| ALL) {
                own[PLACES[self.axes[a]][self.axes[b]]] -= value * k[a] * k[b];
            }
        }
    }
}

/// Cosines and sines of the multiples of each place's angle.
fn powers(x: &[f64; CHUNK], step: f64, out: &mut [[[f64; CHUNK]; 2]]) {
    for (m, [cos, sin]) in out.iter_mut().enumerate() {
        for ((x, cos), sin) in x.iter().zip(cos).zip(sin) {
            (*sin, *cos) = (m as f64 * step * x).sin_cos();
        }
    }
}

type Tables = [Vec<[[f64; CHUNK]; 2]>; 3];

fastest! {
    fn add(waves: &Waves, tables: &Tables, q: &[f64; CHUNK], sums: &mut Sums) = add_body
}

#[allow(clippy::needless_range_loop, reason = "the same place of several arrays")]
#[inline(always)]
fn add_body<const FMA: bool>(waves: &Waves, tables: &Tables, q: &[f64; CHUNK], sums: &mut Sums) {
    const LANES: usize = 8;
    for row in &waves.rows {
        let ([ac, a_s], [bc, bs]) = (&tables[0][row.a], &tables[1][row.b.unsigned_abs() as usize]);
        let sign = if row.b < 0 { -1.0 } else { 1.0 };
        let mut p = [[0.0; CHUNK]; 2];
        for k in 0..CHUNK {
            p[0][k] = q[k] * (ac[k] * bc[k] - sign * a_s[k] * bs[k]);
            p[1][k] = q[k] * (sign * ac[k] * bs[k] + a_s[k] * bc[k]);
        }
        for ([c, s], sums) in tables[2][..row.count].iter().zip(&mut sums.0[row.first..]) {
            let mut total = [[0.0; LANES]; 4];
            for first in (0..CHUNK).step_by(LANES) {
                for lane in 0..LANES {
                    let k = first + lane;
                    total[0][lane] = madd::<f64, FMA>(p[0][k], c[k], total[0][lane]);
                    total[1][lane] = madd::<f64, FMA>(p[1][k], s[k], total[1][lane]);
                    total[2][lane] = madd::<f64, FMA>(p[0][k], s[k], total[2][lane]);
                    total[3][lane] = madd::<f64, FMA>(p[1][k], c[k], total[3][lane]);
                }
            }
            (0..4).for_each(|k| sums[k] += total[k].iter().sum::<f64>());
        }
    }
}
