//! The accuracy that every operator states, against its bits: exhaustively for small formats.

use super::each_operator;
use hdl::number::real::{Dd, Expr, Smooth, exp2};
use hdl::op::accuracy::{Meaning, range};
use hdl::op::{Inst, Operator};
use hdl::{Flags, Format};
use testkit::Random;
use testkit::uses::{describe, plain_uses, rows, shown};

/// Rows of each use that is not tried exhaustively.
const ROWS: usize = 400;

/// The meaning of a use for some arguments; `None` where it has no value there, or f64 cannot tell it from its neighbours.
fn meaning(meaning: Meaning, inst: &Inst, x: &[f64]) -> Option<f64> {
    let truth = |yes: bool| Some(yes as u8 as f64);
    let power = |base: f64, n: i32, d: i32| match (n, d) {
        (0, _) => Some(1.0),
        _ if base == 0.0 => Some(0.0),
        (n, 1) => Some(base.powi(n)),
        (n, _) => (base > 0.0).then(|| base.sqrt().powi(n)),
    };
    match meaning {
        Meaning::Bits => None,
        Meaning::Same => Some(x[0]),
        Meaning::Sum => Some(x[0] + x[1]),
        Meaning::Difference => Some(x[0] - x[1]),
        Meaning::Product => Some(x[0] * x[1]),
        Meaning::Quotient => (x[1] != 0.0).then(|| x[0] / x[1]),
        Meaning::Negative => Some(-x[0]),
        Meaning::Magnitude => Some(x[0].abs()),
        Meaning::Min => Some(x[0].min(x[1])),
        Meaning::Max => Some(x[0].max(x[1])),
        Meaning::SumOfSquares => Some(x.iter().map(|x| x * x).sum()),
        Meaning::Choice => Some(if x[0] == 1.0 { x[1] } else { x[2] }),
        Meaning::Scaled(n) => Some(x[0] * exp2(n)),
        Meaning::ScaledBy(sign) => Some(x[0] * exp2(sign * x[1] as i32)),
        Meaning::Power(n, d) => power(x[0], n, d),
        Meaning::Exp => Some(x[0].exp()),
        Meaning::Log => (x[0] > 0.0).then(|| x[0].ln()),
        Meaning::Sin => Some(x[0].sin()),
        Meaning::Cos => Some(x[0].cos()),
        Meaning::Real(call) => Expr::of(call).value(Dd::from(x[0])).map(|v| v.value.hi),
        Meaning::Angle => Some(x[0].atan2(x[1])),
        Meaning::Function => {
            let function = inst.attrs.function.as_ref().expect("a use of a function has one");
            function.expr.value(Dd::from(x[0])).map(|v| v.value.hi)
        }
        Meaning::Whole(way) => Some(way.of_f64(x[0])),
        Meaning::Zeros if x[0] < 0.0 => Some(0.0),
        Meaning::Zeros => {
            Some((0..inst.args[0].width()).rev().take_while(|bit| x[0] < exp2(*bit as i32)).count() as f64)
        }
        Meaning::Field(high, low) => Some((x[0] / exp2(low as i32)).floor().rem_euclid(exp2((high - low + 1) as i32))),
        Meaning::Pattern => {
            let (format, bits) = (inst.args[0], inst.args[0].width() as i32);
            Some((x[0] * exp2(format.frac()? as i32)).rem_euclid(exp2(bits)))
        }
        Meaning::OfPattern => {
            let (format, place) = (inst.result, exp2(-(inst.result.frac()? as i32)));
            let wraps = format.is_signed() && x[0] >= exp2(format.width() as i32 - 1);
            Some((x[0] - if wraps { exp2(format.width() as i32) } else { 0.0 }) * place)
        }
        Meaning::Entry => {
            let table = inst.attrs.lookup.as_ref().expect("a lookup has a table");
            let inside = table.limits().iter().zip(x).all(|(limit, x)| (0.0..*limit as f64).contains(x));
            let place = x.iter().zip(table.limits()).fold(0.0, |place, (x, limit)| place * limit as f64 + x);
            Some(if inside { table.numbers().get(place as usize).copied().unwrap_or(0.0) } else { 0.0 })
        }
        Meaning::Less => truth(x[0] < x[1]),
        Meaning::LessOrEqual => truth(x[0] <= x[1]),
        Meaning::Equal => truth(x[0] == x[1]),
        Meaning::Unequal => truth(x[0] != x[1]),
    }
}

