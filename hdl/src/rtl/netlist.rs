//! The netlist: modules of wires, registers, memories and instances, and their Verilog-2005 text.
//!
//! A [`Module`]'s structure (ports, declarations, instances) is data that [`Netlist::verify`] checks;
//! the right-hand sides of assignments are Verilog expressions over declared names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

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
    /// `wire [width-1:0] name = expr;`
    Wire { name: String, width: u32, expr: String },
    /// `wire [width-1:0] name;`, driven by an instance.
    Net { name: String, width: u32 },
    /// A register that takes `next` at each rising edge of `clk`.
    Reg { name: String, width: u32, next: String },
    /// `assign name = expr;` for an output port.
    Assign { name: String, expr: String },
    /// A read-only memory with a registered read: `name` takes `data[addr]` at each rising edge.
    Rom { name: String, width: u32, addr: String, addr_width: u32, data: Vec<u64> },
    /// A module inside this one. Connections are (port, expression).
    Instance { module: String, name: String, connections: Vec<(String, String)> },
    /// Verilog text taken as it is; for the hand-written parts of the engine.
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
}

/// Modules by name, in order of first use, and the name of the top one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Netlist {
    pub top: String,
    pub modules: Vec<Module>,
}

impl Module {
    /// Adds a port and returns its name.
    pub fn port(&mut self, dir: Dir, name: impl Into<String>, width: u32) -> String {
        let name = name.into();
        self.ports.push(Port { dir, name: name.clone(), width });
        name
    }

