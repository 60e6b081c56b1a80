//! The cell-index method: a kernel that ends at a cut-off runs over neighbouring cells only.
//!
//! Targets and sources are sorted into cells that are a little wider than the cut-off, so that all sources within it
//! of a target lie in the target's own cell or in one beside it. The targets of a cell make a [`Run`], and the sources of
//! the cells around it its [`SourceRange`]s: cells of one row are neighbours in the order of the sources, so three of them are one
//! segment. Only cells that hold particles exist, so that no more memory is needed than for the particles.
//!
//! The cell-index method is that of Allen and Tildesley, Computer Simulation of Liquids (2017), sect. 5.3.2. What is known of
//! each coordinate stands in [`axis`].

mod axis;

use crate::job::{Backend, Run, SourceRange, Table};
use axis::{Axis, Side};
use fmm::parallel::prelude::*;
use hdl::op::{compare, int};
use hdl::{Flags, Format};
use pg2::graph::{Graph, NodeId, NodeKind, Pin, PinClass};
use serde::Serialize;
use std::ops::Range;

/// How far a kernel reaches, and the sides of the box if it is periodic: one for all axes, or one an axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Reach {
    pub radius: f64,
    pub sides: Option<Vec<f64>>,
}

/// A job's tables in the order of the cells, and what acts on what.
#[derive(Clone, PartialEq, Debug)]
pub struct CellLists {
    pub targets: Table,
    pub sources: Table,
    pub runs: Vec<Run>,
    pub segments: Vec<SourceRange>,
    /// For each place of `targets` the target of the input that stands there.
    pub order: Vec<u32>,
    pub report: Report,
}

/// The report of the cells: their sizes and counts.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Report {
    /// Sides of a cell, in the units of the coordinates.
    pub size: Vec<f64>,
    /// Cells along each axis.
    pub grid: Vec<u64>,
    /// Cells with targets.
    pub occupied: usize,
    /// Sources that were sent again, moved by a side of the box.
    pub images: usize,
    pub segments: usize,
}

/// Why there can be no cells.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct CellsError(pub String);

/// The pins that hold coordinates, and where they stand in the records.
struct Coordinates {
    /// As they stand in the records.
    format: Format,
    /// Element of the first coordinate in i and j records.
    i: usize,
    j: usize,
    axes: usize,
    /// Whether the kernel sees nothing of them but the difference, which wraps as the format does.
    differences: bool,
}

/// Sorts the particles of a job for a backend into cells and lists what acts on what.
pub fn plan(
    graph: &Graph,
    backend: &dyn Backend,
    targets: &Table,
    sources: &Table,
    reach: &Reach,
) -> Result<CellLists, CellsError> {
    let coordinates = coordinates(graph)?;
    let coordinates = Coordinates { format: backend.held(coordinates.format), ..coordinates };
    let axes = axes(graph, &coordinates, targets, sources, reach)?;
    let grid = Grid::new(axes);
    let mut placed: Vec<Placed> =
        (0..targets.len()).into_par_iter().map(|k| grid.target(targets, k, coordinates.i)).collect();
    placed.par_sort_unstable();
    let mut sent: Vec<Placed> =
        (0..sources.len()).into_par_iter().flat_map_iter(|k| grid.source(sources, k, coordinates.j)).collect();
    sent.par_sort_unstable();
    let (runs, segments) = runs(&grid, &placed, &sent);
    let report = Report {
        size: grid.axes.iter().map(|a| a.width).collect(),
        grid: grid.axes.iter().map(|a| a.cells).collect(),
        occupied: runs.len(),
        images: sent.len() - sources.len(),
        segments: segments.len(),
    };
    Ok(CellLists {
        targets: gathered(&grid, targets, &placed, coordinates.i)?,
        sources: gathered(&grid, sources, &sent, coordinates.j)?,
        runs,
        segments,
        order: placed.iter().map(|p| p.record).collect(),
        report,
    })
}

impl CellLists {
    /// Results in the order of the input's targets.
    pub fn restored(&self, results: &Table) -> Table {
        let mut bits = vec![0; results.bits.len()];
        let n = results.elements;
        for (k, &record) in self.order.iter().enumerate() {
            bits[record as usize * n..(record as usize + 1) * n].copy_from_slice(results.record(k));
        }
        Table { elements: n, bits }
    }

    /// Flags in the order of the input's targets.
    pub fn restored_flags(&self, flags: &[Flags]) -> Vec<Flags> {
        let mut restored = vec![Flags::NONE; flags.len()];
        self.order.iter().zip(flags).for_each(|(record, f)| restored[*record as usize] = *f);
        restored
    }
}

