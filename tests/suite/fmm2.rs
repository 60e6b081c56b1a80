//! `pairforge fmm2` from end to end: files, the same bits everywhere, sums over pairs of its own, and what it refuses.

use crate::common::command::{check_in, check_wrong_files, keys};
#[cfg(unix)]
use crate::common::simulated::Simulated;
use crate::common::{Ended, Place, has_verilator};

/// Runs it; it must succeed without a word on stderr.
fn run(p: &Place, words: &str) -> Ended {
    let ended = p.run(&format!("fmm2 {words}")).expect(0);
    assert_eq!(ended.err, "", "{words}");
    ended
}

/// The numbers of a CSV file under the given header.
fn numbers(text: &str, header: &str) -> Vec<Vec<f64>> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(header));
    lines.map(|l| l.split(',').map(|n| n.parse().expect("a number")).collect()).collect()
}

#[test]
fn results_are_sums_over_pairs() {
    let p = Place::new();
    for dist in ["uniform", "normal", "layer"] {
        let words = format!("--n 300 --dist {dist} --complex --order 40 --leaf 5");
        run(&p, &format!("{words} --save-particles p.csv -o f.csv"));
        let points = numbers(&p.text("p.csv"), "x,y,re,im");
        run(&p, &format!("{words} --kernel log -o l.csv"));
        let found = numbers(&p.text("f.csv"), "re,im");
        let logs = numbers(&p.text("l.csv"), "potential,gx,gy,potential_im,gx_im,gy_im");
        for (i, z) in points.iter().enumerate() {
            let mut wanted = [0.0; 8];
            for (_, s) in points.iter().enumerate().filter(|(j, _)| *j != i) {
                let (dx, dy) = (s[0] - z[0], s[1] - z[1]);
                let square = dx * dx + dy * dy;
                let log = square.sqrt().ln();
                let of_pair = [
                    (s[2] * dx + s[3] * dy) / square,
                    (s[3] * dx - s[2] * dy) / square,
                    s[2] * log,
                    -s[2] * dx / square,
                    -s[2] * dy / square,
                    s[3] * log,
                    -s[3] * dx / square,
                    -s[3] * dy / square,
                ];
                wanted.iter_mut().zip(of_pair).for_each(|(w, x)| *w += x);
            }
            for (found, wanted) in found[i].iter().chain(&logs[i]).zip(wanted) {
                assert!((found - wanted).abs() < 1e-9 * (1.0 + wanted.abs()), "{dist} {i} {found} {wanted}");
            }
        }
    }
}

#[test]
fn files_come_back_to_the_bit() {
    let p = Place::new();
    for (words, header, columns) in [
        ("--n 200", "x,y,q", "re,im"),
        ("--n 200 --complex", "x,y,re,im", "re,im"),
        ("--n 200 --kernel log --charge positive", "x,y,q", "potential,gx,gy"),
    ] {
        let kernel = if words.contains("log") { "--kernel log" } else { "" };
        run(&p, &format!("{words} --save-particles p.csv -o f.csv"));
        run(&p, &format!("{words} --save-particles p.npy -o f.npy --threads 1"));
        assert!(p.text("p.csv").starts_with(header) && p.text("f.csv").starts_with(columns));
        for file in ["p.csv", "p.npy"] {
            run(&p, &format!("{kernel} --particles {file} -o g.csv --threads 2"));
            assert!(p.bytes("f.csv") == p.bytes("g.csv"), "{words} {file}");
            run(&p, &format!("{kernel} --particles {file} -o g.npy"));
            assert!(p.bytes("f.npy") == p.bytes("g.npy"), "{words} {file}");
        }
        // Standard output has the same text, and no table in it.
        assert_eq!(run(&p, &format!("{words} -o -")).out, p.text("f.csv"));
    }
    // The sources as targets apart give what they give as targets, but for rounding.
    run(&p, "--n 200 --save-particles p.csv -o f.csv --order 50");
    let places: String =
        p.text("p.csv").lines().map(|l| l[..l.rfind(',').expect("a comma")].to_string() + "\n").collect();
    p.write("t.csv", places);
    run(&p, "--particles p.csv --targets t.csv --order 50 -o g.csv --json s.json");
    assert_eq!(p.json("s.json")["targets"], 200);
    let [one, other] = ["f.csv", "g.csv"].map(|name| numbers(&p.text(name), "re,im").concat());
    assert!(one.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + a.abs())));
}

