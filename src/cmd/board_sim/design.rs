//! The design to simulate: the Verilog that `synth` or `build` has left in a folder.

use crate::manifest::{Manifest, Several};
use flow::FlowError;
use flow::summary::Summary;
use fmm::shown::shown;
use hdl::board::{Board, gigabit, network, pll, top};
use hdl::engine::{Config, outline};
use hdl::ethernet::{self, board::HOLD};
use hdl::rtl::names::is_plain;
use hdl::rtl::netlist::{Module, Netlist};
use hdl::serial::{self, Identity};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sim::verilator::foreign_word;
use std::path::Path;
use terminal::failure::Failure;
use terminal::input;
use terminal::output;

/// A board's design as text, with the clock of a simulation.
pub struct Design {
    pub kernel: String,
    pub pipelines: u32,
    pub verilog: String,
    pub top: String,
    pub mhz: f64,
    pub baud: u32,
}

/// Where `synth` leaves the text that it gave to the tools.
const SYNTHESISED: &str = "synth_work/design.v";

/// Reads what `synth` made for this board; else puts the engine that `build` made on the board.
pub fn load(board: &'static Board, dir: &Path, baud: Option<u32>) -> Result<Design, Failure> {
    if !dir.is_dir() {
        let make =
            format!("make it with `pairforge synth FILE --board {} -o DIR`, or with `pairforge build`", board.name);
        return Err(Failure::file(dir, format!("is no folder; {make}")));
    }
    if dir.join("synth.json").exists() { synthesised(board, dir, baud) } else { built(board, dir, baud) }
}

fn synthesised(board: &'static Board, dir: &Path, baud: Option<u32>) -> Result<Design, Failure> {
    let (said, text) = said(board, dir)?;
    if said.ethernet.is_some() {
        return Err(Failure::file(&dir.join("synth.json"), "has a link over Ethernet; simulate it with --ethernet"));
    }
    if baud.is_some_and(|b| b != board.baud) {
        let text = format!("the baud rate of a synthesised design is {}; --baud needs a folder of `build`", board.baud);
        return Err(Failure::Usage(text));
    }
    let verilog = without(&text, &top::clock_name(&said.kernel)).ok_or_else(|| again(dir))?;
    let verilog = verilog + &top::simulated_clock(&said.kernel, board).verilog();
    let mhz = said.clock_mhz.unwrap_or(said.mhz);
    Ok(design_of(&said, verilog, top::name(&said.kernel, board), (mhz, board.baud)))
}

/// The engines that a folder of `build` holds.
struct Engines {
    /// Each with the hash of its kernel.
    engines: Vec<(Config, u64)>,
    /// Name of the module that holds them.
    top: String,
    clock: pll::Source,
    mhz: f64,
    verilog: String,
}

/// The manifest that `build` writes for one kernel, or for several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Built {
    Several(Several),
    One(Box<Manifest>),
}

fn engines(board: &'static Board, dir: &Path) -> Result<Engines, Failure> {
    let path = dir.join("manifest.json");
    let wrong = |e: String| Failure::file(&path, e);
    let (manifests, top, mhz, files) = match read(&path)? {
        Built::One(mut m) => {
            let (top, mhz, files) = (m.top.clone(), m.mhz, std::mem::take(&mut m.verilog));
            (vec![*m], top, mhz, files)
        }
        Built::Several(all) => (all.kernels, all.top, all.mhz, all.verilog),
    };
    let mut engines = Vec::new();
    for m in &manifests {
        let config = m.config();
        config.verify().map_err(wrong)?;
        if config.stream_bits != manifests[0].stream_bits {
            return Err(wrong("has streams of several widths behind one link".into()));
        }
        if let Some(name) = [&m.kernel, &top].into_iter().find(|n| !is_plain(n)) {
            return Err(wrong(format!("`{}` is no name of a module", shown(name))));
        }
        let no_hash = |_| wrong(format!("`{}` is no hash of a kernel", shown(&m.hash)));
        engines.push((config, u64::from_str_radix(&m.hash, 16).map_err(no_hash)?));
    }
    let (clock, mhz) = board.pll.source(board.oscillator_mhz, mhz).map_err(wrong)?;
    let verilog = verilog(dir, &top, files)?;
    Ok(Engines { engines, top, clock, mhz, verilog })
}

