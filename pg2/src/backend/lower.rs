//! Lowering: a scheduled graph becomes the module `<kernel>_pipeline` of operator instances and delay lines.
//!
//! The module takes a pair each clock and is feed-forward: no reset, no valid, no enable. Its ports are `clk`, the pins
//! and outputs of [`Graph::layout`], and `flags`, in the bit order of [`Flags::NAMES`] with 0 for `wrap`, which is the
//! accumulator's. Outputs and flags belong to the pair taken `depth` cycles ago.

mod delay;

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
use hdl::rtl::netlist::{Dir, Item, Module, Netlist};

/// Lowers with the hardware made anew; `text` is the PG2 source that comments quote, or empty.
pub fn lower<'a>(graph: &Graph, schedule: &Schedule, clock: Clock, text: impl Into<Text<'a>>) -> Netlist {
    lower_with(graph, schedule, &Library::new(graph, clock), text.into())
}

/// [`lower`] with the hardware at hand.
pub fn lower_with(graph: &Graph, schedule: &Schedule, library: &Library, text: Text) -> Netlist {
    let plan = gather(graph, schedule, library.clock);
    let mut writer = Writer::new(graph, schedule, library, text);
    writer.ports();
    writer.body();
    writer.flags(&plan);
    writer.outputs();
    writer.sink();
    let mut netlist = Netlist { top: writer.module.name.clone(), modules: Vec::new() };
    netlist.modules.extend(library.modules.iter().map(|m| m.module.clone()));
    netlist.modules.extend(writer.delays.modules());
    netlist.modules.push(writer.module);
    netlist
}

struct Writer<'a> {
    graph: &'a Graph,
    schedule: &'a Schedule,
    library: &'a Library,
    lines: Lines<'a>,
    names: Names,
    module: Module,
    /// The signal or literal of each node's value when it is ready.
    values: Vec<String>,
    /// The flag port's signal of each node that has one.
    flags: Vec<Option<String>>,
    delays: Delays,
}

