//! The output of `pairforge build` for an engineer's own design: files by module, projects of vendors' tools, components of other
//! languages, IP-XACT, the figure of a start.

use crate::common::command::{check, has};
use crate::common::{Place, has_verilator};
use hdl::export::{LANGUAGES, TOOLS};
use std::path::PathBuf;
use std::process::Command;

/// Engines of every shape: streams, lane groups, an interval, a prefix.
const ENGINES: [(&str, &str); 3] = [
    ("p2p_paper_engine", "p2p_paper --pipelines 1"),
    ("mine_engine", "p2p_paper --pipelines 4 --groups 2 --ii 2 --stream 64 --prefix mine --split --freq 75"),
    ("_odd__engine", "p2p --pipelines 2 --stream 128 --jmem 512 --prefix _odd_"),
];

/// Builds into the folder `out`.
fn build(options: &str) -> Place {
    let place = Place::new();
    place.run(&format!("build {options} -o out")).expect(0);
    place
}

pub fn out(place: &Place, name: &str) -> String {
    place.text(&format!("out/{name}"))
}

/// The names in a list of the manifest.
pub fn listed(place: &Place, key: &str) -> Vec<String> {
    let manifest = place.json("out/manifest.json");
    let names = manifest[key].as_array().expect("a list");
    names.iter().map(|n| n.as_str().expect("a name").to_string()).collect()
}

/// The ports of a module in a text: whether it is an input, its bits, its name.
pub fn ports(text: &str, module: &str) -> Vec<(bool, u32, String)> {
    let head = text.split(&format!("module {module} (\n")).nth(1).unwrap_or_else(|| panic!("no module {module}"));
    let port = |line: &str| {
        let mut words: Vec<&str> = line.trim().trim_end_matches(',').split_whitespace().collect();
        let name = words.pop().expect("a name").to_string();
        let width = match words.pop().and_then(|w| w.strip_prefix('[')) {
            Some(range) => 1 + range.split(':').next().and_then(|n| n.parse::<u32>().ok()).expect("a range"),
            None => 1,
        };
        (words[0] == "input", width, name)
    };
    head.split("\n);").next().expect("a list of ports").lines().map(port).collect()
}

/// The Verilog of the engine, of one file or of many.
fn verilog(place: &Place) -> String {
    listed(place, "verilog").iter().map(|name| out(place, name)).collect()
}

#[test]
fn files_by_module_have_the_text_of_the_one_file_and_lint() {
    let options = "m2l_paper --pipelines 3 --stream 64";
    let (one, many) = (build(options), build(&format!("{options} --split --testbench")));
    let body = |text: String, lines: usize| text.lines().skip(lines).map(|l| l.to_string() + "\n").collect::<String>();
    let whole = body(out(&one, "m2l_paper_engine.v"), 4);
    let files = listed(&many, "verilog");
    let split: String = files.iter().map(|name| body(out(&many, name), 2) + "\n").collect();
    assert!(files.len() > 10 && split == whole, "{} files", files.len());
    assert_eq!(out(&many, "files.f"), files.join("\n") + "\n");
    assert_eq!(files.last().map(String::as_str), Some("m2l_paper_engine.v"));
    let all = listed(&many, "files");
    assert!(all.contains(&"files.f".into()) && all.contains(&"m2l_paper_engine_tb.v".into()), "{all:?}");
    assert!(files.iter().chain(&all).all(|name| many.path("out").join(name).is_file()));
    // A module lies in the file of its name, so that no rule of lint is off.
    let arguments = ["--lint-only", "-Wall", "-f", "files.f", "--top-module", "m2l_paper_engine"];
    for (tool, arguments) in
        [("verilator", &arguments[..]), ("iverilog", &["-Wall", "-g2005", "-t", "null", "-f", "files.f"])]
    {
        let run = testkit::run(Command::new(tool).args(arguments).current_dir(many.path("out")));
        let Some((good, said)) = run else { continue };
        assert!(good && said.trim().is_empty(), "{tool}: {said}");
    }
}

#[test]
fn a_module_with_too_long_a_name_for_a_file_is_refused_before_anything_is_written() {
    let place = Place::new();
    let name = "n".repeat(250);
    place.write(
        "k.pg2",
        format!("int32 s fout;\nint32 a ipin;\nint32 b jpin;\n{name} = a - b;\ns += {name} * {name};\n"),
    );
    let ended = place.run("build k.pg2 -o out --pipelines 1 --split").expect(1);
    has(&ended.err, &["has too long a name for a file", "leave --split out"]);
    assert!(!place.path("out").exists());
    place.run("build k.pg2 -o out --pipelines 1").expect(0);
}

