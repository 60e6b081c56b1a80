//! Expressions of combinational logic whose widths are checked when they are built.
//!
//! An [`Expr`] is made of bits of leaves: the signals of a circuit, or the names of a module. Every operator has one width:
//! operands that differ are a programmer's mistake and panic here, with a sentence, and not in a Verilog tool. Expressions are
//! cheap to clone, and two of one form are equal.

mod operators;

use super::bits::Bits;
use crate::hash::Fast;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The leaves that expressions read.
pub trait Leaf: Clone + Eq + Hash + Debug {}

impl<L: Clone + Eq + Hash + Debug> Leaf for L {}

/// An expression over leaves `L`.
pub struct Expr<L: Leaf>(Arc<Inner<L>>);

struct Inner<L: Leaf> {
    width: u32,
    hash: u64,
    node: Node<L>,
}

/// The outermost operator of an expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Node<L: Leaf> {
    /// As many bits of `leaf` as the expression has, from bit `low` on. The leaf has `full` bits.
    Read {
        leaf: L,
        full: u32,
        low: u32,
    },
    Const(Bits),
    /// The most significant part first; at least two parts, none of them empty or a concatenation.
    Cat(Vec<Expr<L>>),
    /// Copies of one part, at least two.
    Repeat(Expr<L>),
    Not(Expr<L>),
    Binary(Binary, Expr<L>, Expr<L>),
    /// One bit.
    Reduce(Reduce, Expr<L>),
    /// One bit.
    Compare {
        test: Test,
        signed: bool,
        a: Expr<L>,
        b: Expr<L>,
    },
    /// The second where the first, one bit, is set, else the third.
    Mux(Expr<L>, Expr<L>, Expr<L>),
    /// A shift by a variable number of places.
    Shift(Shift, Expr<L>, Expr<L>),
    /// The full product, as wide as both factors together.
    Product {
        signed: bool,
        a: Expr<L>,
        b: Expr<L>,
    },
}

/// Operators of two operands of one width, which is the result's too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binary {
    And,
    Or,
    Xor,
    Add,
    Sub,
}

/// The reduction of all bits of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reduce {
    And,
    Or,
    Xor,
}

/// Comparisons of two operands of one width.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Test {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// The direction of a shift, and the bits shifted in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shift {
    Left,
    /// Zeros come in.
    Right,
    /// Copies of the top bit come in.
    Arithmetic,
}

impl<L: Leaf> Clone for Expr<L> {
    fn clone(&self) -> Expr<L> {
        Expr(self.0.clone())
    }
}

impl<L: Leaf> PartialEq for Expr<L> {
    fn eq(&self, other: &Expr<L>) -> bool {
        let (a, b) = (&self.0, &other.0);
        Arc::ptr_eq(a, b) || a.hash == b.hash && a.width == b.width && a.node == b.node
    }
}

impl<L: Leaf> Eq for Expr<L> {}

impl<L: Leaf> Hash for Expr<L> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl<L: Leaf> Debug for Expr<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}:{}", self.0.node, self.0.width)
    }
}

impl<L: Leaf> Expr<L> {
    fn new(width: u32, node: Node<L>) -> Expr<L> {
        let mut state = Fast::default();
        width.hash(&mut state);
        node.hash(&mut state);
        Expr(Arc::new(Inner { width, hash: state.finish(), node }))
    }

    /// All `width` bits of a leaf.
    pub fn leaf(leaf: L, width: u32) -> Expr<L> {
        assert!(width > 0, "{leaf:?} has no bits");
        Expr::new(width, Node::Read { leaf, full: width, low: 0 })
    }

    /// A constant: `value` modulo 2^width, extended by its sign.
    pub fn constant(width: u32, value: i128) -> Expr<L> {
        Expr::new(width, Node::Const(Bits::new(width, value)))
    }

    /// As many zeros.
    pub fn zeros(width: u32) -> Expr<L> {
        Expr::constant(width, 0)
    }

    /// As many ones.
    pub fn ones(width: u32) -> Expr<L> {
        Expr::constant(width, -1)
    }

    /// One bit.
    pub fn flag(set: bool) -> Expr<L> {
        Expr::constant(1, set as i128)
    }

    pub fn width(&self) -> u32 {
        self.0.width
    }

    pub fn node(&self) -> &Node<L> {
        &self.0.node
    }

