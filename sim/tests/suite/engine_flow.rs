//! How busy the engine keeps its pipelines: counted cycles on loads like those of an FMM.

use crate::engine_common::model::Model;
use crate::engine_common::random::words;
use crate::engine_common::{Bench, Drive, beats, config, layout, settle};
use hdl::Reduce::Sum;
use hdl::engine::Config;
use hdl::engine::protocol::{Counters, Reply, RunHeader, Segment, Stream};
use sim::verilator::Effort;
use testkit::Random;

/// Sends the stream at full speed, checks the answers, and returns the counters of its STATUS.
fn count(bench: &Bench, config: &Config, s: &Stream) -> Counters {
    let mut model = Model::new(config);
    s.packets().for_each(|p| model.packet(p));
    let (packets, _) = bench.run(&beats(s, config), model.replies.len(), Drive { gap: 0, stall: 0, seed: 1 });
    let mut replies: Vec<Reply> = packets.iter().map(|p| Reply::parse(p, config).expect("a reply")).collect();
    settle(&mut replies);
    settle(&mut model.replies);
    let mut counters = Counters::default();
    for (packet, expected) in replies.iter().zip(&model.replies) {
        match (packet, expected) {
            (Reply::Status(got), _) => counters = *got,
            (got, expected) => assert_eq!(got, expected),
        }
    }
    assert!(!counters.protocol_error);
    counters
}

fn utilisation(c: &Counters) -> f64 {
    c.busy as f64 / c.cycles as f64
}

/// P2P: 3 coordinates and a mass, potential and gradient.
fn p2p(stream_bits: u32) -> Config {
    let p2p = layout(
        &["fixed32.31"; 3],
        &["fixed32.31", "fixed32.31", "fixed32.31", "float25.16"],
        &[],
        &[("int64", Sum); 4],
    );
    Config { jmem_records: 8192, segments: 1024, ..config(p2p, 8, stream_bits, 40) }
}

/// Leaves of 160 targets against the same number of sources in pieces of `length`; the next cells are loaded
/// between the groups of targets.
fn leaves(config: &Config, length: u32, segments: u32) -> Stream {
    let mut s = Stream::default();
    let mut dice = Random::new(5);
    let (i_words, j_words) = (config.layout.i_words(), config.layout.j_words());
    s.load_j(0, 4096, &words(&mut dice, 4096 * j_words));
    for run in 0..4 {
        let loaded = 4096 + 500 * run;
        let list: Vec<Segment> =
            (0..segments).map(|_| Segment { first: dice.below(loaded - length), count: length }).collect();
        s.run(RunHeader { tag: run, n_i: 160, ..RunHeader::default() }, &list);
        for group in 0..20 {
            s.i(8, &words(&mut dice, 8 * i_words));
            if group % 4 == 0 {
                s.load_j(loaded + 25 * group, 100, &words(&mut dice, 100 * j_words));
            }
        }
    }
    s.status(false);
    s.end();
    s
}

#[test]
fn p2p_streams_a_pair_each_clock() {
    for stream_bits in testkit::some([32, 128], 1) {
        let config = p2p(stream_bits);
        let Some(bench) = Bench::build(&config, Effort::Least) else { return };
        for (length, segments) in testkit::some([(24, 27), (1, 600), (300, 2), (2, 330)], 2) {
            let c = count(&bench, &config, &leaves(&config, length, segments));
            println!("P2P, {stream_bits} bits, {segments} segments of {length}: {:.4}", utilisation(&c));
            assert!(utilisation(&c) > 0.97, "{c:?}");
        }
    }
}

/// One stream feeds four groups of lanes, each target packet with its list, the next cells loaded between them.
#[test]
fn lane_groups_stream_a_pair_each_clock() {
    let config = Config { pipelines: 16, groups: 4, ..p2p(128) };
    let Some(bench) = Bench::build(&config, Effort::Least) else { return };
    let mut s = Stream::default();
    let mut dice = Random::new(7);
    let (i_words, j_words) = (config.layout.i_words(), config.layout.j_words());
    s.load_j(0, 4096, &words(&mut dice, 4096 * j_words));
    for unit in 0..120 {
        let list: Vec<Segment> =
            (0..27).map(|_| Segment { first: dice.below(4064), count: 8 + dice.below(24) }).collect();
        s.run(RunHeader { tag: unit, n_i: 4, group: (unit % 4) as u8, ..RunHeader::default() }, &list);
        s.i(4, &words(&mut dice, 4 * i_words));
        s.load_j(4096 + 30 * unit, 30, &words(&mut dice, 30 * j_words));
    }
    s.status(false);
    s.end();
    let c = count(&bench, &config, &s);
    let used = utilisation(&c) / config.groups as f64;
    println!("P2P, 4 groups, 27 segments of 8 to 31: {used:.4}");
    assert!(used > 0.93, "{c:?}");
}

/// M2L of order 2: for each parent 8 targets, 27 segments, 8 new sources, 10 sums a target. With `between`, what is
/// loaded lies between the segments that are read, so that every load has to look through the list.
fn parents(config: &Config, segment: u32, between: bool) -> Stream {
    let mut s = Stream::default();
    let mut dice = Random::new(6);
    let j_words = config.layout.j_words();
    s.load_j(0, 2048, &words(&mut dice, 2048 * j_words));
    for run in 0..60 {
        let slot = if between { 16 * dice.below(128) + 8 } else { 2048 + 8 * run };
        s.load_j(slot, 8, &words(&mut dice, 8 * j_words));
        let list: Vec<Segment> = (0..27).map(|_| Segment { first: 16 * dice.below(128), count: segment }).collect();
        s.run(RunHeader { tag: run, n_i: 8, ..RunHeader::default() }, &list);
        s.i(8, &words(&mut dice, 8 * config.layout.i_words()));
    }
    s.status(false);
    s.end();
    s
}

/// M2L on streams of each width, with the least utilisation there.
fn m2l_is_busy(widths: &[(u32, f64)]) {
    let m2l = |stream_bits| {
        let m2l = layout(
            &["int32"; 3],
            &["int32", "int32", "int32", "float18.9", "float18.9", "float18.9", "float18.9"],
            &["int32"],
            &[("int64", Sum); 10],
        );
        Config { jmem_records: 4096, segments: 256, ..config(m2l, 8, stream_bits, 60) }
    };
    for &(stream_bits, least) in widths {
        let config = m2l(stream_bits);
        let Some(bench) = Bench::build(&config, Effort::Least) else { return };
        for (segment, between) in [(6, false), (6, true), (8, false), (8, true)] {
            let c = count(&bench, &config, &parents(&config, segment, between));
            let loads = if between { "between" } else { "behind" };
            println!("M2L, {stream_bits} bits, 27 segments of {segment}, loads {loads}: {:.4}", utilisation(&c));
            assert!(utilisation(&c) > least, "{c:?}");
        }
    }
}

#[test]
#[ignore = "a proof in depth"]
fn m2l_keeps_narrow_and_wide_streams_busy() {
    m2l_is_busy(&[(32, 0.75), (128, 0.9)]);
}

#[test]
#[ignore = "a proof in depth"]
fn m2l_keeps_streams_of_middle_width_busy() {
    m2l_is_busy(&[(64, 0.9)]);
}