impl Engines {
    /// The identity that the board reports; at a baud rate of 0 it is on the network.
    fn identity(&self, dir: &Path, baud: u32) -> Result<Identity, Failure> {
        let engines: Vec<(&Config, u64)> = self.engines.iter().map(|(config, hash)| (config, *hash)).collect();
        let identity = Identity::new(&engines, (self.mhz * 1e6).round() as u32, baud);
        let identity = if baud == 0 { identity.over_ethernet() } else { identity };
        identity.verify().map_err(|e| Failure::file(&dir.join("manifest.json"), e))?;
        Ok(identity)
    }

    fn parts<'a>(&'a self, board: &'static Board, identity: &'a Identity, link: &'a Netlist) -> top::Parts<'a> {
        top::Parts {
            board,
            kernel: identity.prefix(),
            engine: &self.top,
            engines: self.engines.len() as u32,
            stream_bits: identity.stream_bits,
            link,
            clock: self.clock,
            mhz: self.mhz,
        }
    }

    /// With what is around the engines.
    fn design(self, around: Netlist, identity: &Identity) -> Result<Design, Failure> {
        self.design_around(around, identity, &[])
    }

    /// The same with modules around whose text is elsewhere.
    fn design_around(self, around: Netlist, identity: &Identity, outside: &[Module]) -> Result<Design, Failure> {
        let outside = [&[outline(&self.top, identity.stream_bits)], outside].concat();
        let names: Vec<&str> = identity.engines.iter().map(|e| e.kernel.as_str()).collect();
        Ok(Design {
            verilog: self.verilog + &around.verilog_around(&outside)?,
            top: around.top,
            kernel: names.join(", "),
            pipelines: identity.engines.iter().map(|e| e.pipelines).sum(),
            mhz: self.mhz,
            baud: identity.baud,
        })
    }
}

/// The Verilog of what `build` made, of one file or of one for each module.
fn verilog(dir: &Path, top: &str, files: Vec<String>) -> Result<String, Failure> {
    let files = if files.is_empty() { vec![format!("{top}.v")] } else { files };
    let text = |name: &String| match name.strip_suffix(".v").is_some_and(is_plain) {
        true => verilog_file(&dir.join(name)),
        false => Err(Failure::file(&dir.join("manifest.json"), format!("`{}` is no file of a module", shown(name)))),
    };
    files.iter().map(text).collect()
}

/// A file of a design, which may come from anybody.
fn verilog_file(path: &Path) -> Result<String, Failure> {
    let text = input::text(path, "")?;
    match foreign_word(&text) {
        None => Ok(text),
        Some((line, word)) => Err(Failure::file(
            path,
            format!(
                "line {line} has `{word}`, which no design of this program has, and which can run or change what it likes; \
                 make the folder anew with `pairforge build` or `pairforge synth`"
            ),
        )),
    }
}

fn built(board: &'static Board, dir: &Path, baud: Option<u32>) -> Result<Design, Failure> {
    let engines = engines(board, dir)?;
    let identity = engines.identity(dir, baud.unwrap_or(board.baud))?;
    let link = serial::netlist(&identity);
    let mut around = top::around(&engines.parts(board, &identity, &link));
    around.extend([top::simulated_clock(identity.prefix(), board)]);
    engines.design(around, &identity)
}

/// An engine without a board around it.
pub struct Engine {
    pub design: Design,
    pub stream_bits: u32,
}

/// The engine of a folder of `build`, at the clock that it would have on the board.
pub fn alone(board: &'static Board, dir: &Path) -> Result<Engine, Failure> {
    if dir.join("synth.json").exists() || !dir.is_dir() {
        return Err(Failure::file(dir, "is no folder of `pairforge build`, whose engine has no link in front of it"));
    }
    let found = engines(board, dir)?;
    let [(config, _)] = &found.engines[..] else {
        let path = dir.join("manifest.json");
        return Err(Failure::file(&path, "has several kernels; build one for each stream of bytes"));
    };
    let design = Design {
        kernel: config.layout.kernel.clone(),
        pipelines: config.pipelines,
        verilog: found.verilog,
        top: found.top,
        mhz: found.mhz,
        baud: 0,
    };
    Ok(Engine { design, stream_bits: config.stream_bits })
}

/// Where the simulation of a board on the network begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pins {
    Gmii,
    /// The words of datagrams.
    Words,
}

