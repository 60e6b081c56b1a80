//! The board's end of the link over Ethernet as a program.
//!
//! It serves one host at a time, the one that opened the session, until that says that it has ended, or has been silent
//! for [`HOLD`] when another one asks.

use super::datagram::{Datagram, Kind, MOST};
use super::words::Beats;
use crate::serial::Identity;
use std::collections::VecDeque;
use std::time::Duration;

/// So long after the last datagram of its host, a board can be taken over by another one.
pub const HOLD: Duration = Duration::from_millis(2500);

/// Address and port of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// IPv4, the first byte the highest one.
    pub address: u32,
    pub port: u16,
}

/// The board's end.
#[derive(Clone, Debug)]
pub struct BoardEnd {
    identity: Identity,
    /// The peer that has the session.
    host: Option<Peer>,
    /// Tag of the session, or of the last one.
    session: u32,
    /// When a whole datagram of the session came.
    heard: Duration,
    /// Offset of the next word that belongs to the stream from the host, and of the one up to which the engine took it.
    expected: u32,
    taken: u32,
    ring_in: VecDeque<u32>,
    beats: Beats,
    /// The beat that the engine is offered.
    offered: Option<(Vec<u32>, bool)>,
    /// Offset of the next word from the engine; of the next one to send; of the first that is not acknowledged.
    head: u32,
    sent: u32,
    acked: u32,
    ring_out: Vec<u32>,
    /// The session was not answered yet; the engine is in reset.
    fresh: bool,
    start_due: bool,
    answer_due: bool,
    lost_due: bool,
    rewind_due: bool,
    /// The peer answered outside of the session, and the answer. There is space for one.
    aside: Option<(Peer, Kind, u32)>,
}

impl BoardEnd {
    /// A board after its reset: without a session.
    pub fn new(identity: Identity) -> BoardEnd {
        BoardEnd {
            ring_out: vec![0; 1 << (identity.up_bits - 2)],
            identity,
            host: None,
            session: 0,
            heard: Duration::ZERO,
            expected: 0,
            taken: 0,
            ring_in: VecDeque::new(),
            beats: Beats::default(),
            offered: None,
            head: 0,
            sent: 0,
            acked: 0,
            fresh: false,
            start_due: false,
            answer_due: false,
            lost_due: false,
            rewind_due: false,
            aside: None,
        }
    }

    /// Takes a datagram. `true`: a session begins, and the engine must be reset.
    pub fn receive(&mut self, now: Duration, from: Peer, bytes: &[u8]) -> bool {
        let ours = self.host == Some(from);
        let Some(datagram) = Datagram::decode(bytes) else {
            self.answer_due |= ours;
            self.lost_due |= ours;
            return false;
        };
        let current = ours && datagram.session == self.session;
        match datagram.kind {
            Kind::Who => self.aside = Some((from, Kind::Who, datagram.session)),
            Kind::Start => return self.start(now, from, datagram.session),
            _ if !current => self.aside = Some((from, Kind::End, datagram.session)),
            Kind::End => self.host = None,
            _ => self.frame(now, &datagram),
        }
        false
    }

    /// A host asks for a session.
    fn start(&mut self, now: Duration, from: Peer, session: u32) -> bool {
        if session == 0 || (session == self.session && self.host.is_none()) {
            // The second one came late: this session is over.
            return false;
        }
        if session == self.session && self.host == Some(from) {
            self.start_due = true;
            return false;
        }
        let held = self.host.is_some_and(|host| host != from) && now.saturating_sub(self.heard) < HOLD;
        if held {
            self.aside = Some((from, Kind::End, session));
            return false;
        }
        let aside = self.aside.take();
        *self = BoardEnd {
            host: Some(from),
            session,
            heard: now,
            fresh: true,
            start_due: true,
            aside,
            ..BoardEnd::new(self.identity.clone())
        };
        true
    }

