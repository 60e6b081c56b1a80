//! Multipoles to exponentials and exponentials to local expansions, the lanes of vectors being cells.

use super::frames::Block;
use super::modes::{Column, KINDS, Packed, kind};
use super::{Parents, Plane, Waves};
use crate::arith::lanes::Real;
use crate::arith::vector::Vector;
use crate::expansion::mirrored::lanes::{MOST, NONE, to_lanes, transpose};
use crate::expansion::mirrored::product::write_product;

/// Vectors of a row.
pub const WIDE: usize = 2;

/// Scratch memory of one thread: rows of lanes.
#[derive(Default)]
pub struct Room<T> {
    /// Terms by degree and class, in usual coordinates and in those of an axis.
    own: Vec<T>,
    turned: Vec<T>,
    /// Terms by m, and their sums over n by node.
    terms: Vec<T>,
    sums: Vec<T>,
    /// Modes of both directions.
    modes: Vec<T>,
    /// Sums of each kind at the angles of a quadrant.
    angles: Vec<T>,
    /// Exponentials of both directions: real parts, then imaginary ones.
    waves: Vec<T>,
    /// The exponentials that arrive at each parent.
    pub(super) arriving: Vec<T>,
    pub(super) beside: Vec<T>,
}

impl<T: Real> Room<T> {
    fn start(&mut self, of: &Waves<T>, lanes: usize) {
        let modes = &of.modes;
        let quarter = modes.around.iter().map(|a| a.quarter).max().unwrap_or(0);
        for (room, rows) in [
            (&mut self.own, of.places.len()),
            (&mut self.turned, of.places.len()),
            (&mut self.terms, of.places.len()),
            (&mut self.sums, modes.sums),
            (&mut self.modes, 2 * modes.modes),
            (&mut self.angles, KINDS * quarter),
            (&mut self.waves, 4 * modes.exponentials),
        ] {
            room.resize(rows * lanes, T::default());
        }
    }
}

/// Writes the product of a matrix and rows.
#[inline(always)]
unsafe fn times<V: Vector>(matrix: &Packed<V::Item>, from: &[V::Item], to: &mut [V::Item]) {
    let lanes = WIDE * V::LANES;
    let [rows, columns] = matrix.size;
    // SAFETY: as for the caller.
    unsafe {
        write_product::<V, WIDE>(&matrix.entries, &from[..columns * lanes], &mut to[..rows * lanes], matrix.tile);
    }
}

/// The vectors of a row.
type Row<V> = [V; WIDE];

#[inline(always)]
unsafe fn add<V: Vector>(a: Row<V>, b: Row<V>) -> Row<V> {
    // SAFETY: as for the caller.
    unsafe { [a[0].add(b[0]), a[1].add(b[1])] }
}

#[inline(always)]
unsafe fn sub<V: Vector>(a: Row<V>, b: Row<V>) -> Row<V> {
    // SAFETY: as for the caller.
    unsafe { [a[0].sub(b[0]), a[1].sub(b[1])] }
}

/// `factor * a + b`.
#[inline(always)]
unsafe fn mul_add<V: Vector>(factor: V, a: Row<V>, b: Row<V>) -> Row<V> {
    // SAFETY: as for the caller.
    unsafe { [factor.mul_add(a[0], b[0]), factor.mul_add(a[1], b[1])] }
}

/// `b - factor * a`.
#[inline(always)]
unsafe fn mul_sub<V: Vector>(factor: V, a: Row<V>, b: Row<V>) -> Row<V> {
    // SAFETY: as for the caller.
    unsafe { [b[0].sub(factor.mul(a[0])), b[1].sub(factor.mul(a[1]))] }
}

#[inline(always)]
unsafe fn row<V: Vector>(from: &[V::Item], at: usize) -> Row<V> {
    let from = &from[at * WIDE * V::LANES..][..WIDE * V::LANES];
    // SAFETY: as for the caller.
    unsafe { [V::load(from), V::load(&from[V::LANES..])] }
}

#[inline(always)]
unsafe fn set<V: Vector>(to: &mut [V::Item], at: usize, x: Row<V>) {
    let to = &mut to[at * WIDE * V::LANES..][..WIDE * V::LANES];
    // SAFETY: as for the caller.
    unsafe {
        x[0].store(to);
        x[1].store(&mut to[V::LANES..]);
    }
}

/// The place of an m among those of its kind.
fn place(column: &Column) -> usize {
    if column.sine && column.m.is_multiple_of(2) { column.m / 2 - 1 } else { column.m / 2 }
}

