//! P2M and L2P: a cell and the particles in it, a vector of particles at a time.
//!
//! The sum over the terms of a series is nested: along z first, then along y and x.

use crate::arith::lanes::Real;
use crate::arith::vector::{Vector, vectorised};
use crate::expansion::Values;
use crate::expansion::basis::Index;

/// The terms of an expansion by their degrees in x, y and z, the last running fastest.
pub struct Nested {
    order: usize,
    /// For each of them its usual place.
    places: Vec<u32>,
}

/// The highest order of a basis, and of what softening changes.
const MOST: usize = crate::expansion::softened::orders::MOST;

impl Nested {
    pub fn new(terms: &[Index], order: usize) -> Nested {
        assert!(order <= MOST, "the order is one of the basis");
        let mut places: Vec<u32> = (0..terms.len() as u32).collect();
        places.sort_by_key(|k| terms[*k as usize]);
        Nested { order, places }
    }
}

vectorised! {
    /// P2M: adds to `m` what charges at `x`, in units of the cell's edge from its centre, give to each term.
    pub fn moments<T>(nested: &Nested, x: [&[T]; 3], charges: &[T], m: &mut [T]) = moments_in
}

vectorised! {
    /// L2P: adds to `out` the potential of a series and its gradient, in units of the cell's edge.
    pub fn values<T>(nested: &Nested, x: [&[T]; 3], l: &[T], out: &mut [Values<T>]) = values_in
}

/// The numbers from `first` on; 0 beyond the end.
#[inline(always)]
unsafe fn part<V: Vector>(from: &[V::Item], first: usize) -> V {
    // SAFETY: as for the caller.
    unsafe {
        if from.len() - first >= V::LANES {
            return V::load(&from[first..]);
        }
        let mut filled = [V::Item::default(); 16];
        filled[..from.len() - first].copy_from_slice(&from[first..]);
        V::load(&filled)
    }
}

/// The polynomials up to an order at 2 x.
#[inline(always)]
unsafe fn polynomials<V: Vector>(x: V, order: usize) -> [V; MOST + 1] {
    // SAFETY: as for the caller.
    unsafe {
        let (one, two) = (V::splat(V::Item::ONE), x.add(x));
        let double = two.add(two);
        let mut t = [one; MOST + 1];
        t[1] = two;
        for k in 2..=order {
            t[k] = double.mul(t[k - 1]).sub(t[k - 2]);
        }
        t
    }
}

/// Their derivatives by x: T_n' = 2 n (T_(n-1) + T_(n-3) + ...), of which T_0 counts half, and 2 for the argument.
#[inline(always)]
unsafe fn slopes<V: Vector>(t: &[V; MOST + 1], order: usize) -> [V; MOST + 1] {
    // SAFETY: as for the caller.
    unsafe {
        let mut sums = [V::splat(V::Item::default()); MOST + 1];
        let mut slopes = sums;
        for n in 1..=order {
            let half = if n == 1 { 0.5 } else { 1.0 };
            sums[n] = V::splat(V::Item::of(half)).mul_add(t[n - 1], if n >= 2 { sums[n - 2] } else { sums[0] });
            slopes[n] = V::splat(V::Item::of(4.0 * n as f64)).mul(sums[n]);
        }
        slopes
    }
}

#[allow(clippy::needless_range_loop, reason = "the same place of several arrays")]
#[inline(always)]
unsafe fn moments_in<V: Vector>(nested: &Nested, x: [&[V::Item]; 3], charges: &[V::Item], m: &mut [V::Item]) {
    let order = nested.order;
    // SAFETY: as for the caller.
    unsafe {
        let mut sums = vec![V::splat(V::Item::default()); nested.places.len()];
        for first in (0..charges.len()).step_by(V::LANES) {
            // No closure: it would not have the instructions of the vector.
            let tx = polynomials(part::<V>(x[0], first), order);
            let ty = polynomials(part::<V>(x[1], first), order);
            let tz = polynomials(part::<V>(x[2], first), order);
            let q = part::<V>(charges, first);
            let mut rest = &mut sums[..];
            for a in 0..=order {
                let qx = q.mul(tx[a]);
                for b in 0..=order - a {
                    let qxy = qx.mul(ty[b]);
                    let (row, after) = rest.split_at_mut(order - a - b + 1);
                    rest = after;
                    for (sum, z) in row.iter_mut().zip(&tz) {
                        *sum = qxy.mul_add(*z, *sum);
                    }
                }
            }
        }
        let (fours, rest) = sums.as_chunks::<4>();
        let (of_fours, of_rest) = nested.places.split_at(4 * fours.len());
        for (four, places) in fours.iter().zip(of_fours.as_chunks::<4>().0) {
            let sums = V::four_sums(*four);
            for k in 0..4 {
                m[places[k] as usize] += sums[k];
            }
        }
        for (sum, place) in rest.iter().zip(of_rest) {
            m[*place as usize] += sum.sum();
        }
    }
}

#[inline(always)]
unsafe fn values_in<V: Vector>(nested: &Nested, x: [&[V::Item]; 3], l: &[V::Item], out: &mut [Values<V::Item>]) {
    let order = nested.order;
    let l: Vec<V::Item> = nested.places.iter().map(|k| l[*k as usize]).collect();
    // SAFETY: as for the caller.
    unsafe {
        let zero = V::splat(V::Item::default());
        for (first, out) in (0..).step_by(V::LANES).zip(out.chunks_mut(V::LANES)) {
            // No closures: they would not have the instructions of the vector.
            let t = [
                polynomials(part::<V>(x[0], first), order),
                polynomials(part::<V>(x[1], first), order),
                polynomials(part::<V>(x[2], first), order),
            ];
            let d = [slopes(&t[0], order), slopes(&t[1], order), slopes(&t[2], order)];
            let mut sums = [zero; 4];
            let mut rest = &l[..];
            for a in 0..=order {
                // Sums over y and z: the value, and the derivatives by y and z.
                let mut plane = [zero; 3];
                for b in 0..=order - a {
                    let (row, after) = rest.split_at(order - a - b + 1);
                    rest = after;
                    let (mut along, mut slope) = (zero, zero);
                    for ((l, t), d) in row.iter().zip(&t[2]).zip(&d[2]) {
                        let l = V::splat(*l);
                        along = l.mul_add(*t, along);
                        slope = l.mul_add(*d, slope);
                    }
                    plane[0] = along.mul_add(t[1][b], plane[0]);
                    plane[1] = along.mul_add(d[1][b], plane[1]);
                    plane[2] = slope.mul_add(t[1][b], plane[2]);
                }
                sums[0] = plane[0].mul_add(t[0][a], sums[0]);
                sums[1] = plane[0].mul_add(d[0][a], sums[1]);
                sums[2] = plane[1].mul_add(t[0][a], sums[2]);
                sums[3] = plane[2].mul_add(t[0][a], sums[3]);
            }
            let mut lanes = [[V::Item::default(); 16]; 4];
            for (lanes, sum) in lanes.iter_mut().zip(sums) {
                sum.store(lanes);
            }
            for (i, out) in out.iter_mut().enumerate() {
                (0..4).for_each(|a| out[a] += lanes[a][i]);
            }
        }
    }
}
