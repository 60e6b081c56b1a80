//! `exp` and `exp2`: the powers of e and of 2, faithful, and exact where they are whole (RULES N9).
//!
//! y = x log2(e), or x itself, is computed in fixed point and cut off, its integer part is the result's exponent, and 2^f of its
//! fraction f comes from a table. The table is that of the middle of the cut-off places, and its error bound has the
//! argument's in it.

mod hardware;
use crate::circuit::{Circuit, Sig};
use crate::number::real::{Call, Dd, Expr, Node, exp2};
use crate::number::rounding;
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::{CText, CType, CVar, I32};
use crate::op::facts;
use crate::op::pieces::float_parts::unpack;
use crate::op::pieces::parts;
use crate::op::semantics::Real;
use crate::op::table::func::one_argument;
use crate::op::table::kept::kept;
use crate::op::table::once::Once;
use crate::op::table::poly::c_text;
use crate::op::table::poly::coefficients::MAX_DEGREE;
use crate::op::table::poly::result::{Known, to_float};
use crate::op::table::poly::search::{Problem, search_of_degree};
use crate::op::table::poly::{Goal, Limits, Line, Table, search};
use crate::op::table::{MAX_MANT, MAX_WIDE, MAX_WIDTH};
use crate::op::{Attrs, Inst, Operator, TableUse};
use crate::{Bounds, Flags, Format};

pub struct Exp;
pub struct Exp2;

/// The computation of one format. All numbers depend on the format alone.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub format: Format,
    /// Whether the base is 2 and not e.
    pub binary: bool,
    /// log2 of the base in units of 2^-scale.
    pub factor: u128,
    pub scale: u32,
    /// Fraction bits of y.
    pub frac: u32,
    /// 2^f at the fractions of y.
    pub table: Table,
}

/// Bits of the significand that a result can have: fraction bits of a float, and one less than all magnitude bits of a fixed.
fn precision(format: Format) -> u32 {
    if format.is_float() { format.mant() } else { (format.width() - format.is_signed() as u32).max(2) - 1 }
}

impl Prepared {
    fn new(format: Format, binary: bool) -> Prepared {
        let precision = precision(format);
        let frac = precision + 4;
        // A float's y lies below 2^E; of a fixed only those y matter that are no further from 0 than its width.
        let scale = frac + 2 + if format.is_float() { format.exp() } else { 6 };
        let log2_base = if binary { Dd::ONE } else { Dd::ONE / Dd::LN_2 };
        let factor = log2_base.round_scaled(scale as i32).expect("a number of few bits") as u128;
        let line =
            Line { branch: 0, start: Dd::from(exp2(-(frac as i32) - 1)), scale: 1.0, first: 0, last: (1 << frac) - 1 };
        let mut power = Expr::default();
        let (two, x) = (power.push(Node::Number(num_bigint::BigInt::from(2).into())), power.push(Node::X));
        power.push(Node::Pow(two, x));
        let problem = Problem {
            f: &power,
            // Twice as fine as the result, which is rounded just above a power of two.
            goal: Goal::fixed(-(precision as i32) - 1),
            lines: &[Some(line)],
            bits: frac,
            // 2 ln(2) times half a place of y, 2^-(precision + 5), and the factor's error, less than a quarter of that.
            argument: 2.0 * std::f64::consts::LN_2 * 1.25 / 16.0,
        };
        let limits = Limits { blocks: 64, pieces: 100_000 };
        let search = || match precision > MAX_MANT.max(MAX_WIDTH) {
            true => search_of_degree(&problem, limits, MAX_DEGREE),
            false => search(&problem, limits),
        };
        let name = if binary { "exp2" } else { "exp" };
        let table = kept(&format!("{name} in {format}"), || search().expect("2^x is smooth"));
        Prepared { format, binary, factor, scale, frac, table }
    }

    /// The exponent field above which a float's exponential lies outside the format, whatever it is.
    fn last_field(&self) -> i32 {
        self.format.bias() + self.format.exp() as i32 - 2
    }

    /// Places by which significand times factor is moved to the right at [`Prepared::last_field`].
    fn least_shift(&self) -> u32 {
        self.format.mant() + self.scale - self.frac - (self.format.exp() - 2)
    }

