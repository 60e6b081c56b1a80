//! How the flags of a pair come together: a bit for each flag that goes on every K clocks and gathers what its pair raises
//! meanwhile.
//!
//! The cycles of a pair are cut into windows of K. In each window one register belongs to the pair. A flag that counts under a
//! condition is gathered apart, and ANDed with it in the end.

use super::Folded;
use crate::graph::{Demand, Graph, NodeId, NodeKind};
use hdl::Flags;
use std::collections::BTreeMap;

/// A flag bit of a unit or node, in the slots in which it is raised for one window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// A node whose operator, its own or a unit's, has the port; and the port's bit.
    pub node: usize,
    pub bit: u32,
    /// The window, and the slots in it.
    pub window: u32,
    pub slots: Vec<u32>,
}

/// The registers of one flag under one condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// Index into [`Flags::NAMES`].
    pub flag: usize,
    /// The node under which it counts, if there is one.
    pub when: Option<usize>,
    pub terms: Vec<Term>,
    /// The window in which it begins; all end in the pair's last one.
    pub first: u32,
    /// Nodes that raise the flag and stand still.
    pub still: Vec<(usize, u32)>,
}

/// Where a flag is raised: the unit, or the node that has hardware of its own, the bit of its port, and the window.
type Place = (Result<usize, usize>, u32, u32);

/// The sources known of a flag and a condition.
#[derive(Default)]
struct Gathered {
    /// By place a node that raises it there, and the slots.
    terms: BTreeMap<Place, (usize, Vec<u32>)>,
    still: Vec<(usize, u32)>,
}

/// The bit of a unit's flag port that a use's flag has; the unit may have more flags than the use.
pub(super) fn port_bit(flags: Flags, flag: Flags) -> u32 {
    flags.iter().position(|f| f == flag).expect("a unit raises what its uses can") as u32
}

pub(super) fn chains(graph: &Graph, folded: &Folded) -> Vec<Chain> {
    let mut all: BTreeMap<(usize, Option<usize>), Gathered> = BTreeMap::new();
    for (k, node) in graph.nodes.iter().enumerate() {
        let NodeKind::Op { op, inst, .. } = &node.kind else { continue };
        let when = match graph.demand(NodeId(k as u32)) {
            Demand::Always => None,
            Demand::When(condition) => Some(condition.0 as usize),
            Demand::Never => continue,
        };
        let port = folded.flags_of(graph, k);
        for flag in op.flags(inst).iter() {
            let of = all.entry((flag.0.ilog2() as usize, when)).or_default();
            let bit = port_bit(port, flag);
            if folded.fixed[k] {
                of.still.push((k, bit));
                continue;
            }
            let cycle = folded.ready(k);
            let key = (folded.unit[k].ok_or(k), bit, cycle / folded.ii);
            of.terms.entry(key).or_insert((k, Vec::new())).1.push(cycle % folded.ii);
        }
    }
    let last = folded.depth() / folded.ii;
    let chain = |((flag, when), of): ((usize, Option<usize>), Gathered)| {
        let terms: Vec<Term> =
            of.terms.into_iter().map(|((_, bit, window), (node, slots))| Term { node, bit, window, slots }).collect();
        let first = terms.iter().map(|t| t.window).min().unwrap_or(last);
        Chain { flag, when, terms, first, still: of.still }
    };
    all.into_iter().map(chain).collect()
}

impl Folded {
    /// Registers of the flags on their way, a bit each.
    pub fn flag_bits(&self) -> u64 {
        let last = self.depth() / self.ii;
        self.flags.iter().filter(|c| !c.terms.is_empty()).map(|c| (last + 1 - c.first) as u64).sum()
    }

    /// The flags that the hardware of a node raises: those of its own use, or of its unit's.
    pub fn flags_of(&self, graph: &Graph, node: usize) -> Flags {
        let flags = |k: usize| match &graph.nodes[k].kind {
            NodeKind::Op { op, inst, .. } => op.flags(inst),
            _ => Flags::NONE,
        };
        match self.unit[node] {
            None => flags(node),
            Some(unit) => self.kinds[self.units[unit].kind].flags,
        }
    }

    /// Whether every flag that counts is gathered once, in the cycle in which it is raised.
    pub(super) fn check_flags(&self, graph: &Graph) -> Result<(), String> {
        let mut gathered: BTreeMap<(usize, u32, Result<usize, usize>, u32), u32> = BTreeMap::new();
        let last = self.depth() / self.ii;
        for chain in &self.flags {
            if let Some(w) = chain.when.filter(|w| !self.fixed[*w])
                && self.ready(w) > self.depth()
            {
                return Err(format!("condition %{w} is read before it is there"));
            }
            for term in &chain.terms {
                if !(chain.first..=last).contains(&term.window) {
                    return Err(format!("a flag of %{} is raised outside of its chain", term.node));
                }
                for slot in &term.slots {
                    let from = self.unit[term.node].ok_or(term.node);
                    *gathered.entry((chain.flag, term.bit, from, term.window * self.ii + slot)).or_default() += 1;
                }
            }
        }
        for (k, node) in graph.nodes.iter().enumerate().filter(|(k, _)| !self.fixed[*k]) {
            let NodeKind::Op { op, inst, .. } = &node.kind else { continue };
            for flag in op.flags(inst).iter().filter(|_| graph.demand(NodeId(k as u32)) != Demand::Never) {
                let bit = port_bit(self.flags_of(graph, k), flag);
                let key = (flag.0.ilog2() as usize, bit, self.unit[k].ok_or(k), self.ready(k));
                if gathered.get(&key) != Some(&1) {
                    return Err(format!("a flag of %{k} is gathered {:?} times", gathered.get(&key)));
                }
            }
        }
        Ok(())
    }
}