    /// Flip-flop bits of this module itself, instances not counted.
    pub fn own_register_bits(&self) -> u64 {
        let bits = |item: &Item| match item {
            Item::Reg { width, .. } | Item::Rom { width, .. } => *width as u64,
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
    /// Whether the item reads `clk`.
    pub fn uses_clock(&self) -> bool {
        match self {
            Item::Reg { .. } | Item::Rom { .. } => true,
            Item::Instance { connections, .. } => connections.iter().any(|(port, _)| port == "clk"),
            _ => false,
        }
    }

    fn write(&self, text: &mut String) {
        let _ = match self {
            Item::Comment(line) => writeln!(text, "    // {}", plain(line)),
            Item::Wire { name, width, expr } => writeln!(text, "    wire {}{name} = {expr};", range(*width)),
            Item::Net { name, width } => writeln!(text, "    wire {}{name};", range(*width)),
            Item::Reg { name, width, next } => {
                writeln!(text, "    reg {0}{name};\n    always @(posedge clk) {name} <= {next};", range(*width))
            }
            Item::Assign { name, expr } => writeln!(text, "    assign {name} = {expr};"),
            Item::Rom { name, width, addr, addr_width, data } => {
                let digits = width.div_ceil(4) as usize;
                let _ = writeln!(text, "    reg {}{name}_rom [0:{}];", range(*width), (1u64 << addr_width) - 1);
                let _ = writeln!(text, "    initial begin");
                for (k, word) in data.iter().enumerate() {
                    let _ = writeln!(text, "        {name}_rom[{k}] = {width}'h{word:0digits$x};");
                }
                let _ = writeln!(text, "    end");
                writeln!(
                    text,
                    "    reg {}{name};\n    always @(posedge clk) {name} <= {name}_rom[{addr}];",
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

    /// Adds a module unless one of its name is there already.
    pub fn add(&mut self, module: Module) {
        if self.module(&module.name).is_none() {
            self.modules.push(module);
        }
    }

    /// The text of all modules, the top one last.
    pub fn verilog(&self) -> String {
        let (top, rest): (Vec<_>, Vec<_>) = self.modules.iter().partition(|m| m.name == self.top);
        rest.into_iter().chain(top).map(|m| m.verilog() + "\n").collect()
    }

    /// Checks that names are declared once, that instances name known modules and connect each of their
    /// ports once, and that every output is driven. The error says what and where.
    pub fn verify(&self) -> Result<(), String> {
        let mut modules = BTreeMap::new();
        for m in &self.modules {
            if modules.insert(m.name.as_str(), m).is_some() {
                return Err(format!("module {} is defined twice", m.name));
            }
        }
        for m in &self.modules {
            verify_module(m, &modules).map_err(|e| format!("module {}: {e}", m.name))?;
        }
        modules.contains_key(self.top.as_str()).then_some(()).ok_or_else(|| format!("no top module {}", self.top))
    }
}

fn verify_module(m: &Module, modules: &BTreeMap<&str, &Module>) -> Result<(), String> {
    let mut names = BTreeSet::new();
    let mut driven = BTreeSet::new();
    let mut text = false;
    for p in &m.ports {
        if p.width == 0 || !names.insert(p.name.as_str()) {
            return Err(format!("port {} is empty or declared twice", p.name));
        }
    }
    for item in &m.items {
        let declared = match item {
            Item::Wire { name, .. } | Item::Net { name, .. } | Item::Reg { name, .. } | Item::Rom { name, .. } => {
                Some(name)
            }
            Item::Instance { name, .. } => Some(name),
            _ => None,
        };
        if let Some(name) = declared
            && !names.insert(name)
        {
            return Err(format!("{name} is declared twice"));
        }
        match item {
            Item::Assign { name, .. } if !driven.insert(name.as_str()) => {
                return Err(format!("{name} is driven twice"));
            }
            Item::Text(_) => text = true,
            Item::Rom { name, addr_width, data, .. } if data.len() as u64 != 1 << addr_width => {
                return Err(format!("memory {name} has {} words, not 2^{addr_width}", data.len()));
            }
            Item::Instance { module, name, connections } => {
                let inner =
                    modules.get(module.as_str()).ok_or_else(|| format!("{name} is an instance of unknown {module}"))?;
                let given: BTreeSet<_> = connections.iter().map(|(p, _)| p.as_str()).collect();
                let wanted: BTreeSet<_> = inner.ports.iter().map(|p| p.name.as_str()).collect();
                if given != wanted || connections.len() != wanted.len() {
                    return Err(format!("the connections of {name} are not the ports of {module}"));
                }
            }
            _ => {}
        }
    }
    if !text {
        used_names(m, &names)?;
    }
    // Hand-written text and instances may drive outputs too; only a purely structural module can be judged.
    let structural = !text && !m.items.iter().any(|i| matches!(i, Item::Instance { .. }));
    match m.ports.iter().find(|p| p.dir == Dir::Out && !driven.contains(p.name.as_str())) {
        Some(p) if structural => Err(format!("output {} is not driven", p.name)),
        _ => Ok(()),
    }
}

/// Checks that expressions use declared names alone. Hand-written text may declare more than is known here.
fn used_names(m: &Module, names: &BTreeSet<&str>) -> Result<(), String> {
    let clocked = m.items.iter().any(|i| matches!(i, Item::Reg { .. } | Item::Rom { .. }));
    if clocked && !names.contains("clk") {
        return Err("registers without a clock".into());
    }
    for item in &m.items {
        let texts: Vec<&str> = match item {
            Item::Wire { expr, .. } => vec![expr],
            Item::Reg { next, .. } => vec![next],
            Item::Assign { name, expr } => vec![name, expr],
            Item::Rom { addr, .. } => vec![addr],
            Item::Instance { connections, .. } => connections.iter().map(|c| c.1.as_str()).collect(),
            _ => vec![],
        };
        for name in texts.into_iter().flat_map(identifiers) {
            if !names.contains(name) {
                return Err(format!("{name} is used and not declared"));
            }
        }
    }
    Ok(())
}

/// The identifiers in an expression; not numbers such as `4'hf`, and not system functions such as `$signed`.
pub(crate) fn identifiers(expr: &str) -> impl Iterator<Item = &str> {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '\'');
    expr.split(move |c| !word(c)).filter(|w| w.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
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

    fn assign(expr: &str) -> Item {
        Item::Assign { name: "q".into(), expr: expr.into() }
    }

    #[test]
    fn verify_names_what_is_wrong() {
        let wire = |name: &str| Item::Wire { name: name.into(), width: 4, expr: "a".into() };
        let cases = [
            (vec![assign("a ^ b")], "b is used and not declared"),
            (vec![wire("w"), wire("w"), assign("w")], "w is declared twice"),
            (vec![wire("w")], "output q is not driven"),
            (vec![assign("a"), assign("a")], "q is driven twice"),
        ];
        for (items, wanted) in cases {
            assert_eq!(netlist(items).verify(), Err(format!("module m: {wanted}")));
        }
        netlist(vec![wire("w_1"), assign("$signed({w_1[3:0]}) + 4'hf & 4'd9")]).verify().unwrap();
    }

    #[test]
    fn comments_stay_comments() {
        let text = netlist(vec![Item::Comment("one\n`include é \\".into()), assign("a")]).verilog();
        assert!(text.contains("    // one?`include ?\n"), "{text}");
    }
}
