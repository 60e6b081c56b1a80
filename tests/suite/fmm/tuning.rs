//! `pairforge fmm --tol`, `--tune` and `--budget`.

use super::*;

#[test]
fn a_wanted_error_is_kept() {
    let p = Place::new();
    let error = |s: &Value| s["error"]["gradient_rel_l2"].as_f64().expect("an error");
    for (words, wanted) in [
        ("--n 8000 --backend cpu", 1e-3),
        ("--n 8000 --backend cpu --charge positive", 1e-5),
        ("--n 9000 --backend cpu --dist plummer", 1e-7),
        ("--n 4000 --dist sphere --leaf 40 --backend emulator", 2e-3),
    ] {
        let s = stats(&p, &format!("{words} --tol {wanted:e} --check 1000"));
        assert!(error(&s) <= wanted && error(&s) > wanted / 20.0, "{words} {s}");
        let precision = if wanted > 4e-6 && words.contains("cpu") { "--precision f32" } else { "" };
        let native = if words.contains("cpu") { "--expansion solid" } else { "--expansion solid --m2l native" };
        let root = s["enlarge"].as_f64().map_or(String::new(), |times| format!(" --enlarge {times:?}"));
        let (order, leaf) =
            (&s["order"], if words.contains("leaf") { String::new() } else { format!("--leaf {}{root}", s["leaf"]) });
        let lower = s["lower_beyond"].as_f64().map_or(String::new(), |d| format!("--lower-beyond {d}"));
        let again = stats(&p, &format!("{words} {native} {precision} --order {order} {lower} {leaf} --check 1000"));
        assert_eq!(error(&again), error(&s), "{words}");
    }
    // Few particles are summed directly.
    let s = stats(&p, "--n 30 --backend cpu --tol 0.001");
    assert!(error(&s) < 1e-5 && s["order"] == 1, "{s}");
    let ended = p.run("fmm --n 5000 --backend cpu --precision f32 --tol 1e-9").expect(1);
    assert!(ended.err.contains("1e-9 is out of reach") && ended.err.contains("--precision f64"), "{}", ended.err);
    // The far field is not softened: leaves are larger where the softening length asks for it.
    let s = stats(&p, "--n 1500 --backend cpu --eps 0.02 --tol 1e-5 --check 1000");
    assert!(error(&s) < 1e-5, "{s}");
    let ended = p.run("fmm --n 1500 --backend cpu --eps 0.02 --tol 1e-5 --leaf 20").expect(1);
    assert!(ended.err.contains("the far field is not softened"), "{}", ended.err);
    let ended = p.run("fmm --n 3000 --p2p p2p_paper --backend emulator --tol 1e-7").expect(1);
    assert!(ended.err.contains("formats of the P2P kernel"), "{}", ended.err);
    // The first order of solid harmonics would be 13, which the expansion of other kernels does not have.
    let s = stats(&p, "--n 2000 --backend cpu --p2p p2p_yukawa --param kappa=7 --tol 1e-6 --check 1000");
    assert!(error(&s) <= 1e-6 && error(&s) > 1e-7, "{s}");
    let ended = p.run("fmm --n 2000 --backend cpu --p2p p2p_yukawa --param kappa=7 --theta 0.5 --tol 1e-12").expect(1);
    assert!(ended.err.contains("1e-12 is out of reach") && ended.err.contains("a smaller --theta"), "{}", ended.err);
    let ended = p.run("fmm --n 300 --backend cpu --lower-beyond 4").expect(2);
    assert!(ended.err.contains("--expansion solid"), "{}", ended.err);
    assert!(p.run("fmm --tol 2").expect(2).err.contains("above 0 and below 1"));
    assert!(p.run("fmm --tol 1e-3 --m2l m2l_paper").expect(2).err.contains("leave --m2l out"));
}

