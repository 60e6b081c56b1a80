//! Selection of the waiting values that go through memory.

use super::emit::Copy;
use crate::circuit::target::{DelayKind, Target};
use crate::rtl::delay::{LEAST, Read};
use std::collections::BTreeMap;

/// Bits that a memory must save at least: its address costs a few logic elements.
const WORTH: u64 = 48;

/// Where a signal goes through memory: from copy `from` to copy `to`, which is a register behind the last of `pieces`.
#[derive(Clone, Debug)]
pub(super) struct Stay {
    pub signal: usize,
    pub from: usize,
    pub to: usize,
    /// Bits that wait.
    pub width: u32,
    /// Cycles in each memory.
    pub pieces: Vec<u32>,
}

/// How a target's memories delay; `None` where flip-flops or its own shift registers do better.
pub fn read(target: &Target) -> Option<Read> {
    match target.delay.kind {
        DelayKind::Block => Some(Read::Registered),
        DelayKind::Lut => Some(Read::Direct),
        DelayKind::None | DelayKind::Shift => None,
    }
}

/// The stays of all signals, given their copies.
pub(super) fn stays(copies: &[Vec<Copy>], movable: impl Fn(usize) -> bool, target: &Target) -> Vec<Stay> {
    let mut stays = Vec::new();
    for (k, copies) in copies.iter().enumerate().filter(|(k, c)| c.len() > 1 && movable(*k)) {
        let mut from = 0;
        for (to, copy) in copies.iter().enumerate().skip(1).filter(|(_, c)| c.direct) {
            let width = copy.read.iter().filter(|r| **r).count() as u32;
            stays.push(Stay { signal: k, from, to, width, pieces: Vec::new() });
            from = to;
        }
    }
    let waits: Vec<Wait> = stays.iter().map(|s| Wait { width: s.width, cycles: (s.to - s.from) as u32 }).collect();
    stays.iter_mut().zip(in_memory(&waits, target)).for_each(|(stay, pieces)| stay.pieces = pieces);
    stays.retain(|stay| !stay.pieces.is_empty());
    stays
}

/// A value that waits until something reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Its bits.
    pub width: u32,
    pub cycles: u32,
}

/// For each wait its cycles in each memory that it goes through, none where flip-flops do better. A memory takes all but the
/// last cycle, which is a register's, so that readers find the value early in theirs. Memories of one depth are one memory; one
/// that saves little is none.
pub fn in_memory(waits: &[Wait], target: &Target) -> Vec<Vec<u32>> {
    let stored = |wait: &Wait| {
        let stored = wait.cycles.saturating_sub(1);
        let worth = read(target).is_some() && stored + 1 >= target.delay.from && stored >= LEAST;
        if worth { pieces(stored, target.delay.depth) } else { Vec::new() }
    };
    let mut all: Vec<Vec<u32>> = waits.iter().map(stored).collect();
    loop {
        let mut saved: BTreeMap<u32, u64> = BTreeMap::new();
        for (wait, cycles) in waits.iter().zip(&all).flat_map(|(w, pieces)| pieces.iter().map(move |c| (w, c))) {
            *saved.entry(*cycles).or_insert(0) += wait.width as u64 * *cycles as u64;
        }
        let mut settled = true;
        for pieces in all.iter_mut().filter(|pieces| pieces.iter().any(|c| saved[c] < WORTH)) {
            pieces.clear();
            settled = false;
        }
        if settled {
            return all;
        }
    }
}

/// Cycles in memories of at most `depth` words, none of them too short.
fn pieces(cycles: u32, depth: u32) -> Vec<u32> {
    let count = cycles.div_ceil(depth);
    (0..count).map(|k| cycles / count + (k < cycles % count) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_waits_are_shared_among_memories_of_nearly_equal_depth() {
        assert_eq!(pieces(16, 16), [16]);
        assert_eq!(pieces(17, 16), [9, 8]);
        assert_eq!(pieces(100, 32), [25, 25, 25, 25]);
    }
}
