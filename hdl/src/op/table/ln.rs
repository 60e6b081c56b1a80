//! `log` and `log2`: the natural and the binary logarithm, faithful, and exact where they are whole; of 0 and of negative numbers it is 0 with `invalid` (RULES N9).
//!
//! With x = 2^e (1 + t), t in [-1/4, 1/2), it is e log(2) + t g(t), where g(t) = log(1 + t) / t is smooth, comes from a table
//! and keeps the relative error near 1, where the logarithm vanishes. The product with t is exact, or cut off far below. Of more than
//! 23 fraction bits the product is always exact, g is of degree 4, and the sum has up to 122 bits; normalising t first would make it
//! shorter, but would take two shifts by any distance instead of one. [`Multiples`] says where e log(2) comes from.

mod hardware;
mod multiples;

use crate::circuit::{Circuit, Sig};
use crate::number::real::{Call, Dd, Interval, MAX_ORDER, Smooth, Value, elementary, exp2};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::{CText, CType, CVar, I32, I64, U32};
use crate::op::facts;
use crate::op::int::xcast::Xcast;
use crate::op::pieces::float_parts::{max_field, unpack};
use crate::op::semantics::Real;
use crate::op::table::exp::c_call;
use crate::op::table::func::one_argument;
use crate::op::table::kept::kept;
use crate::op::table::once::Once;
use crate::op::table::poly::c_text;
use crate::op::table::poly::coefficients::MAX_DEGREE;
use crate::op::table::poly::result::{Known, wide_to_float};
use crate::op::table::poly::search::{Problem, search_of_degree};
use crate::op::table::poly::{Goal, Limits, Line, Span, Table, search};
use crate::op::table::{MAX_MANT, MAX_WIDE};
use crate::op::{Attrs, Inst, Operator, TableUse};
use crate::{Bounds, Flags, Format};
use multiples::Multiples;

pub struct Log;
pub struct Log2;

/// log(1 + t) / t to one of the bases, at t = x below 1/2 and at t = (x - 1) / 2 from there on.
struct Ratio {
    binary: bool,
}

impl Ratio {
    fn log(&self, x: Dd) -> Dd {
        if self.binary { elementary::binary_log(x) } else { elementary::log(x) }
    }

    /// The ratio at 0: the logarithm of e.
    fn first(&self) -> Dd {
        if self.binary { Dd::ONE / Dd::LN_2 } else { Dd::ONE }
    }

    /// Encloses t; `None` where the interval is on both sides.
    fn t(x: Interval) -> Option<(Interval, f64)> {
        match (x.lo < 0.5, x.hi < 0.5) {
            (true, true) => Some((x, 1.0)),
            (false, false) => Some(((x - Interval::ONE).scaled(0.5), 0.5)),
            _ => None,
        }
    }
}

impl Smooth for Ratio {
    fn value(&self, x: Dd) -> Option<Value> {
        let t = if x.hi < 0.5 { x } else { (x - Dd::ONE).scale(-1) };
        let value = if t.hi.abs() < exp2(-24) {
            // 1 + t would lose places of t.
            let series = [1.0, -0.5, 1.0 / 3.0, -0.25, 0.2].into_iter().rev();
            series.fold(Dd::ZERO, |sum, c| sum * t + Dd::from(c)) * self.first()
        } else {
            self.log(Dd::ONE + t) / t
        };
        Some(Value { value, error: exp2(-80) })
    }

    fn range(&self, x: Interval) -> Interval {
        let Some((t, _)) = Ratio::t(x) else { return Interval::new(0.8, 1.8) };
        let at = |t: f64| if t == 0.0 { self.first() } else { self.log(Dd::ONE + Dd::from(t)) / Dd::from(t) };
        // It falls.
        Interval::new(at(t.hi).hi, at(t.lo).hi).outward().outward()
    }

    /// g^(n)(t) / n! is the integral of (-s)^n / (1 + t s)^(n+1) over s from 0 to 1.
    fn coefficients(&self, x: Interval, order: usize) -> [Interval; MAX_ORDER + 1] {
        let mut c = [Interval::WHOLE; MAX_ORDER + 1];
        let Some((t, slope)) = Ratio::t(x) else { return c };
        let base = 1.0 / (1.0 + t.lo.min(0.0));
        for (n, c) in c.iter_mut().enumerate().take(order + 1) {
            let power = (0..=n).fold(1.0, |p, _| p * base);
            let chain = (0..n).fold(1.0, |p, _| p * slope);
            let bound = 1.000_001 * self.first().hi * power * chain / (n + 1) as f64;
            *c = Interval::new(-bound, bound);
        }
        c
    }
}

