//! `pairforge fmm` from end to end: errors against direct summation, the same bits everywhere, odd particles.

mod boards;
mod card;
mod defaults;
mod files;
mod own_kernels;
mod periodic;
mod problems;
mod random;
mod ranks;
mod tuning;

use crate::common::{Ended, Place, has_verilator, shipped};
use serde_json::Value;

const DISTRIBUTIONS: [&str; 5] = ["uniform", "normal", "layer", "sphere", "plummer"];
const CHARGES: [&str; 3] = ["random", "positive", "mass"];

/// x, y, z, q of one particle.
type Particle = [f64; 4];
/// Potential and gradient at one particle.
type Force = [f64; 4];

/// Runs an FMM that must succeed without a word on stderr, but for one of what P2P alone leaves out.
fn run(p: &Place, words: &str) -> Ended {
    let ended = p.run(&format!("fmm {words}")).expect(0);
    assert!(ended.err.is_empty() || words.contains("--near-only"), "{words}: {}", ended.err);
    ended
}

/// The statistics of a run.
fn stats(p: &Place, words: &str) -> Value {
    run(p, &format!("{words} --json s.json"));
    p.json("s.json")
}

/// The numbers of a CSV file under the given header.
fn numbers(text: &str, header: &str) -> Vec<Vec<f64>> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(header));
    lines.map(|l| l.split(',').map(|n| n.parse().expect("a number")).collect()).collect()
}

fn forces(p: &Place, words: &str) -> Vec<Force> {
    run(p, &format!("{words} -o f.csv"));
    let rows = numbers(&p.text("f.csv"), "potential,gx,gy,gz");
    rows.into_iter().map(|r| r.try_into().expect("four columns")).collect()
}

fn particles(p: &Place, name: &str) -> Vec<Particle> {
    numbers(&p.text(name), "x,y,z,q").into_iter().map(|r| r.try_into().expect("four columns")).collect()
}

fn write(p: &Place, name: &str, list: &[Particle]) {
    let rows: String = list.iter().map(|[x, y, z, q]| format!("{x:?},{y:?},{z:?},{q:?}\n")).collect();
    p.write(name, format!("x,y,z,q\n{rows}"));
}

/// The field of one source at one target, and the sizes of potential and gradient that rounding errors are relative to.
fn pair(t: &Particle, s: &Particle, eps: f64) -> Force {
    let d = [0, 1, 2].map(|a| s[a] - t[a]);
    if d == [0.0; 3] {
        return [0.0; 4];
    }
    let r = (d.iter().map(|x| x * x).sum::<f64>() + eps * eps).sqrt();
    let slope = s[3] / (r * r * r);
    [s[3] / r, slope * d[0], slope * d[1], slope * d[2]]
}

/// Direct summation, written independently of the program's own; with sums of magnitudes of potential and gradient.
fn direct(list: &[Particle], eps: f64) -> Vec<(Force, [f64; 2])> {
    let one = |t: &Particle| {
        let (mut sum, mut size) = ([0.0; 4], [0.0; 2]);
        for s in list {
            let f = pair(t, s, eps);
            (0..4).for_each(|a| sum[a] += f[a]);
            size[0] += f[0].abs();
            size[1] += (f[1] * f[1] + f[2] * f[2] + f[3] * f[3]).sqrt();
        }
        (sum, size)
    };
    list.iter().map(one).collect()
}

/// The edge of the box and the largest charge rounded up to a power of two.
fn units(list: &[Particle]) -> (f64, f64) {
    let extent = |a: usize| {
        let column = || list.iter().map(|p| p[a]);
        column().fold(f64::MIN, f64::max) - column().fold(f64::MAX, f64::min)
    };
    let q = list.iter().fold(0.0, |a: f64, p| a.max(p[3].abs()));
    ((0..3).map(extent).fold(0.0, f64::max), q.log2().ceil().exp2())
}

