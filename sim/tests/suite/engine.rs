//! The engine's Verilog against a model that interprets the packets: random streams, gaps and back-pressure.

use crate::common::built;
use crate::engine_common::model::Model;
use crate::engine_common::random::stream;
use crate::engine_common::{Bench, Drive, Output, beats, config, layout, pipeline, settle};
use hdl::Reduce::{Max, Min, Sum};
use hdl::engine::link::Link;
use hdl::engine::protocol::{Counters, Reply, RunHeader, Segment, Stream};
use hdl::engine::{Config, design};
use hdl::rtl::netlist::Netlist;
use sim::bench::ModuleBench;
use sim::cycle::{CycleEngine, CycleOptions, Noise};
use sim::verilator::Effort;
use testkit::Random;

/// Sends `stream` and compares every answer with the model's; returns the counters that came last.
fn check(bench: &Bench, config: &Config, stream: &Stream, drive: Drive) -> Counters {
    let mut model = Model::new(config);
    stream.packets().for_each(|p| model.packet(p));
    let (packets, cycles) = bench.run(&beats(stream, config), model.replies.len(), drive);
    let parse =
        |(k, packet): (usize, &Vec<u32>)| Reply::parse(packet, config).unwrap_or_else(|e| panic!("packet {k}: {e}"));
    let mut replies: Vec<Reply> = packets.iter().enumerate().map(parse).collect();
    settle(&mut replies);
    settle(&mut model.replies);
    let mut counters = Counters::default();
    for (k, (reply, expected)) in replies.iter().zip(&model.replies).enumerate() {
        match (reply, expected) {
            (Reply::Status(got), Reply::Status(wanted)) => {
                counters = *got;
                assert!(got.cycles <= cycles, "packet {k}: {} cycles of {cycles}", got.cycles);
                assert_eq!(Counters { cycles: 0, ..*got }, *wanted, "packet {k}, seed {}", drive.seed);
            }
            _ => assert_eq!(reply, expected, "packet {k}, seed {}", drive.seed),
        }
    }
    assert_eq!(packets.len(), model.replies.len(), "answers, seed {}", drive.seed);
    counters
}

#[test]
fn one_run_is_computed() {
    let p2p = layout(&["int32"], &["int32"], &[], &[("int64", Sum)]);
    let config = config(p2p, 2, 32, 3);
    let Some(bench) = Bench::build(&config, Effort::Least) else { return };
    let mut s = Stream::default();
    s.load_j(0, 3, &[1, 2, 3]);
    s.run(RunHeader { tag: 7, n_i: 2, ..RunHeader::default() }, &[Segment { first: 0, count: 3 }]);
    s.i(2, &[10, 20]);
    s.status(false);
    s.end();
    let counters = check(&bench, &config, &s, Drive { gap: 0, stall: 0, seed: 1 });
    assert_eq!((counters.busy, counters.pairs), (3, 6));
}

/// A run before the first parameters would compute with nothing.
#[test]
fn a_run_without_parameters_is_refused() {
    let config = config(layout(&["int32"], &["int32"], &["int32"], &[("int64", Sum)]), 2, 32, 3);
    let Some(bench) = Bench::build(&config, Effort::Least) else { return };
    let mut s = Stream::default();
    s.load_j(0, 1, &[1]);
    let run = RunHeader { tag: 7, n_i: 1, ..RunHeader::default() };
    for param in [None, Some(5), Some(6)] {
        param.iter().for_each(|p| s.param(&[*p]));
        s.run(run, &[Segment { first: 0, count: 1 }]);
        s.i(1, &[10]);
        s.status(true);
    }
    s.end();
    let mut model = Model::new(&config);
    s.packets().for_each(|p| model.packet(p));
    let refused = |r: &Reply| matches!(r, Reply::Status(Counters { protocol_error: true, .. }));
    assert_eq!(model.replies.iter().map(refused).collect::<Vec<_>>(), [true, false, false, false, false, false]);
    check(&bench, &config, &s, Drive { gap: 0, stall: 0, seed: 1 });
}

