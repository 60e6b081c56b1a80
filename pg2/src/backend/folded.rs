//! Lowering of a folded graph: units behind multiplexers, registers that hold values for K clocks, and the counter of slots.
//!
//! The module `<kernel>_pipeline` has the ports of [`crate::backend::lower`] and those of [`hdl::rtl::fold`]. It has neither reset
//! nor enable. The slot counter is one bit that goes round; each `start` sets it right.

mod waiting;

use crate::graph::{Graph, NodeId, NodeKind, PinClass};
use crate::middle::fold::{Chain, Folded, Source, There};
use crate::middle::lines::Lines;
use crate::syntax::sources::Text;
use hdl::Flags;
use hdl::op::float::POINT_BITS;
use hdl::rtl::fold::{Fold, SLOTS, START, SharedSum};
use hdl::rtl::names::Names;
use hdl::rtl::netlist::{Dir, Module, Netlist};
use hdl::rtl::{Name, Value, cat, net};
use std::collections::BTreeMap;

/// From so many sources of a port on, two share the signal that chooses them.
const MANY: usize = 9;
/// The number of flags combined at a time where there are many.
const GROUP: usize = 4;

/// The module of a folded graph and what it is made of; `text` is the PG2 source that comments quote, or empty.
pub fn lower_folded(graph: &Graph, folded: &Folded, text: Text) -> Netlist {
    let mut w = Writer::new(graph, folded, text);
    w.ports();
    w.slots();
    w.nets();
    w.still();
    w.held();
    w.stores();
    w.own();
    w.units();
    w.outputs();
    w.flags();
    w.sink();
    (w.module.wraps, w.module.chains) = (graph.raises(Flags::WRAP), folded.library.chains(graph));
    let mut netlist = Netlist { top: w.module.name.clone(), modules: Vec::new() };
    w.rings.into_iter().for_each(|ring| netlist.add(ring));
    netlist.extend(folded.library.netlist());
    netlist.extend([w.module]);
    netlist
}

struct Writer<'a> {
    graph: &'a Graph,
    folded: &'a Folded,
    lines: Lines<'a>,
    there: Vec<There>,
    names: Names,
    module: Module,
    /// A bit for each slot; and for each the signal of the clock before.
    at: Vec<Value>,
    before: Vec<Value>,
    /// The value of each node that has hardware of its own, a pin's, or a constant; and that of each unit.
    own: Vec<Value>,
    unit: Vec<Value>,
    /// The registers behind each node.
    held: Vec<Vec<Value>>,
    /// Behind each unit its value of the clock before, and the ports of its memory; and the modules of these.
    late: Vec<Option<Value>>,
    stored: Vec<Vec<Value>>,
    rings: Vec<Module>,
    /// Flag ports of nodes of their own and of units, and which of their bits are read.
    own_flags: Vec<Option<Value>>,
    unit_flags: Vec<Option<Value>>,
    read_flags: Vec<Value>,
}

