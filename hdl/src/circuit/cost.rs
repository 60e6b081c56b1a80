//! The timing cost of an expression: the distinct inputs of its bits, and the carries between them.

use super::target::Cost;
use crate::hash::FastMap;
use crate::rtl::expr::{Binary, Expr, Leaf, Node, Test};

/// The inputs that one bit of an expression depends on, in ascending order, each once.
type Inputs = Vec<u32>;

/// Inputs of the smallest table that a target has, and of a carry cell's own one.
const TABLE: u32 = 4;

struct Walk<L: Leaf> {
    /// Numbers of the bits of leaves, and of the results of carry chains.
    inputs: FastMap<(L, u32), u32>,
    next: u32,
    /// The widest carry chain, and the inputs of what stands in front of it.
    chain: u32,
    before: u32,
    /// Positions of a shift by a variable.
    positions: u32,
}

/// The cost of an expression.
pub fn cost<L: Leaf>(e: &Expr<L>) -> Cost {
    if is_wiring(e) {
        return Cost::Wire;
    }
    let mut w = Walk { inputs: FastMap::default(), next: 0, chain: 0, before: 0, positions: 0 };
    let most = w.bits(e).iter().map(Vec::len).max().unwrap_or(0) as u32;
    match (w.chain, w.positions) {
        // One table takes it whole, whatever it is.
        (0, 0) if most <= TABLE => Cost::Logic(most.max(1)),
        (0, 0) => choices(e).map_or(Cost::Logic(most), |levels| Cost::Mux(1 << levels)),
        (0, positions) => Cost::Shift(positions),
        (bits, _) if w.before <= TABLE && most <= 1 => Cost::Add(bits),
        (bits, _) => Cost::Path { before: w.before, bits, after: most },
    }
}

/// Whether nothing but wires and inverters is there; readers take inversions in.
fn is_wiring<L: Leaf>(e: &Expr<L>) -> bool {
    match e.node() {
        Node::Read { .. } | Node::Const(_) => true,
        Node::Cat(_) | Node::Repeat(_) | Node::Not(_) => e.operands().all(is_wiring),
        _ => false,
    }
}

/// How many multiplexers stand one behind the other where there is nothing else.
fn choices<L: Leaf>(e: &Expr<L>) -> Option<u32> {
    match e.node() {
        Node::Mux(c, a, b) if is_wiring(c) => Some(1 + choices(a)?.max(choices(b)?)),
        _ => is_wiring(e).then_some(0),
    }
}

fn union(a: &Inputs, b: &Inputs) -> Inputs {
    let mut all = [a.as_slice(), b].concat();
    all.sort_unstable();
    all.dedup();
    all
}

impl<L: Leaf> Walk<L> {
    fn fresh(&mut self) -> Inputs {
        self.next += 1;
        vec![self.next - 1]
    }

    /// The inputs of each bit, the lowest first.
    fn bits(&mut self, e: &Expr<L>) -> Vec<Inputs> {
        let width = e.width();
        match e.node() {
            Node::Read { leaf, low, .. } => (*low..low + width)
                .map(|k| match self.inputs.get(&(leaf.clone(), k)) {
                    Some(n) => vec![*n],
                    None => {
                        let new = self.fresh();
                        self.inputs.insert((leaf.clone(), k), new[0]);
                        new
                    }
                })
                .collect(),
            Node::Const(_) => vec![Vec::new(); width as usize],
            Node::Cat(parts) => parts.iter().rev().flat_map(|p| self.bits(p)).collect(),
            Node::Repeat(part) => {
                let bits = self.bits(part);
                (0..width / part.width()).flat_map(|_| bits.clone()).collect()
            }
            Node::Not(a) => self.bits(a),
            Node::Binary(Binary::Add | Binary::Sub, a, b) => {
                let both = self.pairs(a, b);
                self.carries(&both, width);
                (0..width).map(|_| self.fresh()).collect()
            }
            Node::Binary(_, a, b) => self.pairs(a, b),
            Node::Reduce(_, a) => vec![self.all(a)],
            Node::Compare { test, a, b, .. } => {
                let constant = matches!(a.node(), Node::Const(_)) || matches!(b.node(), Node::Const(_));
                let both = self.pairs(a, b);
                if constant && matches!(test, Test::Eq | Test::Ne) {
                    return vec![both.iter().fold(Vec::new(), |all, b| union(&all, b))];
                }
                self.carries(&both, a.width());
                vec![self.fresh()]
            }
            Node::Mux(c, a, b) => {
                let c = self.all(c);
                self.pairs(a, b).iter().map(|bit| union(bit, &c)).collect()
            }
            Node::Shift(_, a, n) => {
                self.positions = self.positions.max(a.width());
                let (_, _) = (self.all(a), self.all(n));
                (0..width).map(|_| self.fresh()).collect()
            }
            Node::Product { a, b, .. } => {
                let both = union(&self.all(a), &self.all(b));
                self.carries(&[both], width);
                (0..width).map(|_| self.fresh()).collect()
            }
        }
    }

    fn pairs(&mut self, a: &Expr<L>, b: &Expr<L>) -> Vec<Inputs> {
        let (a, b) = (self.bits(a), self.bits(b));
        a.iter().zip(&b).map(|(a, b)| union(a, b)).collect()
    }

    /// The inputs that all bits depend on together.
    fn all(&mut self, e: &Expr<L>) -> Inputs {
        self.bits(e).iter().fold(Vec::new(), |all, b| union(&all, b))
    }

    /// Notes a carry chain.
    fn carries(&mut self, operands: &[Inputs], bits: u32) {
        self.chain = self.chain.max(bits);
        let most = operands.iter().map(Vec::len).max().unwrap_or(0) as u32;
        self.before = self.before.max(most);
    }
}
