//! The account of a pipeline adds up to what stands in its Verilog.

use hdl::Reduce;
use hdl::circuit::target::{Clock, target};
use hdl::rtl::netlist::{Item, Module, Netlist};
use pg2::compile_to_netlist;
use pg2::graph::NodeKind;
use pg2::report::explain::explain;

/// Flip-flop bits of a module and everything inside it, counted in the netlist. What stands around a memory that a value waits in, its
/// address and the word that was read, is the memory's.
fn registers(netlist: &Netlist, module: &Module) -> u64 {
    if module.items.iter().any(|item| matches!(item, Item::Memory { .. })) {
        return 0;
    }
    let inside = |item: &Item| match item {
        Item::Instance { module, .. } => registers(netlist, netlist.module(module).unwrap()),
        _ => 0,
    };
    // The word that a table has read is a register in its text.
    let has = |name: &str| module.ports.iter().find(|p| p.name == name);
    let read = if let (Some(_), Some(q)) = (has("write"), has("q")) { q.width as u64 } else { 0 };
    read + module.own_register_bits() + module.items.iter().map(inside).sum::<u64>()
}

#[test]
fn the_sums_are_those_of_the_netlist() {
    let m2l = pg2::gen_m2l(2).unwrap();
    let shipped = pg2::kernels::KERNELS.iter().map(|k| (k.name, k.text));
    let kernels: Vec<(&str, &str)> = shipped.chain([("m2l_2", m2l.as_str())]).collect();
    let clocks = ["generic", "max10", "ecp5"].map(|t| Clock { target: target(t).unwrap(), mhz: 150.0, blocks: None });
    for ((name, text), clock) in kernels.iter().flat_map(|k| clocks.map(|c| (*k, c))) {
        let built = compile_to_netlist(name, text, clock).unwrap();
        built.netlist.verify().unwrap();
        let e = explain(&built, text);
        let top = built.netlist.module(&built.netlist.top).unwrap();
        assert_eq!(e.pipeline_bits(), registers(&built.netlist, top), "{name}");
        assert_eq!(e.rows.iter().map(|r| r.operator_bits + r.delay_bits).sum::<u64>() + e.flag_bits, e.pipeline_bits());
        assert_eq!(e.kinds.iter().map(|k| k.register_bits).sum::<u64>(), e.operator_bits);
        assert_eq!(e.memory_bits > 0, clock.target.name != "generic", "{name}");
        assert!(e.pipeline_bits() + e.memory_bits == e.bound_bits && e.bound_bits <= e.early_bits, "{name}");
        assert!(built.worst <= e.budget && built.worst <= e.worst, "{name}");
        // Sums are cut for the clock; comparisons are not.
        let sums = built.graph.outputs.iter().all(|o| o.reduce == Reduce::Sum);
        assert!(!sums || e.worst <= e.budget, "{name} on {}: {} of {}", clock.target.name, e.worst, e.budget);
    }
}

#[test]
fn what_waits_in_a_kernel_that_is_too_large_for_one_circuit_waits_in_memory_too() {
    let m2l = pg2::gen_m2l(4).unwrap();
    for family in ["generic", "max10", "ecp5"] {
        let clock = Clock { target: target(family).unwrap(), mhz: 150.0, blocks: None };
        let built = compile_to_netlist("m2l_4", &m2l, clock).unwrap();
        assert!(!built.merged);
        // Modules of several kernels can stand in one design.
        assert!(built.netlist.modules.iter().all(|m| m.name.starts_with("m2l_4_")));
        built.netlist.verify().unwrap();
        let e = explain(&built, &m2l[..]);
        let top = built.netlist.module(&built.netlist.top).unwrap();
        assert_eq!(e.pipeline_bits(), registers(&built.netlist, top), "{family}");
        println!("{family}: {} register bits, {} in memory", e.pipeline_bits(), e.memory_bits);
        assert_eq!(e.memory_bits > e.delay_bits, family != "generic", "{family}");
    }
}

#[test]
fn the_paper_s_kernel_has_a_table_to_check_by_hand() {
    let kernel = pg2::kernels::find("p2p_paper").unwrap();
    let built = compile_to_netlist(kernel.name, kernel.text, Clock::default_clock()).unwrap();
    let text = explain(&built, kernel.text).to_string();
    println!("{text}");
    for piece in ["r2", "pow", "int32 -> float18.9", "xj[2]", "longest path", "static"] {
        assert_eq!(text.contains(piece), piece != "static", "{piece}\n{text}");
    }
    assert!(text.lines().all(|l| l == l.trim_end()));
}

#[test]
fn the_picture_has_a_box_for_each_operator_and_a_line_for_each_delay() {
    let kernel = pg2::kernels::find("p2p").expect("a shipped kernel");
    let built =
        pg2::backend::build::compile_to_netlist("p2p", kernel.text, Clock::default_clock()).expect("it compiles");
    let picture = pg2::report::explain::svg(&built, kernel.text);
    let (graph, s) = (&built.graph, &built.schedule);
    let moving = |k: &usize| !s.fixed[*k];
    let nodes = || (0..graph.nodes.len()).filter(moving);
    let operators = nodes().filter(|k| matches!(graph.nodes[*k].kind, NodeKind::Op { .. })).count();
    let waiting: Vec<u64> = nodes().map(|k| s.delay_bits[k]).filter(|bits| *bits > 0).collect();
    // One rectangle more is the background.
    assert_eq!(picture.matches("<rect").count(), operators + 1);
    assert_eq!(picture.matches("<title>waits").count(), waiting.len());
    let drawn: u64 =
        picture.split("cycles: ").filter_map(|t| t.split(" bits</title>").next()?.parse::<u64>().ok()).sum();
    assert_eq!(drawn, waiting.iter().sum());
    assert_eq!(picture.matches("<title>").count(), picture.matches("</title>").count());
}
