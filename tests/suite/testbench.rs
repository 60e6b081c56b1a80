//! `pairforge build --testbench`: Icarus takes it without a word and says PASS, and a wrong bit is found.

use crate::common::Place;
use std::process::Command;

/// Compiles the testbench of an engine and runs it; the last line of what it says. `None` without Icarus.
fn simulate(place: &Place, folder: &str, engine: &str) -> Option<String> {
    let run = |name: &str, args: &[&str]| {
        let (good, said) = testkit::run(Command::new(name).args(args).current_dir(place.path(folder)))?;
        assert!(good, "{name}: {said}");
        Some(said)
    };
    let (design, bench) = (format!("{engine}.v"), format!("{engine}_tb.v"));
    let said = run("iverilog", &["-g2005", "-Wall", "-o", "bench", &design, &bench])?;
    assert_eq!(said, "");
    run("vvp", &["-n", "bench"])?.lines().last().map(str::to_string)
}

/// A kernel with every kind of pin and reduction, small enough for a slow simulator.
const MIXED: &str = "int24 sum fout;\nufixed20.8 top fout;\nfloat16.8 low[2] fout;\nint20 xi ipin;\nfloat16.8 ai ipin;
int20 xj jpin;\nfloat16.8 aj jpin;\nuint8 cut param;\nd = xj - xi;\nsum += (int24)(d > (int20)cut ? d : 0);
top max= (ufixed20.8)(ai * aj);\nlow[0] min= ai - aj;\nlow[1] max= ai / aj;\n";

#[test]
fn icarus_passes_the_testbench_and_it_finds_a_wrong_bit() {
    let place = Place::new();
    place.write("mixed.pg2", MIXED);
    for (kernel, name, options) in [
        ("p2p_paper", "p2p_paper", "--pipelines 1"),
        ("p2p_paper", "p2p_paper", "--pipelines 4 --groups 2"),
        ("mixed.pg2", "mixed", "--pipelines 3 --stream 128"),
        ("mixed.pg2", "mixed", "--pipelines 2 --stream 64 --jmem 64 --freq 300"),
    ] {
        place.run(&format!("build {kernel} -o out --testbench {options}")).expect(0);
        let engine = format!("{name}_engine");
        let files = place.json("out/manifest.json")["files"].to_string();
        assert!(files.contains(&format!("{engine}_tb_in.hex")), "{files}");
        let Some(verdict) = simulate(&place, "out", &engine) else { return };
        assert!(verdict.starts_with("PASS: 3 rounds"), "{kernel} {options}: {verdict}");
        // One bit of one expected result.
        let expected = format!("out/{engine}_tb_out.hex");
        let text = place.text(&expected);
        let mut lines: Vec<String> = text.lines().map(String::from).collect();
        let last = lines[4].pop().expect("a line has digits").to_digit(16).expect("hexadecimal");
        lines[4].push(std::char::from_digit(last ^ 1, 16).expect("a digit"));
        place.write(&expected, lines.join("\n") + "\n");
        let verdict = simulate(&place, "out", &engine).expect("Icarus was there");
        assert!(verdict.starts_with("FAIL: 3 errors"), "{verdict}");
    }
}