/// Asserts that forces of pipelines are those of `wanted` up to the formats: sixteen roundings of half an ulp of float25.16
/// on the way of a pair, the rounding of coordinates to 2^-31 of the box, and one rounding of each output for each source.
fn close_to(what: &str, list: &[Particle], found: &[Force], wanted: &[(Force, [f64; 2])]) {
    let (edge, q) = units(list);
    let n = list.len() as f64;
    assert_eq!(found.len(), wanted.len());
    for (k, (f, (w, size))) in found.iter().zip(wanted).enumerate() {
        let bounds = [
            16.0 * 2f64.powi(-17) * size[0] + n * 2f64.powi(-31) * q / edge,
            16.0 * 2f64.powi(-17) * size[1] + n * 2f64.powi(-17) * q / (edge * edge),
        ];
        for a in 0..4 {
            let bound = bounds[(a > 0) as usize];
            assert!((f[a] - w[a]).abs() <= bound, "{what}: particle {k}, {a}: {} not {} +- {bound}", f[a], w[a]);
        }
    }
}

#[test]
fn errors_are_those_that_are_expected() {
    // The table of the rules for N = 2e4 and leaf 64 was found with other random numbers: half as much on either side.
    let p = Place::new();
    type Row = (u32, f64, f64);
    let table: [(&str, &[Row]); 2] =
        [("random", &[(2, 2.5e-3, 1.6e-2), (6, 1.9e-4, 1.2e-3)]), ("positive", &[(4, 8e-4, 1.4e-3)])];
    for (charge, orders) in table {
        for (order, low, high) in orders {
            let words = format!("--n 20000 --charge {charge} --order {order} --leaf 64 --check 500");
            let error = |backend: &str| {
                let s = stats(&p, &format!("{words} --backend {backend}"));
                let e = |key: &str| s["error"][key].as_f64().expect("a number");
                assert_eq!(s["error"]["samples"], 500);
                (e("potential_rel_l2"), e("gradient_rel_l2"))
            };
            let cpu = error("cpu");
            println!("{charge} {order}: {cpu:.2?}");
            assert!(cpu.1 > low / 1.5 && cpu.1 < high * 1.5, "{charge} {order}: {cpu:?}");
            // The kernels on the emulator, of the middle order alone but in depth.
            if *order > 4 || *order < 4 && !testkit::in_depth() {
                continue;
            }
            // Rounding of P2P alone is 1.4e-5 at M = 16; M2L rounds a small part of the field about as much again.
            let emulator = error("emulator");
            assert!((emulator.1 - cpu.1).abs() < 6e-5, "{charge} {order}: {emulator:?} {cpu:?}");
            assert!((emulator.0 - cpu.0).abs() < 6e-5, "{charge} {order}: {emulator:?} {cpu:?}");
        }
    }
}

#[test]
fn every_distribution_and_charge_agrees_with_direct_summation() {
    agrees_with_direct_summation(|dist, charge| dist % CHARGES.len() == charge);
}

#[test]
#[ignore = "a proof in depth"]
fn every_charge_of_every_distribution_agrees_with_direct_summation() {
    agrees_with_direct_summation(|_, _| true);
}

