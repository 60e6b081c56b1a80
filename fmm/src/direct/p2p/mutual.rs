//! The inner loop of P2P in both directions: what a few targets get from all sources of their leaf, and what they give to those
//! on which they act too (Newton's third law).
//!
//! Sums at the targets stay in registers; those at a vector of sources are there for the few targets. Every sum is done in
//! an order that depends neither on how many targets nor on how many sets of charges are taken together.
//!
//! Where no charge is small, what is summed is the force between two charges: one product serves both ends, and the sums are
//! divided by the charges at last. Else each end has products of its own.

use super::sources::{LANES, Line, Sources, flat_ref};
use super::sums::{Charges, Group, Squares, Sums, add_forces, add_pairs, inverse_distance, part};
use crate::arith::lanes::Real;
use crate::arith::vector::{Vector, vectorised};
use std::array::from_fn as array;
use std::ops::Range;

/// The least square of a charge (the largest charge is about 1) that sums are divided by: products of two such charges and the
/// powers of any distance within reach stay in the range of f32.
const LEAST_SQUARE: f64 = 1.0 / (1u64 << 40) as f64;

/// Whether sums can be divided by a charge.
pub(super) fn is_large<T: Real>(q: f64) -> bool {
    let q = T::of(q);
    q * q >= T::of(LEAST_SQUARE)
}

/// The targets of a leaf and what acts on them.
pub struct Leaf<'a, T> {
    pub sources: &'a Sources<T>,
    pub charges: &'a [Charges<'a, T>],
    pub squares: Squares<T>,
    pub targets: &'a [[T; 3]],
    /// The charges of the targets, one column behind the other.
    pub carried: &'a [T],
    /// For each set of charges whether sums can be divided by them, where not all of what the targets act on is here.
    pub large: Option<&'a [bool]>,
}

/// Sums at the sources of [`Sources::mutual`], of the potential and of the gradient's opposite, in the units of
/// [`super::sums::scales`].
#[derive(Default)]
pub struct Back<T> {
    /// Four columns for each set of charges, one behind the other, and how long each is.
    lines: Vec<Line<T>>,
    length: usize,
    /// How many targets were too close, for each of the guarded lines.
    pub close: Vec<Line<T>>,
}

impl<T: Real> Back<T> {
    /// Takes memory for the sources of a leaf.
    pub fn make_room(&mut self, sources: &Sources<T>, sets: usize) {
        let zero = Line([T::default(); LANES]);
        // One more line, so that whole vectors can be read from any place.
        self.length = sources.mutual.len() + 1;
        let needed = 4 * sets * self.length;
        if self.lines.len() < needed {
            self.lines.resize(needed, zero);
        }
        self.close.clear();
        self.close.resize(sources.guarded_mutual.len(), zero);
    }

    /// The columns of a set of charges.
    pub fn columns(&self, set: usize) -> [&[T]; 4] {
        array(|a| flat_ref(&self.lines[(4 * set + a) * self.length..][..self.length]))
    }
}

vectorised! {
    /// Sums at each target of a leaf over all sources but those too close, and counts these, as [`super::sums::leaf_sums`] does;
    /// and adds what the targets give to the sources of [`Sources::mutual`].
    pub fn mutual_sums<T>(leaf: &Leaf<T>, back: &mut Back<T>, sums: &mut [Sums<T>]) = mutual_in
}

#[inline(always)]
unsafe fn mutual_in<V: Vector>(leaf: &Leaf<V::Item>, back: &mut Back<V::Item>, sums: &mut [Sums<V::Item>]) {
    // So many targets and sets at a time that their sums stay in registers.
    let is_wide = const { V::REGISTERS >= 32 };
    let Back { lines, length, close } = back;
    let (mut set, mut lines) = (0, &mut lines[..]);
    while set < leaf.charges.len() {
        // SAFETY: as for this function.
        unsafe {
            let is_large = has_large_charges::<V>(leaf, set);
            let is_two = is_wide && set + 1 < leaf.charges.len() && has_large_charges::<V>(leaf, set + 1) == is_large;
            let count = if is_two { 2 } else { 1 };
            let (back, rest) = lines.split_at_mut(4 * count * *length);
            // The first targets write their sums where they have the vectors for it.
            if !(V::LANES >= 16 && count == 1 && leaf.targets.len() >= 3) {
                back.fill(Line([V::Item::default(); LANES]));
            }
            // Sets have the same places, which are counted once.
            let close = if set == 0 { &mut close[..] } else { &mut [] };
            let mut task = Task { leaf, back, length: *length, close, done: 0, set };
            match is_large {
                true => task.all::<V, true>(sums),
                false => task.all::<V, false>(sums),
            }
            (set, lines) = (set + count, rest);
        }
    }
}

