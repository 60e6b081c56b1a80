//! Estimated areas of engines, against those that a tool mapped.

use hdl::circuit::target::{Clock, target};
use hdl::engine::Config;
use pg2::backend::build::build_folded;
use pg2::report::area::{engine, lane};

/// Kernels in an engine of the iCEBreaker with its interval and words of j memory; cells and memories as yosys 0.70 mapped the whole
/// design. Cells are tables, flip-flops without a table of their own, and .31 for each step of a carry chain, which is what nextpnr
/// made of those that it placed.
const MAPPED: [(&str, u32, u32, u64, u64); 7] = [
    ("p2p_small", 1, 1024, 4_371, 27),
    ("p2p_small", 8, 64, 3_906, 25),
    ("p2p_paper", 8, 64, 4_578, 33),
    ("p2p", 16, 64, 6_623, 32),
    ("p2p", 32, 64, 5_077, 29),
    ("gravity", 32, 64, 5_368, 29),
    ("in_one_word", 32, 64, 4_246, 30),
];

/// The nearest neighbour and its distance in one word, in ints alone.
const IN_ONE_WORD: &str = "
int32 xi[3] ipin; int32 xj[3] jpin; uint24 index_i ipin; uint24 index_j jpin; uint64 nearest fout;
d = (int64)(xj - xi);
r2 = (uint64)(d[0] * d[0]) + (uint64)(d[1] * d[1]) + (uint64)(d[2] * d[2]);
key = r2 & 0xFFFFFFFFFF000000 | (uint64)index_j;
nearest min= index_i == index_j ? 0xFFFFFFFFFFFFFFFF : key;
";

#[test]
fn the_estimate_for_ice40_is_near_what_was_mapped() {
    let clock = Clock { target: target("ice40").expect("a target"), mhz: 12.0, blocks: Some(8) };
    for (kernel, ii, words, cells, memories) in MAPPED {
        let text = pg2::kernels::find(kernel).map_or(IN_ONE_WORD, |kernel| kernel.text);
        let graph = pg2::compile(kernel, text).expect("it compiles").graph;
        let built = build_folded(&graph, (clock, ii), "", Vec::new());
        let layout = built.layout();
        let config = Config {
            jmem_records: words / layout.j_words(),
            pipelines: 1,
            groups: 1,
            i_banks: 1,
            segments: 128,
            ii,
            ..Config::usual(layout, built.schedule.depth)
        };
        let area = engine(&built, &config);
        let off = area.cells() as f64 / cells as f64 - 1.0;
        assert!(off.abs() < 0.08, "{kernel} --ii {ii}: {} of {cells} cells, {off:.3} off", area.cells());
        assert!(area.memories.abs_diff(memories) <= 2, "{kernel} --ii {ii}: {} of {memories}", area.memories);
    }
}

/// Lanes as yosys maps them; `scripts/measure_areas.py` makes the record, and a proof in depth holds it to the tools.
const LANES: &str = include_str!("../areas/mapped.txt");

/// The error that the tables of a lane may have: ECP5's are known best.
fn most_off(target: &str) -> f64 {
    if target == "ecp5" { 0.05 } else { 0.12 }
}

#[test]
fn lanes_are_estimated_as_they_are_mapped() {
    let few = ["p2p_paper", "p2p_small", "random_1", "random_2"];
    lanes_are_near(|kernel, interval| interval == 1 && few.contains(&kernel));
}

#[test]
#[ignore = "a proof in depth"]
fn all_recorded_lanes_are_estimated_as_they_are_mapped() {
    lanes_are_near(|_, _| true);
}

fn lanes_are_near(is_chosen: impl Fn(&str, u32) -> bool) {
    let mut far = Vec::new();
    for line in LANES.lines().skip(1) {
        let (row, numbers) = line.split_once(" | ").expect("a row and its numbers");
        let [name, kernel, interval] = row.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let interval = interval.parse().expect("an interval");
        if !is_chosen(kernel, interval) {
            continue;
        }
        let own = format!("{}/tests/areas/{kernel}.pg2", env!("CARGO_MANIFEST_DIR"));
        let text = pg2::kernels::find(kernel).map(|kernel| kernel.text.to_string());
        let text = text.unwrap_or_else(|| std::fs::read_to_string(own).expect("a kernel beside the record"));
        let graph = pg2::compile(kernel, &text).expect("it compiles").graph;
        let target = target(name).expect("a target");
        let clock = Clock { target, mhz: target.usual_mhz, blocks: None };
        let area = lane(&build_folded(&graph, (clock, interval), "", Vec::new()));
        let mapped: Vec<u64> = numbers.split(' ').map(|n| n.parse().expect("a number")).collect();
        let off = area.tables as f64 / mapped[0] as f64 - 1.0;
        if off.abs() > most_off(name) || area.multipliers != mapped[2] || area.memories != mapped[3] {
            far.push(format!("{row}: {area:?} of {numbers}, {off:.3} off"));
        }
    }
    assert!(far.is_empty(), "{}", far.join("\n"));
}