/// The commands of each vendor's tool that a script may use.
fn commands(tool: &str) -> &'static [&'static str] {
    match tool {
        "quartus" => {
            &["project_new", "set_global_assignment", "set_instance_assignment", "export_assignments", "project_close"]
        }
        "vivado" => &[
            "create_project",
            "add_files",
            "set_property",
            "get_files",
            "current_fileset",
            "get_runs",
            "update_compile_order",
            "close_project",
        ],
        _ => &["prj_create", "prj_add_source", "prj_set_impl_opt", "prj_save", "prj_close"],
    }
}

/// Runs a script by `tclsh`, with commands of the tool that record how they are called. `None` without `tclsh`.
fn calls(place: &Place, tool: &str, script: &str) -> Option<Vec<Vec<String>>> {
    let recorded =
        |name: &&str| format!("proc {name} {{args}} {{ puts [join [list {name} {{*}}$args] \\x1f]; return {name} }}\n");
    let stubs: String = commands(tool).iter().map(recorded).collect();
    place.write("stubs.tcl", format!("proc package {{args}} {{}}\n{stubs}source out/{script}\n"));
    let (good, said) = testkit::run(Command::new("tclsh").arg("stubs.tcl").current_dir(place.path("")))?;
    assert!(good, "{script}: {said}");
    Some(said.lines().map(|l| l.split('\x1f').map(String::from).collect()).collect())
}

/// The words of all lists `get_ports {...}`, without their indices.
fn constrained(text: &str) -> Vec<String> {
    let lists = text.split("[get_ports ").skip(1).map(|rest| rest.trim_start_matches('{'));
    let words = |list: &str| {
        let end = list.find(" }]").or(list.find("]\n")).or(list.find(']')).unwrap_or(list.len());
        list[..end]
            .split_whitespace()
            .map(|w| w.trim_end_matches('}').trim_end_matches("[*]").to_string())
            .collect::<Vec<_>>()
    };
    lists.flat_map(words).collect()
}

#[test]
fn projects_name_files_and_ports_that_are_there() {
    for tool in TOOLS {
        for (engine, options) in ENGINES {
            let place = build(&format!("{options} --project {}", tool.name));
            let what = format!("{} of {options}", tool.name);
            let files = listed(&place, "files");
            let named = |ending: &str| {
                files.iter().find(|f| f.ends_with(ending)).unwrap_or_else(|| panic!("{what}: {files:?}"))
            };
            let (script, constraints) = (named(".tcl"), named(if tool.name == "vivado" { ".xdc" } else { ".sdc" }));
            let alone = tool.name == "radiant";
            let top = if alone { format!("{engine}_alone") } else { engine.to_string() };
            let own: String = files.iter().filter(|f| f.ends_with(".v")).map(|f| out(&place, f)).collect();
            let ports = ports(&own, &top);
            // Each port but the clock has a delay, or is excepted; none is named that the top lacks.
            let mut found = constrained(&out(&place, constraints));
            found.sort();
            found.dedup();
            let mut all: Vec<String> = ports.iter().map(|p| p.2.clone()).collect();
            all.sort();
            assert_eq!(found, all, "{what}");
            let mhz = if options.contains("--freq 75") { "13.333" } else { "6.667" };
            has(&out(&place, constraints), &[&format!("create_clock -name clk -period {mhz} [get_ports {{clk}}]")]);
            // The engine's reset is synchronous; only the top with few pins has registers behind it.
            assert_eq!(out(&place, constraints).contains("set_false_path"), alone, "{what}");
            let Some(calls) = calls(&place, tool.name, script) else { continue };
            let words: Vec<&String> = calls.iter().flatten().collect();
            let sources = files.iter().filter(|f| f.ends_with(".v")).chain([constraints]);
            for file in sources {
                let times = words.iter().filter(|w| **w == file).count();
                // Vivado's constraints are named again for a property.
                assert!(times == 1 || times == 2 && file.ends_with(".xdc"), "{what}: {file} {times} times");
            }
            for word in words.iter().filter(|w| w.ends_with(".v") || w.ends_with("dc")) {
                assert!(place.path("out").join(word).is_file(), "{what}: {word} is not there");
            }
            assert!(words.contains(&&top), "{what}: {calls:?}");
            if tool.name == "quartus" {
                let pins = calls.iter().filter(|c| c.contains(&"VIRTUAL_PIN".to_string())).map(|c| c.last());
                let mut pins: Vec<&str> = pins.map(|p| p.expect("a port").trim_end_matches("[*]")).collect();
                pins.sort_unstable();
                all.retain(|name| name != "clk");
                assert_eq!(pins, all, "{what}");
            }
        }
    }
}

