//! The builder that operators describe themselves with, and the pipeliner that cuts them into stages.
//!
//! An operator writes a feed-forward dataflow of combinational pieces, each an expression over others ([`X`]), and never
//! mentions a register. The delay of a piece follows from its expression, unless the operator states it and says why
//! ([`Circuit::logic_at`]). [`pipeline`] finds the least latency that the clock's budget allows, and among all placings of
//! that latency one with the fewest register bits, and inserts a register wherever a signal crosses from one stage into a
//! later one. So one description serves every target and frequency, and the latency is computed. Pieces that
//! reach no output and bits that nothing reads cost nothing.

pub mod area;
mod cost;
mod emit;
mod evaluate;
pub mod memory;
mod mul;
mod place;
mod retime;
pub mod simplex;
mod split;
pub mod target;

pub use evaluate::{Evaluator, Port};

use crate::circuit::target::{Clock, Cost, Target};
use crate::hash::FastMap;
use crate::rtl::netlist::Module;
use crate::rtl::{Expr, cat, loaded};
use cost::cost;
use std::collections::BTreeMap;

/// The owner of ports, and of what nobody else owns.
pub const PORTS: u32 = u32::MAX;

/// An expression over the signals of a circuit.
pub type X = Expr<Sig>;

/// A signal of a circuit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sig(u32);

impl Sig {
    /// Its place in the order of definition.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum NodeKind {
    Input {
        /// Whether it is static while pairs are in flight.
        still: bool,
    },
    Expr {
        expr: Expr<Sig>,
        cost: Cost,
        /// Whether a register stands right behind it.
        held: bool,
    },
    Rom {
        data: Vec<u64>,
        addr: Sig,
    },
    /// A memory of so many words that is written through an input which stands still while values are in flight.
    Ram {
        depth: u32,
        addr: Sig,
        write: Sig,
    },
    /// A product that fits one multiplier block, or as near to that as the target's blocks allow.
    Mul {
        a: Sig,
        b: Sig,
        signed: bool,
    },
}

impl NodeKind {
    /// Whether a register of its own stands right behind it: its result is there a stage later.
    fn held(&self) -> bool {
        matches!(self, NodeKind::Mul { .. } | NodeKind::Expr { held: true, .. })
    }

    /// Whether it is read through a register of a memory: the word leaves a stage later.
    fn is_memory(&self) -> bool {
        matches!(self, NodeKind::Rom { .. } | NodeKind::Ram { .. })
    }

    fn args(&self) -> Vec<Sig> {
        match self {
            NodeKind::Input { .. } => Vec::new(),
            NodeKind::Expr { expr, .. } => leaves(expr),
            NodeKind::Rom { addr, .. } => vec![*addr],
            NodeKind::Ram { addr, write, .. } => vec![*addr, *write],
            NodeKind::Mul { a, b, .. } => vec![*a, *b],
        }
    }
}

/// The signals that an expression reads, each once.
fn leaves(expr: &Expr<Sig>) -> Vec<Sig> {
    let mut found = Vec::new();
    expr.reads(&mut |s, _, _, _| {
        if !found.contains(s) {
            found.push(*s);
        }
    });
    found
}

#[derive(Clone, PartialEq, Debug)]
struct Signal {
    /// The name that the operator asked for; the text makes it unique.
    name: String,
    width: u32,
    kind: NodeKind,
    owner: u32,
    note: String,
}

/// A cost that an operator states because it knows better than the expression tells.
#[derive(Clone, Debug)]
pub struct Stated {
    pub cost: Cost,
    expr: X,
    pub why: &'static str,
}

impl Stated {
    /// Whether the stated time is another one than the expression's.
    pub fn matters(&self, target: &Target) -> bool {
        self.cost.delay(target) != cost(&self.expr).delay(target)
    }
}

