//! Tables of piecewise polynomials: what functions of one argument are evaluated by.
//!
//! The argument comes as a line and a fraction of `bits` bits on it: an octave of a float and its fraction, or all of a
//! fixed. The first `top` bits of the fraction choose a cell of the line, and each cell is cut into 2^split pieces, so that
//! pieces are as short as the function needs and no shorter. A piece is a row of integer coefficients, and a place v
//! within it runs from 0 to 1. The integer h = c0 + v (c1 + v (c2 + ...)), whose products are cut off, stands for h *
//! 2^quantum; the quantum is the row's own, so that a row can be near to a float of any size.
//!
//! [`Table`] is the table and its evaluation, [`hardware`] its circuit, and [`coefficients`] the rounding of a polynomial and
//! the bound of what that does. All functions share these. They differ in what they tabulate and in how the search goes:
//!
//! [`fit`] makes one row of any smooth function and bounds its error, and [`search`](mod@search) chooses degree, cells and
//! splits. [`result`] rounds h to a format, once, to nearest even. A result is then faithful: h is off by less than half a
//! place, and rounding adds at most half a place. An exactly representable value is met, since h is off by less than half
//! a place of it, on the finer side of a power of two.
//!
//! Powers have a search of their own ([`pow::search`](super::pow)), which cuts h off instead of rounding it and chooses the
//! width of each column.

pub mod c_text;
pub mod coefficients;
pub mod fit;
pub mod hardware;
mod probe;
pub mod result;
pub mod search;

pub use fit::{Goal, Line, Misfit};
pub use search::{Limits, search};

/// Where the pieces of a cell lie: in rows base to base + 2^split - 1, base being a multiple of 2^split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    pub base: u32,
    pub split: u32,
}

/// The least and the greatest value of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    pub low: i128,
    pub high: i128,
}

impl Span {
    pub fn of(x: impl Into<i128>) -> Span {
        let x = x.into();
        Span { low: x, high: x }
    }

    pub fn or(self, o: Span) -> Span {
        Span { low: self.low.min(o.low), high: self.high.max(o.high) }
    }

    /// Bits that hold it, with a sign bit where there are negative numbers; at least 1.
    pub fn bits(self) -> u32 {
        let unsigned = |n: i128| 128 - n.leading_zeros();
        if self.low < 0 {
            // Two's complement as sign and value: at least one bit of either.
            1 + unsigned(self.high.max(0)).max(unsigned(-1 - self.low)).max(1)
        } else {
            unsigned(self.high).max(1)
        }
    }

    pub fn is_signed(self) -> bool {
        self.low < 0
    }
}

/// The range of a row's values over its pieces.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RowRange {
    /// Of h, errors included; `None` for a row that no argument reaches.
    pub h: Option<Span>,
    /// The least magnitude of h other than 0.
    pub least: i64,
}

/// A table and all that its evaluation needs.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Bits of the fraction.
    pub bits: u32,
    pub lines: u32,
    pub top: u32,
    /// For each line its 2^top cells.
    pub cells: Vec<Cell>,
    /// The split of every cell, where they are all equal; rows then lie in the order of the cells.
    pub flat: Option<u32>,
    /// The least split: so many low bits of the place are always 0.
    pub drop: u32,
    pub degree: usize,
    /// `columns[i]`: the coefficient of v^i in each row.
    pub columns: Vec<Vec<i64>>,
    /// Whether the place counts downwards from the last number of a piece.
    pub flip: bool,
    /// Bits that are cut off the product which is added to each column but the last.
    pub shift: Vec<u32>,
    /// Whether that product is subtracted instead.
    pub subtract: Vec<bool>,
    /// The common part of all numbers of column 0, which is not stored: a leading 1, or 0. A table of degree 0 then stores only
    /// the bits below the leading 1.
    pub leading: i64,
    /// The weight of h's last place in each row, as a power of two.
    pub quantum: Vec<i32>,
    /// The span of the sum at each step of Horner's rule, h itself first.
    pub steps: Vec<Span>,
    pub rows: Vec<RowRange>,
    /// The proven bound of |h - f| in units of the result's last place, below 1/2.
    pub bound: f64,
}

