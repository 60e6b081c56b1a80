//! Functions of `pg_fn` that are infinitely steep at an end of their interval, as `sqrt(1 - x*x)` is at 1.
//!
//! No polynomial follows such a function up to its end, and the octaves of a float are no finer there. But the distance
//! t = |end - x| of a float from a number that is at most twice as large or as small is a float without rounding, and its octaves
//! are finer and finer toward the end: there a table of the function of t stands in the place of that of x. The end itself is a
//! third one, a constant, and what lies beyond counts as the end there, as it does without pieces.

use super::Checker;
use super::value::{Typed, Value};
use crate::diag::Span;
use hdl::Format;
use hdl::number::exact::{Exact, from_bits, to_bits};
use hdl::number::real::{Call, Dd, Expr, Node, Smooth};
use hdl::op::table::func::{Failure, Function, prepared};
use hdl::op::{Attrs, Operator, compare, float};
use num_traits::{Signed, ToPrimitive, Zero};
use std::sync::Arc;

/// The distance from an end within which a polynomial must fail, as a part of the end.
const NEAR: f64 = 1.0 / 64.0;

/// A piece of a function: on which side of `split` it is fitted by the distance from `end`.
struct Piece {
    upper: bool,
    end: Exact,
    split: Exact,
    /// The functions of the distance, and of the end alone.
    near: Arc<Function>,
    last: Arc<Function>,
}

/// A use of `pg_fn` that is made of pieces.
pub(super) struct Use<'u> {
    pub operator: &'static dyn Operator,
    pub typed: &'u Typed,
    pub span: Span,
}

/// The expression with another one in the place of its argument.
fn with_argument(expr: &Expr, argument: impl Fn(&mut Expr) -> u32) -> Expr {
    let mut made = Expr::default();
    let x = argument(&mut made);
    let mut of: Vec<u32> = Vec::with_capacity(expr.nodes.len());
    for node in &expr.nodes {
        let at = |k: &u32| of[*k as usize];
        let node = match node {
            Node::X => {
                of.push(x);
                continue;
            }
            Node::Pi | Node::Number(_) => node.clone(),
            Node::Call(call, a) => Node::Call(*call, at(a)),
            Node::Add(a, b) => Node::Add(at(a), at(b)),
            Node::Sub(a, b) => Node::Sub(at(a), at(b)),
            Node::Mul(a, b) => Node::Mul(at(a), at(b)),
            Node::Div(a, b) => Node::Div(at(a), at(b)),
            Node::Pow(a, b) => Node::Pow(at(a), at(b)),
            Node::Min(a, b) => Node::Min(at(a), at(b)),
            Node::Max(a, b) => Node::Max(at(a), at(b)),
            Node::Less(a, b) => Node::Less(at(a), at(b)),
            Node::AtMost(a, b) => Node::AtMost(at(a), at(b)),
            Node::Select(c, a, b) => Node::Select(at(c), at(a), at(b)),
        };
        let made = made.share(node);
        of.push(made);
    }
    let top = of.last().copied().unwrap_or(x);
    made.finish(top);
    made
}

/// A number as a part of an expression; a negative one is a negated one, as it would be written.
fn number(e: &mut Expr, x: &Exact) -> u32 {
    let size = e.share(Node::Number(x.abs()));
    if x.is_negative() { e.share(Node::Call(Call::Neg, size)) } else { size }
}

/// The number next to an end of an interval, inside.
fn beside(format: Format, end: &Exact, upper: bool) -> Option<Exact> {
    let bits = to_bits(format, end).ok()?.0;
    // A pattern more is a greater magnitude.
    Some(from_bits(format, if upper == end.is_positive() { bits - 1 } else { bits + 1 }))
}

