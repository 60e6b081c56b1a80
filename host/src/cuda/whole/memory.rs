//! What there is on the card, and the structs that its kernels read.

use super::card::{Card, Plain};
use super::split::{Rows, Span};
use super::text::Shape;
use crate::cuda::CudaError;
use crate::cuda::p2p::Number;
use crate::expansion::solid::dense::Dense;
use cudarc::driver::{DeviceRepr, ValidAsZeroBits};

/// Cards at most: the kernels' text has room for so many.
pub const MOST_CARDS: usize = 64;

/// Blocks of `bounds`.
pub const BOUNDS_BLOCKS: u32 = 264;

/// What cards counted while they computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Targets that were computed again in f64, and their pairs at different places that were too close.
    pub again: u64,
    pub close: u64,
    /// Pairs and results that no arithmetic here holds.
    pub lost: u64,
}

impl Status {
    /// Words of the kernels' struct.
    pub const WORDS: usize = 3;

    pub fn new(words: &[u64]) -> Status {
        Status { again: words[0], close: words[1], lost: words[2] }
    }

    /// With what another card counted.
    pub fn plus(self, other: Status) -> Status {
        Status { again: self.again + other.again, close: self.close + other.close, lost: self.lost + other.lost }
    }
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Bounds {
    pub low: [f64; 3],
    pub high: [f64; 3],
    pub most: f64,
    pub least: f64,
    pub bad: u64,
}

impl Bounds {
    /// As processes send them.
    pub fn numbers(&self) -> [f64; 9] {
        let Bounds { low, high, most, least, bad } = *self;
        [low[0], low[1], low[2], high[0], high[1], high[2], most, least, bad as f64]
    }

    pub fn of(numbers: &[f64]) -> Bounds {
        let three = |first: usize| [0, 1, 2].map(|a| numbers[first + a]);
        Bounds { low: three(0), high: three(3), most: numbers[6], least: numbers[7], bad: numbers[8] as u64 }
    }

    /// Of both of two sets of particles.
    pub fn join(self, other: Bounds) -> Bounds {
        Bounds {
            low: [0, 1, 2].map(|a| self.low[a].min(other.low[a])),
            high: [0, 1, 2].map(|a| self.high[a].max(other.high[a])),
            most: self.most.max(other.most),
            least: self.least.min(other.least),
            bad: self.bad | other.bad,
        }
    }
}

// SAFETY: plain numbers in the order of the kernels' struct, of which all zeros are one.
unsafe impl DeviceRepr for Bounds {}
// SAFETY: as above.
unsafe impl ValidAsZeroBits for Bounds {}

/// What every kernel is given, in the order of the kernels' struct: places on the card, and numbers.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Problem {
    pub input: [u64; 4],
    pub bounds: u64,
    pub status: u64,
    pub rows: u64,
    pub cell: u64,
    pub rank: u64,
    pub shares: u64,
    pub counts: u64,
    pub sums: u64,
    pub starts: u64,
    pub row_shares: u64,
    pub cursors: u64,
    pub unsettled: u64,
    pub order: u64,
    pub records: u64,
    pub work: u64,
    pub again: u64,
    pub m: u64,
    pub l: u64,
    pub near: u64,
    pub out: u64,
    pub up: u64,
    pub down: u64,
    pub matrices: u64,
    pub slopes: u64,
    pub steps: u64,
    pub slope_terms: u64,
    pub shift: f64,
    pub centre: [f64; 3],
    pub rest: [f64; 3],
    pub size: f64,
    pub charge: f64,
    pub eps2: f64,
    pub wide_eps2: f64,
    pub potential: f64,
    pub gradient: f64,
    pub wide_potential: f64,
    pub wide_gradient: f64,
    pub n: u64,
    pub depth: u64,
    /// So many of the first particles are sources. If these are not all, the others are the targets.
    pub sources: u64,
    pub first_target: u64,
    /// The number of this card, and of all; its share of the input.
    pub card: u64,
    pub cards: u64,
    pub share: [u64; 2],
    pub own: Span,
    pub around: Span,
    pub parents: [Span; 8],
}

// SAFETY: plain numbers in the order of the kernels' struct.
unsafe impl DeviceRepr for Problem {}

pub struct Tables<T: Plain, C: Card> {
    pub up: C::Memory<T>,
    pub down: C::Memory<T>,
    pub matrices: C::Memory<T>,
    pub slopes: C::Memory<T>,
    pub steps: C::Memory<i32>,
    pub slope_terms: C::Memory<i32>,
}

/// What there is of each particle.
pub struct Particles<T: Plain, C: Card> {
    pub n: usize,
    pub input: [C::Memory<f64>; 4],
    pub bounds: C::Memory<Bounds>,
    /// The cell of each, and how many of its cell came before.
    pub cell: C::Memory<u32>,
    pub rank: C::Memory<u32>,
    /// The order before it is settled, and afterwards the numbers of results for other cards.
    pub unsettled: C::Memory<u32>,
    pub order: C::Memory<u32>,
    /// Targets to be computed again, and afterwards the numbers of results of other cards.
    pub again: C::Memory<u32>,
    /// Sorted particles, and afterwards results of other cards.
    pub records: C::Memory<T>,
    /// What P2P gives, and afterwards results for other cards.
    pub near: C::Memory<T>,
    pub out: C::Memory<T>,
}

