//! The whole FMM of 1/r on one or more cards: tree, all translations and P2P, for particles that are sources and targets.
//!
//! The tree has one depth for all particles, and no list: which cells meet follows from their coordinates. So it is for
//! particles that fill their box more or less evenly. A run finds out, counts particles and pairs first, tries deeper trees, and
//! leaves other problems to the caller ([`Outcome::Unfit`]). Lengths and charges are those of a tree's [`BoxMap`] and charges.
//!
//! Every sum of floats has one order, so that a run gives the same bits each time, on any number of cards. Some of the cards may be
//! those of other processes ([`others`]).

pub mod card;
mod depth;
mod made;
mod memory;
pub mod others;
mod run;
mod split;
mod stages;
mod text;

#[cfg(test)]
pub mod on_host;

use super::CudaError;
use super::device::Device;
use super::p2p::Number;
use crate::expansion::solid::dense::Dense;
use crate::tree::boxmap::BoxMap;
use card::Card;
use memory::{Cells, Particles, Problem, Tables};
use others::{Team, both, bytes_of};
use pg2::backend::cuda::p2p::Unfit;
use pg2::graph::Graph;
use rayon::prelude::*;
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::ops::Range;
use text::Shape;

pub use depth::{DEEPEST, best_leaf, depth_for};
pub use memory::{MOST_CARDS, Status};
pub use text::{Shape as WholeShape, text as text_of};

/// Two cells of one level at integer offset d are near if d.d is below this.
pub const NEAR2: u64 = 4;

/// The highest order.
pub const MOST_ORDER: usize = 10;

/// What P2P gives for 1/r: of the potential and of the gradient, with lengths in boxes, and the coordinates of a box.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    pub potential: f64,
    pub gradient: f64,
    pub length: f64,
}

/// The stages in the order in which they run. With several cards, P2M has the exchange of expansions too, and L2P that of results.
pub const STAGES: [&str; 8] = ["box", "sort", "P2M", "M2M", "M2L", "L2L", "P2P", "L2P"];

/// What one run did. Results stay on the cards.
#[derive(Clone, Debug)]
pub struct Run {
    pub map: BoxMap,
    /// The power of two that charges were scaled by.
    pub exponent: i32,
    pub depth: u32,
    /// Pairs of P2P, each target's own place included.
    pub pairs: u64,
    pub status: Status,
    /// Seconds of each of [`STAGES`] on the card of this process that took longest, of all from the first kernel to the last, and of
    /// exchanges with other processes, which are in no stage.
    pub seconds: [f64; STAGES.len()],
    pub total: f64,
    pub travelled: f64,
    /// What the leaves of this process's cards cost by the model, in seconds, and how many targets they have.
    pub work: f64,
    pub targets: u64,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    Done(Box<Run>),
    /// Why this problem is not one for a tree of one depth, or not for this arithmetic.
    Unfit(String),
}

/// All kernels.
const KERNELS: [&str; 19] = [
    "bounds",
    "all_bounds",
    "count",
    "scan_cells",
    "scan_sums",
    "scan_add",
    "scatter",
    "settle",
    "p2m",
    "m2m",
    "m2l",
    "l2l",
    "p2p",
    "again",
    "l2p",
    "collect",
    "spread",
    "make",
    "direct",
];

/// Kernels, tables and particles on cards, which every method is given in the same order.
pub struct Whole<T: Number, C: Card = Device> {
    shape: Shape,
    order: usize,
    units: Units,
    loaded: Vec<Loaded<T, C>>,
}

/// What there is on a card.
struct Loaded<T: Number, C: Card> {
    kernels: HashMap<&'static str, C::Kernel>,
    tables: Tables<T, C>,
    particles: Particles<T, C>,
    cells: Option<Cells<T, C>>,
    /// Where all of this is.
    places: Problem,
}

impl<T: Number, C: Card> Loaded<T, C> {
    fn new(card: &mut C, text: &str, dense: &Dense, shape: &Shape) -> Result<Loaded<T, C>, CudaError> {
        let kernels = KERNELS.into_iter().map(|name| Ok((name, card.kernel(text, name, T::ARITHMETIC)?)));
        Ok(Loaded {
            kernels: kernels.collect::<Result<_, CudaError>>()?,
            tables: Tables::new(card, dense, shape)?,
            particles: Particles::new(card, 0)?,
            cells: None,
            places: Problem::default(),
        })
    }
}

impl<T: Number, C: Card> Whole<T, C> {
    /// Compiles the kernels for a P2P kernel that is 1/r, and sends the tables of an order.
    pub fn new(cards: &mut [C], graph: &Graph, order: usize, units: Units) -> Result<Whole<T, C>, CudaError> {
        let (dense, shape) = (Dense::new(order, NEAR2), Shape::new(order, T::REAL));
        let text = text_of::<T>(graph, &dense, &shape).map_err(|Unfit(why)| CudaError::Failed(why))?;
        let loaded = cards.iter_mut().map(|card| Loaded::new(card, &text, &dense, &shape)).collect::<Result<_, _>>()?;
        Ok(Whole { shape, order, units, loaded })
    }

    fn n(&self) -> usize {
        self.loaded[0].particles.n
    }

    /// The particles of the input whose results each card of this process has in the end.
    fn shares(&self, team: &Team<C>) -> Vec<Range<usize>> {
        team.own().map(|number| share_of(self.n(), team.all(), number)).map(|[first, end]| first..end).collect()
    }

