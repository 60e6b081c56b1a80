//! The identity that a board reports when a session starts.

use crate::engine::identity::{ENGINE_BYTES, EngineIdentity};
use crate::engine::switch::MOST_ENGINES;
use crate::engine::{Config, Layout};
use crate::hash::fnv;

/// Changes with the frames, the chunks, the packets of the engine or the identity itself.
pub const PROTOCOL_VERSION: u8 = 1;
/// The same of a board with several engines, whose identity lists them and whose packets say which one they are for
/// ([`crate::engine::switch`]).
pub const SEVERAL_VERSION: u8 = 2;

/// Bytes of an identity of several engines before the first of them.
const HEAD_BYTES: usize = 20;
/// Where the engine's name stands in that of one.
const NAME_AT: usize = 36;

/// A board's identity, compiled into its bitstream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The engines in the order of their numbers: 1 to [`MOST_ENGINES`], each for a kernel of its own.
    pub engines: Vec<EngineIdentity>,
    /// 32, 64 or 128.
    pub stream_bits: u32,
    /// Clock of engines and link.
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
    /// Payload bytes of the frame that carries the identity of one engine: the nonce first.
    pub const BYTES: usize = 64;
    /// log2 of the bytes of each ring unless a board asks for more: one block memory on most families.
    pub const RING_BITS: u8 = 11;
    /// The same for a link over Ethernet.
    pub const ETHERNET_RING_BITS: u8 = 15;

    /// The identity of a board with engines of these configurations, whose streams have one width, for kernels with these
    /// hashes, clocked at `clock_hz`.
    pub fn new(engines: &[(&Config, u64)], clock_hz: u32, baud: u32) -> Identity {
        Identity {
            engines: engines.iter().map(|(config, hash)| EngineIdentity::new(config, *hash)).collect(),
            stream_bits: engines.first().map_or(0, |(config, _)| config.stream_bits),
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

    /// The prefix of the names of the link's modules: the name of the first kernel.
    pub fn prefix(&self) -> &str {
        self.engines.first().map_or("", |engine| &engine.kernel)
    }

    /// Engine `number` behind the link, for a kernel of that layout. Its latency does not show on the stream.
    pub fn engine(&self, number: usize, layout: Layout) -> Config {
        self.engines[number].config(layout, self.stream_bits)
    }

    /// Whether such a link can be built; the error says what cannot.
    pub fn verify(&self) -> Result<(), String> {
        if !(1..=MOST_ENGINES).contains(&self.engines.len()) {
            return Err(format!("a board has 1 to {MOST_ENGINES} engines, not {}", self.engines.len()));
        }
        for (k, engine) in self.engines.iter().enumerate() {
            if let Some(other) = self.engines[..k].iter().find(|other| other.hash == engine.hash) {
                return Err(format!(
                    "{} and {} are one kernel, and a board has one engine for each; give that engine more pipelines",
                    other.kernel, engine.kernel
                ));
            }
            engine.verify(self.stream_bits)?;
        }
        if !matches!(self.stream_bits, 32 | 64 | 128) {
            return Err(format!("a stream is 32, 64 or 128 bits wide, not {}", self.stream_bits));
        }
        if self.clock_hz == 0 {
            return Err("the clock of a board has more than 0 Hz".into());
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
    pub fn encode(&self, nonce: u32) -> Vec<u8> {
        let mut bytes = nonce.to_le_bytes().to_vec();
        let beat_words = (self.stream_bits / 32) as u8;
        let version = if self.engines.len() == 1 { PROTOCOL_VERSION } else { SEVERAL_VERSION };
        bytes.extend([version, self.down_bits, self.up_bits, beat_words]);
        let line = [self.clock_hz, self.baud];
        if let [engine] = &self.engines[..] {
            bytes.extend(engine.lanes());
            let words = engine.sizes().into_iter().chain(line);
            words.for_each(|word| bytes.extend(word.to_le_bytes()));
            bytes.extend(engine.hash.to_le_bytes());
            bytes.extend(engine.name());
            return bytes;
        }
        bytes.extend([self.engines.len() as u8, 0, 0, 0]);
        line.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        self.engines.iter().for_each(|engine| bytes.extend(engine.bytes()));
        bytes
    }

    /// Nonce and identity from such a payload, whoever sent it: what comes out can be built, and names an engine within the
    /// limits of [`Config::verify`]. The error says what is wrong with it.
    pub fn decode(bytes: &[u8]) -> Result<(u32, Identity), String> {
        let short = || format!("an identity of {} bytes, which is none of this program's", bytes.len());
        let head: &[u8; HEAD_BYTES] = bytes.first_chunk().ok_or_else(short)?;
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
        let hash = |at: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
        let (engines, line) = match head[4] {
            PROTOCOL_VERSION if bytes.len() == Self::BYTES => {
                let name = &bytes[NAME_AT..];
                (vec![EngineIdentity::decode(&bytes[8..12], [word(12), word(16)], hash(28), name)], 20)
            }
            SEVERAL_VERSION if head[8] > 1 && bytes.len() == HEAD_BYTES + ENGINE_BYTES * head[8] as usize => {
                let (engines, _) = bytes[HEAD_BYTES..].as_chunks();
                (engines.iter().map(EngineIdentity::of_bytes).collect(), 12)
            }
            PROTOCOL_VERSION | SEVERAL_VERSION => return Err(short()),
            version => {
                return Err(format!(
                    "the board speaks version {version} of the link and this program versions {PROTOCOL_VERSION} and \
                     {SEVERAL_VERSION}; build its bitstream again with this program"
                ));
            }
        };
        let identity = Identity {
            engines,
            stream_bits: 32 * head[7] as u32,
            clock_hz: word(line),
            baud: word(line + 4),
            down_bits: head[5],
            up_bits: head[6],
        };
        identity.verify().map_err(|e| format!("the board's identity makes no sense: {e}"))?;
        Ok((word(0), identity))
    }
}
