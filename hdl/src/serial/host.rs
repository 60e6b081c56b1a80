//! The host's end of the link, without input or output: bytes and times go in, frames come out. It serves every
//! [`Medium`].
//!
//! All timers of the link are here. A silent line is asked; what is missing is sent or asked for again; and who does not
//! answer in time is given up with a reason. Offsets count all units of a session in 64 bits; in frames they have fewer.

use super::Identity;
use super::chunks::Unit;
use super::frame::{FrameType, MOST};
use super::medium::{Carried, Heard, Medium, SerialLine};
use std::collections::VecDeque;
use std::time::Duration;

/// How long the host waits before it gives up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeouts {
    /// For the answer to the first frame.
    pub open: Duration,
    /// For any whole frame of a board that was asked.
    pub silence: Duration,
    /// For words to go into the engine or out of it.
    pub stall: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        let seconds = Duration::from_secs;
        Timeouts { open: seconds(5), silence: seconds(5), stall: seconds(30) }
    }
}

/// Why the host gave up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The session was never answered; so many bytes and whole frames came.
    NoAnswer { bytes: u64, frames: u64 },
    /// The board no longer answers.
    Silent,
    /// The board answers, but nothing goes into its engine or comes out of it.
    Stalled,
    /// The board began anew in the middle of the work.
    Reset,
    /// The board speaks of itself in words that this program does not know.
    Identity(String),
    /// The board serves the host of that IPv4 address.
    Busy(u32),
}

/// The traffic over the line so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Frames sent, and whole frames received.
    pub sent: u64,
    pub received: u64,
    /// Frames that came broken.
    pub broken: u64,
    /// Times that either stream was sent again from its first missing byte.
    pub again: u64,
}

/// Longest time after which an unanswered host asks again.
const LATEST: Duration = Duration::from_secs(1);
/// That time before it was measured.
const AT_FIRST: Duration = Duration::from_millis(200);
/// Longest such time that grows only because nothing was answered.
const DEAF: Duration = Duration::from_millis(100);
/// How far ahead of the line frames are made: enough to keep it busy, and little enough that acknowledgements do not wait
/// behind data in the operating system.
const AHEAD: Duration = Duration::from_millis(3);
/// Units that arrive for each one more that may be under way.
const GROWTH: u64 = 64;
/// Room in the board's ring that stays free: a frame whose length was damaged may write this far before its check fails.
const MARGIN: u64 = 256;

/// The host's end of one session.
#[derive(Debug)]
pub struct HostEnd<M: Medium = SerialLine> {
    nonce: u32,
    timeouts: Timeouts,
    medium: M,
    /// Who answered.
    identity: Option<Identity>,
    /// Who has the board's session, where it refused us.
    holder: Option<u32>,
    traffic: Traffic,
    bytes: u64,

    /// Units to send from offset `acked` on.
    queue: VecDeque<M::Unit>,
    acked: u64,
    /// Offset of the next byte to send, and of the byte behind the last one that ever was.
    next: u64,
    most: u64,
    /// Offset up to which the engine took them.
    taken: u64,
    /// Most units under way; after a loss as few as the medium says, and one more for each [`GROWTH`] that arrive.
    in_flight: u64,

    /// Offset of the next byte from the board, and what came and was not fetched yet.
    expected: u64,
    inbox: Vec<M::Unit>,
    ack_due: bool,
    rewind_due: bool,

    /// When waiting began, when a whole frame came, when a question was sent that is not answered, when the engine
    /// took or gave something.
    begun: Option<Duration>,
    /// When all that was made has gone over the line, at its baud rate.
    clear: Duration,
    heard: Duration,
    asked: Option<Duration>,
    moved: Duration,
    /// Bytes up to this offset were sent again, and are not sent a third time before then.
    resent: Option<(u64, Duration)>,
    /// Until when nothing is asked for a second time.
    rewound: Option<Duration>,
    /// A byte on its way and when it was sent: a measurement of the round trip.
    sample: Option<(u64, Duration)>,
    round_trip: Option<(Duration, Duration)>,
    backoff: u32,
}

