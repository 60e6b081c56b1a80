//! The fast emulator against the scalar reference on every shipped kernel and M2L of every order.

use hdl::engine::protocol::Segment;
use pg2::graph::{Graph, PinClass};
use sim::emulator::{Emulator, Isa};
use sim::stimuli::{self, Random, Style};
use sim::{reference, stimuli::records};

/// Compares results and flags of `targets` targets over wild, ordinary and corner sources, in segments of odd lengths.
fn check(name: &str, text: &str, sources: usize) {
    let source = pg2::compile(name, text).expect("a shipped kernel compiles").graph;
    let simplified = pg2::middle::simplify::simplify(&source);
    let mut random = Random::new(2014);
    let wild = Style::Wild { anchor: 0 };
    let params = records(&source, PinClass::Param, 1, Style::Ordinary, &mut random).concat();
    let mut j = records(&source, PinClass::Jpin, sources, Style::Ordinary, &mut random);
    j.extend(records(&source, PinClass::Jpin, sources / 4, wild, &mut random));
    j.extend(stimuli::corner_records(&source, PinClass::Jpin));
    let mut i = records(&source, PinClass::Ipin, 3, Style::Ordinary, &mut random);
    i.extend(records(&source, PinClass::Ipin, 1, wild, &mut random));
    i.extend(stimuli::corner_records(&source, PinClass::Ipin).into_iter().take(2));
    let want: Vec<_> = i.iter().map(|i| reference::target(&source, i, &j, &params)).collect();
    for isa in Isa::available() {
        let got = emulate(&simplified, isa, &i, &j, &params);
        assert_eq!(got, want, "{name} on {isa}");
    }
}

fn emulate(graph: &Graph, isa: Isa, i: &[Vec<u64>], j: &[Vec<u64>], params: &[u64]) -> Vec<(Vec<u64>, hdl::Flags)> {
    let mut emulator = Emulator::with_isa(graph, isa);
    emulator.set_params(params);
    let mut sources = emulator.sources(j.len());
    emulator.load(&mut sources, 0, &j.concat());
    let mut segments = Vec::new();
    let mut first = 0;
    // Lengths 0, 1, 2, ... up to more than a block, so that blocks begin and end anywhere.
    for length in (0..).map(|k| k * k % 301) {
        let count = length.min(j.len() - first);
        segments.push(Segment { first: first as u32, count: count as u32 });
        first += count;
        if first == j.len() {
            break;
        }
    }
    let mut sums = vec![emulator.start(); i.len()];
    emulator.accumulate(&mut emulator.scratch(), &mut sums, &i.concat(), &sources, &segments);
    sums.iter().map(|s| s.finish()).collect()
}

/// Shipped kernels, and one with every function.
fn check_shipped(sources: usize) {
    for kernel in pg2::kernels::KERNELS {
        check(kernel.name, kernel.text, sources);
    }
    check("functions", include_str!("../functions.pg2"), sources);
}

#[test]
fn shipped_kernels_and_functions_give_the_bits_of_the_reference() {
    check_shipped(1200);
}

#[test]
#[ignore = "a proof in depth"]
fn shipped_kernels_and_functions_give_the_bits_of_the_reference_on_many_sources() {
    check_shipped(10_000);
}

fn check_m2l(order: u32, sources: usize) {
    let text = pg2::gen_m2l(order).expect("orders 1 to 8 exist");
    check(&format!("m2l_{order}"), &text, sources);
}

#[test]
fn m2l_to_order_4_gives_the_bits_of_the_reference() {
    (1..=4).for_each(|order| check_m2l(order, 400));
}

#[test]
#[ignore = "a proof in depth"]
fn m2l_of_every_order_gives_the_bits_of_the_reference_on_many_sources() {
    (1..=8).for_each(|order| check_m2l(order, if order <= 4 { 800 } else { 200 }));
}