/// Finds `xi` and `xj`.
fn coordinates(graph: &Graph) -> Result<Coordinates, CellsError> {
    let find = |name: &str, class: PinClass| {
        let mut at = 0;
        for (index, pin) in graph.pins_of(class) {
            if pin.name == name && pin.elements() <= 3 {
                return Some((index, pin, at));
            }
            at += pin.elements() as usize;
        }
        None
    };
    let pins = (find("xi", PinClass::Ipin), find("xj", PinClass::Jpin));
    let alike = |a: &Pin, b: &Pin| a.format == b.format && a.elements() == b.elements();
    match pins {
        (Some((pin_i, a, i)), Some((pin_j, b, j))) if alike(a, b) => Ok(Coordinates {
            format: a.format,
            i,
            j,
            axes: a.elements() as usize,
            differences: sees_differences(graph, pin_i, pin_j),
        }),
        (Some((_, a, _)), Some((_, b, _))) => Err(CellsError(format!(
            "cells need coordinates of one format and length, but `xi` is {}[{}] and `xj` {}[{}]; declare them alike",
            a.format,
            a.elements(),
            b.format,
            b.elements()
        ))),
        _ => Err(CellsError(format!(
            "{} has no coordinates to make cells of: an ipin `xi` and a jpin `xj` with 1 to 3 elements; rename its pins, \
             or list what acts on what with --segments",
            graph.name
        ))),
    }
}

/// Whether coordinates enter nothing but `xj[k] - xi[k]`, either way round, and tests of equality.
fn sees_differences(graph: &Graph, pin_i: usize, pin_j: usize) -> bool {
    let element = |id: &NodeId| match graph.node(*id).kind {
        NodeKind::Pin { pin, element } if pin == pin_i || pin == pin_j => Some((pin, element)),
        _ => None,
    };
    graph.nodes.iter().all(|node| {
        let NodeKind::Op { op, args, .. } = &node.kind else { return true };
        let read: Vec<Option<(usize, u32)>> = args.iter().map(element).collect();
        match read[..] {
            [Some(a), Some(b)] => [int::SUB, compare::EQ, compare::NE].contains(op) && a.0 != b.0 && a.1 == b.1,
            _ => read.iter().all(Option::is_none),
        }
    })
}

/// Cells are wider than the radius by this much: a kernel that rounds may reach a little farther.
fn slack(graph: &Graph) -> f64 {
    // A log of as many fraction bits is as coarse as a float of them.
    let digits = graph.nodes.iter().filter_map(|n| match n.format {
        f if f.is_float() => Some(f.mant()),
        f if f.is_log() => Some(f.log_frac()),
        _ => None,
    });
    8.0 * 2f64.powi(-(digits.min().unwrap_or(52).min(20) as i32))
}

fn axes(
    graph: &Graph,
    coordinates: &Coordinates,
    targets: &Table,
    sources: &Table,
    reach: &Reach,
) -> Result<Vec<Axis>, CellsError> {
    let count = coordinates.axes;
    let sides: Vec<Option<f64>> = match &reach.sides {
        None => vec![None; count],
        Some(one) if one.len() == 1 => vec![Some(one[0]); count],
        Some(each) if each.len() == count => each.iter().copied().map(Some).collect(),
        Some(each) => {
            let text =
                format!("there are {count} coordinates and {} sides of the box; give one side or {count}", each.len());
            return Err(CellsError(text));
        }
    };
    let column = |table: &Table, first: usize| {
        let elements = table.elements;
        (0..table.len()).map(|k| table.bits[k * elements + first]).collect::<Vec<u64>>()
    };
    let width = reach.radius * (1.0 + slack(graph));
    let one = |(a, side): (usize, &Option<f64>)| {
        let mut values = column(targets, coordinates.i + a);
        values.extend(column(sources, coordinates.j + a));
        let Some(length) = *side else { return Ok(Axis::free(coordinates.format, &values, width)) };
        if length < 2.0 * reach.radius {
            return Err(CellsError(format!(
                "a periodic box of side {length} needs a radius of at most half of that, not {}; leave --cells out to run \
                 all pairs",
                reach.radius
            )));
        }
        let side = Side { length, width };
        match Axis::wrapping(coordinates.format, side) {
            Some(axis) if coordinates.differences => Ok(axis),
            Some(_) => Err(CellsError(format!(
                "the coordinates wrap at the side of the box, {length}, but {} does not see their difference alone; \
                 begin with `xj - xi`, or give `xi` and `xj` a wider format than {}",
                graph.name, coordinates.format
            ))),
            None => Axis::with_images(coordinates.format, side, &values),
        }
    };
    sides.iter().enumerate().map(one).collect()
}