/// What there is of each cell of a tree.
pub struct Cells<T: Plain, C: Card> {
    pub depth: u32,
    /// Of the share of each card.
    pub shares: C::Memory<u32>,
    pub counts: C::Memory<u32>,
    pub sums: C::Memory<u64>,
    pub starts: C::Memory<u64>,
    /// The words of [`Status`], and behind them those of [`Rows`].
    pub counted: C::Memory<u64>,
    /// For each card the place of the next result that it is sent.
    pub cursors: C::Memory<u32>,
    pub work: C::Memory<u64>,
    pub m: C::Memory<T>,
    pub l: C::Memory<T>,
}

impl<T: Number, C: Card> Tables<T, C> {
    pub fn new(card: &C, dense: &Dense, shape: &Shape) -> Result<Tables<T, C>, CudaError> {
        let rounded = |all: &[Vec<f64>]| all.iter().flatten().map(|x| T::of(*x)).collect::<Vec<T>>();
        let mut matrices = Vec::with_capacity(dense.offsets.len() * shape.terms * shape.pitch);
        for row in dense.offsets.iter().flat_map(|o| o.matrix.chunks_exact(shape.terms)) {
            matrices.extend(row.iter().map(|x| T::of(*x)));
            matrices.resize(matrices.len() + shape.pitch - shape.terms, T::default());
        }
        let step = |k: &usize| {
            let offset = &dense.offsets[*k];
            // From the target to the source.
            let d = offset.at.map(|x| -x as i32);
            [d[0], d[1], d[2], *k as i32, offset.terms as i32]
        };
        let steps: Vec<i32> = dense.lists.iter().flatten().flat_map(step).collect();
        let most = dense.slopes.iter().flatten().map(Vec::len).max().unwrap_or(0).max(1);
        let (mut slopes, mut slope_terms) = (Vec::new(), Vec::new());
        for entries in dense.slopes.iter().flatten() {
            let filled = (0..most).map(|k| entries.get(k).copied().unwrap_or((0, 0.0)));
            filled.for_each(|(term, factor)| {
                slopes.push(T::of(factor));
                slope_terms.push(term as i32);
            });
        }
        Ok(Tables {
            up: card.send(&rounded(&dense.up))?,
            down: card.send(&rounded(&dense.down))?,
            matrices: card.send(&matrices)?,
            slopes: card.send(&slopes)?,
            steps: card.send(&steps)?,
            slope_terms: card.send(&slope_terms)?,
        })
    }
}

impl<T: Number, C: Card> Particles<T, C> {
    /// Of each particle on the card.
    pub const BYTES: u64 = 4 * 8 + 5 * 4 + 12 * size_of::<T>() as u64;

    pub fn new(card: &C, n: usize) -> Result<Particles<T, C>, CudaError> {
        let (column, index) = (|| card.room::<f64>(n), || card.room::<u32>(n));
        Ok(Particles {
            n,
            input: [column()?, column()?, column()?, column()?],
            bounds: card.room(1 + BOUNDS_BLOCKS as usize)?,
            cell: index()?,
            rank: index()?,
            unsettled: index()?,
            order: index()?,
            again: index()?,
            records: card.room(4 * n)?,
            near: card.room(4 * n)?,
            out: card.room(4 * n)?,
        })
    }
}

impl<T: Number, C: Card> Cells<T, C> {
    /// For `n` particles, which so many cards share.
    pub fn new(card: &C, shape: &Shape, depth: u32, n: usize, cards: usize) -> Result<Cells<T, C>, CudaError> {
        let leaves = 1usize << (3 * depth);
        let blocks = leaves.min(n) + n / shape.targets() + 1;
        let counted = Status::WORDS + Rows::words(depth, cards);
        // Expansions of all levels from the second on.
        let numbers = (leaves * 8).saturating_sub(64) / 7 * shape.pitch;
        let bytes = (4 * cards + 12) * leaves + 8 * (blocks + counted) + 2 * numbers * size_of::<T>();
        card.check_room(bytes as u64, "this FMM")?;
        Ok(Cells {
            depth,
            shares: card.room(cards * leaves)?,
            counts: card.room(leaves)?,
            sums: card.room(leaves.div_ceil(1024))?,
            starts: card.room(leaves + 1)?,
            counted: card.room(counted)?,
            cursors: card.room(cards)?,
            work: card.room(blocks)?,
            m: card.room(numbers)?,
            l: card.room(numbers)?,
        })
    }

    /// The rows that a card counted.
    pub fn rows(&self, card: &C, cards: usize) -> Result<Rows, CudaError> {
        let mut words = vec![0; Rows::words(self.depth, cards)];
        card.read(&self.counted, Status::WORDS, &mut words)?;
        Ok(Rows::new(&words, self.depth, cards))
    }

    pub fn status(&self, card: &C) -> Result<Status, CudaError> {
        let mut words = [0; Status::WORDS];
        card.read(&self.counted, 0, &mut words)?;
        Ok(Status::new(&words))
    }
}
