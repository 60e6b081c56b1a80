//! The cost of a lane, held to what its Verilog declares, over random kernels and shipped ones.

use crate::random_kernels::random_kernel;
use hdl::circuit::target::{Clock, target};
use hdl::engine::{Config, design};
use pg2::backend::build::build_folded;
use pg2::report::explain::explain;
use std::collections::BTreeMap;

/// Bits of the registers that a module of a Verilog text declares, its instances included; memories are not registers.
fn declared(modules: &BTreeMap<&str, &str>, name: &str) -> u64 {
    let mut bits = 0;
    for line in modules[name].lines().map(str::trim) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(at) = words.iter().position(|w| *w == "reg")
            && !line.starts_with("//")
        {
            let (first, last) = (words[at + 1], words[words.len() - 1]);
            let is_memory = last.starts_with('[') && words.len() - at > 2 && last.ends_with("];");
            let range = first.strip_prefix('[').and_then(|r| r.split_once(':'));
            let width = range.map_or(1, |(high, _)| high.parse::<u64>().expect("a number") + 1);
            bits += if is_memory { 0 } else { width };
        } else if words.len() == 3 && words[2] == "(" && modules.contains_key(words[0]) {
            bits += declared(modules, words[0]);
        }
    }
    bits
}

fn check(name: &str, text: &str, family: &str, ii: u32) -> (u64, u64) {
    println!("{name} on {family}, a pair every {ii} clocks:\n{text}");
    let compiled = pg2::compile(name, text).expect("it compiles");
    let clock = Clock { target: target(family).expect("a family"), mhz: 150.0, blocks: None };
    let built = build_folded(&compiled.graph, (clock, ii), text, Vec::new());
    let config = Config { ii, ..Config::usual(built.layout(), built.schedule.depth) };
    let engine = design(&config, &built.netlist);
    let verilog = engine.netlist.verilog().expect("it is sound");
    let modules: BTreeMap<&str, &str> = verilog
        .split("\nendmodule")
        .filter_map(|m| {
            let body = &m[m.rfind("\nmodule ").map(|at| at + 1).or(m.starts_with("module ").then_some(0))?..];
            Some((body.strip_prefix("module ")?.split_whitespace().next()?, body))
        })
        .collect();
    let account = explain(&built, text);
    let wanted = declared(&modules, &engine.lane);
    assert_eq!(account.register_bits(), wanted, "{name}");
    let parts = account.pipeline_bits() + account.lane.sum_bits + account.lane.target_bits;
    assert!(ii > 1 || parts <= wanted, "{name}: {parts} of {wanted}");
    (account.lane.sum_bits, account.lane.target_bits)
}

#[test]
fn the_cost_of_a_lane_is_what_its_verilog_declares() {
    for seed in 1..=24 {
        let text = random_kernel(seed).text();
        check("k", &text, ["generic", "ecp5", "max10"][seed as usize % 3], [1, 1, 2, 7][seed as usize % 4]);
    }
    for (family, ii) in [("generic", 1), ("ecp5", 1), ("ice40", 64)] {
        let kernel = pg2::kernels::find("p2p").expect("a shipped kernel");
        check(kernel.name, kernel.text, family, ii);
    }
}

#[test]
fn accumulators_and_targets_are_in_the_cost() {
    let kernel = |width: u32| {
        format!(
            "uint10 a ipin;\nuint10 b jpin;\nuint{width} n[1000] fout;\nfor k in 0..1000 {{ n[k] += a * b == k; }}\n"
        )
    };
    // The running totals have 32 guard bits, and so has what is kept of the last targets.
    let (sums, targets) = check("bins", &kernel(32), "generic", 1);
    assert_eq!((sums, targets), (1000 * 2 * (32 + 32), 3 * 10));
    assert_eq!(check("bins", &kernel(8), "generic", 1).0, 1000 * 2 * (8 + 32));
}
