//! The engine without a clock against the simulated hardware: every reply to lawful and to faulty streams.

use crate::engine_common::random::stream;
use crate::engine_common::settle;
use hdl::circuit::target::Clock;
use hdl::engine::Config;
use hdl::engine::link::Link;
use hdl::engine::protocol::{Counters, RUN, RUN_HOLD, RUN_KEEP, Reply, Stream};
use pg2::backend::build::build;
use pg2::backend::filtered::build_filtered;
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
    check(&Engine { pipelines: 3, groups: 1, filters: 0 });
}

#[test]
fn every_reply_of_lane_groups_is_that_of_the_hardware() {
    check(&Engine { pipelines: 6, groups: 3, filters: 0 });
}

/// Pairs that pass are counted by the kernel in the one and by a counter behind queues in the other.
#[test]
fn every_reply_of_filters_is_that_of_the_hardware() {
    let shapes = [Engine { pipelines: 1, groups: 1, filters: 3 }, Engine { pipelines: 4, groups: 2, filters: 2 }];
    testkit::some(shapes, 1).for_each(|engine| check(&engine));
}

/// The lanes of an engine.
struct Engine {
    pipelines: u32,
    groups: u32,
    filters: u32,
}

/// Streams of random packets through an engine.
fn check(engine: &Engine) {
    let Engine { pipelines, groups, filters } = *engine;
    let text = if filters > 0 { format!("{KERNEL} where (d[0] > d[1]);") } else { KERNEL.to_string() };
    let graph = pg2::compile("toy", &text).expect("the kernel is right").graph;
    let clock = Clock::default_clock();
    let built = match filters {
        0 => build(&graph, clock, "", Vec::new()),
        _ => build_filtered(&graph, clock, "", Vec::new()).expect("the kernel has a filter"),
    };
    let emulated = if filters > 0 { &graph } else { &built.graph };
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
        filters,
    };
    let options = CycleOptions { effort: Effort::Least, ..CycleOptions::default() };
    let hardware = CycleEngine::build(&config, &built.netlist, &options);
    let Some(mut hardware) = crate::common::built(hardware) else { return };
    for threads in [1, 3] {
        for seed in 0..12 {
            // Each round starts from an engine in the same state: the stream itself sets everything up, and an END within a
            // run, which is an error, is forgotten below.
            let mut emulated = EmulatedEngine::new(emulated, config.clone(), threads);
            let packets = stream(&config, &mut Random::new(1000 + seed), 60, seed % 2 == 1 && filters == 0);
            let packets = if filters > 0 { continued(&packets) } else { packets };
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

/// The stream, of whose runs none keeps sums that the one before in its lane group has not held for as many targets: filters leave no
/// others behind.
fn continued(stream: &Stream) -> Stream {
    let mut all = Stream::default();
    let mut held = [0; 256];
    for packet in stream.packets() {
        let mut packet = packet.to_vec();
        if packet[0] >> 24 == RUN {
            let (targets, held) = (packet[2], &mut held[(packet[3] >> 24) as usize]);
            if targets > *held || targets == 0 {
                packet[0] &= !RUN_KEEP;
            }
            *held = if packet[0] & RUN_HOLD != 0 { targets } else { 0 };
        }
        all.packet(packet);
    }
    all
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
