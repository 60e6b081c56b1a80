//! Powers of floats of more than 23 fraction bits: octaves of pieces of degree 4 in double-double arithmetic, whose sums are rounded to
//! nearest.
//!
//! For d = 2 the lowest bit of the exponent chooses one of two octaves; the rest of it, times n, is added to the quantum. A sum is
//! off by less than half a place before it is rounded, so that a result is faithful, and exact where it is representable.

use super::signs;
use crate::circuit::{Circuit, Sig, X};
use crate::number::exact::Exact;
use crate::number::real::{Dd, Expr, Node, exp2};
use crate::op::Inst;
use crate::op::ctext::{CText, CType, CVar, I32, floats};
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::max_field;
use crate::op::pieces::float_parts::pack::flag_port;
use crate::op::pieces::parts;
use crate::op::table::kept::kept;
use crate::op::table::once::Once;
use crate::op::table::poly::coefficients::MAX_DEGREE;
use crate::op::table::poly::hardware as poly;
use crate::op::table::poly::result::{Known, float_circuit, to_float};
use crate::op::table::poly::search::{Problem, search_of_degree};
use crate::op::table::poly::{Goal, Limits, Line, Table, c_text};
use crate::rtl::cat;
use crate::{Flags, Format};

/// A power x^(n/d), reduced, none of x^0, x^1 and x^2, in a float format. The numbers depend on the format, n and d alone.
#[derive(Debug)]
pub struct Wide {
    pub format: Format,
    pub n: i32,
    pub d: i32,
    pub table: Table,
    known: Known,
}

impl Wide {
    fn new(format: Format, n: i32, d: i32) -> Wide {
        let mant = format.mant();
        let mut power = Expr::default();
        let x = power.push(Node::X);
        let (base, exponent) = match d {
            2 => (power.push(Node::Call(crate::number::real::Call::Sqrt, x)), n),
            _ => (x, n),
        };
        let exponent = power.push(Node::Number(Exact::from_integer(exponent.into())));
        power.push(Node::Pow(base, exponent));
        let line = |octave: i32| {
            let scale = exp2(octave);
            Some(Line { branch: 0, start: Dd::from(scale), scale, first: 0, last: (1 << mant) - 1 })
        };
        let problem = Problem {
            f: &power,
            goal: Goal::Float { mant, lowest: -200, underflows: false },
            lines: &(0..d).map(line).collect::<Vec<_>>(),
            bits: mant,
            argument: 0.0,
        };
        let limits = Limits { blocks: 256, pieces: 200_000 };
        let search = || search_of_degree(&problem, limits, MAX_DEGREE).expect("powers are smooth");
        let table = kept(&format!("power {n}/{d} in {format}"), search);
        let mut known = Known::of(&table, format);
        let ends = [1, max_field(format) as i32].map(|field| n * (field - format.bias()).div_euclid(d));
        known.low += ends[0].min(ends[1]);
        known.high += ends[0].max(ends[1]);
        Wide { format, n, d, table, known }
    }

    /// The result's pattern and flags: the specification.
    #[inline]
    pub fn eval(&self, x: u64) -> (u64, Flags) {
        let format = self.format;
        let (mant, width) = (format.mant(), format.width());
        let field = (x >> mant) as i32 & ((1 << format.exp()) - 1);
        let negative = x >> (width - 1) & 1 == 1;
        if field == 0 {
            return (0, Flags::NONE);
        }
        if self.d == 2 && negative {
            return (0, Flags::INVALID);
        }
        let exponent = field - format.bias();
        let line = exponent.rem_euclid(self.d) as usize;
        let (h, quantum) = self.table.eval(line, x & ((1 << mant) - 1));
        let shift = self.n * exponent.div_euclid(self.d);
        to_float(format, if negative && self.n & 1 == 1 { -h } else { h }, quantum + shift)
    }

    /// The exponent divided by d, for a field of 0.
    fn zero(&self) -> i32 {
        if self.d == 2 { (self.format.bias() + 1) / 2 } else { self.format.bias() }
    }

