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

use crate::rtl::Value;
use crate::rtl::fold::Fold;
use crate::rtl::memory::rom_attributes;
use crate::rtl::term::TermPorts;
use std::fmt::Write as _;

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
    pub name: String,
    pub width: u32,
}

/// One thing in a module's body, in the order of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A line of comment.
    Comment(String),
    /// `wire [..] name = value;`, as wide as the value.
    Wire { name: String, value: Value },
    /// `wire [width-1:0] name;`, driven by instances or an assignment.
    Net { name: String, width: u32 },
    /// A register that takes `next` at each rising edge of `clk`.
    Reg { name: String, next: Value },
    /// A register that is read before what it takes is defined; a [`Item::Load`] behind says what that is.
    Hold { name: String, width: u32 },
    /// The value that a [`Item::Hold`] takes at each rising edge.
    Load { name: String, next: Value },
    /// `assign name = value;` for an output port or a net.
    Assign { name: String, value: Value },
    /// A read-only memory with a registered read: `name` takes `data[addr]` at each rising edge.
    Rom { name: String, width: u32, addr: Value, data: Vec<u64> },
    /// A module inside this one. Connections are (port, expression); those of outputs are names, bits of them, or several of
    /// these side by side.
    Instance { module: String, name: String, connections: Vec<(String, Value)> },
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
    /// How its outputs leave it where it takes a pair every several clocks.
    pub fold: Option<Fold>,
}

/// Modules by name, in order of first use, and the name of the top one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Netlist {
    pub top: String,
    pub modules: Vec<Module>,
}

/// A netlist that does not pass [`Netlist::verify`], which no kernel should be able to bring about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsound(pub String);

impl std::fmt::Display for Unsound {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let advice = "this is a fault of pairforge and not of the kernel; please report it together with the kernel";
        write!(f, "internal error: the design does not hold together: {}\n{advice}", self.0)
    }
}

impl std::error::Error for Unsound {}

impl Module {
    /// Adds a port and returns its name.
    pub fn port(&mut self, dir: Dir, name: impl Into<String>, width: u32) -> String {
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
        for line in &self.doc {
            let _ = writeln!(text, "// {}", plain(line));
        }
        let ports: Vec<String> = self
            .ports
            .iter()
            .map(|p| {
                format!("    {} wire {}{}", if p.dir == Dir::In { "input " } else { "output" }, range(p.width), p.name)
            })
            .collect();
        let _ = writeln!(text, "module {} (\n{}\n);", self.name, ports.join(",\n"));
        for item in &self.items {
            item.write(&mut text);
        }
        text.push_str("endmodule\n");
        text
    }
}

impl Item {
    /// The name that the item declares, and its bits; an instance has none.
    pub fn declares(&self) -> Option<(&str, u32)> {
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
        let (one, many): (Option<&Value>, &[(String, Value)]) = match self {
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
            Item::Instance { connections, .. } => connections.iter().any(|(port, _)| port == "clk"),
            _ => false,
        }
    }

    fn write(&self, text: &mut String) {
        let _ = match self {
            Item::Comment(line) => writeln!(text, "    // {}", plain(line)),
            Item::Wire { name, value } => writeln!(text, "    wire {}{name} = {value};", range(value.width())),
            Item::Net { name, width } => writeln!(text, "    wire {}{name};", range(*width)),
            Item::Reg { name, next } => {
                writeln!(text, "    reg {}{name};\n    always @(posedge clk) {name} <= {next};", range(next.width()))
            }
            Item::Hold { name, width } => writeln!(text, "    reg {}{name};", range(*width)),
            Item::Load { name, next } => writeln!(text, "    always @(posedge clk) {name} <= {next};"),
            Item::Assign { name, value } => writeln!(text, "    assign {name} = {value};"),
            Item::Rom { name, width, addr, data } => {
                let digits = width.div_ceil(4) as usize;
                let attributes = rom_attributes(*width, data.len());
                let _ = writeln!(text, "    {attributes}reg {}{name}{ROM} [0:{}];", range(*width), data.len() - 1);
                let _ = writeln!(text, "    initial begin");
                for (k, word) in data.iter().enumerate() {
                    let _ = writeln!(text, "        {name}{ROM}[{k}] = {width}'h{word:0digits$x};");
                }
                let _ = writeln!(text, "    end");
                writeln!(
                    text,
                    "    reg {}{name};\n    always @(posedge clk) {name} <= {name}{ROM}[{addr}];",
                    range(*width)
                )
            }
            Item::Instance { module, name, connections } => {
                let list: Vec<String> = connections.iter().map(|(p, e)| format!("        .{p}({e})")).collect();
                writeln!(text, "    {module} {name} (\n{}\n    );", list.join(",\n"))
            }
            Item::Text(t) => writeln!(text, "{t}"),
        };
    }
}

/// A comment's text as one line of ASCII that does not end in a backslash, whatever a source put there.
fn plain(line: &str) -> String {
    let shown = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
    line.chars().map(shown).collect::<String>().trim_end_matches(['\\', ' ']).to_string()
}

/// `[7:0] ` for eight bits, nothing for one.
pub fn range(width: u32) -> String {
    if width == 1 { String::new() } else { format!("[{}:0] ", width - 1) }
}

impl Netlist {
    /// The module of that name.
    pub fn module(&self, name: &str) -> Option<&Module> {
        self.modules.iter().find(|m| m.name == name)
    }

    /// Adds a module unless the same one is there already. Two different ones of one name do not pass [`Netlist::verify`].
    pub fn add(&mut self, module: Module) {
        if self.module(&module.name) != Some(&module) {
            self.modules.push(module);
        }
    }

    /// Puts `prefix` and an underscore before the names of all modules but those that begin with the top's name, so that the
    /// netlists of several kernels can stand in one design. Hand-written text must not name such a module.
    pub fn prefix(&mut self, prefix: &str) {
        let own = self.top.clone();
        let renamed = |name: &mut String| {
            if !name.starts_with(&own) {
                *name = format!("{prefix}_{name}");
            }
        };
        for module in &mut self.modules {
            renamed(&mut module.name);
            for item in &mut module.items {
                if let Item::Instance { module, .. } = item {
                    renamed(module);
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
        self.verify_around(outside).map_err(Unsound)?;
        Ok(self.parts().map(|(_, text)| text + "\n").collect())
    }

    /// The name and the text of each module, in the order of the text of all, if the netlist is sound.
    pub fn verilog_by_module(&self) -> Result<Vec<(String, String)>, Unsound> {
        self.verify_around(&[]).map_err(Unsound)?;
        Ok(self.parts().collect())
    }

    fn parts(&self) -> impl Iterator<Item = (String, String)> {
        let (top, rest): (Vec<&Module>, Vec<&Module>) = self.modules.iter().partition(|m| m.name == self.top);
        rest.into_iter().chain(top).map(|m| (m.name.clone(), m.verilog()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn netlist(items: Vec<Item>) -> Netlist {
        let mut m = Module { name: "m".into(), items, ..Module::default() };
        m.port(Dir::In, "clk", 1);
        m.port(Dir::In, "a", 4);
        m.port(Dir::Out, "q", 4);
        Netlist { top: "m".into(), modules: vec![m] }
    }

    #[test]
    fn comments_stay_comments() {
        let assign = Item::Assign { name: "q".into(), value: crate::rtl::net("a", 4) };
        let text = netlist(vec![Item::Comment("one\n`include é \\".into()), assign]).verilog().unwrap();
        assert!(text.contains("    // one?`include ?\n"), "{text}");
    }
}
