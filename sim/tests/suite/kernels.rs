//! Every shipped kernel: the cycle simulation of its engine equals the emulator, bit for bit.

use crate::common::{Kernel, Way, Work, check, engine, of_fmm, simulate};
use hdl::circuit::target::Clock;
use sim::cycle::{CycleOptions, Noise};
use sim::stimuli::Style;

/// Random pairs of each style, and half as many of corners: in a usual run, and in a proof in depth.
const PAIRS: usize = 2_500;
const MANY_PAIRS: usize = 20_000;

/// Pipelines and stream widths of the engines that the kernels of the FMM are simulated on.
const ENGINES: &[(u32, u32)] = &[(1, 32), (3, 64), (8, 128)];
/// The engine for the other kernels: what surrounds their pipelines is the same.
const ONE_ENGINE: &[(u32, u32)] = &[(1, 64)];

/// Emulates the work once and simulates it on engines, with noisy streams and, at 8 pipelines, regular ones. An engine of one
/// pipeline is one model, which takes least to build.
fn agree(name: &str, text: &str, engines: &[(u32, u32)], pairs: usize) {
    let mut kernel = Kernel::new(name, text);
    if !kernel.graph.bins.is_empty() {
        // Without sums in memory an engine has an adder for each element, which Verilator takes minutes to read.
        kernel = Kernel::folded(name, text, Clock::default_clock(), 1);
    }
    let graph = &kernel.graph;
    let works = [
        ("wild", Work::random(graph, pairs, 11, Style::Wild { anchor: 0x1234_5678_9abc_def0 })),
        ("ordinary", Work::random(graph, pairs, 12, Style::Ordinary)),
        ("corners", Work::corners(graph, pairs / 2)),
    ];
    let expected = works.each_ref().map(|(_, work)| work.expected(graph));
    for &(lanes, stream_bits) in engines {
        let config = hdl::engine::Config { stream_bits, ..kernel.config(lanes) };
        let noise = Noise { seed: lanes as u64, gap: 0.2, stall: 0.3 };
        let options = CycleOptions { noise, flat: lanes == 1, ..CycleOptions::default() };
        let Some(mut noisy) = engine(&kernel, &config, &options) else { return };
        for ((what, work), expected) in works.iter().zip(&expected) {
            check(work, &simulate(&mut noisy, work), expected, &format!("{name}, {lanes} pipelines, {what}"));
        }
        if lanes == 8 {
            let mut regular = engine(&kernel, &config, &CycleOptions::default()).expect("Verilator is there");
            check(&works[1].1, &simulate(&mut regular, &works[1].1), &expected[1], &format!("{name}, no noise"));
        }
    }
}

#[test]
fn shipped_kernels_of_the_fmm_agree_with_the_emulator() {
    for (k, kernel) in testkit::some(pg2::kernels::KERNELS.iter().filter(|k| of_fmm(k.name)), 3).enumerate() {
        agree(kernel.name, kernel.text, &ENGINES[k % ENGINES.len()..][..1], PAIRS);
    }
}

#[test]
#[ignore = "a proof in depth"]
fn shipped_kernels_of_the_fmm_agree_with_the_emulator_on_every_engine() {
    for kernel in pg2::kernels::KERNELS.iter().filter(|k| of_fmm(k.name)) {
        agree(kernel.name, kernel.text, ENGINES, MANY_PAIRS);
    }
}

#[test]
fn some_of_the_other_shipped_kernels_agree_with_the_emulator() {
    for kernel in testkit::some(Way::Engine.kernels(), 2) {
        agree(kernel.name, kernel.text, ONE_ENGINE, PAIRS);
    }
}

#[test]
#[ignore = "a proof in depth"]
fn the_other_shipped_kernels_agree_with_the_emulator() {
    for kernel in pg2::kernels::KERNELS.iter().filter(|k| !of_fmm(k.name)) {
        agree(kernel.name, kernel.text, ONE_ENGINE, MANY_PAIRS);
    }
}

fn m2l_agrees(order: u32, engines: &[(u32, u32)]) {
    agree(&format!("m2l_{order}"), &pg2::gen_m2l(order).expect("the order is in range"), engines, MANY_PAIRS);
}

// `m2l_paper` above is of order 2.
#[test]
#[ignore = "a proof in depth"]
fn larger_m2l_kernels_agree_with_the_emulator_on_every_engine() {
    m2l_agrees(3, ENGINES);
    m2l_agrees(4, ENGINES);
}

#[test]
fn functions_agree_with_the_emulator() {
    agree("functions", include_str!("../functions.pg2"), ONE_ENGINE, PAIRS);
}