/// A feed-forward combinational description, in order of definition.
#[derive(Clone, Debug)]
pub struct Circuit {
    signals: Vec<Signal>,
    /// The signal of each kind and width that is made of others: a piece that is asked for again is that one.
    known: FastMap<(NodeKind, u32), Sig>,
    outputs: Vec<(String, Sig)>,
    clock: Clock,
    /// Who owns new signals, and what their names begin with.
    owner: (u32, String),
    /// Cycles that it takes at least.
    pub least_latency: u32,
    /// Owners whose signals get a module of their own, and the names of its instance.
    pub parts: BTreeMap<u32, String>,
    /// Lookup tables and carries of the products that are in logic, about.
    in_logic: u32,
    stated: Vec<Stated>,
}

/// Circuits of one clock are equal if they describe the same pieces.
impl PartialEq for Circuit {
    fn eq(&self, other: &Circuit) -> bool {
        self.signals == other.signals && self.outputs == other.outputs
    }
}

impl Circuit {
    /// An empty circuit for a clock. Operators may ask for the clock to choose between forms, as long as
    /// the bits stay the same.
    pub fn new(clock: Clock) -> Circuit {
        Circuit {
            signals: Vec::new(),
            known: FastMap::default(),
            outputs: Vec::new(),
            clock,
            owner: (PORTS, String::new()),
            least_latency: 0,
            parts: BTreeMap::new(),
            in_logic: 0,
            stated: Vec::new(),
        }
    }

    /// From here on products are in logic, or in blocks.
    pub fn products_in_logic(&mut self, logic: bool) {
        self.clock.blocks = logic.then_some(0);
    }

    pub fn clock(&self) -> Clock {
        self.clock
    }

    pub fn width(&self, s: Sig) -> u32 {
        self.signals[s.index()].width
    }

    fn push(&mut self, name: &str, width: u32, kind: NodeKind) -> Sig {
        assert!(width > 0, "signal {name} has no bits");
        let key = (!matches!(kind, NodeKind::Input { .. })).then(|| (kind.clone(), width));
        if let Some(known) = key.as_ref().and_then(|k| self.known.get(k)) {
            return *known;
        }
        let (owner, prefix) = (self.owner.0, &self.owner.1);
        self.signals.push(Signal { name: format!("{prefix}{name}"), width, kind, owner, note: String::new() });
        let made = Sig(self.signals.len() as u32 - 1);
        self.known.extend(key.map(|k| (k, made)));
        made
    }

    /// An input port.
    pub fn input(&mut self, name: &str, width: u32) -> Sig {
        self.push(name, width, NodeKind::Input { still: false })
    }

    /// An input port that is static while values are in flight: it needs no registers to wait.
    pub fn still_input(&mut self, name: &str, width: u32) -> Sig {
        self.push(name, width, NodeKind::Input { still: true })
    }

    /// How many signals there are.
    pub fn pieces(&self) -> usize {
        self.signals.len()
    }

    /// For each signal the stage in which it is there if everything comes as early as possible.
    pub fn earliest_stages(&self) -> Vec<u32> {
        place::earliest_stages(self)
    }

    /// From here on signals belong to `owner` and their names begin with its name.
    pub fn own(&mut self, owner: u32, name: &str) {
        self.owner = (owner, if name.is_empty() { String::new() } else { format!("{name}_") });
    }

    /// Whom a signal belongs to.
    pub fn owner(&self, s: Sig) -> u32 {
        self.signals[s.index()].owner
    }

    /// Gives a signal another name, and a comment above its definition.
    pub fn title(&mut self, s: Sig, name: &str, note: String) {
        let signal = &mut self.signals[s.index()];
        (signal.name, signal.note) = (name.to_string(), note);
    }

    /// All bits of a signal.
    pub fn x(&self, s: Sig) -> Expr<Sig> {
        Expr::leaf(s, self.width(s))
    }

    /// All bits of some signals side by side, the first one highest.
    pub fn cat(&self, signals: &[Sig]) -> X {
        cat(signals.iter().map(|s| self.x(*s)))
    }

