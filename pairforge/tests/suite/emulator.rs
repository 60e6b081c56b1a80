//! The FMM through the emulator: its errors are those of the native FMM plus what the formats allow.

use fmm::data::particles::{Field, Particles};
use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::error::measure;
use fmm::octree::{FmmOptions, Plan, Solution};
use pairforge::backends::{self, find};
use pg2::graph::Graph;
use pipelines::octree::offload::Pipelines;

fn compile(name: &str, text: &str) -> Graph {
    pg2::compile(name, text).expect("the kernel compiles").graph
}

fn shipped(name: &str) -> &'static str {
    pg2::kernels::find(name).expect("a shipped kernel").text
}

fn native(p: &Particles, options: &FmmOptions) -> Solution {
    let fmm = Plan::new(p.columns(), options).expect("good options");
    fmm.solve(&p.q, &mut [], &mut |_, _, _| {}).expect("the CPU is always there")
}

fn emulated(p: &Particles, options: &FmmOptions, p2p: &Graph, engine: &backends::BackendOptions) -> Solution {
    let m2l = (!options.near_only)
        .then(|| compile("m2l", &pg2::gen_m2l(options.order as u32).expect("orders 1 to 8 have a kernel")));
    let mut backend = (find("emulator").expect("a backend").0.open)(engine);
    let mut pipelines = Pipelines::new(&mut *backend, p2p, m2l.as_ref());
    let fmm = Plan::new(p.columns(), options).expect("good options");
    fmm.solve(&p.q, &mut [&mut pipelines], &mut |_, _, _| {}).expect("the emulator is always there")
}

fn gradient_error(p: &Particles, s: &Solution) -> f64 {
    measure(p, &s.field, 500, 1, 0.0).gradient_rel_l2.expect("a gradient")
}

#[test]
fn errors_fall_with_order_as_those_of_the_native_fmm_do() {
    let p2p = compile("p2p", shipped("p2p"));
    for (distribution, charge) in [(Distribution::Uniform, Charge::Random), (Distribution::Plummer, Charge::Mass)] {
        let p = generate(1500, distribution, charge, 12);
        let mut last = f64::INFINITY;
        for order in [1, 3, 8] {
            let options = FmmOptions { order, leaf: 32, ..FmmOptions::default() };
            let s = emulated(&p, &options, &p2p, &backends::BackendOptions::default());
            let (found, wanted) = (gradient_error(&p, &s), gradient_error(&p, &native(&p, &options)));
            println!("{distribution:?} order {order}: {found:.3e}, native {wanted:.3e}");
            // Independent errors add in squares; the formats' own is about 1.4e-5 for mixed charges.
            assert!(found < wanted.hypot(5e-5) * 1.02 && found < last, "order {order}: {found} {wanted} {last}");
            last = found;
        }
    }
}

/// Relative L2 distance of two gradients.
fn distance(a: &Field, b: &Field) -> f64 {
    let (a, b) = (a.gradient.as_ref().expect("a gradient"), b.gradient.as_ref().expect("a gradient"));
    let sum = |f: &dyn Fn(usize, usize) -> f64| -> f64 {
        (0..3).flat_map(|c| (0..a[0].len()).map(move |k| (c, k))).map(|(c, k)| f(c, k).powi(2)).sum()
    };
    (sum(&|c, k| a[c][k] - b[c][k]) / sum(&|c, k| b[c][k])).sqrt()
}

#[test]
fn rounding_of_p2p_is_that_of_the_formats() {
    // Relative L2 of the gradient for mixed charges, by fraction bits, as an independent emulation found it; every
    // cloud has its own closest pairs, and so a factor of 4 is allowed.
    let p = generate(4000, Distribution::Uniform, Charge::Random, 3);
    let options = FmmOptions { leaf: 32, near_only: true, ..FmmOptions::default() };
    let exact = native(&p, &options);
    for (format, expected) in [("float18.9", 1.7e-3), ("float21.12", 1.9e-4), ("float25.16", 1.4e-5)] {
        let p2p = compile("p2p", &shipped("p2p").replace("float25.16", format));
        let found = distance(&emulated(&p, &options, &p2p, &backends::BackendOptions::default()).field, &exact.field);
        println!("{format}: {found:.2e} expected {expected:.1e}");
        assert!(found < 4.0 * expected && found > expected / 4.0, "{format}: {found:.2e}");
    }
}

#[test]
fn engines_of_any_size_give_the_same_bits() {
    let p2p = compile("p2p", shipped("p2p"));
    let p = generate(1500, Distribution::Layer, Charge::Random, 3);
    let options = FmmOptions { order: 2, leaf: 24, ..FmmOptions::default() };
    let run = |(pipelines, groups), jmem_words, stream_bits, threads| {
        let engine = backends::BackendOptions {
            pipelines,
            groups,
            jmem_words,
            stream_bits,
            threads,
            ..backends::BackendOptions::default()
        };
        emulated(&p, &options, &p2p, &engine).field
    };
    let first = run((8, 1), 256 * 1024, 32, 1);
    assert!(first == run((3, 1), 2048, 64, 2) && first == run((1, 1), 512, 128, 3));
    assert!(first == run((12, 4), 1024, 64, 2) && first == run((5, 5), 4096, 32, 1));
}

#[test]
fn the_papers_kernels_run_end_to_end() {
    let p = generate(3000, Distribution::Normal, Charge::Positive, 3);
    let options = FmmOptions { order: 2, leaf: 32, ..FmmOptions::default() };
    let m2l = compile("m2l_paper", shipped("m2l_paper"));
    let p2p = compile("p2p_paper", shipped("p2p_paper"));
    let mut backend = (find("emulator").expect("a backend").0.open)(&backends::BackendOptions::default());
    let mut pipelines = Pipelines::new(&mut *backend, &p2p, Some(&m2l));
    let fmm = Plan::new(p.columns(), &options).expect("good options");
    let s = fmm.solve(&p.q, &mut [&mut pipelines], &mut |_, _, _| {}).expect("the emulator is always there");
    let (found, wanted) = (measure(&p, &s.field, 500, 1, 0.0), measure(&p, &native(&p, &options).field, 500, 1, 0.0));
    println!("{found:?} {wanted:?}");
    // One rounding of float18.9 is at most 2^-10; their mean over many pairs is far less.
    assert!(found.gradient_rel_l2.is_none());
    assert!((found.potential_rel_l2 - wanted.potential_rel_l2).abs() < 1e-3, "{found:?} {wanted:?}");
}

#[test]
fn few_and_coincident_particles_pass_through_the_emulator() {
    let p2p = compile("p2p", shipped("p2p"));
    let at = |p: &Particles| emulated(p, &FmmOptions::default(), &p2p, &backends::BackendOptions::default()).field;
    let mut p = Particles::default();
    assert!(at(&p).potential.is_empty());
    p.push([-3.0, 0.0, 1e-9], 0.0);
    assert_eq!(at(&p).potential, [0.0]);
    p.push([-3.0, 2.0, 1e-9], 6.0);
    assert!((at(&p).potential[0] / 3.0 - 1.0).abs() < 1e-4);
    (0..200).for_each(|_| p.push([-3.0, 2.0, 1e-9], 0.0));
    let field = at(&p);
    assert!(field.potential[1..].iter().all(|x| *x == 0.0), "{:?}", &field.potential[..5]);
}
