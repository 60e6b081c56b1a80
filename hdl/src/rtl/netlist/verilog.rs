//! The Verilog-2005 text of modules and netlists.

use super::{Dir, Item, MEMORY, Module, Netlist, ROM, Unsound};
use crate::rtl::delay::Read;
use crate::rtl::memory::rom_attributes;
use crate::rtl::{Value, verilog};
use std::fmt::{self, Write as _};

impl Module {
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
        let gate = self.enable.as_ref().map_or(String::new(), |enable| format!(" if ({enable})"));
        let clocked = format!("always @(posedge clk){gate}");
        for item in &self.items {
            item.write(&clocked, text);
        }
        text.push_str("endmodule\n");
    }
}

impl Item {
    /// Writes the item; `clocked` begins what happens at a rising edge.
    fn write(&self, clocked: &str, text: &mut String) {
        let _ = match self {
            Item::Comment(line) => writeln!(text, "    // {}", Plain(line)),
            Item::Wire { name, value } => {
                let _ = write!(text, "    wire {}{name} = ", Range(value.width()));
                end(value, ";\n", text)
            }
            Item::Net { name, width } => writeln!(text, "    wire {}{name};", Range(*width)),
            Item::Reg { name, next } => {
                let _ = write!(text, "    reg {}{name};\n    {clocked} {name} <= ", Range(next.width()));
                end(next, ";\n", text)
            }
            Item::Hold { name, width } => writeln!(text, "    reg {}{name};", Range(*width)),
            Item::Load { name, next } => {
                let _ = write!(text, "    {clocked} {name} <= ");
                end(next, ";\n", text)
            }
            Item::Assign { name, value } => {
                let _ = write!(text, "    assign {name} = ");
                end(value, ";\n", text)
            }
            Item::Constant { name, value } => writeln!(
                text,
                "    /* verilator lint_off UNUSEDPARAM */\n    localparam {name} = {value};\n    /* verilator lint_on UNUSEDPARAM */"
            ),
            Item::Counter { name, width } => {
                let _ = writeln!(text, "    reg {}{name};\n    initial {name} = {width}'d0;", Range(*width));
                writeln!(text, "    {clocked} {name} <= {name} + {width}'d1;")
            }
            Item::Memory { name, words, at, data, from, read } => {
                let range = Range(data.width());
                let _ = writeln!(text, "    reg {range}{name}{MEMORY} [0:{}];", words - 1);
                let _ = writeln!(text, "    {clocked} {name}{MEMORY}[{at}] <= {data};");
                match read {
                    Read::Registered => {
                        writeln!(text, "    reg {range}{name};\n    {clocked} {name} <= {name}{MEMORY}[{from}];")
                    }
                    Read::Direct => writeln!(text, "    wire {range}{name} = {name}{MEMORY}[{from}];"),
                }
            }
            Item::Rom { name, width, addr, data } => {
                let digits = width.div_ceil(4) as usize;
                let list: Vec<String> = rom_attributes(*width, data.len())
                    .iter()
                    .map(|(name, value)| format!("{name} = \"{value}\""))
                    .collect();
                let attributes = if list.is_empty() { String::new() } else { format!("(* {} *) ", list.join(", ")) };
                let _ = writeln!(text, "    {attributes}reg {}{name}{ROM} [0:{}];", Range(*width), data.len() - 1);
                let _ = writeln!(text, "    initial begin");
                for (k, word) in data.iter().enumerate() {
                    let _ = writeln!(text, "        {name}{ROM}[{k}] = {width}'h{word:0digits$x};");
                }
                let _ = writeln!(text, "    end");
                writeln!(text, "    reg {}{name};\n    {clocked} {name} <= {name}{ROM}[{addr}];", Range(*width))
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
pub(super) struct Plain<'a>(pub &'a str);

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
