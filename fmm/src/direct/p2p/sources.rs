//! The sources of one leaf, in the leaf's own frame and in the order in which the sums take them.

use super::is_f64;
use super::sums::{self, part};
use crate::arith::lanes::Real;
use crate::arith::scale::exponent;
use crate::arith::vector::{self, Isa, Vector, Vectors, vectorised};
use crate::direct::summation::LEAST;
use crate::tree::charges::Charges;
use crate::tree::lists::Direct;
use crate::tree::sorted::Sorted;
use crate::tree::{MAX_LEVEL, Tree};
use std::ops::Range;

/// A multiple of the lanes of every vector.
pub const LANES: usize = 16;

/// A line of [`LANES`] numbers, aligned as the widest vector loads them fastest.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Line<T>(pub [T; LANES]);

/// Sources gathered for one leaf, filled up with charges of 0 that lie far away.
#[derive(Default)]
pub struct Sources<T> {
    /// Coordinates and charges, up to the end of the mutual lines; there may be space behind.
    pub columns: [Vec<Line<T>>; 4],
    /// Further columns of the sources: further charges, dipole moments.
    pub more: Vec<Vec<Line<T>>>,
    /// The lines that may hold sources too close to a target. These stand together, so that all others are summed without
    /// a look at distances.
    pub guarded: Range<usize>,
    /// The lines of sources on which the targets act too: the last ones.
    pub mutual: Range<usize>,
    /// The number of mutual sources; the rest of the last line is filled up.
    pub mutual_count: usize,
    /// The mutual lines that may hold sources too close to a target.
    pub guarded_mutual: Vec<usize>,
    /// Scratch memory of [`Sources::guard`].
    pub reaching: Vec<usize>,
}

/// The sources that act on the targets of a leaf.
#[derive(Clone, Copy)]
pub struct Acting<'a> {
    pub direct: Direct<'a>,
    /// Sorted particles on which the targets act too, (first, count).
    pub mutual: &'a [(u32, u32)],
}

/// The origin and unit in which a leaf's sums are done. f64 takes scaled coordinates, whose differences are those of the
/// input, as they are or times a power of two; f32 counts from the leaf's centre in units of its edge.
pub struct Frame {
    pub origin: [f64; 3],
    /// Unit of length in scaled coordinates.
    pub unit: f64,
}

impl Frame {
    pub fn of<T: Real>(tree: &Tree, leaf: usize) -> Frame {
        if is_f64::<T>() {
            return Frame { origin: [0.0; 3], unit: crowd_unit(tree, leaf) };
        }
        let (cell, map) = (&tree.cells[leaf], &tree.map);
        let centre = cell.centre();
        Frame { origin: std::array::from_fn(|a| map.centre[a] + centre[a] * map.size), unit: cell.edge() * map.size }
    }

    /// Scaled coordinates as they are: in no unit of a crowd's does f64 hold second derivatives.
    pub fn plain<T: Real>(tree: &Tree, leaf: usize) -> Frame {
        if is_f64::<T>() { Frame { origin: [0.0; 3], unit: 1.0 } } else { Frame::of::<T>(tree, leaf) }
    }

    /// The coordinates of points, rounded as those of sources are.
    pub fn places<T: Real>(&self, points: &Sorted, all: impl Iterator<Item = usize>) -> impl Iterator<Item = [T; 3]> {
        let (factor, origin, [x, y, z]) = (1.0 / self.unit, self.origin, &points.scaled);
        let place = move |x: f64, a: usize| T::of((x - origin[a]) * factor);
        all.map(move |k| [place(x[k], 0), place(y[k], 1), place(z[k], 2)])
    }
}

/// 1, or the extent of a leaf that is full only because a few far particles make its cells so large: a power of two.
fn crowd_unit(tree: &Tree, leaf: usize) -> f64 {
    let cell = &tree.cells[leaf];
    if cell.level < MAX_LEVEL {
        return 1.0;
    }
    let extent = |a: usize| {
        let own =
            || tree.sources.scaled[a][cell.sources()].iter().chain(&tree.targets().scaled[a][cell.targets()]).copied();
        own().fold(f64::MIN, f64::max) - own().fold(f64::MAX, f64::min)
    };
    let extent = (0..3).map(extent).fold(0.0, f64::max);
    // Sources up to 2 / LEAST units away are not too far for the powers of a distance.
    if extent < 1e-30 { 2f64.powi(exponent(extent.max(LEAST))) } else { 1.0 }
}