#[test]
fn measured_costs_choose_the_leaf_size_of_later_runs() {
    let p = Place::new();
    let cache = p.path("cache");
    let run = |words: &str| {
        let mut command = p.command(&format!("fmm {words}"));
        command.env("PAIRFORGE_CACHE", &cache);
        p.finish(command).expect(0)
    };
    let words = "--n 3000 --backend cpu --expansion solid --order 6 --json s.json";
    let by = |ended: Ended, wanted: &str| {
        assert!(
            (wanted == "built-in-costs") == ended.err.contains("not used") || ended.err.is_empty(),
            "{}",
            ended.err
        );
        let s = p.json("s.json");
        assert_eq!(s["leaf_by"], wanted, "{s}");
        s["leaf"].as_u64().expect("a leaf size")
    };
    let built_in = by(run(words), "built-in-costs");
    let shown = run("--tune");
    for part in [
        "P2P, a pair",
        "P2P by a kernel's meaning",
        "solid: M2L, a pair of cells",
        "cartesian: M2M and L2L",
        "chebyshev: M2L",
        "kept in",
    ] {
        assert!(shown.out.contains(part), "{}", shown.out);
    }
    let file = cache.join("costs.json");
    let kept = std::fs::read_to_string(&file).expect("it was kept");
    let mut costs: Value = serde_json::from_str(&kept).expect("an object");
    assert!(by(run(words), "measured-costs") >= 16);
    assert_eq!(by(run(&format!("{words} --leaf 33")), "given"), 33);
    // Where P2P costs a hundred times as much, leaves are smaller.
    let pair = costs["costs"]["f64"]["pair"].as_f64().expect("seconds");
    costs["costs"]["f64"]["pair"] = (100.0 * pair).into();
    std::fs::write(&file, costs.to_string()).unwrap();
    // Six cells along an edge are the most for so few particles: 14 in a cell, and nearly none with more than 32.
    assert_eq!(by(run(words), "measured-costs"), 32);
    // On ranks those of the first one's machine count.
    assert_eq!(by(run(&format!("{words} --ranks 3")), "measured-costs"), 32);
    if testkit::require("mpirun") {
        let cache = cache.display();
        let before = format!("[ \"$OMPI_COMM_WORLD_RANK\" = 1 ] || export PAIRFORGE_CACHE={cache}");
        assert_eq!(by(super::ranks::mpi(&p, 2, &before, words).expect(0), "measured-costs"), 32);
    }
    for (text, why) in [
        (kept.replace("\"version\": 2", "\"version\": 0"), "another version"),
        (kept.replace("\"machine\": \"", "\"machine\": \"other "), "another machine"),
        (kept[..kept.len() / 2].to_string(), "damaged"),
        (kept.replace("\"pair\"", "\"pairs\""), "damaged"),
        (costs.to_string().replace("\"pair\":", "\"pair\":-"), "out of its range"),
    ] {
        std::fs::write(&file, text).unwrap();
        let ended = run(words);
        assert!(ended.err.starts_with("warning: ") && ended.err.contains(why), "{why}: {}", ended.err);
        assert_eq!(by(ended, "built-in-costs"), built_in);
    }
    assert!(p.run("fmm --tune --leaf 20").expect(2).err.contains("--leaf"));
    // On ranks the first one measures, for all.
    let shown = run("--tune --ranks 3");
    assert!(shown.out.contains("chebyshev: M2L") && shown.out.contains("leaf sizes that follow"), "{}", shown.out);
    if testkit::require("mpirun") {
        let to = |cache: &str| format!("export PAIRFORGE_CACHE={cache}-$OMPI_COMM_WORLD_RANK");
        let ended = super::ranks::mpi(&p, 2, &to(&cache.display().to_string()), "--tune").expect(0);
        assert_eq!(ended.out.matches("leaf sizes that follow").count(), 1, "{}", ended.out);
        assert!(p.path("cache-0/costs.json").exists() && !p.path("cache-1/costs.json").exists());
        // A folder that nobody can write to.
        let ended = super::ranks::mpi(&p, 2, &to("/dev/null/cache"), "--tune");
        assert_eq!((ended.code, ended.err.matches("error: ").count()), (Some(3), 1), "{ended:?}");
    }
}

#[test]
fn a_budget_says_which_stage_needs_bits() {
    let p = Place::new();
    p.write("narrow.pg2", shipped("p2p").replace("float25.16", "float16.7"));
    for (words, largest) in [
        ("--n 1500 --leaf 30 --order 4 --backend emulator --p2p narrow.pg2", "p2p"),
        ("--n 1500 --leaf 30 --order 2 --backend emulator", "truncation"),
        ("--n 1500 --leaf 30 --backend cpu --expansion solid --order 20 --precision f32 --check 200", "p2p"),
    ] {
        let ended = run(&p, &format!("{words} --budget --json s.json --report r.html"));
        let s = p.json("s.json");
        let (parts, error) = (&s["budget"]["gradient"], &s["error"]);
        let number = |key: &str| parts[key].as_f64().expect("a number");
        assert_eq!(parts["largest"], largest, "{s}");
        assert_eq!((&parts["total"], &s["budget"]["samples"]), (&error["gradient_rel_l2"], &error["samples"]));
        assert!(["truncation", "p2p", "m2l"].iter().all(|key| number(key) <= number(largest)));
        let advice = if largest == "p2p" { "comes from P2P: spend bits there" } else { "the order limits the error" };
        assert!(ended.out.contains("truncation  P2P formats") && ended.out.contains(advice), "{}", ended.out);
        // The page has the numbers of the terminal.
        let page = p.text("r.html");
        let cell = format!("<td>{:.3e}</td>", number(largest));
        assert!(page.contains("<th>P2P formats</th>") && page.contains(&cell) && page.contains(advice), "{page}");
    }
    assert!(stats(&p, "--n 100 --check 20")["budget"].is_null());
}
