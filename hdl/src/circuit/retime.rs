//! The stages in which a circuit has the fewest register bits, exactly.
//!
//! With r_v the stage in which piece v reads and lag_v the stages until its result is there, a result's bit costs one
//! register for each stage from r_v + lag_v to that of its last reader. Two pieces may not share a stage when the longest
//! way between them through logic takes more than the clock's budget. Both are differences of stages, so this is a problem
//! of differences (Leiserson & Saxe 1991; Cong & Zhang 2006 for the chains), solved by [`crate::circuit::simplex`].

use super::place::{Placed, Read};
use super::{Circuit, NodeKind};
use crate::circuit::simplex::Problem;
use std::collections::{BTreeMap, HashMap};

/// The best stages.
pub(super) struct Retimed {
    /// The stage in which each signal reads its arguments.
    pub stages: Vec<u32>,
    /// The register bits that the dual proves to be least for this latency.
    pub bound: u64,
}

/// The stages of fewest register bits within the latency of `early`, the placing of everything as early as possible; `None`
/// if they are not found in so many steps.
pub(super) fn retime(circuit: &Circuit, early: &Placed, reads: &[Read], steps: u64) -> Option<Retimed> {
    let mut p = Problem::new();
    let latency = early.latency as i64;
    let moves =
        |k: usize| early.live[k] && !early.ready[k].fixed && !matches!(circuit.signals[k].kind, NodeKind::Input { .. });
    let variable: Vec<usize> = (0..circuit.signals.len())
        .map(|k| if moves(k) { p.variable(early.ready[k].reads as i64, Some(latency - lag(circuit, k))) } else { 0 })
        .collect();
    order(circuit, early, &variable, &mut p);
    let constant = cost(circuit, early, reads, &variable, &mut p);
    p.weight[0] = 0;
    let solution = p.solve_within(steps);
    if !solution.solved {
        return None;
    }
    let stages = variable.iter().map(|v| solution.x[*v] as u32).collect();
    Some(Retimed { stages, bound: (solution.cost + constant) as u64 })
}

/// Stages from reading to the result.
fn lag(circuit: &Circuit, k: usize) -> i64 {
    let kind = &circuit.signals[k].kind;
    (kind.held() || kind.is_memory()) as i64
}

/// Demands that arguments come first, and that no way through logic within a stage takes too long.
fn order(circuit: &Circuit, early: &Placed, variable: &[usize], p: &mut Problem) {
    let n = circuit.signals.len();
    let t = circuit.clock.target;
    let budget = circuit.clock.budget();
    // Time until a signal is there, from the edge at which what it reads is there; and what a reader needs until its
    // register takes over.
    let own = |k: usize| match &circuit.signals[k].kind {
        NodeKind::Expr { cost, held: false, .. } => cost.delay(t),
        kind if kind.is_memory() => t.rom,
        _ => 0.0,
    };
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); n];
    for k in (0..n).filter(|k| variable[*k] != 0) {
        for a in circuit.signals[k].kind.args().iter().map(|a| a.index()) {
            if early.ready[a].fixed {
                continue;
            }
            if variable[a] != 0 {
                p.constrain(variable[a], variable[k], lag(circuit, a));
            }
            if users[a].last() != Some(&k) {
                users[a].push(k);
            }
        }
    }
    let mut leaves = vec![false; n];
    circuit.outputs.iter().for_each(|(_, s)| leaves[s.index()] = true);
    // For each signal the pieces that are reached too late when they share its stage, and the longest way to them.
    let mut late: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); n];
    for k in (0..n).rev().filter(|k| variable[*k] != 0) {
        let start = own(k);
        if start == 0.0 {
            continue;
        }
        let reached = reach(circuit, &users, k, start, budget);
        let leaves = reached.within.iter().any(|v| leaves[*v]) || leaves[k];
        if leaves {
            // Outputs come from registers.
            p.constrain(variable[k], 0, lag(circuit, k) + 1 - early.latency as i64);
        }
        let implied = |v: &usize| reached.within.iter().any(|u| late[*u].contains_key(v));
        for v in reached.beyond.iter().filter(|v| !implied(v)) {
            p.constrain(variable[k], variable[*v], lag(circuit, k) + 1);
        }
        late[k] = reached.beyond.iter().map(|v| (*v, 0.0)).collect();
    }
}

