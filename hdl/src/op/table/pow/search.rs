//! The search for the smallest tables of a power that keep the error bound.
//!
//! The computed sum A(v) of a piece, in units of the last place, must satisfy f(v) <= A(v) < f(v) + 1. Cutting it
//! off to an integer then gives f itself where that is an integer and one of its two neighbours elsewhere; where
//! f >= 2^(M+1) one bit more is cut off, and the same holds. So A aims at f + 1/2, and everything that moves it (the
//! polynomial's error, rounded coefficients, cut-off products) has to stay below 1/2 in sum.

use super::fit::{MAX_DEGREE, Piece, Problem, exp2};
use crate::op::table::BLOCK_BITS;

/// Covers the rounding of the fit itself: f64 carries at least 20 bits more than a table.
const SLACK: f64 = 1.0 / 4096.0;

/// Finer than this (in pieces per octave, log2) no polynomial is searched.
const MAX_SPLIT: u32 = 12;

/// Quantised tables for one power.
#[derive(Clone, PartialEq, Debug)]
pub struct Tables {
    /// log2 of the pieces in an octave.
    pub split: u32,
    pub degree: usize,
    /// Column i holds the magnitudes of the coefficients of v^i, with `guard[i]` bits (which may be negative)
    /// below the last place of the result.
    pub columns: Vec<Vec<u32>>,
    pub guard: [i32; MAX_DEGREE + 1],
    /// Whether column i + 1 has the opposite sign of column i.
    pub subtract: [bool; MAX_DEGREE],
    /// The result's exponent of each piece.
    pub octaves: Vec<i32>,
    /// Whether some piece has values of two octaves.
    pub wide: bool,
    /// The bound of |A - f - 1/2| in units of the last place, below 1/2; 0 in a direct table, which is rounded.
    pub bound: f64,
}

impl Tables {
    /// Stored bits of each column; the leading 1 of column 0 is not stored.
    pub fn column_bits(&self, mant: u32) -> Vec<u32> {
        let bits = |v: u32| 32 - v.leading_zeros();
        let greatest = |c: &Vec<u32>| c.iter().copied().max().unwrap_or(0);
        let one = 1u32 << (mant as i32 + self.guard[0]);
        self.columns
            .iter()
            .enumerate()
            .map(|(i, c)| match (i, self.degree) {
                // A direct table stores the fraction alone: only the first number of an octave can carry.
                (0, 0) => mant,
                (0, _) => bits(greatest(c) - one),
                _ => bits(greatest(c)).max(1),
            })
            .collect()
    }

    /// Bits of the column of exponents; none if they are all equal.
    pub fn octave_bits(&self) -> u32 {
        let (low, high) = self.octaves.iter().fold((i32::MAX, i32::MIN), |(l, h), o| (l.min(*o), h.max(*o)));
        32 - ((high - low) as u32).leading_zeros()
    }

    /// Bits of all tables.
    pub fn total_bits(&self, mant: u32) -> u64 {
        let row = self.column_bits(mant).iter().sum::<u32>() + self.octave_bits();
        self.octaves.len() as u64 * row as u64
    }
}

/// The tables of x^(n/d) for `mant` fraction bits. A table that fits one block memory costs nothing more by being larger,
/// while a higher degree costs a multiplier and its latency: so the lowest degree that fits is taken.
pub fn search(mant: u32, n: i32, d: i32) -> Tables {
    let direct = Problem { mant, n, d, split: mant };
    if (mant as u64) << direct.index_bits() <= BLOCK_BITS {
        let tables = direct_table(direct);
        if tables.total_bits(mant) <= BLOCK_BITS {
            return tables;
        }
    }
    for degree in 1..=MAX_DEGREE {
        for split in 1..=MAX_SPLIT.min(mant - 1) {
            let problem = Problem { mant, n, d, split };
            if degree < MAX_DEGREE && (mant as u64) << problem.index_bits() > BLOCK_BITS {
                break;
            }
            // Twice the pieces never pay for the few bits that they save, so the first split that does is best.
            if let Some(tables) = best_widths(problem, degree) {
                if degree == MAX_DEGREE || tables.total_bits(mant) <= BLOCK_BITS {
                    return tables;
                }
                break;
            }
        }
    }
    unreachable!("4096 cubic pieces in an octave suffice for MAX_MANT bits and exponents up to MAX_NUMERATOR")
}

/// One rounded result for every significand.
fn direct_table(problem: Problem) -> Tables {
    let next = 2u32 << problem.mant;
    let pieces: Vec<Piece> = (0..1 << problem.index_bits()).map(|k| problem.fit(k, 0)).collect();
    let mut column: Vec<u32> = pieces.iter().map(|p| (p.top + 0.5).floor() as u32).collect();
    let mut octaves: Vec<i32> = pieces.iter().map(|p| p.octave).collect();
    // A power that comes out as the next power of two belongs to the next octave. Only if it is the single
    // one, and there are no other octaves, it is cheaper to let it carry.
    let carries: Vec<usize> = (0..column.len()).filter(|k| column[*k] == next).collect();
    if carries.len() > 1 || octaves.iter().any(|o| *o != octaves[0]) {
        for k in carries {
            column[k] = next / 2;
            octaves[k] += 1;
        }
    }
    Tables {
        split: problem.split,
        degree: 0,
        columns: vec![column],
        guard: [0; MAX_DEGREE + 1],
        subtract: [false; MAX_DEGREE],
        octaves,
        wide: false,
        bound: 0.0,
    }
}

