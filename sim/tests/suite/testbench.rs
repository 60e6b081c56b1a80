//! Testbenches of engines, run in Icarus, which knows what is unknown, and in Verilator.

use hdl::circuit::target::Clock;
use hdl::engine::{Config, Design, design};
use pg2::backend::build::{Built, build_folded, compile_to_netlist};
use pg2::backend::filtered::build_filtered;
use pg2::graph::Graph;
use pg2::middle::coarse::reaching;
use sim::testbench::{Engine, Place, Testbench, testbench};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// A kernel with every kind of pin and reduction, small enough for a slow simulator.
const MIXED: &str = "int24 sum fout; ufixed20.8 top fout; float16.8 low fout; int20 xi ipin; float16.8 ai ipin;
    int20 xj jpin; float16.8 aj jpin; uint8 cut param; d = xj - xi; sum += (int24)(d > (int20)cut ? d : 0);
    top max= (ufixed20.8)(ai * aj); low min= ai - aj;";

/// A coarse test of distance in front of a sum, an extreme and a count.
const NEAR: &str = "fixed20.12 x[2] ipin; fixed20.12 y[2] jpin; uint6 w jpin; float16.8 cut2 param; fixed40.12 s fout;
    fixed20.12 most fout; uint16 n fout; d = (float16.8)(y - x); d2 = d * d; where (d2 < cut2); s += (fixed40.12)d2;
    most max= y[0]; n += (uint16)w;";

/// A condition that filters compute as it is, of targets of which the pipeline reads nothing.
const PLAIN: &str =
    "int12 a ipin; int12 b jpin; int32 s fout; int12 low fout; where (b > a); s += (int32)b; low min= b;";

/// The kernel once, and engines of many shapes around it.
struct Shapes {
    built: Built,
    /// Of an engine with filters the kernel as it was compiled, by which pairs that pass are counted.
    graph: Graph,
    filters: u32,
}

impl Shapes {
    fn new() -> Shapes {
        Self::around(compile_to_netlist("mixed", MIXED, Clock::default_clock()).unwrap_or_else(|e| panic!("{e:?}")))
    }

    fn around(built: Built) -> Shapes {
        Shapes { graph: built.graph.clone(), built, filters: 0 }
    }

    /// Another kernel, or the same with pipelines that take a pair every `ii` clocks.
    fn folded(text: &str, ii: u32) -> Shapes {
        let graph = pg2::compile("mixed", text).unwrap_or_else(|e| panic!("{e:?}")).graph;
        Self::around(build_folded(&graph, (Clock::default_clock(), ii), text, Vec::new()))
    }

    /// Another kernel, with so many filters before each pipeline.
    fn filtered(text: &str, filters: u32) -> Shapes {
        let graph = reaching(&pg2::compile("mixed", text).unwrap_or_else(|e| panic!("{e:?}")).graph);
        let built = build_filtered(&graph, Clock::default_clock(), text, Vec::new()).unwrap_or_else(|e| panic!("{e}"));
        Shapes { built, graph, filters }
    }

    fn config(&self, lanes: u32, groups: u32, stream_bits: u32) -> Config {
        let usual = Config::usual(self.built.layout(), self.built.schedule.depth);
        let (ii, filters) = (self.built.ii(), self.filters);
        Config { pipelines: lanes * groups, groups, stream_bits, jmem_records: 100, segments: 16, ii, filters, ..usual }
    }

    /// The engine and its testbench.
    fn made(&self, config: &Config) -> (Design, Testbench) {
        let engine = design(config, &self.built.netlist);
        let engines = [Engine { graph: &self.graph, config }];
        let place = Place { top: &engine.top, files: &format!("{}.v", engine.top) };
        let bench = testbench(&engines, place).unwrap_or_else(|e| panic!("{}", e.0));
        (engine, bench)
    }
}

/// Writes an engine and its testbench, and gives the names of their Verilog files.
fn write(folder: &Path, (engine, bench): &(Design, Testbench)) -> [String; 2] {
    let verilog = engine.netlist.verilog().unwrap_or_else(|e| panic!("{e}"));
    let design = format!("{}.v", engine.top);
    for (name, text) in [(&design, &verilog), (&bench.verilog.0, &bench.verilog.1)] {
        std::fs::write(folder.join(name), text).expect("the text is written");
    }
    for (name, text) in [&bench.input, &bench.output] {
        std::fs::write(folder.join(name), text).expect("the vectors are written");
    }
    [design, bench.verilog.0.clone()]
}

