//! The registers of the wrapper: what its Verilog, its C header, its packages and the documentation have in common.

/// A register of 32 bits.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// Its name in capitals, as constants end.
    pub name: &'static str,
    /// Its address in bytes.
    pub offset: u32,
    /// Its value when it is read, as Verilog of `control.v`.
    read: &'static str,
    /// The register there that writing changes as a whole, and its bits; others act on what is written.
    held: Option<(&'static str, u32)>,
    /// Its name and bits as an argument of a job; a second half has none of its own.
    pub argument: Option<(&'static str, u32)>,
    /// One line for documentation.
    pub doc: &'static str,
}

const fn register(name: &'static str, offset: u32, read: &'static str, doc: &'static str) -> Register {
    Register { name, offset, read, held: None, argument: None, doc }
}

impl Register {
    const fn held(self, name: &'static str, bits: u32) -> Register {
        Register { held: Some((name, bits)), ..self }
    }

    const fn argument(self, name: &'static str, bits: u32) -> Register {
        Register { argument: Some((name, bits)), ..self }
    }

    /// Its address in hexadecimal.
    pub fn hex(&self) -> String {
        format!("{:02x}", self.offset)
    }
}

/// All of them. Up to 0x0c they are those of Vitis for kernels with `ap_ctrl_hs`.
#[rustfmt::skip]
pub const REGISTERS: &[Register] = &[
    register("CONTROL", 0x00, "{28'd0, done, state == IDLE, done, started}", "bit 0 start; 1 done, until it is read; 2 idle; 3 ready, as done"),
    register("INTERRUPTS", 0x04, "{31'd0, interrupts}", "bit 0 enables `interrupt`").held("interrupts", 1),
    register("ENABLED", 0x08, "{30'd0, enabled}", "what raises an interrupt: bit 0 done, 1 ready").held("enabled", 2),
    register("RAISED", 0x0c, "{30'd0, raised}", "what has raised it; a 1 that is written turns its bit over"),
    register("COMMANDS", 0x10, "commands[31:0]", "address of the commands, low half").held("commands[31:0]", 32).argument("commands", 64),
    register("COMMANDS_HIGH", 0x14, "commands[63:32]", "its high half").held("commands[63:32]", 32),
    register("RESULTS", 0x1c, "results[31:0]", "address of the results, low half").held("results[31:0]", 32).argument("results", 64),
    register("RESULTS_HIGH", 0x20, "results[63:32]", "its high half").held("results[63:32]", 32),
    register("COMMAND_BYTES", 0x28, "command_bytes", "bytes of the commands").held("command_bytes", 32).argument("command_bytes", 32),
    register("RESULT_BYTES", 0x30, "result_bytes", "bytes that the results may take").held("result_bytes", 32).argument("result_bytes", 32),
    register("STATUS", 0x38, "status", "faults of the last job; 0 if there are none"),
    register("WRITTEN", 0x3c, "{misplaced ? 30'd0 : written_words, 2'd0}", "bytes of results, in whole packets"),
    register("TAKEN", 0x40, "{misplaced ? 30'd0 : taken_words, 2'd0}", "bytes of commands that the engine has taken, in whole packets"),
    register("RESET", 0x44, "{31'd0, (state == DRAIN) | (state == RESET)}", "bit 0 resets the engine and ends the job, once its bursts have ended; 1 until then"),
];

/// A fault of a job: its name in capitals, and the sentence that says it. The first one is bit 0 of STATUS.
pub const FAULTS: [(&str, &str); 6] = [
    ("MALFORMED", "a count of words in the commands is 0, above 2^24, or beyond their end"),
    ("FULL", "the results had no room for a packet, and it and those behind it were dropped"),
    ("READ_ERROR", "the commands could not be read"),
    ("WRITE_ERROR", "the results could not be written"),
    ("PROTOCOL_ERROR", "the engine was sent a packet that breaks the protocol since its errors were last cleared"),
    ("MISPLACED", "an address is no multiple of the masters' data, or a number of bytes no multiple of 4"),
];

/// A register as `control.v` has it.
pub(super) struct Written {
    pub name: &'static str,
    pub offset: u32,
    pub hex: String,
    pub read: &'static str,
    pub held: Option<&'static str>,
    pub bits: u32,
}

/// All of them.
pub(super) fn written() -> Vec<Written> {
    let of = |r: &Register| Written {
        name: r.name,
        offset: r.offset,
        hex: r.hex(),
        read: r.read,
        held: r.held.map(|h| h.0),
        bits: r.held.map_or(32, |h| h.1),
    };
    REGISTERS.iter().map(of).collect()
}
