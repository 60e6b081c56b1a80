//! `pow`: x^(n/d) for d of 1 or 2, faithful, and exact where the exact result is representable (RULES N6).
//!
//! The exponent is split off by integer arithmetic; the power of the significand comes from a table, or from a
//! table and a piecewise polynomial, whose size a search minimises under a proven bound. [`fit`] holds the
//! real polynomials, [`search`](mod@search) the search and its error analysis, [`table`] the evaluation, and
//! [`hardware`] the circuit. Correctness of all of them is tested against exact integer arithmetic.

mod c_text;
mod fit;
mod hardware;
mod search;
pub mod table;
mod wide;

use hardware::signs;
pub use table::{Prepared, prepared};
pub use wide::{Wide, wide};

use crate::circuit::{Circuit, Sig};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Fold};
use crate::op::float::fmul::Fmul;
use crate::op::pieces::power::{self, reduced};
use crate::op::semantics::{self, Real};
use crate::op::table::{MAX_MANT, MAX_WIDE};
use crate::op::{Attrs, Inst, Operator, TableUse};
use crate::{Bounds, Flags, Format};

pub struct Pow;

/// How one use is computed.
pub enum Method {
    /// n = 0: the pattern of 1.
    One(u64),
    /// n/d = 1: the argument.
    Same,
    /// n/d = 2: the product of the argument with itself, correctly rounded.
    Square,
    /// Everything else, of a float of few fraction bits.
    Table(&'static Prepared),
    /// And of many.
    Wide(&'static Wide),
}

/// How this use is computed. Bits and flags of `Table` are those of [`Prepared::eval`].
pub fn method(inst: &Inst) -> Method {
    match reduced(&inst.attrs) {
        (0, _) => Method::One((inst.result.bias() as u64) << inst.result.mant()),
        (1, 1) => Method::Same,
        (2, 1) => Method::Square,
        (n, d) if inst.result.mant() > MAX_MANT => Method::Wide(wide(inst.result, n, d)),
        (n, d) => Method::Table(prepared(inst.result, n, d)),
    }
}

/// The multiplication that is the square.
fn square(inst: &Inst) -> Inst {
    Inst {
        args: vec![inst.result; 2],
        attrs: Attrs::default(),
        result: inst.result,
        nonneg: inst.nonneg * 3,
        bounds: inst.bounds.repeat(2),
        same: true,
    }
}

/// The power of one end of the argument's bounds.
struct End {
    bits: u64,
    /// By how much a faithful result within the bounds may lie beyond it: one place, unless it is exact.
    slack: u64,
}

/// The least and the greatest power within the argument's bounds.
fn ends(inst: &Inst) -> (End, End) {
    let ((n, d), format) = (reduced(&inst.attrs), inst.result);
    let end = |x: u64| {
        let power = if format.mant() > MAX_MANT { wide(format, n, d).eval(x) } else { prepared(format, n, d).eval(x) };
        let bits = power.0 & (format.mask() >> 1);
        let exponent = (x >> format.mant()) as i32 - format.bias();
        let exact = x & ((1 << format.mant()) - 1) == 0 && exponent % d == 0;
        End { bits, slack: !exact as u64 }
    };
    let (low, high) = inst.magnitudes(0);
    if n > 0 { (end(low), end(high)) } else { (end(high), end(low)) }
}

/// The flags that results within the bounds can raise.
fn within(inst: &Inst) -> Flags {
    let (least, greatest) = ends(inst);
    Flags::OVERFLOW.when(greatest.bits + greatest.slack >= inst.result.max_bits())
        | Flags::UNDERFLOW.when(least.bits <= least.slack + (1 << inst.result.mant()))
}

impl Operator for Pow {
    fn name(&self) -> &'static str {
        "pow"
    }

    fn summary(&self) -> &'static str {
        "x^(n/d), d of 1 or 2; faithful, by table and polynomial"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        let [format @ Format::Float { .. }] = args else {
            return Err("`pow` takes one float".into());
        };
        power::exponent(attrs)?;
        if format.mant() > MAX_WIDE {
            return Err(format!("`pow` takes floats of up to {MAX_WIDE} fraction bits"));
        }
        Ok(*format)
    }

