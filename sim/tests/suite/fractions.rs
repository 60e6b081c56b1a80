//! Random and shipped kernels by the interpreter in exact fractions, which knows the rules and none of the operators' `bits`: the
//! reference gives the same results and flags, and what simplification makes of a kernel does too.

use crate::random_kernels::random_kernel;
use hdl::op::Inst;
use pg2::graph::{Graph, NodeKind, PinClass};
use pg2::middle::simplify::simplify;
use rayon::prelude::*;
use sim::reference;
use sim::stimuli::{Random, Style, corner_records, records};
use testkit::exact::{Entries, Node, Output, Program, Use, Words};

/// A graph as the interpreter takes it: inputs are the records of targets, sources and parameters one behind the other.
fn program(graph: &Graph) -> Program {
    let classes = [PinClass::Ipin, PinClass::Jpin, PinClass::Param];
    let places: Vec<(usize, u32)> = classes.into_iter().flat_map(|class| graph.elements_of(class)).collect();
    let node = |node: &pg2::graph::Node| match &node.kind {
        NodeKind::Pin { pin, element } => {
            let place = places.iter().position(|p| p == &(*pin, *element));
            Node::Input(place.expect("every element has a place"), node.format)
        }
        NodeKind::Const { bits } => Node::Constant(*bits),
        NodeKind::Op { inst, args, .. } if inst.attrs.lookup.is_some() => {
            let table = inst.attrs.lookup.as_ref().expect("it has a table");
            let words = match &table.loaded {
                None => Words::Here(table.words.clone()),
                Some(loaded) => {
                    let first = places.iter().position(|p| p == &(loaded.pin as usize, 0));
                    Words::Inputs(first.expect("every element has a place"))
                }
            };
            let (limits, indices) = (table.limits(), inst.args.clone());
            let entries = Entries { limits, indices, format: inst.result, words };
            Node::Entry(entries, args.iter().map(|a| a.0 as usize).collect())
        }
        NodeKind::Op { op, inst, args } => {
            let of = Use {
                name: op.name(),
                args: inst.args.clone(),
                result: inst.result,
                n: inst.attrs.n,
                d: inst.attrs.d,
                truncates: inst.truncates(),
            };
            Node::Op(of, args.iter().map(|a| a.0 as usize).collect())
        }
    };
    let output = |o: &pg2::graph::Output| Output {
        value: o.value.0 as usize,
        reduce: o.reduce,
        format: graph.pins[o.pin].format,
    };
    Program { nodes: graph.nodes.iter().map(node).collect(), outputs: graph.outputs.iter().map(output).collect() }
}

/// Compares a kernel on some targets, each with one source and with all of them.
fn check(name: &str, graph: &Graph, targets: usize, sources: usize) {
    let random = &mut Random::new(name.len() as u64 + 1);
    let mut of = |class, n: usize| {
        let mut list = records(graph, class, n.div_ceil(2), Style::Ordinary, random);
        list.extend(records(graph, class, n / 2, Style::Wild { anchor: 0 }, random));
        let corners = corner_records(graph, class);
        for k in (0..list.len()).step_by(3).filter(|_| !corners.is_empty()) {
            list[k] = corners[random.below(corners.len() as u64) as usize].clone();
        }
        list
    };
    let (i, j, params) = (of(PinClass::Ipin, targets), of(PinClass::Jpin, sources), of(PinClass::Param, 2));
    let program = program(graph);
    let inst = |k: usize| -> (&'static dyn hdl::op::Operator, &Inst) {
        match &graph.nodes[k].kind {
            NodeKind::Op { op, inst, .. } => (*op, inst),
            _ => unreachable!("only operators are asked for"),
        }
    };
    let given = |k: usize, args: &[u64]| {
        let (op, inst) = inst(k);
        op.bits(inst, args)
    };
    for (k, target) in i.iter().enumerate() {
        let params = &params[k % 2];
        let pairs: Vec<Vec<u64>> = j.iter().map(|source| [&target[..], source, params].concat()).collect();
        let one = k % j.len();
        for some in [one..one + 1, 0..j.len()] {
            let wanted = program.target(pairs[some.clone()].iter().map(Vec::as_slice), &given);
            let wanted = wanted.unwrap_or_else(|why| panic!("{name}: {why}"));
            let got = reference::target(graph, target, &j[some.clone()], params);
            assert_eq!(got, wanted, "{name}, i = {target:x?}, j = {:x?}, params = {params:x?}", &j[some]);
        }
    }
}

/// Random kernels by their seeds, as written and simplified.
fn random_kernels_agree(seeds: std::ops::RangeInclusive<u64>, targets: usize, sources: usize) {
    seeds.into_par_iter().for_each(|seed| {
        let text = random_kernel(seed).text();
        let graph = pg2::compile("k", &text).unwrap_or_else(|e| panic!("{text}: {e:?}")).graph;
        let name = format!("seed {seed}\n{text}");
        check(&name, &graph, targets, sources);
        check(&format!("simplified {name}"), &simplify(&graph), targets, sources);
    });
}

#[test]
fn random_kernels_agree_with_exact_fractions() {
    random_kernels_agree(1..=60, 3, 6);
}

#[test]
#[ignore = "a proof in depth"]
fn many_random_kernels_agree_with_exact_fractions() {
    random_kernels_agree(1..=1500, 3, 20);
}

#[test]
fn shipped_kernels_agree_with_exact_fractions() {
    pg2::kernels::KERNELS.par_iter().for_each(|kernel| {
        let graph = pg2::compile(kernel.name, kernel.text).expect("shipped kernels compile").graph;
        check(kernel.name, &graph, 3, 6);
    });
}

#[test]
fn a_wrong_bit_or_flag_of_an_operator_is_found() {
    // Each text computes something else than the one whose results it is held to.
    for (right, wrong) in [
        ("o += (int32)(a * b);", "o += (int32)(a * b + a);"),
        ("o += (int32)(a / b);", "o += (int32)(b == 0 ? 0 : a / b);"),
        ("o += (int32)(a > 0 ? 1 / b : 0);", "o += (int32)(1 / b);"),
    ] {
        let of = |text: &str| {
            let text = format!("float8.3 a ipin; float8.3 b jpin; int32 o fout; {text}");
            pg2::compile("k", &text).unwrap_or_else(|e| panic!("{e:?}")).graph
        };
        let (right, wrong) = (of(right), of(wrong));
        let program = program(&right);
        let differs = |a: u64, b: u64| {
            let pair = [a, b];
            let wanted = program.target(std::iter::once(&pair[..]), &|_, _| unreachable!("there are no tables"));
            wanted.expect("nothing is promised") != reference::target(&wrong, &[a], &[vec![b]], &[])
        };
        let valid = |bits: &u64| bits >> 3 & 15 != 15;
        assert!((0..256).filter(valid).any(|a| (0..256).filter(valid).any(|b| differs(a, b))));
    }
}
