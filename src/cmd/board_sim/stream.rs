//! The engine of a folder of `build`, simulated behind a stream of bytes as a user's own transport is: a TCP port of this machine,
//! or standard input and output.

use super::design::{self, Engine};
use super::{Args, Counted, ENDING, Stats, announce, end_on_request, tell};
use hdl::board::Board;
use hdl::engine::bytes::{Packets, put};
use hdl::engine::protocol::{END, END_REPLY};
use sim::cycle::{CycleOptions, StreamEngine};
use sim::verilator::Effort;
use std::io::{self, Read, Write, stdin, stdout};
use std::net::{Ipv4Addr, Shutdown, TcpListener};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::Duration;
use terminal::failure::Failure;
use terminal::output;

/// Clocks between two looks at what has come.
const CLOCKS: u64 = 1 << 12;
/// Clocks without a beat after which the engine may rest: it still goes on, but leaves the processor to others.
const QUIET: u64 = 1 << 20;
/// A rest, and a look for a connection.
const REST: Duration = Duration::from_millis(5);
/// Bytes of one read.
const PIECE: usize = 1 << 16;

/// Builds the engine, says where it can be reached, and serves it.
pub fn run(board: &'static Board, args: &Args) -> Result<(), Failure> {
    let engine = design::alone(board, &args.dir)?;
    let mut seen = Seen::default();
    let why = match args.tcp {
        Some(port) => serve_port(&engine, port, args, &mut seen)?,
        None => {
            let simulated = simulate(&engine)?;
            end_on_request();
            serve(simulated, (stdin(), &mut stdout()), &mut seen)?
        }
    };
    let Seen { first, last, idle, bytes } = seen;
    let counted = Counted { clocks: [first.unwrap_or(0), last], idle, line: bytes, injected: 0 };
    let stats = Stats::new((board, &engine.design, args), counted);
    if let Some(path) = &args.json {
        output::write_json(path, &stats)?;
    }
    tell(why, &stats);
    Ok(())
}

/// The observations so far: the clocks of the first beat and of the last, those between them in which the engine rested, and the
/// bytes of packets to it and from it.
#[derive(Default)]
struct Seen {
    first: Option<u64>,
    last: u64,
    idle: u64,
    bytes: [u64; 2],
}

fn simulate(engine: &Engine) -> Result<StreamEngine, Failure> {
    let options = CycleOptions { effort: Effort::Full, ..CycleOptions::default() };
    let text = (engine.design.verilog.as_str(), engine.design.top.as_str());
    Ok(StreamEngine::build(text, engine.stream_bits, &options)?)
}

/// Serves one connection after the other. Each finds the engine as after a reset.
fn serve_port(engine: &Engine, port: u16, args: &Args, seen: &mut Seen) -> Result<&'static str, Failure> {
    let failed = |e: io::Error| Failure::Tool(format!("TCP port {port} cannot be served: {e}; name another one"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let mut simulated = Some(simulate(engine)?);
    let address = listener.local_addr().map_err(failed)?;
    end_on_request();
    announce(&format!("tcp:{address}"), args)?;
    while !ENDING.load(Ordering::Relaxed) {
        let (stream, _) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(REST);
                continue;
            }
            Err(e) => return Err(failed(e)),
        };
        stream.set_nonblocking(false).map_err(failed)?;
        // Packets are short and wait for answers; where this cannot be set they are slower.
        let _ = stream.set_nodelay(true);
        let reads = stream.try_clone().map_err(failed)?;
        let fresh = simulated.take().map_or_else(|| simulate(engine), Ok)?;
        let why = serve(fresh, (reads, &mut &stream), seen)?;
        // The thread that reads ends with it.
        let _ = stream.shutdown(Shutdown::Both);
        if args.once || ENDING.load(Ordering::Relaxed) {
            return Ok(why);
        }
    }
    Ok("ended on request")
}

/// Clocks the engine between the two directions of a stream until the host has left, and says why it ended.
fn serve(
    mut engine: StreamEngine,
    (from, to): (impl Read + Send + 'static, &mut dyn Write),
    seen: &mut Seen,
) -> Result<&'static str, Failure> {
    let came = reader(from);
    let mut packets = Packets::default();
    let (mut answers, mut quiet, mut is_open) = (Vec::new(), 0, true);
    // Whether the last packet in was END, and how many of these are not answered.
    let (mut is_end, mut open_ends) = (false, 0i64);
    while !ENDING.load(Ordering::Relaxed) {
        let rests = !engine.waits() && quiet >= QUIET;
        if is_open {
            match next(&came, rests) {
                Next::Bytes(bytes) => {
                    seen.bytes[0] += bytes.len() as u64;
                    if let Err(e) = packets.take(&bytes, &mut |packet| {
                        is_end = packet[0] >> 24 == END;
                        open_ends += is_end as i64;
                        engine.give(&packet);
                    }) {
                        output::tell(&format!("note: the host sent no packet: {e}\n"));
                        return Ok("the host sent no packet");
                    }
                }
                Next::Nothing => {}
                Next::End => is_open = false,
            }
        } else if rests || (is_end && open_ends == 0) {
            return Ok("the host has left");
        }
        let before = engine.cycles();
        let moved = engine.run(CLOCKS, &mut |packet| {
            open_ends -= (packet[0] >> 24 == END_REPLY) as i64;
            put(packet, &mut answers);
        })?;
        note(seen, moved, (before, engine.cycles()), &mut quiet);
        seen.bytes[1] += answers.len() as u64;
        if to.write_all(&answers).and_then(|()| to.flush()).is_err() {
            return Ok("the host has left");
        }
        answers.clear();
    }
    Ok("ended on request")
}

/// Keeps the books of some clocks.
fn note(seen: &mut Seen, moved: bool, (before, now): (u64, u64), quiet: &mut u64) {
    if !moved {
        *quiet += now - before;
        return;
    }
    let rested = quiet.saturating_sub(QUIET);
    seen.idle += if seen.first.is_some() { rested } else { 0 };
    seen.first.get_or_insert(before);
    seen.last = now;
    *quiet = 0;
}

/// The next thing that comes from the host.
enum Next {
    Bytes(Vec<u8>),
    Nothing,
    End,
}

fn next(came: &Receiver<Vec<u8>>, rests: bool) -> Next {
    let wait = if rests { REST } else { Duration::ZERO };
    let result = match rests {
        true => came.recv_timeout(wait).map_err(|e| e == RecvTimeoutError::Disconnected),
        false => came.try_recv().map_err(|e| e == TryRecvError::Disconnected),
    };
    match result {
        Ok(bytes) => Next::Bytes(bytes),
        Err(true) => Next::End,
        Err(false) => Next::Nothing,
    }
}

/// Bytes of a stream, read beside the simulation, until its end.
fn reader(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, came) = channel();
    std::thread::spawn(move || {
        let mut buffer = vec![0; PIECE];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) if sender.send(buffer[..count].to_vec()).is_err() => return,
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
    came
}