/// Runs a program in a folder; it must end well and, if it is `quiet`, say nothing. `None` if it is not found.
fn said(folder: &Path, program: &str, arguments: &[&str], quiet: bool) -> Option<String> {
    let (good, said) = testkit::run(Command::new(program).args(arguments).current_dir(folder))?;
    assert!(good && (!quiet || said.trim().is_empty()), "{program} {arguments:?}: {said}");
    Some(said)
}

/// Runs a compiled testbench: its exit status and its last line say the same. Gives what it says.
fn judged(folder: &Path, program: &str, arguments: &[&str]) -> Option<String> {
    let (good, said) = testkit::run(Command::new(program).args(arguments).current_dir(folder))?;
    let verdict = said.lines().last().unwrap_or("");
    let wanted = if good { "PASS: " } else { "FAIL: " };
    assert!(verdict.starts_with(wanted), "{program} ended {}: {said}", if good { "well" } else { "badly" });
    Some(said)
}

/// The output of the testbench in Icarus.
fn icarus(made: &(Design, Testbench)) -> Option<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [design, bench] = write(folder.path(), made);
    said(folder.path(), "iverilog", &["-g2005", "-Wall", "-o", "bench", &design, &bench], true)?;
    judged(folder.path(), "vvp", &["-n", "bench"])
}

/// Compiles the testbench with Verilator; the folder and what runs it there.
fn verilator(made: &(Design, Testbench)) -> Option<(tempfile::TempDir, impl Fn(&Path) -> String)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [design, bench] = write(folder.path(), made);
    let top = format!("{}_tb", made.0.top);
    let quick = "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0";
    let flags = ["--binary", "-Wno-fatal", "-Wno-lint", "-MAKEFLAGS", quick];
    let names = ["--top-module", &top, "-o", "bench", &design, &bench];
    said(folder.path(), "verilator", &[&flags[..], &names].concat(), false)?;
    let program = folder.path().join("obj_dir/bench");
    let run =
        move |folder: &Path| judged(folder, program.to_str().expect("a path in UTF-8"), &[]).expect("it was just made");
    Some((folder, run))
}

/// Each number of lanes in each number of groups on each stream passes.
fn pass(lanes: &[u32], groups: &[u32], widths: &[u32]) {
    pass_of(&Shapes::new(), lanes, groups, widths);
}

fn pass_of(shapes: &Shapes, lanes: &[u32], groups: &[u32], widths: &[u32]) {
    for (&lanes, (&groups, &bits)) in
        lanes.iter().flat_map(|l| groups.iter().flat_map(|g| widths.iter().map(move |w| (g, w))).map(move |gw| (l, gw)))
    {
        let Some(said) = icarus(&shapes.made(&shapes.config(lanes, groups, bits))) else { return };
        let verdict = said.lines().last().unwrap_or("");
        assert!(verdict.starts_with("PASS: 3 rounds"), "{groups} groups of {lanes} lanes, {bits} bits: {said}");
        let results = format!("{} results each", 2 * groups * 6);
        assert!(verdict.ends_with(&results), "{groups} groups of {lanes} lanes: {verdict}");
    }
}

#[test]
fn engines_of_every_kind_of_shape_pass_their_testbench_in_icarus() {
    pass(&[1], &[3], &[32]);
    pass(&[2], &[2], &[128]);
    pass(&[5], &[1], &[64]);
}

#[test]
fn folded_engines_pass_their_testbench_in_icarus() {
    pass_of(&Shapes::folded(MIXED, 2), &[2], &[2], &[64]);
    pass_of(&Shapes::folded(MIXED, 5), &[2], &[1], &[64]);
}

#[test]
fn engines_with_filters_pass_their_testbench_in_icarus() {
    pass_of(&Shapes::filtered(NEAR, 2), &[1], &[2], &[64]);
}

#[test]
#[ignore = "a proof in depth"]
fn engines_with_coarse_filters_of_many_shapes_pass_their_testbench_in_icarus() {
    pass_of(&Shapes::filtered(NEAR, 3), &[2], &[2], &[32]);
    pass_of(&Shapes::filtered(NEAR, 16), &[1], &[1], &[128]);
}

#[test]
#[ignore = "a proof in depth"]
fn engines_with_filters_of_many_shapes_pass_their_testbench_in_icarus() {
    pass_of(&Shapes::filtered(PLAIN, 2), &[1], &[3], &[128]);
    pass_of(&Shapes::filtered(PLAIN, 5), &[4], &[1], &[64]);
}