/// The computation of one format. All numbers depend on the format alone.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub format: Format,
    /// Whether the base is 2 and not e.
    pub binary: bool,
    /// Bits of the fraction of a normalised argument.
    pub bits: u32,
    /// g at the fractions.
    pub table: Table,
    multiples: Multiples,
    /// Fraction bits of the sum, and how many more the product with t has, which are cut off.
    pub sum_frac: u32,
    pub cut: u32,
}

impl Prepared {
    fn new(format: Format, binary: bool) -> Prepared {
        let (bits, precision, exponents) = match format.frac() {
            None => (format.mant(), format.mant(), (1 - format.bias(), max_field(format) as i32 - format.bias())),
            Some(frac) => {
                let frac = frac as i32;
                ((format.width() - 1).max(1), frac as u32, (-frac, format.width() as i32 - 1 - frac))
            }
        };
        let half = 1u64 << (bits - 1);
        let line = Line { branch: 0, start: Dd::ZERO, scale: 1.0, first: 0, last: 2 * half - 1 };
        let problem = Problem {
            f: &Ratio { binary },
            // A quarter of a place of a significand: g lies between 0.8 and 1.7.
            goal: Goal::fixed(-(precision as i32) - 2),
            lines: &[Some(line)],
            bits,
            argument: 0.0,
        };
        let is_wide = format.mant() > MAX_MANT;
        let search = || match is_wide {
            true => search_of_degree(&problem, Limits { blocks: 256, pieces: 200_000 }, MAX_DEGREE),
            false => search(&problem, Limits { blocks: 64, pieces: 200_000 }),
        };
        let name = if binary { "log2" } else { "log" };
        let table = kept(&format!("{name} in {format}"), || search().expect("log(1 + t) / t is smooth"));
        let exact = bits + 1 + (-table.quanta().0) as u32;
        // Of a fixed few places are enough; of a float of few fraction bits all are kept that 64 bits hold.
        let sum_frac = match format.frac() {
            None if is_wide => exact,
            None => exact.min(62 - format.exp()),
            Some(_) => exact.min(precision + 10),
        };
        // At least one place coarser than the sum, of which the shortest formats have few.
        let frac = if binary { 1 } else { (precision + 6).min(sum_frac - 1) };
        // The exponent counts one more where the fraction is 1/2 or more.
        let multiples = Multiples::new(binary, exponents.0, exponents.1 + 1, frac, is_wide);
        Prepared { format, binary, bits, table, multiples, sum_frac, cut: exact - sum_frac }
    }

    /// The fraction and the exponent of a positive number.
    #[inline]
    fn normalise(&self, x: u64) -> (u64, i32) {
        match self.format.frac() {
            None => {
                let p = unpack(self.format, x).expect("not 0");
                (p.sig & ((1 << self.bits) - 1), p.exp + self.bits as i32)
            }
            Some(frac) => {
                let top = x.ilog2();
                ((x << (self.bits - top)) & ((1 << self.bits) - 1), top as i32 - frac as i32)
            }
        }
    }

    /// The sum, in units of 2^-`sum_frac`.
    #[inline]
    fn sum(&self, x: u64) -> i128 {
        let (fraction, exponent) = self.normalise(x);
        let upper = (fraction >> (self.bits - 1)) as i64;
        let t = 2 * fraction as i64 - upper * (fraction as i64 + (1i64 << self.bits));
        let (g, _) = self.table.eval(0, fraction);
        let whole = self.multiples.of(exponent + upper as i32);
        ((t as i128 * g as i128) >> self.cut) + (whole << (self.sum_frac - self.multiples.frac))
    }