    fn frame(&mut self, now: Duration, datagram: &Datagram) {
        self.heard = now;
        // One that came late acknowledges less than is acknowledged already.
        let acked = datagram.ack.wrapping_sub(self.acked);
        if acked <= self.head.wrapping_sub(self.acked) {
            let behind = self.sent.wrapping_sub(self.acked) < acked;
            self.acked = datagram.ack;
            if behind {
                self.sent = self.acked;
            }
        }
        self.rewind_due |= datagram.kind == Kind::Rewind;
        let room = (1 << (self.identity.down_bits - 2)) - self.ring_in.len();
        let in_order = datagram.seq == self.expected && datagram.payload.len() <= room;
        if in_order {
            self.expected = self.expected.wrapping_add(datagram.payload.len() as u32);
            self.ring_in.extend(&datagram.payload);
            self.refill();
        }
        // What came a second time is no loss.
        let gap = datagram.seq.wrapping_sub(self.expected) as i32 > 0;
        self.lost_due |= gap && !in_order;
        self.answer_due |= !in_order || !datagram.payload.is_empty() || datagram.kind != Kind::Data;
    }

    /// Words of the ring become the beat that the engine is offered.
    fn refill(&mut self) {
        while self.offered.is_none() {
            let Some(word) = self.ring_in.pop_front() else { break };
            let before = self.taken;
            self.taken = self.taken.wrapping_add(1);
            self.answer_due |= (before ^ self.taken) >> (self.identity.down_bits - 3) & 1 == 1;
            self.offered = self.beats.take(word, self.identity.stream_bits / 32);
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
        self.fresh || self.host.is_none()
    }

    /// Whether a beat from the engine can be taken.
    pub fn ready(&self) -> bool {
        let stored = self.head.wrapping_sub(self.acked) as usize;
        !self.in_reset() && stored + self.identity.stream_bits as usize / 32 <= self.ring_out.len()
    }

    /// Takes a beat from the engine; only when [`BoardEnd::ready`].
    pub fn give_beat(&mut self, words: &[u32]) {
        let mask = self.ring_out.len() - 1;
        for word in words {
            self.ring_out[self.head as usize & mask] = *word;
            self.head = self.head.wrapping_add(1);
        }
    }

    /// The next datagram and whom it is for, if there is anything to say. `quiet`: the engine offers no beat now.
    pub fn transmit(&mut self, quiet: bool) -> Option<(Peer, Vec<u8>)> {
        if let Some((to, kind, session)) = self.aside.take() {
            let payload = match kind {
                Kind::Who => self.identity_words(session),
                _ => vec![self.host.map_or(0, |host| host.address)],
            };
            return Some((to, Datagram { payload, ..Datagram::bare(kind, session) }.encode()));
        }
        let host = self.host?;
        if std::mem::take(&mut self.start_due) {
            self.fresh = false;
            let payload = self.identity_words(self.session);
            return Some((host, Datagram { payload, ..Datagram::bare(Kind::Start, self.session) }.encode()));
        }
        if std::mem::take(&mut self.rewind_due) {
            self.sent = self.acked;
        }
        let stored = self.head.wrapping_sub(self.sent) as usize;
        if !(self.answer_due || stored >= MOST || (stored > 0 && quiet)) {
            return None;
        }
        let kind = if std::mem::take(&mut self.lost_due) { Kind::Notice } else { Kind::Data };
        self.answer_due = false;
        let mask = self.ring_out.len() - 1;
        let at = |k: usize| self.ring_out[self.sent.wrapping_add(k as u32) as usize & mask];
        let payload: Vec<u32> = (0..stored.min(MOST)).map(at).collect();
        let (session, seq, length) = (self.session, self.sent, payload.len() as u32);
        let datagram = Datagram { kind, session, seq, ack: self.expected, taken: self.taken, payload };
        self.sent = self.sent.wrapping_add(length);
        Some((host, datagram.encode()))
    }

    fn identity_words(&self, nonce: u32) -> Vec<u32> {
        let bytes = self.identity.encode(nonce);
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }
}
