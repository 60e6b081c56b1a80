//! `pairforge fmm2` from end to end: files, the same bits everywhere, sums over pairs of its own, and what it refuses.

use crate::common::command::{check_in, keys};
use crate::common::{Ended, Place};

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
        &["backend", "kernel", "n", "order", "theta", "leaf", "precision", "levels", "seconds", "pairs", "error"],
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
    check_in(&p, "fmm2 --n 500 --leaf 5 --tol 1e-30", 2, &[], &["out of reach"]);
}

#[test]
fn what_is_wrong_is_told() {
    let p = Place::new();
    let wrong: &[(&str, &[u8], &str)] = &[
        ("w.csv", b"x,y,q\n1,2\n", "line 2"),
        ("w.csv", b"x,y,z,q\n1,2,3,4\n", "`z`"),
        ("w.csv", b"x,y,q\n1,nan,4\n", "line 2"),
        ("w.csv", b"", "empty"),
        ("w.csv", b"x,y,q\n1,2,\xff\n", "neither"),
        ("w.npy", b"\x93NUMPY\x01\x00", "w.npy"),
    ];
    for (name, bytes, part) in wrong {
        p.write(name, bytes);
        for option in ["--particles", "--n 5 --targets"] {
            let ended = p.run(&format!("fmm2 {option} {name} -o none.csv")).expect(1);
            let is_told = ended.err.contains(part) || option.contains("targets");
            assert!(is_told && ended.err.contains(name), "{}", ended.err);
            assert!(!p.path("none.csv").exists());
        }
    }
    for (words, part) in [
        ("--order 0", "the order must be 1 to 60"),
        ("--order 61", "the order must be 1 to 60"),
        ("--theta 1", "theta must be 0.05 to 0.95"),
        ("--leaf 0", "at least one point"),
        ("--tol 0", "above 0 and below 1"),
        ("--order 3 --tol 1e-3", "cannot be used with"),
        ("-o a.csv --json a.csv", "both name"),
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