    /// C: the sum of a positive number.
    fn c_sum(&self, c: &mut CText, x: &CVar) -> CVar {
        let (format, bits) = (self.format, self.bits);
        let (kind, mask) = (CType::unsigned(bits + 1), (1u64 << bits) - 1);
        let (fraction, at) = match format.frac() {
            None => (c.set(kind, format!("{x} & {mask:#x}")), {
                let field = floats::field(c, format, true, x);
                c.set(I32, format!("{field} - 1"))
            }),
            Some(_) => {
                let top = c.set(I32, format!("{} - (int32_t)pf_clz{}({x})", x.kind.bits - 1, x.kind.bits));
                (c.set(kind, format!("({x} << ({bits} - {top})) & {mask:#x}")), top)
            }
        };
        let upper = c.set(I32, format!("{fraction} >> {}", bits - 1));
        let t = CType::signed(bits + 2);
        let whole = t.number(1 << bits);
        let t = c.set(t, format!("2 * ({t}){fraction} - ({upper} != 0 ? ({t}){fraction} + {whole} : 0)"));
        let (g, _) = c_text::eval(&self.table, c, &fraction);
        let index = c.set(U32, format!("{at} + {upper}"));
        let wide = CType::signed(bits + 2 + self.table.span().bits() + 1);
        let product = c.set(wide, format!("(({wide}){t} * ({wide}){g}) >> {}", self.cut));
        let sum = CType::signed(self.span().bits()).max(I64);
        let multiple = self.multiples.c_text(c, sum, &index);
        let places = sum.number(1 << (self.sum_frac - self.multiples.frac));
        c.set(sum, format!("({sum}){product} + {multiple} * {places}"))
    }

    /// The result's pattern and flags: the specification.
    #[inline]
    pub fn eval(&self, x: u64) -> (u64, Flags) {
        let format = self.format;
        let negative = format.is_signed() && x >> (format.width() - 1) & 1 == 1;
        let zero = if format.is_float() { unpack(format, x).is_none() } else { x == 0 };
        if zero || negative {
            return (0, Flags::INVALID);
        }
        let sum = self.sum(x);
        match format.frac() {
            None => wide_to_float(format, sum, -(self.sum_frac as i32)),
            Some(frac) => {
                let cut = sum >> (self.sum_frac - frac - 4);
                let cast = self.cast();
                Xcast.bits(&cast, &[cut as u64 & cast.args[0].mask()])
            }
        }
    }

    /// The span of the sum, roughly.
    pub fn span(&self) -> Span {
        let m = &self.multiples;
        let (unit, off) = (1i128 << (self.sum_frac - m.frac), m.off());
        let (first, last) = (m.of(m.first), m.of(m.last));
        Span {
            low: (first.min(0) - off) * unit,
            high: (last.max(0) + off - 1 + (1 << (m.frac - !self.binary as u32))) * unit,
        }
    }

    /// The conversion of a fixed's sum, cut off four places below the result's last.
    fn cast(&self) -> Inst {
        let frac = self.format.frac().expect("a fixed");
        let right = self.sum_frac - frac - 4;
        let span = self.span();
        let width = Span { low: (span.low >> right) - 1, high: (span.high >> right) + 1 }.bits().max(frac + 4);
        let from = Format::Fixed { width: width as u8, frac: (frac + 4) as u8, signed: true };
        Inst::new(&Xcast, &[from], Attrs { to: Some(self.format), ..Attrs::default() }).expect("a cast of fixeds")
    }

    /// The properties of a float's result before it is rounded.
    fn known(&self) -> Known {
        let quantum = -(self.sum_frac as i32);
        let span = self.span();
        // The logarithm of the number just below 1 is the least.
        let least = self.table.span().low >> self.cut;
        let most = span.high.max(-span.low);
        let greatest = wide_to_float(self.format, most, quantum).0;
        let (low, high) = (quantum + least.ilog2() as i32, quantum + most.ilog2() as i32);
        Known { span, least, low, high, quantum, greatest }
    }

    /// C: the same.
    fn c_bits(&self, inst: &Inst, c: &mut CText, x: &CVar, flags: Flags) -> CVar {
        let (p, format) = (self, self.format);
        let valid = flags.contains(Flags::INVALID).then(|| {
            let negative =
                if inst.never_negative(0) { "".into() } else { format!(" | ({x} >> {}) != 0", format.width() - 1) };
            let invalid = c.test(format!("({x} == 0){negative}"));
            c.raise(Flags::INVALID, &invalid);
            c.test(format!("!{invalid}"))
        });
        let safe = match &valid {
            // The least positive number.
            Some(valid) => c.set(x.kind, format!("{valid} ? {x} : {}", x.kind.number(1 << format.mant()))),
            None => x.clone(),
        };
        let sum = p.c_sum(c, &safe);
        let flags = Flags(flags.0 & !Flags::INVALID.0);
        let Some(frac) = format.frac() else {
            let quantum = c_text::Exponent { text: "0".into(), offset: -(p.sum_frac as i64) };
            let result = c_text::Result { format, span: p.span(), quantum, flip: None, live: valid, flags };
            return c_text::to_float(c, &sum, result);
        };
        let cut = c.set(sum.kind, format!("{sum} >> {}", p.sum_frac - frac - 4));
        let cast = p.cast();
        let h = c_text::pattern(c, cast.args[0], &cut);
        let before = c.raised();
        let result = Xcast.c_bits(&cast, c, &[h]);
        match valid {
            Some(valid) => {
                c.restrict(before, &valid);
                c.set(result.kind, format!("{valid} ? {result} : 0"))
            }
            None => result,
        }
    }
}

