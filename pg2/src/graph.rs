//! The typed dataflow graph: operator nodes in topological order between pins and outputs.

pub(crate) mod bins;
pub(crate) mod builder;

use crate::diag::Span;
use hdl::engine::Table;
use hdl::number::exact::{self, Exact};
use hdl::number::format::UINT1;
use hdl::number::reduce::{Ranked, Record, Selection};
use hdl::op::semantics::DOUBLE;
use hdl::op::{Inst, Operator};
use hdl::rtl::loaded::port_bits;
use hdl::{Bounds, Flags, Format, Reduce};
use std::collections::HashMap;
use std::fmt::{self, Write as _};

/// The class of a pin.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PinClass {
    /// Of the target i: constant during a run, one value a lane.
    Ipin,
    /// Of the source j: a new value each clock, the same for all lanes.
    Jpin,
    /// A run-time constant, the same for all lanes.
    Param,
    /// An accumulated output.
    Fout,
}

/// A declared pin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pin {
    pub name: String,
    pub class: PinClass,
    pub format: Format,
    /// Number of elements of a vector or matrix; `None` for a scalar.
    pub len: Option<u32>,
    /// Columns of a matrix, whose elements stand by rows.
    pub columns: Option<u32>,
    /// Whether it is a parameter that is read by indices known at run time: a table in memory.
    pub table: bool,
    /// Patterns of the least and of the greatest number that an element takes, where the source states them. They change no
    /// bit and no flag: only error bounds rest on them.
    pub range: Option<[u64; 2]>,
    /// Of a parameter that need not be given: the values of its elements.
    pub default: Option<Vec<Exact>>,
    pub span: Span,
}

impl Pin {
    /// A scalar of which nothing else is stated.
    pub fn scalar(name: impl Into<String>, class: PinClass, format: Format, span: Span) -> Pin {
        Pin {
            name: name.into(),
            class,
            format,
            len: None,
            columns: None,
            table: false,
            range: None,
            default: None,
            span,
        }
    }

    /// Elements: 1 for a scalar.
    pub fn elements(&self) -> u32 {
        self.len.unwrap_or(1)
    }

    /// The pattern that an element has where nothing is given, in its own format or a wider one that a backend holds.
    pub fn default_bits(&self, element: u32, held: Format) -> Option<u64> {
        let value = self.default.as_ref()?.get(element as usize)?;
        exact::to_bits(held, value).ok().map(|(bits, _)| bits)
    }

    /// The same as a number; of more than 53 bits the nearest one.
    pub fn default_number(&self, element: u32) -> Option<f64> {
        self.default_bits(element, DOUBLE).map(f64::from_bits)
    }

    /// CSV column name of an element: `xi[0]`, `q[0][1]`, or `mj` for a scalar.
    pub fn column(&self, element: u32) -> String {
        match (self.len, self.columns) {
            (Some(_), Some(columns)) => format!("{}[{}][{}]", self.name, element / columns, element % columns),
            (Some(_), None) => format!("{}[{element}]", self.name),
            (None, _) => self.name.clone(),
        }
    }

    /// The element's name as part of an identifier: `xi_0`, `q_0_1`, or `mj` for a scalar.
    pub fn flat(&self, element: u32) -> String {
        match (self.len, self.columns) {
            (Some(_), Some(columns)) => format!("{}_{}_{}", self.name, element / columns, element % columns),
            (Some(_), None) => format!("{}_{element}", self.name),
            (None, _) => self.name.clone(),
        }
    }
}

/// Index of a node in [`Graph::nodes`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct NodeId(pub u32);

/// The operation of a node.
#[derive(Clone)]
pub enum NodeKind {
    /// An element of the pin of that index in [`Graph::pins`] (never a fout).
    Pin { pin: usize, element: u32 },
    /// A constant pattern.
    Const { bits: u64 },
    /// An operator on earlier nodes.
    Op { op: &'static dyn Operator, inst: Inst, args: Vec<NodeId> },
}

/// A node: one scalar value.
#[derive(Clone)]
pub struct Node {
    pub kind: NodeKind,
    pub format: Format,
    /// The source's name for the value, such as `dx[0]`; empty for intermediate ones.
    pub name: String,
    pub span: Span,
}

/// When a flag that a node raises counts (RULES L6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    Always,
    Never,
    /// Where that node, a uint1, is 1.
    When(NodeId),
}

