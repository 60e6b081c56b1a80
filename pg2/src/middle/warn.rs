//! Warnings about values: what can leave its format or lose bits, and what is always the same.
//!
//! They follow from the ranges of values alone, which for a pin are those of its format. An int or fixed pin is mostly a
//! wide enough container, so the judgement is generous where nothing more is known; see `range`.

mod always;
mod range;

use crate::diag::{Diagnostic, Span};
use crate::graph::{Graph, NodeKind};
use crate::middle::simplify::{known, live};
use std::collections::{HashMap, HashSet};

/// All warnings about the values that reach an output.
pub(crate) fn warnings(graph: &Graph) -> Vec<Diagnostic> {
    let mut graph = live(graph);
    let zeros = trailing_zeros(&graph);
    let mut found = Found::default();
    known::mark_with(&mut graph, range::generous);
    range::judge(&graph, &zeros, &mut found);
    known::mark(&mut graph);
    always::judge(&graph, &zeros, &mut found);
    found.all
}

/// Findings, one for each code and place: the elements of a vector and the rounds of a loop have one place.
#[derive(Default)]
struct Found {
    all: Vec<Diagnostic>,
    places: HashSet<(&'static str, Span)>,
}

impl Found {
    fn add(&mut self, finding: Diagnostic) {
        if self.places.insert((finding.code, finding.span())) {
            self.all.push(finding);
        }
    }
}

/// Whether each node depends on constants alone.
fn constants(graph: &Graph) -> Vec<bool> {
    let mut constant: Vec<bool> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        constant.push(match &node.kind {
            NodeKind::Pin { .. } => false,
            NodeKind::Const { .. } => true,
            NodeKind::Op { args, .. } => args.iter().all(|a| constant[a.0 as usize]),
        });
    }
    constant
}

/// For each int or fixed node the number of low bits that are always 0.
fn trailing_zeros(graph: &Graph) -> Vec<u32> {
    let mut zeros: Vec<u32> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let count = match &node.kind {
            NodeKind::Pin { .. } => 0,
            NodeKind::Const { bits } => bits.trailing_zeros(),
            NodeKind::Op { op, inst, args } => {
                let of_args: Vec<u32> = args.iter().map(|a| zeros[a.0 as usize]).collect();
                op.low_zeros(inst, &of_args)
            }
        };
        zeros.push(count.min(node.format.width()));
    }
    zeros
}

/// Keeps what holds at a place in every copy of it: all elements of a vector, all rounds of a loop.
#[derive(Default)]
struct Everywhere<T> {
    places: HashMap<Span, Option<T>>,
    order: Vec<Span>,
}

impl<T: PartialEq + Copy> Everywhere<T> {
    /// A copy with its verdict, `None` for an open one.
    fn see(&mut self, span: Span, verdict: Option<T>) {
        match self.places.get_mut(&span) {
            Some(known) if *known != verdict => *known = None,
            Some(_) => {}
            None => {
                self.places.insert(span, verdict);
                self.order.push(span);
            }
        }
    }

    /// The places whose copies agree, in order.
    fn agreed(&self) -> impl Iterator<Item = (Span, T)> {
        self.order.iter().filter_map(|span| Some((*span, self.places[span]?)))
    }
}