/// A result that is farther from its meaning than stated, if there is one; `reached` says whether any comes to more than half of
/// the bound.
fn wrong(op: &dyn Operator, inst: &Inst, row: &[u64], reached: &mut bool) -> Option<String> {
    let stated = op.accuracy(inst);
    let (bits, flags) = op.bits(inst, row);
    let values: Vec<f64> = inst.args.iter().zip(row).map(|(f, bits)| f.to_f64(*bits)).collect();
    let exact = meaning(stated.meaning, inst, &values).filter(|x| x.is_finite())?;
    let got = inst.result.to_f64(bits);
    if !flags.is_empty() || wraps(inst.result, exact) {
        return None;
    }
    let error = (got - exact).abs();
    let bound = stated.absolute(inst.result, exact.abs().max(got.abs()));
    // The reference is an f64 of f64s: off by some of its own last places.
    let slack =
        8.0 * f64::EPSILON * exact.abs() + if inst.args.iter().any(|f| f.is_log()) { 1e-13 * exact.abs() } else { 0.0 };
    *reached |= bound > 0.0 && error > 0.6 * bound;
    let relative = stated.relative(inst.result) * exact.abs();
    let is_relative = inst.result.is_sign_magnitude() && stated.floor.is_none();
    let broken = error > bound + slack || is_relative && error > relative + slack;
    broken.then(|| {
        let of = shown(&inst.args, row);
        let (result, what) = (shown(&[inst.result], &[bits]), describe(op, inst));
        format!("{what}: {of} gives {result}, {error:e} from {exact:e}; `accuracy` states {stated:?}: {bound:e}, {relative:e}")
    })
}

/// Whether an int or fixed cannot hold a number, which wraps then.
fn wraps(format: Format, x: f64) -> bool {
    let Some(frac) = format.frac() else { return false };
    let scaled = x * exp2(frac as i32);
    scaled < format.to_int(format.min_bits()) as f64 - 0.5 || scaled > format.to_int(format.max_bits()) as f64 + 0.5
}

#[test]
fn every_operator_is_as_accurate_as_it_states() {
    each_operator(|op| {
        // f64 holds the numbers of narrower formats, and what is made of two of them.
        let narrow = |inst: &Inst| inst.args.iter().chain([&inst.result]).all(|f| f.width() <= 24);
        let found = plain_uses(op).into_iter().filter(narrow).filter_map(|inst| {
            let all = rows(&inst, ROWS, &mut Random::new(11));
            all.iter().find_map(|row| wrong(op, &inst, row, &mut false))
        });
        found.collect()
    });
}

/// A bound that no result comes near would be too wide.
#[test]
fn stated_accuracies_are_reached() {
    each_operator(|op| {
        let mut reached = false;
        let mut rounds = false;
        for inst in plain_uses(op).into_iter().filter(|inst| inst.args.iter().all(|f| f.width() <= 13)) {
            let accuracy = op.accuracy(&inst);
            rounds |= accuracy.meaning != Meaning::Bits && accuracy.ulps > 0.0;
            let all = rows(&inst, ROWS, &mut Random::new(12));
            all.iter().for_each(|row| drop(wrong(op, &inst, row, &mut reached)));
            if reached {
                break;
            }
        }
        let name = op.name();
        (rounds && !reached)
            .then(|| format!("`{name}` never comes near the error that it states"))
            .into_iter()
            .collect()
    });
}

#[test]
fn the_range_of_a_float_is_that_of_its_patterns() {
    let f: Format = "float18.9".parse().unwrap();
    assert_eq!(range(f), (2f64.powi(-126), f.to_f64(f.max_bits())));
    assert_eq!(Flags::NONE.names().len(), 0);
}
