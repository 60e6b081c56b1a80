//! What an expression is worth while it is checked.

use super::choice::Choice;
use crate::graph::NodeId;
use crate::literal::Literal;
use hdl::Format;
use std::rc::Rc;

/// The value of an expression.
#[derive(Clone, Debug)]
pub enum Value {
    /// An exact number without a format.
    Exact(Literal),
    /// A conditional of exact numbers without a format.
    Choice(Choice),
    Typed(Typed),
    /// Something whose mistake has been reported.
    Error,
}

/// One node, or one for each element of a vector, all of one format.
#[derive(Clone, Debug)]
pub struct Typed {
    pub format: Format,
    pub shape: Shape,
}

/// Scalar or vector.
#[derive(Clone, Debug)]
pub enum Shape {
    Scalar(NodeId),
    Vector(Rc<[NodeId]>),
}

impl Typed {
    pub fn scalar(format: Format, node: NodeId) -> Typed {
        Typed { format, shape: Shape::Scalar(node) }
    }

    /// Elements of a vector; `None` for a scalar.
    pub fn len(&self) -> Option<usize> {
        match &self.shape {
            Shape::Scalar(_) => None,
            Shape::Vector(nodes) => Some(nodes.len()),
        }
    }

    pub fn nodes(&self) -> &[NodeId] {
        match &self.shape {
            Shape::Scalar(node) => std::slice::from_ref(node),
            Shape::Vector(nodes) => nodes,
        }
    }

    /// `float18.9` or `float18.9[3]`.
    pub fn describe(&self) -> String {
        match self.len() {
            None => self.format.to_string(),
            Some(n) => format!("{}[{n}]", self.format),
        }
    }
}
