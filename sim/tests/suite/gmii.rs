//! Boards from GMII on: the network's core, generated from LiteEth, between frames on a gigabit of wire and the link.

use crate::echo::{answer, identity};
use crate::ethernet::{Bench, CLOCK, RINGS, US, all, design, packets};
use hdl::board::gigabit;
use hdl::ethernet::datagram::{Datagram, DatagramType};
use hdl::ethernet::{self, board::Peer};
use sim::board::gmii::GmiiSim;
use sim::board::words::Clocked;
use sim::cache::Cache;
use sim::stimuli::Random;

/// The network's core, or `None` where what it is made of is not there.
fn core(prefix: &str) -> Option<String> {
    match flow::core::network_core(&flow::Tools::standard(), prefix) {
        Err(flow::FlowError::ToolMissing { tool, .. }) => {
            testkit::missing(&tool);
            None
        }
        other => Some(other.unwrap_or_else(|e| panic!("{e}"))),
    }
}

/// A board with an engine that echoes, or `None` where a tool is not there.
fn board() -> Option<GmiiSim> {
    let core = core("echo")?;
    let netlist = gigabit::on_wire("echo", design(&identity(1, 32, CLOCK, 0, RINGS), false));
    let text = netlist.verilog_around(&[ethernet::core::outline("echo")]).expect("a sound netlist") + &core;
    crate::common::built(GmiiSim::build(&text, &netlist.top, CLOCK as f64, &Cache::standard()))
}

/// Echoes so many words, with five faults at a rate each; bytes a second in each direction.
fn echoed(words: usize, rate: f64) -> Option<f64> {
    let board = board()?;
    let begin = board.now();
    let mut bench = Bench::new(board, &all(rate), 7);
    let stream = packets(&mut Random::new(7), 3000, words);
    bench.exchange(&stream, 1).expect("a good network");
    assert!(bench.came == answer(&stream, 1));
    let found = stream.words.len() as f64 * 4.0 * CLOCK as f64 / (bench.now() - begin) as f64;
    println!("five faults of {rate} each: {:.1} MB/s each way", found / 1e6);
    Some(found)
}

#[test]
#[ignore = "a proof in depth"]
fn a_gigabit_of_wire_is_used_in_both_directions_at_one_fault_in_a_hundred_datagrams() {
    let Some(found) = echoed(1_000_000, 0.002) else { return };
    assert!(found > 100e6, "{found}");
}

#[test]
#[ignore = "a proof in depth"]
fn a_gigabit_of_wire_is_used_in_long_runs() {
    for (rate, least) in [(0.0, 110e6), (0.002, 100e6), (0.01, 65e6)] {
        let Some(found) = echoed(3_000_000, rate) else { return };
        assert!(found > least, "{rate}: {found}");
    }
}

/// The next datagram within so many clocks.
fn next(board: &mut GmiiSim, clocks: u64) -> Option<(Peer, Datagram)> {
    let (to, bytes) = (0..clocks).find_map(|_| board.clock().expect("good frames"))?;
    Some((to, Datagram::decode(&bytes).expect("a whole datagram")))
}

#[test]
fn boards_answer_anyone_but_serve_one_host() {
    let Some(mut board) = board() else { return };
    let other = Peer { address: US.address + 1, port: US.port };
    // Who is there: the shortest datagram that there is, and ARP in front of the answer.
    for from in [US, other] {
        board.give(from, &Datagram::bare(DatagramType::Who, 7).encode());
        let (to, answer) = next(&mut board, 20_000).expect("an answer");
        assert_eq!((to, answer.kind, answer.session), (from, DatagramType::Who, 7));
    }
    board.give(US, &Datagram::bare(DatagramType::Start, 9).encode());
    assert_eq!(next(&mut board, 20_000).map(|(to, d)| (to, d.kind)), Some((US, DatagramType::Start)));
    board.give(other, &Datagram::bare(DatagramType::Start, 10).encode());
    let (to, refusal) = next(&mut board, 20_000).expect("a refusal");
    assert_eq!((to, refusal.kind, refusal.payload), (other, DatagramType::End, vec![US.address]));
    // Words of others in the same session do not reach the engine: nothing comes back.
    let stolen = Datagram { payload: vec![0x8000_0000, 5], ..Datagram::bare(DatagramType::Data, 9) };
    board.give(other, &stolen.encode());
    assert_eq!(next(&mut board, 20_000).map(|(to, d)| (to, d.kind)), Some((other, DatagramType::End)));
    board.give(US, &stolen.encode());
    let (to, answer) = next(&mut board, 20_000).expect("an answer");
    assert_eq!((to, answer.kind, answer.ack), (US, DatagramType::Data, 2));
}
