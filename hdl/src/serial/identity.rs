//! What a board says of itself when a session starts.

use crate::engine::{Config, Layout};
use crate::hash::fnv;

/// Changes with the frames, the chunks, the packets of the engine or the identity itself.
pub const PROTOCOL_VERSION: u8 = 1;

/// Bytes of the kernel's name that the identity has room for.
const NAME_BYTES: usize = 28;

/// A board's identity, compiled into its bitstream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Name of the kernel: a Verilog identifier, for people. [`Identity::hash`] decides.
    pub kernel: String,
    /// [`kernel_hash`] of the kernel's canonical text.
    pub hash: u64,
    pub pipelines: u32,
    /// Lane groups, and banks of i registers.
    pub groups: u32,
    pub i_banks: u32,
    /// Clocks from one pair to the next.
    pub ii: u32,
    pub jmem_records: u32,
    /// Capacity of a run's segment list.
    pub segments: u32,
    /// 32, 64 or 128.
    pub stream_bits: u32,
    /// Clock of engine and link.
    pub clock_hz: u32,
    /// Baud rate of the serial line; 0 where datagrams carry the frames (see [`crate::ethernet`]).
    pub baud: u32,
    /// log2 of the bytes of the ring that receives, and of the one that replays.
    pub down_bits: u8,
    pub up_bits: u8,
}

/// The 64-bit FNV-1a hash by which host and board agree on a kernel. `text` states pins, formats, operators and
/// reductions, but no names (`pg2::graph::Graph::canonical`).
pub fn kernel_hash(text: &str) -> u64 {
    fnv(text)
}

impl Identity {
    /// Payload bytes of the frame that carries it: the nonce first.
    pub const BYTES: usize = 64;
    /// log2 of the bytes of each ring unless a board asks for more: one block memory on most families.
    pub const RING_BITS: u8 = 11;
    /// The same for a link over Ethernet.
    pub const ETHERNET_RING_BITS: u8 = 15;

    /// The identity of an engine whose kernel has the hash `hash`, clocked at `clock_hz`.
    pub fn new(engine: &Config, hash: u64, clock_hz: u32, baud: u32) -> Identity {
        Identity {
            kernel: engine.layout.kernel.clone(),
            hash,
            pipelines: engine.pipelines,
            groups: engine.groups,
            i_banks: engine.i_banks,
            ii: engine.ii,
            jmem_records: engine.jmem_records,
            segments: engine.segments,
            stream_bits: engine.stream_bits,
            clock_hz,
            baud,
            down_bits: Identity::RING_BITS,
            up_bits: Identity::RING_BITS,
        }
    }

    /// The identity of the same board with a link over Ethernet.
    pub fn over_ethernet(self) -> Identity {
        Identity { baud: 0, down_bits: Identity::ETHERNET_RING_BITS, up_bits: Identity::ETHERNET_RING_BITS, ..self }
    }

    /// Whether datagrams carry the link's frames.
    pub fn is_ethernet(&self) -> bool {
        self.baud == 0
    }

    /// The engine behind the link, for a kernel of that layout. Its latency does not show on the stream.
    pub fn engine(&self, layout: Layout) -> Config {
        Config {
            layout,
            pipelines: self.pipelines,
            groups: self.groups,
            i_banks: self.i_banks,
            jmem_records: self.jmem_records,
            stream_bits: self.stream_bits,
            segments: self.segments,
            pipeline_latency: 1,
            ii: self.ii,
        }
    }

    /// Whether such a link can be built; the error says what cannot.
    pub fn verify(&self) -> Result<(), String> {
        if !matches!(self.stream_bits, 32 | 64 | 128) {
            return Err(format!("a stream is 32, 64 or 128 bits wide, not {}", self.stream_bits));
        }
        if self.is_ethernet() {
            return match [self.down_bits, self.up_bits].iter().find(|bits| !(12..=16).contains(*bits)) {
                Some(bits) => Err(format!("a ring of a link over Ethernet has 2^12 to 2^16 bytes, not 2^{bits}")),
                None => Ok(()),
            };
        }
        if (self.clock_hz as u64) < 6 * self.baud as u64 {
            return Err(format!(
                "{} baud need a clock of at least 6 times that, not {} Hz; lower the baud rate or raise the clock",
                self.baud, self.clock_hz
            ));
        }
        if self.clock_hz as u64 > self.baud as u64 * (1 << 16) {
            return Err(format!("{} baud are too slow for a clock of {} Hz", self.baud, self.clock_hz));
        }
        for bits in [self.down_bits, self.up_bits] {
            if !(9..=14).contains(&bits) {
                return Err(format!("a ring of the link has 2^9 to 2^14 bytes, not 2^{bits}"));
            }
        }
        Ok(())
    }

    /// The payload of the frame that carries it, the nonce first: see `docs/link.md`.
    pub fn encode(&self, nonce: u32) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let beat_words = (self.stream_bits / 32) as u8;
        bytes[..4].copy_from_slice(&nonce.to_le_bytes());
        let lanes = [self.pipelines, self.groups, self.i_banks].map(|n| n as u8);
        bytes[4..8].copy_from_slice(&[PROTOCOL_VERSION, self.down_bits, self.up_bits, beat_words]);
        bytes[8..11].copy_from_slice(&lanes);
        bytes[11] = (self.ii - 1) as u8;
        let words = [self.segments, self.jmem_records, self.clock_hz, self.baud];
        for (place, word) in bytes[12..28].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[28..36].copy_from_slice(&self.hash.to_le_bytes());
        let name = &self.kernel.as_bytes()[..self.kernel.len().min(NAME_BYTES)];
        bytes[36..36 + name.len()].copy_from_slice(name);
        bytes
    }

    /// Nonce and identity from such a payload. The error says what is wrong with it.
    pub fn decode(bytes: &[u8]) -> Result<(u32, Identity), String> {
        let bytes: &[u8; Self::BYTES] =
            bytes.try_into().map_err(|_| format!("an identity of {} bytes instead of {}", bytes.len(), Self::BYTES))?;
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
        if bytes[4] != PROTOCOL_VERSION {
            return Err(format!(
                "the board speaks version {} of the link and this program version {PROTOCOL_VERSION}; build its \
                 bitstream again with this program",
                bytes[4]
            ));
        }
        let name: Vec<u8> = bytes[36..].iter().copied().take_while(|b| *b != 0).collect();
        let identity = Identity {
            kernel: String::from_utf8_lossy(&name).into_owned(),
            hash: u64::from_le_bytes(std::array::from_fn(|k| bytes[28 + k])),
            pipelines: bytes[8] as u32,
            groups: bytes[9] as u32,
            i_banks: bytes[10] as u32,
            ii: bytes[11] as u32 + 1,
            segments: word(12),
            jmem_records: word(16),
            clock_hz: word(20),
            baud: word(24),
            stream_bits: 32 * bytes[7] as u32,
            down_bits: bytes[5],
            up_bits: bytes[6],
        };
        identity.verify().map_err(|e| format!("the board's identity makes no sense: {e}"))?;
        Ok((word(0), identity))
    }
}
