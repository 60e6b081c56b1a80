//! `check` and `explain`: diagnostics as users see them, hostile texts, pages of codes, schedules.

use crate::common::Place;
use crate::common::command::{check, check_in, has, place};
use std::time::Instant;

#[test]
fn check_is_silent_when_all_is_well() {
    let ended = check("check k.pg2 p2p p2p_paper m2l_paper", 0, &[], &[]);
    assert_eq!(ended.out, "");
}

#[test]
fn mistakes_in_kernels_have_a_place_and_a_remedy() {
    let p = place();
    p.write("bad.pg2", "int32 a ipin;\nint64 o fout;\no += a +\tbee;\n\n  p = 1;\n");
    p.write("other.pg2", "int64 o fout;\no += 1.5;\n");
    // All errors of all files at once, each with its place and help.
    let ended = check_in(&p, "check bad.pg2 k.pg2 other.pg2 none.pg2", 1, &[], &["bad.pg2:3:10", "bee"]);
    has(&ended.err, &["other.pg2:2:6", "none.pg2", "No such file", "p2p_paper"]);
    assert!(ended.err.matches("Error").count() >= 2 && ended.err.matches("Help:").count() >= 2, "{}", ended.err);
    assert!(!ended.err.contains("k.pg2:"), "nothing is wrong with k.pg2");
    // The other commands say the same.
    for words in ["build bad.pg2 -o d", "explain bad.pg2", "run bad.pg2 --i i.csv --j j.csv", "fmm --p2p bad.pg2"] {
        check_in(&p, words, 1, &[], &["bad.pg2:3:10", "Help:"]);
    }
    assert!(!p.path("d").exists());
    p.write("latin.pg2", b"int32 a ipin;\n// f\xfcr\n");
    check_in(&p, "check latin.pg2", 1, &[], &["latin.pg2:2:5", "UTF-8"]);
    check_in(&p, "check .", 1, &[], &["it is a folder; name a file"]);
    // Results that are kept in a folder of their kernel's name do not hide the kernel.
    std::fs::create_dir(p.path("p2p_small")).unwrap();
    check_in(&p, "check p2p_small", 0, &[], &[]);
    check_in(&p, "fmt p2p_small", 1, &[], &["is a shipped kernel and no file"]);
    // A warning is no failure.
    p.write("unused.pg2", "int8 a ipin; int8 b jpin; int16 o fout; o += a;");
    let ended = p.run("check unused.pg2").expect(0);
    has(&ended.err, &["Warning", "unused.pg2:1:19"]);
}

#[test]
fn places_count_characters_whatever_stands_before_them() {
    let p = Place::new();
    // Wide characters, combining ones, tabs, the line ends of other systems, and no end of the last line.
    for (name, text, place) in [
        ("wide", "int64 o fout;\n/* 中é */\to += bee;\n", "2:15"),
        ("astral", "int64 o fout; /* 𝄞e\u{301} */ o += bee;\n", "1:30"),
        ("tabs", "int64 o fout;\n\t\to +=\tbee;\n", "2:8"),
        ("crlf", "int64 o fout;\r\n// é\r\no += bee;\r\n", "3:6"),
        ("mark", "\u{feff}int64 o fout;\no += bee;", "2:6"),
        ("end", "int64 o fout;\no += bee", "2:6"),
    ] {
        p.write(&format!("{name}.pg2"), text);
        let ended = p.run(&format!("check {name}.pg2")).expect(1);
        has(&ended.err, &[&format!("{name}.pg2:{place}"), "`bee` is not defined"]);
    }
}