/// A particle in its cell: by what it is sorted first, then which it is, and by how many sides it was moved along each axis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Placed {
    key: u64,
    record: u32,
    moved: [i8; 3],
}

/// All axes, x fastest in the order of the cells.
struct Grid {
    axes: Vec<Axis>,
}

impl Grid {
    fn new(axes: Vec<Axis>) -> Grid {
        Grid { axes }
    }

    /// The place in the order of the cell at these indices.
    fn key(&self, at: [u64; 3]) -> u64 {
        self.axes.iter().zip(at).rev().fold(0, |key, (axis, at)| key * axis.slots + at)
    }

    /// The indices of a cell.
    fn at(&self, mut key: u64) -> [u64; 3] {
        let mut at = [0; 3];
        for (at, axis) in at.iter_mut().zip(&self.axes) {
            *at = key % axis.slots;
            key /= axis.slots;
        }
        at
    }

    fn target(&self, table: &Table, k: usize, first: usize) -> Placed {
        let record = &table.record(k)[first..];
        let mut at = [0; 3];
        for (a, axis) in self.axes.iter().enumerate() {
            at[a] = axis.slot(record[a]);
        }
        // Targets outside of the box enter it as sources do.
        Placed { key: self.key(at), record: k as u32, moved: [0; 3] }
    }

    /// A source in its cell, and its images beside the walls.
    fn source(&self, table: &Table, k: usize, first: usize) -> impl Iterator<Item = Placed> {
        let record = &table.record(k)[first..];
        let mut list = vec![([0; 3], [0i8; 3])];
        for (a, axis) in self.axes.iter().enumerate() {
            let slot = axis.slot(record[a]);
            let images = axis.images(record[a]);
            for (at, _) in &mut list {
                at[a] = slot;
            }
            let here = list.len();
            for (slot, moved) in images {
                for n in 0..here {
                    let (mut at, mut by) = list[n];
                    (at[a], by[a]) = (slot, moved);
                    list.push((at, by));
                }
            }
        }
        let keys: Vec<Placed> =
            list.into_iter().map(|(at, moved)| Placed { key: self.key(at), record: k as u32, moved }).collect();
        keys.into_iter()
    }
}

/// The records in the order of their cells, each brought into the box and moved.
fn gathered(grid: &Grid, table: &Table, placed: &[Placed], first: usize) -> Result<Table, CellsError> {
    let mut bits = vec![0; placed.len() * table.elements];
    let records = bits.par_chunks_exact_mut(table.elements.max(1)).zip(placed);
    rayon::iter::ParallelIterator::try_for_each(records, |(to, p)| {
        to.copy_from_slice(table.record(p.record as usize));
        for (a, axis) in grid.axes.iter().enumerate() {
            to[first + a] = axis.moved(to[first + a], p.moved[a])?;
        }
        Ok(())
    })?;
    Ok(Table { elements: table.elements, bits })
}

/// One run for each cell with targets, and its segments of sources.
fn runs(grid: &Grid, targets: &[Placed], sources: &[Placed]) -> (Vec<Run>, Vec<SourceRange>) {
    let (mut runs, mut segments) = (Vec::new(), Vec::new());
    let mut first = 0;
    for cell in targets.chunk_by(|a, b| a.key == b.key) {
        let start = segments.len();
        neighbours(grid, cell[0].key, sources, &mut segments);
        runs.push(Run { first, count: cell.len(), segments: start..segments.len() });
        first += cell.len();
    }
    (runs, segments)
}

/// Appends the sources of a cell and of those beside it, row by row.
fn neighbours(grid: &Grid, key: u64, sources: &[Placed], segments: &mut Vec<SourceRange>) {
    let at = grid.at(key);
    let around = |a: usize| grid.axes.get(a).map_or(vec![0..=0], |axis| axis.around(at[a]));
    let start = segments.len();
    for z in around(2).into_iter().flatten() {
        for y in around(1).into_iter().flatten() {
            for x in around(0) {
                let range = Range {
                    start: sources.partition_point(|s| s.key < grid.key([*x.start(), y, z])),
                    end: sources.partition_point(|s| s.key <= grid.key([*x.end(), y, z])),
                };
                let (first, count) = (range.start, range.len());
                match segments[start..].last_mut() {
                    _ if count == 0 => {}
                    Some(last) if last.first + last.count == first => last.count += count,
                    _ => segments.push(SourceRange { first, count }),
                }
            }
        }
    }
}
