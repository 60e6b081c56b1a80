//! `if`: every branch is built, and multiplexers choose among what they give (RULES L6, L8).

use super::scope::{Entry, Kind, NO_EXPR, Symbol};
use super::value::{Typed, Value};
use super::{Checker, Reduction, Slot};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::graph::NodeId;
use crate::syntax::ast::{Arm, Block, ExprId, Word};
use hdl::Reduce;
use hdl::op::{Attrs, compare};
use num_traits::Zero;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Values of one name, each with its condition, and the last for when none of these holds.
pub(super) struct Joined {
    arms: Vec<(Typed, Part)>,
    last: Part,
    /// The places of all of them.
    pub spans: Vec<Span>,
}

#[derive(Clone)]
struct Part {
    entry: Entry,
    expr: ExprId,
}

/// The outcome of a branch.
pub(super) struct End<'a> {
    /// `None` in the last branch, which is taken if no other is.
    condition: Option<Typed>,
    names: BTreeMap<&'a str, Symbol>,
    slots: BTreeMap<(usize, usize), Slot>,
    /// It ends with a `return`.
    returns: bool,
}

impl End<'_> {
    /// The outcome of reductions alone.
    pub(super) fn reducing(condition: Option<Typed>, slots: BTreeMap<(usize, usize), Slot>) -> Self {
        End { condition, names: BTreeMap::new(), slots, returns: false }
    }
}

/// Part of a path through a function: a condition, and whether it holds.
pub(super) type Step = (Typed, bool);