/// Of the distributions and charges those that are chosen by their numbers.
fn agrees_with_direct_summation(is_chosen: fn(usize, usize) -> bool) {
    let p = Place::new();
    for (d, dist) in DISTRIBUTIONS.into_iter().enumerate() {
        for (_, charge) in CHARGES.into_iter().enumerate().filter(|(c, _)| is_chosen(d, *c)) {
            let words = format!("--n 1200 --leaf 24 --dist {dist} --charge {charge} --seed 5");
            let mut last = f64::INFINITY;
            run(&p, &format!("{words} --backend cpu --save-particles p.csv -o f.csv"));
            let list = particles(&p, "p.csv");
            let wanted = direct(&list, 0.0);
            for order in [4, 8] {
                let found = forces(&p, &format!("{words} --order {order} --backend cpu"));
                let e = error(&found, &wanted);
                println!("{dist} {charge} {order}: {e:.2e}");
                assert!(e < last, "{dist} {charge} order {order}: {e} after {last}");
                last = e;
                if order == 4 {
                    let emulated = forces(&p, &format!("{words} --backend emulator"));
                    // What pipelines add to the expansion's error: the bound of close_to as a norm, far field included.
                    let (edge, q) = units(&list);
                    let bound = |w: &(Force, [f64; 2])| {
                        32.0 * 2f64.powi(-17) * w.1[1] + 2000.0 * 2f64.powi(-17) * q / (edge * edge)
                    };
                    let norm = |x: f64| {
                        wanted.iter().map(|w| w.0[1].powi(2) + w.0[2].powi(2) + w.0[3].powi(2)).sum::<f64>().sqrt() / x
                    };
                    let added = 1.0 / norm(wanted.iter().map(|w| bound(w).powi(2)).sum::<f64>().sqrt());
                    let e = error(&emulated, &wanted);
                    assert!(e < last + added, "{dist} {charge}: {e} on the emulator, {last} on the CPU, bound {added}");
                    assert!(added < 0.05, "{dist} {charge}: a bound of {added} says nothing");
                }
            }
            assert!(last < 2e-3, "{dist} {charge}: {last}");
        }
    }
}

/// Relative L2 error of the gradient.
fn error(found: &[Force], wanted: &[(Force, [f64; 2])]) -> f64 {
    assert_eq!(found.len(), wanted.len());
    let (mut off, mut size) = (0.0, 0.0);
    for (f, (w, _)) in found.iter().zip(wanted) {
        for a in 1..4 {
            off += (f[a] - w[a]).powi(2);
            size += w[a].powi(2);
        }
    }
    (off / size).sqrt()
}

#[test]
fn results_do_not_depend_on_threads_pipelines_or_memory() {
    results_do_not_depend([0, 0, 1, 0]);
}

#[test]
#[ignore = "a proof in depth"]
fn results_do_not_depend_on_any_of_the_simulated_engines() {
    results_do_not_depend([4, 0, 4, 0]);
}

/// `cycles`: how many of the simulated engines, whose builds take longest, for each problem.
fn results_do_not_depend(cycles: [usize; 4]) {
    let p = Place::new();
    let verilator = has_verilator();
    let problems = [
        "--n 700 --leaf 20 --dist plummer --order 2",
        "--n 700 --leaf 20 --dist plummer --order 3",
        "--n 700 --leaf 30 --order 2 --p2p p2p_paper --m2l m2l_paper",
        "--n 1000 --leaf 48 --dist sphere --eps 0.01",
    ];
    for (words, cycles) in problems.into_iter().zip(cycles) {
        run(&p, &format!("{words} --backend emulator -o first.csv"));
        let first = p.bytes("first.csv");
        assert!(first.len() > 10_000);
        let mut options = vec![
            "--threads 1".to_string(),
            "--threads 2 --pipelines 1".into(),
            "--threads 3 --pipelines 3 --jmem 4096".into(),
            "--pipelines 255 --jmem 65536 --stream 64".into(),
            "--pipelines 8 --jmem 300 --stream 128".into(),
            "--pipelines 12 --groups 4 --jmem 3000 --stream 64".into(),
        ];
        if verilator {
            let simulated = [
                "--backend cycle --threads 2 --pipelines 16 --jmem 4096 --stream 128",
                "--backend cycle",
                "--backend cycle --threads 1 --pipelines 3 --jmem 4096 --stream 64",
                "--backend cycle --threads 3 --pipelines 1 --jmem 16384 --stream 128",
            ];
            options.extend(simulated.iter().take(cycles).map(|s| s.to_string()));
        }
        let count = if cycles > 1 { options.len() } else { 4 };
        for o in testkit::some(options, count) {
            let on = if o.contains("--backend") { "" } else { "--backend emulator" };
            run(&p, &format!("{words} {o} {on} -o other.csv"));
            assert!(first == p.bytes("other.csv"), "{words} with {o} gives other results");
        }
    }
    let cpu = |threads: u32| {
        run(&p, &format!("--n 3000 --dist plummer --backend cpu --threads {threads} -o other.csv"));
        p.bytes("other.csv")
    };
    assert!(cpu(1) == cpu(2) && cpu(1) == cpu(3));
}

