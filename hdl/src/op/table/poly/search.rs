//! The search for a table: for each degree the shortest pieces that keep the bound, then the cells that hold them in the
//! least memory, then the degree that costs least in memories and multipliers together.

use super::coefficients::MAX_DEGREE;
use super::fit::{ANY_QUANTUM, Fit, Goal, Line, Misfit, Piece, Sketch};
use super::{Cell, RowRange, Span, Table, probe};
use crate::number::real::{Meter, Smooth};
use crate::op::table::BLOCK_BITS;

/// The cost limits of a table.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Block memories.
    pub blocks: u64,
    /// Pieces that the search looks at for one degree.
    pub pieces: usize,
}

/// The function and its arguments.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    pub f: &'a dyn Smooth,
    pub goal: Goal,
    /// `None`: no argument.
    pub lines: &'a [Option<Line>],
    /// Bits of the fraction.
    pub bits: u32,
    /// The error of the result due to the argument's own error, in places.
    pub argument: f64,
}

/// Why there is no table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Failure {
    /// There is no value here, or none that can be computed well enough.
    At(Misfit),
    /// Too many pieces; the deepest of them lie here.
    Large { at: f64, depth: u32 },
    /// The search would take more work than it may.
    Costly,
}

/// The work of looking at a piece, without that of the function, and of making a row.
const LOOK: u64 = 200;
const ROW: u64 = 1_500;

/// Books work, and ends a search that has taken too much.
fn spend(meter: &Meter, work: u64) -> Result<(), Failure> {
    meter.add(work);
    if meter.is_over() { Err(Failure::Costly) } else { Ok(()) }
}

/// Pieces after which a search estimates how many there are in all. Nearly all tables are found in fewer.
const MANY: usize = 1000;

/// More cells than 2^8 of a line are not tried.
const MAX_TOP: u32 = 8;

/// Bits of the longest fraction that may have a word for each of its values.
const MAX_DIRECT: u32 = 14;

/// Operands of a multiplier block.
const MULTIPLIER: u32 = 18;

/// A shortest piece that keeps the bound.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    line: usize,
    depth: u32,
    position: u64,
    bits: [u32; MAX_DEGREE + 1],
    unit: i32,
}

/// A table within the limits.
pub fn search(p: &Problem, limits: Limits) -> Result<Table, Failure> {
    search_metered(p, limits, &Meter::endless())
}

/// The table that a search has found before, by its degree and cells; `None` where there is none of these.
pub fn found_before(p: &Problem, limits: Limits, degree: usize, top: u32) -> Option<Table> {
    let first = first_degree(p);
    if !(first..=MAX_DEGREE).contains(&degree) || top > MAX_TOP.min(p.bits) {
        return None;
    }
    let leaves = leaves(p, degree, limits, &Meter::endless()).ok()?;
    if cost(p, degree, top, &leaves).1 > limits.blocks {
        return None;
    }
    build(p, degree, top, &leaves).ok()
}

/// The table of one degree.
pub fn search_of_degree(p: &Problem, limits: Limits, degree: usize) -> Result<Table, Failure> {
    let leaves = leaves(p, degree, limits, &Meter::endless())?;
    let tops = (0..=MAX_TOP.min(p.bits)).map(|top| (cost(p, degree, top, &leaves), top));
    let best = tops.filter(|((_, blocks), _)| *blocks <= limits.blocks).min();
    let Some((_, top)) = best else { return Err(large(p, &leaves)) };
    build(p, degree, top, &leaves).map_err(Failure::At)
}

