//! Kernels that are named, and whose names are, after every word that a language or tool reserves: all tools take their Verilog.

use hdl::circuit::target::Clock;
use hdl::engine::plain_pipeline;
use hdl::rtl::names::{LANGUAGES, is_plain};
use hdl::rtl::netlist::{Item, Netlist};
use pg2::backend::build::build;
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;

/// Thing that a word names in a kernel: a value, a value inside a function, pins of all classes, a constant and a function.
type Role = fn(word: &str, k: usize) -> String;

const ROLES: [Role; 6] = [
    |word, k| format!("{word} = (a ^ {k}) + b; o[{k}] += {word};"),
    |word, k| format!("fn f{k}(x) {{ {word} = (x ^ {k}) + b; return {word} * 3; }} o[{k}] += f{k}(a);"),
    |word, k| format!("int12 {word} jpin; o[{k}] += {word} ^ {k};"),
    |word, k| format!("int12 {word} param; o[{k}] max= {word} + a;"),
    |word, k| format!("int24 {word} fout; {word} += a * {k}; o[{k}] += b + {k};"),
    |word, k| format!("const {word} = {k}; fn c{k}_{word}(x) = x - {word}; o[{k}] += c{k}_{word}(a);"),
];

/// Words of all languages, as their lists have them and in capitals, that a kernel may use.
fn words() -> Vec<String> {
    let all: BTreeSet<String> =
        LANGUAGES.iter().flat_map(|l| l.1).flat_map(|w| [w.to_string(), w.to_ascii_uppercase()]).collect();
    let usable = |w: &String| pg2::compile("k", &format!("int8 {w} jpin; int8 {w}_v fout; {w}_v += {w};")).is_ok();
    all.into_iter().filter(usable).collect()
}

/// Kernels of `count` words each, named after their first, in which each word has the role of its place or of `turn` places on.
fn kernels(words: &[String], count: usize, turn: usize) -> Vec<(String, String)> {
    let kernel = |words: &[String]| {
        let lines = words.iter().enumerate().map(|(k, word)| ROLES[(k + turn) % ROLES.len()](word, k));
        let lines: Vec<String> = lines.collect();
        let text = format!("int12 a ipin;\nint12 b jpin;\nint24 o[{}] fout;\n{}\n", words.len(), lines.join("\n"));
        (words[0].clone(), text)
    };
    words.chunks(count).map(kernel).collect()
}

/// The pipeline of a kernel as one circuit, and operator by operator.
fn pipelines(name: &str, text: &str) -> [Netlist; 2] {
    let graph = pg2::compile(name, text).unwrap_or_else(|e| panic!("{text}: {e:#?}")).graph;
    let clock = Clock::default_clock();
    let merged = build(&graph, clock, text, Vec::new());
    assert!(merged.merged, "{text}");
    let simple = pg2::middle::simplify::simplify(&graph);
    let schedule = pg2::middle::schedule::schedule(&simple, clock);
    let lowered = pg2::backend::lower::lower(&simple, &schedule, clock, text);
    [merged.netlist, lowered].map(|netlist| plain_pipeline(&graph.layout(), &netlist))
}

/// Takes a text through all tools.
fn all_take(top: &str, verilog: &str) {
    testkit::lint_text(top, verilog, top);
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("all.v"), verilog).expect("the text is written");
    let quiet = |command: &mut Command| {
        if let Some((good, said)) = testkit::run(command.current_dir(folder.path())) {
            assert!(good && said.is_empty(), "{command:?}: {said}");
        }
    };
    for generation in ["-g2005", "-g2012"] {
        quiet(Command::new("iverilog").args([generation, "-Wall", "-t", "null", "-s", top, "all.v"]));
    }
    quiet(Command::new("verilator").args([
        "--lint-only",
        "-Wno-fatal",
        "--language",
        "1364-2005",
        "--top-module",
        top,
        "all.v",
    ]));
    if let Some((good, said)) = testkit::slang(folder.path(), &["all.v"]) {
        assert!(good && said.is_empty(), "{said}");
    }
    // The synthesis tools belong to other tests; here yosys is one reader more where it is found by that name.
    for mode in ["-nolatches", "-sv"] {
        let script = format!("read_verilog {mode} all.v; hierarchy -check -top {top}");
        if let Ok(ended) = Command::new("yosys").args(["-q", "-p", &script]).current_dir(folder.path()).output() {
            assert!(ended.status.success(), "{mode}: {}", String::from_utf8_lossy(&ended.stderr));
        }
    }
}

#[test]
fn kernels_named_after_reserved_words_are_taken_by_all_tools() {
    // Each word once as a value, where it would be a signal's name as it is.
    let words = words();
    assert!(["bool", "process", "EOF", "lambda", "downto"].iter().all(|w| words.iter().any(|own| own == w)));
    for words in words.chunks(words.len().div_ceil(3)) {
        let lines: Vec<String> = words.iter().enumerate().map(|(k, w)| ROLES[0](w, k)).collect();
        let text = format!("int12 a ipin;\nint12 b jpin;\nint24 o[{}] fout;\n{}\n", words.len(), lines.join("\n"));
        for netlist in pipelines(&words[0], &text) {
            all_take(&netlist.top, &netlist.verilog().expect("the design is sound"));
        }
    }
}

#[test]
#[ignore = "a proof in depth"]
fn kernels_with_reserved_words_in_every_place_are_taken_by_all_tools() {
    let words = words();
    for turn in 0..ROLES.len() {
        for (name, text) in kernels(&words, 90, turn) {
            for netlist in pipelines(&name, &text) {
                all_take(&netlist.top, &netlist.verilog().expect("the design is sound"));
            }
        }
    }
}

#[test]
fn no_name_of_a_design_is_a_reserved_word() {
    // Sound netlists have none; this is that rule with a signal of its own.
    let (name, text) = kernels(&words(), 40, 0).swap_remove(0);
    let [mut netlist, _] = pipelines(&name, &text);
    netlist.verify().expect("the design is sound");
    for (word, sound) in [("plain", true), ("process", false), ("Bool", false)] {
        assert!(is_plain(word));
        let module = Arc::make_mut(&mut netlist.modules[0]);
        module.items.push(Item::Wire { name: word.into(), value: hdl::rtl::Value::flag(false) });
        let said = netlist.verify();
        Arc::make_mut(&mut netlist.modules[0]).items.pop();
        assert_eq!(said.is_ok(), sound, "{word}: {said:?}");
    }
}
