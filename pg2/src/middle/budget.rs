//! Selection of the operators that make their products in logic, so that a pipeline keeps to its multiplier blocks.

use crate::graph::{Graph, NodeKind};
use hdl::circuit::target::Clock;
use hdl::op::{Inst, Operator, circuit};
use std::collections::{HashMap, HashSet};

/// The savings and the cost of moving one node's products into logic.
struct Item {
    node: usize,
    blocks: u32,
    cost: u32,
}

/// Where the products of each node are made.
pub struct Budget {
    pub clock: Clock,
    /// The nodes whose products are in logic.
    in_logic: HashSet<usize>,
    /// Multiplier blocks that the others take, where there is a limit.
    blocks: Option<u32>,
}

impl Budget {
    /// Whether the products of a node are in logic.
    pub fn in_logic(&self, node: usize) -> bool {
        self.in_logic.contains(&node)
    }

    /// The clock with which a node's circuit is made.
    pub fn clock_of(&self, node: usize) -> Clock {
        Clock { blocks: self.in_logic(node).then_some(0), ..self.clock }
    }

    /// Whether the blocks keep to the limit, and only operators are in logic.
    pub fn verify(&self, graph: &Graph) -> Result<(), String> {
        if let (Some(blocks), Some(limit)) = (self.blocks, self.clock.blocks)
            && blocks > limit
        {
            return Err(format!("{blocks} multiplier blocks, and {limit} are allowed"));
        }
        let is_op = |k: &usize| graph.nodes.get(*k).is_some_and(|n| matches!(n.kind, NodeKind::Op { .. }));
        match self.in_logic.iter().find(|k| !is_op(k)) {
            Some(k) => Err(format!("node %{k} is no operator and has its products in logic")),
            None => Ok(()),
        }
    }
}

/// The nodes in logic, in order.
impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let mut nodes: Vec<&usize> = self.in_logic.iter().collect();
        nodes.sort_unstable();
        match self.blocks {
            None => writeln!(f, "as many multiplier blocks as there are products"),
            Some(blocks) => writeln!(f, "{blocks} multiplier blocks"),
        }?;
        nodes.into_iter().try_for_each(|k| writeln!(f, "%{k} in logic"))
    }
}

/// Puts those products in logic that cost least there, of all sets that free enough blocks.
pub fn budget(graph: &Graph, clock: Clock) -> Budget {
    let Some(limit) = clock.blocks else { return Budget { clock, in_logic: HashSet::new(), blocks: None } };
    let mut items = items(graph, clock);
    let total: u32 = items.iter().map(|i| i.blocks).sum();
    // Of items that free the same number of blocks the cheapest go first; the largest group comes last.
    items.sort_by_key(|i| (i.blocks, i.cost, i.node));
    let mut groups: Vec<&[Item]> = items.chunk_by(|x, y| x.blocks == y.blocks).collect();
    groups.sort_by_key(|g| g.len());
    let (_, counts) = cheapest(&groups, total.saturating_sub(limit)).expect("all items together free all blocks");
    let moved: Vec<&Item> = groups.iter().zip(counts).flat_map(|(g, n)| &g[..n]).collect();
    let blocks = total - moved.iter().map(|i| i.blocks).sum::<u32>();
    Budget { clock, in_logic: moved.iter().map(|i| i.node).collect(), blocks: Some(blocks) }
}

fn items(graph: &Graph, clock: Clock) -> Vec<Item> {
    let mut known: HashMap<(&'static dyn Operator, &Inst), (u32, u32)> = HashMap::new();
    let mut items = Vec::new();
    for (node, kind) in graph.nodes.iter().map(|n| &n.kind).enumerate() {
        if let NodeKind::Op { op, inst, .. } = kind {
            let (blocks, cost) = *known.entry((*op, inst)).or_insert_with(|| {
                let of = |blocks| circuit(*op, inst, Clock { blocks, ..clock });
                match of(None).multipliers() {
                    0 => (0, 0),
                    blocks => (blocks, of(Some(0)).in_logic()),
                }
            });
            if blocks > 0 {
                items.push(Item { node, blocks, cost });
            }
        }
    }
    items
}

/// The least cost of freeing `need` blocks and how many items of each group do it; `None` if all are too few.
///
/// Group by group from the last, for every smaller need too: what the groups behind can do is looked up, not tried again.
fn cheapest(groups: &[&[Item]], need: u32) -> Option<(u64, Vec<usize>)> {
    let needs = need as usize + 1;
    // Of the groups so far, the least cost for each need; nothing is needed for nothing.
    let mut best: Vec<Option<u64>> = (0..needs).map(|n| (n == 0).then_some(0)).collect();
    let mut taken: Vec<Vec<usize>> = Vec::new();
    for group in groups.iter().rev() {
        let each = group[0].blocks as usize;
        let costs: Vec<u64> = std::iter::once(0)
            .chain(group.iter().scan(0, |sum, i| {
                *sum += i.cost as u64;
                Some(*sum)
            }))
            .collect();
        let choice = |need: usize| {
            let counts = 0..=need.div_ceil(each).min(group.len());
            let of = |n: usize| Some((best[need.saturating_sub(n * each)]? + costs[n], n));
            counts.filter_map(of).min()
        };
        let choices: Vec<Option<(u64, usize)>> = (0..needs).map(choice).collect();
        best = choices.iter().map(|c| c.map(|(cost, _)| cost)).collect();
        taken.push(choices.into_iter().map(|c| c.map_or(0, |(_, n)| n)).collect());
    }
    let cost = best[need as usize]?;
    let mut left = need as usize;
    let count = |(group, taken): (&&[Item], Vec<usize>)| {
        let n = taken[left];
        left = left.saturating_sub(n * group[0].blocks as usize);
        n
    };
    Some((cost, groups.iter().zip(taken.into_iter().rev()).map(count).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(list: &[(u32, u32)]) -> Vec<Item> {
        list.iter().enumerate().map(|(node, (blocks, cost))| Item { node, blocks: *blocks, cost: *cost }).collect()
    }

    #[test]
    fn the_cheapest_set_that_frees_enough_is_found() {
        let (ones, fours) = (items(&[(1, 10), (1, 50), (1, 60)]), items(&[(4, 100), (4, 300)]));
        let groups: Vec<&[Item]> = vec![&fours, &ones];
        let cost = |need| cheapest(&groups, need).map(|(cost, counts)| (cost, counts[0], counts[1]));
        assert_eq!(cost(0), Some((0, 0, 0)));
        assert_eq!(cost(1), Some((10, 0, 1)));
        // Two or three ones cost as much as the four, or more.
        assert_eq!(cost(2), Some((60, 0, 2)));
        assert_eq!(cost(3), Some((100, 1, 0)));
        assert_eq!(cost(5), Some((110, 1, 1)));
        assert_eq!(cost(11), Some((520, 2, 3)));
        assert_eq!(cost(12), None);
    }

    #[test]
    fn thousands_of_products_of_many_sizes_take_no_longer_than_their_number_asks() {
        let list: Vec<Vec<Item>> = (1..=40).map(|blocks| items(&[(blocks, 7 * blocks + 3); 50])).collect();
        let groups: Vec<&[Item]> = list.iter().map(Vec::as_slice).collect();
        // The largest cost least for what they free.
        let (cost, counts) = cheapest(&groups, 400).expect("there are enough");
        assert_eq!((cost, counts[39]), (10 * (7 * 40 + 3), 10));
    }
}
