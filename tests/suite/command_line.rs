//! The command line: help, wrong usage, files that are written, statistics, pipes and interruption.

use crate::common::command::{RUN, check, check_in, interruptible, keys, place};
use crate::common::{Place, plain_backends};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::Duration;

#[test]
fn help_and_lists_are_shown() {
    for command in
        ["new", "check", "lsp", "build", "deploy", "explain", "run", "fmm", "fmm2", "gen m2l", "bench", "list"]
    {
        check(&format!("{command} --help"), 0, &["Usage: pairforge"], &[]);
    }
    // The short help is a list, the long one has details and examples; options stand under headings in one order.
    let [short, long] = ["-h", "--help"].map(|how| check(&format!("fmm {how}"), 0, &[], &[]).out);
    let headings = ["\nProblem:", "\nAccuracy:", "\nWhere it runs:", "\nEngine", "\nPrediction", "\nOutput:"];
    for text in [&short, &long] {
        assert!(headings.map(|heading| text.find(heading).expect(heading)).is_sorted(), "{text}");
    }
    assert!(long.contains("\nExamples:") && long.lines().count() > 2 * short.lines().count(), "{short}");
    check("--version", 0, &["pairforge 0."], &[]);
    check("list kernels", 0, &["p2p ", "p2p_paper ", "m2l_paper ", "lennard_jones ", "m2l_8 "], &[]);
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
        ("fmm --n 10 --eps -1", &["softening", "-1"]),
        ("fmm --n 10 --tol -1", &["'-1'", "--tol <E>", "above 0 and below 1"]),
        ("fmm --n 10 --periodic -2.5e3", &["--periodic <L>", "finite and above 0, not -2500.0"]),
        ("fmm --n 10 --theta -1", &["theta must be above 0", "-1.0"]),
        ("fmm --n 10 --threads -1", &["'-1'", "--threads <N>"]),
        ("fmm --n 10 --lower-beyond -1", &["from 0 to 1e9, not -1.0"]),
        ("build k.pg2 -o d --freq -5", &["--freq", "1 to 1000"]),
        ("gen m2l --order -3", &["'-3'", "1..=8"]),
        ("fmm --n 10 --eps nan", &["softening"]),
        ("fmm --n 10 --order 9 --backend emulator", &["1 to 8"]),
        ("fmm --n 10 --order 0", &["1 to 20"]),
        ("fmm --n 10 --expansion solid --backend emulator", &["`cpu`"]),
        ("fmm --n 99999999999999", &["2147483647"]),
        ("fmm --n 10 --threads 1000000", &["--threads", "1024"]),
        ("fmm --n 10 --check 0", &["--check", "at least one"]),
        ("fmm --n 10 --precision f32 --backend emulator", &["--precision", "native"]),
        (
            "fmm --n 10 --pipelines 8",
            &["--pipelines", "`cpu`", "--backend emulator or cycle or cuda-exact or board:PORT"],
        ),
        ("fmm --n 10 --groups 2 --backend cpu", &["--groups", "`cpu`", "--backend emulator"]),
        ("fmm --n 10 --stream 64", &["--stream is for pipelines", "--backend emulator"]),
        ("fmm --n 10 --ranks 2 --jmem 4096", &["--jmem is for pipelines", "--backend emulator"]),
        ("fmm2 --n 10 --jmem 4096", &["--jmem is for pipelines", "`cpu`"]),
        ("fmm --n 10 --near-only --m2l native", &["--near-only", "--m2l"]),
        ("bench no_such_bench", &["no_such_bench"]),
    ];
    for (words, err) in wrong {
        check(words, 2, &[], err);
    }
    for command in [
        "build k.pg2 -o d --freq",
        "explain k.pg2 --freq",
        "explain k.pg2 --roofline --freq",
        "explore k.pg2 --i i.csv --j j.csv --vary f=4..8 --freq",
        "synth k.pg2 --area-only --target ecp5 -o d --freq",
        "synth k.pg2 --board ulx3s -o d --schedule",
        "fmm --n 10 --predict ulx3s --freq",
        "fmm2 --n 10 --predict ulx3s --freq",
    ] {
        for mhz in ["inf", "nan", "0", "-5", "1e300", "1e-300", "0.99", "1000.1"] {
            check(&format!("{command} {mhz}"), 2, &[], &["a clock has 1 to 1000 MHz"]);
        }
    }
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
fn statistics_of_an_fmm_have_their_keys() {
    let p = Place::new();
    for entry in plain_backends() {
        let b = entry.name;
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
            assert_eq!(clocked, entry.clocked, "{kind} on {b}");
        }
        assert!(s["streamed"]["m2l"].as_u64() >= s["pairs"]["m2l"].as_u64());
        assert!(p.text("r.html").contains("</html>"));
        assert!(p.json("s.json")["seconds"]["total"].as_f64() > Some(0.0));
    }
    check_in(&p, "fmm --n 30 --backend cpu --json s.json", 0, &[], &[]);
    assert!(p.json("s.json").as_object().expect("an object").get("error").is_some_and(Value::is_null));
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
        let mut command = p.command("run k.pg2 --i i.csv --j j.csv -o out.csv");
        interruptible(&mut command);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
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