/// One element of an output and its reduction.
#[derive(Clone, Debug)]
pub struct Output {
    pub pin: usize,
    pub element: u32,
    pub reduce: Reduce,
    pub value: NodeId,
}

/// A vector or matrix of sums of which each pair changes one: the elements' values are `value` where the place is theirs, else 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bins {
    pub pin: usize,
    /// A use of the operator `place`, or a choice of such.
    pub at: NodeId,
    pub value: NodeId,
}

/// Bins whose outputs are gathered in memory: two pins stand for what a pair adds, the place and the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gathered {
    pub pin: usize,
    pub at: usize,
    pub value: usize,
}

/// A kernel's typed dataflow.
#[derive(Clone)]
pub struct Graph {
    /// The kernel's name: its file's stem, made an identifier.
    pub name: String,
    /// In declaration order.
    pub pins: Vec<Pin>,
    /// In topological order: arguments stand before their users.
    pub nodes: Vec<Node>,
    /// In declaration order of pins and elements; each output element exactly once.
    pub outputs: Vec<Output>,
    /// The literals of floats and logs before their formats rounded them, for the real-arithmetic semantics; of constants without
    /// an entry the pattern says it. A simplified graph has none.
    pub numbers: HashMap<NodeId, f64>,
    /// Outputs that are reduced by an index known at run time; a simplified graph knows of none.
    pub bins: Vec<Bins>,
    /// Those of them whose elements are no outputs of this graph, of which it has the places and values instead.
    pub gathered: Vec<Gathered>,
    /// The condition of the pairs that count, which the outputs' values rest on already (RULES L19); a simplified graph has none.
    pub filter: Option<NodeId>,
    /// For each node when its flags count; empty until [`crate::middle::demand::mark`] has found it, as simplification does.
    pub demand: Vec<Demand>,
}

impl Graph {
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The pins of a class with their indices, in declaration order.
    pub fn pins_of(&self, class: PinClass) -> impl Iterator<Item = (usize, &Pin)> {
        self.pins.iter().enumerate().filter(move |(_, p)| p.class == class)
    }

    /// (pin index, element) of every element of a class, in record order: that of the declarations, but tables stand behind all
    /// other parameters.
    pub fn elements_of(&self, class: PinClass) -> Vec<(usize, u32)> {
        // What stands for sums in memory is in no record.
        let stands = |k: usize| self.gathered.iter().any(|g| g.at == k || g.value == k);
        let of = |table: bool| self.pins_of(class).filter(move |(k, p)| p.table == table && !stands(*k));
        of(false).chain(of(true)).flat_map(|(k, p)| (0..p.elements()).map(move |e| (k, e))).collect()
    }

    /// The elements of a class that are ports of the pipeline: all but those of tables.
    pub fn ports_of(&self, class: PinClass) -> Vec<(usize, u32)> {
        let mut elements = self.elements_of(class);
        elements.retain(|(k, _)| !self.pins[*k].table);
        elements
    }

    /// The ports through which the tables that nodes read are written, and their bits.
    pub fn table_ports(&self) -> Vec<(String, u32)> {
        let mut ports: Vec<(String, u32)> = Vec::new();
        for node in &self.nodes {
            if let NodeKind::Op { inst, .. } = &node.kind
                && let Some(table) = inst.attrs.lookup.as_ref().filter(|t| t.is_open())
                && let Some(loaded) = &table.loaded
                && !ports.iter().any(|(port, _)| *port == loaded.port)
            {
                ports.push((loaded.port.clone(), port_bits(table.format.width(), table.count())));
            }
        }
        ports
    }

    /// The tables that nodes read, and the first element of each among those of the parameters.
    pub fn tables_read(&self) -> Vec<(String, usize)> {
        let places = self.elements_of(PinClass::Param);
        let first = |pin: usize| places.iter().position(|p| *p == (pin, 0));
        let ports = self.table_ports();
        let of = |(pin, _): (usize, &Pin)| Some((self.table_port(pin), first(pin)?));
        self.tables().filter_map(of).filter(|(port, _)| ports.iter().any(|p| p.0 == *port)).collect()
    }

