//! Engines that fill a device which only its vendor's tools route.

use super::Machine;
use super::fill::{self, Around, Most, Work};
use super::machine::{Link, hashed};
use crate::Error;
use crate::fmm::kernels::Kernels;
use crate::kernel::fit::{Share, sum};
use crate::kernel::parts::{Part, PartLink};
use hdl::circuit::target::{Clock, target};
use pg2::backend::build::{Built, build_folded};
use pg2::graph::Graph;
use pg2::report::area::Area;
use pipelines::predict::Line;
use pipelines::predict::fleet::Boards;

/// Lanes of M2L, and clocks from one pair to the next, that are looked at.
const M2L: [(u32, u32); 10] = [(1, 64), (1, 32), (1, 16), (1, 8), (1, 4), (1, 2), (1, 1), (2, 1), (4, 1), (8, 1)];
/// Milliseconds until the host answers, behind DMA and over Ethernet.
const DMA_MS: f64 = 0.01;
const ETHERNET_MS: f64 = 0.05;

/// Lanes for both kernels.
struct Chosen {
    clocks: u64,
    p2p: Most,
    /// Its lanes and its pipeline.
    m2l: Option<(u32, Built)>,
}

/// The part with as many lanes of P2P as fit, beside so much of M2L that both finish first.
pub fn machine(
    part: &'static Part,
    kernels: &Kernels,
    work: Work,
    tries: &mut dyn FnMut(u32),
) -> Result<Machine, Error> {
    let target = target(part.device.target).expect("every part names a target");
    let clock = Clock { target, mhz: target.usual_mhz, blocks: None };
    let around = Around { share: Share::of(Some(&part.device), 2), stream_bits: part.link.stream_bits() };
    let build = |graph: &Graph, ii: u32| build_folded(graph, (clock, ii), "", Vec::new());
    let p2p = build(&kernels.p2p, 1);
    let fit = |taken: Area| fill::most(&p2p, &part.device, sum(part.link.shell(), taken), &around);
    let chosen = match &kernels.m2l {
        None => fit(Area::default()).map(|p2p| Chosen { clocks: 0, p2p, m2l: None }),
        Some(graph) => {
            let mut best: Option<Chosen> = None;
            for (lanes, ii) in M2L {
                tries(ii);
                let m2l = build(graph, ii);
                let area = Most { lanes, engines: 1 }.area(&m2l, &around);
                let Some(p2p) = fit(area) else { continue };
                let clocks = (work.p2p / p2p.all() as u64).max(work.m2l * ii as u64 / lanes as u64);
                if best.as_ref().is_some_and(|best| best.clocks <= clocks) {
                    break;
                }
                best = Some(Chosen { clocks, p2p, m2l: Some((lanes, m2l)) });
            }
            best
        }
    };
    let why = || format!("{} does not fit {} together with a shell for its link", kernels.p2p.name, part.device.name);
    let chosen = chosen.ok_or_else(|| Error::Input(why()))?;
    let engines = chosen.p2p.engines + chosen.m2l.is_some() as u32;
    let (line, turnaround_ms): (fn(f64) -> Line, f64) = match part.link {
        PartLink::Pcie(..) => (Line::Dma, DMA_MS),
        PartLink::Ethernet(_) => (Line::Ethernet, ETHERNET_MS),
    };
    let setup = Link { line: line(part.link.rate() / engines as f64), turnaround_ms }.setup(part.mhz);
    let mut boards = vec![Boards {
        count: chosen.p2p.engines,
        setup,
        engines: vec![hashed(&kernels.p2p, fill::config(&p2p, chosen.p2p.lanes, &around))],
    }];
    if let (Some(graph), Some((lanes, built))) = (&kernels.m2l, &chosen.m2l) {
        boards.push(Boards { count: 1, setup, engines: vec![hashed(graph, fill::config(built, *lanes, &around))] });
    }
    let link = Link { line: line(part.link.rate()), turnaround_ms };
    let (name, clock_mhz, watts) = (part.device.name, part.mhz, part.watts.map(|w| w.0));
    Ok(Machine { name, clock_mhz, link, boards, watts, joules_per_pair: None, synth: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::parts::part;

    #[test]
    fn engines_of_at_most_248_lanes_fill_a_device_and_share_its_link() {
        let text = pg2::kernels::find("p2p_paper").expect("it is shipped").text;
        let graph = pg2::compile("p2p_paper", text).expect("it compiles").graph;
        let kernels = Kernels { p2p: graph, m2l: None };
        let lanes = |name: &str| {
            let part = part(name).expect("it is in the list");
            let machine = machine(part, &kernels, Work { p2p: 1, m2l: 0 }, &mut |_| {}).expect("it fits");
            let Boards { count, setup, ref engines } = machine.boards[0];
            let config = &engines[0].0;
            assert!(config.pipelines <= 248 && config.verify().is_ok(), "{name}: {config:?}");
            // All engines share the link.
            assert_eq!(setup.line, Line::Dma(part.link.rate() / count as f64), "{name}");
            count * config.pipelines
        };
        let (small, large) = (lanes("artix7-100t"), lanes("alveo-u50"));
        assert!(small >= 8 && large > 248 && large > 8 * small, "{small} and {large}");
    }
}
