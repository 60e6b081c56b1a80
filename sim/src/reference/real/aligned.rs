//! Numbers that begin where the widest vector is loaded and stored fastest.

use std::ops::{Deref, DerefMut};

/// Bytes of the widest vector, which is loaded and stored fastest where it crosses no line of the cache.
const VECTOR: usize = 64;

/// Numbers that begin where a vector may. Clones need not.
#[derive(Clone, Default)]
pub struct Aligned {
    room: Vec<u64>,
    first: usize,
    count: usize,
}

impl Aligned {
    pub fn new(count: usize) -> Aligned {
        let room = vec![0; count + VECTOR / size_of::<u64>()];
        let first = room.as_ptr().align_offset(VECTOR).min(VECTOR / size_of::<u64>());
        Aligned { room, first, count }
    }
}

impl Deref for Aligned {
    type Target = [u64];

    #[inline(always)]
    fn deref(&self) -> &[u64] {
        &self.room[self.first..self.first + self.count]
    }
}

impl DerefMut for Aligned {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.room[self.first..self.first + self.count]
    }
}
