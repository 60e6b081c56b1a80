//! Simplification: a smaller graph with the same bits and the same flags.
//!
//! Only nodes that reach an output count, for flags too (RULES N7), and that is decided on the source's graph: first the
//! dead nodes go. After that no rewrite may lose a node that can raise a flag, nor gain one, so every node of a
//! simplified graph reaches an output, and simplifying twice changes nothing.

use crate::graph::{Graph, NodeId, NodeKind};

/// The simplified graph.
pub fn simplify(graph: &Graph) -> Graph {
    live(graph)
}

/// The graph without the nodes that reach no output.
fn live(graph: &Graph) -> Graph {
    let mut used = vec![false; graph.nodes.len()];
    graph.outputs.iter().for_each(|o| used[o.value.0 as usize] = true);
    for k in (0..graph.nodes.len()).rev() {
        if let (true, NodeKind::Op { args, .. }) = (used[k], &graph.nodes[k].kind) {
            args.iter().for_each(|a| used[a.0 as usize] = true);
        }
    }
    let mut place = vec![NodeId(0); graph.nodes.len()];
    let mut out = Graph { nodes: Vec::new(), ..graph.clone() };
    for (k, node) in graph.nodes.iter().enumerate().filter(|(k, _)| used[*k]) {
        place[k] = NodeId(out.nodes.len() as u32);
        let mut node = node.clone();
        if let NodeKind::Op { args, .. } = &mut node.kind {
            args.iter_mut().for_each(|a| *a = place[a.0 as usize]);
        }
        out.nodes.push(node);
    }
    out.outputs.iter_mut().for_each(|o| o.value = place[o.value.0 as usize]);
    out
}
