//! Parts common to all operators on logs: taking patterns apart and bounding a logarithm.

use crate::circuit::{Circuit, Sig, X};
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::pack::flag_port;
use crate::op::pieces::parts::counted;
use crate::op::{Inst, Operator};
use crate::rtl::cat;
use crate::rtl::expr::Binary;
use crate::{Flags, Format};

/// The log format that both arguments share, or what is wrong.
pub fn same_logs(name: &str, args: &[Format]) -> Result<Format, String> {
    match args {
        [a, b] if a == b && a.is_log() => Ok(*a),
        _ => Err(format!("`{name}` takes two logs of one format")),
    }
}

/// The format of the one log argument, or what is wrong.
pub fn one_log(name: &str, args: &[Format]) -> Result<Format, String> {
    match args {
        [a] if a.is_log() => Ok(*a),
        _ => Err(format!("`{name}` takes one log")),
    }
}

/// Bits of the biased logarithm: all but sign and mark.
pub fn field_bits(format: Format) -> u32 {
    format.width() - 2
}

/// The C type that holds a log in native mode: one that has its range.
pub fn c_type(format: Format) -> &'static str {
    if format.width() - 2 - format.log_frac() <= 7 { "float" } else { "double" }
}

/// A log argument as signals; `sign` and `mark` are `None` where they are known.
pub struct Fields {
    pub sign: Option<Sig>,
    pub mark: Option<Sig>,
    pub field: Sig,
}

/// Takes argument `k` of a use apart.
pub fn fields(inst: &Inst, c: &mut Circuit, k: usize, x: Sig) -> Fields {
    let w = inst.args[k].width();
    Fields {
        sign: (!inst.is_nonneg(k)).then(|| field(c, "sign", x, w - 1, w - 1)),
        mark: inst.bounds(k).zero.then(|| field(c, "mark", x, w - 2, w - 2)),
        field: field(c, "log", x, w - 3, 0),
    }
}

/// `a` and `b` as far as they are given, by an operator.
pub fn both(c: &mut Circuit, name: &str, operator: Binary, a: Option<Sig>, b: Option<Sig>) -> Option<Sig> {
    match (a, b) {
        (Some(a), Some(b)) => Some(c.logic(name, X::binary(operator, &c.x(a), &c.x(b)))),
        (a, b) => a.or(b),
    }
}

/// A result that is still to be bounded.
pub struct Unbounded {
    /// The biased logarithm in two's complement, with at least two bits more than the format has where it can leave the
    /// format's range, and else its lowest bits.
    pub field: Sig,
    /// `None`: never negative.
    pub sign: Option<Sig>,
    /// Whether the result is other than 0; `None`: it always is.
    pub mark: Option<Sig>,
}

/// Bounds, packs and gathers the flags of a result whose other flags are given by `more`.
pub fn finish(
    op: &dyn Operator,
    inst: &Inst,
    c: &mut Circuit,
    u: &Unbounded,
    more: &[(Flags, Option<Sig>)],
) -> (Sig, Option<Sig>) {
    let (format, flags) = (inst.result, op.flags(inst));
    let (bits, width) = (field_bits(format), c.width(u.field));
    let (field_bits, mark) = (c.x(u.field), u.mark.map(|m| c.x(m)));
    let top = field_bits.msb();
    let marked = |x: X| mark.as_ref().map_or(x.clone(), |m| m & x);
    let checks = flags.intersects(Flags::OVERFLOW | Flags::SATURATION | Flags::UNDERFLOW);
    assert!(!checks || width >= bits + 2, "{width} bits cannot show what leaves {bits}");
    let above = flags
        .intersects(Flags::OVERFLOW | Flags::SATURATION)
        .then(|| counted(c, "above", marked(!&top & field_bits.slice(width - 2, bits).any()), width - bits + 1));
    let below = flags.contains(Flags::UNDERFLOW).then(|| counted(c, "below", marked(top.clone()), 2));
    let low = field(c, "low", u.field, bits - 1, 0);
    let mut value = c.x(low);
    if let Some(above) = above {
        value = value | c.x(above).repeat(bits);
    }
    let keep = match (below.map(|b| !c.x(b)), mark) {
        (Some(b), Some(m)) => Some(m & b),
        (b, m) => b.or(m),
    };
    let mut head = cat([u.sign.map_or(X::flag(false), |s| c.x(s)), X::flag(true)]);
    if let Some(keep) = keep {
        value = value & keep.repeat(bits);
        head = cat([u.sign.map_or(X::flag(false), |s| c.x(s) & &keep), keep]);
    }
    let q = c.logic("bounded", cat([head, value]));
    let over = if flags.contains(Flags::SATURATION) { Flags::SATURATION } else { Flags::OVERFLOW };
    let conditions = [&[(over, above), (Flags::UNDERFLOW, below)], more].concat();
    (q, flag_port(c, flags, &conditions))
}

/// A logarithm from which a bias, the top bit of the format, is still to be taken, as [`Unbounded::field`]: `t` are the two bits
/// above the `low` ones.
pub fn unbias(c: &mut Circuit, t: Sig, low: Sig) -> Sig {
    let (t, low) = (c.x(t), c.x(low));
    let (high, next) = (t.bit(1), t.bit(0));
    c.logic("unbiased", cat([!&high & !&next, !(high ^ &next), !next, low]))
}
