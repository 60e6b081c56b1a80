//! Real expressions of one variable, their text in C, and a canonical text.

use super::Dd;
use crate::number::exact::Exact;
use num_traits::{Signed, ToPrimitive};
use std::fmt;

/// A function of one argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Call {
    Neg,
    Abs,
    Exp,
    Exp2,
    Log,
    Log2,
    Sqrt,
    Cbrt,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Erf,
    Erfc,
}

impl Call {
    pub fn name(self) -> &'static str {
        CALLS.iter().find(|c| c.1 == self).expect("every function has a name").0
    }
}

/// Every function with its name; `Neg` is the prefix minus.
pub static CALLS: &[(&str, Call)] = &[
    ("neg", Call::Neg),
    ("abs", Call::Abs),
    ("exp", Call::Exp),
    ("exp2", Call::Exp2),
    ("log", Call::Log),
    ("log2", Call::Log2),
    ("sqrt", Call::Sqrt),
    ("cbrt", Call::Cbrt),
    ("sin", Call::Sin),
    ("cos", Call::Cos),
    ("tan", Call::Tan),
    ("asin", Call::Asin),
    ("acos", Call::Acos),
    ("atan", Call::Atan),
    ("sinh", Call::Sinh),
    ("cosh", Call::Cosh),
    ("tanh", Call::Tanh),
    ("erf", Call::Erf),
    ("erfc", Call::Erfc),
];

/// A part of an expression; arguments are indices of earlier parts.
#[derive(Clone, PartialEq, Debug)]
pub enum Node {
    X,
    Pi,
    Number(Exact),
    Call(Call, u32),
    Add(u32, u32),
    Sub(u32, u32),
    Mul(u32, u32),
    Div(u32, u32),
    /// The first to the power of the second: an integer power of anything, else a power of a positive number.
    Pow(u32, u32),
    Min(u32, u32),
    Max(u32, u32),
    /// 1 where the first is less than the second, else 0.
    Less(u32, u32),
    /// 1 where the first is at most the second, else 0.
    AtMost(u32, u32),
    /// The second where the first is 1, the third where it is 0; the other one need not have a value.
    Select(u32, u32, u32),
}

/// An expression: the last part is its value.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Expr {
    pub nodes: Vec<Node>,
}

/// The largest integer power that is multiplied out.
const MAX_POWER: i64 = 1024;

impl Expr {
    /// A function of the variable.
    pub fn of(call: Call) -> Expr {
        Expr { nodes: vec![Node::X, Node::Call(call, 0)] }
    }

    pub fn push(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// A part, or the equal one that is there already, so that an expression has one form.
    pub fn share(&mut self, node: Node) -> u32 {
        match self.nodes.iter().position(|n| *n == node) {
            Some(k) => k as u32,
            None => self.push(node),
        }
    }

    /// Makes a part the value; what stands behind it is dropped.
    pub fn finish(&mut self, top: u32) {
        self.nodes.truncate(top as usize + 1);
    }

    /// The integer that a part is, if it is a number and a small integer.
    pub fn integer(&self, k: u32) -> Option<i64> {
        match &self.nodes[k as usize] {
            Node::Number(x) if x.is_integer() => x.to_integer().to_i64().filter(|n| n.abs() <= MAX_POWER),
            Node::Call(Call::Neg, a) => self.integer(*a).map(|n| -n),
            _ => None,
        }
    }

    /// A C expression of double precision over a C expression of the argument.
    pub fn c_text(&self, x: &str) -> String {
        let mut texts: Vec<String> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let of = |k: &u32| texts[*k as usize].as_str();
            let infix = |symbol: &str, a: &u32, b: &u32| format!("({} {symbol} {})", of(a), of(b));
            let two = |name: &str, a: &u32, b: &u32| format!("{name}({}, {})", of(a), of(b));
            let text = match node {
                Node::X => format!("({x})"),
                Node::Pi => format!("{:?}", std::f64::consts::PI),
                Node::Number(n) => format!("{:?}", Dd::from_exact(n).hi),
                Node::Call(Call::Neg, a) => format!("(-{})", of(a)),
                Node::Call(Call::Abs, a) => format!("fabs({})", of(a)),
                Node::Call(call, a) => format!("{}({})", call.name(), of(a)),
                Node::Add(a, b) => infix("+", a, b),
                Node::Sub(a, b) => infix("-", a, b),
                Node::Mul(a, b) => infix("*", a, b),
                Node::Div(a, b) => infix("/", a, b),
                Node::Pow(a, b) => two("pow", a, b),
                Node::Min(a, b) => two("fmin", a, b),
                Node::Max(a, b) => two("fmax", a, b),
                Node::Less(a, b) => infix("<", a, b),
                Node::AtMost(a, b) => infix("<=", a, b),
                Node::Select(c, a, b) => format!("({} ? {} : {})", of(c), of(a), of(b)),
            };
            texts.push(text);
        }
        texts.pop().unwrap_or_default()
    }
}

/// The canonical text: nested calls.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut texts: Vec<String> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let of = |k: &u32| texts[*k as usize].as_str();
            let two = |name: &str, a: &u32, b: &u32| format!("{name}({},{})", of(a), of(b));
            let text = match node {
                Node::X => "x".into(),
                Node::Pi => "pi".into(),
                Node::Number(n) => n.to_string(),
                Node::Call(call, a) => format!("{}({})", call.name(), of(a)),
                Node::Add(a, b) => two("add", a, b),
                Node::Sub(a, b) => two("sub", a, b),
                Node::Mul(a, b) => two("mul", a, b),
                Node::Div(a, b) => two("div", a, b),
                Node::Pow(a, b) => two("pow", a, b),
                Node::Min(a, b) => two("min", a, b),
                Node::Max(a, b) => two("max", a, b),
                Node::Less(a, b) => two("less", a, b),
                Node::AtMost(a, b) => two("at_most", a, b),
                Node::Select(c, a, b) => format!("select({},{},{})", of(c), of(a), of(b)),
            };
            texts.push(text);
        }
        f.write_str(texts.last().map_or("", String::as_str))
    }
}
