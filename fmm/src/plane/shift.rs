//! The shifts of expansions: M2M (Algorithm 3.4 (b)), L2L (3.5) and M2L (3.6), each with one division and O(p) complex products
//! beside its O(p^2) sums, and several shifts at a time, one in each lane of a vector.
//!
//! With the unit of each box in the powers, no coefficient leaves the range of the format: M2M takes a_j (u_c / r)^j, and at the end
//! times (r / u_p)^j. Algorithm 3.6 is used with r = z_i - z_o, with `+` in its line 8 and log(-r) in line 16, which is right
//! where the printed lines are not.

use super::MOST_ORDER;
use super::points::Place;
use crate::arith::lanes::Real;
use crate::arith::vector::{Vector, vectorised};

/// The most lanes of a vector.
pub const LANES: usize = 16;

/// The factors of each lane of a shift, before and after its sums: complex ratios of lengths.
#[derive(Clone, Copy)]
pub struct Ratios<T> {
    pub before: [[T; LANES]; 2],
    pub after: [[T; LANES]; 2],
    /// The logarithm of the distance, for M2L of `log`.
    pub log: [T; LANES],
}

impl<T: Real> Ratios<T> {
    pub const fn zeros(zero: T) -> Ratios<T> {
        Ratios { before: [[zero; LANES]; 2], after: [[zero; LANES]; 2], log: [zero; LANES] }
    }

    pub fn set(&mut self, lane: usize, before: [f64; 2], after: [f64; 2], log: f64) {
        for part in 0..2 {
            self.before[part][lane] = T::of(before[part]);
            self.after[part][lane] = T::of(after[part]);
        }
        self.log[lane] = T::of(log);
    }
}

/// The kind of shift.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shift {
    M2m,
    L2l,
}

vectorised! {
    /// Shifts the expansions in `rows`, one a lane, which must be as many as the lanes, and puts the results in their place.
    pub fn shift<T>(which: Shift, order: usize, ratios: &Ratios<T>, rows: &mut [T]) = shift_in
}

vectorised! {
    /// Adds to a local expansion what the multipole expansions of some boxes give. There is one `ratios` for each whole vector of
    /// boxes, the last one filled with zeros, and `all` has a vector's length behind its last expansion.
    pub fn m2l<T>(order: usize, all: &[T], boxes: &[u32], ratios: &[Ratios<T>], out: &mut [T]) = m2l_in
}

/// The coefficients of some expansions, one a lane: real and imaginary parts.
type Columns<V> = [[V; MOST_ORDER + 1]; 2];

#[inline(always)]
unsafe fn shift_in<V: Vector>(which: Shift, order: usize, ratios: &Ratios<V::Item>, rows: &mut [V::Item]) {
    // SAFETY: as for this function.
    unsafe {
        let zero = V::splat(V::Item::default());
        let mut c: Columns<V> = [[zero; MOST_ORDER + 1]; 2];
        let mut lane = [V::Item::default(); LANES];
        let stride = 2 * (order + 1);
        for part in 0..2 {
            for j in 0..=order {
                for (k, x) in lane[..V::LANES].iter_mut().enumerate() {
                    *x = rows[k * stride + part * (order + 1) + j];
                }
                c[part][j] = V::load(&lane);
            }
        }
        scale::<V>(&mut c, 1..order + 1, load::<V>(&ratios.before));
        for c in &mut c {
            match which {
                // Algorithm 3.4 (b), lines 5 to 9: prefix sums of a_1..a_p, of a_2..a_p, and so on.
                Shift::M2m => prefix_sums::<V>(&mut c[1..=order]),
                Shift::L2l => differences::<V>(&mut c[..=order]),
            }
        }
        if which == Shift::M2m {
            for c in &mut c {
                let a_0 = c[0];
                add_parts::<V>(a_0, &mut c[1..=order]);
            }
        }
        scale::<V>(&mut c, 1..order + 1, load::<V>(&ratios.after));
        for part in 0..2 {
            for j in 0..=order {
                c[part][j].store(&mut lane);
                for (k, x) in lane[..V::LANES].iter().enumerate() {
                    rows[k * stride + part * (order + 1) + j] = *x;
                }
            }
        }
    }
}

/// Complex numbers of all lanes.
#[inline(always)]
unsafe fn load<V: Vector>(z: &[[V::Item; LANES]; 2]) -> [V; 2] {
    // SAFETY: as for the caller.
    unsafe { [V::load(&z[0]), V::load(&z[1])] }
}

