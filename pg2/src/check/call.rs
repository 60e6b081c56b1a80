//! Calls of the `pg_` library.

use super::Checker;
use super::value::{Dims, Typed, Value};
use crate::check::literal::Literal;
use crate::diag::codes;
use crate::diag::{Diagnostic, Span, did_you_mean};
use crate::syntax::ast::{ExprId, Word};
use crate::syntax::habits::FUNCTION_NAMES;
use hdl::Format;
use hdl::op::{Attrs, compare};
use num_traits::Signed;

/// The functions with their parameters.
pub static FUNCTIONS: &[(&str, &[&str])] = &[
    ("pg_pow", &["x", "n", "d"]),
    ("pg_sqrt", &["x"]),
    ("pg_rsqrt", &["x"]),
    ("pg_inv", &["x"]),
    ("pg_sumsq", &["v"]),
    ("pg_transpose", &["m"]),
    ("pg_exp", &["x"]),
    ("pg_log", &["x"]),
    ("pg_sin", &["x"]),
    ("pg_cos", &["x"]),
    ("pg_fn", &["x", "expr", "lo", "hi"]),
    ("pg_abs", &["x"]),
    ("pg_min", &["a", "b"]),
    ("pg_max", &["a", "b"]),
];

/// The largest numerator of an exponent (RULES N6).
const MAX_POWER: i64 = 16;

type Arg = (Value, ExprId);

impl<'a> Checker<'a> {
    pub(super) fn call(&mut self, function: Word<'a>, mut args: Vec<Arg>, span: Span) -> Value {
        if let Some(index) = self.functions.get(function.text).copied() {
            return self.inline(index, args, span);
        }
        let Some((name, params)) = FUNCTIONS.iter().find(|f| f.0 == function.text) else {
            let ids: Vec<ExprId> = args.iter().map(|a| a.1).collect();
            return self.unknown_call(function, &ids, span);
        };
        if let ("pg_pow", [x, e]) = (*name, &args[..]) {
            return self.power_of_two_arguments(&[x.1, e.1], span);
        }
        if args.len() != params.len() {
            let message = format!("`{name}` takes {} argument(s), not {}", params.len(), args.len());
            let error = Diagnostic::error(codes::ARGUMENTS, message, span, "wrong number of arguments");
            self.error(error.help(format!("write `{name}({})`", params.join(", "))));
            return Value::Error;
        }
        match *name {
            "pg_sumsq" => return self.sum_of_squares(args.remove(0), span),
            "pg_transpose" => return self.transpose(args.remove(0)),
            _ => {}
        }
        if let Some((typed, id)) = args.iter().find_map(|(v, id)| match v {
            Value::Typed(typed) if !typed.is_scalar() => Some((typed.clone(), *id)),
            _ => None,
        }) {
            return self.no_vector(&format!("`{name}`"), &typed, id);
        }
        match *name {
            "pg_exp" | "pg_log" | "pg_sin" | "pg_cos" => self.elementary(name, args.remove(0), span),
            "pg_fn" => self.fitted(&args, span),
            "pg_abs" => self.abs(args.remove(0), span),
            "pg_min" | "pg_max" => {
                let b = args.remove(1);
                self.extreme(name, args.remove(0), b, span)
            }
            _ => self.power(name, args, span),
        }
    }

    /// Whether the library has a function of that name.
    pub(super) fn is_library(name: &str) -> bool {
        FUNCTIONS.iter().any(|f| f.0 == name)
    }

    pub(super) fn unknown_function(&mut self, function: Word) -> Value {
        let name = function.text;
        if self.is_broken(name) {
            return Value::Error;
        }
        let error = Diagnostic::error(
            codes::UNKNOWN_FUNCTION,
            format!("there is no function `{name}`"),
            function.span,
            "unknown function",
        );
        let known = || FUNCTIONS.iter().map(|f| f.0);
        let mut own: Vec<&str> = self.functions.keys().copied().take(super::MAX_CANDIDATES).collect();
        own.sort_unstable();
        let close = did_you_mean(name, own);
        let close = close.or_else(|| FUNCTION_NAMES.iter().find(|c| c.0 == name).map(|c| c.1));
        self.error(match close.or_else(|| did_you_mean(name, known())) {
            Some(close) => error.help(format!("did you mean `{close}`?")).edit(function.span, close),
            None => error.help(format!(
                "write one with `fn {name}(x) = ...;`, or fit one with `pg_fn`; the library has {}",
                known().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(", ")
            )),
        });
        Value::Error
    }

