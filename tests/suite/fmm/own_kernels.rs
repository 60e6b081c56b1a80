//! Kernels of one's own from the command line: units, small terms, pairs at distance 0, and what P2P alone leaves out.

use super::{particles, stats, write};
use crate::common::Place;

/// A kernel of the distance in the user's units, `r2` and `c` in units of the box; `line` is the term.
fn kernel(format: &str, line: &str) -> String {
    format!(
        "fixed32.31 xi[3] ipin; fixed32.31 xj[3] jpin; float32.23 mj jpin; float32.23 box param; float32.23 c param; {format} pout fout;
         dx = (float32.23)(xj - xi); r2 = dx * dx * (box * box); pout += ({format})(mj * ({line}));"
    )
}

#[test]
fn a_kernel_s_unit_of_length_is_the_user_s() {
    let p = Place::new();
    p.run("fmm --n 400 --backend cpu --save-particles one.csv").expect(0);
    let one = particles(&p, "one.csv");
    let mut found = Vec::new();
    for unit in [1.0, 1e-8, 1e12] {
        write(&p, "p.csv", &one.iter().map(|[x, y, z, q]| [x * unit, y * unit, z * unit, *q]).collect::<Vec<_>>());
        for kappa in [10.0, 1e-4, 14000.0] {
            let words =
                format!("--particles p.csv --backend cpu --leaf 10 --p2p p2p_yukawa --param kappa={:e}", kappa / unit);
            let e = stats(&p, &format!("{words} --check 50"))["error"].clone();
            assert!(e["gradient_rel_l2"].as_f64() < Some(5e-3), "{unit:e} {kappa}: {e}");
        }
        let words = format!("fmm --particles p.csv --backend cpu --p2p p2p_yukawa --param kappa={:e}", 1e9 / unit);
        let err = p.run(&words).expect(1).err;
        let (before, after) = (err.find("which is ").expect("the width"), err.find(" wide").expect("the width"));
        found.push(err[..before].to_string() + &err[after..]);
    }
    assert!(found.iter().all(|err| *err == found[0]), "{found:?}");
}

#[test]
fn small_terms_are_summed_on_the_cpu_and_told_elsewhere() {
    let p = Place::new();
    p.write("mq.pg2", kernel("fixed64.30", "pg_sqrt(r2 + c * c)"));
    p.write("fine.pg2", kernel("fixed64.62", "pg_sqrt(r2 + c * c)"));
    p.run("fmm --n 300 --backend cpu --charge positive --save-particles one.csv").expect(0);
    let one = particles(&p, "one.csv");
    let run = |unit: f64, file: &str, words: &str| {
        write(&p, "p.csv", &one.iter().map(|[x, y, z, q]| [x * unit, y * unit, z * unit, *q]).collect::<Vec<_>>());
        p.run(&format!(
            "fmm --particles p.csv --leaf 10 --p2p {file} --param c={:e} --coincident include --check 50 --json s.json {words}",
            0.1 * unit
        ))
    };
    for unit in [1e-20, 1e-9, 1e-5, 1.0, 1e9] {
        run(unit, "mq.pg2", "--order 7 --backend cpu").expect(0);
        let e = p.json("s.json")["error"]["potential_rel_l2"].as_f64();
        assert!(e < Some(1e-5), "{unit:e}: {e:?}");
    }
    let refused = run(1e-9, "mq.pg2", "--backend emulator").expect(1).err;
    assert!(refused.contains("give `pout` at least") && refused.contains("fraction bits more"), "{refused}");
    let told = run(1e-7, "mq.pg2", "--backend emulator").expect(0).err;
    let part = p.json("s.json")["rounding"]["potential"].as_f64().expect("it is in the statistics");
    assert!(told.starts_with("note: rounding the terms") && part > 1e-4 && part < 1e-2, "{told} {part:e}");
    for words in ["--backend emulator --ranks 2", "--backend emulator --ranks 2 -o -"] {
        // Each rank looks at targets of its own.
        assert!(run(1e-9, "mq.pg2", words).expect(1).err.contains("fraction bits more"), "{words}");
        assert!(run(1e-7, "mq.pg2", words).expect(0).err.starts_with("note: rounding the terms"), "{words}");
    }
    assert_eq!(run(1e-7, "fine.pg2", "--backend emulator").expect(0).err, "");
}

