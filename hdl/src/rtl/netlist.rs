//! The netlist: modules of wires, registers, memories and instances, and their text in Verilog-2005 and VHDL-2008.
//!
//! All of a [`Module`] is data: its right-hand sides and connections are typed expressions over declared names. So
//! [`Netlist::verify`] checks every width, and that each name is declared before it is used.
//!
//! The one exception are modules whose body is hand-written Verilog, [`Item::Text`]: the blocks of the engine's shell and of
//! the serial link (`hdl/templates`), memories that are written at run time, and what a board has of its own (PLL, reset, lights).
//! They are state machines and memories, which read best as Verilog: proofs and vendors' tools look at that text. Such a module
//! has nothing else inside, so its instances are checked port by port like all others.

mod build;
mod enable;
mod verify;
mod verilog;
mod vhdl;

use crate::hash::FastMap;
use crate::rtl::Value;
use crate::rtl::bins::Bins;
use crate::rtl::chains::Chains;
use crate::rtl::delay::Read;
use crate::rtl::filtered::Filtered;
use crate::rtl::fold::Fold;
use crate::rtl::names::Name;
use crate::rtl::term::TermPorts;
use std::fmt;
use std::sync::Arc;
pub use verilog::range;

/// The suffix that names the memory of an [`Item::Rom`], behind the name of its word.
pub const ROM: &str = "_rom";
/// The same of an [`Item::Memory`].
pub const MEMORY: &str = "_memory";

/// Direction of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dir {
    In,
    Out,
}

/// A port of a module; `width` in bits, at least 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    pub dir: Dir,
    pub name: Name,
    pub width: u32,
}

/// One thing in a module's body, in the order of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A line of comment.
    Comment(String),
    /// `wire [..] name = value;`, as wide as the value.
    Wire { name: Name, value: Value },
    /// `wire [width-1:0] name;`, driven by instances or an assignment.
    Net { name: Name, width: u32 },
    /// A register that takes `next` at each rising edge of `clk`.
    Reg { name: Name, next: Value },
    /// A register that is read before what it takes is defined; a [`Item::Load`] behind says what that is.
    Hold { name: Name, width: u32 },
    /// The value that a [`Item::Hold`] takes at each rising edge.
    Load { name: Name, next: Value },
    /// `assign name = value;` for an output port or a net.
    Assign { name: Name, value: Value },
    /// A register that counts the clocks. It has no reset, and only simulators need its initial value, 0.
    Counter { name: Name, width: u32 },
    /// A memory of `words` words, a power of two, that takes `data` at each rising edge; `name` is the word at `from`, before that.
    Memory { name: Name, words: u64, at: Value, data: Value, from: Value, read: Read },
    /// A read-only memory with a registered read: `name` takes `data[addr]` at each rising edge.
    Rom { name: Name, width: u32, addr: Value, data: Vec<u64> },
    /// A module inside this one. Connections are (port, expression); those of outputs are names, bits of them, or several of
    /// these side by side.
    Instance { module: Name, name: Name, connections: Vec<(Name, Value)> },
    /// A number that whoever uses the module may want to know.
    Constant { name: Name, value: u32 },
    /// The whole body of a hand-written module.
    Text(String),
}

/// One Verilog module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Module {
    pub name: String,
    /// Lines of comment above the module.
    pub doc: Vec<String>,
    pub ports: Vec<Port>,
    pub items: Vec<Item>,
    /// Clock cycles from inputs to outputs, for feed-forward modules.
    pub latency: u32,
    /// The outputs that leave it as terms of sums.
    pub terms: Vec<TermPorts>,
    /// Whether a pair alone can raise the flag `wrap`.
    pub wraps: bool,
    /// Of a pipeline the time that its clock leaves for the accumulators behind it.
    pub chains: Chains,
    /// The port that lets its registers and memories take something, where there is one. See [`Netlist::enabled`].
    pub enable: Option<Name>,
    /// How its outputs leave it where it takes a pair every several clocks.
    pub fold: Option<Fold>,
    /// Of a pipeline the outputs that are sums in memory.
    pub bins: Vec<Bins>,
    /// Of a pipeline the condition of the pairs that it takes.
    pub filtered: Option<Filtered>,
}

/// Modules by name, in order of first use, and the name of the top one. Netlists around one another share their modules.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Netlist {
    pub top: String,
    pub modules: Vec<Arc<Module>>,
}

/// A netlist that does not pass [`Netlist::verify`], which no kernel should be able to bring about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsound(pub String);

impl fmt::Display for Unsound {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let advice = "this is a fault of pairforge and not of the kernel; please report it together with the kernel";
        write!(f, "internal error: the design does not hold together: {}\n{advice}", self.0)
    }
}

impl std::error::Error for Unsound {}

impl Module {
    /// Adds a port and returns its name.
    pub fn port(&mut self, dir: Dir, name: impl Into<Name>, width: u32) -> Name {
        let name = name.into();
        self.ports.push(Port { dir, name: name.clone(), width });
        name
    }

