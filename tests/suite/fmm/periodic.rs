//! Periodic boundaries on the command line (RULES H16).

use super::{forces, run, stats, write};
use crate::common::Place;

#[test]
fn a_crystal_of_salt_has_its_madelung_constant() {
    let p = Place::new();
    // Eight ions with alternating charges, half a period of 2 apart; some of them periods away.
    let ion = |k: i32| {
        let at = [k >> 2 & 1, k >> 1 & 1, k & 1];
        let [x, y, z] = at.map(|x| (x + 2 * (k % 3)) as f64);
        [x, y, z, if at.iter().sum::<i32>() % 2 == 0 { 1.0 } else { -1.0 }]
    };
    let ions: Vec<[f64; 4]> = (0..8).map(ion).collect();
    write(&p, "salt.csv", &ions);
    let words = "--particles salt.csv --backend cpu --expansion solid --order 20 --theta 0.25 --periodic 2";
    for (force, ion) in forces(&p, words).iter().zip(&ions) {
        assert!((force[0] * ion[3] + 1.747_564_594_633_18).abs() < 1e-9, "{force:?}");
        assert!(force[1..].iter().all(|g| g.abs() < 1e-9), "{force:?}");
    }
}

#[test]
fn the_check_is_an_ewald_sum_for_all_axes() {
    let p = Place::new();
    for axes in ["xyz", "xy", "xz", "yz", "x", "y", "z"] {
        let words = format!("--n 2000 --backend cpu --expansion solid --order 9 --periodic 1 --periodic-axes {axes}");
        let periodic = stats(&p, &format!("{words} --check 100"))["error"]["gradient_rel_l2"].as_f64();
        assert!(periodic < Some(1e-4), "{axes} {periodic:?}");
    }
    // Targets apart, dipoles without charges, and second derivatives.
    std::fs::write(p.path("t.csv"), "x,y,z\n0.1,0.2,0.3\n0.9,0.5,0.4\n").expect("a file");
    std::fs::write(p.path("d.csv"), "x,y,z,px,py,pz\n0.7,0.2,0.1,1,2,3\n0.2,0.5,0.4,-1,0,1\n").expect("a file");
    for (words, has_hessian) in [
        ("--n 2000 --targets t.csv --hessian", true),
        ("--n 2000 --targets t.csv", false),
        ("--particles d.csv --targets t.csv --hessian", true),
        ("--particles d.csv", false),
    ] {
        let all =
            format!("{words} --backend cpu --expansion solid --order 14 --periodic 1 --periodic-axes xz --check 100");
        let error = &stats(&p, &all)["error"];
        for key in ["potential_rel_l2", "gradient_rel_l2", "hessian_rel_l2"] {
            let is_small = error[key].as_f64().map(|e| e < 1e-4);
            assert_eq!(is_small, (has_hessian || !key.starts_with("hessian")).then_some(true), "{words} {error}");
        }
    }
    let tuned = stats(&p, "--n 3000 --backend cpu --tol 1e-4 --periodic 1");
    let error = tuned["error"]["gradient_rel_l2"].as_f64().expect("an error");
    assert!(error < 1e-4 && error > 1e-5, "{error}");
}

/// The uniform background of a net charge has a Laplacian; without one there is none.
#[test]
fn the_trace_of_a_hessian_is_that_of_the_background() {
    let p = Place::new();
    p.write("t.csv", "x,y,z\n0.1,0.2,0.3\n0.9,1.5,0.4\n1.7,0.6,1.9\n");
    run(&p, "--n 300 --charge positive --save-particles all.csv");
    let charge: f64 = super::numbers(&p.text("all.csv"), "x,y,z,q").iter().map(|row| row[3]).sum();
    let background = 4.0 * std::f64::consts::PI * charge / 8.0;
    for (more, trace) in [
        ("--periodic 2", background),
        ("--periodic 2 --expansion solid --leaf 20 --order 14", background),
        ("--periodic 2 --periodic-axes xy", 0.0),
        ("--periodic 2 --periodic-axes z", 0.0),
        ("", 0.0),
    ] {
        run(&p, &format!("--particles all.csv --targets t.csv --hessian --backend cpu {more} -o h.csv"));
        for row in super::numbers(&p.text("h.csv"), "potential,gx,gy,gz,hxx,hxy,hxz,hyy,hyz,hzz") {
            let found = row[4] + row[7] + row[9];
            let size = [4, 7, 9].into_iter().fold(background, |most: f64, k| most.max(row[k].abs()));
            assert!((found - trace).abs() < 1e-9 * size, "{more}: {found} {trace}");
        }
    }
}

