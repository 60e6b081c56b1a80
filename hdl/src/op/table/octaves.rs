//! Functions of a float by the octaves of its argument: `tanh`, `erf`, `erfc`, `cbrt`, `asin`, `acos` and `atan`, faithful
//! (RULES N9).
//!
//! An octave of the argument is a line of the table ([`Place`] says which), and rows have their own quantum, so that small results
//! have all of their places. Octaves without a line are those in which the function is its argument, or a multiple of it, or
//! what it tends to. The arc sine and cosine are steep next to 1, where the lines are octaves of 1 - |x|, which is exact. The
//! cubic root of three octaves is that of all.

mod hardware;
mod lines;
mod text;

use crate::circuit::{Circuit, Sig};
use crate::number::real::{Call, Dd, elementary};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CVar};
use crate::op::facts;
use crate::op::semantics::Real;
use crate::op::table::MAX_MANT;
use crate::op::table::exp::c_call;
use crate::op::table::kept::kept;
use crate::op::table::once::Once;
use crate::op::table::poly::result::{Known, to_float};
use crate::op::table::poly::search::Problem;
use crate::op::table::poly::{Goal, Limits, Table, search};
use crate::op::{Attrs, Inst, Operator, TableUse};
use crate::{Bounds, Flags, Format};
use lines::{Layout, Place, functions};

/// One of the functions.
pub struct Octaves {
    pub call: Call,
    summary: &'static str,
    real: fn(f64) -> f64,
}

pub const TANH: Octaves =
    Octaves { call: Call::Tanh, summary: "hyperbolic tangent; faithful, by table and polynomial", real: f64::tanh };
pub const ERF: Octaves = Octaves {
    call: Call::Erf,
    summary: "error function; faithful, by table and polynomial",
    real: |x| elementary::erf(Dd::from(x)).hi,
};
pub const ERFC: Octaves = Octaves {
    call: Call::Erfc,
    summary: "1 - erf(x); faithful, by table and polynomial",
    real: |x| elementary::erfc(Dd::from(x)).hi,
};
pub const CBRT: Octaves = Octaves {
    call: Call::Cbrt,
    summary: "cubic root; faithful, and exact where it is representable, by table and polynomial",
    real: f64::cbrt,
};
pub const ASIN: Octaves = Octaves {
    call: Call::Asin,
    summary: "arc sine in radians; faithful, by table and polynomial; of a magnitude above 1 it is 0 and invalid",
    real: f64::asin,
};
pub const ACOS: Octaves = Octaves {
    call: Call::Acos,
    summary: "arc cosine in radians; faithful, by table and polynomial; of a magnitude above 1 it is 0 and invalid",
    real: f64::acos,
};
pub const ATAN: Octaves =
    Octaves { call: Call::Atan, summary: "arc tangent in radians; faithful, by table and polynomial", real: f64::atan };

/// The computation of one format. All numbers depend on the format and the function alone.
#[derive(Debug)]
pub struct Prepared {
    pub format: Format,
    pub call: Call,
    layout: Layout,
    pub table: Table,
    /// The properties of a result before it is rounded.
    known: Known,
}

impl Prepared {
    fn new(format: Format, call: Call) -> Prepared {
        let layout = Layout::new(format, call);
        let functions = functions(call);
        let problem = Problem {
            f: &functions,
            goal: Goal::Float { mant: format.mant(), lowest: 1 - format.bias(), underflows: true },
            lines: &layout.lines(format, call),
            bits: format.mant(),
            argument: lines::TAIL,
        };
        let limits = Limits { blocks: 64, pieces: 200_000 };
        let name = format!("{call:?} in {format}");
        let table = kept(&name, || search(&problem, limits).expect("the function is smooth"));
        let mut known = Known::of(&table, format);
        let (least, most) = layout.shifts(format);
        known.low += least;
        known.high += most;
        let mut p = Prepared { format, call, layout, table, known };
        if most > 0 {
            // A faithful result may lie a place beyond that of the end.
            p.known.greatest = p.eval(format.max_bits()).0 + 1;
        }
        p
    }

    /// The result's pattern and flags: the specification.
    #[inline]
    pub fn eval(&self, x: u64) -> (u64, Flags) {
        match self.layout.place(self.format, x) {
            Place::Own => (x, Flags::NONE),
            Place::Zero => (0, Flags::NONE),
            Place::Invalid => (0, Flags::INVALID),
            Place::Line { line, fraction, shift, negative } => {
                let (h, quantum) = self.table.eval(line, fraction);
                to_float(self.format, if negative { -h } else { h }, quantum + shift)
            }
        }
    }

    fn flags(&self, inst: &Inst) -> Flags {
        let high = inst.bounds(0).high as u64;
        let mut flags = self.known.flags(self.format);
        if self.call == Call::Erfc {
            // It falls.
            let least = self.eval(high.min(self.format.max_bits())).0;
            flags = Flags(flags.0 & !Flags::UNDERFLOW.when(least > 1 + (1 << self.format.mant())).0);
        }
        flags | Flags::INVALID.when(self.layout.fold.is_some() && high > self.layout.one)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let flags = self.flags(inst);
        let known = self.known.bounds(self.format);
        let least = match self.layout.is_own(self.format, inst.magnitudes(0).0) {
            true => inst.magnitudes(0).0.min(known.low as u64),
            false => known.low as u64,
        };
        let zero = known.zero
            || flags.intersects(Flags::UNDERFLOW | Flags::INVALID)
            || inst.bounds(0).zero && self.layout.vanishes;
        Bounds::floats(self.format, least, known.high as u64, zero)
    }
}

/// The table of a format, made on first use and kept for the life of the process.
pub fn prepared(format: Format, call: Call) -> &'static Prepared {
    static ALL: Once<(Format, Call), Prepared> = Once::new();
    ALL.get((format, call), || Prepared::new(format, call))
}

impl Operator for Octaves {
    fn name(&self) -> &'static str {
        self.call.name()
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        match args {
            [format @ Format::Float { .. }] if format.mant() <= MAX_MANT => Ok(*format),
            _ => Err(format!("`{}` takes one float of up to {MAX_MANT} fraction bits", self.name())),
        }
    }

    fn flags(&self, inst: &Inst) -> Flags {
        prepared(inst.result, self.call).flags(inst)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        prepared(inst.result, self.call).bounds(inst)
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        matches!(self.call, Call::Acos | Call::Erfc) || inst.is_nonneg(0)
    }

    fn lanes(&self, inst: &Inst, args: &[&[u64]], out: &mut [u64]) -> Flags {
        let p = prepared(inst.result, self.call);
        facts::each(out, |lane| p.eval(args[0][lane]))
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        prepared(inst.result, self.call).eval(args[0])
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        let x = args[0].f64();
        let folds = matches!(self.call, Call::Asin | Call::Acos);
        Real::defined((!folds || x.abs() <= 1.0).then(|| (self.real)(x)))
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::table(Meaning::Real(self.call), self.table(inst))
    }

    /// Of doubles too, which no table holds: the domain is always looked at.
    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let (x, call) = (args[0], c_call(inst, self.name(), args[0]));
        match self.call {
            Call::Asin | Call::Acos => format!("(fabs({x}) <= 1 ? {call} : 0)"),
            _ => call,
        }
    }

    fn table(&self, inst: &Inst) -> Option<TableUse> {
        let table = &prepared(inst.result, self.call).table;
        Some(table.in_use(table.bound))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        text::bits(prepared(inst.result, self.call), inst, c, &args[0], self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        hardware::circuit(prepared(inst.result, self.call), inst, self.flags(inst), c, args[0])
    }
}
