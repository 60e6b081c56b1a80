//! Formats: their names, casts between them, and what a number becomes in one.

use super::Checker;
use super::idioms::{is_vector, of_c};
use super::value::{Dims, Typed, Value};
use crate::check::literal::{Literal, Misfit, fit};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span, did_you_mean};
use crate::graph::NodeId;
use crate::syntax::ast::{ExprId, ExprKind, Word};
use hdl::Format;
use hdl::number::format::UINT1;
use hdl::number::lns::float_frac;
use hdl::op::semantics::held;
use hdl::op::{Attrs, Operator, float, int, log};
use num_traits::Zero;

impl<'a> Checker<'a> {
    /// The format that a word names.
    pub(super) fn format(&mut self, word: Word) -> Option<Format> {
        if let Some(format) = self.type_of_name(word.text) {
            return Some(format);
        }
        let why = match word.text.parse::<Format>() {
            Ok(format) => return Some(format),
            Err(why) => why,
        };
        let class = word.text.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let known = CLASSES;
        let error = if known.contains(&class) && class != word.text && well_shaped(word.text, class) {
            let message = format!("the format `{}` is not possible", word.text);
            Diagnostic::error(codes::FORMAT_LIMITS, message, word.span, why)
                .help("int and fixed have 1 to 64 bits, `fixedW.F` has F of 0 to W, `floatW.M` has M of 1 to 52 and W of M+3 to M+12, \
                     `logW.F` has F of 1 to 12 and W of F+4 to F+12")
        } else {
            let message = format!("`{}` is not a format", word.text);
            let error = Diagnostic::error(codes::UNKNOWN_FORMAT, message, word.span, "unknown format");
            match meant(word.text, class) {
                Some(format) => error.help(format!("did you mean `{format}`?")).edit(word.span, format),
                None if is_vector(word.text) => {
                    let error = error.help("leave it out: a vector is written `(a, b, c)`");
                    let Span { start, end } = word.span;
                    let is_cast = self.text[..start].ends_with('(') && self.text[end..].starts_with(')');
                    if is_cast { error.edit(Span { start: start - 1, end: end + 1 }, "") } else { error }
                }
                None if of_c(word.text).is_some() => {
                    let format = of_c(word.text).unwrap_or_default();
                    error.help(format!("did you mean `{format}`?")).edit(word.span, format)
                }
                None => error.help(
                    "write for example `int32`, `uint8`, `fixed32.31`, `ufixed16.8` or `float18.9` (W bits in all, M fraction bits)",
                ),
            }
        };
        self.error(error);
        None
    }

    /// A node that carries a number in a format, or an error that says why it does not fit.
    pub(super) fn literal(&mut self, a: &Literal, format: Format, span: Span) -> Option<NodeId> {
        let why = match fit(a, format) {
            Ok(bits) => {
                if bits == 0 && !a.value.is_zero() {
                    self.warn_of_zero(format, span);
                }
                let id = self.builder.constant(bits, format, span);
                if !format.is_integral()
                    && let Ok(double) = fit(a, held(format))
                {
                    self.builder.graph.numbers.insert(id, f64::from_bits(double));
                }
                return Some(id);
            }
            Err(why) => why,
        };
        self.misfit(why, format, span);
        None
    }

    /// Reports a number that does not fit a format.
    pub(super) fn misfit(&mut self, why: Misfit, format: Format, span: Span) {
        let error = match why {
            Misfit::Fraction => {
                let message = format!("a number with a fraction cannot become {format}");
                Diagnostic::error(codes::FRACTION, message, span, format!("takes the format {format} here"))
                    .help("give the other operand a fixed or float format with a cast, such as `(float32.23)`, or write an integer")
            }
            Misfit::Range | Misfit::Tiny => {
                let message = if why == Misfit::Tiny {
                    format!("this number is too small for {format}, where it would become 0")
                } else {
                    format!("this number does not fit {format}")
                };
                let error = Diagnostic::error(codes::RANGE, message, span, format!("takes the format {format} here"))
                    .note(range(format));
                if format == UINT1 {
                    let help = "a comparison is 0 or 1 in one bit: write `c ? 3 : 0` for a number that depends on one";
                    return self.error(error.help(help));
                }
                error.help("write a number within the range, or give the other operand a wider format")
            }
        };
        self.error(error);
    }