/// Whether sums can be divided by all charges of a set: those of the targets and of the sources that they act on.
#[inline(always)]
unsafe fn has_large_charges<V: Vector>(leaf: &Leaf<V::Item>, set: usize) -> bool {
    let Leaf { sources, targets, carried, large, .. } = leaf;
    if let Some(large) = large {
        return large[set];
    }
    let least = V::Item::of(LEAST_SQUARE);
    // SAFETY: as for the caller.
    unsafe {
        let last = sources.mutual.end - 1;
        let (one, least_squares) = (V::splat(V::Item::ONE), V::splat(least));
        // 1 where all of a lane are large; the last line is filled up with others.
        let (mut all, mut below) = (one, 0);
        for line in sources.mutual.start..last {
            for first in (0..LANES).step_by(V::LANES) {
                let q = part::<V>(leaf.charges[set], line, first);
                (all, _) = all.where_from(q.mul(q), least_squares);
            }
        }
        for first in (0..LANES).step_by(V::LANES) {
            let q = part::<V>(leaf.charges[set], last, first);
            below += q.where_from(q.mul(q), least_squares).1;
        }
        let filling = sources.mutual.len() * LANES - sources.mutual_count;
        let own = &carried[set * targets.len()..(set + 1) * targets.len()];
        all.where_from(all, one).1 == 0 && below as usize == filling && own.iter().all(|q| *q * *q >= least)
    }
}

/// Targets for which some sets of charges are summed.
struct Task<'a, T> {
    leaf: &'a Leaf<'a, T>,
    /// As [`Back::lines`], for these sets.
    back: &'a mut [Line<T>],
    length: usize,
    close: &'a mut [Line<T>],
    /// Targets that have their sums.
    done: usize,
    /// The first of the sets.
    set: usize,
}

impl<T: Real> Task<'_, T> {
    /// Sums at all targets, by the forces between charges (`FORCES`) or by products for each end.
    #[inline(always)]
    unsafe fn all<V: Vector<Item = T>, const FORCES: bool>(&mut self, sums: &mut [Sums<T>]) {
        let charges = &self.leaf.charges[self.set..];
        // SAFETY: as for the caller.
        unsafe {
            if const { V::REGISTERS >= 32 } && self.back.len() == 8 * self.length {
                self.groups::<V, 1, 2, FORCES>([charges[0], charges[1]], sums);
            } else {
                if const { V::REGISTERS >= 32 } {
                    if const { V::LANES >= 16 } {
                        self.groups::<V, 3, 1, FORCES>([charges[0]], sums);
                    }
                    self.groups::<V, 2, 1, FORCES>([charges[0]], sums);
                }
                self.groups::<V, 1, 1, FORCES>([charges[0]], sums);
            }
            if FORCES {
                for (charges, back) in charges.iter().zip(self.back.chunks_mut(4 * self.length)) {
                    divide::<V>(&charges[self.leaf.sources.mutual.clone()], back, self.length);
                }
            }
        }
    }

    /// Sums at as many targets as make whole groups of N.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "a closure would not have the instructions of the vector")]
    unsafe fn groups<V: Vector<Item = T>, const N: usize, const K: usize, const FORCES: bool>(
        &mut self,
        charges: [Charges<T>; K],
        sums: &mut [Sums<T>],
    ) {
        let Leaf { sources, squares, targets, carried, .. } = *self.leaf;
        let sets = self.leaf.charges.len();
        for at in targets[self.done..].as_chunks::<N>().0 {
            // SAFETY: as for the caller.
            let found = unsafe {
                let mut group = Group::<V, N, K>::new(squares, at);
                group.add_all(sources, charges);
                let mut splats = [[group.eps; K]; N];
                for k in 0..N {
                    for s in 0..K {
                        splats[k][s] = V::splat(carried[(self.set + s) * targets.len() + self.done + k]);
                    }
                }
                let before = group.total;
                if FORCES {
                    group.total = [[[V::splat(T::default()); 4]; K]; N];
                }
                let mut both = Both { group, carried: splats, back: &mut *self.back, length: self.length };
                let mut first = sources.mutual.start;
                // Nothing stands there yet.
                let is_first = const { V::LANES >= 16 && N == 3 } && self.done == 0;
                // The lines before each guarded one, and those behind the last: in one place, since all of this is inlined.
                for k in 0..sources.guarded_mutual.len() + 1 {
                    let guarded = sources.guarded_mutual.get(k);
                    let end = if let Some(line) = guarded { *line } else { sources.mutual.end };
                    both.add_all::<FORCES>(sources, charges, first..end, is_first);
                    let Some(line) = guarded else { break };
                    if is_first {
                        both.clear(line - sources.mutual.start);
                    }
                    both.add_guarded::<FORCES>(sources, charges, *line, self.close.get_mut(k));
                    first = line + 1;
                }
                if FORCES {
                    for k in 0..N {
                        for s in 0..K {
                            let one = V::splat(T::ONE).div(splats[k][s]);
                            for a in 0..4 {
                                let total = &mut both.group.total[k][s][a];
                                *total = total.mul_add(one, before[k][s][a]);
                            }
                        }
                    }
                }
                both.group.sums()
            };
            for of_target in found {
                let first = self.done * sets + self.set;
                sums[first..first + K].copy_from_slice(&of_target);
                self.done += 1;
            }
        }
    }
}

