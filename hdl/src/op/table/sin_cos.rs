//! `sin` and `cos`: sine and cosine of radians, faithful also next to their zeros (RULES N9).
//!
//! x / pi is computed modulo 2 in fixed point ([`reduce`]): its integer part is the sign, and of its fraction what matters is
//! u, the distance to the nearest integer, since sin(x) = +-sin(pi u). A cosine is the sine a quarter turn later. Of a float, u
//! is normalised and each of its octaves is a line of the table, so that small results have all of their places; of a
//! fixed, u is one line. The table is that of the middle of the places of u that are cut off, and its error bound has those in it.
//!
//! A float of 2^[`LIMIT`] and above has no place for a part of a turn that means anything: the result is 0 with `invalid`.

mod hardware;
mod reduce;
use crate::circuit::{Circuit, Sig};
use crate::number::real::{Call, Dd, Expr, Node, exp2};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::{CText, CVar};
use crate::op::facts;
use crate::op::int::xcast::Xcast;
use crate::op::pieces::float_parts::unpack;
use crate::op::semantics::Real;
use crate::op::table::exp::c_call;
use crate::op::table::func::one_argument;
use crate::op::table::kept::kept;
use crate::op::table::once::Once;
use crate::op::table::poly::c_text;
use crate::op::table::poly::result::{Known, to_float};
use crate::op::table::poly::search::Problem;
use crate::op::table::poly::{Goal, Limits, Line, Span, Table, search};
use crate::op::{Attrs, Inst, Operator, TableUse};
use crate::{Bounds, Flags, Format};
use reduce::{Fixeds, Floats};

pub struct Sin;
pub struct Cos;

/// Floats below 2^LIMIT have a sine and a cosine.
pub const LIMIT: i32 = 20;

/// How an argument becomes u.
#[derive(Clone, Debug)]
enum Reduction {
    Floats(Floats),
    Fixeds(Fixeds),
}

/// The computation of one format. All numbers depend on the format and the function alone.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub format: Format,
    pub cosine: bool,
    reduction: Reduction,
    /// sin(pi u) for the octaves of u from 1/4 downwards, or for u from 0 to 1/2.
    pub table: Table,
    /// The properties of a float's result before it is rounded; `None` for a fixed.
    known: Option<Known>,
    /// The conversion of a fixed's result.
    cast: Option<Inst>,
}

impl Prepared {
    fn new(format: Format, cosine: bool) -> Prepared {
        if cosine {
            // The table is the same.
            let sine = prepared(format, false);
            let reduction = match &sine.reduction {
                Reduction::Floats(_) => Reduction::Floats(Floats::new(format, true)),
                fixeds => fixeds.clone(),
            };
            return Prepared { cosine, reduction, ..sine.clone() };
        }
        let mut sine = Expr::default();
        let (pi, x) = (sine.push(Node::Pi), sine.push(Node::X));
        let angle = sine.push(Node::Mul(pi, x));
        sine.push(Node::Call(Call::Sin, angle));
        let limits = Limits { blocks: 64, pieces: 200_000 };
        let name = format!("sine in {format}");
        let Some(frac) = format.frac() else {
            let floats = Floats::new(format, false);
            let (mant, bits) = (format.mant(), floats.places);
            // Each octave from the middle of its first place on.
            let line = |k: u32| {
                let scale = exp2(-(k as i32) - 2);
                let start = Dd::from(scale) + Dd::from(scale * exp2(-(bits as i32) - 1));
                Some(Line { branch: 0, start, scale, first: 0, last: (1 << bits) - 1 })
            };
            let lines: Vec<Option<Line>> = (0..floats.octaves).map(line).collect();
            let problem = Problem {
                f: &sine,
                goal: Goal::Float { mant, lowest: 1 - format.bias(), underflows: true },
                lines: &lines,
                bits,
                // A result moves by no more of itself than u does, by 5/8 of a last place of u, and a row's results reach up to 4
                // of the powers of two that their place is of.
                argument: 4.0 * 0.625 * exp2(mant as i32 - bits as i32),
            };
            let table = kept(&name, || search(&problem, limits).expect("the sine is smooth"));
            let known = Some(Known::of(&table, format));
            return Prepared { format, cosine, reduction: Reduction::Floats(floats), table, known, cast: None };
        };
        let fixeds = Fixeds::new(format);
        let bits = fixeds.unit - 1;
        let line =
            Line { branch: 0, start: Dd::from(exp2(-(bits as i32) - 2)), scale: 0.5, first: 0, last: (1 << bits) - 1 };
        let problem = Problem {
            f: &sine,
            goal: Goal::fixed(-(frac as i32)),
            lines: &[Some(line)],
            bits,
            // 5/8 of a last place of u, times pi.
            argument: 0.625 * 3.15 * exp2(frac as i32 - fixeds.unit as i32),
        };
        let table = kept(&name, || search(&problem, limits).expect("the sine is smooth"));
        let (most, places) = (table.span().high, -table.quanta().0 as u32);
        let width = Span { low: -most, high: most }.bits().max(places);
        let from = Format::Fixed { width: width as u8, frac: places as u8, signed: true };
        let cast = Inst::new(&Xcast, &[from], Attrs { to: Some(format), ..Attrs::default() });
        let cast = Some(cast.expect("a cast of fixeds"));
        Prepared { format, cosine, reduction: Reduction::Fixeds(fixeds), table, known: None, cast }
    }

