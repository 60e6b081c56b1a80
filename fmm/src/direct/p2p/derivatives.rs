//! P2P for dipoles and Hessians.
//!
//! With d from target to source, i the inverse of the softened distance, n = d i, the charge q and the dipole moment p, let e = p i.
//! Then the potential is i (q - e.n), the gradient is i^2 (c n + e) with c = q - 3 e.n, and the Hessian is
//! i^3 (n f^T + f n^T - c) with f = (3/2 q - 15/2 e.n) n + 3 e. No intermediate value is farther from 1 than the results are.

use super::sources::{LANES, Line, Sources};
use super::sums::{Squares, inverse_distance, part};
use crate::arith::lanes::Real;
use crate::arith::vector::{Vector, vectorised};
use std::ops::Range;

/// The charges of the sources, and their moments where they have any.
#[derive(Clone, Copy)]
pub(super) struct Carried<'a, T> {
    pub charges: &'a [Line<T>],
    pub dipoles: Option<[&'a [Line<T>]; 3]>,
    /// Whether second derivatives are wanted; else they are 0.
    pub hessian: bool,
}

/// Potential, gradient and second derivatives at one target, and how many sources were left out because they were too close.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct All<T> {
    pub values: [T; 10],
    pub close: u32,
}

vectorised! {
    /// Sums at each of `targets` over all sources but those too close, and counts these.
    pub(super) fn all_sums<T>(
        sources: &Sources<T>,
        carried: Carried<T>,
        squares: Squares<T>,
        targets: &[[T; 3]],
        sums: &mut [All<T>],
    ) = all_in
}

#[inline(always)]
unsafe fn all_in<V: Vector>(
    sources: &Sources<V::Item>,
    carried: Carried<V::Item>,
    squares: Squares<V::Item>,
    targets: &[[V::Item; 3]],
    sums: &mut [All<V::Item>],
) {
    for (at, sums) in targets.iter().zip(sums) {
        // SAFETY: as for this function.
        *sums = unsafe {
            match (carried.dipoles.is_some(), carried.hessian) {
                (true, true) => sums_at::<V, true, true>(sources, &carried, squares, at),
                (true, false) => sums_at::<V, true, false>(sources, &carried, squares, at),
                (false, _) => sums_at::<V, false, true>(sources, &carried, squares, at),
            }
        };
    }
}

#[inline(always)]
unsafe fn sums_at<V: Vector, const DIPOLES: bool, const HESSIAN: bool>(
    sources: &Sources<V::Item>,
    carried: &Carried<V::Item>,
    squares: Squares<V::Item>,
    at: &[V::Item; 3],
) -> All<V::Item> {
    let guarded = &sources.guarded;
    // SAFETY: as for the caller.
    unsafe {
        let mut target = Target {
            at: [V::splat(at[0]), V::splat(at[1]), V::splat(at[2])],
            total: [V::splat(V::Item::default()); 10],
            eps: V::splat(squares.eps),
            least: V::splat(squares.least),
        };
        target.add::<DIPOLES, HESSIAN, false>(sources, carried, 0..guarded.start);
        let close = target.add::<DIPOLES, HESSIAN, true>(sources, carried, guarded.clone());
        target.add::<DIPOLES, HESSIAN, false>(sources, carried, guarded.end..sources.mutual.end);
        All { values: std::array::from_fn(|a| target.total[a].sum()), close }
    }
}

#[inline(always)]
unsafe fn number<V: Vector>(x: f64) -> V {
    // SAFETY: as for the caller.
    unsafe { V::splat(V::Item::of(x)) }
}

/// One target and its sums, lane by lane.
struct Target<V> {
    at: [V; 3],
    total: [V; 10],
    eps: V,
    least: V,
}

impl<V: Vector> Target<V> {
    /// Adds lines. Where they are `GUARDED`, sources too close are left out, and counted.
    #[inline(always)]
    unsafe fn add<const DIPOLES: bool, const HESSIAN: bool, const GUARDED: bool>(
        &mut self,
        sources: &Sources<V::Item>,
        carried: &Carried<V::Item>,
        lines: Range<usize>,
    ) -> u32 {
        let mut close = 0;
        let [x, y, z, _] = &sources.columns;
        for line in lines {
            for first in (0..LANES).step_by(V::LANES) {
                // SAFETY: as for the caller.
                unsafe {
                    let x = [part::<V>(x, line, first), part::<V>(y, line, first), part::<V>(z, line, first)];
                    let d = [x[0].sub(self.at[0]), x[1].sub(self.at[1]), x[2].sub(self.at[2])];
                    let (root, near) = inverse_distance::<V, GUARDED>(d, self.eps, self.least);
                    close += near;
                    let i = root.mul(number::<V>(1.0 / V::ROOT));
                    let p = match carried.dipoles {
                        Some([px, py, pz]) if DIPOLES => {
                            [part::<V>(px, line, first), part::<V>(py, line, first), part::<V>(pz, line, first)]
                        }
                        _ => [V::splat(V::Item::default()); 3],
                    };
                    self.add_pairs::<DIPOLES, HESSIAN>(d, i, part::<V>(carried.charges, line, first), p);
                }
            }
        }
        close
    }

    /// Adds one vector of pairs at distances 1 / `i`.
    #[inline(always)]
    unsafe fn add_pairs<const DIPOLES: bool, const HESSIAN: bool>(&mut self, d: [V; 3], i: V, q: V, p: [V; 3]) {
        // SAFETY: as for the caller.
        unsafe {
            let total = &mut self.total;
            let n = [d[0].mul(i), d[1].mul(i), d[2].mul(i)];
            let e = [p[0].mul(i), p[1].mul(i), p[2].mul(i)];
            let i2 = i.mul(i);
            let (mut c, mut bend) = (q, q.mul(number::<V>(1.5)));
            let mut potential = q;
            if DIPOLES {
                let along = e[0].mul_add(n[0], e[1].mul_add(n[1], e[2].mul(n[2])));
                potential = q.sub(along);
                c = along.mul_add(number::<V>(-3.0), q);
                bend = along.mul_add(number::<V>(-7.5), bend);
            }
            total[0] = potential.mul_add(i, total[0]);
            for a in 0..3 {
                let slope = if DIPOLES { c.mul_add(n[a], e[a]) } else { c.mul(n[a]) };
                total[a + 1] = slope.mul_add(i2, total[a + 1]);
            }
            if HESSIAN {
                let i3 = i2.mul(i);
                let mut f = [bend.mul(n[0]), bend.mul(n[1]), bend.mul(n[2])];
                if DIPOLES {
                    for a in 0..3 {
                        f[a] = e[a].mul_add(number::<V>(3.0), f[a]);
                    }
                }
                let mut place = 4;
                for a in 0..3 {
                    for b in a..3 {
                        let both = n[a].mul_add(f[b], n[b].mul(f[a]));
                        let both = if a == b { both.sub(c) } else { both };
                        total[place] = both.mul_add(i3, total[place]);
                        place += 1;
                    }
                }
            }
        }
    }
}
