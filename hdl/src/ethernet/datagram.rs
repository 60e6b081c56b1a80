//! Datagrams: a frame each.
//!
//! | word | field | meaning |
//! |---|---|---|
//! | 0 | kind, length, mark | bits 7..0 the [`DatagramType`], bits 15..8 the words of payload (0 to 255), bits 31..16 [`MARK`] |
//! | 1 | session | the session's nonce |
//! | 2 | seq | offset in the sender's stream of the first word of payload, or of the next one to come |
//! | 3 | ack | offset of the word that the sender of this datagram expects next |
//! | 4 | taken | offset up to which it has passed on what it received |
//! | length | payload | |
//! | 1 | check | CRC-32 (that of Ethernet) over all of the above |
//!
//! Words have their low byte first; offsets count words modulo 2^32. A datagram has 24 to 1044 bytes.

use crate::serial::frame::{RESIDUE, crc_of};

pub use crate::serial::frame::MOST;

/// Words of a datagram before its payload.
pub const HEADER: usize = 5;
/// Most bytes of a datagram.
pub const MOST_BYTES: usize = 4 * (HEADER + MOST + 1);
/// In every datagram of the link.
pub const MARK: u16 = u16::from_le_bytes(*b"PF");

/// The type of a datagram. The first four are those of the serial link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DatagramType {
    /// Payload, or an acknowledgement alone.
    Data,
    /// To the board: please answer. From the board: something before this datagram was lost.
    Notice,
    /// To the board: answer, and send again what is not acknowledged.
    Rewind,
    /// To the board: a new session. From the board: the answer, with its identity.
    Start,
    /// To the board: the session is over. From the board: there is no such session; the payload is the address of the
    /// host that has another one, or 0.
    End,
    /// To the board, from anyone: who is there. From the board: its identity.
    Who,
}

impl DatagramType {
    fn from_bits(bits: u8) -> Option<DatagramType> {
        [
            DatagramType::Data,
            DatagramType::Notice,
            DatagramType::Rewind,
            DatagramType::Start,
            DatagramType::End,
            DatagramType::Who,
        ]
        .get(bits as usize)
        .copied()
    }
}

/// A datagram without its check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    pub kind: DatagramType,
    /// Not 0.
    pub session: u32,
    pub seq: u32,
    pub ack: u32,
    pub taken: u32,
    pub payload: Vec<u32>,
}

impl Datagram {
    /// One without payload or place in a stream.
    pub fn bare(kind: DatagramType, session: u32) -> Datagram {
        Datagram { kind, session, seq: 0, ack: 0, taken: 0, payload: Vec::new() }
    }

    /// The bytes of the datagram. The payload has at most [`MOST`] words.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(MOST_BYTES);
        let length = u8::try_from(self.payload.len()).expect("a datagram has at most 255 words of payload");
        bytes.extend([self.kind as u8, length]);
        bytes.extend(MARK.to_le_bytes());
        for field in [self.session, self.seq, self.ack, self.taken].iter().chain(&self.payload) {
            bytes.extend(field.to_le_bytes());
        }
        let check = !crc_of(&bytes);
        bytes.extend(check.to_le_bytes());
        bytes
    }

    /// A datagram from its bytes; `None` unless it is whole.
    pub fn decode(bytes: &[u8]) -> Option<Datagram> {
        let length = *bytes.get(1)? as usize;
        if bytes.len() != 4 * (HEADER + length + 1) || crc_of(bytes) != RESIDUE {
            return None;
        }
        let words: Vec<u32> = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        if words[0] >> 16 != MARK as u32 {
            return None;
        }
        Some(Datagram {
            kind: DatagramType::from_bits(bytes[0])?,
            session: words[1],
            seq: words[2],
            ack: words[3],
            taken: words[4],
            payload: words[HEADER..HEADER + length].to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::Random;

    fn random(r: &mut Random) -> Datagram {
        let kind = DatagramType::from_bits(r.below(6) as u8).unwrap();
        let [session, seq, ack, taken] = std::array::from_fn(|_| r.bits() as u32);
        let payload = (0..r.below(MOST + 1)).map(|_| r.bits() as u32).collect();
        Datagram { kind, session, seq, ack, taken, payload }
    }

    #[test]
    fn datagrams_read_back() {
        let mut r = Random::new(1);
        for _ in 0..1000 {
            let datagram = random(&mut r);
            let bytes = datagram.encode();
            assert!(bytes.len() >= 20 && bytes.len() <= MOST_BYTES && bytes.len().is_multiple_of(4));
            assert_eq!(Datagram::decode(&bytes), Some(datagram));
        }
    }

    #[test]
    fn damaged_datagrams_are_never_whole() {
        let mut r = Random::new(2);
        for case in 0..20_000 {
            let mut bytes = random(&mut r).encode();
            let at = r.below(bytes.len());
            match r.below(4) {
                0 => bytes[at] ^= 1 << r.below(8),
                1 => bytes.truncate(at),
                2 => bytes.extend(vec![r.bits() as u8; 1 + at]),
                _ => bytes.iter_mut().for_each(|b| *b = r.bits() as u8),
            }
            assert_eq!(Datagram::decode(&bytes), None, "case {case}");
        }
        // Whole, but of another program or of a kind that there is not.
        for (at, byte) in [(2, b'Q'), (0, 6)] {
            let mut bytes = Datagram::bare(DatagramType::Data, 1).encode();
            bytes[at] = byte;
            let end = bytes.len() - 4;
            let check = !crc_of(&bytes[..end]);
            bytes[end..].copy_from_slice(&check.to_le_bytes());
            assert_eq!(Datagram::decode(&bytes), None);
        }
        assert_eq!(Datagram::decode(&[]), None);
    }
}
