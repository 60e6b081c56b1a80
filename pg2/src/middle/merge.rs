//! The whole kernel as one circuit, cut into stages as one.
//!
//! An operator that is pipelined alone begins and ends at registers, so small ones cost a cycle each, and stages are cut where
//! operators meet and not where few bits live. Here the circuits of all nodes are joined first. The result is placed
//! exactly, as [`hdl::circuit`] does; that takes time which grows faster than the circuit, so kernels of thousands of
//! operators are scheduled operator by operator instead ([`crate::middle::schedule`]).

use crate::graph::{Demand, Graph, Node, NodeId, NodeKind, PinClass};
use crate::middle::budget::{Budget, budget};
use crate::middle::lines::Lines;
use crate::middle::schedule::{Schedule, fixed};
use crate::syntax::sources::Text;
use hdl::circuit::target::Clock;
use hdl::circuit::{Circuit, Evaluator, PORTS, Pipelined, Place, Sig, X, pipeline_places};
use hdl::op::Operator;
use hdl::op::addend::{Addend, Scaling};
use hdl::rtl::names::{Names, sanitise};
use hdl::rtl::netlist::Netlist;
use hdl::rtl::term::{self, TermPorts};
use hdl::{Flags, Reduce};
use std::collections::BTreeMap;

/// Circuits of more pieces than this are left to the operators' own pipelines.
const MOST_PIECES: usize = 8_000;
/// A kernel as one pipelined circuit.
pub struct Merged {
    pub netlist: Netlist,
    /// Starts, latencies and bits of the nodes, as their pieces were placed.
    pub schedule: Schedule,
    /// Register bits of the flags on their way.
    pub flag_bits: u64,
    pub pipelined: Pipelined,
}

/// Joins the circuits of a graph; `None` if they are too large to be placed as one. `text` is the PG2 source that comments quote, or empty.
pub fn merge(graph: &Graph, budget: &Budget, text: Text) -> Option<Merged> {
    let clock = budget.clock;
    let mut joined = join(graph, budget, text, MOST_PIECES)?;
    let terms = joined.outputs();
    let name = format!("{}_pipeline", graph.name);
    let (mut pipelined, places) = pipeline_places(&name, &joined.circuit)?;
    pipelined.module.terms = terms;
    pipelined.module.wraps = graph.raises(Flags::WRAP);
    pipelined.module.chains = clock.chains(joined.leaves_block());
    let schedule = schedule(graph, &joined.values, &places, pipelined.latency);
    let flag_bits = places.iter().filter(|p| p.owner == PORTS).map(|p| p.bits).sum();
    pipelined.module.doc = vec![
        format!("One pair of `{}` per clock, {} cycles from pins to outputs.", graph.name, pipelined.latency),
        format!("At {} MHz on `{}`: {} flip-flop bits.", clock.mhz, clock.target.name, pipelined.register_bits),
    ];
    let netlist = Netlist::new(pipelined.parts.iter().chain([&pipelined.module]).cloned());
    Some(Merged { netlist, schedule, flag_bits, pipelined })
}

/// The bits that the joined circuit computes for one pair: a port for each pin by [`Graph::port`], and a port for each output,
/// with its terms put together as the accumulator does, then `flags`, whose bits are in the order of [`Flags::NAMES`].
pub fn evaluator(graph: &Graph, clock: Clock) -> Evaluator {
    let mut joined = join(graph, &budget(graph, clock), "".into(), usize::MAX).expect("there is no limit");
    joined.plain_outputs();
    Evaluator::new(&joined.circuit)
}

/// The circuits of all nodes; `None` if they have more pieces than `most`.
fn join<'a>(graph: &'a Graph, budget: &Budget, text: Text<'a>, most: usize) -> Option<Joined<'a>> {
    let mut joined = Joined::new(graph, budget.clock, text);
    for k in 0..graph.nodes.len() {
        joined.circuit.products_in_logic(budget.in_logic(k));
        joined.node(NodeId(k as u32));
        if joined.circuit.pieces() > most {
            return None;
        }
    }
    Some(joined)
}

