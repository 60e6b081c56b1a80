//! Products of vectors and matrices (RULES L7).

use super::Checker;
use super::ops::library;
use super::value::{Dims, Typed, Value};
use crate::diag::Span;
use crate::graph::NodeId;
use crate::syntax::ast::BinaryOp;
use hdl::op::Attrs;

/// The shape of a product of two vectors or matrices, if they have one.
pub(super) fn product(a: Dims, b: Dims) -> Option<Dims> {
    let (rows, inner) = match a {
        Dims::Scalar => return None,
        Dims::Vector(n) => (None, n),
        Dims::Matrix(rows, columns) => (Some(rows), columns),
    };
    let (length, columns) = match b {
        Dims::Scalar => return None,
        Dims::Vector(n) => (n, None),
        Dims::Matrix(rows, columns) => (rows, Some(columns)),
    };
    (inner == length).then_some(match (rows, columns) {
        (None, None) => Dims::Scalar,
        (Some(n), None) | (None, Some(n)) => Dims::Vector(n),
        (Some(rows), Some(columns)) => Dims::Matrix(rows, columns),
    })
}

impl<'a> Checker<'a> {
    /// Inner products of the rows of `x` with the columns of `y`; a vector is one row on the left and one column on the
    /// right.
    pub(super) fn product(&mut self, x: &Typed, y: &Typed, span: Span) -> Value {
        let Some(dims) = product(x.dims(), y.dims()) else { return Value::Error };
        let inner = if let Dims::Matrix(_, columns) = x.dims() { columns } else { x.nodes().len() };
        let (rows, columns) = (x.nodes().len() / inner, y.nodes().len() / inner);
        let mut nodes = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for column in 0..columns {
                let pairs = (0..inner).map(|k| (x.nodes()[row * inner + k], y.nodes()[k * columns + column])).collect();
                match self.inner_product(x, pairs, span) {
                    Some(node) => nodes.push(node),
                    None => return Value::Error,
                }
                if self.builder.is_full() {
                    self.too_large(span);
                    return Value::Error;
                }
            }
        }
        Value::Typed(Typed { format: x.format, shape: dims.shape(nodes) })
    }

    /// ((u0*v0) + (u1*v1)) + (u2*v2), each step rounded.
    fn inner_product(&mut self, like: &Typed, pairs: Vec<(NodeId, NodeId)>, span: Span) -> Option<NodeId> {
        let operator = |op| library(op, like.format).expect("every format multiplies and adds").0;
        let two = |checker: &mut Self, op, a, b| {
            let [a, b] = [a, b].map(|n| Typed::scalar(like.format, n));
            match checker.each(operator(op), &[&a, &b], Attrs::default(), span) {
                Value::Typed(typed) => Some(typed.node(0)),
                _ => None,
            }
        };
        let mut products = Vec::with_capacity(pairs.len());
        for (u, v) in pairs {
            products.push(two(self, BinaryOp::Mul, u, v)?);
        }
        let mut sum = products[0];
        for product in &products[1..] {
            sum = two(self, BinaryOp::Add, sum, *product)?;
        }
        Some(sum)
    }
}
