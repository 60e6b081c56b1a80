//! Functions of exact numbers, and `pi` (RULES L2): to about 100 bits where they are irrational.

use super::Checker;
use super::call::Arg;
use super::real;
use super::value::Value;
use crate::check::literal::{FoldError, Literal};
use crate::diag::Diagnostic;
use crate::diag::{Span, codes};
use crate::syntax::ast::{BinaryOp, Word};
use hdl::number::exact::{Exact, parse_decimal};
use hdl::number::real::{Dd, Evaluator, Expr, Node, Smooth};
use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// More digits than any format holds.
const PI: &str = "3.14159265358979323846264338327950288419716939937510582097494459";

/// The largest whole exponent by which a number is multiplied with itself.
const MOST_FACTORS: u64 = 1000;

impl<'a> Checker<'a> {
    /// `pi`, where nothing else has that name.
    pub(super) fn pi(&self, name: &str) -> Option<Value> {
        let other = self.knows(name) || self.tables[0].symbols.contains_key(name) || self.defined_at.contains_key(name);
        if name != "pi" || other {
            return None;
        }
        let value = parse_decimal(PI).expect("decimal digits");
        Some(Value::Exact(Literal { value, bits: false }))
    }

    /// The value of a real function of exact numbers; `None` where it is none of these.
    pub(super) fn function_of_numbers(&mut self, function: Word<'a>, args: &[Arg], span: Span) -> Option<Value> {
        let name = function.text.strip_prefix("pg_").unwrap_or(function.text);
        let number = |(value, _): &Arg| match value {
            Value::Exact(number) => Some(number.clone()),
            _ => None,
        };
        let numbers: Vec<Literal> = args.iter().map(number).collect::<Option<_>>()?;
        if numbers.is_empty() {
            return None;
        }
        if let Some(exactly) = self.exact_function(name, &numbers) {
            return Some(match exactly {
                Ok(number) => Value::Exact(number),
                Err(why) => self.fold_error(why, span),
            });
        }
        let mut expr = Expr::default();
        let values: Vec<u32> = numbers.iter().map(|n| expr.share(Node::Number(n.value.clone()))).collect();
        let top = real::call_of(name, &mut expr, &values)?;
        expr.finish(top);
        if let Err(why) = self.folder.book(200_000) {
            return Some(self.fold_error(why, span));
        }
        let value = Evaluator::new(&expr).value(Dd::ZERO).filter(|v| v.is_finite());
        let value =
            value.filter(|v| v.error <= v.value.hi.abs() * 1e-20 || v.value.hi.abs() < 1e-20 && v.error < 1e-25);
        let Some(value) = value else {
            let message = format!("`{}` has no value here", function.text);
            let error = Diagnostic::error(codes::FUNCTION, message, span, "not a number");
            self.error(
                error.help("write arguments for which the function is a real number, of a size that an f64 has"),
            );
            return Some(Value::Error);
        };
        let part = |x: f64| Exact::from_float(x).unwrap_or_default();
        let found = part(value.value.hi) + part(value.value.lo);
        // What is a whole number but for the error is taken as that.
        let whole = Exact::from_integer(found.round().to_integer());
        let near = (&found - &whole).abs() <= part(value.error);
        Some(Value::Exact(Literal { value: if near { whole } else { found }, bits: false }))
    }

    /// Functions whose values are fractions.
    fn exact_function(&mut self, name: &str, numbers: &[Literal]) -> Option<Result<Literal, FoldError>> {
        let plain = |value: Exact| Some(Ok(Literal { value, bits: false }));
        match (name, numbers) {
            ("abs", [x]) => plain(x.value.abs()),
            ("min", [x, y]) => plain(x.value.clone().min(y.value.clone())),
            ("max", [x, y]) => plain(x.value.clone().max(y.value.clone())),
            ("inv", [x]) => {
                let one = Literal { value: Exact::one(), bits: false };
                Some(self.folder.binary(BinaryOp::Div, &one, x))
            }
            ("sqrt", [x]) => plain(root(&x.value)?),
            ("pow", [x, e]) if e.value.is_integer() => self.whole_power(x, &e.value),
            ("pow", [x, n, d]) if !d.value.is_zero() && (&n.value / &d.value).is_integer() => {
                self.whole_power(x, &(&n.value / &d.value))
            }
            _ => None,
        }
    }

    fn whole_power(&mut self, x: &Literal, exponent: &Exact) -> Option<Result<Literal, FoldError>> {
        let n = exponent.to_integer().to_i64().filter(|n| n.unsigned_abs() <= MOST_FACTORS)?;
        let mut power = Literal { value: Exact::one(), bits: false };
        for _ in 0..n.unsigned_abs() {
            match self.folder.binary(BinaryOp::Mul, &power, x) {
                Ok(next) => power = next,
                Err(why) => return Some(Err(why)),
            }
        }
        let one = Literal { value: Exact::one(), bits: false };
        Some(if n < 0 { self.folder.binary(BinaryOp::Div, &one, &power) } else { Ok(power) })
    }
}

/// The root of the square of a fraction.
fn root(x: &Exact) -> Option<Exact> {
    if x.is_negative() {
        return None;
    }
    let of = |n: &BigInt| Some(n.sqrt()).filter(|r| r * r == *n);
    Some(Exact::new(of(x.numer())?, of(x.denom())?))
}