/// A group of targets that also act on sources.
struct Both<'a, V: Vector, const N: usize, const K: usize> {
    group: Group<V, N, K>,
    carried: [[V; K]; N],
    back: &'a mut [Line<V::Item>],
    length: usize,
}

/// Differences and squares of distances of a vector of sources, and what the inverse roots of the squares begin with.
#[derive(Clone, Copy)]
struct Begun<V, const N: usize> {
    d: [[V; 3]; N],
    r2: [V; N],
    root: [V; N],
}

impl<V: Vector, const N: usize> Begun<V, N> {
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "a closure would not have the instructions of the vector")]
    unsafe fn new(from: [*const V::Item; 3], place: usize, at: &[[V; 3]; N], eps: V) -> Begun<V, N> {
        // SAFETY: as for the caller; the columns have the place.
        unsafe {
            let x = [V::read(from[0].add(place)), V::read(from[1].add(place)), V::read(from[2].add(place))];
            let mut begun = Begun { d: [[eps; 3]; N], r2: [eps; N], root: [eps; N] };
            for k in 0..N {
                let d = [x[0].sub(at[k][0]), x[1].sub(at[k][1]), x[2].sub(at[k][2])];
                begun.d[k] = d;
                begun.r2[k] = d[0].mul_add(d[0], d[1].mul_add(d[1], d[2].mul_add(d[2], eps)));
                begun.root[k] = begun.r2[k].begin_root();
            }
            begun
        }
    }
}

