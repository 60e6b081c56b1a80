//! Vectors written out, and functions of vectors (RULES L7).

use super::Checker;
use super::call::Arg;
use super::numbers::{dims, is_exact};
use super::ops::library;
use super::value::{Dims, Typed, Value};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::graph::NodeId;
use crate::syntax::ast::{BinaryOp, ExprId};
use crate::syntax::functions::Function;
use hdl::op::Attrs;

impl<'a> Checker<'a> {
    /// `(a, b, c)`: of scalars a vector, of vectors of one length the rows of a matrix.
    pub(super) fn vector(&mut self, list: Vec<(Value, ExprId)>, span: Span) -> Value {
        if list.iter().any(|(value, _)| matches!(value, Value::Error)) {
            return Value::Error;
        }
        let first = dims(&list[0].0);
        let shape = match first {
            Dims::Scalar => Some(Dims::Vector(list.len())),
            Dims::Vector(n) => Some(Dims::Matrix(list.len(), n)),
            Dims::Matrix(..) => None,
        };
        let other = list.iter().find(|(value, _)| dims(value) != first);
        let (Some(shape), None) = (shape, other) else {
            let (value, id) = other.unwrap_or(&list[0]);
            let message = "the elements written in parentheses differ in shape, or are matrices";
            let what = format!("this is {}", dims(value).words());
            let error = Diagnostic::error(codes::LENGTHS, message, self.span(*id), what);
            self.error(error.help("write scalars for a vector, or vectors of one length for the rows of a matrix"));
            return Value::Error;
        };
        if shape.elements() > super::statement::MAX_LENGTH {
            let message = format!("a vector or matrix has at most {} elements", super::statement::MAX_LENGTH);
            let error = Diagnostic::error(codes::LENGTH, message, span, "too many");
            self.error(error.help("split it into several"));
            return Value::Error;
        }
        if list.iter().all(|(value, _)| is_exact(value)) {
            return self.numbers_of(shape, list);
        }
        let what = "the vector";
        let Some(format) = self.common_format(what, &list, (span, span)) else { return Value::Error };
        let mut nodes = Vec::with_capacity(shape.elements());
        for (value, id) in list {
            let at = self.span(id);
            let part = match value {
                Value::Exact(number) => self.literal(&number, format, at).map(|n| Typed::scalar(format, n)),
                Value::Choice(choice) => self.choice(&choice, format, at).map(|n| Typed::scalar(format, n)),
                Value::Numbers(row) => self.numbers_in(&row, format, at),
                Value::Typed(typed) => self.extend(typed, format, at),
                Value::Error => None,
            };
            let Some(part) = part else { return Value::Error };
            nodes.extend_from_slice(part.nodes());
        }
        Value::Typed(Typed { format, shape: shape.shape(nodes) })
    }

    /// Whether two arguments of an elementwise function go together: shapes that differ, of which none is a scalar, are reported.
    pub(super) fn go_together(&mut self, name: &str, x: (&Typed, ExprId), y: (&Typed, ExprId)) -> bool {
        let (m, n) = (x.0.dims(), y.0.dims());
        if m == n || m == Dims::Scalar || n == Dims::Scalar {
            return true;
        }
        let message = format!("`{name}` of {} and {}", m.words(), n.words());
        let error = Diagnostic::error(codes::LENGTHS, message, self.span(x.1), format!("this is {}", x.0.describe()))
            .label(self.span(y.1), format!("this is {}", y.0.describe()));
        self.error(error.help("give both one shape, or make one of them a scalar, which stands for every element"));
        false
    }

    /// The vectors that a function takes, in one format; of `length` elements where that is given.
    fn vectors(&mut self, function: &Function, args: Vec<Arg>, length: Option<usize>) -> Option<Vec<Typed>> {
        let name = function.name;
        for (value, id) in &args {
            let found = match value {
                Value::Error => return None,
                Value::Typed(_) | Value::Numbers(_) => match dims(value) {
                    Dims::Vector(n) if length.is_none_or(|l| l == n) => continue,
                    dims => dims.words(),
                },
                Value::Exact(_) | Value::Choice(_) => "an exact number".into(),
            };
            let (code, wanted) = match length {
                Some(n) => (codes::LENGTHS, format!("vectors of {n} elements")),
                None => (codes::VECTOR, "vectors".into()),
            };
            let message = format!("`{name}` takes {wanted}");
            let error = Diagnostic::error(code, message, self.span(*id), format!("this is {found}"));
            self.error(
                error.help(format!("write `{}` of vectors, such as pins `x[3]` or `(a, b, c)`", function.call())),
            );
            return None;
        }
        let mut args = args.into_iter();
        let (first, id) = args.next()?;
        let Some(second) = args.next() else {
            let Value::Typed(first) = first else { return None };
            return Some(vec![first]);
        };
        let (x, y) = self.pair(&format!("`{name}`"), (first, id), (second.0, second.1))?;
        if x.dims() != y.dims() {
            let message = format!("`{name}` of {} and {}", x.dims().words(), y.dims().words());
            let error = Diagnostic::error(codes::LENGTHS, message, self.span(id), format!("this is {}", x.describe()))
                .label(self.span(second.1), format!("this is {}", y.describe()));
            self.error(error.help("use vectors of one length"));
            return None;
        }
        Some(vec![x, y])
    }

    /// `pg_dot(a, b)` and `pg_norm2(v)`: inner products.
    pub(super) fn inner(&mut self, function: &Function, args: Vec<Arg>, span: Span) -> Value {
        if let [a] | [a, _] = &args[..]
            && args.iter().all(|a| matches!(a.0, Value::Numbers(_)))
        {
            return self.binary_of_numbers(BinaryOp::Mul, a, args.get(1).unwrap_or(a), span);
        }
        match self.vectors(function, args, None).as_deref() {
            Some([x, y]) => self.product(x, y, span),
            Some([x]) => self.product(x, x, span),
            _ => Value::Error,
        }
    }

    /// `pg_cross(a, b)`: each element is a difference of two products, each step rounded.
    pub(super) fn cross(&mut self, function: &Function, args: Vec<Arg>, span: Span) -> Value {
        if let [a, b] = &args[..]
            && args.iter().all(|a| matches!(&a.0, Value::Numbers(n) if n.dims == Dims::Vector(3)))
        {
            return self.cross_of_numbers(a, b, span);
        }
        let Some(vectors) = self.vectors(function, args, Some(3)) else { return Value::Error };
        let [x, y] = &vectors[..] else { return Value::Error };
        let format = x.format;
        let mut two = |op: BinaryOp, a: NodeId, b: NodeId| {
            let operator = library(op, format).expect("every format multiplies and subtracts").0;
            let [a, b] = [a, b].map(|n| Typed::scalar(format, n));
            match self.each(operator, &[&a, &b], Attrs::default(), span) {
                Value::Typed(typed) => Some(typed.node(0)),
                _ => None,
            }
        };
        let mut nodes = Vec::new();
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            let Some(plus) = two(BinaryOp::Mul, x.node(i), y.node(j)) else { return Value::Error };
            let Some(minus) = two(BinaryOp::Mul, x.node(j), y.node(i)) else { return Value::Error };
            let Some(node) = two(BinaryOp::Sub, plus, minus) else { return Value::Error };
            nodes.push(node);
        }
        Value::Typed(Typed { format, shape: Dims::Vector(3).shape(nodes) })
    }
}
