//! `pairforge fmm` with all stages on a GPU: beside the CPU's results where there is a GPU, and what is refused without one.

use super::ranks::{launched, mpi};
use super::{numbers, run, stats};
use crate::common::{Place, has_gpu};
use pairforge::backends::BACKENDS;

#[test]
fn translations_on_a_gpu_are_for_what_it_runs() {
    let p = Place::new();
    let refused = |words: &str, why: &str| {
        let ended = p.run(&format!("fmm --n 10 --translations gpu {words}")).expect(2);
        assert!(ended.err.contains(why), "{words}: {}", ended.err);
    };
    refused("--backend cpu", "for backend cuda");
    refused("--backend emulator", "for backend cuda");
    refused("--backend cuda-exact", "for backend cuda");
    refused("--backend cuda --m2l m2l_paper --order 2", "for backend cuda");
    refused("--backend cuda --p2p yukawa", "for backend cuda");
    refused("--backend cuda --near-only", "--near-only runs with translations on the CPU alone");
    refused("--backend cuda --tol 1e-3 --leaf 8 --enlarge 1.2", "--enlarge runs with translations on the CPU alone");
    run(&p, "--n 10 --backend cpu --translations cpu");
}

#[test]
fn all_stages_on_a_gpu_give_what_the_cpu_gives() {
    let entry = BACKENDS.iter().find(|b| b.name == "cuda").expect("it is listed");
    if !has_gpu(entry) {
        return;
    }
    let p = Place::new();
    let error = |n: usize, words: &str| {
        let all = "--charge positive --expansion solid --order 8 --leaf 16 --check 300";
        let s = stats(&p, &format!("--n {n} {all} {words}"));
        let seconds = s["on_card"]["computed"].as_f64();
        assert_eq!(seconds.is_some_and(|s| s > 0.0), words.contains("cuda"), "{words}");
        s["error"]["gradient_rel_l2"].as_f64().expect("an error")
    };
    for n in [1, 2, 31, 33, 1000, 60_000] {
        // What the order leaves out, in a tree of other leaves, and what the formats round.
        let left_out = error(n, "--backend cpu");
        for (precision, rounded) in [("f32", 2e-6), ("f64", 1e-12)] {
            let found = error(n, &format!("--backend cuda --translations gpu --precision {precision}"));
            assert!(found < 1.5 * left_out + rounded, "{n} {precision}: {found:.1e}, the CPU {left_out:.1e}");
        }
    }
    // Orders of products in tiles, in both trees.
    for words in ["--order 11", "--order 20 --dist plummer", "--order 30"] {
        let all = format!("--n 20000 --precision f64 --expansion solid --check 300 {words}");
        let error = |backend: &str| {
            let s = stats(&p, &format!("{all} {backend}"));
            s["error"]["gradient_rel_l2"].as_f64().expect("an error")
        };
        // By matrices, as on the GPU: plane waves have smaller errors.
        let (found, wanted) =
            (error("--backend cuda --translations gpu"), error("--backend cpu --lower-beyond 1000000"));
        assert!(found < 1.5 * wanted + 1e-12, "{words}: {found:.1e}, the CPU {wanted:.1e}");
    }
    // Second derivatives and dipoles, in both trees.
    let dipoles = "x,y,z,px,py,pz\n0,0,0,1,0,0.5\n1,0,0,0,1,0\n0.5,1,0,0,0,-1\n0.2,0.3,1,0.5,0.5,0.5\n";
    p.write("dipoles.csv", dipoles);
    let s = stats(&p, "--particles dipoles.csv --backend cuda --translations gpu --precision f64 --hessian --check 4");
    assert!(s["error"]["hessian_rel_l2"].as_f64().is_some_and(|e| e < 1e-13), "{s}");
    for words in ["--order 5", "--order 6 --dist plummer", "--order 4 --periodic 1"] {
        let all = format!("--n 20000 --precision f64 --expansion solid --hessian --check 300 {words}");
        let error = |backend: &str| {
            let s = stats(&p, &format!("{all} {backend}"));
            s["error"]["hessian_rel_l2"].as_f64().expect("an error")
        };
        let (found, wanted) = (error("--backend cuda --translations gpu"), error("--backend cpu"));
        assert!(found < 1.5 * wanted + 1e-9, "{words}: {found:.1e}, the CPU {wanted:.1e}");
    }
    // A wanted error is kept, in f32, and in f64 where that does not do.
    for (tol, dist) in [(1e-3, "uniform"), (1e-7, "uniform"), (1e-6, "plummer")] {
        let s =
            stats(&p, &format!("--n 20000 --dist {dist} --tol {tol} --check 1000 --backend cuda --translations gpu"));
        let found = s["error"]["gradient_rel_l2"].as_f64().expect("an error");
        assert!(found <= tol && s["on_card"]["computed"].as_f64().is_some(), "{dist} {tol}: {found:.1e}");
    }
    // The same bits each time, and those of f64 beside the CPU's.
    let words = "--n 20000 --backend cuda --precision f64 --order 10 --leaf 40";
    run(&p, &format!("{words} --translations gpu -o a.csv"));
    run(&p, &format!("{words} --translations gpu -o b.csv"));
    assert!(p.bytes("a.csv") == p.bytes("b.csv"));
    run(&p, &format!("{words} --translations cpu --expansion solid -o c.csv"));
    let [a, c] = ["a.csv", "c.csv"].map(|name| numbers(&p.text(name), "potential,gx,gy,gz"));
    let size = |rows: &[Vec<f64>]| rows.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
    let wrong: Vec<Vec<f64>> = a.iter().zip(&c).map(|(a, c)| a.iter().zip(c).map(|(a, c)| a - c).collect()).collect();
    assert!(size(&wrong) < 1e-5 * size(&c), "{:.1e}", size(&wrong) / size(&c));
    // Particles in one place do not act on each other, and close ones do.
    let twins = "x,y,z,q\n0,0,0,1\n0,0,0,2\n1,0,0,3\n1,0.0000001,0,1\n0,1,1,2\n";
    p.write("twins.csv", twins);
    for precision in ["f32", "f64"] {
        let words =
            format!("--particles twins.csv --backend cuda --translations gpu --precision {precision} --check 5");
        let s = stats(&p, &words);
        assert!(s["error"]["potential_rel_l2"].as_f64().is_some_and(|e| e < 1e-6), "{s}");
    }
    // What is not for one depth runs all the same.
    let s = stats(&p, "--n 0 --backend cuda");
    assert!(s["on_card"].is_null());
}