    /// Warns of a number other than 0 that a fixed rounds to 0.
    fn warn_of_zero(&mut self, format: Format, span: Span) {
        let message = format!("this number becomes 0 in {format}");
        let what = format!("takes the format {format} here");
        let warning = Diagnostic::warning(codes::BECOMES_ZERO, message, span, what);
        let frac = format.frac().unwrap_or(0);
        self.error(
            warning
                .note(format!("its least number above 0 is 2^-{frac}, and what is nearer to 0 is rounded"))
                .help("take a format with more fraction bits, or write 0 if that is meant"),
        );
    }

    /// `(to)value`, element by element.
    pub(super) fn cast(&mut self, to: Format, value: Value, span: Span) -> Value {
        let typed = match value {
            Value::Error => return Value::Error,
            Value::Exact(number) => {
                return self.literal(&number, to, span).map_or(Value::Error, |n| Value::Typed(Typed::scalar(to, n)));
            }
            Value::Choice(choice) => {
                return self.choice(&choice, to, span).map_or(Value::Error, |n| Value::Typed(Typed::scalar(to, n)));
            }
            Value::Numbers(numbers) => {
                return self.numbers_in(&numbers, to, span).map_or(Value::Error, Value::Typed);
            }
            Value::Typed(typed) => typed,
        };
        if typed.format == to {
            return Value::Typed(typed);
        }
        if typed.format.is_log() || to.is_log() {
            return self.log_cast(to, &typed, span);
        }
        let op = match (typed.format.is_float(), to.is_float()) {
            (true, true) => float::FCAST,
            (true, false) => float::TOFIX,
            (false, true) => float::TOFLOAT,
            (false, false) if typed.format.is_int() && to.is_int() => int::ICAST,
            (false, false) => int::XCAST,
        };
        let attrs = Attrs { to: Some(to), ..Attrs::default() };
        self.each(op, &[&typed], attrs, span)
    }

    /// A cast from or to a log. What a table of significands cannot take at once goes through a float of two fraction bits
    /// more than the logarithm has, with an exponent that holds every value of the other side (RULES N5).
    fn log_cast(&mut self, to: Format, value: &Typed, span: Span) -> Value {
        let from = value.format;
        let through = |log: Format, exp: u32| {
            let mant = float_frac(log.log_frac());
            Format::float(1 + exp.min(11) + mant, mant).expect("a float of 8 to 11 exponent bits")
        };
        // A log's own range, or that of the widest fixed, lies within that of the float.
        let exp = |log: Format| (log.width() - 1 - log.log_frac()).max(8);
        let steps: Vec<(&'static dyn Operator, Format)> = match (from, to) {
            (Format::Log { .. }, Format::Log { .. }) => vec![(log::LCAST, to)],
            (Format::Log { .. }, Format::Float { .. }) if to.mant() <= float_frac(from.log_frac()) => {
                vec![(log::FROMLOG, to)]
            }
            (Format::Log { .. }, Format::Float { .. }) => {
                vec![(log::FROMLOG, through(from, exp(from))), (float::FCAST, to)]
            }
            (Format::Log { .. }, _) => vec![(log::FROMLOG, through(from, exp(from))), (float::TOFIX, to)],
            (Format::Float { .. }, _) if from.mant() <= float_frac(to.log_frac()) => vec![(log::TOLOG, to)],
            (Format::Float { .. }, _) => vec![(float::FCAST, through(to, from.exp() + 1)), (log::TOLOG, to)],
            _ => vec![(float::TOFLOAT, through(to, 8)), (log::TOLOG, to)],
        };
        let mut value = value.clone();
        for (op, format) in steps {
            let attrs = Attrs { to: Some(format), ..Attrs::default() };
            match self.each(op, &[&value], attrs, span) {
                Value::Typed(next) => value = next,
                other => return other,
            }
        }
        Value::Typed(value)
    }

