//! `pairforge board-sim`: a whole board, simulated clock by clock behind a pseudo-terminal or, on the network, a socket.

mod design;
mod foreign;
mod network;
mod pty;

use design::Design;
use hdl::board::{BOARDS, Board, board};
use pty::{Look, Pty};
use serde::Serialize;
use sim::board::fault::{Channel, Fault};
use sim::board::{self, BoardSim, Line, Seen};
use sim::cache::Cache;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use terminal::declared;
use terminal::failure::Failure;
use terminal::files::{self, Files};
use terminal::output;
use terminal::say;

#[derive(clap::Args)]
pub struct Args {
    /// The board (see `pairforge list boards`)
    board: String,
    /// Folder that `pairforge synth --board` or `pairforge build` has written
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// What goes wrong: flip:RATE, drop:RATE, double:RATE, cut:RATE, stall:BYTES, pull:BYTES or, with --ethernet, swap:RATE; may be
    /// repeated
    #[arg(long = "fault", value_name = "KIND")]
    faults: Vec<Fault>,
    /// Seed of the faults
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Baud rate of the line [default: the board's]
    #[arg(long, value_name = "BAUD", value_parser = clap::value_parser!(u32).range(1..))]
    baud: Option<u32>,
    /// Simulate the link over Ethernet, at a UDP port of this machine [default: any]
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0", conflicts_with = "baud")]
    ethernet: Option<u16>,
    /// With --ethernet: simulate from the words of datagrams on, without the network core, which is several times faster
    #[arg(long, requires = "ethernet")]
    words: bool,
    /// Write the port's path to a file too, once it can be opened
    #[arg(long, value_name = "F")]
    port_file: Option<PathBuf>,
    /// End when the host closes the port instead of waiting for the next one
    #[arg(long)]
    once: bool,
    /// Write what the simulation saw
    #[arg(long, value_name = "STATS.json")]
    json: Option<PathBuf>,
}

impl Args {
    pub fn files(&self) -> Files {
        let files = Files::default().made("DIR", [&self.dir]);
        files.writes("--port-file", &self.port_file, files::PLAIN).writes("--json", &self.json, files::JSON)
    }
}

/// The statistics of the simulation, in the keys that docs/boards.md names.
#[derive(Serialize)]
struct Stats {
    board: &'static str,
    kernel: String,
    pipelines: u32,
    clock_mhz: f64,
    baud: u32,
    /// Simulated clocks, and their time, from the beginning of the first byte on the line to the end of the last.
    cycles: u64,
    seconds: f64,
    /// The cycles in which the line rested and the board had nothing to do.
    idle_cycles: u64,
    /// Bytes on the line to the board and from it.
    bytes_in: u64,
    bytes_out: u64,
    faults: Vec<String>,
    /// How often something went wrong.
    injected: u64,
    seed: u64,
}

/// Set by Ctrl-C.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Builds the board, says where it can be reached, and lets it run.
pub fn run(args: Args) -> Result<(), Failure> {
    let board = board(&args.board).ok_or_else(|| {
        let known = BOARDS.iter().map(|b| b.name).collect::<Vec<_>>().join(", ");
        Failure::Usage(format!("there is no board `{}`; the boards are {known}", args.board))
    })?;
    if let Some(port) = args.ethernet {
        return network::run(board, &args, port);
    }
    if args.faults.iter().any(|f| matches!(f, Fault::Swap(_))) {
        return Err(Failure::Usage("a serial line keeps the order of its bytes; --fault swap needs --ethernet".into()));
    }
    let design = design::load(board, &args.dir, args.baud)?;
    let mut bench = Bench::new(board, &design, &args)?;
    end_on_request();
    announce(&bench.pty.path, &args)?;
    let why = bench.serve(args.once)?;
    let stats = bench.stats(board, &design, &args);
    if let Some(path) = &args.json {
        output::write_json(path, &stats)?;
    }
    tell(why, &stats);
    Ok(())
}

/// Prints the statistics in a line.
fn tell(why: &str, stats: &Stats) {
    let Stats { cycles, seconds, idle_cycles, bytes_in, bytes_out, injected, clock_mhz, .. } = stats;
    output::tell(&format!(
        "{why}: {cycles} clocks ({seconds:.6} s at {clock_mhz} MHz, idle for {idle_cycles}), {bytes_in} bytes in, {bytes_out} out, \
         {injected} faults\n"
    ));
}

/// Prints the port, and writes it where a script waits for it.
fn announce(port: &str, args: &Args) -> Result<(), Failure> {
    // Where the statistics will stand, the port is printed on standard error.
    match declared::standard_is_taken() {
        true => output::tell(&format!("{port}\n")),
        false => say!("{port}")?,
    }
    args.port_file.as_deref().map_or(Ok(()), |path| output::write_text(path, &format!("{port}\n")))
}

/// A board, its port, and what is between them.
struct Bench {
    sim: BoardSim,
    pty: Pty,
    clock_hz: f64,
    /// The baud rates of the board, and of the host's end of the line.
    board_baud: u32,
    host_baud: u32,
    /// Clocks in one byte of the line.
    byte: u64,
    down: Channel,
    up: Channel,
    stall: Option<u64>,
    pull: Option<u64>,
    /// Bytes both ways.
    passed: u64,
    /// On their way to the board's pins, and to the host.
    input: VecDeque<u8>,
    output: VecDeque<u8>,
}

/// Bytes that wait for the line at most: those of a host that writes faster than the line carries wait in the port.
const WAITING: usize = 4096;
/// A board that has been quiet for so many bytes' time does nothing more by itself: its end of the link has no timer.
const QUIET_BYTES: u64 = 64;
/// How often a resting bench looks whether it is to end.
const NAP: Duration = Duration::from_millis(20);

impl Bench {
    fn new(board: &'static Board, design: &Design, args: &Args) -> Result<Bench, Failure> {
        let clocks_per_bit = design.mhz * 1e6 / design.baud as f64;
        let find = |of: fn(&Fault) -> Option<u64>| args.faults.iter().find_map(of);
        let flip = args.faults.iter().find_map(|f| if let Fault::Flip(rate) = f { Some(*rate) } else { None });
        let line = Line { clocks_per_bit, flip: flip.unwrap_or(0.0), seed: args.seed };
        let what = board::Design { verilog: &design.verilog, top: &design.top, active_low: board.leds.active_low };
        Ok(Bench {
            sim: BoardSim::build(&what, &line, &Cache::standard())?,
            clock_hz: design.mhz * 1e6,
            board_baud: design.baud,
            host_baud: design.baud,
            pty: Pty::open(design.baud).map_err(|e| Failure::Tool(format!("no pseudo-terminal can be opened: {e}")))?,
            byte: (10.0 * clocks_per_bit).ceil() as u64,
            down: Channel::new(&args.faults, args.seed ^ 0xd0),
            up: Channel::new(&args.faults, args.seed ^ 0x0b),
            stall: find(|f| if let Fault::Stall(n) = f { Some(*n) } else { None }),
            pull: find(|f| if let Fault::Pull(n) = f { Some(*n) } else { None }),
            passed: 0,
            input: VecDeque::new(),
            output: VecDeque::new(),
        })
    }