#[test]
fn statistics_have_their_keys_and_errors_fall_with_the_order() {
    let p = Place::new();
    let error = |words: &str| {
        run(&p, &format!("--n 2000 --check 200 --json s.json {words}"));
        p.json("s.json")
    };
    let found = error("--order 5");
    keys(
        &found,
        &[
            ["backend", "kernel", "n", "order", "theta", "leaf", "precision", "levels", "seconds", "pairs", "error"]
                .as_slice(),
            &["waited", "streamed", "recomputed", "close_pairs", "shared_grid_points"],
            &["cycles", "utilisation", "words", "flags", "timeline", "memory"],
        ]
        .concat(),
    );
    keys(
        &found["seconds"],
        &["tree", "sort", "connect", "p2m", "m2m", "m2l", "l2l", "l2p", "p2p", "m2p", "p2l", "total"],
    );
    keys(&found["pairs"], &["p2p", "m2l", "m2p", "p2l"]);
    let of = |words: &str| error(words)["error"]["potential_rel_l2"].as_f64().expect("a number");
    assert!(of("--order 5") > 1e3 * of("--order 20"));
    let log = error("--kernel log --complex --order 20");
    assert!(log["error"]["gradient_rel_l2"].as_f64().expect("a number") < 1e-7);
    assert_eq!((log["kernel"].as_str(), log["n"].as_u64()), (Some("log"), Some(2000)));
}

#[test]
fn a_tolerance_is_kept() {
    let p = Place::new();
    for (kernel, wanted) in [("harmonic", 1e-3), ("harmonic", 1e-11), ("log", 1e-7)] {
        run(&p, &format!("--n 3000 --kernel {kernel} --tol {wanted} --json s.json"));
        let s = p.json("s.json");
        let vector = if kernel == "log" { "gradient_rel_l2" } else { "potential_rel_l2" };
        let found = s["error"][vector].as_f64().expect("a number");
        assert!(found <= wanted, "{kernel} {wanted} {s}");
        assert_eq!(s["error"]["samples"], 1000);
    }
    for words in ["--n 500 --leaf 5", "--n 500 --leaf 5 --theta 0.2", "--n 40", "--n 500 --kernel log"] {
        check_in(&p, &format!("fmm2 {words} --tol 1e-30"), 1, &[], &["out of reach", "the rounding of f64 limits"]);
    }
    check_in(&p, "fmm2 --n 3000 --leaf 5 --theta 0.8 --tol 1e-13", 1, &[], &["out of reach", "a smaller --theta"]);
}

/// Pairs apart and together, a pair that is too close for the grid of a kernel, and two points at one place.
const POINTS: &str =
    "x,y,re,im\n0.1,0.2,1,-1\n0.100000001,0.2,0.5,0.25\n0.7,0.3,-1,0\n0.7,0.3,0.5,0.5\n0.4,0.9,0.3,-0.2\n";

#[test]
fn backends_give_the_same_bits() {
    let p = Place::new();
    p.write("few.csv", POINTS);
    for (kernel, input) in
        [("harmonic", "--particles few.csv"), ("log", "--particles few.csv"), ("log", "--n 60 --leaf 6")]
    {
        let words = format!("--kernel {kernel} {input} --check 60");
        run(&p, &format!("{words} --backend emulator -o wanted.csv --json wanted.json"));
        let wanted = p.json("wanted.json");
        let vector = if kernel == "log" { "gradient_rel_l2" } else { "potential_rel_l2" };
        assert!(wanted["error"][vector].as_f64().expect("a number") < 3e-5, "{wanted}");
        let close = if input.contains("few") { 1 } else { 0 };
        assert_eq!((&wanted["backend"], wanted["close_pairs"].as_u64()), (&"emulator".into(), Some(close)), "{wanted}");
        // Lanes, groups of lanes, and a j memory that holds a few sources.
        for engine in
            ["--pipelines 3", "--pipelines 6 --groups 2", "--jmem 64 --pipelines 1", "--threads 1 --stream 64"]
        {
            run(&p, &format!("{words} --backend emulator {engine} -o found.csv"));
            assert_eq!(p.text("found.csv"), p.text("wanted.csv"), "{kernel} {engine}");
        }
        if input.contains("few") && has_verilator() {
            run(&p, &format!("{words} --backend cycle --pipelines 2 --groups 2 -o found.csv --json found.json"));
            assert_eq!(p.text("found.csv"), p.text("wanted.csv"), "{kernel}");
            let found = p.json("found.json");
            assert!(found["cycles"]["p2p"].as_u64() > Some(0) && found["cycles"]["m2l"].is_null(), "{found}");
            assert_eq!((&found["streamed"], &found["flags"]), (&wanted["streamed"], &wanted["flags"]));
        }
    }
}

