//! One coordinate of the cells: where a pattern lies along it, and which cells are beside which.

use super::CellsError;
use crate::encode::encode;
use hdl::Format;
use std::ops::RangeInclusive;

/// The most cells along an axis, so that a cell's place in the order fits 64 bits, and positions their cells.
const MOST: u64 = 1 << 20;

/// A side of a periodic box and the least width of its cells.
#[derive(Clone, Copy)]
pub struct Side {
    pub length: f64,
    pub width: f64,
}

/// The kind of an axis's ends.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Ends {
    /// Nothing lies beyond.
    Open,
    /// The format wraps there, so the first cell lies beside the last.
    Wrap,
    /// Sources within `width` of an end are there a second time, beyond the other.
    Images { width: f64 },
}

/// One coordinate.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    format: Format,
    ends: Ends,
    /// The lower end: in units of the last place where the format has a fixed one, as a number otherwise.
    low: i128,
    low_real: f64,
    /// From end to end, in the same two ways.
    length: i128,
    length_real: f64,
    /// Width of a cell.
    pub width: f64,
    /// Cells from end to end.
    pub cells: u64,
    /// Indices of cells: those of images are among them.
    pub slots: u64,
}

/// The value of one unit of a format's integers.
fn unit(format: Format) -> Option<f64> {
    format.frac().map(|f| 2f64.powi(-(f as i32)))
}

impl Axis {
    /// From the least to the greatest of `values`; or all of a format that wraps, where these lie so near both of its ends that a
    /// difference across them is a short one.
    pub fn free(format: Format, values: &[u64], width: f64) -> Axis {
        let ints = || values.iter().map(|v| format.to_int(*v));
        let all = 1i128 << format.width();
        let beside = all - (ints().max().unwrap_or(0) - ints().min().unwrap_or(0));
        let is_near = |unit: f64| beside as f64 * unit <= width;
        let around = |unit: f64| Axis::wrapping(format, Side { length: all as f64 * unit, width });
        unit(format).filter(|unit| is_near(*unit)).and_then(around).unwrap_or_else(|| Axis::open(format, values, width))
    }

    /// From the least to the greatest of `values`.
    fn open(format: Format, values: &[u64], width: f64) -> Axis {
        let mut axis = Axis::new(format, Ends::Open);
        let ints = || values.iter().map(|v| format.to_int(*v));
        let reals = || values.iter().map(|v| format.to_f64(*v));
        if !values.is_empty() {
            match unit(format) {
                Some(unit) => {
                    axis.low = ints().min().unwrap_or(0);
                    axis.length_real = (ints().max().unwrap_or(0) - axis.low) as f64 * unit;
                }
                None => {
                    axis.low_real = reals().fold(f64::INFINITY, f64::min);
                    axis.length_real = reals().fold(f64::NEG_INFINITY, f64::max) - axis.low_real;
                }
            }
        }
        axis.width = width.max(axis.length_real / MOST as f64);
        axis.cells = ((axis.length_real / axis.width) as u64).min(MOST) + 1;
        axis.slots = axis.cells;
        axis
    }

    /// All of a format that wraps at exactly that length; `None` if it does not.
    pub fn wrapping(format: Format, side: Side) -> Option<Axis> {
        let unit = unit(format)?;
        let mut axis = Axis::new(format, Ends::Wrap);
        axis.low = format.to_int(format.min_bits());
        axis.length = 1i128 << format.width();
        axis.length_real = axis.length as f64 * unit;
        axis.divide(side);
        axis.slots = axis.cells;
        (axis.length_real == side.length).then_some(axis)
    }

    /// A box that begins at 0, or with 0 in its middle if that is where the values are.
    pub fn with_images(format: Format, side: Side, values: &[u64]) -> Result<Axis, CellsError> {
        let mut axis = Axis::new(format, Ends::Images { width: side.width });
        axis.length_real = side.length;
        if let Some(unit) = unit(format) {
            axis.length = (side.length / unit).round_ties_even() as i128;
            axis.length_real = axis.length as f64 * unit;
            if axis.length < 1 {
                let text = format!("a side of {} is less than one step of {format}; give a longer one", side.length);
                return Err(CellsError(text));
            }
        }
        axis.divide(side);
        axis.slots = axis.cells + 2;
        let mut centred = axis.clone();
        (centred.low, centred.low_real) = (-(axis.length / 2), -axis.length_real / 2.0);
        let all_in = |axis: &Axis| values.iter().all(|v| axis.turns(*v) == 0);
        if !all_in(&axis) && all_in(&centred) {
            axis = centred;
        }
        // Pairs of neighbouring cells are less than two widths apart; the least box has all of itself beside it.
        let farthest = (2.0 * axis.width).min(axis.length_real + side.width);
        let span = unit(format).map(|unit| unit * 2f64.powi(format.width() as i32));
        if span.is_some_and(|span| farthest > span / 2.0) {
            return Err(CellsError(format!(
                "differences of up to {farthest} to the images of a box of side {} wrap in {format}; give `xi` and `xj` a \
                 wider format, or one that wraps at the side itself",
                side.length
            )));
        }
        Ok(axis)
    }

