//! A graph as two lists of block instructions: what depends on sources and parameters alone, done once for a block of
//! sources, and what depends on the target too, done for each target.

use super::demand::{Count, Step};
use super::frame::{Class, Instr, Rounding};
use super::kernels::{self, Isa};
use super::slow::{self, Slow};
use hdl::number::reduce::Selection;
use hdl::{Format, Reduce};
use pg2::graph::{Demand, Graph, NodeId, NodeKind, PinClass};
use std::collections::HashMap;
use std::sync::Arc;

/// A slot that holds an element of a record.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub slot: usize,
    pub format: Format,
    pub class: Class,
}

/// A constant in a slot.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    pub place: Place,
    pub bits: u64,
}

/// An output: where its value is, and how it is gathered.
#[derive(Clone, Copy, Debug)]
pub struct Gather {
    pub place: Place,
    pub reduce: Reduce,
}

/// A graph prepared for blocks.
pub struct Program {
    /// Elements of the records, in record order; `None` for those that nothing uses.
    pub i: Vec<Option<Place>>,
    pub j: Vec<Option<Place>>,
    pub params: Vec<Option<Place>>,
    /// Formats of the j elements, used or not.
    pub j_formats: Vec<Format>,
    pub constants: Vec<Constant>,
    /// For each block of sources.
    pub common: Vec<Step>,
    /// For each target and block.
    pub pair: Vec<Step>,
    pub outputs: Vec<Gather>,
    pub selections: Vec<Selection>,
    /// Slots that a frame needs, and places of flags that are held.
    pub slots: usize,
    pub held: usize,
}

/// Prepares a graph, whose demand is known, for an instruction set.
pub fn program(graph: &Graph, isa: Isa) -> Program {
    let live = live(graph);
    let own = depends_on_target(graph);
    let mut slots = Slots::new(graph, &live, &own);
    let mut p = Program {
        i: vec![None; graph.elements_of(PinClass::Ipin).len()],
        j: vec![None; graph.elements_of(PinClass::Jpin).len()],
        params: vec![None; graph.elements_of(PinClass::Param).len()],
        j_formats: graph.elements_of(PinClass::Jpin).iter().map(|e| graph.pins[e.0].format).collect(),
        constants: Vec::new(),
        common: Vec::new(),
        pair: Vec::new(),
        outputs: Vec::new(),
        selections: graph.record().selections().to_vec(),
        slots: 0,
        held: 0,
    };
    // Flags that are held, by the node behind which it is known whether they count.
    let mut held: HashMap<usize, Vec<(NodeId, Count)>> = HashMap::new();
    let index: HashMap<(usize, u32), usize> = [PinClass::Ipin, PinClass::Jpin, PinClass::Param]
        .into_iter()
        .flat_map(|c| graph.elements_of(c).into_iter().enumerate().map(|(k, e)| (e, k)))
        .collect();
    for (k, node) in graph.nodes.iter().enumerate().filter(|(k, _)| live[*k]) {
        let place = Place { slot: slots.take(k), format: node.format, class: Class::of(node.format) };
        match &node.kind {
            NodeKind::Pin { pin, element } => {
                let list = match graph.pins[*pin].class {
                    PinClass::Ipin => &mut p.i,
                    PinClass::Jpin => &mut p.j,
                    _ => &mut p.params,
                };
                list[index[&(*pin, *element)]] = Some(place);
            }
            NodeKind::Const { bits } => p.constants.push(Constant { place, bits: *bits }),
            NodeKind::Op { op, inst, args } => {
                let mut instr = Instr {
                    kernel: slow::kernel,
                    dst: place.slot,
                    args: [0; 4],
                    to: Rounding::of(node.format),
                    format: node.format,
                    from: inst.args.first().copied().unwrap_or(node.format),
                    n: 0,
                    slow: None,
                    table: None,
                };
                for (slot, a) in instr.args.iter_mut().zip(args) {
                    *slot = slots.of(*a);
                }
                if args.len() < 2 {
                    instr.args[1] = instr.args[0];
                }
                if !kernels::prepare(*op, inst, &mut instr, isa) {
                    instr.slow = Some(Arc::new(Slow { op: *op, inst: inst.clone() }));
                }
                let step = match graph.demand(NodeId(k as u32)) {
                    Demand::Always => Step::Plain(instr),
                    demand => {
                        p.held += 1;
                        if let Demand::When(condition) = demand {
                            let classes = inst.args.iter().map(|f| Class::of(*f));
                            let args = args.iter().map(|a| slots.of(*a)).zip(classes).collect();
                            let count = Count { held: p.held - 1, condition: 0, instr: instr.clone(), args };
                            let known = k.max(condition.0 as usize);
                            held.entry(known).or_default().push((NodeId(k as u32), count));
                        }
                        Step::Held(instr, p.held - 1)
                    }
                };
                if own[k] { p.pair.push(step) } else { p.common.push(step) }
            }
        }
        for (id, mut count) in held.remove(&k).unwrap_or_default() {
            let Demand::When(condition) = graph.demand(id) else { unreachable!("it is held for a condition") };
            count.condition = slots.of(condition);
            (count.instr.args, count.instr.dst) = slots.spare();
            if count.args.len() < 2 {
                count.instr.args[1] = count.instr.args[0];
            }
            let list = if own[id.0 as usize] || own[condition.0 as usize] { &mut p.pair } else { &mut p.common };
            list.push(Step::Count(count));
        }
        slots.release(k);
    }
    p.outputs = graph
        .outputs
        .iter()
        .map(|o| {
            let format = graph.pins[o.pin].format;
            Gather { place: Place { slot: slots.of(o.value), format, class: Class::of(format) }, reduce: o.reduce }
        })
        .collect();
    p.slots = slots.count;
    p
}

