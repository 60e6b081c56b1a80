//! Speed of the bit-exact emulator.

use hdl::engine::protocol::Segment;
use pg2::graph::{Graph, PinClass};
use rayon::prelude::*;
use sim::emulator::{Emulator, Isa};
use sim::stimuli::{self, Random};
use terminal::bench::{spread, timed};
use terminal::failure::Failure;
use terminal::say;
use terminal::source;

const TARGETS: usize = 4096;
const SOURCES: usize = 8192;

/// The shipped kernels on one core and on all, for each instruction set of the machine.
pub fn run(repeat: u32) -> Result<(), Failure> {
    for name in ["p2p_paper", "p2p", "m2l_paper"] {
        let graph = pg2::middle::simplify::simplify(&source::load(name)?.1);
        for isa in Isa::available() {
            let (one, all) = (speed(&graph, isa, 1, repeat)?, speed(&graph, isa, 0, repeat)?);
            say!("  {name:<10} {isa:<9} {one} M pairs/s on one core, {all} on all")?;
        }
    }
    say!("  input: {TARGETS} targets times {SOURCES} sources, patterns drawn from seed 1")?;
    Ok(())
}

fn speed(graph: &Graph, isa: Isa, threads: usize, repeat: u32) -> Result<String, Failure> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| Failure::Tool(format!("threads cannot be started: {e}")))?;
    let mut random = Random::new(1);
    let mut records = |class, count: usize| -> Vec<u64> {
        stimuli::records(graph, class, count, stimuli::Style::Wild { anchor: 0 }, &mut random).concat()
    };
    let mut emulator = Emulator::with_isa(graph, isa);
    let params = records(PinClass::Param, 1);
    let (targets, list) = (records(PinClass::Ipin, TARGETS), records(PinClass::Jpin, SOURCES));
    emulator.set_params(&params);
    let mut sources = emulator.sources(SOURCES);
    emulator.load(&mut sources, 0, &list);
    let segments = [Segment { first: 0, count: SOURCES as u32 }];
    let elements = targets.len() / TARGETS;
    let seconds = timed(repeat, || {
        pool.install(|| {
            targets.par_chunks(64 * elements).for_each_init(
                || emulator.scratch(),
                |scratch, group| {
                    let mut sums = vec![emulator.start(); group.len() / elements];
                    emulator.accumulate(scratch, &mut sums, group, &sources, &segments);
                },
            )
        });
        Ok(())
    })?;
    let mut speeds: Vec<f64> = seconds.iter().map(|s| (TARGETS * SOURCES) as f64 / s / 1e6).collect();
    speeds.reverse();
    Ok(spread(&speeds, |x| format!("{x:.0}")))
}