/// Where forces cancel, as in a crystal and of one particle alone, a wanted error is that of the potential over the period.
fn forces_cancel(problems: &[&str]) {
    let p = Place::new();
    let ion = |k: usize| {
        let at = [k % 4, k / 4 % 4, k / 16];
        let [x, y, z] = at.map(|x| x as f64 / 4.0);
        format!("{x},{y},{z},{}\n", if at.iter().sum::<usize>() % 2 == 0 { 1 } else { -1 })
    };
    p.write("salt.csv", "x,y,z,q\n".to_string() + &(0..64).map(ion).collect::<String>());
    for words in problems {
        let words = format!("{words} --backend cpu --periodic 1");
        let errors = [&stats(&p, &format!("{words} --order 4 --check 64")), &stats(&p, &format!("{words} --tol 1e-4"))];
        let [plain, tuned] = errors.map(|stats| {
            assert_eq!(stats["error"]["gradient_vanishes"], true, "{words} {stats}");
            stats["error"]["gradient_rel_l2"].as_f64().expect("an error")
        });
        assert!(plain < 0.2 && tuned < 1e-4 && tuned > 1e-8, "{words} {plain} {tuned}");
    }
    let said = run(&p, "--particles salt.csv --periodic 1 --check 9 --report r.html").out + &p.text("r.html");
    assert_eq!(said.matches("gradients vanish; their errors are relative to").count(), 2, "{said}");
    assert!(stats(&p, "--n 300 --periodic 1 --check 100")["error"]["gradient_vanishes"].is_null());
}

#[test]
fn forces_that_cancel_have_errors_too() {
    let of_a_kernel = "--n 1 --seed 9 --p2p p2p_yukawa --param kappa=10";
    let all = [of_a_kernel, "--particles salt.csv --expansion solid", "--n 1 --seed 9"];
    forces_cancel(&testkit::some(all, 2).collect::<Vec<_>>());
}

/// Kernels that reach farther, whose far images take longer.
#[test]
#[ignore = "a proof in depth"]
fn forces_of_kernels_that_reach_far_cancel_too() {
    let salt = "--particles salt.csv --p2p p2p_yukawa --param kappa=3";
    forces_cancel(&["--n 1 --seed 9 --p2p p2p_yukawa --param kappa=1", salt]);
}

