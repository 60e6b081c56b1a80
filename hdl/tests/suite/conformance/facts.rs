//! Facts that an operator states of itself for the compiler and the emulator, checked against its bits: each statement is tried on
//! the rows of a use.

use hdl::op::facts::{Fold, Outcome, Twice, Unwrapped};
use hdl::op::{Inst, Operator};
use hdl::{Bounds, Flags};
use testkit::uses::rows::{corners, valid};
use testkit::uses::shown;

/// The first error, or `None`.
pub fn wrong(op: &dyn Operator, inst: &Inst, rows: &[Vec<u64>], results: &[(u64, Flags)]) -> Option<String> {
    let known = !inst.bounds.is_empty() || inst.nonneg != 0 || inst.same;
    let plain = || if known { None } else { of_plain(op, inst, rows, results) };
    sign(op, inst, rows, results)
        .or_else(|| before_wrapping(op, inst, rows, results))
        .or_else(|| outcome(op, inst, rows))
        .or_else(|| nothing_left(op, inst, rows, results))
        .or_else(|| lanes(op, inst, rows, results))
        .or_else(plain)
}

/// Facts of which the use says all that they depend on.
fn of_plain(op: &dyn Operator, inst: &Inst, rows: &[Vec<u64>], results: &[(u64, Flags)]) -> Option<String> {
    exchanged(op, inst, rows, results)
        .or_else(|| repeated(op, inst, results))
        .or_else(|| folded(op, inst, rows))
        .or_else(|| low_zeros(op, inst, rows))
}

fn sign(op: &dyn Operator, inst: &Inst, rows: &[Vec<u64>], results: &[(u64, Flags)]) -> Option<String> {
    if !inst.result.is_signed() || !op.nonneg(inst) {
        return None;
    }
    let at = results.iter().position(|r| r.0 >> (inst.result.width() - 1) == 1)?;
    let result = shown(&[inst.result], &[results[at].0]);
    Some(format!("`nonneg` says never negative, but `bits` of {} gives {result}", shown(&inst.args, &rows[at])))
}

/// A result is one of the integers that are stated, wrapped into the format.
fn before_wrapping(op: &dyn Operator, inst: &Inst, rows: &[Vec<u64>], results: &[(u64, Flags)]) -> Option<String> {
    let Unwrapped { low, high, .. } = op.unwrapped(inst)?;
    let turn = 1i128 << inst.result.width();
    let outside = |bits: u64| {
        let x = inst.result.to_int(bits);
        let first = low.saturating_add((x.wrapping_sub(low)).rem_euclid(turn));
        first > high
    };
    let at = results.iter().position(|r| outside(r.0))?;
    let (of, result) = (shown(&inst.args, &rows[at]), shown(&[inst.result], &[results[at].0]));
    Some(format!("`unwrapped` says {low} to {high}, but `bits` of {of} gives {result}, which is none of these wrapped"))
}

fn exchanged(op: &dyn Operator, inst: &Inst, rows: &[Vec<u64>], results: &[(u64, Flags)]) -> Option<String> {
    if !op.commutes() {
        return None;
    }
    if inst.args.len() != 2 {
        return Some(format!("`commutes` of {} arguments", inst.args.len()));
    }
    let same_formats = inst.args[0] == inst.args[1];
    let differs = |(row, result): (&Vec<u64>, &(u64, Flags))| op.bits(inst, &[row[1], row[0]]) != *result;
    let at = rows.iter().zip(results).position(differs).filter(|_| same_formats)?;
    Some(format!("`commutes`, but `bits` of {} differs from that of the exchanged", shown(&inst.args, &rows[at])))
}

fn repeated(op: &dyn Operator, inst: &Inst, results: &[(u64, Flags)]) -> Option<String> {
    let twice = op.twice()?;
    let [format] = inst.args[..] else { return Some("`twice` of several arguments".into()) };
    if inst.result != format {
        return None;
    }
    results.iter().find_map(|(first, _)| {
        // What f(x) becomes is x itself only where f is its own inverse, so that is asked of f(f(f(x))) too.
        let (second, flags) = op.bits(inst, &[*first]);
        let good = match twice {
            Twice::Same => second == *first,
            Twice::Undone => op.bits(inst, &[second]).0 == *first,
        };
        let of = shown(&[format], &[*first]);
        (!good || !flags.is_empty()).then(|| format!("`twice` says {twice:?}, but `bits` of {of} gives {second:#x}"))
    })
}

/// The error in the folding of a use where an argument is constant, where all are one, and where neither is.
fn folded(op: &dyn Operator, inst: &Inst, rows: &[Vec<u64>]) -> Option<String> {
    let none = vec![None; inst.args.len()];
    let mut found = one_fold(op, inst, &none, rows.iter().cloned());
    if found.is_none() && inst.args.len() > 1 && inst.args.iter().all(|f| *f == inst.args[0]) {
        let same = Inst { same: true, ..inst.clone() };
        found = one_fold(op, &same, &none, rows.iter().map(|row| vec![row[0]; row.len()]));
    }
    for k in 0..inst.args.len() {
        for c in corners(inst.args[k]) {
            let mut constants = none.clone();
            constants[k] = Some(c);
            found = found.or_else(|| {
                let with = |row: &Vec<u64>| row.iter().enumerate().map(|(j, x)| if j == k { c } else { *x }).collect();
                one_fold(op, inst, &constants, rows.iter().map(with))
            });
        }
    }
    found
}

