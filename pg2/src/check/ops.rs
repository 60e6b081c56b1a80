//! Infix operators: which library operator each becomes, and the rules of vectors (RULES L3, L4, L7, N3, N4).

use super::Checker;
use super::numbers::{dims, is_exact};
use super::product::product;
use super::value::{Dims, Shape, Typed, Value};
use crate::check::literal::Literal;
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::graph::{NodeKind, PinClass};
use crate::syntax::ast::{BinaryOp, ExprId};
use hdl::Format;
use hdl::number::exact::Exact;
use hdl::op::{Attrs, MOST_PLACES, Operator, compare, float, int, log};
use num_bigint::BigInt;

/// The library's operator for a format, and whether the operands change places.
pub(super) fn library(op: BinaryOp, format: Format) -> Option<(&'static dyn Operator, bool)> {
    use BinaryOp::*;
    let by_class = |int, fixed, float, log| {
        Some(if format.is_log() {
            log
        } else if format.is_float() {
            float
        } else if format.is_fixed() {
            fixed
        } else {
            int
        })
    };
    let of_ints = |op| format.is_int().then_some(op);
    let found = match op {
        Add => by_class(int::ADD, int::ADD, float::FADD, log::LADD),
        Sub => by_class(int::SUB, int::SUB, float::FSUB, log::LSUB),
        Mul => by_class(int::MUL, int::XMUL, float::FMUL, log::LMUL),
        Div => by_class(int::DIV, int::XDIV, float::FDIV, log::LDIV),
        Rem => of_ints(int::REM),
        BitAnd => of_ints(int::AND),
        BitOr => of_ints(int::OR),
        BitXor => of_ints(int::XOR),
        Lt | Gt => Some(compare::LT),
        Le | Ge => Some(compare::LE),
        Eq => Some(compare::EQ),
        Ne => Some(compare::NE),
        Shl | Shr | And | Or => None,
    };
    found.map(|found| (found, matches!(op, Gt | Ge)))
}

impl<'a> Checker<'a> {
    pub(super) fn binary(&mut self, op: BinaryOp, a: (Value, ExprId), b: (Value, ExprId), span: Span) -> Value {
        if op == BinaryOp::BitXor && !matches!(&a.0, Value::Typed(t) if !t.format.is_int()) {
            self.warn_of_xor(a.1, b.1);
        }
        if is_exact(&a.0) && is_exact(&b.0) && (dims(&a.0), dims(&b.0)) != (Dims::Scalar, Dims::Scalar) {
            return self.binary_of_numbers(op, &a, &b, span);
        }
        if let (Value::Exact(x), Value::Exact(y)) = (&a.0, &b.0) {
            return match self.folder.binary(op, x, y) {
                Ok(number) => Value::Exact(number),
                Err(why) => self.fold_error(why, span),
            };
        }
        let runtime_shift = matches!(op, BinaryOp::Shl | BinaryOp::Shr) && matches!(b.0, Value::Choice(_));
        if !runtime_shift
            && let Some(value) =
                self.combine((&a.0, a.1), (&b.0, b.1), span, |checker, x, y| checker.folder.binary(op, x, y))
        {
            return value;
        }
        match op {
            BinaryOp::And | BinaryOp::Or => self.logic(op, a, b, span),
            BinaryOp::Shl | BinaryOp::Shr => self.shift(op, a, b, span),
            _ => self.arithmetic(op, a, b, span),
        }
    }

    fn arithmetic(&mut self, op: BinaryOp, a: (Value, ExprId), b: (Value, ExprId), span: Span) -> Value {
        let what = format!("`{}`", op.symbol());
        for (value, id) in [&a, &b] {
            if let Value::Typed(typed) = value
                && library(op, typed.format).is_none()
            {
                return self.no_operator(op, typed, *id, (a.1, b.1));
            }
        }
        let ids = (a.1, b.1);
        self.warn_of_division(op, &a, &b, span);
        if self.shapes_clash(op, &a, &b) {
            return Value::Error;
        }
        let Some((x, y)) = self.pair(&what, a, b) else { return Value::Error };
        if op == BinaryOp::Mul && !x.is_scalar() && !y.is_scalar() {
            return self.product(&x, &y, span);
        }
        let Some((operator, swap)) = library(op, x.format) else { return self.no_operator(op, &x, ids.0, ids) };
        let args = if swap { [&y, &x] } else { [&x, &y] };
        self.each(operator, &args, Attrs::default(), span)
    }