#[test]
fn kernels_feel_images_too() {
    let p = Place::new();
    let error = |words: &str| {
        let check = if words.contains("--check") { "" } else { "--check 100" };
        let stats = stats(&p, &format!("--n 600 --periodic 1 --leaf 20 {check} {words}"));
        stats["error"]["gradient_rel_l2"].as_f64().expect("an error")
    };
    p.write("t.csv", "x,y,z\n0.1,0.2,0.3\n0.9,0.5,0.999999999\n0.5,0.5,0\n");
    let all = [
        ("", "--backend emulator"),
        ("--near-only", "--backend emulator"),
        ("", "--p2p p2p"),
        ("--targets t.csv", "--backend emulator --m2l native"),
        ("--periodic-axes yz", "--backend emulator"),
    ];
    for (words, kernels) in testkit::some(all, 1) {
        // The paper's expansion, where pipelines take that.
        let native = if kernels.contains("emulator") { format!("{words} --order 4") } else { words.to_string() };
        let (found, native) = (error(&format!("{words} {kernels}")), error(&native));
        assert!((found / native - 1.0).abs() < 0.02, "{words} {kernels}: {found} {native}");
    }
    // The order of an error, and what an error is made of.
    assert!(error("--backend emulator --tol 1e-3 --check 600") < 1e-3);
    let budget =
        &stats(&p, "--n 600 --periodic 1 --leaf 20 --budget --backend emulator --p2p p2p")["budget"]["gradient"];
    let part = |key: &str| budget[key].as_f64().expect("a number");
    assert!(part("p2p") < 1e-4 && part("m2l") < 1e-4 && part("truncation") > 1e-3, "{budget}");
    // A kernel that is not 1/r acts from near images, or from all of them.
    run(&p, "--n 200 --periodic 1 --near-only --backend emulator --p2p p2p_yukawa --param kappa=8");
    let yukawa = "--periodic-axes xz --backend emulator --p2p p2p_yukawa --param kappa=2";
    assert!(error(&format!("{yukawa} --order 6")) < 1e-3 && error(&format!("{yukawa} --tol 1e-3 --check 600")) < 1e-3);
    let words = format!("--n 600 --periodic 1 {yukawa} --order 3 --leaf 20");
    let budget = &stats(&p, &format!("{words} --precision f32 --budget"))["budget"]["gradient"];
    let part = |key: &str| budget[key].as_f64().expect("a number");
    assert!(part("p2p") < 1e-4 && part("m2l") < 1e-4 && part("truncation") > 1e-4, "{budget}");
    let alone = forces(&p, &words);
    assert!(testkit::some([3, 2], 1).all(|ranks| alone == forces(&p, &format!("{words} --ranks {ranks}"))));
    // The bits are those of the emulator whoever computes them, and any number of threads.
    let words = "--n 300 --leaf 30 --order 2 --periodic 1 --backend emulator --pipelines 2";
    let first = forces(&p, words);
    assert_eq!(first, forces(&p, &format!("{words} --threads 1 --jmem 512")));
}

#[test]
fn all_axes_are_the_default() {
    let p = Place::new();
    let words = "--n 300 --backend cpu --periodic 1";
    assert_eq!(forces(&p, words), forces(&p, &format!("{words} --periodic-axes zxy")));
    assert_ne!(forces(&p, words), forces(&p, &format!("{words} --periodic-axes xy")));
}

#[test]
fn what_cannot_be_periodic_is_refused_with_a_remedy() {
    let p = Place::new();
    for (words, code, part) in [
        ("--periodic 0 --backend cpu", 2, "period"),
        ("--periodic nan --backend cpu", 2, "period"),
        ("--periodic 1 --periodic-axes xx --backend cpu", 2, "each once"),
        ("--periodic-axes x --backend cpu", 2, "--periodic"),
        ("--periodic 1 --p2p p2p_yukawa --param kappa=0.00001 --expansion chebyshev", 1, "falls so slowly"),
        ("--periodic 1 --backend cpu --expansion chebyshev", 2, "P2P kernel"),
        ("--periodic 1 --hessian --backend emulator", 2, "Hessians"),
        ("--periodic 1 --backend cpu --theta 0.1", 2, "theta"),
        ("--periodic 1 --p2p p2p --expansion chebyshev", 1, "Ewald"),
        ("--periodic 1 --predict ulx3s", 2, "--predict"),
        ("--periodic 0.5 --periodic-axes xy --backend cpu", 1, "along z"),
    ] {
        let ended = p.run(&format!("fmm --n 100 {words} -o none.csv")).expect(code);
        assert!(ended.err.contains(part), "{words}: {}", ended.err);
        assert!(!p.path("none.csv").exists());
    }
    run(&p, "--n 100 --periodic 0.5 --backend cpu --check 100");
}
