//! The real-arithmetic semantics of every operator against its bits: these are its rounding, and `invalid` is raised by both.

use super::each_operator;
use super::near::{agrees, combined, is_exact};
use hdl::number::exact::to_bits;
use hdl::op::semantics::{DOUBLE, Real};
use hdl::op::{Inst, Operator};
use hdl::{Flags, Format};
use testkit::Random;
use testkit::uses::{describe, plain_uses, rows, shown};

/// Rows of each use.
const ROWS: usize = 200;

/// A pattern's value; of a log, which f64 does not hold exactly, the neighbours too.
fn readings(f: Format, bits: u64) -> Vec<u64> {
    let x = f.to_f64(bits);
    match f {
        Format::Log { .. } if x != 0.0 => {
            [1.0 - f64::EPSILON, 1.0, 1.0 + f64::EPSILON].map(|by| (x * by).to_bits()).into()
        }
        _ => vec![Real::read(f, bits).bits()],
    }
}

/// The error in the result of one row, if any.
fn wrong(op: &dyn Operator, inst: &Inst, row: &[u64]) -> Option<String> {
    let (bits, raised) = op.bits(inst, row);
    let f = inst.result;
    let mut results = Vec::new();
    for args in combined(&inst.args, row, readings) {
        let args: Vec<Real> = args.into_iter().map(Real::of_bits).collect();
        results.push(op.real(inst, &args));
    }
    let of = || format!("{}: `real` of {}", describe(op, inst), shown(&inst.args, row));
    let invalid = |flags: Flags| flags.contains(Flags::INVALID);
    if results.iter().all(|r| invalid(r.1) != invalid(raised)) {
        return Some(format!("{} raises {:?}, but `bits` {raised:?}", of(), results[0].1));
    }
    let values = results.iter().map(|r| r.0.value(f));
    // An f64 is off by some of its own last places.
    let off = |x: f64| if f.is_integral() { 0.0 } else { x.abs().min(f64::MAX / 2.0) * 4.0 * f64::EPSILON };
    let low = values.clone().map(|x| x - off(x)).fold(f64::INFINITY, f64::min);
    let high = values.map(|x| x + off(x)).fold(f64::NEG_INFINITY, f64::max);
    let same = results[0].0.bits() == bits;
    let message = || {
        let got = results[results.len() / 2].0.value(f);
        format!("{} gives {got:e}, not {}", of(), shown(&[f], &[bits]))
    };
    let good = if is_exact(op, inst) { same } else { agrees(op, inst, bits, low, high) };
    (!good).then(message)
}

/// Whether a function's interval ends at numbers of the format. Where it does not, `bits` stops at the next number inside, and
/// the real-arithmetic result at the end itself.
fn has_ends(inst: &Inst) -> bool {
    let value = |f: Format, x| to_bits(f, x).map(|(bits, _)| f.to_f64(bits)).ok();
    let held = |x| value(inst.args[0], x) == value(DOUBLE, x);
    inst.attrs.function.as_ref().is_none_or(|function| held(&function.lo) && held(&function.hi))
}

#[test]
fn the_real_meaning_of_every_operator_agrees_with_its_bits() {
    each_operator(|op| {
        // Ints and fixeds among themselves are evaluated by `bits`.
        let real = |inst: &Inst| !inst.args.iter().chain([&inst.result]).all(|f| f.is_integral());
        let uses = plain_uses(op).into_iter().filter(real).filter(has_ends);
        let found = uses.filter_map(|inst| {
            let all = rows(&inst, ROWS, &mut Random::new(7));
            let step = all.len().div_ceil(2 * ROWS).max(1);
            all.iter().step_by(step).find_map(|row| wrong(op, &inst, row))
        });
        found.collect()
    });
}
