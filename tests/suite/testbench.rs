//! `pairforge build --testbench`: Icarus takes it without a word and says PASS, and a wrong bit is found.

use crate::common::Place;
use std::process::Command;

/// Compiles the testbench of a design as its text says and runs it; the last line of what it says, of which the exit status says the
/// same. `None` without Icarus.
fn simulate(place: &Place, folder: &str, top: &str) -> Option<String> {
    let text = place.text(&format!("{folder}/{top}_tb.v"));
    let line =
        text.lines().find_map(|line| line.strip_prefix("//     iverilog ")).expect("the text says how to run it");
    let compile = line.strip_suffix(" && vvp testbench").expect("and what to run then");
    let run = |name: &str, args: &[&str]| {
        let (good, said) = testkit::run(Command::new(name).args(args).current_dir(place.path(folder)))?;
        assert!(good, "{name}: {said}");
        Some(said)
    };
    let said = run("iverilog", &["-Wall"].into_iter().chain(compile.split(' ')).collect::<Vec<_>>())?;
    assert_eq!(said, "");
    let (good, said) = testkit::run(Command::new("vvp").args(["-n", "testbench"]).current_dir(place.path(folder)))?;
    let verdict = said.lines().last().unwrap_or("").to_string();
    assert_eq!(good, verdict.starts_with("PASS"), "{said}");
    Some(verdict)
}

/// A kernel with every kind of pin and reduction, small enough for a slow simulator.
const MIXED: &str = "int24 sum fout;\nufixed20.8 top fout;\nfloat16.8 low[2] fout;\nint20 xi ipin;\nfloat16.8 ai ipin;
int20 xj jpin;\nfloat16.8 aj jpin;\nuint8 cut param;\nd = xj - xi;\nsum += (int24)(d > (int20)cut ? d : 0);
top max= (ufixed20.8)(ai * aj);\nlow[0] min= ai - aj;\nlow[1] max= ai / aj;\n";

#[test]
fn icarus_passes_the_testbench_and_it_finds_a_wrong_bit() {
    let place = Place::new();
    place.write("mixed.pg2", MIXED);
    for (k, (kernels, top, options)) in [
        ("p2p_paper", "p2p_paper_engine", "--pipelines 4 --groups 2 --split"),
        ("mixed.pg2", "mixed_engine", "--pipelines 3 --stream 128"),
        ("mixed.pg2", "mixed_engine", "--pipelines 2 --stream 64 --jmem 64 --freq 300"),
        ("mixed.pg2 p2p_paper", "mixed_engines", "--pipelines 4,1 --groups 2,1 --ii 1,3 --jmem 64,256"),
        ("p2p_paper mixed.pg2", "both_engines", "--pipelines 1 --stream 64 --prefix both --split"),
    ]
    .into_iter()
    .enumerate()
    {
        place.run(&format!("build {kernels} -o out --testbench {options}")).expect(0);
        let files = place.json("out/manifest.json")["files"].to_string();
        assert!(files.contains(&format!("{top}_tb_in.hex")), "{files}");
        let Some(verdict) = simulate(&place, "out", top) else { return };
        assert!(verdict.starts_with("PASS: 3 rounds"), "{kernels} {options}: {verdict}");
        if k > 0 {
            continue;
        }
        // One bit of one expected result.
        let expected = format!("out/{top}_tb_out.hex");
        let text = place.text(&expected);
        let mut lines: Vec<String> = text.lines().map(String::from).collect();
        let last = lines[4].pop().expect("a line has digits").to_digit(16).expect("hexadecimal");
        lines[4].push(std::char::from_digit(last ^ 1, 16).expect("a digit"));
        place.write(&expected, lines.join("\n") + "\n");
        let verdict = simulate(&place, "out", top).expect("Icarus was there");
        assert!(verdict.starts_with("FAIL: 3 errors"), "{verdict}");
    }
}
