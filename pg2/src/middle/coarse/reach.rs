//! The reach of a condition, for parameters of a run: found by asking the condition itself.

use super::monotone::{Bound, Monotone};
use super::{BELOW, Coarse, HOLDS_AT, NARROW, SHIFT_AT, SQUARED};
use crate::graph::{Graph, NodeId, NodeKind, PinClass};
use crate::middle::simplify::simplify;
use hdl::Flags;
use std::collections::HashMap;

/// The condition with parameters that are constants.
struct Asked<'a> {
    graph: &'a Graph,
    bounds: Vec<Bound>,
    /// The nodes that the bounds are made of, in order.
    cone: Vec<usize>,
    /// The nodes of the sources' coordinates, and of which axis.
    sources: HashMap<usize, usize>,
}

impl Asked<'_> {
    /// Whether all bounds hold of a pair with these differences, none of which is negative.
    fn holds(&self, differences: &[u64], values: &mut [u64]) -> bool {
        for &k in &self.cone {
            values[k] = match &self.graph.nodes[k].kind {
                NodeKind::Const { bits } => *bits,
                NodeKind::Pin { .. } => self.sources.get(&k).map_or(0, |axis| differences[*axis]),
                NodeKind::Op { op, inst, args } => {
                    let mut patterns = [0; hdl::op::MOST_ARGS];
                    patterns.iter_mut().zip(args).for_each(|(p, a)| *p = values[a.0 as usize]);
                    op.bits(inst, &patterns[..args.len()]).0
                }
            };
        }
        self.bounds.iter().all(|b| values[b.node.0 as usize] == b.holds)
    }
}

/// The least magnitude of a difference that leaves these squared bits of narrow coordinates, from bit `shift` on.
fn least(squared: u64, shift: u32) -> u64 {
    // A difference of coordinates without their low bits may be one too large.
    match squared {
        0 => 0,
        _ => (((squared << BELOW) - 1) << shift) + 1,
    }
}

impl Coarse {
    /// The word that tells filters which differences are within reach, for parameters in the order of the record, of which that word
    /// itself does not matter. It is 0, which lets all pairs pass, where a pair that is out of reach might raise a flag, and where
    /// nearly all are within reach.
    pub fn reach(&self, params: &[u64]) -> u64 {
        let places = self.asked.elements_of(PinClass::Param);
        let mut graph = self.asked.clone();
        for node in &mut graph.nodes {
            if let NodeKind::Pin { pin, element } = node.kind
                && let Some(at) = places.iter().position(|p| *p == (pin, element))
            {
                node.kind = NodeKind::Const { bits: params[at] };
            }
        }
        let graph = simplify(&graph.bound(params, false).unwrap_or(graph));
        if graph.raises(Flags(!0)) {
            return 0;
        }
        let Monotone { bounds, .. } = Monotone::of(&graph, true);
        let known = |b: &Bound| b.axes.iter().all(|axis| self.axes.contains(axis));
        let bounds: Vec<Bound> = bounds.into_iter().filter(known).collect();
        if bounds.is_empty() {
            return 0;
        }
        let asked = Asked { cone: cone(&graph, &bounds), sources: self.sources(&graph), graph: &graph, bounds };
        self.word(&asked)
    }

    /// The nodes of the coordinates of sources; those of targets are 0.
    fn sources(&self, graph: &Graph) -> HashMap<usize, usize> {
        let axis = |k: usize| match graph.nodes[k].kind {
            NodeKind::Pin { pin, element } => self.axes.iter().position(|a| a.source == (pin, element)),
            _ => None,
        };
        (0..graph.nodes.len()).filter_map(|k| Some((k, axis(k)?))).collect()
    }

    fn word(&self, asked: &Asked) -> u64 {
        let values = &mut vec![0; asked.graph.nodes.len()];
        let mut at = vec![0; self.axes.len()];
        // What is beyond the squared bits is out of reach on any axis.
        let mut beyond = |shift: u32| {
            (0..self.axes.len()).all(|axis| {
                at.fill(0);
                at[axis] = least(1 << SQUARED, shift);
                !asked.holds(&at, values)
            })
        };
        let Some(shift) = (0..=self.format.width() - NARROW).find(|shift| beyond(*shift)) else { return 0 };
        let mut search = Search { asked, shift, at: vec![0; self.axes.len()], values, most: 0 };
        search.axis(0, 0, (1 << SQUARED) - 1);
        1 << HOLDS_AT | u64::from(shift) << SHIFT_AT | search.most
    }
}

/// The nodes that the bounds are made of.
fn cone(graph: &Graph, bounds: &[Bound]) -> Vec<usize> {
    let mut within = vec![false; graph.nodes.len()];
    bounds.iter().for_each(|b| within[b.node.0 as usize] = true);
    for k in (0..graph.nodes.len()).rev() {
        if let (true, NodeKind::Op { args, .. }) = (within[k], &graph.nodes[k].kind) {
            args.iter().for_each(|NodeId(a)| within[*a as usize] = true);
        }
    }
    (0..within.len()).filter(|k| within[*k]).collect()
}

/// The search for the greatest sum of squares within reach.
struct Search<'a> {
    asked: &'a Asked<'a>,
    shift: u32,
    at: Vec<u64>,
    values: &'a mut Vec<u64>,
    most: u64,
}

impl Search<'_> {
    /// Tries all squared bits of the axes from this one on, whose own are at most `top`, beside a sum of squares of those before. Gives
    /// the greatest ones of this axis that are within reach where those behind are 0. As an axis grows, those of the next one can
    /// only shrink.
    fn axis(&mut self, axis: usize, sum: u64, mut top: u64) -> Option<u64> {
        let last = axis + 1 == self.at.len();
        if last {
            loop {
                self.at[axis] = least(top, self.shift);
                if self.asked.holds(&self.at, self.values) {
                    self.most = self.most.max(sum + top * top);
                    return Some(top);
                }
                top = top.checked_sub(1)?;
            }
        }
        let mut greatest = None;
        let mut next = (1 << SQUARED) - 1;
        for squared in 0..=top {
            self.at[axis] = least(squared, self.shift);
            let Some(found) = self.axis(axis + 1, sum + squared * squared, next) else { break };
            (greatest, next) = (Some(squared), found);
        }
        self.at[axis] = 0;
        greatest
    }
}
