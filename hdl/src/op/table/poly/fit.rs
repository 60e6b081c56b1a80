//! One row: a polynomial that interpolates the function in Chebyshev nodes, rounded to integers, and the proof of its
//! error.

use super::coefficients::{Coefficients, Grid, MAX_DEGREE, interpolated, nodes, quantised};
use super::{RowRange, Span};
use crate::number::real::{Dd, Interval, Smooth, exp2};

/// The most bits of h, sign and the carry of a sum included: of results of up to 40 places, and of longer ones.
const MAX_BITS: i32 = 60;
const MAX_WIDE_BITS: i32 = 63;

/// Covers what is not accounted for on its own: the error of the function's values and of the fit's arithmetic.
const SLACK: f64 = 1.0 / 1024.0;

/// A value may be off by this many places at most.
const VALUE_ERROR: f64 = 1.0 / 8192.0;

/// A line of arguments: start + scale * fraction / 2^bits.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The function that is tabulated, where there are several ([`Smooth::branch`]).
    pub branch: usize,
    pub start: Dd,
    /// A power of two, negative where the argument falls; 0 where every fraction means the start.
    pub scale: f64,
    /// The fractions that occur.
    pub first: u64,
    pub last: u64,
}

impl Line {
    pub fn at(&self, fraction: f64, bits: u32) -> Dd {
        self.start + Dd::from(self.scale) * (fraction * exp2(-(bits as i32)))
    }
}

/// The accuracy goal of the result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Goal {
    /// Less than half a place of a float of `mant` fraction bits; a value below 2^lowest counts as one of that size. Where
    /// that is the least number of the format, it underflows.
    Float { mant: u32, lowest: i32, underflows: bool },
    /// Less than half of 2^unit; a value that lies beyond `reach` may be any that does, on the same side.
    Fixed { unit: i32, reach: Interval },
}

impl Goal {
    /// Half of 2^unit, for every value.
    pub fn fixed(unit: i32) -> Goal {
        Goal::Fixed { unit, reach: Interval::WHOLE }
    }
}

/// Why there is no polynomial.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Misfit {
    /// A shorter piece may have one.
    Long,
    /// The function has no value here.
    Undefined(f64),
    /// Its value cannot be computed well enough here.
    Inaccurate(f64),
}

/// The problem, but for the place.
#[derive(Clone, Copy)]
pub struct Fit<'a> {
    pub f: &'a dyn Smooth,
    pub goal: Goal,
    pub bits: u32,
    pub degree: usize,
    /// The error of the result due to the argument's own error, in places.
    pub argument: f64,
}

/// Fractions `first` to `last` of the piece that begins at `origin` and is 2^span_bits long.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub origin: u64,
    pub span_bits: u32,
    pub first: u64,
    pub last: u64,
}

/// The properties of a piece, before a polynomial is made for it.
#[derive(Clone, Copy, Debug)]
pub struct Sketch {
    /// The result's last place, as a power of two.
    pub unit: i32,
    /// Error of the interpolation, in places.
    pub error: f64,
    /// About how many bits each coefficient needs.
    pub bits: [u32; MAX_DEGREE + 1],
    range: Interval,
    zero: Zero,
}

/// The quantum of a row for which none matters.
pub const ANY_QUANTUM: i32 = i32::MAX;

/// Where a function is exactly 0; h is 0 there too, so that no flag is raised.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Zero {
    /// Nowhere that is known.
    Unknown,
    /// Where the piece begins.
    Begin,
    /// At all arguments of the piece.
    All,
    /// Nowhere: all values lie beyond what the result holds.
    Beyond,
}

/// A finished row.
#[derive(Clone, Debug)]
pub struct Row {
    pub coef: [i64; MAX_DEGREE + 1],
    pub quantum: i32,
    pub range: RowRange,
    /// The spans of the sums of Horner's rule.
    pub steps: [Span; MAX_DEGREE + 1],
    pub error: f64,
}

/// Bits of h below the result's last place, by degree: rounded coefficients and cut-off products then take less than
/// 0.3 places in all.
pub fn guard(degree: usize) -> i32 {
    [2, 3, 4, 4, 4][degree]
}

/// The largest error of h due to rounded coefficients and cut-off products, in places.
fn rounding(degree: usize) -> f64 {
    (degree as f64 + 0.5) * exp2(-guard(degree))
}

