//! Records to words and back, and packets to beats.

use super::{END_REPLY, I, IDENT_REPLY, IDENT_WORDS, LOAD_J, PARAM, RESULT, RUN, STATUS_REPLY};
use crate::Format;
use crate::engine::{Config, Layout};

/// How the elements of one kind of record lie in 32-bit words: each takes ceil(W/32) words, low word first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packing {
    formats: Vec<Format>,
    words: usize,
}

impl Packing {
    /// Patterns of one record.
    pub fn elements(&self) -> usize {
        self.formats.len()
    }

    /// Words of one record.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Appends the words of one record to `out`; `record` has one pattern for each element.
    pub fn pack(&self, record: &[u64], out: &mut Vec<u32>) {
        assert_eq!(record.len(), self.formats.len(), "a record has one pattern for each element");
        let end = out.len() + self.words;
        for (format, bits) in self.formats.iter().zip(record) {
            out.push(*bits as u32);
            if format.words() == 2 {
                out.push((bits >> 32) as u32);
            }
        }
        // A record without elements still has a place on the stream.
        out.resize(end, 0);
    }

    /// The words of `n` records, patterns record by record. Records without elements have words too, so that the patterns alone do
    /// not say how many there are.
    pub fn pack_all(&self, n: usize, records: &[u64]) -> Vec<u32> {
        let each = self.elements();
        assert_eq!(records.len(), n * each, "a record has one pattern for each element");
        let mut out = Vec::with_capacity(n * self.words);
        (0..n).for_each(|k| self.pack(&records[k * each..(k + 1) * each], &mut out));
        out
    }

    /// Appends the patterns of one record of words to `out`; bits above an element's width are dropped.
    pub fn unpack(&self, words: &[u32], out: &mut Vec<u64>) {
        assert_eq!(words.len(), self.words, "a record has its number of words");
        let mut at = 0;
        for format in &self.formats {
            let high = if format.words() == 2 { words[at + 1] as u64 } else { 0 };
            out.push((high << 32 | words[at] as u64) & format.mask());
            at += format.words() as usize;
        }
    }
}

impl Layout {
    /// Packing of i records.
    pub fn i_packing(&self) -> Packing {
        Packing { formats: self.i.iter().map(|e| e.1).collect(), words: self.i_words() as usize }
    }

    /// Packing of j records.
    pub fn j_packing(&self) -> Packing {
        Packing { formats: self.j.iter().map(|e| e.1).collect(), words: self.j_words() as usize }
    }

    /// Packing of the parameters, which may have no words.
    pub fn param_packing(&self) -> Packing {
        Packing { formats: self.param_formats().collect(), words: self.param_words() as usize }
    }

    /// Packing of result records.
    pub fn result_packing(&self) -> Packing {
        Packing { formats: self.outputs.iter().map(|e| e.1).collect(), words: self.result_words() as usize }
    }
}

impl Config {
    /// Words in front of the records of a RESULT packet: header, tag, and one byte of flags for each lane of a group.
    pub fn result_head_words(&self) -> u32 {
        2 + self.lanes().div_ceil(4)
    }
}

/// The words of a packet from the engine, padding not counted, by its first word; `None` if no such packet exists.
pub fn reply_words(header: u32, config: &Config) -> Option<usize> {
    let n = header & 0xff_ffff;
    match header >> 24 {
        RESULT if (1..=config.lanes()).contains(&n) => {
            Some((config.result_head_words() + n * config.layout.result_words()) as usize)
        }
        STATUS_REPLY => Some(7),
        END_REPLY => Some(1),
        IDENT_REPLY => Some(IDENT_WORDS),
        _ => None,
    }
}

/// Words of a packet to the engine without what fills its last beat.
pub fn packet_words(words: &[u32], config: &Config) -> usize {
    let (opcode, argument) = (words[0] >> 24, (words[0] & 0xff_ffff) as usize);
    let layout = &config.layout;
    let word = |k: usize| words.get(k).copied().unwrap_or(0) as usize;
    match opcode {
        LOAD_J => 3 + word(2) * layout.j_words() as usize,
        PARAM => 1 + layout.param_words() as usize,
        RUN => 4 + 2 * (word(3) & 0xff_ffff),
        I => 1 + argument * layout.i_words() as usize,
        _ => 1,
    }
}

/// A packet as beats of `beat_words` words: each beat's words (the last one may be short: fill it up with zeros) and
/// its TLAST.
pub fn beats(packet: &[u32], beat_words: u32) -> impl Iterator<Item = (&[u32], bool)> {
    let count = packet.len().div_ceil(beat_words as usize);
    packet.chunks(beat_words as usize).enumerate().map(move |(k, words)| (words, k + 1 == count))
}

/// Fills `words`, one packet from `start` on, up with zeros to whole beats.
pub fn pad(words: &mut Vec<u32>, start: usize, beat_words: u32) {
    let length = (words.len() - start).next_multiple_of(beat_words as usize);
    words.resize(start + length, 0);
}
