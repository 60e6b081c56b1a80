//! `build --wrapper axi`: clean Verilog; the driver in C, through a simulated memory, has the emulator's bits; files of packages name
//! what is there; masters, memories, sources and sinks that others wrote, in cocotb.
#![cfg(unix)]

use crate::common::Place;
use crate::common::command::{check, has};
use crate::own::{listed, out, ports, python};
use crate::streams;
use hdl::export::axi::{FAULTS, REGISTERS};
use std::process::Command;

/// Builds a wrapper into the folder `out`.
fn build(options: &str) -> Place {
    let place = Place::new();
    place.run(&format!("build {options} --wrapper axi -o out")).expect(0);
    place
}

/// A file of the project.
fn project(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_wrapper_is_clean_verilog_at_each_width() {
    for options in [
        "p2p_paper --pipelines 1",
        "p2p_paper --pipelines 4 --groups 2 --stream 64 --axi-bits 128 --split --prefix mine",
        "p2p --pipelines 1 --jmem 512 --stream 128",
    ] {
        let place = build(options);
        let verilog = listed(&place, "verilog");
        let top = place.json("out/manifest.json")["top"].as_str().expect("a name").to_string() + "_axi";
        let files: Vec<String> = verilog.into_iter().chain([format!("{top}.v")]).collect();
        let top = top.as_str();
        let names: Vec<&str> = files.iter().map(String::as_str).collect();
        place.write("out/none.v", "`default_nettype none\n");
        for (tool, words) in [
            ("verilator", vec!["--lint-only", "-Wall", "--top-module", top]),
            ("iverilog", vec!["-Wall", "-g2005", "-t", "null", "-s", top, "none.v"]),
        ] {
            let mut command = Command::new(tool);
            let run = testkit::run(command.args(words).args(&names).current_dir(place.path("out")));
            let Some((good, said)) = run else { continue };
            assert!(good && said.trim().is_empty(), "{options}, {tool}: {said}");
        }
        let Some((good, said)) = testkit::slang(&place.path("out"), &names) else { continue };
        assert!(good, "{options}: {said}");
    }
}

#[test]
fn a_wrapper_is_refused_where_there_is_none() {
    for (words, parts) in [
        ("k.pg2 -o d --wrapper axi --stream 64 --axi-bits 32", "take at least 64, or --stream 32"),
        ("k.pg2 -o d --axi-bits 64", "--axi-bits is for --wrapper axi"),
        ("k.pg2 p2p -o d --wrapper axi", "an engine of one kernel"),
        ("k.pg2 -o d --bare --wrapper axi", "--bare has no --wrapper axi"),
        ("k.pg2 -o d --wrapper axi --axi-bits 512", "32, 64, 128"),
    ] {
        check(&format!("build {words}"), 2, &[], &[parts]);
    }
}

#[test]
fn the_driver_in_c_has_the_bits_of_the_emulator_through_a_simulated_memory() {
    if !testkit::require("iverilog") || !testkit::require("cc") {
        return;
    }
    let place = streams::kernel();
    streams::run_on(&place, "emulator", "wanted.csv").expect(0);
    streams::write_words(&place);
    place.run("build kernel.pg2 -o out --pipelines 3 --jmem 192 --stream 64 --axi-bits 128 --wrapper axi").expect(0);
    let top = "kernel_engine_axi";
    let bench = project("tests/axi/bench.v");
    let simulated =
        format!("iverilog -g2005-sv -DTOP={top} -DDATA=128 -DSEED=5 -o bench out/kernel_engine.v out/{top}.v {bench}");
    let strict = "-std=c99 -Wall -Wextra -Werror -pedantic";
    let driver = project("tests/axi/simulated.c");
    let compiled = format!(r#"cc {strict} -Iout -DTOP={top} '-DHEADER="{top}.h"' {driver} -o job"#);
    let run = |words: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", words]).current_dir(place.path("."));
        place.finish(command).expect(0)
    };
    run(&simulated);
    run(&compiled);
    let found = run("./job bench j.txt i.txt").out;
    let lines: Vec<&str> = found.lines().collect();
    let (results, faults) = lines.split_at(7);
    assert_eq!(streams::columns(&results.join("\n")), place.text("wanted.csv").lines().skip(1).collect::<Vec<_>>());
    let bit = |name: &str| 1 << FAULTS.iter().position(|f| f.0 == name).expect("a fault");
    assert_eq!(faults, [format!("{:x}", bit("FULL")), format!("{:x}", bit("MALFORMED")), "0".into()]);
}

#[test]
fn packages_name_the_registers_and_files_that_are_there() {
    let place = build("p2p --pipelines 1 --jmem 512 --stream 64 --split --ip-xact");
    let top = "p2p_engine_axi";
    let own = ports(&out(&place, &format!("{top}.v")), top);
    let xml = out(&place, &format!("{top}.xml"));
    for (_, _, name) in &own {
        // As a port, and most of them in a bus too.
        let times = xml.matches(&format!("<ipxact:name>{name}</ipxact:name>")).count();
        let wanted = if name == "interrupt" {
            1
        } else if name.starts_with("ap_") {
            4
        } else {
            2
        };
        assert_eq!(times, wanted, "{name}");
    }
    for bus in ["s_axi_control", "m_axi_commands", "m_axi_results"] {
        has(&xml, &[&format!("<ipxact:name>{bus}</ipxact:name>")]);
    }
    let kernel = out(&place, &format!("{top}_kernel.xml"));
    let header = out(&place, &format!("{top}.h"));
    let verilog = out(&place, &format!("{top}.v"));
    for register in REGISTERS {
        has(&header, &[&format!("PAIRFORGE_AXI_{} = 0x{:02x},", register.name, register.offset)]);
        has(&verilog, &[&format!("AT_{} = 10'd{};", register.name, register.offset / 4)]);
        if let Some((name, _)) = register.argument {
            has(&kernel, &[&format!("<arg name=\"{name}\""), &format!("offset=\"0x{:02x}\"", register.offset)]);
        }
    }
    // Each command of the script that Tcl does not have is written down.
    place.write(
        "stubs.tcl",
        format!("proc unknown {{args}} {{ puts [join $args \\x1f]; return core }}\nsource out/{top}_vitis.tcl\n"),
    );
    let mut command = Command::new("tclsh");
    let Some((good, said)) = testkit::run(command.arg("stubs.tcl").current_dir(place.path(""))) else { return };
    assert!(good, "{said}");
    let mut files = listed(&place, "verilog");
    files.push(format!("{top}.v"));
    for file in files.iter().chain([&format!("{top}_kernel.xml")]) {
        assert!(place.path("out").join(file).is_file() && said.contains(file), "{file}: {said}");
    }
}

#[test]
fn the_page_has_the_registers_and_faults() {
    let page = std::fs::read_to_string(project("docs/own_design.md")).expect("the page");
    for register in REGISTERS {
        has(&page, &[&format!("| 0x{:02x} | {} | {} |", register.offset, register.name, register.doc)]);
    }
    for (bit, (name, sentence)) in FAULTS.iter().enumerate() {
        has(&page, &[&format!("| {bit} | {name}: {sentence} |")]);
    }
}

/// The first Verilator that cocotb takes.
const VERILATOR: [u32; 2] = [5, 36];

/// Simulators of cocotb: Icarus, and Verilator where it is new enough.
fn simulators() -> Vec<&'static str> {
    let said = testkit::run(Command::new("verilator").arg("--version")).map_or(String::new(), |(_, said)| said);
    let version = said.split_whitespace().nth(1).unwrap_or_default();
    let numbers: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
    if numbers[..] >= VERILATOR[..] { vec!["icarus", "verilator"] } else { vec!["icarus"] }
}

