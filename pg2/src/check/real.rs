//! Real functions as `pg_fn` reads them: expressions, conditions and the functions of the file, over the real numbers.

use super::Checker;
use super::scope::{Entry, Table};
use super::value::Value;
use crate::diag::codes;
use crate::diag::{Diagnostic, Span, did_you_mean};
use crate::syntax::ast::{BinaryOp, Block, ExprId, ExprKind, Statement, StatementKind, UnaryOp, Word};
use hdl::number::exact::Exact;
use hdl::number::real::expr::CALLS;
use hdl::number::real::{Call, Expr, Node};
use num_traits::{One, Signed, Zero};
use std::collections::HashMap;

/// The most parts of an expression; more would take too long to fit.
const MAX_PARTS: usize = 400;

/// Functions that are made of several parts: the name, the numbers of arguments, and the part that they become.
type Composed = (&'static str, &'static [usize], fn(&mut Expr, &[u32]) -> u32);

static COMPOSED: &[Composed] = &[
    ("pow", &[2, 3], |e, args| match args {
        [x, n, d] => {
            let exponent = ratio(e, *n, *d);
            e.share(Node::Pow(*x, exponent))
        }
        _ => e.share(Node::Pow(args[0], args[1])),
    }),
    ("rsqrt", &[1], |e, args| {
        let root = e.share(Node::Call(Call::Sqrt, args[0]));
        inverse(e, root)
    }),
    ("inv", &[1], |e, args| inverse(e, args[0])),
    ("atan2", &[2], |e, args| angle(e, args[0], args[1])),
    ("min", &[2], |e, args| e.share(Node::Min(args[0], args[1]))),
    ("max", &[2], |e, args| e.share(Node::Max(args[0], args[1]))),
];

/// The part that a function of these arguments becomes; `None` where there is no such function.
pub(super) fn call_of(name: &str, e: &mut Expr, args: &[u32]) -> Option<u32> {
    if let Some((_, call)) = CALLS.iter().find(|c| c.0 == name && c.1 != Call::Neg) {
        return if let [x] = args { Some(e.share(Node::Call(*call, *x))) } else { None };
    }
    let composed = COMPOSED.iter().find(|c| c.0 == name && c.1.contains(&args.len()))?;
    Some(composed.2(e, args))
}

/// The names allowed in the expression.
pub fn words() -> impl Iterator<Item = &'static str> {
    let simple = CALLS.iter().filter(|c| c.1 != Call::Neg).map(|c| c.0);
    simple.chain(COMPOSED.iter().map(|c| c.0)).chain(["pi"])
}

fn inverse(e: &mut Expr, x: u32) -> u32 {
    let one = e.share(Node::Number(Exact::one()));
    e.share(Node::Div(one, x))
}

/// The number that a part is, if it is one.
fn number(e: &Expr, k: u32) -> Option<Exact> {
    match &e.nodes[k as usize] {
        Node::Number(x) => Some(x.clone()),
        Node::Call(Call::Neg, a) => match &e.nodes[*a as usize] {
            Node::Number(x) => Some(-x),
            _ => None,
        },
        _ => None,
    }
}

/// The angle of the point (x, y): from the lesser by the greater coordinate where both are numbers, else twice that of the point
/// (x + r, y), which is smooth everywhere but on the negative axis of x.
fn angle(e: &mut Expr, y: u32, x: u32) -> u32 {
    let two = e.share(Node::Number(Exact::from_integer(2.into())));
    let atan = |e: &mut Expr, a: u32, b: u32| {
        let ratio = e.share(Node::Div(a, b));
        e.share(Node::Call(Call::Atan, ratio))
    };
    if let (Some(b), Some(a)) = (number(e, y), number(e, x)) {
        if b.is_zero() {
            return if a < b { e.share(Node::Pi) } else { y };
        }
        if a > Exact::zero() && b.abs() <= a {
            return atan(e, y, x);
        }
        let (near, pi) = (atan(e, x, y), e.share(Node::Pi));
        let half = e.share(Node::Div(pi, two));
        let right = if b < Exact::zero() { e.share(Node::Call(Call::Neg, half)) } else { half };
        return e.share(Node::Sub(right, near));
    }
    let squares = [x, y].map(|k| e.share(Node::Mul(k, k)));
    let sum = e.share(Node::Add(squares[0], squares[1]));
    let r = e.share(Node::Call(Call::Sqrt, sum));
    let far = e.share(Node::Add(x, r));
    let half = atan(e, y, far);
    e.share(Node::Mul(two, half))
}