/// The fewest coefficient bits for a split and a degree, if any keep the bound.
fn best_widths(problem: Problem, degree: usize) -> Option<Tables> {
    let two_octaves = exp2(problem.mant as i32 + 2) - 1.0;
    let mut pieces = Vec::with_capacity(1 << problem.index_bits());
    for index in 0..1 << problem.index_bits() {
        let piece = problem.fit(index, degree);
        if piece.error >= 0.5 || piece.top >= two_octaves {
            return None;
        }
        pieces.push(piece);
    }
    let candidates = guards(degree, problem.mant - problem.split);
    let sum = |guard: &[i32; MAX_DEGREE + 1]| guard.iter().sum::<i32>();
    let mut best: Option<Tables> = None;
    for guard in candidates {
        // Candidates come by ascending sum, and each unit of the sum is a bit of every row.
        if best.as_ref().is_some_and(|b| sum(&guard) > sum(&b.guard)) {
            break;
        }
        let Some(tables) = quantise_all(problem, degree, &pieces, guard) else { continue };
        let bits = |t: &Tables| t.total_bits(problem.mant);
        if best.as_ref().is_none_or(|b| bits(&tables) < bits(b)) {
            best = Some(tables);
        }
    }
    best
}

/// Guard bits to try, by ascending sum; among equals narrow factors of the multiplications first.
fn guards(degree: usize, low_bits: u32) -> Vec<[i32; MAX_DEGREE + 1]> {
    let ranges = [0..=4, -1..=5, -3..=5, -5..=5];
    let mut all = vec![[0; MAX_DEGREE + 1]];
    for (i, range) in ranges.iter().enumerate().take(degree + 1) {
        all = all
            .iter()
            .flat_map(|g| {
                range.clone().map(move |bits| {
                    let mut g = *g;
                    g[i] = bits;
                    g
                })
            })
            .collect();
    }
    // Products are cut off, never padded.
    all.retain(|g| (0..degree).all(|i| g[i + 1] - g[i] + low_bits as i32 >= 0));
    all.sort_by_key(|g| (g.iter().sum::<i32>(), g[1], g[2], g[3]));
    all
}

fn quantise_all(problem: Problem, degree: usize, pieces: &[Piece], guard: [i32; MAX_DEGREE + 1]) -> Option<Tables> {
    let mut subtract = [false; MAX_DEGREE];
    for (i, s) in subtract.iter_mut().enumerate().take(degree) {
        *s = pieces[0].coef[i] * pieces[0].coef[i + 1] < 0.0;
    }
    let mut columns = vec![Vec::with_capacity(pieces.len()); degree + 1];
    let mut bound = 0f64;
    for piece in pieces {
        let (row, error) = quantise(piece, degree, guard, subtract)?;
        bound = bound.max(error);
        if error >= 0.5 - SLACK || row[0] < 1 << (problem.mant as i32 + guard[0]) {
            return None;
        }
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
    let wide = pieces.iter().any(|p| p.top > exp2(problem.mant as i32 + 1));
    let octaves = pieces.iter().map(|p| p.octave).collect();
    Some(Tables { split: problem.split, degree, columns, guard, subtract, octaves, wide, bound })
}

/// Rounds the coefficients of one piece, highest first. What rounding adds to one is taken from the lower ones by
/// the best polynomial of lower degree for v^i on [0, 1], which leaves |rounding| / 2, / 8 and / 32 of it. The
/// bound is that of all errors together.
fn quantise(
    piece: &Piece,
    degree: usize,
    guard: [i32; MAX_DEGREE + 1],
    subtract: [bool; MAX_DEGREE],
) -> Option<([u32; MAX_DEGREE + 1], f64)> {
    const LOWER: [[f64; 3]; MAX_DEGREE + 1] = [[0.0; 3], [0.5, 0.0, 0.0], [-0.125, 1.0, 0.0], [0.03125, -0.5625, 1.5]];
    const LEFT: [f64; MAX_DEGREE + 1] = [1.0, 0.5, 0.125, 0.03125];
    let mut coef = piece.coef;
    coef[0] += 0.5;
    let mut bound = piece.error;
    // The sign of each coefficient: the constant one is positive.
    let mut sign = [1.0; MAX_DEGREE + 1];
    for i in 1..=degree {
        sign[i] = if subtract[i - 1] { -sign[i - 1] } else { sign[i - 1] };
    }
    // The product that is added to coefficient i is cut off, so it is low by 0 to 1 unit: half a unit on average. The
    // one that is added to the constant needs no such care, since the sum is cut off again at a coarser place.
    for i in 1..degree {
        let half = exp2(-guard[i] - 1);
        coef[i] += if subtract[i] { -sign[i] * half } else { sign[i] * half };
        bound += half;
    }
    let mut row = [0; MAX_DEGREE + 1];
    for i in (0..=degree).rev() {
        let rounded = (sign[i] * coef[i] * exp2(guard[i]) + 0.5).floor();
        if rounded < 0.0 {
            return None;
        }
        row[i] = rounded as u32;
        let added = sign[i] * rounded * exp2(-guard[i]) - coef[i];
        bound += added.abs() * LEFT[i];
        for k in 0..i {
            coef[k] -= added * LOWER[i][k];
        }
    }
    // A difference must not fall below 0.
    let falls = |i: usize| subtract[i] && row[i] as f64 * exp2(-guard[i]) < row[i + 1] as f64 * exp2(-guard[i + 1]);
    if (0..degree).any(falls) { None } else { Some((row, bound)) }
}
