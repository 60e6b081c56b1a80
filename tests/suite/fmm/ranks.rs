//! `pairforge fmm` on ranks that are threads, and on processes of MPI: the files of one rank, and how runs end that cannot go on.

use super::{run, stats};
use crate::common::{Ended, Place};
use std::process::Command;

/// The command under mpirun: `before` is done in a shell of each rank, which knows its number.
pub(super) fn mpi(p: &Place, ranks: usize, before: &str, words: &str) -> Ended {
    launched(p, ranks, before, &format!("fmm {words}"))
}

/// The same of any command.
pub(super) fn launched(p: &Place, ranks: usize, before: &str, words: &str) -> Ended {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", &ranks.to_string(), "sh", "-c"]);
    let program = env!("CARGO_BIN_EXE_pairforge");
    command.arg(format!("{before}\nexec {program} {words}")).current_dir(p.path(".")).env("RAYON_NUM_THREADS", "1");
    p.finish(command)
}

#[test]
fn commands_that_do_not_run_on_ranks_are_refused_once() {
    let p = Place::new();
    let as_rank = |variables: &[(&str, &str)], words: &str| {
        let mut command = p.command(words);
        command.envs(variables.iter().copied());
        p.finish(command)
    };
    let hydra = |rank: &'static str| [("PMI_RANK", rank), ("PMI_SIZE", "3")];
    let step = |rank: &'static str| [("SLURM_PROCID", rank), ("SLURM_STEP_NUM_TASKS", "3")];
    let (second, first) = ("fmm2 --n 10 -o f.csv", "`fmm2` does not run on ranks");
    for (variables, words, part) in [
        (hydra("0"), second, first),
        (step("0"), second, first),
        (step("0"), "list kernels", "`list` does not run on ranks"),
        ([("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "3")], "bench fmm --repeat 1", "the benchmark `fmm`"),
        // Open MPI's library does not find these.
        (hydra("0"), "fmm --n 10 -o f.csv", "find each other by Open MPI"),
    ] {
        let ended = as_rank(&variables, words).expect(2);
        assert!(ended.err.contains(part) && ended.err.lines().count() == 1 && ended.out.is_empty(), "{ended:?}");
    }
    for words in [second, "fmm --n 10 -o f.csv", "list kernels", "--version", "nothing of the kind"] {
        let ended = as_rank(&hydra("1"), words).expect(0);
        assert!(ended.err.is_empty() && ended.out.is_empty(), "{words}: {ended:?}");
    }
    assert!(!p.path("f.csv").exists());
    assert_eq!(as_rank(&hydra("0"), "--version").expect(0).out.lines().count(), 1);
    // An allocation without a step, and a step of one.
    as_rank(&[("SLURM_JOB_ID", "7"), ("SLURM_NTASKS", "3")], second).expect(0);
    as_rank(&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "1")], second).expect(0);
    if testkit::require("mpirun") {
        std::fs::remove_file(p.path("f.csv")).expect("it was written");
        let ended = launched(&p, 2, "", second);
        assert_eq!((ended.code, ended.err.matches("error: ").count()), (Some(2), 1), "{ended:?}");
        assert!(ended.err.contains(first) && !p.path("f.csv").exists(), "{ended:?}");
    }
}

#[test]
fn ranks_give_the_files_of_one() {
    let p = Place::new();
    let has_mpi = testkit::require("mpirun");
    run(&p, "--n 500 --seed 8 --backend cpu --save-particles t.csv");
    let targets = p.text("t.csv").replace("x,y,z,q", "x,y,z");
    let cut = |line: &str| line.rsplit_once(',').map_or(line, |l| l.0).to_string() + "\n";
    // Its outputs do not hold what close pairs give.
    let lines = "fixed32.31 xi[3] ipin; fixed32.31 xj[3] jpin; float25.16 mj jpin; fixed32.8 pout fout;
        dx = (float25.16)(xj - xi);
        pout += (fixed32.8)(mj * pg_pow(dx * dx, -2, 1));";
    p.write("fourth.pg2", lines);
    p.write("t.csv", "x,y,z\n".to_string() + &targets.lines().skip(1).map(cut).collect::<String>());
    let cases = [
        "--backend cpu --n 3000 --expansion solid --leaf 40 --dist sphere",
        "--backend cpu --n 2000 --dist plummer --order 3 --precision f32 --leaf 60",
        "--backend cpu --n 1500 --periodic 1 --leaf 20 --expansion solid",
        "--backend cpu --n 1000 --targets t.csv --hessian --leaf 25",
        "--backend cpu --n 2",
        "--backend emulator --n 400 --dist plummer --order 2 --leaf 20",
        "--backend emulator --n 300 --targets t.csv --order 3 --m2l native --leaf 30",
        "--backend emulator --n 400 --order 2 --leaf 12 --periodic 1 --periodic-axes xz",
        "--backend cpu --n 300 --p2p p2p_yukawa --param kappa=4 --order 3 --leaf 20",
        "--backend emulator --n 300 --dist plummer --p2p fourth.pg2 --order 3 --leaf 20",
    ];
    for (k, words) in testkit::some(cases.iter().enumerate(), 4) {
        // Particles as text, and as an array.
        let saved = ["p.csv", "p.npy"][k % 2];
        let files = |name: &str| [p.bytes(&format!("{name}.csv")), p.bytes(&format!("{name}-{saved}"))];
        let to = |name: &str| format!("{words} -o {name}.csv --save-particles {name}-{saved}");
        run(&p, &to("one"));
        for ranks in [1, 3] {
            run(&p, &format!("{} --ranks {ranks}", to("some")));
            assert!(files("one") == files("some"), "{words}: {ranks} ranks");
        }
        if has_mpi {
            let ranks = 2 + k % 2;
            let ended = mpi(&p, ranks, "", &to("mpi")).expect(0);
            assert!(files("one") == files("mpi"), "{words}: {ranks} ranks of MPI");
            assert_eq!(ended.out.matches("ranks (MPI), seconds").count(), 1, "{}", ended.out);
        }
    }
}

#[test]
fn a_wanted_error_on_ranks_takes_the_options_of_one() {
    let p = Place::new();
    let has_mpi = testkit::require("mpirun");
    let crowd: String = (0..90).map(|k| format!("0.3,0.4,0.5,{}\n", k % 5 - 1)).collect();
    p.write("crowd.csv", "x,y,z,q\n".to_string() + &crowd);
    let all = [
        "--backend cpu --n 3000 --dist plummer --tol 1e-5",
        "--backend cpu --n 900 --periodic 1 --tol 1e-3",
        "--backend cpu --n 2 --tol 1e-3",
        "--backend cpu --particles crowd.csv --tol 1e-3",
        "--backend emulator --n 400 --dist sphere --leaf 30 --tol 3e-3",
        "--backend cpu --n 600 --p2p p2p_yukawa --param kappa=4 --tol 1e-2",
    ];
    for (k, words) in testkit::some(all.iter().enumerate(), 2) {
        run(&p, &format!("{words} -o one.csv --json one.json"));
        let same = |name: &str, what: &str| {
            let [one, some] = ["one", name].map(|name| p.json(&format!("{name}.json")));
            for key in ["order", "lower_beyond", "theta", "leaf", "leaf_by", "error", "pairs"] {
                assert_eq!(some[key], one[key], "{words}, {what}: {key}");
            }
            assert!(p.bytes("one.csv") == p.bytes(&format!("{name}.csv")), "{words}, {what}");
        };
        run(&p, &format!("{words} --ranks {} -o some.csv --json some.json", [3, 2, 7][k % 3]));
        same("some", "threads");
        // Every other one, since a process of MPI takes long to start.
        if has_mpi && k % 2 == 0 {
            mpi(&p, 2 + k / 2 % 2, "", &format!("{words} -o mpi.csv --json mpi.json")).expect(0);
            same("mpi", "MPI");
        }
    }
    let refused = [
        ("--n 700 --precision f32 --tol 1e-9", "take --precision f64"),
        ("--n 700 --theta 0.5 --leaf 30 --expansion cartesian --tol 1e-13", "a smaller --theta"),
    ];
    for (words, part) in testkit::some(refused, 1) {
        let words = format!("{words} --backend cpu -o none.csv");
        let one = p.run(&format!("fmm {words}"));
        let ended = p.run(&format!("fmm {words} --ranks 3"));
        assert!((one.code, &one.err) == (ended.code, &ended.err) && one.err.contains(part), "{ended:?}");
        if has_mpi {
            let ended = mpi(&p, 2, "", &words);
            assert!(ended.err.contains(part) && ended.err.matches("error: ").count() == 1, "{ended:?}");
        }
        assert!(!p.path("none.csv").exists());
    }
}

#[test]
fn boards_of_ranks_are_predicted_with_a_part_of_the_work_each() {
    let p = Place::new();
    let words = "--n 900 --order 2 --predict ulx3s --pipelines 2 --leaf 40 --json";
    let found = |more: &str| {
        run(&p, &format!("{words} p.json {more}"));
        p.json("p.json")
    };
    let (one, alone, three) = (found(""), found("--ranks 1"), found("--ranks 3 --save-particles some.csv"));
    let number = |s: &serde_json::Value, key: &str| s.pointer(key).and_then(|n| n.as_f64()).expect("a number");
    for key in ["/seconds/p2p", "/cycles", "/bytes_in", "/bytes_out", "/pairs/p2p", "/pairs/m2l"] {
        assert_eq!(number(&alone, key), number(&one, key), "{key}");
    }
    let part = number(&three, "/seconds/p2p") / number(&one, "/seconds/p2p");
    assert!(part > 1.0 / 3.0 && part < 0.6, "{part}");
    assert!(number(&three, "/total_seconds") > number(&three, "/seconds/p2p"), "{three}");
    assert!(number(&three, "/exchange_seconds") > 0.0 && one["exchange_seconds"].is_null(), "{three}");
    assert_eq!((&three["ranks"], &three["pairs"]), (&3.into(), &one["pairs"]));
    run(&p, "--n 900 --backend cpu --save-particles one.csv");
    assert_eq!(p.text("some.csv"), p.text("one.csv"));
    let ended = run(&p, "--n 2 --order 2 --predict ulx3s --pipelines 2 --ranks 7");
    assert!(ended.out.contains("on 7 ranks with a board each"), "{}", ended.out);
    if testkit::require("mpirun") {
        let both = "--n 300 --order 1 --predict colorlight-i9 --ethernet --pipelines 2,1 --ii 1,8 --json p.json";
        let ended = mpi(&p, 2, "", both).expect(0);
        assert!(ended.out.contains("on 2 ranks") && ended.out.contains("with P2P"), "{}", ended.out);
        assert!(number(&p.json("p.json"), "/seconds/p2p") > 0.0);
        let ended = mpi(&p, 2, "", "--n 300 --predict toaster");
        assert!(ended.err.contains("the boards are ulx3s") && ended.err.matches("error: ").count() == 1, "{ended:?}");
    }
}

#[test]
#[ignore = "a proof in depth"]
fn a_budget_on_ranks_is_that_of_one() {
    let p = Place::new();
    let has_mpi = testkit::require("mpirun");
    p.write("narrow.pg2", crate::common::shipped("p2p").replace("float25.16", "float16.7"));
    for (k, words) in [
        "--backend cpu --n 1500 --leaf 30 --expansion solid --order 12 --precision f32 --check 200",
        "--backend cpu --n 900 --dist plummer --tol 1e-3",
        "--backend cpu --n 600 --p2p p2p_yukawa --param kappa=4 --order 3 --leaf 20",
        "--backend emulator --n 400 --leaf 20 --order 2 --p2p narrow.pg2",
        "--backend emulator --n 300 --leaf 20 --order 3 --m2l native --periodic 1",
    ]
    .iter()
    .enumerate()
    {
        let words = format!("{words} --budget");
        run(&p, &format!("{words} -o one.csv --json one.json"));
        let same = |name: &str| {
            let [one, some] = ["one", name].map(|name| p.json(&format!("{name}.json")));
            assert!(one["budget"]["potential"]["total"].as_f64().is_some_and(|total| total > 0.0), "{one}");
            for key in ["budget", "error", "order", "leaf"] {
                assert_eq!(some[key], one[key], "{words}, {name}: {key}");
            }
            assert!(p.bytes("one.csv") == p.bytes(&format!("{name}.csv")), "{words}, {name}");
        };
        let ended = run(&p, &format!("{words} --ranks {} -o threads.csv --json threads.json", [3, 2, 7][k % 3]));
        assert!(ended.out.contains("grid  P2P formats"), "{}", ended.out);
        same("threads");
        // Every other one, since a process of MPI takes long to start.
        if has_mpi && k % 2 == 0 {
            mpi(&p, 2 + k / 2 % 2, "", &format!("{words} -o mpi.csv --json mpi.json")).expect(0);
            same("mpi");
        }
    }
    p.write("sets.csv", "x,y,z,q,q2\n0,0,0,1,2\n1,1,1,-1,1\n");
    let words = "--particles sets.csv --backend cpu --budget -o none.csv";
    let one = p.run(&format!("fmm {words}")).expect(2);
    let ended = p.run(&format!("fmm {words} --ranks 2")).expect(2);
    assert!(one.err == ended.err && one.err.contains("one set of charges"), "{ended:?}");
    if has_mpi {
        let ended = mpi(&p, 2, "", words);
        assert!(ended.err.contains("one set of charges") && ended.err.matches("error: ").count() == 1, "{ended:?}");
    }
    assert!(!p.path("none.csv").exists());
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
        ("--ranks 2 --backend board:none", "name 2 boards"),
        ("--ranks 2 --backend cpu --gpus 2", "--gpus shares out native code on GPUs"),
        ("--ranks 2 --backend cuda --translations gpu --near-only", "leave --translations gpu out"),
        ("--ranks 2 --backend cpu --translations gpu", "--translations gpu is for backend cuda"),
        ("--ranks 2 --hessian --backend emulator", "kernels have no pins for Hessians"),
        ("--ranks 2 --backend cpu --order 90", "the order must be"),
        ("--ranks 0 --backend cpu", "--ranks"),
    ] {
        let ended = p.run(&format!("fmm --n 100 {words} -o none.csv")).expect(2);
        assert!(ended.err.contains(part), "{words}: {}", ended.err);
        assert!(!p.path("none.csv").exists());
    }
}

