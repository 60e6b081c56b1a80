//! The VHDL-2008 text of modules and netlists: a package of functions, and an entity with its architecture for each module.
//!
//! Signals stand in front of an architecture's statements. Registers that follow each other share a process. Wires that nothing
//! reads are left out: in Verilog they tell linters what is unused.

use super::verilog::Plain;
use super::{Dir, Item, MEMORY, Module, Netlist, ROM};
use crate::hash::{FastMap, FastSet};
use crate::rtl::delay::Read;
use crate::rtl::memory::rom_attributes;
use crate::rtl::names::{Names, vhdl};
use crate::rtl::vhdl::{Scope, number, signal_type};
use crate::rtl::{Name, Node, Value, net};
use askama::Template;
use std::fmt::Write as _;

/// The end of the name of a design's package, behind that of the top module.
pub const PACKAGE: &str = "_pkg";

/// A design unit: its name, which is that of its file, and its text.
pub type Unit = (String, String);

#[derive(Template)]
#[template(path = "pipeline_pkg.vhd", escape = "none")]
struct Package<'a> {
    package: &'a str,
    /// Numbers of the top module.
    constants: Vec<(String, u32)>,
}

impl Netlist {
    /// The design units in the order in which they are analysed: the package first, the top entity last. The error says what is
    /// wrong with the netlist, or which module is text, for which there is Verilog alone.
    pub fn vhdl(&self) -> Result<Vec<Unit>, String> {
        self.verify()?;
        let modules: FastMap<&str, &Module> = self.modules.iter().map(|m| (m.name.as_str(), &**m)).collect();
        let mut order = Vec::new();
        inner_first(&modules, &self.top, &mut FastSet::default(), &mut order);
        let top = modules[self.top.as_str()];
        let constants = top.items.iter().filter_map(|item| match item {
            Item::Constant { name, value } => Some((vhdl(name).into_owned(), *value)),
            _ => None,
        });
        let name = format!("{}{PACKAGE}", self.top);
        let package = vhdl(&name).into_owned();
        let text = Package { package: &package, constants: constants.collect() };
        let text = text.render().expect("the template renders into memory");
        let mut units = vec![(name, text.trim_end().to_string() + "\n")];
        for module in order {
            if module.items.iter().any(|i| matches!(i, Item::Text(_))) {
                return Err(format!("{} is text, which there is in Verilog alone", module.name));
            }
            let text = Writer::new(module, &modules, module.name == self.top).text(&package);
            units.push((module.name.clone(), text));
        }
        Ok(units)
    }
}

/// The module and all inside it, each behind those that it has instances of.
fn inner_first<'a>(
    modules: &FastMap<&str, &'a Module>,
    name: &str,
    seen: &mut FastSet<&'a str>,
    order: &mut Vec<&'a Module>,
) {
    let Some(module) = modules.get(name).filter(|m| seen.insert(&m.name)) else { return };
    for item in &module.items {
        if let Item::Instance { module, .. } = item {
            inner_first(modules, module, seen, order);
        }
    }
    order.push(module);
}

/// The text of one module on its way.
struct Writer<'a> {
    module: &'a Module,
    modules: &'a FastMap<&'a str, &'a Module>,
    /// Whether its ports are `std_logic_vector`, as other designs have them.
    is_top: bool,
    scope: Scope,
    names: Names,
    read: FastSet<&'a str>,
    /// Those that are declared.
    attributes: FastSet<&'static str>,
    signals: String,
    body: String,
    /// Statements of registers that wait for the end of their process.
    clocked: String,
}

/// Indentation of a register's statement.
const DEEP: usize = 3;

fn indent(depth: usize) -> String {
    "    ".repeat(depth)
}

