//! Acceleration, jerk and potential of softened point masses in f64, as Hermite schemes want them (Makino and Aarseth, PASJ 44, 141,
//! 1992, eqs. 1 and 2), and nearest neighbours.
//!
//! Bodies are known by their indices: a target is not acted on by bodies of its own index, wherever these are.

use crate::arith::lanes::Real;
use crate::arith::vector::{Isa, Vector, vectorised};
use crate::parallel::prelude::*;

/// A multiple of the lanes of every vector.
const LANES: usize = 16;

/// Pairs from which on the targets are shared out among threads.
const SHARED: usize = 1 << 20;

/// Targets that one thread takes.
const CHUNK: usize = 4;

/// An index that no body has.
const NOBODY: f64 = -0.5;

/// The place of a body at the time of the targets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Body {
    pub position: [f64; 3],
    pub velocity: [f64; 3],
    pub mass: f64,
    pub index: i32,
}

/// Bodies that act, as columns: positions, velocities, masses, indices.
#[derive(Clone, Debug)]
pub struct Bodies {
    isa: Isa,
    columns: [Vec<f64>; 8],
    count: usize,
}

/// A place at which sums are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Target {
    pub position: [f64; 3],
    pub velocity: [f64; 3],
    pub index: i32,
}

/// The field at a target, with G = 1; the potential is negative.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion {
    pub potential: f64,
    pub acceleration: [f64; 3],
    pub jerk: [f64; 3],
}

impl Default for Bodies {
    fn default() -> Bodies {
        Bodies::with(Isa::best())
    }
}

impl Bodies {
    /// None yet, for sums by a set of instructions.
    pub fn with(isa: Isa) -> Bodies {
        Bodies { isa, columns: Default::default(), count: 0 }
    }

    /// Takes other bodies.
    pub fn set(&mut self, bodies: impl ExactSizeIterator<Item = Body>) {
        self.count = bodies.len();
        let length = self.count.next_multiple_of(LANES);
        // Behind them stand bodies without mass, too far away to be anyone's neighbour.
        for (a, column) in self.columns.iter_mut().enumerate() {
            column.resize(length, 0.0);
            column[self.count..].fill(if a < 3 { 1e100 } else { 0.0 });
        }
        self.columns[7][self.count..].fill(NOBODY);
        let [x, y, z, u, v, w, mass, index] = &mut self.columns;
        for (k, body) in bodies.enumerate() {
            [x[k], y[k], z[k]] = body.position;
            [u[k], v[k], w[k]] = body.velocity;
            (mass[k], index[k]) = (body.mass, body.index as f64);
        }
    }