    /// Lets the board run until there is a reason to end, which it says.
    fn serve(&mut self, once: bool) -> Result<&'static str, Failure> {
        let lost = |e: std::io::Error| Failure::Tool(format!("the pseudo-terminal failed: {e}"));
        let mut met = false;
        let mut arrived = Vec::new();
        while !ENDING.load(Ordering::Relaxed) {
            let host = self.listen().map_err(lost)?;
            met |= host;
            if once && met && !host {
                return Ok("the host has left");
            }
            if self.reached(self.pull) {
                return Ok("the cable is pulled");
            }
            if self.reached(self.stall) {
                self.input.clear();
                self.pty.wait(NAP);
                continue;
            }
            let seen = self.sim.seen();
            let rests = |since: u64| seen.clock - since > QUIET_BYTES * self.byte && seen.bytes_in > 0;
            // Nobody will ask a board without a host, whatever it still computes.
            let done = self.input.is_empty() && self.output.is_empty();
            if done && (rests(seen.worked) || (!host && rests(seen.line_used)) || (!met && seen.clock > 1 << 16)) {
                self.pty.wait(NAP);
                continue;
            }
            self.sim.run(self.byte, &mut self.input, &mut arrived);
            for byte in arrived.drain(..) {
                self.passed += 1;
                self.output.extend(std::iter::repeat_n(byte, self.up.copies()));
            }
            self.speak().map_err(lost)?;
        }
        Ok("ended on request")
    }

    /// Takes what the host has written; says whether there is a host.
    fn listen(&mut self) -> std::io::Result<bool> {
        let mut room = [0; WAITING];
        let free = WAITING.saturating_sub(self.input.len());
        match self.pty.read(&mut room[..free.max(1)])? {
            Look::Nobody => return Ok(false),
            Look::Silence => {}
            Look::Bytes(n) => {
                self.rate()?;
                for byte in &room[..n] {
                    self.passed += 1;
                    self.input.extend(std::iter::repeat_n(*byte, self.down.copies()));
                }
            }
        }
        Ok(true)
    }

    /// Gives the host's end of the line the rate that the host has set, and says if it is not the board's.
    fn rate(&mut self) -> std::io::Result<()> {
        let baud = self.pty.baud()?;
        // A host that hangs up has no rate.
        if baud == self.host_baud || baud == 0 {
            return Ok(());
        }
        self.host_baud = baud;
        self.sim.set_rate(self.clock_hz / baud as f64);
        if baud != self.board_baud {
            let (path, board) = (&self.pty.path, self.board_baud);
            output::tell(&format!("note: the host has set {path} to {baud} baud; the board's end runs at {board}\n"));
        }
        Ok(())
    }

    fn speak(&mut self) -> std::io::Result<()> {
        while !self.output.is_empty() {
            let taken = self.pty.write(self.output.make_contiguous())?;
            self.output.drain(..taken);
            if taken == 0 {
                break;
            }
        }
        Ok(())
    }

    fn reached(&self, after: Option<u64>) -> bool {
        after.is_some_and(|bytes| self.passed >= bytes)
    }

    fn stats(&self, board: &Board, design: &Design, args: &Args) -> Stats {
        let Seen { first, last, idle, bytes_in, bytes_out, flips, .. } = self.sim.seen();
        let cycles = last.saturating_sub(first);
        Stats {
            board: board.name,
            kernel: design.kernel.clone(),
            pipelines: design.pipelines,
            clock_mhz: design.mhz,
            baud: design.baud,
            cycles,
            seconds: cycles as f64 / (design.mhz * 1e6),
            idle_cycles: idle,
            bytes_in,
            bytes_out,
            faults: args.faults.iter().map(|f| f.to_string()).collect(),
            injected: flips + self.down.injected() + self.up.injected(),
            seed: args.seed,
        }
    }
}

/// Lets Ctrl-C and a request to end stop the simulation, so that what it saw is still written; a second one ends the
/// program as usual.
fn end_on_request() {
    extern "C" fn end(signal: libc::c_int) {
        ENDING.store(true, Ordering::Relaxed);
        // SAFETY: signal is async-signal-safe.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: `end` calls only what is safe in a signal handler.
        unsafe { libc::signal(signal, end as extern "C" fn(libc::c_int) as libc::sighandler_t) };
    }
}
