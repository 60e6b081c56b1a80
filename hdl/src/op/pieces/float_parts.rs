//! Parts common to all float operators: taking patterns apart, rounding and packing exact values.
//!
//! The circuit pieces are in the submodules: [`logic`] has forms of logic, [`shift`] aligns, [`leading`] normalises,
//! [`pack`] rounds, checks the range and puts the result together.

pub mod leading;
pub mod logic;
pub mod pack;
pub mod shift;

use crate::Rounding;
use crate::circuit::{Circuit, Sig};
use crate::op::Inst;
use crate::{Bounds, Flags, Format};

/// A non-zero float taken apart: (-1)^negative * sig * 2^exp with the hidden bit in `sig` (mant + 1 bits).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    pub negative: bool,
    pub sig: u64,
    pub exp: i32,
}

/// Takes a pattern apart; `None` for zero (exponent field 0).
pub fn unpack(format: Format, bits: u64) -> Option<Parts> {
    let mant = format.mant();
    let field = bits >> mant & ((1 << format.exp()) - 1);
    (field != 0).then(|| Parts {
        negative: bits >> (format.width() - 1) & 1 == 1,
        sig: bits & ((1 << mant) - 1) | 1 << mant,
        exp: field as i32 - format.bias() - mant as i32,
    })
}

/// The largest biased exponent field of a finite number: 2^E - 2.
pub fn max_field(format: Format) -> i64 {
    (1 << format.exp()) - 2
}

/// An exact value (-1)^negative * mag * 2^exp that is to be rounded. With `sticky` the magnitude is a little more
/// (by less than one unit of `mag`); `mag` must then have at least two bits more than the format keeps.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    pub negative: bool,
    pub mag: u128,
    pub exp: i64,
    pub sticky: bool,
}

/// Rounds with unbounded exponent, then bounds it (RULES N2). `above` is the flag of a result that
/// exceeds the largest finite: `overflow` for arithmetic, `saturation` for casts (RULES N5).
pub fn round(format: Format, rounding: Rounding, v: Value, above: Flags) -> (u64, Flags) {
    if v.mag == 0 {
        return (0, Flags::NONE);
    }
    let mant = format.mant();
    let top = 127 - v.mag.leading_zeros();
    let mut field = v.exp + top as i64 + format.bias() as i64;
    let mut sig = if top <= mant {
        v.mag << (mant - top)
    } else {
        let drop = top - mant;
        let (kept, rest, half) = (v.mag >> drop, v.mag & ((1 << drop) - 1), 1u128 << (drop - 1));
        let up = rest > half || rest == half && (v.sticky || kept & 1 == 1);
        kept + (up && rounding == Rounding::Nearest) as u128
    };
    if sig >> (mant + 1) != 0 {
        sig >>= 1;
        field += 1;
    }
    let sign = (v.negative as u64) << (format.width() - 1);
    if field > max_field(format) {
        (format.max_bits() | sign, above)
    } else if field < 1 {
        (0, Flags::UNDERFLOW)
    } else {
        (sign | (field as u64) << mant | sig as u64 & ((1 << mant) - 1), Flags::NONE)
    }
}

/// Whether C code holds a float of this format as `float` (else as `double`).
pub fn fits_c_float(format: Format) -> bool {
    format.mant() <= 23 && format.exp() <= 8
}

/// The C type that holds a float of this format in native mode.
pub fn c_type(format: Format) -> &'static str {
    if fits_c_float(format) { "float" } else { "double" }
}

/// The suffix of a C literal or a function of `math.h` for that type: `f` or nothing.
pub fn c_suffix(format: Format) -> &'static str {
    if fits_c_float(format) { "f" } else { "" }
}

/// How small and how large the sum of two magnitudes is; either may be 0, where `sum` adds two that are not.
pub fn sum_bounds(inst: &Inst, sum: impl Fn(u64, u64) -> u64) -> Bounds {
    let (a, b) = (inst.bounds(0), inst.bounds(1));
    let ((la, ha), (lb, hb)) = (inst.magnitudes(0), inst.magnitudes(1));
    let low = match (a.zero, b.zero) {
        (true, true) => la.min(lb),
        (true, false) => lb,
        (false, true) => la,
        (false, false) => sum(la, lb),
    };
    Bounds::floats(inst.result, low, sum(ha, hb), a.zero && b.zero)
}

/// The format that both float arguments share, or what is wrong.
pub fn same_floats(name: &str, args: &[Format]) -> Result<Format, String> {
    match args {
        [a, b] if a == b && a.is_float() => Ok(*a),
        _ => Err(format!("`{name}` takes two floats of one format")),
    }
}

/// The format of the one float argument, or what is wrong.
pub fn one_float(name: &str, args: &[Format]) -> Result<Format, String> {
    match args {
        [a] if a.is_float() => Ok(*a),
        _ => Err(format!("`{name}` takes one float")),
    }
}

/// The fields of a float argument as signals.
pub struct Fields {
    pub sign: Sig,
    pub exp: Sig,
    pub fraction: Sig,
    pub nonzero: Sig,
}

/// Takes a float signal apart.
pub fn fields(c: &mut Circuit, format: Format, x: Sig) -> Fields {
    let (w, e, m) = (format.width(), format.exp(), format.mant());
    let sign = logic::field(c, "sign", x, w - 1, w - 1);
    let exp = logic::field(c, "exp", x, w - 2, m);
    let nonzero = shift::any(c, exp, e - 1, 0, None);
    Fields { sign, exp, fraction: logic::field(c, "fraction", x, m - 1, 0), nonzero }
}

/// Whether float argument `k`, of the exponent field `exp`, is other than 0; `None` where it cannot be 0. Only those bits of
/// the field are read of which every possible field but 0 has one.
pub fn nonzero(c: &mut Circuit, inst: &Inst, k: usize, exp: Sig) -> Option<Sig> {
    let bounds = inst.bounds(k);
    let (low, high) = bounds.fields(inst.args[k]);
    bounds.zero.then(|| shift::any(c, exp, high.ilog2(), low.ilog2(), None))
}
