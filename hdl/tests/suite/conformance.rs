//! Every operator's flags, bounds, circuit, signs and other facts against its bits, on uses that are made up by asking it what it takes.

mod accuracy;
mod c_bits;
mod c_text;
mod facts;
mod near;
mod real;

use hdl::circuit::Evaluator;
use hdl::circuit::target::{Clock, TARGETS};
use hdl::op::{Inst, OPERATORS, Operator, circuit, source};
use hdl::{Bounds, Flags};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use testkit::Random;
use testkit::uses::{describe, exhaustive, rows, shown, uses, uses_on};

/// Rows of each use that is not tried exhaustively, in a proof in depth and in a usual run.
const ROWS: usize = 400;
const FEW_ROWS: usize = 150;

/// The findings that are shown of one operator.
const SHOWN: usize = 3;

/// The first findings of an operator, and how many more there are.
fn shown_findings(op: &dyn Operator, mut wrong: Vec<String>) -> Vec<String> {
    let more = wrong.len().saturating_sub(SHOWN);
    wrong.truncate(SHOWN);
    wrong.extend((more > 0).then(|| format!("... and {more} findings more of `{}`", op.name())));
    wrong
}

/// Runs `check` on every operator, on as many threads as there are cores, and fails with what it finds.
fn each_operator(check: impl Fn(&'static dyn Operator) -> Vec<String> + Sync) {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(op) = OPERATORS.get(next.fetch_add(1, Ordering::Relaxed)) {
            let wrong = shown_findings(*op, check(*op));
            found.lock().expect("no holder of the lock panics").extend(wrong);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|s| (0..threads).for_each(|_| drop(s.spawn(work))));
    let found = found.into_inner().expect("no holder of the lock panics");
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn every_operator_keeps_to_its_bits() {
    each_operator(|op| {
        let uses = uses(op);
        if uses.is_empty() {
            let what = "takes none of the arguments that testkit/src/uses.rs makes up: add a list that it takes there";
            return vec![format!("`{}` ({}) {what}", op.name(), source(op))];
        }
        uses.iter().enumerate().filter_map(|(k, inst)| check(op, inst, k)).collect()
    });
}

/// Functions of long significands, and one of a fixed that is steep at its ends.
#[test]
fn functions_on_long_formats_keep_to_their_bits() {
    keep_to_their_bits_on("float28.24 fixed24.22");
}

#[test]
#[ignore = "a proof in depth"]
fn functions_on_the_longest_formats_keep_to_their_bits() {
    keep_to_their_bits_on("float33.30 float48.39 float60.52 float64.52 fixed32.30 ufixed30.29");
}

fn keep_to_their_bits_on(formats: &str) {
    let tried = AtomicUsize::new(0);
    each_operator(|op| {
        let uses = uses_on(op, formats);
        tried.fetch_add(uses.len(), Ordering::Relaxed);
        uses.iter().enumerate().filter_map(|(k, inst)| check(op, inst, k)).collect()
    });
    assert!(tried.into_inner() > 5);
}

/// Operators are compared by their names.
#[test]
fn every_operator_has_a_name_of_its_own() {
    let mut known: HashMap<&str, String> = HashMap::new();
    for op in OPERATORS.iter() {
        if let Some(other) = known.insert(op.name(), source(*op)) {
            panic!("`{}` is the name of two operators, in {other} and in {}", op.name(), source(*op));
        }
    }
}

/// The first error of a use, or `None`.
fn check(op: &dyn Operator, inst: &Inst, k: usize) -> Option<String> {
    let whole = || {
        let rows = rows(inst, if testkit::in_depth() { ROWS } else { FEW_ROWS }, &mut Random::new(k as u64));
        let results: Vec<(u64, Flags)> = rows.iter().map(|row| op.bits(inst, row)).collect();
        statements(op, inst, &rows, &results)
            .or_else(|| facts::wrong(op, inst, &rows, &results))
            .or_else(|| evaluated(op, inst, &rows, &results, clock(k)))
    };
    let wrong = std::panic::catch_unwind(std::panic::AssertUnwindSafe(whole)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Some(format!("panics: {}", text.or(panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default()))
    });
    wrong.map(|wrong| format!("{}: {wrong}", describe(op, inst)))
}

/// Holds results to the flags and bounds that the operator states, and to those of the use of which less is known.
fn statements(op: &dyn Operator, inst: &Inst, rows: &[Vec<u64>], results: &[(u64, Flags)]) -> Option<String> {
    let (stated, bounds) = (op.flags(inst), op.bounds(inst));
    let unknown = Inst { nonneg: 0, bounds: Vec::new(), same: false, ..inst.clone() };
    let mut raised = Flags::NONE;
    for (row, (bits, flags)) in rows.iter().zip(results) {
        let of = || format!("of {}", shown(&inst.args, row));
        let result = || shown(&[inst.result], &[*bits]);
        if hdl::number::exact::check_raw(inst.result, *bits) != Ok(*bits) {
            return Some(format!("`bits` {} gives {bits:#x}, which is no pattern of {}", of(), inst.result));
        }
        if !stated.contains(*flags) {
            return Some(format!("`bits` {} raises {flags:?}, but `flags` states {stated:?}", of()));
        }
        if !bounds.contain(inst.result, *bits) {
            let Bounds { low, high, zero } = bounds;
            let range = format!("{low:#x}..={high:#x}, zero: {zero}");
            return Some(format!("`bits` {} gives {}, outside of `bounds` {range}", of(), result()));
        }
        let plain = op.bits(&unknown, row);
        if plain != (*bits, *flags) {
            return Some(format!("`bits` {} gives {}, but {:#x} where less is known", of(), result(), plain.0));
        }
        raised |= *flags;
    }
    // `Operator::flags` may state more in two cases.
    let approximate = !inst.bounds.is_empty() || op.table(inst).is_some();
    if exhaustive(inst) && !approximate && raised != stated {
        return Some(format!("`flags` states {stated:?}, but all arguments together raise {raised:?}"));
    }
    None
}

/// Targets differ in their multipliers and clears; one budget has no multipliers at all.
fn clock(k: usize) -> Clock {
    let target = &TARGETS[k % TARGETS.len()];
    Clock { target, mhz: target.usual_mhz, blocks: k.is_multiple_of(3).then_some(0) }
}

/// Evaluates the circuit on all rows.
fn evaluated(
    op: &dyn Operator,
    inst: &Inst,
    rows: &[Vec<u64>],
    results: &[(u64, Flags)],
    clock: Clock,
) -> Option<String> {
    let stated = op.flags(inst);
    let columns: Vec<Vec<u64>> = (0..inst.args.len()).map(|k| rows.iter().map(|r| r[k]).collect()).collect();
    let got = Evaluator::new(&circuit(op, inst, clock)).run(&columns);
    for (k, (bits, flags)) in results.iter().enumerate() {
        let raised = stated.iter().enumerate().filter(|(j, _)| got.get(1).is_some_and(|port| port[k] >> j & 1 == 1));
        let raised = raised.fold(Flags::NONE, |all, (_, f)| all | f);
        if (got[0][k], raised) != (*bits as u128, *flags) {
            let of = shown(&inst.args, &rows[k]);
            let wanted = shown(&[inst.result], &[*bits]);
            let (got, target) = (got[0][k], clock.target.name);
            return Some(format!("`circuit` of {of} gives {got:#x} {raised:?} on {target}, not {wanted} {flags:?}"));
        }
    }
    None
}
