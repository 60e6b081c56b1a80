//! The fewest delay bits for a given depth, exactly.
//!
//! With x_v the start of node v and e_v the cycle in which the last user of its value reads it, the bits are the sum over v of
//! width_v (e_v - x_v - latency_v), under x_u >= x_v + latency_v and e_v >= x_u for each user u. That is a problem of differences
//! (Leiserson & Saxe 1991), solved by [`hdl::circuit::simplex`].

use super::{Schedule, delay_bits};
use crate::graph::{Demand, Graph, NodeId, NodeKind};
use hdl::circuit::simplex::Problem;

/// Steps that the search may take: several times those of the largest kernel that is shipped.
const MOST_STEPS: u64 = 50_000_000;

/// Moves the nodes of a feasible schedule so that the delay bits are least; gives the bits that the dual proves to be least.
/// In graphs so large that the search is given up, the bits come near to what the dual has proved until then.
pub(super) fn least(graph: &Graph, s: &mut Schedule) -> u64 {
    let latest = alap(graph, s);
    let mut p = Problem::new();
    // The variable of each node's start; pins start with the ground.
    let variable: Vec<usize> = (0..graph.nodes.len())
        .map(|k| match graph.nodes[k].kind {
            NodeKind::Op { .. } if !s.fixed[k] => p.variable(s.start[k] as i64, Some(latest[k] as i64)),
            _ => 0,
        })
        .collect();
    let users = users(graph, s);
    // The sum's part that no variable changes.
    let mut constant = 0i64;
    for (k, node) in graph.nodes.iter().enumerate() {
        let Users { nodes, flags, output } = &users[k];
        let (width, latency) = (node.format.width() as i64, s.latency[k] as i64);
        if nodes.is_empty() && flags.is_empty() && !*output {
            continue;
        }
        for u in nodes.iter().filter(|_| variable[k] != 0) {
            p.constrain(variable[k], variable[*u], latency);
        }
        p.weight[variable[k]] -= width;
        constant -= width * latency;
        match nodes.as_slice() {
            [u] if !*output && flags.is_empty() => p.weight[variable[*u]] += width,
            // The output reads last.
            _ if *output => constant += width * s.depth as i64,
            many => {
                let reads = many.iter().map(|u| s.start[*u]).chain(flags.iter().map(|u| s.start[*u] + s.latency[*u]));
                let first = reads.chain([s.ready(NodeId(k as u32))]).max().expect("there is the value itself");
                let end = p.variable(first as i64, None);
                p.weight[end] += width;
                many.iter().for_each(|u| p.constrain(variable[*u], end, 0));
                // A flag may be there before its condition.
                flags.first().iter().for_each(|_| p.constrain(variable[k], end, latency));
                flags.iter().for_each(|u| p.constrain(variable[*u], end, s.latency[*u] as i64));
            }
        }
    }
    p.weight[0] = 0;
    let solution = p.solve_within(MOST_STEPS);
    let mut start = s.start.clone();
    for (k, v) in variable.iter().enumerate().filter(|(_, v)| **v != 0) {
        start[k] = solution.x[*v] as u32;
    }
    if solution.solved {
        s.start = start;
        s.delay_bits = delay_bits(graph, s);
    } else {
        *s = best_of(graph, s, [start, latest.clone()]);
    }
    (solution.cost + constant) as u64
}

/// The one with the fewest delay bits of a schedule and of those that come from wishes for the starts, each put off or brought
/// forward as far as its arguments and its users demand.
fn best_of(graph: &Graph, s: &Schedule, wishes: [Vec<u32>; 2]) -> Schedule {
    let latest = alap(graph, s);
    let bits = |s: &Schedule| s.delay_bits.iter().sum::<u64>();
    let mut best = s.clone();
    best.delay_bits = delay_bits(graph, &best);
    for wish in wishes {
        let mut made = s.clone();
        for (k, node) in graph.nodes.iter().enumerate().filter(|(k, _)| !s.fixed[*k]) {
            if let NodeKind::Op { args, .. } = &node.kind {
                let waits = args.iter().filter(|a| !s.fixed[a.0 as usize]);
                let there = waits.map(|a| made.ready(*a)).max().unwrap_or(0);
                made.start[k] = wish[k].min(latest[k]).max(there);
            }
        }
        made.delay_bits = delay_bits(graph, &made);
        if bits(&made) < bits(&best) {
            best = made;
        }
    }
    best
}

/// Who reads a value in flight.
#[derive(Clone, Default)]
struct Users {
    nodes: Vec<usize>,
    /// Nodes whose flags count where the value is 1.
    flags: Vec<usize>,
    output: bool,
}

fn users(graph: &Graph, s: &Schedule) -> Vec<Users> {
    let mut users = vec![Users::default(); graph.nodes.len()];
    for (k, node) in graph.nodes.iter().enumerate() {
        if let NodeKind::Op { args, .. } = &node.kind {
            for a in args.iter().map(|a| a.0 as usize).filter(|a| !s.fixed[*a]) {
                if users[a].nodes.last() != Some(&k) {
                    users[a].nodes.push(k);
                }
            }
        }
    }
    graph.outputs.iter().map(|o| o.value.0 as usize).filter(|v| !s.fixed[*v]).for_each(|v| users[v].output = true);
    for (k, demand) in graph.demand.iter().enumerate() {
        if let Demand::When(c) = demand
            && !s.fixed[c.0 as usize]
        {
            users[c.0 as usize].flags.push(k);
        }
    }
    users
}

/// The latest start of each node.
fn alap(graph: &Graph, s: &Schedule) -> Vec<u32> {
    let mut latest: Vec<u32> = s.latency.iter().map(|l| s.depth - l).collect();
    for (k, node) in graph.nodes.iter().enumerate().rev() {
        if let NodeKind::Op { args, .. } = &node.kind {
            for a in args.iter().map(|a| a.0 as usize) {
                latest[a] = latest[a].min(latest[k].saturating_sub(s.latency[a]));
            }
        }
    }
    latest
}