/// Runs a bench of `tests/cocotb` on a design of the folder `out`.
fn cocotb(place: &Place, bench: &str, top: &str, simulator: &str) {
    let Some(python) = python("cocotb, cocotb_tools, cocotbext.axi") else { return };
    let mut files = listed(place, "verilog");
    if bench == "axi" {
        files.push(format!("{top}.v"));
    }
    let mut command = Command::new(python);
    command.arg(project("tests/cocotb/run.py")).args([bench, top, "out", simulator]).args(files);
    command.env("COCOTB_LOG_LEVEL", "ERROR").env("PYTHONWARNINGS", "ignore").current_dir(place.path("."));
    let ended = place.finish_within(command, 900).expect(0);
    has(&ended.out, &["PASS"]);
}

#[test]
#[ignore = "a proof in depth"]
fn others_masters_memories_sources_and_sinks_get_the_bits_of_the_emulator() {
    if !testkit::require("iverilog") {
        return;
    }
    for options in [
        "p2p_paper --pipelines 2",
        "kernel.pg2 --pipelines 3 --jmem 192 --stream 64 --axi-bits 128",
        "p2p --pipelines 2 --jmem 512 --stream 128",
    ] {
        let place = streams::kernel();
        place.run(&format!("build {options} --testbench --wrapper axi -o out")).expect(0);
        let engine = place.json("out/manifest.json")["top"].as_str().expect("a name").to_string();
        for simulator in simulators() {
            cocotb(&place, "stream", &engine, simulator);
            cocotb(&place, "axi", &format!("{engine}_axi"), simulator);
        }
    }
}
