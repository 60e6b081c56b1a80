//! Splitting points at medians, level by level.

use super::Points;
use crate::arith::lanes::fastest;

/// Fewer points than this are split by the thread that has them.
const ALONE: usize = 4096;

/// Sorts points, given as columns x and y, into the finest boxes of a pyramid.
pub(super) fn sort([mut x, mut y]: [Vec<f64>; 2], levels: usize) -> Points {
    let n = x.len();
    let mut order: Vec<u32> = (0..n as u32).collect();
    let mut start = vec![0; (1 << (2 * levels)) + 1];
    start[1 << (2 * levels)] = n as u32;
    let mut room = (vec![0.0; n], vec![0.0; n], vec![0u32; n], vec![0.0; n]);
    let points = Slices { x: &mut x, y: &mut y, order: &mut order };
    let room = (Slices { x: &mut room.0, y: &mut room.1, order: &mut room.2 }, &mut room.3[..]);
    // The number of splits is even, so that the points are at last where they were at first.
    split(points, room, 0, &mut start[..1 << (2 * levels)]);
    Points { x, y, order, start }
}

/// Columns of some points.
struct Slices<'a> {
    x: &'a mut [f64],
    y: &'a mut [f64],
    order: &'a mut [u32],
}

impl<'a> Slices<'a> {
    fn split_at(self, at: usize) -> (Slices<'a>, Slices<'a>) {
        let ((x0, x1), (y0, y1)) = (self.x.split_at_mut(at), self.y.split_at_mut(at));
        let (o0, o1) = self.order.split_at_mut(at);
        (Slices { x: x0, y: y0, order: o0 }, Slices { x: x1, y: y1, order: o1 })
    }
}

/// Splits points until there is one part for each place of `start`, whose first points are written there. `offset` is that of
/// the first point. The parts end in `points` after an even number of splits and in `room` after an odd one. With the scratch memory come
/// as many numbers to work with.
fn split(points: Slices, (mut room, keys): (Slices, &mut [f64]), offset: usize, start: &mut [u32]) {
    if start.len() == 1 {
        start[0] = offset as u32;
        return;
    }
    let n = points.x.len();
    let half = n / 2;
    let column: &[f64] = if extent(points.x) >= extent(points.y) { points.x } else { points.y };
    let split_at = Key::of_rank(half, column, keys);
    partition(column, split_at, half, &points, &mut room);
    let (low, high) = room.split_at(half);
    let (low_room, high_room) = points.split_at(half);
    let (low_keys, high_keys) = keys.split_at_mut(half);
    let (low_start, high_start) = start.split_at_mut(start.len() / 2);
    let first = || split(low, (low_room, low_keys), offset, low_start);
    let second = || split(high, (high_room, high_keys), offset + half, high_start);
    if n > ALONE {
        rayon::join(first, second);
    } else {
        first();
        second();
    }
}

/// The largest coordinate less the smallest.
fn extent(x: &[f64]) -> f64 {
    let mut range = [f64::INFINITY, f64::NEG_INFINITY];
    extremes(x, &mut range);
    range[1] - range[0]
}

fastest! {
    /// The smallest and the largest of some numbers.
    fn extremes(x: &[f64], range: &mut [f64; 2]) = extremes_in
}

#[inline(always)]
fn extremes_in<const FMA: bool>(x: &[f64], range: &mut [f64; 2]) {
    const LANES: usize = 16;
    let (mut low, mut high) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
    let (whole, rest) = x.as_chunks::<LANES>();
    for x in whole {
        for k in 0..LANES {
            low[k] = if x[k] < low[k] { x[k] } else { low[k] };
            high[k] = if x[k] > high[k] { x[k] } else { high[k] };
        }
    }
    for x in low.iter().chain(&high).chain(rest).filter(|x| x.is_finite()) {
        *range = [range[0].min(*x), range[1].max(*x)];
    }
}

/// Where points are split: those with coordinates below `key` are in the first half, and the first `equal` of those at it.
#[derive(Clone, Copy)]
struct Key {
    key: f64,
    equal: usize,
}

/// From so many points on, a sample narrows down where the median is.
const SAMPLED: usize = 2048;
/// The numbers of a sample, and how far from its median the bounds are that it gives: five standard deviations.
const SAMPLE: usize = 512;
const MARGIN: usize = 5 * 11;

impl Key {
    /// The key with `half` points before it. `room` has a place for each point.
    fn of_rank(half: usize, column: &[f64], room: &mut [f64]) -> Key {
        if column.len() < SAMPLED {
            room.copy_from_slice(column);
            return Key::among(half, room);
        }
        let mut sample: Vec<f64> = column.iter().step_by(column.len() / SAMPLE).copied().collect();
        sample.sort_unstable_by(f64::total_cmp);
        let (low, high) = (sample[sample.len() / 2 - MARGIN], sample[sample.len() / 2 + MARGIN]);
        let (mut below, mut count) = (0, 0);
        for x in column {
            room[count] = *x;
            below += (*x < low) as usize;
            count += (*x >= low && *x <= high) as usize;
            count = count.min(room.len() - 1);
        }
        // The last place may have been written over.
        if (below..below + count).contains(&half) && count < room.len() - 1 {
            return Key::among(half - below, &mut room[..count]);
        }
        room.copy_from_slice(column);
        Key::among(half, room)
    }

    fn among(rank: usize, numbers: &mut [f64]) -> Key {
        // The sign of a zero does not count: only numbers below the key and those equal to it are distinguished.
        let key = *numbers.select_nth_unstable_by(rank, f64::total_cmp).1;
        let below = numbers[..rank].iter().filter(|x| **x < key).count();
        Key { key, equal: rank - below }
    }
}

/// Moves the `half` points before the key to the front of `to` and the others behind them, each in their order.
fn partition(column: &[f64], Key { key, mut equal }: Key, half: usize, points: &Slices, to: &mut Slices) {
    let (mut low, mut high) = (0, half);
    for (((value, x), y), order) in column.iter().zip(&*points.x).zip(&*points.y).zip(&*points.order) {
        let is_equal = *value == key && equal > 0;
        equal -= is_equal as usize;
        let is_low = *value < key || is_equal;
        let place = if is_low { low } else { high };
        low += is_low as usize;
        high += !is_low as usize;
        to.x[place] = *x;
        to.y[place] = *y;
        to.order[place] = *order;
    }
}