    /// The pattern of 1 in a float.
    fn one(&self) -> u64 {
        (self.format.bias() as u64) << self.format.mant()
    }

    /// The result's pattern and flags: the specification.
    #[inline]
    pub fn eval(&self, x: u64) -> (u64, Flags) {
        let format = self.format;
        match &self.reduction {
            Reduction::Floats(floats) => {
                let field = (x >> format.mant()) as u32 & ((1 << format.exp()) - 1);
                if field < floats.first {
                    return (if self.cosine { self.one() } else { x }, Flags::NONE);
                }
                if field > floats.last {
                    return (0, Flags::INVALID);
                }
                let p = unpack(format, x).expect("not 0");
                let turn = floats.turn(p.sig, field);
                let (negative, line, fraction) = floats.octave(turn);
                let (h, quantum) = self.table.eval(line, fraction);
                let flip = negative ^ (p.negative && !self.cosine);
                to_float(format, if flip { -h } else { h }, quantum)
            }
            Reduction::Fixeds(fixeds) => {
                let (negative, place) = fixeds.place(format.to_int(x), self.cosine);
                let (h, _) = self.table.eval(0, place);
                self.cut(if negative { -h } else { h }.into())
            }
        }
    }

    /// C: the same.
    fn c_bits(&self, inst: &Inst, c: &mut CText, x: &CVar, flags: Flags) -> CVar {
        let (format, cosine) = (self.format, self.cosine);
        let floats = match &self.reduction {
            Reduction::Fixeds(fixeds) => {
                let (negative, place) = fixeds.c_place(c, format, x, cosine);
                let (h, _) = c_text::eval(&self.table, c, &place);
                let h = c.set(h.kind, format!("{negative} ? -{h} : {h}"));
                let cast = self.cast.as_ref().expect("the result of a fixed");
                let h = c_text::pattern(c, cast.args[0], &h);
                return Xcast.c_bits(cast, c, &[h]);
            }
            Reduction::Floats(floats) => floats,
        };
        let field = floats::field(c, format, inst.is_nonneg(0), x);
        let small = c.test(format!("{field} < {}", floats.first));
        let large = c.test(format!("{field} > {}", floats.last));
        c.raise(Flags::INVALID, &large);
        let (negative, at) = floats.c_octave(c, format, x, &field);
        let (h, quantum) = c_text::eval(&self.table, c, &at);
        let flip = match cosine || inst.is_nonneg(0) {
            true => negative,
            false => c.test(format!("{negative} != (({x} >> {}) != 0)", format.width() - 1)),
        };
        let live = Some(c.test(format!("!{small} & !{large}")));
        let span = self.table.span();
        let result = c_text::Result { format, span, quantum, flip: Some(&flip), live, flags };
        let value = c_text::to_float(c, &h, result);
        let own = if cosine { x.kind.number(self.one() as i128) } else { x.text.clone() };
        c.set(x.kind, format!("{small} ? {own} : {value}"))
    }

