//! `atan2`: the angle of a point, faithful in every octant (RULES N9).
//!
//! The quotient q of the lesser coordinate by the greater one is divided out to a few places more than the result has. An
//! octave of q is a line of the table, for each of the four functions that the octants need: atan(q), its distance from a quarter
//! and from half a turn, and its sum with a quarter. The table is that of the middle of the places of q that are cut off, and its
//! error bound has those in it.

mod hardware;
mod text;

use crate::circuit::{Circuit, Sig};
use crate::number::exact::Exact;
use crate::number::real::{Branches, Call, Dd, Evaluator, Expr, Node, exp2};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CVar};
use crate::op::pieces::float_parts::max_field;
use crate::op::pieces::float_parts::shift::bits_of;
use crate::op::semantics::Real;
use crate::op::table::MAX_MANT;
use crate::op::table::kept::kept;
use crate::op::table::once::Once;
use crate::op::table::poly::result::{Known, to_float};
use crate::op::table::poly::search::Problem;
use crate::op::table::poly::{Goal, Limits, Line, Table, search};
use crate::op::{Attrs, Inst, Operator, TableUse};
use crate::{Bounds, Flags, Format};

pub struct Atan2;

/// Bits of a quotient's significand beyond those of the result.
const MORE: u32 = 6;

/// The computation of one format. All numbers depend on the format alone.
#[derive(Debug)]
pub struct Prepared {
    pub format: Format,
    /// Fraction bits of the quotient.
    pub places: u32,
    /// The number of the last octave, which stands for all smaller quotients too.
    pub last: u32,
    /// The four functions; a line's number is that of the function with the octave's behind it.
    pub table: Table,
    /// The properties of a result before it is rounded.
    known: Known,
}

/// An octant's function: whether the coordinates are exchanged, and whether x is negative.
fn function(exchanged: bool, behind: bool) -> Evaluator {
    let mut e = Expr::default();
    let (x, pi) = (e.push(Node::X), e.push(Node::Pi));
    let atan = e.push(Node::Call(Call::Atan, x));
    let two = e.push(Node::Number(Exact::from_integer(2.into())));
    let right = e.push(Node::Div(pi, two));
    match (exchanged, behind) {
        (false, false) => e.finish(atan),
        (false, true) => drop(e.push(Node::Sub(pi, atan))),
        (true, false) => drop(e.push(Node::Sub(right, atan))),
        (true, true) => drop(e.push(Node::Add(right, atan))),
    }
    Evaluator::new(&e)
}

/// A point as its quotient: the steps that bits, circuit and C text share.
struct Quotient {
    exchanged: bool,
    behind: bool,
    /// The quotient is 2^-octave (1 + fraction), cut off; `None` where it is 0.
    found: Option<(u32, u64)>,
}

impl Prepared {
    fn new(format: Format) -> Prepared {
        let (m, bias) = (format.mant(), format.bias());
        let places = m + MORE;
        // Quotients below 2^-(M + 6) move an angle that is not small by less than a sixteenth of a place.
        let last = (m + 6).min((2 * bias + 1) as u32);
        let all = (1u64 << places) - 1;
        let mut lines = Vec::new();
        for branch in 0..4 {
            let mut own: Vec<Option<Line>> = (0..=last)
                .map(|octave| {
                    let scale = exp2(-(octave as i32));
                    let start = Dd::from(scale) + Dd::from(scale * exp2(-(places as i32) - 1));
                    let last = if octave == 0 { 0 } else { all };
                    Some(Line { branch, start, scale, first: 0, last })
                })
                .collect();
            if branch > 0 {
                own[last as usize] = Some(Line { branch, start: Dd::ZERO, scale: 0.0, first: 0, last: all });
            }
            own.resize(1 << bits_of(last), None);
            lines.append(&mut own);
        }
        let octants = [(false, false), (false, true), (true, false), (true, true)].map(|(a, b)| function(a, b)).into();
        let problem = Problem {
            f: &Branches(octants),
            goal: Goal::Float { mant: m, lowest: 1 - bias, underflows: true },
            lines: &lines,
            bits: places,
            // A result moves by no more of itself than q does, by half a last place of q, and a row's results reach up to 4 of the
            // powers of two that their place is of; what the last octave leaves out is a sixteenth.
            argument: 2.0 * exp2(-(MORE as i32)) + 1.0 / 16.0,
        };
        let limits = Limits { blocks: 64, pieces: 200_000 };
        let table = kept(&format!("atan2 in {format}"), || search(&problem, limits).expect("the functions are smooth"));
        let mut known = Known::of(&table, format);
        // The least quotient is that of the least by the greatest number.
        known.low -= (1 + max_field(format) as u32).saturating_sub(last) as i32;
        Prepared { format, places, last, table, known }
    }