#[test]
#[ignore = "a proof in depth"]
fn more_simulations_give_the_bits_of_the_emulator() {
    if !has_verilator() {
        return;
    }
    let p = Place::new();
    p.write("few.csv", POINTS);
    p.write("targets.csv", "x,y\n0.1,0.2\n0.3,0.30000001\n5,-2\n");
    for kernel in ["harmonic", "log"] {
        for (input, engine) in [
            ("--n 200 --complex --leaf 5", "--pipelines 6 --groups 2"),
            ("--n 150 --dist normal --leaf 10", "--pipelines 4 --groups 4 --stream 128 --jmem 128"),
            ("--n 100 --leaf 100", "--pipelines 3 --ii 3"),
            ("--particles few.csv --targets targets.csv --leaf 1", "--pipelines 1"),
            ("--n 1", "--pipelines 2"),
        ] {
            let words = format!("--kernel {kernel} {input}");
            run(&p, &format!("{words} --backend emulator -o wanted.csv --json wanted.json"));
            run(&p, &format!("{words} --backend cycle {engine} -o found.csv --json found.json"));
            assert_eq!(p.text("found.csv"), p.text("wanted.csv"), "{words} {engine}");
            let [found, wanted] = ["found.json", "wanted.json"].map(|name| p.json(name));
            for key in ["pairs", "streamed", "flags", "recomputed", "close_pairs", "shared_grid_points"] {
                assert_eq!(found[key], wanted[key], "{words} {engine}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_simulated_board_gives_the_bits_of_the_emulator() {
    if !has_verilator() {
        return;
    }
    let p = Place::new();
    p.write("few.csv", POINTS);
    p.run("build harmonic2d -o d --pipelines 2 --jmem 1024 --freq 48 --target ecp5").expect(0);
    run(&p, "--particles few.csv --backend emulator -o wanted.csv");
    let simulated = Simulated::start(&p, "sim", "ulx3s d");
    run(&p, &format!("--particles few.csv --backend board:{} -o found.csv --json found.json", simulated.port));
    assert_eq!(p.text("found.csv"), p.text("wanted.csv"));
    let found = p.json("found.json");
    assert!(found["waited"].is_object() && found["words"]["i"].as_u64() > Some(0), "{found}");
    assert!(simulated.end(&p, "sim")["cycles"].as_u64() > Some(0));
}

#[test]
fn kernels_of_ones_own_run_and_others_are_refused() {
    let p = Place::new();
    let words = "--n 200 --complex --order 30 --check 200 --json s.json";
    // On the CPU a kernel that is named runs by its real-arithmetic semantics.
    run(&p, &format!("{words} --p2p harmonic2d"));
    let found = p.json("s.json");
    assert!(found["error"]["potential_rel_l2"].as_f64().expect("a number") < 1e-6, "{found}");
    assert!(found["streamed"]["p2p"] == found["pairs"]["p2p"] && found["backend"] == "cpu", "{found}");
    for (options, code, part) in [
        ("--p2p log2d", 1, "gout"),
        ("--kernel log --p2p harmonic2d", 1, "`gout[2] fout` is missing"),
        ("--p2p p2p_paper", 1, "must be `xi[2] ipin`"),
        ("--param a=1", 2, "--p2p"),
        ("--p2p harmonic2d --param a=1", 1, "no parameter `a`"),
        ("--backend nowhere", 2, "there is no backend"),
        ("--backend board", 2, "needs to know where"),
        ("--backend emulator --ii 2", 2, "builds no pipeline"),
        ("--backend emulator --tol 1e-9", 1, "formats of the P2P kernel"),
    ] {
        check_in(&p, &format!("fmm2 --n 200 {options}"), code, &[], &[part]);
    }
    run(&p, "--n 500 --backend emulator --tol 1e-3 --json s.json");
    assert!(p.json("s.json")["error"]["potential_rel_l2"].as_f64().expect("a number") < 1e-3);
}

#[test]
fn a_board_is_predicted_and_a_report_written() {
    let p = Place::new();
    run(&p, "--n 2000 --predict ulx3s --pipelines 4 --json p.json");
    let predicted = p.json("p.json");
    let number =
        |key: &str| predicted.pointer(key).and_then(|x| x.as_f64()).unwrap_or_else(|| panic!("{key} {predicted}"));
    assert_eq!((&predicted["kernel"], &predicted["predicted"]), (&"harmonic2d".into(), &serde_json::json!(["p2p"])));
    // The line takes at least the words of all points and results, the engine a clock for each four pairs.
    assert!(number("/p2p_seconds") > 2000.0 * 8.0 * 4.0 * 10.0 / number("/baud"), "{predicted}");
    assert!(number("/p2p_seconds") > number("/pairs/p2p") / 4.0 / (number("/clock_mhz") * 1e6), "{predicted}");
    assert!(predicted["leaves"].as_array().expect("a list").len() > 4 && number("/cycles") > 0.0, "{predicted}");
    assert!(run(&p, "--n 500 --kernel log --predict ulx3s").out.contains("P2P by log2d on ulx3s predicted"));
    check_in(&p, "fmm2 --predict toaster", 2, &[], &["there is no board `toaster`"]);
    check_in(&p, "fmm2 --predict ulx3s --backend emulator", 2, &[], &["cannot be used with"]);

    run(&p, "--n 500 --backend emulator --check 100 --report r.html");
    let page = p.text("r.html");
    assert!(page.contains("FMM of 500 points of a plane on emulator") && page.contains("points to points"), "{page}");
}

#[test]
fn what_is_wrong_is_told() {
    let p = Place::new();
    let wrong: &[(&str, &[u8], &str)] = &[
        ("w.csv", b"x,y,q\n1,2\n", "line 2"),
        ("w.csv", b"x,y,re\n1,2,3\n", "x,y,re,im"),
        ("w.csv", b"x,y,q\n1,nan,4\n", "line 2"),
        ("w.csv", b"", "empty"),
        ("w.csv", b"x,y,q\n1,2,\xff\n", "neither"),
        ("w.npy", b"\x93NUMPY\x01\x00", "w.npy"),
    ];
    check_wrong_files(&p, "fmm2 --particles", wrong);
    let of_targets: &[(&str, &[u8], &str)] = &[
        ("w.csv", b"x,q\n1,2\n", "must have `x,y`"),
        ("w.csv", b"x,y\n1\n", "line 2"),
        ("w.csv", b"", "empty"),
        ("w.npy", b"\x93NUMPY\x01\x00", "w.npy"),
    ];
    check_wrong_files(&p, "fmm2 --n 5 --targets", of_targets);
    for (words, part) in [
        ("--order 0", "the order must be 1 to 60"),
        ("--order 61", "the order must be 1 to 60"),
        ("--theta 1", "theta must be 0.05 to 0.95"),
        ("--leaf 0", "at least one point"),
        ("--tol 0", "above 0 and below 1"),
        ("--order 3 --tol 1e-3", "cannot be used with"),
    ] {
        check_in(&p, &format!("fmm2 --n 10 {words}"), 2, &[], &[part]);
    }
    // Two points too close for f64 to hold the result.
    p.write("close.csv", "x,y,q\n0,0,1\n1e-310,0,1\n");
    check_in(&p, "fmm2 --particles close.csv -o none.csv", 1, &[], &["beyond 1.8e308"]);
    assert!(!p.path("none.csv").exists());
    for n in [0, 1, 2, 5] {
        run(&p, &format!("--n {n} --check 10 -o f.csv"));
        assert_eq!(p.text("f.csv").lines().count(), n + 1);
    }
}