    /// Room for `n` particles: `sources` of them and targets behind them, or none behind them if the sources are the targets. As many
    /// as before keep what they have.
    pub fn make_room(&mut self, team: &Team<C>, n: usize, sources: usize) -> Result<(), CudaError> {
        for ((card, loaded), number) in team.cards.iter().zip(&mut self.loaded).zip(team.own()) {
            if n != loaded.particles.n {
                // The old ones go first.
                loaded.cells = None;
                loaded.particles = Particles::new(card, 0)?;
                card.check_room(n as u64 * Particles::<T, C>::BYTES, "this FMM")?;
                loaded.particles = Particles::new(card, n)?;
                loaded.places = loaded.problem(card);
            }
            loaded.places.sources = sources as u64;
            loaded.places.card = number as u64;
            loaded.places.cards = team.all() as u64;
            loaded.places.share = share_of(n, team.all(), number).map(|place| place as u64);
            loaded.places.first_target = if sources < n { sources as u64 } else { 0 };
        }
        Ok(())
    }

    /// Sends a column as the user gives it: x, y, z, and charges, which are 0 for targets alone. The host sends each card of the process
    /// a part, and the card has the rest from the others.
    pub fn send(&mut self, team: &Team<C>, column: usize, stretches: &[Stretch]) -> Result<(), CudaError> {
        let (n, own) = (self.n(), team.cards.len());
        let parts: Vec<Range<usize>> = (0..own).map(|k| share_of(n, own, k)).map(|[first, end]| first..end).collect();
        at_once(team.cards.iter().zip(&self.loaded).zip(&parts), |((card, loaded), part)| {
            stretches.iter().try_for_each(|Stretch { at, bytes }| {
                let here = both(part, &(*at..at + bytes.len() / STEP));
                if here.is_empty() {
                    return Ok(());
                }
                let bytes = &bytes[(here.start - at) * STEP..][..here.len() * STEP];
                card.put(bytes, &loaded.particles.input[column], here.start)
            })
        })?;
        let all: Vec<_> = self.loaded.iter().map(|l| &l.particles.input[column]).collect();
        team.exchange_own(&all, &parts)
    }

    /// Columns of potential and gradient of the particles of this process's share but the first so many of the input, each times its
    /// factor.
    pub fn fetch(&self, team: &Team<C>, without: usize, factors: [f64; 4]) -> Result<[Vec<f64>; 4], CudaError> {
        let without = |share: Range<usize>| share.start.max(without)..share.end.max(without);
        let n = without(team.share(self.n(), team.others.number())).len();
        // Filling them with zeros first, by one thread, would take as long as all the rest.
        let mut columns = [0; 4].map(|_| Vec::with_capacity(n));
        let (mut rest, mut parts) = (columns.each_mut().map(|c| &mut c.spare_capacity_mut()[..n]), Vec::new());
        for share in self.shares(team).into_iter().map(without) {
            let (own, behind) = split_at(rest, share.len());
            parts.push((share, own));
            rest = behind;
        }
        at_once(team.cards.iter().zip(&self.loaded).zip(parts), |((card, loaded), (share, mut columns))| {
            let values = 4 * share.start..4 * share.end;
            card.read_pieces(&loaded.particles.out, values, &mut |at, piece| {
                spread(piece, &factors, columns.each_mut().map(|column| &mut column[at / 4..][..piece.len() / 4]));
            })
        })?;
        // SAFETY: the shares of all cards, and so the pieces, are all n places.
        columns.iter_mut().for_each(|column| unsafe { column.set_len(n) });
        Ok(columns)
    }
}

/// Bytes of a number of the input.
const STEP: usize = size_of::<f64>();

/// Numbers of a column of the input that follow each other from one of its places on.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<'a> {
    pub at: usize,
    pub bytes: &'a [u8],
}

impl<'a> Stretch<'a> {
    pub fn new(at: usize, numbers: &'a [f64]) -> Stretch<'a> {
        Stretch { at, bytes: bytes_of(numbers) }
    }
}

/// The first particle of a card's share of the input, and the first of the next one's: the rule of the kernels.
fn share_of(n: usize, cards: usize, card: usize) -> [usize; 2] {
    [n * card / cards, n * (card + 1) / cards]
}

/// Particles whose results a thread brings to columns at a time.
const SPREAD: usize = 8192;

/// Columns of potential and gradient that are to be written.
type Unwritten<'a> = [&'a mut [MaybeUninit<f64>]; 4];

fn split_at(columns: Unwritten, at: usize) -> (Unwritten, Unwritten) {
    let [a, b, c, d] = columns.map(|column| column.split_at_mut(at));
    ([a.0, b.0, c.0, d.0], [a.1, b.1, c.1, d.1])
}

/// Four values a particle to four columns.
fn spread<T: Number>(values: &[T], factors: &[f64; 4], columns: Unwritten) {
    let [a, b, c, d] = columns.map(|column| column.par_chunks_mut(SPREAD));
    values.par_chunks(4 * SPREAD).zip(a).zip(b).zip(c).zip(d).for_each(|((((values, a), b), c), d)| {
        let rows = values.chunks_exact(4).zip(a).zip(b).zip(c).zip(d);
        rows.for_each(|((((v, a), b), c), d)| {
            for (k, to) in [a, b, c, d].into_iter().enumerate() {
                to.write(v[k].f64() * factors[k]);
            }
        });
    });
}

/// Does something for every card, each on a thread.
fn at_once<I: Send>(
    mut all: impl ExactSizeIterator<Item = I>,
    work: impl Fn(I) -> Result<(), CudaError> + Sync,
) -> Result<(), CudaError> {
    if all.len() == 1 {
        return all.try_for_each(work);
    }
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = all.map(|item| scope.spawn(move || work(item))).collect();
        let ended = threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}