impl<'a> Writer<'a> {
    fn new(graph: &'a Graph, schedule: &'a Schedule, library: &'a Library, text: Text<'a>) -> Writer<'a> {
        let name = format!("{}_pipeline", graph.name);
        let doc = vec![
            format!("One pair of `{}` per clock, {} cycles from pins to outputs.", graph.name, schedule.depth),
            format!(
                "At {} MHz on `{}`: {} flip-flop bits in operators, {} in delay lines.",
                library.clock.mhz,
                library.clock.target.name,
                schedule.operator_bits.iter().sum::<u64>(),
                schedule.delay_bits.iter().sum::<u64>()
            ),
        ];
        Writer {
            graph,
            schedule,
            library,
            lines: Lines::new(text),
            names: Names::default(),
            module: Module { name, doc, latency: schedule.depth, ..Module::default() },
            values: vec![String::new(); graph.nodes.len()],
            flags: vec![None; graph.nodes.len()],
            delays: Delays::default(),
        }
    }

    fn ports(&mut self) {
        let layout = self.graph.layout();
        self.module.port(Dir::In, "clk", 1);
        for (name, format) in layout.i.iter().chain(&layout.j).chain(&layout.params) {
            self.module.port(Dir::In, name.clone(), format.width());
        }
        for (name, format, _) in &layout.outputs {
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
                self.comment(match now {
                    None => "---- values that depend on parameters and constants alone".to_string(),
                    Some(c) => format!("---- cycle {c}"),
                });
            }
            self.value(id);
            let value = self.values[k].clone();
            let width = self.graph.nodes[k].format.width();
            self.delays.line(id, &value, width, &waits[k], &mut self.names, &mut self.module.items);
        }
    }

    fn comment(&mut self, text: String) {
        self.module.items.push(Item::Comment(text));
    }

    /// Defines the value of one node.
    fn value(&mut self, id: NodeId) {
        let k = id.0 as usize;
        let node = &self.graph.nodes[k];
        match &node.kind {
            NodeKind::Pin { pin, element } => self.values[k] = self.graph.port(*pin, *element),
            NodeKind::Const { bits } => self.values[k] = format!("{}'h{bits:x}", node.format.width()),
            NodeKind::Op { op, inst, args } => {
                let hardware = self.library.module(id).expect("every operator node has hardware");
                let ports = &hardware.module.ports;
                let wish = if node.name.is_empty() { format!("{}_{k}", op.name()) } else { node.name.clone() };
                let value = self.names.unique(&wish);
                let flag = (!op.flags(inst).is_empty()).then(|| self.names.unique(&format!("{value}_f")));
                let instance = self.names.unique(&format!("u{k}_{}_{value}", op.name()));
                let mut connections: Vec<(String, String)> = Vec::new();
                for port in ports {
                    let to = match (port.name.as_str(), port.dir) {
                        ("clk", _) => "clk".to_string(),
                        ("q", Dir::Out) => value.clone(),
                        ("f", Dir::Out) => flag.clone().expect("only operators with flags have the port"),
                        (name, _) => self.argument(id, args[(name.as_bytes()[0] - b'a') as usize]),
                    };
                    connections.push((port.name.clone(), to));
                }
                let comment = self.lines.comment(node, &self.timing(id));
                self.comment(comment);
                self.module.items.push(Item::Net { name: value.clone(), width: node.format.width() });
                if let Some(name) = &flag {
                    let width = op.flags(inst).0.count_ones();
                    self.module.items.push(Item::Net { name: name.clone(), width });
                }
                let module = hardware.module.name.clone();
                self.module.items.push(Item::Instance { module, name: instance, connections });
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

    /// What a node reads for an argument in its start cycle.
    fn argument(&self, user: NodeId, arg: NodeId) -> String {
        let a = arg.0 as usize;
        if self.schedule.fixed[a] {
            return self.values[a].clone();
        }
        let wait = self.schedule.start[user.0 as usize] - self.schedule.ready(arg);
        self.delays.tap(arg, wait).unwrap_or(&self.values[a]).to_string()
    }

    fn flags(&mut self, plan: &Gather) {
        let mut registers: Vec<String> = Vec::with_capacity(plan.steps.len());
        // A flag that only waits is written where something joins it again: the step that it waits behind.
        let mut waits: Vec<Option<usize>> = Vec::with_capacity(plan.steps.len());
        if !plan.steps.is_empty() {
            self.comment("---- the flags travel with their pair".to_string());
        }
        for step in &plan.steps {
            if let [Input { source: Source::Step(from), when: None }] = step.inputs[..] {
                waits.push(Some(waits[from].unwrap_or(from)));
                registers.push(String::new());
                continue;
            }
            self.arrive(plan, &step.inputs, &waits, &mut registers);
            let name = self.names.unique(&format!("{}_c{}", Flags::NAMES[step.flag], step.cycle + 1));
            let next = self.any(&step.inputs, &registers, step.cycle);
            self.module.items.push(Item::Reg { name: name.clone(), width: 1, next });
            waits.push(None);
            registers.push(name);
        }
        plan.last.iter().for_each(|inputs| self.arrive(plan, inputs, &waits, &mut registers));
        let bits: Vec<String> =
            plan.last.iter().rev().map(|inputs| self.any(inputs, &registers, self.schedule.depth)).collect();
        self.module.items.push(Item::Assign { name: "flags".into(), expr: format!("{{{}}}", bits.join(", ")) });
    }

    /// Writes the waits of the flags among `inputs`.
    fn arrive(&mut self, plan: &Gather, inputs: &[Input], waits: &[Option<usize>], registers: &mut [String]) {
        for input in inputs {
            if let Source::Step(k) = input.source
                && let Some(first) = waits[k]
                && registers[k].is_empty()
            {
                let cycles = (plan.steps[first].cycle + 1, plan.steps[k].cycle + 1);
                let name = |cycle| format!("{}_c{cycle}", Flags::NAMES[plan.steps[k].flag]);
                let from = registers[first].clone();
                registers[k] = self.delays.wait(from, 1, cycles, name, &mut self.names, &mut self.module.items);
            }
        }
    }

    /// The OR of flag signals in a cycle; a vector with several used bits of one node is sliced bit by bit.
    fn any(&self, inputs: &[Input], registers: &[String], cycle: u32) -> String {
        let of = |input: &Input| match input.source {
            Source::Step(k) => registers[k].clone(),
            Source::Node { id, bit } => {
                let signal = self.flags[id.0 as usize].as_deref().expect("a node that can raise a flag has the port");
                let NodeKind::Op { op, inst, .. } = &self.graph.node(id).kind else {
                    unreachable!("pins raise nothing")
                };
                if op.flags(inst).0.count_ones() == 1 { signal.to_string() } else { format!("{signal}[{bit}]") }
            }
        };
        // Flags under one condition are ANDed with it once.
        let mut terms = Vec::new();
        for (k, input) in inputs.iter().enumerate() {
            match input.when {
                None => terms.push(of(input)),
                when if inputs[..k].iter().any(|other| other.when == when) => {}
                Some(condition) => {
                    let flags: Vec<String> = inputs.iter().filter(|i| i.when == input.when).map(of).collect();
                    terms.push(format!("{} & {}", or(&flags), self.condition(condition, cycle)));
                }
            }
        }
        or(&terms)
    }

    /// A condition in a cycle.
    fn condition(&self, id: NodeId, cycle: u32) -> &str {
        let value = &self.values[id.0 as usize];
        if self.schedule.fixed[id.0 as usize] {
            return value;
        }
        self.delays.tap(id, cycle - self.schedule.ready(id)).unwrap_or(value)
    }

    fn outputs(&mut self) {
        let layout = self.graph.layout();
        for (o, (port, _, _)) in self.graph.outputs.iter().zip(layout.outputs) {
            let v = o.value.0 as usize;
            let expr = if self.schedule.fixed[v] {
                self.values[v].clone()
            } else {
                let wait = self.schedule.depth - self.schedule.ready(o.value);
                self.delays.tap(o.value, wait).unwrap_or(&self.values[v]).to_string()
            };
            self.module.items.push(Item::Assign { name: port, expr });
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
        let mut unused: Vec<String> = Vec::new();
        let all_static = self.module.items.iter().all(|i| !i.uses_clock());
        if all_static {
            unused.push("clk".into());
        }
        for class in [PinClass::Ipin, PinClass::Jpin, PinClass::Param] {
            let elements = self.graph.elements_of(class);
            unused.extend(elements.iter().filter(|e| !used.contains(e)).map(|e| self.graph.port(e.0, e.1)));
        }
        let never = |(flag, demand): (&Option<String>, &Demand)| flag.clone().filter(|_| *demand == Demand::Never);
        unused.extend(self.flags.iter().zip(&self.graph.demand).filter_map(never));
        if !unused.is_empty() {
            let name = self.names.unique("unused");
            let expr = format!("&{{1'b0, {}}}", unused.join(", "));
            self.module.items.push(Item::Wire { name, width: 1, expr });
        }
    }
}

/// The OR of signals.
fn or(signals: &[String]) -> String {
    match signals {
        [] => "1'b0".into(),
        [one] => one.clone(),
        many => format!("|{{{}}}", many.join(", ")),
    }
}