    #[inline]
    fn quotient(&self, y: u64, x: u64) -> Quotient {
        let format = self.format;
        let (m, half) = (format.mant(), format.mask() >> 1);
        let (a, b) = (y & half, x & half);
        let exchanged = a > b;
        let (low, high) = if exchanged { (b, a) } else { (a, b) };
        let behind = x >> (format.width() - 1) & 1 == 1;
        let significand = |n: u64| n & ((1 << m) - 1) | 1 << m;
        if low >> m == 0 {
            return Quotient { exchanged, behind, found: None };
        }
        let q = ((significand(low) as u128) << (self.places + 1)) / significand(high) as u128;
        let whole = (q >> (self.places + 1)) as u32;
        let fraction = (q >> whole) as u64 & ((1 << self.places) - 1);
        let octave = (high >> m) as u32 - (low >> m) as u32 + 1 - whole;
        Quotient { exchanged, behind, found: Some((octave, fraction)) }
    }

    /// The result's pattern and flags: the specification.
    #[inline]
    pub fn eval(&self, y: u64, x: u64) -> (u64, Flags) {
        let q = self.quotient(y, x);
        let function = (q.exchanged as usize) << 1 | q.behind as usize;
        if q.found.is_none() && function == 0 {
            return (0, Flags::NONE);
        }
        let (octave, fraction) = q.found.unwrap_or((self.last, 0));
        let line = function << bits_of(self.last) | octave.min(self.last) as usize;
        let (h, quantum) = self.table.eval(line, fraction);
        let shift = if function == 0 { octave.saturating_sub(self.last) as i32 } else { 0 };
        let negative = y >> (self.format.width() - 1) & 1 == 1;
        to_float(self.format, if negative { -h } else { h }, quantum - shift)
    }

    fn flags(&self, inst: &Inst) -> Flags {
        // In front, the least angle is that of the least y and the greatest x.
        let (y, x) = (inst.magnitudes(0).0, inst.magnitudes(1).1);
        let least = self.eval(y, x).0;
        let flags = self.known.flags(self.format);
        Flags(flags.0 & !Flags::UNDERFLOW.when(least > 1 + (1 << self.format.mant())).0)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let known = self.known.bounds(self.format);
        let zero = inst.bounds(0).zero || self.flags(inst).contains(Flags::UNDERFLOW);
        Bounds::floats(self.format, known.low as u64, known.high as u64, zero)
    }
}

/// The table of a format, made on first use and kept for the life of the process.
pub fn prepared(format: Format) -> &'static Prepared {
    static ALL: Once<Format, Prepared> = Once::new();
    ALL.get(format, || Prepared::new(format))
}

impl Operator for Atan2 {
    fn name(&self) -> &'static str {
        "atan2"
    }

    fn summary(&self) -> &'static str {
        "angle in radians of the point (second, first argument); faithful, by a quotient, table and polynomial; 0 for (0, 0)"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        match args {
            [a @ Format::Float { .. }, b] if a == b && a.mant() <= MAX_MANT => Ok(*a),
            _ => Err(format!("`atan2` takes two floats of one format of up to {MAX_MANT} fraction bits")),
        }
    }

    fn flags(&self, inst: &Inst) -> Flags {
        prepared(inst.result).flags(inst)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        prepared(inst.result).bounds(inst)
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.is_nonneg(0)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        prepared(inst.result).eval(args[0], args[1])
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        Real::number(args[0].f64().atan2(args[1].f64()))
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::table(Meaning::Angle, self.table(inst))
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("atan2({}, {})", args[0], args[1])
    }

    fn table(&self, inst: &Inst) -> Option<TableUse> {
        let table = &prepared(inst.result).table;
        Some(table.in_use(table.bound))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        text::bits(prepared(inst.result), inst, c, args, self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        hardware::circuit(prepared(inst.result), inst, self.flags(inst), c, args)
    }
}