impl<'a> Writer<'a> {
    fn new(module: &'a Module, modules: &'a FastMap<&'a str, &'a Module>, is_top: bool) -> Writer<'a> {
        let (mut scope, mut names, mut read) = (Scope::default(), Names::default(), FastSet::default());
        for port in &module.ports {
            scope.add(&port.name);
            names.reserve(&port.name);
            if is_top && port.width > 1 {
                scope.vectors.insert(port.name.clone());
            }
        }
        for item in &module.items {
            for name in item.names() {
                scope.add(&name);
                names.reserve(&name);
            }
            item.values().for_each(|v| v.reads(&mut |name, _, _, _| read.extend([name.as_str()])));
        }
        let (signals, body, clocked) = (String::new(), String::new(), String::new());
        let attributes = FastSet::default();
        Writer { module, modules, is_top, scope, names, read, attributes, signals, body, clocked }
    }

    fn text(mut self, package: &str) -> String {
        self.module.items.iter().for_each(|item| self.item(item));
        self.end_process();
        let name = vhdl(&self.module.name);
        let mut text = String::new();
        for line in ["library ieee;", "use ieee.std_logic_1164.all;", "use ieee.numeric_std.all;"] {
            let _ = writeln!(text, "{line}");
        }
        let _ = writeln!(text, "use work.{package}.all;\n");
        for line in &self.module.doc {
            let _ = writeln!(text, "-- {}", Plain(line));
        }
        let ports: Vec<String> = self.module.ports.iter().map(|p| self.port(p.dir, &p.name, p.width)).collect();
        let _ = writeln!(
            text,
            "entity {name} is\n    port (\n        {}\n    );\nend entity;\n",
            ports.join(";\n        ")
        );
        let _ = write!(text, "architecture rtl of {name} is\n{}begin\n{}end architecture;\n", self.signals, self.body);
        text
    }

    fn port(&self, dir: Dir, name: &Name, width: u32) -> String {
        let kind = match self.is_top && width > 1 {
            true => format!("std_logic_vector({} downto 0)", width - 1),
            false => signal_type(width),
        };
        format!("{} : {} {kind}", self.scope.name(name), if dir == Dir::In { "in " } else { "out" })
    }

    fn signal(&mut self, name: &str, width: u32) {
        let _ = writeln!(self.signals, "    signal {} : {};", self.scope.name(name), signal_type(width));
    }

    fn item(&mut self, item: &'a Item) {
        let is_clocked = item.uses_clock() && !matches!(item, Item::Instance { .. });
        if !is_clocked && !matches!(item, Item::Net { .. } | Item::Hold { .. }) {
            self.end_process();
        }
        match item {
            Item::Comment(line) => self.body += &format!("    -- {}\n", Plain(line)),
            Item::Wire { name, .. } if !self.read.contains(name.as_str()) => {}
            Item::Wire { name, value } => {
                self.signal(name, value.width());
                self.assign(name, value);
            }
            Item::Assign { name, value } => self.assign(name, value),
            Item::Net { name, width } | Item::Hold { name, width } => self.signal(name, *width),
            Item::Reg { name, next } => {
                self.signal(name, next.width());
                self.take(name, next, DEEP);
            }
            Item::Load { name, next } => self.take(name, next, DEEP),
            Item::Counter { name, width } => self.counter(name, *width),
            Item::Memory { name, words, at, data, from, read } => {
                self.memory(name, (*words, data.width()));
                let (own, memory) = (self.scope.name(name), self.scope.name(&format!("{name}{MEMORY}")));
                let (at, data, from) = (self.scope.text(at), self.scope.text(data), self.scope.text(from));
                let _ = writeln!(self.clocked, "{}{memory}(index({at})) <= {data};", indent(DEEP));
                let read_line = format!("{own} <= {memory}(index({from}));");
                match read {
                    Read::Registered => self.clocked += &format!("{}{read_line}\n", indent(DEEP)),
                    Read::Direct => self.body += &format!("    {read_line}\n"),
                }
            }
            Item::Rom { name, width, addr, data } => {
                self.rom(name, *width, data);
                let (own, memory) = (self.scope.name(name), self.scope.name(&format!("{name}{ROM}")));
                let addr = self.scope.text(addr);
                let _ = writeln!(self.clocked, "{}{own} <= {memory}(index({addr}));", indent(DEEP));
            }
            Item::Instance { module, name, connections } => self.instance(module, name, connections),
            // Those of the top module are in the package.
            Item::Constant { .. } if self.is_top => {}
            Item::Constant { name, value } => {
                let _ = writeln!(self.signals, "    constant {} : natural := {value};", self.scope.name(name));
            }
            Item::Text(_) => {}
        }
    }

    /// Writes the process of the registers that wait.
    fn end_process(&mut self) {
        if self.clocked.is_empty() {
            return;
        }
        let statements = std::mem::take(&mut self.clocked);
        let _ = writeln!(self.body, "    process (clk)\n    begin\n        if rising_edge(clk) then");
        match &self.module.enable {
            None => self.body.push_str(&statements),
            Some(enable) => {
                let _ = writeln!(self.body, "            if {} = '1' then", self.scope.name(enable));
                self.body.extend(statements.lines().flat_map(|line| ["    ", line, "\n"]));
                self.body.push_str("            end if;\n");
            }
        }
        self.body.push_str("        end if;\n    end process;\n");
    }

    /// A value in the type of what it drives.
    fn value_for(&self, target: &str, value: &Value) -> String {
        if self.scope.vectors.contains(target) { self.scope.vector(value) } else { self.scope.text(value) }
    }

    fn assign(&mut self, name: &Name, value: &Value) {
        let mut text = format!("    {} <= ", self.scope.name(name));
        let mut rest = value;
        while let Node::Mux(c, a, b) = rest.node() {
            let _ = write!(text, "{} when {} else ", self.value_for(name, a), self.scope.condition(c));
            rest = b;
        }
        let _ = writeln!(self.body, "{text}{};", self.value_for(name, rest));
    }

    /// The statements by which a register takes its next value; it keeps its own where they give it nothing.
    fn take(&mut self, name: &Name, next: &Value, depth: usize) {
        let own = net(name, next.width());
        match next.node() {
            Node::Mux(_, a, b) if *a == own && *b == own => {}
            Node::Mux(c, a, b) if *a == own => {
                let (c, b) = (!c, b.clone());
                self.take(name, &c.mux(&b, &own), depth);
            }
            Node::Mux(c, a, b) => {
                let _ = writeln!(self.clocked, "{}if {} then", indent(depth), self.scope.condition(c));
                self.take(name, a, depth + 1);
                if *b != own {
                    let _ = writeln!(self.clocked, "{}else", indent(depth));
                    self.take(name, b, depth + 1);
                }
                let _ = writeln!(self.clocked, "{}end if;", indent(depth));
            }
            _ => {
                let (target, value) = (self.scope.name(name), self.value_for(name, next));
                let _ = writeln!(self.clocked, "{}{target} <= {value};", indent(depth));
            }
        }
    }

    fn counter(&mut self, name: &Name, width: u32) {
        let own = self.scope.name(name).to_string();
        let _ = writeln!(self.signals, "    signal {own} : {} := {};", signal_type(width), number(width, 0));
        let next = net(name, width) + Value::constant(width, 1);
        self.take(name, &next, DEEP);
    }

    /// A memory's type, which has a name of its own.
    fn array(&mut self, memory: &str, (words, width): (u64, u32)) -> String {
        let kind = vhdl(&self.names.unique(&format!("{memory}_type"))).into_owned();
        let _ = writeln!(self.signals, "    type {kind} is array (0 to {}) of {};", words - 1, signal_type(width));
        kind
    }

    fn memory(&mut self, name: &Name, size: (u64, u32)) {
        let memory = format!("{name}{MEMORY}");
        let kind = self.array(&memory, size);
        let _ = writeln!(self.signals, "    signal {} : {kind};", self.scope.name(&memory));
        self.signal(name, size.1);
    }

    fn rom(&mut self, name: &Name, width: u32, data: &[u64]) {
        /// Words of a line.
        const LINE: usize = 8;
        let memory = format!("{name}{ROM}");
        let kind = self.array(&memory, (data.len() as u64, width));
        let own = self.scope.name(&memory).to_string();
        let lines: Vec<String> = data
            .chunks(LINE)
            .map(|words| words.iter().map(|word| number(width, *word)).collect::<Vec<_>>().join(", "))
            .collect();
        let lines = lines.join(",\n        ");
        // A list of one word needs the word's place.
        let lines = if data.len() == 1 { format!("0 => {lines}") } else { lines };
        let _ = writeln!(self.signals, "    constant {own} : {kind} := (\n        {lines}\n    );");
        for (attribute, value) in rom_attributes(width, data.len()) {
            if self.attributes.insert(attribute) {
                let _ = writeln!(self.signals, "    attribute {attribute} : string;");
            }
            let _ = writeln!(self.signals, "    attribute {attribute} of {own} : constant is \"{value}\";");
        }
        self.signal(name, width);
    }

    fn instance(&mut self, module: &Name, name: &Name, connections: &'a [(Name, Value)]) {
        let inner = self.modules[module.as_str()];
        let mut lines = Vec::new();
        for (port, value) in connections {
            let formal =
                inner.ports.iter().find(|p| p.name == *port).expect("a verified netlist connects ports that are there");
            let actual =
                if formal.dir == Dir::In { self.input(name, port, value) } else { self.output(name, port, value) };
            lines.push(format!("            {} => {actual}", vhdl(port)));
        }
        let (label, entity) = (self.scope.name(name), vhdl(module));
        let _ = writeln!(
            self.body,
            "    {label} : entity work.{entity}\n        port map (\n{}\n        );",
            lines.join(",\n")
        );
    }

    /// A signal between an instance's port and an expression that cannot stand there.
    fn between(&mut self, instance: &Name, port: &Name, width: u32) -> Name {
        let name = self.names.unique(&format!("{instance}_{port}"));
        self.scope.add(&name);
        self.signal(&name, width);
        name
    }

    fn input(&mut self, instance: &Name, port: &Name, value: &Value) -> String {
        if matches!(value.node(), Node::Read { .. } | Node::Const(_)) {
            return self.scope.text(value);
        }
        let name = self.between(instance, port, value.width());
        self.assign(&name, value);
        self.scope.name(&name).to_string()
    }

    fn output(&mut self, instance: &Name, port: &Name, target: &Value) -> String {
        if let Node::Read { leaf, .. } = target.node()
            && !self.scope.vectors.contains(leaf)
        {
            return self.scope.text(target);
        }
        let name = self.between(instance, port, target.width());
        let parts = match target.node() {
            Node::Cat(parts) => &parts[..],
            _ => std::slice::from_ref(target),
        };
        let mut high = target.width();
        for part in parts {
            let Node::Read { leaf, full, low } = part.node() else { continue };
            let width = part.width();
            high -= width;
            let from = net(&name, target.width()).bits(high, width);
            let own = self.scope.name(leaf);
            let bits = match width {
                _ if width == *full => own.to_string(),
                1 => format!("{own}({low})"),
                _ => format!("{own}({} downto {low})", low + width - 1),
            };
            let _ = writeln!(self.body, "    {bits} <= {};", self.value_for(leaf, &from));
        }
        self.scope.name(&name).to_string()
    }
}
