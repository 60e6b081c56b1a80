//! Reductions into the element of an output at an index known only at run time (RULES L17).
//!
//! The value goes to the element that the index says, and each of the others takes what changes nothing. So the graph has a
//! comparison and a multiplexer for each element; [`crate::graph::Bins`] says what they are made of, for those that do better.

use super::statement::Target;
use super::tables::{Index, indices_of};
use super::value::{Dims, Value};
use super::{Checker, Reduction, Slot};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::graph::{Bins, NodeId, Output, Pin};
use crate::syntax::ast::{ExprId, Word};
use hdl::Reduce;
use hdl::op::table::PLACE;
use hdl::op::{Attrs, compare};

impl<'a> Checker<'a> {
    /// `target[index] += value` with an index known only at run time.
    pub(super) fn reduce_at(
        &mut self,
        (target, pin): (Word<'a>, usize),
        indices: &[Index],
        (reduce, subtracts): (Reduce, bool),
        (value, root): (Value, ExprId),
    ) {
        let own = &self.builder.graph.pins[pin];
        let (dims, declared) = (dims_of(own), own.span);
        let (count, columns) = (own.elements(), own.columns.unwrap_or(0));
        if indices.len() < indices_of(dims) {
            let message = format!("`{}` has an index known only at run time, and takes one number", target.text);
            let error = Diagnostic::error(codes::VECTOR, message, target.span, "a row is reduced here")
                .label(declared, "declared here");
            self.error(error.help("give an index for each pair of brackets"));
            return self.spoil_all(pin);
        }
        let nodes = self.index_nodes(dims, indices, target);
        let to = Target { pin, first: 0, dims: Dims::Scalar, reduce, subtracts };
        let typed = self.reduced_value(&to, value, root, target);
        let (Some(nodes), Some(typed)) = (nodes, typed) else { return self.spoil_all(pin) };
        let rows = count.checked_div(columns).unwrap_or(count);
        let attrs = Attrs { n: rows as i32, d: columns as i32, ..Attrs::default() };
        let at = match self.builder.op(PLACE, &nodes, attrs, target.span) {
            Ok(at) => at,
            Err(why) => {
                let error = Diagnostic::error(codes::NOT_DEFINED, why, target.span, "not possible");
                self.error(error.help("an index is an int or uint"));
                return self.spoil_all(pin);
            }
        };
        let term = Reduction { reduce, value: typed.node(0), at: Some(at), carry: None, span: target.span };
        let term = if subtracts { self.taken_away((pin, count as usize), term) } else { Some(term) };
        let Some(term) = term else { return self.spoil_all(pin) };
        self.gathered((pin, count as usize), term);
    }

    fn spoil_all(&mut self, pin: usize) {
        (0..self.slots[pin].len()).for_each(|k| self.set_slot(pin, k, Slot::Broken));
    }

    /// The outputs of a pin that is reduced by an index known at run time.
    pub(super) fn indexed_outputs(&mut self, pin: usize, reduction: Reduction) {
        let own = &self.builder.graph.pins[pin];
        let (format, count, name) = (own.format, own.elements(), own.name.clone());
        if let Some(Slot::Filled(other)) =
            self.slots[pin][..count as usize].iter().find(|s| matches!(s, Slot::Filled(_)))
        {
            let message = format!("`{name}` has an index known at run time, and one that is not");
            let error = Diagnostic::error(codes::REDUCED_TWICE, message, reduction.span, "reduced here")
                .label(other.span, "and here")
                .help("declare another output for one of the two");
            return self.error(error);
        }
        let Some(at) = reduction.at else { return };
        let (span, place) = (reduction.span, self.builder.graph.node(at).format);
        let mark = 1u64 << (place.width() - 1);
        let nothing = self.builder.constant(reduction.reduce.identity(format), format, span);
        for element in 0..count {
            let here = self.builder.constant(mark | element as u64, place, span);
            let both = |c: &mut Self, op, args: &[NodeId]| {
                c.builder.op(op, args, Attrs::default(), span).expect("formats that are equal")
            };
            let is_here = both(self, compare::EQ, &[at, here]);
            let value = both(self, compare::MUX, &[is_here, reduction.value, nothing]);
            let column = self.builder.graph.pins[pin].column(element);
            self.builder.name(value, || column);
            self.builder.graph.outputs.push(Output { pin, element, reduce: reduction.reduce, value });
        }
        if self.builder.is_full() {
            self.too_large(span);
        }
        if reduction.reduce == Reduce::Sum {
            self.builder.graph.bins.push(Bins { pin, at, value: reduction.value });
        }
    }

    /// Of two branches the place and the value, where a branch without a reduction has no place.
    pub(super) fn no_place(&mut self, like: NodeId, span: Span) -> NodeId {
        let format = self.builder.graph.node(like).format;
        self.builder.constant(0, format, span)
    }
}

/// The shape of a pin.
pub(super) fn dims_of(pin: &Pin) -> Dims {
    match (pin.len, pin.columns) {
        (None, _) => Dims::Scalar,
        (Some(n), None) => Dims::Vector(n as usize),
        (Some(n), Some(columns)) => Dims::Matrix((n / columns) as usize, columns as usize),
    }
}