impl<T: Vectors> Sources<T> {
    /// Takes the sources that act on a leaf, among them its own as one stretch; behind them those on which the leaf acts too.
    pub fn gather(&mut self, tree: &Tree, charges: &Charges, leaf: usize, acting: &Acting, frame: &Frame) {
        let (direct, mutual) = (acting.direct, acting.mutual);
        let (segments, count) = (direct.own, direct.count());
        let first_mutual = count.next_multiple_of(LANES);
        let end = first_mutual + mutual.iter().map(|s| s.1 as usize).sum::<usize>();
        self.mutual = first_mutual / LANES..end.div_ceil(LANES);
        self.mutual_count = end - first_mutual;
        self.guarded_mutual.clear();
        // Beyond all sources, and not so far that the powers of its distance leave the format.
        let far = T::of(3.0e4);
        // Whole vectors are written, the last of them into one more line.
        let lines = self.mutual.end + 1;
        for column in self.columns.iter_mut().filter(|column| column.len() < lines) {
            column.resize(lines, Line([far; LANES]));
        }
        let [x, y, z] = &tree.sources.scaled;
        let from = Columns { columns: [x, y, z, &charges.scaled], origin: frame.origin, factor: 1.0 / frame.unit };
        let mut to = self.columns.each_mut().map(|column| flat(&mut column[..lines]));
        convert(Isa::best(), &from, segments, &mut to);
        let mut at = segments.iter().map(|s| s.1 as usize).sum();
        for images in direct.images.chunk_by(|a, b| a.shift == b.shift) {
            let moved = |a: usize| frame.origin[a] - images[0].shift[a] as f64 * tree.map.size;
            let from = Columns { origin: std::array::from_fn(moved), ..from };
            let segments: Vec<(u32, u32)> = images.iter().map(|s| (s.first, s.count)).collect();
            convert(Isa::best(), &from, &segments, &mut to.each_mut().map(|to| &mut to[at..]));
            at += images.iter().map(|s| s.count as usize).sum::<usize>();
        }
        let filling = [far, far, far, T::default()];
        to.iter_mut().zip(filling).for_each(|(to, filling)| to[count..first_mutual].fill(filling));
        convert(Isa::best(), &from, mutual, &mut to.each_mut().map(|to| &mut to[first_mutual..]));
        to.iter_mut().zip(filling).for_each(|(to, filling)| to[end..].fill(filling));
        let own = tree.cells[leaf].sources();
        self.guarded = 0..0;
        // In a part of a larger problem, leaves of others act on own ones without their own sources.
        let is_there = |s: &(u32, u32)| (s.0 as usize..(s.0 + s.1) as usize).contains(&own.start);
        if !own.is_empty() && segments.iter().any(is_there) {
            let is_before = |s: &&(u32, u32)| ((s.0 + s.1) as usize) <= own.start;
            let before: usize = segments.iter().take_while(is_before).map(|s| s.1 as usize).sum();
            let within = segments.iter().find(|s| !is_before(s)).map_or(0, |s| own.start - s.0 as usize);
            let first = before + within;
            self.guarded = first / LANES..(first + own.len()).div_ceil(LANES);
        }
    }

    /// Takes what else the sources that act on a leaf carry, each column times a factor. To be called after [`Sources::gather`].
    pub fn gather_more(&mut self, acting: &Acting, from: &[(&[f64], f64)]) {
        let (direct, lines, first_mutual) = (acting.direct, self.mutual.end, self.mutual.start * LANES);
        self.more.resize_with(from.len(), Vec::new);
        for (to, (column, factor)) in self.more.iter_mut().zip(from) {
            to.clear();
            to.resize(lines, Line([T::default(); LANES]));
            let images = direct.images.iter().map(|s| (s.first, s.count));
            let segments = direct.own.iter().copied().chain(images);
            let numbers = segments.flat_map(|s| &column[s.0 as usize..(s.0 + s.1) as usize]);
            let to = flat(to);
            to.iter_mut().zip(numbers).for_each(|(to, x)| *to = T::of(x * factor));
            let numbers = acting.mutual.iter().flat_map(|s| &column[s.0 as usize..(s.0 + s.1) as usize]);
            to[first_mutual..].iter_mut().zip(numbers).for_each(|(to, x)| *to = T::of(x * factor));
        }
    }