/// n / d, as one number where both are numbers.
fn ratio(e: &mut Expr, n: u32, d: u32) -> u32 {
    match (number(e, n), &e.nodes[d as usize]) {
        (Some(n), Node::Number(d)) if !d.is_zero() => e.share(Node::Number(n / d)),
        _ => e.share(Node::Div(n, d)),
    }
}

/// The names in an expression.
#[derive(Clone)]
struct Scope<'a> {
    /// The function's variable; `None` in a function of the file.
    variable: Option<&'a str>,
    /// The parts that the names of a function of the file stand for.
    names: HashMap<&'a str, Part>,
}

/// A part of the expression, or a condition, which is a part that is 1 or 0.
#[derive(Clone, Copy)]
struct Part {
    at: u32,
    is_truth: bool,
}

fn number_part(at: u32) -> Part {
    Part { at, is_truth: false }
}

impl<'a> Checker<'a> {
    /// The real function that an expression writes down; `None` after a reported mistake.
    pub(super) fn real_function(&mut self, argument: ExprId, root: ExprId) -> Option<Expr> {
        let variable = self.function_variable(argument);
        let parts = self.parts(root).len();
        if parts > MAX_PARTS {
            self.too_long(root, parts);
            return None;
        }
        let mut expr = Expr::default();
        let scope = Scope { variable: Some(variable), names: HashMap::new() };
        let top = self.real_tree(root, &scope, &mut expr)?;
        expr.finish(top);
        Some(expr)
    }

    /// The part of a whole expression.
    fn real_tree(&mut self, root: ExprId, scope: &Scope<'a>, e: &mut Expr) -> Option<u32> {
        let part = self.real_parts(root, scope, e)?;
        self.as_number(part, root)
    }

    fn real_parts(&mut self, root: ExprId, scope: &Scope<'a>, e: &mut Expr) -> Option<Part> {
        let mut of: HashMap<ExprId, Option<Part>> = HashMap::new();
        for id in self.parts(root) {
            let part = self.real_part(id, scope, e, &of);
            of.insert(id, part);
            if e.nodes.len() > MAX_PARTS {
                self.too_long(root, e.nodes.len());
                return None;
            }
        }
        of[&root]
    }

    fn too_long(&mut self, root: ExprId, parts: usize) {
        let message = format!("a function of `pg_fn` has at most {MAX_PARTS} parts, not {parts}");
        let error = Diagnostic::error(codes::FUNCTION, message, self.span(root), "too long");
        self.error(error.help("write it as a sum or product of several functions"));
    }

    fn real_part(
        &mut self,
        id: ExprId,
        scope: &Scope<'a>,
        e: &mut Expr,
        of: &HashMap<ExprId, Option<Part>>,
    ) -> Option<Part> {
        let program = self.program;
        let span = self.span(id);
        let node = match &program.exprs[id.0 as usize].kind {
            ExprKind::Number(text) => match self.folder.number(text) {
                Ok(number) => Node::Number(number.value),
                Err(why) => {
                    self.fold_error(why, span);
                    return None;
                }
            },
            ExprKind::Name(name) => match scope.names.get(name) {
                Some(part) => return Some(*part),
                None => self.real_name(name, scope, span)?,
            },
            ExprKind::Paren(a) | ExprKind::Unary(UnaryOp::Plus, a) => return of[a],
            ExprKind::Unary(UnaryOp::Minus, a) => Node::Call(Call::Neg, self.as_number(of[a]?, *a)?),
            ExprKind::Unary(UnaryOp::Not, a) => {
                let truth = self.as_truth(of[a]?, *a)?;
                return Some(negated(e, truth));
            }
            ExprKind::Binary(op, a, b) => {
                let (x, y) = (of[a], of[b]);
                if matches!(op, BinaryOp::And | BinaryOp::Or) {
                    let (x, y) = (self.as_truth(x?, *a)?, self.as_truth(y?, *b)?);
                    return Some(joined(e, *op, x, y));
                }
                let make = match op {
                    BinaryOp::Add => Node::Add,
                    BinaryOp::Sub => Node::Sub,
                    BinaryOp::Mul => Node::Mul,
                    BinaryOp::Div => Node::Div,
                    BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne => {
                        let (x, y) = (self.as_number(x?, *a)?, self.as_number(y?, *b)?);
                        return Some(compared(e, *op, x, y));
                    }
                    BinaryOp::BitXor => return self.no_real_power((*a, *b), span),
                    _ => return self.no_real(&format!("`{}`", op.symbol()), span),
                };
                make(self.as_number(x?, *a)?, self.as_number(y?, *b)?)
            }
            ExprKind::Select(c, a, b) => {
                let condition = self.as_truth(of[c]?, *c)?;
                Node::Select(condition, self.as_number(of[a]?, *a)?, self.as_number(of[b]?, *b)?)
            }
            ExprKind::Call(function, args) => return self.real_call(*function, args, span, e, of),
            ExprKind::Unary(op, _) => return self.no_real(&format!("`{}`", op.symbol()), span),
            ExprKind::Cast(..) => return self.no_real("a cast", span),
            ExprKind::Index(..) | ExprKind::Element(..) => return self.no_real("an index", span),
            ExprKind::Bits(..) => return self.no_real("a field of bits", span),
            ExprKind::Format(_) => return self.no_real("a format", span),
            ExprKind::Vector(_) => return self.no_real("a vector", span),
        };
        Some(number_part(e.share(node)))
    }

