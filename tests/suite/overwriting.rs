//! The files of one command: no output replaces an input or another output, by whatever name, in no command.

use crate::common::Place;
use crate::common::command::{KERNEL, check_in, has, place};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;

/// Commands with an input in place of `<` and outputs in place of `>`; the kernel is `in.csv` where `<` stands for it. Each is refused
/// for every pair of names of one file.
const WITH_INPUT: [&str; 24] = [
    "run k.pg2 --i < --j j.csv --param k=3 -o >",
    "run k.pg2 --i i.csv --j < --param k=3 -o >",
    "run k.pg2 --i i.csv --j j.csv --segments < --param k=3 -o >",
    "run k.pg2 --i < --j j.csv --param k=3 --json >",
    "run < --i i.csv --j j.csv --param k=3 -o >",
    "run k.pg2 --i < --j j.csv --param k=3 --backend cycle --trace >",
    "run includes.pg2 --i i.csv --j j.csv --param k=3 -o >",
    "explore k.pg2 --i < --j j.csv --param k=3 --vary f=8..9 -o >",
    "explore k.pg2 --i i.csv --j < --param k=3 --vary f=8..9 --json >",
    "explore < --i i.csv --j j.csv --param k=3 --vary f=8..9 --json >",
    "explain < --svg >",
    "explain < --roofline --json >",
    "explain k.pg2 --roofline --card < --json >",
    "fmm --particles < --backend cpu -o >",
    "fmm --particles < --backend cpu --json >",
    "fmm --particles < --backend cpu --report >",
    "fmm --particles < --backend cpu --save-particles >",
    "fmm --particles < --ranks 2 --backend cpu -o >",
    "fmm --n 10 --targets < --backend cpu -o >",
    "fmm --n 10 --p2p < --backend cpu -o >",
    "fmm --particles < --predict ulx3s --json >",
    "fmm2 --particles < -o >",
    "fmm2 --n 10 --targets < --json >",
    "fmm2 --n 10 --p2p < --save-particles >",
];

/// The same with two outputs.
const WITH_OUTPUTS: [&str; 9] = [
    "run k.pg2 --i i.csv --j j.csv --param k=3 -o > --json >",
    "run k.pg2 --i i.csv --j j.csv --param k=3 --backend cycle --trace > --json >",
    "explore k.pg2 --i i.csv --j j.csv --param k=3 --vary f=8..9 -o > --json >",
    "fmm --n 10 --backend cpu -o > --json >",
    "fmm --n 10 --backend cpu --report > --save-particles >",
    "fmm --n 10 --ranks 2 --backend cpu -o > --json >",
    "fmm2 --n 10 -o > --report >",
    "board-sim ulx3s none --json > --port-file >",
    "bench cuda --json > --svg >",
];

/// A folder in which `in.csv` has other names.
fn named() -> Place {
    let p = place();
    p.write("in.csv", "kept\n");
    fs::create_dir(p.path("deep")).expect("a folder");
    symlink("../in.csv", p.path("deep/link.csv")).expect("a link");
    symlink("deep/link.csv", p.path("far.csv")).expect("a link");
    symlink("deep", p.path("other")).expect("a link");
    fs::hard_link(p.path("in.csv"), p.path("hard.csv")).expect("a link");
    p.write("includes.pg2", "include \"in.csv\";\n".to_string() + KERNEL);
    p
}

#[test]
fn no_output_replaces_an_input_by_any_name() {
    let p = named();
    let absolute = p.path("in.csv").to_string_lossy().into_owned();
    let names = ["in.csv", "./in.csv", "deep/../in.csv", "other/link.csv", "far.csv", "hard.csv", &absolute];
    for (k, command) in WITH_INPUT.iter().enumerate() {
        // Each name with some command, and one with all.
        for (input, output) in [("in.csv", names[k % names.len()]), (names[(k + 3) % names.len()], "in.csv")] {
            let words = command.replace('<', input).replace('>', output);
            let ended = p.run(&words).expect(1);
            has(&ended.err, &[" and ", "an output does not replace an input"]);
            assert!(ended.out.is_empty() && p.text("in.csv") == "kept\n", "{words}: {}", ended.out);
        }
    }
    // Standard output may be a file, too, and standard input.
    let open = || fs::File::options().append(true).open(p.path("in.csv")).expect("a file");
    let mut command = p.command("run k.pg2 --i in.csv --j j.csv --param k=3");
    assert_eq!(command.stdout(open()).stderr(Stdio::null()).status().expect("it runs").code(), Some(1));
    let mut command = p.command("fmm --particles - --backend cpu -o hard.csv");
    command.stdin(fs::File::open(p.path("in.csv")).expect("a file"));
    has(&p.finish(command).expect(1).err, &["--particles", "-o", "an output does not replace an input"]);
    assert_eq!(p.text("in.csv"), "kept\n");
}

#[test]
fn no_two_outputs_are_one_file_by_any_name() {
    let p = named();
    symlink("absent.csv", p.path("dangling.csv")).expect("a link");
    let pairs = [
        ("in.csv", "in.csv"),
        ("in.csv", "hard.csv"),
        ("new.csv", "deep/../new.csv"),
        ("absent.csv", "dangling.csv"),
        ("-", "/dev/stdout"),
        ("-", "-"),
        ("/proc/self/fd/1", "-"),
    ];
    let before = p.names();
    for command in WITH_OUTPUTS {
        for (one, other) in pairs {
            let words = command.replacen('>', one, 1).replacen('>', other, 1);
            let ended = p.run(&words).expect(1);
            has(&ended.err, &[" and "]);
            assert!(
                ["give them two files", "name a file for one of them"].iter().any(|w| ended.err.contains(w)),
                "{words}: {}",
                ended.err
            );
            assert!(ended.out.is_empty(), "{words}: {}", ended.out);
        }
    }
    assert_eq!((p.names(), p.text("in.csv").as_str()), (before, "kept\n"));
    // What swallows anything may do so twice.
    check_in(&p, "run k.pg2 --i i.csv --j j.csv --param k=3 -o /dev/null --json /dev/null", 0, &[], &[]);
}