#[test]
fn few_particles_are_right_on_every_backend() {
    let p = Place::new();
    let verilator = has_verilator();
    // The order changes nothing here, and simulations of low orders are built sooner.
    for backend in ["cpu", "emulator", "cycle --order 2"].iter().filter(|b| verilator || !b.starts_with("cycle")) {
        write(&p, "p.csv", &[]);
        assert!(forces(&p, &format!("--particles p.csv --backend {backend} --check 5")).is_empty());
        write(&p, "p.csv", &[[3.0, -4.0, 5.0, 7.0]]);
        let s = stats(&p, &format!("--particles p.csv --backend {backend} --check 5"));
        assert_eq!((&s["n"], &s["error"]["samples"]), (&1.into(), &1.into()));
        assert_eq!(forces(&p, &format!("--particles p.csv --backend {backend}")), [[0.0; 4]]);
        let two = [[3.0, -4.0, 5.0, 7.0], [3.0, -4.0, 7.0, -1.0]];
        write(&p, "p.csv", &two);
        let found = forces(&p, &format!("--particles p.csv --backend {backend}"));
        close_to(
            backend,
            &two,
            &found,
            &[([-0.5, 0.0, 0.0, -0.25], [0.5, 0.25]), ([3.5, 0.0, 0.0, -1.75], [3.5, 1.75])],
        );
        // All in one point, and none with a charge.
        write(&p, "p.csv", &vec![[0.1, 0.2, 0.3, 4.0]; 300]);
        assert_eq!(forces(&p, &format!("--particles p.csv --backend {backend}")), vec![[0.0; 4]; 300]);
        let zero: Vec<Particle> = (0..200).map(|k| [k as f64, (k * 7 % 11) as f64, (k * 5 % 13) as f64, 0.0]).collect();
        write(&p, "p.csv", &zero);
        assert_eq!(forces(&p, &format!("--particles p.csv --leaf 10 --backend {backend}")), vec![[0.0; 4]; 200]);
    }
}

#[test]
fn particles_on_cell_borders_are_right() {
    // A grid of 9 points along each edge: most lie on borders of cells, some of them twice or three times over.
    let p = Place::new();
    let mut list: Vec<Particle> = Vec::new();
    for k in 0..729u32 {
        let at = [k % 9, k / 9 % 9, k / 81].map(|x| x as f64 / 8.0);
        (0..1 + k % 3).for_each(|c| list.push([at[0], at[1], at[2], 1.0 + c as f64]));
    }
    write(&p, "p.csv", &list);
    let wanted = direct(&list, 0.0);
    // A pair that is missing or counted twice is an error that no order cures. Cells of edge 1 whose centres are 2 apart
    // hold charges up to sqrt(3)/2 from them: the expansion converges by (sqrt(3)/2) / (2 - sqrt(3)/2) = 0.764 an order.
    let errors = |order: u32| {
        let words = format!("--particles p.csv --backend cpu --leaf 9 --expansion solid --order {order}");
        let found = forces(&p, &words);
        let potential = found.iter().zip(&wanted).map(|(f, w)| ((f[0] - w.0[0]) / w.0[0]).powi(2)).sum::<f64>().sqrt();
        (potential, error(&found, &wanted))
    };
    let (low, high) = (errors(6), errors(20));
    println!("order 6: {low:?}, order 20: {high:?}");
    // The gradient of a term of degree n has n for a factor.
    let fall = 0.764f64.powi(14);
    assert!(high.0 < low.0 * fall && high.1 < low.1 * fall * 21.0 / 7.0, "{low:?} {high:?}");
    // One leaf: P2P alone, to rounding.
    let plain = forces(&p, "--particles p.csv --leaf 5000 --backend emulator");
    close_to("one leaf", &list, &plain, &wanted);
    let emulated = forces(&p, "--particles p.csv --leaf 9 --order 4 --backend emulator");
    let cpu = forces(&p, "--particles p.csv --leaf 9 --order 4 --backend cpu");
    let reference: Vec<(Force, [f64; 2])> = cpu.iter().zip(&wanted).map(|(f, w)| (*f, w.1.map(|s| 2.0 * s))).collect();
    close_to("small leaves", &list, &emulated, &reference);
}

