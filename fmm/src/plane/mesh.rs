//! The pyramid of boxes: every box of a level is split twice at medians, so that the four boxes have nearly the same number of
//! points (section 2 of the paper).
//!
//! The points of a box follow from this rule alone, not from the algorithm that finds them. The points of a box are the
//! sources and the targets in it, in the order of the input, sources first. A split is along x if the smallest rectangle about
//! the points is at least as wide as high, else along y. Of n points the n / 2 (rounded down) lowest go to the first half,
//! where of equal coordinates the one earlier in the order is lower. Each half is then split in the same way, so that children
//! 0 and 1 are of the first half. Within a box, points keep the order of the input.

mod split;

use super::Geometry;
use crate::arith::scale::{exponent, ldexp};
use crate::parallel::prelude::*;
use std::ops::Range;

/// Coordinates of this magnitude or less, in units of the [`Frame`], may have differences whose powers f64 does not hold.
pub const LEAST: f64 = f64::from_bits((1023 - 400) << 52);

/// The pyramid and the points in it.
pub struct Mesh {
    pub frame: Frame,
    /// N_l of (5.2): level 0 is the root, level l has 4^l boxes.
    pub levels: usize,
    pub sources: Points,
    /// The targets, where these are not the sources.
    apart: Option<Points>,
    pub boxes: Boxes,
    /// The coordinates of the input, where some boxes are tiny: those of the frame may be rounded there.
    pub(super) exact: Option<Exact>,
}

/// Coordinates as they were given.
pub(super) struct Exact {
    pub sources: [Vec<f64>; 2],
    pub targets: [Vec<f64>; 2],
}

/// The units of a mesh: a coordinate is (x - origin) * 2^-exponent, which is exact, and at most 2 in magnitude.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Frame {
    pub origin: [f64; 2],
    pub exponent: i32,
}

/// Points box by box.
#[derive(Default)]
pub struct Points {
    /// In units of the frame.
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    /// For each sorted point its place in the input.
    pub order: Vec<u32>,
    /// For each finest box its first point, and behind the last one the number of points.
    pub start: Vec<u32>,
}

/// The boxes of all levels: box k of level l stands at place [`first`]`(l) + k`, and its children are the boxes 4k to 4k+3 of the
/// next level.
#[derive(Default)]
pub struct Boxes {
    /// The centre of the smallest rectangle about the points of the box, in units of the frame.
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    /// Half the sides of this rectangle.
    pub half: [Vec<f64>; 2],
    /// No point of the box is farther from its centre.
    pub radius: Vec<f64>,
    /// The unit of length of the expansions of a box: the power of two with `radius / unit` in (1/2, 1], but at least [`LEAST`].
    pub unit: Vec<f64>,
    /// Whether points of a finest box may be so close that P2P needs wide arithmetic.
    pub is_tiny: Vec<bool>,
}

/// The place of the first box of a level among those of all levels.
pub fn first(level: usize) -> usize {
    ((1 << (2 * level)) - 1) / 3
}

/// N_l of (5.2) for `n` points, with so few levels that no box is empty.
pub fn levels(n: usize, leaf: usize) -> usize {
    let wanted = 0.5 * (0.625 * n as f64 / leaf as f64).log2();
    let most = if n == 0 { 0 } else { n.ilog2() as usize / 2 };
    (wanted.ceil().max(0.0) as usize).min(most)
}

impl Mesh {
    /// The mesh of finite points. Where targets are apart, N of (5.2) is the mean of the numbers of sources and targets.
    pub fn new(geometry: Geometry, leaf: usize) -> Mesh {
        let sources = geometry.sources[0].len();
        let targets = geometry.targets.map_or(sources, |t| t[0].len());
        let frame = Frame::of(geometry);
        let levels = levels((sources + targets).div_ceil(2), leaf);
        let scaled = frame.all(geometry);
        let has_tiny = frame.has_tiny(geometry, &scaled);
        let sorted = split::sort(scaled, levels);
        let boxes = Boxes::over(&sorted, levels, has_tiny);
        let (sources, apart) = match geometry.targets {
            None => (sorted, None),
            Some(_) => {
                let (sources, targets) = sorted.parted(sources as u32);
                (sources, Some(targets))
            }
        };
        let exact = boxes.is_tiny.contains(&true).then(|| Exact {
            sources: geometry.sources.map(<[f64]>::to_vec),
            targets: geometry.targets.unwrap_or(geometry.sources).map(<[f64]>::to_vec),
        });
        Mesh { frame, levels, sources, apart, boxes, exact }
    }