    /// The pins of the program: without those that stand for sums in memory.
    pub fn own_pins(&self) -> impl Iterator<Item = &Pin> {
        let stands = |k: usize| self.gathered.iter().any(|g| g.at == k || g.value == k);
        self.pins.iter().enumerate().filter(move |(k, _)| !stands(*k)).map(|(_, pin)| pin)
    }

    /// Port, format and reduction of each output of the pipeline.
    pub fn output_ports(&self) -> Vec<(String, Format, Reduce)> {
        self.outputs.iter().map(|o| (self.port(o.pin, o.element), self.pins[o.pin].format, o.reduce)).collect()
    }

    /// The same of the elements of the record, of which some may be sums in memory.
    fn record_outputs(&self) -> Vec<(String, Format, Reduce)> {
        if self.gathered.is_empty() {
            return self.output_ports();
        }
        let reduced: HashMap<(usize, u32), Reduce> =
            self.outputs.iter().map(|o| ((o.pin, o.element), o.reduce)).collect();
        let of = |(k, e): (usize, u32)| {
            let reduce = reduced.get(&(k, e)).copied().unwrap_or(Reduce::Sum);
            (self.port(k, e), self.pins[k].format, reduce)
        };
        self.elements_of(PinClass::Fout).into_iter().map(of).collect()
    }

    /// The parameters that are tables.
    pub fn tables(&self) -> impl Iterator<Item = (usize, &Pin)> {
        self.pins_of(PinClass::Param).filter(|(_, p)| p.table)
    }

    /// The port by which a table is written into the memories of the pipeline.
    pub fn table_port(&self, pin: usize) -> String {
        format!("t_{}", self.pins[pin].name)
    }

    /// The graph with the entries of its tables as these parameters have them, a pattern for each element in record order, or what
    /// [`hdl::op::semantics::Real`] holds; `None` where there is no table.
    pub fn bound(&self, params: &[u64], is_real: bool) -> Option<Graph> {
        self.tables().next()?;
        let places = self.elements_of(PinClass::Param);
        let mut graph = self.clone();
        for node in &mut graph.nodes {
            if let NodeKind::Op { inst, .. } = &mut node.kind
                && let Some(table) = &inst.attrs.lookup
                && let Some(loaded) = &table.loaded
            {
                let first = places.iter().position(|p| *p == (loaded.pin as usize, 0)).unwrap_or(0);
                let entries = &params[first..][..table.count() as usize];
                inst.attrs.lookup = Some(table.bound(entries, is_real).into());
            }
        }
        Some(graph)
    }

    /// The port of a pin's element on the pipeline module: `i_xi_0`, `j_q_0_1`, or `j_mj` for a scalar. The checker
    /// refuses pins of which two would get one port.
    pub fn port(&self, pin: usize, element: u32) -> String {
        let p = &self.pins[pin];
        let prefix = match p.class {
            PinClass::Ipin => "i",
            PinClass::Jpin => "j",
            PinClass::Param => "p",
            PinClass::Fout => "o",
        };
        format!("{prefix}_{}", p.flat(element))
    }

    /// The engine's view of this kernel's records.
    pub fn layout(&self) -> hdl::engine::Layout {
        let of = |class| -> Vec<(String, Format)> {
            self.ports_of(class).into_iter().map(|(k, e)| (self.port(k, e), self.pins[k].format)).collect()
        };
        hdl::engine::Layout {
            kernel: self.name.clone(),
            i: of(PinClass::Ipin),
            j: of(PinClass::Jpin),
            params: of(PinClass::Param),
            tables: self
                .tables()
                .map(|(k, p)| Table { port: self.table_port(k), format: p.format, count: p.elements() })
                .collect(),
            outputs: self.record_outputs(),
            bins: bins::layout(self),
        }
    }