#[test]
fn nothing_is_written_before_all_ranks_have_what_they_compute_on() {
    let p = Place::new();
    let words = "fmm --n 100 --save-particles s.csv --backend board:/dev/none";
    for more in ["", ",/dev/none2 --ranks 2"] {
        let ended = p.run(&format!("{words}{more}")).expect(3);
        assert!(ended.err.contains("/dev/none") && !p.path("s.csv").exists(), "{more}: {}", ended.err);
    }
    // An array is refused as on one rank, also where each rank reads its rows.
    p.write("q.csv", "x,y,q\n0,0,1\n1,1,-1\n0,1,1\n");
    p.run("fmm2 --particles q.csv --save-particles sets.npy").expect(0);
    let one = p.run("fmm --particles sets.npy --backend cpu").expect(1);
    assert!(one.err.contains("its shape is (3, 3)"), "{}", one.err);
    if testkit::require("mpirun") {
        let ended = mpi(&p, 2, "", "--particles sets.npy --backend cpu");
        assert!(ended.err.contains(one.err.trim()), "{}", ended.err);
    }
}

#[test]
fn kernels_on_ranks_report_what_they_do_on_one() {
    let p = Place::new();
    // Close pairs, in one place and at the corners of cells, so that some targets are computed again.
    let mut particles = String::from("x,y,z,q\n0,0,0,1\n1,1,1,-1\n");
    for k in 0..60 {
        let at = [0.5, 0.25, 0.3][k % 3] + 1e-9 * k as f64;
        particles += &format!("{at:.12},0.5,{at:.12},0.5\n{at:.12},{:.12},0.5,-0.25\n", 0.5 - 1e-8 * k as f64);
    }
    p.write("p.csv", particles);
    // With a period, some of them lie on the two sides of a face.
    for words in ["", "--periodic 1"] {
        let words = format!("--particles p.csv --backend emulator --order 2 --leaf 6 {words}");
        let (alone, ranks) = (
            stats(&p, &format!("{words} -o one.csv")),
            stats(&p, &format!("{words} --ranks 3 --check 20 -o some.csv")),
        );
        assert!(p.bytes("one.csv") == p.bytes("some.csv"), "{words}");
        for key in
            ["backend", "pairs", "streamed", "recomputed", "close_pairs", "shared_grid_points", "flags", "levels"]
        {
            assert_eq!(ranks[key], alone[key], "{key}");
        }
        assert!(alone["close_pairs"].as_u64() > Some(100), "{alone}");
        assert!(ranks["error"]["potential_rel_l2"].as_f64().is_some_and(|e| e < 0.1), "{ranks}");
        assert!(ranks["words"]["i"].as_u64() > Some(0) && ranks["utilisation"]["p2p"].is_null(), "{ranks}");
    }
    // A kernel that no rank can read, and one that does not fit.
    for (words, part) in [("--p2p none.pg2", "none.pg2"), ("--m2l m2l_paper --order 3", "M2L")] {
        let ended = p.run(&format!("fmm --n 100 --ranks 2 {words} -o none.csv")).expect(1);
        assert!(ended.err.contains(part) && ended.err.matches("error: ").count() == 1, "{words}: {}", ended.err);
        assert!(!p.path("none.csv").exists());
    }
}

