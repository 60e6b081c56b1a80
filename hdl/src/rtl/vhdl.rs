//! The VHDL-2008 text of expressions over names.
//!
//! One bit is a `std_logic`, and more are an `unsigned` of `numeric_std`; ports of the top entity alone are `std_logic_vector`. Operands have
//! one width, as in Verilog. What VHDL has no operator for is a function of the design's package (`templates/pipeline_pkg.vhd`).
//! What is made of bits and constants alone stands behind `unsigned'` where nothing else says which kind of vector it is.

use super::Value;
use super::bits::Bits;
use super::expr::{Binary, Node, Reduce, Shift, Test};
use super::names::{Name, vhdl};
use crate::hash::{FastMap, FastSet};
use std::fmt::Write as _;

/// The names of a module as VHDL has them.
#[derive(Default)]
pub(super) struct Scope {
    pub names: FastMap<Name, String>,
    /// Ports that are `std_logic_vector`.
    pub vectors: FastSet<Name>,
}

impl Scope {
    pub fn add(&mut self, name: &Name) {
        self.names.insert(name.clone(), vhdl(name).into_owned());
    }

    pub fn name(&self, name: &str) -> &str {
        self.names.get(name).map_or("", String::as_str)
    }

    /// The text of an expression.
    pub fn text(&self, e: &Value) -> String {
        let mut out = String::new();
        self.write(e, &mut out);
        out
    }

    /// The text of an expression as a `std_logic_vector`, where it has more than a bit.
    pub fn vector(&self, e: &Value) -> String {
        match e.node() {
            Node::Const(_) => self.text(e),
            _ if e.width() == 1 => self.text(e),
            _ if has_type(e) => format!("std_logic_vector({})", self.text(e)),
            _ => format!("std_logic_vector({})", self.qualified(e)),
        }
    }

    /// The text of a test of one bit, as `if` and `when` have it.
    pub fn condition(&self, e: &Value) -> String {
        match e.node() {
            Node::Compare { a, .. } if a.width() > 1 => self.comparison(e),
            Node::Not(inner) => format!("{} = '0'", self.tested(inner)),
            _ => format!("{} = '1'", self.tested(e)),
        }
    }

    /// One bit in front of an equality; constants alone do not say that they are no characters.
    fn tested(&self, e: &Value) -> String {
        let mut reads = false;
        e.reads(&mut |_, _, _, _| reads = true);
        if reads { self.operand(e) } else { format!("std_logic'({})", self.text(e)) }
    }

    /// An expression as an operand of anything.
    fn operand(&self, e: &Value) -> String {
        match e.node() {
            Node::Cat(_) => self.qualified(e),
            _ if is_primary(e) => self.text(e),
            _ => format!("({})", self.text(e)),
        }
    }

    /// An expression whose type its own text says, as an operand of anything.
    fn qualified(&self, e: &Value) -> String {
        match e.width() > 1 && !has_type(e) {
            true => format!("unsigned'({})", self.text(e)),
            false if is_primary(e) => self.text(e),
            false => format!("({})", self.text(e)),
        }
    }

    /// An argument of a function, whose type the function says.
    fn argument(&self, e: &Value) -> String {
        if let Node::Cat(_) = e.node() { self.qualified(e) } else { self.text(e) }
    }

    /// A factor or an operand of a comparison as a number.
    fn number(&self, e: &Value, signed: bool) -> String {
        match signed {
            true if e.width() == 1 => format!("signed(vector({}))", self.text(e)),
            false if e.width() == 1 => format!("vector({})", self.text(e)),
            true if matches!(e.node(), Node::Const(_)) => format!("signed'({})", self.text(e)),
            true if has_type(e) => format!("signed({})", self.text(e)),
            true => format!("signed({})", self.qualified(e)),
            false => self.operand(e),
        }
    }

    /// Two numbers, of which at least one says its type.
    fn numbers(&self, a: &Value, b: &Value, signed: bool) -> (String, String) {
        let says = |e: &Value| signed || e.width() == 1 || has_type(e);
        let first = if says(a) || says(b) { self.number(a, signed) } else { self.qualified(a) };
        (first, self.number(b, signed))
    }

    fn comparison(&self, e: &Value) -> String {
        let Node::Compare { test, signed, a, b } = e.node() else { return self.condition(e) };
        let sign = match test {
            Test::Eq => "=",
            Test::Ne => "/=",
            Test::Lt => "<",
            Test::Le => "<=",
            Test::Gt => ">",
            Test::Ge => ">=",
        };
        let (a, b) = self.numbers(a, b, *signed);
        format!("{a} {sign} {b}")
    }

    /// Bits `high` down to `low` of `name`, which has `full` bits.
    fn read(&self, name: &Name, full: u32, (high, low): (u32, u32)) -> String {
        let own = self.name(name);
        let bits = match () {
            _ if low == 0 && high == full - 1 => own.to_string(),
            _ if low == high => return format!("{own}({low})"),
            _ => format!("{own}({high} downto {low})"),
        };
        if full > 1 && self.vectors.contains(name) { format!("unsigned({bits})") } else { bits }
    }