/// Random streams through one engine, quiet and with faults.
fn random_streams(config: &Config, rounds: u64) {
    let Some(bench) = Bench::build(config, Effort::Least) else { return };
    for seed in 1..=rounds {
        let mut dice = Random::new(seed);
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
    random_streams(&config(layout(&["int5"], &["uint9"], &[], &[("int7", Sum)]), 1, 32, 1), 12);
}

#[test]
#[ignore = "a proof in depth"]
fn eight_lanes_on_32_bits_agree_with_the_model() {
    random_streams(&eight_lanes_on_32_bits(), 4);
}

/// Its simulation takes long: eight large results leave word by word.
fn eight_lanes_on_32_bits() -> Config {
    config(layout(&["int32", "int40"], &["int64", "float18.9"], &["int32"], MIXED), 8, 32, 7)
}

#[test]
#[ignore = "a proof in depth"]
fn eight_lanes_on_32_bits_agree_with_the_model_on_many_streams() {
    random_streams(&eight_lanes_on_32_bits(), 48);
}

#[test]
fn three_lanes_on_64_bits_agree_with_the_model() {
    random_streams(&config(layout(&["int32"; 3], &["int32"; 7], &["int64", "int8"], MIXED), 3, 64, 30), 12);
}

#[test]
#[ignore = "a proof in depth"]
fn eight_lanes_on_128_bits_agree_with_the_model() {
    random_streams(&config(layout(&["int32"; 3], &["int32"; 7], &["int64"], &[("int64", Sum); 5]), 8, 128, 4), 12);
}

#[test]
#[ignore = "a proof in depth"]
fn records_of_a_word_on_128_bits_agree_with_the_model() {
    random_streams(&config(layout(&[], &["uint3"], &["uint5"], &[("uint32", Max)]), 5, 128, 2), 12);
}

#[test]
fn lanes_with_one_bank_of_i_registers_agree_with_the_model() {
    let config = config(layout(&["int32"; 2], &["int32"; 2], &["int8"], &[("int64", Sum), ("int9", Max)]), 3, 64, 9);
    random_streams(&Config { i_banks: 1, ..config }, 12);
}

/// An engine whose lanes form `groups` groups.
fn grouped(config: Config, groups: u32) -> Config {
    Config { groups, ..config }
}

#[test]
fn two_groups_of_four_lanes_agree_with_the_model() {
    let config = config(layout(&["int32"; 3], &["int32"; 3], &["int8"], &[("int64", Sum), ("int9", Max)]), 8, 128, 9);
    random_streams(&grouped(config, 2), 12);
}

#[test]
#[ignore = "a proof in depth"]
fn three_groups_of_a_lane_each_agree_with_the_model() {
    random_streams(&grouped(config(layout(&["int5"], &["uint9"], &[], MIXED), 3, 32, 20), 3), 12);
}

#[test]
#[ignore = "a proof in depth"]
fn five_groups_of_three_lanes_on_64_bits_agree_with_the_model() {
    let config = config(layout(&["int40"], &["int32"; 2], &["int64"], &[("int64", Sum)]), 15, 64, 5);
    random_streams(&grouped(config, 5), 12);
}

#[test]
fn shell_and_lanes_as_separate_simulations_agree_with_the_model() {
    separate_simulations(config(layout(&["int32"; 3], &["int32"; 7], &["int64", "int8"], MIXED), 3, 64, 30));
}

#[test]
fn lane_groups_as_separate_simulations_agree_with_the_model() {
    let config = config(layout(&["int40"], &["int32", "float18.9"], &["int8"], MIXED), 12, 128, 30);
    separate_simulations(grouped(config, 4));
}

fn separate_simulations(config: Config) {
    for seed in testkit::some(1..=6, 2) {
        let noise = Noise { seed, gap: 0.2, stall: [0.0, 0.5, 0.95][seed as usize % 3] };
        let options = CycleOptions { threads: 2, noise, effort: Effort::Least, ..CycleOptions::default() };
        let Some(mut engine) = built(CycleEngine::build(&config, &pipeline(&config), &options)) else { return };
        let s = stream(&config, &mut Random::new(seed), 60, seed % 2 == 0);
        let mut model = Model::new(&config);
        s.packets().for_each(|p| model.packet(p));
        let mut replies: Vec<Reply> = Vec::new();
        let mut receive = |words: &[u32]| replies.push(Reply::parse(words, &config).expect("a reply"));
        engine.exchange(&s, &mut receive).expect("the engine answers");
        replies.iter_mut().for_each(|r| {
            if let Reply::Status(counters) = r {
                counters.cycles = 0;
            }
        });
        settle(&mut replies);
        settle(&mut model.replies);
        assert_eq!(replies, model.replies, "seed {seed}");
    }
}

/// The pairs of two groups through a lane alone, one group behind the other.
fn lane_latency(output: &'static str, expected: u32) {
    let config = config(layout(&["int32"], &["int64"], &[], &[(output, Sum)]), 1, 32, 5);
    let design = design(&config, &pipeline(&config));
    assert_eq!(design.lane_latency, expected);
    let lane = Netlist { top: design.lane.clone(), modules: design.netlist.modules };
    let Some(mut bench) = built(ModuleBench::build(&lane)) else { return };
    // i_we, i_bank, i_rec, j_rec, then valid, first, last, bank, active; the bank comes a clock before its pair.
    let pair = |j: u64, first: u64, last: u64, bank: u64| vec![0, 0, 0, j, 1, first, last, bank, 1];
    let idle = vec![0; 9];
    let wait = vec![0, 0, 0, 0, 0, 0, 0, 1, 0];
    let mut rows = vec![vec![1, 0, 11, 0, 0, 0, 0, 0, 0], vec![1, 1, 12, 0, 0, 0, 0, 0, 0]];
    // The sequencer leaves clocks between last pairs, since results leave one by one.
    rows.extend([pair(7, 1, 0, 0), idle.clone(), pair(8, 0, 1, 0), wait, pair(9, 1, 1, 0), idle]);
    let answers = bench.run(&rows);
    let value = |i: u64, j: u64| crate::engine_common::pair(&config.layout, &[i], &[j], &[]).0[0];
    let mask = config.layout.outputs[0].1.mask();
    let done: Vec<u64> = answers.iter().map(|row| row[2]).collect();
    assert_eq!(done, [0, 0, 0, 0, 1, 0, 1, 0], "the cycles in which results are finished");
    assert_eq!(answers[4][0], value(11, 7).wrapping_add(value(11, 8)) & mask);
    assert_eq!(answers[6][0], value(12, 9));
}

#[test]
fn a_lane_answers_after_the_latency_it_declares() {
    lane_latency("int32", 6);
    lane_latency("int64", 7);
}
