//! The engine's Verilog against a model that interprets the packets: random streams, gaps and back-pressure.

mod engine_common;

use engine_common::model::Model;
use engine_common::random::{Dice, stream};
use engine_common::{Bench, Drive, Output, beats, config, layout};
use hdl::Reduce::{Max, Min, Sum};
use hdl::engine::Config;
use hdl::engine::protocol::{Counters, Reply, RunHeader, Segment, Stream};

/// Sends `stream` and compares every answer with the model's; returns the counters that came last.
fn check(bench: &Bench, config: &Config, stream: &Stream, drive: Drive) -> Counters {
    let mut model = Model::new(config);
    stream.packets().for_each(|p| model.packet(p));
    let (packets, cycles) = bench.run(&beats(stream, config), model.replies.len(), drive);
    let mut counters = Counters::default();
    for (k, (packet, expected)) in packets.iter().zip(&model.replies).enumerate() {
        let reply = Reply::parse(packet, config).unwrap_or_else(|e| panic!("packet {k}: {e}"));
        match (&reply, expected) {
            (Reply::Status(got), Reply::Status(wanted)) => {
                counters = *got;
                assert!(got.cycles <= cycles, "packet {k}: {} cycles of {cycles}", got.cycles);
                assert_eq!(Counters { cycles: 0, ..*got }, *wanted, "packet {k}, seed {}", drive.seed);
            }
            _ => assert_eq!(&reply, expected, "packet {k}, seed {}", drive.seed),
        }
    }
    assert_eq!(packets.len(), model.replies.len(), "answers, seed {}", drive.seed);
    counters
}

#[test]
fn one_run_is_computed() {
    let p2p = layout(&["int32"], &["int32"], &[], &[("int64", Sum)]);
    let config = config(p2p, 2, 32, 3);
    let Some(bench) = Bench::build(&config) else { return };
    let mut s = Stream::default();
    s.load_j(0, 3, &[1, 2, 3]);
    s.run(RunHeader { tag: 7, n_i: 2, ..RunHeader::default() }, &[Segment { first: 0, count: 3 }]);
    s.i(2, &[10, 20]);
    s.status(false);
    s.end();
    let counters = check(&bench, &config, &s, Drive { gap: 0, stall: 0, seed: 1 });
    assert_eq!((counters.busy, counters.pairs), (3, 6));
}

/// Random streams through one engine, quiet and with faults.
fn random_streams(config: &Config, rounds: u64) {
    let Some(bench) = Bench::build(config) else { return };
    for seed in 1..=rounds {
        let mut dice = Dice::new(seed);
        let s = stream(config, &mut dice, 60, seed % 3 == 0);
        let drive = match seed % 4 {
            0 => Drive { gap: 60, stall: 20, seed },
            1 => Drive { gap: 0, stall: 0, seed },
            2 => Drive { gap: 10, stall: 70, seed },
            _ => Drive { gap: 0, stall: 95, seed },
        };
        check(&bench, config, &s, drive);
    }
}

const MIXED: &[Output] = &[
    ("int64", Sum),
    ("uint1", Max),
    ("int1", Min),
    ("float18.9", Max),
    ("fixed33.30", Sum),
    ("ufixed32.8", Sum),
    ("uint1", Sum),
    ("int64", Min),
    ("float5.2", Min),
    ("int32", Sum),
];

#[test]
fn one_lane_and_narrow_records_agree_with_the_model() {
    random_streams(&config(layout(&["int5"], &["uint9"], &[], &[("int7", Sum)]), 1, 32, 1), 24);
}

#[test]
fn eight_lanes_on_32_bits_agree_with_the_model() {
    random_streams(&config(layout(&["int32", "int40"], &["int64", "float18.9"], &["int32"], MIXED), 8, 32, 7), 24);
}

#[test]
fn three_lanes_on_64_bits_agree_with_the_model() {
    random_streams(&config(layout(&["int32"; 3], &["int32"; 7], &["int64", "int8"], MIXED), 3, 64, 30), 24);
}

#[test]
fn eight_lanes_on_128_bits_agree_with_the_model() {
    random_streams(&config(layout(&["int32"; 3], &["int32"; 7], &["int64"], &[("int64", Sum); 5]), 8, 128, 4), 24);
}

#[test]
fn records_of_a_word_on_128_bits_agree_with_the_model() {
    random_streams(&config(layout(&[], &["uint3"], &["uint5"], &[("uint32", Max)]), 5, 128, 2), 24);
}