/// The logic behind a signal within one stage.
struct Reach {
    /// Logic that still fits the clock.
    within: Vec<usize>,
    /// The first pieces that do not.
    beyond: Vec<usize>,
}

/// Follows the readers of `k`, whose result is there `start` after the edge.
fn reach(circuit: &Circuit, users: &[Vec<usize>], k: usize, start: f64, budget: f64) -> Reach {
    let t = circuit.clock.target;
    let mut time: BTreeMap<usize, f64> = users[k].iter().map(|u| (*u, start)).collect();
    let mut reach = Reach { within: Vec::new(), beyond: Vec::new() };
    // Readers stand behind what they read, so the smallest one has all its arguments.
    while let Some((v, arrives)) = time.pop_first() {
        let (delay, ends) = match &circuit.signals[v].kind {
            NodeKind::Expr { cost, held, .. } => (cost.delay(t), *held),
            NodeKind::Mul { .. } => (t.mul, true),
            NodeKind::Rom { .. } | NodeKind::Ram { .. } => (0.0, true),
            NodeKind::Input { .. } => unreachable!("an input reads nothing"),
        };
        // As in `place`: a piece that takes no time never needs a stage of its own.
        if arrives + delay > budget && delay > 0.0 {
            reach.beyond.push(v);
        } else if !ends {
            reach.within.push(v);
            for u in &users[v] {
                let at = time.entry(*u).or_insert(0.0);
                *at = at.max(arrives + delay);
            }
        }
    }
    reach
}

/// Weighs the registers: bits of one signal that have the same readers wait together. Gives the part of the cost that no
/// stage changes.
fn cost(circuit: &Circuit, early: &Placed, reads: &[Read], variable: &[usize], p: &mut Problem) -> i64 {
    let latency = early.latency as i64;
    let mut readers: HashMap<usize, Vec<(Option<usize>, u32, u32)>> = HashMap::new();
    for (s, reader, high, low) in reads.iter().filter(|r| !early.ready[r.0.index()].fixed) {
        readers.entry(s.index()).or_default().push((*reader, *high, *low));
    }
    // A memory is as wide as it is, whatever is read of it.
    let mut constant = 0;
    for (_, signal) in circuit.signals.iter().enumerate().filter(|(k, _)| variable[*k] != 0) {
        constant += if signal.kind.is_memory() { signal.width as i64 } else { 0 };
    }
    for (k, signal) in circuit.signals.iter().enumerate() {
        let Some(readers) = readers.get(&k).filter(|_| early.live[k]) else { continue };
        for (set, bits) in groups(signal.width, readers) {
            let own = signal.kind.held() as i64;
            p.weight[variable[k]] -= bits;
            constant += bits * (own - lag(circuit, k));
            let nodes: Vec<usize> = set.iter().filter_map(|r| r.map(|r| variable[r])).collect();
            match nodes.as_slice() {
                _ if set.contains(&None) => constant += bits * latency,
                [one] => p.weight[*one] += bits,
                many => {
                    let first = many.iter().map(|v| p.bounds[*v].0).max().expect("there are several readers");
                    let end = p.variable(first, None);
                    p.weight[end] += bits;
                    many.iter().for_each(|v| p.constrain(*v, end, 0));
                }
            }
        }
    }
    constant
}

/// The bits of a signal by their sets of readers; bits that nobody reads are left out.
fn groups(width: u32, readers: &[(Option<usize>, u32, u32)]) -> BTreeMap<Vec<Option<usize>>, i64> {
    let mut cuts: Vec<u32> = readers.iter().flat_map(|(_, high, low)| [*low, high + 1]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut groups = BTreeMap::new();
    for pair in cuts.windows(2) {
        debug_assert!(pair[1] <= width);
        let over = readers.iter().filter(|(_, high, low)| *low <= pair[0] && pair[1] <= high + 1);
        let mut set: Vec<Option<usize>> = over.map(|r| r.0).collect();
        set.sort_unstable();
        set.dedup();
        if !set.is_empty() {
            *groups.entry(set).or_insert(0) += (pair[1] - pair[0]) as i64;
        }
    }
    groups
}
