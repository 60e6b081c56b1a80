//! Frames: what is on the line between two flags.
//!
//! | bytes | field | meaning |
//! |---|---|---|
//! | 1 | kind, session | bits 7..6 the [`FrameType`], bits 5..0 the session's tag |
//! | 1 | length | bytes of payload, 0 to 255 |
//! | 2 | seq | offset in the sender's stream of the first byte of payload, or of the next one to come |
//! | 2 | ack | offset of the byte that the sender of this frame expects next |
//! | 2 | taken | offset up to which it has passed on what it received |
//! | length | payload | |
//! | 4 | check | CRC-32 (that of Ethernet) over all of the above |
//!
//! Numbers have their low byte first; offsets count bytes modulo 2^16. On the line a frame stands between two flags,
//! and a flag or an escape inside it is replaced by an escape and the byte with bit 5 turned over (RFC 1662).

/// Before and behind every frame.
pub const FLAG: u8 = 0x7e;
/// Before a byte of which bit 5 is turned over.
pub const ESCAPE: u8 = 0x7d;
/// Most payload bytes of a frame.
pub const MOST: usize = 255;
/// Bytes of a frame besides its payload, flags not counted.
pub const HEADER: usize = 8;
/// Bytes of the check.
pub const CHECK: usize = 4;
/// The CRC-32 polynomial, low bit first.
pub const POLYNOMIAL: u32 = 0xedb8_8320;
/// The state of the CRC register after a whole frame with its check.
pub const RESIDUE: u32 = 0xdebb_20e3;

/// The type of a frame. All but [`FrameType::Start`] may carry payload of the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameType {
    /// Payload, or an acknowledgement alone.
    Data,
    /// To the board: please answer. From the board: a frame before this one was lost.
    Notice,
    /// To the board: answer, and send again what is not acknowledged.
    Rewind,
    /// To the board: SYNC, a new session, with a nonce. From the board: the answer, with nonce and identity.
    Start,
}

impl FrameType {
    fn from_bits(bits: u8) -> FrameType {
        [FrameType::Data, FrameType::Notice, FrameType::Rewind, FrameType::Start][(bits & 3) as usize]
    }
}

/// A frame without its check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    pub kind: FrameType,
    /// 1 to 63; 0 is a board without a session.
    pub session: u8,
    pub seq: u16,
    pub ack: u16,
    pub taken: u16,
    pub payload: Vec<u8>,
}

/// The CRC register after one more byte; it starts as all ones.
pub fn crc(register: u32, byte: u8) -> u32 {
    register >> 8 ^ STEPS[0][(register as u8 ^ byte) as usize]
}

/// The CRC register after all of `bytes`, four at a time.
pub fn crc_of(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(4);
    let rest = words.remainder();
    let register = words.fold(u32::MAX, |register, word| {
        let [a, b, c, d] = (register ^ u32::from_le_bytes([word[0], word[1], word[2], word[3]])).to_le_bytes();
        STEPS[3][a as usize] ^ STEPS[2][b as usize] ^ STEPS[1][c as usize] ^ STEPS[0][d as usize]
    });
    rest.iter().fold(register, |register, byte| crc(register, *byte))
}

/// `STEPS[k][b]`: what byte `b` makes of a register of zeros, with `k` bytes of zeros behind it.
static STEPS: [[u32; 256]; 4] = steps();

const fn steps() -> [[u32; 256]; 4] {
    let mut table = [[0; 256]; 4];
    let mut at = 0;
    while at < 4 * 256 {
        let (k, byte) = (at / 256, at % 256);
        let mut register = if k == 0 { byte as u32 } else { table[k - 1][byte] };
        let mut bit = 0;
        while bit < 8 {
            register = (register >> 1) ^ if register & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        table[k][byte] = register;
        at += 1;
    }
    table
}

impl Frame {
    /// The bytes on the line, flags and stuffing included.
    pub fn encode(&self) -> Vec<u8> {
        let mut plain = Vec::with_capacity(HEADER + self.payload.len() + CHECK);
        plain.push((self.kind as u8) << 6 | self.session & 0x3f);
        plain.push(u8::try_from(self.payload.len()).expect("a frame has at most 255 bytes of payload"));
        for field in [self.seq, self.ack, self.taken] {
            plain.extend(field.to_le_bytes());
        }
        plain.extend(&self.payload);
        let check = !crc_of(&plain);
        plain.extend(check.to_le_bytes());
        let mut line = vec![FLAG];
        for byte in plain {
            match byte {
                FLAG | ESCAPE => line.extend([ESCAPE, byte ^ 0x20]),
                _ => line.push(byte),
            }
        }
        line.push(FLAG);
        line
    }

    /// A frame from what stood between two flags, stuffing undone; `None` unless it is whole.
    fn decode(plain: &[u8]) -> Option<Frame> {
        let (head, rest) = plain.split_first_chunk::<HEADER>()?;
        let whole = rest.len() == head[1] as usize + CHECK;
        let check = crc_of(plain);
        if !whole || check != RESIDUE {
            return None;
        }
        let field = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        Some(Frame {
            kind: FrameType::from_bits(head[0] >> 6),
            session: head[0] & 0x3f,
            seq: field(2),
            ack: field(4),
            taken: field(6),
            payload: rest[..head[1] as usize].to_vec(),
        })
    }
}

/// The content between two flags.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Received {
    Whole(Frame),
    /// Anything else that was not empty.
    Broken,
}

/// Finds frames in a stream of bytes.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    plain: Vec<u8>,
    escaped: bool,
}

impl Decoder {
    /// Takes a byte of the line; gives what a flag ended.
    pub fn take(&mut self, byte: u8) -> Option<Received> {
        match byte {
            FLAG => {
                let plain = std::mem::take(&mut self.plain);
                let escaped = std::mem::take(&mut self.escaped);
                let frame = if escaped { None } else { Frame::decode(&plain) };
                (!plain.is_empty()).then(|| frame.map_or(Received::Broken, Received::Whole))
            }
            ESCAPE => {
                self.escaped = true;
                None
            }
            _ => {
                // No frame is longer; what is cannot become whole, however long its flag is in coming.
                if self.plain.len() <= HEADER + MOST + CHECK {
                    self.plain.push(byte ^ if self.escaped { 0x20 } else { 0 });
                }
                self.escaped = false;
                None
            }
        }
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
