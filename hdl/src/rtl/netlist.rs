//! The netlist: modules of wires, registers, memories and instances, and their Verilog-2005 text.
//!
//! All of a [`Module`] is data: its right-hand sides and connections are typed expressions over declared names. So
//! [`Netlist::verify`] checks every width, and that each name is declared before it is used.
//!
//! The one exception are modules whose body is hand-written Verilog, [`Item::Text`]: the blocks of the engine's shell and of
//! the serial link (`hdl/templates`), memories and delay lines in memory, and what a board has of its own (PLL, reset, lights).
//! They are state machines and memories, which read best as Verilog: proofs and vendors' tools look at that text. Such a module
//! has nothing else inside, so its instances are checked port by port like all others.

mod build;
mod verify;

use crate::hash::FastMap;
use crate::rtl::bins::Bins;
use crate::rtl::chains::Chains;
use crate::rtl::filtered::Filtered;
use crate::rtl::fold::Fold;
use crate::rtl::memory::rom_attributes;
use crate::rtl::names::Name;
use crate::rtl::term::TermPorts;
use crate::rtl::{Value, verilog};
use std::fmt::{self, Write as _};
use std::sync::Arc;

/// The suffix that names the memory of an [`Item::Rom`], behind the name of its word.
pub const ROM: &str = "_rom";

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
    /// A read-only memory with a registered read: `name` takes `data[addr]` at each rising edge.
    Rom { name: Name, width: u32, addr: Value, data: Vec<u64> },
    /// A module inside this one. Connections are (port, expression); those of outputs are names, bits of them, or several of
    /// these side by side.
    Instance { module: Name, name: Name, connections: Vec<(Name, Value)> },
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
            Item::Hold { width, .. } | Item::Rom { width, .. } => *width as u64,
            _ => 0,
        };
        self.items.iter().map(bits).sum()
    }

    /// The module's Verilog text.
    pub fn verilog(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    /// Writes the module's text behind what is there.
    fn write(&self, text: &mut String) {
        for line in &self.doc {
            let _ = writeln!(text, "// {}", Plain(line));
        }
        let _ = writeln!(text, "module {} (", self.name);
        for (k, p) in self.ports.iter().enumerate() {
            let (end, dir) = (if k > 0 { ",\n" } else { "" }, if p.dir == Dir::In { "input " } else { "output" });
            let _ = write!(text, "{end}    {dir} wire {}{}", Range(p.width), p.name);
        }
        text.push_str("\n);\n");
        for item in &self.items {
            item.write(text);
        }
        text.push_str("endmodule\n");
    }
}

impl Item {
    /// The name that the item declares, and its bits; an instance has none.
    pub fn declares(&self) -> Option<(&Name, u32)> {
        match self {
            Item::Wire { name, value } | Item::Reg { name, next: value } => Some((name, value.width())),
            Item::Net { name, width } | Item::Hold { name, width } | Item::Rom { name, width, .. } => {
                Some((name, *width))
            }
            Item::Comment(_) | Item::Load { .. } | Item::Assign { .. } | Item::Instance { .. } | Item::Text(_) => None,
        }
    }