#[test]
fn a_project_is_of_a_family_that_its_tool_knows() {
    for (words, part) in [
        ("--project quartus --target max10", "10M50DAF484C7G"),
        ("--project vivado --target xc7", "xc7a100tcsg324-1"),
        ("--project radiant --target ice40", "iCE40UP5K-SG48I"),
    ] {
        let place = build(&format!("p2p_paper --pipelines 1 {words}"));
        let files = listed(&place, "files");
        let script = files.iter().find(|f| f.ends_with(".tcl")).expect("a script");
        has(&out(&place, script), &[part]);
    }
    // Several in one folder, one of them twice.
    let place = build("p2p_paper --pipelines 1 --project quartus --project radiant --project quartus");
    let files = listed(&place, "files");
    let mut scripts: Vec<&str> = files.iter().filter(|f| f.ends_with(".tcl")).map(String::as_str).collect();
    scripts.sort_unstable();
    assert_eq!(scripts, ["p2p_paper_engine_quartus.tcl", "p2p_paper_engine_radiant.tcl"]);
    check(
        "build k.pg2 -o d --project quartus --project vivado --target max10",
        2,
        &[],
        &["--project vivado has no devices"],
    );
    let why = ["--project radiant has no devices of the family ecp5", "take --target generic or ice40"];
    let ended = check("build k.pg2 -o d --project radiant --target ecp5", 2, &[], &why);
    assert!(ended.out.is_empty());
    check("build k.pg2 -o d --project diamond", 2, &[], &["diamond", "quartus, vivado, radiant"]);
    check("build k.pg2 -o d --wrapper cobol", 2, &[], &["cobol", "vhdl, rust-hdl, amaranth, litex, axi"]);
}

/// Builds an engine with all components.
fn with_components(options: &str) -> Place {
    let wanted: String = LANGUAGES.iter().map(|l| format!(" --wrapper {}", l.name)).collect();
    build(&format!("{options}{wanted}"))
}

#[test]
fn vhdl_components_fit_the_verilog_module() {
    for (engine, options) in ENGINES {
        let place = with_components(options);
        // The module as an entity, of the ports that its Verilog has, to which the component is bound.
        let port = |(input, width, name): &(bool, u32, String)| {
            let mode = if *input { "in" } else { "out" };
            let kind =
                if *width == 1 { "std_logic".into() } else { format!("std_logic_vector({} downto 0)", width - 1) };
            format!("{name} : {mode} {kind}")
        };
        let ports: Vec<String> = ports(&verilog(&place), engine).iter().map(port).collect();
        // In the component and in the entity; GHDL lets a component's modes differ.
        let text = out(&place, &format!("{engine}.vhd")).split_whitespace().collect::<Vec<_>>().join(" ");
        for port in &ports {
            assert_eq!(text.matches(&format!(" {port}")).count(), 2, "{port}: {text}");
        }
        let name = |name: &str| if name.contains("__") { format!("\\{name}\\") } else { name.to_string() };
        place.write(
            "out/engine.vhd",
            format!(
                "library ieee;\nuse ieee.std_logic_1164.all;\nentity {0} is\nport ({1});\nend entity;\n\
                 architecture text of {0} is\nbegin\nend architecture;\n",
                name(engine),
                ports.join(";\n")
            ),
        );
        let run =
            |arguments: &[&str]| testkit::run(Command::new("ghdl").args(arguments).current_dir(place.path("out")));
        let file = format!("{engine}.vhd");
        for arguments in
            [&["-a", "--std=08", "engine.vhd", &file][..], &["-e", "--std=08", &name(&format!("{engine}_vhdl"))]]
        {
            let Some((good, said)) = run(arguments) else { return };
            assert!(good && said.trim().is_empty(), "{options}: {said}");
        }
    }
}

/// A Python that has these packages: beside the synthesis tools, or the usual one.
pub fn python(packages: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let tools = flow::tools::Tools::standard().find(&flow::tools::YOSYS).ok();
    let beside = tools.and_then(|t| t.parent().map(PathBuf::from));
    let pythons = std::env::split_paths(&path).chain(beside).map(|folder| folder.join("python3"));
    let imports = format!("import {packages}");
    let found = pythons
        .filter(|p| p.is_file())
        .find(|python| Command::new(python).args(["-c", &imports]).output().is_ok_and(|said| said.status.success()));
    if found.is_none() {
        testkit::missing(packages);
    }
    found
}

