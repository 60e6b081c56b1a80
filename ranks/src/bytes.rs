//! Messages as bytes: numbers one behind the other, low byte first.

use super::RankError;
use fmm::parallel::prelude::*;
use std::mem::MaybeUninit;

/// A number that can be sent.
pub trait Number<const N: usize>: Copy + Send + Sync {
    fn bytes(self) -> [u8; N];
    fn of(bytes: [u8; N]) -> Self;
}

macro_rules! number {
    ($t:ident, $n:literal) => {
        impl Number<$n> for $t {
            fn bytes(self) -> [u8; $n] {
                self.to_le_bytes()
            }

            fn of(bytes: [u8; $n]) -> $t {
                $t::from_le_bytes(bytes)
            }
        }
    };
}
number!(u32, 4);
number!(u64, 8);
number!(f32, 4);
number!(f64, 8);

/// Numbers of one task.
const TASK: usize = 1 << 15;

/// Puts what `of` gives for each item behind what is there, on all threads where there are many.
pub fn push_each<S: Sync, T: Send>(to: &mut Vec<T>, items: &[S], of: impl Fn(&S) -> T + Sync) {
    let start = to.len();
    to.reserve(items.len());
    let room = &mut to.spare_capacity_mut()[..items.len()];
    let fill = |(room, items): (&mut [MaybeUninit<T>], &[S])| {
        room.iter_mut().zip(items).for_each(|(to, item)| *to = MaybeUninit::new(of(item)));
    };
    match items.len() > TASK {
        true => room.par_chunks_mut(TASK).zip(items.par_chunks(TASK)).for_each(fill),
        false => fill((room, items)),
    }
    // SAFETY: there is space for as many as there are items, and every place was written.
    unsafe { to.set_len(start + items.len()) };
}

/// Writes a message.
#[derive(Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    pub fn u64(&mut self, x: u64) {
        self.0.extend(x.to_le_bytes());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.0.extend(bytes);
    }

    pub fn u64s(&mut self, numbers: &[u64]) {
        self.each(numbers, |x| *x);
    }

    pub fn u32s(&mut self, numbers: &[u32]) {
        self.each(numbers, |x| *x);
    }

    pub fn f64s(&mut self, numbers: &[f64]) {
        self.each(numbers, |x| *x);
    }

    /// A number for each of some items, into memory that is allocated once.
    pub fn each<const N: usize, S: Sync, T: Number<N>>(&mut self, items: &[S], of: impl Fn(&S) -> T + Sync) {
        self.u64(items.len() as u64);
        let start = self.0.len();
        self.0.reserve(items.len() * N);
        let room = self.0.spare_capacity_mut()[..items.len() * N].as_chunks_mut::<N>().0;
        let fill = |(room, items): (&mut [[MaybeUninit<u8>; N]], &[S])| {
            room.iter_mut().zip(items).for_each(|(to, item)| *to = of(item).bytes().map(MaybeUninit::new));
        };
        match items.len() > TASK {
            true => room.par_chunks_mut(TASK).zip(items.par_chunks(TASK)).for_each(fill),
            false => fill((room, items)),
        }
        // SAFETY: there is space for as many, and every byte was written.
        unsafe { self.0.set_len(start + items.len() * N) };
    }

    pub fn take(self) -> Vec<u8> {
        self.0
    }
}

/// Reads a message.
pub struct Reader<'a>(&'a [u8]);

pub fn cut() -> RankError {
    RankError::Lost("a message between ranks is cut".into())
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    fn some(&mut self, count: usize) -> Result<&'a [u8], RankError> {
        let (some, rest) = self.0.split_at_checked(count).ok_or_else(cut)?;
        self.0 = rest;
        Ok(some)
    }

    pub fn many<const N: usize, T: Number<N>>(&mut self) -> Result<Vec<T>, RankError> {
        let mut found = Vec::new();
        self.behind(&mut found)?;
        Ok(found)
    }

    pub fn u64(&mut self) -> Result<u64, RankError> {
        Ok(u64::from_le_bytes(self.some(8)?.try_into().expect("there are eight")))
    }

    pub fn bytes(&mut self) -> Result<Vec<u8>, RankError> {
        let count = self.u64()? as usize;
        Ok(self.some(count)?.to_vec())
    }

    pub fn u64s(&mut self) -> Result<Vec<u64>, RankError> {
        self.many()
    }

    pub fn u32s(&mut self) -> Result<Vec<u32>, RankError> {
        self.many()
    }

    /// Numbers into a column, behind those that are there.
    pub fn behind<const N: usize, T: Number<N>>(&mut self, column: &mut Vec<T>) -> Result<(), RankError> {
        let count = self.u64()? as usize;
        let bytes = self.some(count.checked_mul(N).ok_or_else(cut)?)?;
        push_each(column, bytes.as_chunks::<N>().0, |bytes| T::of(*bytes));
        Ok(())
    }

    pub fn f64s(&mut self) -> Result<Vec<f64>, RankError> {
        self.many()
    }
}