    /// Where the field is wanted.
    pub fn targets(&self) -> &Points {
        self.apart.as_ref().unwrap_or(&self.sources)
    }

    /// Whether the targets are not the sources.
    pub fn is_apart(&self) -> bool {
        self.apart.is_some()
    }

    /// The place of the first finest box.
    pub fn finest(&self) -> usize {
        first(self.levels)
    }
}

impl Points {
    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The points of a finest box, counted from 0 within its level.
    pub fn range(&self, finest: usize) -> Range<usize> {
        self.start[finest] as usize..self.start[finest + 1] as usize
    }

    /// The points of box `k` of a level, which is `above` levels above the finest one.
    pub fn range_above(&self, k: usize, above: usize) -> Range<usize> {
        let boxes = 1 << (2 * above);
        self.start[k * boxes] as usize..self.start[(k + 1) * boxes] as usize
    }

    /// Takes points with places below `count` apart from the others, which are then counted from 0.
    fn parted(&self, count: u32) -> (Points, Points) {
        let (mut low, mut high) = (Points::default(), Points::default());
        for finest in 0..self.start.len() - 1 {
            low.start.push(low.len() as u32);
            high.start.push(high.len() as u32);
            for k in self.range(finest) {
                let (to, place) = match self.order[k].checked_sub(count) {
                    None => (&mut low, self.order[k]),
                    Some(place) => (&mut high, place),
                };
                to.x.push(self.x[k]);
                to.y.push(self.y[k]);
                to.order.push(place);
            }
        }
        low.start.push(low.len() as u32);
        high.start.push(high.len() as u32);
        (low, high)
    }
}

impl Frame {
    pub(super) fn of(geometry: Geometry) -> Frame {
        let range = |axis: usize| {
            let columns = [Some(geometry.sources), geometry.targets].into_iter().flatten();
            let none = [f64::INFINITY, f64::NEG_INFINITY];
            let both = |r: [f64; 2], p: [f64; 2]| [r[0].min(p[0]), r[1].max(p[1])];
            columns.map(|c| c[axis].par_iter().fold_reduce(|| none, |r, x| both(r, [*x; 2]), both)).fold(none, both)
        };
        let ranges = [0, 1].map(|axis| match range(axis) {
            [low, high] if low <= high => [low, high],
            _ => [0.0; 2],
        });
        // A difference from a number of the same sign and at least half the magnitude is exact.
        let origin = ranges.map(|[low, high]| match () {
            _ if low > 0.0 && 0.5 * high <= low => low,
            _ if high < 0.0 && 0.5 * low >= high => high,
            _ => 0.0,
        });
        let extent = ranges.map(|[low, high]| 0.5 * high - 0.5 * low).into_iter().fold(0.0, f64::max);
        Frame { origin, exponent: if extent > 0.0 { exponent(extent) + 1 } else { 0 } }
    }

    /// The logarithm of the user's unit of length in units of the frame: log |d| of a distance d in units of the frame is
    /// less by this than that in the user's units.
    pub fn log_unit(&self) -> f64 {
        self.exponent as f64 * std::f64::consts::LN_2
    }

    /// Whether some differences between coordinates may be so small that powers of them leave the range of f64. They are not
    /// where none but zeros are small: a difference is a multiple of the last bit of the smaller number.
    pub(super) fn has_tiny(&self, geometry: Geometry, scaled: &[Vec<f64>; 2]) -> bool {
        let sources = geometry.sources[0].len();
        (0..2).any(|axis| {
            let (low, high) = scaled[axis].split_at(sources);
            let is_tiny = |(x, scaled): (&f64, &f64)| *x != self.origin[axis] && scaled.abs() < LEAST;
            let targets = geometry.targets.map_or(&[][..], |t| t[axis]);
            let all = geometry.sources[axis].par_iter().zip(low).chain(targets.par_iter().zip(high));
            rayon::iter::ParallelIterator::any(all, is_tiny)
        })
    }

    /// All points of a problem in the order of the input, sources first.
    pub(super) fn all(&self, geometry: Geometry) -> [Vec<f64>; 2] {
        let scale = Scale::new(-self.exponent);
        [0, 1].map(|axis| {
            let targets = geometry.targets.map_or(&[][..], |t| t[axis]);
            let both = geometry.sources[axis].par_iter().chain(targets.par_iter());
            both.map(|x| scale.of(x - self.origin[axis])).collect()
        })
    }
}

