//! The operators of the Taylor expansion on vectors of eight particles.

use super::m2l::{Table, m2l, pair};
use super::{LANES, Lane, Taylor};
use crate::arith::lanes::{Real, fastest};
use crate::expansion::sparse::apply;
use crate::expansion::{Derivatives, Expansion, Far, Points, Values};
use std::sync::OnceLock;

/// The Taylor expansion in the arithmetic of `T`.
#[derive(Clone, Debug)]
pub struct Operators<T> {
    pub taylor: Taylor,
    /// The derivatives at every offset of M2L.
    table: OnceLock<Table<T>>,
    /// The tables of the next order, for derivatives.
    pub(super) upper: OnceLock<Taylor>,
    near2: u64,
}

impl<T: Real> Operators<T> {
    /// For an order of at least 1 and cells that are near below `near2`.
    pub fn new(order: usize, near2: u64) -> Operators<T> {
        Operators { taylor: Taylor::new(order), table: OnceLock::new(), upper: OnceLock::new(), near2 }
    }
}

impl<T: Real> Expansion<T> for Operators<T> {
    fn multipole_terms(&self) -> usize {
        self.taylor.m
    }

    fn local_terms(&self) -> usize {
        self.taylor.l
    }

    fn p2m(&self, points: Points<T>, charges: &[T], m: &mut [T], scratch: &mut Vec<T>) {
        p2m::<T>(&self.taylor, points, charges, m, scratch);
    }

    fn m2m(&self, octant: usize, child: &[T], parent: &mut [T]) {
        apply(&self.taylor.m2m[octant], child, parent);
    }

    fn m2l_pair(&self, _: u32, offset: [i64; 3], m: &[T], l: &mut [T]) {
        pair(&self.taylor, offset, m, l);
    }

    fn m2l(&self, far: Far, m: &[T], l: &mut [T]) {
        if far.lists.v.is_empty() {
            return;
        }
        let table = self.table.get_or_init(|| Table::new(&self.taylor, self.near2));
        m2l(far, &self.taylor, table, m, l);
    }

    fn p2l(&self, _: u32, points: Points<T>, charges: &[T], l: &mut [T], scratch: &mut Vec<T>) {
        p2l::<T>(&self.taylor, points, charges, l, scratch);
    }

    fn l2l(&self, octant: usize, parent: &[T], child: &mut [T]) {
        apply(&self.taylor.l2l[octant], parent, child);
    }

    fn l2p(&self, l: &[T], points: Points<T>, out: &mut [Values<T>], scratch: &mut Vec<T>) {
        l2p::<T>(&self.taylor, l, points, out, scratch);
    }

    fn m2p(&self, _: u32, m: &[T], points: Points<T>, out: &mut [Values<T>], scratch: &mut Vec<T>) {
        m2p::<T>(&self.taylor, m, points, out, scratch);
    }

    fn derivatives(&self) -> Option<&dyn Derivatives<T>> {
        Some(self)
    }
}

/// Up to eight points from `first`; other lanes have 0.
#[inline(always)]
pub(super) fn block<T: Real>(points: &Points<T>, first: usize) -> [Lane<T>; 3] {
    points.x.map(|column| lane(column, first))
}

#[inline(always)]
fn lane<T: Real>(values: &[T], first: usize) -> Lane<T> {
    let mut lane = [T::default(); LANES];
    let count = (values.len() - first).min(LANES);
    lane[..count].copy_from_slice(&values[first..first + count]);
    lane
}

#[inline(always)]
fn negative<T: Real>(x: [Lane<T>; 3]) -> [Lane<T>; 3] {
    x.map(|lane| lane.map(|x| -x))
}

/// The sum over lanes in a fixed order.
#[inline(always)]
fn total<T: Real>(x: &Lane<T>) -> T {
    ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]))
}

/// Memory of `count` lanes of zeros.
#[inline(always)]
pub(super) fn lanes<T: Real>(scratch: &mut Vec<T>, count: usize) -> &mut [Lane<T>] {
    scratch.clear();
    scratch.resize(count * LANES, T::default());
    scratch.as_chunks_mut::<LANES>().0
}

