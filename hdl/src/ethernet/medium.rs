//! Datagrams as the medium of the host's end.

use super::datagram::{self, Datagram};
use crate::serial::Identity;
use crate::serial::frame::FrameType;
use crate::serial::medium::{Carried, Heard, Medium};
use std::time::Duration;

/// Frames in UDP datagrams, one each.
#[derive(Debug, Default)]
pub struct Datagrams;

impl Medium for Datagrams {
    type Unit = u32;
    const ORDERED: bool = false;
    const SOONEST: Duration = Duration::from_micros(250);
    /// Six whole datagrams: 53 us on the wire, about the round trip of a local network.
    const IN_FLIGHT: u64 = 6 * datagram::MOST as u64;

    fn session(nonce: u32) -> u32 {
        nonce
    }

    fn opening(_: u32) -> Vec<u32> {
        Vec::new()
    }

    fn take(&mut self, bytes: &[u8]) -> Vec<Heard<u32>> {
        if bytes.is_empty() {
            return Vec::new();
        }
        let Some(Datagram { kind, session, seq, ack, taken, payload }) = Datagram::decode(bytes) else {
            return vec![Heard::Broken];
        };
        let kind = match kind {
            datagram::DatagramType::Data => FrameType::Data,
            datagram::DatagramType::Notice => FrameType::Notice,
            datagram::DatagramType::Rewind => FrameType::Rewind,
            datagram::DatagramType::Start => FrameType::Start,
            datagram::DatagramType::End => {
                return vec![Heard::Refused { session, holder: payload.first().copied().unwrap_or(0) }];
            }
            datagram::DatagramType::Who => return Vec::new(),
        };
        vec![Heard::Whole(Carried { kind, session, seq, ack, taken, payload })]
    }

    fn encode(frame: Carried<u32>) -> Vec<u8> {
        let Carried { kind, session, seq, ack, taken, payload } = frame;
        let kind = match kind {
            FrameType::Data => datagram::DatagramType::Data,
            FrameType::Notice => datagram::DatagramType::Notice,
            FrameType::Rewind => datagram::DatagramType::Rewind,
            FrameType::Start => datagram::DatagramType::Start,
        };
        Datagram { kind, session, seq, ack, taken, payload }.encode()
    }

    fn farewell(session: u32) -> Option<Vec<u8>> {
        Some(Datagram::bare(datagram::DatagramType::End, session).encode())
    }

    /// The operating system queues what the network does not carry at once, and a window is small.
    fn time(_: &Identity, _: usize) -> Duration {
        Duration::ZERO
    }
}