    /// h in a fixed's own places.
    fn cut(&self, h: i128) -> (u64, Flags) {
        let cast = self.cast.as_ref().expect("the result of a fixed");
        Xcast.bits(cast, &[h as u64 & cast.args[0].mask()])
    }

    fn flags(&self, inst: &Inst) -> Flags {
        match (&self.reduction, &self.known) {
            (Reduction::Floats(floats), Some(known)) => {
                let (_, most) = inst.bounds(0).fields(self.format);
                known.flags(self.format) | Flags::INVALID.when(most > floats.last as i64)
            }
            _ => {
                let most = self.table.span().high;
                self.cut(most).1 | self.cut(-most).1
            }
        }
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let format = self.format;
        let Some(known) = &self.known else {
            let most = self.table.span().high;
            let ends = [-most, most].map(|h| format.to_int(self.cut(h).0));
            return Bounds::ints(ends[0], ends[1]);
        };
        let flags = self.flags(inst);
        let lost = flags.contains(Flags::UNDERFLOW) || flags.contains(Flags::INVALID);
        let least = known.bounds(format).low as u64;
        if self.cosine {
            return Bounds::floats(format, least, self.one(), lost);
        }
        // Small arguments are their own sines.
        let own = inst.bounds(0);
        Bounds::floats(format, least.min(inst.magnitudes(0).0), self.one(), lost || own.zero)
    }
}

/// The table of a format, made on first use and kept for the life of the process.
pub fn prepared(format: Format, cosine: bool) -> &'static Prepared {
    static ALL: Once<(Format, bool), Prepared> = Once::new();
    ALL.get((format, cosine), || Prepared::new(format, cosine))
}

/// The operators differ in a quarter of a turn.
macro_rules! operator {
    ($type:ty, $name:literal, $cosine:literal, $summary:literal, $real:expr, $meaning:expr) => {
        impl Operator for $type {
            fn name(&self) -> &'static str {
                $name
            }

            fn summary(&self) -> &'static str {
                $summary
            }

            fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
                one_argument($name, args)
            }

            fn flags(&self, inst: &Inst) -> Flags {
                prepared(inst.result, $cosine).flags(inst)
            }

            fn bounds(&self, inst: &Inst) -> Bounds {
                prepared(inst.result, $cosine).bounds(inst)
            }

            fn lanes(&self, inst: &Inst, args: &[&[u64]], out: &mut [u64]) -> Flags {
                let p = prepared(inst.result, $cosine);
                facts::each(out, |lane| p.eval(args[0][lane]))
            }

            fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
                prepared(inst.result, $cosine).eval(args[0])
            }

            fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
                let x = args[0].f64();
                Real::defined((x.abs() < exp2(LIMIT)).then(|| $real(x)))
            }

            fn accuracy(&self, inst: &Inst) -> Accuracy {
                Accuracy::table($meaning, self.table(inst))
            }

            fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
                let call = c_call(inst, $name, args[0]);
                let far = inst.result.is_float()
                    && inst.bounds(0).fields(inst.result).1 >= (inst.result.bias() + LIMIT) as i64;
                if far { format!("(fabs({}) < 0x1p{LIMIT} ? {call} : 0)", args[0]) } else { call }
            }

            fn table(&self, inst: &Inst) -> Option<TableUse> {
                let table = &prepared(inst.result, $cosine).table;
                Some(table.in_use(table.bound))
            }

            fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
                let flags = self.flags(inst);
                prepared(inst.result, $cosine).c_bits(inst, c, &args[0], Flags(flags.0 & !Flags::INVALID.0))
            }

            fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
                hardware::circuit(prepared(inst.result, $cosine), inst, self.flags(inst), c, args[0])
            }
        }
    };
}

operator!(
    Sin,
    "sin",
    false,
    "sine of radians; faithful; of a float from 2^20 on it is 0 and invalid",
    f64::sin,
    Meaning::Sin
);
operator!(
    Cos,
    "cos",
    true,
    "cosine of radians; faithful; of a float from 2^20 on it is 0 and invalid",
    f64::cos,
    Meaning::Cos
);