fastest! {
    pub(super) fn p2m<T>(e: &Taylor, points: Points<T>, charges: &[T], m: &mut [T], scratch: &mut Vec<T>) = p2m_body
}

#[inline(always)]
fn p2m_body<T: Real, const FMA: bool>(e: &Taylor, points: Points<T>, charges: &[T], m: &mut [T], scratch: &mut Vec<T>) {
    let (sum, powers) = lanes(scratch, 2 * e.m).split_at_mut(e.m);
    for first in (0..charges.len()).step_by(LANES) {
        let (x, q) = (negative(block(&points, first)), lane(charges, first));
        e.powers(&x, powers);
        for (sum, power) in sum.iter_mut().zip(&*powers) {
            for i in 0..LANES {
                sum[i] += q[i] * power[i];
            }
        }
    }
    m.iter_mut().zip(sum).for_each(|(m, sum)| *m += total(sum));
}

fastest! {
    pub(super) fn p2l<T>(e: &Taylor, points: Points<T>, charges: &[T], l: &mut [T], scratch: &mut Vec<T>) = p2l_body
}

#[inline(always)]
fn p2l_body<T: Real, const FMA: bool>(e: &Taylor, points: Points<T>, charges: &[T], l: &mut [T], scratch: &mut Vec<T>) {
    let (sum, d) = lanes(scratch, 2 * e.l).split_at_mut(e.l);
    for first in (0..charges.len()).step_by(LANES) {
        let (x, q) = (negative(block(&points, first)), lane(charges, first));
        e.derivatives::<T, FMA>(&x, [true; LANES], d);
        for (sum, d) in sum.iter_mut().zip(&*d) {
            for i in 0..LANES {
                sum[i] += q[i] * d[i];
            }
        }
    }
    l.iter_mut().zip(sum).for_each(|(l, sum)| *l += total(sum));
}

fastest! {
    fn l2p<T>(e: &Taylor, l: &[T], points: Points<T>, out: &mut [Values<T>], scratch: &mut Vec<T>) = l2p_body
}

#[inline(always)]
fn l2p_body<T: Real, const FMA: bool>(
    e: &Taylor,
    l: &[T],
    points: Points<T>,
    out: &mut [Values<T>],
    scratch: &mut Vec<T>,
) {
    let powers = lanes(scratch, e.l);
    for (k, out) in out.chunks_mut(LANES).enumerate() {
        e.powers(&block(&points, k * LANES), powers);
        let mut sums = [[T::default(); LANES]; 4];
        for (l, power) in l.iter().zip(&*powers) {
            for i in 0..LANES {
                sums[0][i] += *l * power[i];
            }
        }
        for (raised, power) in e.raised.iter().zip(&*powers) {
            for a in 0..3 {
                let l = l[raised[a] as usize];
                for i in 0..LANES {
                    sums[a + 1][i] += l * power[i];
                }
            }
        }
        add(&sums, out);
    }
}

#[inline(always)]
fn add<T: Real>(sums: &[Lane<T>; 4], out: &mut [Values<T>]) {
    for (i, out) in out.iter_mut().enumerate() {
        (0..4).for_each(|a| out[a] += sums[a][i]);
    }
}

fastest! {
    fn m2p<T>(e: &Taylor, m: &[T], points: Points<T>, out: &mut [Values<T>], scratch: &mut Vec<T>) = m2p_body
}

#[inline(always)]
fn m2p_body<T: Real, const FMA: bool>(
    e: &Taylor,
    m: &[T],
    points: Points<T>,
    out: &mut [Values<T>],
    scratch: &mut Vec<T>,
) {
    let d = lanes(scratch, e.l);
    for (k, out) in out.chunks_mut(LANES).enumerate() {
        e.derivatives::<T, FMA>(&block(&points, k * LANES), [true; LANES], d);
        let mut sums = [[T::default(); LANES]; 4];
        for ((m, raised), value) in m.iter().zip(&e.raised).zip(&*d) {
            for i in 0..LANES {
                sums[0][i] += *m * value[i];
            }
            for a in 0..3 {
                let d = &d[raised[a] as usize];
                for i in 0..LANES {
                    sums[a + 1][i] += *m * d[i];
                }
            }
        }
        add(&sums, out);
    }
}
