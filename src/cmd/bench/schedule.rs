//! Depth and register bits of pipelines, as early as possible and with the fewest bits.

use super::fmm::m2l_kernel;
use crate::failure::Failure;
use crate::source;
use hdl::target::Clock;
use pg2::library::Library;
use pg2::schedule::{asap, least_with_bound};
use pg2::simplify::simplify;
use std::time::Instant;

/// The shipped kernels and M2L of every order, at 150 MHz on the generic target.
pub fn run(_: u32) -> Result<(), Failure> {
    let mut graphs = Vec::new();
    for kernel in pg2::kernels::KERNELS {
        graphs.push(source::load(kernel.name)?.1);
    }
    for order in 1..=8 {
        graphs.push(m2l_kernel(order)?);
    }
    println!(
        "  {:<10} {:>6} {:>6} {:>14} {:>15} {:>15} {:>15} {:>8}",
        "kernel", "nodes", "depth", "operator bits", "delays, early", "delays, least", "proved bound", "ms"
    );
    for graph in graphs {
        let graph = simplify(&graph);
        let library = Library::new(&graph, Clock::default_clock());
        let early: u64 = asap(&graph, &library).delay_bits.iter().sum();
        let started = Instant::now();
        let (schedule, bound) = least_with_bound(&graph, &library);
        let ms = 1e3 * started.elapsed().as_secs_f64();
        let operators: u64 = schedule.operator_bits.iter().sum();
        let delays: u64 = schedule.delay_bits.iter().sum();
        println!(
            "  {:<10} {:>6} {:>6} {operators:>14} {early:>15} {delays:>15} {bound:>15} {ms:>8.1}",
            graph.name,
            graph.nodes.len(),
            schedule.depth
        );
    }
    Ok(())
}
