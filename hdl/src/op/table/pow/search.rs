//! The search for the smallest tables of a power that keep the error bound.
//!
//! The computed sum A(v) of a piece, in units of the last place, must satisfy f(v) <= A(v) < f(v) + 1. Cutting it
//! off to an integer then gives f itself where that is an integer and one of its two neighbours elsewhere; where
//! f >= 2^(M+1) one bit more is cut off, and the same holds. So A aims at f + 1/2, and everything that moves it (the
//! polynomial's error, rounded coefficients, cut-off products) has to stay below 1/2 in sum.

use super::fit::{Piece, Problem};
use crate::number::real::exp2;
use crate::op::table::BLOCK_BITS;
use crate::op::table::poly::coefficients::{Coefficients, Grid, MAX_DEGREE, quantised};
use crate::op::table::poly::{Cell, RowRange, Span, Table};

/// Covers the rounding of the fit itself: f64 carries at least 20 bits more than a table.
const SLACK: f64 = 1.0 / 4096.0;

/// Finer than this (in pieces per octave, log2) no polynomial is searched.
const MAX_SPLIT: u32 = 12;

/// The highest degree that is tried.
const TOP_DEGREE: usize = 3;

/// The table of one power.
#[derive(Clone, Debug)]
pub struct Found {
    /// A line for each octave of the argument. Its bound is that of |A - f - 1/2|; it is 0 in a direct table, which is rounded.
    pub table: Table,
    /// Whether some piece has values of two octaves.
    pub wide: bool,
}

/// The tables of x^(n/d) for `mant` fraction bits. A table that fits one block memory costs nothing more by being larger,
/// while a higher degree costs a multiplier and its latency: so the lowest degree that fits is taken.
pub fn search(mant: u32, n: i32, d: i32) -> Found {
    let direct = Problem { mant, n, d, split: mant };
    if (mant as u64) << direct.index_bits() <= BLOCK_BITS {
        let found = direct_table(direct);
        if found.table.total_bits() <= BLOCK_BITS {
            return found;
        }
    }
    for degree in 1..=TOP_DEGREE {
        for split in 1..=MAX_SPLIT.min(mant - 1) {
            let problem = Problem { mant, n, d, split };
            if degree < TOP_DEGREE && (mant as u64) << problem.index_bits() > BLOCK_BITS {
                break;
            }
            // Twice the pieces never pay for the few bits that they save, so the first split that does is best.
            if let Some(found) = best_widths(problem, degree) {
                if degree == TOP_DEGREE || found.table.total_bits() <= BLOCK_BITS {
                    return found;
                }
                break;
            }
        }
    }
    unreachable!("4096 cubic pieces in an octave suffice for MAX_MANT bits and exponents up to MAX_NUMERATOR")
}

/// One rounded result for every significand.
fn direct_table(problem: Problem) -> Found {
    let next = 2i64 << problem.mant;
    let pieces: Vec<Piece> = (0..1 << problem.index_bits()).map(|k| problem.fit(k, 0)).collect();
    let mut column: Vec<i64> = pieces.iter().map(|p| (p.top + 0.5).floor() as i64).collect();
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
    Found { table: table(problem, 0, &Grid::default(), vec![column], &octaves, 0.0), wide: false }
}

/// A table of these numbers, in 2^split equal pieces of each octave.
fn table(problem: Problem, degree: usize, grid: &Grid, columns: Vec<Vec<i64>>, octaves: &[i32], bound: f64) -> Table {
    let Problem { mant, split, d, .. } = problem;
    let low_bits = mant - split;
    let place = |i: usize| mant as i32 + grid.guard[i];
    let mut table = Table {
        bits: mant,
        lines: d as u32,
        top: 0,
        cells: (0..d as u32).map(|line| Cell { base: line << split, split }).collect(),
        flat: Some(split),
        drop: split,
        degree,
        flip: problem.flipped(),
        shift: (0..degree).map(|i| (grid.guard[i + 1] - grid.guard[i] + low_bits as i32) as u32).collect(),
        subtract: grid.subtract[..degree].to_vec(),
        leading: 1 << place(0),
        quantum: octaves.iter().map(|o| o - place(0)).collect(),
        columns,
        steps: Vec::new(),
        rows: Vec::new(),
        bound,
    };
    let rows: Vec<Vec<Span>> = (0..octaves.len()).map(|row| steps(&table, row)).collect();
    let all = |k: usize| rows.iter().map(|row| row[k]).reduce(Span::or).unwrap_or(Span::of(0));
    table.steps = (0..=degree).map(all).collect();
    table.rows = rows.iter().map(|row| RowRange { h: Some(row[0]), least: row[0].low as i64 }).collect();
    table
}