    /// C: the same.
    pub fn c_bits(&self, inst: &Inst, c: &mut CText, x: &CVar, flags: Flags) -> CVar {
        let (format, m) = (self.format, self.format.mant());
        let field = floats::field(c, format, inst.is_nonneg(0), x);
        let kind = CType::unsigned(m + 2);
        let fraction = format!("({kind})({x} & {})", x.kind.number((1 << m) - 1));
        // The bias is odd.
        let at = match self.d {
            2 => format!("({kind})(({field} & 1) ^ 1) << {m} | {fraction}"),
            _ => fraction,
        };
        let at = c.set(kind, at);
        let (h, mut quantum) = c_text::eval(&self.table, c, &at);
        let q = if self.d == 2 { format!("(({field} + 1) >> 1)") } else { field.text };
        let shift = c.set(I32, format!("({q} - {}) * {}", self.zero(), self.n));
        quantum.text = format!("{} + {shift}", quantum.text);
        let mut live = floats::none_zero(inst, c, std::slice::from_ref(x), &[0]);
        let negative = (!inst.is_nonneg(0)).then(|| c.test(format!("({x} >> {}) != 0", format.width() - 1)));
        if flags.contains(Flags::INVALID)
            && let Some(negative) = &negative
        {
            c.raise(Flags::INVALID, negative);
            let positive = format!("!{negative}");
            live = Some(c.test(live.map_or(positive.clone(), |l| format!("{l} & {positive}"))));
        }
        let flip = negative.filter(|_| self.n & 1 == 1 && self.d == 1);
        let range = Flags(flags.0 & !Flags::INVALID.0);
        let result =
            c_text::Result { format, span: self.table.span(), quantum, flip: flip.as_ref(), live, flags: range };
        c_text::to_float(c, &h, result)
    }

    pub fn circuit(&self, inst: &Inst, flags: Flags, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
        let (format, e) = (self.format, self.format.exp());
        let (w, m) = (format.width(), format.mant());
        let (live, sign, invalid) = signs((self.n, self.d), inst, c, x);
        let exponent = field(c, "exponent", x, w - 2, m);
        let fraction = field(c, "fraction", x, m - 1, 0);
        let (line, scaled) = match self.d {
            2 => {
                let bits = c.x(exponent);
                let line = c.logic("line", !bits.bit(0));
                (Some(line), c.logic("halved", bits.slice(e - 1, 1).zext(e) + bits.bit(0).zext(e)))
            }
            _ => (None, exponent),
        };
        let looked = poly::circuit(&self.table, c, line, fraction);
        // Five bits hold n.
        let width = e + 7;
        let mut sum = c.logic("shift", X::constant(width, -(self.n * self.zero()) as i128));
        for bit in (0..5).filter(|bit| self.n.unsigned_abs() >> bit & 1 == 1) {
            let term = c.x(scaled).shl(bit).zext(width);
            let so_far = c.x(sum);
            sum = c.logic("shift", if self.n < 0 { so_far - term } else { so_far + term });
        }
        if let Some(row) = looked.offset {
            let row = parts::extend(c, "row", row, width, false);
            sum = c.logic("offset", c.x(sum) + c.x(row));
        }
        let range = Flags(flags.0 & !Flags::INVALID.0);
        let packed = float_circuit(c, format, &self.known, looked.h, Some((sum, true)), range);
        let mut value = match sign {
            Some(sign) => {
                let size = field(c, "size", packed.bits, w - 2, 0);
                // Underflow leaves a plain 0.
                let sign = packed.below.map_or(c.x(sign), |b| c.x(sign) & !c.x(b));
                cat([sign, c.x(size)])
            }
            None => c.x(packed.bits),
        };
        let (mut above, mut below) = (packed.above, packed.below);
        if let Some(live) = live {
            value = value & c.x(live).repeat(w);
            let mut masked = |s: Option<Sig>| s.map(|s| c.logic("live", c.x(s) & c.x(live)));
            (above, below) = (masked(above), masked(below));
        }
        let q = c.logic("q", value);
        let conditions = [(Flags::OVERFLOW, above), (Flags::UNDERFLOW, below), (Flags::INVALID, invalid)];
        (q, flag_port(c, flags, &conditions))
    }
}

/// The table of a power. `n/d` must be reduced and none of 0, 1 and 2, and within the limits of the operator.
pub fn wide(format: Format, n: i32, d: i32) -> &'static Wide {
    static ALL: Once<(Format, i32, i32), Wide> = Once::new();
    ALL.get((format, n, d), || Wide::new(format, n, d))
}
