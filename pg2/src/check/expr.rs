//! Expressions: one pass over the arena, arguments first.

use super::Checker;
use super::numbers::{dims, is_exact};
use super::value::{Dims, Typed, Value};
use crate::check::literal::{Literal, integer, small_integer};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{BinaryOp, ExprId, ExprKind, Tree, UnaryOp};
use hdl::Format;
use hdl::number::format::UINT1;
use hdl::op::{Attrs, compare, float, int, log};
use num_traits::Zero;

/// The finished values of a tree's expressions; each is taken by its one user.
struct Values {
    first: u32,
    values: Vec<Option<Value>>,
}

impl Values {
    fn take(&mut self, id: ExprId) -> Value {
        self.values[(id.0 - self.first) as usize].take().expect("each expression has one user")
    }
}

impl<'a> Checker<'a> {
    /// The value of a tree. Every mistake in it is reported.
    pub(super) fn tree(&mut self, tree: Tree) -> Value {
        let mut values = Values { first: tree.first.0, values: Vec::new() };
        self.step((tree.root.0 - tree.first.0) as u64 + 1, self.span(tree.root));
        let functions = self.functions_in(tree);
        for k in tree.first.0..=tree.root.0 {
            let skipped = self.full || functions[(k - tree.first.0) as usize];
            let value = if skipped { Value::Error } else { self.expr(ExprId(k), &mut values) };
            if self.builder.is_full() {
                self.too_large(self.span(ExprId(k)));
            }
            self.note_format(ExprId(k), &value);
            values.values.push(Some(value));
        }
        self.formats_left(tree);
        values.take(tree.root)
    }

    fn expr(&mut self, id: ExprId, values: &mut Values) -> Value {
        let program = self.program;
        let expr = &program.exprs[id.0 as usize];
        let span = expr.span;
        match &expr.kind {
            ExprKind::Number(text) => match self.folder.number(text) {
                Ok(number) => Value::Exact(number),
                Err(why) => self.fold_error(why, span),
            },
            ExprKind::Name(name)
                if !self.knows(name)
                    && let Some(format) = self.type_of_name(name) =>
            {
                self.formats.insert(id, format);
                Value::Error
            }
            ExprKind::Name(name) => match self.pi(name) {
                Some(pi) => pi,
                None => self.lookup(name, span),
            },
            ExprKind::Paren(inner) => values.take(*inner),
            ExprKind::Unary(op, arg) => {
                let value = values.take(*arg);
                self.unary(*op, (value, *arg), span)
            }
            ExprKind::Binary(op, a, b) => {
                let (x, y) = (values.take(*a), values.take(*b));
                self.binary(*op, (x, *a), (y, *b), span)
            }
            ExprKind::Select(c, a, b) => {
                let (c, x, y) = ((values.take(*c), *c), values.take(*a), values.take(*b));
                self.select(c, (x, *a), (y, *b), span)
            }
            ExprKind::Cast(word, arg) => {
                let value = values.take(*arg);
                if self.cast_of_c(*word, &value, *arg, span) {
                    return Value::Error;
                }
                match self.format(*word) {
                    Some(format) => self.cast(format, value, self.span(*arg)),
                    None => Value::Error,
                }
            }
            ExprKind::Element(word, indices) => {
                let indices: Vec<(Value, Span)> = indices.iter().map(|i| (values.take(*i), self.span(*i))).collect();
                self.element_of(*word, &indices)
            }
            ExprKind::Index(base, index) => {
                let (base_value, index_value) = (values.take(*base), values.take(*index));
                self.index((base_value, *base), (index_value, *index))
            }
            ExprKind::Bits(base, high, low) => {
                let of = (values.take(*base), *base);
                let [high, low] = [high, low].map(|id| (values.take(*id), self.span(*id)));
                self.bit_field(of, high, low, span)
            }
            ExprKind::Format(word) => {
                self.format_argument(id, *word);
                Value::Error
            }
            ExprKind::Call(function, args) => {
                let args: Vec<(Value, ExprId)> = args.iter().map(|a| (values.take(*a), *a)).collect();
                let ids: Vec<ExprId> = args.iter().map(|a| a.1).collect();
                let value = if self.formats_misplaced(*function, &ids) {
                    Value::Error
                } else {
                    self.call(*function, args, span)
                };
                self.formats.retain(|id, _| !ids.contains(id));
                value
            }
            ExprKind::Vector(elements) => {
                let list: Vec<(Value, ExprId)> = elements.iter().map(|a| (values.take(*a), *a)).collect();
                self.vector(list, span)
            }
        }
    }