/// The exponentials of the children of some parents, at the children's planes and about the parents' axes: those of a slot of
/// [`Plane`] together. One parent after the other in `out`.
///
/// # Safety
/// The machine must have the instructions of the vector.
#[inline(always)]
pub unsafe fn depart<V: Vector>(
    of: &Waves<V::Item>,
    (plane, parents): (Plane, Parents),
    m: &[V::Item],
    out: &mut [V::Item],
    room: &mut Room<V::Item>,
) {
    room.start(of, WIDE * V::LANES);
    // SAFETY: as for this function.
    unsafe {
        for slot in 0..plane.slots() {
            room.waves.fill(V::Item::default());
            for octant in plane.octants(slot) {
                let cells = parents.children(octant);
                if cells.iter().all(|c| *c == NONE) {
                    continue;
                }
                to_lanes::<V, WIDE>(&of.places, m, &cells, &mut room.own);
                to_modes::<V>(of, plane, room);
                add_waves::<V>(of, plane.shift(octant), room);
            }
            to_parents::<V>(of, (plane, slot), &room.waves, out);
        }
    }
}

/// From terms to the modes of both directions.
#[inline(always)]
unsafe fn to_modes<V: Vector>(of: &Waves<V::Item>, plane: Plane, room: &mut Room<V::Item>) {
    let lanes = WIDE * V::LANES;
    let Room { own, turned, terms, sums, modes, .. } = room;
    // SAFETY: as for the caller.
    unsafe {
        let mut by_degree = &*own;
        if let Some(frame) = of.frame(plane) {
            for Block { own: from, turned: to, to: matrix, .. } in &frame.blocks {
                times::<V>(matrix, &own[from * lanes..], &mut turned[to * lanes..]);
            }
            by_degree = &*turned;
        }
        for (k, from) in of.by_column.iter().enumerate() {
            set::<V>(terms, k, row::<V>(by_degree, *from as usize));
        }
        for column in &of.modes.columns {
            for odd in 0..2 {
                let matrix = &of.modes.to_nodes[column.m][odd];
                times::<V>(matrix, &terms[column.terms[odd] * lanes..], &mut sums[column.sums[odd] * lanes..]);
            }
            for (k, around) in of.modes.around[..column.nodes].iter().enumerate() {
                let (even, odd) = (row::<V>(sums, column.sums[0] + k), row::<V>(sums, column.sums[1] + k));
                let to = around.kinds[kind(column.m, column.sine)].start + place(column);
                set::<V>(modes, to, add(even, odd));
                set::<V>(modes, of.modes.modes + to, sub(even, odd));
            }
        }
    }
}

/// From modes to exponentials, moved by a shift, which are added.
#[inline(always)]
unsafe fn add_waves<V: Vector>(of: &Waves<V::Item>, shift: usize, room: &mut Room<V::Item>) {
    let lanes = WIDE * V::LANES;
    let all = of.modes.exponentials;
    let [re, im] = &of.shifts.in_parent[shift];
    let Room { modes, angles, waves, .. } = room;
    // SAFETY: as for the caller.
    unsafe {
        for (modes, waves) in modes.chunks_exact(of.modes.modes * lanes).zip(waves.chunks_exact_mut(2 * all * lanes)) {
            let (real, imaginary) = waves.split_at_mut(all * lanes);
            for around in &of.modes.around {
                let quarter = around.quarter;
                for k in 0..KINDS {
                    let from = &modes[around.kinds[k].start * lanes..];
                    times::<V>(&around.to_angles[k], from, &mut angles[k * quarter * lanes..]);
                }
                for q in 0..quarter {
                    let (ce, se) = (row::<V>(angles, q), row::<V>(angles, quarter + q));
                    let (co, so) = (row::<V>(angles, 2 * quarter + q), row::<V>(angles, 3 * quarter + q));
                    let e = around.first + q;
                    let zero = [V::splat(V::Item::default()); WIDE];
                    let first = (add(ce, se), sub(zero, add(co, so)));
                    let second = (sub(ce, se), sub(co, so));
                    add_moved::<V>((re[e], im[e]), first, real, imaginary, e);
                    let e = e + quarter;
                    add_moved::<V>((re[e], im[e]), second, real, imaginary, e);
                }
            }
        }
    }
}