impl<M: Medium> HostEnd<M> {
    /// A session that is not open yet. The nonce should differ from those of earlier sessions.
    pub fn new(nonce: u32, timeouts: Timeouts) -> HostEnd<M> {
        HostEnd {
            nonce,
            timeouts,
            medium: M::default(),
            identity: None,
            holder: None,
            traffic: Traffic::default(),
            bytes: 0,
            queue: VecDeque::new(),
            acked: 0,
            next: 0,
            most: 0,
            taken: 0,
            in_flight: M::IN_FLIGHT,
            expected: 0,
            inbox: Vec::new(),
            ack_due: false,
            rewind_due: false,
            begun: None,
            clear: Duration::ZERO,
            heard: Duration::ZERO,
            asked: None,
            moved: Duration::ZERO,
            resent: None,
            rewound: None,
            sample: None,
            round_trip: None,
            backoff: 0,
        }
    }

    /// The tag that every frame of the session carries.
    fn session(&self) -> u32 {
        M::session(self.nonce)
    }

    /// Who answered; `None` while the session is not open.
    pub fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Appends units to the stream to the board.
    pub fn send(&mut self, units: &[M::Unit]) {
        self.queue.extend(units);
    }

    /// Units that the board has not acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.queue.len()
    }

    /// Takes the units received since the last call.
    pub fn fetch(&mut self) -> Vec<M::Unit> {
        std::mem::take(&mut self.inbox)
    }

    /// Waiting begins, after a time in which nobody listened.
    pub fn resume(&mut self, now: Duration) {
        self.begun = None;
        self.asked = None;
        (self.heard, self.moved) = (now, now);
        self.backoff = 0;
        self.sample = None;
    }

    /// Time after which a question or a byte without an answer is taken for lost.
    fn timeout(&self) -> Duration {
        let (mean, spread) = self.round_trip.unwrap_or((AT_FIRST, Duration::ZERO));
        let timeout = (mean + 4 * spread).clamp(M::SOONEST, LATEST);
        // Questions are cheap and the line is ours alone: a slow answer is given time, but a deaf spell is not waited out.
        (timeout * (1 << self.backoff.min(3))).min(timeout.max(DEAF))
    }

    /// Takes bytes from the line, or one datagram.
    pub fn receive(&mut self, now: Duration, bytes: &[u8]) -> Result<(), Failure> {
        self.bytes += bytes.len() as u64;
        for heard in self.medium.take(bytes) {
            match heard {
                Heard::Broken => {
                    self.traffic.broken += 1;
                    if self.identity.is_some() {
                        self.missing(now);
                    }
                }
                Heard::Refused { session, holder } => self.refused(session, holder)?,
                Heard::Whole(frame) if self.identity.is_none() => self.answered(now, &frame)?,
                Heard::Whole(frame) => self.frame(now, &frame)?,
            }
        }
        Ok(())
    }

    /// Another host has the board, or it has lost the session.
    fn refused(&mut self, session: u32, holder: u32) -> Result<(), Failure> {
        if session != self.session() {
            return Ok(());
        }
        self.holder = Some(holder);
        if self.identity.is_some() { Err(Failure::Reset) } else { Ok(()) }
    }

    /// A frame before the session is open: only the answer with our nonce counts, all else is of an earlier one.
    fn answered(&mut self, now: Duration, frame: &Carried<M::Unit>) -> Result<(), Failure> {
        self.traffic.received += 1;
        let payload = M::Unit::bytes(&frame.payload);
        let echoed = payload.starts_with(&self.nonce.to_le_bytes());
        if frame.kind == FrameType::Start && echoed && frame.session == self.session() {
            let (_, identity) = Identity::decode(&payload).map_err(Failure::Identity)?;
            if identity.is_ethernet() == M::ORDERED {
                let is = if M::ORDERED { "a link over Ethernet" } else { "a serial line" };
                let what = format!("the board's identity makes no sense: it is that of {is}, which this is not");
                return Err(Failure::Identity(what));
            }
            self.identity = Some(identity);
            self.resume(now);
        }
        Ok(())
    }

    fn frame(&mut self, now: Duration, frame: &Carried<M::Unit>) -> Result<(), Failure> {
        self.traffic.received += 1;
        if !M::ORDERED && frame.session != self.session() {
            return Ok(());
        }
        if frame.kind == FrameType::Start {
            // Our first frame was answered twice, because it was sent twice.
            let ours = M::Unit::bytes(&frame.payload).starts_with(&self.nonce.to_le_bytes());
            return if ours { Ok(()) } else { Err(Failure::Reset) };
        }
        if frame.session != self.session() {
            return Err(Failure::Reset);
        }
        self.heard = now;
        self.asked = None;
        self.backoff = 0;
        self.acknowledged(now, frame);
        self.payload(now, frame);
        Ok(())
    }

    fn acknowledged(&mut self, now: Duration, frame: &Carried<M::Unit>) {
        let ack = self.acked + Self::distance(self.acked, frame.ack);
        if ack > self.most {
            return;
        }
        if ack > self.acked {
            self.queue.drain(..(ack - self.acked) as usize);
            self.in_flight = self.in_flight.saturating_add((ack - self.acked) / GROWTH);
            self.acked = ack;
            self.next = self.next.max(ack);
            self.resent = self.resent.filter(|r| ack < r.0);
            if let Some((_, sent)) = self.sample.take_if(|s| s.0 <= ack) {
                self.measured(now.saturating_sub(sent));
            }
        }
        let taken = self.taken + Self::distance(self.taken, frame.taken);
        if taken > self.taken && taken <= self.acked {
            self.taken = taken;
            self.moved = now;
        }
        // Go back once for each loss: frames that were under way behind the lost one are reported, too.
        let waited = self.resent.is_none_or(|(_, until)| now >= until);
        if frame.kind == FrameType::Notice && self.acked < self.next && waited {
            self.next = self.acked;
            self.in_flight = M::IN_FLIGHT;
            self.sample = None;
            self.resent = Some((self.most, now + self.timeout()));
            self.traffic.again += 1;
        }
    }

    /// From an offset to the one that a frame states, modulo the width of its field.
    fn distance(from: u64, to: u32) -> u64 {
        (to as u64).wrapping_sub(from) & (u64::MAX >> (64 - M::Unit::OFFSET_BITS))
    }

    /// Mean and mean deviation of the round trip, as TCP computes them (RFC 6298).
    fn measured(&mut self, sample: Duration) {
        self.round_trip = Some(match self.round_trip {
            None => (sample, sample / 2),
            Some((mean, spread)) => ((7 * mean + sample) / 8, (3 * spread + mean.abs_diff(sample)) / 4),
        });
    }

    fn payload(&mut self, now: Duration, frame: &Carried<M::Unit>) {
        let ahead = Self::distance(self.expected, frame.seq);
        let behind = Self::distance(frame.seq as u64, self.expected as u32);
        if ahead == 0 || ahead >> (M::Unit::OFFSET_BITS - 1) == 1 {
            // What came before is skipped; the rest is new.
            if let Some(new) = frame.payload.get(behind as usize..).filter(|new| !new.is_empty()) {
                self.inbox.extend_from_slice(new);
                self.expected += new.len() as u64;
                self.moved = now;
                self.rewound = None;
            }
        } else {
            self.missing(now);
        }
        self.ack_due |= !frame.payload.is_empty();
    }

    /// Something from the board was lost: ask for it, once in a while.
    fn missing(&mut self, now: Duration) {
        if self.rewound.is_none_or(|until| now >= until) {
            self.rewound = Some(now + self.timeout());
            self.rewind_due = true;
            self.traffic.again += 1;
        }
    }

    /// The next frame for the line, or `None` if there is nothing to say before [`HostEnd::wake`].
    pub fn transmit(&mut self, now: Duration) -> Result<Option<Vec<u8>>, Failure> {
        let Some(identity) = &self.identity else { return self.open(now) };
        if self.asked.is_some() && now.saturating_sub(self.heard) >= self.timeouts.silence {
            return Err(Failure::Silent);
        }
        if now.saturating_sub(self.moved) >= self.timeouts.stall {
            return Err(Failure::Stalled);
        }
        let (from, length) = ((self.next - self.acked) as usize, self.sendable(identity));
        if length > 0 && !self.rewind_due && self.clear <= now + AHEAD {
            let payload: Vec<M::Unit> = self.queue.range(from..from + length).copied().collect();
            let line = self.make(FrameType::Data, payload);
            let time = self.identity.as_ref().map_or(Duration::ZERO, |identity| M::time(identity, line.len()));
            self.clear = self.clear.max(now) + time;
            self.next += length as u64;
            if self.next > self.most {
                self.sample.get_or_insert((self.next, now));
            }
            self.most = self.most.max(self.next);
            return Ok(Some(line));
        }
        if std::mem::take(&mut self.rewind_due) {
            self.asked.get_or_insert(now);
            return Ok(Some(self.make(FrameType::Rewind, Vec::new())));
        }
        if now >= self.question() {
            // The answer says what is missing at either end.
            self.backoff += self.asked.is_some() as u32;
            self.asked = Some(now);
            self.resent = None;
            self.rewound = None;
            return Ok(Some(self.make(FrameType::Notice, Vec::new())));
        }
        Ok(std::mem::take(&mut self.ack_due).then(|| self.make(FrameType::Data, Vec::new())))
    }

    /// Units of the next frame, as far as the board has space.
    fn sendable(&self, identity: &Identity) -> usize {
        let room = self.taken + (1 << (identity.down_bits as u32 - M::Unit::BITS)) - MARGIN;
        let limit = room.min(self.acked.saturating_add(self.in_flight));
        let there = self.queue.len() - (self.next - self.acked) as usize;
        let length = there.min(limit.saturating_sub(self.next) as usize).min(MOST);
        // A small gap in the board's ring is not worth a frame while more of it is about to become free.
        let worth = length == there || length >= MOST / 2 || self.next == self.taken;
        if worth { length } else { 0 }
    }

    /// When to ask next. While frames come there is no need: each is acknowledged by a frame that tells the board
    /// how far we have sent, and so shows it what it has missed.
    fn question(&self) -> Duration {
        match self.asked {
            None => self.heard + self.timeout(),
            // However slow answers were, a line that loses some of them is asked often before the board counts as silent.
            Some(asked) => asked + self.timeout().min(DEAF),
        }
    }

    fn make(&mut self, kind: FrameType, payload: Vec<M::Unit>) -> Vec<u8> {
        self.ack_due = false;
        self.traffic.sent += 1;
        let (ack, seq) = (self.expected as u32, self.next as u32);
        M::encode(Carried { kind, session: self.session(), seq, ack, taken: ack, payload })
    }

    fn open(&mut self, now: Duration) -> Result<Option<Vec<u8>>, Failure> {
        let begun = *self.begun.get_or_insert(now);
        if now.saturating_sub(begun) >= self.timeouts.open {
            return Err(match self.holder {
                Some(holder) => Failure::Busy(holder),
                None => Failure::NoAnswer { bytes: self.bytes, frames: self.traffic.received },
            });
        }
        if self.asked.is_some_and(|asked| now < asked + AT_FIRST) {
            return Ok(None);
        }
        self.asked = Some(now);
        Ok(Some(self.make(FrameType::Start, M::opening(self.nonce))))
    }

    /// The last frame of the session, for boards that serve one host after another.
    pub fn close(&self) -> Option<Vec<u8>> {
        self.identity.as_ref().and_then(|_| M::farewell(self.session()))
    }

    /// When [`HostEnd::transmit`] has something to say or to complain of at the latest.
    pub fn wake(&self) -> Duration {
        let Some(identity) = &self.identity else {
            return self.asked.map_or(Duration::ZERO, |asked| asked + AT_FIRST);
        };
        let line = if self.sendable(identity) > 0 { self.clear.saturating_sub(AHEAD) } else { Duration::MAX };
        self.question().min(self.moved + self.timeouts.stall).min(line)
    }
}
