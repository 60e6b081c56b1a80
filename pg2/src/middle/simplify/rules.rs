//! Simplification of a use of an operator, with every bit and every flag kept: the facts that the operator states of itself, and
//! rewrites from operators to others.
//!
//! An argument that a rule drops must be silent: neither it nor anything before it can raise a flag. Floats make this
//! easy: there is one zero, and no NaN or infinity.

use super::Walk;
use crate::graph::NodeId;
use hdl::Format;
use hdl::op::facts::{Fold, Twice};
use hdl::op::{Attrs, Inst, Operator, compare, float, int, log};

type Op = &'static dyn Operator;

/// The replacement of a node.
pub(super) enum Rule {
    /// A node that is there already.
    Same(NodeId),
    /// A constant of the result's format.
    Const(u64),
    /// Another operator.
    Op(Op, Attrs, Vec<NodeId>),
}

/// The first rule that fits, if any.
pub(super) fn rewrite(w: &Walk, op: Op, inst: &Inst, args: &[NodeId]) -> Option<Rule> {
    stated(w, op, inst, args).or_else(|| match *args {
        [a] => unary(w, op, inst, a),
        [a, b] if a == b => equal(op, inst, a),
        [a, b] => match w.constant(b) {
            Some(c) => with_constant(op, inst, a, c).or_else(|| binary(w, op, a, b)),
            None => binary(w, op, a, b),
        },
        [c, a, b] if op == compare::MUX => mux(w, c, a, b),
        _ => None,
    })
}

/// The replacement by the facts that the operator states of itself.
fn stated(w: &Walk, op: Op, inst: &Inst, args: &[NodeId]) -> Option<Rule> {
    if let [a] = *args
        && let (Some(twice), Some((inner, attrs, inner_args))) = (op.twice(), w.parts(a))
        && (inner, attrs, w.format(inner_args[0])) == (op, &inst.attrs, inst.result)
    {
        return Some(Rule::Same(if twice == Twice::Same { a } else { inner_args[0] }));
    }
    let constants: Vec<Option<u64>> = args.iter().map(|a| w.constant(*a)).collect();
    let same = args.len() > 1 && args.iter().all(|a| *a == args[0]);
    let (rule, kept) = match op.fold(&Inst { same, ..inst.clone() }, &constants)? {
        Fold::Arg(k) => (Rule::Same(args[k]), Some(args[k])),
        Fold::Const(bits) => (Rule::Const(bits), None),
    };
    let silent = args.iter().all(|a| Some(*a) == kept || w.silent[a.0 as usize]);
    silent.then_some(rule)
}

fn shifted(op: Op, n: i32, a: NodeId) -> Rule {
    Rule::Op(op, Attrs { n, ..Attrs::default() }, vec![a])
}

fn plain(op: Op, args: &[NodeId]) -> Rule {
    Rule::Op(op, Attrs::default(), args.to_vec())
}

fn unary(w: &Walk, op: Op, inst: &Inst, a: NodeId) -> Option<Rule> {
    if op == compare::ISZ && inst.args[0] == inst.result {
        return Some(plain(int::NOT, &[a]));
    }
    let (inner, inner_attrs, inner_args) = w.parts(a)?;
    // A magnitude has no sign to change.
    if (op, inner) == (float::FABS, float::FNEG) || (op, inner) == (log::LABS, log::LNEG) {
        return Some(plain(op, inner_args));
    }
    // Two steps in one direction stop at the same end as one step. Two steps in different ones do not.
    let one_way = inst.attrs.n.signum() == inner_attrs.n.signum();
    if (op, inner) == (float::FSCALE, float::FSCALE) && one_way {
        return Some(shifted(op, inst.attrs.n.checked_add(inner_attrs.n)?, inner_args[0]));
    }
    None
}

/// Twice a value, which both arguments are.
fn equal(op: Op, inst: &Inst, a: NodeId) -> Option<Rule> {
    let doubled = [(float::FADD, float::FSCALE), (log::LADD, log::LSCALE), (int::ADD, int::SHL)];
    let (_, by) = doubled.into_iter().find(|d| d.0 == op)?;
    (op != int::ADD || inst.result.width() > 1).then(|| shifted(by, 1, a))
}