/// Adds an exponential times a factor.
#[inline(always)]
unsafe fn add_moved<V: Vector>(
    (re, im): (V::Item, V::Item),
    (a, b): (Row<V>, Row<V>),
    real: &mut [V::Item],
    imaginary: &mut [V::Item],
    e: usize,
) {
    // SAFETY: as for the caller.
    unsafe {
        let (re, im) = (V::splat(re), V::splat(im));
        let (sr, si) = (row::<V>(real, e), row::<V>(imaginary, e));
        set::<V>(real, e, mul_sub(im, b, mul_add(re, a, sr)));
        set::<V>(imaginary, e, mul_add(im, a, mul_add(re, b, si)));
    }
}

/// Writes exponentials of a slot from lanes to parents.
#[inline(always)]
unsafe fn to_parents<V: Vector>(
    of: &Waves<V::Item>,
    (plane, slot): (Plane, usize),
    rows: &[V::Item],
    out: &mut [V::Item],
) {
    let (lanes, all, stride) = (WIDE * V::LANES, of.modes.exponentials, plane.numbers(of));
    // SAFETY: as for the caller.
    unsafe {
        for part in 0..4 {
            let place = plane.place(of, part / 2 == 0, slot) + part % 2 * all;
            for e in (0..all).step_by(V::LANES) {
                for w in 0..WIDE {
                    let mut x = [V::splat(V::Item::default()); 16];
                    for i in 0..V::LANES {
                        x[i] = V::load(&rows[(part * all + e + i) * lanes + w * V::LANES..]);
                    }
                    transpose(&mut x);
                    for i in 0..V::LANES {
                        let at = (w * V::LANES + i) * stride + place + e;
                        if at < out.len() {
                            x[i].store(&mut out[at..]);
                        }
                    }
                }
            }
        }
    }
}

/// Writes exponentials of a slot from parents to lanes.
#[inline(always)]
unsafe fn from_parents<V: Vector>(
    of: &Waves<V::Item>,
    (plane, slot): (Plane, usize),
    from: &[V::Item],
    rows: &mut [V::Item],
) {
    let (lanes, all, stride) = (WIDE * V::LANES, of.modes.exponentials, plane.numbers(of));
    // SAFETY: as for the caller.
    unsafe {
        for part in 0..4 {
            let place = plane.place(of, part / 2 == 0, slot) + part % 2 * all;
            for e in (0..all).step_by(V::LANES) {
                for w in 0..WIDE {
                    let mut x = [V::splat(V::Item::default()); 16];
                    for i in 0..V::LANES {
                        let at = (w * V::LANES + i) * stride + place + e;
                        if at < from.len() {
                            x[i] = V::load(&from[at..]);
                        }
                    }
                    transpose(&mut x);
                    for i in 0..V::LANES {
                        x[i].store(&mut rows[(part * all + e + i) * lanes + w * V::LANES..]);
                    }
                }
            }
        }
    }
}

/// Adds to the local expansions of the children of some parents, the first of which is `first`, the exponentials that arrive.
///
/// # Safety
/// The machine must have the instructions of the vector.
#[inline(always)]
pub unsafe fn arrive<V: Vector>(
    of: &Waves<V::Item>,
    (plane, parents): (Plane, Parents),
    (l, first): (&mut [V::Item], usize),
    room: &mut Room<V::Item>,
) {
    room.start(of, WIDE * V::LANES);
    // SAFETY: as for this function.
    unsafe {
        for slot in 0..plane.slots() {
            from_parents::<V>(of, (plane, slot), &room.arriving, &mut room.waves);
            for octant in plane.octants(slot) {
                let cells = parents.children(octant);
                if cells.iter().all(|c| *c == NONE) {
                    continue;
                }
                take_waves::<V>(of, plane.shift(octant), room);
                from_modes::<V>(of, plane, room);
                from_lanes::<V>(of, &cells, &room.own, (l, first));
            }
        }
    }
}

