//! Lowering: a scheduled graph becomes the module `<kernel>_pipeline` of operator instances and delay lines.
//!
//! The module takes a pair each clock and is feed-forward: no reset, no valid, no enable. Its ports are `clk`, the pins
//! and outputs of [`Graph::layout`], and `flags`, in the bit order of [`Flags::NAMES`] with 0 for `wrap`, which is the
//! accumulator's. Outputs and flags belong to the pair taken `depth` cycles ago.

mod delay;
mod memory;

use crate::graph::{Demand, Graph, NodeId, NodeKind, PinClass};
use crate::middle::gather::{Gather, Input, Source, gather};
use crate::middle::library::Library;
use crate::middle::lines::Lines;
use crate::middle::schedule::{Schedule, waits};
use crate::syntax::sources::Text;
use delay::Delays;
use hdl::Flags;
use hdl::circuit::target::Clock;
use hdl::rtl::names::Names;
use hdl::rtl::netlist::{Dir, Module, Netlist};
use hdl::rtl::{Name, Value, cat, net};
pub use memory::Memories;

/// Lowers with the hardware made anew; `text` is the PG2 source that comments quote, or empty.
pub fn lower<'a>(graph: &Graph, schedule: &Schedule, clock: Clock, text: impl Into<Text<'a>>) -> Netlist {
    let flags = gather(graph, schedule, clock);
    lower_with(graph, schedule, &Library::new(graph, clock), &flags, text.into())
}

/// [`lower`] with the hardware and the way of the flags at hand.
pub fn lower_with(graph: &Graph, schedule: &Schedule, library: &Library, flags: &Gather, text: Text) -> Netlist {
    let mut writer = Writer::new(graph, schedule, library, text);
    writer.ports();
    writer.body();
    writer.flags(flags);
    writer.outputs();
    writer.sink();
    writer.module.wraps = graph.raises(Flags::WRAP);
    writer.module.chains = library.chains(graph);
    Netlist::new(library.netlist().into_iter().chain(writer.delays.modules()).chain([writer.module]))
}

struct Writer<'a> {
    graph: &'a Graph,
    schedule: &'a Schedule,
    library: &'a Library,
    lines: Lines<'a>,
    /// The names of the library's modules.
    hardware: Vec<Name>,
    names: Names,
    module: Module,
    /// The signal or constant of each node's value when it is ready; no bits where it is not written yet.
    values: Vec<Value>,
    /// The flag port's signal of each node that has one.
    flags: Vec<Option<Value>>,
    delays: Delays,
}