    /// y as (integer part, fraction).
    #[inline]
    fn reduce(&self, x: u64) -> (i64, u64) {
        let format = self.format;
        let y = if let Some(frac) = format.frac() {
            let product = format.to_int(x) * self.factor as i128;
            product >> (frac + self.scale - self.frac)
        } else {
            let Some(p) = unpack(format, x) else { return (0, 0) };
            let field = p.exp + format.mant() as i32 + format.bias();
            let end = 1i128 << (format.exp() + self.frac);
            let magnitude = if field > self.last_field() {
                end - 1
            } else {
                let right = self.least_shift() + (self.last_field() - field) as u32;
                (p.sig as i128 * self.factor as i128).checked_shr(right).unwrap_or(0)
            };
            if p.negative { !magnitude } else { magnitude }
        };
        ((y >> self.frac) as i64, y as u64 & ((1 << self.frac) - 1))
    }

    /// The result's pattern and flags: the specification.
    #[inline]
    pub fn eval(&self, x: u64) -> (u64, Flags) {
        let (n, fraction) = self.reduce(x);
        let (h, quantum) = self.table.eval(0, fraction);
        let format = self.format;
        let Some(frac) = format.frac() else {
            return to_float(format, h, quantum + n as i32);
        };
        let most = format.to_int(format.max_bits()) as u128;
        let right = -(n + quantum as i64 + frac as i64);
        let magnitude =
            if n > self.most_exponent() { u128::MAX } else { rounding::shift_round(h as u128, right.min(127) as u32) };
        if magnitude > most { (format.max_bits(), Flags::SATURATION) } else { (magnitude as u64, Flags::NONE) }
    }

    /// C: y, as [`Prepared::reduce`] has it.
    fn c_reduced(&self, inst: &Inst, c: &mut CText, x: &CVar) -> CVar {
        let (format, factor_bits) = (self.format, 128 - self.factor.leading_zeros());
        if let Some(frac) = format.frac() {
            let kind = CType::signed(format.width() + 1 + factor_bits);
            let x = c.int(format, x);
            let right = frac + self.scale - self.frac;
            return c.set(kind, format!("(({kind}){x} * {}) >> {right}", kind.number(self.factor as i128)));
        }
        let (field, s) = (floats::field(c, format, inst.is_nonneg(0), x), floats::significand(c, format, x));
        let kind = CType::unsigned(format.mant() + 1 + factor_bits);
        let product = c.set(kind, format!("({kind}){s} * {}", kind.number(self.factor as i128)));
        let right = c.set(I32, format!("{} - {field}", self.least_shift() as i32 + self.last_field()));
        let y = CType::signed(format.exp() + self.frac + 1);
        let end = y.number((1 << (format.exp() + self.frac)) - 1);
        let far = format!("{field} > {}", self.last_field());
        let moved = format!("({y})pf_shr{}({product}, (uint32_t){right})", kind.bits);
        let y_magnitude = c.set(y, format!("{x} == 0 ? 0 : {far} ? {end} : {moved}"));
        match inst.is_nonneg(0) {
            true => y_magnitude,
            false => c.set(y, format!("({x} >> {}) != 0 ? ~{y_magnitude} : {y_magnitude}", format.width() - 1)),
        }
    }

    /// C: the same.
    fn c_bits(&self, inst: &Inst, c: &mut CText, x: &CVar, flags: Flags) -> CVar {
        let p = self;
        let y = p.c_reduced(inst, c, x);
        let n = c.set(I32, format!("{y} >> {}", p.frac));
        let fraction = c.set(CType::unsigned(p.frac), format!("{y} & {:#x}", (1u64 << p.frac) - 1));
        let (h, quantum) = c_text::eval(&p.table, c, &fraction);
        let (format, span) = (p.format, p.table.span());
        let Some(frac) = format.frac() else {
            let quantum = c_text::Exponent { text: format!("{} + {n}", quantum.text), offset: quantum.offset };
            let result = c_text::Result { format, span, quantum, flip: None, live: None, flags };
            return c_text::to_float(c, &h, result);
        };
        // Beyond all places of h nothing is left.
        let places = span.bits() + 1;
        let kind = CType::unsigned(places + 1);
        let right = c.set(I32, format!("-({n} + {} + {})", quantum.text, quantum.offset + frac as i64));
        let right = c.set(I32, format!("{right} < 0 ? 0 : {right} > {places} ? {places} : {right}"));
        let h = c.set(kind, h);
        let half = format!("((({kind})1 << {right}) >> 1)");
        let rounded =
            c.set(kind, format!("{right} == 0 ? {h} : ({h} + {half} - 1 + (({h} >> {right}) & 1)) >> {right}"));
        let most = format.max_bits();
        let above = c.test(format!("{n} > {} || {rounded} > {most:#x}ull", p.most_exponent()));
        c.raise(Flags::SATURATION, &above);
        let kind = CType::of(format);
        c.set(kind, format!("{above} ? {} : ({kind}){rounded}", kind.number(most as i128)))
    }