impl<'a> Checker<'a> {
    /// Gives whether every branch ends with a `return`.
    pub(super) fn branches(&mut self, arms: &'a [Arm<'a>], otherwise: Option<&'a Block<'a>>) -> bool {
        let mut ends: Vec<End<'a>> = Vec::new();
        let mut last = otherwise;
        let mut path = Vec::new();
        for (n, arm) in arms.iter().enumerate() {
            let value = self.tree(arm.condition);
            let known = match &value {
                Value::Typed(typed) => self.known_integer(typed).map(|n| !n.value.is_zero()),
                Value::Exact(number) => Some(!number.value.is_zero()),
                _ => None,
            };
            if let Value::Error = value {
                self.doubt_branches(&arms[n..], otherwise);
                return false;
            }
            let Some(condition) = self.truth(value, arm.condition.root) else {
                self.doubt_branches(&arms[n..], otherwise);
                return false;
            };
            if let Some(holds) = known {
                if holds {
                    arms[n + 1..].iter().for_each(|a| self.resolve_block(&[], &a.body));
                    otherwise.iter().for_each(|block| self.resolve_block(&[], block));
                    last = Some(&arm.body);
                    break;
                }
                self.resolve_block(&[], &arm.body);
                continue;
            }
            path.push((condition.clone(), true));
            let end = self.branch(Some(condition), &arm.body, &path);
            // What follows is reached only if the condition does not hold; after a `return` that goes without saying.
            path.pop();
            if !end.returns {
                path.push((end.condition.clone().expect("this branch has one"), false));
            }
            ends.push(end);
        }
        let end = match last {
            // Known at compile time: as if it stood there without the `if`.
            Some(block) if ends.is_empty() => return self.chosen(block),
            Some(block) => self.branch(None, block, &path),
            None if ends.is_empty() => return false,
            None => End::reducing(None, BTreeMap::new()),
        };
        ends.push(end);
        self.join_names(&ends);
        self.join_slots(&ends);
        ends.iter().all(|e| e.returns)
    }

    fn doubt_branches(&mut self, arms: &'a [Arm<'a>], otherwise: Option<&'a Block<'a>>) {
        arms.iter().for_each(|arm| self.doubt(&arm.body.statements));
        otherwise.iter().for_each(|block| self.doubt(&block.statements));
    }

    /// The only branch that can be taken. Names that it assigns have their values.
    fn chosen(&mut self, block: &'a Block<'a>) -> bool {
        self.open_block(true);
        let returns = self.block(&block.statements);
        for (name, symbol) in self.close_block() {
            self.settle_name(name, symbol.span, symbol.entry, symbol.expr, symbol.kind);
        }
        returns
    }

    fn branch(&mut self, condition: Option<Typed>, block: &'a Block<'a>, path: &[Step]) -> End<'a> {
        self.open_block(true);
        self.slots_before.push(BTreeMap::new());
        let steps = self.calls.last_mut().map_or(0, |call| {
            call.path.extend(path.iter().cloned());
            call.path.len() - path.len()
        });
        let returns = self.block(&block.statements);
        if let Some(call) = self.calls.last_mut() {
            call.path.truncate(steps);
        }
        let names = self.close_block();
        let mut slots = BTreeMap::new();
        for ((pin, k), before) in self.slots_before.pop().unwrap_or_default() {
            slots.insert((pin, k), std::mem::replace(&mut self.slots[pin][k], before));
        }
        End { condition, names, slots, returns }
    }

    /// Gives names the values that they have after the `if`.
    fn join_names(&mut self, ends: &[End<'a>]) {
        let ends: Vec<&End> = ends.iter().filter(|e| !e.returns).collect();
        let names: BTreeSet<&'a str> = ends.iter().flat_map(|e| e.names.keys().copied()).collect();
        let Some((last, arms)) = ends.split_last() else { return };
        for name in names {
            let outer = self.table().symbols.get(name).cloned();
            let symbol = |end: &End<'a>| end.names.get(name).cloned().or_else(|| outer.clone());
            let (Some(end), arms) = (symbol(last), arms.iter().map(|e| Some((e.condition.clone()?, symbol(e)?))))
            else {
                continue;
            };
            let Some(arms) = arms.collect::<Option<Vec<_>>>() else { continue };
            if arms.iter().map(|a| &a.1).chain([&end]).any(|s| s.kind != Kind::Value) {
                continue;
            }
            let spans: Vec<Span> = arms.iter().map(|a| &a.1).chain([&end]).map(|s| s.span).collect();
            let part = |s: Symbol| Part { entry: s.entry, expr: s.expr };
            let expr = end.expr;
            let arms: Vec<(Typed, Part)> = arms.into_iter().map(|(c, s)| (c, part(s))).collect();
            let joined = Joined { arms, last: part(end), spans };
            let span = joined.spans[0];
            let entry = match outer {
                Some(_) => self.settle(name, &joined),
                // What nobody reads need not fit together.
                None => Entry::Joined(Rc::new(joined)),
            };
            self.settle_name(name, span, entry, expr, Kind::Value);
        }
    }

    /// Enters what a name is after an `if`.
    fn settle_name(&mut self, name: &'a str, span: Span, entry: Entry, expr: ExprId, kind: Kind) {
        let word = Word { text: name, span };
        self.no_longer_left(name);
        if self.table().symbols.contains_key(name) {
            self.rebind(word, entry, expr);
        } else {
            self.define(word, entry, kind, expr);
        }
    }

    /// The value that a name has after an `if`.
    pub(super) fn settle(&mut self, name: &'a str, joined: &Joined) -> Entry {
        joined.spans.iter().for_each(|s| {
            self.used.insert(s.start);
        });
        let mut value = joined.last.clone();
        for (condition, part) in joined.arms.iter().rev() {
            let expr = if part.expr == NO_EXPR { value.expr } else { part.expr };
            value = Part { entry: self.join((name, joined.spans[0]), condition, part.clone(), value), expr };
        }
        if let Entry::Value(Value::Typed(typed)) = &value.entry {
            self.name_nodes(typed, name);
        }
        value.entry
    }

    /// One of two entries, as the condition says.
    fn join(&mut self, place: (&'a str, Span), condition: &Typed, a: Part, b: Part) -> Entry {
        let name = place.0;
        let [a, b] = [a, b].map(|part| match part.entry {
            Entry::Joined(joined) => Part { entry: self.settle(name, &joined), expr: part.expr },
            _ => part,
        });
        match (a.entry, b.entry) {
            (Entry::Elements(x), Entry::Elements(y)) if x.dims == y.dims => self.join_elements(place, condition, x, y),
            (Entry::Value(Value::Typed(x)), Entry::Elements(y)) if x.dims() == y.dims => {
                let x = super::elements::Elements::of(&x, a.expr);
                self.join_elements(place, condition, x, y)
            }
            (Entry::Elements(x), Entry::Value(Value::Typed(y))) if x.dims == y.dims() => {
                let y = super::elements::Elements::of(&y, b.expr);
                self.join_elements(place, condition, x, y)
            }
            (Entry::Value(x), Entry::Value(y)) => {
                Entry::of(self.join_values(name, condition, (x, a.expr), (y, b.expr)))
            }
            (Entry::Broken, _) | (_, Entry::Broken) => Entry::Broken,
            _ => {
                let message = format!("the arms of `{name}` after this `if` differ in shape");
                let error = Diagnostic::error(codes::LENGTHS, message, place.1, "assigned in one of them");
                self.error(error.help("give it the same shape in every branch"));
                Entry::Broken
            }
        }
    }

    pub(super) fn join_values(
        &mut self,
        name: &str,
        condition: &Typed,
        a: (Value, ExprId),
        b: (Value, ExprId),
    ) -> Value {
        match (&a.0, &b.0) {
            (Value::Error, _) | (_, Value::Error) => return Value::Error,
            (Value::Typed(x), Value::Typed(y)) if x.format == y.format && x.nodes() == y.nodes() => return a.0,
            (Value::Exact(x), Value::Exact(y)) if x == y => return a.0,
            _ => {}
        }
        let place = (self.span(a.1), format!("`{name}` after this `if`"));
        self.either(Some(condition.clone()), a, b, (place.0, &place.1))
    }

    /// Reduces into each output element what the branches reduce; a branch that does not gives what changes nothing.
    pub(super) fn join_slots(&mut self, ends: &[End<'a>]) {
        let keys: BTreeSet<(usize, usize)> = ends.iter().flat_map(|e| e.slots.keys().copied()).collect();
        // All places of a selection take one value.
        let mut joined: BTreeMap<(u32, u32), Reduction> = BTreeMap::new();
        for (pin, k) in keys {
            let slots: Vec<Option<Slot>> = ends.iter().map(|e| e.slots.get(&(pin, k)).copied()).collect();
            let filled: Option<Vec<Option<Reduction>>> = slots
                .iter()
                .map(|slot| match slot {
                    Some(Slot::Filled(reduction)) => Some(Some(*reduction)),
                    Some(Slot::Broken) => None,
                    Some(Slot::Empty) | None => Some(None),
                })
                .collect();
            let ranked = filled.as_ref().and_then(|f| match f.iter().flatten().next()?.reduce {
                Reduce::Ranked(place) => Some(place),
                _ => None,
            });
            let earlier = ranked.and_then(|p| joined.get(&(p.selection, p.member)).copied());
            let alike = filled.as_ref().is_some_and(|f| {
                f.iter().flatten().all(|r| ranked.is_some_and(|place| r.reduce == Reduce::Ranked(place)))
            });
            let slot = match (earlier, ranked) {
                (Some(earlier), Some(place)) if alike => Some(Reduction { reduce: Reduce::Ranked(place), ..earlier }),
                _ => filled.and_then(|f| self.join_reductions(pin, k, ends, &f)),
            };
            if let (Some(place), Some(slot)) = (ranked, slot) {
                joined.entry((place.selection, place.member)).or_insert(slot);
            }
            match slot {
                Some(reduction) => {
                    self.gathered((pin, k), reduction);
                }
                None => self.set_slot(pin, k, Slot::Broken),
            }
        }
    }

    fn join_reductions(
        &mut self,
        pin: usize,
        k: usize,
        ends: &[End<'a>],
        filled: &[Option<Reduction>],
    ) -> Option<Reduction> {
        let first = filled.iter().flatten().next().copied()?;
        if let Some(other) = filled.iter().flatten().find(|r| r.reduce != first.reduce) {
            let own = &self.builder.graph.pins[pin];
            let column = if k < own.elements() as usize { own.column(k as u32) } else { own.name.clone() };
            if [first.reduce, other.reduce].iter().any(|r| matches!(r, Reduce::Ranked(_))) {
                self.unequal_selections(&column, [first.span, other.span]);
                return None;
            }
            let message = format!("`{column}` has `{}` in one branch and `{}` in another", first.reduce, other.reduce);
            let error = Diagnostic::error(codes::REDUCED_TWICE, message, other.span, "reduced in another way")
                .label(first.span, "first reduced here")
                .help("an output has one kind of reduction: write the same in every branch, or declare another output");
            self.error(error);
            return None;
        }
        let format = self.builder.graph.pins[pin].format;
        if first.at.is_some() {
            return self.join_indexed(ends, filled, first);
        }
        let conditions: Vec<Option<Typed>> = ends.iter().map(|end| end.condition.clone()).collect();
        let values: Vec<Option<NodeId>> = filled.iter().map(|r| r.map(|r| r.value)).collect();
        let value = self.choose_terms(&conditions, &values, (format, first.reduce.identity(format)), first.span)?;
        let carry = self.join_carries(&conditions, filled, first.span)?;
        let column = self.builder.graph.pins[pin].column(k as u32);
        self.builder.name(value, || column);
        Some(Reduction { value, carry, ..first })
    }

    /// The same of a reduction by an index known at run time: a branch without one has no place, and its value is never asked for.
    fn join_indexed(&mut self, ends: &[End<'a>], filled: &[Option<Reduction>], first: Reduction) -> Option<Reduction> {
        let mut joined: Option<(NodeId, NodeId)> =
            filled.last().copied().flatten().and_then(|r| Some((r.at?, r.value)));
        let none = self.no_place(first.at?, first.span);
        for (end, reduction) in ends.iter().zip(filled).rev().skip(1) {
            let Some(condition) = &end.condition else { continue };
            let own = reduction.and_then(|r| Some((r.at?, r.value)));
            let mut choose = |a: NodeId, b: NodeId| {
                if a == b {
                    return Some(a);
                }
                let format = self.builder.graph.node(a).format;
                let [a, b] = [a, b].map(|n| Typed::scalar(format, n));
                match self.each(compare::MUX, &[condition, &a, &b], Attrs::default(), first.span) {
                    Value::Typed(typed) => Some(typed.node(0)),
                    _ => None,
                }
            };
            joined = match (own, joined) {
                (None, None) => None,
                (Some((at, value)), None) => Some((choose(at, none)?, value)),
                (None, Some((at, value))) => Some((choose(none, at)?, value)),
                (Some(own), Some(other)) => Some((choose(own.0, other.0)?, choose(own.1, other.1)?)),
            };
        }
        let (at, value) = joined?;
        Some(Reduction { at: Some(at), value, ..first })
    }
}