    /// Bits `high` down to `low`. No bits where `high` is one less than `low`.
    pub fn slice(&self, high: u32, low: u32) -> Expr<L> {
        assert!(low <= high && high < self.width(), "bits {high} to {low} of an expression of {} bits", self.width());
        self.bits(low, high - low + 1)
    }

    /// `count` bits from bit `low` on; `count` may be 0. Of a sum only the lowest bits can be had: what lies above has to be a
    /// signal of its own first, since Verilog takes bits of names alone.
    pub fn bits(&self, low: u32, count: u32) -> Expr<L> {
        assert!(low + count <= self.width(), "{count} bits from {low} of an expression of {} bits", self.width());
        if count == self.width() {
            return self.clone();
        }
        if count == 0 {
            return Expr::zeros(0);
        }
        let part = |e: &Expr<L>| e.bits(low, count);
        match self.node() {
            Node::Read { leaf, full, low: first } => {
                Expr::new(count, Node::Read { leaf: leaf.clone(), full: *full, low: first + low })
            }
            Node::Const(bits) => Expr::new(count, Node::Const(bits.bits(low, count))),
            Node::Cat(parts) => sliced(parts.iter().rev(), low, count),
            Node::Repeat(e) if e.width() == 1 => e.repeat(count),
            Node::Repeat(e) => sliced(std::iter::repeat_n(e, (self.width() / e.width()) as usize), low, count),
            Node::Not(e) => !part(e),
            Node::Binary(op @ (Binary::And | Binary::Or | Binary::Xor), a, b) => {
                Expr::new(count, Node::Binary(*op, part(a), part(b)))
            }
            Node::Binary(op, a, b) if low == 0 => Expr::new(count, Node::Binary(*op, part(a), part(b))),
            Node::Mux(c, a, b) => c.mux(&part(a), &part(b)),
            other => panic!("{count} bits from {low} of {other:?}: give it a name first"),
        }
    }

    /// The lowest bits.
    pub fn low(&self, count: u32) -> Expr<L> {
        self.bits(0, count)
    }

    /// The highest bits.
    pub fn top(&self, count: u32) -> Expr<L> {
        assert!(count <= self.width(), "the highest {count} bits of an expression of {} bits", self.width());
        self.bits(self.width() - count, count)
    }

    pub fn bit(&self, k: u32) -> Expr<L> {
        self.bits(k, 1)
    }

    /// The highest bit.
    pub fn msb(&self) -> Expr<L> {
        self.top(1)
    }

    /// `n` copies side by side.
    pub fn repeat(&self, n: u32) -> Expr<L> {
        match self.node() {
            _ if n == 0 || self.width() == 0 => Expr::zeros(0),
            _ if n == 1 => self.clone(),
            Node::Const(bits) => Expr::new(n * self.width(), Node::Const(bits.repeat(n))),
            Node::Repeat(e) => e.repeat(n * (self.width() / e.width())),
            _ => Expr::new(n * self.width(), Node::Repeat(self.clone())),
        }
    }

    /// With zeros on the left.
    pub fn zext(&self, width: u32) -> Expr<L> {
        assert!(self.width() <= width, "{} bits do not extend to {width}", self.width());
        cat([Expr::zeros(width - self.width()), self.clone()])
    }

    /// With copies of the highest bit on the left.
    pub fn sext(&self, width: u32) -> Expr<L> {
        assert!(self.width() <= width, "{} bits do not extend to {width}", self.width());
        if width == self.width() {
            return self.clone();
        }
        cat([self.msb().repeat(width - self.width()), self.clone()])
    }

    /// Extended by zeros or by its sign.
    pub fn extend(&self, width: u32, signed: bool) -> Expr<L> {
        if signed { self.sext(width) } else { self.zext(width) }
    }

    /// With zeros on the right: times 2^n, n bits wider.
    pub fn shl(&self, n: u32) -> Expr<L> {
        cat([self.clone(), Expr::zeros(n)])
    }

    pub fn binary(op: Binary, a: &Expr<L>, b: &Expr<L>) -> Expr<L> {
        same(a, b);
        Expr::new(a.width(), Node::Binary(op, a.clone(), b.clone()))
    }