impl Table {
    /// Bits of the place v.
    pub fn place_bits(&self) -> u32 {
        self.bits - self.top - self.drop
    }

    /// h and its quantum: the specification.
    #[inline]
    pub fn eval(&self, line: usize, fraction: u64) -> (i64, i32) {
        let rest_bits = self.bits - self.top;
        let cell = self.cells[line << self.top | (fraction >> rest_bits) as usize];
        let rest = fraction & ((1 << rest_bits) - 1);
        let row = cell.base as usize + (rest >> (rest_bits - cell.split)) as usize;
        let place = ((rest << cell.split) & ((1 << rest_bits) - 1)) >> self.drop;
        let place = if self.flip { !place & ((1 << self.place_bits()) - 1) } else { place };
        let mut h = self.columns[self.degree][row];
        for k in (0..self.degree).rev() {
            let product = ((h as i128 * place as i128) >> self.shift[k]) as i64;
            h = self.columns[k][row] + if self.subtract[k] { -product } else { product };
        }
        (h, self.quantum[row])
    }

    /// The least quantum of the rows in use, and the greatest.
    pub fn quanta(&self) -> (i32, i32) {
        let used = || self.quantum.iter().zip(&self.rows).filter(|(_, r)| r.h.is_some()).map(|(q, _)| *q);
        (used().min().unwrap_or(0), used().max().unwrap_or(0))
    }

    /// Stored bits of each column, and of the quantum behind them (0 where it is the same in all rows).
    pub fn widths(&self) -> Vec<u32> {
        let span = |k: usize| {
            let less = if k == 0 { self.leading } else { 0 };
            let all = self.columns[k].iter().map(|x| Span::of(x - less));
            all.reduce(Span::or).map_or(1, Span::bits)
        };
        let (low, high) = self.quanta();
        let mut widths: Vec<u32> = (0..=self.degree).map(span).collect();
        if self.degree == 0 && self.leading > 0 {
            widths[0] = self.leading.ilog2();
        }
        widths.push(32 - ((high - low) as u32).leading_zeros());
        widths
    }

    /// The stored entries of a column, in bits of its width.
    pub fn stored(&self, column: usize, width: u32) -> Vec<u64> {
        let (less, mask) = (if column == 0 { self.leading } else { 0 }, u64::MAX >> (64 - width));
        self.columns[column].iter().map(|v| (v - less) as u64 & mask).collect()
    }

    /// Bits of a cell's entry; 0 where none is stored.
    pub fn cell_bits(&self) -> u32 {
        let bits = |n: u32| 32 - n.leading_zeros();
        match self.flat {
            Some(_) => 0,
            None => bits(self.rows.len() as u32 - 1) + bits(self.cells.iter().map(|c| c.split).max().unwrap_or(0)),
        }
    }

    /// Bits of all memories.
    pub fn total_bits(&self) -> u64 {
        let row: u32 = self.widths().iter().sum();
        self.rows.len() as u64 * row as u64 + self.cells.len() as u64 * self.cell_bits() as u64
    }

    /// For reports; `error` is that of h in places of the result.
    pub fn in_use(&self, error: f64) -> crate::op::TableUse {
        let (pieces, degree) = (self.pieces() as u32, self.degree as u32);
        crate::op::TableUse { pieces, degree, bits: self.total_bits(), error: 0.5 + error, floor: None }
    }

    /// Whether a column has negative numbers.
    pub fn is_signed(&self, column: usize) -> bool {
        self.columns[column].iter().any(|v| *v < 0)
    }

    /// Pieces that some argument reaches.
    pub fn pieces(&self) -> usize {
        self.rows.iter().filter(|r| r.h.is_some()).count()
    }

    /// The span of h over all rows.
    pub fn span(&self) -> Span {
        self.steps[0]
    }
}
