//! The cards of a run, when some of them belong to other processes: what processes send each other, through the host's memory.

use super::card::{Card, From, Plain};
use super::{at_once, share_of};
use crate::cuda::CudaError;
use crate::cuda::staging;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::time::Instant;

/// The processes that share a run, each with as many cards as the others: the first one has the first cards, and so on. All do the
/// same in the same order, so that each exchange of one is met by those of all others.
pub trait Others {
    /// The number of this process.
    fn number(&self) -> usize;

    /// How many there are, with this one.
    fn count(&self) -> usize;

    /// Gives each process its bytes, and has what each has for this one; what is for oneself is left out. If a process has failed, all
    /// get its failure.
    fn exchange(&self, out: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CudaError>;

    /// Seconds up to now in which this process waited for slower ones.
    fn waited(&self) -> f64 {
        0.0
    }

    /// The same bytes for all.
    fn gather(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, CudaError> {
        let last = (0..self.count()).rev().find(|process| *process != self.number());
        let mut out: Vec<Vec<u8>> = (0..self.count())
            .map(|process| if Some(process) == last || process == self.number() { Vec::new() } else { own.clone() })
            .collect();
        if let Some(last) = last {
            out[last] = own;
        }
        self.exchange(out)
    }
}

/// Some numbers of each process, in the order of processes, this one among them.
pub fn numbers<N: Raw>(others: &dyn Others, own: &[N]) -> Result<Vec<Vec<N>>, CudaError> {
    let found = others.gather(bytes_of(own).to_vec())?;
    let of = |(process, bytes): (usize, Vec<u8>)| if process == others.number() { own.to_vec() } else { of(&bytes) };
    Ok(found.into_iter().enumerate().map(of).collect())
}

/// One process, with all cards.
pub struct Alone;

impl Others for Alone {
    fn number(&self) -> usize {
        0
    }

    fn count(&self) -> usize {
        1
    }

    fn exchange(&self, out: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CudaError> {
        Ok(out)
    }
}

/// Numbers that are as good as their bytes.
///
/// # Safety
/// Every byte of one means something, and any bytes are one.
pub unsafe trait Raw: Plain {}

// SAFETY: numbers of the machine.
unsafe impl Raw for f32 {}
// SAFETY: as above.
unsafe impl Raw for f64 {}
// SAFETY: as above.
unsafe impl Raw for u32 {}
// SAFETY: as above.
unsafe impl Raw for u64 {}

pub fn bytes_of<N: Raw>(numbers: &[N]) -> &[u8] {
    // SAFETY: as `Raw` says.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// Puts bytes behind others, and leaves room for one more, for what is said of a message.
pub fn push(to: &mut Vec<u8>, bytes: &[u8]) {
    to.reserve(bytes.len() + 1);
    staging::copy(as_room(bytes), &mut to.spare_capacity_mut()[..bytes.len()]);
    // SAFETY: so many have just been written.
    unsafe { to.set_len(to.len() + bytes.len()) };
}

fn as_room(bytes: &[u8]) -> &[MaybeUninit<u8>] {
    // SAFETY: the same bytes, of which each may mean nothing.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

/// Few numbers from their bytes.
fn of<N: Raw>(bytes: &[u8]) -> Vec<N> {
    let mut numbers = vec![N::default(); bytes.len() / size_of::<N>()];
    // SAFETY: as `Raw` says, and there are as many bytes.
    let room = unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast::<u8>(), size_of_val(&numbers[..])) };
    room.copy_from_slice(&bytes[..room.len()]);
    numbers
}

/// The cards of a run: those of this process, and what is known of others.
pub struct Team<'a, C> {
    pub cards: &'a [C],
    pub others: &'a dyn Others,
    /// Seconds in which this process's cards waited for exchanges with other ones.
    travelled: Cell<f64>,
}

impl<'a, C: Card> Team<'a, C> {
    pub fn alone(cards: &'a [C]) -> Team<'a, C> {
        Team::among(cards, &Alone)
    }

    pub fn among(cards: &'a [C], others: &'a dyn Others) -> Team<'a, C> {
        Team { cards, others, travelled: Cell::new(0.0) }
    }

    /// How many cards there are in all processes.
    pub fn all(&self) -> usize {
        self.cards.len() * self.others.count()
    }

    /// The numbers of a process's cards.
    pub fn numbers(&self, process: usize) -> Range<usize> {
        process * self.cards.len()..(process + 1) * self.cards.len()
    }

    /// The numbers of this process's cards.
    pub fn own(&self) -> Range<usize> {
        self.numbers(self.others.number())
    }

    pub fn is_alone(&self) -> bool {
        self.others.count() == 1
    }

    /// The processes besides this one.
    pub fn others(&self) -> impl Iterator<Item = usize> + use<'_, C> {
        (0..self.others.count()).filter(|process| *process != self.others.number())
    }

    /// The particles of the input, of so many, whose results the cards of a process have in the end.
    pub fn share(&self, n: usize, process: usize) -> Range<usize> {
        let cards = self.numbers(process);
        share_of(n, self.all(), cards.start)[0]..share_of(n, self.all(), cards.end)[0]
    }

    /// Seconds up to now in which this process's cards waited for exchanges with other ones.
    pub fn travelled(&self) -> f64 {
        self.travelled.get()
    }

    /// Does what is done with other processes, once the own cards have done what was asked for before.
    pub fn travel<R>(&self, work: impl FnOnce() -> Result<R, CudaError>) -> Result<R, CudaError> {
        self.cards.iter().try_for_each(C::finish)?;
        let start = Instant::now();
        let done = work();
        self.travelled.set(self.travelled.get() + start.elapsed().as_secs_f64());
        done
    }

    /// Gives every card of this process what each other one of it has of its part.
    pub fn exchange_own<N: Plain>(&self, all: &[&C::Memory<N>], parts: &[Range<usize>]) -> Result<(), CudaError> {
        let events = self.cards.iter().map(C::event).collect::<Result<Vec<_>, _>>()?;
        for (k, card) in self.cards.iter().enumerate() {
            for (j, part) in parts.iter().enumerate().filter(|(j, _)| *j != k) {
                let from = From { card: &self.cards[j], memory: all[j], part: part.clone(), event: &events[j] };
                card.take(all[k], part.start, from)?;
            }
        }
        Ok(())
    }

    /// Gives every card what each of the others has of its part. Of the parts of other processes' cards each process has only what lies
    /// in the stretch that it wants.
    pub fn exchange<N: Raw>(
        &self,
        all: &[&C::Memory<N>],
        parts: &[Range<usize>],
        wanted: &[Range<usize>],
    ) -> Result<(), CudaError> {
        self.exchange_own(all, &parts[self.own()])?;
        if self.is_alone() {
            return Ok(());
        }
        self.travel(|| {
            let pieces = |process: usize, by: usize| -> Vec<Range<usize>> {
                parts[self.numbers(process)].iter().map(|part| both(part, &wanted[by])).collect()
            };
            let mut out: Vec<Vec<u8>> = Vec::with_capacity(self.others.count());
            for by in 0..self.others.count() {
                let known = (0..by).find(|before| *before != self.others.number() && wanted[*before] == wanted[by]);
                let mut bytes = known.map_or(Vec::new(), |known| out[known].clone());
                if known.is_none() && by != self.others.number() {
                    let pieces = pieces(self.others.number(), by).into_iter();
                    append(&mut bytes, self.cards.iter().zip(all).zip(pieces).map(|((card, m), r)| (card, *m, r)))?;
                }
                out.push(bytes);
            }
            let found = self.others.exchange(out)?;
            let mut arrived = Vec::with_capacity(parts.len());
            for process in self.others() {
                let mut bytes = &found[process][..];
                for piece in pieces(process, self.others.number()) {
                    let (own, behind) = bytes.split_at(piece.len() * size_of::<N>());
                    arrived.push((own, piece.start));
                    bytes = behind;
                }
            }
            at_once(self.cards.iter().zip(all), |(card, memory)| {
                arrived.iter().try_for_each(|(bytes, at)| card.put::<N>(bytes, memory, *at))
            })
        })
    }
}

/// What two stretches have in common; if they have nothing, an empty stretch.
pub fn both(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

/// Puts the bytes of parts of cards' memory behind others.
pub fn append<'a, C: Card + 'a, N: Raw>(
    bytes: &mut Vec<u8>,
    parts: impl Iterator<Item = (&'a C, &'a C::Memory<N>, Range<usize>)>,
) -> Result<(), CudaError>
where
    C::Memory<N>: 'a,
{
    let parts: Vec<_> = parts.collect();
    let before = bytes.len();
    let count: usize = parts.iter().map(|(.., part)| part.len() * size_of::<N>()).sum();
    bytes.reserve(count + 1);
    let (mut rest, mut rooms) = (&mut bytes.spare_capacity_mut()[..count], Vec::with_capacity(parts.len()));
    for (.., part) in &parts {
        let (room, behind) = std::mem::take(&mut rest).split_at_mut(part.len() * size_of::<N>());
        rooms.push(room);
        rest = behind;
    }
    at_once(parts.into_iter().zip(rooms), |((card, memory, part), room)| {
        card.read_pieces(memory, part, &mut |at, piece: &[N]| {
            let (at, bytes) = (at * size_of::<N>(), bytes_of(piece));
            staging::copy(as_room(bytes), &mut room[at..at + bytes.len()]);
        })
    })?;
    // SAFETY: the parts, and so the pieces, are all of it.
    unsafe { bytes.set_len(before + count) };
    Ok(())
}