    /// Reports shapes that the operator does not combine.
    pub(super) fn shapes_clash(&mut self, op: BinaryOp, a: &(Value, ExprId), b: &(Value, ExprId)) -> bool {
        let describe = |v: &Value| match v {
            Value::Typed(typed) => typed.describe(),
            Value::Numbers(numbers) => numbers.dims.words(),
            _ => "an exact number".into(),
        };
        if matches!(a.0, Value::Error) || matches!(b.0, Value::Error) {
            return true;
        }
        let elementwise = matches!(op, BinaryOp::Add | BinaryOp::Sub);
        let times = op == BinaryOp::Mul;
        let (m, n) = (dims(&a.0), dims(&b.0));
        let (code, message, help) = match (m, n) {
            (Dims::Scalar, Dims::Scalar) => return false,
            (_, Dims::Scalar) if times || op == BinaryOp::Div => return false,
            (Dims::Scalar, _) if times => return false,
            (_, _) if elementwise && m == n => return false,
            (_, _) if times && product(m, n).is_some() => return false,
            (Dims::Vector(m), Dims::Vector(n)) if elementwise || times => {
                (codes::LENGTHS, format!("vectors of {m} and {n} elements"), "use vectors of one length")
            }
            (m, n) if m != Dims::Scalar && n != Dims::Scalar && (elementwise || times) => (
                codes::LENGTHS,
                format!("`{}` does not go with {} and {}", op.symbol(), m.words(), n.words()),
                "`+` and `-` take operands of one shape; a product takes as many columns on the left as rows on the right",
            ),
            _ => (
                codes::VECTOR,
                format!("`{}` does not take these shapes", op.symbol()),
                "vectors and matrices have `+` and `-` with their like, `*` with each other or a scalar, `/` by a scalar, \
                 and shifts; write other things element by element",
            ),
        };
        let error = Diagnostic::error(code, message, self.span(a.1), format!("this is {}", describe(&a.0)))
            .label(self.span(b.1), format!("this is {}", describe(&b.0)))
            .help(help);
        self.error(error);
        true
    }

    fn shift(&mut self, op: BinaryOp, a: (Value, ExprId), b: (Value, ExprId), span: Span) -> Value {
        let left = op == BinaryOp::Shl;
        let typed = match a.0 {
            Value::Error => return Value::Error,
            Value::Exact(_) | Value::Choice(_) | Value::Numbers(_) if matches!(b.0, Value::Error) => {
                return Value::Error;
            }
            Value::Exact(_) | Value::Choice(_) | Value::Numbers(_) => {
                return self.no_format("a shift by a run-time amount", self.span(a.1), a.1);
            }
            Value::Typed(typed) => typed,
        };
        if let Value::Typed(amount) = &b.0
            && self.is_int_param(amount)
        {
            let op = match (typed.format, left) {
                (Format::Float { .. }, _) => float::FSCALEV,
                (Format::Log { .. }, _) => log::LSCALEV,
                (_, true) => int::SHLV,
                (_, false) => int::SHRV,
            };
            let d = if typed.format.is_integral() {
                0
            } else if left {
                1
            } else {
                -1
            };
            return self.each(op, &[&typed, amount], Attrs { d, ..Attrs::default() }, span);
        }
        let number = match &b.0 {
            Value::Error => return Value::Error,
            Value::Exact(_) => true,
            Value::Choice(_) | Value::Numbers(_) => false,
            Value::Typed(amount) => self.known_integer(amount).is_some(),
        };
        if !number {
            let error = Diagnostic::error(
                codes::SHIFT,
                "this shift amount changes from pair to pair",
                self.span(b.1),
                "not a constant",
            )
            .help("shift by a literal, a `const`, or an int or uint `param`; multiply or divide otherwise");
            self.error(error);
            return Value::Error;
        }
        let Some(amount) = self.integer_of(&b.0, self.span(b.1), "a shift amount") else { return Value::Error };
        self.constant_shift(&typed, left, amount, self.span(b.1), span)
    }

    fn constant_shift(&mut self, value: &Typed, left: bool, amount: Option<i64>, at: Span, span: Span) -> Value {
        let format = value.format;
        let most = MOST_PLACES as i64;
        let (low, high) = if format.is_integral() { (0, format.width() as i64 - 1) } else { (-most, most) };
        let Some(n) = amount.filter(|n| (low..=high).contains(n)) else {
            let message = format!("a shift of {format} is between {low} and {high}");
            let error = Diagnostic::error(codes::SHIFT_RANGE, message, at, "out of range");
            let negative = amount.is_some_and(|n| n < 0);
            let help = if negative && format.is_integral() {
                "shift the other way instead"
            } else {
                "choose an amount within the range"
            };
            self.error(error.help(help));
            return Value::Error;
        };
        let (op, n) = match (format, left) {
            (Format::Float { .. }, _) => (float::FSCALE, if left { n } else { -n }),
            (Format::Log { .. }, _) => (log::LSCALE, if left { n } else { -n }),
            (_, true) => (int::SHL, n),
            (_, false) => (int::SHR, n),
        };
        self.each(op, &[value], Attrs { n: n as i32, ..Attrs::default() }, span)
    }

    /// Whether a value is an element of an int or uint param.
    fn is_int_param(&self, value: &Typed) -> bool {
        let Shape::Scalar(node) = &value.shape else { return false };
        match &self.builder.graph.node(*node).kind {
            NodeKind::Pin { pin, .. } => {
                value.format.is_int() && self.builder.graph.pins[*pin].class == PinClass::Param
            }
            _ => false,
        }
    }

    /// The number of an int that was made from a literal by a cast.
    pub(super) fn known_integer(&self, value: &Typed) -> Option<Literal> {
        let Shape::Scalar(node) = &value.shape else { return None };
        match &self.builder.graph.node(*node).kind {
            NodeKind::Const { bits } if value.format.is_int() => {
                Some(Literal { value: Exact::from(BigInt::from(value.format.to_int(*bits))), bits: false })
            }
            _ => None,
        }
    }
}