    /// Coordinates, velocities, masses and indices, as columns.
    pub fn columns(&self) -> [&[f64]; 8] {
        self.columns.each_ref().map(|column| &column[..self.count])
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The field at each target, softened by the root of `eps2`. Pairs at distance 0 contribute nothing without softening.
    pub fn motions(&self, targets: &[Target], eps2: f64) -> Vec<Motion> {
        let columns = self.columns.each_ref().map(|column| &column[..]);
        let some = |targets: &[Target]| {
            let at: Vec<[f64; 7]> = targets.iter().map(numbers).collect();
            let mut sums = vec![[0.0; 7]; targets.len()];
            sum::<f64>(self.isa, &columns, eps2, &at, &mut sums);
            let motion = |[potential, ax, ay, az, jx, jy, jz]: [f64; 7]| Motion {
                potential,
                acceleration: [ax, ay, az],
                jerk: [jx, jy, jz],
            };
            sums.into_iter().map(motion).collect::<Vec<Motion>>()
        };
        self.over(targets, some)
    }

    /// The index of the body nearest to each target, its own left out; of several as near, the first. `None` if there is none.
    pub fn nearest(&self, targets: &[Target]) -> Vec<Option<i32>> {
        let columns = [0, 1, 2, 7].map(|a| &self.columns[a][..]);
        let some = |targets: &[Target]| {
            let at: Vec<[f64; 7]> = targets.iter().map(numbers).collect();
            let mut found = vec![NOBODY; targets.len()];
            nearest::<f64>(self.isa, &columns, &at, &mut found);
            found.into_iter().map(|index| (index != NOBODY).then_some(index as i32)).collect::<Vec<_>>()
        };
        self.over(targets, some)
    }

    /// The indices of the bodies nearer to a target than the root of `square`, its own left out, in the order of the bodies.
    pub fn within(&self, target: &Target, square: f64) -> Vec<i32> {
        let [x, y, z] = [0, 1, 2].map(|a| &self.columns[a][..self.count]);
        let own = target.index as f64;
        let is_near = |k: &usize| {
            let d = [x[*k] - target.position[0], y[*k] - target.position[1], z[*k] - target.position[2]];
            self.columns[7][*k] != own && d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < square
        };
        (0..self.count).filter(is_near).map(|k| self.columns[7][k] as i32).collect()
    }

    /// The results of `some` for all targets, from several threads where that pays.
    fn over<R: Send>(&self, targets: &[Target], some: impl Fn(&[Target]) -> Vec<R> + Send + Sync) -> Vec<R> {
        if targets.len() * self.count < SHARED {
            return some(targets);
        }
        let parts: Vec<Vec<R>> = targets.par_chunks(CHUNK).map(some).collect();
        parts.into_iter().flatten().collect()
    }
}

fn numbers(target: &Target) -> [f64; 7] {
    let ([x, y, z], [u, v, w]) = (target.position, target.velocity);
    [x, y, z, u, v, w, target.index as f64]
}

vectorised! {
    /// Potential, acceleration and jerk at targets of seven numbers each.
    fn sum<T>(bodies: &[&[T]; 8], eps2: T, targets: &[[T; 7]], out: &mut [[T; 7]]) = sum_in
}

#[inline(always)]
unsafe fn sum_in<V: Vector>(
    bodies: &[&[V::Item]; 8],
    eps2: V::Item,
    targets: &[[V::Item; 7]],
    out: &mut [[V::Item; 7]],
) {
    let mut done = 0;
    // SAFETY: as for this function.
    unsafe {
        if const { V::REGISTERS >= 32 } {
            while targets.len() - done >= 2 {
                let at = [targets[done], targets[done + 1]];
                [out[done], out[done + 1]] = sums_at::<V, 2>(bodies, eps2, at);
                done += 2;
            }
        }
        for (at, out) in targets.iter().zip(out).skip(done) {
            [*out] = sums_at::<V, 1>(bodies, eps2, [*at]);
        }
    }
}

/// Sums at N targets, which share the loads of the bodies.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "a closure would not have the instructions of the vector")]
unsafe fn sums_at<V: Vector, const N: usize>(
    bodies: &[&[V::Item]; 8],
    eps2: V::Item,
    targets: [[V::Item; 7]; N],
) -> [[V::Item; 7]; N] {
    // SAFETY: as for this function.
    unsafe {
        let splat = |x: f64| V::splat(V::Item::of(x));
        let (zero, half, three) = (splat(0.0), splat(0.5), splat(3.0));
        let (unit, least, eps2) = (splat(1.0 / V::ROOT), splat(f64::MIN_POSITIVE), V::splat(eps2));
        let mut at = [[zero; 7]; N];
        for n in 0..N {
            for a in 0..7 {
                at[n][a] = V::splat(targets[n][a]);
            }
        }
        let mut total = [[zero; 7]; N];
        let length = bodies[0].len();
        // Cut once, so that no place is checked in the loop.
        let [x, y, z, u, v, w, mass, index] = *bodies;
        let bodies = [
            &x[..length],
            &y[..length],
            &z[..length],
            &u[..length],
            &v[..length],
            &w[..length],
            &mass[..length],
            &index[..length],
        ];
        for first in (0..length).step_by(V::LANES) {
            let mut b = [zero; 8];
            for a in 0..8 {
                b[a] = V::load(&bodies[a][first..]);
            }
            for n in 0..N {
                let (at, total) = (&at[n], &mut total[n]);
                let r = [b[0].sub(at[0]), b[1].sub(at[1]), b[2].sub(at[2])];
                let v = [b[3].sub(at[3]), b[4].sub(at[4]), b[5].sub(at[5])];
                let other = b[7].sub(at[6]);
                let s2 = r[0].mul_add(r[0], r[1].mul_add(r[1], r[2].mul_add(r[2], eps2)));
                let rv = r[0].mul_add(v[0], r[1].mul_add(v[1], r[2].mul(v[2])));
                let (inverse, _) = s2.inverse_root().mul(unit).where_from(s2, least);
                let (inverse, _) = inverse.where_from(other.mul(other), half);
                let inverse2 = inverse.mul(inverse);
                let mr = b[6].mul(inverse);
                let mr3 = mr.mul(inverse2);
                let alpha = rv.mul(inverse2).mul(three);
                total[0] = total[0].sub(mr);
                for a in 0..3 {
                    total[1 + a] = mr3.mul_add(r[a], total[1 + a]);
                    total[4 + a] = mr3.mul_add(v[a].sub(alpha.mul(r[a])), total[4 + a]);
                }
            }
        }
        let mut sums = [[V::Item::default(); 7]; N];
        for n in 0..N {
            for a in 0..7 {
                sums[n][a] = total[n][a].sum();
            }
        }
        sums
    }
}

vectorised! {
    /// The index of the nearest body, of x, y, z and index, to each target.
    fn nearest<T>(bodies: &[&[T]; 4], targets: &[[T; 7]], out: &mut [T]) = nearest_in
}

#[inline(always)]
unsafe fn nearest_in<V: Vector>(bodies: &[&[V::Item]; 4], targets: &[[V::Item; 7]], out: &mut [V::Item]) {
    let far = V::Item::of(1e300);
    // SAFETY: as for this function.
    unsafe {
        let splat = |x: f64| V::splat(V::Item::of(x));
        for (target, out) in targets.iter().zip(out) {
            let at = [V::splat(target[0]), V::splat(target[1]), V::splat(target[2])];
            let own = V::splat(target[6]);
            let (mut least, mut who) = (V::splat(far), splat(NOBODY));
            for first in (0..bodies[0].len()).step_by(V::LANES) {
                let d = [
                    V::load(&bodies[0][first..]).sub(at[0]),
                    V::load(&bodies[1][first..]).sub(at[1]),
                    V::load(&bodies[2][first..]).sub(at[2]),
                ];
                let index = V::load(&bodies[3][first..]);
                let other = index.sub(own);
                let square = d[0].mul_add(d[0], d[1].mul_add(d[1], d[2].mul(d[2])));
                // A target's own body is as far away as nobody.
                let (is_other, _) = splat(1.0).where_from(other.mul(other), splat(0.5));
                let square = splat(1.0).sub(is_other).mul_add(V::splat(far), square);
                // One of the two is 0, so that the sum is exact.
                let keep = [least.where_from(square, least).0, who.where_from(square, least).0];
                let take =
                    [square.sub(square.where_from(square, least).0), index.sub(index.where_from(square, least).0)];
                (least, who) = (keep[0].add(take[0]), keep[1].add(take[1]));
            }
            *out = first_of_least::<V>(least, who, far);
        }
    }
}

/// The index of the lane with the least square; of several the least one; [`NOBODY`] if all are as far as nobody.
#[inline(always)]
unsafe fn first_of_least<V: Vector>(least: V, who: V, far: V::Item) -> V::Item {
    let (mut squares, mut indices) = ([V::Item::default(); LANES], [V::Item::default(); LANES]);
    // SAFETY: as for this function.
    unsafe {
        least.store(&mut squares);
        who.store(&mut indices);
    }
    let mut best = (far, V::Item::of(NOBODY));
    for (square, index) in squares.into_iter().zip(indices).take(V::LANES) {
        if square < best.0 || square == best.0 && square < far && index < best.1 {
            best = (square, index);
        }
    }
    best.1
}