impl<V: Vector, const N: usize, const K: usize> Both<'_, V, N, K> {
    /// Puts 0 in a line of sums at sources.
    fn clear(&mut self, line: usize) {
        let zero = Line([V::Item::default(); LANES]);
        (0..4 * K).for_each(|column| self.back[column * self.length + line] = zero);
    }

    /// Adds lines of which none is guarded. If `is_first`, nothing stands in the sums at their sources.
    #[inline(always)]
    unsafe fn add_all<const FORCES: bool>(
        &mut self,
        sources: &Sources<V::Item>,
        charges: [Charges<V::Item>; K],
        lines: Range<usize>,
        is_first: bool,
    ) {
        // SAFETY: as for the caller.
        unsafe {
            // By constants, so that none of the others is compiled.
            if const { V::REGISTERS >= 32 && V::LANES >= 16 && N == 3 } && is_first {
                self.add_free::<FORCES, true, true>(sources, charges, lines)
            } else if const { V::REGISTERS >= 32 } {
                self.add_free::<FORCES, false, true>(sources, charges, lines)
            } else {
                self.add_free::<FORCES, false, false>(sources, charges, lines)
            }
        }
    }

    /// The same. If `AHEAD`, the inverse roots of the next vector are begun before a vector is added: a pair takes many steps, each of
    /// which waits for the one before, and a machine looks only so far ahead for others to do meanwhile. With few registers what is
    /// begun and the sums would not stay in them.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "a closure would not have the instructions of the vector")]
    unsafe fn add_free<const FORCES: bool, const FIRST: bool, const AHEAD: bool>(
        &mut self,
        sources: &Sources<V::Item>,
        charges: [Charges<V::Item>; K],
        lines: Range<usize>,
    ) {
        if lines.is_empty() {
            return;
        }
        let [x, y, z, _] = &sources.columns;
        // Cut once, so that no place is checked in the loop.
        let cut = |column: &[Line<V::Item>]| column[lines.clone()].as_ptr().cast::<V::Item>();
        let places = [cut(x), cut(y), cut(z)];
        let mut charged = [places[0]; K];
        for s in 0..K {
            charged[s] = cut(charges[s]);
        }
        let (length, first) = (self.length, lines.start - sources.mutual.start);
        assert!(first + lines.len() <= length && self.back.len() >= 4 * K * length);
        let columns = self.back.as_mut_ptr().cast::<V::Item>();
        let mut back = [[columns; 4]; K];
        for s in 0..K {
            for a in 0..4 {
                back[s][a] = columns.wrapping_add(((4 * s + a) * length + first) * LANES);
            }
        }
        // Copies, which stay in registers.
        let Group { at, mut total, eps, .. } = self.group;
        let carried = self.carried;
        // SAFETY: as for the caller; all columns have these lines.
        unsafe {
            let (last, zero) = (lines.len() * LANES - V::LANES, V::splat(V::Item::default()));
            let (mut now, mut at_now) = (Begun::new(places, 0, &at, eps), 0);
            loop {
                let at_next = if at_now < last { at_now + V::LANES } else { last };
                let next = if AHEAD { Begun::new(places, at_next, &at, eps) } else { now };
                if !AHEAD {
                    now = Begun::new(places, at_now, &at, eps);
                }
                let (mut q, mut given) = ([eps; K], [[zero; 4]; K]);
                for s in 0..K {
                    q[s] = V::read(charged[s].add(at_now));
                    for a in 0..4 {
                        if !FIRST {
                            given[s][a] = V::read(back[s][a].add(at_now));
                        }
                    }
                }
                for k in 0..N {
                    let inverse = now.r2[k].finish_root(now.root[k]);
                    for s in 0..K {
                        if FORCES {
                            add_forces([&mut total[k][s], &mut given[s]], now.d[k], q[s].mul(carried[k][s]), inverse);
                        } else {
                            add_pairs(&mut total[k][s], now.d[k], q[s], inverse);
                            add_pairs(&mut given[s], now.d[k], carried[k][s], inverse);
                        }
                    }
                }
                for s in 0..K {
                    for a in 0..4 {
                        given[s][a].write(back[s][a].add(at_now));
                    }
                }
                if at_now == last {
                    break;
                }
                (now, at_now) = (next, at_next);
            }
        }
        self.group.total = total;
    }

    /// Adds a guarded line: pairs that are too close are left out, and counted at the targets and in `close`.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "a closure would not have the instructions of the vector")]
    unsafe fn add_guarded<const FORCES: bool>(
        &mut self,
        sources: &Sources<V::Item>,
        charges: [Charges<V::Item>; K],
        line: usize,
        mut close: Option<&mut Line<V::Item>>,
    ) {
        let [x, y, z, _] = &sources.columns;
        let (own, length) = (line - sources.mutual.start, self.length);
        let back = &mut *self.back;
        // Copies, which stay in registers.
        let Group { at, mut total, close: mut near, eps, least } = self.group;
        let carried = self.carried;
        for first in (0..LANES).step_by(V::LANES) {
            // SAFETY: as for the caller.
            unsafe {
                let x = [part::<V>(x, line, first), part::<V>(y, line, first), part::<V>(z, line, first)];
                let (mut q, mut given) = ([eps; K], [[eps; 4]; K]);
                for s in 0..K {
                    q[s] = part(charges[s], line, first);
                    for a in 0..4 {
                        given[s][a] = part(back, (4 * s + a) * length + own, first);
                    }
                }
                for k in 0..N {
                    let d = [x[0].sub(at[k][0]), x[1].sub(at[k][1]), x[2].sub(at[k][2])];
                    let (inverse, below) = inverse_distance::<V, true>(d, eps, least);
                    near[k] += below;
                    if below > 0
                        && let Some(close) = &mut close
                    {
                        count_close(d, least, &mut close.0[first..]);
                    }
                    for s in 0..K {
                        if FORCES {
                            add_forces([&mut total[k][s], &mut given[s]], d, q[s].mul(carried[k][s]), inverse);
                        } else {
                            add_pairs(&mut total[k][s], d, q[s], inverse);
                            add_pairs(&mut given[s], d, carried[k][s], inverse);
                        }
                    }
                }
                for s in 0..K {
                    for a in 0..4 {
                        given[s][a].store(&mut back[(4 * s + a) * length + own].0[first..]);
                    }
                }
            }
        }
        (self.group.total, self.group.close) = (total, near);
    }
}

/// Divides sums of forces at sources by the charges of these. What stands beside filling is not used.
#[inline(always)]
unsafe fn divide<V: Vector>(charges: Charges<V::Item>, back: &mut [Line<V::Item>], length: usize) {
    for (line, charges) in charges.iter().enumerate() {
        for first in (0..LANES).step_by(V::LANES) {
            // SAFETY: as for the caller.
            unsafe {
                let one = V::splat(V::Item::ONE).div(V::load(&charges.0[first..]));
                for a in 0..4 {
                    let sum = &mut back[a * length + line].0[first..];
                    V::load(sum).mul(one).store(sum);
                }
            }
        }
    }
}

/// Adds 1 in each lane with a pair closer than the root of `least`.
#[inline(always)]
unsafe fn count_close<V: Vector>(d: [V; 3], least: V, count: &mut [V::Item]) {
    // SAFETY: as for the caller.
    unsafe {
        let r2 = d[0].mul_add(d[0], d[1].mul_add(d[1], d[2].mul(d[2])));
        let one = V::splat(V::Item::ONE);
        let (others, _) = one.where_from(r2, least);
        V::load(count).add(one.sub(others)).store(count);
    }
}
