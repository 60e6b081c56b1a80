//! Every operator's circuit, evaluated for targets with and without multipliers, against its bits: exhaustively where all arguments
//! together are short, else on corners and random patterns.

use hdl::circuit::Evaluator;
use hdl::circuit::target::{Clock, TARGETS};
use hdl::op::{Attrs, Inst, OPERATORS, Operator, circuit, compare};
use hdl::{Bounds, Flags, Format};
use testkit::Random;
use testkit::uses::rows::corners;
use testkit::uses::{describe, plain_uses, rows};

/// Uses of each operator, about, and samples of each.
const USES: usize = 50;
const SAMPLES: usize = 4_000;

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
fn samples(inst: &Inst, random: &mut Random) -> Vec<Vec<u64>> {
    let rows = rows(inst, SAMPLES, random);
    (0..inst.args.len()).map(|k| rows.iter().map(|r| r[k]).collect()).collect()
}

/// What differs first, or nothing.
fn compare(op: &dyn Operator, inst: &Inst, clock: Clock) -> Option<String> {
    let columns = samples(inst, &mut Random::new(1));
    let mut e = Evaluator::new(&circuit(op, inst, clock));
    let got = e.run(&columns);
    for k in 0..columns[0].len() {
        let args: Vec<u64> = columns.iter().map(|c| c[k]).collect();
        let (bits, flags) = op.bits(inst, &args);
        let raised = op.flags(inst).iter().enumerate().filter(|(j, _)| got.get(1).is_some_and(|f| f[k] >> j & 1 == 1));
        let raised = raised.fold(Flags::NONE, |all, (_, f)| all | f);
        if (bits as u128, flags) != (got[0][k], raised) {
            let text = format!("{}: of {args:x?}: bits {bits:x} {flags:?}", describe(op, inst));
            return Some(format!("{text}, circuit {:x} {raised:?} on {}", got[0][k], clock.target.name));
        }
    }
    None
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
        let step = (uses.len() / USES).max(1);
        for inst in uses.iter().step_by(step) {
            let signs = Inst { nonneg: (1 << inst.args.len()) - 1, ..inst.clone() };
            for (k, clock) in clocks().into_iter().enumerate() {
                wrong.extend(compare(*op, inst, clock));
                if k == 0 {
                    wrong.extend(compare(*op, &signs, clock));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} uses:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
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
                    let mut columns = samples(&Inst { bounds: Vec::new(), ..inst.clone() }, &mut Random::new(2));
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