struct Joined<'a> {
    graph: &'a Graph,
    lines: Lines<'a>,
    circuit: Circuit,
    /// The signal of each node's value.
    values: Vec<Sig>,
    /// The terms of the nodes that do nothing but enter a sum, where there is that form.
    terms: BTreeMap<u32, Addend>,
    /// Whether a node does nothing but enter a sum.
    summed: Vec<bool>,
    /// Whether a node is a scaling that only such a node reads: both are made in one, at the reader.
    scalings: Vec<bool>,
    /// The flag port of each node that has one whose flags may count, and the condition under which they do.
    flags: Vec<(Flags, Sig, Option<NodeId>)>,
    pins: BTreeMap<String, Sig>,
}

impl<'a> Joined<'a> {
    /// The ports that are pins, whether a node reads them or not.
    fn new(graph: &'a Graph, clock: Clock, text: Text<'a>) -> Joined<'a> {
        let mut circuit = Circuit::new(clock);
        circuit.least_latency = 1;
        let summed = summed(graph);
        let mut owner: BTreeMap<String, u32> = BTreeMap::new();
        for (k, node) in graph.nodes.iter().enumerate() {
            if let NodeKind::Pin { pin, element } = node.kind {
                owner.entry(graph.port(pin, element)).or_insert(k as u32);
            }
        }
        let mut pins = BTreeMap::new();
        for class in [PinClass::Ipin, PinClass::Jpin, PinClass::Param] {
            for (pin, element) in graph.ports_of(class) {
                let port = graph.port(pin, element);
                circuit.own(owner.get(&port).copied().unwrap_or(PORTS), "");
                let width = graph.pins[pin].format.width();
                let sig = match class {
                    PinClass::Param => circuit.still_input(&port, width),
                    _ => circuit.input(&port, width),
                };
                pins.insert(port, sig);
            }
        }
        Joined {
            graph,
            lines: Lines::new(text),
            circuit,
            values: Vec::new(),
            terms: BTreeMap::new(),
            summed: summed.clone(),
            scalings: scalings(graph, &summed),
            flags: Vec::new(),
            pins,
        }
    }

    fn node(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        let c = &mut self.circuit;
        let value = match &node.kind {
            NodeKind::Pin { pin, element } => self.pins[&self.graph.port(*pin, *element)],
            NodeKind::Const { bits } => {
                c.own(id.0, "");
                c.logic(&format!("const_{}", id.0), X::constant(node.format.width(), *bits as i128))
            }
            NodeKind::Op { args, .. } if self.scalings[id.0 as usize] => self.values[args[0].0 as usize],
            NodeKind::Op { op, inst, args } => {
                if let Some(term) = self.term(id) {
                    self.values.push(term.window);
                    self.terms.insert(id.0, term);
                    return;
                }
                if let [a] = args[..]
                    && self.scalings[a.0 as usize]
                {
                    self.scalings[a.0 as usize] = false;
                    self.node(a);
                    self.values[a.0 as usize] = self.values.pop().expect("it was pushed");
                }
                let c = &mut self.circuit;
                let wish = wish(node, *op, id);
                c.parts.insert(id.0, format!("u{}_{}_{wish}", id.0, op.name()));
                c.own(id.0, &wish);
                let args: Vec<Sig> = args.iter().map(|a| self.values[a.0 as usize]).collect();
                let (value, flag) = op.circuit(inst, c, &args);
                if c.owner(value) == id.0 {
                    c.title(value, &wish, self.lines.comment(node, &node.format.to_string()));
                }
                if let Some(flag) = flag {
                    self.flag(id, op.flags(inst), flag);
                }
                value
            }
        };
        self.values.push(value);
    }

    /// The term of a node that does nothing but enter a sum, where there is that form.
    fn term(&mut self, id: NodeId) -> Option<Addend> {
        let node = self.graph.node(id);
        let NodeKind::Op { op, inst, args } = &node.kind else { return None };
        if !self.summed[id.0 as usize] {
            return None;
        }
        let c = &mut self.circuit;
        let wish = wish(node, *op, id);
        c.own(id.0, &wish);
        let values = |args: &[NodeId]| -> Vec<Sig> { args.iter().map(|a| self.values[a.0 as usize]).collect() };
        let scaling = args.first().filter(|a| self.scalings[a.0 as usize]).map(|a| &self.graph.node(*a).kind);
        let term = match scaling {
            Some(NodeKind::Op { op: scale, inst: by, args }) => {
                let scaling = Scaling { op: *scale, inst: by, args: &values(args) };
                op.scaled_addend(inst, c, &scaling)?
            }
            _ => op.addend(inst, c, &values(args))?,
        };
        c.parts.insert(id.0, format!("u{}_{}_{wish}", id.0, op.name()));
        c.title(term.window, &format!("{wish}_window"), self.lines.comment(node, &node.format.to_string()));
        term.flags.iter().for_each(|(flags, sig)| self.flag(id, *flags, *sig));
        Some(term)
    }

    /// Enters flags of a node.
    fn flag(&mut self, id: NodeId, flags: Flags, port: Sig) {
        match self.graph.demand(id) {
            Demand::Always => self.flags.push((flags, port, None)),
            Demand::When(condition) => self.flags.push((flags, port, Some(condition))),
            Demand::Never => {}
        }
    }

    /// The output ports; gives those that are terms.
    fn outputs(&mut self) -> Vec<TermPorts> {
        let flags = self.gather();
        let ports = self.graph.output_ports();
        let mut names = Names::default();
        names.reserve("flags");
        ports.iter().map(|o| &o.0).chain(self.pins.keys()).for_each(|port| names.reserve(port));
        let mut terms = Vec::new();
        for (o, (port, _, _)) in self.graph.outputs.iter().zip(ports) {
            let Some(t) = self.terms.get(&o.value.0) else {
                self.circuit.output(&port, self.values[o.value.0 as usize]);
                continue;
            };
            let ports = term::PORTS.map(|end| names.unique(&format!("{port}_{end}")).to_string());
            for (name, sig) in ports.iter().zip([t.window, t.select, t.round]) {
                self.circuit.output(name, sig);
            }
            terms.push(TermPorts { output: port, shape: t.shape, ports });
        }
        self.circuit.output("flags", flags);
        terms
    }

    /// Whether a value that is gathered comes out of a multiplier or a memory.
    fn leaves_block(&self) -> bool {
        let plain = self.graph.outputs.iter().filter(|o| !self.terms.contains_key(&o.value.0));
        plain.map(|o| self.values[o.value.0 as usize]).any(|value| self.circuit.from_block(value))
    }

    /// A plain port for each output.
    fn plain_outputs(&mut self) {
        let flags = self.gather();
        for (o, (port, format, _)) in self.graph.outputs.iter().zip(self.graph.output_ports()) {
            let c = &mut self.circuit;
            let value = match self.terms.get(&o.value.0) {
                None => self.values[o.value.0 as usize],
                Some(t) => {
                    let [window, select, round] = [t.window, t.select, t.round].map(|s| c.x(s));
                    let whole = t.shape.value([&window, &select, &round], format.width());
                    c.logic(&port, whole)
                }
            };
            c.output(&port, value);
        }
        self.circuit.output("flags", flags);
    }

    /// The flags of all nodes: for each an OR that grows from stage to stage, so that one bit travels.
    fn gather(&mut self) -> Sig {
        let stages = self.circuit.earliest_stages();
        let c = &mut self.circuit;
        c.own(PORTS, "");
        let mut bits = Vec::new();
        for (index, name) in Flags::NAMES.iter().enumerate() {
            let mut by_stage = ByStage::new();
            let mut conditional: BTreeMap<NodeId, ByStage> = BTreeMap::new();
            for (flags, port, when) in &self.flags {
                if let Some(bit) = flags.iter().position(|f| f.0.ilog2() as usize == index) {
                    let raised = c.logic(name, c.x(*port).bit(bit as u32));
                    let own = when.map_or(&mut by_stage, |w| conditional.entry(w).or_default());
                    own.entry(stages[port.index()]).or_default().push(raised);
                }
            }
            for (condition, mut raised) in conditional {
                let condition = self.values[condition.0 as usize];
                let stage = stages[condition.index()];
                // What comes before its condition is gathered until then; later flags meet it one stage after the other.
                let later = raised.split_off(&(stage + 1));
                let first = any_by_stage(c, name, raised).map(|sig| (stage, vec![sig]));
                for (stage, raised) in first.into_iter().chain(later) {
                    let raised = any(c, name, raised);
                    let counts = c.logic(name, c.x(raised) & c.x(condition));
                    by_stage.entry(stage).or_default().push(counts);
                }
            }
            bits.push(any_by_stage(c, name, by_stage).unwrap_or_else(|| c.logic(name, X::flag(false))));
        }
        bits.reverse();
        c.logic("raised", c.cat(&bits))
    }
}

