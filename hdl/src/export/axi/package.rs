//! Files around the wrapper's Verilog: its driver in C, and what makes it a kernel of Vitis.

use super::{COMMANDS, CONTROL, FAULTS, REGISTERS, RESULTS, Register, Wrapper};
use crate::engine::protocol::Ident;
use crate::export::{Text, text};
use askama::Template;

/// Bytes of a kernel's name that an engine says.
const NAME_BYTES: usize = 28;

/// The files of a wrapper.
pub struct Package<'a> {
    pub wrapper: Wrapper<'a>,
    pub hash: u64,
    /// Names of all Verilog files, those of the engine and of the wrapper.
    pub files: &'a [String],
    /// Of this program.
    pub version: &'a str,
}

#[derive(Template)]
#[template(path = "export/axi.h", escape = "none")]
struct Driver<'a> {
    made: String,
    top: &'a str,
    kernel: String,
    guard: String,
    registers: &'static [Register],
    faults: [(&'static str, &'static str); FAULTS.len()],
    beat_words: u32,
    lanes: u32,
    groups: u32,
    j_records: u32,
    segments: u32,
    j_words: u32,
    i_words: u32,
    param_words: u32,
    result_words: u32,
    hash: String,
}

#[derive(Template)]
#[template(path = "export/kernel.xml", escape = "none")]
struct Kernel<'a> {
    made: String,
    top: &'a str,
    data_bits: u32,
    control: &'static str,
    commands: &'static str,
    results: &'static str,
    arguments: Vec<Argument>,
}

/// An argument of a job.
struct Argument {
    name: &'static str,
    bits: u32,
    hex: String,
    /// The interface that uses it.
    port: &'static str,
}

#[derive(Template)]
#[template(path = "export/vitis.tcl", escape = "none")]
struct Vitis<'a> {
    made: String,
    top: &'a str,
    files: &'a [String],
    control: &'static str,
    commands: &'static str,
    results: &'static str,
}

impl Package<'_> {
    /// The driver in C, the description of a kernel of Vitis, and the script that packages it.
    pub fn texts(&self) -> Vec<Text> {
        let top = &self.wrapper.top();
        vec![
            text(format!("{top}.h"), self.driver(top).render()),
            text(format!("{top}_kernel.xml"), self.kernel(top).render()),
            text(format!("{top}_vitis.tcl"), self.vitis(top).render()),
        ]
    }

    fn made(&self) -> String {
        format!("Made by pairforge {}", self.version)
    }

    fn driver<'t>(&self, top: &'t str) -> Driver<'t> {
        let config = self.wrapper.config;
        let ident = Ident::new(config, self.hash);
        let [j_words, i_words, param_words, result_words] = ident.record_words;
        Driver {
            made: self.made(),
            top,
            // As long as the engine itself says it.
            kernel: ident.engine.kernel.chars().take(NAME_BYTES).collect(),
            guard: format!("{}_H", top.to_ascii_uppercase()),
            registers: REGISTERS,
            faults: FAULTS,
            beat_words: config.beat_words(),
            lanes: config.lanes(),
            groups: config.groups,
            j_records: config.jmem_records,
            segments: config.segments,
            j_words,
            i_words,
            param_words,
            result_words,
            hash: format!("{:016x}", self.hash),
        }
    }

    fn kernel<'t>(&self, top: &'t str) -> Kernel<'t> {
        let argument = |r: &Register| {
            let (name, bits) = r.argument?;
            let port = match name {
                "commands" => COMMANDS,
                "results" => RESULTS,
                _ => CONTROL,
            };
            Some(Argument { name, bits, hex: r.hex(), port })
        };
        Kernel {
            made: self.made(),
            top,
            data_bits: self.wrapper.data_bits,
            control: CONTROL,
            commands: COMMANDS,
            results: RESULTS,
            arguments: REGISTERS.iter().filter_map(argument).collect(),
        }
    }

    fn vitis<'t>(&'t self, top: &'t str) -> Vitis<'t> {
        Vitis { made: self.made(), top, files: self.files, control: CONTROL, commands: COMMANDS, results: RESULTS }
    }
}
