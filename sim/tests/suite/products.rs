//! Products in blocks and in logic: the same bits by any budget of multipliers.

use crate::common::built;
use crate::graphs::pattern;
use hdl::Rounding;
use hdl::circuit::target::Clock;
use hdl::op::{Attrs, Inst, hardware, operator};
use hdl::rtl::netlist::Netlist;
use hdl::{Bounds, Format};
use pg2::backend::build::{Built, build};
use pg2::graph::Graph;
use sim::bench::MultiBench;
use testkit::Random;

fn format(name: &str) -> Format {
    name.parse().expect("a format of the test")
}

/// Builds all at once; `None` if verilator is absent.
fn bench(netlists: &[Netlist]) -> Option<MultiBench> {
    built(MultiBench::build_netlists(netlists))
}

/// A use of an operator, and the greatest magnitude of an int argument where that is known.
type Use = (&'static str, Inst, Option<u64>);

/// Every use of an operator that multiplies.
fn uses() -> Vec<Use> {
    let mut uses = Vec::new();
    let mut add = |name: &'static str, args: &[&str], attrs: Attrs, same: bool, most: Option<u64>| {
        let args: Vec<Format> = args.iter().map(|a| format(a)).collect();
        let inst = Inst::new(operator(name).expect("registered"), &args, attrs).expect("fits");
        let bounds = most.map(|m| {
            let least = if args[0].is_signed() && m % 2 == 1 { -(m as i128) } else { 0 };
            vec![Bounds::ints(least, m as i128); 2]
        });
        uses.push((name, Inst { same, bounds: bounds.unwrap_or_default(), ..inst }, most));
    };
    for same in [false, true] {
        for f in ["float4.1", "float6.2", "float16.7", "float18.9", "float25.16", "float32.23", "float64.52"] {
            for round in [Rounding::Nearest, Rounding::Truncate] {
                add("fmul", &[f, f], Attrs { round, ..Attrs::default() }, same, None);
            }
        }
        for f in ["int1", "uint2", "int5", "uint7", "int11", "int22", "uint32", "int64"] {
            add("mul", &[f, f], Attrs::default(), same, None);
        }
        for most in [1, 510, 511, 2046, 2047, 70_001] {
            add("mul", &["int22", "int22"], Attrs::default(), same, Some(most));
            add("mul", &["uint19", "uint19"], Attrs::default(), same, Some(most));
        }
        for f in ["fixed12.7", "ufixed17.9", "fixed32.31", "fixed64.30"] {
            add("xmul", &[f, f], Attrs::default(), same, None);
        }
    }
    for f in ["float4.1", "float6.2", "float16.7", "float18.9", "float32.23"] {
        for n in 2..=4 {
            for round in [Rounding::Nearest, Rounding::Truncate] {
                add("sumsq", &[f; 4][..n], Attrs { round, ..Attrs::default() }, false, None);
            }
        }
    }
    for (n, d) in [(2, 1), (3, 1), (-3, 2)] {
        for f in ["float18.9", "float25.16"] {
            add("pow", &[f], Attrs { n, d, ..Attrs::default() }, false, None);
        }
    }
    uses
}

/// Gives most of the floats exponents below that of the middle by no more than twice a significand.
fn near(row: &mut [u64], f: Format, random: &mut Random) {
    let (middle, fraction) = ((1u64 << f.exp()) / 2, (1 << f.mant()) - 1);
    for x in row {
        let down = random.below(3 * f.mant() as u64 + 6);
        if down < middle && down < 2 * f.mant() as u64 + 4 {
            *x = *x & fraction | (middle - down) << f.mant();
        }
    }
}

/// Random rows of a use, within what is known of its arguments.
fn rows((name, inst, most): &Use, random: &mut Random) -> Vec<Vec<u64>> {
    let row = |_| {
        let mut row: Vec<u64> = inst.args.iter().map(|f| pattern(random, *f)).collect();
        for (x, f) in row.iter_mut().zip(&inst.args) {
            let Some(most) = *most else { continue };
            let negative = inst.bounds(0).low < 0 && *x & 1 == 1;
            *x = if *x % 7 == 0 { most } else { (*x >> 1) % (most + 1) };
            *x = if negative { x.wrapping_neg() & f.mask() } else { *x };
        }
        if inst.same {
            row[1] = row[0];
        }
        if *name == "sumsq" {
            near(&mut row, inst.result, random);
        }
        row
    };
    (0..1500).map(row).collect()
}