    /// The charges of each set, where these are all that the sources carry.
    pub fn charges(&self) -> Vec<sums::Charges<'_, T>> {
        [&self.columns[3]].into_iter().chain(&self.more).map(|column| &column[..]).collect()
    }

    fn all_columns(&mut self) -> impl Iterator<Item = &mut Vec<Line<T>>> {
        self.columns.iter_mut().chain(&mut self.more)
    }

    /// Brings the lines with a source up to `distance` away from the targets' bounding box to those of the leaf itself, and
    /// notes which of the mutual ones have such a source.
    pub fn guard(&mut self, targets: &[[T; 3]], distance: f64) {
        let Some(first) = targets.first() else { return };
        let (mut low, mut high) = (*first, *first);
        for at in targets {
            for a in 0..3 {
                low[a] = if at[a] < low[a] { at[a] } else { low[a] };
                high[a] = if at[a] > high[a] { at[a] } else { high[a] };
            }
        }
        // Somewhat more than the distance, for the rounding of differences.
        let more = T::of(1.01 * distance);
        let [x, y, z, _] = self.columns.each_ref().map(|column| &column[..self.mutual.end]);
        let mut reaching = std::mem::take(&mut self.reaching);
        reaching.clear();
        find_reaching::<T>(Isa::best(), [x, y, z], low.map(|x| x - more), high.map(|x| x + more), &mut reaching);
        let (own, lines) = (self.guarded.clone(), self.mutual.start);
        for line in reaching.iter().rev().filter(|line| **line < own.start) {
            self.guarded.start -= 1;
            let start = self.guarded.start;
            self.all_columns().for_each(|c| c.swap(*line, start));
        }
        for line in reaching.iter().filter(|line| (own.end..lines).contains(line)) {
            let end = self.guarded.end;
            self.all_columns().for_each(|c| c.swap(*line, end));
            self.guarded.end += 1;
        }
        self.guarded_mutual.extend(reaching.iter().filter(|line| self.mutual.contains(line)));
        self.reaching = reaching;
    }
}

/// All numbers of some lines.
pub(super) fn flat<T>(lines: &mut [Line<T>]) -> &mut [T] {
    const { assert!(size_of::<Line<T>>() == LANES * size_of::<T>()) };
    // SAFETY: a line is an array without padding.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len() * LANES) }
}

/// The same, only to be read.
pub(super) fn flat_ref<T>(lines: &[Line<T>]) -> &[T] {
    const { assert!(size_of::<Line<T>>() == LANES * size_of::<T>()) };
    // SAFETY: a line is an array without padding.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * LANES) }
}

/// The inputs of gathered sources: sorted particles' coordinates, which are moved and scaled, and charges, which are not.
#[derive(Clone, Copy)]
struct Columns<'a> {
    columns: [&'a [f64]; 4],
    origin: [f64; 3],
    factor: f64,
}

vectorised! {
    /// Writes the particles of `segments`, one stretch behind the other. Numbers behind the last may be written too, up to one
    /// less than a line has.
    fn convert<T>(from: &Columns, segments: &[(u32, u32)], to: &mut [&mut [T]; 4]) = convert_in
}

