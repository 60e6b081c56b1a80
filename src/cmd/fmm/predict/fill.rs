//! Engines for P2P and M2L that fill the device of a board on the network, where nobody says how many lanes there are.

use super::super::kernels::Kernels;
use crate::cmd::folding::{over, sum};
use crate::cmd::lanes::Share;
use hdl::board::Board;
use hdl::circuit::target::Clock;
use hdl::engine::{Config, usual_groups};
use pg2::backend::build::{Built, build_folded};
use pg2::graph::Graph;
use pg2::report::area::{Area, engine, lane, switch};

/// What the network core and the link over Ethernet take of a device: 5,000 tables for LiteEth's core, as it was placed on an ECP5,
/// an estimate of 1,500 for the link, and its two rings of 32 KiB, each in 15 block memories.
const NETWORK: Area = Area { tables: 6_500, registers: 5_000, multipliers: 0, memories: 30 };

/// Intervals of M2L that are looked at.
const INTERVALS: [u32; 21] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 48, 64];

/// Lanes of P2P, with a pair each clock, and the interval of one lane of M2L.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filled {
    pub p2p: u32,
    pub m2l_ii: u32,
}

/// Pairs that the kernels have to stream.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub p2p: u64,
    pub m2l: u64,
}

/// What an engine has of the device, and its stream.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    pub share: Share,
    pub stream_bits: u32,
}

/// An engine of so many lanes as `synth` makes it.
pub fn config(built: &Built, pipelines: u32, around: &Around) -> Config {
    let layout = built.graph.layout();
    Config {
        pipelines,
        groups: usual_groups(pipelines),
        ii: built.ii(),
        stream_bits: around.stream_bits,
        jmem_records: around.share.jmem_words / layout.j_words(),
        segments: around.share.segments,
        i_banks: around.share.i_banks,
        ..Config::usual(layout, built.schedule.depth)
    }
}

/// An engine of several that share a device.
fn beside(built: &Built, pipelines: u32, around: &Around) -> Area {
    let config = config(built, pipelines, around);
    sum(engine(built, &config), switch(built.library.clock.target, &config))
}

/// The engines that are through first, P2P and M2L at the same time, by the estimate of their area. `None` if no M2L fits.
pub fn fill(board: &Board, clock: Clock, kernels: &Kernels, around: &Around, work: Work) -> Option<Filled> {
    let build = |graph: &Graph, ii: u32| build_folded(graph, (clock, ii), "", Vec::new());
    let p2p = build(&kernels.p2p, 1);
    let mut best: Option<(u64, Filled)> = None;
    for m2l_ii in INTERVALS {
        let clocks = work.m2l * m2l_ii as u64;
        // From here on M2L alone takes longer.
        if best.is_some_and(|(found, _)| clocks >= found) {
            break;
        }
        let built = build(kernels.m2l.as_ref()?, m2l_ii);
        let m2l = sum(NETWORK, beside(&built, 1, around));
        // `synth` shares multipliers out by pipeline. Lanes that would have to make do with fewer are not looked at.
        let most = lane(&p2p).multipliers.max(lane(&built).multipliers);
        let enough = |lanes: &u32| most <= (board.device.multipliers / (lanes + 1)) as u64;
        let fits = |lanes: &u32| enough(lanes) && over(&sum(m2l, beside(&p2p, *lanes, around)), board.device).is_none();
        let Some(lanes) = (1..=64).take_while(fits).last() else { continue };
        let clocks = clocks.max(work.p2p / lanes as u64);
        if best.is_none_or(|(found, _)| clocks < found) {
            best = Some((clocks, Filled { p2p: lanes, m2l_ii }));
        }
    }
    best.map(|(_, filled)| filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::fmm::kernels::generated;
    use hdl::board::board;
    use hdl::circuit::target::target;

    /// Lanes of `p2p`, interval of M2L of order 4 and clock on a Colorlight i9 with Ethernet; cells with those of carry chains and of memory
    /// in tables, multipliers and block memories, as the whole design was mapped and packed.
    const PACKED: [(u32, u32, f64, [u64; 3]); 2] = [(3, 29, 70.0, [35_436, 39, 77]), (2, 40, 75.0, [28_378, 27, 101])];

    #[test]
    #[ignore = "a proof in depth"]
    fn the_estimate_for_a_board_on_the_network_is_a_little_above_what_was_packed() {
        let device = board("colorlight-i9").expect("a board").device;
        let around = Around { share: Share::of(Some(device), 2), stream_bits: 32 };
        let p2p = pg2::kernels::KERNELS.iter().find(|k| k.name == "p2p").expect("a shipped kernel");
        let p2p = pg2::compile("p2p", p2p.text).expect("it compiles").graph;
        let m2l = generated(4).expect("there is one of order 4");
        for (lanes, ii, mhz, [cells, multipliers, memories]) in PACKED {
            let blocks = Some(device.multipliers / (lanes + 1));
            let clock = Clock { target: target("ecp5").expect("a target"), mhz, blocks };
            let build = |graph: &Graph, ii: u32| build_folded(graph, (clock, ii), "", Vec::new());
            let area = sum(beside(&build(&m2l, ii), 1, &around), beside(&build(&p2p, 1), lanes, &around));
            let area = sum(area, NETWORK);
            let off = area.tables as f64 / cells as f64 - 1.0;
            assert!((0.0..0.12).contains(&off), "{lanes} and {ii}: {} of {cells} cells, {off:.3} off", area.tables);
            assert_eq!(area.multipliers, multipliers, "{lanes} and {ii}");
            assert!(area.memories.abs_diff(memories) <= 4, "{lanes} and {ii}: {} of {memories}", area.memories);
        }
    }
}