/// Scaling by a power of two.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    power: i32,
    /// The power of two where f64 holds it and its inverse: a product is faster than a scaling by any power. Else 0.
    factor: f64,
}

impl Scale {
    pub fn new(power: i32) -> Scale {
        Scale { power, factor: if power.abs() < 1000 { 2f64.powi(power) } else { 0.0 } }
    }

    /// x times the power of two, rounded once.
    #[inline(always)]
    pub fn of(&self, x: f64) -> f64 {
        if self.factor != 0.0 { x * self.factor } else { ldexp(x, self.power) }
    }
}

impl Boxes {
    /// The boxes about points that are sorted into those of the finest level.
    fn over(points: &Points, levels: usize, has_tiny: bool) -> Boxes {
        let finest: Vec<Shape> = (0..1usize << (2 * levels))
            .into_par_iter()
            .map(|k| {
                let range = points.range(k);
                Shape::about(&points.x[range.clone()], &points.y[range])
            })
            .collect();
        let mut shapes = vec![finest];
        for _ in 0..levels {
            let below = shapes.last().expect("there is a level");
            shapes.push(below.as_chunks::<4>().0.iter().map(Shape::about_children).collect());
        }
        let mut boxes = Boxes::default();
        for shape in shapes.iter().rev().flatten() {
            let [x, y] = shape.centre();
            boxes.x.push(x);
            boxes.y.push(y);
            let half = shape.half();
            boxes.half[0].push(half[0]);
            boxes.half[1].push(half[1]);
            boxes.radius.push(shape.radius);
            boxes.unit.push(if shape.radius > LEAST { 2f64.powi(exponent(shape.radius)) } else { LEAST });
        }
        boxes.is_tiny = shapes[0].iter().map(|shape| shape.is_tiny && has_tiny).collect();
        boxes
    }

    pub fn len(&self) -> usize {
        self.x.len()
    }

    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }
}

/// The length of a vector by operations that round alike everywhere; 0 for tiny ones.
pub fn length(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

/// The rectangle about the points of a box.
struct Shape {
    low: [f64; 2],
    high: [f64; 2],
    radius: f64,
    is_tiny: bool,
}

impl Shape {
    fn about(x: &[f64], y: &[f64]) -> Shape {
        let range = |x: &[f64]| x.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |r, x| [r[0].min(*x), r[1].max(*x)]);
        let ([left, right], [bottom, top]) = if x.is_empty() { ([0.0; 2], [0.0; 2]) } else { (range(x), range(y)) };
        let mut shape = Shape { low: [left, bottom], high: [right, top], radius: 0.0, is_tiny: false };
        let centre = shape.centre();
        let square = |(x, y): (&f64, &f64)| (x - centre[0]).powi(2) + (y - centre[1]).powi(2);
        // Where squares leave the range of f64, the half diagonal is as good.
        let radius = x.iter().zip(y).map(square).fold(0.0, f64::max).sqrt();
        let half = shape.half();
        let is_held = half[0].max(half[1]) >= LEAST;
        shape.radius = if is_held { radius } else { half[0] + half[1] };
        shape.is_tiny = x.iter().chain(y).any(|x| x.abs() < LEAST);
        shape
    }

    fn about_children(children: &[Shape; 4]) -> Shape {
        let least = |axis: usize| children.iter().fold(f64::INFINITY, |a, c| a.min(c.low[axis]));
        let most = |axis: usize| children.iter().fold(f64::NEG_INFINITY, |a, c| a.max(c.high[axis]));
        let mut shape = Shape { low: [0, 1].map(least), high: [0, 1].map(most), radius: 0.0, is_tiny: false };
        let (centre, half) = (shape.centre(), shape.half());
        let far = |child: &Shape| {
            let [x, y] = child.centre();
            length(x - centre[0], y - centre[1]) + child.radius
        };
        // Rounding of the sum must not leave a point outside.
        let by_children = children.iter().map(far).fold(0.0, f64::max) * (1.0 + 4.0 * f64::EPSILON);
        shape.radius = length(half[0], half[1]).min(by_children);
        shape
    }

    fn centre(&self) -> [f64; 2] {
        [0, 1].map(|a| 0.5 * (self.low[a] + self.high[a]))
    }

    fn half(&self) -> [f64; 2] {
        [0, 1].map(|a| 0.5 * (self.high[a] - self.low[a]))
    }
}