#[test]
fn hostile_kernels_end_quickly() {
    let p = Place::new();
    let many = 1_000_000;
    let texts: Vec<(&str, Vec<u8>)> = vec![
        ("garbage", (0..2_000_000u64).map(|k| (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()),
        ("nul", vec![0; 2_000_000]),
        ("letters", "é".repeat(many).into()),
        ("round", "(".repeat(2 * many).into()),
        ("square", format!("int8 a ipin; int8 o fout; o += {}", "a[".repeat(many)).into()),
        ("braces", "{".repeat(2 * many).into()),
        (
            "blocks",
            format!("int8 a ipin; int8 o fout; {} o += a; {}", "if (a) {".repeat(10_000), "}".repeat(10_000)).into(),
        ),
        ("loops", format!("int8 a ipin; int8 o fout; {} o += a; ", "for k in 0..2 {".repeat(10_000)).into()),
        ("minus", format!("int8 a ipin; int8 o fout; o += {}a;", "-".repeat(2 * many)).into()),
        ("sum", format!("int8 a ipin; int8 o fout; o += a{};", "+a".repeat(many)).into()),
        ("literals", format!("x = 1{};", "+1".repeat(many)).into()),
        ("ternary", format!("int8 a ipin; int8 o fout; o += {}a;", "a?a:".repeat(many / 2)).into()),
        ("statements", "zz;".repeat(many / 2).into()),
        ("lines", "zz;\n".repeat(many / 2).into()),
        ("comment", "/*".repeat(many).into()),
        ("vector", "int8 a[99999999999999999999] ipin; int64 o fout; o += a[0];".into()),
        ("number", format!("int8 a ipin; int64 o fout; o += {};", "9".repeat(2 * many)).into()),
        ("power", "int8 a ipin; int64 o fout; o += 1e999999999999;".into()),
        ("name", format!("int8 {} ipin;", "n".repeat(2 * many)).into()),
    ];
    for (name, text) in testkit::some(texts, 10) {
        let file = format!("{name}.pg2");
        p.write(&file, text);
        let start = Instant::now();
        let ended = p.run(&format!("check {file}")).expect(1);
        let seconds = start.elapsed().as_secs_f64();
        println!("{name}: {seconds:.2} s, {} bytes of messages", ended.err.len());
        has(&ended.err, &[&format!("{file}:1:")]);
        // A thousand findings at most, of a few lines each.
        assert!(ended.err.len() < 1_000_000, "{name}: {} bytes of messages", ended.err.len());
        // Under a second with optimisation, and some without on a machine that does other things too; anything quadratic
        // takes hours.
        assert!(seconds < 30.0, "{name}: {seconds} s");
        std::fs::remove_file(p.path(&file)).expect("it was written");
    }
}

#[test]
fn a_schedule_is_explained() {
    let p = place();
    let ended = check_in(&p, "explain p2p_paper", 0, &["float18.9", "pow", "pout", "register bits"], &[]);
    assert!(ended.out.lines().count() > 10);
}

#[test]
fn errors_are_bounded() {
    let p = place();
    let text =
        "float25.16 x ipin in 1..2;\nfloat25.16 y jpin;\nfixed64.30 o fout;\nd = x * x;\no += (fixed64.30)(d / y);\n";
    p.write("e.pg2", text);
    let shown = ["d ", "1.000e0", "4.000e0", "overflow: line 5; raised by", "saturation: line 5", "invalid: line 5"];
    check_in(&p, "explain e.pg2 --error", 0, &shown, &[]);
    p.write("f.pg2", text.replace("jpin;", "jpin in 1..2;"));
    check_in(&p, "explain f.pg2 --error --json e.json --gappa e.g", 0, &["invalid: never", "overflow: never"], &[]);
    assert!(p.text("e.g").contains("->"), "{}", p.text("e.g"));
    let bound = &p.json("e.json")["outputs"][0];
    assert_eq!((&bound["name"], bound["proved"].as_bool()), (&"o".into(), Some(true)));
    let per_pair = bound["per_sum"]["per_pair"].as_f64().expect("a bound");
    assert!(per_pair > 1e-5 && per_pair < 2e-4, "{bound}");
    check_in(&p, "explain e.pg2 --json e.json", 2, &[], &["--error", "--roofline"]);
}

#[test]
fn cores_of_fpbench_are_imported() {
    let p = place();
    let core = "(FPCore (x) :name \"sine order 3\" :precision binary32 :pre (<= -2 x 2)\n (- (* 0.954929658551372 x) (* 0.12900613773279798 (* (* x x) x))))\n";
    p.write("one.fpcore", core);
    let text = p.run("import fpcore one.fpcore").expect(0).out;
    assert!(text.contains("float32.23 x ipin in (-2)..2;"), "{text}");
    p.write("one.pg2", &text);
    check_in(&p, "explain one.pg2 --error", 0, &["result"], &[]);
    p.write("two.fpcore", format!("{core}{core}").replacen("sine", "other", 1));
    check_in(&p, "import fpcore two.fpcore", 2, &[], &["--core"]);
    check_in(&p, "import fpcore two.fpcore -o cores --format float18.9", 0, &[], &[]);
    assert!(p.text("cores/sine_order_3.pg2").contains("float18.9 x"));
    p.write("bad.fpcore", "(FPCore (x) x");
    check_in(&p, "import fpcore bad.fpcore", 1, &[], &["bad.fpcore", "line 1"]);
}

#[test]
fn every_code_is_explained() {
    for code in pg2::diag::codes::CODES {
        let page = check(&format!("explain {}", code.code), 0, &[code.code, code.summary, "Right:"], &[]).out;
        assert!(!page.contains("```") && !page.contains("]("), "{page}");
    }
    assert_eq!(check("explain pg12", 0, &[], &[]).out, check("explain PG0012", 0, &["    r2 = dx * dx;"], &[]).out);
    check("explain PG0092", 1, &[], &["no diagnostic `PG0092`", "did you mean `PG00"]);
    check("explain pg7777777", 1, &[], &["no diagnostic `pg7777777`", "`PG0012`"]);
    check("explain PG0012 --svg x.svg", 2, &[], &["--svg"]);
    // A file of such a name is a kernel.
    let p = place();
    p.write("PG0012", "int8 o fout; o += 1;");
    check_in(&p, "explain PG0012", 0, &["register bits"], &[]);
}
