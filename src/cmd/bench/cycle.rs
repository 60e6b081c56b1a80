//! Speed of the cycle simulation, and what its first use costs.

use pairforge::backends::{self, BackendOptions};
use pg2::graph::{Graph, PinClass};
use pipelines::job::{Backend, Job, Run, SourceRange, Table};
use sim::stimuli::{self, Random};
use std::time::Instant;
use terminal::bench::{spread, timed};
use terminal::failure::Failure;
use terminal::say;
use terminal::source;

const TARGETS: usize = 1024;
const SOURCES: usize = 16_384;

/// The paper's P2P on 8 pipelines, on one thread and on all.
pub fn run(repeat: u32) -> Result<(), Failure> {
    let graph = source::load("p2p_paper")?.1;
    let mut random = Random::new(1);
    let mut table = |class, count| {
        let records = stimuli::records(&graph, class, count, stimuli::Style::Wild { anchor: 0 }, &mut random);
        Table { elements: records[0].len(), bits: records.concat() }
    };
    let (targets, sources) = (table(PinClass::Ipin, TARGETS), table(PinClass::Jpin, SOURCES));
    for threads in [1, 0] {
        let mut backend = (backends::find("cycle")?.0.open)(&BackendOptions { threads, ..BackendOptions::default() });
        let started = Instant::now();
        once(&mut *backend, &graph, &targets, &sources, 8)?;
        let first = started.elapsed().as_secs_f64();
        let mut cycles = 0;
        let seconds = timed(repeat, || {
            cycles = once(&mut *backend, &graph, &targets, &sources, TARGETS)?;
            Ok(())
        })?;
        let mut speeds: Vec<f64> = seconds.iter().map(|s| (TARGETS * SOURCES) as f64 / s / 1e6).collect();
        speeds.reverse();
        let who = if threads == 1 { "one thread" } else { "all cores" };
        let speed = spread(&speeds, |x| format!("{x:.1}"));
        say!("  {who}: {speed} M pairs/s; {cycles} cycles; first use {first:.1} s (short where the build is cached)")?;
    }
    say!("  input: {TARGETS} targets times {SOURCES} sources, patterns drawn from seed 1, streams of 32 bits")?;
    Ok(())
}

/// One run of the first `count` targets; gives its cycles.
fn once(
    backend: &mut dyn Backend,
    graph: &Graph,
    targets: &Table,
    sources: &Table,
    count: usize,
) -> Result<u64, Failure> {
    let segments = [SourceRange { first: 0, count: sources.len() }];
    let runs = [Run { first: 0, count, segments: 0..1 }];
    let job = Job { graph, targets, sources, params: &[], runs: &runs, segments: &segments };
    Ok(backend.run(&job, &mut |_| {})?.cycles.unwrap_or(0))
}