/// Turns a component into Verilog by a script, and lets Verilator look at it with the engine's own.
fn convert(packages: &str, script: impl Fn(&str) -> String) {
    let Some(python) = python(packages) else { return };
    let Ok(yosys) = flow::tools::Tools::standard().find(&flow::tools::YOSYS) else { return testkit::missing("yosys") };
    for (engine, options) in ENGINES {
        let place = with_components(options);
        place.write("out/convert.py", script(engine));
        let mut command = Command::new(&python);
        command
            .arg("convert.py")
            .env("AMARANTH_USE_YOSYS", "system")
            .env("YOSYS", &yosys)
            .current_dir(place.path("out"));
        let (good, said) = testkit::run(&mut command).expect("it was found");
        assert!(good, "{packages}: {said}");
        // What these programs write has lines that are no fault: unused parts, names of files.
        let quiet = ["-Wno-DECLFILENAME", "-Wno-UNUSED", "-Wno-UNDRIVEN"];
        let files = listed(&place, "verilog");
        let mut command = Command::new("verilator");
        command.args(["--lint-only", "-Wall"]).args(quiet).args(["--top-module", "whole", "whole.v"]).args(&files);
        let Some((good, said)) = testkit::run(command.current_dir(place.path("out"))) else { return };
        assert!(good && said.trim().is_empty(), "{packages} {options}: {said}");
        // The engine is there, with both streams.
        let whole: String = out(&place, "whole.v").split_whitespace().collect();
        has(&whole, &[engine, ".s_tdata(", ".m_tready("]);
    }
}

// Amaranth has its own yosys, which takes long.
#[test]
#[ignore = "a proof in depth"]
fn amaranth_components_become_verilog() {
    convert("amaranth", |engine| {
        format!(
            "from amaranth.back import verilog\nfrom {engine}_amaranth import Engine, FILES\n\
             open('whole.v', 'w').write(verilog.convert(Engine(), name='whole', strip_internal_attrs=True))\n\
             assert all(open(name).read() for name in FILES)\n"
        )
    });
}

#[test]
fn litex_modules_become_verilog() {
    convert("litex, migen", |engine| {
        format!(
            "from litex.gen import LiteXModule\nfrom litex.gen.fhdl import verilog\nfrom migen import ClockDomain\n\
             from {engine}_litex import Engine\n\
             class Platform:\n    files = []\n    def add_source(self, name): self.files.append(open(name).read())\n\
             whole = LiteXModule()\nwhole.cd_sys = ClockDomain()\nwhole.engine = Engine(Platform())\nassert Platform.files\n\
             ports = {{getattr(p, n) for p in (whole.engine.sink, whole.engine.source) for n in ('valid', 'ready', 'last', 'data')}}\n\
             ports |= {{whole.cd_sys.clk, whole.cd_sys.rst}}\n\
             open('whole.v', 'w').write(str(verilog.convert(whole, ios=ports, name='whole')))\n"
        )
    });
}

#[test]
#[ignore = "builds the crates of rust-hdl, which are fetched for it; `make proofs` runs it"]
fn a_design_in_rust_hdl_gives_the_bits_of_the_emulator() {
    let example = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/rust-hdl");
    let cargo = |arguments: &[&str]| {
        let done = Command::new("cargo").args(arguments).current_dir(&example).output().expect("cargo is there");
        done.status.success()
    };
    if !cargo(&["fetch", "--locked"]) && !cargo(&["fetch", "--locked", "--offline"]) {
        return testkit::missing("rust-hdl 0.46 (crates.io)");
    }
    if !testkit::require("iverilog") {
        return;
    }
    let place = Place::new();
    let mut command = Command::new(example.join("simulate.sh"));
    command.arg("--offline").env("PAIRFORGE", env!("CARGO_BIN_EXE_pairforge")).env("OUT", place.path("out"));
    let (good, said) = testkit::run(&mut command).expect("the script is there");
    let verdict = said.lines().rfind(|l| l.starts_with("PASS") || l.starts_with("FAIL"));
    assert!(good && verdict.is_some_and(|v| v.starts_with("PASS: 3 rounds")), "{said}");
    // The engine is a block of the design.
    has(&out(&place, "whole.v"), &["module top(", "module top$engine(", "module p2p_paper_engine ("]);
}