    pub fn reduce(&self, how: Reduce) -> Expr<L> {
        assert!(self.width() > 0, "a reduction of no bits");
        if self.width() == 1 {
            return self.clone();
        }
        Expr::new(1, Node::Reduce(how, self.clone()))
    }

    /// Whether any bit is set.
    pub fn any(&self) -> Expr<L> {
        self.reduce(Reduce::Or)
    }

    /// Whether all bits are set.
    pub fn all(&self) -> Expr<L> {
        self.reduce(Reduce::And)
    }

    /// Whether no bit is set.
    pub fn none(&self) -> Expr<L> {
        !self.any()
    }

    /// One bit: the test of `self` against `other`, both in two's complement where `signed`.
    pub fn compare(&self, test: Test, signed: bool, other: &Expr<L>) -> Expr<L> {
        same(self, other);
        assert!(self.width() > 0, "a comparison of no bits");
        // Equality does not depend on signs.
        let signed = signed && !matches!(test, Test::Eq | Test::Ne);
        Expr::new(1, Node::Compare { test, signed, a: self.clone(), b: other.clone() })
    }

    /// Whether both are the same.
    pub fn is(&self, other: &Expr<L>) -> Expr<L> {
        self.compare(Test::Eq, false, other)
    }

    /// Whether it is that number.
    pub fn is_number(&self, number: i128) -> Expr<L> {
        self.is(&Expr::constant(self.width(), number))
    }

    /// Whether both differ.
    pub fn differs(&self, other: &Expr<L>) -> Expr<L> {
        self.compare(Test::Ne, false, other)
    }

    /// Unsigned order.
    pub fn lt(&self, other: &Expr<L>) -> Expr<L> {
        self.compare(Test::Lt, false, other)
    }

    /// Order in two's complement.
    pub fn signed_lt(&self, other: &Expr<L>) -> Expr<L> {
        self.compare(Test::Lt, true, other)
    }

    /// `a` where this bit is set, else `b`.
    pub fn mux(&self, a: &Expr<L>, b: &Expr<L>) -> Expr<L> {
        assert!(self.width() == 1, "a condition of {} bits", self.width());
        same(a, b);
        if a.width() == 0 {
            return a.clone();
        }
        Expr::new(a.width(), Node::Mux(self.clone(), a.clone(), b.clone()))
    }

    /// Moved by a variable number of places.
    pub fn shift(&self, how: Shift, places: &Expr<L>) -> Expr<L> {
        Expr::new(self.width(), Node::Shift(how, self.clone(), places.clone()))
    }

    /// The full product, of both signed or both unsigned. Signed factors are such as have a name, since their sign is read.
    pub fn product(&self, other: &Expr<L>, signed: bool) -> Expr<L> {
        if signed {
            let _ = (self.msb(), other.msb());
        }
        let width = self.width() + other.width();
        Expr::new(width, Node::Product { signed, a: self.clone(), b: other.clone() })
    }

    /// Calls `see` with (leaf, its width, high, low) of everything that is read.
    pub fn reads<'a>(&'a self, see: &mut dyn FnMut(&'a L, u32, u32, u32)) {
        match self.node() {
            Node::Read { leaf, full, low } => see(leaf, *full, low + self.width() - 1, *low),
            _ => self.operands().for_each(|e| e.reads(see)),
        }
    }

    /// The operands of the outermost operator.
    pub fn operands(&self) -> impl Iterator<Item = &Expr<L>> {
        let (list, fixed): (&[Expr<L>], [Option<&Expr<L>>; 3]) = match self.node() {
            Node::Read { .. } | Node::Const(_) => (&[], [None; 3]),
            Node::Cat(parts) => (parts, [None; 3]),
            Node::Repeat(e) | Node::Not(e) | Node::Reduce(_, e) => (&[], [Some(e), None, None]),
            Node::Binary(_, a, b) | Node::Shift(_, a, b) => (&[], [Some(a), Some(b), None]),
            Node::Compare { a, b, .. } | Node::Product { a, b, .. } => (&[], [Some(a), Some(b), None]),
            Node::Mux(c, a, b) => (&[], [Some(c), Some(a), Some(b)]),
        };
        list.iter().chain(fixed.into_iter().flatten())
    }

