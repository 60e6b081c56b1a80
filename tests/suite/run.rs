//! `run`: records in and out, parameters, sources beyond the j memory.

use crate::common::command::{RUN, check, check_in, has, keys, place};
use crate::common::{Place, plain_backends};
use serde_json::Value;

#[test]
fn runs_give_values_in_their_formats() {
    // (2^64 - 2) + 3 wraps to 1, within the pair; with the other pair's 3 that is 4.
    let p = place();
    let ended = check_in(&p, &format!("{RUN} --json s.json"), 0, &[], &[]);
    assert_eq!(ended.out, "s,m,n\n4,1.5,-0.25\n10,1.5,-0.25\n");
    let stats = p.json("s.json");
    keys(&stats, &["backend", "ni", "nj", "pairs", "seconds", "cycles", "utilisation", "flags", "raised"]);
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
    let wrap = "wrap: 1 of 1 targets, in s; can arise at k.pg2:3 `s += b + (uint64)a * (uint64)k;`\n";
    let ended = check_in(&p, "run k.pg2 --i zero.csv --j two.csv --param k=0 --json s.json", 0, &[], &[wrap]);
    assert_eq!(ended.out, "s,m,n\n4,1,1\n");
    assert_eq!(p.json("s.json")["flags"], serde_json::json!(["wrap"]));
}

/// Two outputs, of which one can saturate, and a quotient that is demanded for some pairs.
const TWO: &str = "float18.9 x ipin;
float18.9 y jpin;
int16 a fout;
float18.9 b fout;
include \"shared.pg2\";
a += (int16)(r << 4); // 16 steps to 1
b max= y > 0 ? big / r : 0;
";

#[test]
fn flags_come_back_with_their_targets_outputs_and_lines() {
    let p = place();
    p.write("two.pg2", TWO);
    p.write("shared.pg2", "// The difference.\nr = x - y;\nbig = x * 1e15;\n");
    p.write("i.csv", "x\n0\n3000\n1e30\n2\n");
    p.write("j.csv", "y\n0\n2\n");
    let run = |more: &str| {
        check_in(&p, &format!("run two.pg2 --i i.csv --j j.csv --json s.json {more}"), 0, &[], &["of 4 targets"])
    };
    let ended = run("--flags");
    let rows: Vec<Vec<&str>> = ended.out.lines().map(|l| l.split(',').collect()).collect();
    let flags: Vec<&str> = rows.iter().map(|r| r[2]).collect();
    // 0 / 0 with y = 0 is not demanded; 2 - 2 with y = 2 is.
    assert_eq!(flags, ["flags", "", "saturation wrap", "overflow saturation wrap", "invalid"], "{}", ended.out);
    let text = "overflow: 1 of 4 targets, in a or b; can arise at two.pg2:6 `a += (int16)(r << 4);`, \
                two.pg2:7 `b max= y > 0 ? big / r : 0;`, shared.pg2:2 `r = x - y;` and 1 more line\n\
                saturation: 2 of 4 targets, in a; can arise at two.pg2:6 `a += (int16)(r << 4);`\n\
                invalid: 1 of 4 targets, in b; can arise at two.pg2:7 `b max= y > 0 ? big / r : 0;`\n\
                wrap: 2 of 4 targets, in a; can arise at two.pg2:6 `a += (int16)(r << 4);`\n";
    assert_eq!(ended.err, text);
    let stats = p.json("s.json");
    assert_eq!(stats["flags"], serde_json::json!(["overflow", "saturation", "invalid", "wrap"]));
    let saturation = serde_json::json!({
        "flag": "saturation", "targets": 2, "outputs": ["a"],
        "lines": [{"file": "two.pg2", "line": 6, "text": "a += (int16)(r << 4);"}]
    });
    assert_eq!(stats["raised"][1], saturation);
    assert_eq!(stats["raised"][2]["outputs"], serde_json::json!(["b"]));
    // Without the option there is no column.
    assert_eq!(run("").out.lines().next(), Some("a,b"));
    // An output of that name leaves no space for it.
    p.write("own.pg2", "int8 y jpin; int8 flags fout; flags += y;");
    p.write("own.csv", "y\n1\n");
    check_in(&p, "run own.pg2 --i own.csv --j own.csv --flags", 1, &[], &["`flags`", "rename"]);
}

#[test]
fn flags_of_short_ranges_stand_beside_their_targets() {
    let p = place();
    p.write(
        "k.pg2",
        "fixed32.32 xi[1] ipin; fixed32.32 xj[1] jpin; float18.9 w ipin; int8 n fout; n += (int8)w; _ = xi - xj;",
    );
    let many: String =
        (0..40).map(|k| format!("{},{}\n", (k * 7 % 40) as f64 / 40.0 - 0.5, if k == 11 { 1000 } else { 1 })).collect();
    p.write("i.csv", format!("xi[0],w\n{many}"));
    p.write("j.csv", "xj[0]\n-0.4\n0.1\n0.3\n");
    let ended =
        check_in(&p, "run k.pg2 --i i.csv --j j.csv --cells 0.3 --periodic 1 --flags", 0, &[], &["of 40 targets"]);
    let raised: Vec<usize> =
        (0..).zip(ended.out.lines().skip(1)).filter(|(_, l)| l.contains("saturation")).map(|(k, _)| k).collect();
    assert_eq!(raised, [11], "{}", ended.out);
}

#[test]
fn no_targets_and_no_sources_are_legal() {
    let p = place();
    p.write("i0.csv", "a\n");
    p.write("j0.csv", "b,f\n");
    for b in plain_backends().iter().map(|b| b.name) {
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
    for b in plain_backends().iter().map(|b| b.name) {
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
        (b"b|f\n1|2\n", &["j.csv:1", "no column `b`", "`|` separates no columns"]),
        (b"1,2\n", &["j.csv:1", "begin with the line `b,f`"]),
        (b"B,b,f\n1,2\n", &["j.csv:2", "header: 3"]),
        (b"B,B,f\n1,2,3\n", &["j.csv:1", "no column `b`"]),
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
        (b"\x93NUMPY\x01\x00v\x00{'descr'", &["j.csv:1", "a NumPy array"]),
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
    check("run k.pg2 --i . --j j.csv --param k=3", 1, &[], &["it is a folder; name a file"]);
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
            hdl::number::exact::parse(format, text).expect("own numbers are read back")
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
