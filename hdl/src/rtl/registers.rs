//! Registers and memories of a netlist, as its Verilog declares them, hand-written text included.

use crate::hash::FastMap;
use crate::rtl::netlist::{Item, Module, Netlist};
use std::ops::{Add, AddAssign};

/// Bits that a module declares, everything inside it included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Declared {
    /// Flip-flops.
    pub registers: u64,
    /// Memories that are written; those that only hold tables are not counted.
    pub memories: u64,
}

impl Add for Declared {
    type Output = Declared;

    fn add(self, other: Declared) -> Declared {
        Declared { registers: self.registers + other.registers, memories: self.memories + other.memories }
    }
}

impl AddAssign for Declared {
    fn add_assign(&mut self, other: Declared) {
        *self = *self + other;
    }
}

/// The bits of the module of that name and of all that is inside it; none where there is no such module.
pub fn declared(netlist: &Netlist, top: &str) -> Declared {
    let modules: FastMap<&str, &Module> = netlist.modules.iter().map(|m| (m.name.as_str(), &**m)).collect();
    count(&modules, top, &mut FastMap::default())
}

fn count<'a>(modules: &FastMap<&str, &'a Module>, name: &str, known: &mut FastMap<&'a str, Declared>) -> Declared {
    let Some(module) = modules.get(name) else { return Declared::default() };
    if let Some(known) = known.get(name) {
        return *known;
    }
    let mut sum = Declared { registers: module.own_register_bits(), memories: 0 };
    for item in &module.items {
        match item {
            Item::Instance { module, .. } => sum += count(modules, module, known),
            Item::Memory { words, data, .. } => sum.memories += words * data.width() as u64,
            Item::Text(text) => sum += text.lines().filter_map(declaration).fold(Declared::default(), Add::add),
            _ => {}
        }
    }
    known.insert(&module.name, sum);
    sum
}

/// `reg [7:0] name;` or `reg [7:0] name [0:15];`, with attributes in front of it or not.
fn declaration(line: &str) -> Option<Declared> {
    let code = line.split("//").next()?.trim();
    let code = code.strip_prefix("(*").and_then(|c| c.split_once("*)")).map_or(code, |c| c.1).trim_start();
    let rest = code.strip_prefix("reg ")?.split(';').next()?;
    let mut ranges = rest.split('[').skip(1).filter_map(|r| r.split(']').next()).filter_map(|r| {
        let (a, b) = r.split_once(':')?;
        Some(a.trim().parse::<u64>().ok()?.abs_diff(b.trim().parse().ok()?) + 1)
    });
    let word = if rest.trim_start().starts_with('[') { ranges.next()? } else { 1 };
    Some(match ranges.next() {
        Some(words) => Declared { registers: 0, memories: word * words },
        None => Declared { registers: word, memories: 0 },
    })
}
