//! The board's end of the link as a program: the specification of the Verilog, register for register.
//!
//! Only time is left out: a frame is taken when its closing flag comes, and made when the line is free.

use super::Identity;
use super::frame::{Decoder, Frame, FrameType, MOST, Received};
use super::streams::{Sent, Streams};

/// The board's end.
#[derive(Clone, Debug)]
pub struct BoardEnd {
    decoder: Decoder,
    session: u8,
    nonce: u32,
    streams: Streams<u8>,
    start_due: bool,
}

impl BoardEnd {
    /// A board after its reset: without a session.
    pub fn new(identity: Identity) -> BoardEnd {
        let (decoder, streams) = (Decoder::default(), Streams::new(identity));
        BoardEnd { decoder, session: 0, nonce: 0, streams, start_due: false }
    }

    /// Takes a byte from the line. `true`: a session begins, and the engine must be reset.
    pub fn receive(&mut self, byte: u8) -> bool {
        match self.decoder.take(byte) {
            None => false,
            Some(Received::Broken) => {
                self.streams.answer_due = true;
                self.streams.lost_due = true;
                false
            }
            Some(Received::Whole(frame)) if frame.kind == FrameType::Start => {
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
        let fresh = BoardEnd::new(self.streams.identity.clone());
        // The last four bytes stay in the register.
        let nonce = frame.payload.iter().fold(self.nonce, |n, b| n >> 8 | (*b as u32) << 24);
        let due = (self.streams.answer_due, self.streams.lost_due);
        *self = BoardEnd { session: frame.session, nonce, start_due: true, ..fresh };
        (self.streams.answer_due, self.streams.lost_due) = due;
    }

    fn frame(&mut self, frame: &Frame) {
        let streams = &mut self.streams;
        if frame.session != self.session {
            streams.answer_due = true;
            return;
        }
        streams.acked = frame.ack.into();
        streams.rewind_due |= frame.kind == FrameType::Rewind;
        let in_order = u32::from(frame.seq) == streams.expected;
        if in_order {
            let room = 1 << streams.ring_bits();
            let waiting = streams.ring_in.len() + frame.payload.len();
            assert!(waiting <= room - 256 + MOST, "the host keeps to the room that it is told");
            streams.extend(&frame.payload);
        }
        streams.lost_due |= !in_order;
        streams.answer_due |= !in_order || !frame.payload.is_empty() || frame.kind != FrameType::Data;
    }

    /// The beat on the engine's input, taken; `None` if there is none, or the engine is in reset.
    pub fn take_beat(&mut self) -> Option<(Vec<u32>, bool)> {
        if self.in_reset() { None } else { self.streams.take_beat() }
    }

    /// Whether the engine is held in reset.
    pub fn in_reset(&self) -> bool {
        self.start_due || self.session == 0
    }

    /// Whether a beat from the engine can be taken.
    pub fn ready(&self) -> bool {
        !self.in_reset() && self.streams.has_space()
    }

    /// Takes a beat from the engine; only when [`BoardEnd::ready`].
    pub fn give_beat(&mut self, words: &[u32]) {
        self.streams.give_beat(words);
    }

    /// The next frame for the line, if there is anything to say. `quiet`: the engine offers no beat now.
    pub fn transmit(&mut self, quiet: bool) -> Option<Vec<u8>> {
        let streams = &mut self.streams;
        if self.start_due {
            self.start_due = false;
            streams.answer_due = false;
            streams.lost_due = false;
            streams.rewind_due = false;
            streams.sent = 0;
            let payload = streams.identity.encode(self.nonce);
            return Some(self.make(FrameType::Start, 0, payload));
        }
        let Sent { lost, seq, payload } = streams.send(MOST, MOST + 1, quiet)?;
        Some(self.make(if lost { FrameType::Notice } else { FrameType::Data }, seq, payload))
    }

    fn make(&self, kind: FrameType, seq: u32, payload: Vec<u8>) -> Vec<u8> {
        let [seq, ack, taken] = [seq, self.streams.expected, self.streams.taken].map(|offset| offset as u16);
        Frame { kind, session: self.session, seq, ack, taken, payload }.encode()
    }
}
