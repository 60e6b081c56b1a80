//! The identity of an engine: what a link tells of it when a session starts, and what the engine itself answers to IDENT.

use super::protocol::{IDENT_REPLY, IDENT_WORDS};
use super::{Config, Layout};

/// Bytes of the kernel's name that the identity has space for.
const NAME_BYTES: usize = 28;
/// Version of the answer to IDENT: changes with it, or with the packets of the engine.
pub const IDENT_VERSION: u32 = 1;
/// Bits in which the filters stand above the capacity of a segment list, which needs far fewer.
const FILTER_SHIFT: u32 = 24;
/// Bytes of [`EngineIdentity::bytes`].
pub const ENGINE_BYTES: usize = 48;

/// The description of one engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineIdentity {
    /// Name of the kernel: a Verilog identifier, for people. `hash` decides.
    pub kernel: String,
    /// [`crate::serial::kernel_hash`] of the kernel's canonical text.
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
    /// Filters in front of each pipeline; 0 for none.
    pub filters: u32,
}

impl EngineIdentity {
    /// That of an engine whose kernel has the hash `hash`.
    pub fn new(engine: &Config, hash: u64) -> EngineIdentity {
        EngineIdentity {
            kernel: engine.layout.kernel.clone(),
            hash,
            pipelines: engine.pipelines,
            groups: engine.groups,
            i_banks: engine.i_banks,
            ii: engine.ii,
            jmem_records: engine.jmem_records,
            segments: engine.segments,
            filters: engine.filters,
        }
    }

    /// The engine, for a kernel of that layout, on streams of that width. Its latency does not show on the stream.
    pub fn config(&self, layout: Layout, stream_bits: u32) -> Config {
        Config {
            layout,
            pipelines: self.pipelines,
            groups: self.groups,
            i_banks: self.i_banks,
            jmem_records: self.jmem_records,
            stream_bits,
            segments: self.segments,
            pipeline_latency: 1,
            ii: self.ii,
            ident: None,
            filters: self.filters,
        }
    }

    /// Whether there can be such an engine; the error says what cannot be.
    pub fn verify(&self, stream_bits: u32) -> Result<(), String> {
        self.config(Layout::default(), stream_bits).verify()?;
        // Names are shown to people.
        match self.kernel.chars().find(|c| !c.is_ascii_alphanumeric() && !"_$".contains(*c)) {
            Some(wrong) => Err(format!("the name of a kernel has letters, digits and `_`, not {wrong:?}")),
            None => Ok(()),
        }
    }

    /// Lanes, groups, banks, and the clocks between pairs less one.
    pub(crate) fn lanes(&self) -> [u8; 4] {
        [self.pipelines as u8, self.groups as u8, self.i_banks as u8, (self.ii - 1) as u8]
    }

    pub(crate) fn name(&self) -> [u8; NAME_BYTES] {
        let bytes = self.kernel.as_bytes();
        std::array::from_fn(|k| bytes.get(k).copied().unwrap_or(0))
    }

    /// The capacity of a segment list with the filters above it, and that of the j memory.
    pub(crate) fn sizes(&self) -> [u32; 2] {
        [self.filters << FILTER_SHIFT | self.segments, self.jmem_records]
    }

    /// All of it, low byte first: lanes, sizes, hash, name.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.lanes().to_vec();
        self.sizes().iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(self.hash.to_le_bytes());
        bytes.extend(self.name());
        bytes
    }

    pub(crate) fn decode(lanes: &[u8], sizes: [u32; 2], hash: u64, name: &[u8]) -> EngineIdentity {
        let name: Vec<u8> = name.iter().copied().take_while(|b| *b != 0).collect();
        EngineIdentity {
            kernel: String::from_utf8_lossy(&name).into_owned(),
            hash,
            pipelines: lanes[0] as u32,
            groups: lanes[1] as u32,
            i_banks: lanes[2] as u32,
            ii: lanes[3] as u32 + 1,
            segments: sizes[0] & !(!0 << FILTER_SHIFT),
            filters: sizes[0] >> FILTER_SHIFT,
            jmem_records: sizes[1],
        }
    }

    /// The same from [`Self::bytes`].
    pub(crate) fn of_bytes(bytes: &[u8; ENGINE_BYTES]) -> EngineIdentity {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
        let hash = (word(16) as u64) << 32 | word(12) as u64;
        Self::decode(&bytes[..4], [word(4), word(8)], hash, &bytes[20..])
    }
}

/// The answer of an engine to IDENT.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ident {
    pub engine: EngineIdentity,
    pub stream_bits: u32,
    /// Words of a j record, of an i record, of the parameters and of a result record.
    pub record_words: [u32; 4],
}

/// Bits of the answer's first word in which the words of a beat stand.
const BEAT_SHIFT: u32 = 8;

impl Ident {
    /// That of an engine for a kernel with that hash.
    pub fn new(config: &Config, hash: u64) -> Ident {
        let layout = &config.layout;
        Ident {
            engine: EngineIdentity::new(config, hash),
            stream_bits: config.stream_bits,
            record_words: [layout.j_words(), layout.i_words(), layout.param_words(), layout.result_words()],
        }
    }

    /// The packet that carries it, without its padding.
    pub fn packet(&self) -> [u32; IDENT_WORDS] {
        let bytes = self.engine.bytes();
        let engine = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let head = IDENT_REPLY << 24 | (self.stream_bits / 32) << BEAT_SHIFT | IDENT_VERSION;
        let mut all = std::iter::once(head).chain(engine).chain(self.record_words);
        std::array::from_fn(|_| all.next().expect("the words of an identity"))
    }

    /// The identity in such a packet, whoever sent it: what comes out is within the limits of [`Config::verify`]. The error
    /// says what is wrong with it.
    pub fn parse(packet: &[u32]) -> Result<Ident, String> {
        let head = packet.first().copied().unwrap_or(0);
        if head >> 24 != IDENT_REPLY {
            return Err(format!("it answers {head:#010x} where an engine says what it is"));
        }
        let (version, beat_words) = (head & 0xff, head >> BEAT_SHIFT & 0xff);
        if version != IDENT_VERSION {
            return Err(format!(
                "its engine speaks version {version} of the packets and this program version {IDENT_VERSION}; build it again \
                 with this program"
            ));
        }
        let short = || format!("its identity has {} words, not {IDENT_WORDS}", packet.len());
        // What fills the last beat may have come with it.
        if packet.len() > IDENT_WORDS.next_multiple_of(beat_words.max(1) as usize) {
            return Err(short());
        }
        let words: &[u32; IDENT_WORDS] = packet.first_chunk().ok_or_else(short)?;
        let mut bytes = [0; ENGINE_BYTES];
        for (to, word) in bytes.chunks_exact_mut(4).zip(&words[1..]) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let engine = EngineIdentity::of_bytes(&bytes);
        engine.verify(32 * beat_words).map_err(|e| format!("its engine's identity makes no sense: {e}"))?;
        let record_words = std::array::from_fn(|k| words[1 + ENGINE_BYTES / 4 + k]);
        Ok(Ident { engine, stream_bits: 32 * beat_words, record_words })
    }
}
