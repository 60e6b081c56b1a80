//! Several reductions into one output: their sum, greatest or least (RULES L9, L12, N7).
//!
//! A branch gathers what it reduces by itself. Behind the `if` that joins what was gathered before it.

use super::value::{Typed, Value};
use super::{Checker, Reduction, Slot};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::graph::NodeId;
use crate::syntax::ast::{ExprId, Word};
use hdl::op::{Attrs, Operator, compare, int};
use hdl::{Format, Reduce};

/// The number of bits of a sum of so many carries.
fn carry_format(count: u32) -> Format {
    Format::int(33 - count.leading_zeros(), true).expect("2 to 33 bits")
}

impl Checker<'_> {
    /// Gathers a reduction into an output element beside those before it; `false` after a reported mistake.
    pub(super) fn gathered(&mut self, (pin, k): (usize, usize), new: Reduction) -> bool {
        // Whether the branch around has reduced into the element before.
        let fresh = self.slots_before.last().is_some_and(|log| !log.contains_key(&(pin, k)));
        let earlier = match self.slots[pin][k] {
            Slot::Broken => return true,
            Slot::Filled(earlier) if !fresh => earlier,
            Slot::Filled(_) | Slot::Empty => {
                if new.at.is_none() {
                    let column = self.builder.graph.pins[pin].column(k as u32);
                    self.builder.name(new.value, || column);
                }
                self.set_slot(pin, k, Slot::Filled(new));
                return true;
            }
        };
        if earlier.at.is_some() {
            self.indexed_twice(pin, [earlier.span, new.span]);
            return false;
        }
        if [earlier.reduce, new.reduce].iter().any(|r| matches!(r, Reduce::Ranked(_))) {
            let column = self.builder.graph.pins[pin].column(k as u32);
            let message = format!("`{column}` has two reductions, and a selection is one alone");
            let error = Diagnostic::error(codes::REDUCED_TWICE, message, new.span, "reduced again")
                .label(earlier.span, "first reduced here");
            self.error(error.help("declare another output for it"));
            return false;
        }
        if earlier.reduce != new.reduce {
            let column = self.builder.graph.pins[pin].column(k as u32);
            let message = format!("`{column}` has two kinds of reductions, `{}` and `{}`", earlier.reduce, new.reduce);
            let error = Diagnostic::error(codes::REDUCED_TWICE, message, new.span, "reduced in another way")
                .label(earlier.span, "first reduced here");
            self.error(error.help("declare another output for it"));
            return false;
        }
        let slot = self.together(earlier, new).map_or(Slot::Broken, Slot::Filled);
        self.set_slot(pin, k, slot);
        true
    }

    /// Reports two reductions by an index known at run time.
    fn indexed_twice(&mut self, pin: usize, [first, again]: [Span; 2]) {
        let name = &self.builder.graph.pins[pin].name;
        let message = format!("`{name}` has two reductions by an index known at run time");
        let error =
            Diagnostic::error(codes::REDUCED_TWICE, message, again, "reduced again").label(first, "first reduced here");
        self.error(error.help(
            "an output takes one number a pair: choose between them with `if` and `else`, or declare another output for the second",
        ));
    }

    /// Two reductions as one.
    fn together(&mut self, a: Reduction, b: Reduction) -> Option<Reduction> {
        let op = match a.reduce {
            Reduce::Sum => int::ADD,
            Reduce::Max => compare::MAX,
            Reduce::Min => compare::MIN,
            // Reported before.
            Reduce::Ranked(_) => return None,
        };
        let value = self.node(op, &[a.value, b.value], b.span)?;
        let carry = match a.reduce {
            Reduce::Sum => {
                let own = self.node(int::CARRY, &[a.value, b.value], b.span)?;
                let carries: Vec<(NodeId, u32)> = [a.carry, b.carry, Some((own, 1))].into_iter().flatten().collect();
                Some(self.sum_of_carries(&carries, b.span)?)
            }
            _ => None,
        };
        Some(Reduction { value, carry, ..b })
    }

    /// Reports `-=` on an output that is unsigned.
    pub(super) fn nothing_below_zero(&mut self, pin: usize, value: &Value, id: ExprId, word: Word) {
        let (format, declared) = (self.builder.graph.pins[pin].format, self.builder.graph.pins[pin].span);
        let message = format!("`-=` on an output of {format}, which holds nothing below 0");
        let error = Diagnostic::error(codes::MIXED, message, word.span, "taken away here")
            .label(declared, format!("declared as {format}"));
        let signed = match format.frac().filter(|_| format.is_fixed()) {
            Some(frac) => Format::fixed(format.width(), frac, true),
            None => Format::int(format.width(), true),
        };
        let signed = signed.expect("the limits of signed formats are those of unsigned ones");
        let cast = matches!(value, Value::Typed(t) if t.format != signed).then_some(id);
        self.error(self.with_output_format(error, pin, signed, cast));
    }

    /// The term of `-=`.
    pub(super) fn negative(&mut self, (pin, _): (usize, usize), term: Reduction) -> Option<Reduction> {
        let zero = self.builder.constant(0, self.builder.graph.pins[pin].format, term.span);
        let value = self.node(int::SUB, &[zero, term.value], term.span)?;
        let carry = self.node(int::BORROW, &[zero, term.value], term.span)?;
        Some(Reduction { value, carry: Some((carry, 1)), ..term })
    }

    /// The same for one element of many, whose memory has no carries: what the format does not hold raises `wrap`.
    pub(super) fn taken_away(&mut self, at: (usize, usize), term: Reduction) -> Option<Reduction> {
        let negative = self.negative(at, term)?;
        let value = match negative.carry {
            Some((carry, _)) => self.node(int::TOTAL, &[negative.value, carry], negative.span)?,
            None => negative.value,
        };
        Some(Reduction { value, carry: None, ..negative })
    }

    fn sum_of_carries(&mut self, carries: &[(NodeId, u32)], span: Span) -> Option<(NodeId, u32)> {
        let mut sum = *carries.first()?;
        for (node, count) in &carries[1..] {
            let count = sum.1 + count;
            let [a, b] = [self.widened(sum.0, count, span)?, self.widened(*node, count, span)?];
            sum = (self.node(int::ADD, &[a, b], span)?, count);
        }
        Some(sum)
    }

    /// A carry in the format of so many.
    fn widened(&mut self, carry: NodeId, count: u32, span: Span) -> Option<NodeId> {
        let (from, to) = (self.builder.graph.node(carry).format, carry_format(count));
        if from.width() >= to.width() {
            return Some(carry);
        }
        let attrs = Attrs { to: Some(to), ..Attrs::default() };
        match self.each(int::ICAST, &[&Typed::scalar(from, carry)], attrs, span) {
            Value::Typed(typed) => Some(typed.node(0)),
            _ => None,
        }
    }

    /// Multiples of 2^W that branches leave, each where it is taken.
    pub(super) fn join_carries(
        &mut self,
        conditions: &[Option<Typed>],
        filled: &[Option<Reduction>],
        span: Span,
    ) -> Option<Option<(NodeId, u32)>> {
        let Some(count) = filled.iter().flatten().filter_map(|r| r.carry).map(|c| c.1).max() else {
            return Some(None);
        };
        let mut carries = Vec::new();
        for reduction in filled {
            let own = reduction.and_then(|r| r.carry);
            carries.push(match own {
                Some((node, _)) => Some(self.widened(node, count, span)?),
                None => None,
            });
        }
        let carry = self.choose_terms(conditions, &carries, (carry_format(count), 0), span)?;
        Some(Some((carry, count)))
    }

    /// The term of the branch that is taken; `nothing` is the format, and the pattern of what a branch without a term reduces.
    pub(super) fn choose_terms(
        &mut self,
        conditions: &[Option<Typed>],
        terms: &[Option<NodeId>],
        nothing: (Format, u64),
        span: Span,
    ) -> Option<NodeId> {
        let (format, identity) = nothing;
        let mut value = match terms.last().copied().flatten() {
            Some(value) => value,
            None => self.builder.constant(identity, format, span),
        };
        for (condition, own) in conditions.iter().zip(terms).rev().skip(1) {
            let Some(condition) = condition else { continue };
            let own = own.unwrap_or_else(|| self.builder.constant(identity, format, span));
            if own != value {
                value = self.node(compare::MUX, &[condition.node(0), own, value], span)?;
            }
        }
        Some(value)
    }

    /// Value that is gathered in the end: of a sum of several terms with its carries.
    pub(super) fn settled(&mut self, pin: usize, k: usize, r: Reduction) -> Option<NodeId> {
        let value = match r.carry {
            Some((carry, _)) => self.node(int::TOTAL, &[r.value, carry], r.span)?,
            None => r.value,
        };
        let column = self.builder.graph.pins[pin].column(k as u32);
        self.builder.name(value, || column);
        Some(value)
    }

    /// A use of an operator on scalars.
    fn node(&mut self, op: &'static dyn Operator, args: &[NodeId], span: Span) -> Option<NodeId> {
        let typed: Vec<Typed> = args.iter().map(|n| Typed::scalar(self.builder.graph.node(*n).format, *n)).collect();
        match self.each(op, &typed.iter().collect::<Vec<_>>(), Attrs::default(), span) {
            Value::Typed(typed) => Some(typed.node(0)),
            _ => None,
        }
    }
}
