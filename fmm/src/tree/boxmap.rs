//! The map from the user's coordinates to the unit box and to the integer grid (RULES H5, H6).
//!
//! Everything is first scaled by powers of two, which is exact, so that neither huge nor tiny inputs leave the
//! range of f64 when they are squared.

use crate::arith::lanes::fastest;
use crate::arith::scale::{exponent, ldexp};
use crate::data::particles::Columns;
use crate::data::periodic::Periodic;
use crate::parallel::prelude::*;

/// Box coordinates are `(x * 2^-shift - centre) / size`, in [-0.5, 0.5).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct BoxMap {
    /// The power of two of coordinates.
    pub shift: i32,
    /// The middle of the box, in scaled coordinates.
    pub centre: [f64; 3],
    /// The rounding error of `centre`, where the box is so small beside it that this matters; else 0.
    pub rest: [f64; 3],
    /// The edge B of the box, in scaled coordinates.
    pub size: f64,
    /// 2^-shift, or 0 where that is out of range.
    factor: f64,
    /// Whether every scaled coordinate is the user's to the last bit. A huge one beside tiny ones makes these too small
    /// for f64 once they are scaled.
    pub exact: bool,
}

/// An edge has 2^`GRID_BITS` points of the integer grid.
pub const GRID_BITS: u32 = 31;

/// Half the number of grid points along an edge: X lies in [-2^30, 2^30).
const HALF: i32 = 1 << (GRID_BITS - 1);

impl BoxMap {
    pub fn new(columns: Columns) -> BoxMap {
        BoxMap::over(&[columns])
    }

    /// The box of several sets of points.
    pub fn over(sets: &[Columns]) -> BoxMap {
        BoxMap::with_period(sets, None)
    }

    /// The same with periodic boundaries: an edge is a period. Along a periodic axis the middle is 0.
    pub fn with_period(sets: &[Columns], periodic: Option<&Periodic>) -> BoxMap {
        BoxMap::root(sets, periodic, 1.0)
    }

    /// The same, so many times enlarged, which goes without periods alone.
    pub fn root(sets: &[Columns], periodic: Option<&Periodic>, enlarge: f64) -> BoxMap {
        let ends = BoxMap::ends(sets);
        let map = BoxMap::around(ends, periodic).enlarged(ends, enlarge);
        BoxMap { exact: map.is_exact(sets), ..map }
    }

    /// The same with an edge that is so many times as long, and the lower corner at that of the points: a level has as many cells
    /// across the points as suits them, not a power of two. A box that is tiny beside its place stays as it is.
    pub fn enlarged(self, ends: Option<[[f64; 2]; 3]>, times: f64) -> BoxMap {
        let Some(ends) = ends.filter(|_| times > 1.0 && self.rest == [0.0; 3]) else { return self };
        let size = self.size * times;
        // The margin beside the points that the box has anyway.
        let beside = self.size * 2f64.powi(-20);
        let moved = |a: usize| {
            let [low, high] = ends[a].map(|x| ldexp(x, -self.shift));
            self.centre[a] + 0.5 * (size - beside - (high - low))
        };
        BoxMap { size, centre: [moved(0), moved(1), moved(2)], ..self }
    }

    /// The least and the greatest coordinates along each axis; none without points.
    pub fn ends(sets: &[Columns]) -> Option<[[f64; 2]; 3]> {
        let is_empty = sets.iter().all(|columns| columns[0].is_empty());
        let along = |a: usize| sets.iter().map(|columns| ends(columns[a])).fold(NOWHERE, both);
        (!is_empty).then(|| [along(0), along(1), along(2)])
    }

    /// The box of points with these ends; scaling is taken for exact.
    pub fn around(ends: Option<[[f64; 2]; 3]>, periodic: Option<&Periodic>) -> BoxMap {
        let along = |a: usize| match periodic {
            Some(p) if p.axes[a] => [-0.5 * p.length, 0.5 * p.length],
            _ => ends.map_or(NOWHERE, |ends| ends[a]),
        };
        BoxMap::of_ends([along(0), along(1), along(2)], ends.is_none(), periodic)
    }