    /// A part that is to be a number.
    fn as_number(&mut self, part: Part, id: ExprId) -> Option<u32> {
        if !part.is_truth {
            return Some(part.at);
        }
        let error = Diagnostic::error(codes::FUNCTION, "a condition is no real number", self.span(id), "true or false");
        self.error(error.help("write `condition ? 1 : 0`"));
        None
    }

    /// A part that is to be a condition.
    fn as_truth(&mut self, part: Part, id: ExprId) -> Option<u32> {
        if part.is_truth {
            return Some(part.at);
        }
        let error = Diagnostic::error(codes::FUNCTION, "a real number is no condition", self.span(id), "a number");
        self.error(error.help("compare it, as in `x < 1`"));
        None
    }

    /// `x ^ 2` in a function.
    fn no_real_power(&mut self, (a, b): (ExprId, ExprId), span: Span) -> Option<Part> {
        let (a, b) = self.beside(a, b);
        let (x, e) = (self.operand_text(a), self.operand_text(b));
        let message = "`^` is the exclusive or of integers, and no power";
        let error = Diagnostic::error(codes::FUNCTION, message, span, "cannot be fitted");
        let power = format!("pow({x}, {e})");
        let error = error.help(format!("write `{power}`"));
        self.error(if power.contains("(...)") { error } else { error.edit(self.span(a).to(self.span(b)), power) });
        None
    }

    fn no_real(&mut self, what: &str, span: Span) -> Option<Part> {
        let message = format!("{what} is no part of a real function");
        let error = Diagnostic::error(codes::FUNCTION, message, span, "cannot be fitted");
        let help =
            "a function of `pg_fn` is made of numbers, constants, its argument, + - * /, comparisons, `?:` and calls";
        self.error(error.help(help));
        None
    }

    fn real_name(&mut self, name: &'a str, scope: &Scope<'a>, span: Span) -> Option<Node> {
        if Some(name) == scope.variable {
            return Some(Node::X);
        }
        let known = [self.table(), &self.tables[0]].iter().any(|t| t.symbols.contains_key(name));
        match name {
            "x" if !known && scope.variable.is_some() => return Some(Node::X),
            "pi" if !known => return Some(Node::Pi),
            _ => {}
        }
        match self.symbol(name, span)?.entry {
            Entry::Value(Value::Exact(number)) => return Some(Node::Number(number.value)),
            Entry::Broken | Entry::Value(Value::Error) => return None,
            _ => {}
        }
        let message = format!("`{name}` is not known when the function of `pg_fn` is fitted");
        let error = Diagnostic::error(codes::FUNCTION, message, span, "known only at run time");
        let help = match scope.variable {
            Some(variable) => {
                format!("the function's variable is `{variable}`; everything else is a number or a `const`")
            }
            None => "a function that `pg_fn` fits has its arguments, numbers and `const`s".into(),
        };
        self.error(error.help(help));
        None
    }

    fn real_call(
        &mut self,
        function: Word,
        args: &[ExprId],
        span: Span,
        e: &mut Expr,
        of: &HashMap<ExprId, Option<Part>>,
    ) -> Option<Part> {
        if let Some(own) = self.functions.get(function.text).copied() {
            let parts: Vec<Part> = args.iter().map(|a| of[a]).collect::<Option<_>>()?;
            return self.real_inline(own, &parts, span, e);
        }
        let name = function.text.strip_prefix("pg_").unwrap_or(function.text);
        let call = CALLS.iter().find(|c| c.0 == name && c.1 != Call::Neg).map(|c| c.1);
        let composed = COMPOSED.iter().find(|c| c.0 == name);
        let wanted = match (call, composed) {
            (Some(_), _) => &[1],
            (None, Some(composed)) => composed.1,
            (None, None) => {
                let message = format!("`{}` is no function that `pg_fn` knows", function.text);
                let error = Diagnostic::error(codes::FUNCTION, message, function.span, "cannot be fitted");
                let help = match did_you_mean(name, words()) {
                    Some(close) => format!("did you mean `{close}`?"),
                    None => format!("it knows {}", words().collect::<Vec<_>>().join(", ")),
                };
                self.error(error.help(help));
                return None;
            }
        };
        if !wanted.contains(&args.len()) {
            let message = format!("`{name}` takes {} argument(s), not {}", wanted[0], args.len());
            let error = Diagnostic::error(codes::ARGUMENTS, message, span, "wrong number of arguments");
            self.error(error.help(format!("write `{name}({})`", if wanted[0] == 1 { "x" } else { "a, b" })));
            return None;
        }
        let mut values = Vec::new();
        for a in args {
            values.push(self.as_number(of[a]?, *a)?);
        }
        Some(number_part(match (call, composed) {
            (Some(call), _) => e.share(Node::Call(call, values[0])),
            (None, Some(composed)) => composed.2(e, &values),
            (None, None) => return None,
        }))
    }

