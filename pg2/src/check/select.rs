//! Selections: `(best, who) min= (key, payload);` (RULES L14).

use super::Checker;
use super::bins::dims_of;
use super::statement::Target;
use super::value::{Dims, Typed, Value};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::graph::Output;
use crate::syntax::ast::{ExprId, Place, Tree, Word};
use hdl::Reduce;
use hdl::number::reduce::Ranked;
use std::collections::BTreeMap;

/// Outputs that a selection fills: two statements with the same shape, in two branches of an `if`, are one selection.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Selected {
    greatest: bool,
    ranks: usize,
    /// Pin, first element and elements of a rank, of the key and of each payload.
    outputs: Vec<(usize, usize, usize)>,
}

impl<'a> Checker<'a> {
    pub(super) fn gather_selection(&mut self, targets: &'a [Place<'a>], reduce: Reduce, values: &[Tree]) {
        let values: Vec<(Value, ExprId)> = values.iter().map(|t| (self.tree(*t), t.root)).collect();
        let mut outputs = Vec::new();
        for (target, (value, root)) in targets.iter().zip(&values) {
            let indices = target.indices.iter().map(|t| (self.tree(*t), self.span(t.root))).collect();
            if self.calls.is_empty() && self.may_rebind(target.name.text) {
                self.selects_value(target, reduce);
                continue;
            }
            let Some(pin) = self.output(target.name, value, *root) else { continue };
            outputs.extend(self.aim((target.name, pin), indices, (reduce, false)));
        }
        let filled = if outputs.len() == targets.len() { self.selection(&outputs, targets, values) } else { None };
        if filled.is_none() && self.calls.is_empty() {
            for target in targets {
                if !self.may_rebind(target.name.text) {
                    self.broken(target.name);
                }
            }
        }
    }

    /// A selection of values that a block gathers.
    fn selects_value(&mut self, target: &Place<'a>, reduce: Reduce) {
        let name = target.name.text;
        let message = format!("`{name}` is no output: only outputs keep payloads");
        let test = if reduce == Reduce::Max { '>' } else { '<' };
        let error = Diagnostic::error(codes::NOT_OUTPUT, message, target.name.span, "a value from outside the block");
        self.error(error.help(format!(
            "compare, and choose each value: `better = key {test} best; who = better ? payload : who; best = better ? key : best;`"
        )));
    }

    /// Enters what each output takes.
    fn selection(&mut self, to: &[Target], targets: &[Place<'a>], values: Vec<(Value, ExprId)>) -> Option<()> {
        let ranks = match to[0].dims {
            Dims::Scalar => None,
            Dims::Vector(n) => Some(n),
            Dims::Matrix(..) => {
                let name = targets[0].name;
                let message = format!("`{}` is a matrix: it keeps no keys in order", name.text);
                let error = Diagnostic::error(codes::VECTOR, message, name.span, "the key goes here");
                self.error(error.help(format!("name one of its rows: `{}[0]`", name.text)));
                return None;
            }
        };
        let mut selected =
            Selected { greatest: to[0].reduce == Reduce::Max, ranks: ranks.unwrap_or(1), outputs: Vec::new() };
        let mut members: Vec<Typed> = Vec::new();
        for ((to, target), (value, root)) in to.iter().zip(targets).zip(values) {
            let dims = match ranks {
                None => to.dims,
                Some(n) => match to.dims.inner() {
                    Some((inner, count)) if count == n => inner,
                    _ => return self.unequal_ranks(target, to, n),
                },
            };
            let one = Target { dims, ..*to };
            if let Value::Typed(typed) = &value
                && typed.dims() != dims
            {
                return self.unequal_shapes(target, (to, dims), typed.dims(), self.span(root));
            }
            members.push(self.reduced_value(&one, value, root, target.name)?);
            selected.outputs.push((to.pin, to.first, dims.elements()));
        }
        let number = self.selected.iter().position(|s| *s == selected).unwrap_or_else(|| {
            self.selected.push(selected.clone());
            self.selected.len() - 1
        });
        let mut first_member = 0;
        for ((to, target), (typed, (_, _, count))) in to.iter().zip(targets).zip(members.iter().zip(&selected.outputs))
        {
            for rank in 0..selected.ranks {
                let place = |k: usize| {
                    let [selection, member, rank] = [number, first_member + k, rank].map(|n| n as u32);
                    Reduce::Ranked(Ranked { selection, member, rank, greatest: selected.greatest })
                };
                let one = Target { first: to.first + rank * count, dims: typed.dims(), ..*to };
                self.fill(&one, typed, target.name, place);
            }
            first_member += count;
        }
        Some(())
    }

    /// A value of another shape than the output has for each pair.
    fn unequal_shapes(&mut self, target: &Place<'a>, to: (&Target, Dims), found: Dims, span: Span) -> Option<()> {
        let (name, (to, wanted)) = (target.name.text, to);
        let code = if found == Dims::Scalar || wanted == Dims::Scalar { codes::VECTOR } else { codes::LENGTHS };
        let message = format!("`{name}` takes {} of each pair, not {}", wanted.words(), found.words());
        let error = Diagnostic::error(code, message, span, format!("this is {}", found.words()))
            .label(self.builder.graph.pins[to.pin].span, "declared here");
        let one = match found {
            Dims::Scalar => name.to_string(),
            Dims::Vector(n) => format!("{name}[{n}]"),
            Dims::Matrix(rows, columns) => format!("{name}[{rows}][{columns}]"),
        };
        self.error(error.help(match to.dims.inner() {
            _ if found == to.dims => format!(
                "the elements of `{name}` are those of the best pairs, in order: give what one pair is judged by, such as `v[0]`"
            ),
            Some((inner, n)) if inner == found && wanted == to.dims => format!(
                "the first output keeps one pair: declare that with {n} elements to keep {n} in order, or this one as `{one}`"
            ),
            _ => format!("give {} for each pair, or declare the output for what you have", wanted.words()),
        }));
        None
    }

    fn unequal_ranks(&mut self, target: &Place<'a>, to: &Target, ranks: usize) -> Option<()> {
        let name = target.name.text;
        let message = format!("`{name}` is {}, and the first output keeps {ranks}", to.dims.words());
        let declared = self.builder.graph.pins[to.pin].span;
        let error = Diagnostic::error(codes::LENGTHS, message, target.name.span, "another number of places")
            .label(declared, "declared here");
        self.error(
            error.help(format!(
                "declare it as `{name}[{ranks}]`, or `{name}[{ranks}][n]` for a payload that is a vector"
            )),
        );
        None
    }

    /// Counts the selections in the order of the outputs, without those that no output has.
    pub(super) fn number_selections(outputs: &mut [Output]) {
        let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
        for output in outputs {
            if let Reduce::Ranked(place) = &mut output.reduce {
                let next = numbers.len() as u32;
                place.selection = *numbers.entry(place.selection).or_insert(next);
            }
        }
    }

    /// Two reductions of one element, of which one is a selection, as the branches of an `if` have them.
    pub(super) fn unequal_selections(&mut self, column: &str, spans: [Span; 2]) {
        let message = format!("`{column}` stands beside other outputs in one branch than in another");
        let error = Diagnostic::error(codes::REDUCED_TWICE, message, spans[1], "not as before")
            .label(spans[0], "first reduced here")
            .help("name the same outputs in the same order in every branch; one without the statement changes nothing");
        self.error(error);
    }

    /// The part of an output that indices name.
    pub(super) fn aim(
        &mut self,
        (target, pin): (Word<'a>, usize),
        indices: Vec<(Value, Span)>,
        (reduce, subtracts): (Reduce, bool),
    ) -> Option<Target> {
        let dims = dims_of(&self.builder.graph.pins[pin]);
        let mut to = Target { pin, first: 0, dims, reduce, subtracts };
        for (value, span) in indices {
            let Some((inner, count)) = to.dims.inner() else {
                let message = format!("`{}` has fewer indices than these", target.text);
                let message = if to.first == 0 && dims_of(&self.builder.graph.pins[pin]) == Dims::Scalar {
                    format!("`{}` is a scalar and has no elements", target.text)
                } else {
                    message
                };
                let error = Diagnostic::error(codes::INDEX_SCALAR, message, span, "an index on a scalar");
                self.error(error.help(format!("write `{} {reduce} ...`", target.text)));
                self.broken(target);
                return None;
            };
            let k = self.element((value, span), count, target.text)?;
            to.first += k * inner.elements();
            to.dims = inner;
        }
        Some(to)
    }
}