    fn abs(&mut self, arg: Arg, span: Span) -> Value {
        match arg.0 {
            Value::Error => Value::Error,
            Value::Exact(a) => Value::Exact(Literal { value: a.value.abs(), bits: false }),
            Value::Choice(a) => self.map_choice(&a, span, |_, a| Ok(Literal { value: a.value.abs(), bits: false })),
            Value::Typed(a) if !a.format.is_signed() => Value::Typed(a),
            Value::Typed(a) => {
                let name = match a.format {
                    Format::Float { .. } => "fabs",
                    Format::Log { .. } => "labs",
                    _ => "abs",
                };
                self.each(name, &[&a], Attrs::default(), span)
            }
        }
    }

    /// `pg_sumsq(v)`.
    fn sum_of_squares(&mut self, (value, id): Arg, span: Span) -> Value {
        let typed = match value {
            Value::Error => return Value::Error,
            Value::Exact(_) | Value::Choice(_) => return self.no_format("`pg_sumsq`", self.span(id), id),
            Value::Typed(typed) => typed,
        };
        if !typed.format.is_float() {
            return self.needs_float("pg_sumsq", &typed, id);
        }
        let elements = match typed.dims() {
            Dims::Vector(2..=4) => typed.nodes().iter().map(|n| Typed::scalar(typed.format, *n)).collect::<Vec<_>>(),
            _ => {
                let message = "`pg_sumsq` takes a vector of 2 to 4 elements";
                let what = format!("this is {}", typed.describe());
                let error = Diagnostic::error(codes::VECTOR, message, self.span(id), what);
                self.error(error.help("write `v * v`, which has any length and rounds at each step"));
                return Value::Error;
            }
        };
        self.each("sumsq", &elements.iter().collect::<Vec<_>>(), Attrs::default(), span)
    }

    /// `pg_transpose(m)`: the elements change places, which costs nothing.
    fn transpose(&mut self, (value, id): Arg) -> Value {
        match value {
            Value::Error => Value::Error,
            Value::Typed(typed) if let Dims::Matrix(rows, columns) = typed.dims() => {
                let nodes = (0..rows * columns).map(|k| typed.node(k % rows * columns + k / rows)).collect();
                Value::Typed(Typed { format: typed.format, shape: Dims::Matrix(columns, rows).shape(nodes) })
            }
            other => {
                let what = if let Value::Typed(typed) = &other { typed.describe() } else { "an exact number".into() };
                let message = "`pg_transpose` takes a matrix";
                let error = Diagnostic::error(codes::VECTOR, message, self.span(id), format!("this is {what}"));
                self.error(error.help("a vector is its own transpose: `v * m` and `m * v` both take it as it is"));
                Value::Error
            }
        }
    }

    /// [`Checker::extreme`] of scalars.
    pub(super) fn lesser_or_greater(&mut self, name: &str, a: Arg, b: Arg, span: Span) -> Value {
        for (value, id) in [&a, &b] {
            match value {
                Value::Error => return Value::Error,
                Value::Typed(typed) if !typed.is_scalar() => return self.no_vector(&format!("`{name}`"), typed, *id),
                _ => {}
            }
        }
        self.extreme(name, a, b, span)
    }

