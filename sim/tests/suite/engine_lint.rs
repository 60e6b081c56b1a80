//! The engine's Verilog passes the strictest checks of three tools in every shape.

use crate::engine_common::{Output, config, layout, pipeline};
use hdl::Reduce::{self, Max, Min, Sum};
use hdl::engine::{Config, design};
use hdl::number::reduce::Ranked;
use std::process::Command;

fn check(config: &Config) {
    let design = design(config, &pipeline(config));
    design.netlist.verify().expect("the netlist is sound");
    let folder = tempfile::tempdir().expect("a temporary folder");
    // One file a module, as `build` writes them.
    let mut files = Vec::new();
    for module in &design.netlist.modules {
        let file = folder.path().join(format!("{}.v", module.name));
        let text = module.verilog();
        assert_eq!(testkit::used_before_declared(&text), None, "{}", module.name);
        std::fs::write(&file, text).expect("the text is written");
        files.push(file.to_str().expect("a path in UTF-8").to_string());
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let shape = format!(
        "{} lanes in {} groups, {} bits, {:?}",
        config.pipelines, config.groups, config.stream_bits, config.layout
    );
    testkit::lint(&[&["--top-module", &design.top], &files[..]].concat(), &shape);
    if let Some((good, said)) = testkit::slang(folder.path(), &files) {
        assert!(good && said.is_empty(), "{shape}\n{said}");
    }
    let object = folder.path().join("engine.vvp");
    let mut icarus = Command::new("iverilog");
    icarus.args(["-Wall", "-g2005", "-s", &design.top, "-o"]).arg(object).args(&files);
    if let Some((good, said)) = testkit::run(&mut icarus) {
        assert!(good && said.is_empty(), "{shape}\n{said}");
    }
}

const P2P_OUT: &[Output] = &[("int64", Sum)];
const MIXED_OUT: &[Output] = &[
    ("int64", Sum),
    ("uint1", Max),
    ("int1", Min),
    ("float18.9", Max),
    ("fixed33.30", Sum),
    ("ufixed32.8", Sum),
    ("uint1", Sum),
    ("int64", Min),
    ("float5.2", Min),
];

/// A place of a selection.
const fn place(selection: u32, rank: u32, member: u32) -> Reduce {
    Reduce::Ranked(Ranked { selection, member, rank, greatest: selection == 1 })
}

const SELECTED_OUT: &[Output] = &[
    ("uint1", place(0, 0, 0)),
    ("int64", Sum),
    ("int1", place(0, 0, 1)),
    ("float5.2", place(1, 1, 0)),
    ("float5.2", place(1, 0, 0)),
    ("int64", place(1, 0, 1)),
    ("int64", place(1, 1, 1)),
];

/// Engines of each number of lanes on each stream width.
fn lanes_are_clean(widths: &[u32], numbers: &[u32]) {
    for &stream_bits in widths {
        for &lanes in numbers {
            let p2p = layout(&["int32", "int32", "int32"], &["int32", "int32", "int32", "float18.9"], &[], P2P_OUT);
            check(&config(p2p, lanes, stream_bits, 5));
        }
    }
}

#[test]
fn numbers_of_lanes_and_stream_widths_are_clean() {
    lanes_are_clean(&[32], &[1, 5]);
    lanes_are_clean(&[64], &[2, 8]);
    lanes_are_clean(&[128], &[3]);
}

#[test]
#[ignore = "a proof in depth"]
fn every_number_of_lanes_on_every_stream_width_is_clean() {
    lanes_are_clean(&[32, 64, 128], &[1, 2, 3, 4, 5, 8, 13, 64]);
}

/// Engines of each number of lanes in groups on each stream width.
fn groups_are_clean(widths: &[u32], numbers: &[(u32, u32)]) {
    for &stream_bits in widths {
        for &(lanes, groups) in numbers {
            let p2p = layout(&["int32", "int32"], &["int32", "float18.9"], &["int8"], P2P_OUT);
            check(&Config { groups, ..config(p2p, lanes, stream_bits, 5) });
        }
    }
}

#[test]
fn numbers_of_lane_groups_are_clean() {
    groups_are_clean(&[32], &[(6, 3)]);
    groups_are_clean(&[64], &[(2, 2)]);
    groups_are_clean(&[128], &[(15, 5)]);
    let none = layout(&[], &[], &[], &[("uint1", Max)]);
    check(&Config { groups: 3, ..config(none, 3, 32, 1) });
}

#[test]
#[ignore = "a proof in depth"]
fn every_number_of_lane_groups_on_every_stream_width_is_clean() {
    groups_are_clean(&[32, 64, 128], &[(2, 2), (6, 3), (15, 5), (32, 16), (64, 8), (64, 16)]);
}

/// Records of every kind, the k-th on the widths that `of` says.
fn records_are_clean(of: impl Fn(usize) -> &'static [u32]) {
    let many = ["float18.9"; 40];
    let shapes = [
        layout(&[], &[], &[], P2P_OUT),
        layout(&["uint1"], &["uint1"], &["uint1"], &[("uint1", Max)]),
        layout(&["int64"], &[], &["int33", "int64"], MIXED_OUT),
        layout(&[], &["int40"], &["uint5"; 7], &[("float32.23", Min), ("int31", Sum)]),
        layout(&many, &many[..33], &["int32"], &[("int64", Sum); 3]),
        layout(&["int32"; 3], &many, &[], &[("int64", Sum); 165]),
        layout(&["int32"], &["int32"; 2], &[], SELECTED_OUT),
    ];
    for (k, (shape, lanes)) in testkit::some(shapes.iter().zip([1, 2, 3, 1, 9, 2, 4]).enumerate(), 3) {
        for &stream_bits in of(k) {
            check(&config(shape.clone(), lanes, stream_bits, 1));
        }
    }
}

const WIDTHS: [u32; 3] = [32, 64, 128];

#[test]
fn records_of_every_kind_are_clean_on_a_stream() {
    records_are_clean(|k| &WIDTHS[k % 3..][..1]);
}

#[test]
#[ignore = "a proof in depth"]
fn records_of_every_kind_are_clean_on_every_stream_width() {
    records_are_clean(|_| &WIDTHS);
}

#[test]
#[ignore = "a proof in depth"]
fn memories_of_extreme_sizes_are_clean() {
    for (jmem_records, segments, latency) in [(1, 1, 1), (2, 2, 70), (3, 3, 2), (1 << 18, 4096, 3), (1000, 300, 130)] {
        let p2p = layout(&["int32"], &["int32", "float18.9"], &["int8"], P2P_OUT);
        check(&Config { jmem_records, segments, ..config(p2p, 2, 64, latency) });
    }
}
