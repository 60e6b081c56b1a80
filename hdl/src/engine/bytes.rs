//! Packets over a stream of bytes, both ways: in front of each a word with the number of its words. Words are little-endian.
//!
//! A stream that keeps bytes in order and loses none (TCP, a pipe, a driver's file) needs no more to carry what AXI4-Stream
//! does: the count stands for TLAST. What fills the last beat of a packet is not sent to the engine, whose end of the stream
//! knows its width; from the engine it may come or be left out.

use super::Config;
use super::link::Receive;
use super::protocol::{Stream, reply_words};

/// The most words of a packet, so that a broken count cannot ask for all memory.
pub const MOST_WORDS: u32 = 1 << 24;

/// Appends a packet as bytes.
pub fn put(packet: &[u32], out: &mut Vec<u8>) {
    let count = packet.len() as u32;
    out.extend(std::iter::once(&count).chain(packet).flat_map(|word| word.to_le_bytes()));
}

/// All packets as bytes; the error says which cannot be sent.
pub fn of_stream(input: &Stream) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(4 * (input.words.len() + input.ends.len()));
    for packet in input.packets() {
        if packet.len() > MOST_WORDS as usize {
            return Err(format!("a packet has {} words, of which a stream of bytes takes {MOST_WORDS}", packet.len()));
        }
        put(packet, &mut out);
    }
    Ok(out)
}

/// Puts packets back together from bytes as they come.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    bytes: Vec<u8>,
}

impl Packets {
    /// Takes bytes, and hands each whole packet on. The error says what is no packet.
    pub fn take(&mut self, bytes: &[u8], receive: &mut dyn FnMut(Vec<u32>)) -> Result<(), String> {
        self.bytes.extend_from_slice(bytes);
        let word = |at: &[u8]| u32::from_le_bytes([at[0], at[1], at[2], at[3]]);
        let mut at = 0;
        while let Some(head) = self.bytes.get(at..at + 4) {
            let count = word(head);
            if !(1..=MOST_WORDS).contains(&count) {
                return Err(format!("a packet has 1 to {MOST_WORDS} words, not {count}"));
            }
            let end = at + 4 * (1 + count as usize);
            let Some(body) = self.bytes.get(at + 4..end) else { break };
            receive(body.chunks_exact(4).map(word).collect());
            at = end;
        }
        self.bytes.drain(..at);
        Ok(())
    }

    /// Whether a packet has begun and not ended.
    pub fn is_open(&self) -> bool {
        !self.bytes.is_empty()
    }
}

/// Hands on a packet of an engine without what fills its last beat. The error says what is wrong with it.
pub fn trimmed(packet: &[u32], config: &Config, receive: &mut Receive) -> Result<(), String> {
    let header = packet[0];
    let length = reply_words(header, config)
        .ok_or_else(|| format!("the engine sent the unknown packet header {header:#010x}"))?;
    let whole = length.next_multiple_of(config.beat_words() as usize);
    if packet.len() != length && packet.len() != whole {
        return Err(format!("the engine sent a packet {header:#010x} of {} words; it has {length}", packet.len()));
    }
    if packet[length..].iter().any(|word| *word != 0) {
        return Err(format!("the engine did not fill up a packet {header:#010x} with zeros"));
    }
    receive(0, &packet[..length]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Layout;
    use crate::engine::protocol::{END_REPLY, STATUS_REPLY};

    #[test]
    fn packets_read_back_however_the_stream_is_cut() {
        let mut stream = Stream::default();
        [1, 2, 5, 70].iter().for_each(|n| stream.packet((0..*n).map(|k: u32| k * 0x0123_4567 + n)));
        let bytes = of_stream(&stream).expect("short packets");
        assert_eq!(bytes[..8], [1, 0, 0, 0, 1, 0, 0, 0]);
        for cut in [1, 3, 4, 7, bytes.len()] {
            let (mut packets, mut found) = (Packets::default(), Vec::new());
            for piece in bytes.chunks(cut) {
                packets.take(piece, &mut |packet| found.push(packet)).expect("what was put");
            }
            assert!(!packets.is_open());
            assert!(stream.packets().eq(found.iter().map(Vec::as_slice)), "cut into {cut}");
        }
    }

    #[test]
    fn counts_that_no_packet_has_are_refused() {
        for count in [0, MOST_WORDS + 1, u32::MAX] {
            let error = Packets::default().take(&count.to_le_bytes(), &mut |_| {}).expect_err("no packet");
            assert!(error.contains("a packet has 1 to"), "{error}");
        }
    }

    #[test]
    fn answers_come_with_their_padding_or_without() {
        let config = Config { stream_bits: 128, ..Config::usual(Layout::default(), 1) };
        let end = END_REPLY << 24;
        let of = |packet: &[u32]| {
            let mut found = Vec::new();
            trimmed(packet, &config, &mut |_, words| found = words.to_vec()).map(|()| found)
        };
        assert_eq!((of(&[end]), of(&[end, 0, 0, 0])), (Ok(vec![end]), Ok(vec![end])));
        assert!(of(&[end, 0]).is_err_and(|e| e.contains("of 2 words; it has 1")));
        assert!(of(&[end, 0, 1, 0]).is_err_and(|e| e.contains("did not fill up")));
        assert!(of(&[STATUS_REPLY << 24; 3]).is_err_and(|e| e.contains("it has 7")));
        assert!(of(&[0x9900_0000]).is_err_and(|e| e.contains("unknown packet header")));
    }
}
