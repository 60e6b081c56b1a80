//! `pairforge deploy`: a bitstream onto its board, through openFPGALoader.

use super::board;
use flow::summary::Summary;
use fmm::shown::shown;
use hdl::board::Board;
use sim::SimError;
use sim::ask::on_path;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use terminal::failure::Failure;
use terminal::files::Files;
use terminal::input;
use terminal::say;

#[derive(clap::Args)]
pub struct Args {
    /// Folder that `pairforge synth FILE --board BOARD -o DIR` has written
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The folder of the board, where it is one of your own (see `pairforge board new`)
    #[arg(long, value_name = "BOARD")]
    board: Option<String>,
    /// Print the command instead of running it
    #[arg(long)]
    dry_run: bool,
    /// Write the board's flash memory, so that the design is there after power-on too
    #[arg(long)]
    flash: bool,
}

impl Args {
    pub fn files(&self) -> Files {
        Files::default().made("DIR", [&self.dir])
    }
}

/// Name of the loader, and how to get it.
pub const TOOL: &str = "openFPGALoader";
pub const HOW: &str = "apt install openfpgaloader";

/// Finds the bitstream and its board, and loads it.
pub fn run(args: Args) -> Result<(), Failure> {
    let (board, bitstream) = find(&args.dir, args.board.as_deref())?;
    let mut words: Vec<String> = board.loader.iter().map(|w| w.to_string()).collect();
    if args.flash {
        words.push("--write-flash".into());
    }
    words.push(bitstream.display().to_string());
    if args.dry_run {
        say!("{TOOL} {}", words.iter().map(|w| quoted(w)).collect::<Vec<_>>().join(" "))?;
        return Ok(());
    }
    load(board, &words)
}

/// The board that the folder's bitstream is for, and the bitstream's file.
fn find(dir: &Path, own: Option<&str>) -> Result<(&'static Board, PathBuf), Failure> {
    const MAKE: &str = "make it with `pairforge synth FILE --board BOARD -o DIR`";
    let path = dir.join("synth.json");
    if !path.exists() {
        return Err(Failure::file(dir, format!("holds no synth.json, and so no bitstream; {MAKE}")));
    }
    let text = input::text(&path, "")?;
    let said =
        Summary::parse(&text).map_err(|e| Failure::file(&path, format!("is no description of a synthesis: {e}")))?;
    let name = said.board.ok_or_else(|| Failure::file(&path, format!("names no board; {MAKE}")))?;
    let board = match own {
        Some(word) => board::find(word)?,
        None => hdl::board::board(&name).ok_or_else(|| {
            let text = format!("names the board `{}`; name the folder of a board of your own by --board", shown(&name));
            Failure::file(&path, text)
        })?,
    };
    if board.name != name {
        return Err(Failure::file(
            &path,
            format!("is for the board `{}`, not for {}; {MAKE}", shown(&name), board.name),
        ));
    }
    if said.device.as_deref().is_some_and(|d| d != board.device.name) {
        let text = format!("is for a device that {name} has not ({}); {MAKE}", board.device.name);
        return Err(Failure::file(&path, text));
    }
    if let (Some(clock), Some(fmax)) = (said.clock_mhz, said.fmax_mhz)
        && fmax < clock
    {
        let text = format!(
            "the design runs at {clock} MHz and is only sure to work up to {fmax:.1}; synthesise it again with \
             `--freq {}`",
            fmax.floor()
        );
        return Err(Failure::file(&path, text));
    }
    if !said.untimed.is_empty() {
        let kinds = shown(&said.untimed.join(", "));
        return Err(Failure::file(&path, format!("the design has paths through {kinds} that nobody timed")));
    }
    if said.timing_met == Some(false) {
        let missed = said.clocks.iter().filter(|c| c.fmax_mhz < c.mhz);
        let missed: Vec<String> =
            missed.map(|c| format!("{}: {:.1} MHz of {:.1}", c.name, c.fmax_mhz, c.mhz)).collect();
        let text =
            format!("the design misses a clock ({}); synthesise it again with more `--seeds`", missed.join(", "));
        return Err(Failure::file(&path, text));
    }
    let file = said.bitstream.or(board.vendor.map(|vendor| vendor.bitstream().into()));
    let bitstream = dir.join(file.ok_or_else(|| Failure::file(&path, format!("has no bitstream; {MAKE}")))?);
    if let Some(vendor) = board.vendor.filter(|_| !bitstream.exists()) {
        let command = vendor.command(&dir.display().to_string());
        return Err(Failure::file(&bitstream, format!("is not there yet; make it by `{command}`")));
    }
    match bitstream.metadata() {
        Ok(m) if m.is_file() && m.len() > 0 => Ok((board, bitstream)),
        Ok(_) => Err(Failure::file(&bitstream, format!("is no bitstream; {MAKE}"))),
        Err(e) => Err(Failure::file(&bitstream, format!("cannot be read: {e}; {MAKE}"))),
    }
}

/// Runs the loader. All that it says goes to stderr.
fn load(board: &Board, words: &[String]) -> Result<(), Failure> {
    let program = on_path(TOOL).ok_or_else(|| SimError::ToolMissing { tool: TOOL.into(), how: HOW.into() })?;
    let status = Command::new(program).args(words).stdin(Stdio::null()).stdout(std::io::stderr()).status();
    let status = status.map_err(|e| Failure::Tool(format!("{TOOL} cannot be started: {e}")))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::Tool(format!(
        "{TOOL} failed ({status}); check that the {} is connected and powered, that `lsusb` lists it, that no other \
         program holds its port, and that you may open it (udev rules, or sudo)",
        board.name
    )))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:+,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
