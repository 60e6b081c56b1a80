//! `for`: the body once for each number of a range.

use super::scope::{Entry, Kind, NO_EXPR};
use super::value::Value;
use super::{Checker, Slot};
use crate::check::literal::Literal;
use crate::diag::Diagnostic;
use crate::diag::codes;
use crate::syntax::ast::{Block, Statement, StatementKind, Tree, Word};
use hdl::number::exact::Exact;
use num_bigint::BigInt;

/// One pass of a loop.
#[derive(Clone, Copy)]
pub(super) struct Pass<'a> {
    variable: &'a str,
    value: i64,
    /// Calls around the loop, by which a message tells its own loops from those of the callers.
    calls: usize,
}

impl<'a> Checker<'a> {
    /// Runs statements in order; gives whether they end with a `return`.
    pub(super) fn block(&mut self, statements: &'a [Statement<'a>]) -> bool {
        for statement in statements {
            self.step(1, statement.span);
            if self.full {
                return false;
            }
            if self.statement(statement) {
                return true;
            }
        }
        false
    }

    pub(super) fn for_loop(&mut self, variable: Word<'a>, range: (Tree, Tree), body: &'a Block<'a>) -> bool {
        let (a, b) = (self.bound(range.0), self.bound(range.1));
        let (Some(a), Some(b)) = (a, b) else {
            self.doubt(&body.statements);
            return false;
        };
        if a >= b {
            self.warn_of_empty_loop(variable, (a, b), range);
            self.resolve_block(&[variable], body);
            return false;
        }
        for k in a..b {
            let found = self.found;
            self.open_block(false);
            self.loops.push(Pass { variable: variable.text, value: k, calls: self.calls.len() });
            self.step(1, variable.span);
            let number = Literal { value: Exact::from(BigInt::from(k)), bits: false };
            self.define(variable, Entry::Value(Value::Exact(number)), Kind::Counter, range.0.root);
            let returns = self.block(&body.statements);
            self.loops.pop();
            self.close_block();
            if returns {
                return true;
            }
            if self.full {
                return false;
            }
            // The other passes would most likely say the same again.
            if self.found > found {
                self.doubt(&body.statements);
                return false;
            }
        }
        false
    }

    fn bound(&mut self, tree: Tree) -> Option<i64> {
        let value = self.tree(tree);
        let span = self.span(tree.root);
        let n = self.integer_of(&value, span, "a bound of a loop")?;
        if n.is_none() {
            let error = Diagnostic::error(codes::BIG_NUMBER, "this bound is too large", span, "beyond 64 bits");
            self.error(error.help("loops are unrolled: choose a smaller bound"));
        }
        n
    }

    /// Marks as in doubt the names that statements which cannot be run would have assigned or reduced.
    pub(super) fn doubt(&mut self, statements: &'a [Statement<'a>]) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Assign { name, .. } | StatementKind::Elements { name, .. } => self.doubt_name(*name),
                StatementKind::Reduce { target, .. } => self.doubt_name(*target),
                StatementKind::Select { targets, .. } => targets.iter().for_each(|t| self.doubt_name(t.name)),
                StatementKind::Broken { name } => self.doubt_name(*name),
                StatementKind::For { body, .. } => self.doubt(&body.statements),
                StatementKind::If { arms, otherwise } => {
                    arms.iter().for_each(|arm| self.doubt(&arm.body.statements));
                    otherwise.iter().for_each(|block| self.doubt(&block.statements));
                }
                _ => {}
            }
        }
    }

    fn doubt_name(&mut self, name: Word<'a>) {
        self.step(1, name.span);
        if self.full {
            return;
        }
        match self.table().symbols.get(name.text) {
            Some(s) if let Entry::Output(pin) = s.entry => {
                for k in 0..self.slots[pin].len() {
                    if matches!(self.slots[pin][k], Slot::Empty) {
                        self.set_slot(pin, k, Slot::Broken);
                    }
                }
            }
            Some(s) if s.kind == Kind::Value => self.rebind(name, Entry::Broken, NO_EXPR),
            Some(_) => {}
            None => self.define(name, Entry::Broken, Kind::Value, NO_EXPR),
        }
    }

    /// Says in which pass of the loops around it a mistake shows.
    pub(super) fn explain_loops(&self, error: &mut Diagnostic) {
        let own = self.loops.iter().filter(|p| p.calls == self.calls.len());
        let passes: Vec<String> = own.map(|p| format!("`{}` = {}", p.variable, p.value)).collect();
        if !passes.is_empty() && passes.len() <= 8 {
            error.notes.push(format!("in the pass with {}", passes.join(", ")));
        }
    }
}
