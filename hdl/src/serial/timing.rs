//! How long words take over the link: what `docs/link.md` derives, for predictions.

use super::frame::{CHECK, HEADER, MOST};
use super::{Identity, chunks};

/// A serial line and what lies behind it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Line {
    pub baud: u32,
    /// Seconds from the last byte on the line until the host has acted on it, and back on the line: for a USB
    /// converter with a latency timer of 1 ms, about 2 ms.
    pub turnaround: f64,
    /// Bytes that may be under way and not acknowledged.
    pub down_window: u32,
    pub up_window: u32,
    /// 32-bit words in a beat.
    pub beat_words: u32,
}

/// Bits of a byte on the line.
const BITS: f64 = 10.0;
/// Bytes of an empty frame with its two flags.
const EMPTY: f64 = (HEADER + CHECK + 2) as f64;
/// Of random bytes, two in 256 are stuffed.
const STUFFED: f64 = 1.0 + 2.0 / 256.0;
/// Turnaround of a USB converter whose latency timer is 1 ms.
const USB: f64 = 2e-3;

impl Line {
    /// The line that a board states, behind a USB converter.
    pub fn new(identity: &Identity) -> Line {
        Line {
            baud: identity.baud,
            turnaround: USB,
            down_window: (1 << identity.down_bits) - 256,
            up_window: 1 << identity.up_bits,
            beat_words: identity.stream_bits / 32,
        }
    }

    /// Seconds of one byte.
    fn byte(&self) -> f64 {
        BITS / self.baud as f64
    }

    /// Payload bytes a second in one direction, with whole frames and acknowledgements for those of the other
    /// direction, if it carries payload, too.
    fn rate(&self, window: u32, duplex: bool) -> f64 {
        let frame = MOST as f64 * STUFFED + EMPTY;
        // An acknowledgement rides on a frame of its own direction if there is one, else it takes an empty one.
        let line = MOST as f64 / (frame * self.byte());
        // That frame waits until the one before it is through, half of one on average.
        let round = self.turnaround + (frame + if duplex { 1.5 * frame } else { EMPTY }) * self.byte();
        line.min(window as f64 / round)
    }
}

/// Bytes of the stream that packets of these numbers of words take down the line.
pub fn down_bytes(packets: impl IntoIterator<Item = usize>, beat_words: u32) -> u64 {
    packets.into_iter().map(|words| chunks::packed_len(words, beat_words) as u64).sum()
}

/// Seconds that the line is busy with a job of `down` words in `down_packets` packets to the engine and `up` words
/// (beat padding counted) from it, when both directions carry at once, as they do while an engine works. A job takes the
/// longer of this and the engine's own time, plus one turnaround.
pub fn link_seconds(line: &Line, down: u64, down_packets: u64, up: u64) -> f64 {
    let duplex = down > 0 && up > 0;
    let down_bytes = 4.0 * down as f64 + down_packets as f64 + down as f64 / (128.0 * line.beat_words as f64);
    let up_bytes = 4.0 * up as f64;
    let seconds = |bytes: f64, window: u32| if bytes == 0.0 { 0.0 } else { bytes / line.rate(window, duplex) };
    seconds(down_bytes, line.down_window).max(seconds(up_bytes, line.up_window))
}
