//! `pairforge board-sim`: a whole board, simulated clock by clock behind a pseudo-terminal or, on the network, a socket.

mod design;
mod network;
mod stream;

use design::Design;
use hdl::board::Board;
use serde::Serialize;
use sim::board::fault::Fault;
use sim::board::serial::{SerialBoard, Wire};
use sim::board::{self, Seen};
use sim::cache::Cache;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use terminal::declared;
use terminal::failure::Failure;
use terminal::files::{self, Files};
use terminal::output;
use terminal::say;

#[derive(clap::Args)]
pub struct Args {
    /// The board (see `pairforge list boards`), or the folder of one of your own
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
    /// Simulate the engine of `build` alone behind a TCP port of this machine [default: any], for `--backend board:tcp:HOST:PORT`
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0", conflicts_with_all = ["baud", "ethernet", "faults"])]
    tcp: Option<u16>,
    /// The same behind standard input and output, for `--backend board:pipe:COMMAND`
    #[arg(long, conflicts_with_all = ["baud", "ethernet", "faults", "tcp", "port_file"])]
    pipe: bool,
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
    /// Number of faults.
    injected: u64,
    seed: u64,
}

/// Set by Ctrl-C.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Builds the board, says where it can be reached, and lets it run.
pub fn run(args: Args) -> Result<(), Failure> {
    let board = super::board::find(&args.board)?;
    if args.tcp.is_some() || args.pipe {
        return stream::run(board, &args);
    }
    if let Some(port) = args.ethernet {
        return network::run(board, &args, port);
    }
    if args.faults.iter().any(|f| matches!(f, Fault::Swap(_))) {
        return Err(Failure::Usage("a serial line keeps the order of its bytes; --fault swap needs --ethernet".into()));
    }
    let design = design::load(board, &args.dir, args.baud)?;
    let what = board::Design { verilog: &design.verilog, top: &design.top, active_low: board.leds.active_low };
    let wire = Wire { clock_hz: design.mhz * 1e6, baud: design.baud, faults: &args.faults, seed: args.seed };
    let mut serial = SerialBoard::new(&what, &wire, &Cache::standard())?;
    end_on_request();
    announce(serial.path(), &args)?;
    let note = |words: String| output::tell(&format!("note: {words}\n"));
    let why = serial.serve(args.once, &ENDING, &note)?;
    let Seen { first, last, idle, bytes_in, bytes_out, .. } = serial.seen();
    let (line, injected) = ([bytes_in, bytes_out], serial.injected());
    let stats = Stats::new((board, &design, &args), Counted { clocks: [first, last], idle, line, injected });
    if let Some(path) = &args.json {
        output::write_json(path, &stats)?;
    }
    tell(why, &stats);
    Ok(())
}

/// Counts of a simulated board: the clocks of the first byte on the line and of the last, the clocks that it rested, bytes to it and from
/// it, and faults.
struct Counted {
    clocks: [u64; 2],
    idle: u64,
    line: [u64; 2],
    injected: u64,
}

impl Stats {
    fn new((board, design, args): (&Board, &Design, &Args), counted: Counted) -> Stats {
        let Counted { clocks: [first, last], idle, line: [bytes_in, bytes_out], injected } = counted;
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
            injected,
            seed: args.seed,
        }
    }
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
