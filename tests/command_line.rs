//! The command line: exit statuses, files, messages, hostile input and interruption.

mod common;

use common::{Ended, Place, has_verilator};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A kernel with every class of pin: 64-bit sums, extremes of a float and of a fixed.
const KERNEL: &str = "int32 a ipin; uint64 b jpin; float18.9 f jpin; int16 k param;
uint64 s fout; float18.9 m fout; fixed16.8 n fout;
s += b + (uint64)a * (uint64)k;
m max= f;
n min= (fixed16.8)f;
";

/// A folder with the kernel, two targets and two sources.
fn place() -> Place {
    let p = Place::new();
    p.write("k.pg2", KERNEL);
    p.write("i.csv", "a\n1\n2\n");
    p.write("j.csv", "b,f\n18446744073709551614,1.5\n0,-0.25\n");
    p
}

const RUN: &str = "run k.pg2 --i i.csv --j j.csv --param k=3";

/// Every part stands in the text.
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
}

/// A command in [`place`]: its exit status and what its output and its messages contain. A failure leaves stdout empty
/// and its reason on stderr; success leaves stderr empty.
fn check(words: &str, code: i32, out: &[&str], err: &[&str]) -> Ended {
    check_in(&place(), words, code, out, err)
}

fn check_in(p: &Place, words: &str, code: i32, out: &[&str], err: &[&str]) -> Ended {
    let ended = p.run(words).expect(code);
    has(&ended.out, out);
    has(&ended.err, err);
    match code {
        0 => assert_eq!(ended.err, "", "{words}"),
        _ => assert!(ended.out.is_empty() && !ended.err.is_empty(), "{words}: {ended:?}"),
    }
    assert!(!p.names().iter().any(|n| n.starts_with(".pairforge")), "{words} left {:?}", p.names());
    ended
}

#[test]
fn help_and_lists_are_shown() {
    for command in ["check", "build", "deploy", "explain", "run", "fmm", "gen m2l", "bench", "list"] {
        check(&format!("{command} --help"), 0, &["Usage: pairforge"], &[]);
    }
    check("--version", 0, &["pairforge 0."], &[]);
    check("list kernels", 0, &["p2p ", "p2p_paper ", "m2l_paper "], &[]);
    check("list backends", 0, &["emulator ", "cycle ", "cpu "], &[]);
    check("list operators", 0, &["add ", "fmul ", "pow "], &[]);
    check("list targets", 0, &["generic "], &[]);
    check("list boards", 0, &["ulx3s ", "colorlight-i9 ", "tang-nano-20k ", "icebreaker "], &[]);
}

#[test]
fn wrong_usage_is_status_2() {
    let wrong: &[(&str, &[&str])] = &[
        ("", &["Usage: pairforge"]),
        ("frobnicate", &["frobnicate", "Usage"]),
        ("check", &["FILE"]),
        ("check --no-such-option k.pg2", &["--no-such-option"]),
        ("build k.pg2", &["-o <DIR>"]),
        ("build k.pg2 -o d --target nothing", &["nothing", "generic"]),
        ("build k.pg2 -o d --freq 0", &["--freq", "1 to 1000"]),
        ("build k.pg2 -o d --freq nan", &["--freq"]),
        ("build k.pg2 -o d --pipelines 0", &["--pipelines", "1..=255"]),
        ("build k.pg2 -o d --pipelines 12 --groups 5", &["--groups 5", "12 pipelines", "1, 2, 3, 4, 6, 12"]),
        ("run k.pg2 --i i.csv --j j.csv --groups 0", &["--groups", "1..=255"]),
        ("fmm --n 10 --pipelines 8 --groups 3", &["--groups 3"]),
        ("build k.pg2 -o d --stream 48", &["--stream", "32, 64, 128"]),
        ("explain k.pg2 --target nothing", &["nothing", "generic"]),
        ("run k.pg2", &["--i", "--j"]),
        ("run k.pg2 --i i.csv --j j.csv --backend nothing", &["nothing", "emulator, cycle, cpu"]),
        ("run k.pg2 --i i.csv --j j.csv --pipelines 256", &["--pipelines", "1..=255"]),
        ("run k.pg2 --i i.csv --j j.csv --param k=1 --trace w.fst", &["--trace", "--backend cycle"]),
        ("run k.pg2 --i i.csv --j j.csv --param k", &["NAME=VALUE", "`k`"]),
        ("run k.pg2 --i i.csv --j j.csv --param k=1 --param k=1", &["k", "twice"]),
        ("gen", &["Usage"]),
        ("gen m2l --order 9", &["9", "1..=8"]),
        ("list everything", &["everything", "kernels"]),
        ("fmm --backend nothing", &["nothing", "emulator, cycle, cpu"]),
        ("fmm --dist torus", &["torus", "plummer"]),
        ("fmm --n 10 --particles x.csv", &["--particles"]),
        ("fmm --n 10 --theta 0.6", &["theta", "0.5"]),
        ("fmm --n 10 --theta 0", &["theta"]),
        ("fmm --n 10 --leaf 0", &["leaf"]),
        ("fmm --n 10 --eps -1", &["-1"]),
        ("fmm --n 10 --eps nan", &["softening"]),
        ("fmm --n 10 --order 9", &["1 to 8"]),
        ("fmm --n 10 --order 0 --backend cpu", &["1 to 20"]),
        ("fmm --n 10 --expansion solid", &["`cpu`"]),
        ("fmm --n 99999999999999", &["2147483647"]),
        ("fmm --n 10 --threads 1000000", &["--threads", "1024"]),
        ("bench no_such_bench", &["no_such_bench"]),
    ];
    for (words, err) in wrong {
        check(words, 2, &[], err);
    }
}

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
    check_in(&p, "check .", 1, &[], &["directory"]);
    // A warning is no failure.
    p.write("unused.pg2", "int8 a ipin; int8 b jpin; int16 o fout; o += a;");
    let ended = p.run("check unused.pg2").expect(0);
    has(&ended.err, &["Warning", "unused.pg2:1:19"]);
}

