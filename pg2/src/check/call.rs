//! Calls of the `pg_` library.

use super::Checker;
use super::value::{Dims, Typed, Value};
use crate::check::literal::Literal;
use crate::diag::codes;
use crate::diag::{Diagnostic, Span, did_you_mean};
use crate::syntax::ast::{ExprId, Word};
use crate::syntax::functions::{self, Class, Exactly, FUNCTIONS, Function, Kind, Rule};
use hdl::Format;
use hdl::number::exact::Exact;
use hdl::op::{Attrs, MAX_NUMERATOR, Operator};

pub(super) type Arg = (Value, ExprId);

impl<'a> Checker<'a> {
    pub(super) fn call(&mut self, word: Word<'a>, args: Vec<Arg>, span: Span) -> Value {
        if let Some(index) = self.functions.get(word.text).copied() {
            return self.inline(index, args, span);
        }
        if let Some(value) = self.function_of_numbers(word, &args, span) {
            return value;
        }
        match functions::function(word.text) {
            Some(function) => self.library(function, args, span),
            None => self.unknown_call(word, &args, span),
        }
    }

    /// A function of two arguments that is applied to more of them, one after the other; none where a text would be too long.
    fn of_pairs(&self, name: &str, args: &[Arg]) -> Option<String> {
        if !(3..=8).contains(&args.len()) {
            return None;
        }
        let texts: Option<Vec<String>> = args.iter().map(|a| self.short(a.1)).collect();
        texts?.into_iter().reduce(|all, next| format!("{name}({all}, {next})"))
    }

    /// A call of a library function.
    pub(super) fn library(&mut self, function: &'static Function, mut args: Vec<Arg>, span: Span) -> Value {
        let (name, params) = (function.name, function.params);
        if args.len() != params.len() {
            if let (Rule::Power(None), [x, e]) = (&function.rule, &args[..]) {
                return self.power_of_two_arguments(&[x.1, e.1], span);
            }
            let message = format!("`{name}` takes {} argument(s), not {}", params.len(), args.len());
            let error = Diagnostic::error(codes::ARGUMENTS, message, span, "wrong number of arguments");
            if let ("pg_min" | "pg_max", Some(text)) = (name, self.of_pairs(name, &args)) {
                self.error(error.help(format!("write `{text}`")).edit(span, text));
                return Value::Error;
            }
            let text = args.first().and_then(|a| self.short(a.1)).and_then(|x| self.written(&name[3..], &args, &[x]));
            if let (1, Some(text)) = (args.len(), text) {
                self.error(error.help(format!("write `{text}`")).edit(span, text));
                return Value::Error;
            }
            self.error(error.help(format!("write `{}`", function.call())));
            return Value::Error;
        }
        for ((value, id), param) in args.iter().zip(params) {
            let elementwise =
                matches!(function.rule, Rule::Operator(_)) && function.takes.iter().all(|t| t.most == u32::MAX);
            let scalar = !matches!(param.kind, Kind::Vector | Kind::Vectors | Kind::Matrix) && !elementwise;
            if let Value::Numbers(_) = value
                && scalar
            {
                return self.numbers_without_format(&format!("`{name}`"), *id);
            }
            if let Value::Typed(typed) = value
                && scalar
                && !typed.is_scalar()
            {
                return self.no_vector(&format!("`{name}`"), typed, *id);
            }
        }
        match function.rule {
            Rule::Operator(exactly) => self.operator(function, exactly, args, span),
            Rule::Power(exponent) => self.power(function, exponent, args, span),
            Rule::SumOfSquares => self.sum_of_squares(function, args.remove(0), span),
            Rule::Transpose => self.transpose(args.remove(0)),
            Rule::Inner => self.inner(function, args, span),
            Rule::Cross => self.cross(function, args, span),
            Rule::FromBits => self.value_of_bits(function, &args, span),
            Rule::Fit => self.fitted(function, &args, span),
        }
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
        let known = || FUNCTIONS.iter().map(|f| f.name);
        let mut own: Vec<&str> = self.functions.keys().copied().take(super::MAX_CANDIDATES).collect();
        own.sort_unstable();
        let close = did_you_mean(name, own).or_else(|| functions::meant(name).map(|f| f.name));
        self.error(match close.or_else(|| did_you_mean(name, known())) {
            Some(close) => error.help(format!("did you mean `{close}`?")).edit(function.span, close),
            None => error.help(format!(
                "write one with `fn {name}(x) = ...;`, or fit one with `pg_fn`; `pairforge list functions` shows the library"
            )),
        });
        Value::Error
    }

