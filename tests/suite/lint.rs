//! What `pairforge build` writes, as users lint it: Verilator with all warnings and Icarus say nothing.

use std::path::Path;
use std::process::Command;

fn pairforge(args: &[&str]) {
    let status = Command::new(env!("CARGO_BIN_EXE_pairforge")).args(args).status().expect("the program starts");
    assert!(status.success(), "pairforge {args:?}");
}

fn check(kernel: &str, options: &[&str]) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let out = dir.path().join("design");
    let out = out.to_str().expect("its name is text");
    pairforge(&[&["build", kernel, "-o", out], options].concat());
    let mut files: Vec<String> = std::fs::read_dir(out)
        .expect("the folder is there")
        .map(|f| f.expect("an entry").path().to_string_lossy().into_owned())
        .filter(|f| Path::new(f).extension().is_some_and(|e| e == "v"))
        .collect();
    files.sort();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    for (name, flags) in
        [("verilator", vec!["--lint-only", "-Wall"]), ("iverilog", vec!["-Wall", "-g2005", "-t", "null"])]
    {
        let Some((good, text)) = testkit::run(Command::new(name).args(flags).args(&files)) else { continue };
        assert!(good && text.trim().is_empty(), "{name} on {kernel} {options:?}: {text}");
    }
}

#[test]
fn designs_lint_without_a_word() {
    check("p2p_paper", &["--pipelines", "1"]);
    check("p2p", &["--stream", "64", "--jmem", "4096"]);
    check("m2l_paper", &["--stream", "128", "--pipelines", "3", "--freq", "100"]);
}
