//! The Verilog of whole pipelines against the operators' bits: values and flags of every pair, clock by clock.

use crate::common::{Way, built};
use crate::graphs::{evaluate, pattern};
use hdl::circuit::target::{Clock, target};
use pg2::backend::build::{Built, build};
use pg2::graph::{Graph, PinClass};
use sim::bench::MultiBench;
use testkit::Random;

/// Builds all at once; `None` if verilator is absent.
fn bench(pipelines: &[Built]) -> Option<MultiBench> {
    let netlists: Vec<_> = pipelines.iter().map(Built::plain).collect();
    built(MultiBench::build_netlists(&netlists))
}

/// Rows of pin values in port order. Parameters stay the same for `settle` rows before and behind the ones that count.
fn rows(graph: &Graph, r: &mut Random, pairs: usize, settle: usize) -> Vec<Vec<u64>> {
    let classes = [PinClass::Ipin, PinClass::Jpin, PinClass::Param];
    let formats: Vec<Vec<_>> =
        classes.map(|c| graph.elements_of(c).iter().map(|(pin, _)| graph.pins[*pin].format).collect()).to_vec();
    let params: Vec<u64> = formats[2].iter().map(|f| pattern(r, *f)).collect();
    (0..settle + pairs + settle)
        .map(|_| {
            let mut row: Vec<u64> = formats[..2].iter().flatten().map(|f| pattern(r, *f)).collect();
            row.extend(&params);
            row
        })
        .collect()
}

/// Compares pipelines with their *unsimplified* graphs on `pairs` pairs for each of a few settings of the parameters.
pub fn check(bench: &mut MultiBench, cases: &[(&Graph, &Built)], pairs: usize) {
    for seed in 1..=4 {
        let rows_of =
            |(g, built): &(&Graph, &Built)| rows(g, &mut Random::new(seed), pairs, built.schedule.depth as usize);
        let rows: Vec<Vec<Vec<u64>>> = cases.iter().map(rows_of).collect();
        // Entries of tables, the last of the parameters, have no ports.
        let with_ports = |(rows, (g, _)): (&Vec<Vec<u64>>, &(&Graph, &Built))| {
            let classes = [PinClass::Ipin, PinClass::Jpin, PinClass::Param];
            let ports: usize = classes.iter().map(|c| g.ports_of(*c).len()).sum();
            rows.iter().map(|row| row[..ports].to_vec()).collect::<Vec<_>>()
        };
        let outputs = bench.run_all(&rows.iter().zip(cases).map(with_ports).collect::<Vec<_>>());
        for (((g, built), rows), out) in cases.iter().zip(&rows).zip(&outputs) {
            let columns: Vec<(usize, u32)> =
                [PinClass::Ipin, PinClass::Jpin, PinClass::Param].iter().flat_map(|c| g.elements_of(*c)).collect();
            for (row, got) in rows.iter().zip(out).skip(built.schedule.depth as usize).take(pairs) {
                let value = |pin, element| row[columns.iter().position(|c| *c == (pin, element)).unwrap()];
                let (values, flags) = evaluate(g, &value);
                let mut wanted: Vec<u64> = g.outputs.iter().map(|o| values[o.value.0 as usize]).collect();
                wanted.push(flags.0 as u64);
                assert_eq!(got, &wanted, "{} with inputs {row:x?}", g.name);
            }
        }
    }
}

/// Shipped kernels on `pairs` pairs.
fn shipped_agree(kernels: impl Iterator<Item = pg2::kernels::Kernel>, pairs: usize) {
    let kernels: Vec<_> = kernels.collect();
    let clock = Clock::default_clock();
    // Nothing loads the memories of a pipeline alone, and sums in memory are a place and a value of each pair.
    let graph = |k: &pg2::kernels::Kernel| {
        let graph = pg2::compile(k.name, k.text).unwrap().graph;
        let mut r = Random::new(7);
        let params: Vec<u64> = graph
            .elements_of(PinClass::Param)
            .iter()
            .map(|(pin, _)| pattern(&mut r, graph.pins[*pin].format))
            .collect();
        pg2::middle::bins::gathered(&graph.bound(&params, false).unwrap_or(graph))
    };
    let graphs: Vec<Graph> = kernels.iter().map(graph).collect();
    let built: Vec<Built> = graphs.iter().zip(&kernels).map(|(g, k)| build(g, clock, k.text, Vec::new())).collect();
    let Some(mut bench) = bench(&built) else { return };
    check(&mut bench, &graphs.iter().zip(&built).collect::<Vec<_>>(), pairs);
}

