//! The value of an expression while it is checked.

use super::choice::Choice;
use super::elements::Elements;
use crate::check::literal::Literal;
use crate::graph::NodeId;
use hdl::Format;
use std::rc::Rc;

/// The value of an expression.
#[derive(Clone, Debug)]
pub enum Value {
    /// An exact number without a format.
    Exact(Literal),
    /// A conditional of exact numbers without a format.
    Choice(Choice),
    /// A vector or matrix of exact numbers and such conditionals, all without a format.
    Numbers(Elements),
    Typed(Typed),
    /// Something whose mistake has been reported.
    Error,
}

/// One node, or one for each element of a vector or matrix, all of one format.
#[derive(Clone, Debug)]
pub struct Typed {
    pub format: Format,
    pub shape: Shape,
}

/// Scalar, vector, or matrix by rows.
#[derive(Clone, Debug)]
pub enum Shape {
    Scalar(NodeId),
    Vector(Rc<[NodeId]>),
    Matrix { columns: usize, nodes: Rc<[NodeId]> },
}

/// The numbers of elements of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dims {
    Scalar,
    Vector(usize),
    /// Rows and columns.
    Matrix(usize, usize),
}

impl Dims {
    pub fn elements(self) -> usize {
        match self {
            Dims::Scalar => 1,
            Dims::Vector(n) => n,
            Dims::Matrix(rows, columns) => rows * columns,
        }
    }

    /// The dimensions left behind one index, and how many there are of them; `None` for a scalar.
    pub fn inner(self) -> Option<(Dims, usize)> {
        match self {
            Dims::Scalar => None,
            Dims::Vector(n) => Some((Dims::Scalar, n)),
            Dims::Matrix(rows, columns) => Some((Dims::Vector(columns), rows)),
        }
    }

    /// The number of indices that lead to a scalar.
    pub fn rank(self) -> usize {
        match self {
            Dims::Scalar => 0,
            Dims::Vector(_) => 1,
            Dims::Matrix(..) => 2,
        }
    }

    /// The brackets of an element: nothing, `[2]` or `[0][1]`.
    pub fn place(self, element: usize) -> String {
        match self {
            Dims::Scalar => String::new(),
            Dims::Vector(_) => format!("[{element}]"),
            Dims::Matrix(_, columns) => format!("[{}][{}]", element / columns, element % columns),
        }
    }

    /// In words: `a vector of 3 elements`.
    pub fn words(self) -> String {
        match self {
            Dims::Scalar => "a scalar".into(),
            Dims::Vector(n) => format!("a vector of {n} elements"),
            Dims::Matrix(rows, columns) => format!("a matrix of {rows} by {columns} elements"),
        }
    }

    /// The shape made of these nodes.
    pub fn shape(self, nodes: Vec<NodeId>) -> Shape {
        match self {
            Dims::Scalar => Shape::Scalar(nodes[0]),
            Dims::Vector(_) => Shape::Vector(nodes.into()),
            Dims::Matrix(_, columns) => Shape::Matrix { columns, nodes: nodes.into() },
        }
    }
}

impl Typed {
    pub fn scalar(format: Format, node: NodeId) -> Typed {
        Typed { format, shape: Shape::Scalar(node) }
    }

    pub fn dims(&self) -> Dims {
        match &self.shape {
            Shape::Scalar(_) => Dims::Scalar,
            Shape::Vector(nodes) => Dims::Vector(nodes.len()),
            Shape::Matrix { columns, nodes } => Dims::Matrix(nodes.len() / columns, *columns),
        }
    }

    pub fn is_scalar(&self) -> bool {
        matches!(self.shape, Shape::Scalar(_))
    }

    pub fn nodes(&self) -> &[NodeId] {
        match &self.shape {
            Shape::Scalar(node) => std::slice::from_ref(node),
            Shape::Vector(nodes) | Shape::Matrix { nodes, .. } => nodes,
        }
    }

    /// The node that stands for element `k`; a scalar stands for every element.
    pub fn node(&self, k: usize) -> NodeId {
        match &self.shape {
            Shape::Scalar(node) => *node,
            Shape::Vector(nodes) | Shape::Matrix { nodes, .. } => nodes[k],
        }
    }

    /// The part that an index selects from a vector or matrix.
    pub fn part(&self, inner: Dims, k: usize) -> Typed {
        let n = inner.elements();
        Typed { format: self.format, shape: inner.shape(self.nodes()[k * n..(k + 1) * n].to_vec()) }
    }

    /// `float18.9`, `float18.9[3]` or `float18.9[3][3]`.
    pub fn describe(&self) -> String {
        match self.dims() {
            Dims::Scalar => self.format.to_string(),
            Dims::Vector(n) => format!("{}[{n}]", self.format),
            Dims::Matrix(rows, columns) => format!("{}[{rows}][{columns}]", self.format),
        }
    }
}
