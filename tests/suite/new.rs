//! `new`: what it makes is whole, passes its own test, and is refused where it would overwrite.

use crate::common::command::{check_in, has};
use crate::common::{Place, has_verilator};

#[test]
fn a_new_kernel_passes_its_own_test() {
    let p = Place::new();
    check_in(&p, "new soft-charge", 0, &["cd soft-charge && make"], &[]);
    assert_eq!(p.names(), ["soft-charge"]);
    check_in(&p, "fmt --check soft-charge/soft-charge.pg2", 0, &[], &[]);
    assert_eq!(check_in(&p, "check soft-charge/soft-charge.pg2", 0, &[], &[]).out, "");
    let run = "run soft-charge/soft-charge.pg2 --i soft-charge/i.csv --j soft-charge/j.csv --param eps2=0";
    let out = check_in(&p, &format!("{run} --backend emulator"), 0, &[], &[]).out;
    assert_eq!(out, p.text("soft-charge/expected.csv"));
    // The first by hand, the others within 2^-13 of what the formula gives in f64.
    let values: Vec<f64> = out.lines().skip(1).map(|l| l.parse().expect("a number")).collect();
    let targets = [[0.0, 0.0, 0.0], [0.25, 0.0, 0.0], [-0.125, 0.375, 0.4375]];
    let sources = [([0.25, 0.0, 0.0], 1.0), ([0.0, 0.5, 0.0], 2.0), ([0.0, 0.0, -0.125], -0.5)];
    assert_eq!((values.len(), values[0]), (3, 4.0));
    for (x, got) in targets.iter().zip(values) {
        let distance = |y: &[f64; 3]| (0..3).map(|k| (y[k] - x[k]).powi(2)).sum::<f64>().sqrt();
        let phi: f64 = sources.iter().map(|(y, q)| if distance(y) == 0.0 { 0.0 } else { q / distance(y) }).sum();
        assert!((phi - got).abs() < 2f64.powi(-13), "{x:?}: {got}, {phi}");
    }
    if has_verilator() {
        assert_eq!(check_in(&p, &format!("{run} --backend cycle"), 0, &[], &[]).out, out);
    }
}

#[test]
fn its_makefile_runs_the_test_and_finds_a_change() {
    if !testkit::require("make") {
        return;
    }
    let p = Place::new();
    check_in(&p, "new k", 0, &[], &[]);
    let make = |target: &str| {
        let mut command = std::process::Command::new("make");
        command
            .args(["-s", "-C", "k", target])
            .current_dir(p.path(""))
            .env("PAIRFORGE", env!("CARGO_BIN_EXE_pairforge"));
        p.finish(command)
    };
    make("test").expect(0);
    let other = p.text("k/k.pg2").replace("qj * inr", "qj * inr * inr");
    p.write("k/k.pg2", other);
    let failed = make("test");
    assert_ne!(failed.code, Some(0));
    has(&failed.out, &["< 4", "> "]);
    make("bless").expect(0);
    make("test").expect(0);
}

#[test]
fn nothing_is_overwritten_and_names_are_plain() {
    let p = Place::new();
    p.write("taken", "mine");
    check_in(&p, "new taken", 1, &[], &["taken", "exists already"]);
    assert_eq!(p.text("taken"), "mine");
    std::fs::create_dir(p.path("folder")).expect("it is new");
    check_in(&p, "new folder", 1, &[], &["exists already"]);
    let long = "a".repeat(65);
    for name in ["../k", "a/b", ".", "9x", "_x", "a.b", "größe", "a$(id)", long.as_str()] {
        check_in(&p, &format!("new {name}"), 1, &[], &["cannot name a kernel", "ASCII letters"]);
    }
    let mut command = p.command("new");
    command.arg("a b\n");
    has(&p.finish(command).expect(1).err, &["`a b\\n`"]);
    check_in(&p, "new", 2, &[], &["<NAME>"]);
    assert_eq!(p.names(), ["folder", "taken"]);
}