    /// Whether scaling these points is exact.
    pub fn is_exact(&self, sets: &[Columns]) -> bool {
        // Scaling down is exact as long as no bit falls below the smallest number, 2^-1074.
        let least = ldexp(1.0, self.shift - 1022);
        let is_exact = |x: &f64| *x == 0.0 || x.abs() >= least;
        self.shift <= 0 || sets.iter().flatten().all(|c| rayon::iter::ParallelIterator::all(c.par_iter(), is_exact))
    }

    /// The box of points whose coordinates have these ends along each axis; scaling is taken for exact.
    pub fn within(ends: [[f64; 2]; 3]) -> BoxMap {
        BoxMap::of_ends(ends, false, None)
    }

    fn of_ends(ends: [[f64; 2]; 3], is_empty: bool, periodic: Option<&Periodic>) -> BoxMap {
        let largest = ends.iter().flatten().fold(0.0, |a: f64, x| a.max(x.abs()));
        let shift = exponent(if is_empty { 0.0 } else { largest });
        let (mut centre, mut rest) = ([0.0; 3], [0.0; 3]);
        let mut extent = 0.0f64;
        for ((c, rest), [low, high]) in centre.iter_mut().zip(&mut rest).zip(ends) {
            if !is_empty {
                let (low, high) = (ldexp(low, -shift), ldexp(high, -shift));
                let sum = low + high;
                let of_high = sum - low;
                *c = 0.5 * sum;
                // What rounding took from the sum (Knuth).
                *rest = 0.5 * ((low - (sum - of_high)) + (high - of_high));
                extent = extent.max(high - low);
            }
        }
        // An edge of 1 in the user's units, where its inverse powers are numbers in scaled units too.
        let one = if shift.abs() <= 100 { 2f64.powi(-shift) } else { 1.0 };
        let size = match periodic {
            Some(p) => ldexp(p.length, -shift),
            None if extent > 0.0 => extent * (1.0 + 2f64.powi(-20)),
            None => one,
        };
        // Of a box that is not tiny beside its place, the last bit of the centre does not matter.
        let rest = rest.map(|r| if r.abs() > size * 2f64.powi(-48) { r } else { 0.0 });
        let factor = if shift.abs() < 1000 { 2f64.powi(-shift) } else { 0.0 };
        BoxMap { shift, centre, rest, size, factor, exact: true }
    }

    /// Scaled coordinate of a user's coordinate; exact.
    #[inline(always)]
    pub fn scaled(&self, x: f64) -> f64 {
        if self.factor != 0.0 { x * self.factor } else { ldexp(x, -self.shift) }
    }

    /// The factor of [`BoxMap::scaled`]; none where this is out of range.
    #[inline(always)]
    pub fn factor(&self) -> Option<f64> {
        Some(self.factor).filter(|factor| *factor != 0.0)
    }

    /// Box coordinate along `axis` of a scaled one.
    #[inline(always)]
    pub fn unit(&self, axis: usize, scaled: f64) -> f64 {
        ((scaled - self.centre[axis] - self.rest[axis]) / self.size).clamp(-0.5, 0.5 - f64::EPSILON)
    }

    /// The integer coordinate X of a box coordinate.
    #[inline(always)]
    pub fn grid(unit: f64) -> i32 {
        ((unit * 2f64.powi(GRID_BITS as i32)).floor() as i32).clamp(-HALF, HALF - 1)
    }

    /// The user's potential (`a` of 0), component of a gradient (1 to 3) or second derivative (4 to 9) of one in box units, for charges in
    /// the user's units, as `value * 2^exponent`.
    pub fn wide(&self, a: usize, boxed: f64) -> (f64, i32) {
        match a {
            0 => (boxed / self.size, -self.shift),
            1..=3 => (boxed / self.size / self.size, -2 * self.shift),
            _ => (boxed / self.size / self.size / self.size, -3 * self.shift),
        }
    }

    /// The edge of the box in the user's units.
    pub fn edge(&self) -> f64 {
        ldexp(self.size, self.shift)
    }

    /// A box coordinate as the user has it.
    pub fn user(&self, axis: usize, unit: f64) -> f64 {
        ldexp(self.centre[axis] + unit * self.size, self.shift)
    }

    /// A length of the user's in box units.
    pub fn length(&self, x: f64) -> f64 {
        self.scaled(x) / self.size
    }
}

