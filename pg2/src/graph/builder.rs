//! Growing a graph node by node.

use crate::diag::Span;
use crate::graph::{Graph, Node, NodeId, NodeKind};
use hdl::Format;
use hdl::Rounding;
use hdl::op::{Attrs, Inst, Operator};
use std::collections::HashMap;

/// The most nodes of a graph: no circuit that large could be built.
pub const MAX_NODES: usize = 1 << 18;

/// A graph under construction.
pub struct Builder {
    pub graph: Graph,
    /// How new nodes round.
    pub rounding: Rounding,
    /// Whether each node depends on constants alone.
    constant: Vec<bool>,
}

impl Builder {
    pub fn new(name: &str) -> Builder {
        Builder {
            graph: Graph {
                name: name.to_string(),
                pins: Vec::new(),
                nodes: Vec::new(),
                outputs: Vec::new(),
                numbers: HashMap::new(),
                bins: Vec::new(),
                gathered: Vec::new(),
                filter: None,
                demand: Vec::new(),
            },
            rounding: Rounding::Nearest,
            constant: Vec::new(),
        }
    }

    /// Whether the graph has more nodes than are allowed.
    pub fn is_full(&self) -> bool {
        self.graph.nodes.len() > MAX_NODES
    }

    /// Whether a node's value is known at compile time.
    pub fn is_constant(&self, id: NodeId) -> bool {
        self.constant[id.0 as usize]
    }

    fn push(&mut self, kind: NodeKind, format: Format, span: Span, constant: bool) -> NodeId {
        self.graph.nodes.push(Node { kind, format, name: String::new(), span });
        self.constant.push(constant);
        NodeId(self.graph.nodes.len() as u32 - 1)
    }

    /// An element of a pin that is already in [`Graph::pins`].
    pub fn pin(&mut self, pin: usize, element: u32) -> NodeId {
        let (format, span) = (self.graph.pins[pin].format, self.graph.pins[pin].span);
        let id = self.push(NodeKind::Pin { pin, element }, format, span, false);
        self.graph.nodes[id.0 as usize].name = self.graph.pins[pin].column(element);
        id
    }

    pub fn constant(&mut self, bits: u64, format: Format, span: Span) -> NodeId {
        self.push(NodeKind::Const { bits }, format, span, true)
    }

    /// A use of an operator. The error is the operator's own word on why it refuses.
    pub fn op(
        &mut self,
        op: &'static dyn Operator,
        args: &[NodeId],
        attrs: Attrs,
        span: Span,
    ) -> Result<NodeId, String> {
        let formats: Vec<Format> = args.iter().map(|a| self.graph.node(*a).format).collect();
        let inst = Inst::new(op, &formats, Attrs { round: self.rounding, ..attrs })?;
        let constant = !inst.is_open() && args.iter().all(|a| self.is_constant(*a));
        let format = inst.result;
        Ok(self.push(NodeKind::Op { op, inst, args: args.to_vec() }, format, span, constant))
    }

    /// Names a node, unless it has a name.
    pub fn name(&mut self, id: NodeId, name: impl FnOnce() -> String) {
        let node = &mut self.graph.nodes[id.0 as usize];
        if node.name.is_empty() {
            node.name = name();
        }
    }
}
