//! The engine's replies, parsed: any words give a reply or an error, never a panic.

use super::{Counters, END_REPLY, IDENT_REPLY, Ident, RESULT, STATUS_REPLY, reply_words};
use crate::Flags;
use crate::engine::Config;

/// A packet from the engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// The results of one group: `n` records of output patterns, one behind the other, and each target's flags.
    Result { tag: u32, n: u32, flags: Vec<Flags>, records: Vec<u64> },
    /// The counters.
    Status(Counters),
    /// Everything before END is done.
    End,
    /// The engine's identity.
    Ident(Ident),
}

impl Reply {
    /// Reads one packet, with or without its beat padding. The error says what is wrong with it.
    pub fn parse(words: &[u32], config: &Config) -> Result<Reply, String> {
        let header = *words.first().ok_or("a packet without words came from the engine")?;
        let length = reply_words(header, config)
            .ok_or_else(|| format!("the engine sent the unknown packet header {header:#010x}"))?;
        if words.len() < length || words.len() > length.next_multiple_of(config.beat_words() as usize) {
            return Err(format!("a packet {header:#010x} of {} words instead of {length}", words.len()));
        }
        match header >> 24 {
            RESULT => Self::result(&words[..length], config),
            STATUS_REPLY => {
                let long = |k: usize| (words[k + 1] as u64) << 32 | words[k] as u64;
                let protocol_error = header & 1 == 1;
                Ok(Reply::Status(Counters { cycles: long(1), busy: long(3), pairs: long(5), protocol_error }))
            }
            END_REPLY => Ok(Reply::End),
            IDENT_REPLY => Ident::parse(words).map(Reply::Ident),
            opcode => Err(format!("unknown opcode {opcode:#x}")),
        }
    }

    fn result(words: &[u32], config: &Config) -> Result<Reply, String> {
        let n = words[0] & 0xff_ffff;
        let head = config.result_head_words() as usize;
        let flags: Vec<Flags> = (0..n as usize).map(|k| Flags((words[2 + k / 4] >> (8 * (k % 4))) as u8)).collect();
        if let Some(wrong) = flags.iter().find(|f| f.0 >> Flags::COUNT != 0) {
            return Err(format!("flags {:#04x} do not exist", wrong.0));
        }
        let packing = config.layout.result_packing();
        let mut records = Vec::with_capacity(n as usize * packing.elements());
        for record in words[head..].chunks_exact(packing.words()) {
            packing.unpack(record, &mut records);
        }
        Ok(Reply::Result { tag: words[1], n, flags, records })
    }
}