    /// The operator of the arguments' format.
    fn operator(&mut self, function: &Function, exactly: Option<Exactly>, mut args: Vec<Arg>, span: Span) -> Value {
        if args.iter().any(|a| matches!(a.0, Value::Error)) {
            return Value::Error;
        }
        if let Some(value) = exactly.and_then(|of| self.exactly(of, &args, span)) {
            return value;
        }
        let id = args[0].1;
        if args.len() == 1 {
            return match self.argument(function, &args[0]) {
                Some((typed, operator)) => self.each(operator, &[&typed], Attrs::default(), span),
                None => Value::Error,
            };
        }
        let b = args.remove(1);
        let second = b.1;
        let Some((x, y)) = self.pair(&format!("`{}`", function.name), args.remove(0), b) else { return Value::Error };
        if !self.go_together(function.name, (&x, id), (&y, second)) {
            return Value::Error;
        }
        match self.operator_for(function, x.format, id) {
            Some(operator) => self.each(operator, &[&x, &y], Attrs::default(), span),
            None => Value::Error,
        }
    }

    /// The value of a function of exact numbers; `None` where an argument has a format.
    fn exactly(&mut self, of: Exactly, args: &[Arg], span: Span) -> Option<Value> {
        match (of, args) {
            (Exactly::Of(of), [(Value::Exact(a), _)]) => Some(Value::Exact(computed(of(&a.value)))),
            (Exactly::Of(of), [(Value::Choice(a), _)]) => {
                Some(self.map_choice(a, span, |_, a| Ok(computed(of(&a.value)))))
            }
            (Exactly::First(first), [(Value::Exact(a), _), (Value::Exact(b), _)]) => {
                Some(Value::Exact(if first(&a.value, &b.value) { a.clone() } else { b.clone() }))
            }
            (Exactly::First(first), [a, b]) => {
                let one = |_: &mut Self, a: &Literal, b: &Literal| {
                    Ok(if first(&a.value, &b.value) { a.clone() } else { b.clone() })
                };
                self.combine((&a.0, a.1), (&b.0, b.1), span, one)
            }
            _ => None,
        }
    }