/// Multiplies the coefficients in `range` by w, w^2, ...
#[inline(always)]
unsafe fn scale<V: Vector>(c: &mut Columns<V>, range: std::ops::Range<usize>, w: [V; 2]) {
    let [re, im] = c;
    let mut power = w;
    for (re, im) in re[range.clone()].iter_mut().zip(&mut im[range]) {
        // SAFETY: as for the caller.
        unsafe {
            (*re, *im) = (re.mul(power[0]).sub(im.mul(power[1])), re.mul_add(power[1], im.mul(power[0])));
            power = [power[0].mul(w[0]).sub(power[1].mul(w[1])), power[0].mul_add(w[1], power[1].mul(w[0]))];
        }
    }
}

/// Adds -a_0 / j to the coefficients from j = 1 on.
#[inline(always)]
unsafe fn add_parts<V: Vector>(a_0: V, c: &mut [V]) {
    for (k, c) in c.iter_mut().enumerate() {
        // SAFETY: as for the caller.
        *c = unsafe { a_0.mul_add(V::splat(V::Item::of(-1.0 / (k + 1) as f64)), *c) };
    }
}

/// For k from the last place down to 1: adds to each number from place k on the one before it, which has been added to already.
#[inline(always)]
unsafe fn prefix_sums<V: Vector>(c: &mut [V]) {
    let mut k = c.len();
    // SAFETY: as for the caller.
    unsafe {
        // Two of these loops in one: the second begins a place earlier.
        while k > 2 {
            let (front, rest) = c.split_at_mut(k - 1);
            let [.., a, b] = front else { return };
            let mut one = *b;
            let mut two = a.add(one);
            *b = two;
            for x in rest {
                one = one.add(*x);
                two = two.add(one);
                *x = two;
            }
            k -= 2;
        }
        if k == 2 {
            let mut sum = c[0];
            for x in &mut c[1..] {
                sum = sum.add(*x);
                *x = sum;
            }
        }
    }
}

/// For k from 2 to the length: of the last k numbers each but the last gets the one behind it added, as it was before.
#[inline(always)]
unsafe fn suffix_sums<V: Vector>(c: &mut [V]) {
    let n = c.len();
    let mut k = 2;
    // SAFETY: as for the caller.
    unsafe {
        // Two of these loops in one: the second goes a place further.
        while k < n {
            let (front, last) = c.split_at_mut(n - 1);
            let (front, inner) = front.split_at_mut(n - k);
            let (mut before, mut once) = (last[0], last[0]);
            for x in inner.iter_mut().rev() {
                let now = x.add(before);
                before = *x;
                *x = now.add(once);
                once = now;
            }
            let x = front.last_mut().expect("there is a number before the last k");
            *x = x.add(once);
            k += 2;
        }
        if k == n {
            let mut before = c[n - 1];
            for x in c[..n - 1].iter_mut().rev() {
                let old = *x;
                *x = old.add(before);
                before = old;
            }
        }
    }
}

/// Algorithm 3.5, lines 5 to 9: for k from 0 to p, of the last k + 1 numbers each but the last less the one behind it.
#[inline(always)]
unsafe fn differences<V: Vector>(c: &mut [V]) {
    let n = c.len();
    for k in 1..n {
        let (inner, last) = c[n - 1 - k..].split_at_mut(k);
        let mut before = last[0];
        for x in inner.iter_mut().rev() {
            let old = *x;
            // SAFETY: as for the caller.
            unsafe { *x = old.sub(before) };
            before = old;
        }
    }
}

#[inline(always)]
unsafe fn m2l_in<V: Vector>(
    order: usize,
    all: &[V::Item],
    boxes: &[u32],
    ratios: &[Ratios<V::Item>],
    out: &mut [V::Item],
) {
    // SAFETY: as for this function.
    unsafe {
        let zero = V::splat(V::Item::default());
        let mut total: Columns<V> = [[zero; MOST_ORDER + 1]; 2];
        let mut c: Columns<V> = [[zero; MOST_ORDER + 1]; 2];
        for (boxes, ratios) in boxes.chunks(V::LANES).zip(ratios) {
            let a_0 = gather::<V>(order, all, boxes, &mut c);
            // Algorithm 3.6: b_(j-1) = a_j / r^j (-1)^j, b_p = 0.
            scale::<V>(&mut c, 0..order, load::<V>(&ratios.before));
            for c in &mut c {
                c[order] = zero;
                suffix_sums::<V>(&mut c[..order]);
                prefix_sums::<V>(&mut c[..=order]);
            }
            let log = V::load(&ratios.log);
            for part in 0..2 {
                c[part][0] = a_0[part].mul_add(log, c[part][0]);
                add_parts::<V>(a_0[part], &mut c[part][1..=order]);
            }
            scale::<V>(&mut c, 1..order + 1, load::<V>(&ratios.after));
            for (total, c) in total.iter_mut().zip(&c) {
                for (total, c) in total[..=order].iter_mut().zip(c) {
                    *total = total.add(*c);
                }
            }
        }
        for (part, total) in total.iter().enumerate() {
            for (out, total) in out[part * (order + 1)..].iter_mut().zip(&total[..=order]) {
                *out += total.sum();
            }
        }
    }
}

