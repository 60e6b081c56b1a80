//! Simplified graphs give the same bits and flags, and each identity fires.

use crate::graphs::{Build, evaluate, format, pattern, random};
use hdl::Rounding;
use hdl::op::{Attrs, OPERATORS};
use hdl::{Flags, Reduce};
use pg2::graph::{Graph, NodeId, NodeKind, PinClass};
use pg2::middle::simplify::simplify;
use std::collections::HashMap;
use testkit::Random;

/// Values of the outputs and flags for one random assignment of the pins.
fn outcome(g: &Graph, inputs: &HashMap<(usize, u32), u64>) -> (Vec<u64>, Flags) {
    let (values, flags) = evaluate(g, &|pin, element| inputs[&(pin, element)]);
    (g.outputs.iter().map(|o| values[o.value.0 as usize]).collect(), flags)
}

/// Checks that `simplify` keeps bits and flags on random and corner inputs, and gives its result.
fn check(g: &Graph, rounds: u32) -> Graph {
    let s = simplify(g);
    s.verify().unwrap();
    assert_eq!(simplify(&s).to_string(), s.to_string(), "simplifying twice changes something\n{g}");
    let mut r = Random::new(rounds as u64);
    for _ in 0..rounds {
        let mut inputs = HashMap::new();
        for (k, pin) in g.pins.iter().enumerate() {
            inputs.extend((0..pin.elements()).map(|e| ((k, e), pattern(&mut r, pin.format))));
        }
        assert_eq!(outcome(g, &inputs), outcome(&s, &inputs), "{inputs:x?}\n{g}\n{s}");
        what_is_known_holds(&s, &inputs);
    }
    s
}

fn what_is_known_holds(s: &Graph, inputs: &HashMap<(usize, u32), u64>) {
    let (values, _) = evaluate(s, &|pin, element| inputs[&(pin, element)]);
    for (k, node) in s.nodes.iter().enumerate() {
        let NodeKind::Op { op, inst, args } = &node.kind else { continue };
        for (n, a) in args.iter().enumerate().filter(|(n, _)| inst.is_nonneg(*n)) {
            let top = values[a.0 as usize] >> (inst.args[n].width() - 1);
            assert!(inst.args[n].is_signed() && top == 0, "argument {n} of %{k} is negative\n{s}");
        }
        let arguments: Vec<u64> = args.iter().map(|a| values[a.0 as usize]).collect();
        for (n, x) in arguments.iter().enumerate() {
            assert!(inst.bounds(n).contain(inst.args[n], *x), "argument {n} of %{k} is {x:#x}\n{s}");
        }
        let (result, raised) = op.bits(inst, &arguments);
        assert!(op.flags(inst).contains(raised), "%{k} raises {raised:?}\n{s}");
        assert!(op.bounds(inst).contain(inst.result, result), "%{k} is {result:#x}\n{s}");
    }
}

#[test]
fn random_graphs_keep_their_bits_and_flags() {
    let (mut before, mut after) = (0, 0);
    for seed in 0..150 {
        let g = random(seed, 30 + seed as usize);
        before += g.nodes.len();
        after += check(&g, 40).nodes.len();
    }
    assert!(after > 0 && after < before);
}

#[test]
fn every_operator_with_special_constants_keeps_its_bits_and_flags() {
    let formats =
        ["int8", "uint8", "uint1", "int1", "fixed12.5", "fixed8.8", "ufixed9.9", "float9.4", "float18.9", "log9.4"];
    let mut seen = 0;
    for op in OPERATORS.iter() {
        for f in formats.map(format) {
            for g in testkit::some(formats.map(format), 3) {
                // A constant on either side, or one value on both.
                let one = if f.is_log() {
                    3 << (f.width() - 3)
                } else if f.is_float() {
                    (f.bias() as u64) << f.mant()
                } else {
                    1 << f.frac().unwrap_or(0).min(f.width() - 1)
                };
                let mut constants =
                    vec![0, 1 & f.mask(), f.mask(), one, f.min_bits(), f.max_bits(), one << 1 & f.mask(), one >> 1];
                if f.is_log() {
                    let sign = 1u64 << (f.width() - 1);
                    constants =
                        vec![0, one, one | sign, one + 7, one + (1 << f.log_frac()), f.min_bits(), f.max_bits()];
                }
                if f.is_float() {
                    let sign = 1u64 << (f.width() - 1);
                    constants = vec![0, one, one | sign, one + (3 << f.mant()), one - (2 << f.mant()), one | 1 | sign];
                }
                for c in constants {
                    for shape in 0..4 {
                        seen += special(*op, f, g, c, shape) as u32;
                    }
                }
            }
        }
    }
    assert!(seen > 1000, "{seen} uses");
}

/// One operator on a value and a constant; false if the formats do not fit it.
fn special(op: &'static dyn hdl::op::Operator, f: hdl::Format, g: hdl::Format, c: u64, shape: u32) -> bool {
    let mut b = Build::new("special");
    let x = b.pin("x", PinClass::Jpin, &f.to_string(), None)[0];
    let y = b.pin("y", PinClass::Jpin, &g.to_string(), None)[0];
    let k = b.constant(f, c);
    let args: &[NodeId] = match shape {
        0 => &[y, k],
        1 => &[k, y],
        2 => &[x, x],
        _ => &[x],
    };
    let shift = (c % 3) as i32;
    let choices = [
        Attrs::default(),
        Attrs { to: Some(g), ..Attrs::default() },
        Attrs { to: Some(g), round: Rounding::Truncate, ..Attrs::default() },
        Attrs { round: Rounding::Truncate, ..Attrs::default() },
        Attrs { n: shift, ..Attrs::default() },
        Attrs { d: 1 - 2 * (c & 1) as i32, ..Attrs::default() },
        Attrs { n: shift - 1, d: 1, ..Attrs::default() },
    ];
    let mut fits = false;
    for attrs in choices {
        let mut b = Build(b.0.clone());
        if let Ok(v) = b.try_op(op, args, attrs) {
            b.output("o", Reduce::Max, v);
            check(&b.done(), 12);
            fits = true;
        }
    }
    fits
}