#[test]
#[ignore = "a proof in depth"]
fn simulated_verilog_on_ranks_gives_the_files_of_one() {
    if !testkit::require("verilator") {
        return;
    }
    let p = Place::new();
    let words = "--backend cycle --n 200 --dist plummer --order 1 --leaf 20 --pipelines 2";
    run(&p, &format!("{words} -o one.csv --json one.json"));
    run(&p, &format!("{words} --ranks 3 -o three.csv --json three.json"));
    assert!(p.bytes("one.csv") == p.bytes("three.csv"));
    let [one, three] = ["one.json", "three.json"].map(|f| -> serde_json::Value { p.text(f).parse().expect("JSON") });
    let cycles = |s: &serde_json::Value| s["cycles"]["p2p"].as_u64().expect("a simulation counts clocks");
    // The slowest of three ranks, each of which has about a third of the pairs.
    assert!(cycles(&three) > cycles(&one) / 4 && cycles(&three) < cycles(&one), "{} {}", cycles(&three), cycles(&one));
}

#[test]
fn ranks_that_were_given_different_things_are_refused_and_copies_are_not() {
    if !testkit::require("mpirun") {
        return;
    }
    let p = Place::new();
    std::fs::create_dir(p.path("other")).expect("the folder is writable");
    let kernel = "include \"power.pg2\";
        fixed32.31 xi[3] ipin; fixed32.31 xj[3] jpin; float25.16 mj jpin; fixed32.8 pout fout;
        dx = (float25.16)(xj - xi);
        pout += (fixed32.8)(mj * pg_pow(dx * dx, n, 1));\n";
    for (folder, seed, power) in [("", 3, -1), ("other/", 4, -2)] {
        for file in ["p.npy", "p.csv"] {
            run(&p, &format!("--n 200 --seed {seed} --backend cpu --save-particles {folder}{file}"));
        }
        let targets: String = (0..50).map(|k| format!("0.5,0.{k},0.{seed}\n")).collect();
        p.write(&format!("{folder}t.csv"), "x,y,z\n".to_string() + &targets);
        p.write(&format!("{folder}k.pg2"), kernel);
        p.write(&format!("{folder}power.pg2"), format!("const n = {power};\n"));
        p.write(&format!("{folder}copy.csv"), "x,y,z,q\n0,0,0,1\n1,1,1,-1\n");
    }
    for file in ["copy.npy", "other/copy.npy"] {
        std::fs::copy(p.path("p.npy"), p.path(file)).expect("the folder is writable");
    }
    let program = p.path("program");
    // By a shell, since a program that this process has open for writing may be inherited by what other tests start.
    let grown = format!("cp {} program && echo another build >> program", env!("CARGO_BIN_EXE_pairforge"));
    let made = Command::new("sh").args(["-c", &grown]).current_dir(p.path(".")).status().expect("there is a shell");
    assert!(made.success());
    let is_second = "[ \"$OMPI_COMM_WORLD_RANK\" = 1 ] &&";
    let input = "rank 1 has found another input than rank 0, since";
    let cases = [
        ("--backend cpu --particles p.npy", 1, format!("{input} p.npy has other contents")),
        ("--backend cpu --particles p.csv", 1, format!("{input} p.csv has other contents")),
        ("--backend cpu --n 300 --targets t.csv", 1, format!("{input} t.csv has other contents")),
        ("--backend emulator --n 300 --p2p k.pg2 --order 3", 1, "rank 1 has found another kernel than rank 0".into()),
        ("--backend cpu --particles copy.npy", 0, String::new()),
        ("--backend cpu --particles copy.csv", 0, String::new()),
    ];
    for (words, code, sentence) in cases {
        let out = p.path("out.csv").display().to_string();
        let ended = mpi(&p, 3, &format!("{is_second} cd other"), &format!("{words} -o {out}")).expect(code);
        assert_eq!(ended.err.matches("error: ").count(), code as usize, "{}", ended.err);
        assert!(ended.err.contains(&sentence), "{words}: {}", ended.err);
        assert_eq!(p.path("out.csv").exists(), code == 0, "{words}");
        let _ = std::fs::remove_file(p.path("out.csv"));
    }
    let words = "--backend cpu --n 300";
    let ended = mpi(&p, 2, &format!("{is_second} exec {} fmm {words}", program.display()), words).expect(2);
    assert!(ended.err.contains("rank 1 runs another version or build of this program"), "{}", ended.err);
}