/// From exponentials, moved by the opposite of a shift, to modes.
#[inline(always)]
unsafe fn take_waves<V: Vector>(of: &Waves<V::Item>, shift: usize, room: &mut Room<V::Item>) {
    let lanes = WIDE * V::LANES;
    let all = of.modes.exponentials;
    let [re, im] = &of.shifts.in_parent[shift];
    let Room { modes, angles, waves, .. } = room;
    // SAFETY: as for the caller.
    unsafe {
        for (modes, waves) in modes.chunks_exact_mut(of.modes.modes * lanes).zip(waves.chunks_exact(2 * all * lanes)) {
            let (real, imaginary) = waves.split_at(all * lanes);
            for around in &of.modes.around {
                let quarter = around.quarter;
                for q in 0..quarter {
                    let e = around.first + q;
                    let first = moved_back::<V>((re[e], im[e]), real, imaginary, e);
                    let e = e + quarter;
                    let second = moved_back::<V>((re[e], im[e]), real, imaginary, e);
                    set::<V>(angles, q, add(first.0, second.0));
                    set::<V>(angles, quarter + q, sub(first.0, second.0));
                    set::<V>(angles, 2 * quarter + q, sub(first.1, second.1));
                    set::<V>(angles, 3 * quarter + q, add(first.1, second.1));
                }
                for k in 0..KINDS {
                    let to = &mut modes[around.kinds[k].start * lanes..];
                    times::<V>(&around.to_modes[k], &angles[k * quarter * lanes..], to);
                }
            }
        }
    }
}

/// An exponential times the conjugate of a factor.
#[inline(always)]
unsafe fn moved_back<V: Vector>(
    (re, im): (V::Item, V::Item),
    real: &[V::Item],
    imaginary: &[V::Item],
    e: usize,
) -> (Row<V>, Row<V>) {
    // SAFETY: as for the caller.
    unsafe {
        let (re, im) = (V::splat(re), V::splat(im));
        let (a, b) = (row::<V>(real, e), row::<V>(imaginary, e));
        let zero = [V::splat(V::Item::default()); WIDE];
        (mul_add(re, a, mul_add(im, b, zero)), mul_sub(im, a, mul_add(re, b, zero)))
    }
}

/// From the modes of both directions to terms in usual coordinates.
#[inline(always)]
unsafe fn from_modes<V: Vector>(of: &Waves<V::Item>, plane: Plane, room: &mut Room<V::Item>) {
    let lanes = WIDE * V::LANES;
    let Room { own, turned, terms, sums, modes, .. } = room;
    // SAFETY: as for the caller.
    unsafe {
        for column in &of.modes.columns {
            for (k, around) in of.modes.around[..column.nodes].iter().enumerate() {
                let from = around.kinds[kind(column.m, column.sine)].start + place(column);
                let (up, down) = (row::<V>(modes, from), row::<V>(modes, of.modes.modes + from));
                set::<V>(sums, column.sums[0] + k, add(down, up));
                set::<V>(sums, column.sums[1] + k, sub(down, up));
            }
            for odd in 0..2 {
                let matrix = &of.modes.to_terms[column.m][odd];
                times::<V>(matrix, &sums[column.sums[odd] * lanes..], &mut terms[column.terms[odd] * lanes..]);
            }
        }
        let frame = of.frame(plane);
        let by_degree = if frame.is_some() { &mut *turned } else { &mut *own };
        for (k, to) in of.by_column.iter().enumerate() {
            set::<V>(by_degree, *to as usize, row::<V>(terms, k));
        }
        for Block { own: to, turned: from, from: matrix, .. } in frame.iter().flat_map(|frame| &frame.blocks) {
            times::<V>(matrix, &turned[from * lanes..], &mut own[to * lanes..]);
        }
    }
}

/// Adds rows to the expansions of one cell a lane.
#[inline(always)]
unsafe fn from_lanes<V: Vector>(
    of: &Waves<V::Item>,
    cells: &[u32; MOST],
    rows: &[V::Item],
    (l, first): (&mut [V::Item], usize),
) {
    let (lanes, size) = (WIDE * V::LANES, of.places.len());
    let whole = size / V::LANES * V::LANES;
    // SAFETY: as for the caller.
    unsafe {
        for k in (0..whole).step_by(V::LANES) {
            for w in 0..WIDE {
                let mut x = [V::splat(V::Item::default()); 16];
                for i in 0..V::LANES {
                    x[i] = V::load(&rows[of.places[k + i] as usize * lanes + w * V::LANES..]);
                }
                transpose(&mut x);
                for i in 0..V::LANES {
                    let cell = cells[w * V::LANES + i];
                    if cell != NONE {
                        let to = &mut l[(cell as usize - first) * size + k..];
                        V::load(to).add(x[i]).store(to);
                    }
                }
            }
        }
        for (lane, cell) in cells[..lanes].iter().enumerate().filter(|c| *c.1 != NONE) {
            let to = &mut l[(*cell as usize - first) * size..][..size];
            for k in whole..size {
                to[k] += rows[of.places[k] as usize * lanes + lane];
            }
        }
    }
}
