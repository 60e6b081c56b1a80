//! The engine without a clock against the simulated hardware: every reply to lawful and to faulty streams.

use crate::engine_common::random::stream;
use crate::engine_common::settle;
use hdl::circuit::target::Clock;
use hdl::engine::Config;
use hdl::engine::link::Link;
use hdl::engine::protocol::{Counters, Reply, Stream};
use sim::cycle::{CycleEngine, CycleOptions};
use sim::emulator::engine::EmulatedEngine;
use sim::verilator::Effort;
use testkit::Random;

/// Integers only, since random words must be valid patterns.
const KERNEL: &str = "
    int32  x[2]  ipin;
    uint40 w     ipin;
    int32  y[2]  jpin;
    uint9  v     jpin;
    int16  scale param;
    int64  sum   fout;
    int20  most  fout;
    uint9  least fout;
    d = x - y;
    sum   += (int64)(d * d) * scale + (int64)w;
    most max= (int20)d[0];
    least min= v;
";

#[test]
fn every_reply_is_that_of_the_hardware() {
    check(3, 1);
}

#[test]
fn every_reply_of_lane_groups_is_that_of_the_hardware() {
    check(6, 3);
}

/// Streams of random packets through an engine of so many lanes in so many groups.
fn check(pipelines: u32, groups: u32) {
    let graph = pg2::compile("toy", KERNEL).expect("the kernel is right").graph;
    let built = pg2::backend::build::build(&graph, Clock::default_clock(), "", Vec::new());
    let config = Config {
        layout: graph.layout(),
        pipelines,
        groups,
        i_banks: 2,
        jmem_records: 100,
        stream_bits: 32,
        segments: 20,
        pipeline_latency: built.schedule.depth,
        ii: 1,
        ident: Some(0x0123_4567_89ab_cdef),
        filters: 0,
    };
    let options = CycleOptions { effort: Effort::Least, ..CycleOptions::default() };
    let hardware = CycleEngine::build(&config, &built.netlist, &options);
    let Some(mut hardware) = crate::common::built(hardware) else { return };
    for threads in [1, 3] {
        for seed in 0..12 {
            // Each round starts from an engine in the same state: the stream itself sets everything up, and an END within a
            // run, which is an error, is forgotten below.
            let mut emulated = EmulatedEngine::new(&built.graph, config.clone(), threads);
            let packets = stream(&config, &mut Random::new(1000 + seed), 60, seed % 2 == 1);
            let (mut want, mut got) = (replies(&mut hardware, &packets), replies(&mut emulated, &packets));
            settle(&mut want);
            settle(&mut got);
            assert_eq!(got.len(), want.len(), "seed {seed}");
            for (k, (g, w)) in got.iter().zip(&want).enumerate() {
                assert_eq!(unclocked(g), unclocked(w), "reply {k} of seed {seed}");
            }
            let mut forget = Stream::default();
            forget.status(true);
            forget.end();
            replies(&mut hardware, &forget);
        }
    }
}

fn replies(link: &mut dyn Link, packets: &Stream) -> Vec<Reply> {
    let config = link.config().clone();
    let mut list = Vec::new();
    link.exchange(packets, &mut |words| list.push(Reply::parse(words, &config).expect("a reply"))).expect("no failure");
    list
}

/// A reply without its cycles, which only the hardware has.
fn unclocked(reply: &Reply) -> Reply {
    match reply {
        Reply::Status(c) => Reply::Status(Counters { cycles: 0, ..*c }),
        other => other.clone(),
    }
}
