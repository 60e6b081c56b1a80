//! About how many lookup tables a circuit takes: what decides whether a share of an operator is worth its multiplexers.

use super::{Circuit, NodeKind};
use crate::rtl::expr::{Binary, Expr, Leaf, Node, Test};

/// Gates of two inputs that one table of four inputs holds.
const GATES: u64 = 3;

impl Circuit {
    /// About how many lookup tables of four inputs the outputs need. Products in multiplier blocks and tables in memory take none.
    pub fn tables(&self) -> u64 {
        let mut needed = vec![false; self.signals.len()];
        self.outputs.iter().for_each(|(_, s)| needed[s.index()] = true);
        let mut sum = 0;
        for (k, signal) in self.signals.iter().enumerate().rev() {
            if needed[k] {
                signal.kind.args().iter().for_each(|a| needed[a.index()] = true);
                if let NodeKind::Expr { expr, .. } = &signal.kind {
                    sum += gates(expr);
                }
            }
        }
        sum.div_ceil(GATES)
    }
}

/// Tables of four inputs, or of more, for a bit that is one of `ways` signals, each with a select of its own.
pub fn choice_tables(ways: u64, inputs: u32) -> u64 {
    if ways < 2 {
        return 0;
    }
    // A table ANDs as many pairs of a signal and its select as it has inputs for; others OR these.
    let pairs = ways.div_ceil((inputs as u64 / 2).max(1));
    pairs + (pairs - 1).div_ceil(inputs as u64 - 1)
}

/// Gates of two inputs.
fn gates<L: Leaf>(e: &Expr<L>) -> u64 {
    let width = e.width() as u64;
    let constant = |e: &Expr<L>| matches!(e.node(), Node::Const(_));
    let own = match e.node() {
        Node::Read { .. } | Node::Const(_) | Node::Cat(_) | Node::Repeat(_) | Node::Not(_) => 0,
        Node::Binary(Binary::Add | Binary::Sub, ..) => GATES * width,
        Node::Binary(_, a, b) if constant(a) || constant(b) => 0,
        Node::Binary(..) => width,
        Node::Reduce(_, a) => a.width() as u64,
        Node::Compare { test: Test::Eq | Test::Ne, a, .. } => 2 * a.width() as u64,
        Node::Compare { a, .. } => GATES * a.width() as u64,
        Node::Mux(_, a, b) if constant(a) || constant(b) => width,
        Node::Mux(..) => 2 * width,
        Node::Shift(_, a, n) => GATES * a.width() as u64 * n.width().min(7) as u64,
        Node::Product { a, b, .. } => GATES * a.width() as u64 * b.width() as u64,
    };
    own + e.operands().map(gates).sum::<u64>()
}
