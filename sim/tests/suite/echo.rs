//! An engine that echoes: what a link in front of it says of itself, and what comes back of packets.

use hdl::engine::protocol::{Stream, beats, pad};
use hdl::serial::{EngineIdentity, Identity, kernel_hash};

/// The identity of a link to engines that echo; `rings` has the bits of the rings down and up. A baud rate of 0 is Ethernet.
pub fn identity(engines: usize, stream_bits: u32, clock_hz: u32, baud: u32, rings: (u8, u8)) -> Identity {
    let engine = |k: usize| EngineIdentity {
        kernel: if k == 0 { "echo".into() } else { format!("echo{k}") },
        hash: kernel_hash(&format!("echo{k}")),
        pipelines: 7,
        groups: 1,
        i_banks: 2,
        ii: 1,
        jmem_records: 1000,
        segments: 32,
        filters: 0,
    };
    let engines = (0..engines).map(engine).collect();
    let identity = Identity { engines, stream_bits, clock_hz, baud, down_bits: rings.0, up_bits: rings.1 };
    identity.verify().expect("a link that can be built");
    identity
}

/// The engine's echo of beat number `count`.
pub fn echoed(words: &[u32], last: bool, count: usize) -> Vec<u32> {
    let mut answer = words.to_vec();
    answer[0] ^= (last as u32) << 31 | (count as u32 & 0xffff);
    answer
}

/// The answer to packets.
pub fn answer(stream: &Stream, beat_words: u32) -> Vec<u32> {
    let (mut answer, mut count) = (Vec::new(), 0);
    for packet in stream.packets() {
        let mut words = packet.to_vec();
        pad(&mut words, 0, beat_words);
        for (beat, last) in beats(&words, beat_words) {
            answer.extend(echoed(beat, last, count));
            count += 1;
        }
    }
    answer
}