#[test]
fn an_error_of_nothing_is_a_number() {
    let p = Place::new();
    // Two charges cancel at the only target.
    write(&p, "p.csv", &[[-1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, -1.0]]);
    p.write("t.csv", "x,y,z\n0,0.25,0.125\n");
    p.write("zero.pg2", kernel("fixed64.30", "r2 < c ? 1 : 0"));
    for words in [
        "--particles p.csv --targets t.csv",
        "--particles p.csv --targets t.csv --backend cpu --p2p zero.pg2 --param c=1e-3 --near-only",
        "--particles p.csv --backend cpu --eps 1e-3",
    ] {
        let text = p.run(&format!("fmm {words} --check 5 --json s.json")).expect(0).out;
        assert!(!text.contains("inf") && !text.contains("NaN"), "{words}: {text}");
        let e = &p.json("s.json")["error"];
        assert!(e["potential_rel_l2"].is_number(), "{words}: {e}");
    }
}

#[test]
fn pairs_at_distance_0_are_told_and_asked_for() {
    let p = Place::new();
    p.write("rbf.pg2", kernel("fixed64.40", "pg_exp(-(r2 * c))"));
    p.run("fmm --n 500 --backend cpu --save-particles one.csv").expect(0);
    let mut all = particles(&p, "one.csv");
    (0..60).for_each(|k| all.push([all[7 * k][0], all[7 * k][1], all[7 * k][2], 0.3]));
    write(&p, "p.csv", &all);
    let run = |words: &str| p.run(&format!("fmm --particles p.csv --leaf 20 --p2p rbf.pg2 --param c=5 {words}"));
    for backend in ["cpu", "emulator"] {
        for (coincident, name) in
            [("", "include"), ("--coincident include", "include"), ("--coincident exclude", "exclude")]
        {
            let words = format!("--backend {backend} --order 6 {coincident} --check 100 --json s.json");
            let err = run(&format!("{words} -o f.csv")).expect(0).err;
            assert_eq!(err.contains("--coincident exclude leaves these pairs out"), coincident.is_empty(), "{err}");
            let s = p.json("s.json");
            assert!(s["coincident"] == name && s["error"]["potential_rel_l2"].as_f64() < Some(1e-3), "{s}");
            let bytes = p.text("f.csv");
            run(&format!("{words} --ranks 3 -o r.csv")).expect(0);
            assert!(p.text("r.csv") == bytes && p.json("s.json")["coincident"] == name, "{backend} {coincident}");
        }
    }
    // The diagonal is what both differ by, where no two particles share a place.
    let sums = |coincident: &str| -> f64 {
        let words = format!(
            "fmm --particles one.csv --backend cpu --p2p rbf.pg2 --param c=5 --coincident {coincident} -o f.csv"
        );
        p.run(&words).expect(0);
        p.text("f.csv").lines().skip(1).map(|l| l.parse::<f64>().expect("a number")).sum()
    };
    let (charges, one): (f64, _) = (particles(&p, "one.csv").iter().map(|p| p[3]).sum(), particles(&p, "one.csv"));
    let extent = |a: usize| {
        one.iter().map(|p| p[a]).fold(f64::MIN, f64::max) - one.iter().map(|p| p[a]).fold(f64::MAX, f64::min)
    };
    let edge = extent(0).max(extent(1)).max(extent(2)) * (1.0 + 2f64.powi(-20));
    let differ = sums("include") - sums("exclude");
    assert!((differ * edge / charges - 1.0).abs() < 1e-9, "{differ} {charges}");
    assert!(p.run("fmm --n 20 --p2p p2p --coincident include").expect(2).err.contains("no value at distance 0"));
    p.run("fmm --n 20 --coincident include").expect(2);
    assert_eq!(p.run("fmm --n 20 --p2p p2p --coincident exclude").expect(0).err, "");
}

