//! What is simulated: the Verilog that `synth` or `build` has left in a folder.

use crate::failure::Failure;
use crate::input;
use crate::manifest::Manifest;
use flow::summary::Summary;
use hdl::board::{Board, network, pll, top};
use hdl::engine::{Config, outline};
use hdl::ethernet;
use hdl::rtl::names::is_identifier;
use hdl::serial::{self, Identity};
use pg2::report::shown::shown;
use serde::de::DeserializeOwned;
use std::path::Path;

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
    let path = dir.join("synth.json");
    let said: Summary = read(&path)?;
    let (Some(name), Some(mhz)) = (said.board, said.clock_mhz) else {
        return Err(Failure::file(&path, format!("is of no board; use `pairforge synth FILE --board {}`", board.name)));
    };
    if name != board.name {
        return Err(Failure::file(&path, format!("is for the board {}, not {}", shown(&name), board.name)));
    }
    if baud.is_some_and(|b| b != board.baud) {
        let text = format!("the baud rate of a synthesised design is {}; --baud needs a folder of `build`", board.baud);
        return Err(Failure::Usage(text));
    }
    let path = dir.join(SYNTHESISED);
    let text = input::text(&path, "")?;
    let clock = top::clock_name(&said.kernel);
    let verilog = without(&text, &clock)
        .ok_or_else(|| Failure::file(&path, format!("has no module {clock}; synthesise the kernel again")))?;
    Ok(Design {
        verilog: verilog + &top::simulated_clock(&said.kernel).verilog(),
        top: top::name(&said.kernel, board),
        kernel: said.kernel,
        pipelines: said.pipelines,
        mhz,
        baud: board.baud,
    })
}

/// The engine that a folder of `build` holds.
struct Engine {
    manifest: Manifest,
    config: Config,
    hash: u64,
    clock: pll::Source,
    mhz: f64,
    verilog: String,
}

fn engine(board: &'static Board, dir: &Path) -> Result<Engine, Failure> {
    let path = dir.join("manifest.json");
    let m: Manifest = read(&path)?;
    let wrong = |e: String| Failure::file(&path, e);
    let config = m.config();
    config.verify().map_err(wrong)?;
    if let Some(name) = [&m.kernel, &m.top].into_iter().find(|n| !is_identifier(n)) {
        return Err(wrong(format!("`{}` is no name of a module", shown(name))));
    }
    let hash =
        u64::from_str_radix(&m.hash, 16).map_err(|_| wrong(format!("`{}` is no hash of a kernel", shown(&m.hash))))?;
    let (clock, mhz) = board.pll.source(board.oscillator_mhz, m.mhz).map_err(wrong)?;
    let verilog = verilog(dir, &m)?;
    Ok(Engine { manifest: m, config, hash, clock, mhz, verilog })
}

/// The engine's Verilog, of one file or of one for each module.
fn verilog(dir: &Path, manifest: &Manifest) -> Result<String, Failure> {
    let one = [format!("{}.v", manifest.top)];
    let files = if manifest.verilog.is_empty() { &one[..] } else { &manifest.verilog };
    let text = |name: &String| match name.strip_suffix(".v").is_some_and(is_identifier) {
        true => input::text(&dir.join(name), ""),
        false => Err(Failure::file(&dir.join("manifest.json"), format!("`{}` is no file of a module", shown(name)))),
    };
    files.iter().map(text).collect()
}

fn built(board: &'static Board, dir: &Path, baud: Option<u32>) -> Result<Design, Failure> {
    let Engine { manifest: m, config, hash, clock, mhz, verilog } = engine(board, dir)?;
    let baud = baud.unwrap_or(board.baud);
    let identity = Identity::new(&config, hash, (mhz * 1e6).round() as u32, baud);
    identity.verify().map_err(|e| Failure::file(&dir.join("manifest.json"), e))?;
    let (kernel, link) = (m.kernel.as_str(), serial::netlist(&identity));
    let parts = top::Parts { board, kernel, engine: &m.top, stream_bits: m.stream_bits, link: &link, clock, mhz };
    let mut around = top::around(&parts);
    around.modules.push(top::simulated_clock(kernel));
    Ok(Design {
        verilog: verilog + &around.verilog_around(&[outline(&m.top, m.stream_bits)])?,
        top: around.top,
        kernel: m.kernel,
        pipelines: m.pipelines,
        mhz,
        baud,
    })
}

/// The engine that `build` made behind the link over Ethernet, without what is a board's own. `hold` is the number of clocks
/// after which a silent host may lose the board.
pub fn networked(board: &'static Board, dir: &Path, hold: u64) -> Result<Design, Failure> {
    if !dir.is_dir() || dir.join("synth.json").exists() {
        return Err(Failure::file(dir, "is no folder of `pairforge build`, which --ethernet needs"));
    }
    let Engine { manifest: m, config, hash, clock, mhz, verilog } = engine(board, dir)?;
    let identity = Identity::new(&config, hash, (mhz * 1e6).round() as u32, 0).over_ethernet();
    identity.verify().map_err(|e| Failure::file(&dir.join("manifest.json"), e))?;
    let (kernel, link) = (m.kernel.as_str(), ethernet::netlist_that_holds(&identity, hold));
    let parts = top::Parts { board, kernel, engine: &m.top, stream_bits: m.stream_bits, link: &link, clock, mhz };
    let around = network::around(&parts);
    Ok(Design {
        verilog: verilog + &around.verilog_around(&[outline(&m.top, m.stream_bits)])?,
        top: around.top,
        kernel: m.kernel,
        pipelines: m.pipelines,
        mhz,
        baud: 0,
    })
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
