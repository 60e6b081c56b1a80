//! Engines for P2P and M2L that fill the device of a board on the network, where nobody says how many lanes there are.

use crate::fmm::kernels::Kernels;
use crate::kernel::fit::{self, NETWORK, Share, over, sum};
use hdl::board::{Board, Device};
use hdl::circuit::target::Clock;
use hdl::engine::{Config, usual_groups};
use pg2::backend::build::{Built, build_folded};
use pg2::graph::Graph;
use pg2::report::area::{self, Area, lane};
use rayon::prelude::*;

/// Intervals of M2L that are looked at.
const INTERVALS: [u32; 25] =
    [1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 48, 64];

/// Lanes of P2P, with a pair each clock, and the interval of one lane of M2L.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filled {
    pub p2p: u32,
    pub m2l_ii: u32,
}

/// Pairs that the kernels have to stream, M2L with one lane.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub p2p: u64,
    pub m2l: u64,
}

/// The share of the device that an engine has, and its stream.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    pub share: Share,
    pub stream_bits: u32,
}

/// An engine of so many lanes as `synth` makes it.
pub fn config(built: &Built, pipelines: u32, around: &Around) -> Config {
    let layout = built.layout();
    Config {
        pipelines,
        groups: usual_groups(pipelines),
        ii: built.ii(),
        stream_bits: around.stream_bits,
        jmem_records: around.share.records(&layout, built.library.clock.target),
        segments: around.share.segments,
        i_banks: around.share.i_banks,
        ..Config::usual(layout, built.schedule.depth)
    }
}

/// An engine of several that share a device.
fn beside(built: &Built, pipelines: u32, around: &Around) -> Area {
    fit::beside(built, &config(built, pipelines, around))
}

/// Lanes of one kernel that fit a device, shared out to engines that have as many each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Most {
    /// Of each engine.
    pub lanes: u32,
    pub engines: u32,
}

/// Lanes of an engine at most, in groups of eight.
const ENGINE: u32 = 248;

impl Most {
    /// So many lanes: any number up to eight, and groups of eight beyond.
    fn of(lanes: u32) -> Most {
        let engines = lanes.div_ceil(ENGINE).max(1);
        let each = lanes / engines;
        Most { lanes: if each > 8 { each / 8 * 8 } else { each }, engines }
    }

    /// Lanes of all engines.
    pub fn all(self) -> u32 {
        self.lanes * self.engines
    }

    /// The area of all engines, with a share of a switch each where there are several.
    pub fn area(self, built: &Built, around: &Around) -> Area {
        let config = config(built, self.lanes, around);
        let one = if self.engines > 1 { fit::beside(built, &config) } else { area::engine(built, &config) };
        (0..self.engines).fold(Area::default(), |all, _| sum(all, one))
    }
}

/// The most lanes of a kernel that fit a device beside what else is on it, by the estimate of their area.
pub fn most(built: &Built, device: &Device, taken: Area, around: &Around) -> Option<Most> {
    let fits = |lanes: u32| over(&sum(taken, Most::of(lanes).area(built, around)), device).is_none();
    let few = (1..=8).take_while(|lanes| fits(*lanes)).last()?;
    if few < 8 {
        return Some(Most::of(few));
    }
    // By groups of eight: twice as many until they do not fit, and then halves between.
    let (mut least, mut step) = (1, 1);
    while fits(8 * (least + step)) {
        least += step;
        step *= 2;
    }
    while step > 1 {
        step /= 2;
        if fits(8 * (least + step)) {
            least += step;
        }
    }
    Some(Most::of(8 * least))
}

/// The smallest engines, by the estimate of their area, among those that are through first, P2P and M2L at the same time, or an eighth
/// later at most: a device that is filled to the last table is hard to route. `None` if no M2L fits. `tries` is given the intervals of M2L
/// that are tried.
pub fn fill(
    board: &Board,
    clock: Clock,
    kernels: &Kernels,
    around: &Around,
    work: Work,
    tries: &mut dyn FnMut(u32),
) -> Option<Filled> {
    let build = |graph: &Graph, ii: u32| build_folded(graph, (clock, ii), "", Vec::new());
    let p2p = build(&kernels.p2p, 1);
    let late = |fastest: u64| fastest + fastest / 8;
    // Clocks, tables, and the engines.
    let mut found: Vec<(u64, u64, Filled)> = Vec::new();
    let mut fastest = u64::MAX / 2;
    let graph = kernels.m2l.as_ref()?;
    // Folding takes seconds: each thread folds one at a time.
    let longest_first: Vec<u32> = INTERVALS.into_iter().rev().collect();
    let folded = longest_first.chunks(rayon::current_num_threads()).flat_map(|intervals| {
        tries(intervals[0]);
        intervals.par_iter().map(|ii| (*ii, build(graph, *ii))).collect::<Vec<(u32, Built)>>()
    });
    for (m2l_ii, built) in folded {
        let m2l = sum(NETWORK, beside(&built, 1, around));
        // `synth` shares multipliers out by pipeline. Lanes that would have to make do with fewer are not looked at.
        let most = lane(&p2p).multipliers.max(lane(&built).multipliers);
        let enough = |lanes: &u32| most <= (board.device.multipliers / (lanes + 1)) as u64;
        let both = |lanes: u32| sum(m2l, beside(&p2p, lanes, around));
        let fits = |lanes: &u32| enough(lanes) && over(&both(*lanes), board.device).is_none();
        let lanes = (1..=64).take_while(fits).last();
        // A shorter interval takes more of the device and leaves no more lanes. Only a very long one may take more too, for its slots.
        let (lanes, p2p_clocks) = match lanes.map(|lanes| (lanes, work.p2p / lanes as u64)) {
            None if found.is_empty() => continue,
            Some(with) if with.1 <= late(fastest) => with,
            _ => break,
        };
        let clocks = p2p_clocks.max(work.m2l * m2l_ii as u64);
        found.push((clocks, both(lanes).tables, Filled { p2p: lanes, m2l_ii }));
        fastest = fastest.min(clocks);
    }
    let in_time = found.iter().filter(|f| f.0 <= late(fastest));
    in_time.min_by_key(|f| (f.1, f.0)).map(|f| f.2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fmm::kernels::generated;
    use hdl::board::board;
    use hdl::circuit::target::target;

    /// Lanes of `p2p`, interval of M2L of order 4 and clock on a Colorlight i9 with Ethernet; cells with those of carry chains and of
    /// memory in tables, multipliers and block memories, as the whole design was mapped for delay and packed; for least area, as `synth`
    /// maps them, they are 6% fewer.
    const PACKED: [(u32, u32, f64, [u64; 3]); 2] = [(3, 26, 75.0, [37_096, 40, 78]), (3, 30, 75.0, [36_449, 39, 77])];

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
