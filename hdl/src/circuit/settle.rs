//! What a placing costs in registers, and how late a signal may go.

use super::place::{Placed, Read};
use super::{Circuit, Kind};

/// The stage in which a reader reads.
fn stage(placed: &Placed, reader: Option<usize>) -> u32 {
    reader.map_or(placed.latency, |r| placed.ready[r].reads)
}

/// The last stage in which signal `k` could read its arguments without moving its readers.
pub(super) fn latest(placed: &Placed, reads: &[Read], k: usize) -> u32 {
    let ready = placed.ready[k];
    let first = reads.iter().filter(|r| r.0.index() == k).map(|r| stage(placed, r.1)).min();
    // What sits between reading and being ready, such as a multiplier's register, moves along.
    first.unwrap_or(0).saturating_sub(ready.stage - ready.reads)
}

/// Flip-flop bits of a placing: for each signal and each later stage the span of bits that is still to be read.
pub(super) fn register_bits(circuit: &Circuit, placed: &Placed, reads: &[Read]) -> u64 {
    let stages = placed.latency as usize + 1;
    // (low, high + 1) of what is read in each stage; empty as (MAX, 0).
    let mut spans = vec![(u32::MAX, 0u32); circuit.signals.len() * stages];
    for (s, reader, high, low) in reads {
        let ready = placed.ready[s.index()];
        if !ready.fixed {
            let n = (stage(placed, *reader) - ready.stage) as usize;
            let span = &mut spans[s.index() * stages + n];
            *span = (span.0.min(*low), span.1.max(high + 1));
        }
    }
    let mut bits = 0;
    for (k, signal) in circuit.signals.iter().enumerate().filter(|(k, _)| placed.live[*k]) {
        let own = match &signal.kind {
            Kind::Mul { .. } => true,
            Kind::Rom { .. } => {
                bits += signal.width as u64;
                false
            }
            _ => false,
        };
        let mut later = (u32::MAX, 0u32);
        for n in (0..stages).rev() {
            let span = spans[k * stages + n];
            later = (later.0.min(span.0), later.1.max(span.1));
            if n > 0 || own {
                bits += later.1.saturating_sub(later.0) as u64;
            }
        }
    }
    bits
}
