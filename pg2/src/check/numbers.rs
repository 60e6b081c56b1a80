//! Vectors of exact numbers. Like a number, `(1, 2, 3)` has no format until something gives it one (RULES L2, L7).

use super::Checker;
use super::call::Arg;
use super::elements::Elements;
use super::value::{Dims, Typed, Value};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{BinaryOp, ExprId, UnaryOp};
use hdl::Format;

/// Whether a value has no format.
pub(super) fn is_exact(value: &Value) -> bool {
    matches!(value, Value::Exact(_) | Value::Choice(_) | Value::Numbers(_))
}

/// The shape of a value; that of a number is a scalar's.
pub(super) fn dims(value: &Value) -> Dims {
    match value {
        Value::Typed(typed) => typed.dims(),
        Value::Numbers(numbers) => numbers.dims,
        _ => Dims::Scalar,
    }
}

/// An element of numbers; a scalar stands for every element.
fn element(value: &Value, k: usize) -> Value {
    match value {
        Value::Numbers(numbers) => numbers.value(k),
        value => value.clone(),
    }
}

impl<'a> Checker<'a> {
    /// The numbers in a format, where `span` uses them.
    pub(super) fn numbers_in(&mut self, numbers: &Elements, format: Format, span: Span) -> Option<Typed> {
        let mut nodes = Vec::with_capacity(numbers.dims.elements());
        for k in 0..numbers.dims.elements() {
            let own = numbers.expr(k).map(|id| self.span(id));
            // A number that was named elsewhere is reported where it takes the format.
            let at = own.filter(|own| span.start <= own.start && own.end <= span.end).unwrap_or(span);
            nodes.push(match numbers.value(k) {
                Value::Exact(number) => self.literal(&number, format, at)?,
                Value::Choice(choice) => self.choice(&choice, format, at)?,
                _ => return None,
            });
        }
        Some(Typed { format, shape: numbers.dims.shape(nodes) })
    }

    /// Exact vectors, written out or as rows of a matrix.
    pub(super) fn numbers_of(&self, shape: Dims, list: Vec<(Value, ExprId)>) -> Value {
        let mut all = Vec::with_capacity(shape.elements());
        for (value, id) in list {
            match value {
                Value::Numbers(row) => all.extend((0..row.dims.elements()).map(|k| (row.value(k), id))),
                value => all.push((value, id)),
            }
        }
        Value::Numbers(Elements::of_values(shape, all))
    }

    /// Applies a function to each element of values of one shape, scalars standing for every element.
    fn each_number(&mut self, args: &[&Arg], mut of: impl FnMut(&mut Self, &[Value]) -> Value) -> Value {
        let Some((shape, id)) = args.iter().map(|a| (dims(&a.0), a.1)).find(|(d, _)| *d != Dims::Scalar) else {
            return Value::Error;
        };
        let mut list = Vec::with_capacity(shape.elements());
        for k in 0..shape.elements() {
            let values: Vec<Value> = args.iter().map(|a| element(&a.0, k)).collect();
            match of(self, &values) {
                Value::Error => return Value::Error,
                value => list.push((value, id)),
            }
        }
        Value::Numbers(Elements::of_values(shape, list))
    }

    /// `op v` of numbers.
    pub(super) fn unary_of_numbers(&mut self, op: UnaryOp, arg: &Arg, span: Span) -> Value {
        if op == UnaryOp::Not {
            return self.numbers_without_format("`!`", arg.1);
        }
        self.each_number(&[arg], |checker, v| checker.unary(op, (v[0].clone(), arg.1), span))
    }

    /// `a op b` where nothing has a format and at least one is a vector.
    pub(super) fn binary_of_numbers(&mut self, op: BinaryOp, a: &Arg, b: &Arg, span: Span) -> Value {
        let (m, n) = (dims(&a.0), dims(&b.0));
        match op {
            BinaryOp::Mul if m != Dims::Scalar && n != Dims::Scalar => {
                if self.shapes_clash(op, a, b) {
                    return Value::Error;
                }
                match (m, n) {
                    (Dims::Vector(_), Dims::Vector(_)) => self.inner_of_numbers(a, b, span),
                    _ => self.numbers_without_format("`*`", a.1),
                }
            }
            BinaryOp::Shl | BinaryOp::Shr if n == Dims::Scalar => self
                .each_number(&[a, b], |checker, v| checker.binary(op, (v[0].clone(), a.1), (v[1].clone(), b.1), span)),
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => {
                if self.shapes_clash(op, a, b) {
                    return Value::Error;
                }
                self.each_number(&[a, b], |checker, v| {
                    checker.binary(op, (v[0].clone(), a.1), (v[1].clone(), b.1), span)
                })
            }
            _ => self.numbers_without_format(&format!("`{}`", op.symbol()), if m != Dims::Scalar { a.1 } else { b.1 }),
        }
    }

    /// The inner product of two exact vectors of one length.
    pub(super) fn inner_of_numbers(&mut self, a: &Arg, b: &Arg, span: Span) -> Value {
        let mut sum = None;
        for k in 0..dims(&a.0).elements() {
            let (x, y) = (element(&a.0, k), element(&b.0, k));
            let term = self.binary(BinaryOp::Mul, (x, a.1), (y, b.1), span);
            sum = Some(match sum {
                None => term,
                Some(sum) => self.binary(BinaryOp::Add, (sum, a.1), (term, b.1), span),
            });
        }
        sum.unwrap_or(Value::Error)
    }

    /// The vector product of two exact vectors of three numbers.
    pub(super) fn cross_of_numbers(&mut self, a: &Arg, b: &Arg, span: Span) -> Value {
        let mut list = Vec::with_capacity(3);
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            let mut product =
                |x: usize, y: usize| self.binary(BinaryOp::Mul, (element(&a.0, x), a.1), (element(&b.0, y), b.1), span);
            let (plus, minus) = (product(i, j), product(j, i));
            match self.binary(BinaryOp::Sub, (plus, a.1), (minus, b.1), span) {
                Value::Error => return Value::Error,
                value => list.push((value, a.1)),
            }
        }
        Value::Numbers(Elements::of_values(Dims::Vector(3), list))
    }

    /// `c ? a : b` of exact values, of which one is a vector.
    pub(super) fn either_of_numbers(&mut self, condition: &Typed, a: &Arg, b: &Arg, span: Span) -> Value {
        self.each_number(&[a, b], |checker, v| {
            checker.choose(condition, (&v[0], a.1), (&v[1], b.1), span).unwrap_or(Value::Error)
        })
    }

    /// One step of indexing.
    pub(super) fn number_at(&mut self, numbers: &Elements, index: (Value, Span), name: &str) -> Value {
        let Some((inner, count)) = numbers.dims.inner() else { return Value::Error };
        match self.element(index, count, name) {
            None => Value::Error,
            Some(k) if inner == Dims::Scalar => numbers.value(k),
            Some(k) => Value::Numbers(numbers.part(inner, k)),
        }
    }

    /// Reports exact numbers where a format is needed.
    pub(super) fn numbers_without_format(&mut self, what: &str, id: ExprId) -> Value {
        let message = format!("{what} has only exact numbers here, so their format is not known");
        let error = Diagnostic::error(codes::NO_FORMAT, message, self.span(id), "exact numbers without a format");
        self.error(error.help(format!("give them one with a cast, such as `(float32.23){}`", self.operand_text(id))));
        Value::Error
    }
}