#[test]
#[ignore = "a proof in depth"]
fn folded_engines_of_every_shape_pass_their_testbench_in_icarus() {
    for ii in [2, 3, 5, 8] {
        pass_of(&Shapes::folded(MIXED, ii), &[1, 2, 5], &[1, 2, 3], &[32, 64, 128]);
    }
}

/// A record has a word even where the kernel has no pin of its kind.
#[test]
fn engines_without_pins_of_targets_or_of_sources_pass_their_testbench_in_icarus() {
    for (text, ii) in [
        ("int12 a jpin; int32 s fout; uint9 n fout; s += (int32)a; n += 1;", 2),
        ("int12 a ipin; int12 b param; int32 s fout; int12 m fout; s += (int32)a; m max= b;", 3),
    ] {
        pass_of(&Shapes::folded(text, ii), &[2], &[2], &[64]);
    }
}

#[test]
#[ignore = "a proof in depth"]
fn engines_of_every_shape_pass_their_testbench_in_icarus() {
    pass(&(1..=16).collect::<Vec<_>>(), &[1, 2, 3], &[32, 64, 128]);
}

#[test]
fn verilator_takes_a_testbench() {
    let shapes = Shapes::new();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [design, bench] = write(folder.path(), &shapes.made(&shapes.config(2, 2, 64)));
    let flags = ["--lint-only", "--timing", "-Wno-lint", "-Wno-style", "--top-module", "mixed_engine_tb"];
    said(folder.path(), "verilator", &[&flags[..], &[&design, &bench]].concat(), true);
}

#[test]
#[ignore = "a proof in depth"]
fn a_testbench_in_verilator_ends_with_a_status_whether_it_passes_fails_or_hangs() {
    let shapes = Shapes::new();
    let made = shapes.made(&shapes.config(2, 2, 64));
    let Some((folder, run)) = verilator(&made) else { return };
    assert!(run(folder.path()).contains("PASS: 3 rounds"));
    let wanted = folder.path().join(&made.1.output.0);
    let (first, rest) = made.1.output.1.split_once('\n').expect("there are lines");
    let wrong = first.replace(|c: char| c.is_ascii_hexdigit(), "5");
    std::fs::write(&wanted, format!("{wrong}\n{rest}")).expect("the text is written");
    assert!(run(folder.path()).contains("FAIL: "));
    // Nothing comes of an input that is nothing but the middle of packets.
    std::fs::write(&wanted, &made.1.output.1).expect("the text is written");
    let input = made.1.input.1.replace("\n1_", "\n0_");
    std::fs::write(folder.path().join(&made.1.input.0), input).expect("the text is written");
    let said = run(folder.path());
    assert!(said.contains("nothing moved for"), "{said}");
}

#[test]
fn a_testbench_tells_what_is_wrong_with_an_engine() {
    let shapes = Shapes::new();
    let good = shapes.made(&shapes.config(2, 2, 32));
    let changed = |module: &str, from: &str, to: &str| {
        let (mut engine, bench) = shapes.made(&shapes.config(2, 2, 32));
        let mut modules = engine.netlist.modules.iter_mut().map(Arc::make_mut);
        let module = modules.find(|m| m.name.ends_with(module)).expect("there is such a module");
        let hdl::rtl::netlist::Item::Text(text) = &mut module.items[0] else { panic!("{} is no text", module.name) };
        assert!(text.contains(from), "{text}");
        *text = text.replace(from, to);
        (engine, bench)
    };
    for (wrong, wanted) in [
        // A register that nothing sets before it is read.
        (changed("_reply", "behind <= 2'd0;", "turn <= 2'd0;"), "unknown handshake"),
        // No result leaves, though END is answered.
        (changed("_collect", "wire sends = ", "wire sends = 1'b0 & "), "nothing moved"),
    ] {
        let Some(said) = icarus(&wrong) else { return };
        assert!(
            said.contains(wanted) && said.lines().last().is_some_and(|l| l.starts_with("FAIL")),
            "{wanted}: {said}"
        );
    }
    // An engine that says that it is done, and has sent nothing.
    let (engine, mut bench) = good;
    bench.verilog.1 = bench.verilog.1.replace("results = results + 1;", "");
    let said = icarus(&(engine, bench)).expect("Icarus was there");
    assert!(said.contains("0 results came in 3 rounds of"), "{said}");
}