    fn extreme(&mut self, name: &str, a: Arg, b: Arg, span: Span) -> Value {
        if let (Value::Exact(x), Value::Exact(y)) = (&a.0, &b.0) {
            let first = (x.value < y.value) == (name == "pg_min");
            return if first { a.0 } else { b.0 };
        }
        let least = name == "pg_min";
        let lesser = |_: &mut Self, x: &Literal, y: &Literal| {
            Ok(if (x.value < y.value) == least { x.clone() } else { y.clone() })
        };
        if let Some(value) = self.combine((&a.0, a.1), (&b.0, b.1), span, lesser) {
            return value;
        }
        let op = if least { compare::MIN } else { compare::MAX };
        match self.pair(&format!("`{name}`"), a, b) {
            Some((x, y)) => self.each(op, &[&x, &y], Attrs::default(), span),
            None => Value::Error,
        }
    }

    /// `pg_pow(x, n, d)` and its instances.
    fn power(&mut self, name: &str, args: Vec<Arg>, span: Span) -> Value {
        let exponent = match name {
            "pg_sqrt" => Some((1, 2)),
            "pg_rsqrt" => Some((-1, 2)),
            "pg_inv" => Some((-1, 1)),
            _ => self.exponent(&args),
        };
        let (value, id) = &args[0];
        let typed = match value {
            Value::Error => return Value::Error,
            Value::Exact(_) | Value::Choice(_) => return self.no_format(&format!("`{name}`"), self.span(*id), *id),
            Value::Typed(typed) => typed.clone(),
        };
        if typed.format.is_integral() {
            return self.needs_float(name, &typed, *id);
        }
        let Some((n, d)) = exponent else { return Value::Error };
        if typed.format.is_log() {
            return self.each("lpow", &[&typed], Attrs { n, d, ..Attrs::default() }, span);
        }
        if typed.format.mant() > 23 {
            let message = format!("`{name}` has at most 23 fraction bits for now");
            let error =
                Diagnostic::error(codes::NOT_DEFINED, message, self.span(*id), format!("this is {}", typed.format));
            let narrow = Format::float(1 + typed.format.exp() + 23, 23).unwrap_or(typed.format);
            self.error(self.with_cast(error, narrow, *id));
            return Value::Error;
        }
        self.each("pow", &[&typed], Attrs { n, d, ..Attrs::default() }, span)
    }

    fn needs_float(&mut self, name: &str, typed: &Typed, id: ExprId) -> Value {
        let message = format!("`{name}` is not defined on {}", typed.format);
        let error = Diagnostic::error(codes::NOT_DEFINED, message, self.span(id), format!("this is {}", typed.format));
        let format = Format::float(25, 16).expect("a float of 8 exponent bits");
        self.error(self.with_cast(error, format, id));
        Value::Error
    }

    /// n and d of `pg_pow`, reduced.
    fn exponent(&mut self, args: &[Arg]) -> Option<(i32, i32)> {
        let (sn, sd) = (self.span(args[1].1), self.span(args[2].1));
        let n = self.integer_of(&args[1].0, sn, "the numerator of an exponent");
        let d = self.integer_of(&args[2].0, sd, "the denominator of an exponent");
        let (n, d) = (n?, d?);
        let reduced = match (n, d) {
            (Some(n), Some(d)) if d != 0 => reduce(n, d),
            _ => None,
        };
        if let Some((n, d)) = reduced
            && n.abs() <= MAX_POWER
            && matches!(d, 1 | 2)
        {
            return Some((n as i32, d as i32));
        }
        let message = "`pg_pow` has no such exponent";
        let label = if reduced.is_some_and(|r| matches!(r.1, 1 | 2)) { sn } else { sd };
        let error = Diagnostic::error(codes::EXPONENT, message, label, "not possible");
        self.error(error.help(format!(
            "n/d in lowest terms has d of 1 or 2 and n from -{MAX_POWER} to {MAX_POWER}; fit another power on the interval in which \
             x lies: `pg_fn(x, pow(x, n / d), lo, hi)`"
        )));
        None
    }
}

/// n/d in lowest terms with d positive.
fn reduce(n: i64, d: i64) -> Option<(i64, i64)> {
    let (mut a, mut b) = (n.checked_abs()?, d.checked_abs()?);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let sign = d.signum();
    Some((sign * (n / a), sign * (d / a)))
}
