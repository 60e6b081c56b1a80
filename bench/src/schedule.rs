//! Depth and register bits of pipelines, as early as possible and the fewest, with the bound that proves them.

use hdl::circuit::target::Clock;
use pg2::backend::build::{build, build_folded};
use pg2::report::explain::explain;
use pg2::report::lane::lane;
use std::time::Instant;
use terminal::failure::Failure;
use terminal::say;
use terminal::source;

/// Every shipped kernel, M2L of each order among them, at 150 MHz on the generic target.
pub fn run() -> Result<(), Failure> {
    say!(
        "  {:<15} {:>6} {:>6} {:>14} {:>14} {:>14} {:>9} {:>9} {:>9}",
        "kernel",
        "nodes",
        "depth",
        "bits, early",
        "bits",
        "least, proved",
        "lane",
        "at once",
        "ms"
    )?;
    let mut proved = 0;
    for (name, _) in pg2::kernels::all() {
        let kernel = source::read(name)?;
        let graph = source::compile(&kernel)?;
        let started = Instant::now();
        let built = build(&graph, Clock::default_clock(), &kernel.sources, Vec::new());
        let ms = 1e3 * started.elapsed().as_secs_f64();
        let (bits, bound) = (built.register_bits(), built.bound_bits);
        proved += (bits == bound) as usize;
        say!(
            "  {name:<15} {:>6} {:>6} {:>14} {bits:>14} {bound:>14} {:>9} {:>9} {ms:>9.1}",
            built.graph.nodes.len(),
            built.schedule.depth,
            built.early_bits,
            lane(&built).register_bits,
            if built.merged { "yes" } else { "no" },
        )?;
    }
    say!("  {proved} of {} have the least register bits that the solver's dual allows at their depth", count())?;
    say!(
        "  input: every shipped kernel, 150 MHz, `generic`. Bits are registers and what waits in memory, flags included"
    )?;
    say!(
        "  lane: registers of a lane as its Verilog declares them, with accumulators and the registers of the target"
    )?;
    say!(
        "  at once: cut into stages as one circuit; the others operator by operator, each operator and then what waits"
    )?;
    say!("  between them with the fewest bits. ms: from the graph to the pipeline's netlist")?;
    folded()
}

/// Clocks from one pair to the next.
const INTERVALS: [u32; 4] = [2, 3, 5, 8];

/// Every shipped kernel folded: the units that share, against the fewest that there can be.
fn folded() -> Result<(), Failure> {
    say!(
        "\n  {:<15} {:>3} {:>6} {:>6} {:>9} {:>14} {:>9} {:>12} {:>9}",
        "kernel",
        "K",
        "depth",
        "units",
        "at least",
        "bits",
        "lane",
        "multiplexers",
        "ms"
    )?;
    for (name, _) in pg2::kernels::all() {
        let kernel = source::read(name)?;
        let graph = source::compile(&kernel)?;
        for ii in INTERVALS {
            let started = Instant::now();
            let built = build_folded(&graph, (Clock::default_clock(), ii), &kernel.sources, Vec::new());
            let ms = 1e3 * started.elapsed().as_secs_f64();
            let account = explain(&built, &kernel.sources);
            let units = account.folded.unwrap_or_default();
            let (all, least) = units.kinds.iter().fold((0, 0), |(a, b), k| (a + k.2, b + k.3));
            say!(
                "  {name:<15} {ii:>3} {:>6} {all:>6} {least:>9} {:>14} {:>9} {:>12} {ms:>9.1}",
                built.schedule.depth,
                built.register_bits(),
                account.lane.register_bits,
                units.choices
            )?;
        }
    }
    say!(
        "  a pair every K clocks. Units: those of all kinds together; at least: uses over K, rounded up, kind by kind"
    )?;
    say!("  multiplexers: lookup tables in front of the units, about")?;
    Ok(())
}

fn count() -> usize {
    pg2::kernels::all().count()
}
