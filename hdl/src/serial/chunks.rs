//! An engine's packets as the units of a link's streams: bytes of a serial line, or words of datagrams.
//!
//! Down, a packet is cut into chunks: a unit with the number of beats less one and, in its top bit, whether the packet ends behind
//! them; then the beats, low unit first. Chunks may lie across frames. Up, there are beats alone: a reply's first word states its
//! length, so that TLAST would say nothing new.

use crate::engine::Config;
use crate::engine::link::Receive;
use crate::engine::protocol::{END_REPLY, Stream, reply_words};
use std::fmt::Debug;
use std::marker::PhantomData;

/// The unit of a stream, which offsets count.
pub trait Unit: Copy + Debug + Default + Send + 'static {
    /// log2 of its bytes.
    const BITS: u32;
    /// Bits of an offset in a frame.
    const OFFSET_BITS: u32;
    /// Most beats of a chunk.
    const MOST_BEATS: usize;

    /// The unit in front of a chunk.
    fn head(beats: usize, closes: bool) -> Self;

    /// The number of beats that such a unit announces, and whether their packet ends behind them.
    fn announced(self) -> (u32, bool);

    /// Words as units.
    fn of(words: &[u32]) -> impl Iterator<Item = Self>;

    /// Units as bytes.
    fn bytes(units: &[Self]) -> Vec<u8>;

    /// The unit as the lowest bits of a word.
    fn bits(self) -> u32;
}

impl Unit for u8 {
    const BITS: u32 = 0;
    const OFFSET_BITS: u32 = 16;
    const MOST_BEATS: usize = 128;

    fn head(beats: usize, closes: bool) -> u8 {
        (closes as u8) << 7 | (beats - 1) as u8
    }

    fn announced(self) -> (u32, bool) {
        ((self & 0x7f) as u32 + 1, self >> 7 == 1)
    }

    fn of(words: &[u32]) -> impl Iterator<Item = u8> {
        words.iter().flat_map(|w| w.to_le_bytes())
    }

    fn bytes(units: &[u8]) -> Vec<u8> {
        units.to_vec()
    }

    fn bits(self) -> u32 {
        self.into()
    }
}

impl Unit for u32 {
    const BITS: u32 = 2;
    const OFFSET_BITS: u32 = 32;
    const MOST_BEATS: usize = 1 << 16;

    fn head(beats: usize, closes: bool) -> u32 {
        (closes as u32) << 31 | (beats - 1) as u32
    }

    fn announced(self) -> (u32, bool) {
        ((self & 0xffff) + 1, self >> 31 == 1)
    }

    fn of(words: &[u32]) -> impl Iterator<Item = u32> {
        words.iter().copied()
    }

    fn bytes(units: &[u32]) -> Vec<u8> {
        u8::of(units).collect()
    }

    fn bits(self) -> u32 {
        self
    }
}

/// Units of a word.
fn per_word<U: Unit>() -> usize {
    4 >> U::BITS
}

/// Appends the units of all packets of `stream`, for streams of `beat_words` words.
pub fn pack<U: Unit>(stream: &Stream, beat_words: u32, out: &mut Vec<U>) {
    let most = U::MOST_BEATS * beat_words as usize;
    for packet in stream.packets() {
        let chunks = packet.len().div_ceil(most);
        for (k, words) in packet.chunks(most).enumerate() {
            let beats = words.len().div_ceil(beat_words as usize);
            out.push(U::head(beats, k + 1 == chunks));
            out.extend(U::of(words));
            let padding = beats * beat_words as usize - words.len();
            out.resize(out.len() + per_word::<U>() * padding, U::default());
        }
    }
}

/// Bytes that [`pack`] makes of a packet of `words` words.
pub fn packed_len(words: usize, beat_words: u32) -> usize {
    let beats = words.div_ceil(beat_words as usize);
    beats * beat_words as usize * 4 + beats.div_ceil(u8::MOST_BEATS)
}

/// Puts the chunks of the stream from the host back together to beats, as the board does.
#[derive(Clone, Debug, Default)]
pub struct Beats<U> {
    left: u32,
    closes: bool,
    /// Whole words of the beat at hand; the next word, and the units of it that came.
    beat: Vec<u32>,
    word: u32,
    units: usize,
    unit: PhantomData<U>,
}

impl<U: Unit> Beats<U> {
    /// Takes a unit; gives the beat that it completes, and whether its packet ends there.
    pub fn take(&mut self, unit: U, beat_words: u32) -> Option<(Vec<u32>, bool)> {
        if self.left == 0 {
            (self.left, self.closes) = unit.announced();
            return None;
        }
        self.word |= unit.bits() << (self.units * (8 << U::BITS));
        self.units += 1;
        if self.units < per_word::<U>() {
            return None;
        }
        if self.beat.is_empty() {
            self.beat.reserve_exact(beat_words as usize);
        }
        self.beat.push(std::mem::take(&mut self.word));
        self.units = 0;
        if self.beat.len() < beat_words as usize {
            return None;
        }
        self.left -= 1;
        Some((std::mem::take(&mut self.beat), self.closes && self.left == 0))
    }
}

/// Little-endian words; a rest of less than four bytes is left out.
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::protocol::pad;

    fn packets_read_back<U: Unit>() {
        let lengths = [1, 2, 3, 4, 5, 31, 700, U::MOST_BEATS, 2 * U::MOST_BEATS + 3];
        for beat_words in [1, 2, 4] {
            let mut stream = Stream::default();
            lengths.iter().for_each(|n| stream.packet((0..*n).map(|k| (k * n) as u32)));
            let mut units: Vec<U> = Vec::new();
            pack(&stream, beat_words, &mut units);
            let mut beats = Beats::default();
            let mut found = vec![Vec::new()];
            for (beat, last) in units.iter().filter_map(|u| beats.take(*u, beat_words)) {
                found.last_mut().unwrap().extend(beat);
                if last {
                    found.push(Vec::new());
                }
            }
            assert_eq!(found.pop(), Some(Vec::new()), "nothing is left open");
            let wanted: Vec<Vec<u32>> = stream
                .packets()
                .map(|p| {
                    let mut words = p.to_vec();
                    pad(&mut words, 0, beat_words);
                    words
                })
                .collect();
            assert_eq!(found, wanted, "{beat_words} words in a beat");
        }
    }

    #[test]
    fn packets_read_back_at_every_width() {
        packets_read_back::<u8>();
        packets_read_back::<u32>();
    }
}