#[test]
fn hostile_kernels_end_quickly() {
    let p = Place::new();
    let many = 5_000_000;
    let texts: Vec<(&str, Vec<u8>)> = vec![
        ("garbage", (0..10_000_000u64).map(|k| (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()),
        ("nul", vec![0; 10_000_000]),
        ("letters", "é".repeat(many).into()),
        ("round", "(".repeat(2 * many).into()),
        ("square", format!("int8 a ipin; int8 o fout; o += {}", "a[".repeat(many)).into()),
        ("braces", "{".repeat(2 * many).into()),
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
    for (name, text) in texts {
        let file = format!("{name}.pg2");
        p.write(&file, text);
        let start = Instant::now();
        let ended = p.run(&format!("check {file}")).expect(1);
        let seconds = start.elapsed().as_secs_f64();
        println!("{name}: {seconds:.2} s, {} bytes of messages", ended.err.len());
        has(&ended.err, &[&format!("{file}:1:")]);
        // A thousand findings at most, of a few lines each.
        assert!(ended.err.len() < 1_000_000, "{name}: {} bytes of messages", ended.err.len());
        // A fraction of a second on a quiet machine.
        assert!(seconds < 20.0, "{name}: {seconds} s");
        std::fs::remove_file(p.path(&file)).expect("it was written");
    }
}

#[test]
fn runs_give_values_in_their_formats() {
    // (2^64 - 2) + 3 wraps to 1, within the pair; with the other pair's 3 that is 4.
    let p = place();
    let ended = check_in(&p, &format!("{RUN} --json s.json"), 0, &[], &[]);
    assert_eq!(ended.out, "s,m,n\n4,1.5,-0.25\n10,1.5,-0.25\n");
    let stats = p.json("s.json");
    keys(&stats, &["backend", "ni", "nj", "pairs", "seconds", "cycles", "utilisation", "flags"]);
    assert_eq!((&stats["backend"], &stats["ni"], &stats["nj"]), (&"emulator".into(), &2.into(), &2.into()));
    assert_eq!((&stats["pairs"], &stats["cycles"], &stats["utilisation"]), (&4.into(), &Value::Null, &Value::Null));
    assert_eq!(stats["flags"], serde_json::json!([]), "uint64 additions wrap without a flag");
    assert!(stats["seconds"].as_f64().is_some_and(|s| s > 0.0));
    // The largest 64-bit value comes through whole.
    p.write("one.csv", "f,b\n 1 , 18446744073709551615 \n");
    p.write("zero.csv", "a\n0\n");
    let ended = check_in(&p, "run k.pg2 --i zero.csv --j one.csv --param k=0", 0, &[], &[]);
    assert_eq!(ended.out, "s,m,n\n18446744073709551615,1,1\n");
    // A sum over pairs that leaves its format says so.
    p.write("two.csv", "f,b\n1,18446744073709551615\n1,5\n");
    let ended = check_in(&p, "run k.pg2 --i zero.csv --j two.csv --param k=0 --json s.json", 0, &[], &[]);
    assert_eq!(ended.out, "s,m,n\n4,1,1\n");
    assert_eq!(p.json("s.json")["flags"], serde_json::json!(["wrap"]));
}

#[test]
fn no_targets_and_no_sources_are_legal() {
    let p = place();
    p.write("i0.csv", "a\n");
    p.write("j0.csv", "b,f\n");
    let backends = if has_verilator() { vec!["emulator", "cpu", "cycle"] } else { vec!["emulator", "cpu"] };
    for b in backends {
        let run = |i: &str, j: &str| {
            check_in(&p, &format!("run k.pg2 --i {i} --j {j} --param k=3 --backend {b} --json s.json"), 0, &[], &[]).out
        };
        assert_eq!(run("i0.csv", "j.csv"), "s,m,n\n", "{b}");
        assert_eq!(run("i0.csv", "j0.csv"), "s,m,n\n", "{b}");
        // 0, the least float18.9 (2 - 2^-9) 2^127 and the greatest fixed16.8.
        assert_eq!(run("i.csv", "j0.csv"), "s,m,n\n0,-3.4e38,127.99609375\n0,-3.4e38,127.99609375\n", "{b}");
        assert_eq!(p.json("s.json")["nj"], 0);
    }
}

#[test]
fn kernels_without_pins_of_a_class_run() {
    let p = place();
    p.write("noi.pg2", "int8 b jpin; int16 s fout; s += b;");
    p.write("noj.pg2", "int32 a ipin; int64 s fout; s += a;");
    p.write("none.pg2", "int16 s fout; s += 1;");
    p.write("rows.csv", "any\nx\ny\nz\n");
    p.write("b.csv", "b\n5\n-7\n");
    let backends = if has_verilator() { vec!["emulator", "cpu", "cycle"] } else { vec!["emulator", "cpu"] };
    for b in backends {
        let run = |k: &str, i: &str, j: &str| {
            check_in(&p, &format!("run {k}.pg2 --i {i} --j {j} --backend {b}"), 0, &[], &[]).out
        };
        assert_eq!(run("noi", "rows.csv", "b.csv"), "s\n-2\n-2\n-2\n", "{b}");
        assert_eq!(run("noj", "i.csv", "rows.csv"), "s\n3\n6\n", "{b}");
        assert_eq!(run("none", "rows.csv", "i.csv"), "s\n2\n2\n2\n", "{b}");
    }
}

#[test]
fn raw_values_are_bit_patterns() {
    let p = place();
    // 65024 is 127 << 9: the float 1; 261120 is 510 << 9: -2^127. Field 0 reads as zero, whatever else is set.
    p.write("j.csv", "b,f\n1,65024\n2,131583\n3,511\n");
    p.write("i.csv", "a\n4294967295\n");
    let ended = check_in(&p, "run k.pg2 --i i.csv --j j.csv --param k=65535 --raw", 0, &[], &[]);
    // Sum of b and three times (-1)(-1); the maximum 1; the minimum 0, as fixed16.8 patterns.
    assert_eq!(ended.out, "s,m,n\n9,65024,0\n");
    // Field 255, all ones, is no number; nor is a pattern of 19 bits.
    for (pattern, why) in
        [("130560", "exponent field 255"), ("262144", "18 bits"), ("-1", "unsigned"), ("1.0", "unsigned")]
    {
        p.write("j.csv", format!("b,f\n1,65024\n1,{pattern}\n"));
        check_in(&p, "run k.pg2 --i i.csv --j j.csv --param k=1 --raw", 1, &[], &["j.csv:3", "`f`", why]);
    }
    check_in(&p, "run k.pg2 --i i.csv --j i.csv --param k=65536 --raw", 1, &[], &["--param k", "16 bits"]);
}

#[test]
fn wrong_records_are_named_with_their_line() {
    let wrong: &[(&[u8], &[&str])] = &[
        (b"", &["j.csv:1", "`b`", "uint64", "float18.9"]),
        (b"b\n1\n", &["j.csv:1", "no column `f`"]),
        (b"b,f,g\n1,2,3\n", &["j.csv:1", "`g` is no pin"]),
        (b"b,f,b\n1,2,3\n", &["j.csv:1", "two columns are called `b`"]),
        (b"b,f\n1,2\n\n# remark\n1\n", &["j.csv:5", "values in this line: 1", "header: 2"]),
        (b"b,f\n1,2,3\n", &["j.csv:2", "values in this line: 3"]),
        (b"b,f\n1,two\n", &["j.csv:2", "`f`", "`two`", "not a decimal number"]),
        (b"b,f\n1,\n", &["j.csv:2", "`f`", "not a decimal number"]),
        (b"b,f\n1,nan\n", &["j.csv:2", "`nan`"]),
        (b"b,f\n1,inf\n", &["j.csv:2", "`inf`"]),
        (b"b,f\r\n1,2\r\n1,1e39\r\n", &["j.csv:3", "`1e39`", "out of the range of float18.9", "3.4e38"]),
        (b"b,f\n18446744073709551616,2\n", &["j.csv:2", "`b`", "out of the range of uint64", "18446744073709551615"]),
        (b"b,f\n-1,2\n", &["j.csv:2", "`b`", "out of the range"]),
        (b"b,f\n0.5,2\n", &["j.csv:2", "`b`", "fraction"]),
        (b"b,f\n1,2\n1,\xff\n", &["j.csv:3", "UTF-8"]),
        (b"\x93NUMPY\x01\x00v\x00{'descr'", &["j.csv:1"]),
    ];
    for (bytes, err) in wrong {
        let p = place();
        p.write("j.csv", bytes);
        p.write("out.csv", "old");
        check_in(&p, &format!("{RUN} -o out.csv --json s.json"), 1, &[], err);
        assert_eq!(p.text("out.csv"), "old", "an old result stays after a failure");
        assert!(!p.path("s.json").exists());
    }
    check("run k.pg2 --i none.csv --j j.csv --param k=3", 1, &[], &["none.csv", "No such file"]);
    check("run k.pg2 --i . --j j.csv --param k=3", 1, &[], &["directory"]);
    check("run none.pg2 --i i.csv --j j.csv", 1, &[], &["none.pg2", "No such file"]);
}

#[test]
fn files_from_other_systems_are_read() {
    for j in ["\u{feff}b,f\r\n18446744073709551614,1.5\r\n0,-0.25\r\n", "f,b\n1.5,18446744073709551614\n-25e-2,0"] {
        let p = place();
        p.write("j.csv", j);
        assert_eq!(check_in(&p, RUN, 0, &[], &[]).out, "s,m,n\n4,1.5,-0.25\n10,1.5,-0.25\n");
    }
}

#[test]
fn parameters_are_given_once_and_in_range() {
    let run = |params: &str| format!("run k.pg2 --i i.csv --j j.csv {params}");
    check(&run(""), 1, &[], &["`k`", "--param k=VALUE", "int16"]);
    check(&run("--param k=3 --param x=1"), 1, &[], &["`x`", "k (int16)"]);
    check(&run("--param k=40000"), 1, &[], &["--param k", "int16", "32767"]);
    check(&run("--param k=three"), 1, &[], &["--param k", "`three`"]);
    check(&run("--param k="), 1, &[], &["--param k"]);
    let p = place();
    p.write("none.pg2", "int32 a ipin; uint64 b jpin; float18.9 f jpin; int64 s fout; s += a;");
    let ended = p.run("run none.pg2 --i i.csv --j j.csv --param k=3").expect(1);
    has(&ended.err, &["no parameter `k`", "it has none"]);
    p.write("vector.pg2", "int32 a ipin; int16 w[2] param; int64 s fout; s += a * w[0] + w[1];");
    p.write("rows.csv", "any\n1\n");
    let ended = p.run("run vector.pg2 --i i.csv --j rows.csv --param w[1]=5 --param w[0]=-2").expect(0);
    assert_eq!(ended.out, "s\n3\n1\n");
    check_in(&p, "run vector.pg2 --i i.csv --j rows.csv --param w[0]=1", 1, &[], &["w[1]"]);
}

#[test]
fn outputs_that_cannot_be_written_are_named() {
    let p = place();
    std::fs::create_dir(p.path("folder")).expect("a folder");
    p.write("file", "old");
    let wrong: &[(&str, &[&str])] = &[
        ("-o folder", &["folder", "name a file"]),
        ("-o none/out.csv", &["none/out.csv", "does not exist"]),
        ("-o file/out.csv", &["file/out.csv"]),
        ("-o out.csv --json none/s.json", &["none/s.json", "does not exist"]),
        ("--backend cycle --trace none/w.fst", &["none/w.fst", "does not exist"]),
        ("--backend cycle --trace folder", &["folder", "name a file"]),
        ("-o /dev/full", &["/dev/full", "No space left"]),
        ("-o /proc/out.csv", &["/proc/out.csv", "cannot be written"]),
    ];
    for (options, err) in wrong {
        let ended = check_in(&p, &format!("{RUN} {options}"), 1, &[], err);
        assert!(!ended.err.contains(".pairforge-"), "a temporary name is nobody's business: {}", ended.err);
    }
    check_in(&p, "build k.pg2 -o file", 1, &[], &["file", "name a folder"]);
    check_in(&p, "gen m2l --order 2 -o none/m.pg2", 1, &[], &["none/m.pg2"]);
    check_in(&p, "fmm --n 10 -o none/f.csv", 1, &[], &["none/f.csv"]);
    check_in(&p, "fmm --n 10 --save-particles none/f.csv", 1, &[], &["none/f.csv"]);
    check_in(&p, "fmm --n 10 --report folder", 1, &[], &["folder", "name a file"]);
    check_in(&p, "fmm --particles none.npy", 1, &[], &["none.npy", "No such file"]);
    assert_eq!(p.text("file"), "old");
}

#[test]
fn results_replace_old_ones_whole() {
    use std::os::unix::fs::PermissionsExt;
    let p = place();
    p.write("out.csv", "a much longer old text than what comes now".repeat(9));
    let ended = check_in(&p, &format!("{RUN} -o out.csv"), 0, &[], &[]);
    assert_eq!((ended.out.as_str(), p.text("out.csv").as_str()), ("", "s,m,n\n4,1.5,-0.25\n10,1.5,-0.25\n"));
    p.write("plain", "");
    let mode = |name: &str| std::fs::metadata(p.path(name)).expect("it is there").permissions().mode();
    assert_eq!(mode("out.csv"), mode("plain"), "a result has the mode of any new file");
}

/// The keys of an object, and no others.
fn keys(object: &Value, names: &[&str]) {
    let mut found: Vec<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    let mut wanted = names.to_vec();
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}

#[test]
fn a_build_is_described_by_its_manifest() {
    let p = place();
    let ended = check_in(&p, "build k.pg2 -o new/design --pipelines 3", 0, &[], &[]);
    assert_eq!(ended.out, "");
    let m = p.json("new/design/manifest.json");
    for key in ["kernel", "pipelines", "latency", "pins", "register_bits", "operators", "files"] {
        assert!(!m[key].is_null(), "{key}");
    }
    assert_eq!((&m["kernel"], &m["pipelines"]), (&"k".into(), &3.into()));
    assert!(m["latency"].as_u64().is_some_and(|l| l >= 1) && m["register_bits"].as_u64().is_some_and(|b| b > 0));
    let pins = m["pins"].as_array().expect("a list");
    let pin = serde_json::json!({"name": "f", "class": "jpin", "format": "float18.9", "count": 1});
    assert!(pins.len() == 7 && pins.contains(&pin), "{pins:?}");
    let classes: Vec<&str> = pins.iter().filter_map(|p| p["class"].as_str()).collect();
    assert_eq!(classes, ["ipin", "jpin", "jpin", "param", "fout", "fout", "fout"]);
    for operator in m["operators"].as_array().expect("a list") {
        keys(operator, &["name", "count"]);
        assert!(operator["name"].is_string() && operator["count"].as_u64().is_some_and(|c| c > 0));
    }
    for file in m["files"].as_array().expect("a list") {
        let text = p.text(&format!("new/design/{}", file.as_str().expect("a name")));
        assert!(text.contains("module k_engine") && text.contains("module k_pipeline"));
    }
    // The same again is the same text, over what was there.
    let first = p.text("new/design/k_engine.v");
    check_in(&p, "build k.pg2 -o new/design --pipelines 3", 0, &[], &[]);
    assert_eq!(first, p.text("new/design/k_engine.v"));
}

#[test]
fn generated_kernels_compile() {
    let p = Place::new();
    for order in 1..=8 {
        check_in(&p, &format!("gen m2l --order {order} -o m.pg2"), 0, &[], &[]);
        check_in(&p, "check m.pg2", 0, &[], &[]);
        assert_eq!(p.run(&format!("gen m2l --order {order}")).expect(0).out, p.text("m.pg2"));
    }
}

#[test]
fn a_schedule_is_explained() {
    let p = place();
    let ended = check_in(&p, "explain p2p_paper", 0, &["float18.9", "pow", "pout", "register bits"], &[]);
    assert!(ended.out.lines().count() > 10);
}

#[test]
fn statistics_of_an_fmm_have_their_keys() {
    let p = Place::new();
    let backends = if has_verilator() { vec!["emulator", "cpu", "cycle"] } else { vec!["emulator", "cpu"] };
    for b in backends {
        let words = format!("fmm --n 300 --leaf 20 --order 2 --backend {b} --check 50 --json s.json --report r.html");
        check_in(&p, &words, 0, &["FMM of 300 particles", "P2P", "M2L"], &[]);
        let s = p.json("s.json");
        for key in ["backend", "n", "order", "theta", "leaf", "levels", "seconds", "pairs", "streamed", "recomputed"] {
            assert!(!s[key].is_null(), "{key}");
        }
        assert_eq!((&s["backend"], &s["n"], &s["order"], &s["leaf"]), (&b.into(), &300.into(), &2.into(), &20.into()));
        assert!(s["theta"] == 0.5 && s["levels"].as_u64() >= Some(2) && s["recomputed"].is_u64());
        keys(&s["seconds"], &["tree", "p2m", "m2m", "m2l", "l2l", "l2p", "p2p", "m2p", "p2l", "total"]);
        keys(&s["pairs"], &["p2p", "m2l", "m2p", "p2l"]);
        keys(&s["streamed"], &["p2p", "m2l"]);
        keys(&s["words"], &["j", "i", "result"]);
        keys(&s["error"], &["samples", "potential_rel_l2", "gradient_rel_l2", "gradient_median", "gradient_p99"]);
        assert_eq!(s["error"]["samples"], 50);
        assert!(s["error"].as_object().expect("an object").values().all(Value::is_number));
        assert!(s["flags"].is_array());
        for kind in ["cycles", "utilisation"] {
            keys(&s[kind], &["p2p", "m2l"]);
            let clocked = s[kind].as_object().expect("an object").values().all(Value::is_number);
            assert_eq!(clocked, b == "cycle", "{kind} on {b}");
        }
        assert!(s["streamed"]["m2l"].as_u64() >= s["pairs"]["m2l"].as_u64());
        assert!(p.text("r.html").contains("</html>"));
        assert!(p.json("s.json")["seconds"]["total"].as_f64() > Some(0.0));
    }
    check_in(&p, "fmm --n 30 --backend cpu --json s.json", 0, &[], &[]);
    assert!(p.json("s.json").as_object().expect("an object").get("error").is_some_and(Value::is_null));
}

#[test]
fn sources_beyond_the_j_memory_give_the_same_bits() {
    // A record of p2p takes 4 words: 256 Ki words hold 65536 of them. The same sources in two runs that fit, added up by
    // hand, are the reference.
    let p = Place::new();
    let (n, half) = (70_000u64, 35_000u64);
    let row = |k: u64| {
        let h = |m: u64| (k.wrapping_mul(m) >> 20) as u32 as f64 / 4294967296.0 - 0.5;
        format!("{},{},{},{}\n", h(0x9e37_79b9_7f4a_7c15), h(0xbf58_476d_1ce4_e5b9), h(0x94d0_49bb_1331_11eb), k % 7)
    };
    let header = "xj[0],xj[1],xj[2],mj\n";
    let rows = |range: std::ops::Range<u64>| range.map(row).collect::<String>();
    p.write("all.csv", header.to_string() + &rows(1..n + 1));
    p.write("first.csv", header.to_string() + &rows(1..half + 1));
    p.write("second.csv", header.to_string() + &rows(half + 1..n + 1));
    p.write("i.csv", "xi[0],xi[1],xi[2]\n0.25,0.125,-0.25\n0.3,-0.4,0.1\n0,0,0\n");
    let run = |j: &str| -> Vec<Vec<u64>> {
        let out = check_in(&p, &format!("run p2p --i i.csv --j {j} --param eps2=0"), 0, &[], &[]).out;
        let back = format!("o.csv\n{out}");
        assert!(back.lines().count() == 5);
        let raw = ["pout", "gout[0]", "gout[1]", "gout[2]"];
        assert_eq!(out.lines().next(), Some(raw.join(",").as_str()));
        let bits = |text: &str, k: usize| {
            let format: hdl::Format = if k == 0 { "fixed64.30" } else { "fixed64.16" }.parse().expect("a format");
            hdl::exact::parse(format, text).expect("own numbers are read back")
        };
        out.lines().skip(1).map(|l| l.split(',').enumerate().map(|(k, t)| bits(t, k)).collect()).collect()
    };
    let (all, first, second) = (run("all.csv"), run("first.csv"), run("second.csv"));
    for (target, sums) in all.iter().enumerate() {
        for (k, sum) in sums.iter().enumerate() {
            assert_eq!(*sum, first[target][k].wrapping_add(second[target][k]), "target {target} output {k}");
        }
        assert_ne!(sums[0], 0);
    }
}

#[test]
fn the_cycle_simulation_without_verilator_is_status_3() {
    let p = place();
    for words in [format!("{RUN} --backend cycle"), "fmm --n 10 --backend cycle".into()] {
        let mut command = p.command(&words);
        command.env("PATH", "").env("PAIRFORGE_CACHE", p.path("cache"));
        let ended = p.finish(command).expect(3);
        has(&ended.err, &["verilator", "apt-get install verilator"]);
        assert_eq!((ended.out.as_str(), ended.err.lines().count()), ("", 1));
    }
    // What needs no tool runs without one.
    let mut command = p.command(RUN);
    p.finish({
        command.env("PATH", "");
        command
    })
    .expect(0);
}

/// A folder on `PATH` whose `verilator` is this shell script; the real one is `$REAL`.
fn with_verilator(p: &Place, script: &str, words: &str) -> std::process::Command {
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(p.path("bin")).expect("a folder");
    p.write("bin/verilator", format!("#!/bin/sh\n{script}\n"));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(p.path("bin/verilator"), mode).expect("the script is ours");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let real = std::env::split_paths(&path).map(|d| d.join("verilator")).find(|f| f.is_file()).unwrap_or_default();
    let folders = std::iter::once(p.path("bin")).chain(std::env::split_paths(&path));
    let mut command = p.command(words);
    command.env("PATH", std::env::join_paths(folders).expect("a path")).env("REAL", real);
    command.env("PAIRFORGE_CACHE", p.path("cache"));
    command
}

#[test]
fn tools_that_fail_or_are_too_old_are_status_3() {
    if !has_verilator() {
        return;
    }
    let words = format!("{RUN} --backend cycle -o out.csv");
    let p = place();
    p.write("out.csv", "old");
    let old = p.finish(with_verilator(&p, "echo 'Verilator 4.038 2020-07-11 rev v4.036'", &words)).expect(3);
    has(&old.err, &["verilator 5 or newer", "4.038", "apt-get install verilator"]);
    let script =
        "case $1 in --version|--getenv) exec \"$REAL\" \"$@\";; esac; echo %Error: the disk is on fire >&2; exit 9";
    let failed = p.finish(with_verilator(&p, script, &words)).expect(3);
    has(&failed.err, &["verilator failed", "the disk is on fire", "log"]);
    let log = failed.err.split("log: ").nth(1).and_then(|t| t.split(')').next()).expect("a log is named");
    assert!(std::fs::read_to_string(log).is_ok_and(|t| t.contains("the disk is on fire")), "{log}");
    assert_eq!(p.text("out.csv"), "old");
    // The failure left nothing in the cache that a later run would take for a simulation.
    let good = p.finish(with_verilator(&p, "exec \"$REAL\" \"$@\"", &words)).expect(0);
    assert_eq!((good.err.as_str(), p.text("out.csv").as_str()), ("", "s,m,n\n4,1.5,-0.25\n10,1.5,-0.25\n"));
}

#[test]
fn a_build_that_was_interrupted_is_done_again() {
    use std::os::unix::process::ExitStatusExt;
    if !has_verilator() {
        return;
    }
    let p = place();
    let words = format!("{RUN} --backend cycle");
    // Stopped in the middle of a build: the tool waits until it is killed with the command.
    let script = "case $1 in --version|--getenv) exec \"$REAL\" \"$@\";; esac; touch started; sleep 60";
    let mut command = with_verilator(&p, script, &words);
    {
        use std::os::unix::process::CommandExt;
        command.process_group(0);
    }
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let start = Instant::now();
    while !p.path("started").exists() {
        assert!(start.elapsed() < Duration::from_secs(60) && child.try_wait().expect("asked").is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    // As Ctrl-C on a terminal does: to the whole group.
    // SAFETY: the child was not waited for since, so its group is still its own.
    unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGINT) };
    assert_eq!(child.wait().expect("it ends").signal(), Some(libc::SIGINT));
    let mut err = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("UTF-8");
    assert_eq!(err, "");
    let again = p.finish(with_verilator(&p, "exec \"$REAL\" \"$@\"", &words)).expect(0);
    assert_eq!(again.out, "s,m,n\n4,1.5,-0.25\n10,1.5,-0.25\n");
    let left = std::fs::read_dir(p.path("cache")).expect("a cache").flatten().map(|e| e.file_name());
    let left: Vec<String> =
        left.map(|n| n.to_string_lossy().into_owned()).filter(|n| n.starts_with("building")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    if !has_verilator() {
        return;
    }
    let p = place();
    p.write("file", "no folder");
    let mut command = p.command(&format!("{RUN} --backend cycle"));
    command.env("PAIRFORGE_CACHE", p.path("file"));
    let ended = p.finish(command);
    assert!(matches!(ended.code, Some(1 | 3)), "{ended:?}");
    has(&ended.err, &["file"]);
}

#[test]
fn waves_are_traced() {
    if !has_verilator() {
        return;
    }
    let p = place();
    let words = format!("{RUN} --backend cycle --pipelines 2 --trace w.fst --json s.json");
    assert_eq!(check_in(&p, &words, 0, &[], &[]).out, "s,m,n\n4,1.5,-0.25\n10,1.5,-0.25\n");
    assert!(p.bytes("w.fst").len() > 1000);
    let s = p.json("s.json");
    let (cycles, used) = (s["cycles"].as_f64().expect("a clock"), s["utilisation"].as_f64().expect("a clock"));
    assert!((used - 4.0 / (cycles * 2.0)).abs() < 1e-12, "{s}");
}

#[test]
fn standard_output_holds_one_thing() {
    let p = Place::new();
    let json = check_in(&p, "fmm --n 10 --json -", 0, &[], &[]).out;
    assert!(serde_json::from_str::<Value>(&json).is_ok_and(|s| s["n"] == 10), "{json}");
    let field = check_in(&p, "fmm --n 10 -o -", 0, &[], &[]).out;
    assert_eq!((field.lines().next(), field.lines().count()), (Some("potential,gx,gy,gz"), 11));
    let particles = check_in(&p, "fmm --n 10 --save-particles -", 0, &[], &[]).out;
    assert_eq!((particles.lines().next(), particles.lines().count()), (Some("x,y,z,q"), 11));
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let p = Place::new();
    let many: String = (0..200_000).map(|k| format!("{k}\n")).collect();
    p.write("k.pg2", "int32 a ipin; int64 s fout; s += a;");
    p.write("i.csv", format!("a\n{many}"));
    p.write("j.csv", "any\n1\n");
    for words in ["run k.pg2 --i i.csv --j j.csv", "gen m2l --order 8", "fmm --n 20000 --backend cpu -o -"] {
        let mut child = p.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut reader = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        assert!(!line.is_empty(), "{words}");
        drop(reader);
        let mut err = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("UTF-8");
        assert_eq!(err, "", "{words}");
        child.wait().expect("it ends");
    }
}

#[test]
fn an_interrupt_ends_quietly_and_leaves_nothing() {
    use std::os::unix::process::ExitStatusExt;
    let p = Place::new();
    let many: String = (0..400_000).map(|k| format!("{k}\n")).collect();
    p.write("k.pg2", "int32 a ipin; int64 s fout; float32.23 f fout; s += a; f max= (float32.23)a;");
    p.write("i.csv", format!("a\n{many}"));
    p.write("j.csv", "any\n1\n");
    p.write("out.csv", "old");
    let mut caught = false;
    for _ in 0..10 {
        let mut child =
            p.command("run k.pg2 --i i.csv --j j.csv -o out.csv").stderr(Stdio::piped()).spawn().expect("it");
        // As soon as the temporary file has some content.
        let temporary = |p: &Place| {
            let found = p.names().into_iter().find(|n| n.starts_with(".pairforge-"));
            found.is_some_and(|n| std::fs::metadata(p.path(&n)).is_ok_and(|m| m.len() > 0))
        };
        while !temporary(&p) && child.try_wait().expect("it can be asked").is_none() {
            std::thread::sleep(Duration::from_micros(200));
        }
        // SAFETY: the child was not waited for since, so its id is still its own.
        unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
        let status = child.wait().expect("it ends");
        let mut err = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("UTF-8");
        assert_eq!(err, "");
        assert!(!p.names().iter().any(|n| n.starts_with(".pairforge-")), "{:?}", p.names());
        if status.signal() == Some(libc::SIGINT) {
            assert_eq!(p.text("out.csv"), "old");
            caught = true;
            break;
        }
        p.write("out.csv", "old");
    }
    assert!(caught, "the command was never interrupted while it wrote");
}
