//! Identities that keep every bit and every flag.
//!
//! An argument that a rule drops must be silent: neither it nor anything before it can raise a flag. Floats make this
//! easy: there is one zero, and no NaN or infinity.

use super::Walk;
use crate::graph::NodeId;
use hdl::Format;
use hdl::op::{Attrs, Inst};

/// What a node becomes.
pub(super) enum Rule {
    /// A node that is there already.
    Same(NodeId),
    /// A constant of the result's format.
    Const(u64),
    /// Another operator.
    Op(&'static str, Attrs, Vec<NodeId>),
}

/// Operators whose two arguments may be exchanged.
pub(super) static COMMUTATIVE: &[&str] =
    &["add", "mul", "xmul", "and", "or", "xor", "eq", "ne", "min", "max", "fadd", "fmul", "ladd", "lmul"];

/// The first rule that fits, if any.
pub(super) fn rewrite(w: &Walk, name: &str, inst: &Inst, args: &[NodeId]) -> Option<Rule> {
    match *args {
        [a] => unary(w, name, inst, a),
        [a, b] if a == b => equal(w, name, inst, a),
        [a, b] => match w.constant(b) {
            Some(c) => with_constant(w, name, inst, a, b, c),
            None => binary(w, name, a, b),
        },
        [c, a, b] if name == "mux" => mux(w, c, a, b),
        _ => None,
    }
}

fn shifted(name: &'static str, n: i32, a: NodeId) -> Rule {
    Rule::Op(name, Attrs { n, ..Attrs::default() }, vec![a])
}

fn plain(name: &'static str, args: &[NodeId]) -> Rule {
    Rule::Op(name, Attrs::default(), args.to_vec())
}

/// `rule`, provided that dropping `id` loses no flag.
fn dropping(w: &Walk, id: NodeId, rule: Rule) -> Option<Rule> {
    w.silent[id.0 as usize].then_some(rule)
}

fn unary(w: &Walk, name: &str, inst: &Inst, a: NodeId) -> Option<Rule> {
    let (inner, inner_attrs, inner_args) = w.parts(a).unwrap_or(("", Attrs::default(), &[]));
    match (name, inner) {
        ("icast" | "xcast" | "fcast" | "lcast", _) if inst.result == inst.args[0] => Some(Rule::Same(a)),
        ("shl" | "shr" | "fscale" | "lscale", _) if inst.attrs.n == 0 => Some(Rule::Same(a)),
        ("pow" | "lpow", _) if (inst.attrs.n, inst.attrs.d) == (1, 1) => Some(Rule::Same(a)),
        ("neg", "neg") | ("not", "not") | ("fneg", "fneg") | ("lneg", "lneg") => Some(Rule::Same(inner_args[0])),
        ("abs", "abs") | ("fabs", "fabs") | ("labs", "labs") => Some(Rule::Same(a)),
        ("abs", _) if !inst.result.is_signed() => Some(Rule::Same(a)),
        ("fabs", "fneg") => Some(plain("fabs", inner_args)),
        ("labs", "lneg") => Some(plain("labs", inner_args)),
        ("nz", _) if inst.args[0] == inst.result => Some(Rule::Same(a)),
        ("isz", _) if inst.args[0] == inst.result => Some(plain("not", &[a])),
        // Two steps in one direction stop at the same end as one step. Two steps in different ones do not.
        ("fscale", "fscale") if inst.attrs.n.signum() == inner_attrs.n.signum() => {
            Some(shifted("fscale", inst.attrs.n.checked_add(inner_attrs.n)?, inner_args[0]))
        }
        _ => None,
    }
}

/// Both arguments are one node.
fn equal(w: &Walk, name: &str, inst: &Inst, a: NodeId) -> Option<Rule> {
    match name {
        "and" | "or" | "min" | "max" => Some(Rule::Same(a)),
        "sub" | "xor" | "fsub" | "lsub" | "ne" | "lt" => dropping(w, a, Rule::Const(0)),
        "eq" | "le" => dropping(w, a, Rule::Const(1)),
        "fadd" => Some(shifted("fscale", 1, a)),
        "ladd" => Some(shifted("lscale", 1, a)),
        "add" if inst.result.width() > 1 => Some(shifted("shl", 1, a)),
        _ => None,
    }
}

/// No argument is constant, or only the first of an operator that does not commute.
fn binary(w: &Walk, name: &str, a: NodeId, b: NodeId) -> Option<Rule> {
    let negated = |id: NodeId, by: &str| w.parts(id).filter(|p| p.0 == by).map(|p| p.2[0]);
    match name {
        "fsub" if w.constant(a) == Some(0) => Some(plain("fneg", &[b])),
        "lsub" if w.constant(a) == Some(0) => Some(plain("lneg", &[b])),
        "sub" if w.constant(a) == Some(0) => Some(plain("neg", &[b])),
        "fadd" => {
            let (x, y) = match (negated(a, "fneg"), negated(b, "fneg")) {
                (_, Some(y)) => (a, y),
                (Some(x), None) => (b, x),
                _ => return None,
            };
            Some(plain("fsub", &[x, y]))
        }
        "fsub" => Some(plain("fadd", &[a, negated(b, "fneg")?])),
        "add" => {
            let (x, y) = match (negated(a, "neg"), negated(b, "neg")) {
                (_, Some(y)) => (a, y),
                (Some(x), None) => (b, x),
                _ => return None,
            };
            Some(plain("sub", &[x, y]))
        }
        "sub" => Some(plain("add", &[a, negated(b, "neg")?])),
        "fmul" => Some(plain("fmul", &[negated(a, "fneg")?, negated(b, "fneg")?])),
        _ => None,
    }
}

/// The second argument is the constant `c`.
fn with_constant(w: &Walk, name: &str, inst: &Inst, a: NodeId, b: NodeId, c: u64) -> Option<Rule> {
    let f = inst.args[1];
    let zero = dropping(w, a, Rule::Const(0));
    match name {
        "add" | "sub" | "or" | "xor" | "fadd" | "fsub" | "ladd" | "lsub" if c == 0 => Some(Rule::Same(a)),
        "and" if c == f.mask() => Some(Rule::Same(a)),
        "or" if c == f.mask() => dropping(w, a, Rule::Const(c)),
        "xor" if c == f.mask() => Some(plain("not", &[a])),
        "and" | "mul" | "xmul" | "fmul" | "lmul" if c == 0 => zero,
        "mul" | "div" if c == 1 && f.to_int(c) == 1 => Some(Rule::Same(a)),
        "xmul" | "xdiv" if fixed_one(f) == Some(c) => Some(Rule::Same(a)),
        "mul" if c.is_power_of_two() => Some(shifted("shl", c.ilog2() as i32, a)),
        "div" if c.is_power_of_two() && !f.is_signed() => Some(shifted("shr", c.ilog2() as i32, a)),
        "fmul" => scaled(f, c, 1, a),
        "fdiv" if c != 0 => scaled(f, c, -1, a),
        "shlv" => constant_shift("shl", inst, f.to_int(c), a),
        "shrv" => constant_shift("shr", inst, f.to_int(c), a),
        // A variable scaling by what turns out to be a constant.
        "fscalev" => {
            let n = f.to_int(c).checked_mul(inst.attrs.d as i128)?;
            // Beyond every exponent range all amounts are alike.
            Some(shifted("fscale", n.clamp(-8192, 8192) as i32, a))
        }
        _ => binary(w, name, a, b),
    }
}

/// The pattern of 1 in a fixed format that has it.
fn fixed_one(f: Format) -> Option<u64> {
    let top = f.width() - f.is_signed() as u32;
    f.frac().filter(|frac| f.is_fixed() && *frac < top).map(|frac| 1 << frac)
}

/// Times or divided by plus or minus a power of two: an exponent shift, whose product is exact and leaves the range where
/// the product or quotient does.
fn scaled(f: Format, c: u64, direction: i32, a: NodeId) -> Option<Rule> {
    let mantissa = c & ((1 << f.mant()) - 1);
    let exponent = (c >> f.mant() & ((1 << f.exp()) - 1)) as i32 - f.bias();
    let negative = c >> (f.width() - 1) & 1 == 1;
    match (mantissa, exponent * direction, negative) {
        (0, 0, true) => Some(plain("fneg", &[a])),
        (0, n, false) => Some(shifted("fscale", n, a)),
        _ => None,
    }
}

/// A shift within the format; the few others may stay as they are.
fn constant_shift(name: &'static str, inst: &Inst, amount: i128, a: NodeId) -> Option<Rule> {
    (0..inst.result.width() as i128).contains(&amount).then(|| shifted(name, amount as i32, a))
}

fn mux(w: &Walk, c: NodeId, a: NodeId, b: NodeId) -> Option<Rule> {
    if a == b {
        return dropping(w, c, Rule::Same(a));
    }
    match (w.constant(c), w.parts(c)) {
        // The other arm is never taken, so its flags do not count.
        (Some(0), _) => Some(Rule::Same(b)),
        (Some(_), _) => Some(Rule::Same(a)),
        (_, Some(("not", _, [d]))) => Some(plain("mux", &[*d, b, a])),
        _ => None,
    }
}
