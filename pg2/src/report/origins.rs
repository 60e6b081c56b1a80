//! Where flags come from: for each flag the lines whose operators can raise it, and the outputs that these lead to.

use crate::graph::{Demand, Graph, NodeId, NodeKind};
use crate::middle::demand;
use crate::middle::lines::Lines;
use crate::middle::simplify::{known, live};
use crate::syntax::sources::Text;
use hdl::{Flags, Reduce};
use std::collections::BTreeSet;

/// The origin of one flag of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The flag alone.
    pub flag: Flags,
    /// Indices into [`Graph::outputs`]: the outputs that it can belong to.
    pub outputs: Vec<usize>,
    /// Where it can arise, in the order of the text.
    pub lines: Vec<Line>,
}

/// A line of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The included file that it is in; `None` in the kernel's own.
    pub file: Option<String>,
    /// From 1.
    pub number: usize,
    /// The statement, shortened if it is long.
    pub statement: String,
}

/// The origins of the flags that a kernel can raise, in the order of the flags. `graph` is as compiled, so that every line
/// of the source is still there.
pub fn origins<'a>(graph: &Graph, text: impl Into<Text<'a>>) -> Vec<Origin> {
    let mut graph = live(graph);
    known::mark(&mut graph);
    demand::mark(&mut graph);
    let lines = Lines::new(text.into());
    let raised: Vec<Flags> = (0..graph.nodes.len()).map(|k| raised(&graph, k)).collect();
    // What reaches each node from its arguments on.
    let mut reached = raised.clone();
    for (k, node) in graph.nodes.iter().enumerate() {
        if let NodeKind::Op { args, .. } = &node.kind {
            args.iter().for_each(|a| reached[k] = reached[k] | reached[a.0 as usize]);
        }
    }
    let sums = |o: &crate::graph::Output| o.reduce == Reduce::Sum;
    let of = |flag: Flags| {
        let wraps = flag == Flags::WRAP;
        let can = |o: &crate::graph::Output| if wraps { sums(o) } else { reached[o.value.0 as usize].contains(flag) };
        let outputs: Vec<usize> = (0..graph.outputs.len()).filter(|k| can(&graph.outputs[*k])).collect();
        let nodes: Vec<usize> = match wraps {
            true => outputs.iter().map(|k| graph.outputs[*k].value.0 as usize).collect(),
            false => (0..raised.len()).filter(|k| raised[*k].contains(flag)).collect(),
        };
        let places: BTreeSet<usize> = nodes.iter().map(|k| graph.nodes[*k].span.start).collect();
        let mut found: Vec<Line> = Vec::new();
        for line in places.into_iter().filter_map(|at| lines.line(at)) {
            let file = line.file.map(str::to_string);
            if found.last().is_none_or(|l| (&l.file, l.number) != (&file, line.number)) {
                found.push(Line { file, number: line.number, statement: line.statement() });
            }
        }
        Origin { flag, outputs, lines: found }
    };
    let all = (0..Flags::COUNT).map(|k| of(Flags(1 << k)));
    all.filter(|origin| !origin.outputs.is_empty()).collect()
}

/// The line of each node of a graph; none where it is of no source.
pub fn lines_of_nodes<'a>(graph: &Graph, text: impl Into<Text<'a>>) -> Vec<Option<Line>> {
    let lines = Lines::new(text.into());
    let place = |line: crate::middle::lines::Line| Line {
        file: line.file.map(str::to_string),
        number: line.number,
        statement: line.statement(),
    };
    graph.nodes.iter().map(|node| lines.line(node.span.start).map(place)).collect()
}

/// The flags of a node that can count.
fn raised(graph: &Graph, k: usize) -> Flags {
    match &graph.nodes[k].kind {
        NodeKind::Op { op, inst, .. } => op.flags(inst).when(graph.demand(NodeId(k as u32)) != Demand::Never),
        NodeKind::Pin { .. } | NodeKind::Const { .. } => Flags::NONE,
    }
}