#[test]
fn coincident_particles_do_not_act_and_close_ones_do() {
    // 0 and 1 at one place; 2 and 3 distinct, with one X; 4 far off, so that the box has edge 1.
    let p = Place::new();
    let near = 1e-12;
    let list = [
        [0.25, 0.5, 0.5, 1.0],
        [0.25, 0.5, 0.5, 3.0],
        [0.75, 0.5, 0.5, 0.5],
        [0.75 + near, 0.5, 0.5, 0.25],
        [1.25, 0.5, 0.5, 1.0],
    ];
    write(&p, "p.csv", &list);
    let wanted = direct(&list, 0.0);
    assert!(wanted[2].0[0] > 1e11, "the close pair acts");
    for backend in ["cpu", "emulator"] {
        for leaf in [1, 64] {
            let words = format!("--particles p.csv --leaf {leaf} --order 8 --backend {backend}");
            let found = forces(&p, &words);
            for (k, (f, (w, size))) in found.iter().zip(&wanted).enumerate() {
                for a in 0..4 {
                    // Rounding, and an expansion of order 8 between cells four apart.
                    let bound = 2e-3 * size[(a > 0) as usize];
                    assert!((f[a] - w[a]).abs() <= bound, "{words}: {k} {a}: {} {}", f[a], w[a]);
                }
            }
            assert!((found[2][0] * (list[3][0] - list[2][0]) / 0.25 - 1.0).abs() < 1e-9, "{:?}", found[2]);
            let s = stats(&p, &words);
            assert_eq!(s["shared_grid_points"], if backend == "cpu" { 0 } else { 2 });
        }
    }
}

#[test]
fn softening_agrees_with_a_direct_softened_sum() {
    let p = Place::new();
    for (eps, dist) in [(0.2, "uniform"), (0.01, "plummer")] {
        let words = format!("--n 400 --leaf 400 --dist {dist} --charge positive --eps {eps} --save-particles p.csv");
        let found = forces(&p, &format!("{words} --backend emulator"));
        let list = particles(&p, "p.csv");
        close_to("softened", &list, &found, &direct(&list, eps));
        let s = stats(&p, &format!("{words} --backend cpu --check 400"));
        assert!(s["error"]["gradient_rel_l2"].as_f64() < Some(1e-12), "{s}");
    }
    // The pair at r = 0 stays masked.
    write(&p, "p.csv", &[[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 2.0]]);
    for backend in ["cpu", "emulator"] {
        let found = forces(&p, &format!("--particles p.csv --eps 0.75 --backend {backend}"));
        assert!((found[0][0] - 1.6).abs() < 1e-4 && (found[2][0] - 1.6).abs() < 1e-4, "{found:?}");
    }
    let ended = p.run("fmm --n 10 --p2p p2p_paper --eps 0.1").expect(1);
    assert!(ended.err.contains("`eps2`") && ended.err.contains("--eps"), "{}", ended.err);
}

