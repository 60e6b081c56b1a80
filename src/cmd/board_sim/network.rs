//! A board on the network, simulated from GMII on or at the words of datagrams, behind a UDP socket of this machine.

use super::design::{self, Pins};
use super::{Args, Counted, ENDING, Stats, announce, end_on_request, tell};
use hdl::board::Board;
use sim::board::gmii::GmiiSim;
use sim::board::network::{NetworkBoard, Simulated, Turn};
use sim::board::words::{Clocked, WordsSim};
use sim::cache::Cache;
use std::sync::atomic::Ordering;
use terminal::failure::Failure;
use terminal::output;

/// Clocks after which a silent host may lose the board: those of 2.5 s would take minutes.
const HOLD: u64 = 500_000;

/// Builds the board, says where it can be reached, and lets it run.
pub fn run(board: &'static Board, args: &Args, port: u16) -> Result<(), Failure> {
    if board.ethernet.is_none() {
        return Err(crate::cmd::no_ethernet(board));
    }
    let (design, pins, hold) = design::networked(board, &args.dir, HOLD, args.words)?;
    let (text, top, hz, cache) = (&design.verilog, &design.top, design.mhz * 1e6, Cache::standard());
    let simulated: Box<dyn Clocked> = match pins {
        Pins::Gmii => Box::new(GmiiSim::build(text, top, hz, &cache)?),
        Pins::Words => Box::new(WordsSim::build(text, top, hz, &cache)?),
    };
    let device = Simulated { design: simulated, hold };
    let mut network = NetworkBoard::new(port, device, (&args.faults, args.seed))?;
    let address = network.address().map_err(|e| Failure::Tool(format!("the socket has no address: {e}")))?;
    end_on_request();
    announce(&format!("udp:{address}"), args)?;
    let why = serve(&mut network, args.once)?;
    let (seen, traffic) = (network.device().design.seen(), network.traffic());
    let (line, injected) = ([traffic.bytes_in, traffic.bytes_out], traffic.injected);
    let counted = Counted { clocks: [seen.first, seen.last], idle: seen.idle, line, injected };
    let stats = Stats::new((board, &design, args), counted);
    if let Some(path) = &args.json {
        output::write_json(path, &stats)?;
    }
    tell(why, &stats);
    Ok(())
}

/// Lets the board run until there is a reason to end, which it says.
fn serve(network: &mut NetworkBoard<Simulated>, once: bool) -> Result<&'static str, Failure> {
    let mut met = false;
    while !ENDING.load(Ordering::Relaxed) {
        match network.turn()? {
            Turn::Pulled => return Ok("the cable is pulled"),
            Turn::Served => met = true,
            Turn::Free if once && met => return Ok("the host has left"),
            Turn::Free => {}
        }
    }
    Ok("ended on request")
}