/// The names that stand in a tag of an XML text, which must be well-formed: its path from the root, and its words.
fn elements(text: &str) -> Vec<(Vec<String>, String)> {
    let (mut path, mut found): (Vec<String>, Vec<(Vec<String>, String)>) = (Vec::new(), Vec::new());
    let mut closed_root = false;
    for part in text.split('<').skip(1) {
        let (tag, words) = part.split_once('>').expect("a tag ends");
        if tag.starts_with('?') || tag.starts_with("!--") {
            continue;
        }
        assert!(!closed_root, "something stands behind the root: {tag}");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(path.pop().as_deref(), Some(name), "tags cross"),
            None => {
                let name = tag.split_whitespace().next().expect("a name").trim_end_matches('/');
                path.push(name.trim_start_matches("ipxact:").to_string());
                found.push((path.clone(), words.trim().to_string()));
                path.pop();
                if !tag.ends_with('/') {
                    path.push(name.to_string());
                }
            }
        }
        closed_root = path.is_empty();
    }
    assert!(closed_root, "the root is not closed");
    found
}

#[test]
fn ip_xact_maps_both_streams_to_ports_that_are_there() {
    for (engine, options) in ENGINES {
        let place = build(&format!("{options} --ip-xact"));
        let text = out(&place, &format!("{engine}.xml"));
        assert!(text.starts_with("<?xml version=\"1.0\""));
        let elements = elements(&text);
        let of = |ending: &[&str]| -> Vec<String> {
            let ends = |path: &[String]| {
                let names = path.iter().map(|n| n.trim_start_matches("ipxact:"));
                names.rev().zip(ending.iter().rev()).filter(|(a, b)| a == *b).count() == ending.len()
            };
            elements.iter().filter(|e| ends(&e.0)).map(|e| e.1.clone()).collect()
        };
        for name in ["vendor", "library", "name", "version"] {
            assert_eq!(of(&["component", name]).len(), 1, "{name}");
        }
        let ports = ports(&verilog(&place), engine);
        let names: Vec<String> = ports.iter().map(|p| p.2.clone()).collect();
        assert_eq!(of(&["ports", "port", "name"]), names);
        let wide: Vec<String> = ports.iter().filter(|p| p.1 > 1).map(|p| (p.1 - 1).to_string()).collect();
        assert_eq!(of(&["vector", "left"]), wide);
        let directions: Vec<&str> = ports.iter().map(|p| if p.0 { "in" } else { "out" }).collect();
        assert_eq!(of(&["wire", "direction"]), directions);
        let pairs: Vec<(String, String)> =
            of(&["logicalPort", "name"]).into_iter().zip(of(&["physicalPort", "name"])).collect();
        let wanted = ["s", "m"].map(|s| {
            let own =
                names.iter().filter(|n| n.starts_with(&format!("{s}_"))).map(|n| (n[2..].to_uppercase(), n.clone()));
            std::iter::once(("ACLK".to_string(), "clk".to_string())).chain(own).collect::<Vec<_>>()
        });
        assert_eq!(pairs, wanted.concat(), "{options}");
        assert_eq!(of(&["busInterfaces", "busInterface", "name"]), ["s", "m"]);
        assert_eq!((of(&["busInterface", "slave"]).len(), of(&["busInterface", "master"]).len()), (1, 1));
        assert_eq!(of(&["componentInstantiation", "moduleName"]), [engine]);
        assert_eq!(of(&["file", "name"]), listed(&place, "verilog"));
        assert_eq!(of(&["fileSetRef", "localName"]), of(&["fileSet", "name"]));
        assert_eq!(of(&["view", "componentInstantiationRef"]), of(&["componentInstantiation", "name"]));
    }
}

#[test]
fn the_picture_in_the_documentation_is_what_the_simulation_gives() {
    if !has_verilator() {
        return;
    }
    let place = build("p2p_paper --pipelines 1 --wave");
    let recorded = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/wave.svg");
    testkit::golden::check(&recorded, &out(&place, "p2p_paper_engine.svg"));
}

#[test]
fn the_picture_of_two_engines_shows_the_first_result_of_each() {
    if !has_verilator() {
        return;
    }
    let place = build("p2p_paper nearest --pipelines 1 --wave");
    let picture = out(&place, "p2p_paper_engines.svg");
    let labels = |text: &str| picture.matches(&format!(">{text}</text>")).count();
    assert!(picture.contains("(lanes: 1 and 1, lane groups: 1 and 1, streams: 32 bits)"), "{picture}");
    assert_eq!((labels("RESULT"), labels("I"), labels("RUN")), (2, 2, 2));
    assert!(labels("engine 0") > 3 && labels("engine 1") > 3, "{picture}");
}