impl Piece {
    /// The piece at one end of a function's interval.
    fn new(format: Format, f: &Function, upper: bool) -> Option<Piece> {
        let end = if upper { f.hi.clone() } else { f.lo.clone() };
        if end.is_zero() || from_bits(format, to_bits(format, &end).ok()?.0) != end {
            return None;
        }
        let (two, half) = (Exact::from_integer(2.into()), Exact::new(1.into(), 2.into()));
        // From half of the end to twice the end differences are exact.
        let split = &end * if upper == end.is_positive() { half } else { two };
        let split = if upper { split.max(f.lo.clone()) } else { split.min(f.hi.clone()) };
        let step = (&end - beside(format, &end, upper)?).abs();
        let near = with_argument(&f.expr, |e| {
            let (end, t) = (number(e, &end), e.share(Node::X));
            e.share(if upper { Node::Sub(end, t) } else { Node::Add(end, t) })
        });
        let value = Exact::from_float(f.expr.value(Dd::from_exact(&end))?.value.hi)?;
        let mut last = Expr::default();
        number(&mut last, &value);
        let (low, high) = if upper { (split.clone(), end.clone()) } else { (end.clone(), split.clone()) };
        Some(Piece {
            upper,
            near: Function::new(near, step, (&end - &split).abs()),
            last: Function::new(last, low, high),
            end,
            split,
        })
    }
}

impl Checker<'_> {
    /// A function that has no table, by pieces where it is steep at an end; `None` where that is not why.
    pub(super) fn steep(&mut self, u: &Use, f: &Function, failure: &Failure) -> Option<Value> {
        let format = u.typed.format;
        let Failure::Large { at, .. } = failure else { return None };
        let is_near = |end: &Exact| end.to_f64().is_some_and(|end| (at - end).abs() <= NEAR * end.abs());
        let upper = is_near(&f.hi);
        if !format.is_float() || !upper && !is_near(&f.lo) {
            return None;
        }
        let piece = Piece::new(format, f, upper)?;
        for part in [&piece.near, &piece.last] {
            if !self.may_fit(format, part, u.span) {
                return Some(Value::Error);
            }
            prepared(format, part).as_ref().ok()?;
        }
        let (lo, hi) = if upper { (&f.lo, &piece.split) } else { (&piece.split, &f.hi) };
        let inner = if lo < hi {
            let rest = Function::new(f.expr.clone(), lo.clone(), hi.clone());
            if !self.may_fit(format, &rest, u.span) {
                return Some(Value::Error);
            }
            match prepared(format, &rest) {
                Ok(_) => Some(self.fitted_part(u, u.typed, &rest)?),
                Err(failure) => match self.steep(u, &rest, failure)? {
                    Value::Typed(typed) => Some(typed),
                    other => return Some(other),
                },
            }
        } else {
            None
        };
        self.joined(u, &piece, inner).map(Value::Typed)
    }

    /// A use of a function that has a table.
    fn fitted_part(&mut self, u: &Use, x: &Typed, f: &Arc<Function>) -> Option<Typed> {
        let attrs = Attrs { function: Some(f.clone()), ..Attrs::default() };
        self.made(u.operator, &[x], attrs, u.span)
    }

    fn made(&mut self, op: &'static dyn Operator, args: &[&Typed], attrs: Attrs, span: Span) -> Option<Typed> {
        match self.each(op, args, attrs, span) {
            Value::Typed(typed) => Some(typed),
            _ => None,
        }
    }

    /// The choice among the pieces: what is nearest the end last.
    fn joined(&mut self, u: &Use, piece: &Piece, inner: Option<Typed>) -> Option<Typed> {
        let (x, format, span) = (u.typed, u.typed.format, u.span);
        let mut constant = |number: &Exact| {
            let bits = to_bits(format, number).ok()?.0;
            Some(Typed::scalar(format, self.builder.constant(bits, format, span)))
        };
        let (end, split) = (constant(&piece.end)?, constant(&piece.split)?);
        let plain = Attrs::default;
        // In the order in which a comparison or difference of the upper end has them.
        let order =
            |a: &'_ Typed, b: &'_ Typed| if piece.upper { [a.clone(), b.clone()] } else { [b.clone(), a.clone()] };
        let [a, b] = order(&end, x);
        let distance = self.made(float::FSUB, &[&a, &b], plain(), span)?;
        let near = self.fitted_part(u, &distance, &piece.near)?;
        let last = self.fitted_part(u, x, &piece.last)?;
        let [a, b] = order(x, &end);
        let before = self.made(compare::LT, &[&a, &b], plain(), span)?;
        let steep = self.made(compare::MUX, &[&before, &near, &last], plain(), span)?;
        let Some(inner) = inner else { return Some(steep) };
        let [a, b] = order(x, &split);
        let far = self.made(compare::LT, &[&a, &b], plain(), span)?;
        self.made(compare::MUX, &[&far, &inner, &steep], plain(), span)
    }
}