    /// The exponent of a fixed's greatest number.
    fn most_exponent(&self) -> i64 {
        let format = self.format;
        format.width() as i64 - format.is_signed() as i64 - 1 - format.frac().unwrap_or(0) as i64
    }

    /// The properties of a float's result before it is rounded.
    fn known(&self) -> Known {
        let known = Known::of(&self.table, self.format);
        let reach = 1 << self.format.exp();
        Known { low: known.low - reach, high: known.high + reach, quantum: known.quantum, ..known }
    }
}

/// The table of a format, made on first use and kept for the life of the process.
pub fn prepared(format: Format, binary: bool) -> &'static Prepared {
    static ALL: Once<(Format, bool), Prepared> = Once::new();
    ALL.get((format, binary), || Prepared::new(format, binary))
}

/// The results of the least and the greatest argument.
fn ends(inst: &Inst, binary: bool) -> (u64, u64) {
    let (format, b) = (inst.result, inst.bounds(0));
    let p = prepared(format, binary);
    if !format.is_float() {
        let mask = format.mask();
        return (p.eval(b.low as u64 & mask).0, p.eval(b.high as u64 & mask).0);
    }
    let sign = 1u64 << (format.width() - 1);
    let least = match (inst.is_nonneg(0), b.zero) {
        (false, _) => b.high as u64 | sign,
        (true, true) => 0,
        (true, false) => b.low as u64,
    };
    (p.eval(least).0, p.eval(b.high as u64).0)
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
                let (format, (least, greatest)) = (inst.result, ends(inst, $binary));
                // A faithful result may lie a place beyond that of the end.
                if format.is_float() {
                    Flags::OVERFLOW.when(greatest + 1 >= format.max_bits())
                        | Flags::UNDERFLOW.when(least <= 1 + (1 << format.mant()))
                } else {
                    Flags::SATURATION.when(greatest + 1 >= format.max_bits())
                }
            }

            fn bounds(&self, inst: &Inst) -> Bounds {
                let (format, (least, greatest)) = (inst.result, ends(inst, $binary));
                let (least, greatest) = (least.saturating_sub(1), (greatest + 1).min(format.max_bits()));
                if format.is_float() {
                    Bounds::floats(format, least, greatest, self.flags(inst).contains(Flags::UNDERFLOW))
                } else {
                    Bounds::ints(least as i128, greatest as i128)
                }
            }

            fn nonneg(&self, _: &Inst) -> bool {
                true
            }

            fn lanes(&self, inst: &Inst, args: &[&[u64]], out: &mut [u64]) -> Flags {
                let p = prepared(inst.result, $binary);
                facts::each(out, |lane| p.eval(args[0][lane]))
            }

            fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
                prepared(inst.result, $binary).eval(args[0])
            }

            fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
                Real::number($real(args[0].f64()))
            }

            fn accuracy(&self, inst: &Inst) -> Accuracy {
                Accuracy::table($meaning, self.table(inst))
            }

            fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
                c_call(inst, $name, args[0])
            }

            fn table(&self, inst: &Inst) -> Option<TableUse> {
                // The table is twice as fine as the result.
                let table = &prepared(inst.result, $binary).table;
                Some(table.in_use(table.bound / 2.0))
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

operator!(Exp, "exp", false, "e^x; faithful, by table and polynomial", f64::exp, Meaning::Exp);
operator!(
    Exp2,
    "exp2",
    true,
    "2^x; faithful, and exact for whole x, by table and polynomial",
    f64::exp2,
    Meaning::Real(Call::Exp2)
);

/// C: a function of `math.h`, with the scaling of a fixed around it.
pub fn c_call(inst: &Inst, name: &str, x: &str) -> String {
    match inst.result.frac() {
        None => format!("{name}({x})"),
        Some(frac) => parts::c_saturated(inst.result, &format!("rint({name}((double){x} * 0x1p-{frac}) * 0x1p{frac})")),
    }
}