    fn flags(&self, inst: &Inst) -> Flags {
        let ((n, d), bias) = (reduced(&inst.attrs), inst.result.bias());
        match (n, d) {
            (0, _) | (1, 1) => return Flags::NONE,
            (2, 1) => return Fmul.flags(&square(inst)),
            _ => {}
        }
        // A rising power above 1 leaves the range at both ends, if there are numbers below 1 at all; a root never. A
        // falling one meets its greatest result at the least number, 2^(1-bias), and its least one just above
        // 2^(-n/d (bias + 1)).
        let (overflow, underflow) = if n > 0 {
            (n > d, n > d && bias > 1)
        } else {
            (-n * (bias - 1) >= d * (bias + 1), -n * (bias + 1) > d * (bias - 1))
        };
        let within = if inst.bounds.is_empty() { Flags::OVERFLOW | Flags::UNDERFLOW } else { within(inst) };
        Flags::OVERFLOW.when(overflow && within.contains(Flags::OVERFLOW))
            | Flags::UNDERFLOW.when(underflow && within.contains(Flags::UNDERFLOW))
            | Flags::INVALID.when(d == 2 && !inst.is_nonneg(0))
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        match method(inst) {
            Method::One(one) => return Bounds::exactly(inst.result, one),
            Method::Same => return inst.bounds(0),
            Method::Square => return Fmul.bounds(&square(inst)),
            Method::Table(_) | Method::Wide(_) => {}
        }
        let (least, greatest) = ends(inst);
        let (least, greatest) = (least.bits.saturating_sub(least.slack), greatest.bits + greatest.slack);
        let greatest = greatest.min(inst.result.max_bits());
        let zero = inst.bounds(0).zero || reduced(&inst.attrs).1 == 2 && !inst.is_nonneg(0);
        Bounds::floats(inst.result, least, greatest, zero)
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        power::nonneg(inst)
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        power::fold(inst)
    }

    fn fast(&self, inst: &Inst) -> Option<Fast> {
        Some(Fast::Power(inst.attrs.n, inst.attrs.d))
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let zero = args[0] >> inst.result.mant() & ((1 << inst.result.exp()) - 1) == 0;
        match method(inst) {
            Method::One(one) => (one, Flags::NONE),
            Method::Same => (if zero { 0 } else { args[0] }, Flags::NONE),
            Method::Square => Fmul.bits(&square(inst), &[args[0]; 2]),
            Method::Table(p) => p.eval(args[0]),
            Method::Wide(p) => p.eval(args[0]),
        }
    }

    fn real(&self, inst: &Inst, args: &[Real]) -> (Real, Flags) {
        let (x, (n, d)) = (args[0].f64(), reduced(&inst.attrs));
        semantics::power(x, n, d)
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        let (n, d) = reduced(&inst.attrs);
        let meaning = Meaning::Power(n, d);
        match method(inst) {
            Method::One(_) | Method::Same => Accuracy::exact(meaning),
            Method::Square => Accuracy::rounded(meaning, &square(inst)),
            Method::Table(_) | Method::Wide(_) => Accuracy::table(meaning, self.table(inst)),
        }
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let x = args[0];
        let (n, d) = reduced(&inst.attrs);
        let power = |base: &str| vec![base; n.unsigned_abs() as usize].join(" * ");
        // C's overloads of <tgmath.h> and CUDA both take either precision.
        let guarded = |value: String| match d {
            1 => format!("({x} != 0 ? {value} : 0)"),
            _ => format!("({x} > 0 ? {value} : 0)"),
        };
        match (n, d) {
            (0, _) => "1".into(),
            (n, 1) if n > 0 => format!("({})", power(x)),
            (_, 1) => guarded(format!("1 / ({})", power(x))),
            (n, _) if n > 0 => guarded(format!("({})", power(&format!("sqrt({x})")))),
            _ => guarded(format!("({})", power(&format!("rsqrt({x})")))),
        }
    }

    fn table(&self, inst: &Inst) -> Option<TableUse> {
        match method(inst) {
            Method::Table(p) => Some(p.table.in_use(p.table.bound)),
            Method::Wide(p) => Some(p.table.in_use(p.table.bound)),
            _ => None,
        }
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        match method(inst) {
            Method::One(one) => CVar::constant(inst.result, one),
            Method::Same => args[0].clone(),
            Method::Square => Fmul.c_bits(&square(inst), c, &[args[0].clone(), args[0].clone()]),
            Method::Wide(p) => p.c_bits(inst, c, &args[0], self.flags(inst)),
            Method::Table(p) => c_text::power(p, inst, c, &args[0], self.flags(inst)),
        }
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        hardware::circuit(inst, self.flags(inst), c, args[0])
    }
}