/// Brings the coefficients 1 to p of some boxes, one a lane, to the places 0 to p - 1, and returns their a_0. Lanes without a box
/// get that of the first one.
#[inline(always)]
unsafe fn gather<V: Vector>(order: usize, all: &[V::Item], boxes: &[u32], c: &mut Columns<V>) -> [V; 2] {
    let stride = 2 * (order + 1);
    let mut lane = [0usize; LANES];
    for (k, lane) in lane[..V::LANES].iter_mut().enumerate() {
        *lane = *boxes.get(k).unwrap_or(&boxes[0]) as usize * stride;
    }
    // SAFETY: as for the caller.
    unsafe {
        let zero = V::splat(V::Item::default());
        let mut a_0 = [zero; 2];
        let mut block = [zero; LANES];
        for part in 0..2 {
            for first in (0..=order).step_by(V::LANES) {
                for (row, lane) in block[..V::LANES].iter_mut().zip(&lane) {
                    *row = V::load(&all[lane + part * (order + 1) + first..]);
                }
                transpose::<V>(&mut block);
                for (j, row) in (first..=order).zip(&block[..V::LANES]) {
                    match j {
                        0 => a_0[part] = *row,
                        j => c[part][j - 1] = *row,
                    }
                }
            }
        }
        a_0
    }
}

/// Exchanges the rows and columns of as many vectors as one has lanes: perfect shuffles, as often as lanes can be halved.
#[inline(always)]
unsafe fn transpose<V: Vector>(rows: &mut [V; LANES]) {
    let mut width = V::LANES;
    while width > 1 {
        let old = *rows;
        for k in 0..V::LANES / 2 {
            // SAFETY: as for the caller.
            let [low, high] = unsafe { old[k].interleave(old[k + V::LANES / 2]) };
            (rows[2 * k], rows[2 * k + 1]) = (low, high);
        }
        width /= 2;
    }
}

/// The same shift between boxes whose centres lie so close, or at one place, that one cannot divide by r: Algorithm 3.4 (a), and
/// for L2L its counterpart.
pub fn plain(which: Shift, order: usize, from: &Place, to: &Place, mut row: Vec<f64>) -> Vec<f64> {
    let parent = if which == Shift::M2m { to.unit } else { from.unit };
    let sign = if which == Shift::M2m { 1.0 } else { -1.0 };
    // z_c - z_p in units of the parent.
    let r = [0, 1].map(|a| sign * (from.centre[a] - to.centre[a]) / parent);
    let times = |a: [f64; 2], b: [f64; 2]| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
    let plus = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
    let mut c: Vec<[f64; 2]> = (0..=order).map(|j| [row[j], row[order + 1 + j]]).collect();
    let rescale = |c: &mut [[f64; 2]], ratio: f64| {
        let mut power = 1.0;
        for z in c {
            *z = z.map(|x| x * power);
            power *= ratio;
        }
    };
    match which {
        Shift::M2m => {
            rescale(&mut c, from.unit / parent);
            for k in (2..=order).rev() {
                for j in k..=order {
                    c[j] = plus(c[j], times(r, c[j - 1]));
                }
            }
            let mut power = r;
            for j in 1..=order {
                c[j] = plus(c[j], times(power, c[0]).map(|x| -x / j as f64));
                power = times(power, r);
            }
        }
        Shift::L2l => {
            for k in 0..order {
                for j in (k..order).rev() {
                    c[j] = plus(c[j], times(r, c[j + 1]));
                }
            }
            rescale(&mut c, to.unit / parent);
        }
    }
    for (j, [re, im]) in c.into_iter().enumerate() {
        (row[j], row[order + 1 + j]) = (re, im);
    }
    row
}
