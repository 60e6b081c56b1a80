//! An engine's packets as the words of the link's stream to the board.
//!
//! A packet is cut into chunks. A chunk begins with one word: bits 15..0 are the number of beats less one, and bit 31
//! tells whether the packet ends behind them. The beats follow. (The stream from the board is beats alone, as over a
//! serial line.)

use crate::engine::protocol::{Stream, pad};

/// Most beats of a chunk.
const MOST_BEATS: usize = 1 << 16;
/// In the first word of a chunk: its packet ends with it.
const CLOSES: u32 = 1 << 31;

/// Appends the words of all packets of `stream`, for streams of `beat_words` words.
pub fn pack(stream: &Stream, beat_words: u32, out: &mut Vec<u32>) {
    let most = MOST_BEATS * beat_words as usize;
    for packet in stream.packets() {
        let chunks = packet.len().div_ceil(most);
        for (k, words) in packet.chunks(most).enumerate() {
            let beats = words.len().div_ceil(beat_words as usize) as u32;
            let closes = if k + 1 == chunks { CLOSES } else { 0 };
            out.push(closes | (beats - 1));
            let start = out.len();
            out.extend_from_slice(words);
            pad(out, start, beat_words);
        }
    }
}

/// Puts the chunks back together to beats, as the board does.
#[derive(Clone, Debug, Default)]
pub struct Beats {
    left: u32,
    closes: bool,
    beat: Vec<u32>,
}

impl Beats {
    /// Takes a word; gives the beat that it completes, and whether its packet ends there.
    pub fn take(&mut self, word: u32, beat_words: u32) -> Option<(Vec<u32>, bool)> {
        if self.left == 0 {
            self.left = (word & 0xffff) + 1;
            self.closes = word & CLOSES != 0;
            return None;
        }
        self.beat.push(word);
        if self.beat.len() < beat_words as usize {
            return None;
        }
        self.left -= 1;
        Some((std::mem::take(&mut self.beat), self.closes && self.left == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_read_back_at_every_width() {
        let lengths = [1, 2, 3, 4, 5, 31, 700, MOST_BEATS, 2 * MOST_BEATS + 3];
        for beat_words in [1, 2, 4] {
            let mut stream = Stream::default();
            lengths.iter().for_each(|n| stream.packet((0..*n).map(|k| (k * n) as u32)));
            let mut words = Vec::new();
            pack(&stream, beat_words, &mut words);
            let mut beats = Beats::default();
            let mut found = vec![Vec::new()];
            for (beat, last) in words.iter().filter_map(|w| beats.take(*w, beat_words)) {
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
}