#[test]
fn ranks_on_a_gpu_give_the_files_of_one_process() {
    let entry = BACKENDS.iter().find(|b| b.name == "cuda").expect("it is listed");
    if !has_gpu(entry) {
        return;
    }
    let p = Place::new();
    let has_mpi = testkit::require("mpirun");
    run(&p, "--n 700 --seed 8 --backend cpu --save-particles s.csv");
    let rows = p.text("s.csv");
    let rows: Vec<&str> = rows.lines().skip(1).collect();
    let place = |row: &&str| row.rsplit_once(',').map_or(String::new(), |r| r.0.to_string() + "\n");
    p.write("t.csv", "x,y,z\n".to_string() + &rows.iter().take(300).map(place).collect::<String>());
    let more = |(k, row): (usize, &&str)| format!("{row},{}\n", k % 5);
    p.write("p.csv", "x,y,z,q,q2\n".to_string() + &rows.iter().enumerate().map(more).collect::<String>());
    let cases = [
        "--n 60000 --precision f32 --order 5 --translations gpu",
        "--n 30000 --dist sphere --order 3 --leaf 4 --translations gpu",
        "--n 2 --translations gpu",
        "--particles p.csv --targets t.csv --leaf 8 --translations gpu",
        // Beside the CPUs.
        "--n 5000 --order 3 --translations cpu",
        "--n 5000 --theta 0.4",
    ];
    for words in cases {
        run(&p, &format!("{words} --backend cuda -o one.csv --json one.json"));
        let same = |name: &str| {
            assert!(p.bytes("one.csv") == p.bytes(&format!("{name}.csv")), "{words}: {name}");
            let [one, some] = ["one", name].map(|name| p.json(&format!("{name}.json")));
            for key in ["n", "targets", "order", "leaf", "levels", "pairs", "recomputed", "close_pairs"] {
                assert_eq!(some[key], one[key], "{words}, {name}: {key}");
            }
            assert_eq!(some["on_card"].is_null(), one["on_card"].is_null(), "{words}, {name}");
        };
        for ranks in [1, 2, 3] {
            run(&p, &format!("{words} --backend cuda --ranks {ranks} -o some.csv --json some.json"));
            same("some");
        }
        if has_mpi {
            mpi(&p, 2, "", &format!("{words} --backend cuda -o mpi.csv --json mpi.json")).expect(0);
            same("mpi");
        }
    }
}

#[test]
fn benchmarks_on_gpus_of_ranks_give_times_or_say_what_is_missing() {
    let entry = BACKENDS.iter().find(|b| b.name == "cuda").expect("it is listed");
    let (p, is_there) = (Place::new(), has_gpu(entry));
    if testkit::require("mpirun") {
        let ended = launched(&p, 2, "", "bench card --repeat 2").expect(2);
        assert!(ended.err.contains("give their number with --n"), "{}", ended.err);
        let ended =
            launched(&p, 2, "", "bench card --repeat 2 --n 20000 --json c.json").expect(if is_there { 0 } else { 3 });
        assert_eq!(ended.err.matches("error: ").count(), !is_there as usize, "{}", ended.err);
        assert_eq!(ended.out.matches("card: ").count(), 1, "{}", ended.out);
        if is_there {
            let found = p.json("c.json");
            assert_eq!(
                (found["ranks"].as_u64(), found["runs"].as_array().map(Vec::len)),
                (Some(2), Some(2)),
                "{found}"
            );
        }
    }
}