#[test]
fn kernels_without_an_expansion_need_near_only() {
    let p = Place::new();
    // 1/r^2, in boxes; its `gout` is not the gradient.
    p.write("square.pg2", shipped("p2p").replace("pg_pow(r2, -1, 2)", "pg_inv(r2)"));
    write(&p, "p.csv", &[[0.0, 0.0, 0.0, 1.0], [0.0, 2.0, 0.0, 1.0], [0.0, 0.5, 0.0, 0.5]]);
    let ended = p.run("fmm --particles p.csv --p2p square.pg2").expect(1);
    assert!(ended.err.contains("is not 1/r") && ended.err.contains("--near-only"), "{}", ended.err);
    // The kernel's value for lengths in boxes; as a potential it returns times 1 / B, here 1/2.
    let found = forces(&p, "--particles p.csv --p2p square.pg2 --near-only --backend emulator");
    let wanted = [1.0 + 0.5 * 16.0, 1.0 + 0.5 / 0.5625, 16.0 + 1.0 / 0.5625].map(|x| x / 2.0);
    for (f, w) in found.iter().zip(wanted) {
        assert!((f[0] / w - 1.0).abs() < 1e-4, "{found:?} {wanted:?}");
    }
    // The near field of 1/r itself is what P2P alone gives.
    let ended = p.run("fmm --n 3000 --near-only --json s.json").expect(0);
    assert!(ended.err.starts_with("note: --near-only leaves out"), "{}", ended.err);
    let s = p.json("s.json");
    assert!(s["pairs"]["p2p"].as_u64() > Some(0) && s["pairs"]["m2l"] == 0 && s["streamed"]["m2l"] == 0, "{s}");
}

#[test]
fn smooth_kernels_get_a_far_field() {
    let p = Place::new();
    let square = shipped("p2p").replace("pg_pow(r2, -1, 2)", "pg_inv(r2)").replace("mr * (inr * inr)", "2 * mr * inr");
    p.write("square.pg2", square);
    let run = |words: &str| stats(&p, &format!("--n 4000 --charge positive --p2p square.pg2 --check 100 {words}"));
    for words in [
        "--order 4 --backend emulator",
        "--order 4 --leaf 40",
        "--order 4 --m2l native --expansion chebyshev --backend emulator",
    ] {
        let s = run(words);
        assert!(s["pairs"]["m2l"].as_u64() > Some(0), "{s}");
        assert!(s["error"]["gradient_rel_l2"].as_f64() < Some(2e-3), "{words} {s}");
    }
    let refused = |words: &str, parts: &[&str]| {
        let ended = p.run(&format!("fmm --n 500 {words}")).expect(1);
        parts.iter().for_each(|part| assert!(ended.err.contains(part), "{words}: {}", ended.err));
    };
    refused("--p2p square.pg2 --expansion solid --m2l native", &["is not 1/r", "--expansion chebyshev", "--near-only"]);
    refused("--p2p square.pg2 --expansion cartesian", &["is not 1/r", "--expansion chebyshev"]);
    // 1/kappa is so short that the kernel is 0 wherever cells are far.
    refused("--p2p p2p_yukawa --param kappa=1e9", &["gives 0 at", "units of its parameters", "--near-only"]);
    assert!(p.run("fmm --expansion chebyshev --backend cpu").expect(2).err.contains("is for a P2P kernel"));
}

#[test]
fn kernels_that_do_not_bind_are_explained() {
    let p = Place::new();
    let p2p = shipped("p2p");
    let edits: &[(&str, &str, &[&str])] = &[
        ("mj", "charge", &["`mj jpin` is missing", "`charge`"]),
        ("pout", "phi", &["`pout fout` is missing", "`phi`"]),
        ("fixed32.31", "fixed24.20", &["fixed24.20", "31 fraction bits"]),
        ("fixed32.31", "int24", &["int24", "32 bits"]),
    ];
    for (from, to, parts) in edits {
        p.write("k.pg2", p2p.replace(from, to));
        let ended = p.run("fmm --n 20 --p2p k.pg2").expect(1);
        parts.iter().for_each(|part| assert!(ended.err.contains(part), "{from} {to}: {}", ended.err));
    }
    let ended = p.run("fmm --n 20 --order 4 --m2l m2l_paper").expect(1);
    assert!(ended.err.contains("order 2") && ended.err.contains("--order 2"), "{}", ended.err);
    let ended = p.run("fmm --n 20 --m2l p2p").expect(1);
    assert!(ended.err.contains("`ci[3] ipin` is missing"), "{}", ended.err);
    // Other pins are reported once, and with them the right ones.
    assert!(ended.err.contains("`xi`, `xj`") && ended.err.matches("it knows").count() == 1, "{}", ended.err);
    p.write("m.pg2", p.run("gen m2l --order 4").expect(0).out.replace("ci - cj", "cj - ci"));
    let ended = p.run("fmm --n 20 --m2l m.pg2").expect(1);
    assert!(ended.err.contains("does not compute M2L"), "{}", ended.err);
}

