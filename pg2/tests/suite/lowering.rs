//! Lowered pipelines hold together, are the same each time, and lint without a finding.

use crate::graphs::{Build, random, random_choices};
use hdl::Reduce;
use hdl::circuit::target::{Clock, target};
use pg2::backend::lower::lower;
use pg2::graph::{Graph, PinClass};
use pg2::middle::schedule::schedule;
use pg2::middle::simplify::simplify;

fn check(graph: &Graph) -> String {
    let graph = &simplify(graph);
    let clock = Clock::default_clock();
    let s = schedule(graph, clock);
    s.verify(graph).unwrap();
    let netlist = lower(graph, &s, clock, "");
    netlist.verify().unwrap();
    let text = netlist.verilog().unwrap();
    assert_eq!(text, lower(graph, &schedule(graph, clock), clock, "").verilog().unwrap());
    testkit::lint_text(&netlist.top, &text, &format!("{graph}\n{text}"));
    text
}

#[test]
fn names_lead_back_and_may_be_reserved_words() {
    let mut b = Build::new("sums");
    let x = b.pin("reg", PinClass::Ipin, "int32", Some(2));
    let y = b.pin("y", PinClass::Jpin, "int32", None)[0];
    let p = b.pin("p", PinClass::Param, "int32", None)[0];
    let mut s = b.op("add", &[x[0], y]);
    b.name(s, "wire");
    for _ in 0..4 {
        s = b.op("add", &[s, p]);
    }
    let t = b.op("add", &[s, x[0]]);
    b.name(t, "dx[1]");
    b.output("o", Reduce::Sum, t);
    let text = check(&b.done());
    assert!(text.contains("u8_add_dx_1") && text.contains("i_reg_0_d5"), "{text}");
}

#[test]
fn a_pipeline_without_operators_still_takes_a_cycle() {
    for class in [PinClass::Jpin, PinClass::Param] {
        let mut b = Build::new("copy");
        let x = b.pin("x", class, "int9", None)[0];
        b.pin("idle", PinClass::Ipin, "float18.9", Some(3));
        b.output("o", Reduce::Sum, x);
        let g = b.done();
        let s = schedule(&g, Clock::default_clock());
        assert_eq!((s.depth, s.register_bits()), (1, if class == PinClass::Jpin { 9 } else { 0 }));
        check(&g);
    }
}

#[test]
fn random_graphs_of_all_operators_lint() {
    for seed in 1..=4 {
        check(&random(seed, 40));
    }
}

#[test]
fn flags_that_count_now_and_then_lint() {
    for seed in 1..=4 {
        check(&random_choices(seed, 40));
    }
    // What no choice can take has a flag that nothing reads.
    let mut b = Build::new("never");
    let x = b.pin("x", PinClass::Ipin, "float18.9", Some(2));
    let c = b.pin("c", PinClass::Jpin, "uint1", None)[0];
    let q = b.op("fdiv", &[x[0], x[1]]);
    let inner = b.op("mux", &[c, x[0], q]);
    let outer = b.op("mux", &[c, inner, x[1]]);
    b.output("o", Reduce::Max, outer);
    check(&b.done());
}

/// Clocks that cut operators in other places than the usual one.
const OTHER_CLOCKS: [(&str, f64); 3] = [("generic", 60.0), ("max10", 150.0), ("ecp5", 300.0)];

#[test]
fn some_of_the_shipped_kernels_lint() {
    // Those of P2P at one more clock each.
    lint_all(6, |k, _| &OTHER_CLOCKS[k % 3..][..1]);
}

#[test]
#[ignore = "a proof in depth"]
fn every_shipped_kernel_lints_at_every_clock() {
    lint_all(1, |_, _| &OTHER_CLOCKS);
}

/// Lints the paper's kernel and one in so many others, those of P2P at other clocks too.
fn lint_all(one_in: usize, others: impl Fn(usize, &str) -> &'static [(&'static str, f64)]) {
    let m2l = (1..=3).map(|p| (format!("m2l_{p}"), pg2::gen_m2l(p).unwrap()));
    let shipped = pg2::kernels::KERNELS.iter().map(|k| (k.name.to_string(), k.text.to_string()));
    let is_taken = |(k, (name, _)): &(usize, (String, String))| name == "p2p_paper" || k % one_in == 0;
    for (k, (name, text)) in shipped.chain(m2l).enumerate().filter(is_taken) {
        let more = if name.starts_with("p2p") { others(k, &name) } else { &[] };
        for &(family, mhz) in [("generic", 150.0)].iter().chain(more) {
            let clock = Clock { mhz, target: target(family).unwrap(), ..Clock::default_clock() };
            let built = pg2::compile_to_netlist(&name, &text, clock).unwrap_or_else(|e| panic!("{e:?}"));
            built.schedule.verify(&built.graph).unwrap();
            built.netlist.verify().unwrap();
            let what = format!("{name} at {mhz} MHz on {family}");
            testkit::lint_text(&built.netlist.top, &built.netlist.verilog().unwrap(), &what);
        }
    }
}

/// Golden texts: the pipeline module of the paper's kernel, without the operators, and its account. Both change with the
/// latencies of operators; `BLESS=1` writes them anew.
#[test]
fn the_paper_s_pipeline_is_the_recorded_one() {
    let kernel = pg2::kernels::find("p2p_paper").unwrap();
    let built = pg2::compile_to_netlist(kernel.name, kernel.text, Clock::default_clock()).unwrap();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let texts = [
        ("p2p_paper.v", built.netlist.module(&built.netlist.top).unwrap().verilog()),
        ("p2p_paper.txt", pg2::report::explain::explain(&built, kernel.text).to_string()),
    ];
    for (name, text) in texts {
        testkit::golden::check(&folder.join(name), &text);
    }
}