#[test]
fn a_build_does_not_replace_its_kernel_or_what_it_includes() {
    let p = place();
    p.write("k_engine.v", KERNEL);
    let err = p.run("build k_engine.v --prefix k -o .").expect(1).err;
    has(&err, &["k_engine.v", "is an input", "write into another folder"]);
    fs::create_dir(p.path("d")).expect("a folder");
    p.write("d/manifest.json", "int32 shared ipin;\n");
    p.write("whole.pg2", "include \"d/manifest.json\";\nint64 s fout; s += (int64)shared;\n");
    has(&p.run("build whole.pg2 -o d").expect(1).err, &["d/manifest.json", "is an input"]);
    assert_eq!((p.text("k_engine.v").as_str(), p.text("d/manifest.json").as_str()), (KERNEL, "int32 shared ipin;\n"));
}

#[test]
fn standard_output_has_what_was_asked_for_there_and_nothing_else() {
    let p = place();
    p.write("p.csv", "x,y,z,q\n0,0,0,1\n1,0,0,2\n");
    p.write("q.csv", "x,y,q\n0,0,1\n1,0,2\n");
    for words in [
        "run k.pg2 --i i.csv --j j.csv --param k=3 --json -",
        "run k.pg2 --i i.csv --j j.csv --param k=3 --json - -o o.csv",
        "explore k.pg2 --i i.csv --j j.csv --param k=3 --vary f=8..9 --json -",
        "explain k.pg2 --roofline --json -",
        "fmm --particles p.csv --backend cpu --json -",
        "fmm --particles p.csv --backend cpu --json /dev/stdout",
        "fmm --particles p.csv --backend cpu --ranks 2 --json -",
        "fmm --n 100 --predict ulx3s --json -",
        "fmm2 --particles q.csv --json -",
    ] {
        let out = p.run(words).expect(0).out;
        serde_json::from_str::<serde_json::Value>(&out).unwrap_or_else(|e| panic!("{words}: {e}: {out}"));
    }
    for (words, begins) in [
        ("explain k.pg2 --svg -", "<svg"),
        ("explore k.pg2 --i i.csv --j j.csv --param k=3 --vary f=8..9 -o -", "<svg"),
        ("fmm --particles p.csv --backend cpu --report -", "<!"),
        ("fmm --particles p.csv --backend cpu -o -", "potential,"),
    ] {
        let out = p.run(words).expect(0).out;
        assert!(out.starts_with(begins) && !out.contains("\nstage "), "{words}: {out}");
    }
}

#[test]
fn a_name_that_promises_another_format_is_refused_and_capitals_mean_the_same() {
    let p = place();
    p.write("p.csv", "x,y,z,q\n0,0,0,1\n1,0,0,2\n");
    p.write("q.csv", "x,y,q\n0,0,1\n1,0,2\n");
    let before = p.names();
    for (words, written) in [
        ("fmm --particles p.csv --backend cpu -o a.hdf5", ".npy"),
        ("fmm --particles p.csv --backend cpu -o a.vtp", ".csv"),
        ("fmm --particles p.csv --backend cpu --save-particles a.NPZ", ".npy"),
        ("fmm --particles p.csv --backend cpu --report a.pdf", ".html"),
        ("fmm2 --particles q.csv -o a.parquet", ".npy"),
        ("run k.pg2 --i i.csv --j j.csv --param k=3 -o a.npy", ".csv"),
        ("run k.pg2 --i i.csv --j j.csv --param k=3 -o a.csv --json a.xml", ".json"),
        ("explain k.pg2 --svg a.png", ".svg"),
        ("gen m2l --order 1 -o a.v", ".pg2"),
        ("fmm --particles a.h5 --backend cpu", "cannot be read"),
        ("fmm2 --targets a.vtu", "cannot be read"),
        ("run k.pg2 --i a.xlsx --j j.csv --param k=3", "cannot be read"),
    ] {
        let ended = p.run(words).expect(1);
        has(&ended.err, &[written]);
        assert_eq!(p.names(), before, "{words}");
    }
    for words in ["fmm --particles p.csv --backend cpu", "fmm2 --particles q.csv"] {
        for (name, is_array) in
            [("A.NPY", true), ("b.Npy", true), ("C.CSV", false), ("plain", false), ("tmp.Ab3XyZ9kQw", false)]
        {
            p.run(&format!("{words} -o {name}")).expect(0);
            assert_eq!(p.bytes(name).starts_with(b"\x93NUMPY"), is_array, "{words} {name}");
        }
        // A format in front of the name decides, at standard output too.
        p.run(&format!("{words} -o npy:array.csv")).expect(0);
        assert!(p.bytes("array.csv").starts_with(b"\x93NUMPY"));
        let mut command = p.command(&format!("{words} -o npy:-"));
        let out = command.output().expect("it runs").stdout;
        assert_eq!(out, p.bytes("array.csv"), "{words}");
        assert_eq!(p.run(&format!("{words} -o csv:-")).expect(0).out, p.text("C.CSV"));
    }
}