/// Shipped kernels by their names.
fn named(names: &'static [&'static str]) -> impl Iterator<Item = pg2::kernels::Kernel> {
    names.iter().map(|name| pg2::kernels::find(name).expect("it is shipped"))
}

// Engines of shipped kernels are simulated in `kernels.rs`; here every pair is compared, not its sums alone. `products.rs` has
// pipelines of P2P.
#[test]
fn the_pipelines_of_some_of_the_shipped_kernels_give_the_bits_and_flags_of_their_graphs() {
    shipped_agree(testkit::some(Way::Pipeline.kernels().copied(), 3).chain(named(&["p2p_small", "m2l_1"])), 500);
}

#[test]
#[ignore = "a proof in depth"]
fn the_pipelines_of_shipped_kernels_give_the_bits_and_flags_of_their_graphs() {
    shipped_agree(pg2::kernels::KERNELS.iter().copied().chain(named(&["m2l_1"])), 10_000);
}

#[test]
fn random_pipelines_of_all_operators_give_the_bits_and_flags_of_their_graphs() {
    random_agree(10, 120);
}

#[test]
#[ignore = "a proof in depth"]
fn many_random_pipelines_of_all_operators_give_the_bits_and_flags_of_their_graphs() {
    random_agree(48, 1000);
}

/// So many random graphs, on so many pairs.
fn random_agree(graphs: u64, pairs: usize) {
    let mhz = [40.0, 100.0, 150.0, 250.0];
    let graphs: Vec<Graph> = (0..graphs).map(|seed| crate::graphs::random(1000 + seed, 40)).collect();
    let built: Vec<Built> = graphs
        .iter()
        .enumerate()
        .map(|(k, g)| {
            // Waits in flip-flops, in block memory and in tables.
            let family = ["generic", "max10", "ecp5"][k % 3];
            build(g, Clock { mhz: mhz[k % 4], target: target(family).unwrap(), blocks: None }, "", Vec::new())
        })
        .collect();
    let Some(mut bench) = bench(&built) else { return };
    check(&mut bench, &graphs.iter().zip(&built).collect::<Vec<_>>(), pairs);
}

/// Pipelines that are written operator by operator, as those of kernels too large for one circuit.
#[test]
fn operators_with_waits_in_memory_give_the_bits_and_flags_of_their_graphs() {
    let cases = [("p2p_paper", "max10"), ("p2p", "ecp5"), ("gravity_log", "ice40"), ("lennard_jones", "gowin")];
    let graph = |name: &str| pg2::compile(name, pg2::kernels::find(name).expect("it is shipped").text).unwrap().graph;
    let graphs: Vec<Graph> = cases.iter().map(|(name, _)| graph(name)).collect();
    let apart = |(k, g): (usize, &Graph)| {
        let family = cases[k].1;
        let clock = Clock { mhz: 150.0, target: target(family).unwrap(), blocks: None };
        let merged = build(g, clock, "", Vec::new());
        let schedule = pg2::middle::schedule::schedule(&merged.graph, clock);
        let netlist = pg2::backend::lower::lower(&merged.graph, &schedule, clock, "");
        netlist.verify().unwrap();
        Built { netlist, schedule, ..merged }
    };
    let built: Vec<Built> = graphs.iter().enumerate().map(apart).collect();
    for kind in ["delay_memory", "delay_table"] {
        let modules = built.iter().flat_map(|b| &b.netlist.modules);
        assert!(modules.filter(|m| m.name.contains(kind)).count() > 3, "{kind}");
    }
    let Some(mut bench) = bench(&built) else { return };
    check(&mut bench, &graphs.iter().zip(&built).collect::<Vec<_>>(), 300);
}

