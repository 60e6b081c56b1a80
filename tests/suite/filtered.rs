//! Engines with filters before their pipelines, at the command line: what they count, and the kernels and options that they refuse.

use crate::common::{Place, has_verilator};

/// A cut-off around sums, and the number of pairs within it.
const CUT: &str = "fixed24.16 x[2] ipin; fixed24.16 y[2] jpin; float20.12 m jpin; float20.12 cut2 param;
fixed48.20 s[2] fout; int32 near fout;
d = (float20.12)(y - x); d2 = d * d;
where (d2 < cut2 && d2 > 0);
s += (fixed48.20)(m * pg_rsqrt(d2) * d); near += 1;";
const PLAIN: &str = "int32 a ipin; int32 b jpin; int64 s fout; s += (int64)a * (int64)b;";
const SELECTION: &str = "int32 a ipin; int32 b jpin; int32 d[3] fout; int32 id[3] fout;
where (b > a); (d, id) min= (b - a, b);";
const INDEXED: &str = "int32 a ipin; uint5 b jpin; int32 n[32] fout; where (a > 3); n[b] += 1;";

/// A folder with kernels, and 20 targets and 90 sources on a square of side 3.
fn place() -> Place {
    let p = Place::new();
    for (name, text) in [("cut", CUT), ("plain", PLAIN), ("selection", SELECTION), ("indexed", INDEXED)] {
        p.write(&format!("{name}.pg2"), text);
    }
    let at = |k: usize| [(k * 37 % 101) as f64 * 3.0 / 101.0, (k * 53 % 89) as f64 * 3.0 / 89.0];
    let targets = (0..20).map(at).fold("x[0],x[1]\n".to_string(), |text, [x, y]| text + &format!("{x},{y}\n"));
    let sources =
        (0..90).map(at).fold("y[0],y[1],m\n".to_string(), |text, [x, y]| text + &format!("{x},{y},{}\n", x - y));
    p.write("a.csv", "a\n1\n2\n");
    p.write("b.csv", "b\n3\n4\n");
    p.write("i.csv", targets);
    p.write("j.csv", sources);
    p
}

const RUN: &str = "run cut.pg2 --i i.csv --j j.csv --param cut2=0.5 --flags";

#[test]
fn filters_change_no_result_and_count_the_pairs_that_pass() {
    let p = place();
    p.run(&format!("{RUN} -o wanted.csv --json wanted.json")).expect(0);
    assert!(p.json("wanted.json")["filters"].is_null());
    let near = |line: &str| line.split(',').nth(2).expect("a column").parse::<u64>().expect("a number");
    let passed: u64 = p.text("wanted.csv").lines().skip(1).map(near).sum();
    assert!(passed > 100 && passed < 900, "{passed}");
    // Pairs that coarse tests pass in vain are counted too.
    let mut counted = 0;
    for backend in ["emulator", "cycle"] {
        if backend == "cycle" && !has_verilator() {
            continue;
        }
        p.run(&format!("{RUN} --backend {backend} --pipelines 2 --filters 4 -o found.csv --json found.json")).expect(0);
        assert_eq!(p.text("found.csv"), p.text("wanted.csv"), "{backend}");
        let found = p.json("found.json");
        let passes = found["filters"]["passed"].as_u64().expect("a number");
        assert!(found["filters"]["each"] == 4 && (passed..passed + passed / 4).contains(&passes), "{passed}: {found}");
        assert!(counted == 0 || counted == passes, "{counted}: {found}");
        counted = passes;
        assert_eq!(found["pairs"], 20 * 90);
        let Some(cycles) = found["cycles"].as_f64() else {
            assert!(backend == "emulator" && found["filters"]["busy"].is_null(), "{found}");
            continue;
        };
        let share = |pairs: f64, lanes: f64, found: &serde_json::Value| {
            assert!((found.as_f64().expect("a share") - pairs / (cycles * lanes)).abs() < 1e-12, "{found}");
        };
        share(passes as f64, 2.0, &found["filters"]["busy"]);
        share(20.0 * 90.0, 8.0, &found["utilisation"]);
    }
}

#[test]
fn an_engine_with_filters_behind_a_stream_says_how_many_it_has() {
    if !has_verilator() {
        return;
    }
    let p = place();
    p.run(&format!("{RUN} -o wanted.csv")).expect(0);
    p.run("build cut.pg2 -o d --pipelines 1 --filters 3 --jmem 256 --target ecp5 --freq 48").expect(0);
    let mut command = p.command(&format!("{RUN} -o found.csv --json found.json --backend"));
    command.arg(concat!("board:pipe:", env!("CARGO_BIN_EXE_pairforge"), " board-sim ulx3s d --pipe"));
    p.finish(command).expect(0);
    assert_eq!(p.text("found.csv"), p.text("wanted.csv"));
    let found = p.json("found.json");
    assert_eq!(found["filters"]["each"], 3);
    assert!(found["filters"]["busy"].as_f64() > Some(0.0) && found["utilisation"].as_f64() <= Some(1.0), "{found}");
}