/// The ends of nothing.
const NOWHERE: [f64; 2] = [f64::INFINITY, f64::NEG_INFINITY];

fn both(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0].min(b[0]), a[1].max(b[1])]
}

/// The least and the greatest of a column.
fn ends(column: &[f64]) -> [f64; 2] {
    let one = |part: &[f64]| {
        let mut ends = NOWHERE;
        some_ends(part, &mut ends);
        ends
    };
    column.par_chunks(1 << 14).map(one).reduce(|| NOWHERE, both)
}

fastest! {
    fn some_ends(column: &[f64], ends: &mut [f64; 2]) = some_ends_body
}

#[inline(always)]
fn some_ends_body<const FMA: bool>(column: &[f64], ends: &mut [f64; 2]) {
    // Lanes of their own, so that no comparison waits for the last one.
    let (mut low, mut high) = ([ends[0]; 16], [ends[1]; 16]);
    let (chunks, rest) = column.as_chunks::<16>();
    for chunk in chunks {
        for ((low, high), x) in low.iter_mut().zip(&mut high).zip(chunk) {
            *low = if x < low { *x } else { *low };
            *high = if x > high { *x } else { *high };
        }
    }
    for x in rest {
        low[0] = if *x < low[0] { *x } else { low[0] };
        high[0] = if *x > high[0] { *x } else { high[0] };
    }
    *ends = [low.into_iter().fold(f64::INFINITY, f64::min), high.into_iter().fold(f64::NEG_INFINITY, f64::max)];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::particles::Particles;

    #[test]
    fn grid_coordinates_stay_in_range() {
        for scale in [1.0, 1e-300, 1e300, 3.7] {
            let mut p = Particles::default();
            p.push([-scale, 0.0, scale / 3.0], 2.0);
            p.push([scale, 0.0, scale], -3.0);
            let map = BoxMap::new(p.columns());
            let at = |k: usize| map.unit(0, map.scaled(p.x[k]));
            // The extent is B / (1 + 2^-20), centred: both ends lie within 2^-20 of +-1/2.
            assert!((at(0) + 0.5).abs() < 1e-6 && (at(1) - 0.5).abs() < 1e-6);
            assert!(BoxMap::grid(at(0)) >= -HALF && BoxMap::grid(at(1)) < HALF);
        }
    }

    #[test]
    fn an_enlarged_box_begins_at_the_points() {
        for (scale, depth) in [(1.0, 1.0), (1e300, 0.5), (1e-300, 0.0), (3.7, 1e-9)] {
            let mut p = Particles::default();
            p.push([-scale, 0.0, depth * scale], 2.0);
            p.push([scale, scale, 0.0], -3.0);
            let map = BoxMap::root(&[p.columns()], None, 4.0 / 3.0);
            let plain = BoxMap::new(p.columns());
            assert_eq!(map.size, plain.size * (4.0 / 3.0));
            let unit = |a: usize, x: f64| map.unit(a, map.scaled(x));
            let along = [[-scale, scale], [0.0, scale], [0.0, depth * scale]];
            for (a, [low, high]) in along.into_iter().enumerate() {
                assert!(unit(a, low) > -0.5 && unit(a, low) + 0.5 < 1e-6, "{scale} {a}");
                let extent = 0.75 * (high - low) / (2.0 * scale);
                assert!((unit(a, high) - unit(a, low) - extent).abs() < 1e-6, "{scale} {a}");
            }
        }
        // A box whose middle takes more than one number of f64 keeps it.
        let mut p = Particles::default();
        p.push([1.0, 1.0, 1.0], 1.0);
        p.push([1.0 + f64::EPSILON, 1.0, 1.0], 1.0);
        assert_eq!(BoxMap::root(&[p.columns()], None, 1.5), BoxMap::new(p.columns()));
    }

    #[test]
    fn a_single_point_gets_a_box_of_edge_one() {
        let mut p = Particles::default();
        p.push([5.0, 6.0, 7.0], 1.0);
        let map = BoxMap::new(p.columns());
        let (value, exponent) = map.wide(0, 1.0);
        assert_eq!(ldexp(value, exponent), 1.0);
        assert_eq!(map.length(2.0), 2.0);
        assert_eq!(BoxMap::new(Particles::default().columns()).shift, 0);
    }
}
