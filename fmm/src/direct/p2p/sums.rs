//! The inner loop of P2P: a few targets at a time against all sources of their leaf, for one or several sets of charges.
//!
//! Distances and their inverse roots are computed once for up to four sets. What a set gives has the bits that it has alone:
//! each of its sums is done in the same order.

use super::sources::{LANES, Line, Sources};
use crate::arith::lanes::Real;
use crate::arith::vector::{Vector, vectorised};
use std::ops::Range;

/// Sums at one target for one set of charges, and how many sources were left out because they were too close, the target itself
/// included.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sums<T> {
    pub force: [T; 4],
    pub close: u32,
}

/// Parameters by which a pair is judged and softened: squares of lengths in the frame's unit.
#[derive(Clone, Copy)]
pub struct Squares<T> {
    pub eps: T,
    /// Pairs at a lesser distance are left out.
    pub least: T,
}

/// The charges of one set.
pub type Charges<'a, T> = &'a [Line<T>];

vectorised! {
    /// Sums at each of `targets` over all sources but those too close, and counts these: for each target one after the other
    /// what each set of charges gives.
    pub fn leaf_sums<T>(
        sources: &Sources<T>,
        charges: &[Charges<T>],
        squares: Squares<T>,
        targets: &[[T; 3]],
        sums: &mut [Sums<T>],
    ) = sums_in
}

#[inline(always)]
unsafe fn sums_in<V: Vector>(
    sources: &Sources<V::Item>,
    charges: &[Charges<V::Item>],
    squares: Squares<V::Item>,
    targets: &[[V::Item; 3]],
    sums: &mut [Sums<V::Item>],
) {
    // So many targets and sets at a time that their sums stay in registers.
    let most = const { if V::REGISTERS >= 32 { 4 } else { 2 } };
    for (k, now) in charges.chunks(most).enumerate() {
        let mut task = Task { sources, squares, targets, done: 0, sets: charges.len(), set: k * most };
        // SAFETY: as for this function.
        unsafe {
            match *now {
                [a] => {
                    if const { V::REGISTERS >= 32 } {
                        task.groups::<V, 4, 1>([a], sums);
                    }
                    task.groups::<V, 2, 1>([a], sums);
                    task.groups::<V, 1, 1>([a], sums);
                }
                [a, b] => {
                    if const { V::REGISTERS >= 32 } {
                        task.groups::<V, 2, 2>([a, b], sums);
                    }
                    task.groups::<V, 1, 2>([a, b], sums);
                }
                [a, b, c] if const { V::REGISTERS >= 32 } => task.groups::<V, 1, 3>([a, b, c], sums),
                [a, b, c, d] if const { V::REGISTERS >= 32 } => task.groups::<V, 1, 4>([a, b, c, d], sums),
                _ => unreachable!("a chunk has no more than the registers allow"),
            }
        }
    }
}

/// Targets for which some sets of charges are summed.
struct Task<'a, T> {
    sources: &'a Sources<T>,
    squares: Squares<T>,
    targets: &'a [[T; 3]],
    /// Targets that have their sums.
    done: usize,
    /// All sets, and the first of those that are summed now.
    sets: usize,
    set: usize,
}

impl<T: Real> Task<'_, T> {
    /// Sums at as many targets as make whole groups of N.
    #[inline(always)]
    unsafe fn groups<V: Vector<Item = T>, const N: usize, const K: usize>(
        &mut self,
        charges: [Charges<T>; K],
        sums: &mut [Sums<T>],
    ) {
        for at in self.targets[self.done..].as_chunks::<N>().0 {
            // SAFETY: as for the caller.
            let found = unsafe { sums_at::<V, N, K>(self.sources, charges, self.squares, at) };
            for of_target in found {
                let first = self.done * self.sets + self.set;
                sums[first..first + K].copy_from_slice(&of_target);
                self.done += 1;
            }
        }
    }
}

/// Sums at N targets, which share the loads of the sources, for K sets.
#[inline(always)]
unsafe fn sums_at<V: Vector, const N: usize, const K: usize>(
    sources: &Sources<V::Item>,
    charges: [Charges<V::Item>; K],
    squares: Squares<V::Item>,
    at: &[[V::Item; 3]; N],
) -> [[Sums<V::Item>; K]; N] {
    // SAFETY: as for the caller.
    unsafe {
        let mut group = Group::<V, N, K>::new(squares, at);
        group.add_all(sources, charges);
        group.sums()
    }
}

/// Targets and their sums for each set, lane by lane.
pub(super) struct Group<V, const N: usize, const K: usize> {
    pub at: [[V; 3]; N],
    pub total: [[[V; 4]; K]; N],
    /// Sources that were left out.
    pub close: [u32; N],
    pub eps: V,
    pub least: V,
}

impl<V: Vector, const N: usize, const K: usize> Group<V, N, K> {
    #[inline(always)]
    pub unsafe fn new(squares: Squares<V::Item>, at: &[[V::Item; 3]; N]) -> Group<V, N, K> {
        // SAFETY: as for the caller.
        unsafe {
            let zero = V::splat(V::Item::default());
            let mut group = Group {
                at: [[zero; 3]; N],
                total: [[[zero; 4]; K]; N],
                close: [0; N],
                eps: V::splat(squares.eps),
                least: V::splat(squares.least),
            };
            for (splat, at) in group.at.iter_mut().zip(at) {
                *splat = [V::splat(at[0]), V::splat(at[1]), V::splat(at[2])];
            }
            group
        }
    }