/// The nodes that reach an output or say whether flags count.
fn live(graph: &Graph) -> Vec<bool> {
    let mut live = vec![false; graph.nodes.len()];
    graph.outputs.iter().for_each(|o| live[o.value.0 as usize] = true);
    for demand in &graph.demand {
        if let Demand::When(condition) = demand {
            live[condition.0 as usize] = true;
        }
    }
    for (k, node) in graph.nodes.iter().enumerate().rev() {
        if let NodeKind::Op { args, .. } = &node.kind
            && live[k]
        {
            args.iter().for_each(|a| live[a.0 as usize] = true);
        }
    }
    live
}

/// The nodes whose value differs between targets.
fn depends_on_target(graph: &Graph) -> Vec<bool> {
    let mut own = vec![false; graph.nodes.len()];
    for (k, node) in graph.nodes.iter().enumerate() {
        own[k] = match &node.kind {
            NodeKind::Pin { pin, .. } => graph.pins[*pin].class == PinClass::Ipin,
            NodeKind::Const { .. } => false,
            NodeKind::Op { args, .. } => args.iter().any(|a| own[a.0 as usize]),
        };
    }
    own
}

/// Gives slots to values. A value of a pair's own gives its slot back behind its last use, so that the values that
/// live together stay in the cache; everything else keeps its slot, since it is used for many targets.
struct Slots {
    of: Vec<usize>,
    /// The values whose slots are free behind a node.
    ends: HashMap<usize, Vec<usize>>,
    reusable: Vec<bool>,
    free: Vec<usize>,
    count: usize,
    /// The first of five slots that are no value's, if they are needed.
    spare: Option<usize>,
}

impl Slots {
    fn new(graph: &Graph, live: &[bool], own: &[bool]) -> Slots {
        let mut last = vec![0; graph.nodes.len()];
        for (k, node) in graph.nodes.iter().enumerate().filter(|(k, _)| live[*k]) {
            if let NodeKind::Op { args, .. } = &node.kind {
                // Where flags are held, the arguments are needed until it is known whether they count.
                let condition = match graph.demand[k] {
                    Demand::When(condition) => Some(condition.0 as usize),
                    Demand::Always | Demand::Never => None,
                };
                let known = condition.map_or(k, |c| c.max(k));
                for a in args.iter().map(|a| a.0 as usize).chain(condition) {
                    last[a] = known.max(last[a]);
                }
            }
        }
        graph.outputs.iter().for_each(|o| last[o.value.0 as usize] = usize::MAX);
        let is_op = |k: usize| matches!(graph.nodes[k].kind, NodeKind::Op { .. });
        let reusable: Vec<bool> = (0..graph.nodes.len()).map(|k| live[k] && own[k] && is_op(k)).collect();
        let mut ends: HashMap<usize, Vec<usize>> = HashMap::new();
        (0..last.len()).filter(|k| reusable[*k]).for_each(|k| ends.entry(last[k]).or_default().push(k));
        let of = vec![usize::MAX; graph.nodes.len()];
        Slots { of, ends, reusable, free: Vec::new(), count: 0, spare: None }
    }

    /// A slot for the value of node `k`, different from those of all live values.
    fn take(&mut self, k: usize) -> usize {
        let reused = if self.reusable[k] { self.free.pop() } else { None };
        self.of[k] = reused.unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.of[k]
    }

    fn of(&self, node: NodeId) -> usize {
        self.of[node.0 as usize]
    }

    /// Slots for four arguments and a result that nobody keeps.
    fn spare(&mut self) -> ([usize; 4], usize) {
        let first = *self.spare.get_or_insert_with(|| {
            self.count += 5;
            self.count - 5
        });
        ([first, first + 1, first + 2, first + 3], first + 4)
    }

    /// Frees the slots of the values that are not needed behind node `k`.
    fn release(&mut self, k: usize) {
        self.free.extend(self.ends.remove(&k).unwrap_or_default().iter().map(|value| self.of[*value]));
    }
}