#[test]
fn what_p2p_alone_leaves_out_is_said_with_a_remedy() {
    let p = Place::new();
    p.write("ball.pg2", kernel("fixed64.40", "r2 < c ? 1 : 0"));
    let run = |words: &str| {
        p.run(&format!(
            "fmm --n 2000 --charge positive --p2p ball.pg2 --coincident include --near-only --json s.json {words}"
        ))
    };
    for backend in ["cpu", "emulator"] {
        let told = run(&format!("--param c=0.16 --leaf 20 --backend {backend}")).expect(0).err;
        assert!(told.starts_with("note: --near-only leaves out") && told.contains("larger --leaf"), "{told}");
        assert!(p.json("s.json")["left_out"]["potential"].as_f64() > Some(0.1), "{}", p.json("s.json"));
        for words in ["--param c=0.01 --leaf 20", "--param c=0.16 --leaf 2000"] {
            assert_eq!(run(&format!("{words} --backend {backend}")).expect(0).err, "", "{words}");
            assert_eq!(run(&format!("{words} --backend {backend} --ranks 2")).expect(0).err, "", "{words}");
        }
    }
    let told = p.run("fmm --n 3000 --near-only --backend cpu").expect(0).err;
    assert!(told.starts_with("note: --near-only leaves out"), "{told}");
}

#[test]
fn ranks_say_as_one_process_does_what_p2p_alone_leaves_out() {
    let p = Place::new();
    p.write("ball.pg2", kernel("fixed64.40", "r2 < c ? 1 : 0"));
    p.run("fmm --n 400 --seed 3 --dist sphere --save-particles t.csv").expect(0);
    p.write(
        "t.csv",
        p.text("t.csv").lines().map(|l| l.rsplit_once(',').unwrap().0.to_string() + "\n").collect::<String>(),
    );
    let row = |k: usize| {
        let at = |s: f64| 0.5 + 0.5 * (k as f64 * s).sin();
        format!("{},{},{},{},{}\n", at(0.7), at(1.3), at(2.9), 1.0 + at(0.3), at(0.9))
    };
    p.write("sets.csv", "x,y,z,q,q2\n".to_string() + &(0..900).map(row).collect::<String>());
    let ball = "--n 1500 --charge positive --p2p ball.pg2 --coincident include --param c=0.16";
    let all = [
        &format!("{ball} --leaf 20 --backend cpu"),
        &format!("{ball} --leaf 10 --backend emulator"),
        &format!("{ball} --leaf 20 --backend cpu --targets t.csv"),
        &format!("{ball} --leaf 20 --backend cpu --periodic 1"),
        // Nothing is left out.
        "--n 1500 --leaf 20 --backend cpu --p2p ball.pg2 --coincident include --param c=0.01",
        &format!("{ball} --leaf 1500 --backend cpu"),
        "--n 1500 --leaf 20 --backend cpu --p2p p2p_yukawa --param kappa=3 --periodic 2 --periodic-axes xz",
        "--n 800 --leaf 10 --backend emulator --p2p p2p",
        "--n 1500 --leaf 10 --dist plummer --precision f32",
        "--n 1500 --leaf 20 --periodic 1 --eps 0.1",
        "--particles sets.csv --leaf 10",
        "--particles sets.csv --leaf 10 --targets t.csv",
    ];
    for words in testkit::some(all, 6) {
        let run = |ranks: &str| {
            let told = p.run(&format!("fmm {words} --near-only --json s.json -o r.csv {ranks}")).expect(0).err;
            (told, p.json("s.json")["left_out"].clone())
        };
        let (told, one) = run("");
        for ranks in ["--ranks 2", "--ranks 5"] {
            let (by_ranks, some) = run(ranks);
            assert_eq!(told, by_ranks, "{words}");
            assert_eq!([&one["targets"], &one["cell"]], [&some["targets"], &some["cell"]], "{words}");
            for key in ["potential", "gradient"] {
                let [one, some] = [&one, &some].map(|told| told[key].as_f64().unwrap_or_default());
                assert!((one - some).abs() <= 1e-9 * one, "{words} {key}: {one} {some}");
            }
        }
    }
}