#[test]
#[ignore = "a proof in depth"]
fn products_of_every_form_agree_with_their_bits() {
    let mut uses = uses();
    // Once in blocks, once in logic.
    let blocks = uses.len();
    uses.extend(uses.clone());
    let clock = |k: usize| Clock { blocks: (k >= blocks).then_some(0), ..Clock::default_clock() };
    let netlists: Vec<Netlist> = (uses.iter().enumerate())
        .map(|(k, (name, inst, _))| {
            let made = hardware(operator(name).unwrap(), inst, clock(k));
            assert!(made.multipliers == 0 || k < blocks, "{name} {inst:?}");
            Netlist::new([made.module])
        })
        .collect();
    let Some(mut bench) = bench(&netlists) else { return };
    let mut random = Random::new(5);
    let rows: Vec<Vec<Vec<u64>>> = uses.iter().map(|u| rows(u, &mut random)).collect();
    let outputs = bench.run_all(&rows);
    for (k, (name, inst, _)) in uses.iter().enumerate() {
        let op = operator(name).unwrap();
        for (row, got) in rows[k].iter().zip(&outputs[k]) {
            let (bits, raised) = op.bits(inst, row);
            let flags = op.flags(inst);
            let port = flags.iter().enumerate().map(|(k, f)| (raised.contains(f) as u64) << k).sum();
            let wanted = if flags.is_empty() { vec![bits] } else { vec![bits, port] };
            assert_eq!(*got, wanted, "{name} {inst:?} of {row:x?}, blocks {:?}", clock(k).blocks);
        }
    }
}

fn multipliers(built: &Built) -> u32 {
    let modules = (0..built.graph.nodes.len()).filter_map(|k| built.library.module(pg2::graph::NodeId(k as u32)));
    let count = modules.map(|m| m.multipliers).sum();
    // What was built agrees with the account: a multiplier is the only thing that multiplies.
    let text = built.netlist.verilog().unwrap();
    let code = text.lines().map(|l| l.split("//").next().unwrap_or_default());
    assert_eq!(code.filter(|l| l.contains(" * ")).count() as u32, count, "{}", built.graph.name);
    count
}

#[test]
fn pipelines_give_the_same_bits_and_flags_by_any_budget() {
    budgets_agree(&[("p2p_paper", &[0, 1, 3]), ("p2p", &[2])]);
}

#[test]
#[ignore = "a proof in depth"]
fn large_pipelines_give_the_same_bits_and_flags_by_any_budget() {
    budgets_agree(&[("m2l_paper", &[0, 5, 17]), ("p2p", &[0, 1, 3])]);
}

/// Shipped kernels, each with some budgets of multipliers.
fn budgets_agree(kernels: &[(&str, &[u32])]) {
    let mut cases: Vec<(Graph, Built)> = Vec::new();
    for &(name, budgets) in kernels {
        let kernel = pg2::kernels::KERNELS.iter().find(|k| k.name == name).expect("shipped");
        let graph = pg2::compile(name, kernel.text).unwrap().graph;
        for &budget in budgets {
            let clock = Clock { blocks: Some(budget), ..Clock::default_clock() };
            let built = build(&graph, clock, kernel.text, Vec::new());
            let used = multipliers(&built);
            // Each product here is one block, so that nothing of the budget is left.
            assert_eq!(used, budget, "{name}");
            cases.push((graph.clone(), built));
        }
    }
    let netlists: Vec<Netlist> = cases.iter().map(|(_, b)| b.plain()).collect();
    let Some(mut bench) = bench(&netlists) else { return };
    crate::pipeline::check(&mut bench, &cases.iter().map(|(g, b)| (g, b)).collect::<Vec<_>>(), 250);
}