    pub(super) fn unary(&mut self, op: UnaryOp, arg: (Value, ExprId), span: Span) -> Value {
        let typed = match arg.0 {
            Value::Error => return Value::Error,
            Value::Exact(number) => {
                return match self.folder.unary(op, &number) {
                    Ok(number) => Value::Exact(number),
                    Err(why) => self.fold_error(why, span),
                };
            }
            Value::Choice(choice) => {
                return self.map_choice(&choice, span, |checker, number| checker.folder.unary(op, number));
            }
            Value::Numbers(_) => return self.unary_of_numbers(op, &arg, span),
            Value::Typed(typed) => typed,
        };
        let format = typed.format;
        let vector_ok = matches!(op, UnaryOp::Minus | UnaryOp::BitNot);
        if !typed.is_scalar() && !vector_ok {
            return self.no_vector(&format!("`{}`", op.symbol()), &typed, arg.1);
        }
        match op {
            UnaryOp::Plus => Value::Typed(typed),
            UnaryOp::Minus => {
                let negate = match format {
                    Format::Float { .. } => float::FNEG,
                    Format::Log { .. } => log::LNEG,
                    _ => int::NEG,
                };
                self.each(negate, &[&typed], Attrs::default(), span)
            }
            UnaryOp::BitNot if format.is_int() => self.each(int::NOT, &[&typed], Attrs::default(), span),
            UnaryOp::BitNot => {
                let message = format!("`~` is not defined on {format}");
                let error =
                    Diagnostic::error(codes::NOT_DEFINED, message, self.span(arg.1), format!("this is {format}"));
                self.error(error.help("`~` inverts the bits of an integer; minus is `-x`, and not is `!x`"));
                Value::Error
            }
            UnaryOp::Not if format.is_int() => self.each(compare::ISZ, &[&typed], Attrs::default(), span),
            UnaryOp::Not => self.not_condition(&typed, arg.1),
        }
    }

    /// A vector where only scalars are meant.
    pub(super) fn no_vector(&mut self, what: &str, value: &Typed, id: ExprId) -> Value {
        let message = format!("{what} takes scalars, not a vector");
        let error = Diagnostic::error(codes::VECTOR, message, self.span(id), format!("this is {}", value.describe()));
        let text = self.operand_text(id);
        self.error(error.help(format!(
            "the square of a vector is `{text} * {text}`, its length `pg_sqrt({text} * {text})`, an element `{text}[0]`; \
             for each element by itself write a loop"
        )));
        Value::Error
    }

    fn not_condition(&mut self, value: &Typed, id: ExprId) -> Value {
        let message = format!("a condition is an integer, not {}", value.format);
        let error = Diagnostic::error(codes::CONDITION, message, self.span(id), format!("this is {}", value.format));
        let text = self.operand_text(id);
        let error = error.help(format!("compare it: write `{text} != 0`"));
        self.error(if text == "(...)" { error } else { error.edit(self.span(id), format!("({text} != 0)")) });
        Value::Error
    }

    /// A condition as a uint1; `None` after a reported mistake.
    pub(super) fn truth(&mut self, value: Value, id: ExprId) -> Option<Typed> {
        let span = self.span(id);
        match value {
            Value::Error => None,
            Value::Exact(number) => match integer(&number) {
                Ok(n) => Some(Typed::scalar(UINT1, self.builder.constant(!n.is_zero() as u64, UINT1, span))),
                Err(why) => {
                    self.fold_error(why, span);
                    None
                }
            },
            Value::Choice(choice) => self.choice_truth(&choice, span),
            Value::Numbers(_) => {
                self.numbers_without_format("a condition", id);
                None
            }
            Value::Typed(typed) if !typed.is_scalar() => {
                self.no_vector("a condition", &typed, id);
                None
            }
            Value::Typed(typed) if typed.format == UINT1 => Some(typed),
            Value::Typed(typed) if typed.format.is_int() => {
                match self.each(compare::NZ, &[&typed], Attrs::default(), span) {
                    Value::Typed(truth) => Some(truth),
                    _ => None,
                }
            }
            Value::Typed(typed) => {
                self.not_condition(&typed, id);
                None
            }
        }
    }