/// [`search`] that may take no more work than the meter says.
pub fn search_metered(p: &Problem, limits: Limits, meter: &Meter) -> Result<Table, Failure> {
    let mut best: Option<(u64, usize, u32)> = None;
    let mut failure = Failure::Large { at: 0.0, depth: 0 };
    for degree in first_degree(p)..=MAX_DEGREE {
        let leaves = match leaves(p, degree, limits, meter) {
            Ok(leaves) => leaves,
            Err(large @ Failure::Large { .. }) => {
                failure = large;
                continue;
            }
            Err(other) => return Err(other),
        };
        for top in 0..=MAX_TOP.min(p.bits) {
            spend(meter, 4 * ((p.lines.len() << top) + leaves.len()) as u64)?;
            let (cost, blocks) = cost(p, degree, top, &leaves);
            if blocks <= limits.blocks && best.is_none_or(|b| cost < b.0) {
                best = Some((cost, degree, top));
            }
        }
        if best.is_none() {
            failure = large(p, &leaves);
        }
    }
    let Some((_, degree, top)) = best else { return Err(failure) };
    let leaves = leaves(p, degree, limits, meter)?;
    spend(meter, ROW * splits(p, top, &leaves).iter().map(|s| 1u64 << s).sum::<u64>())?;
    build(p, degree, top, &leaves).map_err(Failure::At)
}

/// The first degree that is tried: a word for every argument of a long line would never fit, but one for each line would.
fn first_degree(p: &Problem) -> usize {
    let fit = fit(p, 0);
    let is_constant = |line: &Line| {
        let whole = Piece { origin: 0, span_bits: p.bits, first: line.first, last: line.last };
        sketched(&fit, line, &whole).is_ok()
    };
    (p.bits > MAX_DIRECT && !p.lines.iter().flatten().all(is_constant)) as usize
}

/// Where the shortest pieces are.
fn large(p: &Problem, leaves: &[Leaf]) -> Failure {
    let deepest = leaves.iter().max_by_key(|l| l.depth);
    let at = deepest.map_or(0.0, |l| match &p.lines[l.line] {
        Some(line) => line.at((l.position << (p.bits - l.depth)) as f64, p.bits).hi,
        None => 0.0,
    });
    Failure::Large { at, depth: deepest.map_or(0, |l| l.depth) }
}

/// The fractions of a piece that occur; `None` if none does.
fn piece(p: &Problem, line: &Line, depth: u32, position: u64) -> Option<Piece> {
    let span_bits = p.bits - depth;
    let origin = position << span_bits;
    let (first, last) = (origin.max(line.first), (origin + (1 << span_bits) - 1).min(line.last));
    (first <= last).then_some(Piece { origin, span_bits, first, last })
}

fn fit<'a>(p: &Problem<'a>, degree: usize) -> Fit<'a> {
    Fit { f: p.f, goal: p.goal, bits: p.bits, degree, argument: p.argument }
}

/// Halves pieces until each keeps the bound, or until they alone take more memory than there may be.
fn leaves(p: &Problem, degree: usize, limits: Limits, meter: &Meter) -> Result<Vec<Leaf>, Failure> {
    let (fit, most) = (fit(p, degree), limits.pieces);
    let mut leaves: Vec<Leaf> = Vec::new();
    let (mut looked, mut widths) = (0, [0; MAX_DEGREE + 1]);
    for (k, line) in p.lines.iter().enumerate() {
        let Some(line) = line else { continue };
        let before = leaves.len();
        let mut open = vec![(0u32, 0u64)];
        while let Some((depth, position)) = open.pop() {
            let Some(piece) = piece(p, line, depth, position) else { continue };
            looked += 1;
            spend(meter, LOOK)?;
            if looked == MANY {
                let row = widths[..=degree].iter().sum::<u32>().max(1) as u64;
                let room = (most as u64).min(limits.blocks * BLOCK_BITS / row);
                beyond(p, &fit, k, room as f64 - before as f64, meter)?;
            }
            match sketched(&fit, line, &piece) {
                Ok(s) => {
                    leaves.push(Leaf { line: k, depth, position, bits: s.bits, unit: s.unit });
                    widths.iter_mut().zip(s.bits).for_each(|(width, bits)| *width = bits.max(*width));
                    let row = widths[..=degree].iter().sum::<u32>() as u64;
                    if leaves.len() as u64 * row > limits.blocks * BLOCK_BITS {
                        return Err(large(p, &leaves));
                    }
                }
                Err(Misfit::Long) if depth < p.bits && looked < most => {
                    open.push((depth + 1, 2 * position + 1));
                    open.push((depth + 1, 2 * position));
                }
                Err(Misfit::Long) => {
                    let at = line.at(piece.first as f64, p.bits).hi;
                    return Err(Failure::Large { at, depth });
                }
                Err(misfit) => return Err(Failure::At(misfit)),
            }
        }
    }
    Ok(leaves)
}

