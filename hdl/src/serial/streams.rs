//! The two streams at the board's end of a link, whatever carries them: what came for the engine, and what it gave, kept until the host
//! has acknowledged it.

use super::Identity;
use super::chunks::{Beats, Unit};
use std::collections::VecDeque;

/// Both streams. Offsets are as long as frames have them.
#[derive(Clone, Debug)]
pub(crate) struct Streams<U> {
    pub identity: Identity,
    /// Offset of the next unit that belongs to the stream from the host, and of the one up to which the engine took it.
    pub expected: u32,
    pub taken: u32,
    pub ring_in: VecDeque<U>,
    beats: Beats<U>,
    /// The beat that the engine is offered.
    offered: Option<(Vec<u32>, bool)>,
    /// Offset of the next unit from the engine; of the next one to send; of the first that is not acknowledged.
    pub head: u32,
    pub sent: u32,
    pub acked: u32,
    ring_out: Vec<U>,
    pub answer_due: bool,
    pub lost_due: bool,
    pub rewind_due: bool,
}

/// The content of a frame to the host.
pub(crate) struct Sent<U> {
    /// Whether something that the host sent was lost.
    pub lost: bool,
    pub seq: u32,
    pub payload: Vec<U>,
}

impl<U: Unit> Streams<U> {
    /// Nothing is under way.
    pub fn new(identity: Identity) -> Streams<U> {
        Streams {
            ring_out: vec![U::default(); 1 << (identity.up_bits as u32 - U::BITS)],
            identity,
            expected: 0,
            taken: 0,
            ring_in: VecDeque::new(),
            beats: Beats::default(),
            offered: None,
            head: 0,
            sent: 0,
            acked: 0,
            answer_due: false,
            lost_due: false,
            rewind_due: false,
        }
    }

    /// Units from one offset to another.
    pub fn between(from: u32, to: u32) -> u32 {
        to.wrapping_sub(from) & (u32::MAX >> (u32::BITS - U::OFFSET_BITS))
    }

    /// The offset so many units behind another.
    fn behind(offset: u32, units: usize) -> u32 {
        Self::between(0, offset.wrapping_add(units as u32))
    }

    /// log2 of the units that the ring for the engine holds.
    pub fn ring_bits(&self) -> u32 {
        self.identity.down_bits as u32 - U::BITS
    }

    /// Takes the next units from the host.
    pub fn extend(&mut self, payload: &[U]) {
        self.expected = Self::behind(self.expected, payload.len());
        self.ring_in.extend(payload);
        self.refill();
    }

    /// Units of the ring become the beat that the engine is offered.
    fn refill(&mut self) {
        while self.offered.is_none() {
            let Some(unit) = self.ring_in.pop_front() else { break };
            let before = self.taken;
            self.taken = Self::behind(self.taken, 1);
            self.answer_due |= (before ^ self.taken) >> (self.ring_bits() - 1) & 1 == 1;
            self.offered = self.beats.take(unit, self.identity.stream_bits / 32);
        }
    }

    /// The beat on the engine's input, taken.
    pub fn take_beat(&mut self) -> Option<(Vec<u32>, bool)> {
        let beat = self.offered.take();
        self.refill();
        beat
    }

    /// Whether there is space for a beat from the engine.
    pub fn has_space(&self) -> bool {
        let stored = Self::between(self.acked, self.head) as usize;
        stored + self.identity.stream_bits as usize / (8 << U::BITS) <= self.ring_out.len()
    }

    /// Takes a beat from the engine.
    pub fn give_beat(&mut self, words: &[u32]) {
        let mask = self.ring_out.len() - 1;
        for unit in U::of(words) {
            self.ring_out[self.head as usize & mask] = unit;
            self.head = Self::behind(self.head, 1);
        }
    }

    /// The next units to send, at most `most` units: if the host is due an answer, `enough` units wait, or any wait and no more come now.
    pub fn send(&mut self, most: usize, enough: usize, quiet: bool) -> Option<Sent<U>> {
        if std::mem::take(&mut self.rewind_due) {
            self.sent = self.acked;
        }
        let stored = Self::between(self.sent, self.head) as usize;
        if !(self.answer_due || stored >= enough || (stored > 0 && quiet)) {
            return None;
        }
        self.answer_due = false;
        let mask = self.ring_out.len() - 1;
        let at = |k: usize| self.ring_out[Self::behind(self.sent, k) as usize & mask];
        let payload: Vec<U> = (0..stored.min(most)).map(at).collect();
        let sent = Sent { lost: std::mem::take(&mut self.lost_due), seq: self.sent, payload };
        self.sent = Self::behind(self.sent, sent.payload.len());
        Some(sent)
    }
}