    /// Applies an operator to each element of its arguments; scalars stand for every element.
    pub(super) fn each(&mut self, op: &'static dyn Operator, args: &[&Typed], attrs: Attrs, span: Span) -> Value {
        let dims = args.iter().map(|a| a.dims()).find(|d| *d != Dims::Scalar).unwrap_or(Dims::Scalar);
        let mut nodes = Vec::with_capacity(dims.elements());
        for k in 0..dims.elements() {
            let element: Vec<NodeId> = args.iter().map(|a| a.node(k)).collect();
            match self.builder.op(op, &element, attrs.clone(), span) {
                Ok(node) => nodes.push(node),
                Err(why) => {
                    let message = format!("this operation is not possible: {why}");
                    let error = Diagnostic::error(codes::NOT_DEFINED, message, span, "refused by the operator");
                    self.error(error.help("cast the operands to a format that has it"));
                    return Value::Error;
                }
            }
        }
        let Some(first) = nodes.first() else { return Value::Error };
        let format = self.builder.graph.node(*first).format;
        Value::Typed(Typed { format, shape: dims.shape(nodes) })
    }

    /// Brings two typed values to one format by extending ints of one signedness; otherwise an error that shows the
    /// cast to write. `what` names the operator.
    pub(super) fn unify(&mut self, what: &str, a: (Typed, ExprId), b: (Typed, ExprId)) -> Option<(Typed, Typed)> {
        let (fa, fb) = (a.0.format, b.0.format);
        if fa == fb {
            return Some((a.0, b.0));
        }
        if fa.is_int() && fb.is_int() && fa.is_signed() == fb.is_signed() {
            let wider = if fa.width() > fb.width() { fa } else { fb };
            let (sa, sb) = (self.span(a.1), self.span(b.1));
            return Some((self.extend(a.0, wider, sa)?, self.extend(b.0, wider, sb)?));
        }
        let (target, narrow) = match common(fa, fb) {
            Some(both) => (both, if fa.is_signed() { b.1 } else { a.1 }),
            None if prefers_first(fa, fb) => (fa, b.1),
            None => (fb, a.1),
        };
        let message = format!("{what} mixes {fa} and {fb}");
        let error = Diagnostic::error(codes::MIXED, message, self.span(a.1), format!("this is {fa}"))
            .label(self.span(b.1), format!("this is {fb}"));
        if let Some((text, whole)) = self.compared_as_unsigned(what, (fa, a.1), (fb, b.1)) {
            self.error(error.help(format!("write `{text}`")).edit(whole, text));
            return None;
        }
        self.error(match self.cast_too_short(what, a.1, b.1) {
            Some((whole, operand, close)) => error
                .help(format!("the cast holds for what stands directly behind it: write `{whole}`"))
                .edit(Span { start: operand, end: operand }, "(")
                .edit(Span { start: close, end: close }, ")"),
            None => self.with_cast(error, target, narrow),
        });
        None
    }

    /// A comparison of ints that no signed format holds, as one of unsigned ints behind a look at the sign.
    fn compared_as_unsigned(&self, what: &str, a: (Format, ExprId), b: (Format, ExprId)) -> Option<(String, Span)> {
        let is_both = a.0.is_int() && b.0.is_int() && [a.0, b.0].iter().any(|f| !f.is_signed() && f.width() == 64);
        let operator = what.trim_matches('`');
        let (unsigned, signed, operator) = match (is_both, a.0.is_signed(), operator) {
            (false, ..) => return None,
            (_, false, operator) => (a, b, operator),
            (_, true, "<") => (b, a, ">"),
            (_, true, "<=") => (b, a, ">="),
            (_, true, ">") => (b, a, "<"),
            (_, true, ">=") => (b, a, "<="),
            (_, true, operator) => (b, a, operator),
        };
        let (joined, sign) = match operator {
            "<" => ("&&", "> 0"),
            "<=" | "==" => ("&&", ">= 0"),
            ">" | ">=" | "!=" => ("||", "< 0"),
            _ => return None,
        };
        let (u, s) = (self.operand_text(unsigned.1), self.operand_text(signed.1));
        if u == "(...)" || s == "(...)" {
            return None;
        }
        let text = format!("({s} {sign} {joined} {u} {operator} ({}){s})", unsigned.0);
        Some((text, self.span(a.1).to(self.span(b.1))))
    }