impl<'a> Writer<'a> {
    fn new(graph: &'a Graph, folded: &'a Folded, text: Text<'a>) -> Writer<'a> {
        let clock = folded.library.clock;
        let doc = vec![
            format!(
                "One pair of `{}` every {} clocks, {} cycles from pins to outputs.",
                graph.name,
                folded.ii,
                folded.depth()
            ),
            format!("At {} MHz on `{}`; {} units are shared.", clock.mhz, clock.target.name, folded.units.len()),
        ];
        let name = format!("{}_pipeline", graph.name);
        let nothing = || Value::zeros(0);
        Writer {
            graph,
            folded,
            lines: Lines::new(text),
            there: folded.there(graph),
            names: Names::default(),
            module: Module { name, doc, latency: folded.depth(), ..Module::default() },
            at: Vec::new(),
            before: Vec::new(),
            own: vec![nothing(); graph.nodes.len()],
            unit: vec![nothing(); folded.units.len()],
            held: vec![Vec::new(); graph.nodes.len()],
            late: vec![None; folded.units.len()],
            stored: vec![Vec::new(); folded.units.len()],
            rings: Vec::new(),
            own_flags: vec![None; graph.nodes.len()],
            unit_flags: vec![None; folded.units.len()],
            read_flags: Vec::new(),
        }
    }

    fn ports(&mut self) {
        let layout = self.graph.layout();
        self.module.port(Dir::In, "clk", 1);
        self.module.port(Dir::In, START, 1);
        let records = layout.i.iter().chain(&layout.j).chain(&layout.params);
        let records = records.map(|(name, format)| (name.clone(), format.width()));
        for (name, width) in records.chain(self.graph.table_ports()) {
            self.module.port(Dir::In, name, width);
        }
        let slices = self.folded.slices;
        let outputs = self.graph.output_ports();
        let mut fold = Fold { ii: self.folded.ii, sums: Vec::new(), sliced: slices.is_some() };
        for (k, (_, uses)) in self.folded.shared_sums(self.graph).into_iter().enumerate() {
            let width = slices.map_or(outputs[uses[0].0].1.width(), |s| s.width);
            let uses = uses.into_iter().map(|(o, slot)| (outputs[o].0.clone(), slot)).collect();
            let port = self.module.port(Dir::Out, format!("sum_{k}"), width);
            fold.sums.push(SharedSum { port: port.to_string(), uses });
        }
        for (name, format, _) in outputs.iter().filter(|o| fold.sum_of(&o.0).is_none()) {
            self.module.port(Dir::Out, name.clone(), format.width());
        }
        self.module.port(Dir::Out, SLOTS, self.folded.ii);
        self.module.port(Dir::Out, "flags", Flags::COUNT);
        self.module.fold = Some(fold);
        self.module.ports.iter().for_each(|port| self.names.reserve(&port.name));
        self.folded.library.modules.iter().for_each(|m| self.names.reserve(&m.module.name));
    }

    /// A bit for each slot, of which one is set.
    fn slots(&mut self) {
        let start = self.module.signal(START);
        self.module.comment("---- the slot of this clock");
        let ii = self.folded.ii as usize;
        let names: Vec<Name> = (0..ii).map(|k| self.names.unique(&format!("at_{k}"))).collect();
        let last = self.module.hold(names[ii - 1].clone(), 1);
        self.before = vec![&start | &last];
        for name in &names[..ii - 1] {
            let at = self.module.reg(name.clone(), self.before.last().expect("there is one").clone());
            self.at.push(at.clone());
            self.before.push(at & !&start);
        }
        self.module.load(names[ii - 1].clone(), self.before[ii - 1].clone());
        self.at.push(last);
        self.module.assign(SLOTS, cat(self.at.iter().rev().cloned()));
    }

    /// Declares the nets that are read before they are driven: the results of operators and units, and their flags.
    fn nets(&mut self) {
        for k in 0..self.folded.units.len() {
            let kind = &self.folded.kinds[self.folded.units[k].kind];
            let Some(module) = kind.module else { continue };
            let ports = self.folded.library.modules[module].module.ports.iter();
            for port in ports.filter(|p| p.dir == Dir::Out) {
                let name = self.names.unique(&format!("unit_{k}_{}", port.name));
                let value = self.module.net(name, port.width);
                if port.name == "q" { self.unit[k] = value } else { self.unit_flags[k] = Some(value) }
            }
        }
        for (k, node) in self.graph.nodes.iter().enumerate() {
            match &node.kind {
                NodeKind::Pin { pin, element } => {
                    self.own[k] = net(self.graph.port(*pin, *element), node.format.width());
                }
                NodeKind::Const { bits } => self.own[k] = Value::constant(node.format.width(), *bits as i128),
                NodeKind::Op { op, inst, .. } if self.folded.unit[k].is_none() => {
                    let wish = if node.name.is_empty() { format!("{}_{k}", op.name()) } else { node.name.clone() };
                    let name = self.names.unique(&wish);
                    let raised = op.flags(inst);
                    if !raised.is_empty() {
                        let flag = self.names.unique(&format!("{name}_f"));
                        self.own_flags[k] = Some(self.module.net(flag, raised.0.count_ones()));
                    }
                    self.own[k] = self.module.net(name, node.format.width());
                }
                NodeKind::Op { .. } => {}
            }
        }
    }

    fn still(&mut self) {
        self.module.comment("---- values that depend on parameters and constants alone");
        for k in (0..self.graph.nodes.len()).filter(|k| self.folded.fixed[*k]) {
            self.operator(k);
        }
    }

    fn timing(&self, k: usize) -> String {
        let format = self.graph.nodes[k].format;
        match self.folded.unit[k] {
            _ if self.folded.fixed[k] => format!("{format}, static"),
            None => format!("{format}, ready in cycle {}", self.folded.ready(k)),
            Some(u) => format!("{format}, ready in cycle {} out of unit {u}", self.folded.ready(k)),
        }
    }

    /// Operators that share nothing.
    fn own(&mut self) {
        self.module.comment("---- operators of their own");
        for k in 0..self.graph.nodes.len() {
            if !self.folded.fixed[k] && self.folded.unit[k].is_none() {
                self.operator(k);
            }
        }
    }

    /// The instance of an operator that shares nothing, if the node is one.
    fn operator(&mut self, k: usize) {
        let node = &self.graph.nodes[k];
        let NodeKind::Op { op, args, .. } = &node.kind else { return };
        let hardware = self.folded.library.module(NodeId(k as u32)).expect("every operator node has hardware");
        let args: Vec<Value> = args.iter().map(|a| self.read(a.0 as usize, self.folded.start[k])).collect();
        let name = self.names.unique(&format!("u{k}_{}", op.name()));
        self.module.comment(self.lines.comment(node, &self.timing(k)));
        let (q, f) = (self.own[k].clone(), self.own_flags[k].clone());
        self.instance(&hardware.module, name, &args, q, f);
    }

    fn instance(&mut self, hardware: &Module, name: Name, args: &[Value], q: Value, f: Option<Value>) {
        let joined = |port: &str, dir: Dir| match (port, dir) {
            ("clk", _) => self.module.signal("clk"),
            ("q", Dir::Out) => q.clone(),
            ("f", Dir::Out) => f.clone().expect("only operators with flags have the port"),
            (port, Dir::In) if port.len() > 1 => self.module.signal(port),
            (port, _) => args[(port.as_bytes()[0] - b'a') as usize].clone(),
        };
        let connections: Vec<(Name, Value)> =
            hardware.ports.iter().map(|p| (p.name.clone(), joined(&p.name, p.dir))).collect();
        self.module.instance(&hardware.name, name, connections);
    }

    /// A node as a reader in a cycle finds it.
    fn read(&self, node: usize, cycle: u32) -> Value {
        self.at_source(self.folded.source(&self.there, node, cycle))
    }

    fn at_source(&self, source: Source) -> Value {
        match source {
            Source::Still(k) | Source::Node(k) => self.own[k].clone(),
            Source::Unit(u) => self.unit[u].clone(),
            Source::Held(k, number) => self.held[k][number as usize - 1].clone(),
            Source::Late(u) => self.late[u].clone().expect("it is read, so that it is there"),
            Source::Stored(u, port) => self.stored[u][port].clone(),
        }
    }

    /// The units with what chooses their arguments.
    fn units(&mut self) {
        let sums = self.folded.shared_sums(self.graph);
        for u in 0..self.folded.units.len() {
            let kind = &self.folded.kinds[self.folded.units[u].kind];
            self.module.comment(format!("---- unit {u}: {}", kind.what));
            let inputs = self.inputs(u);
            match kind.module {
                Some(module) => {
                    let hardware = &self.folded.library.modules[module].module;
                    let name = self.names.unique(&format!("unit_{u}"));
                    let (q, f) = (self.unit[u].clone(), self.unit_flags[u].clone());
                    self.instance(hardware, name, &inputs, q, f);
                }
                None => {
                    let port = sums.iter().position(|s| s.0 == u).expect("each unit of sums has a port");
                    self.module.assign(format!("sum_{port}"), inputs[0].clone());
                }
            }
        }
    }

    /// The inputs of a unit: registers that take the values the slot's use reads, or those values themselves for a sum in slices.
    fn inputs(&mut self, u: usize) -> Vec<Value> {
        let unit = &self.folded.units[u];
        let kind = &self.folded.kinds[unit.kind];
        let ports = kind.ports.len();
        let mut selects: BTreeMap<Vec<usize>, Value> = BTreeMap::new();
        let mut inputs = Vec::new();
        for port in 0..ports {
            let mut sources: BTreeMap<Source, Vec<usize>> = BTreeMap::new();
            for (slot, item) in unit.slots.iter().enumerate().filter_map(|(s, i)| Some((s, (*i)?))) {
                let arg = self.folded.ports(self.graph, item)[port];
                let source = self.folded.found(&self.there, item, arg);
                sources.entry(source).or_default().push(slot);
            }
            let letter = (b'a' + port as u8) as char;
            let wide = |w: &Self, source: Source, slots: &[usize]| {
                let value = w.at_source(source);
                if !kind.fixed {
                    return value;
                }
                let item = unit.slots[slots[0]].expect("a source is of a slot that is taken");
                let output = w.graph.outputs[item - w.graph.nodes.len()].value;
                value.extend(kind.ports[port], w.graph.node(output).format.is_signed())
            };
            let chosen = match sources.iter().next() {
                Some((Source::Still(k), slots)) if sources.len() == 1 => {
                    inputs.push(wide(self, Source::Still(*k), slots));
                    continue;
                }
                Some((source, slots)) if sources.len() == 1 => wide(self, *source, slots),
                _ => {
                    let ways: Vec<(Value, Vec<usize>)> =
                        sources.into_iter().map(|(source, slots)| (wide(self, source, &slots), slots)).collect();
                    self.choose(u, &ways, &mut selects)
                }
            };
            let name = self.names.unique(&format!("unit_{u}_{letter}"));
            inputs.push(if kind.fixed { self.module.wire(name, chosen) } else { self.module.reg(name, chosen) });
        }
        if !kind.points.is_empty() {
            inputs.push(self.point(u));
        }
        inputs
    }

    /// One of several values, each in its slots. Many come in pairs: one signal for all pairs says which of the two, and one for each
    /// pair that it is this one. So a pair is one lookup table of four inputs, as with a signal for each value, and half as many
    /// signals go to all bits: where ports have many sources, these are most of the signals that exceed the wires of a device.
    fn choose(&mut self, u: usize, ways: &[(Value, Vec<usize>)], selects: &mut BTreeMap<Vec<usize>, Value>) -> Value {
        let mut signal = |w: &mut Self, mut slots: Vec<usize>| {
            slots.sort_unstable();
            let known = selects.get(&slots).cloned();
            known.unwrap_or_else(|| selects.entry(slots.clone()).or_insert(w.select(u, &slots)).clone())
        };
        let together = if ways.len() >= MANY { 2 } else { 1 };
        let second: Vec<usize> = ways.chunks_exact(2).flat_map(|pair| pair[1].1.iter().copied()).collect();
        let second = if together == 2 { signal(self, second) } else { Value::flag(false) };
        let mut all = Vec::new();
        for pair in ways.chunks(together) {
            let value = match pair {
                [(a, _), (b, _)] => second.mux(b, a),
                one => one[0].0.clone(),
            };
            let slots = pair.iter().flat_map(|way| way.1.iter().copied()).collect();
            all.push(signal(self, slots).repeat(value.width()) & value);
        }
        all.into_iter().reduce(|a, b| a | b).expect("a unit is used")
    }

    /// The register that tells a unit the point of each use's result.
    fn point(&mut self, u: usize) -> Value {
        let unit = &self.folded.units[u];
        let kind = &self.folded.kinds[unit.kind];
        let mut points: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (slot, item) in unit.slots.iter().enumerate().filter_map(|(s, i)| Some((s, (*i)?))) {
            let k = kind.items.iter().position(|i| *i == item).expect("a unit serves the items of its kind");
            points.entry(kind.points[k]).or_default().push(slot);
        }
        let mut chosen = Value::zeros(POINT_BITS);
        for (point, slots) in points {
            let select = self.select(u, &slots);
            chosen = chosen | (select.repeat(POINT_BITS) & Value::constant(POINT_BITS, point as i128));
        }
        let name = self.names.unique(&format!("unit_{u}_point"));
        self.module.reg(name, chosen)
    }

    /// A register that is high in some slots.
    fn select(&mut self, u: usize, slots: &[usize]) -> Value {
        if let [one] = slots {
            return self.at[*one].clone();
        }
        let name = self.names.unique(&format!("unit_{u}_takes"));
        let next = slots.iter().map(|s| self.before[*s].clone()).reduce(|a, b| a | b).expect("a source is read");
        self.module.reg(name, next)
    }

    fn outputs(&mut self) {
        for (o, (port, _, _)) in self.graph.outputs.iter().zip(self.graph.output_ports()) {
            if self.module.ports.iter().any(|p| p.name == port) {
                let value = self.read(o.value.0 as usize, self.folded.depth());
                self.module.assign(port, value);
            }
        }
    }

    fn flags(&mut self) {
        self.module.comment("---- the flags travel with their pair");
        let mut bits: Vec<Vec<Value>> = vec![Vec::new(); Flags::COUNT as usize];
        let mut selects = BTreeMap::new();
        for (k, chain) in self.folded.flags.iter().enumerate() {
            let mut raised = self.chain(k, chain, &mut selects);
            for (node, bit) in &chain.still {
                raised.push(self.flag(*node, *bit));
            }
            let any = or(raised);
            bits[chain.flag].push(match chain.when {
                None => any,
                Some(condition) => any & self.read(condition, self.folded.depth()),
            });
        }
        let flags = bits.into_iter().rev().map(or);
        let flags = cat(flags.collect::<Vec<_>>());
        self.module.assign("flags", flags);
    }

    /// The registers of a chain; gives the last one. Many slots come out of a register, which is shared by the flags that are raised in
    /// them: else the choice alone would take as many tables in a row as the rest of a clock.
    fn chain(
        &mut self,
        number: usize,
        chain: &Chain,
        selects: &mut BTreeMap<(usize, Vec<usize>), Value>,
    ) -> Vec<Value> {
        if chain.terms.is_empty() {
            return Vec::new();
        }
        let mut before = Value::flag(false);
        for window in chain.first..=self.folded.depth() / self.folded.ii {
            let name = self.names.unique(&format!("{}_{number}_w{window}", Flags::NAMES[chain.flag]));
            let mut next = vec![self.at[0].mux(&before, &net(&name, 1))];
            for term in chain.terms.iter().filter(|t| t.window == window) {
                let mut slots: Vec<usize> = term.slots.iter().map(|s| *s as usize).collect();
                let slots = match self.folded.unit[term.node] {
                    Some(unit) if slots.len() >= MANY => {
                        slots.sort_unstable();
                        let known = selects.get(&(unit, slots.clone())).cloned();
                        known.unwrap_or_else(|| {
                            let made = self.select(unit, &slots);
                            selects.entry((unit, slots)).or_insert(made).clone()
                        })
                    }
                    _ => or(slots.into_iter().map(|s| self.at[s].clone()).collect()),
                };
                let flag = self.flag(term.node, term.bit);
                next.push(flag & slots);
            }
            // Mapping for least area leaves a row as it is: so many come together by groups.
            if next.len() >= MANY {
                // The register itself is declared behind these.
                let (own, raised) = (next[0].clone(), &next[1..]);
                let parts = raised.chunks(GROUP).map(|part| {
                    let part = or(part.to_vec());
                    self.module.wire(self.names.unique(&format!("{name}_any")), part)
                });
                next = std::iter::once(own).chain(parts).collect();
            }
            before = self.module.reg(name, or(next));
        }
        vec![before]
    }

    /// A bit of the flag port of a node's operator or unit.
    fn flag(&mut self, node: usize, bit: u32) -> Value {
        let port = match self.folded.unit[node] {
            Some(unit) => &self.unit_flags[unit],
            None => &self.own_flags[node],
        };
        let flag = port.as_ref().expect("what can raise a flag has the port").bit(bit);
        self.read_flags.push(flag.clone());
        flag
    }

    /// Reads the pins, results and flags that nothing else reads, so that linters do not ask about them.
    fn sink(&mut self) {
        let mut read = vec![false; self.graph.nodes.len()];
        for item in 0..self.folded.start.len() {
            self.folded.args(self.graph, item).into_iter().for_each(|a| read[a] = true);
        }
        self.folded.flags.iter().filter_map(|c| c.when).for_each(|c| read[c] = true);
        let mut unused: Vec<Value> = vec![Value::flag(false)];
        let pins: Vec<(usize, u32)> = (0..read.len())
            .filter(|k| read[*k])
            .filter_map(|k| match self.graph.nodes[k].kind {
                NodeKind::Pin { pin, element } => Some((pin, element)),
                _ => None,
            })
            .collect();
        for class in [PinClass::Ipin, PinClass::Jpin, PinClass::Param] {
            let idle = self.graph.ports_of(class).into_iter().filter(|e| !pins.contains(e));
            unused.extend(idle.map(|e| net(self.graph.port(e.0, e.1), self.graph.pins[e.0].format.width())));
        }
        for (k, node) in self.graph.nodes.iter().enumerate() {
            if matches!(node.kind, NodeKind::Op { .. }) && self.folded.unit[k].is_none() && !read[k] {
                unused.push(self.own[k].clone());
            }
        }
        for (k, unit) in self.folded.units.iter().enumerate() {
            let nodes = unit.slots.iter().flatten().filter(|i| **i < read.len());
            if self.unit[k].width() > 0 && !nodes.into_iter().any(|i| read[*i]) {
                unused.push(self.unit[k].clone());
            }
        }
        let ports = self.own_flags.iter().chain(&self.unit_flags).flatten();
        let bits = ports.flat_map(|port| (0..port.width()).map(|bit| port.bit(bit)));
        unused.extend(bits.filter(|bit| !self.read_flags.contains(bit)));
        if unused.len() > 1 {
            let name = self.names.unique("unused");
            self.module.wire(name, cat(unused).all());
        }
    }
}

/// The OR of signals of one bit.
fn or(signals: Vec<Value>) -> Value {
    signals.into_iter().reduce(|a, b| a | b).unwrap_or_else(|| Value::flag(false))
}
