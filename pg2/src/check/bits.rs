//! Bits: fields and single bits of integers, and the values of patterns.

use super::Checker;
use super::call::Arg;
use super::value::{Typed, Value};
use crate::check::literal::small_integer;
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{ExprId, Word};
use crate::syntax::functions::Function;
use hdl::Format;
use hdl::op::{Attrs, int};

impl<'a> Checker<'a> {
    /// `x[high:low]`.
    pub(super) fn bit_field(
        &mut self,
        base: (Value, ExprId),
        high: (Value, Span),
        low: (Value, Span),
        span: Span,
    ) -> Value {
        let text = self.operand_text(base.1);
        let typed = match base.0 {
            Value::Error => return Value::Error,
            Value::Exact(_) | Value::Choice(_) | Value::Numbers(_) => {
                let message = "a number without a format has no bits of its own";
                let error = Diagnostic::error(codes::NO_FORMAT, message, self.span(base.1), "an exact number");
                let format = Format::int(32, false).expect("an int of 32 bits");
                self.error(self.with_cast(error, format, base.1));
                return Value::Error;
            }
            Value::Typed(typed) if !typed.is_scalar() => {
                let message = "bits are taken from a scalar, not from a vector";
                let what = format!("this is {}", typed.describe());
                let error = Diagnostic::error(codes::VECTOR, message, self.span(base.1), what);
                self.error(error.help(format!(
                    "take those of an element, `{text}[0][...]`; an index has one number: elements are `{text}[0]`, `{text}[1]` and so on"
                )));
                return Value::Error;
            }
            Value::Typed(typed) => typed,
        };
        let Some(typed) = self.integer_for_bits(typed, base.1) else { return Value::Error };
        let Some(n) = self.bit_number(&high.0, high.1) else { return Value::Error };
        let Some(d) = self.bit_number(&low.0, low.1) else { return Value::Error };
        let width = typed.format.width() as i64;
        if (0..=n).contains(&d) && n < width {
            return self.field(&typed, (n, d), span);
        }
        let (end, message) = if n < d && d < width {
            (high.1, format!("the bits {n} down to {d} are none: the higher bit comes first"))
        } else {
            (if n < width { low.1 } else { high.1 }, format!("{} has the bits {} down to 0", typed.format, width - 1))
        };
        let error = Diagnostic::error(codes::INDEX_RANGE, message, high.1.to(low.1), "not these");
        let (high_text, low_text) = (high.1.of(self.text), low.1.of(self.text));
        self.error(match end == high.1 && n < d && n >= 0 && d < width {
            true => error
                .help(format!("write `[{low_text}:{high_text}]`"))
                .edit(high.1.to(low.1), format!("{low_text}:{high_text}")),
            false => error.help(format!("choose bits from {} down to 0, the higher one first", width - 1)),
        });
        Value::Error
    }

    /// A single bit of an int: an index behind a scalar.
    pub(super) fn bit(&mut self, typed: &Typed, index: (Value, Span), place: (&str, Span)) -> Option<Typed> {
        let (value, span) = index;
        if let Value::Typed(at) = &value
            && self.known_integer(at).is_none()
        {
            let message = "which bit is taken is known when the kernel is compiled";
            let error = Diagnostic::error(codes::NOT_CONST, message, span, "known only at run time");
            self.error(error.help(format!("shift it down: write `({} >> {} & 1)`", place.0, span.of(self.text))));
            return None;
        }
        let n = self.bit_number(&value, span)?;
        let width = typed.format.width() as i64;
        if !(0..width).contains(&n) {
            let message = format!("the index is outside `{}`", place.0);
            let error = Diagnostic::error(codes::INDEX_RANGE, message, span, "out of range");
            self.error(error.help(format!(
                "`{}` is {}: it has the bits {} down to 0",
                place.0,
                typed.format,
                width - 1
            )));
            return None;
        }
        match self.field(typed, (n, n), place.1) {
            Value::Typed(bit) => Some(bit),
            _ => None,
        }
    }