    /// The value of a call of a function of the file.
    fn real_inline(&mut self, index: usize, args: &[Part], span: Span, e: &mut Expr) -> Option<Part> {
        let body = self.real_body(index, args.len(), span)?;
        let names = body.params.iter().map(|p| p.text).zip(args.iter().copied()).collect();
        // Names of the caller are not those of the function.
        self.tables.push(Table::default());
        let statements: Vec<&'a Statement<'a>> = body.body.statements.iter().collect();
        let part = self.real_block(&statements, Scope { variable: None, names }, e);
        self.tables.pop();
        part
    }

    /// The value that statements return.
    fn real_block(&mut self, statements: &[&'a Statement<'a>], mut scope: Scope<'a>, e: &mut Expr) -> Option<Part> {
        for (k, statement) in statements.iter().enumerate() {
            match &statement.kind {
                StatementKind::Return { value } => return self.real_parts(value.root, &scope, e),
                StatementKind::Assign { name, indices, value } if indices.is_empty() => {
                    let part = self.real_parts(value.root, &scope, e)?;
                    scope.names.insert(name.text, part);
                }
                StatementKind::Const { name, value } => {
                    let part = self.real_parts(value.root, &scope, e)?;
                    scope.names.insert(name.text, part);
                }
                StatementKind::If { arms, otherwise } => {
                    // What follows is done behind each arm.
                    let rest = &statements[k + 1..];
                    let with = |block: &'a Block<'a>| block.statements.iter().chain(rest.iter().copied()).collect();
                    let last: Vec<&'a Statement<'a>> = otherwise.as_ref().map_or_else(|| rest.to_vec(), with);
                    let mut value = self.real_block(&last, scope.clone(), e)?;
                    for arm in arms.iter().rev() {
                        let condition = self.real_parts(arm.condition.root, &scope, e)?;
                        let condition = self.as_truth(condition, arm.condition.root)?;
                        let inner: Vec<&'a Statement<'a>> = with(&arm.body);
                        let own = self.real_block(&inner, scope.clone(), e)?;
                        let at = e.share(Node::Select(condition, own.at, value.at));
                        value = Part { at, is_truth: own.is_truth && value.is_truth };
                    }
                    return Some(value);
                }
                StatementKind::Broken { .. } => return None,
                _ => {
                    self.no_real("this statement", statement.span);
                    return None;
                }
            }
        }
        None
    }
}

/// `!c`, which is exact where a difference from 1 would be rounded outwards.
fn negated(e: &mut Expr, truth: u32) -> Part {
    let zero = e.share(Node::Number(Exact::zero()));
    Part { at: e.share(Node::AtMost(truth, zero)), is_truth: true }
}

/// `a && b` and `a || b`.
fn joined(e: &mut Expr, op: BinaryOp, a: u32, b: u32) -> Part {
    let node = if op == BinaryOp::And { Node::Min(a, b) } else { Node::Max(a, b) };
    Part { at: e.share(node), is_truth: true }
}

fn compared(e: &mut Expr, op: BinaryOp, a: u32, b: u32) -> Part {
    let at = match op {
        BinaryOp::Lt => e.share(Node::Less(a, b)),
        BinaryOp::Le => e.share(Node::AtMost(a, b)),
        BinaryOp::Gt => e.share(Node::Less(b, a)),
        BinaryOp::Ge => e.share(Node::AtMost(b, a)),
        _ => {
            let sides = [e.share(Node::AtMost(a, b)), e.share(Node::AtMost(b, a))];
            let equal = joined(e, BinaryOp::And, sides[0], sides[1]);
            return if op == BinaryOp::Eq { equal } else { negated(e, equal.at) };
        }
    };
    Part { at, is_truth: true }
}