/// The sketch by which a piece would be fitted.
fn sketched(fit: &Fit, line: &Line, piece: &Piece) -> Result<Sketch, Misfit> {
    let last = if line.scale == 0.0 { piece.first } else { piece.last };
    fit.sketch(line, &Piece { last, ..*piece })
}

/// Refuses a function whose lines from `from` on have more pieces than there is `room` for, by far, from a few pieces of each: to look
/// at all of them would take seconds.
fn beyond(p: &Problem, fit: &Fit, from: usize, room: f64, meter: &Meter) -> Result<(), Failure> {
    let (mut least, mut probes) = (0.0, Vec::new());
    // Where functions are hard to fit is often at the end.
    for (k, line) in p.lines.iter().enumerate().skip(from).rev() {
        let Some(line) = line else { continue };
        let of_line = probes.len();
        for probe in 0..probe::PROBES {
            let place = probe::place(probe, line.first, line.last);
            let first = probes.last().map_or(0, |leaf: &Leaf| leaf.depth);
            probes.extend(around(p, fit, k, place, first, meter)?);
        }
        let share = (line.last - line.first + 1) as f64 / (1u64 << p.bits) as f64;
        least += probe::least(probes[of_line..].iter().map(|leaf| leaf.depth).collect(), share);
        if least > room {
            return Err(large(p, &probes));
        }
    }
    Ok(())
}

/// The piece of line `k` around a place, looked for from some depth on; `None` where the function is not fitted at all.
fn around(p: &Problem, fit: &Fit, k: usize, place: u64, depth: u32, meter: &Meter) -> Result<Option<Leaf>, Failure> {
    let Some(line) = &p.lines[k] else { return Ok(None) };
    let mut found = None;
    let mut depth = depth.min(p.bits);
    loop {
        spend(meter, LOOK)?;
        let position = place >> (p.bits - depth);
        let Some(piece) = piece(p, line, depth, position) else { return Ok(found) };
        match sketched(fit, line, &piece) {
            Ok(s) => {
                found = Some(Leaf { line: k, depth, position, bits: s.bits, unit: s.unit });
                if depth == 0 {
                    return Ok(found);
                }
                depth -= 1;
            }
            Err(Misfit::Long) if found.is_none() && depth < p.bits => depth += 1,
            Err(_) => return Ok(found),
        }
    }
}

/// The split of every cell. Cells that no argument reaches take that of the others, where these agree.
fn splits(p: &Problem, top: u32, leaves: &[Leaf]) -> Vec<u32> {
    let mut splits: Vec<Option<u32>> = vec![None; p.lines.len() << top];
    for leaf in leaves {
        let base = leaf.line << top;
        if leaf.depth >= top {
            let cell = base | (leaf.position >> (leaf.depth - top)) as usize;
            splits[cell] = splits[cell].max(Some(leaf.depth - top));
        } else {
            let first = base | (leaf.position << (top - leaf.depth)) as usize;
            splits[first..first + (1 << (top - leaf.depth))].fill(Some(0));
        }
    }
    let mut used = splits.iter().flatten();
    let first = used.next().copied().unwrap_or(0);
    let rest = if used.all(|s| *s == first) { first } else { 0 };
    splits.iter().map(|s| s.unwrap_or(rest)).collect()
}