    /// The kernel's computation, without the names of anything: two kernels with one text have one circuit. Pins are counted
    /// by class in record order. Boards are known by the hash of this text ([`hdl::serial::kernel_hash`]), made of the graph
    /// as it was compiled, before it is simplified.
    pub fn canonical(&self) -> String {
        let classes = [PinClass::Ipin, PinClass::Jpin, PinClass::Param, PinClass::Fout];
        let records = classes.map(|class| self.elements_of(class));
        // The class and place of every input.
        let places: HashMap<(usize, u32), (usize, usize)> = (0..3)
            .flat_map(|class| records[class].iter().enumerate().map(move |(place, element)| (*element, (class, place))))
            .collect();
        let mut text = String::new();
        for (letter, record) in ["i", "j", "p", "o"].iter().zip(&records) {
            for (pin, _) in record {
                let _ = writeln!(text, "{letter} {}", self.pins[*pin].format);
            }
        }
        for node in &self.nodes {
            let _ = match &node.kind {
                NodeKind::Pin { pin, element } => {
                    let (class, place) = places[&(*pin, *element)];
                    writeln!(text, "{}{place}", ["i", "j", "p"][class])
                }
                NodeKind::Const { bits } => writeln!(text, "{} {bits:#x}", node.format),
                NodeKind::Op { op, inst, args } => {
                    let _ = write!(text, "{} {}", node.format, op.name());
                    for a in args {
                        let _ = write!(text, " %{}", a.0);
                    }
                    let cut = if inst.truncates() { " t" } else { "" };
                    let function = inst.attrs.function.as_ref().map_or(String::new(), |f| format!(" {}", f.text));
                    let table = inst.attrs.lookup.as_ref().map_or(String::new(), |t| format!(" {}", t.text()));
                    writeln!(text, " {} {}{cut}{function}{table}", inst.attrs.n, inst.attrs.d)
                }
            };
        }
        for o in &self.outputs {
            let _ = match o.reduce {
                Reduce::Ranked(Ranked { selection, member, rank, .. }) => {
                    writeln!(text, "{} %{} {selection}.{rank}.{member}", o.reduce, o.value.0)
                }
                reduce => writeln!(text, "{reduce} %{}", o.value.0),
            };
        }
        text
    }

    /// Gathering and combination of the outputs.
    pub fn record(&self) -> Record {
        Record::new(self.outputs.iter().map(|o| (self.pins[o.pin].format, o.reduce)))
    }

    /// Whether some node can raise these flags where they count.
    pub fn raises(&self, flags: Flags) -> bool {
        self.nodes.iter().zip(&self.demand).any(|(node, demand)| match &node.kind {
            NodeKind::Op { op, inst, .. } => *demand != Demand::Never && op.flags(inst).intersects(flags),
            NodeKind::Pin { .. } | NodeKind::Const { .. } => false,
        })
    }

    /// When the flags of a node count. Only of a graph whose demand is known.
    pub fn demand(&self, id: NodeId) -> Demand {
        self.demand[id.0 as usize]
    }

