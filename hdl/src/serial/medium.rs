//! The medium that joins host and board, as far as the host's end has to know: a serial line here, datagrams in [`crate::ethernet`].

use super::Identity;
use super::chunks::{self, Unit};
use super::frame::{self, Decoder, Frame, FrameType, Received};
use crate::engine::protocol::Stream;
use std::fmt::Debug;
use std::time::Duration;

/// A frame whatever carries it. Offsets count units of the medium.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Carried<U> {
    pub kind: FrameType,
    pub session: u32,
    pub seq: u32,
    pub ack: u32,
    pub taken: u32,
    pub payload: Vec<U>,
}

/// A message received from the board.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard<U> {
    Whole(Carried<U>),
    /// Anything that is no frame.
    Broken,
    /// The board has no such session; the address is that of the host that has one, or 0.
    Refused {
        session: u32,
        holder: u32,
    },
}

/// A way to carry frames.
pub trait Medium: Default + Debug + Send {
    /// The unit that offsets count.
    type Unit: Unit;
    /// Whether what was sent first arrives first, so that no frame of an earlier session can come late.
    const ORDERED: bool;
    /// Shortest time after which an unanswered host asks again.
    const SOONEST: Duration;

    /// Most units that are sent and not acknowledged after a loss, whatever the board has space for: where the operating system
    /// queues frames, all of them are sent again. It grows as long as nothing is lost.
    const IN_FLIGHT: u64;

    /// The tag that all frames of a session carry; not 0.
    fn session(nonce: u32) -> u32;

    /// The payload of the frame that opens a session.
    fn opening(nonce: u32) -> Vec<Self::Unit>;

    /// Takes bytes that arrived; gives what they complete.
    fn take(&mut self, bytes: &[u8]) -> Vec<Heard<Self::Unit>>;

    /// A frame as bytes. Its numbers are cut to the width of their fields.
    fn encode(frame: Carried<Self::Unit>) -> Vec<u8>;

    /// The message that tells the board that a session is over, if it has to know.
    fn farewell(_session: u32) -> Option<Vec<u8>> {
        None
    }

    /// Time that the sender has to leave for a frame of so many bytes.
    fn time(identity: &Identity, bytes: usize) -> Duration;

    /// The packets of a stream as units for the board.
    fn pack(stream: &Stream, beat_words: u32) -> Vec<Self::Unit> {
        let mut units = Vec::new();
        chunks::pack(stream, beat_words, &mut units);
        units
    }
}

/// Bytes over a UART.
#[derive(Debug, Default)]
pub struct SerialLine {
    decoder: Decoder,
}

impl Medium for SerialLine {
    type Unit = u8;
    const ORDERED: bool = true;
    const SOONEST: Duration = Duration::from_millis(25);
    const IN_FLIGHT: u64 = u64::MAX;

    /// 1 to 63.
    fn session(nonce: u32) -> u32 {
        nonce % 63 + 1
    }

    fn opening(nonce: u32) -> Vec<u8> {
        nonce.to_le_bytes().to_vec()
    }

    fn take(&mut self, bytes: &[u8]) -> Vec<Heard<u8>> {
        let heard = |r: Received| match r {
            Received::Broken => Heard::Broken,
            Received::Whole(frame::Frame { kind, session, seq, ack, taken, payload }) => {
                let [seq, ack, taken] = [seq, ack, taken].map(u32::from);
                Heard::Whole(Carried { kind, session: session as u32, seq, ack, taken, payload })
            }
        };
        bytes.iter().filter_map(|byte| self.decoder.take(*byte)).map(heard).collect()
    }

    fn encode(frame: Carried<u8>) -> Vec<u8> {
        let Carried { kind, session, seq, ack, taken, payload } = frame;
        let [seq, ack, taken] = [seq, ack, taken].map(|offset| offset as u16);
        Frame { kind, session: session as u8, seq, ack, taken, payload }.encode()
    }

    fn time(identity: &Identity, bytes: usize) -> Duration {
        Duration::from_secs(10) / identity.baud.max(1) * bytes as u32
    }
}
