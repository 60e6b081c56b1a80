//! Depth and register bits of pipelines, as early as possible and the fewest, with the bound that proves them.

use crate::failure::Failure;
use crate::output::say;
use crate::source;
use hdl::circuit::target::Clock;
use pg2::backend::build::build;
use std::time::Instant;

/// Every shipped kernel, M2L of each order among them, at 150 MHz on the generic target.
pub fn run(_: u32) -> Result<(), Failure> {
    say!(
        "  {:<15} {:>6} {:>6} {:>14} {:>14} {:>14} {:>9} {:>9}",
        "kernel",
        "nodes",
        "depth",
        "bits, early",
        "bits",
        "least, proved",
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
            "  {name:<15} {:>6} {:>6} {:>14} {bits:>14} {bound:>14} {:>9} {ms:>9.1}",
            built.graph.nodes.len(),
            built.schedule.depth,
            built.early_bits,
            if built.merged { "yes" } else { "no" },
        )?;
    }
    say!("  {proved} of {} have the least register bits that the solver's dual allows at their depth", count())?;
    say!(
        "  input: every shipped kernel, 150 MHz, `generic`. Bits are registers and what waits in memory, flags included"
    )?;
    say!(
        "  at once: cut into stages as one circuit; the others operator by operator, each operator and then what waits"
    )?;
    say!("  between them with the fewest bits. ms: from the graph to the pipeline's netlist")?;
    Ok(())
}

fn count() -> usize {
    pg2::kernels::all().count()
}