    /// The expressions of the item: what it reads, and for an instance what its outputs drive.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        let (one, many): (Option<&Value>, &[(Name, Value)]) = match self {
            Item::Wire { value, .. } | Item::Assign { value, .. } => (Some(value), &[]),
            Item::Reg { next, .. } | Item::Load { next, .. } => (Some(next), &[]),
            Item::Rom { addr, .. } => (Some(addr), &[]),
            Item::Instance { connections, .. } => (None, connections),
            Item::Comment(_) | Item::Net { .. } | Item::Hold { .. } | Item::Text(_) => (None, &[]),
        };
        one.into_iter().chain(many.iter().map(|c| &c.1))
    }

    /// Whether the item reads `clk`.
    pub fn uses_clock(&self) -> bool {
        match self {
            Item::Reg { .. } | Item::Load { .. } | Item::Rom { .. } => true,
            Item::Instance { connections, .. } => connections.iter().any(|(port, _)| *port == "clk"),
            _ => false,
        }
    }

    fn write(&self, text: &mut String) {
        let _ = match self {
            Item::Comment(line) => writeln!(text, "    // {}", Plain(line)),
            Item::Wire { name, value } => {
                let _ = write!(text, "    wire {}{name} = ", Range(value.width()));
                end(value, ";\n", text)
            }
            Item::Net { name, width } => writeln!(text, "    wire {}{name};", Range(*width)),
            Item::Reg { name, next } => {
                let _ = write!(text, "    reg {}{name};\n    always @(posedge clk) {name} <= ", Range(next.width()));
                end(next, ";\n", text)
            }
            Item::Hold { name, width } => writeln!(text, "    reg {}{name};", Range(*width)),
            Item::Load { name, next } => {
                let _ = write!(text, "    always @(posedge clk) {name} <= ");
                end(next, ";\n", text)
            }
            Item::Assign { name, value } => {
                let _ = write!(text, "    assign {name} = ");
                end(value, ";\n", text)
            }
            Item::Rom { name, width, addr, data } => {
                let digits = width.div_ceil(4) as usize;
                let attributes = rom_attributes(*width, data.len());
                let _ = writeln!(text, "    {attributes}reg {}{name}{ROM} [0:{}];", Range(*width), data.len() - 1);
                let _ = writeln!(text, "    initial begin");
                for (k, word) in data.iter().enumerate() {
                    let _ = writeln!(text, "        {name}{ROM}[{k}] = {width}'h{word:0digits$x};");
                }
                let _ = writeln!(text, "    end");
                writeln!(
                    text,
                    "    reg {}{name};\n    always @(posedge clk) {name} <= {name}{ROM}[{addr}];",
                    Range(*width)
                )
            }
            Item::Instance { module, name, connections } => {
                let _ = writeln!(text, "    {module} {name} (");
                for (k, (port, value)) in connections.iter().enumerate() {
                    let _ = write!(text, "{}        .{port}(", if k > 0 { ",\n" } else { "" });
                    let _ = end(value, ")", text);
                }
                writeln!(text, "\n    );")
            }
            Item::Text(t) => writeln!(text, "{t}"),
        };
    }
}

/// Writes an expression and what ends it.
fn end(value: &Value, end: &str, text: &mut String) -> fmt::Result {
    verilog::write(value, text);
    text.write_str(end)
}

/// A comment's text as one line of ASCII that does not end in a backslash, whatever a source put there.
struct Plain<'a>(&'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let line = self.0.trim_end_matches(['\\', ' ']);
        let is_plain = |c: char| c.is_ascii_graphic() || c == ' ';
        let mut parts = line.split(|c| !is_plain(c));
        f.write_str(parts.next().unwrap_or(""))?;
        parts.try_for_each(|part| f.write_str("?").and_then(|()| f.write_str(part)))
    }
}

/// `[7:0] ` for eight bits, nothing for one.
pub fn range(width: u32) -> String {
    Range(width).to_string()
}

struct Range(u32);

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.0 == 1 { Ok(()) } else { write!(f, "[{}:0] ", self.0 - 1) }
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

    /// The text of all modules, the top one last, if the netlist is sound. There is no other way to it.
    pub fn verilog(&self) -> Result<String, Unsound> {
        self.verilog_around(&[])
    }

    /// The same of a netlist around modules of which only the ports are known, since their text is elsewhere.
    pub fn verilog_around(&self, outside: &[Module]) -> Result<String, Unsound> {
        self.verilog_behind(String::new(), outside)
    }

    /// The same behind a text, which it becomes the end of.
    pub fn verilog_behind(&self, mut text: String, outside: &[Module]) -> Result<String, Unsound> {
        self.verify_around(outside).map_err(Unsound)?;
        // A large text that grows step by step is copied several times.
        text.reserve(self.modules.iter().map(|m| USUAL_BYTES * m.items.len()).sum());
        for module in self.in_order() {
            module.write(&mut text);
            text.push('\n');
        }
        Ok(text)
    }

    /// The name and the text of each module, in the order of the text of all, if the netlist is sound.
    pub fn verilog_by_module(&self) -> Result<Vec<(String, String)>, Unsound> {
        self.verify_around(&[]).map_err(Unsound)?;
        Ok(self.in_order().map(|m| (m.name.clone(), m.verilog())).collect())
    }

    fn in_order(&self) -> impl Iterator<Item = &Module> {
        let (top, rest): (Vec<&Module>, Vec<&Module>) =
            self.modules.iter().map(|m| &**m).partition(|m| m.name == self.top);
        rest.into_iter().chain(top)
    }
}

/// More than the mean length of an item's text in large modules.
const USUAL_BYTES: usize = 100;