#[test]
fn the_papers_kernel_gives_the_potential_alone() {
    let p = Place::new();
    let s = stats(
        &p,
        "--n 500 --leaf 500 --backend emulator --p2p p2p_paper --order 2 --m2l m2l_paper --check 9999 -o f.csv --save-particles p.csv",
    );
    let e = &s["error"];
    assert!(e["gradient_rel_l2"].is_null() && e["gradient_median"].is_null() && e["gradient_p99"].is_null());
    assert_eq!(e["samples"], 500, "no more targets than there are");
    let found = numbers(&p.text("f.csv"), "potential");
    let wanted = direct(&particles(&p, "p.csv"), 0.0);
    for (f, (w, size)) in found.iter().zip(&wanted) {
        // float18.9: half an ulp in each of difference, square, two sums, root (one ulp) and product.
        assert!((f[0] - w[0]).abs() < 8.0 * 2f64.powi(-10) * size[0], "{f:?} {w:?}");
    }
    assert_eq!(found.len(), 500);
}

#[test]
fn what_is_wrong_is_said_before_any_particle_is_drawn() {
    // So many particles would be refused, or drawn for minutes.
    let p = Place::new();
    let m2l = p.run("gen m2l --order 3").expect(0).out;
    p.write("three.pg2", &m2l);
    p.write("square.pg2", shipped("p2p").replace("pg_pow(r2, -1, 2)", "pg_pow(r2, -2, 2)"));
    let wrong = [
        ("--m2l three.pg2", "three is an M2L kernel of order 3"),
        ("--p2p square.pg2", "is not 1/r"),
        ("--p2p p2p_paper --eps 0.1", "`eps2`"),
        ("--jmem 0 --backend emulator", "holds no record"),
        ("--json no/folder.json", "no does not exist"),
    ];
    for (words, part) in wrong {
        let ended = p.run(&format!("fmm --n 2000000000 {words} --save-particles p.csv")).expect(1);
        assert!(ended.err.contains(part), "{words}: {}", ended.err);
        assert!(!p.path("p.csv").exists(), "{words}");
    }
}

#[test]
fn results_are_finite_or_refused() {
    let p = Place::new();
    // Each once gave infinite or wrong numbers: on an axis, beside an outlier, with a long softening length.
    write(&p, "axis.csv", &[[-1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0], [1e-15, 0.0, 0.0, 1.0]]);
    write(&p, "far.csv", &[[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0], [1e104, 0.0, 0.0, 1.0]]);
    let wanted =
        [("axis.csv", 2, [1e15, 1e30]), ("far.csv", 0, [1.0, 1.0]), ("axis.csv --eps 1e155", 0, [3e-155, 0.0])];
    for backend in ["emulator", "cpu", "cpu --precision f32"] {
        for (words, k, [potential, slope]) in wanted {
            let words = format!("--particles {words} --backend {backend}");
            let found = forces(&p, &words)[k];
            assert!((found[0] / potential - 1.0).abs() < 1e-14, "{words}: {found:?}");
            assert!((found[1] - slope).abs() <= 1e-14 * slope && found[2..] == [0.0; 2], "{words}: {found:?}");
            let e = &stats(&p, &format!("{words} --check 9"))["error"];
            assert!(e.as_object().is_some_and(|e| e.values().all(|x| x.as_f64() < Some(10.0))), "{words}: {e}");
        }
        // The gradient would be 1e320.
        write(&p, "near.csv", &[[0.0, 0.0, 0.0, 1.0], [1e-160, 0.0, 0.0, 1.0]]);
        let ended = p.run(&format!("fmm --particles near.csv --backend {backend} -o none.csv")).expect(1);
        assert!(ended.err.contains("gradient at particle 0") && ended.err.contains("1.8e308"), "{}", ended.err);
        assert!(!p.path("none.csv").exists());
    }
}