/// The dump of the simplified graph of an expression over pins x, y (of `f`), c (uint1) and constants.
fn simplified(f: &str, build: impl Fn(&mut Build, NodeId, NodeId, NodeId) -> NodeId) -> String {
    let mut b = Build::new("rule");
    let x = b.pin("x", PinClass::Ipin, f, None)[0];
    let y = b.pin("y", PinClass::Jpin, f, None)[0];
    let c = b.pin("c", PinClass::Jpin, "uint1", None)[0];
    let v = build(&mut b, x, y, c);
    b.output("o", Reduce::Max, v);
    let s = check(&b.done(), 60);
    let ops = s.nodes.iter().filter_map(|n| match &n.kind {
        NodeKind::Op { op, inst, args } => {
            let args: Vec<String> = args.iter().map(|a| format!("%{}", a.0)).collect();
            Some(format!(
                "{}{} {}",
                op.name(),
                if inst.attrs.n != 0 { inst.attrs.n.to_string() } else { "".into() },
                args.join(" ")
            ))
        }
        _ => None,
    });
    ops.collect::<Vec<_>>().join("; ")
}

const F: &str = "float18.9";

fn float(b: &mut Build, exponent: i32, negative: bool) -> NodeId {
    let f = format(F);
    b.constant(f, ((f.bias() + exponent) as u64) << 9 | (negative as u64) << 17)
}

#[test]
fn floats_times_powers_of_two_become_exponent_shifts() {
    let by = |name: &'static str, e: i32, negative: bool| {
        simplified(F, move |b, x, _, _| {
            let k = float(b, e, negative);
            b.op(name, &[x, k])
        })
    };
    assert_eq!(by("fmul", 3, false), "fscale3 %0");
    assert_eq!(by("fdiv", 3, false), "fscale-3 %0");
    assert_eq!(by("fmul", 0, false), "");
    assert_eq!(by("fmul", 0, true), "fneg %0");
    assert_eq!(simplified(F, |b, x, _, _| b.op("fadd", &[x, x])), "fscale1 %0");
}

#[test]
fn equal_nodes_are_shared_in_either_order() {
    let text = simplified(F, |b, x, y, _| {
        let (p, q) = (b.op("fmul", &[x, y]), b.op("fmul", &[y, x]));
        b.op("fadd", &[p, q])
    });
    assert_eq!(text, "fmul %0 %1; fscale1 %2");
}

#[test]
fn signs_fold_into_sums() {
    let text = simplified(F, |b, x, y, _| {
        let n = b.op("fneg", &[x]);
        b.op("fadd", &[n, y])
    });
    assert_eq!(text, "fsub %1 %0");
}

#[test]
fn a_constant_condition_drops_the_arm_that_is_never_taken() {
    let chosen = |name: &'static str, f: &'static str| {
        simplified(f, move |b, x, y, _| {
            let arm = b.op(name, &[x, y]);
            let yes = b.constant(format("uint1"), 1);
            b.op("mux", &[yes, x, arm])
        })
    };
    assert_eq!(chosen("min", F), "");
    assert_eq!(chosen("fmul", F), "");
    assert_eq!(chosen("mul", "int8"), "");
    assert_eq!(
        simplified("int8", |b, x, y, c| {
            let n = b.op("not", &[c]);
            b.op("mux", &[n, x, y])
        }),
        "mux %2 %1 %0"
    );
}

#[test]
fn constants_fold_unless_they_raise_a_flag() {
    let by = |e: i32| {
        simplified(F, move |b, x, _, _| {
            let (p, q) = (float(b, e, false), float(b, e, true));
            let k = b.op("fmul", &[p, q]);
            b.op("fsub", &[x, k])
        })
    };
    assert_eq!(by(1), "fsub %0 %1");
    assert_eq!(by(100), "fmul %1 %2; fsub %0 %3");
}

#[test]
fn dead_nodes_go_and_do_not_count_for_flags() {
    let text = simplified(F, |b, x, y, _| {
        b.op("fdiv", &[x, y]);
        b.op("max", &[x, y])
    });
    assert_eq!(text, "max %0 %1");
}

#[test]
fn a_sum_of_squares_is_known_not_to_be_negative() {
    let mut b = Build::new("squares");
    let x = b.pin("x", PinClass::Jpin, F, Some(3));
    let s: Vec<NodeId> = x.iter().map(|x| b.op("fmul", &[*x, *x])).collect();
    let two = b.op("fadd", &[s[0], s[1]]);
    let three = b.op("fadd", &[two, s[2]]);
    let root = b.op_with("pow", &[three], Attrs { n: -1, d: 2, ..Attrs::default() });
    b.output("o", Reduce::Max, root);
    let text = check(&b.done(), 50).to_string();
    assert_eq!((text.matches("nonneg=11").count(), text.matches("nonneg=1\n").count()), (2, 1), "{text}");
}