#[test]
fn ranks_that_fail_end_all_with_one_sentence() {
    if !testkit::require("mpirun") {
        return;
    }
    let p = Place::new();
    run(&p, "--n 300 --backend cpu --save-particles p.npy");
    std::fs::create_dir(p.path("empty")).expect("the folder is writable");
    run(&p, "--n 200 --backend cpu --save-particles empty/other.npy");
    std::fs::copy(p.path("p.npy"), p.path("other.npy")).expect("the folder is writable");
    let is_second = "[ \"$OMPI_COMM_WORLD_RANK\" = 1 ] &&";
    let out = p.path("none.csv").display().to_string();
    let cases = [
        (format!("{is_second} cd empty"), "--particles p.npy".to_string(), 1, "p.npy: cannot be read"),
        (format!("{is_second} set -- --seed 5"), "--n 300 \"$@\"".into(), 2, "rank 1 has other options than rank 0"),
        (
            format!("{is_second} cd empty"),
            "--particles other.npy".into(),
            1,
            "rank 1 has found another input than rank 0",
        ),
        (format!("{is_second} cd empty"), "--particles p.npy --budget".into(), 1, "p.npy: cannot be read"),
        (format!("{is_second} set -- --budget"), "--n 300 \"$@\"".into(), 2, "rank 1 has other options than rank 0"),
        // Found before anything is asked of MPI.
        (String::new(), "--n 300 --order many".into(), 2, "invalid value 'many'"),
        (
            format!("{is_second} set -- --order many"),
            "--n 300 \"$@\"".into(),
            2,
            "rank 1 has other options than rank 0",
        ),
        (String::new(), "--n 300 --gpus 2".into(), 2, "--gpus shares out native code"),
        (String::new(), "--n 300 --hessian --p2p p2p_yukawa".into(), 2, "kernels have no pins for Hessians"),
        (String::new(), "--n 300 --save-particles /dev/full".into(), 1, "/dev/full: cannot be written"),
        // Found when long messages are on their way that nobody takes any more.
        (String::new(), "--n 4000 --leaf 24 --expansion chebyshev".into(), 2, "name one, or take another expansion"),
    ];
    for (before, words, code, sentence) in cases {
        let ended = mpi(&p, 3, &before, &format!("{words} --backend cpu -o {out}"));
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert_eq!(ended.err.matches("error: ").count(), 1, "{}", ended.err);
        assert!(ended.err.contains(sentence), "{}", ended.err);
        assert!(!p.path("none.csv").exists());
    }
    // A rank that is killed while it computes, and while it rests.
    let cache = p.path("cache").display().to_string();
    for words in [format!("--n 100000 --order 12 --backend cpu --budget -o {out}"), "--tune".into()] {
        let program = env!("CARGO_BIN_EXE_pairforge");
        // The first one is stopped before, so that a fast machine does not end while the other is being killed.
        let killed = format!(
            "export PAIRFORGE_CACHE={cache}
             {is_second} exec timeout -s KILL 0.6 \"$0\" -c 'exec {program} fmm {words}'
             if [ \"$OMPI_COMM_WORLD_RANK\" = 0 ]; then
               {program} fmm {words} & sleep 0.3; kill -STOP $!; wait $!; exit
             fi"
        );
        let ended = mpi(&p, 3, &killed, &words);
        assert!(ended.code != Some(0), "{ended:?}");
        assert!(!p.path("none.csv").exists() && !p.path("cache/costs.json").exists());
        assert!(!p.names().iter().any(|n| n.starts_with(".pairforge")));
    }
}