    /// The three ports of an output that is a term; `None` if it is a plain one.
    pub fn term(&self, output: &str) -> Option<&TermPorts> {
        self.terms.iter().find(|t| t.output == output)
    }

    /// Flip-flop bits of this module itself, instances not counted.
    pub fn own_register_bits(&self) -> u64 {
        let bits = |item: &Item| match item {
            Item::Reg { next, .. } => next.width() as u64,
            Item::Hold { width, .. } | Item::Rom { width, .. } | Item::Counter { width, .. } => *width as u64,
            Item::Memory { data, read: Read::Registered, .. } => data.width() as u64,
            _ => 0,
        };
        self.items.iter().map(bits).sum()
    }
}

impl Item {
    /// The name that the item declares, and its bits; an instance has none.
    pub fn declares(&self) -> Option<(&Name, u32)> {
        match self {
            Item::Wire { name, value } | Item::Reg { name, next: value } => Some((name, value.width())),
            Item::Memory { name, data, .. } => Some((name, data.width())),
            Item::Net { name, width }
            | Item::Hold { name, width }
            | Item::Counter { name, width }
            | Item::Rom { name, width, .. } => Some((name, *width)),
            Item::Comment(_)
            | Item::Load { .. }
            | Item::Assign { .. }
            | Item::Instance { .. }
            | Item::Constant { .. }
            | Item::Text(_) => None,
        }
    }

    /// The names that the item takes in its module: a signal's, a memory's, an instance's.
    pub fn names(&self) -> impl Iterator<Item = Name> {
        let own = match self {
            Item::Instance { name, .. } | Item::Constant { name, .. } => Some(name),
            _ => self.declares().map(|d| d.0),
        };
        let memory = match self {
            Item::Rom { name, .. } => Some(format!("{name}{ROM}").into()),
            Item::Memory { name, .. } => Some(format!("{name}{MEMORY}").into()),
            _ => None,
        };
        own.cloned().into_iter().chain(memory)
    }

    /// The expressions of the item: what it reads, and for an instance what its outputs drive.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        let (few, many): ([Option<&Value>; 3], &[(Name, Value)]) = match self {
            Item::Wire { value, .. } | Item::Assign { value, .. } => ([Some(value), None, None], &[]),
            Item::Reg { next, .. } | Item::Load { next, .. } => ([Some(next), None, None], &[]),
            Item::Rom { addr, .. } => ([Some(addr), None, None], &[]),
            Item::Memory { at, data, from, .. } => ([Some(at), Some(data), Some(from)], &[]),
            Item::Instance { connections, .. } => ([None; 3], connections),
            Item::Comment(_)
            | Item::Net { .. }
            | Item::Hold { .. }
            | Item::Counter { .. }
            | Item::Constant { .. }
            | Item::Text(_) => ([None; 3], &[]),
        };
        few.into_iter().flatten().chain(many.iter().map(|c| &c.1))
    }

    /// Whether the item reads `clk`.
    pub fn uses_clock(&self) -> bool {
        match self {
            Item::Reg { .. } | Item::Load { .. } | Item::Rom { .. } | Item::Counter { .. } | Item::Memory { .. } => {
                true
            }
            Item::Instance { connections, .. } => connections.iter().any(|(port, _)| *port == "clk"),
            _ => false,
        }
    }
}

impl Netlist {
    /// Modules, of which the last is the top one.
    pub fn new(modules: impl IntoIterator<Item = Module>) -> Netlist {
        let mut netlist = Netlist::default();
        netlist.extend(modules);
        netlist.top = netlist.modules.last().map_or(String::new(), |m| m.name.clone());
        netlist
    }

    /// The module of that name.
    pub fn module(&self, name: &str) -> Option<&Module> {
        self.modules.iter().map(|m| &**m).find(|m| m.name == name)
    }

    /// Adds a module unless the same one is there already. Two different ones of one name do not pass [`Netlist::verify`].
    pub fn add(&mut self, module: impl Into<Arc<Module>>) {
        let module = module.into();
        if self.modules.iter().find(|m| m.name == module.name) != Some(&module) {
            self.modules.push(module);
        }
    }

    /// Adds modules of names that it does not have yet.
    pub fn extend(&mut self, modules: impl IntoIterator<Item = Module>) {
        self.modules.extend(modules.into_iter().map(Arc::new));
    }

    /// Puts `prefix` and an underscore before the names of all modules but those that begin with the top's name, so that the
    /// netlists of several kernels can stand in one design. Hand-written text must not name such a module.
    pub fn prefix(&mut self, prefix: &str) {
        let own = self.top.clone();
        let mut known: FastMap<Name, Name> = FastMap::default();
        for module in self.modules.iter_mut().map(Arc::make_mut) {
            if !module.name.starts_with(&own) {
                module.name = format!("{prefix}_{}", module.name);
            }
            for item in &mut module.items {
                if let Item::Instance { module, .. } = item
                    && !module.starts_with(&own)
                {
                    let new = known.entry(module.clone()).or_insert_with(|| format!("{prefix}_{module}").into());
                    *module = new.clone();
                }
            }
        }
    }
}