impl<'a> Writer<'a> {
    fn new(graph: &'a Graph, schedule: &'a Schedule, library: &'a Library, text: Text<'a>) -> Writer<'a> {
        let name = format!("{}_pipeline", graph.name);
        let memories = Memories::plan(graph, schedule, library.clock.target);
        let stored: u64 = memories.bits(graph.nodes.len()).iter().sum();
        let beside = if stored > 0 { format!("; {stored} bits wait in memory") } else { String::new() };
        let doc = vec![
            format!("One pair of `{}` per clock, {} cycles from pins to outputs.", graph.name, schedule.depth),
            format!(
                "At {} MHz on `{}`: {} flip-flop bits in operators, {} in delay lines{beside}.",
                library.clock.mhz,
                library.clock.target.name,
                schedule.operator_bits.iter().sum::<u64>(),
                schedule.delay_bits.iter().sum::<u64>() - stored
            ),
        ];
        Writer {
            graph,
            schedule,
            library,
            lines: Lines::new(text),
            hardware: library.modules.iter().map(|m| Name::from(&m.module.name)).collect(),
            names: Names::default(),
            module: Module { name, doc, latency: schedule.depth, ..Module::default() },
            values: vec![Value::zeros(0); graph.nodes.len()],
            flags: vec![None; graph.nodes.len()],
            delays: Delays::new(memories),
        }
    }

    fn ports(&mut self) {
        let layout = self.graph.layout();
        self.module.port(Dir::In, "clk", 1);
        for (name, format) in layout.i.iter().chain(&layout.j).chain(&layout.params) {
            self.module.port(Dir::In, name.clone(), format.width());
        }
        for (name, bits) in self.graph.table_ports() {
            self.module.port(Dir::In, name, bits);
        }
        for (name, format, _) in &self.graph.output_ports() {
            self.module.port(Dir::Out, name.clone(), format.width());
        }
        self.module.port(Dir::Out, "flags", Flags::COUNT);
        for port in &self.module.ports {
            self.names.reserve(&port.name);
        }
        // Modules are no signals, but a reader should not meet one name for two things.
        for module in &self.library.modules {
            self.names.reserve(&module.module.name);
        }
    }

    /// Values in the order of their start, static ones first.
    fn body(&mut self) {
        self.delays.begin(&mut self.names, &mut self.module);
        let mut order: Vec<usize> = (0..self.graph.nodes.len()).collect();
        let s = self.schedule;
        order.sort_by_key(|k| (!s.fixed[*k], s.start[*k], *k));
        let waits = waits(self.graph, s);
        let mut cycle = None;
        for k in order {
            let id = NodeId(k as u32);
            let now = (!s.fixed[k]).then_some(s.start[k]);
            let is_op = matches!(self.graph.nodes[k].kind, NodeKind::Op { .. });
            if is_op && cycle != Some(now) {
                cycle = Some(now);
                self.module.comment(match now {
                    None => "---- values that depend on parameters and constants alone".to_string(),
                    Some(c) => format!("---- cycle {c}"),
                });
            }
            self.value(id);
            let value = self.values[k].clone();
            self.delays.line(id, &value, &waits[k], &mut self.names, &mut self.module);
        }
        self.delays.end(&mut self.names, &mut self.module);
    }

    /// Defines the value of one node.
    fn value(&mut self, id: NodeId) {
        let k = id.0 as usize;
        let node = &self.graph.nodes[k];
        match &node.kind {
            NodeKind::Pin { pin, element } => {
                self.values[k] = net(self.graph.port(*pin, *element), node.format.width());
            }
            NodeKind::Const { bits } => self.values[k] = Value::constant(node.format.width(), *bits as i128),
            NodeKind::Op { op, inst, args } => {
                let hardware = self.library.index(k).expect("every operator node has hardware");
                let name = match node.name.as_str() {
                    "" => self.names.unique(&format!("{}_{k}", op.name())),
                    wish => self.names.unique(wish),
                };
                let raised = op.flags(inst);
                let flag = (!raised.is_empty()).then(|| self.names.unique(&format!("{name}_f")));
                let instance = self.names.unique(&format!("u{k}_{}_{name}", op.name()));
                self.module.comment(self.lines.comment(node, &self.timing(id)));
                let value = self.module.net(name, node.format.width());
                let flag = flag.map(|name| self.module.net(name, raised.0.count_ones()));
                let joined = |name: &str, dir: Dir| match (name, dir) {
                    ("clk", _) => self.delays.clk.clone(),
                    ("q", Dir::Out) => value.clone(),
                    ("f", Dir::Out) => flag.clone().expect("only operators with flags have the port"),
                    (name, Dir::In) if name.len() > 1 => self.module.signal(name),
                    (name, _) => self.argument(id, args[(name.as_bytes()[0] - b'a') as usize]),
                };
                let ports = self.library.modules[hardware].module.ports.iter();
                let connections: Vec<(Name, Value)> = ports.map(|p| (p.name.clone(), joined(&p.name, p.dir))).collect();
                self.module.instance(&self.hardware[hardware], instance, connections);
                self.values[k] = value;
                self.flags[k] = flag;
            }
        }
    }

    fn timing(&self, id: NodeId) -> String {
        let format = self.graph.node(id).format;
        if self.schedule.fixed[id.0 as usize] {
            format!("{format}, static")
        } else {
            format!("{format}, ready in cycle {}", self.schedule.ready(id))
        }
    }

    /// The value that a node reads for an argument in its start cycle.
    fn argument(&self, user: NodeId, arg: NodeId) -> Value {
        let a = arg.0 as usize;
        if self.schedule.fixed[a] {
            return self.values[a].clone();
        }
        let wait = self.schedule.start[user.0 as usize] - self.schedule.ready(arg);
        self.delays.tap(arg, wait).unwrap_or(&self.values[a]).clone()
    }

    fn flags(&mut self, plan: &Gather) {
        let mut registers: Vec<Option<Value>> = Vec::with_capacity(plan.steps.len());
        // A flag that only waits is written where something joins it again: the step that it waits behind.
        let mut waits: Vec<Option<usize>> = Vec::with_capacity(plan.steps.len());
        if !plan.steps.is_empty() {
            self.module.comment("---- the flags travel with their pair".to_string());
        }
        for step in &plan.steps {
            if let [Input { source: Source::Step(from), when: None }] = step.inputs[..] {
                waits.push(Some(waits[from].unwrap_or(from)));
                registers.push(None);
                continue;
            }
            self.arrive(plan, &step.inputs, &waits, &mut registers);
            let name = self.names.unique(&format!("{}_c{}", Flags::NAMES[step.flag], step.cycle + 1));
            let next = self.any(&step.inputs, &registers, step.cycle);
            waits.push(None);
            registers.push(Some(self.module.reg(name, next)));
        }
        plan.last.iter().for_each(|inputs| self.arrive(plan, inputs, &waits, &mut registers));
        let bits = plan.last.iter().rev().map(|inputs| self.any(inputs, &registers, self.schedule.depth));
        let flags = cat(bits.collect::<Vec<_>>());
        self.module.assign("flags", flags);
    }

    /// Writes the waits of the flags among `inputs`.
    fn arrive(&mut self, plan: &Gather, inputs: &[Input], waits: &[Option<usize>], registers: &mut [Option<Value>]) {
        for input in inputs {
            if let Source::Step(k) = input.source
                && let Some(first) = waits[k]
                && registers[k].is_none()
            {
                let cycles = (plan.steps[first].cycle + 1, plan.steps[k].cycle + 1);
                let name = |cycle| format!("{}_c{cycle}", Flags::NAMES[plan.steps[k].flag]);
                let from = registers[first].clone().expect("what is waited for has a register");
                registers[k] = Some(self.delays.wait(from, cycles, name, &mut self.names, &mut self.module));
            }
        }
    }

    /// The OR of flag signals in a cycle; a vector with several used bits of one node is sliced bit by bit.
    fn any(&self, inputs: &[Input], registers: &[Option<Value>], cycle: u32) -> Value {
        let of = |input: &Input| match input.source {
            Source::Step(k) => registers[k].clone().expect("a step's inputs stand before it"),
            Source::Node { id, bit } => {
                let signal = self.flags[id.0 as usize].as_ref();
                signal.expect("a node that can raise a flag has the port").bit(bit)
            }
        };
        // Flags under one condition are ANDed with it once.
        let mut terms = Vec::new();
        for (k, input) in inputs.iter().enumerate() {
            match input.when {
                None => terms.push(of(input)),
                when if inputs[..k].iter().any(|other| other.when == when) => {}
                Some(condition) => {
                    let flags = inputs.iter().filter(|i| i.when == input.when).map(of).collect();
                    terms.push(or(flags) & self.condition(condition, cycle));
                }
            }
        }
        or(terms)
    }

    /// A condition in a cycle.
    fn condition(&self, id: NodeId, cycle: u32) -> &Value {
        let value = &self.values[id.0 as usize];
        if self.schedule.fixed[id.0 as usize] {
            return value;
        }
        self.delays.tap(id, cycle - self.schedule.ready(id)).unwrap_or(value)
    }

    fn outputs(&mut self) {
        for (o, (port, _, _)) in self.graph.outputs.iter().zip(self.graph.output_ports()) {
            let mut value = &self.values[o.value.0 as usize];
            if !self.schedule.fixed[o.value.0 as usize] {
                let wait = self.schedule.depth - self.schedule.ready(o.value);
                value = self.delays.tap(o.value, wait).unwrap_or(value);
            }
            self.module.assign(port, value.clone());
        }
    }

    /// Reads the pins and flags that nothing else reads, so that linters do not ask about them.
    fn sink(&mut self) {
        let mut read = vec![false; self.graph.nodes.len()];
        for node in &self.graph.nodes {
            if let NodeKind::Op { args, .. } = &node.kind {
                args.iter().for_each(|a| read[a.0 as usize] = true);
            }
        }
        self.graph.outputs.iter().for_each(|o| read[o.value.0 as usize] = true);
        let used: std::collections::HashSet<(usize, u32)> = (0..read.len())
            .filter(|k| read[*k])
            .filter_map(|k| match self.graph.nodes[k].kind {
                NodeKind::Pin { pin, element } => Some((pin, element)),
                _ => None,
            })
            .collect();
        let mut unused: Vec<Value> = vec![Value::flag(false)];
        let all_static = self.module.items.iter().all(|i| !i.uses_clock());
        if all_static {
            unused.push(self.module.signal("clk"));
        }
        for class in [PinClass::Ipin, PinClass::Jpin, PinClass::Param] {
            let elements = self.graph.ports_of(class);
            let idle = elements.iter().filter(|e| !used.contains(e));
            unused.extend(idle.map(|e| net(self.graph.port(e.0, e.1), self.graph.pins[e.0].format.width())));
        }
        let never = |(flag, demand): (&Option<Value>, &Demand)| flag.clone().filter(|_| *demand == Demand::Never);
        unused.extend(self.flags.iter().zip(&self.graph.demand).filter_map(never));
        if unused.len() > 1 {
            let name = self.names.unique("unused");
            self.module.wire(name, cat(unused).all());
        }
    }
}

/// The OR of signals of one bit.
fn or(signals: Vec<Value>) -> Value {
    if signals.is_empty() { Value::flag(false) } else { cat(signals).any() }
}