/// A cost that counts a block memory and a multiplier alike, and the block memories alone.
fn cost(p: &Problem, degree: usize, top: u32, leaves: &[Leaf]) -> (u64, u64) {
    let splits = splits(p, top, leaves);
    let rows: u64 = splits.iter().map(|s| 1u64 << s).sum();
    let bits = |k: usize| leaves.iter().map(|l| l.bits[k]).max().unwrap_or(1);
    let (low, high) = leaves.iter().fold((i32::MAX, i32::MIN), |(a, b), l| (a.min(l.unit), b.max(l.unit)));
    let quantum = 32 - (high.saturating_sub(low).max(0) as u32).leading_zeros();
    let row: u32 = (0..=degree).map(bits).sum::<u32>() + quantum;
    let equal = splits.iter().all(|s| *s == splits[0]);
    let address = |n: u64| 64 - n.leading_zeros();
    let cell = if equal { 0 } else { address(rows) + address(splits.iter().copied().max().unwrap_or(0) as u64) };
    let blocks = |bits: u64| bits.div_ceil(BLOCK_BITS);
    let table = blocks(rows * row as u64);
    let memory = table + blocks(splits.len() as u64 * cell as u64);
    let place = p.bits - top - splits.iter().copied().min().unwrap_or(0);
    let multipliers = |k: usize| (bits(k).div_ceil(MULTIPLIER) * place.div_ceil(MULTIPLIER)) as u64;
    // Address lines of many words cost more than the memory's bits say.
    (2 * memory + 2 * (1..=degree).map(multipliers).sum::<u64>() + !equal as u64, memory)
}

/// The rows of the cells.
fn build(p: &Problem, degree: usize, top: u32, leaves: &[Leaf]) -> Result<Table, Misfit> {
    let splits = splits(p, top, leaves);
    let mut order: Vec<usize> = (0..splits.len()).collect();
    // The largest first: each then begins at a multiple of its size.
    order.sort_by_key(|k| (std::cmp::Reverse(splits[*k]), *k));
    let mut cells = vec![Cell { base: 0, split: 0 }; splits.len()];
    let mut table = Table {
        bits: p.bits,
        lines: p.lines.len() as u32,
        top,
        flat: splits.iter().all(|s| *s == splits[0]).then_some(splits[0]),
        drop: splits.iter().copied().min().unwrap_or(0),
        cells: Vec::new(),
        degree,
        columns: vec![Vec::new(); degree + 1],
        flip: false,
        shift: Vec::new(),
        subtract: vec![false; degree],
        leading: 0,
        quantum: Vec::new(),
        steps: Vec::new(),
        rows: Vec::new(),
        bound: 0.0,
    };
    table.shift = vec![table.place_bits(); degree];
    let fit = fit(p, degree);
    let mut steps: Option<[Span; MAX_DEGREE + 1]> = None;
    for k in order {
        cells[k] = Cell { base: table.rows.len() as u32, split: splits[k] };
        let (line, cell) = (&p.lines[k >> top], k & ((1 << top) - 1));
        for j in 0..1u64 << splits[k] {
            let position = (cell as u64) << splits[k] | j;
            let found = line.as_ref().and_then(|l| Some((l, piece(p, l, top + splits[k], position)?)));
            let Some((line, mut piece)) = found else {
                table.columns.iter_mut().for_each(|c| c.push(0));
                table.quantum.push(ANY_QUANTUM);
                table.rows.push(RowRange { h: None, least: 0 });
                continue;
            };
            if line.scale == 0.0 {
                piece.last = piece.first;
            }
            let sketch: Sketch = fit.sketch(line, &piece)?;
            let row = fit.row(line, &piece, &sketch)?;
            table.columns.iter_mut().zip(row.coef).for_each(|(c, v)| c.push(v));
            table.quantum.push(row.quantum);
            table.rows.push(row.range);
            table.bound = table.bound.max(row.error);
            steps = Some(match steps {
                None => row.steps,
                Some(all) => std::array::from_fn(|i| all[i].or(row.steps[i])),
            });
        }
    }
    table.cells = cells;
    table.steps = steps.unwrap_or([Span::of(0); MAX_DEGREE + 1])[..=degree].to_vec();
    // Rows that nothing reaches, or that are 0, take a quantum that costs nothing.
    let least = table.quantum.iter().copied().filter(|q| *q != ANY_QUANTUM).min().unwrap_or(0);
    table.quantum.iter_mut().filter(|q| **q == ANY_QUANTUM).for_each(|q| *q = least);
    assert!(table.bound < 0.5, "the bound that the search promised");
    Ok(table)
}
