//! Every operator's circuit, evaluated for targets with and without multipliers, against its bits: exhaustively where all arguments
//! together are short, else on corners and random patterns.
//!
//! `SAMPLES=1000000` tries so many of each use, and `USES=1000` every use.

use hdl::circuit::target::{Clock, Cost, TARGETS};
use hdl::circuit::{Circuit, Evaluator};
use hdl::op::{Attrs, Inst, OPERATORS, Operator, circuit, compare};
use hdl::{Bounds, Flags, Format};
use std::collections::BTreeMap;
use testkit::Random;
use testkit::uses::rows::corners;
use testkit::uses::{describe, plain_uses, rows};

/// Uses of each operator, about, and samples of each.
const USES: usize = 30;
const SAMPLES: usize = 4_000;

/// The environment's value of a setting, or the default.
fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

const FORMATS: [&str; 17] = [
    "int1",
    "uint1",
    "int5",
    "uint8",
    "int17",
    "int64",
    "uint64",
    "fixed8.4",
    "fixed6.6",
    "ufixed12.5",
    "fixed40.20",
    "float5.2",
    "float9.4",
    "float18.9",
    "float40.30",
    "log8.3",
    "log17.8",
];

/// Columns of valid arguments, by the use's bounds and signs.
fn samples(inst: &Inst, count: usize, random: &mut Random) -> Vec<Vec<u64>> {
    let rows = rows(inst, count, random);
    (0..inst.args.len()).map(|k| rows.iter().map(|r| r[k]).collect()).collect()
}

/// The first difference on each clock, if any. The bits of a use are computed once, and hold for the use with known signs too.
fn compare(op: &dyn Operator, inst: &Inst, clocks: &[Clock]) -> Vec<String> {
    let columns = samples(inst, number("SAMPLES", SAMPLES), &mut Random::new(1));
    let row = |k: usize| columns.iter().map(|c| c[k]).collect::<Vec<u64>>();
    let wanted: Vec<(u64, Flags)> = (0..columns[0].len()).map(|k| op.bits(inst, &row(k))).collect();
    let different = |clock: &Clock| {
        let got = Evaluator::new(&circuit(op, inst, *clock)).run(&columns);
        let stated = op.flags(inst);
        let raised = |k: usize| {
            let set = stated.iter().enumerate().filter(|(j, _)| got.get(1).is_some_and(|f| f[k] >> j & 1 == 1));
            set.fold(Flags::NONE, |all, (_, f)| all | f)
        };
        let found =
            wanted.iter().enumerate().find(|(k, (bits, flags))| (*bits as u128, *flags) != (got[0][*k], raised(*k)));
        found.map(|(k, (bits, flags))| {
            let (circuit, raised, target) = (got[0][k], raised(k), clock.target.name);
            let text = format!("{}: of {:x?}: bits {bits:x} {flags:?}", describe(op, inst), row(k));
            format!("{text}, circuit {circuit:x} {raised:?} on {target}")
        })
    };
    clocks.iter().filter_map(different).collect()
}

fn clocks() -> Vec<Clock> {
    // Targets differ in their multipliers and clears; one budget has no multipliers at all.
    let all = TARGETS.iter().filter(|t| ["generic", "max10"].contains(&t.name));
    all.flat_map(|t| [None, Some(0)].map(|blocks| Clock { target: t, mhz: t.usual_mhz, blocks })).collect()
}

#[test]
fn circuits_compute_the_bits_of_their_operators() {
    let mut wrong = Vec::new();
    for op in OPERATORS.iter() {
        let uses = plain_uses(*op);
        let step = (uses.len() / number("USES", if testkit::in_depth() { USES / 2 } else { USES / 8 })).max(1);
        for inst in uses.iter().step_by(step) {
            let signs = Inst { nonneg: (1 << inst.args.len()) - 1, ..inst.clone() };
            wrong.extend(compare(*op, inst, &clocks()));
            wrong.extend(compare(*op, &signs, &clocks()[..1]));
        }
    }
    assert!(wrong.is_empty(), "{} uses:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}

/// A cost that is stated where it says what the expression does would hide that the two part later.
#[test]
#[ignore = "a proof in depth"]
fn every_stated_cost_says_why_and_is_another_one_somewhere() {
    let mut reasons: BTreeMap<&str, bool> = BTreeMap::new();
    for op in OPERATORS.iter() {
        let uses = plain_uses(*op);
        for inst in uses.iter().step_by((uses.len() / number("USES", USES)).max(1)) {
            for target in TARGETS.iter() {
                let clock = Clock { target, mhz: target.usual_mhz, blocks: None };
                for stated in circuit(*op, inst, clock).stated() {
                    assert!(stated.why.split_whitespace().count() >= 3, "{}: {}", op.name(), stated.why);
                    *reasons.entry(stated.why).or_insert(false) |= stated.matters(target);
                }
            }
        }
    }
    let idle: Vec<&str> = reasons.iter().filter(|r| !*r.1).map(|r| *r.0).collect();
    assert!(reasons.len() > 5 && idle.is_empty(), "of {} reasons these change nothing: {idle:#?}", reasons.len());
}

#[test]
fn a_stated_cost_matters_where_its_time_differs_from_the_expression_s() {
    let clock = Clock::default_clock();
    let mut c = Circuit::new(clock);
    let (a, b) = (c.input("a", 16), c.input("b", 16));
    let sum = c.x(a) + c.x(b);
    c.logic("plain", c.x(a) & c.x(b));
    assert!(c.stated().is_empty());
    c.logic_at("same", sum.clone(), Cost::Add(16), "as the expression tells");
    c.logic_at("short", sum, Cost::Add(4), "the upper bits come late");
    let matters: Vec<bool> = c.stated().iter().map(|s| s.matters(clock.target)).collect();
    assert_eq!(matters, [false, true]);
    assert_eq!(c.stated()[1].why, "the upper bits come late");
}

/// A known second argument leads to shorter circuits.
#[test]
fn extremes_with_constants_are_extremes() {
    let mut wrong = Vec::new();
    for op in [compare::MIN, compare::MAX] {
        for f in FORMATS.map(|name| name.parse::<Format>().unwrap()) {
            for constant in corners(f) {
                let plain = Inst::new(op, &[f, f], Attrs::default()).unwrap();
                for nonneg in [0, 3] {
                    if nonneg == 3 && f.is_signed() && constant >> (f.width() - 1) & 1 == 1 {
                        continue;
                    }
                    let known = vec![Bounds::of(f), Bounds::exactly(f, constant)];
                    let inst = Inst { nonneg, bounds: known, ..plain.clone() };
                    let mut columns = samples(&Inst { bounds: Vec::new(), ..inst.clone() }, 2000, &mut Random::new(2));
                    columns[1].fill(constant);
                    let got = Evaluator::new(&circuit(op, &inst, Clock::default_clock())).run(&columns);
                    let differs = |k: &usize| op.bits(&inst, &[columns[0][*k], constant]).0 as u128 != got[0][*k];
                    if let Some(k) = (0..columns[0].len()).find(differs) {
                        let (name, x) = (op.name(), columns[0][k]);
                        wrong.push(format!("{name} of {f} {x:x} and {constant:x}: {:x}", got[0][k]));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} uses:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}