    fn field(&mut self, typed: &Typed, (high, low): (i64, i64), span: Span) -> Value {
        let attrs = Attrs { n: high as i32, d: low as i32, ..Attrs::default() };
        self.each(int::FIELD, &[typed], attrs, span)
    }

    /// The number of a bit; beyond 64 bits it is one that no format has.
    fn bit_number(&mut self, value: &Value, span: Span) -> Option<i64> {
        if let Value::Exact(number) = value
            && let Some(n) = small_integer(number)
        {
            return Some(n);
        }
        self.integer_of(value, span, "the number of a bit").map(|n| n.unwrap_or(i64::MAX))
    }

    /// A value whose bits are numbered: an int.
    fn integer_for_bits(&mut self, typed: Typed, id: ExprId) -> Option<Typed> {
        let format = typed.format;
        if format.is_int() {
            return Some(typed);
        }
        let span = self.span(id);
        let text = self.operand_text(id);
        let message = format!("bits are taken from an integer, not from {format}");
        let error = Diagnostic::error(codes::NOT_DEFINED, message, span, format!("this is {format}"));
        self.error(match (format.is_log(), self.short(id)) {
            (true, _) => error.help(format!("cast it first: `((int32){text})[...]`")),
            (false, Some(short)) => error
                .help(format!("write `pg_bits({short})[...]` for bits of its pattern"))
                .edit(span, format!("pg_bits({short})")),
            (false, None) => error.help("give it a name `x`, and write `pg_bits(x)[...]` for bits of its pattern"),
        });
        None
    }

    /// A format that stands as an argument.
    pub(super) fn format_argument(&mut self, id: ExprId, word: Word<'a>) {
        if let Some(format) = self.format(word) {
            self.formats.insert(id, format);
        }
    }

    /// `pg_from_bits(u, format)`.
    pub(super) fn value_of_bits(&mut self, function: &Function, args: &[Arg], span: Span) -> Value {
        let [value, format] = args else { return Value::Error };
        let Some(to) = self.formats.get(&format.1).copied() else {
            // Of a format that is none the mistake has been reported.
            if !matches!(format.0, Value::Error) {
                let message = "the second argument of `pg_from_bits` is a format";
                let error = Diagnostic::error(codes::ARGUMENTS, message, self.span(format.1), "not a format");
                self.error(error.help(format!("write `pg_from_bits({}, float32.23)`", self.operand_text(value.1))));
            }
            return Value::Error;
        };
        let wanted = Format::int(to.width(), false).expect("the width of a format");
        let typed = match &value.0 {
            Value::Error => return Value::Error,
            Value::Exact(number) => match self.literal(&number.clone(), wanted, self.span(value.1)) {
                Some(node) => Typed::scalar(wanted, node),
                None => return Value::Error,
            },
            Value::Choice(choice) => match self.choice(&choice.clone(), wanted, self.span(value.1)) {
                Some(node) => Typed::scalar(wanted, node),
                None => return Value::Error,
            },
            Value::Numbers(_) => return self.numbers_without_format("`pg_from_bits`", value.1),
            Value::Typed(typed) => typed.clone(),
        };
        let Some(operator) = self.operator_for(function, typed.format, value.1) else { return Value::Error };
        if to.is_log() || typed.format.width() != to.width() {
            let message = match to.is_log() {
                true => format!("`{}` gives no {to}", function.name),
                false => format!("the pattern of {to} has {} bits, and {} others", to.width(), typed.format),
            };
            let what = format!("this is {}", typed.format);
            let error = Diagnostic::error(codes::MIXED, message, self.span(value.1), what);
            self.error(match to.is_log() {
                true => error.help("the formats are int, uint, fixed, ufixed and float"),
                false => self.with_cast(error, wanted, value.1),
            });
            return Value::Error;
        }
        self.each(operator, &[&typed], Attrs { to: Some(to), ..Attrs::default() }, span)
    }
}