    /// `(F)a * b` of which the cast was meant for the product: that, and where its parentheses open and close.
    fn cast_too_short(&self, what: &str, a: ExprId, b: ExprId) -> Option<(String, usize, usize)> {
        let operator = what.trim_matches('`');
        let ExprKind::Cast(format, inner) = &self.program.expr(a).kind else { return None };
        let (inner, last) = (self.program.expr(*inner), self.program.expr(b));
        if !matches!(operator, "+" | "-" | "*" | "/" | "%") || matches!(last.kind, ExprKind::Cast(..)) {
            return None;
        }
        let text = Span { start: inner.span.start, end: last.span.end }.of(self.text);
        let short = text.len() <= 40 && !text.contains(['\n', '\r']);
        let shown = if short { text } else { "..." };
        Some((format!("({})({shown})", format.text), inner.span.start, last.span.end))
    }

    /// Extends an int to a wider one of its signedness.
    pub(super) fn extend(&mut self, value: Typed, to: Format, span: Span) -> Option<Typed> {
        match self.cast(to, Value::Typed(value), span) {
            Value::Typed(typed) => Some(typed),
            _ => None,
        }
    }

    /// The source of an expression, so that a cast may stand in front of it.
    pub(super) fn operand_text(&self, id: ExprId) -> String {
        let expr = self.program.expr(id);
        let text = expr.span.of(self.text);
        let plain = !matches!(expr.kind, ExprKind::Binary(..) | ExprKind::Select(..));
        match (text.len() > 40 || text.contains(['\n', '\r']), plain) {
            (true, _) => "(...)".into(),
            (false, true) => text.into(),
            (false, false) => format!("({text})"),
        }
    }
}

/// The classes of formats.
const CLASSES: [&str; 6] = ["int", "uint", "fixed", "ufixed", "float", "log"];

/// Whether only numbers, as the class has them, follow the class.
fn well_shaped(text: &str, class: &str) -> bool {
    let numbers = &text[class.len()..];
    let points = if class.ends_with("int") { 0 } else { 1 };
    numbers.matches('.').count() == points && numbers.split('.').all(|n| !n.is_empty() && n.len() <= 6)
}

/// The format that an unknown one was probably intended to be.
fn meant(text: &str, class: &str) -> Option<String> {
    let numbers = &text[class.len()..];
    match (class, numbers) {
        ("double" | "f", "" | "64") if text != "f" => Some("float64.52".to_string()),
        ("float" | "f", "" | "32") => Some("float32.23".into()),
        ("float" | "f", "64") => Some("float64.52".into()),
        ("float" | "f" | "half", "16") => Some("float16.10".into()),
        ("int" | "i" | "long" | "short" | "char", "") => Some("int32".into()),
        ("unsigned" | "uint" | "bool" | "size_t", "") => Some(if text == "bool" { "uint1" } else { "uint32" }.into()),
        ("float" | "log", _) if !numbers.contains('.') => None,
        _ => did_you_mean(class, CLASSES).map(|c| format!("{c}{numbers}")).filter(|f| f.parse::<Format>().is_ok()),
    }
}

/// Whether a mix is better resolved in favour of the first format.
fn prefers_first(a: Format, b: Format) -> bool {
    let rank = |f: Format| {
        let class = f.is_log() as u32 * 3 + f.is_float() as u32 * 2 + f.is_fixed() as u32;
        (class, f.mant().max(f.log_frac()), f.width())
    };
    rank(a) >= rank(b)
}

/// The signed int that holds what an int and a uint hold, where one of the two formats does so.
fn common(a: Format, b: Format) -> Option<Format> {
    if !(a.is_int() && b.is_int()) {
        return None;
    }
    let (signed, unsigned) = if a.is_signed() { (a, b) } else { (b, a) };
    let width = signed.width().max((unsigned.width() + 1).min(64));
    Format::int(width, true).ok()
}

/// The range of a format, in words.
fn range(format: Format) -> String {
    if format.is_log() {
        let power = format.bias() >> format.log_frac();
        return format!("{format} holds 0 and magnitudes from 2^-{power} to just below 2^{power}");
    }
    if format.is_float() {
        let least = 2f64.powi(1 - format.bias());
        return format!("{format} holds 0 and magnitudes from {least:e} to {:e}", format.to_f64(format.max_bits()));
    }
    let (low, high) = (format.min_bits(), format.max_bits());
    if format.is_int() {
        return format!("{format} holds {} to {}", format.to_int(low), format.to_int(high));
    }
    format!(
        "{format} holds {} to {} in steps of 2^-{}",
        format.to_f64(low),
        format.to_f64(high),
        format.frac().unwrap_or(0)
    )
}
