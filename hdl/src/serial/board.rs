//! The board's end of the link as a program: the specification of the Verilog, register for register.
//!
//! Only time is left out: a frame is taken when its closing flag comes, and made when the line is free.

use super::Identity;
use super::chunks::Beats;
use super::frame::{Decoder, Frame, Kind, MOST, Received};
use std::collections::VecDeque;

/// The board's end.
#[derive(Clone, Debug)]
pub struct BoardEnd {
    identity: Identity,
    decoder: Decoder,
    session: u8,
    nonce: u32,
    /// Offset of the next byte that belongs to the stream from the host.
    expected: u16,
    /// Offset up to which the engine took it.
    taken: u16,
    ring_in: VecDeque<u8>,
    beats: Beats,
    /// The beat that the engine is offered.
    offered: Option<(Vec<u32>, bool)>,
    /// Offset of the next byte from the engine; of the next one to send; of the first that is not acknowledged.
    head: u16,
    sent: u16,
    acked: u16,
    ring_out: Vec<u8>,
    start_due: bool,
    answer_due: bool,
    lost_due: bool,
    rewind_due: bool,
}

impl BoardEnd {
    /// A board after its reset: without a session.
    pub fn new(identity: Identity) -> BoardEnd {
        BoardEnd {
            ring_out: vec![0; 1 << identity.up_bits],
            identity,
            decoder: Decoder::default(),
            session: 0,
            nonce: 0,
            expected: 0,
            taken: 0,
            ring_in: VecDeque::new(),
            beats: Beats::default(),
            offered: None,
            head: 0,
            sent: 0,
            acked: 0,
            start_due: false,
            answer_due: false,
            lost_due: false,
            rewind_due: false,
        }
    }

    /// Takes a byte from the line. `true`: a session begins, and the engine must be reset.
    pub fn receive(&mut self, byte: u8) -> bool {
        match self.decoder.take(byte) {
            None => false,
            Some(Received::Broken) => {
                self.answer_due = true;
                self.lost_due = true;
                false
            }
            Some(Received::Whole(frame)) if frame.kind == Kind::Start => {
                self.start(&frame);
                true
            }
            Some(Received::Whole(frame)) => {
                self.frame(&frame);
                false
            }
        }
    }

    fn start(&mut self, frame: &Frame) {
        let fresh = BoardEnd::new(self.identity.clone());
        // The last four bytes stay in the register.
        let nonce = frame.payload.iter().fold(self.nonce, |n, b| n >> 8 | (*b as u32) << 24);
        let due = (self.answer_due, self.lost_due);
        *self = BoardEnd { session: frame.session, nonce, start_due: true, ..fresh };
        (self.answer_due, self.lost_due) = due;
    }

    fn frame(&mut self, frame: &Frame) {
        if frame.session != self.session {
            self.answer_due = true;
            return;
        }
        self.acked = frame.ack;
        self.rewind_due |= frame.kind == Kind::Rewind;
        let in_order = frame.seq == self.expected;
        if in_order {
            self.expected = self.expected.wrapping_add(frame.payload.len() as u16);
            self.ring_in.extend(&frame.payload);
            let room = 1 << self.identity.down_bits;
            assert!(self.ring_in.len() <= room - 256 + MOST, "the host keeps to the room that it is told");
            self.refill();
        }
        self.lost_due |= !in_order;
        self.answer_due |= !in_order || !frame.payload.is_empty() || frame.kind != Kind::Data;
    }

    /// Bytes of the ring become the beat that the engine is offered.
    fn refill(&mut self) {
        while self.offered.is_none() {
            let Some(byte) = self.ring_in.pop_front() else { break };
            let before = self.taken;
            self.taken = self.taken.wrapping_add(1);
            self.answer_due |= (before ^ self.taken) >> (self.identity.down_bits - 1) & 1 == 1;
            self.offered = self.beats.take(byte, self.identity.stream_bits / 32);
        }
    }

    /// The beat on the engine's input, taken; `None` if there is none, or the engine is in reset.
    pub fn take_beat(&mut self) -> Option<(Vec<u32>, bool)> {
        if self.in_reset() {
            return None;
        }
        let beat = self.offered.take();
        self.refill();
        beat
    }

    /// Whether the engine is held in reset.
    pub fn in_reset(&self) -> bool {
        self.start_due || self.session == 0
    }

    /// Whether a beat from the engine can be taken.
    pub fn ready(&self) -> bool {
        let stored = self.head.wrapping_sub(self.acked) as usize;
        !self.in_reset() && stored + self.identity.stream_bits as usize / 8 <= self.ring_out.len()
    }

    /// Takes a beat from the engine; only when [`BoardEnd::ready`].
    pub fn give_beat(&mut self, words: &[u32]) {
        for byte in words.iter().flat_map(|w| w.to_le_bytes()) {
            let mask = self.ring_out.len() - 1;
            self.ring_out[self.head as usize & mask] = byte;
            self.head = self.head.wrapping_add(1);
        }
    }

    /// The next frame for the line, if there is anything to say. `quiet`: the engine offers no beat now.
    pub fn transmit(&mut self, quiet: bool) -> Option<Vec<u8>> {
        if self.start_due {
            self.start_due = false;
            self.answer_due = false;
            self.lost_due = false;
            self.rewind_due = false;
            self.sent = 0;
            let payload = self.identity.encode(self.nonce);
            return Some(self.make(Kind::Start, payload));
        }
        if std::mem::take(&mut self.rewind_due) {
            self.sent = self.acked;
        }
        let stored = self.head.wrapping_sub(self.sent) as usize;
        if !(self.answer_due || stored > MOST || (stored > 0 && quiet)) {
            return None;
        }
        let kind = if std::mem::take(&mut self.lost_due) { Kind::Notice } else { Kind::Data };
        self.answer_due = false;
        let mask = self.ring_out.len() - 1;
        let at = |k: usize| self.ring_out[self.sent.wrapping_add(k as u16) as usize & mask];
        let payload: Vec<u8> = (0..stored.min(MOST)).map(at).collect();
        let length = payload.len() as u16;
        let line = self.make(kind, payload);
        self.sent = self.sent.wrapping_add(length);
        Some(line)
    }

    fn make(&self, kind: Kind, payload: Vec<u8>) -> Vec<u8> {
        let (session, seq) = (self.session, self.sent);
        Frame { kind, session, seq, ack: self.expected, taken: self.taken, payload }.encode()
    }
}