    /// `&&` and `||`: both sides are computed.
    pub(super) fn logic(&mut self, op: BinaryOp, a: (Value, ExprId), b: (Value, ExprId), span: Span) -> Value {
        let (x, y) = (self.truth(a.0, a.1), self.truth(b.0, b.1));
        let (Some(x), Some(y)) = (x, y) else { return Value::Error };
        self.each(if op == BinaryOp::And { int::AND } else { int::OR }, &[&x, &y], Attrs::default(), span)
    }

    /// `c ? a : b`.
    fn select(&mut self, c: (Value, ExprId), a: (Value, ExprId), b: (Value, ExprId), span: Span) -> Value {
        if let Value::Exact(number) = &c.0
            && is_exact(&a.0)
            && is_exact(&b.0)
        {
            return match integer(number) {
                Ok(n) if n.is_zero() => b.0,
                Ok(_) => a.0,
                Err(why) => self.fold_error(why, self.span(c.1)),
            };
        }
        let condition = self.truth(c.0, c.1);
        self.either(condition, a, b, (span, "`?:`"))
    }

    /// One of two values, as the condition says; `place` is the whole and its name in messages.
    pub(super) fn either(
        &mut self,
        condition: Option<Typed>,
        a: (Value, ExprId),
        b: (Value, ExprId),
        place: (Span, &str),
    ) -> Value {
        let exact = |v: &Value| matches!(v, Value::Exact(_) | Value::Choice(_));
        let (span, what) = place;
        if is_exact(&a.0) && is_exact(&b.0) && (dims(&a.0), dims(&b.0)) != (Dims::Scalar, Dims::Scalar) {
            if dims(&a.0) != dims(&b.0) && !exact(&a.0) && !exact(&b.0) {
                return self.arms_differ((&a.0, self.span(a.1)), (&b.0, self.span(b.1)), what);
            }
            return condition.map_or(Value::Error, |c| self.either_of_numbers(&c, &a, &b, span));
        }
        if exact(&a.0) && exact(&b.0) {
            let chosen = condition.and_then(|c| self.choose(&c, (&a.0, a.1), (&b.0, b.1), span));
            return chosen.unwrap_or(Value::Error);
        }
        let (sa, sb) = (self.span(a.1), self.span(b.1));
        // A number stands for every element.
        let number = exact(&a.0) || exact(&b.0);
        let Some((x, y)) = self.pair(what, a, b) else { return Value::Error };
        if x.dims() != y.dims() && !number {
            return self.arms_differ((&Value::Typed(x), sa), (&Value::Typed(y), sb), what);
        }
        match condition {
            Some(condition) => self.each(compare::MUX, &[&condition, &x, &y], Attrs::default(), span),
            None => Value::Error,
        }
    }

    fn arms_differ(&mut self, a: (&Value, Span), b: (&Value, Span), what: &str) -> Value {
        let words = |value: &Value| match value {
            Value::Typed(typed) => typed.describe(),
            value => dims(value).words(),
        };
        let message = format!("the arms of {what} differ in shape");
        let error = Diagnostic::error(codes::LENGTHS, message, a.1, format!("this is {}", words(a.0)))
            .label(b.1, format!("this is {}", words(b.0)))
            .help("give both one length, or choose element by element");
        self.error(error);
        Value::Error
    }

    /// Two operands in one format: exact numbers take the other's, ints extend. Two exact ones do not come
    /// here.
    pub(super) fn pair(&mut self, what: &str, a: (Value, ExprId), b: (Value, ExprId)) -> Option<(Typed, Typed)> {
        let (sa, sb) = (self.span(a.1), self.span(b.1));
        match (a.0, b.0) {
            (Value::Typed(x), Value::Typed(y)) => self.unify(what, (x, a.1), (y, b.1)),
            (Value::Typed(x), Value::Exact(n)) => {
                let node = self.literal(&n, x.format, sb)?;
                let y = Typed::scalar(x.format, node);
                Some((x, y))
            }
            (Value::Exact(n), Value::Typed(y)) => {
                let node = self.literal(&n, y.format, sa)?;
                Some((Typed::scalar(y.format, node), y))
            }
            (Value::Typed(x), Value::Choice(c)) => {
                let y = Typed::scalar(x.format, self.choice(&c, x.format, sb)?);
                Some((x, y))
            }
            (Value::Typed(x), Value::Numbers(n)) => {
                let y = self.numbers_in(&n, x.format, sb)?;
                Some((x, y))
            }
            (Value::Numbers(n), Value::Typed(y)) => Some((self.numbers_in(&n, y.format, sa)?, y)),
            (Value::Numbers(_), Value::Exact(_) | Value::Choice(_) | Value::Numbers(_)) => {
                self.numbers_without_format(what, a.1);
                None
            }
            (Value::Exact(_) | Value::Choice(_), Value::Numbers(_)) => {
                self.numbers_without_format(what, b.1);
                None
            }
            (Value::Choice(c), Value::Typed(y)) => {
                let x = Typed::scalar(y.format, self.choice(&c, y.format, sa)?);
                Some((x, y))
            }
            _ => None,
        }
    }