/// Signals by the stage in which they are there.
type ByStage = BTreeMap<u32, Vec<Sig>>;

/// The OR of all, what comes first joined first.
fn any_by_stage(c: &mut Circuit, name: &str, by_stage: ByStage) -> Option<Sig> {
    let mut carried: Option<Sig> = None;
    for mut raised in by_stage.into_values() {
        raised.extend(carried);
        carried = Some(any(c, name, raised));
    }
    carried
}

/// The OR of some signals.
fn any(c: &mut Circuit, name: &str, mut raised: Vec<Sig>) -> Sig {
    let most = c.clock().or_inputs();
    let mut or = |g: &[Sig]| if let [one] = g { *one } else { c.logic(name, c.or(g)) };
    while raised.len() > 1 {
        raised = raised.chunks(most).map(&mut or).collect();
    }
    raised[0]
}

/// The name that the parts of a node are derived from.
fn wish(node: &Node, op: &dyn Operator, id: NodeId) -> String {
    if node.name.is_empty() { format!("{}_{}", op.name(), id.0) } else { sanitise(&node.name) }
}

/// The nodes that are scalings by a power of two and are read by one of the `summed` nodes and nothing else.
fn scalings(graph: &Graph, summed: &[bool]) -> Vec<bool> {
    let readers = readers(graph);
    let mut found = vec![false; graph.nodes.len()];
    for (_, node) in graph.nodes.iter().enumerate().filter(|(k, _)| summed[*k]) {
        if let NodeKind::Op { op, args, .. } = &node.kind
            && let [a] = args[..]
            && let NodeKind::Op { op: inner, .. } = &graph.node(a).kind
        {
            found[a.0 as usize] = op.absorbs(*inner) && readers[a.0 as usize] == 1;
        }
    }
    found
}

