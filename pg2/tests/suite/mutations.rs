//! Kernels that were changed at random: an answer for every text, and what compiles keeps what it means.

use crate::mutate::{answer, mutated, sources};
use hdl::circuit::target::Clock;
use pg2::backend::build::build;
use std::collections::BTreeSet;
use testkit::Random;

/// Cases of the tests here; more with `CASES=n`.
fn cases() -> usize {
    std::env::var("CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(6000)
}

/// The graph as text, which has no places in it.
fn graph(text: &str) -> Option<String> {
    pg2::compile("k", text).ok().map(|c| c.graph.to_string())
}

#[test]
fn mutated_kernels_get_an_answer() {
    let (sources, mut dice) = (sources(), Random::new(0x5EED_0001));
    let (mut seen, mut compiled) = (BTreeSet::new(), 0);
    for _ in 0..cases() {
        let text = mutated(&sources, &mut dice);
        let codes = answer(&text);
        compiled += codes.iter().all(|c| *c >= "PG0101") as usize;
        seen.extend(codes);
        // What an editor asks is answered too.
        let names = pg2::syntax::names::names(&text);
        assert!(names.definitions.iter().all(|d| d.span.of(&text) == d.name), "{text}");
    }
    println!("{compiled} compile");
    assert!(seen.len() > 30, "the mutations reach too little: {seen:?}");
    assert!(compiled > cases() / 20, "only {compiled} compile");
}

#[test]
fn formatting_is_idempotent_and_keeps_the_graph() {
    let (sources, mut dice) = (sources(), Random::new(0x5EED_0003));
    let (mut formatted, mut compiled) = (0, 0);
    for _ in 0..cases() / 4 {
        let text = mutated(&sources, &mut dice);
        let Ok(once) = pg2::syntax::fmt::format(&text) else { continue };
        assert_eq!(pg2::syntax::fmt::format(&once).as_ref(), Ok(&once), "formatted twice: {text}");
        formatted += 1;
        let before = graph(&text);
        assert_eq!(graph(&once), before, "{text}\nformatted\n{once}");
        compiled += before.is_some() as usize;
    }
    println!("{formatted} were formatted, {compiled} of them compile");
    assert!(formatted > cases() / 40 && compiled > cases() / 80, "{formatted} {compiled}");
}

#[test]
fn what_compiles_becomes_a_pipeline() {
    let (sources, mut dice) = (sources(), Random::new(0x5EED_0004));
    let mut pipelines = 0;
    while pipelines < cases() / 100 {
        let text = mutated(&sources, &mut dice);
        let Ok(compiled) = pg2::compile("k", &text) else { continue };
        if compiled.graph.nodes.len() > 300 {
            continue;
        }
        let clock = Clock { mhz: [60.0, 150.0, 250.0][pipelines % 3], ..Clock::default_clock() };
        let built = build(&compiled.graph, clock, &text, Vec::new());
        built.netlist.verify().unwrap_or_else(|e| panic!("{e}\n{text}"));
        built.graph.verify().unwrap_or_else(|e| panic!("{e}\n{text}"));
        pipelines += 1;
    }
}