/// Signs that fold into a sum or cancel in a product; only the first argument may be constant.
fn binary(w: &Walk, op: Op, a: NodeId, b: NodeId) -> Option<Rule> {
    // Sums, with their differences and negations.
    let sums =
        [(int::ADD, int::SUB, int::NEG), (float::FADD, float::FSUB, float::FNEG), (log::LADD, log::LSUB, log::LNEG)];
    for (add, sub, neg) in sums {
        if op == sub && w.constant(a) == Some(0) {
            return Some(plain(neg, &[b]));
        }
        if op == sub {
            return Some(plain(add, &[a, w.argument(b, neg)?]));
        }
        if op == add {
            let (x, y) = match (w.argument(a, neg), w.argument(b, neg)) {
                (_, Some(y)) => (a, y),
                (Some(x), None) => (b, x),
                _ => return None,
            };
            return Some(plain(sub, &[x, y]));
        }
    }
    let (_, neg) = [(float::FMUL, float::FNEG), (log::LMUL, log::LNEG)].into_iter().find(|p| p.0 == op)?;
    Some(plain(op, &[w.argument(a, neg)?, w.argument(b, neg)?]))
}

/// The second argument is the constant `c`.
fn with_constant(op: Op, inst: &Inst, a: NodeId, c: u64) -> Option<Rule> {
    let f = inst.args[1];
    if op == int::XOR {
        return (c == f.mask()).then(|| plain(int::NOT, &[a]));
    }
    if op == int::MUL || op == int::DIV && !f.is_signed() {
        let shift = if op == int::MUL { int::SHL } else { int::SHR };
        return c.is_power_of_two().then(|| shifted(shift, c.ilog2() as i32, a));
    }
    if op == float::FMUL || op == float::FDIV {
        return scaled(f, c, if op == float::FMUL { 1 } else { -1 }, a);
    }
    if op == int::SHLV || op == int::SHRV {
        return constant_shift(if op == int::SHLV { int::SHL } else { int::SHR }, inst, f.to_int(c), a);
    }
    // A variable scaling by what turns out to be a constant.
    if op == float::FSCALEV {
        let n = f.to_int(c).checked_mul(inst.attrs.d as i128)?;
        // Beyond every exponent range all amounts are alike.
        return Some(shifted(float::FSCALE, n.clamp(-8192, 8192) as i32, a));
    }
    None
}

/// Times or divided by plus or minus a power of two: an exponent shift, whose product is exact and leaves the range where
/// the product or quotient does.
fn scaled(f: Format, c: u64, direction: i32, a: NodeId) -> Option<Rule> {
    let mantissa = c & ((1 << f.mant()) - 1);
    let exponent = (c >> f.mant() & ((1 << f.exp()) - 1)) as i32 - f.bias();
    let negative = c >> (f.width() - 1) & 1 == 1;
    match (mantissa, exponent * direction, negative) {
        _ if c == 0 => None,
        (0, 0, true) => Some(plain(float::FNEG, &[a])),
        (0, n, false) => Some(shifted(float::FSCALE, n, a)),
        _ => None,
    }
}

/// A shift within the format; the few others may stay as they are.
fn constant_shift(op: Op, inst: &Inst, amount: i128, a: NodeId) -> Option<Rule> {
    (0..inst.result.width() as i128).contains(&amount).then(|| shifted(op, amount as i32, a))
}

fn mux(w: &Walk, c: NodeId, a: NodeId, b: NodeId) -> Option<Rule> {
    if a == b {
        return w.silent[c.0 as usize].then_some(Rule::Same(a));
    }
    // The arm that is never taken may go: its flags do not count.
    match w.constant(c) {
        Some(0) => Some(Rule::Same(b)),
        Some(_) => Some(Rule::Same(a)),
        None => Some(plain(compare::MUX, &[w.argument(c, int::NOT)?, b, a])),
    }
}