    fn new(format: Format, ends: Ends) -> Axis {
        let (low, low_real, length, length_real) = (0, 0.0, 0, 0.0);
        Axis { format, ends, low, low_real, length, length_real, width: 0.0, cells: 1, slots: 1 }
    }

    /// Cuts a periodic axis into equal cells of at least the width, or leaves it whole.
    fn divide(&mut self, side: Side) {
        self.cells = ((self.length_real / side.width) as u64).clamp(1, MOST);
        self.width = self.length_real / self.cells as f64;
    }

    /// By how many lengths a value lies above the box.
    fn turns(&self, bits: u64) -> i128 {
        match (self.ends, unit(self.format)) {
            (Ends::Images { .. }, Some(_)) => (self.format.to_int(bits) - self.low).div_euclid(self.length),
            (Ends::Images { .. }, None) => {
                ((self.format.to_f64(bits) - self.low_real) / self.length_real).floor() as i128
            }
            _ => 0,
        }
    }

    /// Distance from the lower end, of what is brought into the box. The difference is taken before it is rounded.
    fn place(&self, bits: u64) -> f64 {
        match unit(self.format) {
            Some(unit) => {
                let above = self.format.to_int(bits) - self.low;
                let above = if self.length > 0 { above.rem_euclid(self.length) } else { above };
                above as f64 * unit
            }
            None => {
                let above = self.format.to_f64(bits) - self.low_real;
                above - self.turns(bits) as f64 * self.length_real
            }
        }
    }

    /// The index of the cell of a value that is brought into the box.
    pub fn slot(&self, bits: u64) -> u64 {
        let cell = ((self.place(bits) / self.width) as u64).min(self.cells - 1);
        if matches!(self.ends, Ends::Images { .. }) { cell + 1 } else { cell }
    }

    /// The images of a source: their cells' indices, and by how many lengths they are moved.
    pub fn images(&self, bits: u64) -> impl Iterator<Item = (u64, i8)> + use<> {
        let (mut below, mut above) = (None, None);
        if let Ends::Images { width } = self.ends {
            let place = self.place(bits);
            below = (place >= self.length_real - width).then_some((0, -1));
            above = (place <= width).then_some((self.cells + 1, 1));
        }
        below.into_iter().chain(above)
    }

    /// A value brought into the box and moved by that many lengths.
    pub fn moved(&self, bits: u64, by: i8) -> Result<u64, CellsError> {
        let by = by as i128 - self.turns(bits);
        if by == 0 {
            return Ok(bits);
        }
        let format = self.format;
        let (moved, fits) = match unit(format) {
            Some(_) => {
                let moved = format.to_int(bits) + by * self.length;
                let range = format.to_int(format.min_bits())..=format.to_int(format.max_bits());
                (moved as u64 & format.mask(), range.contains(&moved))
            }
            None => encode(format, format.to_f64(bits) + by as f64 * self.length_real),
        };
        if !fits {
            return Err(CellsError(format!(
                "{} moved by {by} sides of the box, {}, is out of the range of {format}; give `xi` and `xj` a wider format",
                format.to_f64(bits),
                self.length_real
            )));
        }
        Ok(moved)
    }

    /// The cells within one of a cell, itself among them, none twice.
    pub fn around(&self, at: u64) -> Vec<RangeInclusive<u64>> {
        let last = self.slots - 1;
        match self.ends {
            Ends::Wrap if self.slots <= 3 => vec![0..=last],
            Ends::Wrap if at == 0 => vec![0..=1, last..=last],
            Ends::Wrap if at == last => vec![0..=0, last - 1..=last],
            _ => vec![at.saturating_sub(1)..=(at + 1).min(last)],
        }
    }
}