/// The spans of the sums of Horner's rule in a row, all of whose numbers and sums are positive.
fn steps(t: &Table, row: usize) -> Vec<Span> {
    let most = (1i128 << t.place_bits()) - 1;
    let mut steps = vec![Span::of(t.columns[t.degree][row]); t.degree + 1];
    for k in (0..t.degree).rev() {
        let (own, product) = (t.columns[k][row] as i128, (steps[k + 1].high * most) >> t.shift[k]);
        steps[k] = match t.subtract[k] {
            true => Span { low: own - product, high: own },
            false => Span { low: own, high: own + product },
        };
    }
    steps
}

/// The fewest coefficient bits for a split and a degree, if any keep the bound.
fn best_widths(problem: Problem, degree: usize) -> Option<Found> {
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
    let sum = |guard: &Coefficients<i32>| guard.iter().sum::<i32>();
    let mut best: Option<(i32, Table)> = None;
    for guard in candidates {
        // Candidates come by ascending sum, and each unit of the sum is a bit of every row.
        if best.as_ref().is_some_and(|b| sum(&guard) > b.0) {
            break;
        }
        let Some(table) = quantise_all(problem, degree, &pieces, guard) else { continue };
        if best.as_ref().is_none_or(|b| table.total_bits() < b.1.total_bits()) {
            best = Some((sum(&guard), table));
        }
    }
    let wide = pieces.iter().any(|p| p.top > exp2(problem.mant as i32 + 1));
    best.map(|(_, table)| Found { table, wide })
}

/// Guard bits to try, by ascending sum; among equals narrow factors of the multiplications first.
fn guards(degree: usize, low_bits: u32) -> Vec<Coefficients<i32>> {
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

fn quantise_all(problem: Problem, degree: usize, pieces: &[Piece], guard: Coefficients<i32>) -> Option<Table> {
    let mut grid = Grid { guard, ..Grid::default() };
    for i in 0..degree {
        grid.subtract[i] = pieces[0].coef[i] * pieces[0].coef[i + 1] < 0.0;
    }
    let mut columns = vec![Vec::with_capacity(pieces.len()); degree + 1];
    let mut bound = 0f64;
    for piece in pieces {
        let (row, error) = quantise(piece, degree, &grid)?;
        bound = bound.max(error);
        if error >= 0.5 - SLACK || row[0] < 1 << (problem.mant as i32 + guard[0]) {
            return None;
        }
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
    let octaves: Vec<i32> = pieces.iter().map(|p| p.octave).collect();
    Some(table(problem, degree, &grid, columns, &octaves, bound))
}

/// The row of one piece with the bound of all its errors, if no number of it and no sum is negative.
fn quantise(piece: &Piece, degree: usize, grid: &Grid) -> Option<(Coefficients<i64>, f64)> {
    let mut coef = piece.coef;
    // The sum is cut off at a coarser place than the last product: it aims at the middle between two numbers.
    coef[0] += 0.5;
    let (row, bound) = quantised(coef, degree, grid, false, piece.error);
    let at = |i: usize| row[i] as f64 * exp2(-grid.guard[i]);
    let falls = |i: usize| grid.subtract[i] && at(i) < at(i + 1);
    let negative = row.iter().any(|r| *r < 0) || (0..degree).any(falls);
    (!negative).then_some((row, bound))
}