fn one_fold(
    op: &dyn Operator,
    inst: &Inst,
    constants: &[Option<u64>],
    mut rows: impl Iterator<Item = Vec<u64>>,
) -> Option<String> {
    let fold = op.fold(inst, constants)?;
    rows.find_map(|row| {
        let want = match fold {
            Fold::Arg(k) => row[k],
            Fold::Const(bits) => bits,
        };
        let (bits, flags) = op.bits(inst, &row);
        let message = || {
            let known = if inst.same { "equal arguments".into() } else { format!("constants {constants:x?}") };
            format!("`fold` of {known} gives {fold:x?}, but `bits` of {} {bits:#x} {flags:?}", shown(&inst.args, &row))
        };
        ((bits, flags) != (want, Flags::NONE)).then(message)
    })
}

fn low_zeros(op: &dyn Operator, inst: &Inst, rows: &[Vec<u64>]) -> Option<String> {
    if !inst.result.is_integral() || !inst.args.iter().all(|f| f.is_integral()) {
        return None;
    }
    rows.iter().enumerate().take(200).find_map(|(n, row)| {
        let zeros: Vec<u32> =
            inst.args.iter().enumerate().map(|(k, f)| (n * (2 * k + 1)) as u32 % f.width().min(9)).collect();
        let row: Vec<u64> = row.iter().zip(&zeros).map(|(x, z)| x >> z << z).collect();
        let (bits, stated) = (op.bits(inst, &row).0, op.low_zeros(inst, &zeros).min(inst.result.width()));
        let message =
            || format!("`low_zeros` says {stated}, but `bits` of {} gives {bits:#x}", shown(&inst.args, &row));
        (bits.trailing_zeros() < stated).then(message)
    })
}

/// The outcome of a comparison, also with one argument known.
fn outcome(op: &dyn Operator, inst: &Inst, rows: &[Vec<u64>]) -> Option<String> {
    let none = vec![None; inst.args.len()];
    op.outcome(inst, &none)?;
    let wrong = |inst: &Inst, constants: &[Option<u64>], row: &[u64]| {
        let Some(Outcome::Always(outcome)) = op.outcome(inst, constants) else { return None };
        let message = || format!("`outcome` says always {outcome}, but `bits` of {} differs", shown(&inst.args, row));
        (op.bits(inst, row).0 != outcome as u64).then(message)
    };
    rows.iter().enumerate().find_map(|(n, row)| {
        let k = n % row.len();
        let (f, mut constants) = (inst.args[k], none.clone());
        constants[k] = Some(row[k]);
        let mut bounds: Vec<Bounds> = (0..row.len()).map(|k| inst.bounds(k)).collect();
        bounds[k] = Bounds::exactly(f, row[k]);
        let sign = f.is_signed() && row[k] >> (f.width() - 1) == 0;
        let one = Inst { bounds, nonneg: inst.nonneg | (sign as u32) << k, same: false, ..inst.clone() };
        // The same constant with other arguments too.
        let other = &rows[(n + 1) % rows.len()];
        let mixed: Vec<u64> = (0..row.len()).map(|j| if j == k { row[k] } else { other[j] }).collect();
        wrong(inst, &none, row).or_else(|| wrong(&one, &constants, row)).or_else(|| wrong(&one, &constants, &mixed))
    })
}

fn nothing_left(op: &dyn Operator, inst: &Inst, rows: &[Vec<u64>], results: &[(u64, Flags)]) -> Option<String> {
    for zeros in [0, 1, 5] {
        if op.vanishes(inst, zeros) != Some(true) {
            continue;
        }
        for (row, (bits, _)) in rows.iter().zip(results) {
            let f = inst.args[0];
            let shorter = valid(f, if f.is_integral() { row[0] >> zeros << zeros } else { row[0] });
            let bits = if shorter == row[0] { *bits } else { op.bits(inst, &[shorter]).0 };
            if bits != 0 {
                return Some(format!("`vanishes`, but `bits` of {shorter:#x} gives {bits:#x}"));
            }
        }
    }
    None
}

fn lanes(op: &dyn Operator, inst: &Inst, rows: &[Vec<u64>], results: &[(u64, Flags)]) -> Option<String> {
    let columns: Vec<Vec<u64>> = (0..inst.args.len()).map(|k| rows.iter().map(|r| r[k]).collect()).collect();
    let columns: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
    let mut out = vec![0; rows.len()];
    let flags = op.lanes(inst, &columns, &mut out);
    if let Some(at) = (0..rows.len()).find(|k| out[*k] != results[*k].0) {
        let (of, want) = (shown(&inst.args, &rows[at]), results[at].0);
        return Some(format!("`lanes` of {of} gives {:#x}, but `bits` {want:#x}", out[at]));
    }
    let all = results.iter().fold(Flags::NONE, |all, r| all | r.1);
    (flags != all).then(|| format!("`lanes` raises {flags:?}, but `bits` {all:?}"))
}