/// Targets and sources on a square whose side keeps their density.
fn scattered(p: &Place, targets: usize, sources: usize) {
    let side = (sources as f64).sqrt() / 3.0;
    let mut random = testkit::Random::new(7);
    let mut records = |head: &str, count: usize, columns: usize| {
        (0..count).fold(format!("{head}\n"), |text, _| {
            let numbers: Vec<String> = (0..columns).map(|_| format!("{}", random.unit() * side)).collect();
            text + &numbers.join(",") + "\n"
        })
    };
    p.write("many_i.csv", records("x[0],x[1]", targets, 2));
    p.write("many_j.csv", records("y[0],y[1],m", sources, 3));
}

#[test]
fn predicted_clocks_are_those_that_an_engine_with_filters_counts() {
    if !has_verilator() {
        return;
    }
    let p = place();
    // Few pairs pass, about one in six, and more than a pipeline takes.
    for (targets, sources, cut2) in [(40, 200, 0.1), (90, 500, 20.0), (150, 1000, 60.0)] {
        scattered(&p, targets, sources);
        let run = format!("run cut.pg2 --i many_i.csv --j many_j.csv --param cut2={cut2} --pipelines 1 --filters 6");
        p.run(&format!("{run} --backend cycle -o out.csv --json counted.json")).expect(0);
        let said = p.run(&format!("{run} --predict engine --json predicted.json")).expect(0).out;
        let [counted, predicted] = ["counted.json", "predicted.json"].map(|name| p.json(name));
        assert_eq!(predicted["filters"]["passed"], counted["filters"]["passed"]);
        let [is, was] = [&predicted, &counted].map(|json| json["cycles"].as_f64().expect("clocks"));
        assert!((is / was - 1.0).abs() < 0.05, "{targets} targets, {sources} sources: {is} clocks, not {was}");
        assert!(said.contains(&format!("{is} clocks")) && predicted["predicted"]["name"] == "engine", "{said}");
    }
}

#[test]
fn what_cannot_have_filters_is_refused_with_the_reason() {
    let p = place();
    let run = "run plain.pg2 --i a.csv --j b.csv -o d";
    for (command, status, parts) in [
        ("build plain.pg2 -o d --filters 4", 1, vec!["plain has no filter", "where (condition);"]),
        ("build selection.pg2 -o d --filters 4", 1, vec!["selection has a selection", "filters need sums"]),
        ("build indexed.pg2 -o d --filters 4", 1, vec!["indexed has outputs that an index names"]),
        (
            "build cut.pg2 -o d --pipelines 255 --groups 1 --filters 2",
            1,
            vec!["1 to 255 targets in a lane group", "510"],
        ),
        ("build cut.pg2 -o d --filters 4 --ii 2", 2, vec!["takes a pair in each clock", "leave out", "--ii"]),
        ("build cut.pg2 -o d --filters 4 --fit ecp5-25 --target ecp5", 2, vec!["takes a pair in each clock", "--fit"]),
        ("build cut.pg2 plain.pg2 -o d --filters 4", 2, vec!["one kernel", "the other kernels"]),
        ("build cut.pg2 -o d --filters 4 --bare", 2, vec!["--filters", "--bare"]),
        ("build cut.pg2 -o d --filters 4 --report page.html", 2, vec!["draws one pipeline", "`explain --filters`"]),
        (
            "synth cut.pg2 -o d --device ecp5-85 --filters 4 --report page.html",
            2,
            vec!["draws one pipeline", "--filters"],
        ),
        ("synth cut.pg2 -o d --device ecp5-85 --filters 4 --ii 2", 2, vec!["takes a pair in each clock", "--ii"]),
        ("synth cut.pg2 plain.pg2 -o d --device ecp5-85 --filters 4", 2, vec!["one kernel", "the other kernels"]),
        ("synth plain.pg2 -o d --device ecp5-85 --filters 4", 1, vec!["plain has no filter"]),
        ("run plain.pg2 --i a.csv --j b.csv --filters 4 --predict engine", 1, vec!["plain has no filter"]),
        ("run plain.pg2 --i a.csv --j b.csv --predict nowhere", 2, vec!["no board `nowhere`", "`engine`", "ulx3s"]),
        ("build cut.pg2 -o d --filters 1", 2, vec!["--filters", "2..=16"]),
        ("build cut.pg2 -o d --filters 17", 2, vec!["--filters", "2..=16"]),
        (&format!("{run} --filters 4"), 1, vec!["plain has no filter"]),
        (&format!("{run} --filters 4 --backend cycle"), 1, vec!["plain has no filter"]),
        (&format!("{run} --filters 4 --backend cpu"), 2, vec!["--filters needs --backend emulator or cycle", "`cpu`"]),
        (&format!("{run} --filters 4 --backend board:/dev/null"), 2, vec!["was built with", "leave out --filters"]),
        (
            &format!("{RUN} --filters 4 --ii 2 --backend cycle"),
            1,
            vec!["a pair every 2 clocks", "leave one of them out"],
        ),
    ] {
        let ended = p.run(command).expect(status);
        parts.iter().for_each(|part| assert!(ended.err.contains(part), "{command}: no `{part}` in {}", ended.err));
        assert!(!p.path("d").exists(), "{command} left something behind");
    }
}