    /// The OR of at least one signal.
    pub fn or(&self, signals: &[Sig]) -> X {
        signals.iter().map(|s| self.x(*s)).reduce(|a, b| a | b).expect("an OR has an operand")
    }

    /// Combinational logic; what it costs follows from the expression.
    pub fn logic(&mut self, name: &str, expr: X) -> Sig {
        let cost = cost(&expr);
        self.push(name, expr.width(), NodeKind::Expr { expr, cost, held: false })
    }

    /// Combinational logic that takes the time of `cost`, and why that is not what follows from the expression.
    pub fn logic_at(&mut self, name: &str, expr: X, cost: Cost, why: &'static str) -> Sig {
        self.stated.push(Stated { cost, expr: expr.clone(), why });
        self.push(name, expr.width(), NodeKind::Expr { expr, cost, held: false })
    }

    /// The costs that were stated, and do not follow from expressions.
    pub fn stated(&self) -> &[Stated] {
        &self.stated
    }

    /// [`Circuit::logic`] with a register right behind it, for logic that flip-flops do beside holding: the result is there a
    /// stage later.
    pub fn held(&mut self, name: &str, expr: X) -> Sig {
        let cost = cost(&expr);
        self.push(name, expr.width(), NodeKind::Expr { expr, cost, held: true })
    }

    /// A table read through a registered block memory; `data` has 2^width(addr) words, missing ones are 0.
    pub fn rom(&mut self, name: &str, width: u32, addr: Sig, data: Vec<u64>) -> Sig {
        let word = self.push(name, width, NodeKind::Rom { data, addr });
        self.way(word, Cost::OutOfMemory)
    }

    /// A memory of `depth` words of `width` bits, read through a register. The input `port` writes it: see
    /// [`crate::rtl::loaded`]. Memories that one port writes hold the same.
    pub fn ram(&mut self, name: &str, port: &str, (width, depth): (u32, u32), addr: Sig) -> Sig {
        let known = self.signals.iter().position(|s| matches!(s.kind, NodeKind::Input { .. }) && s.name == port);
        let write = match known {
            Some(k) => Sig(k as u32),
            None => {
                let owner = std::mem::replace(&mut self.owner, (PORTS, String::new()));
                let write = self.still_input(port, loaded::port_bits(width, depth));
                self.owner = owner;
                write
            }
        };
        let word = self.push(name, width, NodeKind::Ram { depth, addr, write });
        self.way(word, Cost::OutOfMemory)
    }

    /// The same signal at the end of a long way, where the target has such: a register on either side of it is then one of
    /// the block's own.
    fn way(&mut self, s: Sig, cost: Cost) -> Sig {
        let signal = &self.signals[s.index()];
        let constant = matches!(signal.kind, NodeKind::Expr { .. }) && signal.kind.args().is_empty();
        if constant || cost.delay(self.clock.target) == 0.0 {
            return s;
        }
        let name = signal.name.clone();
        let way = self.push("", self.width(s), NodeKind::Expr { expr: self.x(s), cost, held: false });
        self.signals[way.index()].name = name;
        way
    }

    /// A product in one block.
    fn block(&mut self, name: &str, a: Sig, b: Sig, signed: bool) -> Sig {
        let width = self.width(a) + self.width(b);
        let into_a = self.way(a, Cost::IntoProduct);
        let into_b = if a == b { into_a } else { self.way(b, Cost::IntoProduct) };
        self.push(name, width, NodeKind::Mul { a: into_a, b: into_b, signed })
    }

    /// The full product of two signals, width(a) + width(b) bits, both unsigned or both signed. Operands wider than a
    /// multiplier block are cut into pieces and the partial products summed. Where the clock allows no blocks the product
    /// is in logic; that of a signal with itself is cheaper then.
    pub fn mul(&mut self, name: &str, a: Sig, b: Sig, signed: bool) -> Sig {
        mul::product(self, name, a, b, signed)
    }

