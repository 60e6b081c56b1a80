//! `func`: any smooth real function of one argument on an interval, by a table of polynomials (RULES N9).
//!
//! Arguments outside the interval count as its nearer end and raise `invalid`. [`domain`] finds the interval's lines,
//! [`prepared`] the table; faithfulness is described in [`crate::op::table::poly`].

mod domain;
mod ends;
mod hardware;
pub mod kept;
mod prepared;
mod recent;
pub use kept::{Store, keep_in};
pub(super) use kept::{digest, store};
pub use prepared::{Failure, MOST_WORK, Prepared, prepared, work};

use crate::circuit::{Circuit, Sig};
use crate::hash::fnv;
use crate::number::exact::{Exact, to_bits};
use crate::number::real::{Dd, Evaluator, Expr, Smooth};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CVar};
use crate::op::facts;
use crate::op::int::xcast::Xcast;
use crate::op::semantics::{DOUBLE, Real};
use crate::op::table::poly::c_text;
use crate::op::table::{MAX_MANT, MAX_WIDTH};
use crate::op::{Attrs, Inst, Operator, TableUse};
use crate::{Bounds, Flags, Format};
use prepared::Tables;
use std::sync::Arc;

/// An expression on an interval, and the tables that were found for it, which live as long as it does. While it is in use,
/// there is one with its text in a process.
pub struct Function {
    pub expr: Expr,
    pub lo: Exact,
    pub hi: Exact,
    /// Evaluates the expression.
    pub evaluator: Evaluator,
    /// The f64s nearest to the ends.
    ends: (f64, f64),
    /// The canonical text.
    pub text: String,
    tables: Tables,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Function {
    fn eq(&self, o: &Function) -> bool {
        std::ptr::eq(self, o) || self.text == o.text
    }
}

impl Eq for Function {}

impl std::hash::Hash for Function {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl Function {
    /// The function of this expression and interval: the one that is in use, or that was made not long ago.
    pub fn new(expr: Expr, lo: Exact, hi: Exact) -> Arc<Function> {
        let text = format!("{expr} on {lo}..{hi}");
        recent::function(&text, || Function::made(expr, lo, hi, text.clone()))
    }

    /// A function that no others of its text share, nor what is found for it.
    pub fn unshared(expr: Expr, lo: Exact, hi: Exact) -> Function {
        let text = format!("{expr} on {lo}..{hi}");
        Function::made(expr, lo, hi, text)
    }

    fn made(expr: Expr, lo: Exact, hi: Exact, text: String) -> Function {
        let end = |x: &Exact| to_bits(DOUBLE, x).map_or(f64::INFINITY, |(bits, _)| f64::from_bits(bits));
        let ends = (end(&lo).min(f64::MAX), end(&hi).min(f64::MAX));
        let evaluator = Evaluator::new(&expr);
        Function { expr, lo, hi, evaluator, ends, text, tables: Tables::default() }
    }

    /// A hash of the text, for names that stay the same.
    pub fn digest(&self) -> u64 {
        fnv(&self.text)
    }
}

pub struct Func;

/// The function of a use.
fn function_of(inst: &Inst) -> &Function {
    inst.attrs.function.as_ref().expect("a use of `func` has a function")
}

/// The tables of a use.
fn of(inst: &Inst) -> &Prepared {
    prepared(inst.result, function_of(inst)).expect("`result` has found the table")
}

/// The format that functions of one argument have, or what is wrong.
pub fn one_argument(name: &str, args: &[Format]) -> Result<Format, String> {
    let [format] = args else { return Err(format!("`{name}` takes one argument")) };
    if !format.is_float() && !format.is_fixed() {
        return Err(format!("`{name}` takes a float or a fixed"));
    }
    if format.mant() > MAX_MANT || format.is_fixed() && format.width() > MAX_WIDTH {
        return Err(format!(
            "`{name}` takes floats of up to {MAX_MANT} fraction bits and fixeds of up to {MAX_WIDTH} bits, not {format}"
        ));
    }
    Ok(*format)
}

impl Operator for Func {
    fn name(&self) -> &'static str {
        "func"
    }

    fn summary(&self) -> &'static str {
        "a function on an interval; faithful, by cells of polynomials"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        let format = one_argument("func", args)?;
        let function = attrs.function.as_ref().ok_or("`func` needs a function")?;
        prepared(format, function)
            .map(|_| format)
            .map_err(|e| format!("`func` has no table for {}: {e:?}", function.text))
    }

    fn flags(&self, inst: &Inst) -> Flags {
        let p = of(inst);
        let (below, above) = p.domain.outside(inst);
        p.flags | Flags::INVALID.when(below || above)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        of(inst).bounds
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        of(inst).table.span().low >= 0
    }

    fn lanes(&self, inst: &Inst, args: &[&[u64]], out: &mut [u64]) -> Flags {
        let p = of(inst);
        facts::each(out, |lane| p.eval(args[0][lane]))
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        of(inst).eval(args[0])
    }

    fn real(&self, inst: &Inst, args: &[Real]) -> (Real, Flags) {
        let function = function_of(inst);
        let x = args[0].f64();
        let inside = x.max(function.ends.0).min(function.ends.1);
        let (value, flags) = Real::defined(function.evaluator.value(Dd::from(inside)).map(|v| v.value.hi));
        (value, flags | Flags::INVALID.when(x != inside))
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::table(Meaning::Function, self.table(inst))
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let (p, function) = (of(inst), function_of(inst));
        let (lo, hi) = p.domain.ends;
        match inst.result.frac() {
            None => function.expr.c_text(&format!("fmin(fmax((double){}, {lo:?}), {hi:?})", args[0])),
            Some(frac) => {
                let x = format!("fmin(fmax((double){} * 0x1p-{frac}, {lo:?}), {hi:?})", args[0]);
                let whole = format!("rint({} * 0x1p{frac})", function.expr.c_text(&x));
                crate::op::pieces::parts::c_saturated(inst.result, &whole)
            }
        }
    }

    fn table(&self, inst: &Inst) -> Option<TableUse> {
        let p = of(inst);
        let floor = p.floor.map(crate::number::real::exp2);
        Some(TableUse { floor, ..p.table.in_use(p.table.bound) })
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (p, flags) = (of(inst), self.flags(inst));
        let x = p.domain.c_clamped(inst, c, &args[0]);
        let at = p.c_place(c, &x);
        let (h, quantum) = c_text::eval(&p.table, c, &at);
        match &p.cast {
            None => {
                let (span, flags) = (p.table.span(), Flags(flags.0 & !Flags::INVALID.0));
                c_text::to_float(
                    c,
                    &h,
                    c_text::Result { format: p.format, span, quantum, flip: None, live: None, flags },
                )
            }
            Some(cast) => {
                let h = c_text::pattern(c, cast.args[0], &h);
                Xcast.c_bits(cast, c, &[h])
            }
        }
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        hardware::circuit(of(inst), inst, self.flags(inst), c, args[0])
    }
}