/// Conversions that enter a sum, from floats of many significands into formats of many widths.
const SUMS: &str = "float9.3 a jpin; float10.4 b jpin; float12.6 c jpin; float18.9 d jpin; float25.16 e jpin;
    float32.23 f jpin; float64.52 g jpin; uint1 h jpin;
    fixed20.8 a0 fout; ufixed20.8 a1 fout; int40 a2 fout; fixed64.60 b0 fout; fixed24.12 b1 fout; fixed33.4 c0 fout;
    int64 d0 fout; uint64 d1 fout; fixed64.63 d2 fout; fixed64.30 e0 fout; int41 e1 fout; fixed64.16 f0 fout; int64 g0 fout;
    fixed20.8 h0 fout;
    a0 += (fixed20.8)a; a1 += (ufixed20.8)pg_abs(a); a2 += (int40)a; b0 += (fixed64.60)b; b1 += (fixed24.12)b;
    c0 += (fixed33.4)c; d0 += (int64)d; d1 += (uint64)pg_abs(d); d2 += (fixed64.63)d; e0 += (fixed64.30)e;
    e1 += (int41)e; f0 += (fixed64.16)f; g0 += (int64)g; h0 += (fixed20.8)(h ? -a : pg_abs(a));";

#[test]
fn terms_of_sums_give_the_bits_and_flags_of_their_conversions() {
    let graph = pg2::compile("sums", SUMS).unwrap().graph;
    let built: Vec<Built> = ["generic", "max10"]
        .map(|t| build(&graph, Clock { mhz: 150.0, target: target(t).unwrap(), blocks: None }, SUMS, Vec::new()))
        .into();
    // Most of these are wide enough for the terms' form.
    let terms = built[0].netlist.module(&built[0].netlist.top).unwrap().ports.iter();
    assert!(terms.filter(|p| p.name.ends_with("_window")).count() >= 9);
    let Some(mut bench) = bench(&built) else { return };
    check(&mut bench, &built.iter().map(|b| (&graph, b)).collect::<Vec<_>>(), 8000);
}

/// Scalings in front of a conversion that enters a sum: float, amount, what is converted, and the sum's format.
const SCALED: &[(&str, &str, &str, &str)] = &[
    ("float18.9", "int8", "x << 45", "int64"),
    ("float18.9", "int8", "x << 100", "int64"),
    ("float18.9", "int8", "x << 200", "int64"),
    ("float18.9", "int8", "x >> 30", "fixed64.30"),
    ("float18.9", "int8", "pg_abs(x) << 60", "uint64"),
    ("float10.4", "int8", "x << 3", "fixed40.8"),
    ("float18.9", "int16", "x << n", "int64"),
    ("float18.9", "int16", "x >> n", "fixed64.16"),
    ("float18.9", "int8", "x << n", "int64"),
    ("float18.9", "uint6", "x << n", "fixed64.40"),
    ("float18.9", "uint9", "x >> n", "int64"),
    ("float18.9", "int64", "pg_abs(x) << n", "uint48"),
    ("float25.16", "int10", "x << n", "fixed64.63"),
    ("float14.3", "uint32", "x >> n", "int40"),
];

#[test]
fn scalings_in_terms_of_sums_give_the_bits_and_flags_of_the_two_operators() {
    let text = |(float, amount, expr, sum): &(&str, &str, &str, &str)| {
        format!("{float} x jpin; {amount} n param; {sum} o fout; o += ({sum})({expr});")
    };
    let graphs: Vec<Graph> =
        (0..).zip(SCALED).map(|(k, case)| pg2::compile(&format!("scaled_{k}"), &text(case)).unwrap().graph).collect();
    let build_for = |g: &Graph| {
        ["generic", "max10"]
            .map(|t| build(g, Clock { mhz: 150.0, target: target(t).unwrap(), blocks: None }, "", Vec::new()))
    };
    let built: Vec<Built> = graphs.iter().flat_map(build_for).collect();
    let Some(mut bench) = bench(&built) else { return };
    check(&mut bench, &built.iter().enumerate().map(|(k, b)| (&graphs[k / 2], b)).collect::<Vec<_>>(), 2000);
}