    /// The operator that a function becomes on a format; `None` after a reported mistake.
    pub(super) fn operator_for(
        &mut self,
        function: &Function,
        format: Format,
        id: ExprId,
    ) -> Option<&'static dyn Operator> {
        let name = function.name;
        let whole = matches!(name, "pg_floor" | "pg_ceil" | "pg_trunc" | "pg_round");
        let (message, cast) = match function.takes(format) {
            None if Class::of(format) == Class::Int
                && function.takes.iter().all(|t| t.class != Class::Int)
                && whole =>
            {
                let message = format!("`{name}` is of numbers with a fraction, and {format} has none");
                let error = Diagnostic::error(codes::NOT_DEFINED, message, self.span(id), format!("this is {format}"));
                self.error(error.help(format!("write `{}` alone: it is whole already", self.operand_text(id))));
                return None;
            }
            None if function.takes.iter().all(|t| t.class == Class::Int) && !format.is_log() => {
                let message = format!("`{name}` is not defined on {format}");
                let error = Diagnostic::error(codes::NOT_DEFINED, message, self.span(id), format!("this is {format}"));
                let Span { start, end } = self.span(id);
                let error = error.edit(Span { start, end: start }, "pg_bits(").edit(Span { start: end, end }, ")");
                self.error(error.help(format!("take its pattern: write `pg_bits({})`", self.operand_text(id))));
                return None;
            }
            None => {
                let wanted = function.takes.iter().any(|t| t.class == Class::Float);
                let cast = wanted.then(|| Format::float(25, 16).expect("a float of 8 exponent bits"));
                (format!("`{name}` is not defined on {format}"), cast)
            }
            Some(takes) if takes.class == Class::Float && format.mant() > takes.most => (
                format!("`{name}` has at most {} fraction bits", takes.most),
                Format::float(1 + format.exp() + takes.most, takes.most).ok(),
            ),
            Some(takes) if takes.class == Class::Fixed && format.width() > takes.most => {
                let (kind, frac) = (if format.is_signed() { "fixed" } else { "ufixed" }, format.frac().unwrap_or(0));
                let narrow = format!("{kind}{}.{}", takes.most, frac.min(takes.most / 2));
                (format!("`{name}` takes fixeds of at most {} bits", takes.most), narrow.parse().ok())
            }
            Some(takes) => return takes.operator,
        };
        let error = Diagnostic::error(codes::NOT_DEFINED, message, self.span(id), format!("this is {format}"));
        self.error(match cast {
            Some(cast) => self.with_cast(error, cast, id),
            None => error.help(format!("it takes these formats: {}", function.formats())),
        });
        None
    }

    /// The first argument of a function, and the operator of its format; `None` after a reported mistake.
    pub(super) fn argument(
        &mut self,
        function: &Function,
        (value, id): &Arg,
    ) -> Option<(Typed, &'static dyn Operator)> {
        match value {
            Value::Error => None,
            Value::Exact(_) | Value::Choice(_) | Value::Numbers(_) => {
                let ints = function.takes.iter().all(|t| t.class == Class::Int);
                let format = if ints { Format::int(32, false) } else { Format::float(32, 23) };
                let format = format.expect("the formats of C");
                self.no_format_but(&format!("`{}`", function.name), (self.span(*id), *id), format);
                None
            }
            Value::Typed(typed) => Some((typed.clone(), self.operator_for(function, typed.format, *id)?)),
        }
    }

    /// `pg_sumsq(v)`.
    fn sum_of_squares(&mut self, function: &Function, arg: Arg, span: Span) -> Value {
        let Some((typed, operator)) = self.argument(function, &arg) else { return Value::Error };
        let elements = match typed.dims() {
            Dims::Vector(2..=4) => typed.nodes().iter().map(|n| Typed::scalar(typed.format, *n)).collect::<Vec<_>>(),
            _ => {
                let message = format!("`{}` takes a vector of 2 to 4 elements", function.name);
                let what = format!("this is {}", typed.describe());
                let error = Diagnostic::error(codes::VECTOR, message, self.span(arg.1), what);
                self.error(error.help("write `v * v`, which has any length and rounds at each step"));
                return Value::Error;
            }
        };
        self.each(operator, &elements.iter().collect::<Vec<_>>(), Attrs::default(), span)
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

    /// `pg_pow(x, n, d)` and its instances.
    fn power(&mut self, function: &Function, exponent: Option<(i32, i32)>, args: Vec<Arg>, span: Span) -> Value {
        let exponent = match exponent {
            Some(exponent) => Some(exponent),
            None => self.exponent(&args),
        };
        let Some((typed, operator)) = self.argument(function, &args[0]) else { return Value::Error };
        let Some((n, d)) = exponent else { return Value::Error };
        self.each(operator, &[&typed], Attrs { n, d, ..Attrs::default() }, span)
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
            && n.unsigned_abs() <= MAX_NUMERATOR as u64
            && matches!(d, 1 | 2)
        {
            return Some((n as i32, d as i32));
        }
        let message = "`pg_pow` has no such exponent";
        let label = if reduced.is_some_and(|r| matches!(r.1, 1 | 2)) { sn } else { sd };
        let error = Diagnostic::error(codes::EXPONENT, message, label, "not possible");
        self.error(error.help(format!(
            "n/d in lowest terms has d of 1 or 2 and n from -{MAX_NUMERATOR} to {MAX_NUMERATOR}; fit another power on the interval in which \
             x lies: `pg_fn(x, pow(x, n / d), lo, hi)`"
        )));
        None
    }
}

/// A number that was computed, and so stands for no bits.
fn computed(value: Exact) -> Literal {
    Literal { value, bits: false }
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
