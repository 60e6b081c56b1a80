//! Exponentials from parents to those beside them.

use super::Departed;
use crate::arith::vector::Vector;
use crate::expansion::mirrored::lanes::NONE;

/// The parents that act on one in a direction, by their offset across as in [`Shifts::beside`](super::shifts::Shifts::beside): the
/// place of their numbers.
pub type Beside = [u32; 9];

/// Exponentials whose sums stay in the nearest cache.
const TOGETHER: usize = 64;

/// Sums by plane, by what of each axis across takes them, and by part.
const MOST_SUMS: usize = 2 * 3 * 3 * 2;

/// The rows of targets that take part along a limited axis across: both, the lower or the upper one.
const BOTH: usize = 0;

/// The rows of sources, and which targets take them, for an offset across of -1, 0 or 1 from source to target.
fn taken(is_limited: bool, offset: usize) -> (std::ops::Range<usize>, usize) {
    match (is_limited, offset) {
        (false, _) => (0..1, BOTH),
        (true, 0) => (0..1, 2),
        (true, 1) => (0..2, BOTH),
        (true, _) => (1..2, 1),
    }
}

/// The exponentials that arrive at a parent, for each of its slots, given the parents beside it below and above.
///
/// # Safety
/// The machine must have the instructions of the vector.
#[inline(always)]
pub unsafe fn translate<V: Vector>(
    from: &Departed<V::Item>,
    beside: &[Beside; 2],
    out: &mut [V::Item],
    sums: &mut Vec<V::Item>,
) {
    let of = from.of;
    sums.resize(MOST_SUMS * TOGETHER, <V::Item as Default>::default());
    for (is_up, beside) in [true, false].into_iter().zip(beside) {
        let all = of.modes.exponentials;
        for first in (0..all).step_by(TOGETHER) {
            let range = first..all.min(first + TOGETHER);
            // SAFETY: as for this function.
            unsafe {
                add::<V>(from, (is_up, beside), range.clone(), sums);
                give::<V>(from, is_up, range, sums, out);
            }
        }
    }
}

/// The sums of some exponentials over parents, at the lower of two planes of children and at the upper one.
#[inline(always)]
unsafe fn add<V: Vector>(
    from: &Departed<V::Item>,
    (is_up, beside): (bool, &Beside),
    range: std::ops::Range<usize>,
    sums: &mut [V::Item],
) {
    let Departed { of, plane, waves, .. } = *from;
    let ([limited_p, limited_q], [rows, columns]) = (plane.is_limited(), plane.rows());
    let (all, numbers) = (of.modes.exponentials, plane.numbers(of));
    sums.fill(<V::Item as Default>::default());
    for (offset, parent) in beside.iter().enumerate().filter(|b| *b.1 != NONE) {
        let (of_rows, p) = taken(limited_p, offset / 3);
        let (of_columns, q) = taken(limited_q, offset % 3);
        let [re, im] = &of.shifts.beside[offset];
        for near in 0..2 {
            let bit = if is_up { near } else { 1 - near };
            let mut slots = [0; 4];
            let mut count = 0;
            for row in of_rows.clone() {
                for column in of_columns.clone() {
                    let slot = (bit * rows + row) * columns + column;
                    slots[count] = *parent as usize * numbers + plane.place(of, is_up, slot);
                    count += 1;
                }
            }
            let to = &mut sums[((near * 3 + p) * 3 + q) * 2 * TOGETHER..][..2 * TOGETHER];
            let factors = [&re[range.clone()], &im[range.clone()]];
            // SAFETY: as for the caller.
            unsafe {
                match count {
                    1 => add_slots::<V, 1>(waves, &slots, (all, range.start), factors, to),
                    2 => add_slots::<V, 2>(waves, &slots, (all, range.start), factors, to),
                    _ => add_slots::<V, 4>(waves, &slots, (all, range.start), factors, to),
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn add_slots<V: Vector, const N: usize>(
    waves: &[V::Item],
    slots: &[usize; 4],
    (all, first): (usize, usize),
    [re, im]: [&[V::Item]; 2],
    to: &mut [V::Item],
) {
    let (real, imaginary) = to.split_at_mut(TOGETHER);
    let count = re.len();
    let mut sources = [(&waves[..0], &waves[..0]); N];
    for (source, slot) in sources.iter_mut().zip(slots) {
        *source = (&waves[slot + first..][..count], &waves[slot + all + first..][..count]);
    }
    // SAFETY: as for the caller.
    unsafe {
        for e in (0..count).step_by(V::LANES) {
            let [mut a, mut b] = [V::load(&sources[0].0[e..]), V::load(&sources[0].1[e..])];
            for source in &sources[1..] {
                (a, b) = (a.add(V::load(&source.0[e..])), b.add(V::load(&source.1[e..])));
            }
            let (re, im) = (V::load(&re[e..]), V::load(&im[e..]));
            let (sr, si) = (V::load(&real[e..]), V::load(&imaginary[e..]));
            re.mul_add(a, sr).sub(im.mul(b)).store(&mut real[e..]);
            re.mul_add(b, im.mul_add(a, si)).store(&mut imaginary[e..]);
        }
    }
}

/// Gives the sums to the slots of a parent.
#[inline(always)]
unsafe fn give<V: Vector>(
    from: &Departed<V::Item>,
    is_up: bool,
    range: std::ops::Range<usize>,
    sums: &[V::Item],
    out: &mut [V::Item],
) {
    let Departed { of, plane, .. } = *from;
    let ([limited_p, limited_q], [rows, columns]) = (plane.is_limited(), plane.rows());
    let all = of.modes.exponentials;
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        let (p, q) = (if limited_p { 1 + row } else { BOTH }, if limited_q { 1 + column } else { BOTH });
        let mut channels = [[BOTH; 2], [p, BOTH], [BOTH, q], [p, q]];
        // Along an axis that is not limited there is one channel.
        let count = match (limited_p, limited_q) {
            (true, true) => 4,
            (false, false) => 1,
            _ => {
                channels[1] = [p, q];
                2
            }
        };
        let place = |bit: usize| plane.place(of, is_up, (bit * rows + row) * columns + column) + range.start;
        let near = if is_up { [place(0), place(1)] } else { [place(1), place(0)] };
        for part in 0..2 {
            for e in (0..range.len()).step_by(V::LANES) {
                // SAFETY: as for the caller.
                unsafe {
                    let lower = total::<V>(sums, (0, part, e), &channels[..count]);
                    let upper = total::<V>(sums, (1, part, e), &channels[..count]);
                    let fall = V::load(&of.shifts.plane[range.start + e..]);
                    lower.store(&mut out[near[0] + part * all + e..]);
                    fall.mul_add(lower, upper).store(&mut out[near[1] + part * all + e..]);
                }
            }
        }
    }
}

/// The sum over channels.
#[inline(always)]
unsafe fn total<V: Vector>(sums: &[V::Item], (plane, part, e): (usize, usize, usize), channels: &[[usize; 2]]) -> V {
    // SAFETY: as for the caller.
    unsafe {
        let mut total = V::splat(V::Item::default());
        for [p, q] in channels {
            total = total.add(V::load(&sums[(((plane * 3 + p) * 3 + q) * 2 + part) * TOGETHER + e..]));
        }
        total
    }
}
