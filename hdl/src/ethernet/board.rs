//! The board's end of the link over Ethernet as a program.
//!
//! It serves one host at a time, the one that opened the session, until that says that it has ended, or has been silent
//! for [`HOLD`] when another one asks.

use super::datagram::{Datagram, DatagramType, MOST};
use crate::serial::Identity;
use crate::serial::chunks::words;
use crate::serial::streams::{Sent, Streams};
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
    /// The peer that has the session.
    host: Option<Peer>,
    /// Tag of the session, or of the last one.
    session: u32,
    /// When a whole datagram of the session came.
    heard: Duration,
    streams: Streams<u32>,
    /// The session was not answered yet; the engine is in reset.
    fresh: bool,
    start_due: bool,
    /// The peer answered outside of the session, and the answer. There is space for one.
    aside: Option<(Peer, DatagramType, u32)>,
}

impl BoardEnd {
    /// A board after its reset: without a session.
    pub fn new(identity: Identity) -> BoardEnd {
        BoardEnd {
            host: None,
            session: 0,
            heard: Duration::ZERO,
            streams: Streams::new(identity),
            fresh: false,
            start_due: false,
            aside: None,
        }
    }

    /// Takes a datagram. `true`: a session begins, and the engine must be reset.
    pub fn receive(&mut self, now: Duration, from: Peer, bytes: &[u8]) -> bool {
        let ours = self.host == Some(from);
        let Some(datagram) = Datagram::decode(bytes) else {
            self.streams.answer_due |= ours;
            self.streams.lost_due |= ours;
            return false;
        };
        let current = ours && datagram.session == self.session;
        match datagram.kind {
            DatagramType::Who => self.aside = Some((from, DatagramType::Who, datagram.session)),
            DatagramType::Start => return self.start(now, from, datagram.session),
            _ if !current => self.aside = Some((from, DatagramType::End, datagram.session)),
            DatagramType::End => self.host = None,
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
            self.aside = Some((from, DatagramType::End, session));
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
            ..BoardEnd::new(self.streams.identity.clone())
        };
        true
    }

    fn frame(&mut self, now: Duration, datagram: &Datagram) {
        self.heard = now;
        let streams = &mut self.streams;
        // One that came late acknowledges less than is acknowledged already.
        let acked = datagram.ack.wrapping_sub(streams.acked);
        if acked <= streams.head.wrapping_sub(streams.acked) {
            let behind = streams.sent.wrapping_sub(streams.acked) < acked;
            streams.acked = datagram.ack;
            if behind {
                streams.sent = streams.acked;
            }
        }
        streams.rewind_due |= datagram.kind == DatagramType::Rewind;
        let room = (1 << streams.ring_bits()) - streams.ring_in.len();
        let in_order = datagram.seq == streams.expected && datagram.payload.len() <= room;
        if in_order {
            streams.extend(&datagram.payload);
        }
        // What came a second time is no loss.
        let gap = datagram.seq.wrapping_sub(streams.expected) as i32 > 0;
        streams.lost_due |= gap && !in_order;
        streams.answer_due |= !in_order || !datagram.payload.is_empty() || datagram.kind != DatagramType::Data;
    }

    /// The beat on the engine's input, taken; `None` if there is none, or the engine is in reset.
    pub fn take_beat(&mut self) -> Option<(Vec<u32>, bool)> {
        if self.in_reset() { None } else { self.streams.take_beat() }
    }

    /// Whether the engine is held in reset.
    pub fn in_reset(&self) -> bool {
        self.fresh || self.host.is_none()
    }

    /// Whether a beat from the engine can be taken.
    pub fn ready(&self) -> bool {
        !self.in_reset() && self.streams.has_space()
    }

    /// Takes a beat from the engine; only when [`BoardEnd::ready`].
    pub fn give_beat(&mut self, words: &[u32]) {
        self.streams.give_beat(words);
    }

    /// The next datagram and whom it is for, if there is anything to say. `quiet`: the engine offers no beat now.
    pub fn transmit(&mut self, quiet: bool) -> Option<(Peer, Vec<u8>)> {
        if let Some((to, kind, session)) = self.aside.take() {
            let payload = match kind {
                DatagramType::Who => self.identity_words(session),
                _ => vec![self.host.map_or(0, |host| host.address)],
            };
            return Some((to, Datagram { payload, ..Datagram::bare(kind, session) }.encode()));
        }
        let host = self.host?;
        if std::mem::take(&mut self.start_due) {
            self.fresh = false;
            let payload = self.identity_words(self.session);
            return Some((host, Datagram { payload, ..Datagram::bare(DatagramType::Start, self.session) }.encode()));
        }
        let Sent { lost, seq, payload } = self.streams.send(MOST, MOST, quiet)?;
        let kind = if lost { DatagramType::Notice } else { DatagramType::Data };
        let (ack, taken) = (self.streams.expected, self.streams.taken);
        Some((host, Datagram { kind, session: self.session, seq, ack, taken, payload }.encode()))
    }

    fn identity_words(&self, nonce: u32) -> Vec<u32> {
        words(&self.streams.identity.encode(nonce)).collect()
    }
}
