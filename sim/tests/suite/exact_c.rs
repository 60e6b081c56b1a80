//! The exact C++ of whole kernels, compiled for the host, against the reference: results and flags of shipped and of random ones.

use crate::common::Work;
use crate::random_kernels::random_kernel;
use hdl::Flags;
use pg2::backend::cuda::{exact, host_text, native};
use pg2::graph::Graph;
use sim::stimuli::Style;
use std::process::Command;

/// How much is compared.
struct Depth {
    /// Pairs of each style of a kernel.
    pairs: usize,
    /// Random kernels.
    random: u64,
    /// M2L of so many orders, beside that of the paper.
    orders: u32,
}

fn kernels(depth: &Depth) -> Vec<(String, String)> {
    let mut list: Vec<(String, String)> =
        pg2::kernels::KERNELS.iter().map(|k| (k.name.to_string(), k.text.to_string())).collect();
    let m2l = |order| (format!("m2l_{order}"), pg2::gen_m2l(order).expect("orders 1 to 8 exist"));
    list.extend((1..=depth.orders).map(m2l));
    list.push(("functions".into(), include_str!("../functions.pg2").into()));
    list.extend(indexed().map(|(k, text)| (format!("indexed_{k}"), text.to_string())));
    let count = std::env::var("CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(depth.random);
    list.extend((1..=count).map(|seed| (format!("random_{seed}"), random_kernel(seed).text())));
    testkit::some(list, 16).collect()
}

/// Kernels with tables and indexed outputs.
fn indexed() -> impl Iterator<Item = (usize, &'static str)> {
    crate::tables::KERNELS.into_iter().chain(crate::bins::KERNELS).enumerate()
}

/// The C caller of a kernel's functions for one target: the first half of the sources and the rest apart, and then joined.
pub fn caller(name: &str, graph: &Graph) -> String {
    let words = graph.elements_of(pg2::graph::PinClass::Jpin).len();
    format!(
        "extern \"C\" uint32_t run_{name}(const uint64_t *i, const uint64_t *j, uint64_t n, const uint64_t *params, uint64_t *out) {{\n\
         Params p; load(p, params);\nTarget t; load(t, i);\nSums s[2];\n\
         for (int half = 0; half < 2; half++) {{\nstart(s[half]);\n\
         for (uint64_t k = half ? n / 2 : 0; k < (half ? n : n / 2); k++) {{\nSource x; load(x, j + k * {words});\n\
         pair(t, x, p, s[half]);\n}}\n}}\njoin(s[0], s[1]);\nreturn finish(s[0], out);\n}}\n"
    )
}

pub type Run = unsafe extern "C" fn(*const u64, *const u64, u64, *const u64, *mut u64) -> u32;

/// The native mode of kernels without floats has the same results; its flags are those of the outputs alone.
#[test]
fn the_native_c_of_tables_and_indexed_outputs_gives_the_results_of_the_reference() {
    let graphs =
        indexed().map(|(k, text)| (format!("indexed_{k}"), pg2::compile("k", text).expect("it compiles").graph));
    let has_floats = |g: &Graph| g.nodes.iter().any(|n| !n.format.is_integral());
    let graphs: Vec<(String, Graph)> = graphs.filter(|(_, g)| !has_floats(g)).collect();
    assert!(graphs.len() >= 4);
    let texts: Vec<String> = graphs.iter().map(|(name, g)| native::functions(g) + &caller(name, g)).collect();
    let parts: Vec<(&str, &str)> = graphs.iter().zip(&texts).map(|((n, _), t)| (n.as_str(), t.as_str())).collect();
    let Some(library) = library(&parts) else { return };
    for (name, graph) in &graphs {
        // SAFETY: the functions of the library have this type.
        let run = unsafe { library.get::<Run>(format!("run_{name}").as_bytes()) }.unwrap();
        let work = Work::random(graph, 300, 5, Style::Ordinary);
        for (described, expected) in work.runs.iter().zip(work.expected(graph)) {
            let sources = work.sources(described);
            for (i, want) in work.i[described.i.0..][..described.i.1].iter().zip(expected) {
                let mut out = vec![0; graph.outputs.len()];
                let (n, j) = (sources.len() as u64, sources.concat());
                // SAFETY: the records have the elements that the function reads, and `out` one place for each output.
                unsafe { run(i.as_ptr(), j.as_ptr(), n, work.params.as_ptr(), out.as_mut_ptr()) };
                assert_eq!(out, want.0, "{name}, i = {i:x?}, {n} sources");
            }
        }
    }
}

/// Compares one kernel on one set of runs.
fn check(name: &str, graph: &Graph, run: Run, work: &Work) {
    for (described, expected) in work.runs.iter().zip(work.expected(graph)) {
        let sources = work.sources(described);
        let (n, j) = (sources.len() as u64, sources.concat());
        for (i, want) in work.i[described.i.0..][..described.i.1].iter().zip(expected) {
            let mut out = vec![0; graph.outputs.len()];
            // SAFETY: the records have the elements that the function reads, and `out` one place for each output.
            let flags = unsafe { run(i.as_ptr(), j.as_ptr(), n, work.params.as_ptr(), out.as_mut_ptr()) };
            let got = (out, Flags(flags as u8));
            assert!(got == want, "{name}, i = {i:x?}, {n} sources: {got:x?}, not {want:x?}");
        }
    }
}

#[test]
fn the_exact_c_of_kernels_gives_the_results_and_flags_of_the_reference() {
    kernels_agree(&Depth { pairs: 300, random: 12, orders: 2 });
}

#[test]
#[ignore = "a proof in depth"]
fn the_exact_c_of_many_kernels_gives_the_results_and_flags_of_the_reference() {
    kernels_agree(&Depth { pairs: 1500, random: 60, orders: 4 });
}

/// The functions of these texts and their callers, compiled for the host; `None` without a compiler.
pub fn library(parts: &[(&str, &str)]) -> Option<libloading::Library> {
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (folder.path().join("kernels.cpp"), folder.path().join("kernels.so"));
    std::fs::write(&source, host_text(parts)).unwrap();
    let mut clang = Command::new("clang++");
    clang.args(["-O0", "-w", "-std=c++17", "-ffp-contract=off", "-fsanitize=undefined", "-fsanitize-trap=undefined"]);
    clang.arg("-fno-sanitize=shift-base");
    let (good, said) = testkit::run(clang.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source))?;
    assert!(good, "{}", said.chars().take(4000).collect::<String>());
    // SAFETY: the library was made above.
    Some(unsafe { libloading::Library::new(&library) }.unwrap())
}

fn kernels_agree(depth: &Depth) {
    let kernels: Vec<(String, Graph)> = kernels(depth)
        .into_iter()
        .map(|(name, text)| {
            let compiled = pg2::compile(&name, &text).unwrap_or_else(|e| panic!("{name}: {e:?}"));
            (name, compiled.graph)
        })
        .collect();
    let texts: Vec<String> = kernels.iter().map(|(name, g)| exact::functions(g) + &caller(name, g)).collect();
    let parts: Vec<(&str, &str)> = kernels.iter().zip(&texts).map(|((n, _), t)| (n.as_str(), t.as_str())).collect();
    let Some(library) = library(&parts) else { return };
    for (name, graph) in &kernels {
        // SAFETY: as above.
        let run = unsafe { library.get::<Run>(format!("run_{name}").as_bytes()) }.unwrap();
        check(name, graph, *run, &Work::random(graph, depth.pairs, 11, Style::Wild { anchor: 0x1234_5678_9abc_def0 }));
        check(name, graph, *run, &Work::random(graph, depth.pairs, 12, Style::Ordinary));
        check(name, graph, *run, &Work::corners(graph, depth.pairs));
    }
}