    /// Only exact numbers where a format is needed.
    pub(super) fn no_format(&mut self, what: &str, span: Span, id: ExprId) -> Value {
        self.no_format_but(what, (span, id), Format::float(32, 23).expect("the format of IEEE singles"))
    }

    /// The same, with a format that would do.
    pub(super) fn no_format_but(&mut self, what: &str, (span, id): (Span, ExprId), format: Format) -> Value {
        let message = format!("{what} has only exact numbers here, so its format is not known");
        let error = Diagnostic::error(codes::NO_FORMAT, message, span, "an exact number without a format");
        self.error(self.with_cast(error, format, id));
        Value::Error
    }

    fn index(&mut self, base: (Value, ExprId), index: (Value, ExprId)) -> Value {
        let (span, text) = (self.span(index.1), self.operand_text(base.1));
        let at = self.span(base.1);
        match base.0 {
            Value::Error => Value::Error,
            Value::Typed(typed) => self.part(typed, (index.0, span), (&text, at)).map_or(Value::Error, Value::Typed),
            Value::Numbers(numbers) => self.number_at(&numbers, (index.0, span), &text),
            Value::Exact(_) | Value::Choice(_) => self.no_elements(&text, at),
        }
    }

    /// One step of indexing; `place` is what is indexed.
    pub(super) fn part(&mut self, typed: Typed, index: (Value, Span), place: (&str, Span)) -> Option<Typed> {
        let Some((inner, count)) = typed.dims().inner() else {
            if typed.format.is_int() {
                return self.bit(&typed, index, place);
            }
            self.no_elements(place.0, place.1);
            return None;
        };
        let k = self.element(index, count, place.0)?;
        Some(typed.part(inner, k))
    }

    pub(super) fn no_elements(&mut self, text: &str, at: Span) -> Value {
        let message = format!("`{text}` is a scalar and has no elements");
        let error = Diagnostic::error(codes::INDEX_SCALAR, message, at, "not a vector");
        self.error(error.help(format!("write `{text}` without an index")));
        Value::Error
    }

    /// An index as a number below `len`.
    pub(super) fn element(&mut self, index: (Value, Span), len: usize, name: &str) -> Option<usize> {
        let (value, span) = index;
        let n = self.integer_of(&value, span, "an index")?;
        if let Some(k) = n.and_then(|n| usize::try_from(n).ok()).filter(|k| *k < len) {
            return Some(k);
        }
        let message = format!("the index is outside `{name}`");
        let error = Diagnostic::error(codes::INDEX_RANGE, message, span, "out of range");
        self.error(error.help(format!("`{name}` has the elements 0 to {}", len - 1)));
        None
    }

    /// A compile-time integer: `None` after a reported mistake, `Some(None)` for one beyond 64 bits.
    pub(super) fn integer_of(&mut self, value: &Value, span: Span, what: &str) -> Option<Option<i64>> {
        let number: Option<Literal> = match value {
            Value::Error => return None,
            Value::Exact(number) => Some(number.clone()),
            Value::Choice(_) | Value::Numbers(_) => None,
            Value::Typed(typed) => self.known_integer(typed),
        };
        let Some(number) = number else {
            let error = Diagnostic::error(
                codes::NOT_CONST,
                format!("{what} is a compile-time integer"),
                span,
                "known only at run time",
            );
            self.error(error.help("write a literal or the name of a `const`"));
            return None;
        };
        if integer(&number).is_err() {
            let error =
                Diagnostic::error(codes::FRACTION, format!("{what} is an integer"), span, "this has a fraction");
            self.error(error.help("write an integer"));
            return None;
        }
        Some(small_integer(&number))
    }
}