    /// The same over other leaves: `with(leaf, high, low)` gives what stands for these bits of a leaf.
    pub fn map<M: Leaf>(&self, with: &mut dyn FnMut(&L, u32, u32) -> Expr<M>) -> Expr<M> {
        let width = self.width();
        let node = match self.node() {
            Node::Read { leaf, low, .. } => {
                let new = with(leaf, low + width - 1, *low);
                assert!(new.width() == width, "{} bits stand for {width} of {leaf:?}", new.width());
                return new;
            }
            Node::Const(bits) => Node::Const(bits.clone()),
            Node::Cat(parts) => return cat(parts.iter().map(|e| e.map(with)).collect::<Vec<_>>()),
            Node::Repeat(e) => return e.map(with).repeat(width / e.width()),
            Node::Not(e) => return !e.map(with),
            Node::Binary(op, a, b) => Node::Binary(*op, a.map(with), b.map(with)),
            Node::Reduce(how, e) => Node::Reduce(*how, e.map(with)),
            Node::Compare { test, signed, a, b } => {
                Node::Compare { test: *test, signed: *signed, a: a.map(with), b: b.map(with) }
            }
            Node::Mux(c, a, b) => Node::Mux(c.map(with), a.map(with), b.map(with)),
            Node::Shift(how, a, n) => Node::Shift(*how, a.map(with), n.map(with)),
            Node::Product { signed, a, b } => Node::Product { signed: *signed, a: a.map(with), b: b.map(with) },
        };
        Expr::new(width, node)
    }
}

/// All of a list or-ed together, `None` of an empty one. A long list becomes a tree: expressions are walked by recursion, and a
/// chain as long as a kernel has outputs takes all of the stack.
pub fn or_all<L: Leaf>(list: impl IntoIterator<Item = Expr<L>>) -> Option<Expr<L>> {
    const CHAIN: usize = 64;
    let mut list: Vec<Expr<L>> = list.into_iter().collect();
    let chain = |few: &[Expr<L>]| few.iter().cloned().reduce(|a, b| a | b);
    while list.len() > CHAIN {
        list = list.chunks(CHAIN).filter_map(chain).collect();
    }
    chain(&list)
}

fn same<L: Leaf>(a: &Expr<L>, b: &Expr<L>) {
    assert!(a.width() == b.width(), "{} and {} bits meet: {a:?} and {b:?}", a.width(), b.width());
}

/// `count` bits from bit `low` on of parts side by side, the lowest first.
fn sliced<'a, L: Leaf + 'a>(parts: impl Iterator<Item = &'a Expr<L>>, low: u32, count: u32) -> Expr<L> {
    let (mut at, mut taken) = (0, Vec::new());
    for e in parts {
        let (from, to) = (low.max(at), (low + count).min(at + e.width()));
        if from < to {
            taken.push(e.bits(from - at, to - from));
        }
        at += e.width();
    }
    taken.reverse();
    cat(taken)
}

/// Constants side by side are one constant, and equal bits side by side are copies of one.
fn joined<L: Leaf>(high: &Expr<L>, low: &Expr<L>) -> Option<Expr<L>> {
    if let (Node::Const(a), Node::Const(b)) = (high.node(), low.node()) {
        return Some(Expr::new(high.width() + low.width(), Node::Const(a.cat(b))));
    }
    let bit = |e: &Expr<L>| match e.node() {
        Node::Repeat(one) if one.width() == 1 => one.clone(),
        _ => e.clone(),
    };
    let (a, b) = (bit(high), bit(low));
    (a.width() == 1 && a == b).then(|| a.repeat(high.width() + low.width()))
}

/// Parts side by side, the most significant first. Empty parts are left out.
pub fn cat<L: Leaf>(parts: impl IntoIterator<Item = Expr<L>>) -> Expr<L> {
    let mut flat: Vec<Expr<L>> = Vec::new();
    let mut add = |e: Expr<L>| match flat.last().and_then(|before| joined(before, &e)) {
        Some(both) => *flat.last_mut().expect("there is one") = both,
        None => flat.push(e),
    };
    for part in parts.into_iter().filter(|e| e.width() > 0) {
        match part.node() {
            Node::Cat(inner) => inner.iter().cloned().for_each(&mut add),
            _ => add(part),
        }
    }
    match flat.len() {
        0 => Expr::zeros(0),
        1 => flat.pop().expect("there is one"),
        _ => Expr::new(flat.iter().map(Expr::width).sum(), Node::Cat(flat)),
    }
}