    /// Adds all lines of sources that act on the targets alone.
    #[inline(always)]
    pub unsafe fn add_all(&mut self, sources: &Sources<V::Item>, charges: [Charges<V::Item>; K]) {
        let guarded = &sources.guarded;
        // SAFETY: as for the caller.
        unsafe {
            // Each in one place, since all of this is inlined.
            for (guarded, free) in [(0..0, 0..guarded.start), (guarded.clone(), guarded.end..sources.mutual.start)] {
                self.add::<true>(sources, charges, guarded);
                self.add::<false>(sources, charges, free);
            }
        }
    }

    /// The sums of all lanes.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "a closure would not have the instructions of the vector")]
    pub unsafe fn sums(&self) -> [[Sums<V::Item>; K]; N] {
        // SAFETY: as for the caller.
        unsafe {
            let scale = scales::<V>();
            let mut sums = [[Sums::default(); K]; N];
            for k in 0..N {
                for s in 0..K {
                    let force = V::four_sums(self.total[k][s]);
                    let force = [force[0] * scale[0], force[1] * scale[1], force[2] * scale[2], force[3] * scale[3]];
                    sums[k][s] = Sums { force, close: self.close[k] };
                }
            }
            sums
        }
    }

    /// Adds lines. Where they are `GUARDED`, sources closer than the root of `least` are left out, and counted.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "the same place of several arrays")]
    unsafe fn add<const GUARDED: bool>(
        &mut self,
        sources: &Sources<V::Item>,
        charges: [Charges<V::Item>; K],
        lines: Range<usize>,
    ) {
        let [x, y, z, _] = &sources.columns;
        // Cut once, so that no place is checked in the loop.
        let [x, y, z] = [&x[lines.clone()], &y[lines.clone()], &z[lines.clone()]];
        let mut charged = [x; K];
        for s in 0..K {
            charged[s] = &charges[s][lines.clone()];
        }
        // Copies, which stay in registers.
        let Group { at, mut total, mut close, eps, least } = *self;
        for line in 0..lines.len() {
            for first in (0..LANES).step_by(V::LANES) {
                // SAFETY: as for the caller.
                unsafe {
                    let x = [part::<V>(x, line, first), part::<V>(y, line, first), part::<V>(z, line, first)];
                    for k in 0..N {
                        let d = [x[0].sub(at[k][0]), x[1].sub(at[k][1]), x[2].sub(at[k][2])];
                        let (inverse, near) = inverse_distance::<V, GUARDED>(d, eps, least);
                        close[k] += near;
                        for s in 0..K {
                            add_pairs(&mut total[k][s], d, part::<V>(charged[s], line, first), inverse);
                        }
                    }
                }
            }
        }
        (self.total, self.close) = (total, close);
    }
}

/// The lanes from `first` of a line.
#[inline(always)]
pub(super) unsafe fn part<V: Vector>(column: &[Line<V::Item>], line: usize, first: usize) -> V {
    // SAFETY: as for the caller.
    unsafe { V::load(&column[line].0[first..]) }
}

/// `V::ROOT` over the softened distances. Where they are `GUARDED` it is 0 for pairs closer than the root of `least`, and how many
/// these are is given.
#[inline(always)]
pub(super) unsafe fn inverse_distance<V: Vector, const GUARDED: bool>(d: [V; 3], eps: V, least: V) -> (V, u32) {
    // SAFETY: as for the caller.
    unsafe {
        // Rounded alike: which lines are guarded depends on what else stands in them.
        let inverse = d[0].mul_add(d[0], d[1].mul_add(d[1], d[2].mul_add(d[2], eps))).inverse_root();
        if GUARDED {
            let r2 = d[0].mul_add(d[0], d[1].mul_add(d[1], d[2].mul(d[2])));
            inverse.where_from(r2, least)
        } else {
            (inverse, 0)
        }
    }
}

/// Adds one vector of pairs at distances `V::ROOT / inverse`.
#[inline(always)]
pub(super) unsafe fn add_pairs<V: Vector>(total: &mut [V; 4], d: [V; 3], q: V, inverse: V) {
    // SAFETY: as for the caller.
    unsafe {
        let potential = q.mul(inverse);
        let slope = potential.mul(inverse.mul(inverse));
        total[0] = total[0].add(potential);
        total[1] = slope.mul_add(d[0], total[1]);
        total[2] = slope.mul_add(d[1], total[2]);
        total[3] = slope.mul_add(d[2], total[3]);
    }
}

/// Adds one vector of forces between charges with the products `qq`, at distances `V::ROOT / inverse`, to the sums of both ends.
#[inline(always)]
pub(super) unsafe fn add_forces<V: Vector>([total, given]: [&mut [V; 4]; 2], d: [V; 3], qq: V, inverse: V) {
    // SAFETY: as for the caller.
    unsafe {
        let energy = qq.mul(inverse);
        let slope = energy.mul(inverse.mul(inverse));
        total[0] = total[0].add(energy);
        given[0] = given[0].add(energy);
        for a in 0..3 {
            total[a + 1] = slope.mul_add(d[a], total[a + 1]);
            given[a + 1] = slope.mul_add(d[a], given[a + 1]);
        }
    }
}

/// The factors of sums in units of powers of [`Vector::ROOT`]. The rounding of `powi` is not specified: it differs from one place
/// of the program to another.
pub(super) fn scales<V: Vector>() -> [V::Item; 4] {
    let inverse = 1.0 / V::ROOT;
    let cubed = inverse * inverse * inverse;
    [inverse, cubed, cubed, cubed].map(V::Item::of)
}