impl Fit<'_> {
    /// The function of a line.
    fn of(&self, line: &Line) -> &dyn Smooth {
        self.f.branch(line.branch).unwrap_or(self.f)
    }

    /// Judges a piece of a line; an error where no polynomial of the degree is near enough.
    pub fn sketch(&self, line: &Line, piece: &Piece) -> Result<Sketch, Misfit> {
        let at = |fraction: u64| line.at(fraction as f64, self.bits).hi;
        let (a, b) = (at(piece.first), at(piece.last));
        let x = Interval::new(a.min(b), a.max(b));
        if a == b {
            return self.point(self.of(line), a);
        }
        let jet = self.of(line).coefficients(x, self.degree + 1);
        let width = (x.hi - x.lo) * 1.000_001;
        // The remainder times 2 / 4^(D+1): interpolation in the Chebyshev nodes of an interval of length 1.
        let left = (0..=self.degree).fold(2.0 * jet[self.degree + 1].most(), |e, _| e * width / 4.0);
        // What is not a number is no bound.
        let is_near =
            |unit: i32, exact: f64| scaled(left, -unit) + rounding(self.degree) + exact + self.argument + SLACK < 0.5;
        // Too far even if all values are as large as any may be: no need of the exact range, which takes as long again.
        if !self.may_lie_beyond(jet[0]) && !is_near(self.unit(jet[0].most()), 0.0) {
            return Err(Misfit::Long);
        }
        let range = self.of(line).refined(x, &jet);
        if !range.is_finite() {
            return Err(Misfit::Long);
        }
        if let Some(sketch) = self.beyond(range) {
            return Ok(sketch);
        }
        let near = if range.contains(0.0) && !jet[1].contains(0.0) { self.near_zero(line, piece) } else { None };
        let (least, zero) = near.unwrap_or_else(|| (range.least(), self.zero(line, piece, range)));
        let unit = self.unit(least);
        let power = |n: usize| (0..n).fold(1.0, |p, _| p * width);
        let error = scaled(left, -unit);
        let exact = if zero == Zero::Begin { 1.5 * exp2(-guard(self.degree)) } else { 0.0 };
        if !is_near(unit, exact) {
            return Err(Misfit::Long);
        }
        let quantum = unit - guard(self.degree);
        let mut bits = [0; MAX_DEGREE + 1];
        for (k, b) in bits.iter_mut().enumerate().take(self.degree + 1) {
            let size = if k == 0 { range.most() } else { jet[k].most() * power(k) };
            *b = bits_of(size, quantum);
        }
        if bits.iter().any(|b| *b as i32 > self.most_bits() - 3) {
            return Err(Misfit::Long);
        }
        Ok(Sketch { unit, error, bits, range, zero })
    }

    fn most_bits(&self) -> i32 {
        let is_wide = match self.goal {
            Goal::Float { mant, .. } => mant > 40,
            Goal::Fixed { unit, .. } => unit < -40,
        };
        if is_wide { MAX_WIDE_BITS } else { MAX_BITS }
    }

    /// A single argument.
    fn point(&self, f: &dyn Smooth, x: f64) -> Result<Sketch, Misfit> {
        let value = f.value(Dd::from(x)).ok_or(Misfit::Undefined(x))?;
        if let Some(sketch) = self.beyond(Interval::point(value.value.hi).outward()) {
            return Ok(sketch);
        }
        let unit = self.unit(value.value.hi.abs());
        if value.error > VALUE_ERROR * exp2(unit) {
            return Err(Misfit::Inaccurate(x));
        }
        let mut bits = [0; MAX_DEGREE + 1];
        bits[0] = bits_of(value.value.hi.abs(), unit - guard(self.degree));
        let zero = if value.value.hi == 0.0 { Zero::All } else { Zero::Unknown };
        Ok(Sketch { unit, error: 0.0, bits, range: Interval::point(value.value.hi).outward(), zero })
    }

    /// A piece whose values all lie beyond what a fixed holds: one place beyond, which saturates.
    fn beyond(&self, range: Interval) -> Option<Sketch> {
        let Goal::Fixed { unit, reach } = self.goal else { return None };
        let place = exp2(unit);
        let value = match range {
            _ if range.lo > reach.hi + place => reach.hi + place,
            _ if range.hi < reach.lo - place => reach.lo - place,
            _ => return None,
        };
        let mut bits = [0; MAX_DEGREE + 1];
        bits[0] = bits_of(value.abs(), unit - guard(self.degree));
        Some(Sketch { unit, error: 0.0, bits, range: Interval::point(value), zero: Zero::Beyond })
    }

    /// Whether [`Fit::beyond`] may hold of a part of a range.
    fn may_lie_beyond(&self, range: Interval) -> bool {
        let Goal::Fixed { unit, reach } = self.goal else { return !range.is_finite() };
        let place = exp2(unit);
        !range.is_finite() || range.hi > reach.hi + place || range.lo < reach.lo - place
    }

    /// Where a function whose least magnitude on a piece is not known is 0.
    fn zero(&self, line: &Line, piece: &Piece, range: Interval) -> Zero {
        if range == Interval::ZERO {
            return Zero::All;
        }
        let begins = range.contains(0.0) && piece.first == piece.origin;
        let value = begins.then(|| self.of(line).value(line.at(piece.first as f64, self.bits))).flatten();
        if value.is_some_and(|v| v.value.hi == 0.0) { Zero::Begin } else { Zero::Unknown }
    }

    /// The least magnitude other than 0 on a piece on which the function is strictly monotone, and whether it is exactly
    /// 0 where the piece begins. `None` where a value cannot be distinguished from 0.
    fn near_zero(&self, line: &Line, piece: &Piece) -> Option<(f64, Zero)> {
        let value = |fraction: u64| {
            let v = self.of(line).value(line.at(fraction as f64, self.bits))?;
            let known = v.error == 0.0 || v.value.hi.abs() > 16.0 * v.error;
            known.then_some(v.value.hi)
        };
        let (mut low, mut high) = (piece.first, piece.last);
        if value(low)? == 0.0 {
            return (low == piece.origin).then_some((value(low + 1)?.abs(), Zero::Begin));
        }
        let positive = value(low)? > 0.0;
        if value(high)? != 0.0 && (value(high)? > 0.0) == positive {
            return Some((value(low)?.abs().min(value(high)?.abs()), Zero::Unknown));
        }
        // The two arguments around the zero.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if (value(middle)? > 0.0) == positive { low = middle } else { high = middle }
        }
        let least = value(low)?.abs().min(value(high)?.abs());
        (least > 0.0).then_some((least, Zero::Unknown))
    }

    /// The last place of a result of that magnitude. Just above a power of two it is that of the octave below, since a
    /// result may be rounded to it.
    fn unit(&self, least: f64) -> i32 {
        match self.goal {
            Goal::Fixed { unit, .. } => unit,
            Goal::Float { mant, lowest, .. } => {
                let inside = least * (1.0 - exp2(-(mant as i32) - 1));
                let octave = if inside > 0.0 { crate::number::real::log2(inside) } else { lowest };
                octave.max(lowest) - mant as i32
            }
        }
    }

    /// The row of a piece that [`Fit::sketch`] accepts.
    pub fn row(&self, line: &Line, piece: &Piece, sketch: &Sketch) -> Result<Row, Misfit> {
        let quantum = sketch.unit - guard(self.degree);
        if sketch.zero == Zero::All {
            let (range, steps) = (RowRange { h: Some(Span::of(0)), least: i64::MAX }, [Span::of(0); MAX_DEGREE + 1]);
            return Ok(Row { coef: [0; MAX_DEGREE + 1], quantum: ANY_QUANTUM, range, steps, error: 0.0 });
        }
        if sketch.zero == Zero::Beyond {
            return Ok(self.constant(scaled(sketch.range.lo, -quantum) as i64, quantum));
        }
        if let Some(row) = self.vanishing(sketch) {
            return Ok(row);
        }
        let coef = self.interpolate(line, piece, quantum)?;
        let (coef, added) = self.quantise(coef, sketch.zero == Zero::Begin);
        let error = sketch.error + added * exp2(-guard(self.degree)) + self.argument + SLACK;
        let place = |fraction: u64| (fraction - piece.origin) as f64 * exp2(-(piece.span_bits as i32));
        let (low, high) = (place(piece.first), place(piece.last));
        let mut steps = [Span::of(0); MAX_DEGREE + 1];
        steps[self.degree] = Span::of(coef[self.degree]);
        for k in (0..self.degree).rev() {
            let s = steps[k + 1];
            let products = [s.low as f64 * low, s.low as f64 * high, s.high as f64 * low, s.high as f64 * high];
            let least = products.iter().copied().fold(f64::INFINITY, f64::min).floor() as i64;
            let most = products.iter().copied().fold(f64::NEG_INFINITY, f64::max).floor() as i64;
            // f64 holds fewer bits than h has at most: one unit in its last place of margin.
            let room = (least.unsigned_abs().max(most.unsigned_abs()) >> 50) as i64;
            steps[k] = Span { low: (coef[k] + least - room).into(), high: (coef[k] + most + room).into() };
        }
        // What is known of the function beside what is known of the integers.
        let half = 1i128 << guard(self.degree);
        let (below, above) = (scaled(sketch.range.lo, -quantum).floor(), scaled(sketch.range.hi, -quantum).ceil());
        let real = Span { low: below as i64 as i128 - half, high: above as i64 as i128 + half };
        let h = Span { low: steps[0].low.max(real.low), high: steps[0].high.min(real.high) };
        let h = if h.low <= h.high { h } else { steps[0] };
        steps[0] = h;
        let least = match (h.low, h.high) {
            (0, 0) => i64::MAX,
            (1.., _) => h.low as i64,
            _ => (-h.high).max(1) as i64,
        };
        Ok(Row { coef, quantum, range: RowRange { h: Some(h), least }, steps, error })
    }

    /// A piece whose values are all too small for the format, and none of them 0: half of the least number, which
    /// underflows.
    fn vanishing(&self, sketch: &Sketch) -> Option<Row> {
        let Goal::Float { mant, lowest, underflows: true } = self.goal else { return None };
        if sketch.range.most() >= exp2(lowest - 1) || sketch.range.contains(0.0) {
            return None;
        }
        // As many bits as other rows have, so that it is no smaller than they are.
        let bits = mant as i32 + guard(self.degree);
        let value = if sketch.range.lo > 0.0 { 1 << bits } else { -1 << bits };
        Some(self.constant(value, lowest - 2 - bits))
    }

    /// A row of one value other than 0.
    fn constant(&self, value: i64, quantum: i32) -> Row {
        let mut coef = [0; MAX_DEGREE + 1];
        coef[0] = value;
        let mut steps = [Span::of(0); MAX_DEGREE + 1];
        steps[0] = Span::of(value);
        let range = RowRange { h: Some(steps[0]), least: value.abs() };
        Row { coef, quantum, range, steps, error: 0.0 }
    }

    /// Coefficients of the places' powers, in quanta.
    fn interpolate(&self, line: &Line, piece: &Piece, quantum: i32) -> Result<Coefficients<Dd>, Misfit> {
        let mut coef = [Dd::ZERO; MAX_DEGREE + 1];
        let value = |x: Dd| {
            let v = self.of(line).value(x).ok_or(Misfit::Undefined(x.hi))?;
            let accurate = v.error <= VALUE_ERROR * exp2(quantum + guard(self.degree));
            if accurate { Ok(v.value.scale(-quantum)) } else { Err(Misfit::Inaccurate(x.hi)) }
        };
        if piece.first == piece.last || line.scale == 0.0 {
            coef[0] = value(line.at(piece.first as f64, self.bits))?;
            return Ok(coef);
        }
        let length = exp2(piece.span_bits as i32);
        let from = (piece.first - piece.origin) as f64 / length;
        let reach = (piece.last - piece.first) as f64 / length;
        let places: Vec<Dd> = nodes(self.degree).iter().map(|n| Dd::from(from + reach * n)).collect();
        let at = |place: &Dd| {
            value(
                line.start
                    + (*place * length + Dd::from(piece.origin as f64)) * (line.scale * exp2(-(self.bits as i32))),
            )
        };
        let values: Vec<Dd> = places.iter().map(at).collect::<Result<_, _>>()?;
        Ok(interpolated(&places, &values))
    }

    /// Rounds the coefficients; with `zero` the constant is 0. Gives the bound of what this does in quanta.
    fn quantise(&self, mut coef: Coefficients<Dd>, zero: bool) -> (Coefficients<i64>, f64) {
        let mut bound = 0.0;
        if self.degree > 0 {
            // The last product is cut off too.
            coef[0] = coef[0] + Dd::from(0.5);
            bound = 0.5;
        }
        quantised(coef, self.degree, &Grid::default(), zero, bound)
    }
}

/// x * 2^k; in two steps, since 2^k alone may lie outside f64.
fn scaled(x: f64, k: i32) -> f64 {
    x * exp2(k / 2) * exp2(k - k / 2)
}

/// Bits of a number of that size in quanta, with its sign.
fn bits_of(size: f64, quantum: i32) -> u32 {
    let exponent = if size > 0.0 { crate::number::real::log2(size) } else { return 1 };
    (exponent - quantum + 2).max(1) as u32
}