    /// Checks order, formats (through each operator), outputs and demand. The error names the node.
    pub fn verify(&self) -> Result<(), String> {
        for (k, node) in self.nodes.iter().enumerate() {
            let wrong = |what: String| Err(format!("node %{k}: {what}"));
            match &node.kind {
                NodeKind::Pin { pin, element } => match self.pins.get(*pin) {
                    Some(p) if p.class != PinClass::Fout && *element < p.elements() && p.format == node.format => {}
                    _ => return wrong("is no element of an input pin".into()),
                },
                NodeKind::Const { bits } if bits & !node.format.mask() != 0 => {
                    return wrong("constant out of range".into());
                }
                NodeKind::Const { .. } => {}
                NodeKind::Op { op, inst, args } => {
                    if args.iter().any(|a| a.0 as usize >= k) {
                        return wrong("uses a later node".into());
                    }
                    let formats: Vec<Format> = args.iter().map(|a| self.node(*a).format).collect();
                    if formats != inst.args || inst.result != node.format {
                        return wrong(format!("formats of {} do not match its use", op.name()));
                    }
                    match op.result(&formats, &inst.attrs) {
                        Ok(f) if f == node.format => {}
                        Ok(f) => return wrong(format!("{} gives {f}, not {}", op.name(), node.format)),
                        Err(e) => return wrong(e),
                    }
                }
            }
        }
        let in_memory = |k: usize| self.gathered.iter().any(|g| g.pin == k);
        let own = self.pins_of(PinClass::Fout).filter(|(k, _)| !in_memory(*k));
        let wanted: Vec<(usize, u32)> = own.flat_map(|(k, p)| (0..p.elements()).map(move |e| (k, e))).collect();
        let given: Vec<(usize, u32)> = self.outputs.iter().map(|o| (o.pin, o.element)).collect();
        if wanted != given {
            return Err("the outputs are not the elements of the fout pins in order".into());
        }
        for o in &self.outputs {
            if o.value.0 as usize >= self.nodes.len() || self.node(o.value).format != self.pins[o.pin].format {
                return Err(format!("output {} has the wrong format", self.pins[o.pin].column(o.element)));
            }
        }
        let selections = Selection::all(self.outputs.iter().map(|o| (self.pins[o.pin].format, o.reduce)))?;
        for rank in selections.iter().flat_map(|s| s.ranks[1..].iter().map(|rank| (&s.ranks[0], rank))) {
            if rank.0.iter().zip(rank.1).any(|(a, b)| self.outputs[*a].value != self.outputs[*b].value) {
                return Err("the places of a selection do not take one value".into());
            }
        }
        if self.filter.is_some_and(|f| self.nodes.get(f.0 as usize).is_none_or(|n| n.format != UINT1)) {
            return Err("the filter is no condition".into());
        }
        if !self.demand.is_empty() && self.demand.len() != self.nodes.len() {
            return Err("the demand is not that of each node".into());
        }
        for (k, demand) in self.demand.iter().enumerate() {
            if let Demand::When(c) = demand
                && self.nodes.get(c.0 as usize).is_none_or(|n| n.format != UINT1)
            {
                return Err(format!("node %{k}: its demand is no condition"));
            }
        }
        Ok(())
    }
}

/// The stable text dump: one node a line.
impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "kernel {}", self.name)?;
        for (k, node) in self.nodes.iter().enumerate() {
            write!(f, "%{k}: {} = ", node.format)?;
            match &node.kind {
                NodeKind::Pin { pin, element } => write!(f, "pin {}", self.pins[*pin].column(*element))?,
                NodeKind::Const { bits } => write!(f, "const {bits:#x}")?,
                NodeKind::Op { op, inst, args } => {
                    write!(f, "{}", op.name())?;
                    for a in args {
                        write!(f, " %{}", a.0)?;
                    }
                    if inst.attrs.n != 0 || inst.attrs.d != 0 {
                        write!(f, " n={} d={}", inst.attrs.n, inst.attrs.d)?;
                    }
                    if inst.truncates() {
                        write!(f, " truncate")?;
                    }
                    if let Some(function) = &inst.attrs.function {
                        write!(f, " [{}]", function.text)?;
                    }
                    if let Some(table) = &inst.attrs.lookup {
                        match &table.loaded {
                            Some(loaded) => write!(f, " [{}]", self.pins[loaded.pin as usize].name)?,
                            None => write!(f, " [{} entries {:016x}]", table.count(), table.digest())?,
                        }
                    }
                    if inst.nonneg != 0 {
                        write!(f, " nonneg={:b}", inst.nonneg)?;
                    }
                    for (k, b) in inst.bounds.iter().enumerate().filter(|(k, b)| **b != Bounds::of(inst.args[*k])) {
                        write!(f, " {k}:{:#x}..{:#x}{}", b.low, b.high, if b.zero { " or 0" } else { "" })?;
                    }
                }
            }
            match self.demand.get(k) {
                Some(Demand::When(c)) => write!(f, " flags if %{}", c.0)?,
                Some(Demand::Never) => write!(f, " flags never")?,
                Some(Demand::Always) | None => {}
            }
            writeln!(f, "{}{}", if node.name.is_empty() { "" } else { "  // " }, node.name)?;
        }
        for o in &self.outputs {
            writeln!(f, "{} {} %{}", self.pins[o.pin].column(o.element), o.reduce, o.value.0)?;
        }
        self.filter.iter().try_for_each(|filter| writeln!(f, "where %{}", filter.0))
    }
}