/// The table of a format, made on first use and kept for the life of the process.
pub fn prepared(format: Format, binary: bool) -> &'static Prepared {
    static ALL: Once<(Format, bool), Prepared> = Once::new();
    ALL.get((format, binary), || Prepared::new(format, binary))
}

/// The operators differ in their base.
macro_rules! operator {
    ($type:ty, $name:literal, $binary:literal, $summary:literal, $real:expr, $meaning:expr) => {
        impl Operator for $type {
            fn name(&self) -> &'static str {
                $name
            }

            fn summary(&self) -> &'static str {
                $summary
            }

            fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
                match args {
                    [format @ Format::Float { .. }] if format.mant() <= MAX_WIDE => Ok(*format),
                    _ => one_argument($name, args),
                }
            }

            fn flags(&self, inst: &Inst) -> Flags {
                let format = inst.result;
                let b = inst.bounds(0);
                let negative = if format.is_float() { !inst.is_nonneg(0) } else { b.low < 0 };
                let invalid = Flags::INVALID.when(b.zero || negative);
                let p = prepared(format, $binary);
                if format.is_float() {
                    return invalid | p.known().flags(format);
                }
                let ends = [b.low.max(1), b.high.max(1)].map(|x| p.eval(x as u64 & format.mask()));
                // A faithful result may lie a place beyond that of the end.
                let near =
                    |y: i128| y <= format.to_int(format.min_bits()) + 1 || y + 1 >= format.to_int(format.max_bits());
                let saturates = ends.iter().any(|e| e.1.contains(Flags::SATURATION) || near(format.to_int(e.0)));
                invalid | Flags::SATURATION.when(saturates)
            }

            fn bounds(&self, inst: &Inst) -> Bounds {
                let format = inst.result;
                if format.is_float() {
                    let bounds = prepared(format, $binary).known().bounds(format);
                    return Bounds { zero: true, ..bounds };
                }
                Bounds::of(format)
            }

            fn lanes(&self, inst: &Inst, args: &[&[u64]], out: &mut [u64]) -> Flags {
                let p = prepared(inst.result, $binary);
                facts::each(out, |lane| p.eval(args[0][lane]))
            }

            fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
                prepared(inst.result, $binary).eval(args[0])
            }

            fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
                let x = args[0].f64();
                Real::defined((x > 0.0).then(|| $real(x)))
            }

            fn accuracy(&self, inst: &Inst) -> Accuracy {
                Accuracy::table($meaning, self.table(inst))
            }

            fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
                format!("({0} > 0 ? {1} : 0)", args[0], c_call(inst, $name, args[0]))
            }

            fn table(&self, inst: &Inst) -> Option<TableUse> {
                // A quarter of a place of g is at most 1 / (2 * 0.81) places of t g; the multiple and the cut add less than 0.1.
                let table = &prepared(inst.result, $binary).table;
                Some(table.in_use(0.62 * table.bound + 0.1))
            }

            fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
                prepared(inst.result, $binary).c_bits(inst, c, &args[0], self.flags(inst))
            }

            fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
                hardware::circuit(prepared(inst.result, $binary), inst, self.flags(inst), c, args[0])
            }
        }
    };
}

operator!(
    Log,
    "log",
    false,
    "natural logarithm; faithful, by table and polynomial; of 0 and below it is 0 and invalid",
    f64::ln,
    Meaning::Log
);
operator!(
    Log2,
    "log2",
    true,
    "logarithm to base 2; faithful, and exact of powers of two, by table and polynomial; of 0 and below it is 0 and invalid",
    f64::log2,
    Meaning::Real(Call::Log2)
);
