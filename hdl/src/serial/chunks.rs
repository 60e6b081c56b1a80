//! An engine's packets as the bytes of the link's streams.
//!
//! Down, a packet is cut into chunks: a byte with the number of beats less one in bits 6..0 and, in bit 7, whether the
//! packet ends behind them; then the beats, low byte first. Chunks may lie across frames. Up, there are beats alone:
//! a reply's first word states its length, so that TLAST would say nothing new.

use crate::engine::Config;
use crate::engine::link::Receive;
use crate::engine::protocol::{END_REPLY, Stream, reply_words};

/// Most beats of a chunk.
const MOST_BEATS: usize = 128;

/// Appends the bytes of all packets of `stream`, for streams of `beat_words` words.
pub fn pack(stream: &Stream, beat_words: u32, out: &mut Vec<u8>) {
    let most = MOST_BEATS * beat_words as usize;
    for packet in stream.packets() {
        let chunks = packet.len().div_ceil(most);
        for (k, words) in packet.chunks(most).enumerate() {
            let beats = words.len().div_ceil(beat_words as usize);
            let ends = k + 1 == chunks;
            out.push((ends as u8) << 7 | (beats - 1) as u8);
            words.iter().for_each(|w| out.extend(w.to_le_bytes()));
            out.resize(out.len() + 4 * (beats * beat_words as usize - words.len()), 0);
        }
    }
}

/// Bytes that [`pack`] makes of a packet of `words` words.
pub fn packed_len(words: usize, beat_words: u32) -> usize {
    let beats = words.div_ceil(beat_words as usize);
    beats * beat_words as usize * 4 + beats.div_ceil(MOST_BEATS)
}

/// Puts the chunks of the stream from the host back together to beats, as the board does.
#[derive(Clone, Debug, Default)]
pub struct Beats {
    left: u8,
    closes: bool,
    beat: Vec<u8>,
}

impl Beats {
    /// Takes a byte; gives the beat that it completes, and whether its packet ends there.
    pub fn take(&mut self, byte: u8, beat_words: u32) -> Option<(Vec<u32>, bool)> {
        if self.left == 0 {
            self.left = (byte & 0x7f) + 1;
            self.closes = byte >> 7 == 1;
            return None;
        }
        self.beat.push(byte);
        if self.beat.len() < 4 * beat_words as usize {
            return None;
        }
        self.left -= 1;
        let beat = std::mem::take(&mut self.beat);
        Some((words(&beat).collect(), self.closes && self.left == 0))
    }
}

/// Little-endian words; a rest of less than four bytes is left out.
fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

/// Puts the beats from an engine back together to packets.
#[derive(Clone, Debug, Default)]
pub struct Replies {
    /// Bytes of a word that is not whole yet, and words of a packet that is not.
    bytes: Vec<u8>,
    words: Vec<u32>,
    /// END packets that were answered, by all engines.
    pub ends: u64,
}

impl Replies {
    /// Takes bytes of the stream, and hands each whole packet on, without its padding, with the number of its engine. Where there
    /// are several engines, a beat with that number stands before each packet ([`crate::engine::switch`]). The error says what
    /// is wrong.
    pub fn take(&mut self, bytes: &[u8], engines: &[Config], receive: &mut Receive) -> Result<(), String> {
        self.bytes.extend_from_slice(bytes);
        let whole = self.bytes.len() / 4 * 4;
        self.words.extend(words(&self.bytes[..whole]));
        self.bytes.drain(..whole);
        let beat_words = engines.first().map_or(1, Config::beat_words) as usize;
        let named = if engines.len() > 1 { beat_words } else { 0 };
        let mut at = 0;
        while let Some(header) = self.words.get(at + named).copied() {
            let number = if named > 0 { (self.words[at] & 0xff) as usize } else { 0 };
            let engine = engines.get(number).ok_or_else(|| format!("it sent a packet of engine {number}"))?;
            let length = reply_words(header, engine)
                .ok_or_else(|| format!("the engine sent the unknown packet header {header:#010x}"))?;
            let whole = length.next_multiple_of(beat_words);
            let Some(packet) = self.words.get(at + named..at + named + whole) else { break };
            if packet[length..].iter().any(|w| *w != 0) {
                return Err(format!("the engine did not fill up a packet {header:#010x} with zeros"));
            }
            self.ends += (header >> 24 == END_REPLY) as u64;
            receive(number, &packet[..length]);
            at += named + whole;
        }
        self.words.drain(..at);
        Ok(())
    }
}
