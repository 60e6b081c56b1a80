//! `pairforge fmm` on ranks that are threads, and on processes of MPI: the files of one rank, and how runs end that cannot go on.

use super::{run, stats};
use crate::common::{Ended, Place};
use std::process::Command;

/// The command under mpirun: `before` is done in a shell of each rank, which knows its number.
fn mpi(p: &Place, ranks: usize, before: &str, words: &str) -> Ended {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", &ranks.to_string(), "sh", "-c"]);
    let program = env!("CARGO_BIN_EXE_pairforge");
    command.arg(format!("{before}\nexec {program} fmm {words}")).current_dir(p.path(".")).env("RAYON_NUM_THREADS", "1");
    p.finish(command)
}

#[test]
fn ranks_give_the_files_of_one() {
    let p = Place::new();
    let has_mpi = testkit::require("mpirun");
    run(&p, "--n 500 --seed 8 --backend cpu --save-particles t.csv");
    let targets = p.text("t.csv").replace("x,y,z,q", "x,y,z");
    let cut = |line: &str| line.rsplit_once(',').map_or(line, |l| l.0).to_string() + "\n";
    p.write("t.csv", "x,y,z\n".to_string() + &targets.lines().skip(1).map(cut).collect::<String>());
    let cases = [
        "--n 3000 --expansion solid --leaf 40 --dist sphere",
        "--n 2000 --dist plummer --order 3 --precision f32 --leaf 60",
        "--n 1500 --periodic 1 --leaf 20 --expansion solid",
        "--n 1000 --targets t.csv --hessian --leaf 25",
        "--n 2",
    ];
    for (k, case) in cases.iter().enumerate() {
        let words = format!("{case} --backend cpu");
        run(&p, &format!("{words} -o one.csv"));
        for ranks in [1, 3] {
            run(&p, &format!("{words} --ranks {ranks} -o some.csv"));
            assert!(p.bytes("one.csv") == p.bytes("some.csv"), "{case}: {ranks} ranks");
        }
        if has_mpi {
            let ranks = 2 + k % 2;
            let ended = mpi(&p, ranks, "", &format!("{words} -o mpi.csv")).expect(0);
            assert!(p.bytes("one.csv") == p.bytes("mpi.csv"), "{case}: {ranks} ranks of MPI");
            assert_eq!(ended.out.matches("ranks (MPI), seconds").count(), 1, "{}", ended.out);
        }
    }
}

#[test]
fn a_run_on_ranks_reports_every_stage_and_the_errors() {
    let p = Place::new();
    let s = stats(&p, "--n 2000 --backend cpu --ranks 4 --check 50 --expansion solid");
    assert!(s["error"]["gradient_rel_l2"].as_f64().is_some_and(|e| e < 1e-2), "{s}");
    let ranks = &s["ranks"];
    assert_eq!((ranks["ranks"].as_u64(), ranks["counts"].as_array().map(Vec::len)), (Some(4), Some(4)));
    let alone = stats(&p, "--n 2000 --backend cpu --check 50 --expansion solid");
    for key in ["pairs", "levels", "leaf", "streamed", "recomputed", "close_pairs", "error"] {
        assert_eq!(s[key], alone[key], "{key}");
    }
    let ended = run(&p, "--n 500 --backend cpu --ranks 2");
    assert!(["2 ranks (threads), seconds", "imbalance", "sent: "].iter().all(|part| ended.out.contains(part)));
    for (words, part) in [
        ("--ranks 2", "--backend cpu"),
        ("--ranks 2 --backend cpu --tol 1e-3", "--order"),
        ("--ranks 2 --backend cpu --order 90", "the order must be"),
        ("--ranks 0 --backend cpu", "--ranks"),
    ] {
        let ended = p.run(&format!("fmm --n 100 {words} -o none.csv")).expect(2);
        assert!(ended.err.contains(part), "{words}: {}", ended.err);
        assert!(!p.path("none.csv").exists());
    }
}

#[test]
fn ranks_that_fail_end_all_with_one_sentence() {
    if !testkit::require("mpirun") {
        return;
    }
    let p = Place::new();
    run(&p, "--n 300 --backend cpu --save-particles p.npy");
    std::fs::create_dir(p.path("empty")).expect("the folder is writable");
    let is_second = "[ \"$OMPI_COMM_WORLD_RANK\" = 1 ] &&";
    let out = p.path("none.csv").display().to_string();
    let cases = [
        (format!("{is_second} cd empty"), "--particles p.npy".to_string(), 1, "p.npy: cannot be read"),
        (format!("{is_second} set -- --seed 5"), "--n 300 \"$@\"".into(), 2, "rank 1 has other options than rank 0"),
    ];
    for (before, words, code, sentence) in cases {
        let ended = mpi(&p, 3, &before, &format!("{words} --backend cpu -o {out}"));
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert_eq!(ended.err.matches("error: ").count(), 1, "{}", ended.err);
        assert!(ended.err.contains(sentence), "{}", ended.err);
        assert!(!p.path("none.csv").exists());
    }
    // A rank that is killed while it computes.
    let killed = format!(
        "{is_second} exec timeout -s KILL 0.5 \"$0\" -c 'exec {} fmm --n 100000 --order 12 --backend cpu -o {out}'",
        env!("CARGO_BIN_EXE_pairforge")
    );
    let ended = mpi(&p, 3, &killed, &format!("--n 100000 --order 12 --backend cpu -o {out}"));
    assert!(ended.code != Some(0), "{ended:?}");
    assert!(!p.path("none.csv").exists() && !p.names().iter().any(|n| n.starts_with(".pairforge")));
}

#[test]
fn the_benchmark_of_ranks_counts_and_draws() {
    let p = Place::new();
    let ended = p.run("bench ranks --ranks 16 --csv r.csv --svg r.svg").expect(0);
    assert!(
        ["uniform: ", "sphere: ", "plummer: ", "Eq. 3 fitted"].iter().all(|part| ended.out.contains(part)),
        "{}",
        ended.out
    );
    let csv = p.text("r.csv");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert!(rows.len() == 7 && rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
    assert!(p.text("r.svg").contains("P^(1/3)"));
}