/// How many nodes and outputs read each node.
fn readers(graph: &Graph) -> Vec<u32> {
    let mut readers = vec![0; graph.nodes.len()];
    for node in &graph.nodes {
        if let NodeKind::Op { args, .. } = &node.kind {
            args.iter().for_each(|a| readers[a.0 as usize] += 1);
        }
    }
    graph.outputs.iter().for_each(|o| readers[o.value.0 as usize] += 1);
    readers
}

/// The nodes that are read by one sum and nothing else.
fn summed(graph: &Graph) -> Vec<bool> {
    let readers = readers(graph);
    let mut summed = vec![false; readers.len()];
    for o in graph.outputs.iter().filter(|o| o.reduce == Reduce::Sum) {
        summed[o.value.0 as usize] = readers[o.value.0 as usize] == 1;
    }
    summed
}

/// The nodes' part of the placing. A node starts when all its arguments are there and its first piece reads.
fn schedule(graph: &Graph, values: &[Sig], places: &[Place], depth: u32) -> Schedule {
    let n = graph.nodes.len();
    let mut s = Schedule {
        start: vec![0; n],
        latency: vec![0; n],
        fixed: fixed(graph),
        operator_bits: vec![0; n],
        delay_bits: vec![0; n],
        depth,
    };
    let mut first: Vec<Option<u32>> = vec![None; n];
    for (k, p) in places.iter().enumerate().filter(|(_, p)| p.owner != PORTS) {
        let node = p.owner as usize;
        if values[node].index() == k {
            s.delay_bits[node] = p.bits;
        } else {
            s.operator_bits[node] += p.bits;
        }
        if p.works && p.still == s.fixed[node] {
            first[node] = Some(first[node].map_or(p.reads, |f| f.min(p.reads)));
        }
    }
    for (k, node) in graph.nodes.iter().enumerate() {
        if let NodeKind::Op { args, .. } = &node.kind {
            let waits = args.iter().filter(|a| s.fixed[k] || !s.fixed[a.0 as usize]);
            // A result that nothing reads, of an operator whose flags count, has no place within the depth.
            let ready = places[values[k].index()].ready.min(depth);
            let there = waits.map(|a| s.ready(*a)).max().unwrap_or(0);
            s.start[k] = first[k].unwrap_or(ready).min(depth).max(there);
            s.latency[k] = ready.saturating_sub(s.start[k]);
        }
    }
    s
}