/// The design behind the link over Ethernet in a folder of `build` or `synth`, without what is a board's own; from GMII on unless it is
/// to be at the words, or the network's core cannot be made, which is reported. With it come the clocks after which a silent host may lose
/// the board: `hold`, unless `synth` has fixed them.
pub fn networked(board: &'static Board, dir: &Path, hold: u64, words: bool) -> Result<(Design, Pins, u64), Failure> {
    if dir.join("synth.json").exists() {
        return networked_synthesised(board, dir, words);
    }
    if !dir.is_dir() {
        return Err(Failure::file(dir, "is no folder of `pairforge build` or of `pairforge synth --ethernet`"));
    }
    let engines = engines(board, dir)?;
    let identity = engines.identity(dir, 0)?;
    let core = if words { None } else { network_core(identity.prefix())? };
    let link = ethernet::netlist_that_holds(&identity, hold);
    let around = network::around(&engines.parts(board, &identity, &link));
    let Some(core) = core else { return Ok((engines.design(around, &identity)?, Pins::Words, hold)) };
    let around = gigabit::on_wire(identity.prefix(), around);
    let mut design = engines.design_around(around, &identity, &[ethernet::core::outline(identity.prefix())])?;
    design.verilog += &core;
    Ok((design, Pins::Gmii, hold))
}

/// The network's core, if what it is made of is there.
fn network_core(prefix: &str) -> Result<Option<String>, Failure> {
    match flow::core::network_core(&crate::cmd::tools(), prefix) {
        Ok(text) => Ok(Some(text)),
        Err(e @ FlowError::ToolMissing { .. }) => {
            output::tell(&format!("note: {e}; the board is simulated without it\n"));
            Ok(None)
        }
        Err(e) => Err(e.into()),
    }
}

fn networked_synthesised(board: &'static Board, dir: &Path, words: bool) -> Result<(Design, Pins, u64), Failure> {
    let (said, text) = said(board, dir)?;
    if said.ethernet.is_none() {
        return Err(Failure::file(&dir.join("synth.json"), "has a serial line; synthesise the kernel with --ethernet"));
    }
    let mhz = said.clock_mhz.unwrap_or(said.mhz);
    let (pins, top) = match words {
        true => (Pins::Words, network::name(&said.kernel)),
        false => (Pins::Gmii, gigabit::name(&said.kernel)),
    };
    // What a board has of vendors' primitives.
    let own = [top::clock_name(&said.kernel), gigabit::rgmii_name(&said.kernel), top::name(&said.kernel, board)];
    let verilog = own.iter().try_fold(text, |text, module| without(&text, module)).ok_or_else(|| again(dir))?;
    let hold = (HOLD.as_secs_f64() * mhz * 1e6) as u64;
    Ok((design_of(&said, verilog, top, (mhz, 0)), pins, hold))
}

/// The summary of `synth` in its folder for this board, and the text that it gave to the tools.
fn said(board: &'static Board, dir: &Path) -> Result<(Summary, String), Failure> {
    let path = dir.join("synth.json");
    let said: Summary = read(&path)?;
    let (Some(name), Some(_)) = (&said.board, said.clock_mhz) else {
        return Err(Failure::file(&path, format!("is of no board; use `pairforge synth FILE --board {}`", board.name)));
    };
    if name != board.name {
        return Err(Failure::file(&path, format!("is for the board {}, not {}", shown(name), board.name)));
    }
    Ok((said, verilog_file(&dir.join(SYNTHESISED))?))
}

fn again(dir: &Path) -> Failure {
    Failure::file(&dir.join(SYNTHESISED), "lacks a module of this board; synthesise the kernel again")
}

fn design_of(said: &Summary, verilog: String, top: String, (mhz, baud): (f64, u32)) -> Design {
    Design {
        verilog,
        top,
        pipelines: said.engines().iter().map(|e| e.pipelines).sum(),
        kernel: said.engines().iter().map(|e| e.kernel.clone()).collect::<Vec<_>>().join(", "),
        mhz,
        baud,
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let text = input::text(path, "")?;
    serde_json::from_str(&text).map_err(|e| Failure::file(path, format!("is not what this program writes: {e}")))
}

/// The text without a module.
fn without(text: &str, module: &str) -> Option<String> {
    let start = text.find(&format!("\nmodule {module} ("))? + 1;
    let end = start + text[start..].find("\nendmodule\n")? + "\nendmodule\n".len();
    Some(text[..start].to_string() + &text[end..])
}
