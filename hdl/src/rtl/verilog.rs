//! The Verilog text of expressions over names.
//!
//! All operands of an operator have its width, so that Verilog's rules of extending by context never apply: what the text
//! computes does not depend on where it stands. Parentheses stand where precedence needs them, and around what few readers
//! know the precedence of.

use super::bits::Bits;
use super::expr::{Binary, Expr, Leaf, Node, Reduce, Shift, Test};
use super::names::Name;
use std::fmt::{self, Write as _};

/// An expression over the names of a module.
pub type Value = Expr<Name>;

/// All bits of a name.
pub fn net(name: impl Into<Name>, width: u32) -> Value {
    Expr::leaf(name.into(), width)
}

impl<L: Leaf + fmt::Display> fmt::Display for Expr<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write(self, &mut text);
        f.write_str(&text)
    }
}

/// Bits `high` down to `low` of `name`, which has `full` bits.
fn select(name: &dyn fmt::Display, full: u32, (high, low): (u32, u32), out: &mut String) {
    let _ = match () {
        _ if low == 0 && high == full - 1 => write!(out, "{name}"),
        _ if low == high => write!(out, "{name}[{low}]"),
        _ => write!(out, "{name}[{high}:{low}]"),
    };
}

fn constant(bits: &Bits, out: &mut String) {
    let width = bits.width();
    let _ = match bits.small() {
        Some(bit) if width == 1 => write!(out, "1'b{bit}"),
        _ if width > 4 && bits.is_ones() => write!(out, "{{{width}{{1'b1}}}}"),
        Some(small) if small < 10 => write!(out, "{width}'d{small}"),
        _ => write!(out, "{width}'h{}", bits.hex()),
    };
}

/// Whether an expression can be an operand of a unary operator as it is.
fn is_primary<L: Leaf>(e: &Expr<L>) -> bool {
    matches!(e.node(), Node::Read { .. } | Node::Const(_) | Node::Cat(_) | Node::Repeat(_))
}

fn is_not<L: Leaf>(e: &Expr<L>) -> bool {
    matches!(e.node(), Node::Not(_))
}

fn parenthesised<L: Leaf + fmt::Display>(bare: bool, e: &Expr<L>, out: &mut String) {
    if bare {
        return write(e, out);
    }
    out.push('(');
    write(e, out);
    out.push(')');
}

/// An operand of `op`, the right one or the left one.
fn operand<L: Leaf + fmt::Display>(op: Binary, right: bool, e: &Expr<L>, out: &mut String) {
    let bare = match e.node() {
        Node::Binary(inner, ..) => match (op, inner) {
            (Binary::Add | Binary::Sub, Binary::Add | Binary::Sub) => {
                !right || (op, *inner) == (Binary::Add, Binary::Add)
            }
            (Binary::Or, Binary::And) => true,
            (a, b) => a == *b,
        },
        _ => is_primary(e) || is_not(e),
    };
    parenthesised(bare, e, out);
}

fn list<'a, L: Leaf + fmt::Display + 'a>(parts: impl Iterator<Item = &'a Expr<L>>, out: &mut String) {
    for (k, part) in parts.enumerate() {
        out.push_str(if k > 0 { ", " } else { "" });
        write(part, out);
    }
}

fn signed<L: Leaf + fmt::Display>(signed: bool, e: &Expr<L>, out: &mut String) {
    if signed {
        out.push_str("$signed");
    }
    parenthesised(!signed && (is_primary(e) || is_not(e)), e, out);
}

/// Writes the text of an expression behind what is there.
pub(super) fn write<L: Leaf + fmt::Display>(e: &Expr<L>, out: &mut String) {
    let width = e.width();
    match e.node() {
        Node::Read { leaf, full, low } => select(leaf, *full, (low + width - 1, *low), out),
        Node::Const(bits) => constant(bits, out),
        Node::Cat(parts) => {
            out.push('{');
            list(parts.iter(), out);
            out.push('}');
        }
        Node::Repeat(part) => {
            let _ = write!(out, "{{{}{{", width / part.width());
            // The inner braces are a concatenation already.
            match part.node() {
                Node::Cat(parts) => list(parts.iter(), out),
                _ => write(part, out),
            }
            out.push_str("}}");
        }
        Node::Not(inner) => {
            out.push('~');
            match inner.node() {
                Node::Reduce(..) => write(inner, out),
                _ => parenthesised(is_primary(inner), inner, out),
            }
        }
        Node::Binary(op, a, b) => {
            let sign = match op {
                Binary::And => " & ",
                Binary::Or => " | ",
                Binary::Xor => " ^ ",
                Binary::Add => " + ",
                Binary::Sub => " - ",
            };
            operand(*op, false, a, out);
            out.push_str(sign);
            operand(*op, true, b, out);
        }
        Node::Reduce(how, inner) => {
            out.push(match how {
                Reduce::And => '&',
                Reduce::Or => '|',
                Reduce::Xor => '^',
            });
            parenthesised(is_primary(inner), inner, out);
        }
        Node::Compare { test, signed: sign, a, b } => {
            let text = match test {
                Test::Eq => " == ",
                Test::Ne => " != ",
                Test::Lt => " < ",
                Test::Le => " <= ",
                Test::Gt => " > ",
                Test::Ge => " >= ",
            };
            signed(*sign, a, out);
            out.push_str(text);
            signed(*sign, b, out);
        }
        Node::Mux(c, a, b) => {
            parenthesised(!matches!(c.node(), Node::Mux(..)), c, out);
            out.push_str(" ? ");
            parenthesised(!matches!(a.node(), Node::Mux(..)), a, out);
            out.push_str(" : ");
            write(b, out);
        }
        // In braces, so that what stands around it cannot make it unsigned.
        Node::Shift(how, a, n) => {
            out.push('{');
            signed(*how == Shift::Arithmetic, a, out);
            out.push_str(match how {
                Shift::Left => " << ",
                Shift::Right => " >> ",
                Shift::Arithmetic => " >>> ",
            });
            signed(false, n, out);
            out.push('}');
        }
        Node::Product { signed: sign, a, b } => {
            // Factors as wide as the product, so that no tool sees a product narrower than its result.
            signed(*sign, &a.extend(width, *sign), out);
            out.push_str(" * ");
            signed(*sign, &b.extend(width, *sign), out);
        }
    }
}