    fn write(&self, e: &Value, out: &mut String) {
        let width = e.width();
        if let Some(same) = of_one_bit(e) {
            return self.write(&same, out);
        }
        let _ = match e.node() {
            Node::Read { leaf, full, low } => write!(out, "{}", self.read(leaf, *full, (low + width - 1, *low))),
            Node::Const(bits) => write!(out, "{}", constant(bits)),
            Node::Cat(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.operand(part)).collect();
                write!(out, "{}", parts.join(" & "))
            }
            Node::Repeat(part) => write!(out, "copies({}, {})", self.argument(part), width / part.width()),
            Node::Not(inner) => write!(out, "not {}", self.operand(inner)),
            Node::Binary(op, a, b) => {
                let sign = match op {
                    Binary::And => "and",
                    Binary::Or => "or",
                    Binary::Xor => "xor",
                    Binary::Add => "+",
                    Binary::Sub => "-",
                };
                let (a, b) = (self.beside(*op, a, false), self.beside(*op, b, true));
                write!(out, "{a} {sign} {b}")
            }
            Node::Reduce(how, inner) => {
                let sign = match how {
                    Reduce::And => "and",
                    Reduce::Or => "or",
                    Reduce::Xor => "xor",
                };
                write!(out, "{sign} {}", self.qualified(inner))
            }
            Node::Compare { .. } => write!(out, "logic({})", self.comparison(e)),
            Node::Mux(c, a, b) => {
                write!(out, "choose({}, {}, {})", self.text(c), self.argument(a), self.argument(b))
            }
            Node::Shift(how, a, n) => {
                let name = match how {
                    Shift::Left => "moved_left",
                    Shift::Right => "moved_right",
                    Shift::Arithmetic => "moved_right_signed",
                };
                write!(out, "{name}({}, {})", self.argument(a), self.number(n, false))
            }
            Node::Product { signed: true, a, b } => {
                write!(out, "unsigned({} * {})", self.number(a, true), self.number(b, true))
            }
            Node::Product { a, b, .. } => {
                let (a, b) = self.numbers(a, b, false);
                write!(out, "{a} * {b}")
            }
        };
    }

    /// An operand of `op`, the right one or the left one: operators of one kind need no parentheses, as their values do not depend
    /// on the order.
    fn beside(&self, op: Binary, e: &Value, right: bool) -> String {
        let sums = |op: &Binary| matches!(op, Binary::Add | Binary::Sub);
        let bare = of_one_bit(e).is_none()
            && match e.node() {
                Node::Binary(inner, ..) if sums(&op) => {
                    sums(inner) && (!right || (op, *inner) == (Binary::Add, Binary::Add))
                }
                Node::Binary(inner, ..) => op == *inner,
                Node::Not(_) => !sums(&op),
                _ => false,
            };
        if bare { self.text(e) } else { self.operand(e) }
    }
}

/// Whether the text of more than a bit can be of no type but `unsigned`, wherever it stands.
fn has_type(e: &Value) -> bool {
    match e.node() {
        Node::Const(_) => false,
        Node::Read { .. } | Node::Repeat(_) | Node::Mux(..) | Node::Shift(..) => true,
        Node::Cat(parts) => parts.iter().any(|part| part.width() > 1 && has_type(part)),
        Node::Not(a) => has_type(a),
        Node::Binary(_, a, b) => has_type(a) || has_type(b),
        // Of one bit a factor is a vector of the package's, and others say their type.
        Node::Product { .. } => true,
        Node::Reduce(..) | Node::Compare { .. } => true,
    }
}

/// Whether an expression can be an operand as it is.
fn is_primary(e: &Value) -> bool {
    if let Some(same) = of_one_bit(e) {
        return is_primary(&same);
    }
    match e.node() {
        Node::Product { signed, .. } => *signed,
        node => matches!(
            node,
            Node::Read { .. }
                | Node::Const(_)
                | Node::Repeat(_)
                | Node::Compare { .. }
                | Node::Mux(..)
                | Node::Shift(..)
        ),
    }
}

/// The logic that arithmetic of single bits is, since a `std_logic` is no number.
fn of_one_bit(e: &Value) -> Option<Value> {
    Some(match e.node() {
        Node::Binary(Binary::Add | Binary::Sub, a, b) if e.width() == 1 => a ^ b,
        Node::Shift(Shift::Arithmetic, a, _) if e.width() == 1 => a.clone(),
        Node::Shift(_, a, n) if e.width() == 1 => a & n.none(),
        Node::Compare { test, signed, a, b } if a.width() == 1 => {
            // A sign is the less the more it is set.
            let (low, high) = if *signed { (b, a) } else { (a, b) };
            match test {
                Test::Eq => !(a ^ b),
                Test::Ne => a ^ b,
                Test::Lt => !low & high,
                Test::Le => !low | high,
                Test::Gt => low & !high,
                Test::Ge => low | !high,
            }
        }
        _ => return None,
    })
}

/// Bits of a constant that are written in base 2.
const BINARY: u32 = 8;

fn constant(bits: &Bits) -> String {
    let width = bits.width();
    let digits = || (0..width).rev().map(|k| if bits.bit(k) { '1' } else { '0' }).collect::<String>();
    match width {
        1 => format!("'{}'", digits()),
        _ if width <= BINARY => format!("\"{}\"", digits()),
        _ => format!("{width}x\"{}\"", bits.hex()),
    }
}

/// A number as a constant of that many bits.
pub(super) fn number(width: u32, value: u64) -> String {
    constant(&Bits::from_words(width, vec![value]))
}

/// The type of a signal of that many bits.
pub(super) fn signal_type(width: u32) -> String {
    match width {
        1 => "std_logic".into(),
        _ => format!("unsigned({} downto 0)", width - 1),
    }
}
