//! Flags count where their value is demanded: the analysis against plain lazy evaluation.

use crate::graphs::{Build, evaluate, pattern, random_choices};
use hdl::{Flags, Reduce};
use pg2::graph::{Demand, Graph, NodeId, NodeKind, PinClass};
use pg2::middle::simplify::simplify;
use std::collections::HashMap;
use testkit::Random;

/// Flags by the demand that the graph carries, and its values.
fn by_demand(g: &Graph, inputs: &dyn Fn(usize, u32) -> u64) -> (Vec<u64>, Flags) {
    let (values, _) = evaluate(g, inputs);
    let mut flags = Flags::NONE;
    for (k, node) in g.nodes.iter().enumerate() {
        let NodeKind::Op { op, inst, args } = &node.kind else { continue };
        let patterns: Vec<u64> = args.iter().map(|a| values[a.0 as usize]).collect();
        flags |= op.bits(inst, &patterns).1.when(match g.demand(NodeId(k as u32)) {
            Demand::Always => true,
            Demand::Never => false,
            Demand::When(c) => values[c.0 as usize] == 1,
        });
    }
    (values, flags)
}

#[test]
fn demand_is_what_lazy_evaluation_asks_for() {
    let (mut conditional, mut spared) = (0, 0);
    for seed in 0..120 {
        let g = random_choices(seed, 20 + seed as usize);
        let s = simplify(&g);
        s.verify().unwrap();
        assert_eq!(simplify(&s).to_string(), s.to_string(), "simplifying twice changes something\n{g}");
        conditional += s.demand.iter().filter(|d| matches!(d, Demand::When(_))).count();
        let mut r = Random::new(seed);
        for _ in 0..60 {
            let inputs: HashMap<(usize, u32), u64> = (0..g.pins.len())
                .flat_map(|k| (0..g.pins[k].elements()).map(move |e| (k, e)))
                .map(|(k, e)| ((k, e), pattern(&mut r, g.pins[k].format)))
                .collect();
            let of = |pin, element| inputs[&(pin, element)];
            let (values, wanted) = evaluate(&g, &of);
            let (found, flags) = by_demand(&s, &of);
            assert_eq!(flags, wanted, "{inputs:x?}\n{g}\n{s}");
            for (a, b) in g.outputs.iter().zip(&s.outputs) {
                assert_eq!(values[a.value.0 as usize], found[b.value.0 as usize], "{inputs:x?}\n{g}\n{s}");
            }
            // Without demand more would be raised.
            let all = by_demand(&Graph { demand: vec![Demand::Always; s.nodes.len()], ..s.clone() }, &of).1;
            spared += (all != wanted) as u32;
        }
    }
    assert!(conditional > 100 && spared > 100, "{conditional} conditions, {spared} flags spared");
}

fn compiled(text: &str) -> Graph {
    simplify(&pg2::compile("kernel", text).unwrap_or_else(|e| panic!("{text}: {e:#?}")).graph)
}

/// The nodes that can raise a flag, with their demand, and the number of nodes in all.
fn demands(g: &Graph) -> (Vec<(&'static str, Demand)>, usize) {
    let raises = g.nodes.iter().enumerate().filter_map(|(k, node)| match &node.kind {
        NodeKind::Op { op, inst, .. } if !op.flags(inst).is_empty() => Some((op.name(), g.demand(NodeId(k as u32)))),
        _ => None,
    });
    (raises.collect(), g.nodes.len())
}

#[test]
fn what_every_branch_reads_is_demanded_always_and_costs_nothing() {
    let pins = "float18.9 a ipin; float18.9 b jpin; float18.9 y fout;";
    for text in [
        "t = a / b; y max= a > b ? t : -t;",
        "t = a / b; if (a > b) { u = t; } else if (a < b) { u = -t; } else { u = pg_abs(t); } y max= u;",
        "t = a / b; c = a > b; u = c ? t : a; y max= !c ? t : u;",
        "t = a / b; if (a > b) { if (a > 2) { u = t; } else { u = -t; } } else { u = pg_abs(t); } y max= u;",
    ] {
        let (found, _) = demands(&compiled(&format!("{pins} {text}")));
        assert_eq!(found, [("fdiv", Demand::Always)], "{text}");
    }
}

#[test]
fn a_condition_at_hand_is_used_as_it_is() {
    let pins = "float18.9 a ipin; float18.9 b jpin; float18.9 y fout;";
    let g = compiled(&format!("{pins} c = b > 0; y max= c ? a / b : 0;"));
    let (found, nodes) = demands(&g);
    let [("fdiv", Demand::When(c))] = found[..] else { panic!("{g}") };
    let NodeKind::Op { op, .. } = &g.node(c).kind else { panic!("{g}") };
    // Two pins, 0, the comparison, the quotient and the choice.
    assert_eq!((op.name(), nodes), ("lt", 6));
}

#[test]
fn what_no_choice_can_take_is_never_demanded() {
    let pins = "float18.9 a ipin; float18.9 b jpin; uint1 c jpin; float18.9 y fout;";
    let g = compiled(&format!("{pins} u = c ? b : a / b; y max= c ? u : a;"));
    assert_eq!(demands(&g).0, [("fdiv", Demand::Never)], "{g}");
    // A condition that turns out to be known leaves nothing of the other arm.
    let g = compiled(&format!("{pins} y max= (uint1)(c ^ c) ? a / b : a;"));
    assert_eq!((demands(&g).0.len(), g.nodes.len()), (0, 1), "{g}");
}

#[test]
fn long_chains_of_conditions_are_demand_of_linear_size() {
    let arms = 3000;
    let mut b = Build::new("chain");
    let x = b.pin("x", PinClass::Ipin, "float18.9", None)[0];
    let y = b.pin("y", PinClass::Jpin, "float18.9", None)[0];
    let c = b.pin("c", PinClass::Jpin, "uint1", Some(arms));
    let mut value = x;
    for (k, c) in c.iter().enumerate() {
        let arm = b.op(["fmul", "fdiv", "fadd"][k % 3], &[if k % 2 == 0 { x } else { value }, y]);
        value = b.op("mux", &[*c, arm, value]);
    }
    b.output("o", Reduce::Max, value);
    let g = b.done();
    let s = simplify(&g);
    s.verify().unwrap();
    assert!(s.nodes.len() < 8 * arms as usize, "{}", s.nodes.len());
    let mut r = Random::new(1);
    for _ in 0..4 {
        let inputs: Vec<u64> = (0..arms).map(|_| r.below(2) & r.below(2)).collect();
        let (a, b) = (pattern(&mut r, g.pins[0].format), pattern(&mut r, g.pins[1].format));
        let of = |pin: usize, element: u32| [a, b, inputs[element as usize]][pin];
        assert_eq!(by_demand(&s, &of).1, evaluate(&g, &of).1);
    }
}