    /// The lowest `width` bits of the product of two unsigned signals, at most width(a) + width(b).
    pub fn mul_low(&mut self, name: &str, a: Sig, b: Sig, width: u32) -> Sig {
        mul::modulo(self, name, a, b, width)
    }

    /// Multiplier blocks that the outputs need.
    pub fn multipliers(&self) -> u32 {
        let mut needed = vec![false; self.signals.len()];
        self.outputs.iter().for_each(|(_, s)| needed[s.index()] = true);
        let mut count = 0;
        for (k, signal) in self.signals.iter().enumerate().rev() {
            if needed[k] {
                signal.kind.args().iter().for_each(|a| needed[a.index()] = true);
                count += matches!(signal.kind, NodeKind::Mul { .. }) as u32;
            }
        }
        count
    }

    /// About how many lookup tables and carries the products take that are in logic.
    pub fn in_logic(&self) -> u32 {
        self.in_logic
    }

    /// An output port that carries `s`.
    pub fn output(&mut self, name: &str, s: Sig) {
        self.outputs.push((name.to_string(), s));
    }
}

/// A circuit cut into stages.
#[derive(Clone, Debug)]
pub struct Pipelined {
    pub module: Module,
    /// Modules that stand inside it.
    pub parts: Vec<Module>,
    /// Cycles from inputs to outputs.
    pub latency: u32,
    /// Flip-flop bits inside.
    pub register_bits: u64,
    /// Bits that wait in memory instead of flip-flops.
    pub memory_bits: u64,
    /// Bits of read-only memory.
    pub rom_bits: u64,
    /// Bits of memory that is loaded at run time.
    pub ram_bits: u64,
    /// Multiplier blocks, and the sum over them of the products of their operands' widths.
    pub multipliers: u32,
    pub multiplier_bits: u64,
    /// The longest time between two registers in ns, without the flip-flop's own; above the budget where
    /// a single piece does not fit the clock.
    pub worst: f64,
    /// The fewest flip-flop bits that any placing of this latency has, as the dual problem proves, and those of the
    /// placing of everything as early as possible.
    pub bound: u64,
    pub early: u64,
}

/// Where a signal stands in a pipelined circuit.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub owner: u32,
    /// The stage in which it reads its arguments, and that in which it is there.
    pub reads: u32,
    pub ready: u32,
    /// Flip-flop bits behind it.
    pub bits: u64,
    /// Whether it is made of constants and standing inputs alone.
    pub still: bool,
    /// Whether it does anything: neither a port nor wires alone, and it reaches an output.
    pub works: bool,
}

/// Cuts `circuit` into stages for its clock and gives it as a module of that name with a port `clk`.
/// Inputs are taken as ready at the edge (the producer registers them), and outputs come from registers,
/// unless the whole circuit is wires: then the latency is 0 and there is no `clk`.
pub fn pipeline(name: &str, circuit: &Circuit) -> Pipelined {
    let placed = place::place(circuit, &place::UNLIMITED).expect("there is no limit");
    emit::emit(name, circuit, &placed).0
}

/// [`pipeline`], and where each signal stands, in order of definition; `None` where a placing with the fewest register bits
/// takes too long to find, or even that has very many.
pub fn pipeline_places(name: &str, circuit: &Circuit) -> Option<(Pipelined, Vec<Place>)> {
    let placed = place::place(circuit, &place::LIMITS)?;
    let (made, stored) = emit::emit(name, circuit, &placed);
    let place = |(k, signal): (usize, &Signal)| Place {
        owner: signal.owner,
        reads: placed.ready[k].reads,
        ready: placed.ready[k].stage,
        bits: placed.bits[k] - stored[k],
        still: placed.ready[k].fixed,
        works: placed.live[k]
            && !matches!(signal.kind, NodeKind::Input { .. } | NodeKind::Expr { cost: Cost::Wire, .. }),
    };
    let places = circuit.signals.iter().enumerate().map(place).collect();
    Some((made, places))
}