/// [`convert`] in one kind of vector.
///
/// # Safety
/// The machine must have its instructions.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "the same place of several arrays")]
unsafe fn convert_in<V: Vector>(from: &Columns, segments: &[(u32, u32)], to: &mut [&mut [V::Item]; 4]) {
    let particles = from.columns[3].len();
    // Looked at once, so that no place is checked in the loop.
    let all: usize = segments.iter().map(|s| s.1 as usize).sum();
    assert!(segments.iter().all(|s| s.0 as usize + s.1 as usize <= particles));
    assert!(from.columns.iter().all(|c| c.len() == particles) && to.iter().all(|to| to.len() + 1 >= all + V::LANES));
    let columns = from.columns.map(<[f64]>::as_ptr);
    let to = to.each_mut().map(|to| to.as_mut_ptr());
    let mut at = 0;
    for (first, count) in segments {
        let (first, count) = (*first as usize, *count as usize);
        // What is taken beyond a stretch is overwritten by the next one.
        let whole = count.next_multiple_of(V::LANES);
        let taken = if first + whole <= particles { whole } else { count - count % V::LANES };
        // SAFETY: as for this function; the particles and the memory are there.
        unsafe {
            // Stretches are short: one loop over all columns ends unforeseen less often than one for each.
            for k in (0..taken).step_by(V::LANES) {
                for a in 0..4 {
                    let (origin, factor) = if a == 3 { (0.0, 1.0) } else { (from.origin[a], from.factor) };
                    let numbers = std::slice::from_raw_parts(columns[a].add(first + k), V::LANES);
                    V::from_f64(numbers, origin, factor).write(to[a].add(at + k));
                }
            }
            for k in taken..count {
                for a in 0..4 {
                    let (origin, factor) = if a == 3 { (0.0, 1.0) } else { (from.origin[a], from.factor) };
                    to[a].add(at + k).write(V::Item::of((*columns[a].add(first + k) - origin) * factor));
                }
            }
        }
        at += count;
    }
}

vectorised! {
    /// The lines with a point in the box from `low` to `high`.
    fn find_reaching<T>(columns: [&[Line<T>]; 3], low: [T; 3], high: [T; 3], found: &mut Vec<usize>) = find_reaching_in
}

#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "a closure would not have the instructions of the vector")]
unsafe fn find_reaching_in<V: Vector>(
    columns: [&[Line<V::Item>]; 3],
    low: [V::Item; 3],
    high: [V::Item; 3],
    found: &mut Vec<usize>,
) {
    let [x, y, z] = columns;
    let lines = x.len();
    // Cut once, so that no place is checked in the loop.
    let columns = [x, &y[..lines], &z[..lines]];
    // SAFETY: as for this function.
    unsafe {
        let (mut least, mut most) = ([V::splat(low[0]); 3], [V::splat(high[0]); 3]);
        for a in 1..3 {
            (least[a], most[a]) = (V::splat(low[a]), V::splat(high[a]));
        }
        for line in 0..lines {
            for first in (0..LANES).step_by(V::LANES) {
                let [x, y, z] = columns;
                let at = [part::<V>(x, line, first), part::<V>(y, line, first), part::<V>(z, line, first)];
                if V::is_any_between(at, least, most) {
                    found.push(line);
                    break;
                }
            }
        }
    }
}

/// Asks for what [`Sources::gather`] takes of the segments of `next` to be brought into the cache, but for that of `now`, which
/// are there. Both ascend.
pub(super) fn prefetch(tree: &Tree, charges: &Charges, now: &[(u32, u32)], next: &[(u32, u32)]) {
    let [x, y, z] = &tree.sources.scaled;
    let mut ask = |first: u32, end: u32| {
        let range = first as usize..end as usize;
        [x, y, z, &charges.scaled].into_iter().for_each(|column| vector::prefetch(&column[range.clone()]));
    };
    apart(now, next, &mut ask);
}

/// Takes the stretches (first, end) of `next` that `now` has not.
fn apart(mut now: &[(u32, u32)], next: &[(u32, u32)], take: &mut dyn FnMut(u32, u32)) {
    for (first, count) in next {
        let (mut first, end) = (*first, first + count);
        while first < end {
            match now.split_first() {
                Some((head, rest)) if head.0 + head.1 <= first => now = rest,
                Some((head, _)) if head.0 <= first => first = end.min(head.0 + head.1),
                Some((head, _)) if head.0 < end => {
                    take(first, head.0);
                    first = head.0;
                }
                _ => {
                    take(first, end);
                    first = end;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_leaves_share_is_asked_for_once() {
        let now = [(3, 4), (10, 5), (30, 2)];
        for next in [&[(0, 40)][..], &[(3, 4), (12, 1), (14, 6)], &[(1, 1), (5, 6), (31, 9), (50, 2)], &[]] {
            let mut found = Vec::new();
            apart(&now, next, &mut |first, end| found.extend(first..end));
            let holds = |segments: &[(u32, u32)], k: u32| segments.iter().any(|s| (s.0..s.0 + s.1).contains(&k));
            let wanted: Vec<u32> = (0..60).filter(|k| holds(next, *k) && !holds(&now, *k)).collect();
            assert_eq!(found, wanted, "{next:?}");
        }
    }
}
